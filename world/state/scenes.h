/* world/state/scenes.h: the scenes of a world: which there are, the portals between them, and which
 * cell everybody is in.
 * The first is the open ground that is always there; behind it stands one for each map. A scene is
 * called by its number here, by its name on the wire. They share nothing but the ids: who stands in
 * one is near nobody in another, whatever the places.
 * Pure. May touch: common, proto/limits, world/ids, world/state.
 * On trouble: what maps, their names and portals must hold is said at the start, one line for the
 * first that does not.
 */
#pragma once

#include "world/state/grid.h"
#include "world/state/map.h"
#include "world/state/scene.h"

#define SCENES_PORTAL_TILES 65536 /* tiles that a portal lies over, at most */

/* A map's portal, its scene found. */
struct scenes_portal {
    struct map_area area;
    uint32_t to; /* scene */
    double x, y; /* there */
};

/* The portals that begin in one scene. */
struct scenes_gates {
    const struct scenes_portal *portals; /* [n] in the map's order */
    uint32_t n;
    struct ground tiles; /* as the map's ground; blocked: a portal lies over some of the tile */
};

struct scenes {
    struct scene list[SCENES_MAX];
    uint32_t n;
    uint32_t first; /* where one enters who names none */
    struct grid grid;
    struct scenes_gates gates[SCENES_MAX]; /* by scene */
    struct scenes_portal *portals;         /* [n_portals] of all */
    uint32_t n_portals;
};

/* What scenes are made of. */
struct scenes_plan {
    double bounds[4]; /* of the open ground */
    struct scene_spawn_rule spawn;
    const struct map *maps; /* [n_maps] borrowed for as long as the scenes live */
    uint32_t n_maps;
    struct span first; /* name of the scene that one enters who names none; empty: the open one */
    double far;        /* units: no coordinate of a map may reach this */
};

/* `reach`, `linked` and `cap` as the grid's. 0; E_RANGE: the maps do not go together, and `why` has
 * the line, without newline; E_NOMEM: `why` is left as it is. */
int scenes_init(struct scenes *s, const struct scenes_plan *p, double reach, bool linked,
                uint32_t cap, char *why, size_t why_cap) MUST_CHECK;
void scenes_fini(struct scenes *s);

/* The number of the scene of this name. False: there is none. */
bool scenes_find(const struct scenes *s, struct span name, uint32_t *out);
/* The bounds of all: out [n]. */
void scenes_bounds(const struct scenes *s, double out[][4]);
/* The portal that this place of a scene lies in: the first in the map's order; NULL: none. */
const struct scenes_portal *scenes_portal_at(const struct scenes *s, uint32_t scene, double x,
                                             double y);
