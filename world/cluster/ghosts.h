/* world/cluster/ghosts.h: entities of other worlds, held here to be seen.
 * A ghost is an entity of the ordinary arrays, with ENTITY_GHOST: it is a subject of sight, like an
 * NPC, and nothing else. It has no session and no walk; nobody commands it, and it is not saved.
 * Where it becomes ours, or ours becomes a ghost, slot and id stay, so that nobody who sees it
 * notices. Between two ticks, or at the beginning of one.
 * Pure. May touch: world. On trouble: full is E_FULL, counted.
 */
#pragma once

#include "world/cluster/realm.h"

/* A new one, told of by `zone`. 0, or E_FULL. */
int ghosts_put(struct world *w, uint32_t zone, const struct cluster_event *full, struct mono now,
               uint32_t *slot) MUST_CHECK;
/* It stands there now, as its world says. */
void ghosts_place(struct world *w, uint32_t slot, uint32_t scene, double x, double y, double dir,
                  double speed);
/* It is gone. `tick`: the one that will show it. */
void ghosts_remove(struct world *w, uint32_t slot, uint32_t tick);
/* One of ours, which neither walks nor sees any more, is `zone`'s from now on. */
void ghosts_give(struct world *w, uint32_t slot, uint32_t zone, uint32_t count);
/* It is ours. */
void ghosts_take(struct world *w, uint32_t slot, uint32_t count);
/* All that a zone told of are gone, but those that are awaited elsewhere. */
void ghosts_clear(struct world *w, uint32_t zone, uint32_t tick);
