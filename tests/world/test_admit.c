/* tests/world/test_admit.c: -login-rate and -login-wait.
 * May touch: tests/world_rig. Source: world/command/admit.h.
 */
#include "tests/leak.h"
#include "tests/world/shelf.h"

#include <stdio.h>

#define BURST 10 /* a tenth of a second at RATE, and the one that is due */
#define RATE  100

static struct rig *paced_rig(void)
{
    struct world_config c = rig_config();
    c.login_rate = RATE;
    c.login_wait_ns = CLOCK_NS_PER_S;
    struct rig *r = rig_create(&c);
    r->patient = true;
    return r;
}

/* `n` sessions ask to log in. */
static void ask(struct rig *r, uint32_t *s, uint32_t n, uint32_t from)
{
    char name[8];
    for (uint32_t i = 0; i < n; i++) {
        snprintf(name, sizeof name, "n%u", from + i);
        s[i] = rig_open(r, 0);
        rig_send_login(r, s[i], name);
    }
}

static uint32_t answered(const struct rig *r, const uint32_t *s, uint32_t n)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < n; i++)
        count += r->sessions[s[i]].answered == r->sessions[s[i]].sent;
    return count;
}

Test(admit, those_above_the_rate_wait_and_come_in_at_its_pace_in_order)
{
    struct rig *r = paced_rig();
    uint32_t s[60], before;
    ask(r, s, 60, 0);
    before = answered(r, s, 60);
    cr_assert_leq(before, BURST + 1);
    cr_assert_geq(before, BURST);
    for (uint32_t t = 0; t < 4; t++) {
        rig_tick(r, 1); /* five more each 50 ms */
        cr_assert_eq(answered(r, s, 60), before + 5 * (t + 1));
        cr_assert_eq(answered(r, s, before + 5 * (t + 1)), before + 5 * (t + 1), "in order");
    }
    rig_tick(r, 20);
    cr_assert_eq(answered(r, s, 60), 60);
    cr_assert_eq(r->world->metrics.logins, 60);
    cr_assert_eq(r->world->metrics.logins_waited, 60 - before);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(admit, who_would_wait_too_long_is_told_so_at_once)
{
    struct rig *r = paced_rig();
    uint32_t s[150];
    ask(r, s, 150, 0);
    uint32_t in = answered(r, s, 150), waiting = r->world->characters.turn.count;
    cr_assert_leq(waiting, RATE + 1, "a second's worth");
    cr_assert_eq(r->world->metrics.logins_turned_away, 150 - BURST - 1 - waiting);
    cr_assert_eq(in, 150 - waiting);
    const struct message *m = rig_take(r, s[149]);
    cr_assert_eq(m->error_notify.code, (uint32_t)PE_UNAVAILABLE);
    cr_assert(span_equal(m->error_notify.error,
                         span_text("too many log in at this time: try again later")));
    uint32_t twin = rig_open(r, 0);
    rig_refused(r, twin, rig_send_login(r, twin, "n0"), PE_NAME_IN_USE);
    rig_tick(r, 25);
    cr_assert_eq(answered(r, s, 150), 150, "and nobody else waited longer");
    cr_assert_eq(r->world->metrics.logins, BURST + 1 + waiting);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(admit, what_is_sent_in_line_is_answered_in_order)
{
    struct rig *r = paced_rig();
    uint32_t s[20], last = 19;
    ask(r, s, 20, 0);
    rig_send_nil(r, s[last], CMD_ENTER_REQ);
    rig_send_say(r, s[last], "at last");
    cr_assert_null(rig_take(r, s[last]));
    rig_tick(r, 5);
    cr_assert_eq(rig_take(r, s[last])->cmd, (uint32_t)CMD_LOGIN_RESP);
    cr_assert_eq(rig_take(r, s[last])->cmd, (uint32_t)CMD_ENTER_RESP);
    cr_assert_eq(rig_take(r, s[last])->cmd, (uint32_t)CMD_SAY_RESP);
    cr_assert_eq(r->world->backlog.used, 0);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(admit, who_goes_gives_its_place_in_line_away)
{
    struct rig *r = paced_rig();
    uint32_t s[30];
    ask(r, s, 30, 0);
    uint32_t in = answered(r, s, 30);
    for (uint32_t i = in; i < 29; i++)
        rig_close(r, s[i]);
    cr_assert_eq(r->world->characters.turn.count, 1);
    rig_tick(r, 1);
    cr_assert_eq(rig_take(r, s[29])->cmd, (uint32_t)CMD_LOGIN_RESP);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(admit, a_name_that_is_in_use_is_found_out_in_turn)
{
    struct rig *r = paced_rig();
    uint32_t s[20], twin;
    ask(r, s, 20, 0);
    twin = rig_open(r, 0);
    uint32_t seq = rig_send_login(r, twin, "n19");
    rig_tick(r, 5);
    cr_assert_eq(rig_take(r, s[19])->cmd, (uint32_t)CMD_LOGIN_RESP);
    rig_refused(r, twin, seq, PE_NAME_IN_USE);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(admit, a_line_that_the_store_holds_up_is_turned_away_after_login_wait)
{
    static struct shelf shelf;
    struct world_config c = rig_config();
    c.login_wait_ns = CLOCK_NS_PER_S;
    struct rig *r = shelf_rig(&shelf, &c);
    uint32_t s[3];
    shelf.load_full = true;
    ask(r, s, 3, 0);
    rig_tick(r, 10);
    cr_assert_eq(answered(r, s, 3), 0);
    rig_tick(r, 15);
    for (uint32_t i = 0; i < 3; i++)
        rig_refused(r, s[i], 1, PE_UNAVAILABLE);
    shelf.load_full = false;
    rig_send_login(r, s[0], "n0");
    cr_assert_eq(shelf.n_asked, 1, "and may try again");
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(admit, full_entities_and_sessions_answer_13_with_the_reason)
{
    struct world_config c = rig_config();
    c.max_entities = 1;
    c.max_sessions = 2;
    struct rig *r = rig_create(&c);
    rig_join(r, "alpha");
    uint32_t s = rig_open(r, 0);
    rig_login(r, s, "beta");
    const struct message *m = rig_refused(r, s, rig_send_nil(r, s, CMD_ENTER_REQ), PE_UNAVAILABLE);
    cr_assert(span_equal(m->error_notify.error, span_text("the world is full: entities")));
    uint32_t third = rig_open(r, 0);
    cr_assert(r->sessions[third].closed);
    cr_assert_eq(r->sessions[third].close_code, (uint32_t)PE_UNAVAILABLE);
    cr_assert_str_eq(r->sessions[third].close_reason, "the world is full: sessions");
    rig_destroy(r);
    TEST_NO_LEAKS();
}
