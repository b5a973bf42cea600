/* world/interest/wire.h: what the wire says of an entity, and when it is told.
 * All viewers of an entity are told in the same tick, so what they were last told is kept once, at
 * the entity. That holds for a newcomer too: whoever is shown an entity whose small change was
 * still waiting makes it be told to the others in that tick.
 * Pure. May touch: common, proto, world. Source: PROTOCOL.md "Moves".
 */
#pragma once

#include "world/world.h"

/* An entity as the wire says it now. */
struct entity_wire wire_of(const struct world *w, uint32_t slot);
/* What has to be told to one who knows `told`: EVENT_TELL_* bits, 0 where both are the same. */
uint8_t wire_changes(const struct entity_wire *told, const struct entity_wire *now);
/* After wire_decide: where a small change still waits, it is told from now on; true where it was.
 */
bool wire_settle(struct world *w, uint32_t slot);
struct aoi_move_tail wire_tail(const struct entity_wire *wire, uint8_t tell);

/* Decide who is told this tick and make the tick's events, sorted.
 *   from   by slot: the cell each of the dirty stood in before, GRID_NONE: none; NULL: the one the
 *          grid says, and they go to their new cells now */
void wire_decide(struct world *w, const uint32_t *from);
