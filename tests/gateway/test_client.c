/* tests/gateway/test_client.c: one client's checks, answers and ends. PROTOCOL.md, Framing and
 * Errors. */
#include "gateway/client.h"

#include "common/err.h"
#include "proto/frame.h"
#include "tests/gateway/fake.h"
#include "tests/leak.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static struct fake_crowd f;
static struct client *c;

static void setup(void)
{
    fake_crowd_defaults(&f);
    fake_crowd_init(&f);
    c = fake_connect(&f, 0);
}

static void teardown(void)
{
    fake_crowd_fini(&f);
}

/* A body with its head. */
static size_t framed(uint8_t *to, const void *body, size_t n)
{
    frame_head(to, (uint32_t)n);
    memcpy(to + FRAME_HEAD, body, n);
    return FRAME_HEAD + n;
}

static void feed_body(struct client *to, const void *body, size_t n)
{
    uint8_t frame[256];
    const size_t frame_bytes = framed(frame, body, n);

    cr_assert_eq(fake_feed(to, frame, frame_bytes), frame_bytes);
}

TestSuite(client, .init = setup, .fini = teardown);

Test(client, a_request_goes_up_as_it_came)
{
    const uint8_t body[] = {0x93, 0xcd, 0, 7, 0xce, 0, 0, 0, 9, 0x81, 0xa1, 'x', 0x01};

    feed_body(c, body, sizeof(body));
    cr_assert_eq(f.forwards, 1);
    cr_assert_eq(f.last_bytes, sizeof(body));
    cr_assert_eq(memcmp(f.last, body, sizeof(body)), 0);
    cr_assert(fake_told_nothing(&f.conns[0]));
    cr_assert_eq(f.metrics.frames_in, 1);
    cr_assert_eq(f.metrics.bytes_in, FRAME_HEAD + sizeof(body));
}

Test(client, frames_may_come_split_or_joined_in_any_way)
{
    uint8_t stream[4096];
    size_t n = 0;

    for (uint32_t i = 0; i < 40; i++)
        n = fake_request(stream, n, sizeof(stream), CMD_LEAVE_REQ, i + 1);
    for (size_t step = 1; step <= n; step += 7) {
        struct client *one = fake_connect(&f, 1);
        uint32_t before = f.bodies;
        size_t from = 0;
        for (size_t to = step; from < n; to = to + step < n ? to + step : n)
            from += fake_feed(one, stream + from, to - from);
        cr_assert_eq(f.bodies - before, 40, "in steps of %zu", step);
        client_drop(one, CLIENT_END_EOF);
        clients_reap(&f.all);
    }
}

Test(client, requests_of_one_read_go_up_together_and_in_order)
{
    uint8_t stream[4096];
    size_t n = 0;

    for (uint32_t i = 0; i < LINK_BODIES_MAX + 1; i++)
        n = fake_request(stream, n, sizeof(stream), CMD_LEAVE_REQ, i + 1);
    cr_assert_eq(fake_feed(c, stream, n), n);
    cr_assert_eq(f.forwards, 2);
    cr_assert_eq(f.bodies, LINK_BODIES_MAX + 1);
    cr_assert_eq(f.last_n, 1);
    cr_assert_eq(f.last[2], LINK_BODIES_MAX + 1, "the last one's seq");
}

Test(client, large_requests_go_up_in_batches_of_bounded_size)
{
    const size_t body_bytes = PROTO_FRAME_MAX;
    const size_t frame_bytes = FRAME_HEAD + body_bytes;
    uint8_t *stream = malloc(3 * frame_bytes);

    for (size_t i = 0; i < 3; i++) {
        uint8_t *at = stream + i * frame_bytes;
        frame_head(at, (uint32_t)body_bytes);
        const uint8_t head[] = {0x93, 7, (uint8_t)(i + 1), 0xc5, 0x3f, 0xfa};
        memcpy(at + FRAME_HEAD, head, sizeof(head));
        memset(at + FRAME_HEAD + sizeof(head), 0, body_bytes - sizeof(head));
    }
    cr_assert_eq(fake_feed(c, stream, 3 * frame_bytes), 3 * frame_bytes);
    cr_assert_eq(f.bodies, 3);
    cr_assert_eq(f.forwards, 2, "two of 16 KiB fill a batch");
    free(stream);
}

Test(client, a_ping_is_answered_here_with_its_payload_byte_for_byte)
{
    const uint8_t ping[] = {0x93, 11,   42, 0x82, 0xa1, 'a', 0xd9, 1, 'z', 0xa1,
                            'b',  0xcf, 0,  0,    0,    0,   0,    0, 0,   5};
    const uint8_t pong[] = {0x93, 12,   42, 0x82, 0xa1, 'a', 0xd9, 1, 'z', 0xa1,
                            'b',  0xcf, 0,  0,    0,    0,   0,    0, 0,   5};

    feed_body(c, ping, sizeof(ping));
    cr_assert_eq(f.forwards, 0);
    cr_assert_eq(f.conns[0].len, FRAME_HEAD + sizeof(pong));
    cr_assert_eq(memcmp(f.conns[0].out + FRAME_HEAD, pong, sizeof(pong)), 0);
    cr_assert_eq(f.metrics.pings, 1);
    cr_assert_eq(f.metrics.frames_out, 1);
}

Test(client, the_largest_ping_is_answered)
{
    uint8_t *frame = malloc(FRAME_HEAD + PROTO_FRAME_MAX);
    const uint8_t head[] = {0x93, 0xce, 0, 0, 0, 11, 1, 0xc5, 0x3f, 0xf6};
    struct message m;

    frame_head(frame, PROTO_FRAME_MAX);
    memcpy(frame + FRAME_HEAD, head, sizeof(head));
    memset(frame + FRAME_HEAD + sizeof(head), 0xa5, PROTO_FRAME_MAX - sizeof(head));
    cr_assert_eq(fake_feed(c, frame, FRAME_HEAD + PROTO_FRAME_MAX), FRAME_HEAD + PROTO_FRAME_MAX);
    cr_assert(fake_told(&f.conns[0], &m));
    cr_assert_eq(m.cmd, CMD_PING_RESP);
    cr_assert_eq(m.ping.payload.n, PROTO_FRAME_MAX - 7);
    free(frame);
}

Test(client, a_ping_is_answered_while_the_world_is_away)
{
    struct message m;

    f.all.world_up = false;
    fake_feed_request(c, CMD_PING_REQ, 5);
    cr_assert(fake_told(&f.conns[0], &m));
    cr_assert_eq(m.cmd, CMD_PING_RESP);
    cr_assert_eq(m.seq, 5);
}

Test(client, a_request_while_the_world_is_away_is_unavailable)
{
    const uint8_t unknown[] = {0x93, 99, 4, 0xc0};

    f.all.world_up = false;
    fake_feed_request(c, CMD_LOGIN_REQ, 3);
    feed_body(c, unknown, sizeof(unknown));
    cr_assert(fake_told_error(&f.conns[0], PE_UNAVAILABLE, 3, CMD_LOGIN_REQ));
    cr_assert(fake_told_error(&f.conns[0], PE_UNAVAILABLE, 4, 99), "13 is told before 2");
    cr_assert_eq(f.metrics.refused_unavailable, 2);
    cr_assert_eq(f.forwards, 0);
    cr_assert_eq(c->state, CLIENT_OPEN);
}

Test(client, bad_lengths_are_fatal_at_the_head) /* CASES C07 */
{
    const uint8_t heads[][4] = {
        {0, 0, 0, 0},    {0, 0, 0x40, 1},          {0x7f, 0xff, 0xff, 0xff},
        {0x80, 0, 0, 0}, {0xff, 0xff, 0xff, 0xff},
    };

    for (uint32_t i = 0; i < 5; i++) {
        struct client *one = fake_connect(&f, 1);
        cr_assert_eq(fake_feed(one, heads[i], 4), 4);
        cr_assert(fake_told_bye(&f.conns[1], PE_BAD_FRAME));
        cr_assert_eq(f.metrics.closed_length, i + 1);
        cr_assert_eq(f.gone, i + 1);
    }
    cr_assert_eq(f.metrics.byes_sent, 5);
    cr_assert_eq(c->state, CLIENT_OPEN, "nobody else notices");
}

Test(client, bad_bodies_are_fatal) /* CASES C05, C06, C07, C08 */
{
    static const struct {
        uint8_t bytes[16];
        size_t n;
    } bodies[] = {
        {{0xc1}, 1},
        {{0x05}, 1},
        {{0x80}, 1},
        {{0x92, 7, 1}, 3},
        {{0x94, 7, 1, 0xc0, 0xc0}, 5},
        {{0x93, 7, 1}, 3},
        {{0x93, 7, 1, 0xc0, 0xc0}, 5},
        {{0x93, 0xcf, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0xc0}, 12},
        {{0x93, 0xff, 1, 0xc0}, 4},
        {{0x93, 0xca, 0x40, 0xe0, 0, 0, 1, 0xc0}, 8},
        {{0x93, 7, 1, 0xdd, 0xff, 0, 0, 0}, 8},
        {{0x93, 7, 1, 0xdb, 0x7f, 0xff, 0xff, 0xff}, 8},
        {{0x93, 7, 1, 0xc6, 0xff, 0xff, 0xff, 0xff}, 8},
        {{0x93, 7, 1, 0xa2, 0xc0, 0x80}, 6},
        {{0x93, 11, 1, 0x91, 0x91, 0x91, 0x91, 0x91, 0x91, 0x91, 0x91, 0xc0}, 12},
    };

    for (uint32_t i = 0; i < ARRAY_LEN(bodies); i++) {
        struct client *one = fake_connect(&f, 1);
        feed_body(one, bodies[i].bytes, bodies[i].n);
        cr_assert(fake_told_bye(&f.conns[1], PE_BAD_FRAME), "body %u", i);
        cr_assert(fake_told_nothing(&f.conns[1]));
    }
    cr_assert_eq(f.metrics.closed_bad_frame, ARRAY_LEN(bodies));
    cr_assert_eq(f.forwards, 0);
}

Test(client, nesting_to_the_limit_is_normal) /* CASES C06 */
{
    const uint8_t ping[] = {0x93, 11, 1, 0x91, 0x91, 0x91, 0x91, 0x91, 0x91, 0x91, 0xc0};
    struct message m;

    feed_body(c, ping, sizeof(ping));
    cr_assert(fake_told(&f.conns[0], &m));
    cr_assert_eq(m.cmd, CMD_PING_RESP);
}

Test(client, what_came_before_a_bad_frame_still_goes_up)
{
    uint8_t stream[256];
    size_t n = fake_request(stream, 0, sizeof(stream), CMD_LEAVE_REQ, 1);

    memset(stream + n, 0, 4);
    fake_feed(c, stream, n + 4);
    cr_assert_eq(f.bodies, 1);
    cr_assert(fake_told_bye(&f.conns[0], PE_BAD_FRAME));
}

Test(client, nothing_is_taken_after_the_bye)
{
    const uint8_t zero[4] = {0};

    fake_feed(c, zero, 4);
    fake_feed_request(c, CMD_LEAVE_REQ, 1);
    client_send(c, span_of(zero, 4));
    cr_assert_eq(f.forwards, 0);
    cr_assert(fake_told_bye(&f.conns[0], PE_BAD_FRAME));
    cr_assert(fake_told_nothing(&f.conns[0]));
    cr_assert_eq(f.conns[0].linger_ns, 2 * CLOCK_NS_PER_S);
}

Test(client, more_requests_than_the_rate_are_refused_pings_counted)
{
    for (uint32_t i = 1; i <= 120; i++)
        fake_feed_request(c, i % 2 ? CMD_PING_REQ : CMD_LEAVE_REQ, i);
    f.conns[0].read = f.conns[0].len;
    fake_feed_request(c, CMD_PING_REQ, 121);
    fake_feed_request(c, CMD_MOVE_REQ, 122);
    cr_assert(fake_told_error(&f.conns[0], PE_RATE_LIMITED, 121, CMD_PING_REQ));
    cr_assert(fake_told_error(&f.conns[0], PE_RATE_LIMITED, 122, CMD_MOVE_REQ));
    cr_assert_eq(f.metrics.refused_rate, 2);
    cr_assert_eq(f.metrics.pings, 60);
    cr_assert_eq(f.bodies, 60);

    f.now_ms += 1000;
    for (uint32_t i = 0; i < 60; i++)
        fake_feed_request(c, CMD_LEAVE_REQ, 200 + i);
    cr_assert_eq(f.bodies, 120);
    cr_assert_eq(f.metrics.refused_rate, 2);
}

Test(client, a_rate_refusal_is_told_before_a_world_that_is_away)
{
    for (uint32_t i = 1; i <= 120; i++)
        fake_feed_request(c, CMD_LEAVE_REQ, i);
    f.all.world_up = false;
    fake_feed_request(c, CMD_LEAVE_REQ, 121);
    cr_assert(fake_told_error(&f.conns[0], PE_RATE_LIMITED, 121, CMD_LEAVE_REQ));
}

Test(client, one_that_is_refused_more_than_200_times_in_ten_seconds_is_closed)
{
    struct message m;

    for (uint32_t i = 1; i <= 320; i++)
        fake_feed_request(c, CMD_LEAVE_REQ, i);
    cr_assert_eq(c->state, CLIENT_OPEN);
    cr_assert_eq(f.metrics.refused_rate, 200);
    fake_feed_request(c, CMD_LEAVE_REQ, 321);
    for (int i = 0; i < 200; i++)
        cr_assert(fake_told(&f.conns[0], &m));
    cr_assert(fake_told_bye(&f.conns[0], PE_RATE_LIMITED));
    cr_assert_eq(f.metrics.closed_rate, 1);
    cr_assert_eq(f.metrics.refused_rate, 201);
}

Test(client, past_the_hard_limit_a_client_gets_16)
{
    uint8_t body[600] = {0};

    f.all.limits.queue_hard = 2 * (FRAME_HEAD + sizeof(body));
    client_send(c, span_of(body, sizeof(body)));
    client_send(c, span_of(body, sizeof(body)));
    cr_assert_eq(c->state, CLIENT_OPEN);
    client_send(c, span_of(body, 1));
    f.conns[0].read = 2 * (FRAME_HEAD + sizeof(body));
    cr_assert(fake_told_bye(&f.conns[0], PE_SLOW));
    cr_assert_eq(f.metrics.closed_queue, 1);
    cr_assert_eq(f.metrics.byes_sent, 1);
    cr_assert_eq(f.gone, 1);
}

Test(client, a_frame_above_the_hard_limit_still_fits_an_empty_queue)
{
    uint8_t body[600] = {0};

    f.all.limits.queue_hard = 500;
    client_send(c, span_of(body, sizeof(body)));
    cr_assert_eq(c->state, CLIENT_OPEN);
    f.conns[0].queued = 0;
    client_send(c, span_of(body, sizeof(body)));
    cr_assert_eq(c->state, CLIENT_OPEN);
    client_send(c, span_of(body, 1));
    cr_assert_eq(f.metrics.closed_queue, 1);
}

Test(client, a_hard_limit_of_0_is_off)
{
    uint8_t body[6000] = {0};

    f.all.limits.queue_hard = 0;
    for (int i = 0; i < 1000; i++)
        client_send(c, span_of(body, sizeof(body)));
    cr_assert_eq(c->state, CLIENT_OPEN);
}

Test(client, a_bye_that_does_not_fit_is_left_out)
{
    uint8_t body[600] = {0};

    f.conns[0].hard = 604;
    client_send(c, span_of(body, sizeof(body)));
    client_send(c, span_of(body, 1));
    cr_assert(f.conns[0].finished);
    cr_assert_eq(f.metrics.closed_queue, 1);
    cr_assert_eq(f.metrics.byes_unsent, 1);
    cr_assert_eq(f.conns[0].len, 604);
}

Test(client, without_memory_for_the_queue_a_client_ends_at_once)
{
    f.conns[0].refuse = E_NOMEM;
    client_send(c, span_of("x", 1));
    cr_assert(f.conns[0].destroyed);
    cr_assert_eq(f.metrics.closed_memory, 1);
    cr_assert_eq(f.reaps, 1);
}

Test(client, a_connection_that_ends_is_counted_by_how)
{
    struct client *other = fake_connect(&f, 1);

    client_stream_ops.closed(c, STREAM_EOF);
    client_stream_ops.closed(other, STREAM_RESET);
    cr_assert_eq(f.metrics.closed_eof, 1);
    cr_assert_eq(f.metrics.closed_reset, 1);
    cr_assert(f.conns[0].destroyed);
    cr_assert(!f.conns[0].aborted);
    cr_assert_eq(f.gone, 2);
    cr_assert_eq(f.all.open, 0);
    clients_reap(&f.all);
    cr_assert_eq(f.all.slots.live, 0);
}

Test(client, a_bye_that_nobody_read_ends_in_a_reset)
{
    struct client *other = fake_connect(&f, 1);
    const uint8_t zero[4] = {0};

    fake_feed(c, zero, 4);
    fake_feed(other, zero, 4);
    f.conns[1].queued = 0;
    client_stream_ops.closed(c, STREAM_LINGERED);
    client_stream_ops.closed(other, STREAM_LINGERED);
    cr_assert(f.conns[0].aborted);
    cr_assert(!f.conns[1].aborted);
    cr_assert_eq(f.metrics.byes_unread, 1);
    cr_assert_eq(f.gone, 2, "told at the Bye, not again");
}

Test(client, a_long_or_missing_reason_is_the_codes_own_sentence)
{
    char longer[LINK_TEXT_MAX + 1];
    struct message m;

    memset(longer, 'x', sizeof(longer));
    client_bye(c, PE_KICKED, span_of(longer, sizeof(longer)), CLIENT_END_WORLD);
    cr_assert(fake_told(&f.conns[0], &m));
    cr_assert(span_equal(m.bye.reason, span_text(protocol_error_text(PE_KICKED))));

    struct client *other = fake_connect(&f, 1);
    client_bye(other, PE_KICKED, span_text("mind the gap"), CLIENT_END_WORLD);
    cr_assert(fake_told(&f.conns[1], &m));
    cr_assert(span_equal(m.bye.reason, span_text("mind the gap")));
    cr_assert_eq(f.metrics.closed_world, 2);
}

Test(client, an_idle_client_costs_72_bytes)
{
    cr_assert_leq(offsetof(struct client, peer) + sizeof("127.0.0.1:50000"), 72);
    teardown();
    TEST_NO_LEAKS();
    setup();
}
