/* tests/gateway/worlds_rig.c: see the header. */
#include "tests/gateway/worlds_rig.h"

#include <criterion/criterion.h>
#include <string.h>

struct wrig wrig;

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
static const char *const IDS[WRIG_WORLDS] = {"w0", "w1", "w2"};

static uint8_t said[4096];

struct span_writer wrig_writer(void)
{
    return span_writer_of(said, sizeof(said));
}

void wrig_say(uint32_t world, const struct span_writer *w)
{
    cr_assert(!w->full);
    cr_assert_eq(uplink_stream_ops.data(&wrig.u[world], span_written(w)), w->len);
}

void wrig_add(uint32_t i)
{
    cr_assert_eq(relay_link_add(&wrig.r, &wrig.u[i], span_text(IDS[i]), &wrig.links[i]), 0);
    wrig.u[i].upstream = IDS[i];
    wrig.u[i].id = span_text("gw");
    wrig.u[i].conn_ops = &fake_conn_ops;
    wrig.u[i].ops = &OPS;
    wrig.u[i].user = &relay_uplink_user;
    wrig.u[i].user_arg = wrig.links[i];
    wrig.u[i].metrics = &wrig.f.metrics;
    uplink_init(&wrig.u[i], i);
}

void wrig_up(uint32_t i)
{
    struct span_writer w = wrig_writer();
    struct link_frame hello;

    while (wrig.u[i].state != UPLINK_DIALLING) {
        wrig.now = clock_add(wrig.now, 100 * CLOCK_NS_PER_MS);
        uplink_step(&wrig.u[i], wrig.now);
    }
    fake_conn_fini(&wrig.world[i]);
    uplink_connected(&wrig.u[i], &wrig.world[i]);
    link_write_hello(&w, span_text(IDS[i]), (struct span){0});
    wrig_say(i, &w);
    cr_assert(fake_link_told(&wrig.world[i], &hello));
}

void wrig_down(uint32_t i)
{
    uplink_stream_ops.closed(&wrig.u[i], STREAM_RESET);
}

void wrig_setup(void)
{
    memset(&wrig, 0, sizeof(wrig));
    fake_crowd_defaults(&wrig.f);
    wrig.f.all.limits.rate = (struct rate_limit){0};
    fake_crowd_init(&wrig.f);
    wrig.f.all.world_up = false;
    cr_assert_eq(relay_init(&wrig.r, &wrig.f.all, &wrig.f.metrics), 0);
    for (uint32_t i = 0; i < WRIG_WORLDS; i++) {
        wrig_add(i);
        wrig_up(i);
    }
}

void wrig_teardown(void)
{
    for (uint32_t i = 0; i < WRIG_WORLDS; i++)
        uplink_fini(&wrig.u[i]);
    fake_crowd_fini(&wrig.f);
    relay_fini(&wrig.r);
    for (uint32_t i = 0; i < WRIG_WORLDS; i++)
        fake_conn_fini(&wrig.world[i]);
}

uint32_t wrig_at(void)
{
    return wrig.r.at[0] & ((1u << RELAY_AT_BITS) - 1);
}

struct link_frame wrig_told(uint32_t world, enum link_kind kind)
{
    struct link_frame frame;

    cr_assert(fake_link_told(&wrig.world[world], &frame), "world %u was told nothing", world);
    cr_assert_eq(frame.kind, kind, "world %u: kind %d, not %d", world, frame.kind, kind);
    return frame;
}

void wrig_silent(uint32_t world)
{
    struct link_frame frame;

    cr_assert(!fake_link_told(&wrig.world[world], &frame), "world %u: kind %d", world, frame.kind);
}

void wrig_say_body(uint32_t world, uint64_t session, const struct message *m)
{
    uint8_t bytes[256];
    struct span_writer b = span_writer_of(bytes, sizeof(bytes)), w = wrig_writer();
    struct span one;

    message_write(&b, m);
    one = span_written(&b);
    link_write_data(&w, session, &one, 1);
    wrig_say(world, &w);
}

void wrig_say_moved(uint32_t world, uint64_t session, uint32_t seq)
{
    wrig_say_body(world, session, &(struct message){.cmd = CMD_MOVE_RESP, .seq = seq});
}

void wrig_say_note(uint32_t world, uint64_t session, const char *note)
{
    struct span_writer w = wrig_writer();

    link_write_note(&w, session, span_text(note));
    wrig_say(world, &w);
}

void wrig_say_redirect(uint32_t world, uint64_t session, const char *to)
{
    struct span_writer w = wrig_writer();

    link_write_redirect(&w, session, span_text(to), 7, 3);
    wrig_say(world, &w);
}

void wrig_say_bind(uint32_t world, uint64_t session, const char *to)
{
    struct span_writer w = wrig_writer();

    link_write_redirect(&w, session, span_text(to), 0, 0);
    wrig_say(world, &w);
}

void wrig_remove(uint32_t i)
{
    relay_link_remove(wrig.links[i]);
    uplink_fini(&wrig.u[i]);
}

struct client *wrig_login(uint32_t i, uint32_t world, uint64_t *session)
{
    struct client *c = fake_connect(&wrig.f, i);
    struct message m = {.cmd = CMD_LOGIN_RESP, .seq = 1};

    fake_feed_request(c, CMD_LOGIN_REQ, 1);
    *session = wrig_told(world, LINK_OPEN).session;
    cr_assert_eq(wrig_told(world, LINK_DATA).session, *session);
    m.login_resp.id = 1;
    m.login_resp.name = span_text("alpha");
    wrig_say_body(world, *session, &m);
    wrig_say_note(world, *session, "note");
    cr_assert(fake_told(&wrig.f.conns[i], &m));
    return c;
}

void wrig_got_move(uint32_t i, uint32_t seq)
{
    struct message m;

    cr_assert(fake_told(&wrig.f.conns[i], &m));
    cr_assert_eq(m.cmd, CMD_MOVE_RESP);
    cr_assert_eq(m.seq, seq);
}
