/* world/interest/part.h: an entity goes out of everybody's sight, before it ends or goes away.
 * Pure. May touch: world.
 */
#pragma once

#include "world/world.h"

/* Nobody sees it any more from `tick` on, and it sees nobody. */
void part_from(struct world *w, uint32_t slot, uint32_t tick);
