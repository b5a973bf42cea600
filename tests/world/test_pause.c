/* tests/world/test_pause.c: viewers whose clients do not drain: silence, then one exact batch.
 * May touch: tests/world_rig, tests/world/oracle.
 */
#include "tests/leak.h"
#include "tests/world/oracle.h"

static struct rig *fast_world(void)
{
    struct world_config c = rig_config();
    c.max_speed = 1e6;
    return rig_create(&c);
}

static const struct rig_known *known(const struct rig *r, uint32_t s, uint32_t other)
{
    return rig_view_find(&r->sessions[s].view, r->sessions[other].id);
}

Test(pause, a_paused_viewer_gets_no_batch_and_one_exact_one_afterwards)
{
    struct rig *r = fast_world();
    uint32_t v = rig_join_at(r, "v", 0, 0), a = rig_join_at(r, "a", 5, 0);
    uint32_t b = rig_join_at(r, "b", 10, 0), d = rig_join_at(r, "d", 100, 0);
    uint32_t still = rig_join_at(r, "still", 0, 9);
    rig_tick(r, 1);
    rig_drop(r);

    rig_congestion(r, v, true);
    for (int i = 1; i <= 10; i++) {
        rig_move(r, a, 5 + i, 0);       /* stays */
        rig_move(r, b, 10 + 5 * i, 0);  /* goes */
        rig_move(r, d, 100 - 9 * i, 0); /* comes */
        rig_tick(r, 1);
        cr_assert_eq(r->sessions[v].count, 0, "told while it is paused");
        cr_assert_gt(r->sessions[still].view.batches, (uint64_t)i, "the others are told");
    }
    rig_drop(r);
    rig_congestion(r, v, false);
    cr_assert_eq(r->sessions[v].count, 0, "the batch comes with the tick");
    rig_tick(r, 1);
    cr_assert_eq(r->sessions[v].view.batches, 2);
    cr_assert_eq(r->sessions[v].count, 3, "a remove, an add and a move");
    cr_assert_not(rig_knows(r, v, b));
    cr_assert_eq(known(r, v, d)->x, 10);
    cr_assert_eq(known(r, v, a)->x, 15);
    cr_assert_neq(known(r, v, still)->tick, r->world->tick, "who did not change is not told again");
    rig_drop(r);
    rig_tick(r, 5);
    cr_assert_eq(r->sessions[v].count, 0, "and nothing more");
    rig_balance(r);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(pause, who_came_back_to_where_it_was_told_is_not_told)
{
    struct rig *r = fast_world();
    uint32_t v = rig_join_at(r, "v", 0, 0), a = rig_join_at(r, "a", 5, 0);
    rig_tick(r, 1);
    rig_drop(r);
    rig_congestion(r, v, true);
    rig_turn(r, a, 9, 9, 1, 2);
    rig_tick(r, 1);
    rig_move(r, a, 400, 0);
    rig_tick(r, 1);
    rig_turn(r, a, 5, 0, 0, 0);
    rig_tick(r, 1);
    rig_congestion(r, v, false);
    rig_tick(r, 4);
    cr_assert_eq(r->sessions[v].count, 0);
    rig_balance(r);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(pause, a_far_move_in_sight_comes_as_remove_and_add)
{
    struct rig *r = fast_world();
    uint32_t v = rig_join_at(r, "v", 0, 0), a = rig_join_at(r, "a", 5, 0);
    rig_tick(r, 1);
    rig_congestion(r, v, true);
    rig_tick(r, 1);
    for (int i = 0; i < 10; i++) { /* together, in steps that a record could say */
        rig_move(r, v, 60 * i, 0);
        rig_move(r, a, 60 * i + 5, 0);
        rig_tick(r, 1);
    }
    rig_drop(r);
    rig_congestion(r, v, false);
    rig_tick(r, 1);
    cr_assert_eq(rig_take(r, v)->cmd, (uint32_t)CMD_AOI_REMOVE);
    cr_assert_eq(rig_take(r, v)->cmd, (uint32_t)CMD_AOI_ADD);
    cr_assert_null(rig_take(r, v));
    cr_assert_eq(known(r, v, a)->x, 545);
    rig_balance(r);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(pause, who_left_or_was_lost_meanwhile_is_removed)
{
    struct rig *r = fast_world();
    uint32_t v = rig_join_at(r, "v", 0, 0), a = rig_join_at(r, "a", 5, 0);
    uint32_t b = rig_join_at(r, "b", 6, 0), d = rig_join_at(r, "d", 7, 0);
    rig_tick(r, 1);
    rig_congestion(r, v, true);
    rig_leave(r, a);
    rig_tick(r, 1);
    rig_close(r, b);
    rig_tick(r, 1);
    rig_leave(r, d);
    rig_enter(r, d);
    rig_place(r, d, 7, 0);
    rig_tick(r, 1);
    rig_drop(r);
    rig_congestion(r, v, false);
    rig_tick(r, 1);
    cr_assert_eq(rig_take(r, v)->aoi_remove.count, 3);
    cr_assert_eq(rig_take(r, v)->aoi_add.count, 1);
    cr_assert(rig_knows(r, v, d));
    cr_assert_eq(r->sessions[v].view.count, 1);
    rig_balance(r);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(pause, requests_of_a_paused_client_are_answered)
{
    struct rig *r = fast_world();
    uint32_t a = rig_join_at(r, "a", 5, 0), v = rig_open(r, 0);
    rig_congestion(r, v, true);
    rig_login(r, v, "v");
    rig_enter(r, v);
    rig_place(r, v, 0, 0);
    rig_tick(r, 3);
    cr_assert_eq(r->sessions[v].count, 0, "EnterResp was taken, and no batch came");
    cr_assert(rig_knows(r, a, v), "others see it");
    rig_congestion(r, v, false);
    rig_tick(r, 1);
    cr_assert_eq(rig_take(r, v)->cmd, (uint32_t)CMD_AOI_ADD);
    cr_assert_null(rig_take(r, v));
    rig_congestion(r, v, true);
    rig_leave(r, v);
    rig_tick(r, 1);
    rig_congestion(r, v, false);
    rig_tick(r, 2);
    cr_assert_null(rig_take(r, v), "no Aoi frame comes after LeaveResp");
    cr_assert_not(rig_knows(r, a, v));
    rig_enter(r, v);
    rig_place(r, v, 0, 0);
    rig_tick(r, 1);
    cr_assert(rig_knows(r, v, a));
    rig_balance(r);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(pause, it_may_leave_and_enter_again_while_it_is_paused)
{
    struct rig *r = fast_world();
    uint32_t a = rig_join_at(r, "a", 5, 0), v = rig_join_at(r, "v", 0, 0);
    rig_tick(r, 1);
    rig_congestion(r, v, true);
    rig_move(r, a, 6, 0);
    rig_tick(r, 1);
    rig_leave(r, v);
    rig_enter(r, v);
    rig_place(r, v, 1, 0);
    rig_tick(r, 3);
    cr_assert_eq(r->sessions[v].view.count, 0);
    rig_drop(r);
    rig_congestion(r, v, false);
    rig_tick(r, 1);
    cr_assert_eq(rig_take(r, v)->cmd, (uint32_t)CMD_AOI_ADD);
    cr_assert_null(rig_take(r, v));
    cr_assert_eq(known(r, v, a)->x, 6);
    rig_balance(r);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(pause, pausing_again_before_the_exact_batch_loses_nothing)
{
    struct rig *r = fast_world();
    uint32_t v = rig_join_at(r, "v", 0, 0), a = rig_join_at(r, "a", 5, 0);
    rig_tick(r, 1);
    rig_congestion(r, v, true);
    rig_congestion(r, v, true);
    rig_move(r, a, 6, 0);
    rig_tick(r, 1);
    rig_congestion(r, v, false);
    rig_congestion(r, v, true);
    rig_move(r, a, 7, 0);
    rig_tick(r, 1);
    cr_assert_eq(known(r, v, a)->x, 5);
    rig_congestion(r, v, false);
    rig_congestion(r, v, false);
    rig_tick(r, 1);
    cr_assert_eq(known(r, v, a)->x, 7);
    world_gauges(r->world);
    cr_assert_eq(r->world->metrics.pauses, 2);
    cr_assert_eq(r->world->metrics.viewers_paused, 0);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(pause, a_paused_client_hears_nobody_whom_it_was_not_told_of)
{
    struct rig *r = fast_world();
    uint32_t v = rig_join_at(r, "v", 0, 0), a = rig_join_at(r, "a", 500, 0);
    rig_tick(r, 1);
    rig_congestion(r, v, true);
    rig_move(r, a, 5, 0);
    rig_tick(r, 2);
    rig_say(r, a, "hello"); /* v's view would tell */
    rig_congestion(r, v, false);
    rig_tick(r, 1);
    rig_say(r, a, "hello again");
    cr_assert_not_null(rig_next(r, v, CMD_SAY_NOTIFY));
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(pause, a_paused_client_still_hears_whom_it_was_told_of)
{
    static const double hysteresis[] = {0, 5};
    for (size_t i = 0; i < ARRAY_LEN(hysteresis); i++) {
        struct world_config c = rig_config();
        c.max_speed = 1e6;
        c.aoi_hysteresis = hysteresis[i];
        struct rig *r = rig_create(&c);
        uint32_t v = rig_join_at(r, "v", 0, 0), a = rig_join_at(r, "a", 5, 0);
        rig_tick(r, 1);
        rig_congestion(r, v, true);
        rig_move(r, a, 500, 0);
        rig_tick(r, 2);
        rig_drop(r);
        rig_say(r, a, "hello"); /* for all that v was told, it stands beside it */
        cr_assert_eq(rig_take(r, v)->cmd, (uint32_t)CMD_SAY_NOTIFY);
        rig_destroy(r);
    }
    TEST_NO_LEAKS();
}

Test(pause, after_a_pause_one_may_know_another_who_does_not_know_it_and_hears_it)
{
    struct world_config c = rig_config();
    c.max_speed = 1e6;
    c.aoi_hysteresis = 5;
    struct rig *r = rig_create(&c);
    uint32_t v = rig_join_at(r, "v", 0, 0), a = rig_join_at(r, "a", 5, 0);
    rig_tick(r, 1);
    rig_congestion(r, v, true);
    rig_move(r, a, 100, 0); /* it drops v, and is back between the radius and the hysteresis */
    rig_tick(r, 1);
    rig_move(r, a, 33, 0);
    rig_tick(r, 1);
    rig_congestion(r, v, false);
    rig_tick(r, 2);
    cr_assert(rig_knows(r, v, a) && !rig_knows(r, a, v));
    rig_drop(r);
    rig_say(r, a, "hello");
    const struct message *m = rig_take(r, v);
    cr_assert(m && m->cmd == CMD_SAY_NOTIFY, "everyone who knows the speaker hears it");
    rig_say(r, v, "hello");
    cr_assert_null(rig_take(r, a));
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(pause, another_under_an_id_that_was_given_again_is_not_taken_for_the_old_one)
{
    struct rig *r = fast_world();
    uint32_t v = rig_join_at(r, "v", 0, 0), a = rig_join_at(r, "a", 5, 0);
    uint32_t id = r->sessions[a].id;
    rig_tick(r, 1);
    rig_congestion(r, v, true);
    rig_tick(r, 1);
    rig_close(r, a);
    rig_tick(r, 1);
    rig_pass(r, (PROTO_ID_REST_S + 1) * CLOCK_NS_PER_S);
    rig_drop(r);
    uint32_t b = rig_join_at(r, "b", 5, 0);
    cr_assert_eq(r->sessions[b].id, id, "the lowest free id is given first");
    rig_tick(r, 1);
    rig_congestion(r, v, false);
    rig_tick(r, 3);
    cr_assert_not_null(known(r, v, b));
    cr_assert_eq(known(r, v, b)->name[0], 'b');
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(pause, without_room_to_remember_the_session_is_closed_as_slow)
{
    struct world_config c = rig_config();
    c.max_speed = 1e6;
    c.max_pairs = 1024;
    struct rig *r = rig_create(&c);
    uint32_t s[30];
    char name[16];
    for (uint32_t i = 0; i < ARRAY_LEN(s); i++) {
        snprintf(name, sizeof name, "p%u", i);
        s[i] = rig_join_at(r, name, i, 0);
    }
    rig_tick(r, 1);
    for (uint32_t i = 0; i < ARRAY_LEN(s); i++)
        rig_congestion(r, s[i], true);
    uint32_t closed = 0;
    for (uint32_t i = 0; i < ARRAY_LEN(s); i++) {
        closed += r->sessions[s[i]].closed;
        cr_assert(!r->sessions[s[i]].closed || r->sessions[s[i]].close_code == PE_SLOW);
    }
    cr_assert_gt(closed, 0);
    cr_assert_eq(r->world->metrics.pauses_refused, closed);
    cr_assert_eq(r->world->metrics.pauses, ARRAY_LEN(s) - closed);
    rig_tick(r, 2);
    for (uint32_t i = 0; i < ARRAY_LEN(s); i++)
        if (r->sessions[s[i]].open)
            rig_congestion(r, s[i], false);
    rig_tick(r, 2);
    for (uint32_t i = 0; i < ARRAY_LEN(s); i++)
        if (r->sessions[s[i]].open)
            cr_assert_eq(r->sessions[s[i]].view.count, ARRAY_LEN(s) - closed - 1);
    rig_balance(r);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(pause, a_resumed_viewer_without_room_for_its_list_is_exact_once_there_is_some)
{
    struct world_config c = rig_config();
    c.max_speed = 1e6;
    c.max_pairs = 32;
    struct rig *r = rig_create(&c);
    uint32_t v = rig_join_at(r, "v", 0, 0), s[40];
    char name[16];
    for (uint32_t i = 0; i < ARRAY_LEN(s); i++) {
        snprintf(name, sizeof name, "p%u", i);
        s[i] = rig_join_at(r, name, i < 4 ? 1 : 200, i);
    }
    rig_tick(r, 1);
    cr_assert_eq(r->sessions[v].view.count, 4);
    rig_congestion(r, v, true);
    for (uint32_t i = 4; i < ARRAY_LEN(s); i++)
        rig_move(r, s[i], 2, i / 2.0);
    rig_tick(r, 1);
    rig_congestion(r, v, false);
    rig_tick(r, 2);
    for (uint32_t i = 0; i < 30; i++)
        rig_leave(r, s[i]);
    rig_tick(r, 2);
    cr_assert_eq(r->sessions[v].view.count, ARRAY_LEN(s) - 30);
    cr_assert_eq(r->sessions[s[39]].view.count, ARRAY_LEN(s) - 30);
    rig_balance(r);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

/* --- brute force ----------------------------------------------------------------------------- */

Test(pause_oracle, viewers_pause_and_resume_at_any_time)
{
    struct oracle_rules rules = oracle_rules();
    rules.weight[ORACLE_PAUSE] = 15;
    rules.weight[ORACLE_SAY] = 10;
    rules.weight[ORACLE_JOINT] = 5;
    oracle_run(&rules, 101, oracle_rounds(1));
    TEST_NO_LEAKS();
}

Test(pause_oracle, amid_hysteresis_far_jumps_and_churn)
{
    struct oracle_rules rules = oracle_rules();
    rules.weight[ORACLE_PAUSE] = 10;
    rules.weight[ORACLE_SAY] = 10;
    rules.weight[ORACLE_LEAVE] = 8;
    rules.weight[ORACLE_CLOSE] = 8;
    rules.weight[ORACLE_JOINT] = 30;
    rules.quantum = 1.0 / 256;
    rules.hysteresis = 4;
    rules.links = 3;
    rules.n_max = 30;
    rules.ticks = 30;
    oracle_run(&rules, 102, oracle_rounds(1));
    TEST_NO_LEAKS();
}

Test(pause_oracle, while_all_creep)
{
    struct oracle_rules rules = oracle_rules();
    rules.weight[ORACLE_PAUSE] = 15;
    rules.weight[ORACLE_TINY] = 200;
    rules.weight[ORACLE_FACE] = 30;
    rules.turns = 1;
    rules.ticks = 40;
    rules.n_max = 20;
    rules.area = 20;
    oracle_run(&rules, 103, oracle_rounds(1));
    TEST_NO_LEAKS();
}
