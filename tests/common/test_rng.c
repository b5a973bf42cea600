/* tests/common/test_rng.c: the numbers are the published ones, everywhere. */
#include "common/rng.h"

#include <criterion/criterion.h>
#include <string.h>

/* Computed with big integers in another language from the two generators' descriptions. */
Test(rng, a_seed_is_spread_by_splitmix64)
{
    struct rng r;
    rng_init(&r, 0);
    cr_assert_eq(r.s[0], 0xe220a8397b1dcdaf);
    cr_assert_eq(r.s[1], 0x6e789e6aa1b965f4);
    cr_assert_eq(r.s[2], 0x06c45d188009454f);
    cr_assert_eq(r.s[3], 0xf88bb8a8724c81ec);
    rng_init(&r, 1234567);
    cr_assert_eq(r.s[0], 6457827717110365317u);
    cr_assert_eq(r.s[3], 4593380528125082431u);
}

Test(rng, the_sequence_is_xoshiro256_starstar)
{
    static const uint64_t want[] = {
        11520,
        0,
        1509978240,
        1215971899390074240,
        1216172134540287360,
        607988272756665600,
        16172922978634559625u,
        8476171486693032832,
    };
    struct rng r = {{1, 2, 3, 4}};
    for (size_t i = 0; i < ARRAY_LEN(want); i++)
        cr_assert_eq(rng_next(&r), want[i]);
}

Test(rng, seed_and_sequence_fit_together)
{
    static const uint64_t want[] = {0x15780b2e0c2ec716, 0x6104d9866d113a7e, 0xae17533239e499a1,
                                    0xecb8ad4703b360a1};
    struct rng r;
    rng_init(&r, 42);
    for (size_t i = 0; i < ARRAY_LEN(want); i++)
        cr_assert_eq(rng_next(&r), want[i]);
}

Test(rng, below_stays_below_and_is_fair)
{
    struct rng r;
    rng_init(&r, 7);
    uint32_t seen[6] = {0};
    for (int i = 0; i < 60000; i++) {
        uint64_t v = rng_below(&r, 6);
        cr_assert_lt(v, 6);
        seen[v]++;
    }
    /* Five standard deviations of a fair die around 10,000. */
    for (size_t i = 0; i < 6; i++)
        cr_assert(seen[i] > 9540 && seen[i] < 10460, "%zu came %u times", i, seen[i]);
    for (int i = 0; i < 100; i++)
        cr_assert_eq(rng_below(&r, 1), 0);
}

Test(rng, below_has_no_bias_where_a_plain_modulo_would)
{
    /* With n = 3·2^62 a plain modulo gives the lowest third twice as often as it should. */
    struct rng r;
    rng_init(&r, 9);
    uint64_t n = 3ull << 62;
    int low = 0;
    for (int i = 0; i < 30000; i++)
        low += rng_below(&r, n) < (1ull << 62);
    cr_assert(low > 9500 && low < 10500, "the lowest third came %d times of 30000", low);
}

Test(rng, unit_is_in_the_half_open_interval_and_centred)
{
    struct rng r;
    rng_init(&r, 11);
    double sum = 0;
    for (int i = 0; i < 100000; i++) {
        double v = rng_unit(&r);
        cr_assert(v >= 0 && v < 1);
        sum += v;
    }
    cr_assert(sum > 49500 && sum < 50500);
    /* The largest that can come is still below 1. */
    cr_assert_lt((double)(UINT64_MAX >> 11) * 0x1.0p-53, 1.0);
}

Test(rng, secrets_differ_and_fill_what_was_asked_for)
{
    uint8_t a[64] = {0}, b[64] = {0};
    rng_secret(a, 32);
    rng_secret(b, 32);
    cr_assert_neq(memcmp(a, b, 32), 0);
    for (size_t i = 32; i < 64; i++)
        cr_assert_eq(a[i], 0);
    rng_secret(a, 0);
}
