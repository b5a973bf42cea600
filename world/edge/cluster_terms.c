/* world/edge/cluster_terms.c: see the header. */
#include "world/edge/cluster_terms.h"

#include "common/clock.h"
#include "world/state/map.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* FNV-1a: no stranger chooses what is summed. */
#define SUM_START 0xcbf29ce484222325u
#define SUM_PRIME 0x100000001b3u

static void add(uint64_t *sum, const void *bytes, size_t n)
{
    const uint8_t *p = bytes;

    for (size_t i = 0; i < n; i++)
        *sum = (*sum ^ p[i]) * SUM_PRIME;
}

/* As a number, so that no padding and no byte order counts; -0 is 0. */
static void add_real(uint64_t *sum, double v)
{
    char text[40];

    add(sum, text, (size_t)snprintf(text, sizeof(text), "%.17g,", v == 0 ? 0 : v));
}

static void add_text(uint64_t *sum, const char *text)
{
    add(sum, text, strlen(text) + 1);
}

static void add_area(uint64_t *sum, const struct map_area *a)
{
    add_real(sum, a->x0);
    add_real(sum, a->y0);
    add_real(sum, a->x1);
    add_real(sum, a->y1);
}

static void add_ground(uint64_t *sum, const struct ground *g)
{
    add_real(sum, g->x0);
    add_real(sum, g->y0);
    add_real(sum, g->size);
    add_real(sum, g->nx);
    add_real(sum, g->ny);
    for (int32_t y = 0; y < g->ny; y++) {
        for (int32_t x = 0; x < g->nx; x += 8) {
            uint8_t byte = 0;

            for (int32_t i = 0; i < 8 && x + i < g->nx; i++)
                byte |= (uint8_t)(ground_blocked(g, x + i, y) << i);
            add(sum, &byte, 1);
        }
    }
}

static void add_npc(uint64_t *sum, const struct map *m, const struct map_npc *n)
{
    add_text(sum, n->name);
    add_text(sum, n->behaviour);
    add_real(sum, n->at.x);
    add_real(sum, n->at.y);
    add_area(sum, &n->area);
    add_real(sum, n->closed);
    add_real(sum, n->speed);
    for (uint32_t i = 0; i < n->n_route; i++) {
        add_real(sum, m->points[n->route + i].x);
        add_real(sum, m->points[n->route + i].y);
    }
}

static void add_map(uint64_t *sum, const struct map *m)
{
    add_text(sum, m->name);
    add_ground(sum, &m->ground);
    for (uint32_t i = 0; i < m->n_spawns; i++) {
        add_text(sum, m->spawns[i].name);
        add_area(sum, &m->spawns[i].area);
    }
    for (uint32_t i = 0; i < m->n_npcs; i++)
        add_npc(sum, m, &m->npcs[i]);
    for (uint32_t i = 0; i < m->n_portals; i++) {
        add_text(sum, m->portals[i].name);
        add_text(sum, m->portals[i].scene);
        add_area(sum, &m->portals[i].area);
        add_real(sum, m->portals[i].x);
        add_real(sum, m->portals[i].y);
    }
}

/* What stands in the line itself is here exactly. */
static void add_rules(uint64_t *sum, const struct world_options *o)
{
    const struct world_config *c = &o->core;

    add_real(sum, c->aoi_radius);
    add_real(sum, c->aoi_hysteresis);
    add_text(sum, c->aoi_tiers);
    add_real(sum, o->zone_margin);
    add_real(sum, (double)c->tick_ns);
    add_real(sum, c->quantum);
    for (int i = 0; i < 4; i++)
        add_real(sum, c->bounds[i]);
    add_real(sum, c->max_speed);
    add_real(sum, (double)c->move_burst_ns);
    add_real(sum, c->walk);
    add_real(sum, c->walk_speed);
    add_real(sum, (double)c->walk_step_ns);
    add_real(sum, (double)c->tile_ns);
    add_real(sum, (double)c->walk_max_tiles);
    add_real(sum, (double)c->npcs);
    add_text(sum, c->spawn);
    add_text(sum, c->scene);
}

size_t cluster_terms_write(const struct world_options *o, const struct map *maps, uint32_t n_maps,
                           char out[CLAIM_TEXT_MAX + 1])
{
    const struct world_config *c = &o->core;
    uint64_t sum = SUM_START;
    int n;

    add_rules(&sum, o);
    for (uint32_t i = 0; i < n_maps; i++)
        add_map(&sum, &maps[i]);
    n = snprintf(out, CLAIM_TEXT_MAX + 1,
                 "zones=%s,radius=%g,hysteresis=%g,margin=%g,tick=%g,quantum=%g,rules=%08" PRIx32,
                 o->zones, c->aoi_radius, c->aoi_hysteresis, o->zone_margin,
                 (double)c->tick_ns / (double)CLOCK_NS_PER_MS, c->quantum,
                 (uint32_t)(sum ^ sum >> 32));
    ASSERT(n > 0);
    ASSERT(n <= CLAIM_TEXT_MAX);
    return (size_t)n;
}
