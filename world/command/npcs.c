/* world/command/npcs.c: see the header. */
#include "world/command/npcs.h"

#include "common/err.h"
#include "world/cluster/realm.h"
#include "world/command/courier.h"
#include "world/command/router.h"
#include "world/command/walks.h"
#include "world/state/npc.h"

#include <inttypes.h>
#include <stdio.h>

#define SPEED_SHARE 4              /* of -max-speed goes an NPC of which nothing is said */
#define RETRY_NS    CLOCK_NS_PER_S /* where a walk cannot begin, or has not got anywhere */
#define COME_MAX    256            /* that come in a tick; the others follow */

/* By which all worlds of a cluster find the same homes. */
#define CLUSTER_SEED 0x6e706373u

/* --- making them ------------------------------------------------------------------------------ */

/* An entity for one, at its home. E_FULL. */
static int come(struct world *w, uint32_t i, struct mono now)
{
    const struct npc *n = &w->npcs.list[i];
    char name[PROTO_NAME_MAX + 1];
    struct entity_birth b = {.kind = 1, .scene = n->scene, .x = n->x, .y = n->y, .now = now};
    struct entity_ref ref;

    snprintf(name, sizeof(name), "npc-%u", i + 1);
    b.name = span_text(n->name ? n->name : name);
    if (entities_full(&w->entities) || id_pool_take(&w->ids, now, &b.id) != 0)
        return E_FULL;
    if (entities_add(&w->entities, &b, &ref) != 0)
        return E_FULL;
    if (w->cluster) {
        realm_born(w->cluster, ref.slot, REALM_NONE);
        w->cluster->home[ref.slot] = n->zone;
    }
    npcs_come(&w->npcs, i, ref.slot, &w->entities);
    return 0;
}

/* One more; in a cluster it comes when its zone does. There is room: the numbers were looked at. */
static int put_in(struct world *w, const struct npc *n)
{
    uint32_t i = npcs_add(&w->npcs, n);

    return w->ops.cluster.ops ? 0 : come(w, i, (struct mono){0});
}

static double speed_of(const struct world *w, double asked)
{
    double most = w->config.max_speed;

    return asked <= 0 ? most / SPEED_SHARE : asked < most ? asked : most;
}

/* What a map says that one does; NULL: there is no such thing. */
static const struct npc_kind *kind_of(const struct map_npc *m)
{
    if (m->behaviour[0] != '\0')
        return npc_kind_find(span_text(m->behaviour));
    if (m->n_route > 0)
        return &npc_patrol;
    return m->area.x0 < m->area.x1 || m->area.y0 < m->area.y1 ? &npc_wander : &npc_stand;
}

static int from_map(struct world *w, uint32_t scene, const struct map *map, const struct map_npc *m,
                    char *why, size_t why_cap)
{
    struct npc n = {
        .name = m->name[0] != '\0' ? m->name : NULL,
        .scene = scene,
        .x = m->at.x,
        .y = m->at.y,
        .kind = kind_of(m),
        .area = m->area,
        .points = map->points ? map->points + m->route : NULL,
        .n_route = m->n_route,
        .closed = m->closed,
        .speed = speed_of(w, m->speed),
    };

    if (!n.kind || (n.kind->routed && m->n_route == 0)) {
        snprintf(why, why_cap, "-map: \"%s\": npc \"%s\" at (%g, %g): %s \"%s\"%s", map->name,
                 m->name, m->at.x, m->at.y, n.kind ? "no route to" : "there is no behaviour",
                 m->behaviour, n.kind ? "" : " (" NPC_KIND_WORDS ")");
        return E_RANGE;
    }
    return put_in(w, &n);
}

/* -npcs, in the scene that one enters who names none. */
static int at_random(struct world *w)
{
    const struct scene *s = &w->scenes.list[w->scenes.first];

    for (uint64_t i = 0; i < w->config.npcs; i++) {
        struct npc n = {.scene = w->scenes.first, .kind = &npc_wander, .speed = speed_of(w, 0)};

        npcs_anywhere(&w->npcs, s, &n.x, &n.y);
        if (put_in(w, &n) != 0)
            return E_FULL;
    }
    if (w->ops.cluster.ops)
        rng_init(&w->npcs.rng, w->config.seed);
    return 0;
}

int npcs_create(struct world *w, char *why, size_t why_cap)
{
    double reach = w->config.aoi_radius + w->config.aoi_hysteresis;
    uint64_t all = w->config.npcs;
    int err;

    for (uint32_t i = 0; i < w->scenes.n; i++)
        all += w->scenes.list[i].map ? w->scenes.list[i].map->n_npcs : 0;
    if (all > w->entities.max) {
        snprintf(why, why_cap,
                 "-npcs: %" PRIu64 ": with those of maps %" PRIu64 ", above -max-entities %u",
                 w->config.npcs, all, w->entities.max);
        return E_RANGE;
    }
    err = npcs_init(&w->npcs, (uint32_t)all, w->entities.cap, &w->scenes, reach,
                    w->ops.cluster.ops ? CLUSTER_SEED : w->config.seed);
    for (uint32_t i = 0; err == 0 && i < w->scenes.n; i++) {
        const struct map *map = w->scenes.list[i].map;

        for (uint32_t k = 0; err == 0 && map && k < map->n_npcs; k++)
            err = from_map(w, i, map, &map->npcs[k], why, why_cap);
    }
    return err == 0 ? at_random(w) : err;
}

/* --- zones ------------------------------------------------------------------------------------ */

void npcs_lie(struct world *w)
{
    for (uint32_t i = 0; i < w->npcs.n; i++) {
        struct npc *n = &w->npcs.list[i];

        n->zone = realm_zone_at(w->cluster, n->scene, n->x, n->y);
    }
    w->npcs.next = w->npcs.n;
}

void npcs_zone_come(struct world *w)
{
    w->npcs.next = 0;
}

/* It leaves the world; who sees it hears so in tick `w->tick + 1`. */
static void go(struct world *w, uint32_t i, struct mono now)
{
    uint32_t slot = npcs_go(&w->npcs, i, &w->entities);

    cmd_enter_part(w, slot, w->tick + 1);
    courier_id_end(w, w->entities.id[slot], now);
    entities_remove(&w->entities, entities_ref(&w->entities, slot));
}

void npcs_zone_go(struct world *w, uint32_t zone, struct mono now)
{
    for (uint32_t i = 0; i < w->npcs.n; i++) {
        struct npc *n = &w->npcs.list[i];

        if (n->slot != NPC_NONE && (zone == REALM_NONE || n->zone == zone))
            go(w, i, now);
    }
}

/* Those whose zones have come, in turns. */
static void come_in(struct world *w, struct mono now)
{
    struct npcs *ns = &w->npcs;
    uint32_t came = 0;

    if (clock_since(now, ns->wait) < 0)
        return;
    for (; ns->next < ns->n && came < COME_MAX; ns->next++) {
        const struct npc *n = &ns->list[ns->next];

        if (n->slot != NPC_NONE || !realm_owns(w->cluster, n->zone) ||
            w->cluster->zones[n->zone].given)
            continue;
        if (come(w, ns->next, now) != 0) {
            ns->wait = clock_add(now, RETRY_NS); /* there is no id, or no room */
            return;
        }
        came++;
    }
}

/* --- a tick ----------------------------------------------------------------------------------- */

static void think(struct world *w, struct npc *n, struct mono now)
{
    const struct entities *e = &w->entities;
    double zone[4];
    struct npc_view v = {
        .x = e->x[n->slot],
        .y = e->y[n->slot],
        .bounds = w->scenes.list[e->scene[n->slot]].bounds,
        .ground = walks_ground(w, n->slot),
        .points = n->points,
        .tiles = w->walkers.rules.gait == WALKERS_TILE,
        .rng = &w->npcs.rng,
    };
    struct npc_order order;

    if (w->cluster) {
        realm_bounds(w->cluster, n->zone, zone);
        v.bounds = zone;
    }
    order = n->kind->think(n, &v);
    n->until = clock_add(now, order.go ? RETRY_NS : order.wait_ns);
    if (!order.go || walks_go(w, n->slot, order.x, order.y, order.path, WALKS_NPC, now) != 0)
        return;
    if (walkers_has(&w->walkers, n->slot))
        walkers_pace(&w->walkers, n->slot, n->speed);
}

void npcs_tick(struct world *w, struct mono now)
{
    struct npcs *ns = &w->npcs;

    if (w->cluster && ns->next < ns->n)
        come_in(w, now);
    npcs_count(ns, &w->entities);
    for (uint32_t i = ns->n_awake; i-- > 0;) { /* who falls asleep is replaced by one looked at */
        struct npc *n = &ns->list[ns->awake[i]];

        if (!npcs_watched(ns, ns->awake[i], &w->entities)) {
            cmd_enter_part(w, n->slot, w->tick);
            npcs_sleep(ns, ns->awake[i], &w->entities);
        } else if (now.ns >= n->until.ns && !walkers_has(&w->walkers, n->slot)) {
            think(w, n, now);
        }
    }
}
