/* tests/gateway/test_drains.c: what slow clients take is told, and nothing of those who keep up.
 */
#include "common/err.h"
#include "tests/gateway/fake.h"
#include "tests/leak.h"

#include <criterion/criterion.h>

static struct fake_crowd f;

static void setup(void)
{
    fake_crowd_defaults(&f);
    f.all.limits.slow_ms = f.all.limits.login_ms = f.all.limits.idle_ms = 0;
    fake_crowd_init(&f);
}

static void teardown(void)
{
    fake_crowd_fini(&f);
}

TestSuite(drains, .init = setup, .fini = teardown);

static void send(struct client *c, size_t bytes)
{
    static uint8_t body[FRAME_HEAD_BYTES + 70000];
    const struct span one = span_of(body + FRAME_HEAD_BYTES, bytes - FRAME_HEAD_BYTES);

    client_send_run(c, &one, 1);
}

/* The kernel took so many bytes of the queue. */
static void take(uint32_t i, size_t bytes)
{
    f.conns[i].queued -= bytes < f.conns[i].queued ? bytes : f.conns[i].queued;
}

/* Ticks of 100 ms in which `in` bytes are written and `out` bytes leave the queue. */
static void flow(struct client *c, uint32_t ticks, size_t in, size_t out)
{
    while (ticks-- > 0) {
        if (in > 0)
            send(c, in);
        take(c->slot, out);
        fake_pass(&f, 100);
    }
}

Test(drains, who_keeps_up_is_never_told_of)
{
    struct client *c = fake_connect(&f, 0);

    flow(c, 50, 5000, 5000);
    cr_assert(!c->watched);
    send(c, 1000); /* twice in one turn: watched until the next look */
    send(c, 1000);
    cr_assert(c->watched);
    take(0, 2000);
    fake_pass(&f, 100);
    cr_assert(!c->watched);
    cr_assert_eq(f.drains, 0);
    cr_assert_eq(f.metrics.drains_told, 0);
}

Test(drains, what_a_slow_client_takes_is_told_once_a_second)
{
    struct client *c = fake_connect(&f, 0);

    flow(c, 2, 2400, 2000); /* something stays in the queue */
    flow(c, 11, 2400, 2000);
    cr_assert_eq(f.drains, 1);
    cr_assert_eq(f.drain_rate, 20000);
    flow(c, 30, 2400, 2000);
    cr_assert_eq(f.drains, 4);
    cr_assert_eq(f.drain_rate, 20000);
    cr_assert_eq(f.metrics.drains_told, 4);
    flow(c, 10, 2400, 1000);
    cr_assert_eq(f.drains, 5);
    cr_assert_lt(f.drain_rate, 20000, "slower yet");
}

Test(drains, where_the_queue_grows_fast_the_first_report_does_not_wait)
{
    struct client *c = fake_connect(&f, 0);

    flow(c, 5, 60000, 2000);
    cr_assert_eq(f.drains, 1);
    cr_assert_eq(f.drain_rate, 20000);
    flow(c, 8, 1000, 2000);
    cr_assert_eq(f.drains, 1, "the next one comes a second after the first");
    flow(c, 2, 1000, 2000);
    cr_assert_eq(f.drains, 2);
}

Test(drains, one_that_takes_nothing_is_told_as_1_and_not_as_well)
{
    struct client *c = fake_connect(&f, 0);

    flow(c, 15, 100, 0);
    cr_assert_eq(f.drains, 1);
    cr_assert_eq(f.drain_rate, 1);
}

Test(drains, it_is_well_again_once_its_queue_was_empty_for_a_whole_window)
{
    struct client *c = fake_connect(&f, 0);

    flow(c, 13, 2400, 2000);
    cr_assert_eq(f.drains, 1);
    flow(c, 30, 1000, 1100); /* the queue empties: in that window it was both */
    const uint32_t before = f.drains;
    flow(c, 80, 1000, 1100);
    cr_assert_eq(f.drain_rate, 0);
    cr_assert(!c->watched);
    cr_assert_leq(f.drains, before + 7);
    const uint32_t well = f.drains;
    flow(c, 50, 1000, 1100);
    cr_assert_eq(f.drains, well, "it is told once");
    flow(c, 13, 2400, 2000);
    cr_assert_eq(f.drain_rate, 20000, "and may become slow again");
}

Test(drains, one_at_the_border_is_told_of_no_more)
{
    struct client *c = fake_connect(&f, 0);

    flow(c, 13, 2400, 2000);
    take(0, SIZE_MAX);
    const uint32_t before = f.drains;
    for (int i = 0; i < 20; i++) { /* empty at some looks and not at others */
        flow(c, 1, 2400, 1000);
        flow(c, 1, 600, SIZE_MAX);
        flow(c, 1, 600, SIZE_MAX);
    }
    cr_assert_eq(f.drains, before);
    cr_assert(c->watched);
}

Test(drains, a_client_that_ends_is_watched_no_longer)
{
    struct client *c[3];

    for (uint32_t i = 0; i < 3; i++) {
        c[i] = fake_connect(&f, i);
        send(c[i], 1000);
        send(c[i], 1000);
        cr_assert(c[i]->watched);
    }
    client_drop(c[0], CLIENT_END_EOF);
    cr_assert_eq(f.all.drains.n, 2);
    flow(c[2], 11, 100, 10);
    cr_assert_eq(f.drains, 2, "the others are");
    client_drop(c[2], CLIENT_END_EOF);
    client_drop(c[1], CLIENT_END_EOF);
    cr_assert_eq(f.all.drains.n, 0);
    fake_pass(&f, 2000);
    clients_reap(&f.all);
}

Test(drains, while_nobody_is_read_no_time_counts_and_the_window_begins_anew)
{
    struct client *c = fake_connect(&f, 0);

    flow(c, 8, 2100, 2000);
    clients_pause(&f.all, true);
    flow(c, 30, 2100, 2000);
    cr_assert_eq(f.drains, 0);
    clients_pause(&f.all, false);
    flow(c, 9, 2100, 2000);
    cr_assert_eq(f.drains, 0);
    flow(c, 1, 2100, 2000);
    cr_assert_eq(f.drains, 1);
    cr_assert_eq(f.drain_rate, 20000, "and not what left in a time that did not count");
}
