/* world/command/npcs.h: the world's NPCs: who comes with its maps and with -npcs, and what they do.
 * In a cluster each belongs to the zone where its home lies, comes and goes with it, and stays in
 * it; it is never handed over. May touch: the whole core. On trouble: what a map or a flag asks for
 * and cannot be is one line at the start.
 */
#pragma once

#include "world/world.h"

/* When everything else of the world is there: put them in. 0; E_RANGE: `why` has the line; E_NOMEM.
 */
int npcs_create(struct world *w, char *why, size_t why_cap) MUST_CHECK;
/* The world's part of the cluster is there: in which zone each has its home. */
void npcs_lie(struct world *w);
/* A zone is ours: those of it come, in the next ticks, as ids do. */
void npcs_zone_come(struct world *w);
/* Between two ticks: it is not any more, or will not be soon; REALM_NONE: none is. */
void npcs_zone_go(struct world *w, uint32_t zone, struct mono now);
/* A part of a tick: come, wake, think, walk off, fall asleep. */
void npcs_tick(struct world *w, struct mono now);
