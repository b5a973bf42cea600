/* world/state/scenes.c: see the header.
 * Portals are few and movers many, so a scene with portals has a bit for each of its tiles: most
 * places are told by one look that no portal is near.
 */
#include "world/state/scenes.h"

#include "common/err.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where the line of a refusal goes. */
struct reason {
    char *why;
    size_t cap;
};

/* --- names and bounds ------------------------------------------------------------------------- */

/* A name stands in flags, logs and metrics as it is. */
static bool name_ok(const char *name)
{
    for (const char *c = name; *c; c++) {
        bool word =
            (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9');

        if (!word && *c != '_' && *c != '-' && *c != '.')
            return false;
    }
    return name[0] != '\0';
}

/* What a line says of where a map is from. */
static const char *source_of(const struct map *m)
{
    return m->path ? m->path : m->name;
}

static int add_map(struct scenes *s, const struct scenes_plan *p, const struct map *m,
                   struct reason r)
{
    struct scene *scene = &s->list[s->n];
    double middle[2];
    uint32_t other;

    if (!name_ok(m->name)) {
        snprintf(r.why, r.cap, "-map: %s: a scene's name has letters, digits, \"_\", \"-\", \".\"",
                 source_of(m));
        return E_RANGE;
    }
    if (scenes_find(s, span_text(m->name), &other)) {
        snprintf(r.why, r.cap, "-map: %s: there is a scene \"%s\" already", source_of(m), m->name);
        return E_RANGE;
    }
    *scene = (struct scene){.name = span_text(m->name), .map = m};
    ground_bounds(&m->ground, scene->bounds);
    for (int i = 0; i < 4; i++) {
        if (!(fabs(scene->bounds[i]) < p->far)) {
            snprintf(r.why, r.cap, "-map: %s: %g must stay below %g units with this -quantum",
                     source_of(m), scene->bounds[i], p->far);
            return E_RANGE;
        }
    }
    if (!ground_near(&m->ground, 0, 0, &middle[0], &middle[1])) {
        snprintf(r.why, r.cap, "-map: %s: no tile is free", source_of(m));
        return E_RANGE;
    }
    s->n++;
    return 0;
}

static int add_scenes(struct scenes *s, const struct scenes_plan *p, struct reason r)
{
    s->list[s->n++] = (struct scene){
        .name = span_text(SCENE_OPEN),
        .bounds = {p->bounds[0], p->bounds[1], p->bounds[2], p->bounds[3]},
        .spawn = p->spawn,
    };
    if (p->n_maps > SCENES_MAX - 1) {
        snprintf(r.why, r.cap, "-map: %u maps: must be at most %d", p->n_maps, SCENES_MAX - 1);
        return E_RANGE;
    }
    for (uint32_t i = 0; i < p->n_maps; i++) {
        int err = add_map(s, p, &p->maps[i], r);

        if (err != 0)
            return err;
    }
    if (p->first.n > 0 && !scenes_find(s, p->first, &s->first)) {
        snprintf(r.why, r.cap, "-scene: \"%.*s\": no such scene", (int)p->first.n,
                 (const char *)p->first.p);
        return E_RANGE;
    }
    return 0;
}

/* --- portals ---------------------------------------------------------------------------------- */

static int resolve(const struct scenes *s, const struct scene *from, const struct map_portal *p,
                   struct scenes_portal *out, struct reason r)
{
    const struct ground *g = &from->map->ground;
    struct ground_tile low = ground_at(g, p->area.x0, p->area.y0);
    struct ground_tile high = ground_at(g, p->area.x1, p->area.y1);
    const char *what = NULL;

    *out = (struct scenes_portal){.area = p->area, .x = p->x, .y = p->y};
    if ((int64_t)(high.x - low.x + 1) * (high.y - low.y + 1) > SCENES_PORTAL_TILES)
        what = "is larger than 65536 tiles";
    else if (!scenes_find(s, span_text(p->scene), &out->to))
        what = "leads to no scene that is there";
    else if (!scene_inside(&s->list[out->to], p->x, p->y))
        what = "leads out of that scene";
    else if (!scene_free(&s->list[out->to], p->x, p->y))
        what = "leads to a blocked tile";
    if (!what)
        return 0;
    snprintf(r.why, r.cap, "-map: %s: portal \"%s\" to %g, %g of \"%s\" %s", source_of(from->map),
             p->name, p->x, p->y, p->scene, what);
    return E_RANGE;
}

/* Mark the tiles that an area, which is within the ground, lies over. */
static void mark_tiles(struct ground *g, const struct map_area *a)
{
    struct ground_tile low = ground_at(g, a->x0, a->y0), high = ground_at(g, a->x1, a->y1);

    for (int32_t ty = low.y; ty <= high.y; ty++) {
        for (int32_t tx = low.x; tx <= high.x; tx++)
            ground_block(g, tx, ty, true);
    }
}

static int add_gates(struct scenes *s, uint32_t scene, struct reason r)
{
    const struct map *m = s->list[scene].map;
    const struct ground *g = &m->ground;
    struct scenes_gates *gates = &s->gates[scene];
    int err;

    if (m->n_portals == 0)
        return 0;
    err = ground_init(&gates->tiles, g->x0, g->y0, g->size, (uint32_t)g->nx, (uint32_t)g->ny);
    if (err != 0)
        return err;
    gates->portals = s->portals + s->n_portals;
    gates->n = m->n_portals;
    for (uint32_t i = 0; i < m->n_portals; i++) {
        err = resolve(s, &s->list[scene], &m->portals[i], &s->portals[s->n_portals++], r);
        if (err != 0)
            return err;
        mark_tiles(&gates->tiles, &m->portals[i].area);
    }
    return 0;
}

static int add_portals(struct scenes *s, struct reason r)
{
    size_t n = 0;

    for (uint32_t i = 0; i < s->n; i++)
        n += s->list[i].map ? s->list[i].map->n_portals : 0;
    if (n == 0)
        return 0;
    s->portals = calloc(n, sizeof(*s->portals));
    if (!s->portals)
        return E_NOMEM;
    for (uint32_t i = 0; i < s->n; i++) {
        int err = s->list[i].map ? add_gates(s, i, r) : 0;

        if (err != 0)
            return err;
    }
    return 0;
}

/* --- the whole -------------------------------------------------------------------------------- */

int scenes_init(struct scenes *s, const struct scenes_plan *p, double reach, bool linked,
                uint32_t cap, char *why, size_t why_cap)
{
    struct reason r = {why, why_cap};
    double bounds[SCENES_MAX][4];
    int err;

    memset(s, 0, sizeof(*s));
    err = add_scenes(s, p, r);
    if (err == 0)
        err = add_portals(s, r);
    if (err == 0) {
        scenes_bounds(s, bounds);
        err = grid_init(&s->grid, bounds, s->n, reach, linked, cap);
    }
    if (err != 0)
        scenes_fini(s);
    return err;
}

void scenes_fini(struct scenes *s)
{
    grid_fini(&s->grid);
    for (uint32_t i = 0; i < s->n; i++)
        ground_fini(&s->gates[i].tiles);
    free(s->portals);
    memset(s, 0, sizeof(*s));
}

bool scenes_find(const struct scenes *s, struct span name, uint32_t *out)
{
    for (uint32_t i = 0; i < s->n; i++) {
        if (span_equal(s->list[i].name, name)) {
            *out = i;
            return true;
        }
    }
    return false;
}

void scenes_bounds(const struct scenes *s, double out[][4])
{
    for (uint32_t i = 0; i < s->n; i++)
        memcpy(out[i], s->list[i].bounds, sizeof(out[i]));
}

const struct scenes_portal *scenes_portal_at(const struct scenes *s, uint32_t scene, double x,
                                             double y)
{
    const struct scenes_gates *g = &s->gates[scene];
    struct ground_tile t;

    if (g->n == 0)
        return NULL;
    t = ground_at(&g->tiles, x, y);
    if (!ground_blocked(&g->tiles, t.x, t.y))
        return NULL;
    for (uint32_t i = 0; i < g->n; i++) {
        if (map_within(&g->portals[i].area, x, y))
            return &g->portals[i];
    }
    return NULL;
}
