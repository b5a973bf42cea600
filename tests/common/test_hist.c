/* tests/common/test_hist.c: quantiles against the sorted samples themselves. */
#include "common/hist.h"

#include "common/rng.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

Test(hist, nothing_recorded_is_zero)
{
    struct hist h = {0};
    cr_assert_eq(hist_quantile(&h, 0.5), 0);
    cr_assert_eq(hist_at_most(&h, UINT64_MAX), 0);
}

Test(hist, small_values_are_exact)
{
    struct hist h = {0};
    for (uint64_t v = 0; v < 32; v++)
        hist_add(&h, v);
    for (uint64_t v = 0; v < 32; v++) {
        cr_assert_eq(hist_quantile(&h, (double)(v + 1) / 32), v);
        cr_assert_eq(hist_at_most(&h, v), v + 1);
    }
    cr_assert_eq(hist_quantile(&h, 0), 0);
    cr_assert_eq(h.sum, 31 * 32 / 2);
}

Test(hist, every_value_has_a_bucket_whose_edge_is_at_most_a_sixteenth_away)
{
    for (int e = 0; e < 64; e++) {
        for (int off = -1; off <= 1; off++) {
            uint64_t v = ((uint64_t)1 << e) + (uint64_t)(int64_t)off;
            struct hist h = {0};
            hist_add(&h, v);
            hist_add(&h, UINT64_MAX); /* so that the edge is not cut to max */
            uint64_t edge = hist_quantile(&h, 0.5);
            cr_assert_geq(edge, v);
            cr_assert_leq(edge - v, v / 16, "%lu has the edge %lu", v, edge);
        }
    }
}

Test(hist, quantiles_are_within_a_sixteenth_of_the_exact_ones)
{
    enum { N = 20000 };
    static uint64_t sample[N];
    static const double q[] = {0, 0.001, 0.1, 0.25, 0.5, 0.9, 0.99, 0.999, 0.9999, 1};
    struct hist h = {0};
    struct rng r;
    rng_init(&r, 5);
    for (size_t i = 0; i < N; i++) {
        /* From microseconds to minutes, evenly by power of two. */
        sample[i] = (uint64_t)exp2(10 + 26 * rng_unit(&r));
        hist_add(&h, sample[i]);
    }
    qsort(sample, N, sizeof(*sample), by_value);
    for (size_t i = 0; i < ARRAY_LEN(q); i++) {
        size_t rank = (size_t)ceil(q[i] * N);
        uint64_t exact = sample[rank > 0 ? rank - 1 : 0];
        uint64_t got = hist_quantile(&h, q[i]);
        cr_assert_geq(got, exact);
        cr_assert_leq(got - exact, exact / 16, "q %g: %lu for %lu", q[i], got, exact);
    }
    cr_assert_eq(hist_quantile(&h, 1), sample[N - 1], "never above the largest");
}

Test(hist, how_many_are_at_most_counts_to_the_edge_of_a_bucket)
{
    struct hist h = {0};
    hist_add(&h, 10);
    hist_add(&h, 1000);
    hist_add(&h, 1000000);
    cr_assert_eq(hist_at_most(&h, 9), 0);
    cr_assert_eq(hist_at_most(&h, 10), 1);
    cr_assert_eq(hist_at_most(&h, 900), 1);
    cr_assert_eq(hist_at_most(&h, 1000), 2);
    cr_assert_eq(hist_at_most(&h, UINT64_MAX), 3);
}

Test(hist, the_same_value_many_times_is_as_often_recorded)
{
    static struct hist one, many;
    for (int i = 0; i < 77; i++)
        hist_add(&one, 19);
    hist_add_many(&many, 19, 77);
    hist_add_many(&many, 1u << 30, 0);
    cr_assert_eq(memcmp(&one, &many, sizeof one), 0);
}

Test(hist, merging_is_recording_both_and_clearing_forgets)
{
    static struct hist a, b, both;
    struct rng r;
    rng_init(&r, 3);
    for (int i = 0; i < 1000; i++) {
        uint64_t v = rng_next(&r) >> rng_below(&r, 60);
        hist_add(i % 3 ? &a : &b, v);
        hist_add(&both, v);
    }
    hist_merge(&a, &b);
    cr_assert_eq(memcmp(&a, &both, sizeof(a)), 0);
    hist_clear(&a);
    cr_assert_eq(a.count + a.sum + a.max, 0);
    cr_assert_eq(hist_at_most(&a, UINT64_MAX), 0);
}

Test(hist, the_ends_of_all_numbers_are_kept)
{
    struct hist h = {0};
    hist_add(&h, 0);
    hist_add(&h, UINT64_MAX);
    cr_assert_eq(hist_quantile(&h, 0.5), 0);
    cr_assert_eq(hist_quantile(&h, 1), UINT64_MAX);
    cr_assert_eq(h.max, UINT64_MAX);
}

Test(hist, what_came_since_is_what_was_recorded_since)
{
    static struct hist now, before, since, alone;
    struct rng r;
    rng_init(&r, 4);
    for (int i = 0; i < 1000; i++)
        hist_add(&now, 1000000 + rng_below(&r, 1000000));
    before = now;
    hist_since(&now, &before, &since);
    cr_assert_eq(since.count + since.sum + since.max, 0);
    for (int i = 0; i < 500; i++) {
        uint64_t v = rng_below(&r, 1000);
        hist_add(&now, v);
        hist_add(&alone, v);
    }
    hist_since(&now, &before, &since);
    cr_assert_eq(since.count, 500);
    cr_assert_eq(since.sum, alone.sum);
    cr_assert_eq(memcmp(since.bucket, alone.bucket, sizeof(since.bucket)), 0);
    cr_assert_geq(since.max, alone.max);
    cr_assert_leq(since.max, alone.max + alone.max / HIST_SUB);
}
