/* tests/world/test_keep.c: characters come from the store and go back to it.
 * May touch: tests/world/shelf. Source: world/command/keep.h, PROTOCOL.md "Framing" (order).
 */
#include "tests/leak.h"
#include "tests/world/alloc_count.h"
#include "tests/world/plain_map.h"
#include "tests/world/shelf.h"

#include "world/command/keep.h"

#include <stdio.h>
#include <string.h>

static struct shelf shelf;

static struct rig *kept_rig(void)
{
    struct world_config c = rig_config();
    c.save_every_ns = 2 * CLOCK_NS_PER_S; /* 36 ticks of sweep */
    c.login_wait_ns = 10 * CLOCK_NS_PER_S;
    return shelf_rig(&shelf, &c);
}

static uint32_t send_enter(struct rig *r, uint32_t s)
{
    return rig_send_nil(r, s, CMD_ENTER_REQ);
}

/* Logs in and enters, the store answering at once. */
static uint32_t join(struct rig *r, const char *name)
{
    uint32_t s = rig_open(r, 0);
    rig_send_login(r, s, name);
    shelf_answer_all(&shelf);
    send_enter(r, s);
    cr_assert_eq(r->sessions[s].answered, 2);
    return s;
}

/* --- login ----------------------------------------------------------------------------------- */

Test(keep, a_login_is_answered_when_the_store_has_answered)
{
    struct rig *r = kept_rig();
    uint32_t s = rig_open(r, 0), seq = rig_send_login(r, s, "alpha");
    cr_assert_null(rig_take(r, s));
    rig_tick(r, 2);
    cr_assert_null(rig_take(r, s));
    cr_assert_str_eq(shelf.asked_name[0], "alpha");
    shelf_answer(&shelf);
    const struct message *m = rig_answer(r, s, seq);
    cr_assert_eq(m->cmd, (uint32_t)CMD_LOGIN_RESP);
    cr_assert_eq(m->login_resp.id, 1);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(keep, what_is_sent_meanwhile_is_answered_in_order_behind_it)
{
    struct rig *r = kept_rig();
    uint32_t s = rig_open(r, 0);
    rig_send_login(r, s, "alpha");
    send_enter(r, s);
    rig_send_move(r, s, 8.1, 0);
    rig_send_say(r, s, "hello");
    cr_assert_null(rig_take(r, s));
    shelf_answer(&shelf);
    static const uint32_t answers[] = {CMD_LOGIN_RESP, CMD_ENTER_RESP, CMD_MOVE_RESP, CMD_SAY_RESP};
    for (uint32_t i = 0; i < ARRAY_LEN(answers); i++) {
        const struct message *m = rig_take(r, s);
        cr_assert(m);
        cr_assert_eq(m->cmd, answers[i]);
        cr_assert_eq(m->seq, i + 1);
    }
    cr_assert_eq(r->world->backlog.used, 0);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(keep, who_sends_more_than_may_wait_gets_12_for_the_rest)
{
    struct rig *r = kept_rig();
    uint32_t s = rig_open(r, 0);
    r->lax = true; /* the refusals overtake */
    rig_send_login(r, s, "alpha");
    for (uint32_t i = 0; i < BACKLOG_OWN_BODIES; i++)
        rig_send_move(r, s, 1, 1);
    cr_assert_null(rig_take(r, s));
    rig_refused(r, s, rig_send_move(r, s, 1, 1), PE_RATE_LIMITED);
    cr_assert_eq(r->world->metrics.requests_held_full, 1);
    shelf_answer(&shelf);
    cr_assert_eq(rig_take(r, s)->cmd, (uint32_t)CMD_LOGIN_RESP);
    for (uint32_t i = 0; i < BACKLOG_OWN_BODIES; i++)
        cr_assert_eq(rig_take(r, s)->error_notify.code, (uint32_t)PE_NOT_IN_WORLD);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(keep, a_name_is_taken_from_the_question_on)
{
    struct rig *r = kept_rig();
    uint32_t a = rig_open(r, 0), b = rig_open(r, 0);
    rig_send_login(r, a, "alpha");
    rig_refused(r, b, rig_send_login(r, b, "alpha"), PE_NAME_IN_USE);
    shelf_answer(&shelf);
    cr_assert_eq(rig_take(r, a)->cmd, (uint32_t)CMD_LOGIN_RESP);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(keep, a_store_that_fails_refuses_the_login_with_13_and_frees_the_name)
{
    struct rig *r = kept_rig();
    uint32_t s = rig_open(r, 0), seq = rig_send_login(r, s, "alpha");
    shelf_fail(&shelf);
    const struct message *m = rig_refused(r, s, seq, PE_UNAVAILABLE);
    cr_assert(
        span_equal(m->error_notify.error, span_text("the store cannot tell of this character")));
    seq = rig_send_login(r, s, "alpha");
    shelf_answer(&shelf);
    cr_assert_eq(rig_answer(r, s, seq)->cmd, (uint32_t)CMD_LOGIN_RESP);
    cr_assert_eq(r->world->metrics.loads_failed, 1);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(keep, a_store_that_does_not_answer_is_waited_for_as_long_as_login_wait_says)
{
    struct rig *r = kept_rig();
    uint32_t s = rig_open(r, 0), seq = rig_send_login(r, s, "alpha");
    rig_pass(r, 10 * CLOCK_NS_PER_S);
    rig_tick(r, 1);
    rig_refused(r, s, seq, PE_UNAVAILABLE);
    uint32_t again = rig_send_login(r, s, "alpha");
    shelf_answer(&shelf); /* of the first question: it is nobody's */
    cr_assert_null(rig_answer(r, s, again));
    cr_assert_eq(r->world->metrics.loads_late, 1);
    shelf_answer(&shelf);
    cr_assert_eq(rig_answer(r, s, again)->cmd, (uint32_t)CMD_LOGIN_RESP);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(keep, what_is_stored_and_nobody_waits_for_is_counted)
{
    struct rig *r = kept_rig();
    rig_stored(r, &(struct store_settle){3, 9});
    rig_stored(r, &(struct store_settle){UINT32_MAX, 0});
    cr_assert_eq(r->world->metrics.stored_late, 2);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(keep, who_goes_before_the_answer_leaves_nothing_behind)
{
    struct rig *r = kept_rig();
    uint32_t s = rig_open(r, 0);
    rig_send_login(r, s, "alpha");
    send_enter(r, s);
    rig_close(r, s);
    cr_assert_eq(r->world->backlog.used, 0);
    cr_assert_eq(r->world->characters.asked.count, 0);
    uint32_t b = rig_open(r, 0); /* in the same slot, by the same name */
    rig_send_login(r, b, "alpha");
    shelf_answer(&shelf);
    cr_assert_eq(r->sessions[b].answered, 0, "the answer was for the one before");
    shelf_answer(&shelf);
    cr_assert_eq(r->sessions[b].answered, 1);
    rig_balance(r);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(keep, a_full_store_makes_logins_wait_in_the_order_they_came)
{
    struct rig *r = kept_rig();
    uint32_t s[3];
    char name[3][8];
    shelf.load_full = true;
    for (uint32_t i = 0; i < 3; i++) {
        snprintf(name[i], sizeof name[i], "n%u", i);
        s[i] = rig_open(r, 0);
        rig_send_login(r, s[i], name[i]);
    }
    rig_tick(r, 3);
    cr_assert_eq(r->world->characters.turn.count, 3);
    shelf.load_full = false;
    rig_tick(r, 1);
    cr_assert_eq(shelf.n_asked, 3);
    for (uint32_t i = 0; i < 3; i++)
        cr_assert_str_eq(shelf.asked_name[i], name[i]);
    shelf_answer_all(&shelf);
    for (uint32_t i = 0; i < 3; i++)
        cr_assert_eq(rig_take(r, s[i])->cmd, (uint32_t)CMD_LOGIN_RESP);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

/* --- where they stand ------------------------------------------------------------------------ */

static const struct message *enter_at(struct rig *r, const char *name, const char *scene)
{
    struct message m = {.cmd = CMD_ENTER_REQ};
    uint32_t s = rig_open(r, 0);
    rig_send_login(r, s, name);
    shelf_answer_all(&shelf);
    if (scene) {
        m.enter_req.has_scene = true;
        m.enter_req.scene = span_text(scene);
    }
    return rig_answer(r, s, rig_send(r, s, &m));
}

Test(keep, a_character_enters_where_it_was_last)
{
    struct rig *r = kept_rig();
    shelf_put(&shelf, "alpha", "open", -12.25, 40.5, 1.5);
    const struct message *m = enter_at(r, "alpha", NULL);
    cr_assert_eq(m->enter_resp.x, -12.25);
    cr_assert_eq(m->enter_resp.y, 40.5);
    cr_assert_eq(r->world->entities.dir[r->world->entities.alive[0]], 1.5);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(keep, naming_the_scene_where_it_was_is_the_same)
{
    struct rig *r = kept_rig();
    shelf_put(&shelf, "alpha", "open", 100, 7, 0);
    cr_assert_eq(enter_at(r, "alpha", "open")->enter_resp.x, 100);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(keep, a_place_that_is_none_any_more_is_a_spawn)
{
    static const struct {
        const char *name, *scene;
        double x, y, dir;
    } rows[] = {{"out", "open", 1000.5, 0, 0},
                {"gone", "a scene of yore", 1, 1, 0},
                {"nan", "open", 0.0 / 0.0, 1, 0},
                {"inf", "open", 1.0 / 0.0, 1, 0},
                {"turned", "open", 1, 1, 7}};
    struct rig *r = kept_rig();
    for (uint32_t i = 0; i < ARRAY_LEN(rows); i++) {
        shelf_put(&shelf, rows[i].name, rows[i].scene, rows[i].x, rows[i].y, rows[i].dir);
        const struct message *m = enter_at(r, rows[i].name, NULL);
        cr_assert_eq(m->enter_resp.x, 8 * (i + 1), "%s", rows[i].name);
        cr_assert_eq(m->enter_resp.y, 0);
    }
    rig_destroy(r);
    TEST_NO_LEAKS();
}

static const char *const cellar_rows[] = {"....####", "........", "........"};

Test(keep, a_place_in_another_scene_is_one_too_unless_it_is_blocked_or_a_third_is_asked_for)
{
    struct world_config c = rig_config();
    struct map cellar = plain_map("cellar", cellar_rows, ARRAY_LEN(cellar_rows));
    struct rig *r = rig_create_kept(&c, &cellar, 1, (struct store_door){&shelf_ops, &shelf});
    memset(&shelf, 0, sizeof(shelf));
    shelf.rig = r;
    r->patient = true;
    shelf_put(&shelf, "alpha", "cellar", 2.5, 0.5, 0.25);
    const struct message *m = enter_at(r, "alpha", NULL);
    cr_assert(span_equal(m->enter_resp.scene, span_text("cellar")));
    cr_assert_eq(m->enter_resp.x, 2.5);
    shelf_put(&shelf, "beta", "cellar", 5.5, 0.5, 0);
    m = enter_at(r, "beta", NULL);
    cr_assert(span_equal(m->enter_resp.scene, span_text("open")), "a wall stands there now");
    cr_assert_eq(m->enter_resp.x, 16);
    shelf_put(&shelf, "gamma", "cellar", 1.5, 1.5, 0);
    m = enter_at(r, "gamma", "open");
    cr_assert(span_equal(m->enter_resp.scene, span_text("open")));
    cr_assert_eq(m->enter_resp.x, 24);
    rig_close(r, 0);
    const struct store_character *saved = shelf_find(&shelf, "alpha");
    cr_assert(span_equal(span_of(saved->scene, saved->scene_len), span_text("cellar")));
    cr_assert_eq(saved->dir, 0.25);
    rig_destroy(r);
    map_fini(&cellar);
    TEST_NO_LEAKS();
}

Test(keep, who_leaves_and_enters_again_stands_where_it_left)
{
    struct rig *r = kept_rig();
    uint32_t s = join(r, "alpha");
    rig_place(r, s, 20, 3);
    rig_leave(r, s);
    cr_assert_eq(shelf_find(&shelf, "alpha")->x, 20);
    const struct message *m = rig_answer(r, s, send_enter(r, s));
    cr_assert_eq(m->enter_resp.x, 20);
    cr_assert_eq(m->enter_resp.y, 3);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

/* --- saving ---------------------------------------------------------------------------------- */

Test(keep, a_place_is_saved_on_leave_and_on_the_end_of_the_connection)
{
    struct rig *r = kept_rig();
    uint32_t a = join(r, "alpha"), b = join(r, "beta");
    rig_place(r, a, 1, 2);
    rig_place(r, b, 30, 4);
    rig_leave(r, a);
    rig_close(r, b);
    cr_assert_eq(shelf_find(&shelf, "alpha")->y, 2);
    cr_assert_eq(shelf_find(&shelf, "beta")->x, 30);
    cr_assert_eq(shelf_find(&shelf, "beta")->seen_s, 0, "the time is the edge's");
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(keep, every_change_is_saved_within_save_every)
{
    struct rig *r = kept_rig();
    uint32_t s[40];
    char name[8];
    for (uint32_t i = 0; i < 40; i++) {
        snprintf(name, sizeof name, "n%u", i);
        s[i] = join(r, name);
    }
    rig_tick(r, 40); /* all are saved once */
    for (uint32_t i = 0; i < 40; i++)
        rig_place(r, s[i], 8 * (i + 1), 5);
    uint32_t before = shelf.n_saved;
    rig_tick(r, 40);
    cr_assert_eq(shelf.n_saved - before, 40, "each once");
    for (uint32_t i = 0; i < 40; i++) {
        snprintf(name, sizeof name, "n%u", i);
        cr_assert_eq(shelf_find(&shelf, name)->y, 5);
    }
    before = shelf.n_saved;
    rig_tick(r, 80);
    cr_assert_eq(shelf.n_saved, before, "who stands still is not saved again");
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(keep, every_change_is_saved_within_save_every_though_ticks_are_left_out)
{
    struct rig *r = kept_rig();
    uint32_t s = join(r, "alpha");
    rig_tick(r, 40);
    for (int round = 1; round <= 5; round++) {
        uint32_t before = shelf.n_saved;
        rig_place(r, s, 8, round);
        for (int i = 0; i < 9; i++) { /* 4 of 5 are left out */
            rig_pass(r, 4 * r->world->config.tick_ns);
            rig_tick(r, 1);
        }
        cr_assert_eq(shelf.n_saved, before + 1);
        cr_assert_eq(shelf_find(&shelf, "alpha")->y, round);
    }
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(keep, a_crowd_that_came_at_once_is_saved_a_few_each_tick)
{
    struct rig *r = kept_rig();
    char name[8];
    rig_tick(r, 10);
    for (uint32_t i = 0; i < 72; i++) {
        snprintf(name, sizeof name, "n%u", i);
        join(r, name);
    }
    for (uint32_t t = 0; t < 36; t++) {
        uint32_t before = shelf.n_saved;
        rig_tick(r, 1);
        cr_assert_leq(shelf.n_saved - before, 3);
    }
    cr_assert_geq(shelf.n_saved, 72);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(keep, what_a_full_store_did_not_take_is_handed_over_later_in_order)
{
    struct rig *r = kept_rig();
    uint32_t a = join(r, "alpha"), b = join(r, "beta");
    shelf.save_full = true;
    rig_place(r, a, 1, 1);
    rig_leave(r, a);
    rig_close(r, b);
    rig_tick(r, 60);
    cr_assert_eq(shelf.n_saved, 0);
    cr_assert_eq(r->world->characters.left_count, 2);
    uint32_t again = rig_open(r, 0);
    rig_send_login(r, again, "beta");
    cr_assert_eq(shelf.n_asked, 0, "a question waits behind what was not taken");
    shelf.save_full = false;
    rig_tick(r, 1);
    cr_assert_eq(shelf.n_saved, 2);
    cr_assert(
        span_equal(span_of(shelf.saved[0].name, shelf.saved[0].name_len), span_text("alpha")));
    rig_tick(r, 1);
    cr_assert_eq(shelf.n_asked, 1);
    shelf_answer(&shelf);
    cr_assert_eq(rig_take(r, again)->cmd, (uint32_t)CMD_LOGIN_RESP);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(keep, nobody_enters_whose_place_could_be_lost)
{
    struct world_config c = rig_config();
    c.max_entities = 2;
    struct rig *r = shelf_rig(&shelf, &c);
    uint32_t s = join(r, "n");
    shelf.save_full = true;
    for (uint32_t i = 0; i < 3; i++) { /* room for four that left or may leave */
        rig_leave(r, s);
        rig_answer(r, s, send_enter(r, s));
    }
    rig_leave(r, s);
    const struct message *m = rig_refused(r, s, send_enter(r, s), PE_UNAVAILABLE);
    cr_assert(span_equal(m->error_notify.error, span_text("the store is busy: try again later")));
    cr_assert_eq(r->world->metrics.saves_full, 1);
    shelf.save_full = false;
    rig_tick(r, 1);
    cr_assert_eq(rig_answer(r, s, send_enter(r, s))->cmd, (uint32_t)CMD_ENTER_RESP);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(keep, at_the_end_every_place_is_handed_over_however_often_the_store_is_full)
{
    struct rig *r = kept_rig();
    uint32_t a = join(r, "alpha"), b = join(r, "beta");
    rig_place(r, a, 1, 1);
    rig_place(r, b, 2, 2);
    shelf.save_full = true;
    cr_assert_not(keep_finish(r->world));
    cr_assert_eq(keep_left(r->world), 2);
    shelf.save_full = false;
    cr_assert(keep_finish(r->world));
    cr_assert_eq(keep_left(r->world), 0);
    cr_assert_eq(shelf_find(&shelf, "alpha")->x, 1);
    cr_assert_eq(shelf_find(&shelf, "beta")->x, 2);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

static void count_calls(void *arg, bool inside)
{
    uint64_t *calls = arg;
    if (inside)
        alloc_count_begin();
    else
        *calls += alloc_count_end();
}

Test(keep, neither_logins_that_wait_nor_saves_ask_the_allocator)
{
    struct rig *r = kept_rig();
    uint64_t calls = 0;
    uint32_t s[30];
    char name[8];
    r->core = count_calls;
    r->arg = &calls;
    for (uint32_t i = 0; i < 30; i++) {
        snprintf(name, sizeof name, "n%u", i);
        s[i] = rig_open(r, 0);
        rig_send_login(r, s[i], name);
        send_enter(r, s[i]);
        rig_send_say(r, s[i],
                     "a line that waits until its speaker is in the world, and is told then");
    }
    shelf_answer_all(&shelf);
    for (uint32_t i = 0; i < 30; i++)
        rig_place(r, s[i], 8 * (i + 1), 3);
    rig_tick(r, 40);
    shelf.save_full = true;
    for (uint32_t i = 0; i < 30; i++)
        rig_leave(r, s[i]);
    rig_tick(r, 2);
    shelf.save_full = false;
    rig_tick(r, 40);
    cr_assert_eq(r->world->characters.left_count, 0);
    cr_assert_eq(calls, 0);
    r->core = NULL;
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(keep, without_a_store_nothing_is_kept_and_nobody_waits)
{
    struct world_config c = rig_config();
    c.save_every_ns = CLOCK_NS_PER_S;
    struct rig *r = rig_create(&c);
    uint32_t s = rig_join_at(r, "alpha", 20, 3);
    rig_leave(r, s);
    cr_assert_eq(rig_enter(r, s), 2);
    cr_assert_eq(r->sessions[s].x, 16, "at the spawn of its id");
    rig_tick(r, 60);
    cr_assert_eq(r->world->metrics.saves, 0);
    cr_assert_eq(r->world->metrics.loads, 0);
    rig_destroy(r);
    TEST_NO_LEAKS();
}
