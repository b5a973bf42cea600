/* world/command/receive.h: taking an entity, with its session, from another world.
 * Who comes stands here as one whose connection was lost: the session waits, without a link, and
 * its entity walks on. When its gateway has attached, the client has it, knowing what the other
 * world had told it; the next tick's batch makes that exact. What the client asked the other world
 * last comes as `late`, and is answered here before what it asks by its new link. May touch: the
 * whole core, proto. On trouble: who cannot be taken is refused, and stays where it is; a client
 * that does not attach has lost its connection. Source: world/cluster/handover.h.
 */
#pragma once

#include "proto/cluster.h"
#include "proto/link.h"
#include "world/world.h"

void receive_prepare(struct world *w, const struct cluster_message *m, struct mono now);
void receive_switch(struct world *w, const struct cluster_message *m, struct mono now);
/* The name of one that is handed to us is ours now, and so is it; or it is not to be had. */
void receive_named(struct world *w, uint32_t place, bool ours, struct mono now);
void receive_late(struct world *w, const struct cluster_message *m, struct mono now);
void receive_late_end(struct world *w, const struct cluster_message *m, struct mono now);

/* The gateway brings a client; its session is open, and was not before. */
void receive_attach(struct world *w, struct session_ref who, const struct link_frame *f,
                    struct mono now);
/* The beginning of a tick: clients get what was their waiting session's; who was awaited in vain is
 * forgotten. */
void receive_tick(struct world *w, struct mono now);
