/* world/interest/fanout.h: a tick's batch for each viewer.
 * A mover's tail is encoded once; a viewer's pass over who stays copies the tails that are told.
 * Remove, add, move in this order, ids ascending, in one link frame; split only where a body would
 * pass PROTO_BATCH_MAX. May touch: common, proto, world. Source: PROTOCOL.md "Order".
 */
#pragma once

#include "world/world.h"

/* Lay the tails of the sorted events, write each viewer's batch into the outbox (nothing where
 * there is nothing to tell), and count the tick's events. */
void fanout_tell(struct world *w);
