/* tests/gateway/test_uplink.c: dialling, hello, silence and frames of the link, with a fake world.
 */
#include "gateway/uplink.h"

#include "common/err.h"
#include "proto/frame.h"
#include "tests/gateway/fake.h"

#include <criterion/criterion.h>
#include <string.h>

struct linked {
    struct uplink u;
    struct gateway_metrics metrics;
    struct stream conn;
    struct mono now;
    int dial_result;
    uint32_t dials, cancels, ready, lost, frames, settled;
    const char *reason;
    enum link_kind kind; /* of the last frame */
    int pressure;        /* on: 1, off: -1 */
};

static struct linked l;

static int on_dial(void *arg)
{
    struct linked *at = arg;
    at->dials++;
    return at->dial_result;
}

static void on_cancel(void *arg)
{
    struct linked *at = arg;
    at->cancels++;
}

static void on_ready(void *arg)
{
    struct linked *at = arg;
    at->ready++;
}

static void on_lost(void *arg, const char *reason)
{
    struct linked *at = arg;
    at->lost++;
    at->reason = reason;
}

static void on_frame(void *arg, const struct link_frame *frame)
{
    struct linked *at = arg;
    at->frames++;
    at->kind = frame->kind;
}

static void on_settle(void *arg)
{
    struct linked *at = arg;
    at->settled++;
}

static void on_pressure(void *arg, bool on)
{
    struct linked *at = arg;
    at->pressure = on ? 1 : -1;
}

static const struct uplink_ops OPS = {.dial = on_dial, .dial_cancel = on_cancel};
static const struct uplink_user USER = {.ready = on_ready,
                                        .lost = on_lost,
                                        .frame = on_frame,
                                        .settle = on_settle,
                                        .pressure = on_pressure};

static void setup(void)
{
    fake_quiet();
    l = (struct linked){.now = {1000 * CLOCK_NS_PER_S}};
    l.u.upstream = "127.0.0.1:19002";
    l.u.id = span_text("gw");
    l.u.silence_ns = 3 * CLOCK_NS_PER_S;
    l.u.conn_ops = &fake_conn_ops;
    l.u.ops = &OPS;
    l.u.ops_arg = &l;
    l.u.user = &USER;
    l.u.user_arg = &l;
    l.u.metrics = &l.metrics;
    uplink_init(&l.u, 7);
}

static void teardown(void)
{
    uplink_fini(&l.u);
    fake_conn_fini(&l.conn);
}

TestSuite(uplink, .init = setup, .fini = teardown);

/* Time passes in steps of 100 ms. */
static void pass(uint32_t ms)
{
    for (uint32_t passed = 0; passed < ms; passed += 100) {
        l.now = clock_add(l.now, 100 * CLOCK_NS_PER_MS);
        uplink_step(&l.u, l.now);
    }
}

static void feed(const struct span_writer *w)
{
    cr_assert_eq(uplink_stream_ops.data(&l.u, span_written(w)), w->len);
}

static void feed_hello(void)
{
    uint8_t buf[128];
    struct span_writer w = span_writer_of(buf, sizeof(buf));
    link_write_hello(&w, span_text("world-1"), (struct span){0});
    feed(&w);
}

static void feed_ping(uint64_t number)
{
    uint8_t buf[128];
    struct span_writer w = span_writer_of(buf, sizeof(buf));
    link_write_ping(&w, number);
    feed(&w);
}

/* Steps until it dials, then a connection. */
static void connect_link(void)
{
    while (l.u.state != UPLINK_DIALLING)
        pass(100);
    fake_conn_fini(&l.conn);
    uplink_connected(&l.u, &l.conn);
}

static void link_up(void)
{
    connect_link();
    feed_hello();
    cr_assert(uplink_ready(&l.u));
}

Test(uplink, the_first_dial_is_at_once_and_the_first_word_is_hello)
{
    struct link_frame frame;

    pass(100);
    cr_assert_eq(l.dials, 1);
    uplink_connected(&l.u, &l.conn);
    cr_assert(fake_link_told(&l.conn, &frame));
    cr_assert_eq(frame.kind, LINK_HELLO);
    cr_assert_eq(frame.version, LINK_VERSION);
    cr_assert(span_equal(frame.id, span_text("gw")));
    cr_assert(!uplink_ready(&l.u));
    cr_assert_eq(uplink_write(&l.u, span_text("x"), 1), E_CLOSED);

    feed_hello();
    cr_assert(uplink_ready(&l.u));
    cr_assert_eq(l.ready, 1);
    cr_assert_str_eq(l.u.world, "world-1");
    cr_assert_eq(l.metrics.link_ups, 1);
    cr_assert_eq(l.metrics.dials, 1);
}

Test(uplink, a_hello_that_comes_a_byte_at_a_time_is_one)
{
    uint8_t buf[128];
    struct span_writer w = span_writer_of(buf, sizeof(buf));

    connect_link();
    link_write_hello(&w, span_text("world-1"), (struct span){0});
    for (size_t n = 1; n < w.len; n++)
        cr_assert_eq(uplink_stream_ops.data(&l.u, span_of(buf, n)), 0);
    feed(&w);
    cr_assert(uplink_ready(&l.u));
}

Test(uplink, attempts_back_off_to_a_cap_with_jitter) /* CASES D06 */
{
    int64_t gaps_ms[40];
    uint32_t n = 0;

    pass(100);
    while (n < ARRAY_LEN(gaps_ms)) {
        const int64_t from = l.now.ns;
        const uint32_t dials = l.dials;
        uplink_failed(&l.u, "Connection refused");
        while (l.dials == dials)
            pass(100);
        gaps_ms[n++] = (l.now.ns - from) / CLOCK_NS_PER_MS;
    }
    cr_assert_leq(gaps_ms[0], 200);
    bool varies = false;
    for (uint32_t i = 6; i < n; i++) {
        cr_assert_geq(gaps_ms[i], 750);
        cr_assert_leq(gaps_ms[i], 1600, "service is back within 2 s");
        varies |= gaps_ms[i] != gaps_ms[6];
    }
    cr_assert(varies);
    cr_assert_eq(l.metrics.down_dial, 40);
    cr_assert_eq(l.metrics.dials, 41);
}

Test(uplink, a_world_that_is_away_for_a_minute_is_dialled_a_bounded_number_of_times)
{
    l.dial_result = E_ADDR;
    pass(60000);
    cr_assert_leq(l.dials, 85);
    cr_assert_geq(l.dials, 35);
    cr_assert_eq(l.lost, 0);
}

Test(uplink, a_world_that_accepts_and_says_nothing_is_given_up) /* CASES D06 */
{
    connect_link();
    pass(2900);
    cr_assert_eq(l.u.state, UPLINK_HELLO);
    pass(100);
    cr_assert_eq(l.u.state, UPLINK_IDLE);
    cr_assert(l.conn.destroyed);
    cr_assert_eq(l.metrics.down_silent, 1);
    cr_assert_eq(l.lost, 0, "it never was there");
}

Test(uplink, a_world_that_closes_at_once_does_not_reset_the_backoff) /* CASES D06 */
{
    for (int i = 0; i < 8; i++) {
        link_up();
        uplink_stream_ops.closed(&l.u, STREAM_EOF);
        fake_conn_fini(&l.conn);
    }
    cr_assert_eq(l.lost, 8);
    cr_assert_eq(l.metrics.down_eof, 8);
    cr_assert_eq(l.metrics.link_losses, 8);
    const uint32_t dials = l.dials;
    pass(600);
    cr_assert_eq(l.dials, dials, "still far apart");
}

Test(uplink, a_link_that_was_steady_resets_the_backoff)
{
    for (int i = 0; i < 8; i++) {
        connect_link();
        uplink_stream_ops.closed(&l.u, STREAM_RESET);
    }
    cr_assert_eq(l.metrics.down_reset, 8);
    link_up();
    for (int i = 0; i < 6; i++) {
        pass(1000);
        feed_ping(1);
    }
    uplink_stream_ops.closed(&l.u, STREAM_EOF);
    const uint32_t dials = l.dials;
    pass(200);
    cr_assert_eq(l.dials, dials + 1);
}

Test(uplink, both_pings_are_answered_and_ours_come_three_times_in_the_silence)
{
    struct link_frame frame;
    uint32_t pings = 0, pongs = 0;

    link_up();
    for (int i = 0; i < 9; i++) {
        pass(1000);
        feed_ping(77);
    }
    while (fake_link_told(&l.conn, &frame)) {
        pings += frame.kind == LINK_PING;
        pongs += frame.kind == LINK_PONG && frame.number == 77;
    }
    cr_assert_eq(pings, 9);
    cr_assert_eq(pongs, 9);
    cr_assert(uplink_ready(&l.u));
}

Test(uplink, a_world_that_is_silent_for_the_timeout_is_away)
{
    link_up();
    pass(2900);
    cr_assert(uplink_ready(&l.u));
    pass(100);
    cr_assert_eq(l.lost, 1);
    cr_assert_str_eq(l.reason, "silent");
    cr_assert(l.conn.destroyed);
    cr_assert_eq(l.metrics.down_silent, 1);
}

Test(uplink, without_a_timeout_silence_is_borne)
{
    l.u.silence_ns = 0;
    link_up();
    pass(600000);
    cr_assert(uplink_ready(&l.u));
}

Test(uplink, what_is_no_link_frame_closes_the_link)
{
    static const struct {
        uint8_t bytes[8];
        size_t n;
    } bad[] = {
        {{0, 0, 0, 0}, 4},         {{0xff, 0xff, 0xff, 0xff}, 4},
        {{0, 0, 0, 1, 0xc1}, 5},   {{0, 0, 0, 2, 0x91, 0x09}, 6},
        {{'H', 'T', 'T', 'P'}, 4},
    };

    for (uint32_t i = 0; i < ARRAY_LEN(bad); i++) {
        link_up();
        cr_assert_eq(uplink_stream_ops.data(&l.u, span_of(bad[i].bytes, bad[i].n)), bad[i].n);
        cr_assert(l.conn.destroyed, "bytes %u", i);
        cr_assert_eq(l.lost, i + 1);
        cr_assert_eq(l.metrics.down_bad_frame, i + 1);
    }
}

Test(uplink, frames_that_a_world_has_no_business_to_send_close_the_link)
{
    uint8_t buf[128];

    for (int kind = 0; kind < 4; kind++) {
        struct span_writer w = span_writer_of(buf, sizeof(buf));
        connect_link();
        if (kind > 0)
            feed_hello();
        if (kind == 0)
            link_write_ping(&w, 1); /* before its hello */
        else if (kind == 1)
            link_write_hello(&w, span_text("again"), (struct span){0});
        else if (kind == 2)
            link_write_open(&w, 1, span_text("peer"));
        else
            link_write_congestion(&w, 1, true);
        feed(&w);
        cr_assert(l.conn.destroyed, "kind %d", kind);
    }
    cr_assert_eq(l.metrics.down_bad_frame, 4);
}

Test(uplink, a_world_of_another_version_is_refused)
{
    uint8_t buf[128];
    struct span_writer w = span_writer_of(buf, sizeof(buf));

    connect_link();
    link_write_hello(&w, span_text("w"), (struct span){0});
    for (size_t i = 4; i < w.len; i++) {
        if (buf[i] == LINK_VERSION) {
            buf[i] = LINK_VERSION + 1;
            break;
        }
    }
    feed(&w);
    cr_assert_eq(l.u.state, UPLINK_IDLE);
    cr_assert_eq(l.ready, 0);
}

Test(uplink, data_and_closes_are_handed_up)
{
    uint8_t buf[256];
    struct span_writer w = span_writer_of(buf, sizeof(buf));
    const struct span body = span_text("body");
    const uint64_t sessions[] = {1, 2};

    link_up();
    link_write_data(&w, 1, &body, 1);
    link_write_data_many(&w, sessions, 2, body);
    link_write_close(&w, 1, 0, (struct span){0});
    feed(&w);
    cr_assert_eq(l.frames, 3);
    cr_assert_eq(l.kind, LINK_CLOSE);
    cr_assert_eq(l.metrics.link_frames_in, 4);
}

Test(uplink, past_the_hard_limit_the_link_is_closed_at_the_next_step)
{
    uint8_t bytes[100] = {0};

    link_up();
    l.conn.hard = l.conn.queued + 150;
    cr_assert_eq(uplink_write(&l.u, span_of(bytes, 100), 1), 0);
    cr_assert_eq(uplink_write(&l.u, span_of(bytes, 100), 1), E_CLOSED);
    cr_assert(!uplink_ready(&l.u));
    cr_assert_eq(l.lost, 0, "its user may stand inside a client's callback");
    pass(100);
    cr_assert_eq(l.lost, 1);
    cr_assert(l.conn.destroyed);
    cr_assert_eq(l.metrics.down_queue, 1);
}

Test(uplink, pressure_is_handed_up_and_counted)
{
    link_up();
    uplink_stream_ops.pressure(&l.u, true);
    cr_assert_eq(l.pressure, 1);
    uplink_stream_ops.pressure(&l.u, false);
    cr_assert_eq(l.pressure, -1);
    cr_assert_eq(l.metrics.link_pauses, 1);
}

Test(uplink, a_polite_end_waits_for_the_connections)
{
    link_up();
    uplink_finish(&l.u, CLOCK_NS_PER_S);
    cr_assert(l.conn.finished);
    cr_assert(!uplink_over(&l.u));
    uplink_stream_ops.closed(&l.u, STREAM_LINGERED);
    cr_assert(uplink_over(&l.u));
    cr_assert_eq(l.lost, 0);
    pass(10000);
    cr_assert_eq(l.dials, 1);
}

Test(uplink, an_end_while_dialling_cancels_the_dial)
{
    pass(100);
    uplink_finish(&l.u, CLOCK_NS_PER_S);
    cr_assert(uplink_over(&l.u));
    cr_assert_eq(l.cancels, 1);
}

Test(uplink, a_dial_that_failed_is_not_cancelled)
{
    pass(100);
    uplink_failed(&l.u, "Connection refused");
    cr_assert_eq(l.cancels, 0);
}

Test(uplink, another_world_than_is_to_be_there_is_none)
{
    l.u.expect = span_text("world-2");
    connect_link();
    feed_hello();
    cr_assert(!uplink_ready(&l.u));
    cr_assert_eq(l.ready, 0);
    cr_assert_eq(l.metrics.down_world, 1);
    cr_assert(l.conn.destroyed);
    l.u.expect = span_text("world-1");
    link_up();
}
