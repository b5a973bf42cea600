/* tests/gateway/test_client_run.c: bodies of the link that go to a client in one call. */
#include "tests/gateway/fake.h"

#include "proto/frame.h"
#include "tests/leak.h"

#include <criterion/criterion.h>
#include <string.h>

static struct fake_crowd f;

static void setup(void)
{
    fake_crowd_defaults(&f);
}

static void teardown(void)
{
    fake_crowd_fini(&f);
}

TestSuite(client_run, .init = setup, .fini = teardown);

/* Bodies as they lie in a link frame: `heads` of 5 bytes or 2. */
static uint8_t frame[4096];

static uint32_t lay(struct span *bodies, uint32_t n, size_t bytes, bool long_heads)
{
    size_t at = 8;

    for (uint32_t i = 0; i < n; i++) {
        if (long_heads) {
            link_body_head(frame + at, bytes);
            at += LINK_BODY_HEAD;
        } else {
            frame[at++] = 0xc4;
            frame[at++] = (uint8_t)bytes;
        }
        memset(frame + at, (int)('a' + i), bytes);
        bodies[i] = span_of(frame + at, bytes);
        at += bytes;
    }
    return n;
}

/* The client got these frames and nothing else. */
static void expect_frames(struct stream *s, uint32_t n, size_t bytes)
{
    for (uint32_t i = 0; i < n; i++) {
        struct span body;
        size_t used;
        cr_assert_eq(frame_split(span_of(s->out + s->read, s->len - s->read), 65536, &body, &used),
                     0);
        cr_assert_eq(body.n, bytes);
        for (size_t k = 0; k < bytes; k++)
            cr_assert_eq(body.p[k], 'a' + i);
        s->read += used;
    }
    cr_assert_eq(s->read, s->len);
}

Test(client_run, bodies_with_long_and_short_heads_come_out_framed_in_one_call)
{
    struct span bodies[CLIENT_RUN_MAX];

    fake_crowd_init(&f);
    struct client *c = fake_connect(&f, 0);
    for (int long_heads = 0; long_heads < 2; long_heads++) {
        for (uint32_t n = 1; n <= CLIENT_RUN_MAX; n++) {
            f.conns[0].writes = 0;
            client_send_run(c, bodies, lay(bodies, n, 20 + n, long_heads));
            cr_assert_eq(f.conns[0].writes, 1);
            expect_frames(&f.conns[0], n, 20 + n);
        }
    }
    cr_assert_eq(f.metrics.frames_out, 2 * CLIENT_RUN_MAX * (CLIENT_RUN_MAX + 1) / 2);
    cr_assert_eq(f.metrics.bytes_out, f.conns[0].len);
}

Test(client_run, a_body_whose_bytes_in_front_only_look_like_a_head_is_still_right)
{
    /* In front stands the length of another body. */
    uint8_t bytes[] = {0, 0, 0, 4, 'a', 'a', 'a'};
    const struct span body = span_of(bytes + 4, 3);

    fake_crowd_init(&f);
    client_send_run(fake_connect(&f, 0), &body, 1);
    expect_frames(&f.conns[0], 1, 3);
}

Test(client_run, what_is_larger_than_the_hard_limit_together_goes_one_by_one)
{
    struct span bodies[3];

    f.all.limits.queue_hard = 250;
    fake_crowd_init(&f);
    struct client *c = fake_connect(&f, 0);
    lay(bodies, 3, 100, true);
    client_send_run(c, bodies, 3); /* the fake kernel takes nothing: the third is too much */
    cr_assert_eq(c->state, CLIENT_ENDING);
    cr_assert_eq(f.metrics.closed_queue, 1);
    cr_assert_eq(f.metrics.frames_out, 2);
    cr_assert(f.conns[0].finished);
}

Test(client_run, one_frame_above_the_hard_limit_fits_an_empty_queue_and_no_second)
{
    struct span bodies[2];

    f.all.limits.queue_hard = 50;
    fake_crowd_init(&f);
    struct client *c = fake_connect(&f, 0);
    lay(bodies, 2, 100, true);
    client_send_run(c, bodies, 1);
    cr_assert_eq(c->state, CLIENT_OPEN);
    client_send_run(c, bodies, 1);
    cr_assert_eq(c->state, CLIENT_ENDING);
    cr_assert_eq(f.metrics.frames_out, 1);
}

Test(client_run, one_that_is_no_longer_served_gets_nothing)
{
    struct span bodies[2];

    fake_crowd_init(&f);
    struct client *c = fake_connect(&f, 0);
    client_bye(c, 17, (struct span){0}, CLIENT_END_DRAIN);
    const size_t len = f.conns[0].len;
    client_send_run(c, bodies, lay(bodies, 2, 10, true));
    cr_assert_eq(f.conns[0].len, len);
    cr_assert_eq(f.metrics.frames_out, 0);
}
