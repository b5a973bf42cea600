/* world/command/teleport.h: putting an entity somewhere else, in its scene or in another.
 * Asked by the world itself: by a portal that it walks into, by an operator. Not by its client.
 * The client is told by an EnterResp with seq 0, forgets all it knew, and hears of those around by
 * the next tick's batch; to others it goes and comes as if it had jumped. It keeps its id, its name
 * and its speed credit: who hops gains no distance. However often it is put elsewhere between two
 * ticks, the last place counts.
 * May touch: the whole core, proto. Source: PROTOCOL.md, "Commands", EnterResp unasked.
 */
#pragma once

#include "world/world.h"

/* Put the entity at (x, y) of the scene of this number. 0; PE_NOT_IN_WORLD: it is not (any more);
 * PE_NO_SUCH_SCENE; PE_MOVE_BOUNDS: outside; PE_MOVE_BLOCKED: on a blocked tile; in a
 * cluster PE_UNAVAILABLE: another world's, which cannot be reached. Nothing changes where it is not
 * 0; where it is another world's it goes with one of the next ticks. */
int teleport_entity(struct world *w, struct entity_ref who, uint32_t scene, double x,
                    double y) MUST_CHECK;

/* It came in: if it stands in a portal, it has to leave it first. */
void teleport_enter(struct world *w, uint32_t slot);
/* A tick begins: those who moved into a portal since the last one go through it, but NPCs, and
 * those who wait for their client. One who arrives
 * in a portal has to leave it before one takes it again, so nobody goes through two in a tick. */
void teleport_portals(struct world *w);
