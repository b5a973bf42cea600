/* tests/gateway/test_relay_worlds.c: a relay with links to several worlds. */
#include "tests/gateway/fake.h"
#include "tests/leak.h"

#include <criterion/criterion.h>
#include <string.h>

#define WORLDS 3

static struct {
    struct fake_crowd f;
    struct relay r;
    struct uplink u[WORLDS];
    struct relay_link *links[WORLDS];
    struct stream world[WORLDS];
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
static const char *const IDS[WORLDS] = {"w0", "w1", "w2"};

static uint8_t said[4096];

static struct span_writer writer(void)
{
    return span_writer_of(said, sizeof(said));
}

static void say(uint32_t world, const struct span_writer *w)
{
    cr_assert(!w->full);
    cr_assert_eq(uplink_stream_ops.data(&t.u[world], span_written(w)), w->len);
}

static void add(uint32_t i)
{
    cr_assert_eq(relay_link_add(&t.r, &t.u[i], &t.links[i]), 0);
    t.u[i].upstream = IDS[i];
    t.u[i].id = span_text("gw");
    t.u[i].conn_ops = &fake_conn_ops;
    t.u[i].ops = &OPS;
    t.u[i].user = &relay_uplink_user;
    t.u[i].user_arg = t.links[i];
    t.u[i].metrics = &t.f.metrics;
    uplink_init(&t.u[i], i);
}

static void up(uint32_t i)
{
    struct span_writer w = writer();
    struct link_frame hello;

    while (t.u[i].state != UPLINK_DIALLING) {
        t.now = clock_add(t.now, 100 * CLOCK_NS_PER_MS);
        uplink_step(&t.u[i], t.now);
    }
    fake_conn_fini(&t.world[i]);
    uplink_connected(&t.u[i], &t.world[i]);
    link_write_hello(&w, span_text(IDS[i]), (struct span){0});
    say(i, &w);
    cr_assert(fake_link_told(&t.world[i], &hello));
}

static void down(uint32_t i)
{
    uplink_stream_ops.closed(&t.u[i], STREAM_RESET);
}

static void setup(void)
{
    memset(&t, 0, sizeof(t));
    fake_crowd_defaults(&t.f);
    t.f.all.limits.rate = (struct rate_limit){0};
    fake_crowd_init(&t.f);
    t.f.all.world_up = false;
    cr_assert_eq(relay_init(&t.r, &t.f.all, &t.f.metrics), 0);
    for (uint32_t i = 0; i < WORLDS; i++) {
        add(i);
        up(i);
    }
}

static void teardown(void)
{
    for (uint32_t i = 0; i < WORLDS; i++)
        uplink_fini(&t.u[i]);
    fake_crowd_fini(&t.f);
    relay_fini(&t.r);
    for (uint32_t i = 0; i < WORLDS; i++)
        fake_conn_fini(&t.world[i]);
}

TestSuite(relay_worlds, .init = setup, .fini = teardown);

static struct link_frame told(uint32_t world, enum link_kind kind)
{
    struct link_frame frame;

    cr_assert(fake_link_told(&t.world[world], &frame), "world %u was told nothing", world);
    cr_assert_eq(frame.kind, kind, "world %u: kind %d, not %d", world, frame.kind, kind);
    return frame;
}

static void silent(uint32_t world)
{
    struct link_frame frame;

    cr_assert(!fake_link_told(&t.world[world], &frame), "world %u: kind %d", world, frame.kind);
}

static void say_body(uint32_t world, uint64_t session, const struct message *m)
{
    uint8_t bytes[256];
    struct span_writer b = span_writer_of(bytes, sizeof(bytes)), w = writer();
    struct span one;

    message_write(&b, m);
    one = span_written(&b);
    link_write_data(&w, session, &one, 1);
    say(world, &w);
}

static void say_moved(uint32_t world, uint64_t session, uint32_t seq)
{
    say_body(world, session, &(struct message){.cmd = CMD_MOVE_RESP, .seq = seq});
}

static void say_note(uint32_t world, uint64_t session, const char *note)
{
    struct span_writer w = writer();

    link_write_note(&w, session, span_text(note));
    say(world, &w);
}

static void say_redirect(uint32_t world, uint64_t session, const char *to)
{
    struct span_writer w = writer();

    link_write_redirect(&w, session, span_text(to), 7, 3);
    say(world, &w);
}

/* A client who is logged in at `world`, which has fewest sessions, and has a note. */
static struct client *login(uint32_t i, uint32_t world, uint64_t *session)
{
    struct client *c = fake_connect(&t.f, i);
    struct message m = {.cmd = CMD_LOGIN_RESP, .seq = 1};

    fake_feed_request(c, CMD_LOGIN_REQ, 1);
    *session = told(world, LINK_OPEN).session;
    cr_assert_eq(told(world, LINK_DATA).session, *session);
    m.login_resp.id = 1;
    m.login_resp.name = span_text("alpha");
    say_body(world, *session, &m);
    say_note(world, *session, "note");
    cr_assert(fake_told(&t.f.conns[i], &m));
    return c;
}

static void got_move(uint32_t i, uint32_t seq)
{
    struct message m;

    cr_assert(fake_told(&t.f.conns[i], &m));
    cr_assert_eq(m.cmd, CMD_MOVE_RESP);
    cr_assert_eq(m.seq, seq);
}

Test(relay_worlds, sessions_are_spread_and_stay_where_they_are)
{
    uint64_t session[4];
    struct client *c[4];

    for (uint32_t i = 0; i < 4; i++)
        c[i] = login(i, i % WORLDS, &session[i]);
    fake_feed_request(c[1], CMD_MOVE_REQ, 5);
    cr_assert_eq(told(1, LINK_DATA).session, session[1]);
    silent(0);
    silent(2);
    cr_assert_eq(t.links[0]->sessions, 2);
    cr_assert_eq(t.r.sessions, 4);
}

Test(relay_worlds, a_redirect_takes_a_session_along_with_nothing_lost_or_doubled)
{
    uint64_t session;
    struct client *c = login(0, 0, &session);
    struct link_frame f;

    fake_feed_request(c, CMD_MOVE_REQ, 5);
    told(0, LINK_DATA);
    say_moved(0, session, 5);
    say_redirect(0, session, "w2");
    cr_assert_eq(told(0, LINK_LEFT).session, session);
    f = told(2, LINK_ATTACH);
    cr_assert_eq(f.session, session);
    cr_assert_eq(f.entity, 7);
    cr_assert_eq(f.count, 3);
    cr_assert(span_equal(f.note, span_text("note")));
    cr_assert(span_equal(f.text, span_text("127.0.0.1:50000")));
    fake_feed_request(c, CMD_MOVE_REQ, 6);
    cr_assert_eq(told(2, LINK_DATA).session, session);
    silent(0);
    say_moved(2, session, 6);
    got_move(0, 5);
    got_move(0, 6);
    cr_assert(fake_told_nothing(&t.f.conns[0]));
    cr_assert_eq(t.links[0]->sessions, 0);
    cr_assert_eq(t.links[2]->sessions, 1);
    cr_assert_eq(t.f.metrics.redirects, 1);
}

Test(relay_worlds, what_the_old_world_says_after_a_redirect_is_stale)
{
    uint64_t session;

    login(0, 0, &session);
    say_redirect(0, session, "w1");
    say_moved(0, session, 9);
    cr_assert(fake_told_nothing(&t.f.conns[0]));
    cr_assert_eq(t.f.metrics.stale_data, 1);
    say_redirect(0, session, "w2"); /* nor does it say where to again */
    told(0, LINK_LEFT);
    told(0, LINK_CLOSE);
    told(0, LINK_LEFT);
    told(1, LINK_ATTACH);
    silent(1);
    silent(2);
}

Test(relay_worlds, a_session_comes_back_to_a_world_that_had_it_before)
{
    uint64_t session;
    struct client *c = login(0, 0, &session);

    say_redirect(0, session, "w1");
    say_redirect(1, session, "w0");
    told(0, LINK_LEFT);
    told(0, LINK_ATTACH);
    told(1, LINK_ATTACH);
    told(1, LINK_LEFT);
    fake_feed_request(c, CMD_MOVE_REQ, 2);
    told(0, LINK_DATA);
    silent(1);
    cr_assert_eq(t.r.sessions, 1);
}

Test(relay_worlds, who_does_not_drain_is_told_of_at_the_new_world)
{
    uint64_t session;
    struct client *c = login(0, 0, &session);

    client_stream_ops.pressure(c, true);
    told(0, LINK_CONGESTION);
    say_redirect(0, session, "w1");
    told(1, LINK_ATTACH);
    cr_assert(told(1, LINK_CONGESTION).on);
    client_stream_ops.pressure(c, false);
    cr_assert(!told(1, LINK_CONGESTION).on);
    told(0, LINK_LEFT);
    silent(0);
}

Test(relay_worlds, who_is_sent_to_a_world_that_is_away_is_bound_by_its_note)
{
    uint64_t session;
    struct client *c = login(0, 0, &session);
    struct link_frame f;

    say_redirect(0, session, "w9");
    told(0, LINK_LEFT);
    cr_assert(fake_told_error(&t.f.conns[0], PE_UNAVAILABLE, 0, 0));
    cr_assert(!c->session);
    relay_step(&t.r);
    f = told(0, LINK_BIND);
    cr_assert_neq(f.session, session);
    cr_assert(span_equal(f.note, span_text("note")));
    cr_assert(c->logged_in);
    cr_assert_eq(t.f.metrics.redirects_lost, 1);
}

Test(relay_worlds, a_lost_world_concerns_those_who_were_there_alone)
{
    uint64_t session[2];
    struct client *a = login(0, 0, &session[0]), *b = login(1, 1, &session[1]);

    down(0);
    cr_assert(fake_told_error(&t.f.conns[0], PE_UNAVAILABLE, 0, 0));
    cr_assert(fake_told_nothing(&t.f.conns[1]));
    cr_assert(t.f.all.world_up);
    relay_step(&t.r);
    cr_assert_eq(told(2, LINK_BIND).n_bodies, 0);
    cr_assert_eq(t.links[2]->sessions, 1);
    fake_feed_request(a, CMD_MOVE_REQ, 2);
    told(2, LINK_DATA);
    fake_feed_request(b, CMD_MOVE_REQ, 2);
    told(1, LINK_DATA);
    cr_assert_eq(t.f.metrics.told_unavailable, 1);
    up(0);
    silent(0); /* nobody is taken from where it is */
}

Test(relay_worlds, when_the_last_is_lost_all_are_told_and_when_one_comes_all_are_bound)
{
    uint64_t session[2];

    login(0, 0, &session[0]);
    login(1, 1, &session[1]);
    fake_connect(&t.f, 2);
    down(2);
    down(0);
    cr_assert(fake_told_error(&t.f.conns[0], PE_UNAVAILABLE, 0, 0));
    cr_assert(fake_told_nothing(&t.f.conns[2]));
    down(1);
    for (uint32_t i = 0; i < 3; i++)
        cr_assert(fake_told_error(&t.f.conns[i], PE_UNAVAILABLE, 0, 0));
    cr_assert(!t.f.all.world_up);
    cr_assert_eq(t.r.sessions, 0);
    up(2);
    told(2, LINK_BIND);
    told(2, LINK_BIND);
    silent(2);
}

Test(relay_worlds, a_full_link_stops_the_reading_of_its_own_clients)
{
    uint64_t session[2];
    struct client *a = login(0, 0, &session[0]);

    login(1, 1, &session[1]);
    uplink_stream_ops.pressure(&t.u[0], true);
    cr_assert(t.f.conns[0].paused);
    cr_assert(!t.f.conns[1].paused);
    say_redirect(0, session[0], "w2");
    cr_assert(!t.f.conns[0].paused, "it is elsewhere now");
    say_redirect(1, session[1], "w0");
    cr_assert(t.f.conns[1].paused);
    uplink_stream_ops.pressure(&t.u[0], false);
    cr_assert(!t.f.conns[1].paused);
    cr_assert(a->session);
}

Test(relay_worlds, a_link_that_is_full_gets_no_new_sessions)
{
    uint64_t session;

    uplink_stream_ops.pressure(&t.u[0], true);
    login(0, 1, &session);
    uplink_stream_ops.pressure(&t.u[1], true);
    uplink_stream_ops.pressure(&t.u[2], true);
    fake_connect(&t.f, 1); /* unless all are */
    fake_feed_request(clients_find(&t.f.all, 1), CMD_LOGIN_REQ, 1);
    cr_assert_eq(t.links[0]->sessions + t.links[2]->sessions, 1);
}

Test(relay_worlds, who_ends_asks_for_its_last_answers_where_it_is_now)
{
    uint64_t session;
    struct client *c = login(0, 0, &session);

    fake_feed(c, "\0\0\0\0", 4); /* no frame has length 0 */
    cr_assert_eq(told(0, LINK_CLOSE).session, session);
    say_redirect(0, session, "w1");
    told(0, LINK_LEFT);
    told(1, LINK_ATTACH);
    cr_assert_neq(told(1, LINK_CLOSE).code, 0);
}

Test(relay_worlds, there_is_room_for_so_many_and_no_more)
{
    struct relay_link *link;

    for (uint32_t i = WORLDS; i < RELAY_LINKS_MAX; i++)
        cr_assert_eq(relay_link_add(&t.r, &t.u[0], &link), 0);
    cr_assert_eq(relay_link_add(&t.r, &t.u[0], &link), E_FULL);
}

Test(relay_worlds, a_world_that_comes_has_who_waited_for_a_full_one_read_again)
{
    fake_connect(&t.f, 0);
    down(1);
    down(2);
    uplink_stream_ops.pressure(&t.u[0], true);
    cr_assert(t.f.conns[0].paused, "all that there are are full");
    up(1);
    cr_assert(!t.f.conns[0].paused);
    cr_assert(!t.f.all.paused, "nor are those who come now");
    uplink_stream_ops.pressure(&t.u[0], false);
    cr_assert(!t.f.conns[0].paused);
}
