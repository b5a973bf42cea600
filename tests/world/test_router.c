/* tests/world/test_router.c: states, payloads and the order of errors; CASES C09.
 * May touch: tests/world_rig. Source: PROTOCOL.md, "Errors".
 */
#include "tests/leak.h"
#include "tests/world_rig.h"

#include <stdio.h>

static struct rig *plain_rig(void)
{
    struct world_config c = rig_config();
    return rig_create(&c);
}

static void refuse(struct rig *r, uint32_t s, uint32_t cmd, struct span payload, uint32_t code)
{
    uint32_t seq = rig_send_payload(r, s, cmd, payload);
    const struct message *m = rig_refused(r, s, seq, code);
    cr_assert_eq(m->error_notify.cmd, cmd, "the request's number");
    cr_assert_eq(m->error_notify.has_place, code == PE_MOVE_SPEED || code == PE_MOVE_BOUNDS);
}

static uint32_t session_in(struct rig *r, enum session_state state)
{
    char name[16];
    uint32_t s = rig_open(r, 0);
    snprintf(name, sizeof name, "s%u", s);
    if (state >= SESSION_LOGGED)
        rig_login(r, s, name);
    if (state >= SESSION_INSIDE)
        rig_enter(r, s);
    return s;
}

#define NIL   RIG_BYTES("\xc0")
#define EMPTY RIG_BYTES("\x80")
#define MOVE  RIG_BYTES("\x82\xa1x\x01\xa1y\x02")

static const enum session_state STATES[] = {SESSION_NEW, SESSION_LOGGED, SESSION_INSIDE};

/* --- order ----------------------------------------------------------------------------------- */

Test(router, numbers_that_are_no_request_are_unknown_in_every_state)
{
    static const uint32_t numbers[] = {0,  2,   4,   6,   8,   10,           12,       14,
                                       15, 32,  33,  34,  35,  36,           48,       49,
                                       99, 255, 256, 257, 263, 1u << 16 | 1, 1u << 31, UINT32_MAX};
    struct rig *r = plain_rig();
    for (size_t st = 0; st < ARRAY_LEN(STATES); st++) {
        uint32_t s = session_in(r, STATES[st]);
        for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
            refuse(r, s, numbers[i], NIL, PE_UNKNOWN_CMD);
            refuse(r, s, numbers[i], RIG_BYTES("\x93\x01\x02\x03"), PE_UNKNOWN_CMD);
        }
    }
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(router, before_login_everything_but_login_is_not_logged_in)
{
    static const uint32_t cmds[] = {CMD_ENTER_REQ, CMD_LEAVE_REQ, CMD_MOVE_REQ, CMD_SAY_REQ};
    struct rig *r = plain_rig();
    uint32_t s = session_in(r, SESSION_NEW);
    for (size_t i = 0; i < ARRAY_LEN(cmds); i++) {
        refuse(r, s, cmds[i], NIL, PE_NOT_LOGGED_IN);
        refuse(r, s, cmds[i], RIG_BYTES("\xa1x"), PE_NOT_LOGGED_IN); /* 4 before 3 */
    }
    refuse(r, s, CMD_MOVE_REQ, MOVE, PE_NOT_LOGGED_IN);
    rig_login(r, s, "late");
    rig_destroy(r);
}

Test(router, a_bad_payload_is_told_before_a_wrong_state)
{
    struct rig *r = plain_rig();
    uint32_t logged = session_in(r, SESSION_LOGGED), inside = session_in(r, SESSION_INSIDE);
    refuse(r, logged, CMD_LOGIN_REQ, EMPTY, PE_BAD_PAYLOAD);
    refuse(r, inside, CMD_LOGIN_REQ, NIL, PE_BAD_PAYLOAD);
    refuse(r, logged, CMD_MOVE_REQ, EMPTY, PE_BAD_PAYLOAD);
    refuse(r, logged, CMD_SAY_REQ, EMPTY, PE_BAD_PAYLOAD);
    refuse(r, inside, CMD_ENTER_REQ, RIG_BYTES("\x81\xa5scene\x01"), PE_BAD_PAYLOAD);
    rig_destroy(r);
}

Test(router, a_wrong_state_is_told_before_what_the_request_would_meet)
{
    struct rig *r = plain_rig();
    uint32_t logged = session_in(r, SESSION_LOGGED), inside = session_in(r, SESSION_INSIDE);
    /* version 2 and a resume key: 20 and 14 */
    struct span login = RIG_BYTES("\x83\xa4name\xa1z\xa7version\x02\xa6resume\xa1k");
    refuse(r, logged, CMD_LOGIN_REQ, login, PE_ALREADY_LOGGED_IN);
    refuse(r, inside, CMD_LOGIN_REQ, login, PE_ALREADY_LOGGED_IN);
    refuse(r, inside, CMD_ENTER_REQ, RIG_BYTES("\x81\xa5scene\xa4moon"), PE_ALREADY_IN_WORLD);
    refuse(r, logged, CMD_MOVE_REQ, RIG_BYTES("\x82\xa1x\xcb\x7f\xe0\0\0\0\0\0\0\xa1y\x02"),
           PE_NOT_IN_WORLD);
    rig_destroy(r);
}

Test(router, a_version_is_told_before_a_name_in_use)
{
    struct rig *r = plain_rig();
    uint32_t a = session_in(r, SESSION_NEW), b = session_in(r, SESSION_NEW);
    rig_login(r, a, "z");
    refuse(r, b, CMD_LOGIN_REQ, RIG_BYTES("\x82\xa4name\xa1z\xa7version\x02"), PE_BAD_VERSION);
    refuse(r, b, CMD_LOGIN_REQ, RIG_BYTES("\x81\xa4name\xa1z"), PE_NAME_IN_USE);
    rig_destroy(r);
}

Test(router, a_missing_scene_is_told_before_a_full_world)
{
    struct world_config c = rig_config();
    c.max_entities = 1;
    struct rig *r = rig_create(&c);
    (void)session_in(r, SESSION_INSIDE);
    uint32_t s = session_in(r, SESSION_LOGGED);
    refuse(r, s, CMD_ENTER_REQ, RIG_BYTES("\x81\xa5scene\xa4moon"), PE_NO_SUCH_SCENE);
    refuse(r, s, CMD_ENTER_REQ, NIL, PE_UNAVAILABLE);
    rig_destroy(r);
}

Test(router, outside_the_scene_is_told_before_too_fast)
{
    struct rig *r = plain_rig();
    uint32_t s = session_in(r, SESSION_INSIDE);
    rig_refused(r, s, rig_send_move(r, s, 5000, 0), PE_MOVE_BOUNDS);
    rig_refused(r, s, rig_send_move(r, s, 900, 0), PE_MOVE_SPEED);
    rig_destroy(r);
}

Test(router, too_many_requests_in_a_tick_are_refused_before_anything_else)
{
    struct world_config c = rig_config();
    c.session_requests = 5;
    struct rig *r = rig_create(&c);
    uint32_t s = rig_open(r, 0), other = rig_open(r, 0);
    rig_tick(r, 1);
    for (uint32_t tick = 0; tick < 3; tick++) {
        for (int i = 0; i < 5; i++)
            refuse(r, s, 99, NIL, PE_UNKNOWN_CMD);
        for (int i = 0; i < 7; i++)
            refuse(r, s, 99, NIL, PE_RATE_LIMITED);
        refuse(r, s, CMD_MOVE_REQ, NIL, PE_RATE_LIMITED);
        refuse(r, other, 99, NIL, PE_UNKNOWN_CMD); /* each has its own count */
        rig_tick(r, 1);
    }
    cr_assert_eq(r->world->metrics.requests_limited, 24);
    rig_login(r, s, "after");
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(router, without_a_limit_a_tick_takes_any_number)
{
    struct rig *r = plain_rig();
    uint32_t s = session_in(r, SESSION_INSIDE);
    for (int i = 0; i < 5000; i++)
        rig_move(r, s, r->sessions[s].x, 0);
    rig_destroy(r);
}

/* --- payloads -------------------------------------------------------------------------------- */

Test(cases, c09_missing_and_mistyped_fields_are_bad_payload)
{
    static const struct span bad[] = {
        {(const uint8_t *)"\xc0", 1},          /* nil */
        {(const uint8_t *)"\x90", 1},          /* [] */
        {(const uint8_t *)"\xa0", 1},          /* "" */
        {(const uint8_t *)"\xc3", 1},          /* true */
        {(const uint8_t *)"\x07", 1},          /* 7 */
        {(const uint8_t *)"\x80", 1},          /* {} */
        {(const uint8_t *)"\x81\xa1x\x01", 4}, /* {x:1} */
        {(const uint8_t *)"\x81\xa1y\x01", 4}, /* {y:1} */
        {(const uint8_t *)"\x82\xa1x\xa1"
                          "1\xa1y\x02",
         8},                                                    /* x: "1" */
        {(const uint8_t *)"\x82\xa1x\xc0\xa1y\x02", 7},         /* x: nil */
        {(const uint8_t *)"\x82\xa1x\x80\xa1y\x02", 7},         /* x: {} */
        {(const uint8_t *)"\x82\xa1x\x91\x01\xa1y\x02", 8},     /* x: [1] */
        {(const uint8_t *)"\x82\xa1x\xc3\xa1y\x02", 7},         /* x: true */
        {(const uint8_t *)"\x82\x01\x01\x02\x02", 5},           /* integer keys */
        {(const uint8_t *)"\x83\xa1x\x01\xa1y\x02\x05\x05", 9}, /* one of them */
        {(const uint8_t *)"\x82\xc4\x01x\x01\xc4\x01y\x02", 9}, /* bin keys */
        {(const uint8_t *)"\x82\xa1X\x01\xa1Y\x02", 7},         /* case counts */
        {(const uint8_t *)"\x83\xa1x\x01\xa1y\x02\xa3"
                          "dir\xc0",
         12}, /* dir: nil */
        {(const uint8_t *)"\x83\xa1x\x01\xa1y\x02\xa5speed\xa1"
                          "3",
         15},                                                         /* speed: "3" */
        {(const uint8_t *)"\x83\xa1x\x01\xa1y\x02\xa5speed\xff", 14}, /* speed: -1 */
        {(const uint8_t *)"\x82\xc0\x01\xa1y\x02", 6},                /* a nil key */
    };
    struct rig *r = plain_rig();
    uint32_t s = session_in(r, SESSION_INSIDE), v = session_in(r, SESSION_INSIDE);
    rig_tick(r, 1);
    rig_drop(r);
    double x = r->sessions[s].x;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        refuse(r, s, CMD_MOVE_REQ, bad[i], PE_BAD_PAYLOAD);
    rig_tick(r, 3);
    cr_assert_null(rig_take(r, v), "nothing changed");
    rig_move(r, s, x + 1, 0);
    rig_tick(r, 1);
    cr_assert_eq(rig_next(r, v, CMD_AOI_MOVE)->aoi_move.moves.n, 5, "place alone has changed");
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(cases, c09_wrong_states)
{
    struct rig *r = plain_rig();
    uint32_t s = rig_open(r, 0);
    refuse(r, s, CMD_MOVE_REQ, MOVE, PE_NOT_LOGGED_IN);
    rig_login(r, s, "s");
    refuse(r, s, CMD_MOVE_REQ, MOVE, PE_NOT_IN_WORLD);
    refuse(r, s, CMD_SAY_REQ, RIG_BYTES("\x81\xa4text\xa2hi"), PE_NOT_IN_WORLD);
    refuse(r, s, CMD_LEAVE_REQ, NIL, PE_NOT_IN_WORLD);
    refuse(r, s, CMD_LOGIN_REQ, RIG_BYTES("\x81\xa4name\xa1t"), PE_ALREADY_LOGGED_IN);
    rig_enter(r, s);
    refuse(r, s, CMD_ENTER_REQ, NIL, PE_ALREADY_IN_WORLD);
    refuse(r, s, CMD_LOGIN_REQ, RIG_BYTES("\x81\xa4name\xa1s"), PE_ALREADY_LOGGED_IN);
    rig_move(r, s, r->sessions[s].x, 0);
    rig_leave(r, s);
    refuse(r, s, CMD_LEAVE_REQ, NIL, PE_NOT_IN_WORLD);
    refuse(r, s, CMD_MOVE_REQ, MOVE, PE_NOT_IN_WORLD);
    rig_enter(r, s);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(router, unknown_keys_are_ignored_and_of_a_doubled_key_the_last_counts)
{
    struct rig *r = plain_rig();
    uint32_t s = session_in(r, SESSION_INSIDE);
    uint32_t seq = rig_send_payload(
        r, s, CMD_MOVE_REQ,
        RIG_BYTES(
            "\x85\xa1z\x93\x01\x80\xc0\xa1x\xa1n\xa1x\x08\xa1y\x01\xa1y\xcb\0\0\0\0\0\0\0\0"));
    const struct message *m = rig_answer(r, s, seq);
    cr_assert_eq(m->cmd, (uint32_t)CMD_MOVE_RESP);
    cr_assert(m->move_resp.x == 8 && m->move_resp.y == 0);
    rig_destroy(r);
}

Test(router, where_nil_will_do_a_map_is_taken_and_ignored)
{
    struct rig *r = plain_rig();
    uint32_t s = session_in(r, SESSION_LOGGED);
    uint32_t seq = rig_send_payload(r, s, CMD_ENTER_REQ, RIG_BYTES("\x81\xa1q\x93\x01\x02\x03"));
    cr_assert_eq(rig_answer(r, s, seq)->cmd, (uint32_t)CMD_ENTER_RESP);
    seq = rig_send_payload(r, s, CMD_LEAVE_REQ, RIG_BYTES("\x81\xa1q\x93\x01\x02\x03"));
    cr_assert_eq(rig_answer(r, s, seq)->cmd, (uint32_t)CMD_LEAVE_RESP);
    rig_destroy(r);
}

Test(router, requests_in_one_link_frame_are_answered_in_their_order)
{
    struct rig *r = plain_rig();
    uint32_t s = rig_open(r, 0);
    struct span bodies[] = {
        RIG_BYTES("\x93\x03\x01\xc0"),                 /* EnterReq: 4 */
        RIG_BYTES("\x93\x01\x02\x81\xa4name\xa1p"),    /* LoginReq */
        RIG_BYTES("\x93\x63\x03\xc0"),                 /* 99: 2 */
        RIG_BYTES("\x93\x03\x04\xc0"),                 /* EnterReq */
        RIG_BYTES("\x93\x07\x05\x82\xa1x\x08\xa1y\0"), /* MoveReq */
        RIG_BYTES("\x93\x05\x06\xc0"),                 /* LeaveReq */
    };
    static const uint32_t want[] = {CMD_ERROR_NOTIFY, CMD_LOGIN_RESP, CMD_ERROR_NOTIFY,
                                    CMD_ENTER_RESP,   CMD_MOVE_RESP,  CMD_LEAVE_RESP};
    struct span_writer w = span_writer_of(r->frame, LINK_FRAME_MAX);
    link_write_data(&w, r->sessions[s].sid, bodies, ARRAY_LEN(bodies));
    r->sessions[s].sent = ARRAY_LEN(bodies);
    cr_assert_eq(rig_link_frame(r, 0, span_of(w.p + FRAME_HEAD_BYTES, w.len - FRAME_HEAD_BYTES)),
                 0);
    for (uint32_t i = 0; i < ARRAY_LEN(want); i++) {
        const struct message *m = rig_take(r, s);
        cr_assert_eq(m->cmd, want[i]);
        cr_assert_eq(m->seq, i + 1);
    }
    cr_assert_eq(r->world->metrics.requests, ARRAY_LEN(bodies));
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(router, any_seq_comes_back_as_it_was)
{
    struct rig *r = plain_rig();
    uint32_t s = rig_open(r, 0);
    r->lax = true;
    static const uint8_t forms[][9] = {{5, 0x93, 0x63, 0xcc, 200, 0xc0},
                                       {6, 0x93, 0x63, 0xcd, 1, 2, 0xc0},
                                       {8, 0x93, 0x63, 0xce, 0xff, 0xff, 0xff, 0xff, 0xc0},
                                       {4, 0x93, 0x63, 0x00, 0xc0}};
    static const uint32_t seqs[] = {200, 258, UINT32_MAX, 0};
    for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
        cr_assert_eq(rig_send_body(r, s, span_of(forms[i] + 1, forms[i][0])), 0);
        cr_assert_eq(rig_take(r, s)->seq, seqs[i]);
    }
    rig_destroy(r);
}
