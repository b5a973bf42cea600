/* world/command/give.h: handing an entity, with its session, over to another world.
 * One goes for one of four reasons: it stood the margin past a border; its next step would lead
 * past the apron, or it is put into another's zone; or it is to enter there. In the first nothing
 * waits; in the others its requests do, from the one that leads away on, and the other world
 * answers them. May touch: the whole core, proto. On trouble: a hand-over that does not come about
 * is tried again, and a request that waits for it is refused with 13. Source:
 * world/cluster/handover.h.
 */
#pragma once

#include "world/world.h"

struct cluster_message;

/* A phase of the tick, when all stand where they will: who goes is asked for, and goes. */
void give_tick(struct world *w, struct mono now);

/* Would the place lead out of what this world may have its own stand on? */
bool give_is_beyond(const struct world *w, uint32_t scene, double x, double y);
/* The session's request leads there: it waits, for the world whose place it is. ROUTER_WAITS, or a
 * PE_* (with a reason). */
int give_request(struct world *w, struct session_ref who, uint32_t scene, double x, double y,
                 struct mono now) MUST_CHECK;
/* The entity is put there, which is another's. 0: it will be. */
int give_put(struct world *w, uint32_t slot, uint32_t scene, double x, double y,
             struct mono now) MUST_CHECK;
/* A session that is not inside, and has an id, is to enter at the place, which is another's.
 * `asked`: by the request at hand. ROUTER_WAITS (asked), 0 (not), or a PE_*. */
int give_enter(struct world *w, struct session_ref who, uint32_t scene, double x, double y,
               bool asked, struct mono now) MUST_CHECK;
/* It walks, and its next step might lead past the apron, an NPC's past its zone's margin: it has to
 * wait. */
bool give_holds(const struct world *w, uint32_t slot, struct mono now);

/* A request of a session that was handed over; it is forwarded. 0, or E_FULL. */
int give_late(struct world *w, struct session *s, struct span body) MUST_CHECK;
/* The session ends, or its connection is lost. */
void give_lost(struct world *w, struct session *s);
/* The gateway has left a session that was handed over. */
void give_left(struct world *w, struct session_ref who, struct mono now);

/* Another world answers. */
void give_accepted(struct world *w, uint32_t id, uint32_t count, struct mono now);
void give_refused(struct world *w, const struct cluster_message *m, struct mono now);
void give_confirmed(struct world *w, uint32_t id, uint32_t count, struct mono now);
void give_late_taken(struct world *w, uint32_t id, uint32_t count, uint32_t number,
                     struct mono now);
/* The name of one that is to come back is ours again, or is not to be had: it was taken. */
void give_named(struct world *w, uint32_t place, bool ours, struct mono now);
/* The name at this place, which was given, was taken. */
void give_name_taken(struct world *w, uint32_t place);
/* The zone is another's, or nobody's, and whoever had it under another epoch acts no more. */
void give_zone_lost(struct world *w, uint32_t zone, uint64_t epoch, struct mono now);
