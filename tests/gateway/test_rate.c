/* tests/gateway/test_rate.c: the token bucket and the count of refusals. */
#include "gateway/rate.h"

#include <criterion/criterion.h>

static const struct rate_limit DEFAULTS = {.per_s = 60, .burst = 120};

Test(rate, a_burst_passes_and_the_next_one_does_not)
{
    struct rate r;

    rate_init(&r, &DEFAULTS, 1000);
    for (int i = 0; i < 120; i++)
        cr_assert(rate_take(&r, &DEFAULTS, 1000));
    cr_assert(!rate_take(&r, &DEFAULTS, 1000));
}

Test(rate, tokens_come_back_with_time_at_the_rate)
{
    struct rate r;
    uint32_t passed = 0;

    rate_init(&r, &DEFAULTS, 0);
    for (int i = 0; i < 120; i++)
        cr_assert(rate_take(&r, &DEFAULTS, 0));
    for (uint32_t ms = 1; ms <= 10000; ms++)
        passed += rate_take(&r, &DEFAULTS, ms);
    cr_assert_eq(passed, 600);
}

Test(rate, a_long_rest_fills_no_more_than_the_burst)
{
    struct rate r;
    uint32_t passed = 0;

    rate_init(&r, &DEFAULTS, 0);
    cr_assert(rate_take(&r, &DEFAULTS, 0));
    for (int i = 0; i < 1000; i++)
        passed += rate_take(&r, &DEFAULTS, 4000000000u);
    cr_assert_eq(passed, 120);
}

Test(rate, the_clock_may_wrap)
{
    struct rate r;

    rate_init(&r, &DEFAULTS, UINT32_MAX - 499);
    for (int i = 0; i < 120; i++)
        cr_assert(rate_take(&r, &DEFAULTS, UINT32_MAX - 499));
    cr_assert(!rate_take(&r, &DEFAULTS, UINT32_MAX - 499));
    for (int i = 0; i < 60; i++)
        cr_assert(rate_take(&r, &DEFAULTS, 500)); /* a second later */
    cr_assert(!rate_take(&r, &DEFAULTS, 500));
}

Test(rate, a_rate_of_0_is_off)
{
    const struct rate_limit off = {0, 0};
    struct rate r;

    rate_init(&r, &off, 0);
    for (int i = 0; i < 100000; i++)
        cr_assert(rate_take(&r, &off, 0));
}

Test(rate, the_highest_rate_and_burst_do_not_overflow)
{
    const struct rate_limit high = {1000000, 1000000};
    struct rate r;

    rate_init(&r, &high, 0);
    for (int i = 0; i < 1000000; i++)
        cr_assert(rate_take(&r, &high, 0));
    cr_assert(!rate_take(&r, &high, 0));
    cr_assert(rate_take(&r, &high, UINT32_MAX));
}

Test(rate, the_201st_refusal_in_ten_seconds_is_one_too_many) /* PROTOCOL.md, error 12 */
{
    struct rate_refusals r = {0};

    for (uint32_t i = 0; i < 200; i++)
        cr_assert(!rate_refused(&r, 1000 + i * 40));
    cr_assert(rate_refused(&r, 9000));
}

Test(rate, refusals_of_more_than_ten_seconds_ago_do_not_count)
{
    struct rate_refusals r = {0};

    for (uint32_t round = 0; round < 20; round++)
        for (uint32_t i = 0; i < 150; i++)
            cr_assert(!rate_refused(&r, round * 10000));
}

Test(rate, a_steady_20_refusals_a_second_are_borne_and_25_are_not)
{
    struct rate_refusals calm = {0}, wild = {0};
    bool ended = false;

    for (uint32_t ms = 0; ms < 60000; ms += 50)
        cr_assert(!rate_refused(&calm, ms));
    for (uint32_t ms = 0; ms < 12000; ms += 40)
        ended |= rate_refused(&wild, ms);
    cr_assert(ended);
}

Test(rate, refusals_count_across_the_wrap_of_the_clock)
{
    struct rate_refusals r = {0};
    bool ended = false;

    for (uint32_t i = 0; i < 201; i++)
        ended |= rate_refused(&r, UINT32_MAX - 1000 + i * 10);
    cr_assert(!ended, "what the wrap forgets is in the client's favour");
    for (uint32_t i = 0; i < 201; i++)
        ended |= rate_refused(&r, 3000 + i * 10);
    cr_assert(ended);
}
