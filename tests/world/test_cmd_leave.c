/* tests/world/test_cmd_leave.c: LeaveReq. PROTOCOL.md, "Leaving" and "Ids".
 * May touch: tests/world_rig.
 */
#include "tests/leak.h"
#include "tests/world_rig.h"

static struct rig *fast_rig(void)
{
    struct world_config c = rig_config();
    c.max_speed = 1e6;
    return rig_create(&c);
}

Test(cmd_leave, every_viewer_loses_the_entity_at_the_next_tick)
{
    struct rig *r = fast_rig();
    uint32_t a = rig_join_at(r, "a", 0, 0), b = rig_join_at(r, "b", 5, 0);
    uint32_t c = rig_join_at(r, "c", 10, 0);
    rig_tick(r, 1);
    rig_drop(r);
    rig_leave(r, b);
    cr_assert_eq(r->sessions[a].count, 0, "not before the tick");
    rig_tick(r, 1);
    uint32_t id = r->sessions[b].id;
    const struct message *m = rig_take(r, a);
    cr_assert_eq(m->cmd, (uint32_t)CMD_AOI_REMOVE);
    cr_assert_eq(m->aoi_remove.count, 1);
    cr_assert_eq(m->aoi_remove.ids[0], id);
    cr_assert_eq(rig_take(r, c)->aoi_remove.ids[0], id);
    cr_assert_null(rig_take(r, a));
    rig_tick(r, 3);
    cr_assert_null(rig_take(r, a));
    cr_assert_null(rig_take(r, b), "no Aoi frame comes after LeaveResp");
    rig_balance(r);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(cmd_leave, entering_again_brings_another_id_while_the_old_one_rests)
{
    struct rig *r = fast_rig();
    uint32_t a = rig_join_at(r, "a", 0, 0), b = rig_join_at(r, "b", 5, 0);
    uint32_t old = r->sessions[b].id;
    rig_tick(r, 1);
    rig_leave(r, b);
    uint32_t new = rig_enter(r, b);
    cr_assert_neq(new, old);
    rig_place(r, b, 6, 0);
    rig_drop(r);
    rig_tick(r, 1);
    cr_assert_eq(rig_take(r, a)->aoi_remove.ids[0], old);
    cr_assert_eq(rig_take(r, a)->aoi_add.entities[0].id, new);
    cr_assert_null(rig_take(r, a));
    cr_assert(rig_knows(r, b, a), "it knows all afresh");
    rig_leave(r, b);
    rig_pass(r, PROTO_ID_REST_S * CLOCK_NS_PER_S);
    cr_assert_eq(rig_enter(r, b), old, "the lowest free one, after its rest");
    rig_tick(r, 1);
    rig_balance(r);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(cmd_leave, what_came_and_went_within_a_tick_is_never_told)
{
    struct rig *r = fast_rig();
    uint32_t v = rig_join_at(r, "v", 0, 0);
    rig_tick(r, 1);
    rig_drop(r);
    for (int i = 0; i < 50; i++) {
        uint32_t s = rig_join_at(r, "fly", 1, 1);
        if (i % 2)
            rig_leave(r, s);
        rig_close(r, s);
    }
    rig_tick(r, 2);
    cr_assert_null(rig_take(r, v));
    cr_assert_eq(r->world->events.count[EVENT_ENTER], 1, "v's own");
    cr_assert_eq(r->world->events.count[EVENT_LEAVE], 0);
    rig_balance(r);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(cmd_leave, a_viewer_that_leaves_and_enters_within_a_tick_starts_afresh)
{
    struct rig *r = fast_rig();
    uint32_t v = rig_join_at(r, "v", 0, 0), a = rig_join_at(r, "a", 5, 0);
    rig_tick(r, 1);
    for (int i = 0; i < 5; i++) {
        rig_leave(r, v);
        rig_enter(r, v);
        rig_place(r, v, i, 0);
    }
    rig_drop(r);
    rig_tick(r, 1);
    cr_assert_eq(rig_take(r, v)->aoi_add.count, 1);
    cr_assert_null(rig_take(r, v));
    cr_assert_eq(rig_take(r, a)->aoi_remove.count, 1, "the ids between were never told");
    cr_assert_eq(rig_take(r, a)->aoi_add.count, 1);
    rig_balance(r);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(cmd_leave, two_who_know_each_other_may_leave_in_one_tick)
{
    struct rig *r = fast_rig();
    uint32_t a = rig_join_at(r, "a", 0, 0), b = rig_join_at(r, "b", 5, 0);
    uint32_t c = rig_join_at(r, "c", 9, 0);
    rig_tick(r, 1);
    rig_move(r, a, 1, 1);
    rig_leave(r, a);
    rig_close(r, b);
    rig_drop(r);
    rig_tick(r, 2);
    cr_assert_eq(rig_take(r, c)->aoi_remove.count, 2);
    cr_assert_eq(r->world->sight.pairs, 0);
    rig_balance(r);
    rig_destroy(r);
}
