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
static inline bool wire_far_apart(int32_t a, int32_t b)
{
    return a < b ? b - a >= PROTO_WRAP_QUANTA : a - b >= PROTO_WRAP_QUANTA;
}

static inline bool wire_is_far(const struct entity_wire *a, const struct entity_wire *b)
{
    return wire_far_apart(a->qx, b->qx) || wire_far_apart(a->qy, b->qy);
}

/* What has to be told to one who knows `told`: EVENT_TELL_* bits, 0 where both are the same. */
static inline uint8_t wire_changes(const struct entity_wire *told, const struct entity_wire *now)
{
    uint8_t tell = 0;

    if (told->qx != now->qx || told->qy != now->qy)
        tell |= EVENT_TELL_PLACE;
    if (told->dir != now->dir)
        tell |= EVENT_TELL_PLACE | EVENT_TELL_DIR;
    if (told->speed != now->speed)
        tell |= EVENT_TELL_PLACE | EVENT_TELL_SPEED;
    if (wire_is_far(told, now))
        tell |= EVENT_TELL_FAR;
    return tell;
}

/* After wire_decide: where a small change still waits, it is told from now on; true where it was.
 */
bool wire_settle(struct world *w, uint32_t slot);

static inline struct aoi_move_tail wire_tail(const struct entity_wire *wire, uint8_t tell)
{
    return aoi_move_tail(wire->qx, wire->qy, tell & EVENT_TELL_DIR, wire->dir,
                         tell & EVENT_TELL_SPEED, wire->speed);
}

/* Decide who is told this tick and make the tick's events, sorted.
 *   from   by slot: the cell each of the dirty stood in before, GRID_NONE: none; NULL: the one the
 *          grid says, and they go to their new cells now */
void wire_decide(struct world *w, const uint32_t *from);
