/* world/command/inbox.h: what gateways bring: links, sessions, bodies; and an operator's words.
 * The one way into the core besides the tick: a recorded list of these calls replays to the same
 * outbox. A gateway is not trusted: what it says of sessions that are not open is answered and
 * counted. May touch: the whole core, proto.
 */
#pragma once

#include "world/interest/notice.h"
#include "world/world.h"

/* A gateway said hello. A live link of the same id is another life of that gateway: its sessions
 * are lost, and `replaced` names it for the edge to close (gen 0: none). 0, or E_FULL (counted). */
int inbox_link_up(struct world *w, struct span id, struct mono now, struct link_ref *out,
                  struct link_ref *replaced) MUST_CHECK;
/* It is gone: all its sessions are lost. A stale ref is ignored. */
void inbox_link_down(struct world *w, struct link_ref link, struct mono now);
/* One link frame's body: open, bind, attach, data, left, close, congestion or
 * drain. 0; E_BAD: the link is not to
 * be trusted any longer (the edge closes it). */
int inbox_frame(struct world *w, struct link_ref link, struct span body,
                struct mono now) MUST_CHECK;
/* The link's queue is above its soft limit, or has drained: while it is, the batches of all its
 * sessions wait, beside those whose own clients do not drain. A session that there is no room to
 * pause goes on being told (counted): its client is not at fault. A stale ref is ignored. */
void inbox_link_congestion(struct world *w, struct link_ref link, bool on, struct mono now);
/* End one session: its entity leaves, its name and id go their ways. */
void inbox_session_end(struct world *w, struct session_ref who, struct mono now);
/* Its connection is lost: one in the world waits for the resume window, any other ends. */
void inbox_session_lost(struct world *w, struct session_ref who, struct mono now);
/* Between two ticks: end those whose wait is over, at most INBOX_ENDS_MAX: the work of a tick is
 * bounded. */
#define INBOX_ENDS_MAX 1024
void inbox_wait_ends(struct world *w, struct mono now);
/* Ended by us: the gateway is told to say Bye with this code. Who was too slow may resume. */
void inbox_session_kick(struct world *w, struct session_ref who, uint32_t code, struct mono now);
/* Ended by an operator, with Bye 19 and this reason (LINK_TEXT_MAX bytes of it at most). */
void inbox_session_remove(struct world *w, struct session_ref who, const char *reason,
                          struct mono now);
/* The operator's words to all in the area: 1 to PROTO_SAY_MAX bytes. Returns how many sessions are
 * told. */
uint32_t inbox_announce(struct world *w, const struct notice_area *to, struct span text,
                        struct mono now);
/* The store has told of a character. An answer that nobody waits for is counted. */
void inbox_loaded(struct world *w, const struct store_answer *a, struct mono now);
/* The store has stored what was saved of a name until it was asked. One that nobody waits for is
 * counted. */
void inbox_stored(struct world *w, const struct store_settle *what, struct mono now);
