/* tests/gateway/test_relay_wait.c: sessions on their way between worlds that come and go. */
#include "tests/gateway/worlds_rig.h"
#include "tests/leak.h"

#include <criterion/criterion.h>

TestSuite(relay_wait, .init = wrig_setup, .fini = wrig_teardown);

#define STEP_MS 100

static void pass(uint32_t ms)
{
    for (uint32_t at = 0; at < ms; at += STEP_MS)
        relay_step(&wrig.r, STEP_MS);
}

static void unavailable(uint32_t i)
{
    cr_assert(fake_told_error(&wrig.f.conns[i], PE_UNAVAILABLE, 0, 0));
}

Test(relay_wait, who_is_handed_to_a_world_that_is_away_waits_for_it_unread)
{
    uint64_t session;
    struct link_frame f;

    wrig_down(2);
    struct client *c = wrig_login(0, 0, &session);
    wrig_say_redirect(0, session, "w2");
    cr_assert_eq(wrig_told(0, LINK_LEFT).session, session);
    cr_assert(wrig.f.conns[0].paused);
    cr_assert_eq(wrig.r.n_waits, 1);
    pass(RELAY_WAIT_MS - STEP_MS);
    wrig_up(2);
    pass(STEP_MS);
    f = wrig_told(2, LINK_ATTACH);
    cr_assert_eq(wrig.f.metrics.redirects_waited, 1);
    cr_assert_eq(f.session, session);
    cr_assert_eq(f.entity, 7);
    cr_assert_eq(f.count, 3);
    cr_assert(!wrig.f.conns[0].paused);
    fake_feed_request(c, CMD_MOVE_REQ, 6);
    cr_assert_eq(wrig_told(2, LINK_DATA).session, session);
    cr_assert(fake_told_nothing(&wrig.f.conns[0]));
    cr_assert_eq(wrig.r.n_waits, 0);
    wrig_silent(0);
    wrig_silent(1);
}

Test(relay_wait, who_waits_in_vain_is_bound_by_its_note)
{
    uint64_t session;
    struct client *c = wrig_login(0, 0, &session);
    struct link_frame f;

    wrig_say_redirect(0, session, "w9");
    wrig_told(0, LINK_LEFT);
    pass(RELAY_WAIT_MS - STEP_MS);
    cr_assert(fake_told_nothing(&wrig.f.conns[0]));
    cr_assert(c->waits);
    pass(STEP_MS);
    unavailable(0);
    f = wrig_told(0, LINK_BIND);
    cr_assert_neq(f.session, session);
    cr_assert(span_equal(f.note, span_text("note")));
    cr_assert(c->logged_in);
    cr_assert(!wrig.f.conns[0].paused);
    cr_assert_eq(wrig.f.metrics.redirects_lost, 1);
    cr_assert_eq(wrig.f.metrics.binds_elsewhere, 1);
    cr_assert_eq(wrig.r.n_waits, 0);
}

Test(relay_wait, one_may_wait_for_a_world_that_is_not_known_yet)
{
    struct relay_link *link;
    struct uplink u = wrig.u[0];
    uint64_t session;

    wrig_login(0, 0, &session);
    wrig_say_redirect(0, session, "w9");
    pass(STEP_MS);
    cr_assert_eq(relay_link_add(&wrig.r, &u, span_text("w9"), &link), 0);
    cr_assert_eq(link->waits, 1);
    pass(STEP_MS);
    cr_assert(fake_told_nothing(&wrig.f.conns[0]));
    relay_link_remove(link);
    cr_assert_eq(relay_link_add(&wrig.r, &u, span_text("w9"), &link), 0);
    cr_assert_eq(link->waits, 1, "nor does it lose its place when the world's address changes");
}

Test(relay_wait, a_place_that_nobody_waits_for_is_free_again)
{
    uint64_t session;
    char id[8];

    struct client *c = wrig_login(0, 0, &session);
    for (uint32_t i = 0; i < 3 * RELAY_LINKS_MAX; i++) {
        snprintf(id, sizeof(id), "x%u", i);
        wrig_say_redirect(c->session ? wrig_at() : 0, (uint64_t)wrig.r.gen[0] << 32, id);
        cr_assert(c->waits);
        pass(RELAY_WAIT_MS + RELAY_PACE_MS);
        cr_assert(c->session);
    }
    cr_assert_leq(wrig.r.n_links, WRIG_WORLDS + 1);
}

Test(relay_wait, where_there_is_no_place_it_is_bound_at_once)
{
    struct relay_link *link;
    uint64_t session;

    wrig_login(0, 0, &session);
    for (uint32_t i = WRIG_WORLDS; i < RELAY_LINKS_MAX; i++)
        cr_assert_eq(relay_link_add(&wrig.r, &wrig.u[0], (struct span){0}, &link), 0);
    wrig_say_redirect(0, session, "w9");
    unavailable(0);
    wrig_told(0, LINK_LEFT);
    wrig_told(0, LINK_BIND);
    cr_assert_eq(wrig.f.metrics.redirects_lost, 1);
}

Test(relay_wait, a_redirect_without_an_entity_attaches_by_note)
{
    uint64_t session;
    struct link_frame f;

    wrig_login(0, 0, &session);
    wrig_say_bind(0, session, "w1");
    f = wrig_told(1, LINK_ATTACH);
    cr_assert_eq(f.session, session);
    cr_assert_eq(f.entity, 0);
    cr_assert_eq(f.count, 0);
    cr_assert(span_equal(f.note, span_text("note")));
    cr_assert(fake_told_nothing(&wrig.f.conns[0]));
}

Test(relay_wait, one_that_has_not_been_logged_in_yet_keeps_its_note_on_the_way)
{
    struct client *c = fake_connect(&wrig.f, 0);
    uint64_t session;
    struct link_frame f;

    fake_feed_request(c, CMD_LOGIN_REQ, 1);
    session = wrig_told(0, LINK_OPEN).session;
    wrig_say_note(0, session, "who");
    wrig_say_bind(0, session, "w1");
    f = wrig_told(1, LINK_ATTACH);
    cr_assert(span_equal(f.note, span_text("who")));
    cr_assert(fake_told_nothing(&wrig.f.conns[0]));
}

Test(relay_wait, two_worlds_that_send_one_back_and_forth_do_so_at_a_bounded_pace)
{
    uint64_t session;
    uint32_t attached = 0;

    wrig_login(0, 0, &session);
    for (uint32_t ms = 0; ms < 10000; ms += STEP_MS) {
        for (uint32_t world = 0; world < 2; world++) {
            struct link_frame f;

            while (fake_link_told(&wrig.world[world], &f))
                attached += f.kind == LINK_ATTACH;
        }
        if (wrig.r.clients->by_slot[0]->session)
            wrig_say_bind(wrig_at(), session, wrig_at() == 0 ? "w1" : "w0");
        relay_step(&wrig.r, STEP_MS);
    }
    cr_assert_leq(attached, 1 + 10000 / RELAY_PACE_MS);
    cr_assert_geq(attached, 10, "and yet it goes on");
    cr_assert(fake_told_nothing(&wrig.f.conns[0]));
}

Test(relay_wait, hand_overs_are_not_paced)
{
    uint64_t session;

    wrig_login(0, 0, &session);
    for (uint32_t i = 0; i < 10; i++) {
        wrig_say_redirect(i % 2, session, i % 2 ? "w0" : "w1");
        cr_assert_eq(wrig.r.n_waits, 0);
        cr_assert_eq(wrig_at(), (i + 1) % 2);
    }
}

Test(relay_wait, who_is_sent_away_is_bound_anywhere_but_there)
{
    uint64_t session[3];
    struct link_frame f;

    wrig_login(0, 0, &session[0]);
    wrig_login(1, 1, &session[1]);
    wrig_login(2, 2, &session[2]);
    wrig_say_bind(0, session[0], "");
    unavailable(0);
    wrig_told(0, LINK_LEFT);
    wrig_silent(0);
    f = wrig_told(1, LINK_BIND);
    cr_assert(span_equal(f.note, span_text("note")));
    cr_assert_neq(f.session, session[0]);
    cr_assert_eq(wrig.f.metrics.redirects_away, 1);
    wrig_say_bind(1, f.session, "");
    unavailable(0);
    cr_assert_eq(wrig.r.n_waits, 1, "this soon it waits its turn");
    pass(RELAY_PACE_MS);
    wrig_told(0, LINK_BIND);
}

Test(relay_wait, where_there_is_no_other_world_it_comes_back_after_a_while)
{
    uint64_t session;

    wrig_down(1);
    wrig_down(2);
    wrig_login(0, 0, &session);
    wrig_say_bind(0, session, "");
    wrig_told(0, LINK_LEFT);
    pass(RELAY_WAIT_MS - STEP_MS);
    wrig_silent(0);
    pass(STEP_MS);
    wrig_told(0, LINK_BIND);
}

Test(relay_wait, who_is_sent_away_without_a_note_is_opened_elsewhere_when_it_asks)
{
    struct client *c = fake_connect(&wrig.f, 0);

    fake_feed_request(c, CMD_LOGIN_REQ, 1);
    wrig_say_bind(0, wrig_told(0, LINK_OPEN).session, "");
    unavailable(0);
    wrig_told(0, LINK_DATA);
    wrig_told(0, LINK_LEFT);
    wrig_silent(1);
    fake_feed_request(c, CMD_LOGIN_REQ, 2);
    wrig_told(1, LINK_OPEN);
    wrig_silent(0);
}

Test(relay_wait, who_is_logged_in_without_a_note_is_told_to_log_in)
{
    uint64_t session;
    struct client *c = wrig_login(0, 0, &session);

    wrig_say_note(0, session, "");
    wrig_say_bind(0, session, "");
    unavailable(0);
    cr_assert(fake_told_error(&wrig.f.conns[0], PE_NOT_LOGGED_IN, 0, 0));
    cr_assert(!c->logged_in);
}

Test(relay_wait, a_world_that_is_removed_has_its_sessions_bound_elsewhere_at_once)
{
    uint64_t session[3];

    for (uint32_t i = 0; i < 3; i++)
        wrig_login(i, i, &session[i]);
    wrig_remove(1);
    unavailable(1);
    cr_assert(fake_told_nothing(&wrig.f.conns[0]));
    cr_assert(fake_told_nothing(&wrig.f.conns[2]));
    wrig_told(0, LINK_BIND);
    cr_assert_eq(wrig.r.sessions, 3);
    wrig_add(1); /* at another address */
    wrig_up(1);
    cr_assert_eq(wrig.links[1]->sessions, 0);
    cr_assert_eq(wrig.r.n_links, WRIG_WORLDS);
}

Test(relay_wait, when_the_last_world_is_removed_all_wait_for_the_next)
{
    uint64_t session;

    wrig_login(0, 0, &session);
    for (uint32_t i = 0; i < WRIG_WORLDS; i++)
        wrig_remove(i);
    unavailable(0);
    cr_assert(!wrig.f.all.world_up);
    wrig_add(1);
    wrig_up(1);
    wrig_told(1, LINK_BIND);
}

Test(relay_wait, a_world_that_was_never_there_is_removed_without_a_word)
{
    uint64_t session;

    wrig_down(1);
    wrig_login(0, 0, &session);
    wrig_remove(1);
    cr_assert(fake_told_nothing(&wrig.f.conns[0]));
    wrig_silent(0);
    wrig_add(1);
}

Test(relay_wait, a_spared_world_gets_no_new_sessions_while_another_takes_them)
{
    uint64_t session;

    wrig.links[0]->spared = true;
    wrig.links[2]->spared = true;
    wrig_login(0, 1, &session);
    wrig_login(1, 1, &session);
    wrig_down(1);
    unavailable(0);
    unavailable(1);
    pass(STEP_MS); /* and one must be served */
    wrig_told(0, LINK_BIND);
}

Test(relay_wait, who_ends_while_it_waits_waits_no_more)
{
    uint64_t session[2];
    struct client *a = wrig_login(0, 0, &session[0]), *b = wrig_login(1, 1, &session[1]);

    wrig_say_redirect(0, session[0], "w9");
    wrig_say_redirect(1, session[1], "w9");
    client_stream_ops.closed(a, STREAM_EOF);
    cr_assert_eq(wrig.r.n_waits, 1);
    cr_assert_eq(wrig.r.waits[wrig.r.ways[b->slot].wait].client, b);
    clients_reap(&wrig.f.all);
    pass(RELAY_WAIT_MS);
    cr_assert_eq(wrig.r.n_waits, 0);
    cr_assert(b->session);
}

Test(relay_wait, who_is_parting_gets_its_bye_in_place_of_a_wait)
{
    uint64_t session;
    struct client *c = wrig_login(0, 0, &session);

    fake_feed(c, "\0\0\0\0", 4); /* no frame has length 0 */
    wrig_told(0, LINK_CLOSE);
    wrig_say_redirect(0, session, "w9");
    cr_assert(fake_told_bye(&wrig.f.conns[0], PE_BAD_FRAME));
    cr_assert_eq(wrig.r.n_waits, 0);
}

Test(relay_wait, when_all_worlds_are_lost_nobody_waits_for_one_in_particular)
{
    uint64_t session;
    struct client *c = wrig_login(0, 0, &session);

    wrig_say_redirect(0, session, "w9");
    for (uint32_t i = 0; i < WRIG_WORLDS; i++)
        wrig_down(i);
    unavailable(0);
    cr_assert(!c->waits);
    cr_assert(!wrig.f.conns[0].paused);
    wrig_up(1);
    wrig_told(1, LINK_BIND);
}

Test(relay_wait, a_full_link_that_drains_does_not_have_the_waiting_read)
{
    uint64_t session;

    wrig_login(0, 0, &session);
    wrig_say_redirect(0, session, "w9");
    uplink_stream_ops.pressure(&wrig.u[1], true);
    uplink_stream_ops.pressure(&wrig.u[1], false);
    cr_assert(wrig.f.conns[0].paused);
    for (uint32_t i = 0; i < WRIG_WORLDS; i++)
        uplink_stream_ops.pressure(&wrig.u[i], true);
    for (uint32_t i = 0; i < WRIG_WORLDS; i++)
        uplink_stream_ops.pressure(&wrig.u[i], false);
    cr_assert(wrig.f.conns[0].paused);
}

Test(relay_wait, the_next_client_of_a_slot_is_not_paced_by_the_one_before)
{
    uint64_t session;
    struct client *c = wrig_login(0, 0, &session);

    wrig_say_bind(0, session, "w1");
    client_stream_ops.closed(c, STREAM_EOF);
    clients_reap(&wrig.f.all);
    while (fake_link_told(&wrig.world[0], &(struct link_frame){0}))
        ;
    wrig_login(0, 0, &session);
    wrig_say_bind(0, session, "");
    cr_assert_eq(wrig.r.n_waits, 0);
}
