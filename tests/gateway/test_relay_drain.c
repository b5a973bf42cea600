/* tests/gateway/test_relay_drain.c: what a slow client takes, on its way to the world.
 */
#include "tests/gateway/fake.h"
#include "tests/leak.h"

#include <criterion/criterion.h>

static struct {
    struct fake_crowd f;
    struct relay r;
    struct uplink u;
    struct stream world;
    struct mono now;
} t;

static int on_dial(void *arg)
{
    (void)arg;
    return 0;
}

static void on_cancel(void *arg)
{
    (void)arg;
}

static const struct uplink_ops OPS = {.dial = on_dial, .dial_cancel = on_cancel};

static void world_up(void)
{
    uint8_t bytes[256];
    struct span_writer w = span_writer_of(bytes, sizeof(bytes));
    struct link_frame hello;

    while (t.u.state != UPLINK_DIALLING) {
        t.now = clock_add(t.now, 100 * CLOCK_NS_PER_MS);
        uplink_step(&t.u, t.now);
    }
    fake_conn_fini(&t.world);
    uplink_connected(&t.u, &t.world);
    link_write_hello(&w, span_text("w"), (struct span){0});
    cr_assert_eq(uplink_stream_ops.data(&t.u, span_written(&w)), w.len);
    cr_assert(fake_link_told(&t.world, &hello));
}

static void setup(void)
{
    struct relay_link *link;

    memset(&t, 0, sizeof(t));
    fake_crowd_defaults(&t.f);
    t.f.all.limits.idle_ms = t.f.all.limits.login_ms = 0;
    fake_crowd_init(&t.f);
    t.f.all.world_up = false;
    cr_assert_eq(relay_init(&t.r, &t.f.all, &t.f.metrics), 0);
    cr_assert_eq(relay_link_add(&t.r, &t.u, (struct span){0}, &link), 0);
    t.u.upstream = "world";
    t.u.id = span_text("gw");
    t.u.conn_ops = &fake_conn_ops;
    t.u.ops = &OPS;
    t.u.user = &relay_uplink_user;
    t.u.user_arg = link;
    t.u.metrics = &t.f.metrics;
    uplink_init(&t.u, 1);
    world_up();
}

static void teardown(void)
{
    uplink_fini(&t.u);
    fake_crowd_fini(&t.f);
    relay_fini(&t.r);
    fake_conn_fini(&t.world);
}

TestSuite(relay_drain, .init = setup, .fini = teardown);

/* Its first request opens a session; returns that. */
static uint64_t open_session(struct client *c)
{
    struct link_frame frame;

    fake_feed_request(c, CMD_LOGIN_REQ, 1);
    cr_assert(fake_link_told(&t.world, &frame));
    cr_assert_eq(frame.kind, LINK_OPEN);
    const uint64_t session = frame.session;
    cr_assert(fake_link_told(&t.world, &frame));
    cr_assert_eq(frame.kind, LINK_DATA);
    return session;
}

/* A second in which the world sends 2,400 bytes ten times, of which 2,000 leave the queue. */
static void slow_second(struct client *c)
{
    static uint8_t bytes[8 + 2396];
    const struct span body = span_of(bytes + 8, 2396);

    for (int i = 0; i < 10; i++) {
        client_send_run(c, &body, 1);
        t.f.conns[0].queued -= 2000;
        fake_pass(&t.f, 100);
    }
}

static void expect_drain(uint64_t session, uint64_t bytes_per_s)
{
    struct link_frame frame;

    cr_assert(fake_link_told(&t.world, &frame));
    cr_assert_eq(frame.kind, LINK_DRAIN);
    cr_assert_eq(frame.session, session);
    cr_assert_eq(frame.number, bytes_per_s);
}

Test(relay_drain, the_world_is_told_what_a_slow_client_takes_and_when_it_is_well_again)
{
    struct client *c = fake_connect(&t.f, 0);
    const uint64_t session = open_session(c);
    struct link_frame frame;

    slow_second(c);
    slow_second(c);
    expect_drain(session, 20000);
    t.f.conns[0].queued = 0;
    fake_pass(&t.f, 2000);
    expect_drain(session, 0);
    cr_assert(!fake_link_told(&t.world, &frame));
    TEST_NO_LEAKS();
}

Test(relay_drain, of_a_client_without_a_session_nothing_is_told)
{
    struct client *c = fake_connect(&t.f, 0);
    struct link_frame frame;

    slow_second(c);
    slow_second(c);
    cr_assert(!fake_link_told(&t.world, &frame));
    const uint64_t session = open_session(c);
    slow_second(c);
    expect_drain(session, 20000);
}

Test(relay_drain, a_world_that_comes_back_is_told_anew)
{
    struct client *c = fake_connect(&t.f, 0);

    (void)open_session(c);
    slow_second(c);
    slow_second(c);
    uplink_stream_ops.closed(&t.u, STREAM_RESET);
    slow_second(c);
    world_up();
    slow_second(c);
    const uint64_t session = open_session(c);
    slow_second(c);
    slow_second(c);
    expect_drain(session, 20000);
}
