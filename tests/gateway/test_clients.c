/* tests/gateway/test_clients.c: deadlines, room and what concerns all clients. */
#include "gateway/clients.h"

#include "common/err.h"
#include "tests/gateway/fake.h"
#include "tests/leak.h"

#include <criterion/criterion.h>

static struct fake_crowd f;

static void setup(void)
{
    fake_crowd_defaults(&f);
    fake_crowd_init(&f);
}

static void teardown(void)
{
    fake_crowd_fini(&f);
}

TestSuite(clients, .init = setup, .fini = teardown);

/* Time passes while the client says something whole every ten seconds. */
static void pass_talking(struct client *c, uint32_t ms)
{
    for (uint32_t passed = 0; passed < ms; passed += 10000) {
        fake_feed_request(c, CMD_PING_REQ, 1);
        fake_pass(&f, ms - passed < 10000 ? ms - passed : 10000);
    }
}

Test(clients, one_that_sends_no_whole_frame_is_idle)
{
    struct client *c = fake_connect(&f, 0);

    c->greeted = true;
    fake_pass(&f, 30000);
    fake_feed_request(c, CMD_PING_REQ, 1);
    f.conns[0].read = f.conns[0].len;
    fake_pass(&f, 60000);
    cr_assert_eq(c->state, CLIENT_OPEN, "not before its time");
    fake_pass(&f, 200);
    cr_assert(fake_told_bye(&f.conns[0], PE_IDLE));
    cr_assert_eq(f.metrics.closed_idle, 1);
}

Test(clients, parts_of_frames_do_not_keep_a_client_alive)
{
    const uint8_t head[] = {0, 0, 0, 9};
    struct client *c;

    f.all.limits.frame_ms = 0;
    f.all.limits.login_ms = 0;
    c = fake_connect(&f, 0);
    for (uint32_t i = 0; i < 4; i++) {
        cr_assert_eq(fake_feed(c, head, i + 1), 0);
        fake_pass(&f, 15050);
    }
    cr_assert(fake_told_bye(&f.conns[0], PE_IDLE));
    cr_assert_eq(f.metrics.closed_idle, 1);
}

Test(clients, one_that_does_not_log_in_is_closed)
{
    struct client *c = fake_connect(&f, 0), *greeted = fake_connect(&f, 1);

    greeted->greeted = true;
    pass_talking(c, 30000);
    cr_assert_eq(c->state, CLIENT_OPEN);
    f.conns[0].read = f.conns[0].len;
    fake_pass(&f, 200);
    cr_assert(fake_told_bye(&f.conns[0], PE_IDLE));
    cr_assert_eq(f.metrics.closed_login, 1);
    cr_assert_eq(greeted->state, CLIENT_OPEN);
}

Test(clients, the_login_deadline_does_not_run_while_the_world_is_away)
{
    struct client *c;

    f.all.world_up = false;
    c = fake_connect(&f, 0);
    pass_talking(c, 120000);
    cr_assert_eq(c->state, CLIENT_OPEN);
    f.all.world_up = true;
    client_login_restart(c);
    pass_talking(c, 30000);
    cr_assert_eq(c->state, CLIENT_OPEN);
    fake_pass(&f, 200);
    cr_assert_eq(f.metrics.closed_login, 1);
}

Test(clients, a_frame_that_trickles_is_given_up)
{
    uint8_t frame[64];
    const size_t n = fake_request(frame, 0, sizeof(frame), CMD_LOGIN_REQ, 1);
    struct client *c = fake_connect(&f, 0);

    fake_pass(&f, 5000);
    for (size_t i = 1; i < n && c->state == CLIENT_OPEN; i++) {
        cr_assert_eq(fake_feed(c, frame, i), 0);
        fake_pass(&f, 1000);
    }
    cr_assert(fake_told_bye(&f.conns[0], PE_IDLE));
    cr_assert_eq(f.metrics.closed_frame, 1);
    cr_assert_eq(f.forwards, 0);
}

Test(clients, frames_that_are_each_cut_in_two_are_no_trickle)
{
    uint8_t frames[128];
    const size_t n = fake_request(frames, 0, sizeof(frames), CMD_PING_REQ, 1);
    struct client *c = fake_connect(&f, 0);

    c->greeted = true;
    fake_request(frames, n, sizeof(frames), CMD_PING_REQ, 2);
    for (int i = 0; i < 30; i++) {
        cr_assert_eq(fake_feed(c, frames, n + 2), n); /* one whole, and a piece of the next */
        fake_pass(&f, 5000);
    }
    cr_assert_eq(c->state, CLIENT_OPEN);
    cr_assert_eq(f.metrics.pings, 30);
}

Test(clients, one_above_the_soft_limit_for_too_long_is_slow)
{
    struct client *c = fake_connect(&f, 0);

    c->greeted = true;
    client_stream_ops.pressure(c, true);
    cr_assert_eq(f.congested, 1);
    cr_assert_eq(f.metrics.congestion_on, 1);
    pass_talking(c, 30000);
    cr_assert_eq(c->state, CLIENT_OPEN);
    fake_pass(&f, 200);
    cr_assert_eq(f.metrics.closed_slow, 1);
    cr_assert(f.conns[0].finished);
}

Test(clients, one_that_drains_in_time_is_not_slow)
{
    struct client *c = fake_connect(&f, 0);

    c->greeted = true;
    for (int i = 0; i < 5; i++) {
        client_stream_ops.pressure(c, true);
        pass_talking(c, 20000);
        client_stream_ops.pressure(c, false);
        pass_talking(c, 1000);
    }
    cr_assert_eq(c->state, CLIENT_OPEN);
    cr_assert_eq(f.congested, 5);
    cr_assert_eq(f.drained, 5);
    cr_assert_eq(f.metrics.congestion_off, 5);
}

Test(clients, a_limit_of_0_is_off)
{
    f.all.limits.idle_ms = f.all.limits.login_ms = 0;
    f.all.limits.frame_ms = f.all.limits.slow_ms = 0;
    struct client *c = fake_connect(&f, 0);

    client_stream_ops.pressure(c, true);
    fake_feed(c, "\0", 1);
    fake_pass(&f, 600000);
    cr_assert_eq(c->state, CLIENT_OPEN);
}

Test(clients, one_too_many_gets_13_and_takes_no_place)
{
    f.all.limits.clients_max = 2;
    fake_connect(&f, 0);
    struct client *second = fake_connect(&f, 1);
    fake_connect(&f, 2);
    cr_assert(fake_told_bye(&f.conns[2], PE_UNAVAILABLE));
    cr_assert_eq(f.metrics.refused_full, 1);
    cr_assert_eq(f.metrics.accepted, 2);
    cr_assert_eq(f.gone, 0);

    client_drop(second, CLIENT_END_EOF);
    fake_connect(&f, 3);
    cr_assert_eq(f.metrics.accepted, 3, "a place that is free is given again");
}

Test(clients, refused_ones_have_bounded_room_too)
{
    static struct stream refused[CLIENTS_REFUSED_MAX];
    struct client *c;

    for (uint32_t i = 0; i < FAKE_CLIENTS; i++)
        fake_connect(&f, i);
    for (uint32_t i = 0; i < CLIENTS_REFUSED_MAX; i++) {
        cr_assert_eq(clients_add(&f.all, "p", &c), 0);
        client_start(c, &refused[i]);
    }
    cr_assert_eq(clients_add(&f.all, "p", &c), E_FULL);
    cr_assert_eq(f.metrics.refused_full, CLIENTS_REFUSED_MAX);
    clients_fini(&f.all);
    for (uint32_t i = 0; i < CLIENTS_REFUSED_MAX; i++)
        fake_conn_fini(&refused[i]);
}

Test(clients, a_slot_comes_back_after_the_turn_not_before)
{
    struct client *c = fake_connect(&f, 0);
    const uint32_t slot = c->slot;

    client_drop(c, CLIENT_END_EOF);
    cr_assert_null(clients_find(&f.all, slot));
    cr_assert_neq(fake_connect(&f, 1)->slot, slot);
    cr_assert_eq(f.reaps, 1);
    clients_reap(&f.all);
    cr_assert_eq(fake_connect(&f, 2)->slot, slot);
}

Test(clients, while_nobody_is_read_no_silence_counts)
{
    struct client *c = fake_connect(&f, 0);

    fake_pass(&f, 29000);
    clients_pause(&f.all, true);
    cr_assert(f.conns[0].paused);
    struct client *late = fake_connect(&f, 1);
    cr_assert(f.conns[1].paused, "nor is one that comes meanwhile");
    fake_pass(&f, 300000);
    cr_assert_eq(c->state, CLIENT_OPEN);
    clients_pause(&f.all, false);
    cr_assert(!f.conns[0].paused);
    cr_assert(!f.conns[1].paused);
    fake_pass(&f, 1300);
    cr_assert_eq(f.metrics.closed_login, 1);
    cr_assert_eq(late->state, CLIENT_OPEN);
}

Test(clients, a_bye_to_a_paused_client_lets_its_connection_be_read)
{
    fake_connect(&f, 0);
    clients_pause(&f.all, true);
    clients_bye(&f.all, PE_SHUTTING_DOWN, CLIENT_END_DRAIN);
    cr_assert(!f.conns[0].paused);
    cr_assert(fake_told_bye(&f.conns[0], PE_SHUTTING_DOWN));
}

Test(clients, all_who_are_there_get_their_bye)
{
    for (uint32_t i = 0; i < 4; i++)
        fake_connect(&f, i);
    client_drop(clients_find(&f.all, 2), CLIENT_END_EOF);
    clients_bye(&f.all, PE_SHUTTING_DOWN, CLIENT_END_DRAIN);
    for (uint32_t i = 0; i < 4; i++) {
        if (i == 2)
            continue;
        cr_assert(fake_told_bye(&f.conns[i], PE_SHUTTING_DOWN));
    }
    cr_assert_eq(f.metrics.closed_drain, 3);
    cr_assert_eq(f.all.open, 0);
}

Test(clients, queued_bytes_are_summed)
{
    for (uint32_t i = 0; i < 3; i++) {
        client_stream_ops.pressure(fake_connect(&f, i), i > 0);
        f.conns[i].queued = 100 * (i + 1);
    }
    const struct clients_sum sum = clients_summed(&f.all);
    cr_assert_eq(sum.queued, 600);
    cr_assert_eq(sum.queued_most, 300);
    cr_assert_eq(sum.slow, 2);
}

Test(clients, nothing_is_left_behind)
{
    for (uint32_t i = 0; i < FAKE_CLIENTS; i++)
        fake_connect(&f, i);
    client_drop(clients_find(&f.all, 3), CLIENT_END_EOF);
    fake_crowd_fini(&f);
    TEST_NO_LEAKS();
    setup();
}

Test(clients, awake_time_may_wrap)
{
    f.all.awake_ms = f.all.turned_ms = UINT32_MAX - 5000;
    struct client *c = fake_connect(&f, 0);

    c->greeted = true;
    fake_pass(&f, 60000);
    cr_assert_eq(c->state, CLIENT_OPEN);
    fake_pass(&f, 200);
    cr_assert_eq(f.metrics.closed_idle, 1);
}
