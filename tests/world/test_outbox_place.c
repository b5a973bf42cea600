/* tests/world/test_outbox_place.c: bodies that are laid in place in the outbox.
 * What is put between two drains comes out whole, in its order, to its session.
 * May touch: world/outbox, proto.
 */
#include "world/outbox.h"

#include "common/rng.h"
#include "proto/frame.h"
#include "proto/link.h"
#include "tests/leak.h"

#include <stdlib.h>

#define EXPECTED_MAX 20000

/* A body that was put: whose, how long, and of what. */
struct expected {
    uint32_t link;
    uint64_t session;
    size_t bytes;
    uint8_t fill;
    bool first; /* of its batch */
};

struct ledger {
    struct expected *list; /* [EXPECTED_MAX] */
    uint32_t put, seen;
    uint32_t split; /* batches that took more than one frame though one had held them */
};

static void check_body(struct ledger *k, uint32_t link, uint64_t session, struct span body)
{
    const struct expected *x = &k->list[k->seen++];
    cr_assert_lt(k->seen - 1, k->put);
    if (x->link != link || x->session != session || x->bytes != body.n || body.p[0] != x->fill ||
        body.p[body.n - 1] != x->fill || body.p[body.n / 2] != x->fill)
        cr_assert_fail("body %u is not as it was put", k->seen - 1);
}

static void drain(void *arg, struct link_ref link, struct span frames)
{
    struct ledger *k = arg;
    while (frames.n > 0) {
        struct span body;
        struct link_frame f;
        size_t used;
        cr_assert_eq(frame_split(frames, LINK_FRAME_MAX, &body, &used), 0);
        cr_assert_eq(link_read(body, &f), 0);
        cr_assert_eq(f.kind, LINK_DATA);
        k->split += !k->list[k->seen].first;
        for (uint32_t i = 0; i < f.n_bodies; i++)
            check_body(k, link.slot, f.session, f.bodies[i]);
        frames = span_of(frames.p + used, frames.n - used);
    }
}

static void lay(struct outbox *o, struct ledger *k, struct expected x)
{
    uint8_t *at = outbox_room(o, x.bytes + 100 < PROTO_BATCH_MAX ? x.bytes + 100 : x.bytes);
    memset(at, x.fill, x.bytes);
    memset(at + x.bytes, 0xee, OUTBOX_OVERHANG); /* allowed, and not to be seen */
    outbox_put(o, x.bytes);
    cr_assert_lt(k->put, EXPECTED_MAX);
    k->list[k->put++] = x;
}

/* Batches of `n` bodies of up to `most` bytes, to several links. */
static void lay_many(struct outbox *o, struct ledger *k, struct rng *rng, uint32_t batches,
                     uint32_t n, size_t most, bool flush)
{
    for (uint32_t i = 0; i < batches; i++) {
        uint32_t link = (uint32_t)rng_below(rng, 3);
        uint64_t session = rng_next(rng);
        uint32_t count = (uint32_t)rng_below(rng, n + 1);
        outbox_begin(o, (struct link_ref){link, 1}, session);
        for (uint32_t j = 0; j < count; j++) {
            struct expected x = {link, session, 1 + (size_t)rng_below(rng, most),
                                 (uint8_t)rng_below(rng, 200), j == 0};
            lay(o, k, x);
        }
        outbox_end(o);
        if (flush && rng_below(rng, 50) == 0)
            outbox_flush(o);
    }
}

static void start(struct outbox *o, struct ledger *k)
{
    *k = (struct ledger){.list = calloc(EXPECTED_MAX, sizeof *k->list)};
    cr_assert_eq(outbox_init(o, drain, k), 0);
}

static void end(struct outbox *o, struct ledger *k)
{
    outbox_flush(o);
    cr_assert_eq(k->seen, k->put);
    free(k->list);
    outbox_fini(o);
}

Test(outbox_place, small_batches_come_out_as_they_were_laid)
{
    struct outbox o;
    struct ledger k;
    struct rng rng;
    rng_init(&rng, 1);
    start(&o, &k);
    lay_many(&o, &k, &rng, 5000, 4, 700, true);
    end(&o, &k);
    TEST_NO_LEAKS();
}

Test(outbox_place, many_and_large_bodies_come_out_as_they_were_laid)
{
    struct outbox o;
    struct ledger k;
    struct rng rng;
    rng_init(&rng, 2);
    start(&o, &k);
    lay_many(&o, &k, &rng, 40, 40, PROTO_BATCH_MAX, true);
    lay_many(&o, &k, &rng, 400, 40, 3000, false);
    end(&o, &k);
    TEST_NO_LEAKS();
}

Test(outbox_place, an_empty_batch_is_no_frame)
{
    struct outbox o;
    struct ledger k;
    start(&o, &k);
    outbox_begin(&o, (struct link_ref){1, 1}, 5);
    (void)outbox_room(&o, 1000); /* and nothing is put */
    outbox_end(&o);
    cr_assert_eq(o.frames, 0);
    end(&o, &k);
}

Test(outbox_place, a_batch_is_one_frame_however_full_the_outbox_is)
{
    struct outbox o;
    struct ledger k;
    struct rng rng;
    rng_init(&rng, 3);
    start(&o, &k);
    lay_many(&o, &k, &rng, 6000, 3, 9000, false); /* some forty megabytes: five times full */
    end(&o, &k);
    cr_assert_eq(k.split, 0, "%u batches were split", k.split);
    TEST_NO_LEAKS();
}
