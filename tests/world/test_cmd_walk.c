/* tests/world/test_cmd_walk.c: WalkReq and MoveFail. PROTOCOL.md, "Commands", "Speed".
 * The steps themselves are test_walkers.c's. May touch: tests/world_rig.
 */
#include "tests/leak.h"
#include "tests/world_rig.h"

#include <math.h>

static struct rig *rig_of(int gait)
{
    struct world_config c = rig_config();
    c.walk = gait;
    return rig_create(&c);
}

static void place_of(struct rig *r, uint32_t s, double *x, double *y)
{
    uint32_t slot = 0;
    while (r->world->entities.id[slot] != r->sessions[s].id)
        slot++;
    *x = r->world->entities.x[slot];
    *y = r->world->entities.y[slot];
}

static void stands(struct rig *r, uint32_t s, double x, double y)
{
    double ex, ey;
    place_of(r, s, &ex, &ey);
    cr_assert(ex == x && ey == y, "stands at (%.17g, %.17g)", ex, ey);
}

Test(cmd_walk, a_walk_is_answered_with_its_goal_and_then_walked_tick_by_tick)
{
    struct rig *r = rig_of(WALKERS_STRAIGHT);
    uint32_t v = rig_join(r, "v"), s = rig_join(r, "s");
    rig_tick(r, 1);
    rig_drop(r);
    rig_walk(r, s, 16, 3, false);
    stands(r, s, 16, 0);
    for (int i = 0; i < 4; i++) {
        const struct rig_known *k = rig_view_find(&r->sessions[v].view, r->sessions[s].id);
        rig_tick(r, 1);
        cr_assert_float_eq(k->y, 0.6 * (i + 1), 1.0 / 64);
        cr_assert_eq(k->wire_dir, 64, "a quarter of a turn");
        cr_assert_eq(k->wire_speed, 255);
    }
    rig_tick(r, 1);
    const struct rig_known *k = rig_view_find(&r->sessions[v].view, r->sessions[s].id);
    stands(r, s, 16, 3);
    cr_assert(k->y == 3 && k->wire_speed == 0 && k->wire_dir == 64);
    rig_drop(r);
    rig_tick(r, 10);
    cr_assert_eq(r->sessions[v].count, 0, "one that stands is not told of");
    cr_assert_eq(r->sessions[s].count, 0, "an arrival is no news to the walker");
    cr_assert_eq(r->world->metrics.walks_there, 1);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(cmd_walk, the_tile_gait_is_seen_as_two_tiles_each_half_second)
{
    struct rig *r = rig_of(WALKERS_TILE);
    uint32_t v = rig_join(r, "v"), s = rig_join(r, "s");
    rig_tick(r, 1);
    rig_walk(r, s, 21, 0, false);
    rig_tick(r, 9);
    stands(r, s, 16, 0);
    const double at[] = {18, 20, 21};
    for (size_t i = 0; i < ARRAY_LEN(at); i++) {
        rig_tick(r, i == 0 ? 1 : 10);
        stands(r, s, at[i], 0);
        const struct rig_known *k = rig_view_find(&r->sessions[v].view, r->sessions[s].id);
        cr_assert_eq(k->x, at[i]);
        cr_assert_eq(k->wire_speed, i == 2 ? 0 : 85);
    }
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(cmd_walk, a_goal_outside_is_clamped_and_told_so)
{
    struct rig *r = rig_of(WALKERS_STRAIGHT);
    uint32_t s = rig_join(r, "s");
    const struct message *m = rig_answer(r, s, rig_send_walk(r, s, 1e6, -2e300, false));
    cr_assert_eq(m->cmd, (uint32_t)CMD_WALK_RESP);
    cr_assert(m->walk_resp.x == 1000 && m->walk_resp.y == -1000);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(cmd_walk, a_bad_goal_is_refused_and_the_walk_before_goes_on)
{
    struct rig *r = rig_of(WALKERS_STRAIGHT);
    uint32_t s = rig_join(r, "s");
    rig_walk(r, s, 16, 0, false);
    rig_refused(r, s, rig_send_walk(r, s, NAN, 0, false), PE_BAD_PAYLOAD);
    rig_refused(r, s, rig_send_walk(r, s, 0, INFINITY, false), PE_BAD_PAYLOAD);
    rig_refused(r, s, rig_send_nil(r, s, CMD_WALK_REQ), PE_BAD_PAYLOAD);
    rig_tick(r, 20);
    stands(r, s, 16, 0);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(cmd_walk, a_new_walk_takes_the_place_of_the_old_one)
{
    struct rig *r = rig_of(WALKERS_STRAIGHT);
    uint32_t s = rig_join(r, "s");
    rig_walk(r, s, 500, 0, false);
    rig_tick(r, 5);
    rig_walk(r, s, 8, 0, false);
    rig_tick(r, 6);
    stands(r, s, 8, 0);
    cr_assert_eq(r->world->walkers.n, 0);
    cr_assert_eq(r->world->metrics.walks, 2);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(cmd_walk, a_walk_to_where_one_stands_is_over_at_once_and_ends_the_one_before)
{
    struct rig *r = rig_of(WALKERS_STRAIGHT);
    uint32_t s = rig_join(r, "s");
    rig_walk(r, s, 500, 0, false);
    rig_walk(r, s, 8, 0, false);
    cr_assert_eq(r->world->walkers.n, 0);
    rig_tick(r, 5);
    stands(r, s, 8, 0);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(cmd_walk, a_move_ends_the_walk_and_a_refused_one_does_not)
{
    struct rig *r = rig_of(WALKERS_STRAIGHT);
    uint32_t v = rig_join(r, "v"), s = rig_join(r, "s");
    rig_tick(r, 1);
    rig_walk(r, s, 16, 100, false);
    rig_tick(r, 2);
    rig_refused(r, s, rig_send_move(r, s, 16, 500), PE_MOVE_SPEED);
    rig_refused(r, s, rig_send_move(r, s, 16, 5000), PE_MOVE_BOUNDS);
    rig_tick(r, 2);
    double x, y;
    place_of(r, s, &x, &y);
    cr_assert_float_eq(y, 4 * 0.6, 1e-9, "it went on: %g", y);
    rig_move(r, s, 16, y);
    rig_tick(r, 3);
    stands(r, s, 16, y);
    const struct rig_known *k = rig_view_find(&r->sessions[v].view, r->sessions[s].id);
    cr_assert_eq(k->wire_speed, 0, "the walk's speed went with it");
    cr_assert_eq(r->world->metrics.walks_left, 1);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(cmd_walk, leaving_ends_the_walk)
{
    struct rig *r = rig_of(WALKERS_STRAIGHT);
    uint32_t s = rig_join(r, "s"), q = rig_join(r, "q");
    rig_walk(r, s, 16, 100, false);
    rig_walk(r, q, 16, 100, false);
    rig_tick(r, 1);
    rig_leave(r, s);
    rig_close(r, q);
    cr_assert_eq(r->world->walkers.n, 0);
    rig_enter(r, s);
    double x, y;
    place_of(r, s, &x, &y);
    rig_tick(r, 5);
    stands(r, s, x, y);
    q = rig_open(r, 0);
    rig_refused(r, q, rig_send_walk(r, q, 1, 1, false), PE_NOT_LOGGED_IN);
    rig_login(r, q, "q2");
    rig_refused(r, q, rig_send_walk(r, q, 1, 1, false), PE_NOT_IN_WORLD);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(cmd_walk, a_walk_that_gets_nowhere_ends_with_a_move_fail_within_a_second)
{
    struct world_config c = rig_config();
    c.walk = WALKERS_TILE;
    c.max_speed = 0.5; /* a tile takes two seconds of credit, and one is all it may have */
    struct rig *r = rig_create(&c);
    uint32_t s = rig_join(r, "s");
    rig_walk(r, s, 16, 0, false);
    rig_tick(r, 19);
    rig_drop(r);
    rig_tick(r, 1);
    const struct message *m = rig_next(r, s, CMD_MOVE_FAIL);
    cr_assert_not_null(m);
    cr_assert_eq(m->seq, 0);
    cr_assert_eq(m->move_fail.code, (uint32_t)PE_MOVE_SPEED);
    cr_assert(m->move_fail.x == 8 && m->move_fail.y == 0);
    cr_assert_eq(r->world->metrics.walks_slow, 1);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

/* However requests are mixed, nobody is further than the time that passed allows. */
Test(cmd_walk, mixing_walks_and_moves_gains_no_distance)
{
    static const int gaits[] = {WALKERS_STRAIGHT, WALKERS_TILE};
    for (size_t g = 0; g < ARRAY_LEN(gaits); g++) {
        struct rig *r = rig_of(gaits[g]);
        uint32_t s = rig_join(r, "s");
        double x, y, start_x;
        place_of(r, s, &start_x, &y);
        for (int tick = 1; tick <= 400; tick++) {
            place_of(r, s, &x, &y);
            for (int i = 0; i < 4; i++) { /* as far as it may, and a bit more */
                rig_send_move(r, s, x + 0.3 * (i + 1), y);
                rig_send_walk(r, s, 999, y, i % 2 != 0);
                rig_pass(r, i * CLOCK_NS_PER_MS);
            }
            rig_send_walk(r, s, 999, y, false);
            rig_tick(r, 1);
            rig_drop(r);
            place_of(r, s, &x, &y);
            double seconds = 0.056 * tick + 0.02 + 0.02;
            cr_assert_leq(x - start_x, 12 * seconds * (1 + 1e-6));
        }
        cr_assert_gt(x - start_x, 200, "and it did get on");
        rig_destroy(r);
    }
    TEST_NO_LEAKS();
}
