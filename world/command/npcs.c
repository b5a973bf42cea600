/* world/command/npcs.c: see the header. */
#include "world/command/npcs.h"

#include "common/err.h"
#include "world/command/router.h"
#include "world/command/walks.h"
#include "world/state/npc.h"

#include <inttypes.h>
#include <stdio.h>

#define SPEED_SHARE 4              /* of -max-speed goes an NPC of which nothing is said */
#define RETRY_NS    CLOCK_NS_PER_S /* where a walk cannot begin, or has not got anywhere */

/* --- making them ------------------------------------------------------------------------------ */

/* An entity for one. There is room: the numbers were looked at. */
static int put_in(struct world *w, struct span name, uint32_t scene, double x, double y,
                  struct npc *n)
{
    struct entity_birth b = {.kind = 1, .name = name, .scene = scene, .x = x, .y = y};
    struct entity_ref ref;

    if (id_pool_take(&w->ids, b.now, &b.id) != 0 || entities_add(&w->entities, &b, &ref) != 0)
        return E_FULL;
    n->slot = ref.slot;
    npcs_add(&w->npcs, n, &w->entities);
    return 0;
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
    char name[PROTO_NAME_MAX + 1];
    struct npc n = {
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
    snprintf(name, sizeof(name), "npc-%u", w->npcs.n + 1);
    return put_in(w, span_text(m->name[0] != '\0' ? m->name : name), scene, m->at.x, m->at.y, &n);
}

/* -npcs, in the scene that one enters who names none. */
static int at_random(struct world *w)
{
    const struct scene *s = &w->scenes.list[w->scenes.first];

    for (uint64_t i = 0; i < w->config.npcs; i++) {
        struct npc n = {.kind = &npc_wander, .speed = speed_of(w, 0)};
        char name[PROTO_NAME_MAX + 1];
        double x, y;

        npcs_anywhere(&w->npcs, s, &x, &y);
        snprintf(name, sizeof(name), "npc-%u", w->npcs.n + 1);
        if (put_in(w, span_text(name), w->scenes.first, x, y, &n) != 0)
            return E_FULL;
    }
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
    err = npcs_init(&w->npcs, (uint32_t)all, w->entities.cap, &w->scenes, reach, w->config.seed);
    for (uint32_t i = 0; err == 0 && i < w->scenes.n; i++) {
        const struct map *map = w->scenes.list[i].map;

        for (uint32_t k = 0; err == 0 && map && k < map->n_npcs; k++)
            err = from_map(w, i, map, &map->npcs[k], why, why_cap);
    }
    return err == 0 ? at_random(w) : err;
}

/* --- a tick ----------------------------------------------------------------------------------- */

static void think(struct world *w, struct npc *n, struct mono now)
{
    const struct entities *e = &w->entities;
    struct npc_view v = {
        .x = e->x[n->slot],
        .y = e->y[n->slot],
        .bounds = w->scenes.list[e->scene[n->slot]].bounds,
        .ground = walks_ground(w, n->slot),
        .points = n->points,
        .tiles = w->walkers.rules.gait == WALKERS_TILE,
        .rng = &w->npcs.rng,
    };
    struct npc_order order = n->kind->think(n, &v);

    n->until = clock_add(now, order.go ? RETRY_NS : order.wait_ns);
    if (!order.go || walks_go(w, n->slot, order.x, order.y, order.path, WALKS_NPC, now) != 0)
        return;
    if (walkers_has(&w->walkers, n->slot))
        walkers_pace(&w->walkers, n->slot, n->speed);
}

void npcs_tick(struct world *w, struct mono now)
{
    struct npcs *ns = &w->npcs;

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
