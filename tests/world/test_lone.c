/* tests/world/test_lone.c: one body for all who are told of one mover alone.
 * May touch: world/interest/lone, proto/link, common.
 */
#include "world/interest/lone.h"

#include "common/rng.h"
#include "proto/frame.h"
#include "proto/link.h"
#include "tests/leak.h"

#include <stdlib.h>
#include <string.h>

#define VIEWERS 9000
#define MOVERS  7
#define LINKS   3

/* Who got whose body: by session, the mover's slot + 1. */
struct heard {
    uint32_t of[VIEWERS];
    uint32_t link[VIEWERS];
    uint32_t frames;
};

static void drain(void *arg, struct link_ref link, struct span frames)
{
    struct heard *h = arg;
    while (frames.n > 0) {
        size_t n = span_be32(frames.p);
        struct link_frame f;
        uint64_t sid;
        cr_assert_eq(link_read(span_of(frames.p + FRAME_HEAD, n), &f), 0);
        cr_assert_eq(f.kind, LINK_DATA_MANY);
        cr_assert_eq(f.bodies[0].n, 1);
        while (link_session_take(&f.sessions, &sid) == 0) {
            cr_assert_lt(sid, VIEWERS);
            cr_assert_eq(h->of[sid], 0, "told twice");
            h->of[sid] = 1u + f.bodies[0].p[0];
            h->link[sid] = link.slot;
        }
        h->frames++;
        frames = span_of(frames.p + FRAME_HEAD + n, frames.n - FRAME_HEAD - n);
    }
}

static void tell_all(struct lone *l, struct outbox *o)
{
    for (uint32_t m = 0; m < MOVERS; m++)
        if (l->count[m] > 0)
            lone_lay(l, m);
    lone_sort(l);
    for (uint8_t m = 0; m < MOVERS; m++)
        if (l->count[m] > 0)
            lone_tell(l, m, span_of(&m, 1), o);
    lone_clear(l);
    outbox_flush(o);
}

Test(lone, each_is_told_of_its_mover_once_over_its_link)
{
    struct heard *h = calloc(1, sizeof *h);
    uint32_t *mover = calloc(VIEWERS, sizeof *mover);
    struct outbox o;
    struct lone l;
    struct rng rng;
    rng_init(&rng, 8);
    cr_assert_eq(outbox_init(&o, drain, h), 0);
    cr_assert_eq(lone_init(&l, VIEWERS), 0);
    for (int round = 0; round < 20; round++) { /* in the last ones one mover has more than a list */
        memset(h, 0, sizeof *h);
        memset(mover, 0, VIEWERS * sizeof *mover);
        for (uint32_t v = 0; v < VIEWERS; v++) {
            if (rng_below(&rng, 4) == 0)
                continue;
            mover[v] = 1 + (uint32_t)rng_below(&rng, round < 15 ? MOVERS : 1);
            lone_add(&l, (struct link_ref){round < 10 ? v % LINKS : 0, 1}, v, mover[v] - 1);
        }
        tell_all(&l, &o);
        for (uint32_t v = 0; v < VIEWERS; v++) {
            cr_assert_eq(h->of[v], mover[v]);
            cr_assert(mover[v] == 0 || h->link[v] == (round < 10 ? v % LINKS : 0));
        }
        for (uint32_t m = 0; m < MOVERS; m++)
            cr_assert_eq(l.count[m], 0);
        cr_assert_eq(h->frames, round < 10 ? MOVERS * LINKS : round < 15 ? MOVERS : 2);
    }
    lone_fini(&l);
    outbox_fini(&o);
    free(h);
    free(mover);
    TEST_NO_LEAKS();
}

Test(lone, nobody_is_no_frame)
{
    struct heard *h = calloc(1, sizeof *h);
    struct outbox o;
    struct lone l;
    cr_assert_eq(outbox_init(&o, drain, h), 0);
    cr_assert_eq(lone_init(&l, 10), 0);
    tell_all(&l, &o);
    cr_assert_eq(h->frames, 0);
    lone_fini(&l);
    lone_fini(&l); /* twice is fine */
    outbox_fini(&o);
    free(h);
    TEST_NO_LEAKS();
}
