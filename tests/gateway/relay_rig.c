/* tests/gateway/relay_rig.c: a relay between fake clients and a fake world. See the header. */
#include "tests/gateway/relay_rig.h"

#include "common/err.h"

#include <criterion/criterion.h>
#include <string.h>

struct relay_rig relay_rig;

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

void relay_rig_setup(void)
{
    struct relay_link *link;

    memset(&relay_rig, 0, sizeof(relay_rig));
    fake_crowd_defaults(&relay_rig.f);
    relay_rig.f.all.limits.rate = (struct rate_limit){0};
    fake_crowd_init(&relay_rig.f);
    relay_rig.f.all.world_up = false;
    cr_assert_eq(relay_init(&relay_rig.r, &relay_rig.f.all, &relay_rig.f.metrics), 0);
    cr_assert_eq(relay_link_add(&relay_rig.r, &relay_rig.u, (struct span){0}, &link), 0);
    relay_rig.u.upstream = "world";
    relay_rig.u.id = span_text("gw");
    relay_rig.u.silence_ns = 3 * CLOCK_NS_PER_S;
    relay_rig.u.conn_ops = &fake_conn_ops;
    relay_rig.u.ops = &OPS;
    relay_rig.u.user = &relay_uplink_user;
    relay_rig.u.user_arg = link;
    relay_rig.u.metrics = &relay_rig.f.metrics;
    uplink_init(&relay_rig.u, 1);
}

void relay_rig_teardown(void)
{
    uplink_fini(&relay_rig.u);
    fake_crowd_fini(&relay_rig.f);
    relay_fini(&relay_rig.r);
    fake_conn_fini(&relay_rig.world);
}

/* --- the fake world ------------------------------------------------------------------------ */

static uint8_t link_bytes[8192];

struct span_writer relay_rig_writer(void)
{
    return span_writer_of(link_bytes, sizeof(link_bytes));
}

void relay_rig_say(const struct span_writer *w)
{
    cr_assert(!w->full);
    cr_assert_eq(uplink_stream_ops.data(&relay_rig.u, span_written(w)), w->len);
}

void relay_rig_step(void)
{
    relay_rig.now = clock_add(relay_rig.now, 100 * CLOCK_NS_PER_MS);
    uplink_step(&relay_rig.u, relay_rig.now);
}

void relay_rig_world_up(void)
{
    struct link_frame hello;

    while (relay_rig.u.state != UPLINK_DIALLING)
        relay_rig_step();
    fake_conn_fini(&relay_rig.world);
    uplink_connected(&relay_rig.u, &relay_rig.world);
    struct span_writer w = relay_rig_writer();
    link_write_hello(&w, span_text("w"), (struct span){0});
    relay_rig_say(&w);
    cr_assert(fake_link_told(&relay_rig.world, &hello));
    cr_assert(relay_rig.f.all.world_up);
}

void relay_rig_world_down(void)
{
    uplink_stream_ops.closed(&relay_rig.u, STREAM_RESET);
}

/* The session that the next frame opens. */
uint64_t relay_rig_expect_open(void)
{
    struct link_frame frame;

    cr_assert(fake_link_told(&relay_rig.world, &frame));
    cr_assert_eq(frame.kind, LINK_OPEN);
    cr_assert(span_equal(frame.text, span_text("127.0.0.1:50000")));
    return frame.session;
}

void relay_rig_expect_data(uint64_t session, uint32_t bodies)
{
    struct link_frame frame;

    cr_assert(fake_link_told(&relay_rig.world, &frame));
    cr_assert_eq(frame.kind, LINK_DATA);
    cr_assert_eq(frame.session, session);
    cr_assert_eq(frame.n_bodies, bodies);
}

void relay_rig_expect_close(uint64_t session)
{
    struct link_frame frame;

    cr_assert(fake_link_told(&relay_rig.world, &frame));
    cr_assert_eq(frame.kind, LINK_CLOSE);
    cr_assert_eq(frame.session, session);
    cr_assert_eq(frame.code, 0);
}

void relay_rig_expect_silence(void)
{
    struct link_frame frame;
    cr_assert(!fake_link_told(&relay_rig.world, &frame));
}

void relay_rig_say_message(uint64_t session, const struct message *m)
{
    uint8_t body[256];
    struct span_writer b = span_writer_of(body, sizeof(body)), w = relay_rig_writer();
    message_write(&b, m);
    const struct span one = span_written(&b);
    link_write_data(&w, session, &one, 1);
    relay_rig_say(&w);
}

void relay_rig_say_moved(uint64_t session, uint32_t seq)
{
    relay_rig_say_message(session, &(struct message){.cmd = CMD_MOVE_RESP, .seq = seq});
}

void relay_rig_say_login(uint64_t session)
{
    struct message m = {.cmd = CMD_LOGIN_RESP, .seq = 1};
    m.login_resp.id = 1;
    m.login_resp.name = span_text("alpha");
    relay_rig_say_message(session, &m);
}

void relay_rig_say_close(uint64_t session, uint32_t code, const char *reason)
{
    struct span_writer w = relay_rig_writer();
    link_write_close(&w, session, code, span_text(reason));
    relay_rig_say(&w);
}

/* A client with an open session that is logged in; everything said so far is read. */
uint64_t relay_rig_login(struct client *c, uint32_t i)
{
    struct message m;

    fake_feed_request(c, CMD_LOGIN_REQ, 1);
    const uint64_t session = relay_rig_expect_open();
    relay_rig_expect_data(session, 1);
    relay_rig_say_login(session);
    cr_assert(fake_told(&relay_rig.f.conns[i], &m));
    cr_assert_eq(m.cmd, CMD_LOGIN_RESP);
    cr_assert(c->logged_in);
    return session;
}
