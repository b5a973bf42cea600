/* tests/world/test_outbox_handful.c: what a tick tells is on its way while the tick goes on.
 * May touch: world/outbox, proto.
 */
#include "world/outbox.h"

#include "proto/frame.h"
#include "proto/link.h"
#include "tests/leak.h"

#define BODY   700
#define FRAMES 2000

struct sink {
    uint64_t next; /* session in the next frame */
    uint64_t bytes, most;
    uint32_t drains;
};

static void drain(void *arg, struct link_ref link, struct span frames)
{
    struct sink *k = arg;
    struct link_frame f;

    (void)link;
    k->drains++;
    k->bytes += frames.n;
    if (frames.n > k->most)
        k->most = frames.n;
    while (frames.n > 0) {
        struct span body;
        size_t used;
        cr_assert_eq(frame_split(frames, LINK_FRAME_MAX, &body, &used), 0, "frames are whole");
        cr_assert_eq(link_read(body, &f), 0);
        cr_assert_eq(f.session, k->next++, "in the order they were made");
        frames = span_of(frames.p + used, frames.n - used);
    }
}

/* Two bodies laid in place. */
static void lay(struct outbox *o, uint64_t session)
{
    outbox_begin(o, (struct link_ref){0, 1}, session);
    for (int i = 0; i < 2; i++) {
        memset(outbox_room(o, BODY), (int)(session & 0xff), BODY);
        outbox_put(o, BODY);
    }
    outbox_end(o);
}

Test(outbox_handful, a_long_tick_is_handed_over_in_handfuls_of_whole_frames)
{
    struct outbox o;
    struct sink k = {0};

    cr_assert_eq(outbox_init(&o, drain, &k), 0);
    for (uint64_t s = 0; s < FRAMES; s++) {
        lay(&o, s);
        /* What waits is less than a handful, so the first are never kept for the last. */
        cr_assert_lt(o.bytes + o.w.len - k.bytes, OUTBOX_HANDFUL);
    }
    cr_assert_geq(k.drains, FRAMES * 2 * BODY / OUTBOX_HANDFUL);
    cr_assert_lt(k.most, OUTBOX_HANDFUL + 2 * BODY + 64);
    outbox_flush(&o);
    cr_assert_eq(k.next, FRAMES);
    cr_assert_eq(k.bytes, o.bytes);
    outbox_fini(&o);
    TEST_NO_LEAKS();
}

Test(outbox_handful, a_frame_larger_than_a_handful_goes_as_one)
{
    struct outbox o;
    struct sink k = {0};

    cr_assert_eq(outbox_init(&o, drain, &k), 0);
    outbox_begin(&o, (struct link_ref){0, 1}, 0);
    for (int i = 0; i < 3; i++) {
        memset(outbox_room(&o, OUTBOX_HANDFUL), i, OUTBOX_HANDFUL);
        outbox_put(&o, OUTBOX_HANDFUL);
    }
    outbox_end(&o);
    cr_assert_eq(k.drains, 1);
    cr_assert_eq(k.next, 1);
    cr_assert_gt(k.most, 3u * OUTBOX_HANDFUL);
    outbox_fini(&o);
    TEST_NO_LEAKS();
}
