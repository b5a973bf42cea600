/* world/tick.h: one tick: the phases in order, each timed.
 *   walk    ways are found, each walker takes its next step; portals; NPCs near players think
 *   grid    the dirty go to their new cells
 *   sight   each viewer: gone, new, staying
 *   events  what happened, in one order; whose change is told now
 *   fanout  one batch a viewer, into the outbox
 * and before them what is due of the periodic work, and portals. In a cluster, between walk and
 * grid, those who are past a border are handed over, and neighbours are told (world/command/give,
 * world/cluster/border); before walk, clients that were handed over here get what is theirs.
 * Pure: time comes as an argument.
 * No malloc. May touch: the whole core.
 */
#pragma once

#include "world/world.h"

void tick_run(struct world *w, struct mono now);
