/* tests/bot/test_spread.c: squares in which each bot sees about so many others. */
#include "bot/spread.h"

#include <criterion/criterion.h>
#include <math.h>

#define RADIUS 30.0

/* How many others one sees on average, by trying. */
static double seen(uint32_t n, double side)
{
    enum { ROUNDS = 300, MOST = 100 };
    double x[MOST], y[MOST], pairs = 0;
    struct rng rng;
    cr_assert(n <= MOST);
    rng_init(&rng, 11);
    for (int round = 0; round < ROUNDS; round++) {
        for (uint32_t i = 0; i < n; i++) {
            x[i] = rng_unit(&rng) * side;
            y[i] = rng_unit(&rng) * side;
            for (uint32_t j = 0; j < i; j++)
                pairs += hypot(x[i] - x[j], y[i] - y[j]) <= RADIUS;
        }
    }
    return 2 * pairs / ROUNDS / n;
}

Test(spread, an_area_is_moved_round_a_place_with_its_size)
{
    struct walker_area a = {10, 20, 40, 30};
    spread_around(&a, -5, 7);
    cr_assert(a.x0 == -20 && a.x1 == 10 && a.y0 == 2 && a.y1 == 12);
}

Test(spread, in_its_square_each_sees_about_as_many_as_wanted)
{
    const uint32_t n[] = {10, 61, 100};
    const double wanted[] = {3, 20, 50};
    for (int i = 0; i < 3; i++) {
        double got = seen(n[i], spread_side(n[i], wanted[i], RADIUS));
        cr_assert(fabs(got - wanted[i]) < wanted[i] * 0.05, "%u bots see %.2f, not %.0f", n[i], got,
                  wanted[i]);
    }
}

Test(spread, where_all_are_wanted_all_see_all)
{
    double side = spread_side(21, 20, RADIUS);
    cr_assert(hypot(side, side) <= RADIUS * (1 + 1e-12));
    cr_assert(spread_side(1, 20, RADIUS) > 0);
}

Test(spread, groups_are_neighbours_and_the_last_takes_the_rest)
{
    struct spread_bot bots[25];
    for (uint32_t i = 0; i < 25; i++) /* in an order that is not that of x */
        bots[i] = (struct spread_bot){.x = 8.0 * ((i * 7) % 25), .y = 4, .index = i};
    spread_groups(bots, 25, 10, 3, RADIUS);
    for (uint32_t i = 0; i < 25; i++) {
        const struct walker_area *a = &bots[i].area;
        const struct walker_area *first = &bots[i < 10 ? 0 : 10].area;
        cr_assert_eq(bots[i].x, 8.0 * i);
        cr_assert_eq((bots[i].index * 7) % 25, i);
        cr_assert_eq(a->x0, first->x0);
        cr_assert_eq(a->y1, first->y1);
        cr_assert_float_eq((a->y0 + a->y1) / 2, 4, 1e-9);
    }
    cr_assert_float_eq((bots[0].area.x0 + bots[0].area.x1) / 2, 36, 1e-9);
    cr_assert_float_eq((bots[24].area.x0 + bots[24].area.x1) / 2, 136, 1e-9);
}

Test(spread, a_stride_comes_to_all_once_and_to_neighbours_far_apart)
{
    static uint32_t turn[5000];
    const uint32_t sizes[] = {1, 2, 3, 6, 10, 30, 61, 1000, 4096, 5000};
    for (size_t s = 0; s < sizeof(sizes) / sizeof(*sizes); s++) {
        uint32_t n = sizes[s], at = 0;
        memset(turn, 0xff, sizeof(turn));
        for (uint32_t i = 0; i < n; i++, at = (at + spread_stride(n)) % n) {
            cr_assert_eq(turn[at], UINT32_MAX, "of %u, number %u comes twice", n, at);
            turn[at] = i;
        }
        cr_assert_eq(at, 0);
        for (uint32_t i = 0; i + 1 < n && n >= 10; i++) {
            uint32_t apart = (turn[i + 1] + n - turn[i]) % n;
            apart = apart < n - apart ? apart : n - apart;
            cr_assert_gt(apart, n / 50, "of %u, %u and the next are %u turns apart", n, i, apart);
        }
    }
}
