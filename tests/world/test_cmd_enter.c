/* tests/world/test_cmd_enter.c: EnterReq. PROTOCOL.md, "Ids", "Entering".
 * May touch: tests/world_rig.
 */
#include "tests/leak.h"
#include "tests/world_rig.h"

static uint32_t send_scene(struct rig *r, uint32_t s, const char *scene)
{
    struct message m = {.cmd = CMD_ENTER_REQ};
    m.enter_req.has_scene = true;
    m.enter_req.scene = span_text(scene);
    return rig_send(r, s, &m);
}

Test(cmd_enter, the_answer_tells_where_and_under_which_rules)
{
    struct world_config c = rig_config();
    c.aoi_radius = 41.5;
    c.aoi_hysteresis = 3;
    c.tick_ns = 40 * CLOCK_NS_PER_MS;
    c.quantum = 1.0 / 32;
    c.max_speed = 9.25;
    struct rig *r = rig_create(&c);
    uint32_t s = rig_open(r, 0);
    uint32_t id = rig_login(r, s, "alpha");
    const struct message *m = rig_answer(r, s, rig_send_nil(r, s, CMD_ENTER_REQ));
    cr_assert_eq(m->cmd, (uint32_t)CMD_ENTER_RESP);
    cr_assert_eq(m->enter_resp.id, id);
    cr_assert(span_equal(m->enter_resp.scene, span_text(SCENE_OPEN)));
    cr_assert(m->enter_resp.x == 8 && m->enter_resp.y == 0);
    cr_assert_eq(m->enter_resp.tick_ms, 40);
    cr_assert_eq(m->enter_resp.radius, 41.5);
    cr_assert_eq(m->enter_resp.quantum, 1.0 / 32);
    cr_assert_eq(m->enter_resp.max_speed, 9.25);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(cmd_enter, the_first_three_stand_at_eight_sixteen_and_twenty_four)
{
    struct world_config c = rig_config();
    struct rig *r = rig_create(&c);
    static const char *const names[] = {"alpha", "beta", "gamma"};
    for (uint32_t i = 0; i < 3; i++) {
        uint32_t s = rig_join(r, names[i]);
        cr_assert_eq(r->sessions[s].x, 8.0 * (i + 1));
        cr_assert_eq(r->sessions[s].y, 0);
    }
    rig_destroy(r);
}

Test(cmd_enter, the_first_tick_brings_everyone_in_sight_at_their_places_and_no_move)
{
    struct world_config c = rig_config();
    c.max_speed = 1e6;
    struct rig *r = rig_create(&c);
    uint32_t a = rig_join_at(r, "a", 1, 1), b = rig_join_at(r, "b", 2, 2);
    uint32_t far = rig_join_at(r, "far", 500, 0);
    rig_tick(r, 3);
    rig_drop(r);
    uint32_t v = rig_join_at(r, "v", 0, 0);
    rig_turn(r, a, 1.5, 1, 2, 3);
    cr_assert_eq(r->sessions[v].count, 0, "nothing before the tick");
    rig_tick(r, 1);
    const struct message *m = rig_take(r, v);
    cr_assert_eq(m->cmd, (uint32_t)CMD_AOI_ADD);
    cr_assert_eq(m->aoi_add.tick, r->world->tick);
    cr_assert_eq(m->aoi_add.count, 2);
    const struct message_entity *e = m->aoi_add.entities;
    cr_assert(e[0].id == r->sessions[a].id && e[0].x == 1.5 && e[0].dir == 2 && e[0].speed == 3);
    cr_assert(e[1].id == r->sessions[b].id && e[1].x == 2 && e[1].y == 2);
    cr_assert(span_equal(e[1].name, span_text("b")));
    cr_assert_null(rig_take(r, v));
    cr_assert_not(rig_knows(r, v, far));
    cr_assert(rig_knows(r, a, v) && rig_knows(r, b, v));
    rig_tick(r, 4);
    cr_assert_null(rig_take(r, v));
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(cmd_enter, the_scene_may_be_named_and_others_are_not_there)
{
    struct world_config c = rig_config();
    struct rig *r = rig_create(&c);
    uint32_t s = rig_open(r, 0);
    rig_login(r, s, "alpha");
    rig_refused(r, s, send_scene(r, s, "moon"), PE_NO_SUCH_SCENE);
    rig_refused(r, s, send_scene(r, s, "OPEN"), PE_NO_SUCH_SCENE);
    rig_refused(r, s, send_scene(r, s, "open "), PE_NO_SUCH_SCENE);
    uint32_t seq = send_scene(r, s, SCENE_OPEN);
    cr_assert_eq(rig_answer(r, s, seq)->cmd, (uint32_t)CMD_ENTER_RESP);
    rig_destroy(r);
}

Test(cmd_enter, a_full_world_is_unavailable_and_has_room_again_later)
{
    struct world_config c = rig_config();
    c.max_entities = 2;
    struct rig *r = rig_create(&c);
    uint32_t a = rig_join(r, "a"), s = rig_open(r, 0);
    (void)rig_join(r, "b");
    rig_login(r, s, "c");
    rig_refused(r, s, rig_send_nil(r, s, CMD_ENTER_REQ), PE_UNAVAILABLE);
    rig_refused(r, s, rig_send_nil(r, s, CMD_ENTER_REQ), PE_UNAVAILABLE);
    cr_assert_eq(r->world->metrics.entities_full, 2);
    rig_tick(r, 1);
    rig_leave(r, a);
    rig_enter(r, s);
    rig_refused(r, a, rig_send_nil(r, a, CMD_ENTER_REQ), PE_UNAVAILABLE);
    rig_tick(r, 2);
    rig_balance(r);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(cmd_enter, credit_starts_anew_and_small)
{
    struct world_config c = rig_config();
    struct rig *r = rig_create(&c);
    uint32_t s = rig_join(r, "a");
    rig_refused(r, s, rig_send_move(r, s, 8 + 0.5, 0), PE_MOVE_SPEED);
    rig_move(r, s, 8 + 0.48, 0);
    rig_pass(r, 5 * CLOCK_NS_PER_S);
    rig_leave(r, s);
    rig_enter(r, s);
    rig_refused(r, s, rig_send_move(r, s, r->sessions[s].x + 0.5, 0), PE_MOVE_SPEED);
    rig_destroy(r);
}
