/* tests/world/test_resume_oracle.c: lost and resumed connections against brute force.
 * May touch: tests/world/oracle.
 */
#include "tests/leak.h"
#include "tests/world/oracle.h"

Test(resume_oracle, connections_are_lost_and_taken_over_at_any_time)
{
    struct oracle_rules rules = oracle_rules();
    rules.weight[ORACLE_DROP] = 12;
    rules.weight[ORACLE_SAY] = 6;
    rules.window = 6;
    rules.links = 3;
    oracle_run(&rules, 201, oracle_rounds(1));
    TEST_NO_LEAKS();
}

Test(resume_oracle, amid_pauses_and_hysteresis)
{
    struct oracle_rules rules = oracle_rules();
    rules.weight[ORACLE_DROP] = 12;
    rules.weight[ORACLE_PAUSE] = 10;
    rules.weight[ORACLE_JOINT] = 10;
    rules.weight[ORACLE_SAY] = 6;
    rules.hysteresis = 4;
    rules.window = 9;
    rules.links = 2;
    rules.n_max = 30;
    rules.ticks = 30;
    oracle_run(&rules, 202, oracle_rounds(2));
    rules.hysteresis = 0;
    oracle_run(&rules, 203, oracle_rounds(2));
    TEST_NO_LEAKS();
}
