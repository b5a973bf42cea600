/* world/interest/fanout.h: a tick's batch for each viewer.
 * A mover's tail is encoded once; a viewer's pass over what it knows copies the tails that are
 * told. Remove, add, move in this order, ids ascending, in one link frame; split only where a
 * body would pass PROTO_BATCH_MAX. May touch: common, proto, world. Source: PROTOCOL.md "Order".
 */
#pragma once

#include "world/world.h"

/* An entity as the wire says it now. */
struct entity_wire fanout_wire(const struct world *w, uint32_t slot);
/* What has to be told to one who knows `told`: EVENT_TELL_* bits, 0 where both are the same. */
uint8_t fanout_changes(const struct entity_wire *told, const struct entity_wire *now);
struct aoi_move_tail fanout_tail(const struct entity_wire *wire, uint8_t tell);

/* Decide who is told this tick and make the tick's events, sorted.
 *   from   [dirty_count] the cell each of the dirty stood in before; GRID_NONE: none */
void fanout_decide(struct world *w, const uint32_t *from);
/* Lay the tails of the sorted events, write each viewer's batch into the outbox (nothing where
 * there is nothing to tell), and count the tick's events. */
void fanout_tell(struct world *w);
