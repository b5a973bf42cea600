/* world/interest/fanout.h: a tick's batch for each viewer.
 * A mover's tail is encoded once; a viewer's pass over what it knows copies the tails that are
 * told. Remove, add, move in this order, ids ascending, in one link frame; split only where a
 * body would pass PROTO_BATCH_MAX. May touch: common, proto, world. Source: PROTOCOL.md "Order".
 */
#pragma once

#include "world/world.h"

/* Decide who is told this tick and make their events and tails. */
void fanout_decide(struct world *w);
/* Write the batch of one viewer into the outbox; nothing where there is nothing to tell. */
void fanout_viewer(struct world *w, uint32_t viewer);
