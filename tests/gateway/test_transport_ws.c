/* tests/gateway/test_transport_ws.c: a client that speaks WebSocket, on raw bytes, case by case as
 * Autobahn's: framing, pings, reserved bits, opcodes, fragments, UTF-8, closes, limits.
 * PROTOCOL.md, Framing; RFC 6455.
 */
#include "common/parts.h"

#ifdef PARTS_WEBSOCKET

#include "common/err.h"
#include "proto/ws_frame.h"
#include "tests/gateway/fake.h"
#include "tests/leak.h"
#include "tests/ws_bytes.h"

#include <criterion/criterion.h>
#include <stdlib.h>

static struct fake_crowd f;
static struct client *c;
static struct stream *conn;

static uint8_t sent[400000];
static struct span_writer out;

static struct client *start(uint32_t i)
{
    struct client *one;

    fake_conn_fini(&f.conns[i]);
    cr_assert_eq(clients_add(&f.all, "127.0.0.1:50000", &one), 0);
    one->ws = true;
    client_start(one, &f.conns[i]);
    return one;
}

static void setup(void)
{
    fake_crowd_defaults(&f);
    cr_assert_eq(transport_ws_reader(f.all.limits.frame_max, &f.all.ws), 0);
    fake_crowd_init(&f);
    c = start(0);
    conn = &f.conns[0];
    out = span_writer_of(sent, sizeof(sent));
}

static void teardown(void)
{
    fake_crowd_fini(&f);
    transport_ws_reader_end(f.all.ws);
}

TestSuite(transport_ws, .init = setup, .fini = teardown);

/* What was put into `out` comes in one read; all of it is taken. */
static void feed(void)
{
    cr_assert(!out.full);
    cr_assert_eq(fake_feed(c, sent, out.len), out.len);
    out.len = 0;
}

static size_t ping_body(uint8_t *to, uint32_t seq)
{
    const uint8_t body[] = {0x93, CMD_PING_REQ, (uint8_t)seq, 0xc0};
    memcpy(to, body, sizeof(body));
    return sizeof(body);
}

static void put_ping(uint8_t first, uint32_t seq)
{
    uint8_t body[8];
    const size_t n = ping_body(body, seq);
    ws_bytes_frame(&out, first, body, n);
}

/* The next frame that was written. */
static struct span written(uint8_t first)
{
    struct span in = span_of(conn->out + conn->read, conn->len - conn->read), payload;
    const size_t before = in.n;
    uint8_t got;

    cr_assert(ws_bytes_take(&in, &got, &payload), "no whole frame was written");
    cr_assert_eq(got, first, "a frame of %02x, not %02x", got, first);
    conn->read += before - in.n;
    return payload;
}

static void must_answer_ping(uint32_t seq)
{
    const uint8_t body[] = {0x93, CMD_PING_RESP, (uint8_t)seq, 0xc0};
    cr_assert(span_equal(written(0x82), span_of(body, sizeof(body))));
}

/* Bye with this code, then a close with that one, then the end. */
static void must_end(uint32_t bye, uint32_t close)
{
    const uint8_t code[2] = {(uint8_t)(close >> 8), (uint8_t)close};
    struct message_reader *reader;
    struct message m;

    cr_assert_eq(message_reader_create(PROTO_BATCH_MAX, &reader), 0);
    cr_assert_eq(message_read(reader, written(0x82), &m), 0);
    cr_assert_eq(m.cmd, CMD_BYE);
    cr_assert_eq(m.bye.code, bye);
    cr_assert(span_equal(written(0x88), span_of(code, 2)), "not a close with %u", close);
    cr_assert_eq(conn->read, conn->len, "something behind the close");
    cr_assert(conn->finished);
    cr_assert_eq(f.gone, 1);
    message_reader_destroy(reader);
}

/* --- messages ----------------------------------------------------------------------------------
 */

Test(transport_ws, a_binary_message_is_a_body)
{
    const uint8_t body[] = {0x93, 0xcd, 0, 7, 0xce, 0, 0, 0, 9, 0x81, 0xa1, 'x', 0x01};

    ws_bytes_frame(&out, 0x82, body, sizeof(body));
    const size_t n = out.len;
    feed();
    cr_assert_eq(f.forwards, 1);
    cr_assert(span_equal(span_of(f.last, f.last_bytes), span_of(body, sizeof(body))));
    cr_assert_eq(f.metrics.frames_in, 1);
    cr_assert_eq(f.metrics.bytes_in, n);
    cr_assert_eq(conn->len, 0);
    teardown();
    TEST_NO_LEAKS();
    setup();
}

Test(transport_ws, what_is_sent_is_one_message_a_body)
{
    static uint8_t big[70000];
    const struct span bodies[] = {span_text("one"), span_of(big, 200), span_of(big, sizeof(big))};
    uint8_t before[64] = {0};

    memcpy(before + 8, "one", 3);
    client_send(c, span_text("alone"));
    cr_assert(span_equal(written(0x82), span_text("alone")));
    const uint32_t writes = conn->writes;
    const struct span run[] = {span_of(before + 8, 3), span_of(big + 8, 200),
                               span_of(big + 8, sizeof(big) - 8)};
    client_send_run(c, run, 3);
    cr_assert_eq(conn->writes, writes + 1, "one send for all of them");
    cr_assert(span_equal(written(0x82), bodies[0]));
    cr_assert_eq(written(0x82).n, 200);
    cr_assert_eq(written(0x82).n, sizeof(big) - 8);
    cr_assert_eq(f.metrics.frames_out, 4);
}

Test(transport_ws, messages_may_come_split_or_joined_in_any_way)
{
    uint8_t stream[4096];

    for (uint32_t i = 0; i < 20; i++) {
        uint8_t body[64];
        const size_t n = fake_request(body, 0, sizeof(body), CMD_LEAVE_REQ, i + 1);
        const struct span bare = span_of(body + 4, n - 4);
        if (i % 3 == 0)
            ws_bytes_frame(&out, 0x82, bare.p, bare.n);
        else {
            ws_bytes_frame(&out, 0x02, bare.p, 1);
            ws_bytes_frame(&out, 0x8a, "pong", 4);
            ws_bytes_frame(&out, 0x00, bare.p + 1, 0);
            ws_bytes_frame(&out, 0x80, bare.p + 1, bare.n - 1);
        }
    }
    const size_t n = out.len;
    cr_assert_leq(n, sizeof(stream));
    memcpy(stream, sent, n);
    for (size_t step = 1; step <= n; step += step < 40 ? 1 : 61) {
        const uint32_t before = f.bodies;
        struct client *one = start(1);
        size_t from = 0;
        for (size_t to = step; from < n; to = to + step < n ? to + step : n)
            from += fake_feed(one, stream + from, to - from);
        cr_assert_eq(f.bodies - before, 20, "in steps of %zu", step);
        client_drop(one, CLIENT_END_EOF);
        clients_reap(&f.all);
    }
}

Test(transport_ws, a_body_in_fragments_is_held_to_the_limit_of_a_frame)
{
    static uint8_t body[PROTO_FRAME_MAX + 1] = {0x93, CMD_PING_REQ, 1, 0xc5};
    const size_t n = PROTO_FRAME_MAX;

    body[4] = (uint8_t)((n - 6) >> 8);
    body[5] = (uint8_t)(n - 6);
    for (size_t at = 0; at < n; at += 1000)
        ws_bytes_frame(&out, (at == 0 ? 0x02 : 0) | (at + 1000 >= n ? 0x80 : 0), body + at,
                       n - at < 1000 ? n - at : 1000);
    feed();
    cr_assert_eq(written(0x82).n, n);
    ws_bytes_frame(&out, 0x02, body, 10000);
    ws_bytes_frame(&out, 0x00, body, 6384);
    ws_bytes_frame(&out, 0x80, body, 1);
    feed();
    must_end(PE_BAD_FRAME, 4001);
    cr_assert_eq(f.metrics.closed_length, 1);
}

Test(transport_ws, bodies_of_a_long_read_all_stay_until_they_are_forwarded)
{
    static uint8_t body[PROTO_FRAME_MAX] = {0x93, CMD_LEAVE_REQ, 1, 0xc5};
    const size_t n = 16000;

    f.all.limits.rate = (struct rate_limit){0, 0};
    body[4] = (uint8_t)((n - 6) >> 8);
    body[5] = (uint8_t)(n - 6);
    for (int i = 0; i < 20; i++)
        ws_bytes_frame(&out, 0x82, body, n);
    feed();
    cr_assert_eq(f.bodies, 20);
    cr_assert_eq(f.last_bytes, n);
    cr_assert_eq(c->state, CLIENT_OPEN);
}

Test(transport_ws, pings_between_fragments_leave_room_for_their_message)
{
    static uint8_t body[PROTO_FRAME_MAX] = {0x93, CMD_LEAVE_REQ, 1, 0xc5};
    uint8_t ping[WS_CONTROL_MAX] = {0};
    const size_t n = 16300;

    f.all.limits.rate = (struct rate_limit){0, 0};
    body[4] = (uint8_t)((n - 6) >> 8);
    body[5] = (uint8_t)(n - 6);
    for (int i = 0; i < 4; i++) {
        ws_bytes_frame(&out, 0x02, body, 16000);
        for (int k = 0; k < 261 + i; k++)
            ws_bytes_frame(&out, 0x89, ping, sizeof(ping));
        ws_bytes_frame(&out, 0x80, body + 16000, n - 16000);
    }
    feed();
    cr_assert_eq(f.bodies, 4);
    cr_assert_eq(f.last_bytes, n);
    cr_assert_eq(c->state, CLIENT_OPEN);
}

/* --- what ends it -------------------------------------------------------------------------------
 */

/* clang-format off */
#define AT(end) offsetof(struct gateway_metrics, closed_##end)

static const struct {
    const char *what;
    uint8_t bytes[16];
    size_t n;
    uint32_t close;
    size_t metric;
} breaches[] = {
    {"unmasked", {0x82, 0x01, 0xc0}, 3, 4001, AT(ws_protocol)},
    {"rsv1", {0xc2, 0x80, 1, 2, 3, 4}, 6, 4001, AT(ws_protocol)},
    {"rsv2 of a ping", {0xa9, 0x80, 1, 2, 3, 4}, 6, 4001, AT(ws_protocol)},
    {"opcode 3", {0x83, 0x80, 1, 2, 3, 4}, 6, 4001, AT(ws_protocol)},
    {"opcode 11", {0x8b, 0x80, 1, 2, 3, 4}, 6, 4001, AT(ws_protocol)},
    {"a ping of 126", {0x89, 0xfe, 0, 126}, 4, 4001, AT(ws_protocol)},
    {"a ping in parts", {0x09, 0x80, 1, 2, 3, 4}, 6, 4001, AT(ws_protocol)},
    {"a rest of nothing", {0x80, 0x80, 1, 2, 3, 4}, 6, 4001, AT(ws_protocol)},
    {"a close of one byte", {0x88, 0x81, 0, 0, 0, 0, 3}, 7, 4001, AT(ws_protocol)},
    {"a close with 1005", {0x88, 0x82, 0, 0, 0, 0, 3, 0xed}, 8, 4001, AT(ws_protocol)},
    {"a close with bad UTF-8", {0x88, 0x83, 0, 0, 0, 0, 3, 0xe8, 0xff}, 9, 4001, AT(ws_data)},
    {"a text", {0x81, 0x81, 0, 0, 0, 0, 'a'}, 7, 4001, AT(ws_text)},
    {"a start of a text", {0x01, 0x80, 0, 0, 0, 0}, 6, 4001, AT(ws_text)},
    {"an empty message", {0x82, 0x80, 0, 0, 0, 0}, 6, 4001, AT(length)},
    {"too long", {0x82, 0xff, 0, 0, 0, 0, 0, 1, 0, 0, 1, 2, 3, 4}, 14, 4001, AT(length)},
    {"a bad body", {0x82, 0x81, 0, 0, 0, 0, 0xc1}, 7, 4001, AT(bad_frame)},
};
/* clang-format on */

Test(transport_ws, what_breaks_the_standard_gets_bye_1_and_its_code)
{
    for (size_t i = 0; i < ARRAY_LEN(breaches); i++) {
        c = i > 0 ? start(0) : c;
        f.gone = 0;
        put_ping(0x82, 5);
        span_put(&out, breaches[i].bytes, breaches[i].n);
        put_ping(0x82, 6);
        feed();
        must_answer_ping(5);
        must_end(PE_BAD_FRAME, breaches[i].close);
        uint64_t *metric = (uint64_t *)((char *)&f.metrics + breaches[i].metric);
        cr_assert_eq(*metric, 1, "%s", breaches[i].what);
        *metric = 0;
        client_stream_ops.closed(c, STREAM_LINGERED);
        clients_reap(&f.all);
    }
}

Test(transport_ws, an_empty_message_in_parts_is_one_too)
{
    ws_bytes_frame(&out, 0x02, "", 0);
    ws_bytes_frame(&out, 0x00, "", 0);
    ws_bytes_frame(&out, 0x80, "", 0);
    feed();
    must_end(PE_BAD_FRAME, 4001);
}

Test(transport_ws, a_message_that_begins_inside_another_ends_it)
{
    ws_bytes_frame(&out, 0x02, "\x93", 1);
    put_ping(0x82, 1);
    feed();
    must_end(PE_BAD_FRAME, 4001);
}

Test(transport_ws, other_byes_close_with_4000_and_their_code)
{
    client_bye(c, PE_SHUTTING_DOWN, (struct span){0}, CLIENT_END_DRAIN);
    must_end(PE_SHUTTING_DOWN, 4017);
}

/* --- pings, pongs, closes -----------------------------------------------------------------------
 */

Test(transport_ws, a_ping_is_answered_with_its_payload_also_between_fragments)
{
    uint8_t long_one[WS_CONTROL_MAX];
    uint8_t body[8];
    const size_t n = ping_body(body, 7);

    memset(long_one, 'p', sizeof(long_one));
    ws_bytes_frame(&out, 0x89, "", 0);
    ws_bytes_frame(&out, 0x02, body, 2);
    ws_bytes_frame(&out, 0x89, long_one, sizeof(long_one));
    ws_bytes_frame(&out, 0x80, body + 2, n - 2);
    ws_bytes_frame(&out, 0x8a, "unasked", 7);
    feed();
    cr_assert_eq(written(0x8a).n, 0);
    cr_assert(span_equal(written(0x8a), span_of(long_one, sizeof(long_one))));
    must_answer_ping(7);
    cr_assert_eq(conn->read, conn->len);
    cr_assert_eq(f.metrics.ws_controls, 3);
}

Test(transport_ws, pings_are_held_to_the_rate)
{
    for (int i = 0; i < 120 + 200; i++)
        ws_bytes_frame(&out, 0x89, "?", 1);
    feed();
    for (int i = 0; i < 120; i++)
        cr_assert(span_equal(written(0x8a), span_text("?")));
    cr_assert_eq(conn->read, conn->len, "one that is too much gets no answer");
    cr_assert_eq(c->state, CLIENT_OPEN);
    ws_bytes_frame(&out, 0x89, "?", 1);
    feed();
    must_end(PE_RATE_LIMITED, 4012);
}

Test(transport_ws, so_are_fragments_with_nothing_in_them)
{
    ws_bytes_frame(&out, 0x02, "\x93", 1);
    for (int i = 0; i < 120 + 200; i++)
        ws_bytes_frame(&out, 0x00, "", 0);
    feed();
    cr_assert_eq(c->state, CLIENT_OPEN);
    ws_bytes_frame(&out, 0x00, "", 0);
    feed();
    must_end(PE_RATE_LIMITED, 4012);
}

Test(transport_ws, a_close_comes_back_with_its_code_and_ends_it)
{
    static const struct {
        uint8_t payload[8];
        size_t n, back;
    } closes[] = {{{0}, 0, 0}, {{0x03, 0xe8}, 2, 2}, {{0x0f, 0xa0, 'b', 'y', 'e'}, 5, 2}};

    for (size_t i = 0; i < ARRAY_LEN(closes); i++) {
        c = i > 0 ? start(0) : c;
        put_ping(0x82, 1);
        ws_bytes_frame(&out, 0x88, closes[i].payload, closes[i].n);
        put_ping(0x82, 2);
        feed();
        must_answer_ping(1);
        cr_assert(span_equal(written(0x88), span_of(closes[i].payload, closes[i].back)));
        cr_assert_eq(conn->read, conn->len, "nothing after the close");
        cr_assert(conn->finished);
        cr_assert_eq(f.metrics.closed_ws_close, i + 1);
        client_stream_ops.closed(c, STREAM_LINGERED);
        clients_reap(&f.all);
    }
}

/* --- limits of time and memory ------------------------------------------------------------------
 */

Test(transport_ws, only_whole_messages_count_against_idleness)
{
    c->greeted = true;
    for (int i = 0; i < 5; i++) {
        fake_pass(&f, 11000);
        ws_bytes_frame(&out, 0x89, "?", 1);
        feed();
        cr_assert_eq(written(0x8a).n, 1);
    }
    fake_pass(&f, 5200);
    must_end(PE_IDLE, 4015);
    cr_assert_eq(f.metrics.closed_idle, 1);
}

Test(transport_ws, a_message_in_parts_must_be_whole_in_time_whatever_comes_between)
{
    ws_bytes_frame(&out, 0x02, "\x93", 1);
    feed();
    for (int i = 0; i < 9; i++) {
        fake_pass(&f, 1100);
        ws_bytes_frame(&out, 0x89, "?", 1);
        ws_bytes_frame(&out, 0x00, "", 0);
        feed();
        cr_assert_eq(written(0x8a).n, 1);
    }
    fake_pass(&f, 400);
    must_end(PE_IDLE, 4015);
    cr_assert_eq(f.metrics.closed_frame, 1);
}

Test(transport_ws, a_client_that_is_between_messages_keeps_nothing)
{
    ws_bytes_frame(&out, 0x02, "\x93", 1);
    feed();
    cr_assert_not_null(f.all.parts[c->slot]);
    ws_bytes_frame(&out, 0x80, "\x0b\x01\xc0", 3);
    feed();
    must_answer_ping(1);
    cr_assert_null(f.all.parts[c->slot]);
    ws_bytes_frame(&out, 0x02, "\x93", 1);
    feed();
    client_drop(c, CLIENT_END_RESET);
    clients_reap(&f.all);
    teardown();
    TEST_NO_LEAKS();
    setup();
}

Test(transport_ws, a_pong_past_the_hard_limit_ends_it_as_any_frame)
{
    conn->queued = f.all.limits.queue_hard;
    ws_bytes_frame(&out, 0x89, "?", 1);
    feed();
    must_end(PE_SLOW, 4016);
    cr_assert_eq(f.metrics.closed_queue, 1);
}

#endif
