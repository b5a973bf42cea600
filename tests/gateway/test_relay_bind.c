/* tests/gateway/test_relay_bind.c: what the gateway keeps for the world, and brings it back. */
#include "tests/gateway/relay_rig.h"
#include "tests/leak.h"

#include <criterion/criterion.h>

TestSuite(relay_bind, .init = relay_rig_setup, .fini = relay_rig_teardown);

static void say_note(uint64_t session, const char *note)
{
    struct span_writer w = relay_rig_writer();
    link_write_note(&w, session, span_text(note));
    relay_rig_say(&w);
}

/* The session that the next frame binds, with this note. */
static uint64_t expect_bind(const char *note)
{
    struct link_frame frame;

    cr_assert(fake_link_told(&relay_rig.world, &frame));
    cr_assert_eq(frame.kind, LINK_BIND);
    cr_assert(span_equal(frame.note, span_text(note)));
    return frame.session;
}

Test(relay_bind, who_has_a_note_is_bound_with_the_last_one_and_told_nothing)
{
    relay_rig_world_up();
    struct client *c = fake_connect(&relay_rig.f, 0);
    const uint64_t session = relay_rig_login(c, 0);
    say_note(session, "first");
    say_note(session, "second");
    cr_assert(fake_told_nothing(&relay_rig.f.conns[0]));
    for (uint32_t i = 0; i < 2; i++) { /* and again, if it is lost again */
        relay_rig_world_down();
        cr_assert(fake_told_error(&relay_rig.f.conns[0], PE_UNAVAILABLE, 0, 0));
        relay_rig_world_up();
        const uint64_t fresh = expect_bind("second");
        cr_assert_neq(fresh, session);
        relay_rig_expect_silence();
        cr_assert(fake_told_nothing(&relay_rig.f.conns[0]));
        cr_assert(c->logged_in);
        cr_assert_eq(relay_rig.r.sessions, 1);
        fake_feed_request(c, CMD_MOVE_REQ, 5);
        relay_rig_expect_data(fresh, 1);
    }
    cr_assert_eq(relay_rig.f.metrics.binds, 2);
    cr_assert_eq(relay_rig.f.metrics.told_login, 0);
}

Test(relay_bind, who_is_bound_while_congested_says_so)
{
    struct link_frame frame;

    relay_rig_world_up();
    struct client *c = fake_connect(&relay_rig.f, 0);
    say_note(relay_rig_login(c, 0), "note");
    relay_rig_world_down();
    client_stream_ops.pressure(c, true);
    relay_rig_world_up();
    const uint64_t session = expect_bind("note");
    cr_assert(fake_link_told(&relay_rig.world, &frame));
    cr_assert_eq(frame.kind, LINK_CONGESTION);
    cr_assert_eq(frame.session, session);
    cr_assert(frame.on);
    relay_rig_expect_silence();
}

Test(relay_bind, one_whom_the_world_does_not_keep_is_told_to_log_in_and_opened_anew)
{
    relay_rig_world_up();
    struct client *c = fake_connect(&relay_rig.f, 0);
    say_note(relay_rig_login(c, 0), "note");
    relay_rig_world_down();
    cr_assert(fake_told_error(&relay_rig.f.conns[0], PE_UNAVAILABLE, 0, 0));
    relay_rig_world_up();
    relay_rig_say_close(expect_bind("note"), 0, "the name was taken");
    cr_assert(fake_told_error(&relay_rig.f.conns[0], PE_NOT_LOGGED_IN, 0, 0));
    cr_assert_eq(c->state, CLIENT_OPEN);
    fake_feed_request(c, CMD_LOGIN_REQ, 2);
    relay_rig_expect_data(relay_rig_expect_open(), 1);
    relay_rig_world_down(); /* and it is not bound by what is past */
    relay_rig_world_up();
    relay_rig_expect_silence();
}

Test(relay_bind, an_empty_note_is_none)
{
    relay_rig_world_up();
    struct client *c = fake_connect(&relay_rig.f, 0);
    const uint64_t session = relay_rig_login(c, 0);
    say_note(session, "note");
    say_note(session, "");
    relay_rig_world_down();
    cr_assert(fake_told_error(&relay_rig.f.conns[0], PE_UNAVAILABLE, 0, 0));
    relay_rig_world_up();
    relay_rig_expect_silence();
    cr_assert(fake_told_error(&relay_rig.f.conns[0], PE_NOT_LOGGED_IN, 0, 0));
}

Test(relay_bind, who_never_read_that_it_is_logged_in_is_not_bound)
{
    relay_rig_world_up();
    struct client *c = fake_connect(&relay_rig.f, 0);
    fake_feed_request(c, CMD_LOGIN_REQ, 1);
    const uint64_t session = relay_rig_expect_open();
    relay_rig_expect_data(session, 1);
    say_note(session, "note"); /* and then the link broke, before LoginResp */
    relay_rig_world_down();
    relay_rig_world_up();
    relay_rig_expect_silence();
}

Test(relay_bind, the_next_client_of_a_slot_has_no_note)
{
    relay_rig_world_up();
    struct client *c = fake_connect(&relay_rig.f, 0);
    const uint64_t session = relay_rig_login(c, 0);
    say_note(session, "note");
    relay_rig_world_down();
    client_stream_ops.closed(c, STREAM_EOF);
    clients_reap(&relay_rig.f.all);
    relay_rig_world_up();
    relay_rig_expect_silence();
    c = fake_connect(&relay_rig.f, 0);
    fake_feed_request(c, CMD_LOGIN_REQ, 1);
    const uint64_t fresh = relay_rig_expect_open();
    relay_rig_expect_data(fresh, 1);
    say_note(session, "late"); /* for the one before */
    relay_rig_expect_close(session);
    relay_rig_world_down();
    relay_rig_world_up();
    relay_rig_expect_silence();
}

Test(relay_bind, those_who_are_still_to_be_bound_are_bound_by_time_or_by_asking)
{
    relay_rig_world_up();
    struct client *a = fake_connect(&relay_rig.f, 0), *b = fake_connect(&relay_rig.f, 1);
    say_note(relay_rig_login(a, 0), "a");
    say_note(relay_rig_login(b, 1), "b");
    relay_rig_world_down();
    relay_rig_world_up();
    expect_bind("a");
    expect_bind("b");
    relay_rig_world_down();
    relay_rig_world_up();
    relay_rig.r.bind_at = 0; /* as if there were so many that these two had to wait */
    fake_conn_fini(&relay_rig.world);
    for (uint32_t i = 0; i < 2; i++) {
        struct client *c = i == 0 ? a : b;
        c->session = false;
        relay_rig.r.sessions--;
    }
    fake_feed_request(b, CMD_MOVE_REQ, 7);
    relay_rig_expect_data(expect_bind("b"), 1);
    relay_step(&relay_rig.r, 100);
    expect_bind("a");
    relay_rig_expect_silence();
    relay_step(&relay_rig.r, 100);
    relay_rig_expect_silence();
    cr_assert_eq(relay_rig.r.sessions, 2);
}
