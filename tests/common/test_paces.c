/* tests/common/test_paces.c: token buckets by key, in a table that is never more than full. */
#include "common/paces.h"

#include "common/err.h"
#include "common/rng.h"
#include "tests/leak.h"

#include <criterion/criterion.h>
#include <stdio.h>

/* Two a second, four at once; and six in a minute, six at once. */
static const struct pace_rate RATES[PACES_BUCKETS] = {{2, 1000, 4}, {6, 60000, 6}};

static struct paces p;

static void make(uint32_t cap)
{
    cr_assert_eq(paces_init(&p, cap, 1, RATES), 0);
}

static uint32_t get(const char *key, uint32_t now_ms)
{
    return paces_get(&p, span_text(key), now_ms);
}

static uint32_t takes(uint32_t slot, uint32_t bucket, uint32_t now_ms)
{
    uint32_t n = 0;
    while (n < 1000 && paces_take(&p, slot, bucket, now_ms))
        n++;
    return n;
}

Test(paces, each_key_has_its_burst_and_then_its_rate_in_each_bucket)
{
    make(8);
    const uint32_t a = get("a", 1000), b = get("b", 1000);

    cr_assert_eq(takes(a, 0, 1000), 4u);
    cr_assert_eq(takes(a, 0, 1499), 0u);
    cr_assert_eq(takes(a, 0, 1500), 1u);
    cr_assert_eq(takes(a, 0, 4500), 4u, "never more than the burst");
    cr_assert_eq(takes(b, 0, 4500), 4u, "the other's is its own");
    cr_assert_eq(takes(a, 1, 4500), 6u);
    cr_assert_eq(takes(a, 1, 14499), 0u);
    cr_assert_eq(takes(a, 1, 14500), 1u);
    cr_assert_eq(get("a", 15000), a);
    paces_fini(&p);
    TEST_NO_LEAKS();
}

Test(paces, a_clock_that_steps_back_gives_nothing_and_one_that_wraps_goes_on)
{
    make(8);
    uint32_t a = get("a", 5000);

    cr_assert_eq(takes(a, 0, 5000), 4u);
    cr_assert_eq(takes(a, 0, 4990), 0u);
    cr_assert_eq(takes(a, 0, 5499), 0u);
    a = get("b", UINT32_MAX - 99);
    cr_assert_eq(takes(a, 0, UINT32_MAX - 99), 4u);
    cr_assert_eq(takes(a, 0, 400), 1u);
    paces_fini(&p);
}

Test(paces, a_full_table_forgets_the_one_unheard_of_for_longest_but_nobody_who_is_held)
{
    make(3);
    const uint32_t a = get("a", 0);

    cr_assert_eq(paces_hold(&p, a), 1u);
    cr_assert_eq(takes(get("b", 1), 0, 1), 4u);
    cr_assert_eq(takes(get("c", 2), 0, 2), 4u);
    (void)get("b", 3);
    cr_assert_eq(takes(get("d", 4), 0, 4), 4u); /* in place of c */
    cr_assert_eq(p.forgotten, 1u);
    cr_assert_eq(takes(get("b", 5), 0, 5), 0u, "it is still known");
    cr_assert_eq(get("a", 6), a);
    paces_hold(&p, get("b", 7));
    paces_hold(&p, get("d", 8));
    cr_assert_eq(get("e", 9), PACES_NONE);
    cr_assert_eq(paces_release(&p, a, 10), 0u);
    cr_assert_eq(get("e", 11), a);
    paces_fini(&p);
    TEST_NO_LEAKS();
}

Test(paces, who_is_idle_is_forgotten_in_time)
{
    make(8);
    const uint32_t a = get("a", 0);

    paces_hold(&p, a);
    (void)get("b", 0);
    (void)get("c", 1000);
    paces_step(&p, PACES_FORGET_MS - 1);
    cr_assert_eq(p.n, 3u);
    paces_step(&p, PACES_FORGET_MS);
    cr_assert_eq(p.n, 2u);
    paces_step(&p, 2 * PACES_FORGET_MS);
    cr_assert_eq(p.n, 1u);
    cr_assert_eq(paces_held(&p, a), 1u);
    paces_fini(&p);
}

Test(paces, a_million_keys_cost_no_more_than_the_table)
{
    make(512);
    struct rng rng;
    char key[16];

    rng_init(&rng, 7);
    const uint32_t held = get("held", 0);
    paces_hold(&p, held);
    for (uint32_t i = 0; i < 1000000; i++) {
        snprintf(key, sizeof(key), "%u", i);
        const uint32_t slot = get(key, i / 1000);
        cr_assert_lt(slot, 512u);
        cr_assert(paces_take(&p, slot, 0, i / 1000));
        if (rng_below(&rng, 2) == 0)
            continue;
        paces_hold(&p, slot);
        paces_release(&p, slot, i / 1000);
    }
    cr_assert_eq(p.n, 512u);
    cr_assert_eq(p.fresh, 512u);
    cr_assert_eq(get("held", 2000), held);
    paces_fini(&p);
    TEST_NO_LEAKS();
}
