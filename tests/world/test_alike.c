/* tests/world/test_alike.c: one body for all who are told the same.
 * May touch: world/interest/alike, proto/link, common.
 */
#include "world/interest/alike.h"

#include "common/rng.h"
#include "proto/frame.h"
#include "proto/link.h"
#include "tests/leak.h"

#include <stdlib.h>
#include <string.h>

#define VIEWERS 9000
#define LINKS   3

/* Who got which body: by session, its byte + 1. */
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

Test(alike, each_is_told_once_over_its_link)
{
    struct heard *h = calloc(1, sizeof *h);
    uint8_t *told = calloc(VIEWERS, 1);
    struct outbox o;
    struct alike a;
    struct rng rng;
    rng_init(&rng, 8);
    cr_assert_eq(outbox_init(&o, drain, h), 0);
    cr_assert_eq(alike_init(&a, VIEWERS), 0);
    for (int round = 0; round < 20; round++) { /* in the last ones a link has more than a list */
        uint32_t links = round < 10 ? LINKS : 1, n = 0;
        uint8_t body = (uint8_t)round;
        memset(h, 0, sizeof *h);
        for (uint32_t v = 0; v < VIEWERS; v++) {
            told[v] = rng_below(&rng, 4) != 0;
            n += told[v];
            if (told[v])
                alike_add(&a, (struct link_ref){v % links, 1}, v);
        }
        alike_tell(&a, span_of(&body, 1), &o);
        outbox_flush(&o);
        cr_assert_eq(a.n + a.n_others, 0);
        for (uint32_t v = 0; v < VIEWERS; v++) {
            cr_assert_eq(h->of[v], told[v] ? 1u + body : 0);
            cr_assert(!told[v] || h->link[v] == v % links);
        }
        cr_assert_eq(h->frames, links == LINKS ? LINKS : (n + LINK_MANY_MAX - 1) / LINK_MANY_MAX);
    }
    alike_fini(&a);
    outbox_fini(&o);
    free(h);
    free(told);
    TEST_NO_LEAKS();
}

Test(alike, nobody_is_no_frame)
{
    struct heard *h = calloc(1, sizeof *h);
    struct outbox o;
    struct alike a;
    cr_assert_eq(outbox_init(&o, drain, h), 0);
    cr_assert_eq(alike_init(&a, 10), 0);
    alike_tell(&a, span_of("x", 1), &o);
    outbox_flush(&o);
    cr_assert_eq(h->frames, 0);
    alike_fini(&a);
    alike_fini(&a); /* twice is fine */
    outbox_fini(&o);
    free(h);
    TEST_NO_LEAKS();
}
