/* tests/world/test_cases_sight.c: cases from the field on who sees whom: A01 to A04, A14.
 * May touch: tests/world_rig.
 */
#include "common/rng.h"
#include "tests/leak.h"
#include "tests/world_rig.h"

#include <math.h>
#include <stdio.h>

#define Q (1.0 / 64) /* the quantum, and a hair beside an edge */

static struct world_config fast(double radius, double hysteresis)
{
    struct world_config c = rig_config();
    c.max_speed = 100000;
    c.aoi_radius = radius;
    c.aoi_hysteresis = hysteresis;
    return c;
}

/* A world with these bounds, so that cells begin where the test wants them. */
static struct rig *world_from(struct world_config c, double x0, double y0)
{
    c.bounds[0] = x0;
    c.bounds[1] = y0;
    return rig_create(&c);
}

static void both_know(struct rig *r, uint32_t a, uint32_t b, bool want)
{
    if (rig_knows(r, a, b) != want || rig_knows(r, b, a) != want)
        rig_fail("%g, %g and %g, %g: %s", r->sessions[a].x, r->sessions[a].y, r->sessions[b].x,
                 r->sessions[b].y, want ? "not seen from both sides" : "seen");
}

/* --- A01 ------------------------------------------------------------------------------------- */

static void around_minus_a_half(double x0, double y0)
{
    static const double places[][2] = {
        {29.25, -0.5}, {-30.25, -0.5}, {-0.5, -30.25}, {-30.75, -0.5}, {0.25, 0.25}};
    struct rig *r = world_from(fast(30, 0), x0, y0);
    uint32_t v = rig_join_at(r, "v", -0.5, -0.5);
    char name[16];
    for (uint32_t i = 0; i < ARRAY_LEN(places); i++) {
        snprintf(name, sizeof name, "t%u", i);
        uint32_t t = rig_join_at(r, name, places[i][0], places[i][1]);
        rig_tick(r, 1);
        both_know(r, v, t, i != 3);
    }
    rig_destroy(r);
}

Test(cases, a01_cells_are_found_by_floor_around_zero)
{
    around_minus_a_half(-1000, -1000);
    around_minus_a_half(-90, -90); /* zero on a border of cells */
    around_minus_a_half(-31, -31);
    around_minus_a_half(-105, -75); /* zero in the middle of one */
    TEST_NO_LEAKS();
}

Test(cases, a01_a_query_whose_low_corner_falls_below_the_scene)
{
    struct rig *r = world_from(fast(30, 0), 0, 0);
    uint32_t v = rig_join_at(r, "v", 5, 5), a = rig_join_at(r, "a", 0, 0);
    uint32_t b = rig_join_at(r, "b", 35, 5), c = rig_join_at(r, "c", 35 + Q, 5);
    rig_tick(r, 1);
    both_know(r, v, a, true);
    both_know(r, v, b, true);
    both_know(r, v, c, false);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(cases, a01_two_thousand_random_placements_agree_with_brute_force)
{
    struct rig *r = world_from(fast(30, 0), -1000, -1000);
    struct rng rng;
    uint32_t s[20];
    char name[16];
    rng_init(&rng, 101);
    for (uint32_t i = 0; i < ARRAY_LEN(s); i++) {
        snprintf(name, sizeof name, "p%u", i);
        s[i] = rig_join(r, name);
    }
    for (int round = 0; round < 100; round++) { /* of 20 placements */
        for (uint32_t i = 0; i < ARRAY_LEN(s); i++)
            rig_move(r, s[i], rng_unit(&rng) * 140 - 70, rng_unit(&rng) * 140 - 70);
        rig_tick(r, 1);
        for (uint32_t i = 0; i < ARRAY_LEN(s); i++) {
            for (uint32_t j = 0; j < i; j++) {
                double dx = r->sessions[s[i]].x - r->sessions[s[j]].x;
                double dy = r->sessions[s[i]].y - r->sessions[s[j]].y;
                both_know(r, s[i], s[j], dx * dx + dy * dy <= 900);
            }
        }
        rig_drop(r);
    }
    rig_destroy(r);
    TEST_NO_LEAKS();
}

/* --- A02 ------------------------------------------------------------------------------------- */

/* V stands at (vx, vy); places at exactly R are seen, a hair further is not. */
static void edge_of(struct rig *r, uint32_t v, uint32_t p, double vx, double vy,
                    const double (*exact)[2], size_t n)
{
    rig_move(r, v, vx, vy);
    for (size_t i = 0; i < n; i++) {
        double dx = exact[i][0], dy = exact[i][1];
        rig_move(r, p, vx + dx, vy + dy);
        rig_tick(r, 1);
        both_know(r, v, p, true);
        rig_move(r, p,
                 vx + dx +
                     (dx > 0   ? Q
                      : dx < 0 ? -Q
                               : 0),
                 vy + dy +
                     (dy > 0   ? Q
                      : dy < 0 ? -Q
                               : 0));
        rig_tick(r, 1);
        both_know(r, v, p, false);
        rig_drop(r);
    }
}

Test(cases, a02_exactly_r_is_seen_and_a_hair_more_is_not)
{
    static const double thirty[][2] = {{18, 24}, {-18, 24}, {30, 0}, {0, -30}, {-24, -18}, {0, 30}};
    static const double seven[][2] = {{7, 0}, {0, 7}, {-7, 0}, {0, -7}};
    static const double thirty_two[][2] = {{32, 0}, {0, 32}, {-32, 0}, {0, -32}};
    static const struct {
        double radius;
        const double (*exact)[2];
        size_t n;
    } rows[] = {{30, thirty, 6}, {7, seven, 4}, {32, thirty_two, 4}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        double radius = rows[i].radius;
        struct rig *r = world_from(fast(radius, 0), -960, -960);
        double side = r->world->scenes.grid.areas[0].side;
        uint32_t v = rig_join(r, "v"), p = rig_join(r, "p");
        edge_of(r, v, p, 60, 60, rows[i].exact, rows[i].n);
        double line = -960 + 34 * side; /* on a cell line, half a cell off it, a hair off it */
        edge_of(r, v, p, line, line, rows[i].exact, rows[i].n);
        edge_of(r, v, p, line + side / 2, line + side / 2, rows[i].exact, rows[i].n);
        edge_of(r, v, p, line - Q, line + Q, rows[i].exact, rows[i].n);
        rig_destroy(r);
    }
    TEST_NO_LEAKS();
}

Test(cases, a02_eighteen_twenty_four_and_a_hair_is_not_seen)
{
    struct rig *r = world_from(fast(30, 0), -1000, -1000);
    uint32_t v = rig_join_at(r, "v", 60, 60), p = rig_join_at(r, "p", 78, 84);
    rig_tick(r, 1);
    both_know(r, v, p, true);
    rig_move(r, p, 78, 84 + Q);
    rig_tick(r, 1);
    both_know(r, v, p, false);
    rig_move(r, p, 78, nextafter(84, 85));
    rig_tick(r, 1);
    both_know(r, v, p, false);
    rig_destroy(r);
}

/* --- A03 ------------------------------------------------------------------------------------- */

static void others_walk(double hysteresis)
{
    struct rig *r = world_from(fast(30, hysteresis), -1000, -1000);
    uint32_t v = rig_join_at(r, "v", 0, 0), p = rig_join_at(r, "p", 5, 0);
    uint32_t p2 = rig_join_at(r, "p2", 0, 40);
    rig_tick(r, 1);
    for (double d = 5; d <= 30 + hysteresis + 1; d += 0.5) {
        rig_move(r, p, d, 0);
        rig_tick(r, 1);
        cr_assert_eq(rig_knows(r, v, p), d <= 30 + hysteresis, "%g away", d);
    }
    for (double d = 40; d >= 5; d -= 0.5) {
        rig_move(r, p2, 0, d);
        rig_tick(r, 1);
        cr_assert_eq(rig_knows(r, v, p2), d <= 30, "%g away", d);
    }
    cr_assert_eq(r->sessions[v].sent, 3, "V entered, was placed, and sent nothing more");
    cr_assert_eq(r->sessions[v].view.adds, 2);
    cr_assert_eq(r->sessions[v].view.removes, 1);
    rig_destroy(r);
}

Test(cases, a03_others_walk_out_of_and_into_a_still_viewers_sight)
{
    others_walk(0);
    others_walk(4);
    TEST_NO_LEAKS();
}

/* --- A04 ------------------------------------------------------------------------------------- */

static void walk_x(struct rig *r, uint32_t s, double to)
{
    while (r->sessions[s].x != to) {
        double d = to - r->sessions[s].x;
        rig_move(r, s, fabs(d) <= 5 ? to : r->sessions[s].x + copysign(5, d), 0);
        rig_tick(r, 1);
    }
}

Test(cases, a04_each_return_to_one_who_never_moved_is_one_add_on_both_sides)
{
    static const double hysteresis[] = {0, 6};
    for (size_t i = 0; i < ARRAY_LEN(hysteresis); i++) {
        struct rig *r = world_from(fast(30, hysteresis[i]), -1000, -1000);
        uint32_t p = rig_join_at(r, "p", 0, 0), v = rig_join_at(r, "v", 10, 0);
        rig_tick(r, 1);
        for (uint32_t back = 1; back <= 5; back++) {
            walk_x(r, v, 30 + hysteresis[i] + 5);
            rig_tick(r, 20);
            both_know(r, v, p, false);
            walk_x(r, v, 10);
            both_know(r, v, p, true);
            cr_assert_eq(r->sessions[v].view.adds, back + 1);
            cr_assert_eq(r->sessions[p].view.adds, back + 1);
            cr_assert_eq(r->sessions[v].view.removes, back);
            rig_drop(r);
        }
        rig_close(r, v);
        rig_tick(r, 1);
        v = rig_join_at(r, "v", 10, 0);
        rig_tick(r, 1);
        both_know(r, v, p, true);
        rig_tick(r, 20);
        cr_assert_eq(r->sessions[v].view.batches, 1);
        rig_balance(r);
        rig_destroy(r);
    }
    TEST_NO_LEAKS();
}

/* --- A14 ------------------------------------------------------------------------------------- */

Test(cases, a14_jumps_swap_the_watchers_and_small_ones_are_moves)
{
    struct rig *r = world_from(fast(30, 0), -1000, -1000);
    uint32_t a[5], b[5], p = rig_join_at(r, "p", 100, 100);
    char name[16];
    for (uint32_t i = 0; i < 5; i++) {
        snprintf(name, sizeof name, "a%u", i);
        a[i] = rig_join_at(r, name, 100 + i, 100);
        snprintf(name, sizeof name, "b%u", i);
        b[i] = rig_join_at(r, name, 700 - i, 700);
    }
    rig_tick(r, 1);
    for (int tick = 0; tick < 50; tick++) {
        bool at_b = tick % 4 == 0;
        double x = at_b ? 700 : tick % 4 == 1 ? 100 : tick % 4 == 2 ? 103 : 140;
        uint64_t moves = r->sessions[a[0]].view.moves, adds = r->sessions[a[0]].view.adds;
        rig_move(r, p, x, at_b ? 700 : 100);
        rig_tick(r, 1);
        for (uint32_t i = 0; i < 5; i++) {
            both_know(r, p, a[i], !at_b && x - (100 + i) <= 30);
            both_know(r, p, b[i], at_b);
        }
        if (tick % 4 == 2) {
            cr_assert_eq(r->sessions[a[0]].view.moves, moves + 1, "a small jump is an AoiMove");
            cr_assert_eq(r->sessions[a[0]].view.adds, adds);
        }
        rig_drop(r);
    }
    rig_balance(r);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(cases, a14_a_far_jump_together_is_remove_and_add_in_one_tick)
{
    static const double jumps[][2] = {{600, 0}, {0, 600},  {-600, -600},  {256, 0},    {0, -256},
                                      {512, 0}, {1024, 0}, {-1024, 1024}, {1023.5, 0}, {300, 5.5}};
    struct rig *r = world_from(fast(30, 0), -1000, -1000);
    uint32_t v = rig_join(r, "v"), p = rig_join(r, "p");
    for (size_t i = 0; i < ARRAY_LEN(jumps); i++) {
        double x = jumps[i][0] < 0 ? 600 : -600, y = jumps[i][1] < 0 ? 600 : -600;
        rig_move(r, v, x, y);
        rig_move(r, p, x + 5, y);
        rig_tick(r, 5);
        rig_drop(r);
        rig_move(r, v, x + jumps[i][0], y + jumps[i][1]);
        rig_move(r, p, x + 5 + jumps[i][0], y + jumps[i][1]);
        rig_tick(r, 1);
        for (int side = 0; side < 2; side++) {
            uint32_t s = side ? p : v, id = r->sessions[side ? v : p].id;
            const struct rig_known *k = rig_view_find(&r->sessions[s].view, id);
            cr_assert(k && k->by_add && k->tick == r->world->tick);
            cr_assert_eq(k->x, r->sessions[side ? v : p].x);
            cr_assert_eq(k->y, r->sessions[side ? v : p].y);
        }
    }
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(cases, a14_one_quantum_short_of_the_wrap_is_a_move)
{
    struct rig *r = world_from(fast(30, 0), -1000, -1000);
    uint32_t v = rig_join_at(r, "v", 0, 0), p = rig_join_at(r, "p", 5, 0);
    rig_tick(r, 1);
    double far = (PROTO_WRAP_QUANTA - 1) * Q;
    rig_move(r, v, far, -far);
    rig_move(r, p, 5 + far, -far);
    rig_tick(r, 1);
    const struct rig_known *k = rig_view_find(&r->sessions[v].view, r->sessions[p].id);
    cr_assert(!k->by_add && k->x == 5 + far && k->y == -far);
    cr_assert_eq(r->sessions[v].view.removes, 0);
    rig_destroy(r);
}
