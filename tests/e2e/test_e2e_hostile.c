/* tests/e2e/test_e2e_hostile.c: frames that break the rules, and what becomes of their neighbours.
 * May touch: tests/pair, tests/raw_client. On trouble: the test fails.
 */
#include "proto/frame.h"
#include "tests/leak.h"
#include "tests/pair.h"
#include "tests/raw_client.h"

#include <criterion/criterion.h>
#include <stdio.h>

TestSuite(e2e_hostile, .fini = process_end_all, .timeout = 60);

/* A raw frame, whatever its head says. */
static void send_frame(struct raw_client *c, const char *notation)
{
    static uint8_t bytes[PROTO_FRAME_MAX + FRAME_HEAD];
    raw_send(c, span_of(bytes, raw_bytes(notation, bytes, sizeof(bytes))));
}

/* A connection of its own sends this body; Bye 1 is what it gets, and the neighbour is served. */
static void must_end(const struct pair *pair, struct raw_client *neighbour, const char *body)
{
    struct raw_client c;

    raw_connect(&c, pair->gateway->addr);
    raw_send_text(&c, body);
    raw_must_bye(&c, PE_BAD_FRAME);
    raw_must_serve(neighbour);
}

/* --- C05 -------------------------------------------------------------------------------------- */

static const char *const giants[] = {"dd ff000000", "df ffffffff", "db 7fffffff", "c6 ffffffff",
                                     "c9 ffffffff 00"};

static void send_giants(const struct pair *pair, struct raw_client *neighbour)
{
    char body[128];

    for (size_t i = 0; i < ARRAY_LEN(giants); i++) {
        snprintf(body, sizeof(body), "93 %s 01 c0", giants[i]);
        must_end(pair, neighbour, body);
        snprintf(body, sizeof(body), "93 07 %s c0", giants[i]);
        must_end(pair, neighbour, body);
        snprintf(body, sizeof(body), "93 07 01 %s", giants[i]);
        must_end(pair, neighbour, body);
        snprintf(body, sizeof(body), "93 07 01 81 a1'x' %s", giants[i]);
        must_end(pair, neighbour, body);
        snprintf(body, sizeof(body), "93 0b 01 %s", giants[i]); /* a ping is walked too */
        must_end(pair, neighbour, body);
    }
}

Test(e2e_hostile, c05_five_bytes_that_ask_for_gigabytes_cost_no_memory)
{
    process_measure_memory();
    struct pair pair = pair_start(NULL, NULL);
    struct raw_client neighbour;

    raw_join(&neighbour, pair.gateway->addr, "neighbour");
    send_giants(&pair, &neighbour);
    uint64_t gateway = process_memory(pair.gateway), world = process_memory(pair.world);
    send_giants(&pair, &neighbour);
    cr_assert_lt(process_memory(pair.gateway), gateway + (1u << 20));
    cr_assert_lt(process_memory(pair.world), world + (1u << 20));
    raw_close(&neighbour);
    pair_end(&pair);
    TEST_NO_LEAKS();
}

/* --- C06 -------------------------------------------------------------------------------------- */

/* "81 a1'k' " or "91 " so many times, then something empty. */
static const char *nested(unsigned levels, bool maps)
{
    static char text[16 * PROTO_DEPTH_MAX + 16];

    text[0] = '\0';
    for (unsigned i = 1; i < levels; i++)
        strcat(text, maps ? "81 a1'k' " : "91 ");
    strcat(text, maps ? "80" : "90");
    return text;
}

Test(e2e_hostile, c06_eight_levels_are_normal)
{
    struct pair pair = pair_start(NULL, NULL);
    struct raw_client c;
    char text[256];

    raw_join(&c, pair.gateway->addr, "alpha");
    for (int maps = 0; maps < 2; maps++) {
        /* The outer array is level 1. */
        raw_must(&c, raw_payload(&c, CMD_PING_REQ, nested(PROTO_DEPTH_MAX - 1, maps)),
                 CMD_PING_RESP);
        raw_must_fail(&c, raw_payload(&c, CMD_MOVE_REQ, nested(PROTO_DEPTH_MAX - 1, maps)),
                      PE_BAD_PAYLOAD);
        snprintf(text, sizeof(text), "83 a1'x' 08 a1'y' 00 a1'z' %s",
                 nested(PROTO_DEPTH_MAX - 2, maps));
        raw_must(&c, raw_payload(&c, CMD_MOVE_REQ, text), CMD_MOVE_RESP);
    }
    raw_close(&c);
    pair_end(&pair);
    TEST_NO_LEAKS();
}

Test(e2e_hostile, c06_nesting_past_eight_levels_is_a_bad_frame)
{
    struct pair pair = pair_start(NULL, NULL);
    struct raw_client neighbour;
    char text[256];
    static char deep[64 + 2 * 16000];

    raw_join(&neighbour, pair.gateway->addr, "neighbour");
    for (int maps = 0; maps < 2; maps++) {
        snprintf(text, sizeof(text), "93 0b 01 %s", nested(PROTO_DEPTH_MAX, maps));
        must_end(&pair, &neighbour, text);
        snprintf(text, sizeof(text), "93 07 01 %s", nested(PROTO_DEPTH_MAX, maps));
        must_end(&pair, &neighbour, text);
        snprintf(text, sizeof(text), "93 07 01 83 a1'x' 08 a1'y' 00 a1'z' %s",
                 nested(PROTO_DEPTH_MAX - 1, maps));
        must_end(&pair, &neighbour, text);
    }
    strcpy(deep, "93 07 01 ");
    for (char *at = deep + strlen(deep); at < deep + 9 + 2 * 16000; at += 2)
        memcpy(at, "91", 2);
    must_end(&pair, &neighbour, deep);
    deep[4] = 'b'; /* a PingReq */
    must_end(&pair, &neighbour, deep);
    raw_close(&neighbour);
    pair_end(&pair);
    TEST_NO_LEAKS();
}

/* --- C07 -------------------------------------------------------------------------------------- */

static const char *const bad_heads[] = {"00000000", "00004001", "7fffffff", "80000000", "ffffffff"};

Test(e2e_hostile, c07_a_length_that_is_not_allowed_ends_at_its_fourth_byte)
{
    struct pair pair = pair_start(NULL, NULL);
    struct raw_client neighbour, c;
    char text[64];

    raw_join(&neighbour, pair.gateway->addr, "neighbour");
    for (size_t i = 0; i < ARRAY_LEN(bad_heads); i++) {
        raw_connect(&c, pair.gateway->addr);
        send_frame(&c, bad_heads[i]);
        raw_must_bye(&c, PE_BAD_FRAME);
        raw_must_serve(&neighbour);

        raw_connect(&c, pair.gateway->addr);
        snprintf(text, sizeof(text), "%s 93 0b 01 c0 93 0b 02 c0", bad_heads[i]);
        send_frame(&c, text);
        raw_must_bye(&c, PE_BAD_FRAME);
        raw_must_serve(&neighbour);
    }
    raw_close(&neighbour);
    pair_end(&pair);
    TEST_NO_LEAKS();
}

static const char *const bad_bodies[] = {
    "c1", /* no value at all */
    "07", /* an int */
    "80", /* a map */
    "c0", /* nil */
    "90", /* arrays of another length */
    "92 07 01",
    "94 07 01 c0 c0",
    "93 cf 0000000100000000 01 c0", /* cmd 2^32 */
    "93 ff 01 c0",                  /* cmd -1 */
    "93 07 cf 0000000100000000 c0", /* seq 2^32 */
    "93 07 ff c0",
    "93 a1'7' 01 c0", /* a text */
    "93 c0 01 c0",
    "93 07 c3 c0",
    "93 07 01 c0 c0", /* something behind the value */
    "93 07 01 c0 00",
    "93 07 01", /* cut */
    "93 07 01 a5'name'",
    "93 07 01 a1 ff",     /* no UTF-8 */
    "93 07 01 a2 c080",   /* overlong */
    "93 07 01 a3 eda080", /* a surrogate */
    "93 07 01 81 a1 ff 01",
    "93 07 01 81 a1'x' c1",
    "93 0b 01 a1 80", /* in a ping too */
};

Test(e2e_hostile, c07_a_body_that_is_no_request_gets_bye_1)
{
    struct pair pair = pair_start(NULL, NULL);
    struct raw_client neighbour;

    raw_join(&neighbour, pair.gateway->addr, "neighbour");
    for (size_t i = 0; i < ARRAY_LEN(bad_bodies); i++)
        must_end(&pair, &neighbour, bad_bodies[i]);
    raw_close(&neighbour);
    pair_end(&pair);
    TEST_NO_LEAKS();
}

Test(e2e_hostile, c07_what_came_before_a_bad_frame_is_answered)
{
    struct pair pair = pair_start(NULL, NULL);
    struct raw_client c;

    raw_connect(&c, pair.gateway->addr);
    send_frame(&c, "00000004 930b01c0 00000004 930b02c0 00000001 c1 00000004 930b03c0");
    raw_must_body(&c, "93 0c 01 c0");
    raw_must_body(&c, "93 0c 02 c0");
    cr_assert_eq(raw_next(&c)->cmd, (uint32_t)CMD_BYE);
    cr_assert_null(raw_body_within(&c, PROCESS_PATIENCE_MS).p);
    cr_assert(c.ended);
    raw_close(&c);
    pair_end(&pair);
    TEST_NO_LEAKS();
}

/* --- Bye is really read ----------------------------------------------------------------------- */

/* Before the server closes it shuts its sending side and goes on reading, so that no reset
 * overtakes the Bye. */
Test(e2e_hostile, a_client_that_keeps_sending_reads_its_bye)
{
    struct pair pair = pair_start(NULL, PROCESS_ARGS("-rate", "0"));
    struct raw_client c;
    static const uint8_t pings[] = "\0\0\0\4\x93\x0b\x01\xc0\0\0\0\4\x93\x0b\x01\xc0";
    uint32_t pongs = 0;
    bool bye = false;

    raw_connect(&c, pair.gateway->addr);
    for (int i = 0; i < 100; i++)
        raw_send(&c, span_of(pings, 16));
    send_frame(&c, "00000002 c0c0");
    struct mono until = process_deadline(300);
    while (clock_since(until, clock_mono()) > 0 && !c.reset) {
        raw_send_some(&c, span_of(pings, 16));
        struct span body = raw_body_within(&c, 0);
        if (!body.p)
            continue;
        cr_assert_not(bye, "a frame after Bye");
        bye = body.p[1] == CMD_BYE;
        pongs += body.p[1] == CMD_PING_RESP;
    }
    cr_assert(bye);
    cr_assert_eq(pongs, 200u);
    cr_assert_not(c.reset);
    cr_assert(c.ended);
    raw_close(&c);
    pair_end(&pair);
    TEST_NO_LEAKS();
}

/* --- C08 -------------------------------------------------------------------------------------- */

/* x 8, y 0, in every form there is. */
static const char *const same_places[] = {
    "82 a1'x' 08 a1'y' 00",
    "82 a1'x' cc 08 a1'y' cc 00",
    "82 a1'x' cd 0008 a1'y' cd 0000",
    "82 a1'x' ce 00000008 a1'y' ce 00000000",
    "82 a1'x' cf 0000000000000008 a1'y' cf 0000000000000000",
    "82 a1'x' d0 08 a1'y' d0 00",
    "82 a1'x' d1 0008 a1'y' d1 0000",
    "82 a1'x' d2 00000008 a1'y' d2 00000000",
    "82 a1'x' d3 0000000000000008 a1'y' d3 0000000000000000",
    "82 a1'x' ca 41000000 a1'y' ca 00000000",
    "82 a1'x' cb 4020000000000000 a1'y' cb 0000000000000000",
    "de 0002 a1'x' 08 a1'y' 00",
    "df 00000002 a1'x' 08 a1'y' 00",
    "82 d9 01'x' 08 da 0001'y' 00",
    "82 db 00000001'y' 00 a1'x' 08",
    "84 a1'z' c0 a1'x' 09 a1'y' 00 a1'x' 08", /* of a doubled key the last counts */
};

static const char *const same_heads[] = {
    "93 07 01",
    "93 cc 07 cc 01",
    "93 cd 0007 cd 0001",
    "93 ce 00000007 ce 00000001",
    "93 cf 0000000000000007 cf 0000000000000001",
    "93 d0 07 d0 01",
    "93 d1 0007 d1 0001",
    "93 d2 00000007 d2 00000001",
    "93 d3 0000000000000007 d3 0000000000000001",
    "dc 0003 07 01",
    "dd 00000003 07 01",
};

#define SAME_ANSWER "93 08 01 83 a2'ok' c3 a1'x' cb 4020000000000000 a1'y' cb 0000000000000000"

Test(e2e_hostile, c08_every_form_of_a_number_gives_the_same_answer)
{
    struct pair pair = pair_start(NULL, NULL);
    struct raw_client c;
    char body[256];

    raw_join(&c, pair.gateway->addr, "alpha");
    for (size_t i = 0; i < ARRAY_LEN(same_places); i++) {
        snprintf(body, sizeof(body), "93 07 01 %s", same_places[i]);
        raw_send_text(&c, body);
        raw_must_body(&c, SAME_ANSWER);
    }
    for (size_t i = 0; i < ARRAY_LEN(same_heads); i++) {
        snprintf(body, sizeof(body), "%s %s", same_heads[i], same_places[0]);
        raw_send_text(&c, body);
        raw_must_body(&c, SAME_ANSWER);
    }
    raw_send_text(&c, "93 07 ce ffffffff 82 a1'x' 08 a1'y' 00");
    cr_assert_eq(raw_next(&c)->seq, UINT32_MAX);
    raw_close(&c);
    pair_end(&pair);
    TEST_NO_LEAKS();
}

Test(e2e_hostile, c08_a_float_is_no_command_and_no_seq)
{
    struct pair pair = pair_start(NULL, NULL);
    struct raw_client neighbour;

    raw_join(&neighbour, pair.gateway->addr, "neighbour");
    must_end(&pair, &neighbour, "93 ca 40e00000 01 c0");
    must_end(&pair, &neighbour, "93 cb 401c000000000000 01 c0");
    must_end(&pair, &neighbour, "93 07 ca 3f800000 c0");
    must_end(&pair, &neighbour, "93 07 cb 3ff0000000000000 c0");
    raw_close(&neighbour);
    pair_end(&pair);
    TEST_NO_LEAKS();
}

/* --- C09 -------------------------------------------------------------------------------------- */

static const char *const bad_moves[] = {
    "c0",
    "90",
    "a0",
    "c3",
    "80",
    "81 a1'x' 01",
    "81 a1'y' 01",
    "82 a1'x' a1'1' a1'y' 02",
    "82 a1'x' c0 a1'y' 02",
    "82 a1'x' 80 a1'y' 02",
    "82 a1'x' 90 a1'y' 02",
    "82 a1'x' c3 a1'y' 02",
    "82 a1'X' 01 a1'Y' 02",       /* case counts */
    "82 01 01 02 02",             /* integer keys */
    "82 c4 01'x' 01 c4 01'y' 02", /* bin keys */
    "83 a1'x' 08 a1'y' 00 01 01", /* one key that is no string */
    "83 a1'x' 08 a1'y' 00 a3'dir' c0",
    "83 a1'x' 08 a1'y' 00 a3'dir' a1'n'",
    "83 a1'x' 08 a1'y' 00 a5'speed' c2",
    "83 a1'x' 08 a1'y' 00 a5'speed' ff", /* negative */
    "83 a1'x' 08 a1'y' 00 a1'x' c0",     /* the last counts */
};

static void must_stand_at_8(struct raw_client *c)
{
    const struct message *m = raw_must_fail(c, raw_move(c, 9999, 0), PE_MOVE_SPEED);
    cr_assert(m->error_notify.x == 8 && m->error_notify.y == 0);
}

Test(e2e_hostile, c09_missing_and_mistyped_fields_are_refused_and_change_nothing)
{
    struct pair pair = pair_start(NULL, NULL);
    struct raw_client c;

    raw_join(&c, pair.gateway->addr, "alpha");
    for (size_t i = 0; i < ARRAY_LEN(bad_moves); i++)
        raw_must_fail(&c, raw_payload(&c, CMD_MOVE_REQ, bad_moves[i]), PE_BAD_PAYLOAD);
    must_stand_at_8(&c);
    raw_must(&c, raw_payload(&c, CMD_MOVE_REQ, same_places[0]), CMD_MOVE_RESP);
    raw_close(&c);
    pair_end(&pair);
    TEST_NO_LEAKS();
}

Test(e2e_hostile, c09_requests_in_the_wrong_state_are_refused_and_change_nothing)
{
    struct pair pair = pair_start(NULL, NULL);
    struct raw_client c;

    raw_connect(&c, pair.gateway->addr);
    raw_must_fail(&c, raw_move(&c, 8, 0), PE_NOT_LOGGED_IN);
    raw_must_fail(&c, raw_nil(&c, CMD_ENTER_REQ), PE_NOT_LOGGED_IN);
    raw_must_fail(&c, raw_nil(&c, CMD_LEAVE_REQ), PE_NOT_LOGGED_IN);
    raw_must(&c, raw_login(&c, "alpha"), CMD_LOGIN_RESP);
    raw_must_fail(&c, raw_login(&c, "alpha"), PE_ALREADY_LOGGED_IN);
    raw_must_fail(&c, raw_login(&c, "beta"), PE_ALREADY_LOGGED_IN);
    raw_must_fail(&c, raw_move(&c, 8, 0), PE_NOT_IN_WORLD);
    raw_must_fail(&c, raw_nil(&c, CMD_LEAVE_REQ), PE_NOT_IN_WORLD);
    raw_must_fail(&c, raw_payload(&c, CMD_SAY_REQ, "81 a4'text' a1'x'"), PE_NOT_IN_WORLD);
    raw_must(&c, raw_nil(&c, CMD_ENTER_REQ), CMD_ENTER_RESP);
    raw_must_fail(&c, raw_nil(&c, CMD_ENTER_REQ), PE_ALREADY_IN_WORLD);
    raw_must_fail(&c, raw_login(&c, "alpha"), PE_ALREADY_LOGGED_IN);
    must_stand_at_8(&c);
    raw_must(&c, raw_payload(&c, CMD_LEAVE_REQ, "81 a1'x' 01"), CMD_LEAVE_RESP); /* ignored map */
    raw_must_fail(&c, raw_nil(&c, CMD_LEAVE_REQ), PE_NOT_IN_WORLD);
    raw_must_fail(&c, raw_move(&c, 8, 0), PE_NOT_IN_WORLD);
    raw_must_serve(&c);
    raw_close(&c);
    pair_end(&pair);
    TEST_NO_LEAKS();
}

/* --- A16 -------------------------------------------------------------------------------------- */

enum verdict { NOT_FINITE, FAR_OUT, TINY };

static const struct {
    const char *number;
    enum verdict verdict;
    bool negative;
} extremes[] = {
    {"ca 7fc00000", NOT_FINITE, false}, /* NaN */
    {"ca ffc00000", NOT_FINITE, true},          {"cb 7ff8000000000000", NOT_FINITE, false},
    {"cb 7ff0000000000001", NOT_FINITE, false}, /* a signalling one */
    {"ca 7f800000", NOT_FINITE, false},         /* infinities */
    {"ca ff800000", NOT_FINITE, true},          {"cb 7ff0000000000000", NOT_FINITE, false},
    {"cb fff0000000000000", NOT_FINITE, true},  {"cb 7fe1ccf385ebc8a0", FAR_OUT, false}, /* 1e308 */
    {"cb ffe1ccf385ebc8a0", FAR_OUT, true},     {"cf 8000000000000000", FAR_OUT, false}, /* 2^63 */
    {"d3 8000000000000000", FAR_OUT, true},     {"cf ffffffffffffffff", FAR_OUT, false},
    {"cb 0000000000000001", TINY, false}, /* 5e-324 */
};

static const char *const fields[] = {"x", "y", "dir", "speed"};

/* What a MoveReq gets with this number in this field; 0: MoveResp. */
static uint32_t outcome(size_t field, size_t i)
{
    if (extremes[i].verdict == NOT_FINITE)
        return PE_BAD_PAYLOAD;
    if (field < 2)
        return extremes[i].verdict == FAR_OUT ? PE_MOVE_BOUNDS : 0;
    return field == 3 && extremes[i].negative ? PE_BAD_PAYLOAD : 0;
}

/* Fast enough to be anywhere at once. */
Test(e2e_hostile, a16_not_finite_is_bad_payload_and_finite_outside_is_out_of_bounds)
{
    struct pair pair =
        pair_start(PROCESS_ARGS("-max-speed", "100000", "-tick", "10"), PROCESS_ARGS("-rate", "0"));
    struct raw_client c, viewer;
    char payload[256];

    uint32_t id = raw_join(&c, pair.gateway->addr, "alpha");
    raw_join(&viewer, pair.gateway->addr, "viewer");
    raw_await(&viewer, CMD_AOI_ADD);
    for (size_t f = 0; f < ARRAY_LEN(fields); f++) {
        for (size_t i = 0; i < ARRAY_LEN(extremes); i++) {
            uint32_t code = outcome(f, i);
            if (code == 0)
                continue;
            snprintf(payload, sizeof(payload), "83 a1'x' 08 a1'y' 00 a%zu'%s' %s",
                     strlen(fields[f]), fields[f], extremes[i].number);
            raw_must_fail(&c, raw_payload(&c, CMD_MOVE_REQ, payload), code);
            if (extremes[i].verdict != NOT_FINITE)
                continue;
            snprintf(payload, sizeof(payload), "82 a1'x' 08 a1'y' %s", extremes[i].number);
            raw_must_fail(&c, raw_payload(&c, CMD_WALK_REQ, payload), PE_BAD_PAYLOAD);
            snprintf(payload, sizeof(payload), "82 a1'x' %s a1'y' 00", extremes[i].number);
            raw_must_fail(&c, raw_payload(&c, CMD_WALK_REQ, payload), PE_BAD_PAYLOAD);
        }
    }
    raw_must_be_quiet(&viewer, 100); /* nothing was shown */
    raw_must(&c, raw_move(&c, 9, 1), CMD_MOVE_RESP);
    const struct message *m = raw_await(&viewer, CMD_AOI_MOVE);
    cr_assert_eq(m->aoi_move.moves.p[0], id << 2);
    raw_close(&c);
    raw_close(&viewer);
    pair_end(&pair);
    TEST_NO_LEAKS();
}

Test(e2e_hostile, a16_what_is_finite_and_inside_is_taken_as_it_is)
{
    struct pair pair =
        pair_start(PROCESS_ARGS("-max-speed", "100000", "-tick", "10"), PROCESS_ARGS("-rate", "0"));
    struct raw_client c;
    char payload[256];

    raw_join(&c, pair.gateway->addr, "alpha");
    for (size_t f = 0; f < ARRAY_LEN(fields); f++) {
        for (size_t i = 0; i < ARRAY_LEN(extremes); i++) {
            if (outcome(f, i) != 0)
                continue;
            snprintf(payload, sizeof(payload), "83 a1'x' 08 a1'y' 00 a%zu'%s' %s",
                     strlen(fields[f]), fields[f], extremes[i].number);
            raw_must(&c, raw_payload(&c, CMD_MOVE_REQ, payload), CMD_MOVE_RESP);
            raw_must(&c, raw_move(&c, 8, 0), CMD_MOVE_RESP);
        }
    }
    for (size_t i = 0; i < ARRAY_LEN(extremes); i++) {
        if (extremes[i].verdict == NOT_FINITE)
            continue;
        snprintf(payload, sizeof(payload), "82 a1'x' %s a1'y' 00", extremes[i].number);
        const struct message *m =
            raw_must(&c, raw_payload(&c, CMD_WALK_REQ, payload), CMD_WALK_RESP);
        cr_assert(m->walk_resp.x >= -16384 && m->walk_resp.x <= 16384 && m->walk_resp.y == 0);
    }
    raw_close(&c);
    pair_end(&pair);
    TEST_NO_LEAKS();
}
