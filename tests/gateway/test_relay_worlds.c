/* tests/gateway/test_relay_worlds.c: a relay with links to several worlds. */
#include "tests/gateway/worlds_rig.h"
#include "tests/leak.h"

#include "common/err.h"

#include <criterion/criterion.h>

TestSuite(relay_worlds, .init = wrig_setup, .fini = wrig_teardown);

Test(relay_worlds, sessions_are_spread_and_stay_where_they_are)
{
    uint64_t session[4];
    struct client *c[4];

    for (uint32_t i = 0; i < 4; i++)
        c[i] = wrig_login(i, i % WRIG_WORLDS, &session[i]);
    fake_feed_request(c[1], CMD_MOVE_REQ, 5);
    cr_assert_eq(wrig_told(1, LINK_DATA).session, session[1]);
    wrig_silent(0);
    wrig_silent(2);
    cr_assert_eq(wrig.links[0]->sessions, 2);
    cr_assert_eq(wrig.r.sessions, 4);
}

Test(relay_worlds, a_redirect_takes_a_session_along_with_nothing_lost_or_doubled)
{
    uint64_t session;
    struct client *c = wrig_login(0, 0, &session);
    struct link_frame f;

    fake_feed_request(c, CMD_MOVE_REQ, 5);
    wrig_told(0, LINK_DATA);
    wrig_say_moved(0, session, 5);
    wrig_say_redirect(0, session, "w2");
    cr_assert_eq(wrig_told(0, LINK_LEFT).session, session);
    f = wrig_told(2, LINK_ATTACH);
    cr_assert_eq(f.session, session);
    cr_assert_eq(f.entity, 7);
    cr_assert_eq(f.count, 3);
    cr_assert(span_equal(f.note, span_text("note")));
    cr_assert(span_equal(f.text, span_text("127.0.0.1:50000")));
    fake_feed_request(c, CMD_MOVE_REQ, 6);
    cr_assert_eq(wrig_told(2, LINK_DATA).session, session);
    wrig_silent(0);
    wrig_say_moved(2, session, 6);
    wrig_got_move(0, 5);
    wrig_got_move(0, 6);
    cr_assert(fake_told_nothing(&wrig.f.conns[0]));
    cr_assert_eq(wrig.links[0]->sessions, 0);
    cr_assert_eq(wrig.links[2]->sessions, 1);
    cr_assert_eq(wrig.f.metrics.redirects, 1);
}

Test(relay_worlds, what_the_old_world_says_after_a_redirect_is_stale)
{
    uint64_t session;

    wrig_login(0, 0, &session);
    wrig_say_redirect(0, session, "w1");
    wrig_say_moved(0, session, 9);
    cr_assert(fake_told_nothing(&wrig.f.conns[0]));
    cr_assert_eq(wrig.f.metrics.stale_data, 1);
    wrig_say_redirect(0, session, "w2"); /* nor does it say where to again */
    wrig_told(0, LINK_LEFT);
    wrig_told(0, LINK_CLOSE);
    wrig_told(0, LINK_LEFT);
    wrig_told(1, LINK_ATTACH);
    wrig_silent(1);
    wrig_silent(2);
}

Test(relay_worlds, a_session_comes_back_to_a_world_that_had_it_before)
{
    uint64_t session;
    struct client *c = wrig_login(0, 0, &session);

    wrig_say_redirect(0, session, "w1");
    wrig_say_redirect(1, session, "w0");
    wrig_told(0, LINK_LEFT);
    wrig_told(0, LINK_ATTACH);
    wrig_told(1, LINK_ATTACH);
    wrig_told(1, LINK_LEFT);
    fake_feed_request(c, CMD_MOVE_REQ, 2);
    wrig_told(0, LINK_DATA);
    wrig_silent(1);
    cr_assert_eq(wrig.r.sessions, 1);
}

Test(relay_worlds, who_does_not_drain_is_told_of_at_the_new_world)
{
    uint64_t session;
    struct client *c = wrig_login(0, 0, &session);

    client_stream_ops.pressure(c, true);
    wrig_told(0, LINK_CONGESTION);
    wrig_say_redirect(0, session, "w1");
    wrig_told(1, LINK_ATTACH);
    cr_assert(wrig_told(1, LINK_CONGESTION).on);
    client_stream_ops.pressure(c, false);
    cr_assert(!wrig_told(1, LINK_CONGESTION).on);
    wrig_told(0, LINK_LEFT);
    wrig_silent(0);
}

Test(relay_worlds, a_lost_world_concerns_those_who_were_there_alone)
{
    uint64_t session[2];
    struct client *a = wrig_login(0, 0, &session[0]), *b = wrig_login(1, 1, &session[1]);

    wrig_down(0);
    cr_assert(fake_told_error(&wrig.f.conns[0], PE_UNAVAILABLE, 0, 0));
    cr_assert(fake_told_nothing(&wrig.f.conns[1]));
    cr_assert(wrig.f.all.world_up);
    relay_step(&wrig.r, 100);
    cr_assert_eq(wrig_told(2, LINK_BIND).n_bodies, 0);
    cr_assert_eq(wrig.links[2]->sessions, 1);
    fake_feed_request(a, CMD_MOVE_REQ, 2);
    wrig_told(2, LINK_DATA);
    fake_feed_request(b, CMD_MOVE_REQ, 2);
    wrig_told(1, LINK_DATA);
    cr_assert_eq(wrig.f.metrics.told_unavailable, 1);
    wrig_up(0);
    wrig_silent(0); /* nobody is taken from where it is */
}

Test(relay_worlds, when_the_last_is_lost_all_are_told_and_when_one_comes_all_are_bound)
{
    uint64_t session[2];

    wrig_login(0, 0, &session[0]);
    wrig_login(1, 1, &session[1]);
    fake_connect(&wrig.f, 2);
    wrig_down(2);
    wrig_down(0);
    cr_assert(fake_told_error(&wrig.f.conns[0], PE_UNAVAILABLE, 0, 0));
    cr_assert(fake_told_nothing(&wrig.f.conns[2]));
    wrig_down(1);
    for (uint32_t i = 0; i < 3; i++)
        cr_assert(fake_told_error(&wrig.f.conns[i], PE_UNAVAILABLE, 0, 0));
    cr_assert(!wrig.f.all.world_up);
    cr_assert_eq(wrig.r.sessions, 0);
    wrig_up(2);
    wrig_told(2, LINK_BIND);
    wrig_told(2, LINK_BIND);
    wrig_silent(2);
}

Test(relay_worlds, a_full_link_stops_the_reading_of_its_own_clients)
{
    uint64_t session[2];
    struct client *a = wrig_login(0, 0, &session[0]);

    wrig_login(1, 1, &session[1]);
    uplink_stream_ops.pressure(&wrig.u[0], true);
    cr_assert(wrig.f.conns[0].paused);
    cr_assert(!wrig.f.conns[1].paused);
    wrig_say_redirect(0, session[0], "w2");
    cr_assert(!wrig.f.conns[0].paused, "it is elsewhere now");
    wrig_say_redirect(1, session[1], "w0");
    cr_assert(wrig.f.conns[1].paused);
    uplink_stream_ops.pressure(&wrig.u[0], false);
    cr_assert(!wrig.f.conns[1].paused);
    cr_assert(a->session);
}

Test(relay_worlds, a_link_that_is_full_gets_no_new_sessions)
{
    uint64_t session;

    uplink_stream_ops.pressure(&wrig.u[0], true);
    wrig_login(0, 1, &session);
    uplink_stream_ops.pressure(&wrig.u[1], true);
    uplink_stream_ops.pressure(&wrig.u[2], true);
    fake_connect(&wrig.f, 1); /* unless all are */
    fake_feed_request(clients_find(&wrig.f.all, 1), CMD_LOGIN_REQ, 1);
    cr_assert_eq(wrig.links[0]->sessions + wrig.links[2]->sessions, 1);
}

Test(relay_worlds, who_ends_asks_for_its_last_answers_where_it_is_now)
{
    uint64_t session;
    struct client *c = wrig_login(0, 0, &session);

    fake_feed(c, "\0\0\0\0", 4); /* no frame has length 0 */
    cr_assert_eq(wrig_told(0, LINK_CLOSE).session, session);
    wrig_say_redirect(0, session, "w1");
    wrig_told(0, LINK_LEFT);
    wrig_told(1, LINK_ATTACH);
    cr_assert_neq(wrig_told(1, LINK_CLOSE).code, 0);
}

Test(relay_worlds, there_is_room_for_so_many_and_no_more)
{
    struct relay_link *link;

    for (uint32_t i = WRIG_WORLDS; i < RELAY_LINKS_MAX; i++)
        cr_assert_eq(relay_link_add(&wrig.r, &wrig.u[0], (struct span){0}, &link), 0);
    cr_assert_eq(relay_link_add(&wrig.r, &wrig.u[0], (struct span){0}, &link), E_FULL);
}

Test(relay_worlds, a_world_that_comes_has_who_waited_for_a_full_one_read_again)
{
    fake_connect(&wrig.f, 0);
    wrig_down(1);
    wrig_down(2);
    uplink_stream_ops.pressure(&wrig.u[0], true);
    cr_assert(wrig.f.conns[0].paused, "all that there are are full");
    wrig_up(1);
    cr_assert(!wrig.f.conns[0].paused);
    cr_assert(!wrig.f.all.paused, "nor are those who come now");
    uplink_stream_ops.pressure(&wrig.u[0], false);
    cr_assert(!wrig.f.conns[0].paused);
}
