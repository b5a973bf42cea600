/* world/state/scenes.h: the scenes of a world: which there are, and which cell everybody is in.
 * The first is the open ground that is always there; behind it stands one for each map. A scene is
 * called by its number here, by its name on the wire. They share nothing but the ids: who stands in
 * one is near nobody in another, whatever the places.
 * Pure. May touch: common, proto/limits, world/ids, world/state.
 * On trouble: what maps and names must hold is checked at the start (scenes_check), one line for
 * the first that does not.
 */
#pragma once

#include "world/state/grid.h"
#include "world/state/scene.h"

struct scenes {
    struct scene list[SCENES_MAX];
    uint32_t n;
    uint32_t first; /* where one enters who names none */
    struct grid grid;
};

/* What scenes are made of. */
struct scenes_plan {
    double bounds[4]; /* of the open ground */
    struct scene_spawn_rule spawn;
    const struct map *const *maps; /* [n_maps] borrowed for as long as the scenes live */
    uint32_t n_maps;
    struct span first; /* name of the scene that one enters who names none; empty: the open one */
};

/* Do the maps go together? 0, or E_RANGE: `why` has the line, without newline. */
int scenes_check(const struct scenes_plan *p, char *why, size_t why_cap) MUST_CHECK;
/* Of a plan that was checked. `reach`, `linked` and `cap` as the grid's. E_NOMEM. */
int scenes_init(struct scenes *s, const struct scenes_plan *p, double reach, bool linked,
                uint32_t cap) MUST_CHECK;
void scenes_fini(struct scenes *s);

/* The number of the scene of this name. False: there is none. */
bool scenes_find(const struct scenes *s, struct span name, uint32_t *out);
/* The bounds of all: out [n]. */
void scenes_bounds(const struct scenes *s, double out[][4]);
