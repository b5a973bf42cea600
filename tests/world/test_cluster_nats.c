/* tests/world/test_cluster_nats.c: worlds that share zones by way of a real NATS.
 * Where the build has no nats.c, or the machine no nats-server, they say so.
 */
#include "common/io/nats_bus.h"
#include "tests/cluster_rig.h"
#include "tests/nats_stand.h"
#include "tests/process.h"
#include "world/cluster/realm.h"
#include "world/edge/cluster_nats.h"
#include "world/tick.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>

#define LEASE   (500 * CLOCK_NS_PER_MS)
#define PATIENT (4 * PROCESS_PATIENCE_MS)

#ifdef AEGIS_PART_LIBNATS

#define WORLDS 3
#define ZONES  4 /* of the one scene */

struct one {
    struct cluster_nats *cluster; /* NULL: it is not there */
    struct world *world;
};

struct several {
    struct nats_stand nats;
    struct loop *loop;
    struct one w[WORLDS];
};

static void nothing(void *arg, struct link_ref ref, struct span frames)
{
    (void)arg;
    (void)ref;
    (void)frames;
}

static void secret(void *arg, void *out, size_t n)
{
    (void)arg;
    rng_secret(out, n);
}

static void begin(struct several *s, uint32_t i, const char *id, const char *terms)
{
    struct world_config config = crig_config();
    struct cluster_nats_config c = {.url = s->nats.url,
                                    .world = span_text(id),
                                    .nx = 2,
                                    .ny = 2,
                                    .margin = 4,
                                    .lease_ns = LEASE,
                                    .terms = span_text(terms)};
    struct world_ops ops = {.drain = nothing, .secret = secret};
    char why[CLUSTER_NATS_WHY_MAX];

    cr_assert_eq(cluster_nats_create(s->loop, &c, &s->w[i].cluster, why, sizeof(why)), 0);
    ops.cluster = cluster_nats_door(s->w[i].cluster);
    cr_assert_eq(world_create(&config, &ops, &s->w[i].world, why, sizeof(why)), 0, "%s", why);
    cr_assert_eq(cluster_nats_serve(s->w[i].cluster, s->w[i].world, span_text("127.0.0.1:1")), 0);
}

static void finish(struct several *s, uint32_t i)
{
    cluster_nats_destroy(s->w[i].cluster);
    world_destroy(s->w[i].world);
    s->w[i] = (struct one){0};
}

static bool stand_up(struct several *s)
{
    *s = (struct several){0};
    if (!nats_stand_up(&s->nats, true))
        return false;
    cr_assert_eq(loop_create(&s->loop), 0);
    return true;
}

static void stand_down(struct several *s)
{
    for (uint32_t i = 0; i < WORLDS; i++)
        finish(s, i);
    loop_destroy(s->loop);
    nats_stand_down(&s->nats);
}

/* Some time passes; those who may, tick. */
static void pass(struct several *s)
{
    struct mono now = clock_mono();

    loop_turn(s->loop, 20 * CLOCK_NS_PER_MS);
    for (uint32_t i = 0; i < WORLDS; i++) {
        if (s->w[i].cluster && cluster_nats_may_act(s->w[i].cluster, now))
            tick_run(s->w[i].world, now);
    }
}

static uint64_t zones_of(const struct several *s, uint32_t i)
{
    struct cluster_nats_counts c;

    if (!s->w[i].cluster)
        return 0;
    cluster_nats_counts(s->w[i].cluster, &c);
    return c.zones;
}

static const char *refused(const struct several *s, uint32_t i)
{
    const char *flag;

    return cluster_nats_refused(s->w[i].cluster, &flag);
}

/* Until each of the `n` that are there has its even share of all. */
static void await_shares(struct several *s, uint32_t n)
{
    struct mono deadline = process_deadline(PATIENT);
    uint64_t all = 0, least = 0, most = 0;

    while (all != ZONES || least < ZONES / n || most > (ZONES + n - 1) / n) {
        all = most = 0;
        least = ZONES;
        for (uint32_t i = 0; i < WORLDS; i++) {
            uint64_t zones = zones_of(s, i);

            all += zones;
            if (s->w[i].cluster && zones < least)
                least = zones;
            if (zones > most)
                most = zones;
        }
        pass(s);
        process_rest(deadline, "zones that are shared evenly");
    }
}

/* Does each world know the same owners, and itself by its own? */
static bool agree(const struct several *s)
{
    const struct realm *a = s->w[0].world->cluster, *b = s->w[1].world->cluster;

    for (uint32_t i = 0; i < a->n_zones; i++) {
        uint32_t x = a->zones[i].owner, y = b->zones[i].owner;

        if (x == REALM_NOBODY || y == REALM_NOBODY || a->zones[i].epoch != b->zones[i].epoch ||
            !span_equal(realm_world_id(a, x), realm_world_id(b, y)))
            return false;
    }
    return true;
}

static void await_agreement(struct several *s)
{
    struct mono deadline = process_deadline(PATIENT);

    while (!agree(s)) {
        pass(s);
        process_rest(deadline, "agreement on owners");
    }
}

TestSuite(cluster_nats, .fini = process_end_all);

Test(cluster_nats, zones_are_shared_evenly_and_taken_over_from_who_is_gone)
{
    struct several s;

    if (!stand_up(&s))
        return;
    begin(&s, 0, "a", "terms");
    await_shares(&s, 1);
    begin(&s, 1, "b", "terms");
    await_shares(&s, 2);
    await_agreement(&s);
    begin(&s, 2, "c", "terms");
    await_shares(&s, 3);
    finish(&s, 2);
    await_shares(&s, 2);
    await_agreement(&s);
    stand_down(&s);
}

Test(cluster_nats, worlds_have_ids_of_their_own_and_ticks_of_one_beginning)
{
    struct several s;
    struct mono deadline = process_deadline(PATIENT);
    uint32_t a = 0, b = 0;

    if (!stand_up(&s))
        return;
    begin(&s, 0, "a", "terms");
    begin(&s, 1, "b", "terms");
    await_shares(&s, 2);
    while (a == 0 || b == 0) {
        pass(&s);
        if (a == 0 && id_pool_take(&s.w[0].world->ids, clock_mono(), &a) != 0)
            a = 0;
        if (b == 0 && id_pool_take(&s.w[1].world->ids, clock_mono(), &b) != 0)
            b = 0;
        process_rest(deadline, "ids");
    }
    cr_assert_neq(a, b);
    int64_t ahead_ns[2];
    uint32_t first = cluster_nats_beat(s.w[0].cluster, &ahead_ns[0]);
    uint32_t then = cluster_nats_beat(s.w[1].cluster, &ahead_ns[1]);
    cr_assert_leq(then - first, 1, "%u and %u", first, then); /* one may begin in between */
    for (uint32_t i = 0; i < 2; i++)
        cr_assert(ahead_ns[i] > 0 && ahead_ns[i] <= s.w[i].world->config.tick_ns);
    stand_down(&s);
}

Test(cluster_nats, neighbours_hear_each_other)
{
    struct several s;
    struct cluster_nats_counts c;
    struct mono deadline = process_deadline(PATIENT);

    if (!stand_up(&s))
        return;
    begin(&s, 0, "a", "terms");
    begin(&s, 1, "b", "terms");
    await_shares(&s, 2);
    await_agreement(&s);
    for (uint32_t i = 0; i < 2;) {
        cluster_nats_counts(s.w[i].cluster, &c);
        i += c.received > 0;
        pass(&s);
        process_rest(deadline, "words of a neighbour");
    }
    cr_assert_eq(s.w[0].world->metrics.messages_bad, 0);
    cr_assert_eq(s.w[1].world->metrics.messages_bad, 0);
    stand_down(&s);
}

Test(cluster_nats, who_does_not_agree_or_has_an_id_that_is_taken_may_not_take_part)
{
    struct several s;
    struct mono deadline = process_deadline(PATIENT);

    if (!stand_up(&s))
        return;
    begin(&s, 0, "a", "terms");
    await_shares(&s, 1);
    begin(&s, 1, "b", "others");
    begin(&s, 2, "a", "terms");
    while (!refused(&s, 1) || !refused(&s, 2)) {
        pass(&s);
        process_rest(deadline, "refusals");
    }
    cr_assert_not_null(strstr(refused(&s, 1), "others"));
    cr_assert(!cluster_nats_may_act(s.w[1].cluster, clock_mono()));
    cr_assert(!cluster_nats_may_act(s.w[2].cluster, clock_mono()));
    cr_assert_eq(zones_of(&s, 0), 4, "and harms nobody");
    stand_down(&s);
}

Test(cluster_nats, without_nats_a_world_stands_still_when_its_lease_is_over_and_goes_on_after)
{
    struct several s;
    struct mono deadline = process_deadline(PATIENT);
    uint64_t epoch;

    if (!stand_up(&s))
        return;
    begin(&s, 0, "a", "terms");
    await_shares(&s, 1);
    epoch = s.w[0].world->cluster->zones[0].epoch;
    process_signal(s.nats.server, SIGSTOP);
    while (cluster_nats_may_act(s.w[0].cluster, clock_mono())) {
        pass(&s);
        process_rest(deadline, "the end of a lease");
    }
    process_signal(s.nats.server, SIGCONT);
    while (!cluster_nats_may_act(s.w[0].cluster, clock_mono())) {
        pass(&s);
        process_rest(deadline, "its renewal");
    }
    pass(&s);
    cr_assert_eq(zones_of(&s, 0), 4);
    cr_assert_eq(s.w[0].world->cluster->zones[0].epoch, epoch, "nobody else had them meanwhile");
    stand_down(&s);
}

Test(cluster_nats, when_nats_has_lost_everything_a_new_generation_begins)
{
    struct several s;
    struct mono deadline = process_deadline(PATIENT);
    struct cluster_nats_counts before, after;

    if (!stand_up(&s))
        return;
    begin(&s, 0, "a", "terms");
    await_shares(&s, 1);
    cluster_nats_counts(s.w[0].cluster, &before);
    nats_stand_wipe(&s.nats);
    do {
        pass(&s);
        cluster_nats_counts(s.w[0].cluster, &after);
        process_rest(deadline, "the end of the old one");
    } while (after.terms == before.terms);
    await_shares(&s, 1);
    while (!cluster_nats_may_act(s.w[0].cluster, clock_mono())) {
        pass(&s);
        process_rest(deadline, "the new one");
    }
    stand_down(&s);
}

#endif
