/* tests/world/test_auth.c: logins with tokens, in the core: verdicts, takeover, the line.
 * Whoever knows tokens is played by the test. May touch: tests/world_rig, tests/world/shelf,
 * world/session/auth. Source: PROTOCOL.md, "Login".
 */
#include "world/session/auth.h"

#include "tests/leak.h"
#include "tests/world/shelf.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define GOOD "AAAA.AAAA.good"
#define BAD  "AAAA.AAAA.evil"

/* Says of every token what `verdict` is, but of BAD that its signature is not good. */
struct porter {
    enum auth_verdict verdict;
    uint32_t asked;
};

static enum auth_verdict ask(void *arg, struct span token, struct span name)
{
    struct porter *p = arg;
    (void)name;
    p->asked++;
    return span_equal(token, span_text(BAD)) ? AUTH_NOT_ITS_KEY : p->verdict;
}

static const struct auth_ops porter_ops = {.check = ask};

static struct rig *guarded(struct porter *p, const struct world_config *c)
{
    *p = (struct porter){.verdict = AUTH_GOOD};
    return rig_create_with(c, NULL, 0, (struct store_door){0}, (struct auth_door){&porter_ops, p});
}

static struct rig *plain(struct porter *p)
{
    struct world_config c = rig_config();
    return guarded(p, &c);
}

/* LoginReq with a good token. */
static uint32_t send(struct rig *r, uint32_t s, const char *name)
{
    return rig_send_token(r, s, name, GOOD, "");
}

static uint32_t join(struct rig *r, const char *name)
{
    uint32_t s = rig_open(r, 0);
    const struct message *m = rig_answer(r, s, send(r, s, name));
    cr_assert_eq(m->cmd, (uint32_t)CMD_LOGIN_RESP, "%s", name);
    rig_enter(r, s);
    return s;
}

/* --- claims ----------------------------------------------------------------------------------- */

Test(auth, claims_let_in_whom_they_name_until_they_end)
{
    struct token_claims c = {
        .has_sub = true, .sub = "alpha", .sub_n = 5, .has_exp = true, .exp_s = 1000};
    struct span name = span_text("alpha");

    cr_expect_eq(auth_claims(&c, name, 999, 0), AUTH_GOOD);
    cr_expect_eq(auth_claims(&c, name, 1000, 0), AUTH_EXPIRED, "at its end it is over");
    cr_expect_eq(auth_claims(&c, name, 1004, 5), AUTH_GOOD, "a clock may be late");
    cr_expect_eq(auth_claims(&c, name, 1005, 5), AUTH_EXPIRED);
    c.has_nbf = true;
    c.nbf_s = 900;
    cr_expect_eq(auth_claims(&c, name, 900, 0), AUTH_GOOD);
    cr_expect_eq(auth_claims(&c, name, 899, 0), AUTH_EARLY);
    cr_expect_eq(auth_claims(&c, name, 895, 5), AUTH_GOOD, "or early");
    cr_expect_eq(auth_claims(&c, name, 894, 5), AUTH_EARLY);
    cr_expect_eq(auth_claims(&c, span_text("alph"), 950, 0), AUTH_OTHER_NAME);
    cr_expect_eq(auth_claims(&c, span_text("alphas"), 950, 0), AUTH_OTHER_NAME);
    c.nbf_s = INT64_MAX;
    cr_expect_eq(auth_claims(&c, name, 950, 600), AUTH_EARLY);
    c.has_nbf = false;
    c.exp_s = INT64_MIN;
    cr_expect_eq(auth_claims(&c, name, 950, 600), AUTH_EXPIRED);
    c.exp_s = INT64_MAX;
    cr_expect_eq(auth_claims(&c, name, 950, 600), AUTH_GOOD);
    c.has_exp = false;
    cr_expect_eq(auth_claims(&c, name, 950, 0), AUTH_NO_EXPIRY);
    c.has_sub = false;
    cr_expect_eq(auth_claims(&c, name, 950, 0), AUTH_NO_NAME);
}

/* --- one login -------------------------------------------------------------------------------- */

Test(auth, a_good_token_logs_in)
{
    struct porter p;
    struct rig *r = plain(&p);
    uint32_t s = join(r, "alpha");
    rig_tick(r, 1);
    cr_expect_eq(p.asked, 1);
    cr_expect_eq(r->world->metrics.auth_checks, 1);
    cr_expect_eq(r->sessions[s].id, 1);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(auth, without_a_token_or_with_what_is_none_nobody_is_asked)
{
    struct porter p;
    struct rig *r = plain(&p);
    uint32_t s = rig_open(r, 0);
    const struct message *m = rig_refused(r, s, rig_send_login(r, s, "alpha"), PE_AUTH_FAILED);
    cr_expect(span_equal(m->error_notify.error, span_text("a token is needed here")));
    rig_refused(r, s, rig_send_token(r, s, "alpha", "no token", ""), PE_AUTH_FAILED);
    cr_expect_eq(p.asked, 0);
    cr_expect_eq(r->world->metrics.auth_missing, 1);
    cr_expect_eq(r->world->metrics.auth_malformed, 1);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(auth, every_verdict_is_14_is_counted_and_changes_nothing)
{
    static const char *const words[] = {"",
#define AUTH_WORD(name, word, text) #word,
                                        AUTH_VERDICTS(AUTH_WORD)
#undef AUTH_WORD
    };
    struct porter p;
    struct rig *r = plain(&p);

    for (uint32_t v = AUTH_GOOD + 1; v < AUTH_COUNT; v++) {
        uint32_t s = rig_open(r, 0);
        p.verdict = (enum auth_verdict)v;
        const struct message *m = rig_refused(r, s, send(r, s, "alpha"), PE_AUTH_FAILED);
        const char *text = auth_text(p.verdict);
        cr_expect(span_equal(m->error_notify.error,
                             span_text(text ? text : protocol_error_text(PE_AUTH_FAILED))),
                  "%s", words[v]);
        cr_expect_not(r->sessions[s].closed);
        p.verdict = AUTH_GOOD;
        cr_expect_eq(rig_answer(r, s, send(r, s, "alpha"))->cmd, (uint32_t)CMD_LOGIN_RESP);
        rig_close(r, s);
    }
    const struct world_metrics *w = &r->world->metrics;
    uint64_t counted = 0;
#define AUTH_ONE(name, word, text)   \
    cr_expect_eq(w->auth_##word, 1); \
    counted += w->auth_##word;
    AUTH_VERDICTS(AUTH_ONE)
#undef AUTH_ONE
    cr_expect_eq(counted, AUTH_COUNT - 1);
    cr_expect_eq(w->refused_14, counted);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(auth, the_third_failure_closes_whatever_each_was)
{
    struct porter p;
    struct rig *r = plain(&p);
    uint32_t s = rig_open(r, 0);
    rig_refused(r, s, rig_send_login(r, s, "alpha"), PE_AUTH_FAILED);
    rig_refused(r, s, rig_send_token(r, s, "alpha", BAD, ""), PE_AUTH_FAILED);
    cr_assert_not(r->sessions[s].closed);
    rig_refused(r, s, rig_send_resume(r, s, "alpha", "no key"), PE_AUTH_FAILED);
    cr_assert(r->sessions[s].closed);
    cr_assert_eq(r->sessions[s].close_code, PE_AUTH_FAILED);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(auth, a_wrong_version_is_told_before_a_wrong_token)
{
    struct message m = {.cmd = CMD_LOGIN_REQ};
    struct porter p;
    struct rig *r = plain(&p);
    uint32_t s = rig_open(r, 0);
    m.login_req.name = span_text("alpha");
    m.login_req.version = 2;
    rig_refused(r, s, rig_send(r, s, &m), PE_BAD_VERSION);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

/* --- the token is the identity ---------------------------------------------------------------- */

Test(auth, a_new_login_takes_over_and_the_older_connection_gets_bye_6)
{
    struct porter p;
    struct rig *r = plain(&p);
    uint32_t old = join(r, "alpha"), viewer = join(r, "viewer"), other;
    rig_place(r, old, 20, 3);
    rig_tick(r, 2);
    uint32_t old_id = r->sessions[old].id;
    other = join(r, "alpha");
    cr_assert(r->sessions[old].closed);
    cr_assert_eq(r->sessions[old].close_code, PE_NAME_IN_USE);
    cr_assert_not(r->sessions[other].closed);
    cr_assert_neq(r->sessions[other].id, old_id, "it starts afresh");
    rig_tick(r, 1);
    cr_assert_eq(r->world->entities.alive_count, 2);
    cr_assert_not(rig_knows(r, viewer, old));
    cr_assert(rig_knows(r, viewer, other));
    cr_assert_eq(r->world->metrics.kicks_replaced, 1);
    rig_close(r, old); /* late: it touches nobody */
    rig_tick(r, 1);
    cr_assert_eq(r->world->entities.alive_count, 2);
    rig_balance(r);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(auth, a_bad_token_takes_nothing_over)
{
    struct porter p;
    struct rig *r = plain(&p);
    uint32_t old = join(r, "alpha"), s = rig_open(r, 0);
    rig_refused(r, s, rig_send_token(r, s, "alpha", BAD, ""), PE_AUTH_FAILED);
    rig_refused(r, s, rig_send_login(r, s, "alpha"), PE_AUTH_FAILED);
    cr_assert_not(r->sessions[old].closed);
    rig_move(r, old, 8.125, 0);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(auth, in_the_window_a_token_ends_who_waits_and_a_key_gives_it_back)
{
    struct world_config c = rig_config();
    struct porter p;
    char key[RIG_KEY_BYTES + 1];
    c.resume_window_ns = 30 * CLOCK_NS_PER_S;
    struct rig *r = guarded(&p, &c);
    uint32_t s = join(r, "alpha"), id = r->sessions[s].id;
    memcpy(key, r->sessions[s].key, sizeof(key));
    rig_close(r, s);
    rig_tick(r, 2);
    uint32_t stranger = rig_open(r, 0);
    rig_refused(r, stranger, rig_send_login(r, stranger, "alpha"), PE_AUTH_FAILED);
    cr_assert_eq(r->world->sessions.waiting, 1, "without a token nobody ends it");

    p.asked = 0;
    uint32_t again = rig_open(r, 0);
    cr_assert_eq(rig_resume(r, again, "alpha", key), id, "the key alone will do");
    cr_assert_eq(p.asked, 0);
    memcpy(key, r->sessions[again].key, sizeof(key));
    uint32_t both = rig_open(r, 0);
    const struct message *m = rig_answer(r, both, rig_send_token(r, both, "alpha", BAD, key));
    cr_assert(m->login_resp.resumed, "beside a key the token is not looked at");

    rig_close(r, both);
    rig_tick(r, 1);
    uint32_t fresh = join(r, "alpha");
    cr_assert_eq(r->world->sessions.waiting, 0);
    cr_assert_neq(r->sessions[fresh].id, id);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(auth, a_key_of_the_past_is_14_and_then_a_token_does)
{
    struct world_config c = rig_config();
    struct porter p;
    c.resume_window_ns = 30 * CLOCK_NS_PER_S;
    struct rig *r = guarded(&p, &c);
    uint32_t s = rig_open(r, 0);
    rig_refused(r, s, rig_send_token(r, s, "alpha", GOOD, "00112233445566778899aabbccddeeff"),
                PE_AUTH_FAILED);
    cr_assert_eq(rig_answer(r, s, send(r, s, "alpha"))->cmd, (uint32_t)CMD_LOGIN_RESP);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(auth, who_takes_over_finds_the_place_where_the_other_stood)
{
    static struct shelf s;
    struct world_config c = rig_config();
    struct porter p = {.verdict = AUTH_GOOD};

    memset(&s, 0, sizeof(s));
    s.rig = rig_create_with(&c, NULL, 0, (struct store_door){&shelf_ops, &s},
                            (struct auth_door){&porter_ops, &p});
    s.rig->patient = true;
    uint32_t old = rig_open(s.rig, 0), other = rig_open(s.rig, 0), late = rig_open(s.rig, 0);
    send(s.rig, old, "alpha");
    shelf_answer_all(&s);
    rig_enter(s.rig, old);
    rig_move(s.rig, old, 8.125, 0.0625);
    uint32_t seq = send(s.rig, other, "alpha");
    cr_assert(s.rig->sessions[old].closed);
    send(s.rig, late, "alpha"); /* while the other one waits for the store */
    cr_assert(s.rig->sessions[other].closed);
    cr_assert_null(rig_answer(s.rig, other, seq));
    shelf_answer_all(&s);
    rig_enter(s.rig, late);
    cr_assert_eq(s.rig->sessions[late].x, 8.125);
    cr_assert_eq(s.rig->sessions[late].y, 0.0625);
    rig_destroy(s.rig);
    TEST_NO_LEAKS();
}

Test(auth, who_is_on_the_way_to_another_world_is_not_taken_over)
{
    struct porter p;
    struct rig *r = plain(&p);
    uint32_t old = join(r, "alpha"), s = rig_open(r, 0);
    struct session_ref who;
    cr_assert(sessions_by_name(&r->world->sessions, span_text("alpha"), &who));
    r->world->sessions.list[who.slot].hold = SESSION_HANDED;
    const struct message *m = rig_refused(r, s, send(r, s, "alpha"), PE_UNAVAILABLE);
    cr_expect(span_equal(m->error_notify.error,
                         span_text("the session goes to another world: try again")));
    cr_assert_not(r->sessions[old].closed);
    r->world->sessions.list[who.slot].hold = SESSION_FREE;
    cr_assert_eq(rig_answer(r, s, send(r, s, "alpha"))->cmd, (uint32_t)CMD_LOGIN_RESP);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

/* --- the line --------------------------------------------------------------------------------- */

#define CHECKS 5

static struct rig *busy(struct porter *p, int64_t wait_ns)
{
    struct world_config c = rig_config();
    c.auth_checks = CHECKS;
    c.login_wait_ns = wait_ns;
    struct rig *r = guarded(p, &c);
    r->patient = true;
    return r;
}

Test(auth, above_auth_checks_logins_wait_for_the_next_tick_in_order)
{
    char name[8];
    uint32_t s[17];
    struct porter p;
    struct rig *r = busy(&p, 10 * CLOCK_NS_PER_S);

    rig_tick(r, 1);
    for (uint32_t i = 0; i < ARRAY_LEN(s); i++) {
        snprintf(name, sizeof(name), "n%u", i);
        s[i] = rig_open(r, 0);
        send(r, s[i], name);
    }
    for (uint32_t t = 0; t < 4; t++) {
        uint32_t n = CHECKS * (t + 1) < ARRAY_LEN(s) ? CHECKS * (t + 1) : ARRAY_LEN(s);
        cr_assert_eq(p.asked, n);
        for (uint32_t i = 0; i < ARRAY_LEN(s); i++)
            cr_assert_eq(r->sessions[s[i]].answered, i < n, "n%u after %u ticks", i, t);
        rig_tick(r, 1);
    }
    cr_assert_eq(r->world->metrics.logins, ARRAY_LEN(s));
    cr_assert_eq(r->world->metrics.logins_waited, ARRAY_LEN(s) - CHECKS);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(auth, who_would_wait_for_a_check_too_long_is_told_13_at_once)
{
    char name[8];
    uint32_t s[60], refused = 0;
    struct porter p;
    struct rig *r = busy(&p, 200 * CLOCK_NS_PER_MS); /* four ticks */

    rig_tick(r, 1);
    for (uint32_t i = 0; i < ARRAY_LEN(s); i++) {
        snprintf(name, sizeof(name), "n%u", i);
        s[i] = rig_open(r, 0);
        send(r, s[i], name);
        refused += r->sessions[s[i]].answered > 0 && i >= CHECKS;
    }
    cr_assert_eq(refused, r->world->metrics.logins_turned_away);
    cr_assert_geq(refused, ARRAY_LEN(s) - 5 * CHECKS);
    rig_tick(r, 5);
    cr_assert_eq(r->world->metrics.logins, ARRAY_LEN(s) - refused, "nobody waits for ever");
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(auth, bad_tokens_do_not_raise_what_a_tick_may_check)
{
    char name[8];
    struct porter p;
    struct rig *r = busy(&p, 10 * CLOCK_NS_PER_S);
    uint32_t ticks = 0;

    rig_tick(r, 1);
    for (uint32_t i = 0; i < 100; i++) {
        uint32_t s = rig_open(r, 0);
        snprintf(name, sizeof(name), "n%u", i);
        rig_send_token(r, s, name, BAD, "");
    }
    for (uint32_t before; p.asked < 100; ticks++) {
        before = p.asked;
        rig_tick(r, 1);
        cr_assert_leq(p.asked - before, CHECKS);
    }
    cr_assert_eq(ticks, 100 / CHECKS - 1);
    cr_assert_eq(r->world->metrics.auth_signature, 100);
    rig_destroy(r);
    TEST_NO_LEAKS();
}
