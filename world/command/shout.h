/* world/command/shout.h: what one session makes the server tell others is charged to it.
 * -fanout-bytes a second: the bytes of what is told times those who are told. Paid afterwards,
 * since only then it is known: while more than a second's worth is owed, what would add to it is
 * refused with 12. A line to a crowd is charged when it is said; coming and going when it goes,
 * since that is when those who saw it are known. Moves are not: they are merged by tick and bounded
 * for each who sees them, whoever moves. May touch: the whole core.
 */
#pragma once

#include "world/world.h"

/* What one appearance and disappearance costs with each who sees it, about, bytes. */
#define SHOUT_VISIT_BYTES 64

/* May it ask this now? Says why not in w->reason. */
bool shout_may(struct world *w, const struct session *s, uint32_t cmd, struct mono now);
/* It made the server tell so many bytes to so many. */
void shout_charge(struct world *w, struct session *s, size_t bytes, uint32_t receivers,
                  struct mono now);
