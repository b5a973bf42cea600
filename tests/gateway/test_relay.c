/* tests/gateway/test_relay.c: sessions and routes between fake clients and a fake world. */
#include "gateway/relay.h"

#include "common/err.h"
#include "tests/gateway/relay_rig.h"
#include "tests/leak.h"

#include <criterion/criterion.h>
#include <string.h>

TestSuite(relay, .init = relay_rig_setup, .fini = relay_rig_teardown);

/* --- up ------------------------------------------------------------------------------------ */

Test(relay, a_session_opens_at_the_first_request_and_closes_with_the_connection)
{
    relay_rig_world_up();
    struct client *c = fake_connect(&relay_rig.f, 0);
    fake_feed_request(c, CMD_PING_REQ, 1);
    relay_rig_expect_silence();

    fake_feed_request(c, CMD_LOGIN_REQ, 2);
    const uint64_t session = relay_rig_expect_open();
    cr_assert_eq((uint32_t)session, c->slot);
    relay_rig_expect_data(session, 1);
    fake_feed_request(c, CMD_LEAVE_REQ, 3);
    relay_rig_expect_data(session, 1);
    cr_assert_eq(relay_rig.r.sessions, 1);

    client_stream_ops.closed(c, STREAM_RESET);
    relay_rig_expect_close(session);
    relay_rig_expect_silence();
    cr_assert_eq(relay_rig.r.sessions, 0);
}

Test(relay, a_connection_without_a_session_ends_without_a_word_to_the_world)
{
    relay_rig_world_up();
    client_stream_ops.closed(fake_connect(&relay_rig.f, 0), STREAM_EOF);
    relay_rig_expect_silence();
}

Test(relay, pipelined_requests_are_one_link_frame_in_order)
{
    uint8_t stream[1024];
    size_t n = 0;
    struct link_frame frame;

    relay_rig_world_up();
    struct client *c = fake_connect(&relay_rig.f, 0);
    for (uint32_t i = 1; i <= 8; i++)
        n = fake_request(stream, n, sizeof(stream), CMD_LEAVE_REQ, i);
    fake_feed(c, stream, n);
    relay_rig_expect_open();
    cr_assert(fake_link_told(&relay_rig.world, &frame));
    cr_assert_eq(frame.n_bodies, 8);
    for (uint32_t i = 0; i < 8; i++)
        cr_assert_eq(frame.bodies[i].p[2], i + 1);
    cr_assert_eq(relay_rig.world.writes, 2, "hello, then one write");
}

Test(relay, congestion_is_told_to_the_world)
{
    struct link_frame frame;

    relay_rig_world_up();
    struct client *c = fake_connect(&relay_rig.f, 0);
    const uint64_t session = relay_rig_login(c, 0);
    client_stream_ops.pressure(c, true);
    cr_assert(fake_link_told(&relay_rig.world, &frame));
    cr_assert_eq(frame.kind, LINK_CONGESTION);
    cr_assert_eq(frame.session, session);
    cr_assert(frame.on);
    client_stream_ops.pressure(c, false);
    cr_assert(fake_link_told(&relay_rig.world, &frame));
    cr_assert(!frame.on);
}

Test(relay, a_session_that_opens_while_its_client_is_congested_says_so)
{
    struct link_frame frame;

    relay_rig_world_up();
    struct client *c = fake_connect(&relay_rig.f, 0);
    client_stream_ops.pressure(c, true);
    relay_rig_expect_silence();
    fake_feed_request(c, CMD_LOGIN_REQ, 1);
    const uint64_t session = relay_rig_expect_open();
    cr_assert(fake_link_told(&relay_rig.world, &frame));
    cr_assert_eq(frame.kind, LINK_CONGESTION);
    cr_assert(frame.on);
    relay_rig_expect_data(session, 1);
}

/* --- down ---------------------------------------------------------------------------------- */

Test(relay, bodies_of_one_data_frame_reach_the_client_in_order_as_they_are)
{
    const struct span bodies[] = {span_text("\x93\x22\x00one"), span_text("\x93\x22\x00two"),
                                  span_text("anything")};
    struct span_writer w = relay_rig_writer();

    relay_rig_world_up();
    struct client *c = fake_connect(&relay_rig.f, 0);
    const uint64_t session = relay_rig_login(c, 0);
    const size_t from = relay_rig.f.conns[0].len;
    link_write_data(&w, session, bodies, 3);
    relay_rig_say(&w);
    size_t at = from;
    for (int i = 0; i < 3; i++) {
        const uint8_t *out = relay_rig.f.conns[0].out + at;
        cr_assert_eq(span_be32(out), bodies[i].n);
        cr_assert_eq(memcmp(out + 4, bodies[i].p, bodies[i].n), 0);
        at += 4 + bodies[i].n;
    }
    cr_assert_eq(at, relay_rig.f.conns[0].len);
}

Test(relay, data_for_many_reaches_each_and_unknown_ones_are_closed)
{
    struct message m, notify = {.cmd = CMD_SAY_NOTIFY};
    uint8_t body[128];
    struct span_writer b = span_writer_of(body, sizeof(body)), w = relay_rig_writer();

    relay_rig_world_up();
    const uint64_t first = relay_rig_login(fake_connect(&relay_rig.f, 0), 0);
    const uint64_t second = relay_rig_login(fake_connect(&relay_rig.f, 1), 1);
    notify.say_notify.id = 1;
    notify.say_notify.text = span_text("hello");
    message_write(&b, &notify);
    const uint64_t sessions[] = {second, first + (1ull << 32), first, 1ull << 63, 0};
    link_write_data_many(&w, sessions, 5, span_written(&b));
    relay_rig_say(&w);
    for (uint32_t i = 0; i < 2; i++) {
        cr_assert(fake_told(&relay_rig.f.conns[i], &m));
        cr_assert_eq(m.cmd, CMD_SAY_NOTIFY);
        cr_assert(fake_told_nothing(&relay_rig.f.conns[i]));
    }
    relay_rig_expect_close(first + (1ull << 32));
    relay_rig_expect_close(1ull << 63);
    relay_rig_expect_close(0);
    relay_rig_expect_silence();
    cr_assert_eq(relay_rig.f.metrics.stale_data, 3);
}

Test(relay, a_late_body_never_reaches_the_slots_next_client)
{
    relay_rig_world_up();
    struct client *old = fake_connect(&relay_rig.f, 0);
    const uint64_t session = relay_rig_login(old, 0);
    client_drop(old, CLIENT_END_RESET);
    clients_reap(&relay_rig.f.all);
    relay_rig_expect_close(session);

    struct client *next = fake_connect(&relay_rig.f, 1);
    fake_feed_request(next, CMD_LOGIN_REQ, 1);
    const uint64_t fresh = relay_rig_expect_open();
    cr_assert_eq((uint32_t)fresh, (uint32_t)session, "the same slot");
    cr_assert_neq(fresh, session);
    relay_rig_expect_data(fresh, 1);

    relay_rig_say_login(session);
    relay_rig_say_close(session, PE_KICKED, "late");
    cr_assert(fake_told_nothing(&relay_rig.f.conns[1]));
    cr_assert(!next->logged_in);
    cr_assert_eq(relay_rig.f.metrics.stale_data, 1);
    cr_assert_eq(relay_rig.f.metrics.stale_close, 1);
    relay_rig_expect_close(session);
    relay_rig_expect_silence();
}

Test(relay, a_close_with_a_code_is_a_bye_with_its_reason)
{
    struct message m;

    relay_rig_world_up();
    struct client *c = fake_connect(&relay_rig.f, 0);
    const uint64_t session = relay_rig_login(c, 0);
    relay_rig_say_close(session, PE_KICKED, "be nice");
    cr_assert(fake_told(&relay_rig.f.conns[0], &m));
    cr_assert_eq(m.cmd, CMD_BYE);
    cr_assert_eq(m.bye.code, PE_KICKED);
    cr_assert(span_equal(m.bye.reason, span_text("be nice")));
    cr_assert(relay_rig.f.conns[0].finished);
    cr_assert_eq(relay_rig.f.metrics.closed_world, 1);
    relay_rig_expect_silence();
}

/* A whole frame whose body is none. */
static const uint8_t bad_frame[] = {0, 0, 0, 1, 0xc1};

static uint64_t part(struct client *c, uint32_t i)
{
    struct link_frame frame;
    const uint64_t session = relay_rig_login(c, i);

    fake_feed_request(c, CMD_MOVE_REQ, 2);
    relay_rig_expect_data(session, 1);
    fake_feed(c, bad_frame, sizeof(bad_frame));
    cr_assert(fake_link_told(&relay_rig.world, &frame));
    cr_assert_eq(frame.kind, LINK_CLOSE);
    cr_assert_eq(frame.session, session);
    cr_assert_eq(frame.code, PE_BAD_FRAME, "an answer is wanted");
    return session;
}

Test(relay, a_bye_for_a_bad_frame_comes_behind_the_answers_in_flight)
{
    struct message m;

    relay_rig_world_up();
    struct client *c = fake_connect(&relay_rig.f, 0);
    const uint64_t session = part(c, 0);
    fake_feed_request(c, CMD_MOVE_REQ, 3);
    relay_rig_expect_silence();
    cr_assert(!fake_told(&relay_rig.f.conns[0], &m), "no Bye yet");
    relay_rig_say_moved(session, 2);
    cr_assert(fake_told(&relay_rig.f.conns[0], &m));
    cr_assert_eq(m.cmd, CMD_MOVE_RESP);
    relay_rig_say_close(session, 0, "");
    cr_assert(fake_told(&relay_rig.f.conns[0], &m));
    cr_assert_eq(m.cmd, CMD_BYE);
    cr_assert_eq(m.bye.code, PE_BAD_FRAME);
    cr_assert_eq(relay_rig.r.sessions, 0);
    cr_assert_eq(relay_rig.f.metrics.closed_bad_frame, 1);
    relay_rig_expect_silence();
}

Test(relay, a_bye_does_not_wait_for_ever_for_answers_nor_for_a_world_that_is_lost)
{
    struct message m;

    relay_rig_world_up();
    struct client *c = fake_connect(&relay_rig.f, 0), *other = fake_connect(&relay_rig.f, 1);
    const uint64_t session = part(c, 0);
    clients_step(&relay_rig.f.all, CLIENT_PART_MS / 2);
    cr_assert(!fake_told(&relay_rig.f.conns[0], &m));
    clients_step(&relay_rig.f.all, CLIENT_PART_MS);
    cr_assert(fake_told(&relay_rig.f.conns[0], &m) && m.cmd == CMD_BYE);
    relay_rig_expect_close(session);

    part(other, 1);
    relay_rig_world_down();
    cr_assert(fake_told(&relay_rig.f.conns[1], &m) && m.cmd == CMD_BYE);
}

Test(relay, a_session_that_the_world_does_not_know_is_opened_anew)
{
    relay_rig_world_up();
    struct client *c = fake_connect(&relay_rig.f, 0);
    const uint64_t session = relay_rig_login(c, 0);
    relay_rig_say_close(session, 0, "");
    cr_assert(fake_told_error(&relay_rig.f.conns[0], PE_UNAVAILABLE, 0, 0),
              "what was asked and not answered is lost");
    cr_assert(fake_told_error(&relay_rig.f.conns[0], PE_NOT_LOGGED_IN, 0, 0));
    cr_assert_eq(c->state, CLIENT_OPEN);
    cr_assert(!c->logged_in);
    cr_assert_eq(relay_rig.f.metrics.unknown_sessions, 1);
    relay_rig_expect_silence();

    fake_feed_request(c, CMD_LOGIN_REQ, 2);
    const uint64_t fresh = relay_rig_expect_open();
    cr_assert_neq(fresh, session);
    relay_rig_expect_data(fresh, 1);
}

Test(relay, who_was_not_logged_in_is_told_of_what_is_lost_alone)
{
    relay_rig_world_up();
    struct client *c = fake_connect(&relay_rig.f, 0);
    fake_feed_request(c, CMD_ENTER_REQ, 1);
    relay_rig_say_close(relay_rig_expect_open(), 0, "");
    cr_assert(fake_told_error(&relay_rig.f.conns[0], PE_UNAVAILABLE, 0, 0));
    cr_assert(fake_told_nothing(&relay_rig.f.conns[0]));
}

/* --- the world goes and comes -------------------------------------------------------------- */

Test(relay, a_lost_world_is_told_to_every_client_and_its_return_to_those_logged_in)
{
    relay_rig_world_up();
    struct client *in = fake_connect(&relay_rig.f, 0), *out = fake_connect(&relay_rig.f, 1);
    const uint64_t session = relay_rig_login(in, 0);
    relay_rig_world_down();
    for (uint32_t i = 0; i < 2; i++) {
        cr_assert(fake_told_error(&relay_rig.f.conns[i], PE_UNAVAILABLE, 0, 0));
        cr_assert(fake_told_nothing(&relay_rig.f.conns[i]));
    }
    cr_assert_eq(relay_rig.f.metrics.told_unavailable, 2);
    cr_assert_eq(relay_rig.r.sessions, 0);

    fake_feed_request(in, CMD_MOVE_REQ, 5);
    cr_assert(fake_told_error(&relay_rig.f.conns[0], PE_UNAVAILABLE, 5, CMD_MOVE_REQ));

    relay_rig_world_up();
    cr_assert(fake_told_error(&relay_rig.f.conns[0], PE_NOT_LOGGED_IN, 0, 0));
    cr_assert(fake_told_nothing(&relay_rig.f.conns[0]));
    cr_assert(fake_told_nothing(&relay_rig.f.conns[1]));
    cr_assert_eq(relay_rig.f.metrics.told_login, 1);
    cr_assert(!in->logged_in);
    relay_rig_expect_silence();

    fake_feed_request(in, CMD_LOGIN_REQ, 6);
    const uint64_t fresh = relay_rig_expect_open();
    cr_assert_neq(fresh, session);
    relay_rig_expect_data(fresh, 1);
    cr_assert_eq(in->state, CLIENT_OPEN);
    cr_assert_eq(out->state, CLIENT_OPEN);
}

Test(relay, a_second_loss_tells_only_13_to_who_has_not_logged_in_again)
{
    relay_rig_world_up();
    relay_rig_login(fake_connect(&relay_rig.f, 0), 0);
    relay_rig_world_down();
    relay_rig_world_up();
    relay_rig_world_down();
    relay_rig_world_up();
    cr_assert(fake_told_error(&relay_rig.f.conns[0], PE_UNAVAILABLE, 0, 0));
    cr_assert(fake_told_error(&relay_rig.f.conns[0], PE_NOT_LOGGED_IN, 0, 0));
    cr_assert(fake_told_error(&relay_rig.f.conns[0], PE_UNAVAILABLE, 0, 0));
    cr_assert(fake_told_nothing(&relay_rig.f.conns[0]));
}

Test(relay, ids_of_the_lost_link_are_stale_on_the_next)
{
    relay_rig_world_up();
    const uint64_t session = relay_rig_login(fake_connect(&relay_rig.f, 0), 0);
    relay_rig_world_down();
    relay_rig_world_up();
    relay_rig.f.conns[0].read = relay_rig.f.conns[0].len;
    relay_rig_say_moved(session, 9);
    cr_assert(fake_told_nothing(&relay_rig.f.conns[0]));
    relay_rig_expect_close(session);
    cr_assert_eq(relay_rig.f.metrics.stale_data, 1);
}

Test(relay, a_full_link_stops_all_reading_until_it_drains)
{
    relay_rig_world_up();
    fake_connect(&relay_rig.f, 0);
    fake_connect(&relay_rig.f, 1);
    uplink_stream_ops.pressure(&relay_rig.u, true);
    cr_assert(relay_rig.f.conns[0].paused);
    cr_assert(relay_rig.f.conns[1].paused);
    cr_assert_eq(relay_rig.f.metrics.link_pauses, 1);
    uplink_stream_ops.pressure(&relay_rig.u, false);
    cr_assert(!relay_rig.f.conns[0].paused);
    cr_assert(!relay_rig.f.conns[1].paused);
}

Test(relay, a_full_link_that_is_lost_lets_clients_be_read_again)
{
    relay_rig_world_up();
    fake_connect(&relay_rig.f, 0);
    uplink_stream_ops.pressure(&relay_rig.u, true);
    relay_rig_world_down();
    cr_assert(!relay_rig.f.conns[0].paused);
}

Test(relay, past_the_links_hard_limit_requests_are_unavailable_and_the_loss_is_told)
{
    relay_rig_world_up();
    struct client *c = fake_connect(&relay_rig.f, 0);
    relay_rig_login(c, 0);
    relay_rig.world.hard = relay_rig.world.queued + 1;
    fake_feed_request(c, CMD_MOVE_REQ, 2);
    fake_feed_request(c, CMD_MOVE_REQ, 3);
    cr_assert(fake_told_error(&relay_rig.f.conns[0], PE_UNAVAILABLE, 3, CMD_MOVE_REQ));
    relay_rig_step();
    cr_assert(fake_told_error(&relay_rig.f.conns[0], PE_UNAVAILABLE, 0, 0));
    cr_assert_eq(relay_rig.f.metrics.down_queue, 1);
}

Test(relay, a_client_past_its_hard_limit_ends_and_so_does_its_session)
{
    struct message m;

    relay_rig_world_up();
    struct client *c = fake_connect(&relay_rig.f, 0);
    const uint64_t session = relay_rig_login(c, 0);
    relay_rig.f.all.limits.queue_hard = relay_rig.f.conns[0].queued + 80;
    for (uint32_t i = 0; i < 5; i++)
        relay_rig_say_moved(session, i);
    relay_rig_expect_close(session);
    cr_assert_eq(relay_rig.f.metrics.closed_queue, 1);
    cr_assert(fake_told(&relay_rig.f.conns[0], &m));
    cr_assert(fake_told(&relay_rig.f.conns[0], &m));
    cr_assert_eq(m.cmd, CMD_MOVE_RESP);
    cr_assert(fake_told_bye(&relay_rig.f.conns[0], PE_SLOW));
    cr_assert_eq(relay_rig.f.metrics.stale_data, 2, "what comes after is stale");
}

Test(relay, the_login_deadline_begins_anew_when_the_world_is_back)
{
    struct client *c = fake_connect(&relay_rig.f, 0);

    relay_rig.f.all.limits.idle_ms = 0;
    fake_pass(&relay_rig.f, 100000);
    relay_rig_world_up();
    fake_pass(&relay_rig.f, 30000);
    cr_assert_eq(c->state, CLIENT_OPEN);
    fake_pass(&relay_rig.f, 200);
    cr_assert_eq(relay_rig.f.metrics.closed_login, 1);
}

Test(relay, cmd_is_read_in_every_form)
{
    cr_assert(relay_body_is(span_of("\x93\x02\x01\xc0", 4), 2));
    cr_assert(relay_body_is(span_of("\x93\xcc\x02\x01\xc0", 5), 2));
    cr_assert(relay_body_is(span_of("\x93\xcd\x00\x02\x01\xc0", 6), 2));
    cr_assert(relay_body_is(span_of("\x93\xce\x00\x00\x00\x02", 6), 2));
    cr_assert(!relay_body_is(span_of("\x93\x22\x01\xc0", 4), 2));
    cr_assert(!relay_body_is(span_of("\x92\x02\x01", 3), 2));
    cr_assert(!relay_body_is(span_of("\x93\xcd\x00", 3), 2));
    cr_assert(!relay_body_is(span_of("\x93\xce\x00\x00\x00", 5), 2));
    cr_assert(!relay_body_is(span_of("\x93", 1), 2));
    cr_assert(!relay_body_is((struct span){0}, 2));
}

Test(relay, nothing_is_left_behind)
{
    relay_rig_world_up();
    relay_rig_login(fake_connect(&relay_rig.f, 0), 0);
    relay_rig_world_down();
    relay_rig_teardown();
    TEST_NO_LEAKS();
    relay_rig_setup();
}
