/* tests/world/test_cmd_login.c: LoginReq. PROTOCOL.md, "Login" and "Ids".
 * May touch: tests/world_rig.
 */
#include "tests/leak.h"
#include "tests/world_rig.h"

#include <stdio.h>

static struct rig *plain_rig(void)
{
    struct world_config c = rig_config();
    return rig_create(&c);
}

static uint32_t send_resume(struct rig *r, uint32_t s, const char *name)
{
    struct message m = {.cmd = CMD_LOGIN_REQ};
    m.login_req.name = span_text(name);
    m.login_req.resume = span_text("no-such-key");
    m.login_req.version = PROTO_VERSION;
    return rig_send(r, s, &m);
}

Test(cmd_login, the_answer_tells_name_id_and_that_nothing_was_resumed)
{
    struct rig *r = plain_rig();
    uint32_t s = rig_open(r, 0);
    const struct message *m = rig_answer(r, s, rig_send_login(r, s, "alpha"));
    cr_assert_eq(m->cmd, (uint32_t)CMD_LOGIN_RESP);
    cr_assert_eq(m->login_resp.id, 1);
    cr_assert(span_equal(m->login_resp.name, span_text("alpha")));
    cr_assert_eq(m->login_resp.resume.n, 0);
    cr_assert_not(m->login_resp.resumed);
    cr_assert_eq(r->world->metrics.logins, 1);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(cmd_login, it_puts_nobody_in_the_world)
{
    struct rig *r = plain_rig();
    uint32_t v = rig_join(r, "v"), s = rig_open(r, 0);
    rig_login(r, s, "alpha");
    rig_tick(r, 3);
    cr_assert_eq(r->sessions[v].view.batches, 0);
    cr_assert_eq(r->world->entities.alive_count, 1);
    rig_destroy(r);
}

Test(cmd_login, ids_are_given_lowest_first_at_login)
{
    struct rig *r = plain_rig();
    uint32_t s[4];
    static const char *const names[] = {"a", "b", "c", "d"};
    for (uint32_t i = 0; i < 4; i++) {
        s[i] = rig_open(r, 0);
        cr_assert_eq(rig_login(r, s[i], names[i]), i + 1);
    }
    cr_assert_eq(rig_enter(r, s[2]), 3, "in whatever order they enter");
    cr_assert_eq(rig_enter(r, s[0]), 1);
    rig_close(r, s[1]); /* it never entered: nobody saw its id */
    s[1] = rig_open(r, 0);
    cr_assert_eq(rig_login(r, s[1], "e"), 2);
    rig_close(r, s[2]); /* it did: the id rests */
    s[2] = rig_open(r, 0);
    cr_assert_eq(rig_login(r, s[2], "f"), 5);
    rig_pass(r, PROTO_ID_REST_S * CLOCK_NS_PER_S);
    uint32_t more = rig_open(r, 0);
    cr_assert_eq(rig_login(r, more, "g"), 3);
    rig_destroy(r);
}

Test(cmd_login, a_name_is_refused_while_its_connection_lives)
{
    struct rig *r = plain_rig();
    uint32_t a = rig_open(r, 0), b = rig_open(r, 0);
    uint32_t other = rig_link_up(r, "gw-1"), c = rig_open(r, other);
    rig_login(r, a, "alpha");
    rig_refused(r, b, rig_send_login(r, b, "alpha"), PE_NAME_IN_USE);
    rig_refused(r, c, rig_send_login(r, c, "alpha"), PE_NAME_IN_USE);
    rig_enter(r, a);
    rig_refused(r, b, rig_send_login(r, b, "alpha"), PE_NAME_IN_USE);
    rig_leave(r, a);
    rig_refused(r, b, rig_send_login(r, b, "alpha"), PE_NAME_IN_USE);
    rig_login(r, b, "Alpha"); /* case counts */
    rig_close(r, a);
    rig_login(r, c, "alpha");
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(cmd_login, a_refused_login_changes_nothing)
{
    struct rig *r = plain_rig();
    uint32_t a = rig_open(r, 0), b = rig_open(r, 0);
    cr_assert_eq(rig_login(r, a, "alpha"), 1);
    for (int i = 0; i < 10; i++)
        rig_refused(r, b, rig_send_login(r, b, "alpha"), PE_NAME_IN_USE);
    rig_refused(r, b, rig_send_nil(r, b, CMD_ENTER_REQ), PE_NOT_LOGGED_IN);
    cr_assert_eq(rig_login(r, b, "beta"), 2, "no id was spent");
    rig_destroy(r);
}

Test(cmd_login, names_that_break_the_rules_are_bad_payload)
{
    static const struct span names[] = {
        {(const uint8_t *)"\xa0", 1},
        {(const uint8_t *)"\xd9\x21"
                          "123456789012345678901234567890123",
         35},
        {(const uint8_t *)"\xa1\0", 2},
        {(const uint8_t *)"\xa2"
                          "a\n",
         3},
        {(const uint8_t *)"\xa1\x7f", 2},
        {(const uint8_t *)"\xa2\xc2\x80", 3},     /* U+0080 */
        {(const uint8_t *)"\xa2\xc2\x9f", 3},     /* U+009F */
        {(const uint8_t *)"\xa3\xe2\x80\xa8", 4}, /* U+2028 */
        {(const uint8_t *)"\xa3\xe2\x80\xae", 4}, /* U+202E */
        {(const uint8_t *)"\xa3\xe2\x81\xa6", 4}, /* U+2066 */
        {(const uint8_t *)"\xa3\xe2\x81\xa9", 4}, /* U+2069 */
        {(const uint8_t *)"\x07", 1},
        {(const uint8_t *)"\xc0", 1},
        {(const uint8_t *)"\xc4\x01z", 3},
    };
    struct rig *r = plain_rig();
    uint32_t s = rig_open(r, 0);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        uint8_t payload[64] = "\x81\xa4name";
        memcpy(payload + 6, names[i].p, names[i].n);
        uint32_t seq = rig_send_payload(r, s, CMD_LOGIN_REQ, span_of(payload, 6 + names[i].n));
        rig_refused(r, s, seq, PE_BAD_PAYLOAD);
    }
    rig_login(r, s, "12345678901234567890123456789012"); /* 32 bytes */
    uint32_t t = rig_open(r, 0);
    rig_login(r, t, "\xc2\xa0\xe2\x80\xa7\xe2\x80\xaf\xe2\x81\xa5\xe2\x81\xaa"); /* their rims */
    rig_destroy(r);
}

Test(cmd_login, only_version_one_is_spoken)
{
    struct rig *r = plain_rig();
    uint32_t s = rig_open(r, 0);
    static const uint64_t versions[] = {0, 2, 255, UINT64_MAX};
    for (size_t i = 0; i < ARRAY_LEN(versions); i++) {
        struct message m = {.cmd = CMD_LOGIN_REQ};
        m.login_req.name = span_text("alpha");
        m.login_req.version = versions[i];
        rig_refused(r, s, rig_send(r, s, &m), PE_BAD_VERSION);
    }
    /* absent, it is 1 */
    uint32_t seq = rig_send_payload(r, s, CMD_LOGIN_REQ, RIG_BYTES("\x81\xa4name\xa1z"));
    cr_assert_eq(rig_answer(r, s, seq)->cmd, (uint32_t)CMD_LOGIN_RESP);
    rig_destroy(r);
}

Test(cmd_login, the_third_unknown_resume_key_closes_the_session)
{
    struct rig *r = plain_rig();
    uint32_t s = rig_open(r, 0);
    rig_refused(r, s, send_resume(r, s, "alpha"), PE_AUTH_FAILED);
    rig_refused(r, s, send_resume(r, s, "alpha"), PE_AUTH_FAILED);
    cr_assert(r->sessions[s].open);
    rig_refused(r, s, send_resume(r, s, "alpha"), PE_AUTH_FAILED);
    cr_assert(r->sessions[s].closed);
    cr_assert_eq(r->sessions[s].close_code, PE_AUTH_FAILED);
    cr_assert_eq(r->world->metrics.kicks_auth, 1);
    uint32_t t = rig_open(r, 0);
    rig_login(r, t, "alpha");
    rig_balance(r);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(cmd_login, what_is_pipelined_behind_the_closing_failure_is_dropped)
{
    struct rig *r = plain_rig();
    uint32_t s = rig_open(r, 0);
    struct span bodies[6];
    for (uint32_t i = 0; i < 6; i++)
        bodies[i] = RIG_BYTES("\x93\x01\x01\x82\xa4name\xa1z\xa6resume\xa1k");
    bodies[5] = RIG_BYTES("\x93\x01\x01\x81\xa4name\xa1z");
    struct span_writer w = span_writer_of(r->frame, LINK_FRAME_MAX);
    link_write_data(&w, r->sessions[s].sid, bodies, 6);
    r->lax = true;
    cr_assert_eq(rig_link_frame(r, 0, span_of(w.p + FRAME_HEAD_BYTES, w.len - FRAME_HEAD_BYTES)),
                 0);
    cr_assert_eq(r->sessions[s].count, 3, "three answers, and then it is closed");
    cr_assert(r->sessions[s].closed);
    cr_assert_eq(r->world->metrics.logins, 0);
    cr_assert_eq(r->strays, 0);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(cmd_login, a_late_close_of_an_older_connection_does_not_touch_the_newer)
{
    struct rig *r = plain_rig();
    uint32_t v = rig_join(r, "v"), a = rig_join(r, "alpha");
    uint32_t b = rig_open(r, rig_link_up(r, "gw-1"));
    rig_close(r, a);
    rig_login(r, b, "alpha");
    rig_enter(r, b);
    rig_close(r, a); /* again, late */
    rig_close(r, a);
    rig_tick(r, 2);
    cr_assert(rig_knows(r, v, b));
    rig_place(r, b, r->sessions[b].x + 1, 0);
    rig_balance(r);
    rig_destroy(r);
    TEST_NO_LEAKS();
}
