/* world/world.c: see the header. */
#include "world/world.h"

#include "common/err.h"
#include "world/cluster/handover.h"
#include "world/command/npcs.h"
#include "world/state/map.h"
#include "world/interest/drain.h"
#include "world/interest/soft.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WORLD_PI 3.14159265358979323846

/* Jobs and their periods, in ticks. */
#define WORLD_IDS_EVERY    20
#define WORLD_GAUGES_EVERY 20

static uint32_t entities_max(const struct world_config *c)
{
    return c->max_entities ? (uint32_t)c->max_entities : WORLD_ENTITIES_MAX;
}

static uint32_t sessions_max(const struct world_config *c)
{
    return c->max_sessions ? (uint32_t)c->max_sessions : 2 * entities_max(c);
}

/* Units: what a coordinate must stay below, so that its quanta fit. */
static double far_of(const struct world_config *c)
{
    return INT32_MAX / 2 * c->quantum;
}

static int scenes_init_all(struct world *w, bool soft, char *why, size_t why_cap)
{
    const struct world_config *c = &w->config;
    struct scenes_plan plan = {
        .bounds = {c->bounds[0], c->bounds[1], c->bounds[2], c->bounds[3]},
        .maps = w->ops.maps,
        .n_maps = w->ops.n_maps,
        .far = far_of(c),
        .first = c->scene ? span_text(c->scene) : (struct span){0},
    };
    int err = scene_spawn_parse(c->spawn, &plan.spawn);

    return err != 0
               ? err
               : scenes_init(&w->scenes, &plan, c->aoi_radius + c->aoi_hysteresis,
                             c->aoi_hysteresis > 0 && !soft, 2 * entities_max(c), why, why_cap);
}

int world_check(const struct world_config *c, char *why, size_t why_cap)
{
    struct scene_spawn_rule spawn;
    struct soft_rules soft;
    char reason[128];
    double reach;

    if (soft_rules_of(c, &soft, reason, sizeof(reason)) != 0) {
        snprintf(why, why_cap, "-aoi-tiers: \"%s\": %s", c->aoi_tiers, reason);
        return E_RANGE;
    }
    reach = soft.radius[soft.n_tiers - 1] + c->aoi_hysteresis;
    if (!(reach / c->quantum < PROTO_RADIUS_QUANTA)) {
        snprintf(why, why_cap,
                 "%s: %g with -aoi-hysteresis %g must stay below %g units, which is %d "
                 "times -quantum",
                 c->aoi_tiers && c->aoi_tiers[0] ? "-aoi-tiers" : "-aoi-radius",
                 reach - c->aoi_hysteresis, c->aoi_hysteresis, PROTO_RADIUS_QUANTA * c->quantum,
                 PROTO_RADIUS_QUANTA);
        return E_RANGE;
    }
    for (int i = 0; i < 4; i++) {
        if (!(fabs(c->bounds[i]) < far_of(c))) {
            snprintf(why, why_cap, "-bounds: %g must stay below %g units with -quantum %g",
                     c->bounds[i], far_of(c), c->quantum);
            return E_RANGE;
        }
    }
    if (c->walk_speed > c->max_speed) {
        snprintf(why, why_cap, "-walk-speed: %g must not be above -max-speed %g", c->walk_speed,
                 c->max_speed);
        return E_RANGE;
    }
    if (scene_spawn_parse(c->spawn, &spawn) != 0) {
        snprintf(why, why_cap, "-spawn: \"%s\": must be line, uniform or x,y,r", c->spawn);
        return E_RANGE;
    }
    if (c->max_entities > WORLD_ENTITIES_MAX) {
        snprintf(why, why_cap, "-max-entities: %" PRIu64 ": must be at most %u", c->max_entities,
                 WORLD_ENTITIES_MAX);
        return E_RANGE;
    }
    if (c->max_sessions > 4 * (uint64_t)WORLD_ENTITIES_MAX) {
        snprintf(why, why_cap, "-max-sessions: %" PRIu64 ": must be at most %u", c->max_sessions,
                 4 * WORLD_ENTITIES_MAX);
        return E_RANGE;
    }
    return 0;
}

static void job_ids(struct world *w, struct mono now)
{
    id_pool_wake(&w->ids, now);
}

static void job_names(struct world *w, struct mono now)
{
    paces_step(&w->names, (uint32_t)(now.ns / CLOCK_NS_PER_MS));
}

/* Who logs in how often. */
static int names_init(struct world *w)
{
    const uint32_t rate = (uint32_t)w->config.login_rate_name;
    const struct pace_rate rates[PACES_BUCKETS] = {{rate, 60000, rate}};

    if (rate == 0)
        return 0;
    schedule_add(&w->schedule, "names", WORLD_GAUGES_EVERY, job_names);
    return paces_init(&w->names, WORLD_NAMES_PACED, w->config.seed, rates);
}

static void job_gauges(struct world *w, struct mono now)
{
    (void)now;
    world_gauges(w);
}

/* Who is walked, and how ways are found on the grounds that there are. */
static int walks_init(struct world *w, uint32_t cap)
{
    const struct world_config *c = &w->config;
    struct walkers_rules walk = {
        .gait = (enum walkers_gait)c->walk,
        .speed = c->walk_speed > 0 ? c->walk_speed : c->max_speed,
        .tick_ns = c->tick_ns,
        .tile = 1,
        .step_ns = c->walk_step_ns,
        .tile_ns = c->tile_ns,
        .max_tiles = (uint32_t)c->walk_max_tiles,
        .ways = w->scenes.n > 1,
    };
    uint32_t nx = 0, ny = 0;

    for (uint32_t i = 0; i < w->scenes.n; i++) {
        const struct map *map = w->scenes.list[i].map;

        if (!map)
            continue;
        if (lanes_init(&w->lanes[i], &map->ground) != 0)
            return E_NOMEM;
        nx = (uint32_t)map->ground.nx > nx ? (uint32_t)map->ground.nx : nx;
        ny = (uint32_t)map->ground.ny > ny ? (uint32_t)map->ground.ny : ny;
    }
    if (walkers_init(&w->walkers, &walk, cap) != 0)
        return E_NOMEM;
    return finder_init(&w->finder, cap, nx, ny, (uint32_t)c->path_budget, (uint32_t)c->path_queue);
}

static int rooms_init(struct world *w, const struct soft_rules *soft)
{
    const struct world_config *c = &w->config;
    uint32_t max = entities_max(c), cap = 2 * max; /* see struct entities */
    struct sight_rules rules = {c->aoi_radius, c->aoi_hysteresis,
                                c->max_speed * (double)c->tick_ns / (double)CLOCK_NS_PER_S,
                                (enum places_index)c->aoi_index};
    uint64_t lists = soft_wanted(soft) ? 1 : c->max_pairs; /* soft sight has its own */
    double bounds[SCENES_MAX][4];
    const struct pack_code *packs;
    uint32_t ids = max + WORLD_IDS_RESTING;
    size_t scratch = WORLD_SCRATCH_BYTES + 2 * (size_t)cap * (SIGHT_SPARE + 2 * sizeof(uint64_t));

    scenes_bounds(&w->scenes, bounds);
    if (w->ops.cluster.ops)
        ids = REALM_IDS_MAX;
    if (entities_init(&w->entities, max) != 0 || walks_init(w, cap) != 0 ||
        id_pool_init(&w->ids, ids, PROTO_ID_REST_S * CLOCK_NS_PER_S) != 0 ||
        sessions_init(&w->sessions, sessions_max(c), rng_next(&w->rng)) != 0 ||
        characters_init(&w->characters, sessions_max(c), cap, cap) != 0 ||
        backlog_init(&w->backlog, sessions_max(c) + (w->ops.cluster.ops ? HANDOVER_CHAINS : 0)) !=
            0 ||
        sight_init(&w->sight, rules, bounds, w->scenes.n, cap, lists) != 0 ||
        (soft_wanted(soft) &&
         soft_create(soft, &w->scenes, cap, c->max_pairs, &w->sight.soft) != 0) ||
        known_init(&w->paused, cap, lists) != 0 || events_init(&w->events, 2 * cap) != 0 ||
        outbox_init(&w->outbox, w->ops.drain, w->ops.arg) != 0 ||
        arena_init(&w->scratch, scratch) != 0 ||
        message_reader_create(PROTO_FRAME_MAX, &w->reader) != 0)
        return E_NOMEM;
    if (w->ops.cluster.ops &&
        (entities_index(&w->entities, rng_next(&w->rng)) != 0 || id_pool_close(&w->ids) != 0))
        return E_NOMEM;
    w->routes = calloc(cap, sizeof(*w->routes));
    w->tells = calloc(cap, sizeof(*w->tells));
    w->jumped = calloc(cap, sizeof(*w->jumped));
    w->drains.list = calloc(sessions_max(c), sizeof(*w->drains.list));
    if (!w->drains.list || !w->routes || !w->tells || !w->jumped ||
        pack_list_init(&w->fan.list, cap) != 0 || alike_init(&w->fan.alike, cap) != 0)
        return E_NOMEM;
    (void)pack_codes(&packs);
    w->fan.code = packs[0];
    return 0;
}

int world_create(const struct world_config *c, const struct world_ops *ops, struct world **out,
                 char *why, size_t why_cap)
{
    struct soft_rules soft;
    struct world *w;
    int err = world_check(c, why, why_cap);

    if (err != 0)
        return err;
    ASSERT(c->resume_window_ns == 0 || ops->secret);
    snprintf(why, why_cap, "%s", err_text(E_NOMEM));
    w = calloc(1, sizeof(*w));
    if (!w)
        return E_NOMEM;
    w->config = *c;
    w->ops = *ops;
    w->store = ops->store;
    w->motion =
        (struct motion_rules){c->max_speed, (double)c->move_burst_ns / (double)CLOCK_NS_PER_S};
    w->dir_epsilon = c->dir_epsilon * WORLD_PI / 180;
    rng_init(&w->rng, c->seed);
    err = soft_rules_of(c, &soft, why, why_cap);
    ASSERT(err == 0); /* they were checked */
    w->config.aoi_radius = soft.radius[soft.n_tiers - 1];
    err = scenes_init_all(w, soft_wanted(&soft), why, why_cap);
    if (err == 0)
        err = rooms_init(w, &soft);
    if (err == 0)
        err = names_init(w);
    if (err == 0)
        err = npcs_create(w, why, why_cap);
    if (err == 0 && ops->cluster.ops)
        err = realm_create(w, &ops->cluster, why, why_cap);
    if (err == 0 && w->cluster)
        npcs_lie(w);
    if (err != 0) {
        world_destroy(w);
        return err;
    }
    schedule_add(&w->schedule, "ids", WORLD_IDS_EVERY, job_ids);
    schedule_add(&w->schedule, "gauges", WORLD_GAUGES_EVERY, job_gauges);
    if (c->viewer_bytes > 0) {
        const int64_t every = (DRAIN_JOB_NS + c->tick_ns - 1) / c->tick_ns;

        schedule_add(&w->schedule, "drain", (uint32_t)every, drain_grow);
    }
    *out = w;
    return 0;
}

void world_destroy(struct world *w)
{
    if (!w)
        return;
    pack_list_fini(&w->fan.list);
    alike_fini(&w->fan.alike);
    free(w->jumped);
    free(w->tells);
    free(w->routes);
    realm_destroy(w->cluster);
    message_reader_destroy(w->reader);
    arena_fini(&w->scratch);
    outbox_fini(&w->outbox);
    events_fini(&w->events);
    known_fini(&w->paused);
    soft_destroy(w->sight.soft);
    free(w->drains.list);
    sight_fini(&w->sight);
    backlog_fini(&w->backlog);
    characters_fini(&w->characters);
    paces_fini(&w->names);
    sessions_fini(&w->sessions);
    id_pool_fini(&w->ids);
    for (uint32_t i = 0; i < SCENES_MAX; i++)
        lanes_fini(&w->lanes[i]);
    finder_fini(&w->finder);
    npcs_fini(&w->npcs);
    walkers_fini(&w->walkers);
    entities_fini(&w->entities);
    scenes_fini(&w->scenes);
    free(w);
}

uint64_t world_known(const struct world *w)
{
    return w->sight.soft ? w->sight.soft->pairs : w->sight.pairs;
}

uint32_t world_tiers(const struct world *w)
{
    return w->sight.soft ? w->sight.soft->rules.n_tiers : 1;
}

void world_gauges(struct world *w)
{
    struct world_metrics *m = &w->metrics;

    m->sessions = w->sessions.slots.live;
    m->sessions_logged = w->sessions.logged;
    m->sessions_waiting = w->sessions.waiting;
    m->entities = w->entities.alive_count + w->entities.away_count - w->entities.ghost_count;
    m->ghosts = w->entities.ghost_count;
    m->walkers = w->walkers.n;
    m->npcs = w->npcs.n_there;
    m->npcs_awake = w->npcs.n_awake;
    m->path_nodes = w->finder.nodes;
    m->paths_waiting = w->finder.n;
    m->links = w->sessions.links_slots.live;
    m->aoi_known = w->sight.pairs;
    m->sight_deferred = w->sight.deferred;
    m->sight_redone = w->sight.redone;
    m->viewers_paused = w->n_paused;
    if (w->sight.soft) {
        m->viewers_capped = w->sight.soft->n_capped;
        m->aoi_hidden = w->sight.soft->hidden;
        m->viewers_limited = w->sight.soft->n_limited;
        m->bytes_waited = w->sight.soft->bytes_waited;
        m->worst_wait = w->sight.soft->worst_wait;
    }
    m->logins_waiting = w->characters.turn.count;
    m->names_paced = w->names.n;
    m->names_forgotten = w->names.forgotten;
    m->loads_open = w->characters.asked.count;
    m->saves_left = w->characters.left_count;
    m->requests_held = w->backlog.bodies;
    m->events_leave = w->events.count[EVENT_LEAVE];
    m->events_enter = w->events.count[EVENT_ENTER];
    m->events_update = w->events.count[EVENT_UPDATE];
    m->events_stale = w->events.stale;
    m->link_frames_out = w->outbox.frames;
    m->link_bytes_out = w->outbox.bytes;
}

static void validate_entity(const struct world *w, uint32_t slot)
{
    const struct entities *e = &w->entities;
    const uint64_t *keys = known_keys(&w->sight.known, slot);
    const struct session *s = &w->sessions.list[e->cold[slot].session.slot];

    ASSERT(e->id[slot] != 0);
    ASSERT(e->scene[slot] < w->scenes.n);
    ASSERT(scene_inside(&w->scenes.list[e->scene[slot]], e->x[slot], e->y[slot]));
    ASSERT((w->scenes.grid.cell[slot] == GRID_NONE) == ((e->flags[slot] & ENTITY_NEW) != 0));
    ASSERT(!walkers_has(&w->walkers, slot) ||
           w->walkers.walks[w->walkers.at[slot] - 1].slot == slot);
    ASSERT(w->tells[slot].len == 0);
    ASSERT(w->jumped[slot] == 0);
    for (uint32_t i = 1; i < known_count(&w->sight.known, slot); i++)
        ASSERT(keys[i - 1] < keys[i]);
    if ((s->state == SESSION_INSIDE || s->state == SESSION_WAITING) && s->entity.slot == slot)
        ASSERT(s->entity.gen == e->slots.gen[slot]);
    if (s->state == SESSION_WAITING && s->entity.slot == slot)
        ASSERT(w->sight.mode[slot] == SIGHT_BLIND);
}

void world_validate(const struct world *w)
{
    const struct sight *s = &w->sight;
    const struct entities *e = &w->entities;
    uint64_t pairs = 0, inside = 0, waiting = 0, masks = 0;
    uint32_t in_scene[SCENES_MAX] = {0};

    if (s->soft)
        soft_validate(s->soft, e);
    ASSERT(w->scratch.used == 0);
    ASSERT(e->alive_count + e->away_count + e->dying_count == e->slots.live);
    for (uint32_t i = 0; i < e->alive_count; i++) {
        ASSERT(e->alive_at[e->alive[i]] == i);
        validate_entity(w, e->alive[i]);
        in_scene[e->scene[e->alive[i]]] += !entities_is_ghost(e, e->alive[i]);
    }
    for (uint32_t i = 0; i < w->npcs.n; i++) {
        if (w->npcs.list[i].slot != NPC_NONE && w->npcs.list[i].awake_at == 0)
            in_scene[e->scene[w->npcs.list[i].slot]]++;
    }
    ASSERT(memcmp(in_scene, e->in_scene, sizeof(in_scene)) == 0);
    for (uint32_t i = 0; i < s->cap && !s->soft; i++) {
        pairs += s->count[i];
        masks += s->mode[i] == SIGHT_MASK;
        ASSERT(s->mode[i] == SIGHT_MASK || known_count(&s->known, i) == s->count[i]);
    }
    ASSERT(s->soft || pairs == s->pairs);
    ASSERT(masks == s->n_masks);
    ASSERT(s->added - s->removed - s->cleared == s->pairs);
    for (uint32_t i = 0; i < w->sessions.slots.cap; i++) {
        if (!(w->sessions.slots.gen[i] & 1))
            continue;
        inside += w->sessions.list[i].state == SESSION_INSIDE;
        waiting += w->sessions.list[i].state == SESSION_WAITING;
    }
    ASSERT(waiting == w->sessions.waiting);
    ASSERT(inside == w->sessions.inside);
}
