/* world/edge/cluster_part.c: see the header. */
#include "world/edge/cluster_part.h"

#include "common/err.h"
#include "common/nats_url.h"
#include "world/cluster/member.h"
#include "world/cluster/zones.h"
#include "world/command/leave.h"
#include "world/edge/cluster_terms.h"

#include <stdio.h>

int cluster_part_init(struct cluster_part *p, struct loop *l, const struct world_options *o,
                      const struct map *maps, uint32_t n_maps, char *why, size_t why_cap)
{
    struct cluster_nats_config c = {.url = o->cluster,
                                    .world = span_text(o->world_id),
                                    .margin = o->zone_margin,
                                    .lease_ns = o->cluster_lease_ns};
    char reason[CLUSTER_NATS_WHY_MAX], shown[NATS_URL_SHOWN];
    int err;

    *p = (struct cluster_part){0};
    if (o->cluster[0] == '\0')
        return 0;
    err = zones_parse(o->zones, &c.nx, &c.ny);
    ASSERT(err == 0); /* it was checked */
    c.terms = span_of(p->terms, cluster_terms_write(o, maps, n_maps, p->terms));
    err = cluster_nats_create(l, &c, &p->nats, reason, sizeof(reason));
    if (err != 0) {
        nats_url_show(o->cluster, shown);
        snprintf(why, why_cap, "-cluster: %s: %s", shown, reason);
    }
    return err;
}

struct cluster_door cluster_part_door(struct cluster_part *p)
{
    return p->nats ? cluster_nats_door(p->nats) : (struct cluster_door){0};
}

/* What link and storage ask. */
static bool may_act(void *arg)
{
    return cluster_part_may_act(arg);
}

int cluster_part_serve(struct cluster_part *p, const struct world_options *o, struct world *w,
                       struct world_link *link, struct storage *s, char *why, size_t why_cap)
{
    const char *address = o->advertise[0] != '\0' ? o->advertise : world_link_addr(link);
    char shown[NATS_URL_SHOWN];
    int err;

    if (!p->nats)
        return 0;
    if (strlen(address) > CLAIM_TEXT_MAX) {
        snprintf(why, why_cap, "-advertise: \"%.80s…\": is longer than %d bytes", address,
                 CLAIM_TEXT_MAX);
        return E_RANGE;
    }
    p->world = w;
    p->link = link;
    p->storage = s;
    snprintf(p->address, sizeof(p->address), "%s", address);
    world_link_gate(link, may_act, p);
    (void)cluster_part_may_act(p); /* it stands still until it has a lease */
    err = cluster_nats_serve(p->nats, w, span_text(p->address));
    if (err != 0) {
        nats_url_show(o->cluster, shown);
        snprintf(why, why_cap, "-cluster: %s: %s", shown, err_text(err));
    }
    return err;
}

void cluster_part_fini(struct cluster_part *p)
{
    cluster_nats_destroy(p->nats);
    *p = (struct cluster_part){0};
}

static void stand_still(struct cluster_part *p, bool still)
{
    if (p->still == still)
        return;
    p->still = still;
    p->stills += still && p->acted && !p->rests;
    p->acted |= !still;
    p->world->outbox.held = still;
    world_link_still(p->link, still);
    storage_hold(p->storage, still);
    if (!still)
        outbox_flush(&p->world->outbox);
}

bool cluster_part_may_act(struct cluster_part *p)
{
    if (!p->nats)
        return true;
    if (p->world)
        stand_still(p, p->rests || !cluster_nats_may_act(p->nats, clock_mono()));
    return !p->still;
}

bool cluster_part_falls_in(struct cluster_part *p, int64_t *ahead_ns)
{
    const uint64_t generation = p->nats ? cluster_nats_member(p->nats)->generation.number : 0;
    uint32_t number, next;

    if (p->in_step == generation)
        return false;
    p->in_step = generation;
    number = cluster_nats_beat(p->nats, ahead_ns);
    next = world_told_tick(p->world) + 1;
    if (number > next && number - next < UINT32_MAX / 2)
        p->world->lead += number - next;
    return true;
}

bool cluster_part_refused(const struct cluster_part *p, char *why, size_t why_cap)
{
    const char *flag, *reason = p->nats ? cluster_nats_refused(p->nats, &flag) : NULL;

    if (reason)
        snprintf(why, why_cap, "%s: %s", flag, reason);
    return reason != NULL;
}

const char *cluster_part_trouble(const struct cluster_part *p)
{
    if (!p->nats)
        return NULL;
    if (!p->still && !cluster_nats_member(p->nats)->generation.open)
        return "the cluster waits until the leases of one before it are over";
    if (!p->still)
        return NULL;
    if (p->rests)
        return "the world is ending";
    return p->acted ? "the world stands still: its lease is over, and NATS has not renewed it"
                    : "the world has not joined the cluster yet";
}

void cluster_part_gauges(const struct cluster_part *p, struct edge_metrics *m)
{
    struct cluster_nats_counts c;

    m->cluster_acts = !p->still;
    if (!p->nats)
        return;
    cluster_nats_counts(p->nats, &c);
    m->cluster_stills = p->stills;
    m->cluster_voided = c.terms > 0 ? c.terms - 1 : 0; /* before the first nothing was held */
    m->cluster_buried = c.buried;
    m->cluster_worlds = c.worlds;
    m->cluster_zones = c.zones;
    m->cluster_given = c.given;
    m->cluster_generation = c.generation_ms / 1000;
    m->cluster_up = c.up;
    m->cluster_connects = c.connects;
    m->cluster_published = c.published;
    m->cluster_received = c.received;
    m->cluster_dropped_out = c.dropped_out;
    m->cluster_dropped_in = c.dropped_in;
    m->cluster_barred = c.barred;
    m->cluster_keys_done = c.keys_done;
    m->cluster_keys_lost = c.keys_lost;
    m->cluster_keys_away = c.keys_away;
}

bool cluster_part_can_leave(const struct cluster_part *p)
{
    return p->nats && p->acted && !p->still && cluster_nats_others(p->nats) > 0;
}

void cluster_part_leave(struct cluster_part *p)
{
    p->leaves = true;
    cluster_nats_leave(p->nats);
}

bool cluster_part_left(struct cluster_part *p, struct mono now)
{
    struct cluster_nats_counts c;

    leave_tick(p->world, now);
    outbox_flush(&p->world->outbox);
    cluster_nats_counts(p->nats, &c);
    return c.zones == 0 && leave_is_over(p->world);
}

void cluster_part_rest(struct cluster_part *p)
{
    if (!p->nats || !p->world)
        return;
    outbox_flush(&p->world->outbox);
    p->rests = true;
    (void)cluster_part_may_act(p);
}

void cluster_part_quit(struct cluster_part *p, loop_fn *done, void *arg)
{
    if (p->nats && p->world)
        cluster_nats_quit(p->nats, done, arg);
    else
        done(arg);
}
