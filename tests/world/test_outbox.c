/* tests/world/test_outbox.c: link frames in the order they were made, never lost, never grown.
 * May touch: world/outbox, proto.
 */
#include "world/outbox.h"

#include "proto/frame.h"
#include "proto/link.h"
#include "tests/leak.h"

#include <stdlib.h>

/* What was drained. */
struct sink {
    uint32_t drains, frames;
    uint64_t bytes;
    uint64_t next[3];       /* number in the next frame of each link */
    struct link_frame last; /* spans are stale */
    uint32_t last_link;
    uint8_t first_byte; /* of the last body */
};

static void drain(void *arg, struct link_ref link, struct span frames)
{
    struct sink *k = arg;
    k->drains++;
    k->bytes += frames.n;
    cr_assert_lt(link.slot, 3);
    cr_assert_gt(frames.n, 0);
    while (frames.n > 0) {
        struct span body;
        size_t used;
        cr_assert_eq(frame_split(frames, LINK_FRAME_MAX, &body, &used), 0, "frames are whole");
        cr_assert_eq(link_read(body, &k->last), 0);
        k->frames++;
        k->last_link = link.slot;
        if (k->last.n_bodies > 0)
            k->first_byte = k->last.bodies[0].p[0];
        if (k->last.kind == LINK_DATA) {
            cr_assert_eq(k->last.session, k->next[link.slot], "in the order they were made");
            k->next[link.slot]++;
        }
        frames = span_of(frames.p + used, frames.n - used);
    }
}

static struct link_ref link(uint32_t slot)
{
    return (struct link_ref){slot, 1};
}

Test(outbox, it_is_quiet_until_it_is_asked)
{
    struct outbox o;
    struct sink k = {0};
    uint8_t body[3] = {0x93, 1, 2};
    struct span b = span_of(body, 3);
    cr_assert_eq(outbox_init(&o, drain, &k), 0);
    outbox_flush(&o);
    cr_assert_eq(k.drains, 0, "nothing is not handed over");
    outbox_data(&o, link(1), 0, &b, 1);
    cr_assert_eq(k.drains, 0);
    outbox_flush(&o);
    cr_assert_eq(k.frames, 1);
    cr_assert_eq(k.last_link, 1);
    outbox_flush(&o);
    cr_assert_eq(k.drains, 1);
    cr_assert_eq(o.frames, 1);
    cr_assert_eq(o.bytes, k.bytes);
    outbox_fini(&o);
    TEST_NO_LEAKS();
}

Test(outbox, held_it_keeps_what_it_has_room_for_until_it_is_released)
{
    struct outbox o;
    struct sink k = {0};
    uint8_t body[3] = {0x93, 1, 2};
    struct span b = span_of(body, 3);

    cr_assert_eq(outbox_init(&o, drain, &k), 0);
    o.held = true;
    outbox_data(&o, link(1), 0, &b, 1);
    outbox_flush(&o);
    cr_assert_eq(k.frames, 0);
    outbox_release(&o);
    cr_assert_eq(k.frames, 1);
    outbox_data(&o, link(1), 1, &b, 1);
    outbox_flush(&o);
    cr_assert_eq(k.frames, 1);
    o.held = false;
    outbox_flush(&o);
    cr_assert_eq(k.frames, 2);
    outbox_fini(&o);
}

Test(outbox, closes_and_many_are_link_frames_too)
{
    struct outbox o;
    struct sink k = {0};
    uint64_t sessions[LINK_MANY_MAX];
    uint8_t body[PROTO_SAY_MAX] = {0x93};
    for (uint32_t i = 0; i < LINK_MANY_MAX; i++)
        sessions[i] = UINT64_MAX - i;
    cr_assert_eq(outbox_init(&o, drain, &k), 0);
    outbox_close(&o, link(0), UINT64_MAX, 16, "why");
    outbox_flush(&o);
    cr_assert_eq(k.last.kind, LINK_CLOSE);
    cr_assert_eq(k.last.session, UINT64_MAX);
    cr_assert_eq(k.last.code, 16);
    outbox_data_many(&o, link(0), sessions, LINK_MANY_MAX, span_of(body, sizeof body));
    outbox_flush(&o);
    cr_assert_eq(k.last.kind, LINK_DATA_MANY);
    cr_assert_eq(k.last.n_sessions, LINK_MANY_MAX);
    outbox_fini(&o);
    TEST_NO_LEAKS();
}

Test(outbox, the_largest_frame_fits_beside_another)
{
    struct outbox o;
    struct sink k = {0};
    uint8_t *big = calloc(1, PROTO_BATCH_MAX);
    struct span three[4] = {span_of(big, PROTO_BATCH_MAX), span_of(big, PROTO_BATCH_MAX),
                            span_of(big, PROTO_BATCH_MAX), span_of(big, PROTO_BATCH_MAX)};
    cr_assert_eq(outbox_init(&o, drain, &k), 0);
    for (uint64_t i = 0; i < 5; i++)
        outbox_data(&o, link(0), i, three, 4);
    outbox_flush(&o);
    cr_assert_eq(k.frames, 5);
    cr_assert_gt(k.bytes, 5ull * 4 * PROTO_BATCH_MAX);
    free(big);
    outbox_fini(&o);
    TEST_NO_LEAKS();
}

Test(outbox, more_runs_than_it_keeps_are_drained_in_order)
{
    struct outbox o;
    struct sink k = {0};
    uint8_t body[40] = {0x93};
    struct span b = span_of(body, sizeof body);
    cr_assert_eq(outbox_init(&o, drain, &k), 0);
    uint32_t n = 3 * (OUTBOX_RUNS + 100);
    for (uint32_t i = 0; i < n; i++)
        outbox_data(&o, link(i % 3), i / 3, &b, 1);
    outbox_flush(&o);
    cr_assert_eq(k.frames, n);
    cr_assert_eq(o.frames, n);
    for (int i = 0; i < 3; i++)
        cr_assert_eq(k.next[i], n / 3);
    outbox_fini(&o);
    TEST_NO_LEAKS();
}

Test(outbox, frames_to_one_link_go_in_one_run)
{
    struct outbox o;
    struct sink k = {0};
    uint8_t body[40] = {0x93};
    struct span b[2] = {span_of(body, sizeof body), span_of(body, 1)};
    cr_assert_eq(outbox_init(&o, drain, &k), 0);
    for (uint64_t i = 0; i < 1000; i++)
        outbox_data(&o, link(2), i, b, 2);
    outbox_flush(&o);
    cr_assert_eq(k.frames, 1000);
    cr_assert_eq(k.drains, 1);
    outbox_fini(&o);
}
