/* tests/world/test_walkers.c: the next step of a walk, by both gaits.
 * The numbers of the tile gait are those of the classic tile walker: 320 ms a tile, a step each
 * 500 ms, two tiles at most. May touch: world/state, common.
 */
#include "world/state/walkers.h"

#include "tests/leak.h"

#include <criterion/criterion.h>

#include <math.h>

#define MS CLOCK_NS_PER_MS

/* One walker on a map of its own. */
struct stage {
    struct walkers w;
    struct entities e;
    struct motion_rules motion;
    struct ground ground;
    struct mono now;
    uint32_t slot;
    bool open; /* no ground */
};

static const struct walkers_rules TILE = {
    .gait = WALKERS_TILE,
    .speed = 12,
    .tick_ns = 50 * MS,
    .tile = 1,
    .step_ns = 500 * MS,
    .tile_ns = 320 * MS,
    .max_tiles = 2,
};
static const struct walkers_rules STRAIGHT = {
    .gait = WALKERS_STRAIGHT,
    .speed = 12,
    .tick_ns = 50 * MS,
    .tile = 1,
    .step_ns = 500 * MS,
    .tile_ns = 320 * MS,
    .max_tiles = 2,
};

static void stage_init(struct stage *t, const struct walkers_rules *rules, double x, double y)
{
    *t = (struct stage){.motion = {12, 1}, .now = {1000 * CLOCK_NS_PER_S}, .open = true};
    struct entity_birth b = {.id = 1, .name = span_text("a"), .x = x, .y = y, .now = t->now};
    struct entity_ref ref;
    cr_assert_eq(entities_init(&t->e, 4), 0);
    cr_assert_eq(walkers_init(&t->w, rules, t->e.cap), 0);
    cr_assert_eq(entities_add(&t->e, &b, &ref), 0);
    t->slot = ref.slot;
}

/* Rows of the same length: '#' is blocked. */
static void stage_ground(struct stage *t, const char *const *rows, uint32_t ny)
{
    uint32_t nx = (uint32_t)strlen(rows[0]);
    cr_assert_eq(ground_init(&t->ground, 0, 0, 1, nx, ny), 0);
    for (uint32_t y = 0; y < ny; y++)
        for (uint32_t x = 0; x < nx; x++)
            if (rows[y][x] == '#')
                ground_block(&t->ground, (int32_t)x, (int32_t)y, true);
    t->open = false;
}

static void stage_fini(struct stage *t)
{
    walkers_fini(&t->w);
    entities_fini(&t->e);
    ground_fini(&t->ground);
    TEST_NO_LEAKS();
}

static enum walkers_end pass(struct stage *t, int64_t ns)
{
    t->now.ns += ns;
    return walkers_step(&t->w, 0, &t->e, &t->motion, t->open ? NULL : &t->ground, t->now);
}

static void at(const struct stage *t, double x, double y)
{
    cr_assert(t->e.x[t->slot] == x && t->e.y[t->slot] == y, "stands at (%.17g, %.17g)",
              t->e.x[t->slot], t->e.y[t->slot]);
}

/* --- by tiles -------------------------------------------------------------------------------- */

Test(walkers, from_0_to_5_a_tile_walker_stands_on_2_then_4_then_5)
{
    struct stage t;
    stage_init(&t, &TILE, 0, 0);
    walkers_start(&t.w, t.slot, 5, 0, t.now);
    for (int tick = 1; tick < 10; tick++) {
        cr_assert_eq(pass(&t, 50 * MS), WALKERS_ON);
        at(&t, 0, 0);
    }
    cr_assert_eq(pass(&t, 50 * MS), WALKERS_ON);
    at(&t, 2, 0);
    cr_assert_eq(t.e.dir[t.slot], 0);
    cr_assert_eq(t.e.speed[t.slot], 4, "two tiles in half a second");
    cr_assert_eq(pass(&t, 500 * MS), WALKERS_ON);
    at(&t, 4, 0);
    cr_assert_eq(pass(&t, 500 * MS), WALKERS_THERE);
    at(&t, 5, 0);
    cr_assert_eq(t.e.speed[t.slot], 0);
    cr_assert_eq(t.w.n, 0);
    stage_fini(&t);
}

Test(walkers, a_diagonal_goal_is_walked_along_both_axes_at_once)
{
    struct stage t;
    stage_init(&t, &TILE, 10, 10);
    walkers_start(&t.w, t.slot, 6, 14, t.now);
    cr_assert_eq(pass(&t, 500 * MS), WALKERS_ON);
    at(&t, 8, 12);
    cr_assert_float_eq(t.e.dir[t.slot], 3 * 3.14159265358979 / 4, 1e-12);
    cr_assert_float_eq(t.e.speed[t.slot], 4 * sqrt(2), 1e-12);
    cr_assert_eq(pass(&t, 500 * MS), WALKERS_THERE);
    at(&t, 6, 14);
    stage_fini(&t);
}

Test(walkers, where_a_step_would_overshoot_one_axis_that_axis_arrives_and_the_other_goes_on)
{
    struct stage t;
    stage_init(&t, &TILE, 0, 0);
    walkers_start(&t.w, t.slot, 5, 3, t.now);
    cr_assert_eq(pass(&t, 500 * MS), WALKERS_ON);
    at(&t, 2, 2);
    cr_assert_eq(pass(&t, 500 * MS), WALKERS_ON);
    at(&t, 4, 3);
    cr_assert_eq(t.e.dir[t.slot], 0, "the last tile of the step went along x alone");
    cr_assert_eq(pass(&t, 500 * MS), WALKERS_THERE);
    at(&t, 5, 3);
    stage_fini(&t);
}

Test(walkers, a_goal_between_two_tiles_is_reached_exactly)
{
    struct stage t;
    stage_init(&t, &TILE, 0.25, 0.5);
    walkers_start(&t.w, t.slot, 2.75, -0.125, t.now);
    cr_assert_eq(pass(&t, 500 * MS), WALKERS_ON);
    at(&t, 2.25, -0.125);
    cr_assert_eq(pass(&t, 500 * MS), WALKERS_THERE);
    at(&t, 2.75, -0.125);
    stage_fini(&t);
}

Test(walkers, a_step_that_is_3_s_late_leads_two_tiles_still)
{
    struct stage t;
    stage_init(&t, &TILE, 0, 0);
    walkers_start(&t.w, t.slot, 100, 0, t.now);
    cr_assert_eq(pass(&t, 3500 * MS), WALKERS_ON);
    at(&t, 2, 0);
    cr_assert_eq(pass(&t, 50 * MS), WALKERS_ON);
    at(&t, 2, 0); /* what was missed is not made up for */
    cr_assert_eq(pass(&t, 450 * MS), WALKERS_ON);
    at(&t, 4, 0);
    stage_fini(&t);
}

Test(walkers, the_tiles_of_a_step_are_the_elapsed_time_in_tiles_and_one_and_max_tiles_at_most)
{
    struct walkers_rules rules = TILE;
    struct stage t;
    rules.max_tiles = 5;
    rules.step_ns = 1000 * MS;
    stage_init(&t, &rules, 0, 0);
    walkers_start(&t.w, t.slot, 100, 0, t.now);
    cr_assert_eq(pass(&t, 1000 * MS), WALKERS_ON); /* 1000 / 320 = 3.125 */
    at(&t, 4, 0);
    cr_assert_eq(pass(&t, 1300 * MS), WALKERS_ON); /* 1300 / 320 = 4.06 */
    at(&t, 9, 0);
    cr_assert_eq(pass(&t, 650 * MS), WALKERS_ON); /* not due yet: it is due each 1000 */
    at(&t, 9, 0);
    cr_assert_eq(pass(&t, 50 * MS), WALKERS_ON); /* 700 / 320 = 2.19 */
    at(&t, 12, 0);
    stage_fini(&t);
}

Test(walkers, asking_again_and_again_makes_a_tile_walker_neither_faster_nor_slower)
{
    struct stage t;
    stage_init(&t, &TILE, 0, 0);
    for (int tick = 0; tick < 40; tick++) {
        walkers_start(&t.w, t.slot, 50, 0, t.now);
        cr_assert_eq(pass(&t, 50 * MS), WALKERS_ON);
    }
    at(&t, 8, 0); /* two seconds, four steps */
    stage_fini(&t);
}

Test(walkers, a_blocked_tile_in_the_way_stops_a_tile_walker_on_the_last_free_one)
{
    static const char *const rows[] = {".....#..", "........"};
    struct stage t;
    stage_init(&t, &TILE, 0.5, 0.5);
    stage_ground(&t, rows, 2);
    walkers_start(&t.w, t.slot, 7.5, 0.5, t.now);
    cr_assert_eq(pass(&t, 500 * MS), WALKERS_ON);
    cr_assert_eq(pass(&t, 500 * MS), WALKERS_ON);
    at(&t, 4.5, 0.5);
    cr_assert_eq(pass(&t, 500 * MS), WALKERS_BLOCKED);
    at(&t, 4.5, 0.5);
    cr_assert_eq(t.e.speed[t.slot], 0);
    cr_assert_eq(t.w.n, 0);
    stage_fini(&t);
}

Test(walkers, a_step_of_two_tiles_does_not_leap_over_a_blocked_one)
{
    static const char *const rows[] = {".#......"};
    struct stage t;
    stage_init(&t, &TILE, 0.5, 0.5);
    stage_ground(&t, rows, 1);
    walkers_start(&t.w, t.slot, 2.5, 0.5, t.now);
    cr_assert_eq(pass(&t, 500 * MS), WALKERS_BLOCKED);
    at(&t, 0.5, 0.5);
    stage_fini(&t);
}

Test(walkers, a_tile_walker_cuts_no_corner)
{
    static const char *const rows[] = {"...", ".#.", "..."};
    struct stage t;
    stage_init(&t, &TILE, 0.5, 1.5);
    stage_ground(&t, rows, 3);
    walkers_start(&t.w, t.slot, 1.5, 2.5, t.now);
    cr_assert_eq(pass(&t, 500 * MS), WALKERS_BLOCKED);
    at(&t, 0.5, 1.5);
    stage_fini(&t);
}

Test(walkers, at_0_and_at_the_maps_end_it_stands_on_the_rim)
{
    static const char *const rows[] = {"........", "........"};
    struct stage t;
    stage_init(&t, &TILE, 1.5, 1.5);
    stage_ground(&t, rows, 2);
    walkers_start(&t.w, t.slot, 0, 0, t.now);
    cr_assert_eq(pass(&t, 500 * MS), WALKERS_THERE);
    at(&t, 0, 0);
    walkers_start(&t.w, t.slot, 8, 2, t.now);
    for (int i = 0; i < 3; i++)
        cr_assert_eq(pass(&t, 500 * MS), WALKERS_ON);
    at(&t, 6, 2);
    cr_assert_eq(pass(&t, 500 * MS), WALKERS_THERE);
    at(&t, 8, 2);
    stage_fini(&t);
}

Test(walkers, a_tile_that_the_credit_never_reaches_ends_the_walk_within_a_second)
{
    struct stage t;
    stage_init(&t, &TILE, 0, 0);
    t.motion.max_speed = 0.5; /* a second of it is half a tile */
    walkers_start(&t.w, t.slot, 5, 0, t.now);
    cr_assert_eq(pass(&t, 500 * MS), WALKERS_ON);
    cr_assert_eq(pass(&t, 500 * MS), WALKERS_SLOW);
    at(&t, 0, 0);
    stage_fini(&t);
}

/* --- straight -------------------------------------------------------------------------------- */

Test(walkers, a_straight_walk_leads_as_far_as_the_time_allows_and_arrives_exactly)
{
    struct stage t;
    stage_init(&t, &STRAIGHT, 8, 0);
    walkers_start(&t.w, t.slot, 10, -1, t.now);
    cr_assert_eq(pass(&t, 50 * MS), WALKERS_ON);
    double went = hypot(t.e.x[t.slot] - 8, t.e.y[t.slot]);
    cr_assert_float_eq(went, 0.6, 1e-12);
    cr_assert_float_eq(t.e.dir[t.slot], atan2(-1, 2) + 6.283185307179586, 1e-12);
    cr_assert_eq(t.e.speed[t.slot], 12);
    double dir = t.e.dir[t.slot];
    cr_assert_eq(pass(&t, 50 * MS), WALKERS_ON);
    cr_assert_eq(pass(&t, 50 * MS), WALKERS_ON);
    cr_assert_eq(t.e.dir[t.slot], dir, "to the last bit");
    cr_assert_eq(pass(&t, 50 * MS), WALKERS_THERE); /* 2.24 units: 187 ms */
    at(&t, 10, -1);
    cr_assert_eq(t.e.speed[t.slot], 0);
    cr_assert_eq(t.e.dir[t.slot], dir, "it looks where it went");
    stage_fini(&t);
}

Test(walkers, at_full_speed_a_long_walk_takes_the_time_that_its_length_takes)
{
    struct stage t;
    int ticks = 1;
    stage_init(&t, &STRAIGHT, 0, 0);
    walkers_start(&t.w, t.slot, 300, 400, t.now);
    while (pass(&t, 50 * MS) == WALKERS_ON)
        ticks++;
    at(&t, 300, 400);
    cr_assert_eq(ticks, 834, "500 / 0.6 is 833.3, not %d", ticks);
    stage_fini(&t);
}

Test(walkers, asking_again_and_again_makes_a_straight_walk_neither_faster_nor_slower)
{
    struct stage t;
    stage_init(&t, &STRAIGHT, 0, 0);
    for (int i = 0; i < 1000; i++) {
        if (i % 50 == 49)
            cr_assert_eq(pass(&t, 1 * MS), WALKERS_ON);
        else
            t.now.ns += 1 * MS;
        walkers_start(&t.w, t.slot, 500, i % 2, t.now);
    }
    cr_assert_float_eq(t.e.x[t.slot], 12, 0.05);
    stage_fini(&t);
}

Test(walkers, after_a_long_silence_a_straight_walk_is_held_to_its_credit)
{
    struct stage t;
    stage_init(&t, &STRAIGHT, 0, 0);
    walkers_start(&t.w, t.slot, 500, 0, t.now);
    cr_assert_eq(pass(&t, 60000 * MS), WALKERS_ON);
    cr_assert_float_eq(t.e.x[t.slot], 12 * 1.02, 1e-9);
    cr_assert_eq(pass(&t, 50 * MS), WALKERS_ON);
    cr_assert_float_eq(t.e.x[t.slot], 12 * 1.07, 1e-9);
    stage_fini(&t);
}

Test(walkers, a_walk_draws_on_the_credit_of_moves)
{
    struct stage t;
    struct motion *m;
    stage_init(&t, &STRAIGHT, 0, 0);
    m = &t.e.motion[t.slot];
    t.now.ns += 1000 * MS;
    cr_assert(motion_spend(m, &t.motion, 12 * 1.02, t.now), "all of it and the overdraft");
    walkers_start(&t.w, t.slot, 500, 0, t.now);
    cr_assert_eq(pass(&t, 50 * MS), WALKERS_ON);
    cr_assert_float_eq(t.e.x[t.slot], 0.6, 1e-9);
    cr_assert(!motion_spend(m, &t.motion, 0.01, t.now), "the walk took what there was");
    stage_fini(&t);
}

Test(walkers, a_wall_stops_a_straight_walk_where_it_stood)
{
    static const char *const rows[] = {".....#..", ".....#.."};
    struct stage t;
    enum walkers_end end;
    double x = 0;
    stage_init(&t, &STRAIGHT, 0.5, 0.5);
    stage_ground(&t, rows, 2);
    walkers_start(&t.w, t.slot, 7.5, 1.5, t.now);
    while ((end = pass(&t, 50 * MS)) == WALKERS_ON)
        x = t.e.x[t.slot];
    cr_assert_eq(end, WALKERS_BLOCKED);
    cr_assert(t.e.x[t.slot] == x && x > 4.3 && x < 5);
    cr_assert_eq(t.e.speed[t.slot], 0);
    stage_fini(&t);
}

Test(walkers, without_any_credit_a_walk_ends_within_a_second)
{
    struct stage t;
    int ticks = 1;
    stage_init(&t, &STRAIGHT, 0, 0);
    t.e.motion[t.slot].at.ns += 3600 * CLOCK_NS_PER_S; /* its credit grows in an hour */
    t.e.motion[t.slot].credit = -0.02;
    walkers_start(&t.w, t.slot, 5, 0, t.now);
    while (pass(&t, 50 * MS) == WALKERS_ON)
        ticks++;
    cr_assert_eq(ticks, 20);
    at(&t, 0, 0);
    stage_fini(&t);
}

Test(walkers, one_that_stops_gives_its_place_in_the_list_to_the_last)
{
    struct stage t;
    struct entity_ref other;
    stage_init(&t, &STRAIGHT, 0, 0);
    struct entity_birth b = {.id = 2, .name = span_text("b"), .now = t.now};
    cr_assert_eq(entities_add(&t.e, &b, &other), 0);
    walkers_start(&t.w, t.slot, 5, 0, t.now);
    walkers_start(&t.w, other.slot, 0, 5, t.now);
    cr_assert(walkers_stop(&t.w, &t.e, t.slot));
    cr_assert(!walkers_stop(&t.w, &t.e, t.slot));
    cr_assert(!walkers_has(&t.w, t.slot) && walkers_has(&t.w, other.slot));
    cr_assert_eq(pass(&t, 50 * MS), WALKERS_ON);
    cr_assert_float_eq(t.e.y[other.slot], 0.6, 1e-12);
    cr_assert(walkers_stop(&t.w, &t.e, other.slot));
    cr_assert_eq(t.w.n, 0);
    stage_fini(&t);
}
