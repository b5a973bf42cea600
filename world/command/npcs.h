/* world/command/npcs.h: the world's NPCs: who comes with its maps and with -npcs, and what they do.
 * May touch: the whole core. On trouble: what a map or a flag asks for and cannot be is one line at
 * the start.
 */
#pragma once

#include "world/world.h"

/* When everything else of the world is there: put them in. 0; E_RANGE: `why` has the line; E_NOMEM.
 */
int npcs_create(struct world *w, char *why, size_t why_cap) MUST_CHECK;
/* A part of a tick: wake, think, walk off, fall asleep. */
void npcs_tick(struct world *w, struct mono now);
