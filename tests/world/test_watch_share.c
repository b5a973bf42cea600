/* tests/world/test_watch_share.c: one live map of several worlds. */
#include "world/edge/watch_share.h"

#include "common/err.h"
#include "proto/cluster.h"
#include "tests/cluster_rig.h"
#include "tests/leak.h"

#include <criterion/criterion.h>
#include <math.h>

#define WORLDS 2

struct shared {
    struct crig *rig;
    struct watch_share *share[WORLDS];
    struct watch_copy copy[WORLDS];
};

static void hear(void *arg, const struct cluster_message *m, struct mono now)
{
    watch_share_hear(arg, m, now);
}

static void begin(struct shared *s)
{
    struct world_config config = crig_config();

    s->rig = crig_create(&config, WORLDS, 1, 4);
    for (uint32_t i = 0; i < WORLDS; i++) {
        struct world *w = s->rig->worlds[i].world;

        cr_assert_eq(watch_share_create(w, &s->share[i]), 0);
        cr_assert_eq(watch_copy_init(&s->copy[i]), 0);
        w->ear = (struct world_ear){hear, s->share[i]};
    }
}

static void end(struct shared *s)
{
    for (uint32_t i = 0; i < WORLDS; i++) {
        watch_share_destroy(s->share[i]);
        watch_copy_fini(&s->copy[i]);
    }
    crig_destroy(s->rig);
    TEST_NO_LEAKS();
}

static void take(struct shared *s, uint32_t world)
{
    struct watch_copy *const copies[SCENES_MAX] = {&s->copy[world]};

    watch_copy_take(copies, s->rig->worlds[world].world);
}

/* The first world watches; the second shows what it has. */
static void show(struct shared *s)
{
    watch_share_ask(s->share[0], 0, s->rig->now);
    crig_deliver(s->rig);
    cr_assert(watch_share_is_asked(s->share[1], 0, s->rig->now));
    take(s, 1);
    watch_share_show(s->share[1], 0, &s->copy[1], s->rig->now);
    crig_deliver(s->rig);
}

/* How often one of this id is in the copy; the place of the last. */
static uint32_t times(const struct watch_copy *c, uint32_t id, uint32_t *at)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < c->n; i++) {
        if (c->id[i] != id)
            continue;
        n++;
        *at = i;
    }
    return n;
}

Test(watch_share, a_map_has_the_entities_of_all_worlds_and_each_once)
{
    struct shared s;
    struct watch_copy *c = &s.copy[0];
    uint32_t at = 0;

    begin(&s);
    uint32_t west = crig_join_at(s.rig, 0, "west", -10, 0);
    uint32_t east = crig_join_at(s.rig, 1, "east", 10, 0); /* a ghost in the first world */
    uint32_t far = crig_join_at(s.rig, 1, "far", 200, 3);
    crig_tick(s.rig, 3);
    take(&s, 0);
    cr_expect_eq(c->n, 2);
    cr_expect_eq(c->own, 1);
    show(&s);
    cr_expect_eq(s.copy[1].own, 2);
    watch_share_add(s.share[0], 0, c, s.rig->now);
    cr_assert_eq(c->n, 3);
    cr_expect_eq(c->total, 3);
    cr_expect_eq(times(c, s.rig->clients[west].id, &at), 1);
    cr_expect_eq(c->flags[at], 0);
    cr_expect_eq(times(c, s.rig->clients[east].id, &at), 1);
    cr_expect_eq(c->flags[at], WATCH_COPY_GHOST);
    cr_expect_eq(c->x[at], (float)s.rig->clients[east].x);
    cr_expect_eq(times(c, s.rig->clients[far].id, &at), 1);
    cr_expect_eq(c->x[at], 200.0F);
    cr_expect_eq(c->y[at], 3.0F);
    cr_expect(!watch_share_is_asked(s.share[0], 0, s.rig->now), "nobody watches there");
    end(&s);
}

Test(watch_share, who_says_nothing_any_more_is_not_sent_to_nor_shown)
{
    struct shared s;

    begin(&s);
    crig_join_at(s.rig, 1, "east", 100, 0);
    show(&s);
    struct mono soon = clock_add(s.rig->now, WATCH_SHARE_FRESH_NS - 1),
                later = clock_add(s.rig->now, WATCH_SHARE_FRESH_NS);
    take(&s, 0);
    watch_share_add(s.share[0], 0, &s.copy[0], soon);
    cr_expect_eq(s.copy[0].n, 1);
    cr_expect(watch_share_is_asked(s.share[1], 0, soon));
    take(&s, 0);
    watch_share_add(s.share[0], 0, &s.copy[0], later);
    cr_expect_eq(s.copy[0].n, 0);
    cr_expect(!watch_share_is_asked(s.share[1], 0, later));
    uint64_t before = s.rig->messages;
    watch_share_ask(s.share[0], 0, clock_add(s.rig->now, WATCH_SHARE_ASK_NS - 1));
    cr_expect_eq(s.rig->messages, before, "once a second is enough");
    end(&s);
}

Test(watch_share, what_is_no_frame_shows_nobody)
{
    struct shared s;
    uint8_t frame[WATCH_COPY_HEAD + 2 * WATCH_COPY_EACH] = {0};
    struct cluster_message m = {.kind = CLUSTER_SHOWN, .world = span_text("x")};
    const float bad = NAN;
    uint32_t n, total;

    begin(&s);
    frame[4] = 2; /* n */
    frame[8] = 2; /* total */
    frame[12] = 7;
    frame[16] = 8; /* ids */
    for (size_t cut = 0; cut < sizeof(frame); cut++)
        cr_expect_eq(watch_copy_read(span_of(frame, cut), &n, &total), E_BAD, "%zu", cut);
    cr_expect_eq(watch_copy_read(span_of(frame, sizeof(frame)), &n, &total), 0);
    frame[8] = 1;
    cr_expect_eq(watch_copy_read(span_of(frame, sizeof(frame)), &n, &total), E_BAD);
    frame[8] = 2;
    memcpy(frame + 20, &bad, 4); /* x of the first */
    m.body = span_of(frame, sizeof(frame));
    watch_share_hear(s.share[0], &m, s.rig->now);
    take(&s, 0);
    watch_share_add(s.share[0], 0, &s.copy[0], s.rig->now);
    cr_expect_eq(s.copy[0].n, 1);
    cr_expect_eq(s.copy[0].id[0], 8);
    m.body.n = 13;
    watch_share_hear(s.share[0], &m, s.rig->now);
    take(&s, 0);
    watch_share_add(s.share[0], 0, &s.copy[0], s.rig->now);
    cr_expect_eq(s.copy[0].n, 0);
    end(&s);
}

Test(watch_share, a_full_copy_counts_those_that_it_does_not_show)
{
    struct shared s;
    struct watch_copy *c = &s.copy[0];

    begin(&s);
    crig_join_at(s.rig, 1, "one", 100, 0);
    crig_join_at(s.rig, 1, "two", 101, 0);
    show(&s);
    take(&s, 0);
    for (c->n = 0; c->n < WATCH_COPY_MAX - 1; c->n++) {
        c->id[c->n] = 1000000 + c->n;
        c->flags[c->n] = 0;
    }
    c->total = c->n;
    watch_share_add(s.share[0], 0, c, s.rig->now);
    cr_expect_eq(c->n, WATCH_COPY_MAX);
    cr_expect_eq(c->total, WATCH_COPY_MAX + 1);
    end(&s);
}
