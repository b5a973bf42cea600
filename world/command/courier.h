/* world/command/courier.h: what other worlds of the cluster bring, and who owns which zone.
 * Beside inbox the second way into the core: the edge hands messages over as they come, and says
 * whenever a zone has another owner. Without a cluster none of it is called, but for ids, which
 * then are the pool's alone. May touch: the whole core, proto.
 */
#pragma once

#include "world/world.h"

/* Between two ticks: a message that another world sent, published or told. 0; E_BAD: it is none
 * (counted). */
int courier_message(struct world *w, struct span message, struct mono now) MUST_CHECK;
/* Between two ticks: the zone is the world's of this id from now on, under this epoch; an empty id:
 * nobody's. */
void courier_zone(struct world *w, uint32_t zone, struct span world, uint64_t epoch,
                  struct mono now);

/* The entity of this id has ended; whoever gave the id lets it rest. */
void courier_id_end(struct world *w, uint32_t id, struct mono now);
/* Nobody was ever seen under it. */
void courier_id_return(struct world *w, uint32_t id);
