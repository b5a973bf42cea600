/* tests/world/test_tick.c: what a tick tells, to whom, in which order, and when.
 * May touch: tests/world_rig. Source: PROTOCOL.md, "What a client may rely on".
 */
#include "world/tick.h"

#include "tests/leak.h"
#include "tests/world_rig.h"

#define TURN 6.283185307179586

static struct world_config fast(void)
{
    struct world_config c = rig_config();
    c.max_speed = 1e6;
    return c;
}

static const struct rig_known *known(const struct rig *r, uint32_t s, uint32_t other)
{
    return rig_view_find(&r->sessions[s].view, r->sessions[other].id);
}

/* Ticks until `s` hears of `other`, at most 20. */
static uint32_t ticks_until_told(struct rig *r, uint32_t s, uint32_t other)
{
    for (uint32_t n = 1; n <= 20; n++) {
        rig_tick(r, 1);
        if (known(r, s, other)->tick == r->world->tick)
            return n;
    }
    return 0;
}

Test(tick, ticks_count_from_one_and_say_so)
{
    struct world_config c = fast();
    struct rig *r = rig_create(&c);
    uint32_t a = rig_join_at(r, "a", 0, 0);
    (void)rig_join_at(r, "b", 1, 0);
    rig_tick(r, 1);
    cr_assert_eq(rig_next(r, a, CMD_AOI_ADD)->aoi_add.tick, 1);
    cr_assert_eq(r->world->metrics.ticks, 1);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(tick, nothing_to_tell_is_no_frame)
{
    struct world_config c = fast();
    struct rig *r = rig_create(&c);
    uint32_t a = rig_join_at(r, "a", 0, 0);
    (void)rig_join_at(r, "b", 1, 0);
    rig_tick(r, 1);
    rig_drop(r);
    uint32_t frames = r->frames;
    rig_tick(r, 50);
    cr_assert_eq(r->frames, frames);
    rig_move(r, a, 0, 0);
    rig_tick(r, 5);
    cr_assert_eq(r->frames, frames + 1, "MoveResp alone");
    rig_destroy(r);
}

Test(tick, remove_add_and_move_go_in_one_write_in_this_order)
{
    struct world_config c = fast();
    struct rig *r = rig_create(&c);
    uint32_t v = rig_join_at(r, "v", 0, 0), gone = rig_join_at(r, "gone", 5, 0);
    uint32_t new = rig_join_at(r, "new", 100, 0), stays = rig_join_at(r, "stays", 6, 0);
    rig_tick(r, 1);
    rig_drop(r);
    rig_move(r, gone, 200, 0);
    rig_move(r, new, 7, 0);
    rig_move(r, stays, 8, 0);
    rig_tick(r, 1);
    const struct rig_session *s = &r->sessions[v];
    cr_assert_eq(s->count, 3);
    for (uint32_t at = s->first; at != RIG_NONE; at = r->mail[at].next)
        cr_assert_eq(r->mail[at].frame, r->mail[s->first].frame);
    cr_assert_eq(rig_take(r, v)->cmd, (uint32_t)CMD_AOI_REMOVE);
    cr_assert_eq(rig_take(r, v)->cmd, (uint32_t)CMD_AOI_ADD);
    cr_assert_eq(rig_take(r, v)->cmd, (uint32_t)CMD_AOI_MOVE);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(tick, a_small_change_waits_for_the_update_interval_and_no_longer)
{
    static const uint64_t intervals[] = {0, 1, 2, 5, 10};
    for (size_t i = 0; i < ARRAY_LEN(intervals); i++) {
        struct world_config c = fast();
        c.update_interval = intervals[i];
        struct rig *r = rig_create(&c);
        uint32_t v = rig_join_at(r, "v", 0, 0), a = rig_join_at(r, "a", 5, 0);
        rig_tick(r, 3);
        rig_move(r, a, 5.04, 0);
        cr_assert_leq(ticks_until_told(r, v, a), intervals[i] + 1);
        cr_assert_eq(known(r, v, a)->qx, 323);
        rig_destroy(r);
    }
    TEST_NO_LEAKS();
}

Test(tick, small_changes_wait_so_that_several_are_told_as_one)
{
    struct world_config c = fast();
    c.update_interval = 10;
    struct rig *r = rig_create(&c);
    uint32_t v = rig_join_at(r, "v", 0, 0), a = rig_join_at(r, "a", 5, 0);
    rig_tick(r, 3);
    for (int i = 1; i <= 5; i++) {
        rig_move(r, a, 5 + 0.004 * i, 0);
        rig_tick(r, 1);
        cr_assert(known(r, v, a)->by_add, "tick %d", i);
    }
    cr_assert_gt(ticks_until_told(r, v, a), 0);
    cr_assert_eq(r->sessions[v].view.moves, 1);
    rig_destroy(r);
}

Test(tick, small_steps_add_up_to_a_change_that_is_told_at_once)
{
    struct world_config c = fast();
    c.update_interval = 1000;
    struct rig *r = rig_create(&c);
    uint32_t v = rig_join_at(r, "v", 0, 0), a = rig_join_at(r, "a", 5, 0);
    rig_tick(r, 3);
    for (int i = 1; i <= 4; i++) {
        rig_move(r, a, 5 + 0.012 * i, 0);
        rig_tick(r, 1);
    }
    cr_assert_eq(r->sessions[v].view.moves, 0);
    rig_move(r, a, 5.06, 0);
    rig_tick(r, 1);
    cr_assert_eq(r->sessions[v].view.moves, 1);
    rig_destroy(r);
}

Test(tick, a_change_of_the_thresholds_size_is_told_in_its_tick)
{
    struct world_config c = fast();
    c.update_interval = 10;
    c.move_epsilon = 0.0625;
    struct rig *r = rig_create(&c);
    uint32_t v = rig_join_at(r, "v", 0, 0), a = rig_join_at(r, "a", 5, 0);
    rig_tick(r, 3);
    rig_move(r, a, 5.0625, 0);
    cr_assert_eq(ticks_until_told(r, v, a), 1);
    rig_move(r, a, 5.0625, 0.0625 - 1.0 / 1024);
    rig_tick(r, 1);
    cr_assert_neq(known(r, v, a)->tick, r->world->tick);
    rig_destroy(r);
}

Test(tick, what_is_the_same_on_the_wire_is_never_told)
{
    struct world_config c = fast();
    struct rig *r = rig_create(&c);
    uint32_t v = rig_join_at(r, "v", 0, 0), a = rig_join_at(r, "a", 5, 0);
    rig_tick(r, 3);
    for (int i = 0; i < 20; i++) {
        rig_turn(r, a, 5 + (i % 2) * 0.007, 0, (i % 3) * 0.006, 100 * (i % 2));
        rig_tick(r, 1);
    }
    cr_assert_eq(r->sessions[v].view.moves, 0);
    rig_destroy(r);
}

Test(tick, a_small_change_taken_back_is_never_told)
{
    struct world_config c = fast();
    c.update_interval = 3;
    struct rig *r = rig_create(&c);
    uint32_t v = rig_join_at(r, "v", 0, 0), a = rig_join_at(r, "a", 5, 0);
    rig_tick(r, 3);
    rig_move(r, a, 5.04, 0);
    rig_tick(r, 2);
    rig_move(r, a, 5, 0);
    rig_tick(r, 10);
    cr_assert_eq(r->sessions[v].view.moves, 0);
    rig_destroy(r);
}

Test(tick, turns_are_measured_across_two_pi)
{
    struct world_config c = fast();
    c.update_interval = 10;
    c.dir_epsilon = 10;
    struct rig *r = rig_create(&c);
    uint32_t v = rig_join_at(r, "v", 0, 0), a = rig_join_at(r, "a", 5, 0);
    rig_turn(r, a, 5, 0, 0.05, 0);
    rig_tick(r, 3);
    rig_turn(r, a, 5, 0, TURN - 0.05, 0); /* 5.7 degrees: small */
    rig_tick(r, 1);
    cr_assert_eq(r->sessions[v].view.moves, 0, "it may wait");
    cr_assert_gt(ticks_until_told(r, v, a), 1);
    rig_turn(r, a, 5, 0, 0.15, 0); /* 11.5 degrees: large */
    cr_assert_eq(ticks_until_told(r, v, a), 1);
    rig_destroy(r);
}

Test(tick, a_newcomers_add_and_the_waiting_change_agree)
{
    struct world_config c = fast();
    c.update_interval = 10;
    struct rig *r = rig_create(&c);
    uint32_t v = rig_join_at(r, "v", 0, 0), a = rig_join_at(r, "a", 5, 0);
    rig_tick(r, 3);
    rig_move(r, a, 5.04, 0);
    rig_tick(r, 1);
    uint32_t n = rig_join_at(r, "n", 1, 1);
    rig_tick(r, 1);
    cr_assert_eq(known(r, n, a)->x, 5.04);
    rig_tick(r, 12); /* the views tell whoever hears twice of the same */
    cr_assert_eq(known(r, v, a)->qx, 323);
    cr_assert(known(r, n, a)->by_add);
    rig_destroy(r);
}

/* --- events ---------------------------------------------------------------------------------- */

struct counts {
    uint64_t n[EVENT_TYPES];
};

/* Run a tick; the events in it. */
static struct counts count(struct rig *r)
{
    struct counts c;
    for (int i = 0; i < EVENT_TYPES; i++)
        c.n[i] = r->world->events.count[i];
    rig_tick(r, 1);
    for (int i = 0; i < EVENT_TYPES; i++)
        c.n[i] = r->world->events.count[i] - c.n[i];
    return c;
}

static void expect(struct rig *r, uint64_t leave, uint64_t enter, uint64_t update)
{
    struct counts c = count(r);
    cr_assert(c.n[EVENT_LEAVE] == leave && c.n[EVENT_ENTER] == enter && c.n[EVENT_UPDATE] == update,
              "%llu leaves, %llu enters, %llu updates", (unsigned long long)c.n[EVENT_LEAVE],
              (unsigned long long)c.n[EVENT_ENTER], (unsigned long long)c.n[EVENT_UPDATE]);
}

Test(tick, events_are_counted_by_type)
{
    struct world_config c = fast();
    struct rig *r = rig_create(&c);
    double side = r->world->scenes.grid.areas[0].side;
    uint32_t a = rig_join_at(r, "a", -1000 + 10.5 * side, 0.5);
    expect(r, 0, 1, 0);
    expect(r, 0, 0, 0);
    rig_move(r, a, -1000 + 10.6 * side, 0.5); /* inside of its cell */
    expect(r, 0, 0, 1);
    rig_move(r, a, -1000 + 11.5 * side, 0.5); /* across a border: left one, entered the other */
    expect(r, 1, 1, 0);
    for (int i = 0; i < 9; i++) /* several changes in a tick are one event */
        rig_move(r, a, -1000 + (20.5 + i) * side, 0.5);
    expect(r, 1, 1, 0);
    rig_turn(r, a, r->sessions[a].x, 0.5, 1, 0);
    expect(r, 0, 0, 1);
    rig_leave(r, a);
    expect(r, 1, 0, 0);
    expect(r, 0, 0, 0);
    rig_enter(r, a);
    rig_leave(r, a);
    expect(r, 0, 0, 0);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(tick, who_moved_and_then_left_is_a_leave_alone)
{
    struct world_config c = fast();
    struct rig *r = rig_create(&c);
    uint32_t v = rig_join_at(r, "v", 0, 0), a = rig_join_at(r, "a", 5, 0);
    rig_tick(r, 1);
    rig_move(r, a, 6, 0);
    rig_leave(r, a);
    rig_drop(r);
    expect(r, 1, 0, 0);
    cr_assert_eq(r->sessions[v].count, 1);
    rig_destroy(r);
}

Test(tick, the_tables_of_metrics_follow)
{
    struct world_config c = fast();
    struct rig *r = rig_create(&c);
    uint32_t a = rig_join_at(r, "a", 0, 0), b = rig_join_at(r, "b", 5, 0);
    rig_tick(r, 1);
    rig_move(r, b, 6, 0);
    rig_tick(r, 1);
    rig_leave(r, b);
    rig_tick(r, 1);
    world_gauges(r->world);
    const struct world_metrics *m = &r->world->metrics;
    cr_assert_eq(m->aoi_adds, 2);
    cr_assert_eq(m->aoi_moves, 1);
    cr_assert_eq(m->aoi_removes, 1);
    cr_assert_eq(m->aoi_known, 0);
    cr_assert_eq(m->events_enter, 2);
    cr_assert_eq(m->events_leave, 1);
    cr_assert_eq(m->entities, 1);
    cr_assert_eq(m->sessions, 2);
    cr_assert_eq(m->link_bytes_out, r->bytes);
    cr_assert_eq(r->sessions[a].view.batches, 3);
    rig_destroy(r);
}

Test(tick, a_tick_that_comes_late_is_one_tick_and_credit_stays_bounded)
{
    struct world_config c = rig_config();
    struct rig *r = rig_create(&c);
    uint32_t a = rig_join(r, "a");
    rig_tick(r, 1);
    rig_pass(r, 3600 * CLOCK_NS_PER_S);
    rig_tick(r, 1);
    cr_assert_eq(r->world->tick, 2);
    rig_refused(r, a, rig_send_move(r, a, 8 + 12.5, 0), PE_MOVE_SPEED);
    rig_move(r, a, 8 + 12, 0);
    rig_destroy(r);
}
