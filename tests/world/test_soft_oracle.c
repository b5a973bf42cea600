/* tests/world/test_soft_oracle.c: soft sight against brute force, in random worlds.
 * Tiers, refresh, caps, budgets, hysteresis, thresholds, pauses and gateways come together as
 * chance has it. AEGIS_SOFT_WORLDS says how many worlds the tests run together (1,000; 200
 * with sanitizers).
 * May touch: tests/world/oracle.
 */
#include "tests/leak.h"
#include "tests/world/oracle.h"

#include <stdlib.h>

#ifdef __SANITIZE_ADDRESS__
#define WORLDS_DEFAULT 200 /* each takes several times as long */
#else
#define WORLDS_DEFAULT 1000
#endif
#define SHARES 4

static uint32_t worlds(void)
{
    const char *text = getenv("AEGIS_SOFT_WORLDS");
    unsigned long n = text ? strtoul(text, NULL, 10) : WORLDS_DEFAULT;
    return (uint32_t)((n + SHARES - 1) / SHARES);
}

Test(soft_oracle, a_first_quarter_of_random_worlds, .timeout = 600)
{
    oracle_soft_run(101, worlds());
    TEST_NO_LEAKS();
}

Test(soft_oracle, a_second_quarter_of_random_worlds, .timeout = 600)
{
    oracle_soft_run(102, worlds());
    TEST_NO_LEAKS();
}

Test(soft_oracle, a_third_quarter_of_random_worlds, .timeout = 600)
{
    oracle_soft_run(103, worlds());
    TEST_NO_LEAKS();
}

Test(soft_oracle, a_last_quarter_of_random_worlds, .timeout = 600)
{
    oracle_soft_run(104, worlds());
    TEST_NO_LEAKS();
}
