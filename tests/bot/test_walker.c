/* tests/bot/test_walker.c: a bot asks for no more than the world allows. */
#include "bot/walker.h"

#include <criterion/criterion.h>
#include <math.h>

#define MAX_SPEED 12.0

static const struct mono start = {5 * CLOCK_NS_PER_S};

static struct mono after(int64_t ms)
{
    return clock_add(start, ms * CLOCK_NS_PER_MS);
}

Test(walker, wandering_stays_in_its_area_and_below_the_limit_over_any_while)
{
    struct walker w;
    struct rng rng;
    double went = 0;
    int64_t ms = 0;
    walker_init(&w, 3);
    rng_init(&rng, 4);
    walker_area(&w, (struct walker_area){-10, 20, 30, 25});
    walker_place(&w, 0, 22, MAX_SPEED, start);
    for (int i = 0; i < 20000; i++) {
        double x = w.x, y = w.y;
        ms += (int64_t)rng_below(&rng, 120);
        walker_wander(&w, after(ms));
        went += hypot(w.x - x, w.y - y);
        cr_assert(w.x >= -10 && w.x <= 30);
        cr_assert(w.y >= 20 && w.y <= 25);
        cr_assert(w.dir >= 0 && w.dir < 6.2831853071795864);
        cr_assert(w.speed >= MAX_SPEED * WALKER_SLOWEST);
        cr_assert(w.speed <= MAX_SPEED * WALKER_SPEED_SHARE);
        cr_assert(went <= MAX_SPEED * (double)ms / 1000);
    }
    cr_assert(went > MAX_SPEED * (double)ms / 1000 / 4, "it does walk");
}

Test(walker, the_same_seed_walks_the_same_way)
{
    struct walker a, b;
    walker_init(&a, 9);
    walker_init(&b, 9);
    walker_area(&a, (struct walker_area){0, 0, 50, 50});
    walker_area(&b, (struct walker_area){0, 0, 50, 50});
    walker_place(&a, 1, 1, MAX_SPEED, start);
    walker_place(&b, 1, 1, MAX_SPEED, start);
    for (int i = 1; i < 500; i++) {
        walker_wander(&a, after(100 * i));
        walker_wander(&b, after(100 * i));
        cr_assert_eq(a.x, b.x);
        cr_assert_eq(a.y, b.y);
    }
}

Test(walker, the_way_to_a_goal_is_straight_and_ends_on_it)
{
    struct walker w;
    walker_init(&w, 1);
    walker_place(&w, 0, 0, MAX_SPEED, start);
    cr_assert_not(walker_toward(&w, 0, -2, after(100)));
    cr_assert_eq(w.x, 0);
    cr_assert_float_eq(w.y, -1.14, 1e-12);
    cr_assert_float_eq(w.dir, 4.71238898038469, 1e-12);
    cr_assert(walker_toward(&w, 0, -2, after(200)));
    cr_assert_eq(w.y, -2);
}

Test(walker, a_long_pause_does_not_make_a_long_step)
{
    struct walker w;
    walker_init(&w, 1);
    walker_place(&w, 0, 0, MAX_SPEED, start);
    cr_assert_not(walker_toward(&w, 1000, 0, after(60000)));
    cr_assert_float_eq(w.x, MAX_SPEED * WALKER_SPEED_SHARE / 2, 1e-9);
}

Test(walker, after_a_refusal_it_goes_on_from_where_the_world_says)
{
    struct walker w;
    walker_init(&w, 1);
    walker_place(&w, 0, 0, MAX_SPEED, start);
    walker_toward(&w, 1000, 0, after(100));
    walker_refused(&w, -3, 4);
    walker_toward(&w, -3, 1000, after(200));
    cr_assert_eq(w.x, -3);
    cr_assert_float_eq(w.y, 5.14, 1e-12);
}

Test(walker, outside_its_area_it_hurries_there)
{
    struct walker w;
    walker_init(&w, 6);
    walker_area(&w, (struct walker_area){100, 100, 140, 140});
    walker_place(&w, 0, 0, MAX_SPEED, start);
    int i = 0;
    for (; i < 200 && !walker_inside(&w); i++) {
        walker_wander(&w, after(100 * (i + 1)));
        cr_assert_float_eq(w.speed, MAX_SPEED * WALKER_SPEED_SHARE, 1e-9);
    }
    cr_assert(i < 180, "200 units at 11.4 a second");
}

Test(walker, over_time_it_is_in_the_middle_no_more_than_at_the_edges)
{
    struct walker w;
    int middle = 0, all = 200000;
    walker_init(&w, 8);
    walker_area(&w, (struct walker_area){0, 0, 80, 80});
    walker_place(&w, 40, 40, MAX_SPEED, start);
    for (int i = 0; i < all; i++) {
        walker_wander(&w, after(100 * (int64_t)(i + 1)));
        middle += w.x >= 20 && w.x <= 60 && w.y >= 20 && w.y <= 60;
    }
    double share = (double)middle / all; /* of a quarter of the area */
    cr_assert(share > 0.22 && share < 0.36, "%.3f", share);
}
