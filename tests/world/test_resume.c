/* tests/world/test_resume.c: lost connections, keys and takeovers. PROTOCOL.md, "Login".
 * May touch: tests/world_rig, world/session/resume, world/command/inbox.
 */
#include "tests/leak.h"
#include "tests/world_rig.h"
#include "world/command/inbox.h"
#include "world/interest/notice.h"
#include "world/session/resume.h"

#include <stdio.h>

#define WINDOW_NS (30 * CLOCK_NS_PER_S)

static struct rig *window_rig(void)
{
    struct world_config c = rig_config();
    c.resume_window_ns = WINDOW_NS;
    return rig_create(&c);
}

/* alpha at 8, 0 and two who see it; all have been told. */
struct scene3 {
    struct rig *r;
    uint32_t alpha, near, far_off; /* rig sessions */
    char key[RIG_KEY_BYTES + 1];   /* alpha's */
};

static struct scene3 three(void)
{
    struct scene3 t = {.r = window_rig()};
    t.alpha = rig_join_at(t.r, "alpha", 8, 0);
    t.near = rig_join_at(t.r, "near", 10, 0);
    t.far_off = rig_join_at(t.r, "far off", 200, 0);
    rig_tick(t.r, 2);
    memcpy(t.key, t.r->sessions[t.alpha].key, sizeof t.key);
    return t;
}

static uint32_t told(const struct rig *r, uint32_t s)
{
    const struct rig_view *v = &r->sessions[s].view;
    return (uint32_t)(v->adds + v->removes + v->moves);
}

static void over(struct scene3 *t)
{
    rig_balance(t->r);
    rig_destroy(t->r);
    TEST_NO_LEAKS();
}

/* --- the window ------------------------------------------------------------------------------ */

Test(resume, a_lost_connection_leaves_the_entity_where_it_is_in_sight)
{
    struct scene3 t = three();
    uint32_t before = told(t.r, t.near);
    rig_close(t.r, t.alpha);
    rig_tick(t.r, 20);
    cr_assert(rig_knows(t.r, t.near, t.alpha));
    cr_assert_eq(told(t.r, t.near), before, "others notice nothing");
    cr_assert_eq(t.r->world->sessions.waiting, 1);
    cr_assert_eq(t.r->world->metrics.waits, 1);
    over(&t);
}

Test(resume, a_lost_link_leaves_all_of_its_entities_waiting)
{
    struct scene3 t = three();
    uint32_t link = rig_link_up(t.r, "gw-1"), v = rig_open(t.r, link);
    rig_login(t.r, v, "v");
    rig_enter(t.r, v);
    rig_tick(t.r, 1);
    rig_link_down(t.r, 0);
    rig_tick(t.r, 5);
    cr_assert_eq(t.r->world->entities.alive_count, 4);
    cr_assert_eq(t.r->world->sessions.waiting, 3);
    cr_assert(rig_knows(t.r, v, t.alpha));
    over(&t);
}

Test(resume, another_life_of_a_gateway_leaves_the_entities_of_the_last_one_waiting)
{
    struct scene3 t = three();
    uint32_t link = rig_link_up(t.r, "gw-0"), s = rig_open(t.r, link);
    cr_assert_eq(t.r->world->sessions.waiting, 3);
    cr_assert_eq(rig_resume(t.r, s, "alpha", t.key), t.r->sessions[t.alpha].id);
    over(&t);
}

Test(resume, the_windows_end_removes_the_entity_at_the_next_tick)
{
    struct scene3 t = three();
    rig_close(t.r, t.alpha);
    rig_pass(t.r, WINDOW_NS - t.r->world->config.tick_ns - 1);
    rig_tick(t.r, 1);
    cr_assert(rig_knows(t.r, t.near, t.alpha));
    rig_tick(t.r, 1);
    cr_assert_not(rig_knows(t.r, t.near, t.alpha));
    cr_assert_eq(t.r->world->metrics.waits_over, 1);
    cr_assert_eq(t.r->world->sessions.waiting, 0);
    rig_tick(t.r, 2);
    uint32_t s = rig_open(t.r, 0);
    rig_refused(t.r, s, rig_send_resume(t.r, s, "alpha", t.key), PE_AUTH_FAILED);
    rig_login(t.r, s, "alpha");
    over(&t);
}

Test(resume, so_many_waits_end_in_one_tick_at_most)
{
    struct world_config c = rig_config();
    c.resume_window_ns = CLOCK_NS_PER_S;
    c.max_entities = INBOX_ENDS_MAX + 200;
    struct rig *r = rig_create(&c);
    for (uint32_t i = 0; i < INBOX_ENDS_MAX + 100; i++) {
        char name[16];
        snprintf(name, sizeof name, "p%u", i);
        rig_join(r, name);
        rig_drop(r);
    }
    r->deaf = true;
    rig_tick(r, 1);
    rig_link_down(r, 0);
    rig_pass(r, CLOCK_NS_PER_S);
    rig_tick(r, 1);
    cr_assert_eq(r->world->entities.alive_count, 100);
    rig_tick(r, 1);
    cr_assert_eq(r->world->entities.alive_count, 0);
    rig_balance(r);
    rig_destroy(r);
}

Test(resume, without_a_window_a_lost_connection_takes_the_entity_with_it)
{
    struct world_config c = rig_config();
    struct rig *r = rig_create(&c);
    uint32_t v = rig_join(r, "v"), a = rig_join(r, "alpha");
    rig_tick(r, 1);
    cr_assert_str_eq(r->sessions[a].key, "");
    rig_close(r, a);
    rig_tick(r, 1);
    cr_assert_not(rig_knows(r, v, a));
    uint32_t b = rig_open(r, 0);
    rig_login(r, b, "alpha");
    rig_balance(r);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(resume, a_leave_closes_the_window)
{
    struct scene3 t = three();
    rig_leave(t.r, t.alpha);
    rig_tick(t.r, 1);
    cr_assert_not(rig_knows(t.r, t.near, t.alpha));
    rig_close(t.r, t.alpha);
    cr_assert_eq(t.r->world->sessions.waiting, 0);
    uint32_t s = rig_open(t.r, 0);
    rig_login(t.r, s, "alpha"); /* its name was free at once */
    over(&t);
}

Test(resume, who_was_logged_in_and_not_inside_just_ends)
{
    struct scene3 t = three();
    uint32_t s = rig_open(t.r, 0), again = rig_open(t.r, 0);
    rig_login(t.r, s, "beta");
    char key[RIG_KEY_BYTES + 1];
    memcpy(key, t.r->sessions[s].key, sizeof key);
    rig_close(t.r, s);
    rig_refused(t.r, again, rig_send_resume(t.r, again, "beta", key), PE_AUTH_FAILED);
    rig_login(t.r, again, "beta");
    over(&t);
}

Test(resume, a_kick_takes_the_entity_and_being_slow_does_not)
{
    struct scene3 t = three();
    struct session_ref who;
    cr_assert(sessions_by_name(&t.r->world->sessions, span_text("alpha"), &who));
    inbox_session_kick(t.r->world, who, PE_KICKED, t.r->now);
    cr_assert(sessions_by_name(&t.r->world->sessions, span_text("near"), &who));
    inbox_session_kick(t.r->world, who, PE_SLOW, t.r->now);
    outbox_flush(&t.r->world->outbox);
    rig_tick(t.r, 1);
    cr_assert_eq(t.r->world->entities.alive_count, 2);
    cr_assert_eq(t.r->world->sessions.waiting, 1);
    over(&t);
}

/* --- the key --------------------------------------------------------------------------------- */

Test(resume, name_and_key_give_the_entity_back)
{
    struct scene3 t = three();
    struct rig *r = t.r;
    uint32_t near = told(r, t.near), id = r->sessions[t.alpha].id;
    rig_move(r, t.alpha, 8.5, 1);
    rig_tick(r, 1);
    near = told(r, t.near);
    rig_close(r, t.alpha);
    rig_tick(r, 3);

    uint32_t s = rig_open(r, rig_link_up(r, "gw-1"));
    uint32_t seq = rig_send_resume(r, s, "alpha", t.key);
    const struct message *m = rig_take(r, s);
    cr_assert_eq(m->cmd, (uint32_t)CMD_LOGIN_RESP);
    cr_assert_eq(m->seq, seq);
    cr_assert(m->login_resp.resumed);
    cr_assert_eq(m->login_resp.id, id);
    cr_assert_eq(m->login_resp.resume.n, RIG_KEY_BYTES);
    cr_assert_neq(memcmp(m->login_resp.resume.p, t.key, RIG_KEY_BYTES), 0, "the next key");
    m = rig_take(r, s);
    cr_assert_eq(m->cmd, (uint32_t)CMD_ENTER_RESP, "followed at once");
    cr_assert_eq(m->seq, 0);
    cr_assert_eq(m->enter_resp.id, id);
    cr_assert_eq(m->enter_resp.x, 8.5);
    cr_assert_eq(m->enter_resp.y, 1);
    cr_assert_null(rig_take(r, s));

    rig_tick(r, 1);
    cr_assert(rig_knows(r, s, t.near), "the next tick brings all that it knows");
    cr_assert_eq(r->sessions[s].view.count, 1);
    cr_assert_eq(told(r, t.near), near, "no Add and no Remove for those who see it");
    cr_assert(rig_knows(r, t.near, t.alpha));
    rig_tick(r, 5);
    cr_assert_eq(told(r, t.near), near);
    cr_assert_eq(r->sessions[s].view.batches, 1);
    cr_assert_eq(r->world->metrics.waits_resumed, 1);
    cr_assert_eq(r->world->sessions.waiting, 0);
    over(&t);
}

Test(resume, a_key_serves_once)
{
    struct scene3 t = three();
    uint32_t a = rig_open(t.r, 0), b = rig_open(t.r, 0);
    rig_close(t.r, t.alpha);
    rig_resume(t.r, a, "alpha", t.key);
    rig_refused(t.r, b, rig_send_resume(t.r, b, "alpha", t.key), PE_AUTH_FAILED);
    cr_assert(t.r->sessions[a].open, "of two who race exactly one wins");
    rig_close(t.r, a);
    rig_refused(t.r, b, rig_send_resume(t.r, b, "alpha", t.key), PE_AUTH_FAILED);
    char next[RIG_KEY_BYTES + 1];
    memcpy(next, t.r->sessions[a].key, sizeof next);
    uint32_t c = rig_open(t.r, 0);
    rig_resume(t.r, c, "alpha", next);
    over(&t);
}

Test(resume, a_key_is_of_its_name_and_of_its_form)
{
    struct scene3 t = three();
    char wrong[RIG_KEY_BYTES + 8];
    static const char *const names[] = {"near", "far off", "nobody", "Alpha"};
    rig_close(t.r, t.alpha);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        uint32_t s = rig_open(t.r, 0);
        rig_refused(t.r, s, rig_send_resume(t.r, s, names[i], t.key), PE_AUTH_FAILED);
    }
    for (size_t i = 0; i < RIG_KEY_BYTES; i++) { /* one digit off, anywhere */
        uint32_t s = rig_open(t.r, 0);
        memcpy(wrong, t.key, sizeof t.key);
        wrong[i] = wrong[i] == '0' ? '1' : '0';
        rig_refused(t.r, s, rig_send_resume(t.r, s, "alpha", wrong), PE_AUTH_FAILED);
    }
    uint32_t s = rig_open(t.r, 0);
    memcpy(wrong, t.key, sizeof t.key);
    wrong[RIG_KEY_BYTES - 1] = '\0';
    rig_refused(t.r, s, rig_send_resume(t.r, s, "alpha", wrong), PE_AUTH_FAILED);
    snprintf(wrong, sizeof wrong, "%s0", t.key);
    rig_refused(t.r, s, rig_send_resume(t.r, s, "alpha", wrong), PE_AUTH_FAILED);
    cr_assert(t.r->sessions[s].open);
    rig_refused(t.r, s, rig_send_resume(t.r, s, "alpha", "x"), PE_AUTH_FAILED);
    cr_assert(t.r->sessions[s].closed, "the third closes");
    cr_assert_eq(t.r->sessions[s].close_code, PE_AUTH_FAILED);
    cr_assert_eq(t.r->world->sessions.waiting, 1, "and the one who waits waits on");
    over(&t);
}

Test(resume, each_login_brings_another_key)
{
    struct rig *r = window_rig();
    uint32_t a = rig_open(r, 0), b = rig_open(r, 0);
    rig_login(r, a, "a");
    rig_login(r, b, "b");
    cr_assert_eq(strlen(r->sessions[a].key), RIG_KEY_BYTES);
    cr_assert_str_neq(r->sessions[a].key, r->sessions[b].key);
    rig_destroy(r);
}

Test(resume, text_and_bytes_of_a_key_are_one)
{
    uint8_t key[SESSION_KEY_BYTES], back[SESSION_KEY_BYTES];
    char text[RESUME_TEXT_BYTES];
    for (uint32_t i = 0; i < SESSION_KEY_BYTES; i++)
        key[i] = (uint8_t)(i * 17 + 3);
    resume_text(key, text);
    cr_assert(resume_read(span_of(text, sizeof text), back));
    cr_assert_eq(memcmp(key, back, sizeof key), 0);
    for (size_t n = 0; n < sizeof text; n++)
        cr_assert_not(resume_read(span_of(text, n), back));
    static const char not_digits[] = {'/', ':', '`', 'g', 'A', 'F', ' ', '\0', (char)0xff};
    for (size_t i = 0; i < sizeof text; i++) {
        for (size_t j = 0; j < sizeof not_digits; j++) {
            char bad[RESUME_TEXT_BYTES];
            memcpy(bad, text, sizeof bad);
            bad[i] = not_digits[j];
            cr_assert_not(resume_read(span_of(bad, sizeof bad), back));
        }
    }
}

/* --- takeover -------------------------------------------------------------------------------- */

Test(resume, a_key_takes_over_from_a_connection_that_looks_alive)
{
    struct scene3 t = three();
    struct rig *r = t.r;
    uint32_t near = told(r, t.near), s = rig_open(r, 0);
    rig_resume(r, s, "alpha", t.key);
    cr_assert(r->sessions[t.alpha].closed);
    cr_assert_eq(r->sessions[t.alpha].close_code, PE_NAME_IN_USE, "it gets Bye 6");
    cr_assert_eq(r->world->metrics.kicks_resumed, 1);
    rig_tick(r, 1);
    cr_assert(rig_knows(r, s, t.near));
    cr_assert_eq(told(r, t.near), near);
    over(&t);
}

Test(resume, a_late_close_of_the_older_connection_touches_nothing)
{
    struct scene3 t = three();
    struct rig *r = t.r;
    uint32_t s = rig_open(r, 0);
    rig_resume(r, s, "alpha", t.key);
    rig_close(r, t.alpha);
    rig_close(r, t.alpha);
    rig_tick(r, 3);
    cr_assert(r->sessions[s].open);
    cr_assert_eq(r->world->sessions.waiting, 0);
    rig_move(r, s, 8.2, 0);
    over(&t);
}

Test(resume, before_entering_a_key_takes_the_name_and_puts_nobody_in_the_world)
{
    struct scene3 t = three();
    uint32_t a = rig_open(t.r, 0), b = rig_open(t.r, 0), id = rig_login(t.r, a, "beta");
    char key[RIG_KEY_BYTES + 1];
    memcpy(key, t.r->sessions[a].key, sizeof key);
    const struct message *m = rig_answer(t.r, b, rig_send_resume(t.r, b, "beta", key));
    cr_assert_eq(m->cmd, (uint32_t)CMD_LOGIN_RESP);
    cr_assert_not(m->login_resp.resumed);
    cr_assert_eq(m->login_resp.id, id);
    cr_assert_eq(t.r->sessions[a].close_code, PE_NAME_IN_USE);
    cr_assert_eq(rig_enter(t.r, b), id);
    over(&t);
}

Test(resume, a_plain_login_in_the_window_ends_the_waiting_entity_and_starts_afresh)
{
    struct scene3 t = three();
    struct rig *r = t.r;
    uint32_t id = r->sessions[t.alpha].id;
    rig_close(r, t.alpha);
    rig_tick(r, 1);
    uint32_t s = rig_open(r, 0);
    cr_assert_neq(rig_login(r, s, "alpha"), id, "its id rests");
    rig_tick(r, 1);
    cr_assert_null(rig_view_find(&r->sessions[t.near].view, id));
    cr_assert_eq(r->world->metrics.waits_afresh, 1);
    cr_assert_eq(r->world->sessions.waiting, 0);
    uint32_t other = rig_open(r, 0);
    rig_refused(r, other, rig_send_resume(r, other, "alpha", t.key), PE_AUTH_FAILED);
    rig_enter(r, s);
    over(&t);
}

Test(resume, a_plain_login_that_finds_no_id_leaves_the_waiting_one)
{
    struct scene3 t = three();
    rig_close(t.r, t.alpha);
    t.r->world->ids.free[3][0] = 0; /* none is left */
    uint32_t s = rig_open(t.r, 0);
    rig_refused(t.r, s, rig_send_login(t.r, s, "alpha"), PE_UNAVAILABLE);
    rig_tick(t.r, 1);
    cr_assert(rig_knows(t.r, t.near, t.alpha));
    rig_resume(t.r, s, "alpha", t.key);
    over(&t);
}

/* --- what goes on ---------------------------------------------------------------------------- */

Test(resume, credit_goes_on_while_the_entity_waits)
{
    struct scene3 t = three();
    rig_pass(t.r, CLOCK_NS_PER_S);
    rig_move(t.r, t.alpha, 8 + 12, 0); /* all of its second */
    rig_close(t.r, t.alpha);
    uint32_t s = rig_open(t.r, 0);
    rig_resume(t.r, s, "alpha", t.key);
    rig_refused(t.r, s, rig_send_move(t.r, s, 21, 0), PE_MOVE_SPEED);
    rig_pass(t.r, CLOCK_NS_PER_S / 2);
    rig_move(t.r, s, 20 - 6, 0);
    over(&t);
}

Test(resume, a_kick_ends_one_who_waits)
{
    struct scene3 t = three();
    struct session_ref who;
    rig_close(t.r, t.alpha);
    cr_assert(sessions_by_name(&t.r->world->sessions, span_text("alpha"), &who));
    inbox_session_kick(t.r->world, who, PE_KICKED, t.r->now);
    rig_tick(t.r, 1);
    cr_assert_not(rig_knows(t.r, t.near, t.alpha));
    cr_assert_eq(t.r->world->sessions.waiting, 0);
    over(&t);
}

Test(resume, a_walk_goes_on_while_the_entity_waits_and_its_end_is_told_to_nobody)
{
    struct scene3 t = three();
    rig_walk(t.r, t.alpha, 8, 6, false);
    rig_tick(t.r, 2);
    rig_close(t.r, t.alpha);
    rig_tick(t.r, 20);
    cr_assert_eq(t.r->strays, 0);
    cr_assert_eq(rig_view_find(&t.r->sessions[t.near].view, t.r->sessions[t.alpha].id)->y, 6);
    uint32_t s = rig_open(t.r, 0);
    rig_resume(t.r, s, "alpha", t.key);
    cr_assert_eq(t.r->sessions[s].y, 6);
    over(&t);
}

Test(resume, what_is_said_to_one_who_waits_goes_nowhere)
{
    struct scene3 t = three();
    rig_close(t.r, t.alpha);
    rig_say(t.r, t.near, "are you there?");
    rig_tick(t.r, 1);
    rig_say(t.r, t.near, "hello?");
    cr_assert_eq(t.r->strays, 0);
    uint32_t s = rig_open(t.r, 0);
    rig_resume(t.r, s, "alpha", t.key);
    rig_say(t.r, t.near, "too early"); /* it knows nobody before the next tick */
    cr_assert_eq(t.r->sessions[s].view.hears, 0);
    rig_tick(t.r, 1);
    rig_say(t.r, t.near, "there you are");
    cr_assert_eq(t.r->sessions[s].view.hears, 1);
    rig_say(t.r, s, "here I am");
    over(&t);
}

Test(resume, a_notice_to_all_around_passes_who_waits)
{
    struct scene3 t = three();
    struct message m = {.cmd = CMD_SAY_NOTIFY};
    uint8_t body[64];
    struct span_writer w = span_writer_of(body, sizeof body);
    m.say_notify.id = t.r->sessions[t.far_off].id;
    m.say_notify.text = span_text("hear");
    message_write(&w, &m);
    rig_close(t.r, t.alpha);
    t.r->deaf = true; /* whom it is told of is not known to all */
    cr_assert_eq(
        notice_tell(t.r->world, &(struct notice_area){.reach = NOTICE_SCENE}, span_written(&w)), 2);
    cr_assert_eq(
        notice_tell(t.r->world, &(struct notice_area){.reach = NOTICE_EVERYBODY}, span_written(&w)),
        2);
    over(&t);
}

Test(resume, one_who_waits_is_told_nothing_and_costs_no_bytes)
{
    struct scene3 t = three();
    rig_close(t.r, t.far_off);
    rig_close(t.r, t.alpha);
    rig_tick(t.r, 1);
    uint64_t bytes = t.r->bytes;
    for (int i = 0; i < 10; i++) {
        rig_move(t.r, t.near, 10 + i * 0.3, 0);
        rig_tick(t.r, 1);
    }
    bytes = t.r->bytes - bytes;
    cr_assert_lt(bytes, 10 * 60, "%lu: just the answers", (unsigned long)bytes);
    cr_assert_eq(t.r->strays, 0);
    over(&t);
}

Test(resume, a_connection_lost_before_the_first_tick_is_resumed_as_well)
{
    struct scene3 t = three();
    uint32_t a = rig_join_at(t.r, "new", 9, 0), s = rig_open(t.r, 0);
    char key[RIG_KEY_BYTES + 1];
    memcpy(key, t.r->sessions[a].key, sizeof key);
    rig_close(t.r, a);
    rig_resume(t.r, s, "new", key);
    rig_tick(t.r, 1);
    cr_assert_eq(t.r->sessions[s].view.count, 2);
    cr_assert(rig_knows(t.r, t.near, s));
    over(&t);
}

Test(resume, a_paused_viewer_resumes_without_its_pause)
{
    struct scene3 t = three();
    rig_congestion(t.r, t.alpha, true);
    rig_move(t.r, t.near, 10.5, 0);
    rig_tick(t.r, 3);
    rig_close(t.r, t.alpha);
    cr_assert_eq(t.r->world->n_paused, 0);
    rig_tick(t.r, 1);
    uint32_t s = rig_open(t.r, 0);
    rig_resume(t.r, s, "alpha", t.key);
    rig_tick(t.r, 1);
    cr_assert(rig_knows(t.r, s, t.near));
    over(&t);
}

Test(resume, a_session_that_is_paused_when_it_resumes_is_exact_once_it_drains)
{
    struct scene3 t = three();
    rig_close(t.r, t.alpha);
    rig_tick(t.r, 1);
    uint32_t s = rig_open(t.r, 0);
    rig_congestion(t.r, s, true);
    rig_resume(t.r, s, "alpha", t.key);
    rig_tick(t.r, 5);
    cr_assert_eq(t.r->sessions[s].view.batches, 0);
    rig_congestion(t.r, s, false);
    rig_tick(t.r, 1);
    cr_assert(rig_knows(t.r, s, t.near));
    over(&t);
}

Test(resume, with_hysteresis_the_resumed_one_knows_all_within_the_radius)
{
    struct world_config c = rig_config();
    c.resume_window_ns = WINDOW_NS;
    c.aoi_hysteresis = 5;
    struct rig *r = rig_create(&c);
    uint32_t a = rig_join_at(r, "alpha", 8, 0), b = rig_join_at(r, "beta", 9, 0);
    rig_tick(r, 1);
    char key[RIG_KEY_BYTES + 1];
    memcpy(key, r->sessions[a].key, sizeof key);
    rig_close(r, a);
    rig_tick(r, 10);
    uint32_t s = rig_open(r, 0);
    rig_resume(r, s, "alpha", key);
    rig_tick(r, 1);
    cr_assert(rig_knows(r, s, b), "though nothing near it moved");
    rig_say(r, s, "hello");
    rig_balance(r);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

/* --- limits ---------------------------------------------------------------------------------- */

Test(resume, who_waits_counts_against_the_limits)
{
    struct world_config c = rig_config();
    c.resume_window_ns = WINDOW_NS;
    c.max_entities = 2;
    c.max_sessions = 3;
    struct rig *r = rig_create(&c);
    uint32_t a = rig_join(r, "a"), b = rig_join(r, "b");
    rig_tick(r, 1);
    rig_close(r, a);
    rig_close(r, b);
    uint32_t d = rig_open(r, 0);
    rig_login(r, d, "d");
    rig_refused(r, d, rig_send_nil(r, d, CMD_ENTER_REQ), PE_UNAVAILABLE);
    uint32_t e = rig_open(r, 0);
    cr_assert(r->sessions[e].closed);
    cr_assert_eq(r->sessions[e].close_code, PE_UNAVAILABLE);
    world_gauges(r->world);
    cr_assert_eq(r->world->metrics.sessions_waiting, 2);
    cr_assert_eq(r->world->metrics.sessions, 3);
    rig_destroy(r);
    TEST_NO_LEAKS();
}
