/* tests/world/test_cmd_move.c: MoveReq. PROTOCOL.md, "Commands", "Speed", "Moves".
 * May touch: tests/world_rig.
 */
#include "tests/leak.h"
#include "tests/world_rig.h"

#include <math.h>

static struct rig *plain_rig(void)
{
    struct world_config c = rig_config();
    return rig_create(&c);
}

/* The place that the world told with a refusal. */
static void refused_at(struct rig *r, uint32_t s, uint32_t seq, uint32_t code, double x, double y)
{
    const struct message *m = rig_refused(r, s, seq, code);
    cr_assert(m->error_notify.has_place);
    cr_assert(m->error_notify.x == x && m->error_notify.y == y, "the last legal place");
}

Test(cmd_move, a_legal_move_is_answered_at_once_with_the_exact_place)
{
    struct rig *r = plain_rig();
    uint32_t s = rig_join(r, "a");
    rig_pass(r, CLOCK_NS_PER_S);
    const struct message *m = rig_answer(r, s, rig_send_move(r, s, 8.123456789012345, -0.1));
    cr_assert_eq(m->cmd, (uint32_t)CMD_MOVE_RESP);
    cr_assert(m->move_resp.x == 8.123456789012345 && m->move_resp.y == -0.1);
    cr_assert_eq(r->world->metrics.moves_ok, 1);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(cmd_move, a_teleport_is_refused_and_tells_the_last_legal_place)
{
    struct rig *r = plain_rig();
    uint32_t v = rig_join(r, "v"), s = rig_join(r, "a");
    rig_tick(r, 1);
    rig_move(r, s, 16.25, 0);
    rig_drop(r);
    refused_at(r, s, rig_send_move(r, s, 999, 0), PE_MOVE_SPEED, 16.25, 0);
    refused_at(r, s, rig_send_move(r, s, 9999, 0), PE_MOVE_BOUNDS, 16.25, 0);
    refused_at(r, s, rig_send_turn(r, s, 900, 0, 2, 2), PE_MOVE_SPEED, 16.25, 0);
    cr_assert_eq(r->world->metrics.moves_speed, 2);
    cr_assert_eq(r->world->metrics.moves_bounds, 1);
    rig_tick(r, 1);
    const struct rig_known *k = rig_view_find(&r->sessions[v].view, r->sessions[s].id);
    cr_assert(k->x == 16.25 && k->dir == 0 && k->speed == 0, "a refused request changes nothing");
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(cmd_move, refused_moves_cost_no_credit)
{
    struct rig *r = plain_rig();
    uint32_t s = rig_join(r, "a");
    rig_pass(r, CLOCK_NS_PER_S);
    for (int i = 0; i < 1000; i++)
        rig_refused(r, s, rig_send_move(r, s, 100, 0), PE_MOVE_SPEED);
    rig_move(r, s, 8 + 12, 0);
    rig_destroy(r);
}

Test(cmd_move, sending_faster_than_time_gains_no_distance)
{
    struct rig *r = plain_rig();
    uint32_t s = rig_join(r, "a");
    uint32_t ok = 0;
    for (int i = 0; i < 2000; i++) { /* a move of 0.1 every ms: ten times too fast */
        rig_pass(r, CLOCK_NS_PER_MS);
        uint32_t seq = rig_send_move(r, s, r->sessions[s].x + 0.1, 0);
        ok += rig_answer(r, s, seq)->cmd == CMD_MOVE_RESP;
    }
    double most = 12 * (2 + 0.04);
    cr_assert_leq(ok * 0.1, most * (1 + 1e-6));
    cr_assert_geq(ok * 0.1, most - 0.2, "and loses none either");
    rig_destroy(r);
}

Test(cmd_move, dir_and_speed_stay_where_they_are_absent)
{
    struct rig *r = plain_rig();
    uint32_t v = rig_join(r, "v"), s = rig_join(r, "a");
    rig_turn(r, s, 16, 0, 1.5, 6);
    rig_move(r, s, 16.1, 0);
    rig_tick(r, 1);
    const struct rig_known *k = rig_view_find(&r->sessions[v].view, r->sessions[s].id);
    cr_assert(k->dir == 1.5 && k->speed == 6);
    struct message m = {.cmd = CMD_MOVE_REQ};
    m.move_req.x = 16.1;
    m.move_req.has_speed = true;
    m.move_req.speed = 12;
    rig_send(r, s, &m);
    rig_tick(r, 3);
    k = rig_view_find(&r->sessions[v].view, r->sessions[s].id);
    cr_assert_eq(k->wire_speed, 255);
    cr_assert_eq(k->wire_dir, 61, "floor(1.5 / 2π · 256 + 0.5)");
    rig_destroy(r);
}

Test(cmd_move, dir_is_taken_modulo_a_turn_and_speed_is_cut)
{
    static const double dirs[][2] = {
        {-1, 5.283185307179586}, {7, 0.7168146928204138}, {1e6, 5.9256211622}, {0, 0}};
    struct world_config c = rig_config();
    c.spawn = "8,0,0";
    struct rig *r = rig_create(&c);
    uint32_t s = rig_join(r, "a");
    for (size_t i = 0; i < ARRAY_LEN(dirs); i++) {
        rig_turn(r, s, 8, 0, dirs[i][0], 1e300);
        uint32_t v = rig_join(r, "v");
        rig_tick(r, 1);
        const struct rig_known *k = rig_view_find(&r->sessions[v].view, r->sessions[s].id);
        cr_assert_float_eq(k->dir, dirs[i][1], 1e-6, "%g became %g", dirs[i][0], k->dir);
        cr_assert_eq(k->speed, 12);
        rig_close(r, v);
        rig_drop(r);
    }
    rig_destroy(r);
}

Test(cmd_move, however_many_moves_a_viewer_hears_the_last_place_only)
{
    struct rig *r = plain_rig();
    uint32_t v = rig_join(r, "v"), s = rig_join(r, "a");
    rig_pass(r, CLOCK_NS_PER_S);
    rig_tick(r, 1);
    rig_drop(r);
    for (int i = 1; i <= 20; i++)
        rig_move(r, s, 16 + 0.25 * i, 0);
    rig_tick(r, 1);
    cr_assert_eq(r->sessions[v].count, 1);
    cr_assert_eq(rig_take(r, v)->aoi_move.moves.n, 5);
    cr_assert_eq(rig_view_find(&r->sessions[v].view, r->sessions[s].id)->x, 21);
    rig_tick(r, 5);
    cr_assert_null(rig_take(r, v));
    rig_destroy(r);
}

Test(cmd_move, places_are_as_exact_as_they_were_sent)
{
    struct world_config c = rig_config();
    c.max_speed = 1e6;
    struct rig *r = rig_create(&c);
    uint32_t s = rig_join(r, "a");
    static const double places[] = {0, -0.0, 1e-300, 5e-324, 1.0 / 3, 999.9999999999999, -1000};
    for (size_t i = 0; i < ARRAY_LEN(places); i++)
        rig_move(r, s, places[i], -places[i]);
    rig_destroy(r);
}
