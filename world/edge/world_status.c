/* world/edge/world_status.c: one line now and then of how the world does.
 * May touch: common, common/io/loop, world/world, the clock. On trouble: none once it runs.
 */
#include "world/edge/world_status.h"

#include "common/log.h"
#include "world/cluster/realm.h"

#include <inttypes.h>
#include <stdio.h>

#define NS_PER_US    1000
#define TEXT_AGES    192 /* bytes of one quantile of all tiers */
#define TEXT_CLUSTER 64
#define TEXT_MAX     768

static struct world_status_counts counts_now(struct world *w)
{
    world_gauges(w);
    const struct world_metrics *m = &w->metrics;
    return (struct world_status_counts){
        .moves = m->moves_ok,
        .adds = m->aoi_adds,
        .removes = m->aoi_removes,
        .updates = m->aoi_adds + m->aoi_removes + m->aoi_moves,
    };
}

static uint64_t a_second(uint64_t before, uint64_t after, int64_t over_ns)
{
    return (uint64_t)((double)(after - before) * (double)CLOCK_NS_PER_S / (double)over_ns + 0.5);
}

/* " NAME=1,2,3": this quantile of each tier's age, in whole ms. */
static void ages_text(const struct world_status_now *now, const char *name, double q, char *out,
                      size_t cap)
{
    size_t n = 0;

    for (uint32_t i = 0; i < now->n_tiers && n < cap; i++) {
        uint64_t ms = hist_quantile(&now->ages[i], q) * (uint64_t)now->tick_ns / CLOCK_NS_PER_MS;

        n += (size_t)snprintf(out + n, cap - n, "%s%s%" PRIu64, i == 0 ? name : "",
                              i == 0 ? "=" : ",", ms);
    }
}

void world_status_text(const struct world_status_now *now, struct world_status_counts before,
                       struct world_status_counts after, int64_t over_ns,
                       const struct hist *tick_ns, char *out, size_t cap)
{
    char p50[TEXT_AGES], p99[TEXT_AGES], cluster[TEXT_CLUSTER] = "";

    ASSERT(over_ns > 0);
    if (now->cluster)
        snprintf(cluster, sizeof(cluster), " zones=%" PRIu32 " ghosts=%" PRIu32 " acts=%d",
                 now->zones, now->ghosts, !now->still);
    ages_text(now, "age_p50_ms", 0.5, p50, sizeof(p50));
    ages_text(now, "age_p99_ms", 0.99, p99, sizeof(p99));
    snprintf(
        out, cap,
        "status players=%" PRIu32 " moves=%" PRIu64 " updates=%" PRIu64 " tick_p50_us=%" PRIu64
        " tick_max_us=%" PRIu64 " known=%" PRIu64 " adds=%" PRIu64 " removes=%" PRIu64 " %s %s%s",
        now->players, a_second(before.moves, after.moves, over_ns),
        a_second(before.updates, after.updates, over_ns), hist_quantile(tick_ns, 0.5) / NS_PER_US,
        tick_ns->max / NS_PER_US, now->known, a_second(before.adds, after.adds, over_ns),
        a_second(before.removes, after.removes, over_ns), p50, p99, cluster);
}

static void look_at_cluster(const struct world *w, struct world_status_now *out)
{
    const struct realm *r = w->cluster;

    if (!r)
        return;
    out->cluster = true;
    out->still = w->outbox.held;
    out->ghosts = w->entities.ghost_count;
    for (uint32_t i = 0; i < r->n_zones; i++)
        out->zones += realm_owns(r, i);
}

static void on_due(void *arg)
{
    struct world_status *s = arg;
    struct world *w = s->world;
    struct mono now = clock_mono();
    struct world_status_counts counts = counts_now(w);
    int64_t over_ns = clock_since(now, s->at);
    struct world_status_now what = {.players = w->sessions.inside,
                                    .known = w->metrics.aoi_known,
                                    .ages = s->told_since,
                                    .n_tiers = world_tiers(w),
                                    .tick_ns = w->config.tick_ns};
    char text[TEXT_MAX];

    look_at_cluster(w, &what);
    for (uint32_t i = 0; i < what.n_tiers; i++) {
        hist_since(&w->ages.told[i], &s->told[i], &s->told_since[i]);
        s->told[i] = w->ages.told[i];
    }
    world_status_text(&what, s->last, counts, over_ns > 0 ? over_ns : 1, &s->tick_ns, text,
                      sizeof(text));
    log_line(LOG_INFO, "%s", text);
    s->last = counts;
    s->at = now;
    hist_clear(&s->tick_ns);
    loop_timer_arm(s->timer, s->every_ns);
}

int world_status_init(struct world_status *s, struct loop *l, struct world *w, int64_t every_ns)
{
    *s = (struct world_status){.world = w, .every_ns = every_ns, .at = clock_mono()};
    if (every_ns == 0)
        return 0;
    int err = loop_timer_create(l, on_due, s, &s->timer);
    if (err != 0)
        return err;
    s->last = counts_now(w);
    loop_timer_arm(s->timer, every_ns);
    return 0;
}

void world_status_fini(struct world_status *s)
{
    loop_timer_destroy(s->timer);
    s->timer = NULL;
}

void world_status_tick(struct world_status *s, uint64_t ns)
{
    hist_add(&s->tick_ns, ns);
}
