/* world/state/scene.c: see the header. */
#include "world/state/scene.h"

#include "common/err.h"
#include "world/state/map.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SPAWN_LINE_STEP  8.0  /* units between neighbours of the line */
#define SPAWN_LINE_COUNT 2000 /* places on it */
#define SPAWN_DISC_TRIES 64   /* draws for a point in a disc; each hits with p = 0.78 */
#define SPAWN_AREA_TRIES 64   /* draws for a free point of an area, before the nearest is taken */

/* One number of the list up to `end` (',' or NUL); NULL where it is none. */
static const char *number(const char *at, char end, double *out)
{
    char *stop;

    if (*at == '\0' || *at == ' ')
        return NULL;
    *out = strtod(at, &stop);
    if (stop == at || *stop != end || !isfinite(*out))
        return NULL;
    return end ? stop + 1 : stop;
}

int scene_spawn_parse(const char *text, struct scene_spawn_rule *out)
{
    struct scene_spawn_rule rule = {.kind = SCENE_SPAWN_LINE};
    const char *at = text;

    if (strcmp(text, "uniform") == 0) {
        rule.kind = SCENE_SPAWN_UNIFORM;
    } else if (strcmp(text, "line") != 0) {
        rule.kind = SCENE_SPAWN_DISC;
        at = number(at, ',', &rule.x);
        at = at ? number(at, ',', &rule.y) : NULL;
        at = at ? number(at, '\0', &rule.r) : NULL;
        if (!at || rule.r < 0)
            return E_BAD;
    }
    *out = rule;
    return 0;
}

bool scene_inside(const struct scene *s, double x, double y)
{
    return x >= s->bounds[0] && x <= s->bounds[2] && y >= s->bounds[1] && y <= s->bounds[3];
}

bool scene_free(const struct scene *s, double x, double y)
{
    return scene_inside(s, x, y) && (!s->map || ground_free_at(&s->map->ground, x, y));
}

bool scene_way(const struct scene *s, double x0, double y0, double x1, double y1)
{
    return !s->map || ground_way(&s->map->ground, x0, y0, x1, y1, NULL);
}

static double within(double v, double low, double high)
{
    return v < low ? low : v > high ? high : v;
}

/* In the map's spawn area whose turn it is. */
static void spawn_on_map(const struct map *m, uint32_t id, struct rng *rng, double *x, double *y)
{
    struct map_area all = {0}, *a = &all;
    double bounds[4];
    bool found;

    ground_bounds(&m->ground, bounds);
    all = (struct map_area){bounds[0], bounds[1], bounds[2], bounds[3]};
    if (m->n_spawns > 0)
        a = &m->spawns[(id - 1) % m->n_spawns].area;
    for (int i = 0; i < SPAWN_AREA_TRIES; i++) {
        *x = a->x0 + rng_unit(rng) * (a->x1 - a->x0);
        *y = a->y0 + rng_unit(rng) * (a->y1 - a->y0);
        if (ground_free_at(&m->ground, *x, *y))
            return;
    }
    found = ground_near(&m->ground, *x, *y, x, y);
    ASSERT(found); /* a map without a free tile is no scene */
}

void scene_spawn(const struct scene *s, uint32_t id, struct rng *rng, double *x, double *y)
{
    const double *b = s->bounds;
    double px = SPAWN_LINE_STEP * (1 + (id - 1) % SPAWN_LINE_COUNT), py = 0;

    if (s->map) {
        spawn_on_map(s->map, id, rng, x, y);
        return;
    }
    if (s->spawn.kind == SCENE_SPAWN_UNIFORM) {
        px = b[0] + rng_unit(rng) * (b[2] - b[0]);
        py = b[1] + rng_unit(rng) * (b[3] - b[1]);
    } else if (s->spawn.kind == SCENE_SPAWN_DISC) {
        double dx = 0, dy = 0;

        for (int i = 0; i < SPAWN_DISC_TRIES; i++) {
            dx = 2 * rng_unit(rng) - 1;
            dy = 2 * rng_unit(rng) - 1;
            if (dx * dx + dy * dy <= 1)
                break;
        }
        px = s->spawn.x + dx * s->spawn.r;
        py = s->spawn.y + dy * s->spawn.r;
    }
    *x = within(px, b[0], b[2]);
    *y = within(py, b[1], b[3]);
}
