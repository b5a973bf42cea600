/* world/cluster/realm.c: see the header. */
#include "world/cluster/realm.h"

#include "common/err.h"
#include "world/cluster/border.h"
#include "world/cluster/handover.h"
#include "world/cluster/registry.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Steps at full speed beyond the margin, in which a hand-over is made without stopping anybody. */
#define APRON_STEPS 4

static int cut_scenes(struct realm *r, const struct world *w, char *why, size_t why_cap)
{
    const struct world_config *c = &w->config;
    double reach = c->aoi_radius + c->aoi_hysteresis + 2 * r->apron;
    int err = 0;

    for (uint32_t i = 0; err == 0 && i < w->scenes.n; i++) {
        r->first[i] = r->n_zones;
        err = zones_init(&r->cut[i], w->scenes.list[i].bounds, r->door.nx, r->door.ny, reach, why,
                         why_cap);
        r->n_zones += r->door.nx * r->door.ny;
    }
    return err;
}

static int take_memory(struct realm *r, uint32_t cap)
{
    r->zones = calloc(2 * (size_t)r->n_zones, sizeof(*r->zones));
    r->count = calloc(cap, sizeof(*r->count));
    r->home = calloc(cap, sizeof(*r->home));
    r->told = calloc(cap, sizeof(*r->told));
    r->pending = calloc(cap, sizeof(*r->pending));
    r->mark = calloc(cap, sizeof(*r->mark));
    r->name = calloc(cap, sizeof(*r->name));
    r->gave = calloc(cap, sizeof(*r->gave));
    r->gave_at = calloc(cap, sizeof(*r->gave_at));
    r->came_at = calloc(cap, sizeof(*r->came_at));
    r->past = calloc(REALM_PAST, sizeof(*r->past));
    if (!r->zones || !r->count || !r->home || !r->told || !r->pending || !r->mark || !r->name ||
        !r->gave || !r->gave_at || !r->came_at || !r->past)
        return E_NOMEM;
    for (uint32_t i = 0; i < 2 * r->n_zones; i++)
        r->zones[i].owner = r->zones[i].last = REALM_NOBODY;
    for (uint32_t i = 0; i < cap; i++)
        r->home[i] = r->told[i] = r->gave[i] = r->name[i] = REALM_NONE;
    return 0;
}

int realm_create(struct world *w, const struct cluster_door *door, char *why, size_t why_cap)
{
    const struct world_config *c = &w->config;
    struct realm *r;
    int err;

    ASSERT(door->world.n >= 1);
    ASSERT(door->world.n <= LINK_WORLD_MAX);
    ASSERT(door->margin > 0);
    r = calloc(1, sizeof(*r));
    if (!r)
        return E_NOMEM;
    w->cluster = r;
    r->door = *door;
    r->margin = door->margin;
    r->apron =
        door->margin + APRON_STEPS * c->max_speed * (double)c->tick_ns / (double)CLOCK_NS_PER_S;
    (void)realm_world(r, door->world);
    r->door.world = realm_world_id(r, REALM_SELF);
    err = cut_scenes(r, w, why, why_cap);
    if (err == 0)
        err = take_memory(r, w->entities.cap);
    if (err == 0)
        err = border_create(&r->border);
    if (err == 0)
        err = handover_create(w->sessions.slots.cap, &r->handover);
    if (err == 0)
        err = registry_create(CLUSTER_DOOR_NAMES(w->sessions.slots.cap), w->sessions.slots.cap,
                              rng_next(&w->rng), &r->registry);
    w->sight.holds++; /* with worlds beside it, sight is not certain to be symmetric */
    return err;
}

void realm_destroy(struct realm *r)
{
    if (!r)
        return;
    registry_destroy(r->registry);
    handover_destroy(r->handover);
    border_destroy(r->border);
    free(r->past);
    free(r->came_at);
    free(r->gave_at);
    free(r->gave);
    free(r->mark);
    free(r->name);
    free(r->pending);
    free(r->told);
    free(r->home);
    free(r->count);
    free(r->zones);
    free(r);
}

void realm_lose(struct realm *r)
{
    for (uint32_t i = 0; i < 2 * r->n_zones; i++)
        r->zones[i] = (struct realm_zone){.owner = REALM_NOBODY, .last = REALM_NOBODY};
    memset(r->past, 0, REALM_PAST * sizeof(*r->past));
    r->n_pending = 0;
    r->changed = true;
}

uint32_t realm_world(struct realm *r, struct span id)
{
    if (id.n == 0 || id.n > LINK_WORLD_MAX)
        return REALM_NOBODY;
    for (uint32_t i = 0; i < r->n_worlds; i++) {
        if (span_equal(realm_world_id(r, i), id))
            return i;
    }
    if (r->n_worlds == REALM_WORLDS_MAX)
        return REALM_NOBODY;
    memcpy(r->worlds[r->n_worlds], id.p, id.n);
    return r->n_worlds++;
}

uint32_t realm_zone_at(const struct realm *r, uint32_t scene, double x, double y)
{
    return r->first[scene] + zones_at(&r->cut[scene], x, y);
}

uint32_t realm_scene_of(const struct realm *r, uint32_t zone)
{
    return zone % r->n_zones / (r->door.nx * r->door.ny); /* every scene is cut alike */
}

void realm_bounds(const struct realm *r, uint32_t zone, double out[4])
{
    uint32_t scene = realm_scene_of(r, zone);

    zones_bounds(&r->cut[scene], zone % r->n_zones - r->first[scene], out);
}

double realm_out(const struct realm *r, uint32_t slot, const struct entities *e)
{
    uint32_t zone = r->home[slot], scene = e->scene[slot];

    if (zone == REALM_NONE || realm_scene_of(r, zone) != scene)
        return HUGE_VAL;
    return sqrt(zones_distance2(&r->cut[scene], zone % r->n_zones - r->first[scene], e->x[slot],
                                e->y[slot]));
}

uint32_t realm_around(const struct realm *r, uint32_t zone, uint32_t out[ZONES_NEAR_MAX])
{
    uint32_t scene = realm_scene_of(r, zone);
    uint32_t n = zones_around(&r->cut[scene], zone % r->n_zones - r->first[scene], out);

    for (uint32_t i = 0; i < n; i++)
        out[i] += r->first[scene];
    return n;
}

bool realm_listens(const struct realm *r, uint32_t zone)
{
    uint32_t near[ZONES_NEAR_MAX], n = realm_around(r, zone, near);

    if (realm_owns(r, zone))
        return false;
    near[n++] = zone % r->n_zones;
    for (uint32_t i = 0; i < n; i++) {
        if (realm_owns(r, near[i]) || realm_owns(r, realm_strays(r, near[i])))
            return true;
    }
    return false;
}

/* The zones within reach of a place, by their numbers. */
static uint32_t near_zones(const struct realm *r, uint32_t scene, double x, double y,
                           uint32_t out[ZONES_NEAR_MAX])
{
    uint32_t n = zones_near(&r->cut[scene], x, y, out);

    for (uint32_t i = 0; i < n; i++)
        out[i] += r->first[scene];
    return n;
}

bool realm_is_border(const struct realm *r, uint32_t scene, double x, double y)
{
    uint32_t near[ZONES_NEAR_MAX], n = near_zones(r, scene, x, y, near);

    for (uint32_t i = 0; i < n; i++) {
        if (!realm_owns(r, near[i]) || realm_has_others(r, near[i]))
            return true;
    }
    return false;
}

/* The own zone that is nearest; REALM_NONE: none is within reach. */
static uint32_t nearest(const struct realm *r, uint32_t scene, double x, double y, double *depth)
{
    uint32_t near[ZONES_NEAR_MAX], n = near_zones(r, scene, x, y, near), found = REALM_NONE;
    double best = HUGE_VAL;

    for (uint32_t i = 0; i < n; i++) {
        double d2 = zones_distance2(&r->cut[scene], near[i] - r->first[scene], x, y);

        if (!realm_owns(r, near[i]) || d2 >= best)
            continue;
        best = d2;
        found = near[i];
    }
    *depth = sqrt(best);
    return found;
}

double realm_depth(const struct realm *r, uint32_t scene, double x, double y)
{
    double depth;

    if (realm_owns(r, realm_zone_at(r, scene, x, y)))
        return 0;
    (void)nearest(r, scene, x, y, &depth);
    return depth;
}

uint32_t realm_home(const struct realm *r, uint32_t slot, const struct entities *e)
{
    uint32_t scene = e->scene[slot], home = r->home[slot], found;
    uint32_t at = realm_zone_at(r, scene, e->x[slot], e->y[slot]);
    double depth;

    if (e->cold[slot].kind != 0 && realm_owns(r, home))
        return home;
    if (realm_owns(r, at))
        return at;
    if (realm_owns(r, home) && !realm_is_strays(r, home) && realm_scene_of(r, home) == scene)
        return home;
    found = nearest(r, scene, e->x[slot], e->y[slot], &depth);
    if (depth < r->margin)
        return found;
    if (realm_owns(r, realm_strays(r, at)))
        return realm_strays(r, at);
    if (home != REALM_NONE && realm_owns(r, realm_strays(r, home)) &&
        realm_scene_of(r, home) == scene)
        return realm_strays(r, home); /* it stood past its border when that moved */
    return found;
}

void realm_past_note(struct realm *r, uint32_t id, uint32_t count, struct mono now)
{
    struct realm_past *p = &r->past[id % REALM_PAST];

    if (p->id == id && p->count > count && clock_since(now, p->until) < 0)
        return;
    *p = (struct realm_past){id, count, false, clock_add(now, REALM_PAST_NS)};
}

void realm_past_refuse(struct realm *r, uint32_t id, uint32_t count, struct mono now)
{
    struct realm_past *p = &r->past[id % REALM_PAST];

    if (p->id == id && p->count >= count && clock_since(now, p->until) < 0)
        return;
    *p = (struct realm_past){id, count, true, clock_add(now, REALM_PAST_NS)};
}

const struct realm_past *realm_past_of(const struct realm *r, uint32_t id, struct mono now)
{
    const struct realm_past *p = &r->past[id % REALM_PAST];

    return p->id == id && clock_since(now, p->until) < 0 ? p : NULL;
}

bool realm_is_past(const struct realm *r, uint32_t id, uint32_t count, struct mono now)
{
    const struct realm_past *p = realm_past_of(r, id, now);

    return p && count <= p->count;
}

bool realm_is_gone(const struct realm *r, uint32_t id, uint32_t count, struct mono now)
{
    const struct realm_past *p = realm_past_of(r, id, now);

    return p && (p->refused ? count + 1 < p->count : count <= p->count);
}
