/* tests/e2e/test_e2e_contract.c: requests and answers over the wire, as proto/PROTOCOL.md has them.
 * May touch: tests/pair, tests/raw_client. On trouble: the test fails.
 */
#include "proto/frame.h"
#include "tests/leak.h"
#include "tests/pair.h"
#include "tests/raw_client.h"

#include <criterion/criterion.h>
#include <stdio.h>

TestSuite(e2e_contract, .fini = process_end_all, .timeout = 60);

#define F64_0     "cb 0000000000000000 "
#define F64_025   "cb 3fd0000000000000 "
#define F64_8     "cb 4020000000000000 "
#define F64_825   "cb 4020800000000000 "
#define PLACE     "a1'x' " F64_825 "a1'y' " F64_025
#define ENTER_FIX "a7'tick_ms' 32 a6'radius' cb 403e000000000000 a7'quantum' cb 3f90000000000000 "

/* A player's life alone in the world, bodies only: everything it is told is an answer. */
static const struct {
    const char *request, *answer;
} life[] = {
    {"93 0b 01 c0", "93 0c 01 c0"},
    {"93 01 02 81 a4'name' a5'alpha'",
     "93 02 02 85 a2'ok' c3 a2'id' 01 a4'name' a5'alpha' a6'resume' a0 a7'resumed' c2"},
    {"93 03 03 c0", "93 04 03 89 a2'ok' c3 a2'id' 01 a5'scene' a4'open' a1'x' " F64_8
                    "a1'y' " F64_0 ENTER_FIX "a9'max_speed' cb 4028000000000000"},
    {"93 07 04 82 " PLACE, "93 08 04 83 a2'ok' c3 " PLACE},
    {"93 0d 05 81 a4'text' a5'hello'", "93 0e 05 81 a2'ok' c3"},
    {"93 63 06 c0", "93 30 06 83 a4'code' 02 a5'error' b8'there is no such request' a3'cmd' 63"},
    {"93 07 07 82 a1'x' cb 412e848000000000 a1'y' 00",
     "93 30 07 85 a4'code' 0b a5'error' d920'move rejected: outside the scene' a3'cmd' 07 " PLACE},
    {"93 05 08 c0", "93 06 08 81 a2'ok' c3"},
    {"93 07 09 82 " PLACE,
     "93 30 09 83 a4'code' 07 a5'error' b7'move before enter world' a3'cmd' 07"},
};

/* All its requests as frames, one behind the other. */
static struct span whole_life(uint8_t *out, size_t cap)
{
    struct span_writer w = span_writer_of(out, cap);

    for (size_t i = 0; i < ARRAY_LEN(life); i++) {
        uint8_t body[256], head[FRAME_HEAD];
        size_t n = raw_bytes(life[i].request, body, sizeof(body));
        frame_head(head, (uint32_t)n);
        span_put(&w, head, sizeof(head));
        span_put(&w, body, n);
    }
    cr_assert_not(w.full);
    return span_written(&w);
}

static void must_be_answered(struct raw_client *c)
{
    for (size_t i = 0; i < ARRAY_LEN(life); i++)
        raw_must_body(c, life[i].answer);
    raw_must_be_quiet(c, 150);
}

Test(e2e_contract, a_life_is_answered_byte_for_byte)
{
    struct pair pair = pair_start(NULL, NULL);
    struct raw_client c;

    raw_connect(&c, pair.gateway->addr);
    for (size_t i = 0; i < ARRAY_LEN(life); i++) {
        raw_send_text(&c, life[i].request);
        raw_must_body(&c, life[i].answer);
    }
    raw_must_be_quiet(&c, 150);
    raw_close(&c);
    pair_end(&pair);
    TEST_NO_LEAKS();
}

Test(e2e_contract, requests_joined_in_one_segment_are_answered_in_their_order)
{
    struct pair pair = pair_start(NULL, NULL);
    struct raw_client c;
    uint8_t bytes[1024];

    raw_connect(&c, pair.gateway->addr);
    raw_send(&c, whole_life(bytes, sizeof(bytes)));
    must_be_answered(&c);
    raw_close(&c);
    pair_end(&pair);
    TEST_NO_LEAKS();
}

/* A segment each: the socket has no delay, and each byte is given a moment to leave. */
Test(e2e_contract, requests_split_byte_by_byte_are_answered_the_same)
{
    struct pair pair = pair_start(NULL, NULL);
    struct raw_client c;
    uint8_t bytes[1024];
    struct span all = whole_life(bytes, sizeof(bytes));

    raw_connect(&c, pair.gateway->addr);
    for (size_t i = 0; i < all.n; i++) {
        raw_send(&c, span_of(all.p + i, 1));
        process_rest(process_deadline(PROCESS_PATIENCE_MS), "");
    }
    must_be_answered(&c);
    raw_close(&c);
    pair_end(&pair);
    TEST_NO_LEAKS();
}

/* --- ping ------------------------------------------------------------------------------------- */

static const char *const ping_payloads[] = {
    "c0",
    "00",
    "c3",
    "cd 0005", /* a longer form than is needed stays as it is */
    "d3 0000000000000001",
    "ca 7fc00000", /* NaN means nothing to the gateway */
    "a0",
    "d9 02'hi'",
    "da 0002'hi'",
    "c4 03 00ff80",
    "d6 05 01020304",
    "c7 00 07",
    "82 a1'a' 01 a1'a' 02", /* doubled keys too */
    "82 01 02 c0 c0",       /* keys that are no strings */
    "91 91 91 91 91 91 90", /* level 8 */
    "81 a1'k' 81 a1'k' 81 a1'k' 80",
    "dc 0001 c0",
    "df 00000001 a1'x' a1'y'",
};

static void must_echo(struct raw_client *c, const char *payload)
{
    char want[256];
    raw_payload(c, CMD_PING_REQ, payload);
    cr_assert_lt(c->seq, 128u);
    snprintf(want, sizeof(want), "93 0c %02x %s", c->seq, payload);
    raw_must_body(c, want);
}

/* PROTOCOL.md: every request gets exactly one answer; Bye is the last frame. */
Test(e2e_contract, requests_before_a_bad_frame_are_answered_before_the_bye)
{
    struct pair pair = pair_start(NULL, NULL);
    struct raw_client c;
    uint8_t bytes[64];
    size_t n;

    raw_join(&c, pair.gateway->addr, "alpha");
    n = raw_bytes("0000000f 93 0d 09 81 a4'text' a5'hello' 00000002 c0c0", bytes, sizeof(bytes));
    raw_send(&c, span_of(bytes, n));
    cr_assert_eq(raw_must(&c, 9, CMD_SAY_RESP)->seq, 9);
    raw_must_bye(&c, PE_BAD_FRAME);
    raw_close(&c);
    pair_end(&pair);
    TEST_NO_LEAKS();
}

Test(e2e_contract, a_ping_comes_back_byte_for_byte_without_login)
{
    struct pair pair = pair_start(NULL, NULL);
    struct raw_client c;

    raw_connect(&c, pair.gateway->addr);
    for (size_t i = 0; i < ARRAY_LEN(ping_payloads); i++)
        must_echo(&c, ping_payloads[i]);
    raw_close(&c);
    pair_end(&pair);
    TEST_NO_LEAKS();
}

Test(e2e_contract, a_ping_comes_back_byte_for_byte_while_the_world_is_away)
{
    struct pair pair = {.gateway = pair_gateway(process_free_port(), NULL)};
    struct raw_client c;

    raw_connect(&c, pair.gateway->addr);
    for (size_t i = 0; i < ARRAY_LEN(ping_payloads); i++)
        must_echo(&c, ping_payloads[i]);
    raw_must_fail(&c, raw_login(&c, "alpha"), PE_UNAVAILABLE);
    raw_close(&c);
    pair_end(&pair);
    TEST_NO_LEAKS();
}

/* 16,384 bytes is the limit; what the gateway puts around the payload is as long as what came. */
Test(e2e_contract, the_largest_frame_allowed_is_served)
{
    struct pair pair = pair_start(NULL, NULL);
    struct raw_client c;
    static uint8_t body[PROTO_FRAME_MAX];
    size_t n = raw_bytes("93 0b 01 c5 3ffa", body, sizeof(body)); /* bin of 16,378 bytes */

    memset(body + n, 0x5a, sizeof(body) - n);
    raw_connect(&c, pair.gateway->addr);
    raw_send_body(&c, span_of(body, sizeof(body)));
    struct span answer = raw_body(&c);
    body[1] = CMD_PING_RESP;
    cr_assert(span_equal(answer, span_of(body, sizeof(body))));
    raw_close(&c);
    pair_end(&pair);
    TEST_NO_LEAKS();
}

/* --- two of them ------------------------------------------------------------------------------ */

/* One entity of an AoiAdd, exactly. */
static void must_add(struct raw_client *c, uint32_t id, const char *name, double x, double y)
{
    const struct message *m = raw_await(c, CMD_AOI_ADD);
    cr_assert_eq(m->seq, 0u);
    cr_assert_eq(m->aoi_add.count, 1u);
    const struct message_entity *e = &m->aoi_add.entities[0];
    cr_assert_eq(e->id, id);
    cr_assert_eq(e->kind, 0u);
    cr_assert(span_equal(e->name, span_text(name)));
    cr_assert(e->x == x && e->y == y && e->dir == 0 && e->speed == 0);
}

Test(e2e_contract, two_see_each_other_and_hear_what_is_said)
{
    struct pair pair = pair_start(NULL, NULL);
    struct raw_client alpha, beta;

    cr_assert_eq(raw_join(&alpha, pair.gateway->addr, "alpha"), 1u);
    cr_assert_eq(raw_join(&beta, pair.gateway->addr, "beta"), 2u);
    must_add(&alpha, 2, "beta", 16, 0);
    must_add(&beta, 1, "alpha", 8, 0);
    raw_must(&alpha, raw_payload(&alpha, CMD_SAY_REQ, "81 a4'text' a5'hello'"), CMD_SAY_RESP);
    raw_must_body(&beta, "93 24 00 82 a2'id' 01 a4'text' a5'hello'");
    raw_must_be_quiet(&alpha, 150); /* nobody hears itself */
    raw_must(&beta, raw_nil(&beta, CMD_LEAVE_REQ), CMD_LEAVE_RESP);
    const struct message *m = raw_await(&alpha, CMD_AOI_REMOVE);
    cr_assert_eq(m->aoi_remove.count, 1u);
    cr_assert_eq(m->aoi_remove.ids[0], 2u);
    raw_must_be_quiet(&beta, 150); /* no Aoi frame comes after a LeaveResp */
    raw_close(&alpha);
    raw_close(&beta);
    pair_end(&pair);
    TEST_NO_LEAKS();
}

/* dir is taken modulo 2 pi, speed is cut to max_speed, and both are told in one byte each. */
Test(e2e_contract, a_move_is_shown_at_the_tick_packed)
{
    struct pair pair = pair_start(NULL, NULL);
    struct raw_client alpha, beta;

    raw_join(&alpha, pair.gateway->addr, "alpha");
    raw_join(&beta, pair.gateway->addr, "beta");
    must_add(&beta, 1, "alpha", 8, 0);
    raw_must(
        &alpha,
        raw_payload(&alpha, CMD_MOVE_REQ, "84 " PLACE "a3'dir' cb 401f6a7a2955385e a5'speed' 63"),
        CMD_MOVE_RESP); /* dir 5 pi / 2, speed 99 */
    const struct message *m = raw_await(&beta, CMD_AOI_MOVE);
    /* id 1, with dir and speed; 8.25 * 64 = 528, 0.25 * 64 = 16; a quarter turn, full speed */
    uint8_t want[16];
    size_t n = raw_bytes("07 1002 1000 40 ff", want, sizeof(want));
    cr_assert(span_equal(m->aoi_move.moves, span_of(want, n)));
    raw_close(&alpha);
    raw_close(&beta);
    pair_end(&pair);
    TEST_NO_LEAKS();
}

Test(e2e_contract, a_text_has_1_to_512_bytes)
{
    struct pair pair = pair_start(NULL, NULL);
    struct raw_client c;
    char text[1200] = "81 a4'text' da 0200'";

    raw_join(&c, pair.gateway->addr, "alpha");
    size_t n = strlen(text);
    memset(text + n, 'z', 513);
    strcpy(text + n + 512, "'");
    raw_must(&c, raw_payload(&c, CMD_SAY_REQ, text), CMD_SAY_RESP);
    memcpy(text, "81 a4'text' da 0201'", n);
    strcpy(text + n + 512, "z'");
    raw_must_fail(&c, raw_payload(&c, CMD_SAY_REQ, text), PE_BAD_PAYLOAD);
    raw_must_fail(&c, raw_payload(&c, CMD_SAY_REQ, "81 a4'text' a0"), PE_BAD_PAYLOAD);
    raw_must_serve(&c);
    raw_close(&c);
    pair_end(&pair);
    TEST_NO_LEAKS();
}

/* --- errors ----------------------------------------------------------------------------------- */

static const uint32_t no_requests[] = {0,  2,  4,  6,  8,   10,    12,    14,        15,
                                       16, 31, 32, 33, 34,  35,    36,    37,        47,
                                       48, 49, 50, 99, 255, 65535, 65536, UINT32_MAX};

Test(e2e_contract, what_is_no_request_of_this_server_is_unknown_in_every_state)
{
    struct pair pair = pair_start(NULL, NULL);
    struct raw_client c;

    raw_connect(&c, pair.gateway->addr);
    for (int state = 0; state < 3; state++) {
        for (size_t i = 0; i < ARRAY_LEN(no_requests); i++)
            raw_must_fail(&c, raw_payload(&c, no_requests[i], "80"), PE_UNKNOWN_CMD);
        if (state == 0)
            raw_must(&c, raw_login(&c, "alpha"), CMD_LOGIN_RESP);
        else if (state == 1)
            raw_must(&c, raw_nil(&c, CMD_ENTER_REQ), CMD_ENTER_RESP);
    }
    raw_must_serve(&c);
    raw_close(&c);
    pair_end(&pair);
    TEST_NO_LEAKS();
}

static uint32_t resume(struct raw_client *c)
{
    return raw_payload(c, CMD_LOGIN_REQ, "82 a4'name' a5'gamma' a6'resume' a1'k'");
}

/* Where several hold: 12, 13 (away), 2, 4, 3, 5/7/8, 20, 6/14/18, 13 (full), 11, 9. */
Test(e2e_contract, of_several_errors_the_first_in_the_contracts_order_is_told)
{
    struct pair pair = pair_start(PROCESS_ARGS("-max-entities", "1"), NULL);
    struct raw_client a, b;

    raw_connect(&a, pair.gateway->addr);
    raw_connect(&b, pair.gateway->addr);
    raw_must_fail(&a, raw_payload(&a, 99, "01"), PE_UNKNOWN_CMD);             /* 2 before 4 */
    raw_must_fail(&a, raw_payload(&a, CMD_MOVE_REQ, "01"), PE_NOT_LOGGED_IN); /* 4 before 3 */
    raw_must_fail(&a, raw_payload(&a, CMD_LOGIN_REQ, "82 a4'name' a0 a7'version' 02"),
                  PE_BAD_PAYLOAD); /* 3 before 20 */
    raw_must(&a, raw_login(&a, "alpha"), CMD_LOGIN_RESP);
    raw_must_fail(&a, raw_payload(&a, CMD_LOGIN_REQ, "80"), PE_BAD_PAYLOAD); /* 3 before 5 */
    raw_must_fail(&a, raw_payload(&a, CMD_LOGIN_REQ, "82 a4'name' a5'alpha' a7'version' 02"),
                  PE_ALREADY_LOGGED_IN);                                    /* 5 before 20, 6 */
    raw_must_fail(&a, raw_payload(&a, CMD_MOVE_REQ, "80"), PE_BAD_PAYLOAD); /* 3 before 7 */
    raw_must_fail(&a, raw_move(&a, 1e6, 0), PE_NOT_IN_WORLD);               /* 7 before 11 */
    raw_must(&a, raw_nil(&a, CMD_ENTER_REQ), CMD_ENTER_RESP);
    raw_must_fail(&a, raw_payload(&a, CMD_ENTER_REQ, "81 a5'scene' 01"), PE_BAD_PAYLOAD);
    raw_must_fail(&a, raw_payload(&a, CMD_ENTER_REQ, "81 a5'scene' a1'z'"),
                  PE_ALREADY_IN_WORLD);                      /* 8 before 18 */
    raw_must_fail(&a, raw_move(&a, 1e6, 0), PE_MOVE_BOUNDS); /* 11 before 9 */
    raw_must_fail(&a, raw_move(&a, 9999, 0), PE_MOVE_SPEED);

    raw_must_fail(&b, raw_payload(&b, CMD_LOGIN_REQ, "82 a4'name' a5'alpha' a7'version' 02"),
                  PE_BAD_VERSION); /* 20 before 6 */
    raw_must_fail(
        &b, raw_payload(&b, CMD_LOGIN_REQ, "83 a4'name' a1'b' a7'version' 02 a6'resume' a1'k'"),
        PE_BAD_VERSION); /* 20 before 14 */
    raw_must_fail(&b, raw_login(&b, "alpha"), PE_NAME_IN_USE);
    raw_must(&b, raw_login(&b, "beta"), CMD_LOGIN_RESP);
    raw_must_fail(&b, raw_payload(&b, CMD_ENTER_REQ, "81 a5'scene' a1'z'"),
                  PE_NO_SUCH_SCENE); /* 18 before 13 */
    raw_must_fail(&b, raw_nil(&b, CMD_ENTER_REQ), PE_UNAVAILABLE);
    raw_must(&a, raw_nil(&a, CMD_LEAVE_REQ), CMD_LEAVE_RESP);
    raw_must(&b, raw_payload(&b, CMD_ENTER_REQ, "81 a5'scene' a4'open'"), CMD_ENTER_RESP);
    raw_close(&a);
    raw_close(&b);
    pair_end(&pair);
    TEST_NO_LEAKS();
}

Test(e2e_contract, too_many_requests_are_told_before_the_world_is_away)
{
    struct pair pair = {.gateway = pair_gateway(process_free_port(),
                                                PROCESS_ARGS("-rate", "1", "-rate-burst", "2"))};
    struct raw_client c;

    raw_connect(&c, pair.gateway->addr);
    raw_must_fail(&c, raw_payload(&c, 99, "c0"), PE_UNAVAILABLE); /* 13 before 2 */
    raw_must_fail(&c, raw_move(&c, 1, 1), PE_UNAVAILABLE);        /* 13 before 4 */
    raw_must_fail(&c, raw_nil(&c, CMD_LEAVE_REQ), PE_RATE_LIMITED);
    raw_must_fail(&c, raw_nil(&c, CMD_PING_REQ), PE_RATE_LIMITED); /* pings are counted */
    raw_close(&c);
    pair_end(&pair);
    TEST_NO_LEAKS();
}

Test(e2e_contract, the_third_resume_key_that_is_unknown_closes_with_bye_14)
{
    struct pair pair = pair_start(NULL, NULL);
    struct raw_client c;

    raw_connect(&c, pair.gateway->addr);
    raw_must_fail(&c, resume(&c), PE_AUTH_FAILED);
    raw_must_fail(&c, resume(&c), PE_AUTH_FAILED);
    raw_must_fail(&c, resume(&c), PE_AUTH_FAILED);
    raw_must_bye(&c, PE_AUTH_FAILED);
    raw_connect(&c, pair.gateway->addr);
    raw_must(&c, raw_login(&c, "gamma"), CMD_LOGIN_RESP);
    raw_close(&c);
    pair_end(&pair);
    TEST_NO_LEAKS();
}

/* --- names and ids ---------------------------------------------------------------------------- */

Test(e2e_contract, a_name_is_free_again_when_its_connection_closes_and_its_id_rests)
{
    struct pair pair = pair_start(NULL, NULL);
    struct raw_client a, b;

    cr_assert_eq(raw_join(&a, pair.gateway->addr, "alpha"), 1u);
    raw_connect(&b, pair.gateway->addr);
    raw_must_fail(&b, raw_login(&b, "alpha"), PE_NAME_IN_USE);
    raw_must(&b, raw_login(&b, "Alpha"), CMD_LOGIN_RESP); /* case counts */
    raw_close(&b);
    raw_reset(&a);
    process_await_log(pair.world, "world #1 \"alpha\" left", 1);
    cr_assert_gt(raw_join(&a, pair.gateway->addr, "alpha"), 1u);
    raw_close(&a);
    pair_end(&pair);
    TEST_NO_LEAKS();
}

/* LoginResp's id is the one that the first EnterReq will use; a second EnterReq brings another. */
Test(e2e_contract, the_first_enter_uses_the_id_of_the_login)
{
    struct pair pair = pair_start(NULL, NULL);
    struct raw_client a, b;

    raw_connect(&a, pair.gateway->addr);
    raw_connect(&b, pair.gateway->addr);
    uint32_t first = raw_must(&a, raw_login(&a, "a"), CMD_LOGIN_RESP)->login_resp.id;
    uint32_t second = raw_must(&b, raw_login(&b, "b"), CMD_LOGIN_RESP)->login_resp.id;
    cr_assert_eq(first, 1u);
    cr_assert_eq(second, 2u);
    cr_assert_eq(raw_must(&b, raw_nil(&b, CMD_ENTER_REQ), CMD_ENTER_RESP)->enter_resp.id, 2u);
    cr_assert_eq(raw_must(&a, raw_nil(&a, CMD_ENTER_REQ), CMD_ENTER_RESP)->enter_resp.id, 1u);
    raw_must(&a, raw_nil(&a, CMD_LEAVE_REQ), CMD_LEAVE_RESP);
    cr_assert_eq(raw_must(&a, raw_nil(&a, CMD_ENTER_REQ), CMD_ENTER_RESP)->enter_resp.id, 3u);
    raw_close(&a);
    raw_close(&b);
    pair_end(&pair);
    TEST_NO_LEAKS();
}
