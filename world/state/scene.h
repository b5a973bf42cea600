/* world/state/scene.h: one scene: its name, its bounds, its map, where newcomers stand.
 * Pure. May touch: common, proto/limits, world/state. Source: DESIGN "Spawns".
 */
#pragma once

#include "common/rng.h"
#include "common/span.h"
#include "proto/limits.h"

#include <stdbool.h>

#define SCENE_OPEN "open" /* the name of the open ground that is always there */

struct map;

enum scene_spawn { SCENE_SPAWN_LINE, SCENE_SPAWN_UNIFORM, SCENE_SPAWN_DISC };

struct scene_spawn_rule {
    enum scene_spawn kind;
    double x, y, r; /* disc: centre and radius, units */
};

struct scene {
    struct span name; /* borrowed */
    double bounds[4]; /* x0, y0, x1, y1, closed */
    struct scene_spawn_rule spawn;
    const struct map *map; /* borrowed; NULL: open ground */
};

/* "line", "uniform" or "x,y,r" (finite, r >= 0). 0, or E_BAD. */
int scene_spawn_parse(const char *text, struct scene_spawn_rule *out) MUST_CHECK;

/* Finite and within the closed bounds? */
bool scene_inside(const struct scene *s, double x, double y);
/* May one stand there? Inside, and on no blocked tile. */
bool scene_free(const struct scene *s, double x, double y);
/* Is the straight way between two places inside legal? On open ground always; else as the map's
 * ground has it. */
bool scene_way(const struct scene *s, double x0, double y0, double x1, double y1);
/* Where the entity of this id comes in; always free. On a map, in the spawns of the map by turns;
 * in one without, anywhere. */
void scene_spawn(const struct scene *s, uint32_t id, struct rng *rng, double *x, double *y);
