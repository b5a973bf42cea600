/* world/command/router.h: from a body to its handler.
 * A row of the table: the command, the state it needs, who handles it. Errors are answered in
 * PROTOCOL.md's order: 2, 4, 3, then 5/7/8, then the handler's own.
 * May touch: the whole core, proto.
 */
#pragma once

#include "proto/cluster.h"
#include "world/session/resume.h"
#include "world/world.h"

/* 0: done, answered by itself. > 0: a PE_* for the client; nothing changed. Beats: check, change,
 * answer (the payload is read already). After the change nothing can fail. */
typedef int router_fn(struct world *w, struct session_ref who, const struct message *m,
                      struct mono now);

/* Handle one body of a session. 0, or E_BAD: not a body (a gateway should have refused it). */
int router_dispatch(struct world *w, struct session_ref who, struct span body,
                    struct mono now) MUST_CHECK;

/* A handler's word that the request waits; it is kept and handled again. No PE_*. */
#define ROUTER_WAITS 1000

/* The session is held no more: handle what it sent meanwhile, in order. A stale ref is ignored. */
void router_replay(struct world *w, struct session_ref who, struct mono now);
/* The request that waits in front is refused with 13 and this reason; the others go on. */
void router_refuse(struct world *w, struct session_ref who, const char *reason, struct mono now);
/* All that waits is refused like that. */
void router_refuse_all(struct world *w, struct session_ref who, const char *reason);
/* A request is refused: counted and answered. The world's `reason`, if there is one, stands in for
 * the code's own text. */
void router_error(struct world *w, const struct session *s, uint32_t cmd, uint32_t seq,
                  uint32_t code);
/* One message to a session, at once; to one that waits for its client it goes nowhere. */
void router_answer(struct world *w, const struct session *s, const struct message *m);

router_fn cmd_login;
router_fn cmd_enter;
router_fn cmd_leave;
router_fn cmd_move;
router_fn cmd_say;
router_fn cmd_walk;

/* EnterResp to a session whose entity is in the world: where it stands. `seq` 0: unasked. */
void cmd_enter_tell(struct world *w, const struct session *s, uint32_t seq);
/* In without having been asked: where it was last, or at a spawn. Told by an EnterResp of seq 0. 0,
 * or a PE_*, and nothing is changed. */
int cmd_enter_again(struct world *w, struct session_ref who, struct mono now) MUST_CHECK;
/* LoginReq with a key: as a router_fn. */
router_fn cmd_resume;
/* The id under which the session stands in the world, or is to enter. False: there is none left. */
bool cmd_resume_id(struct world *w, struct session *s, struct mono now, uint32_t *id);
/* A session that was asked for by its key, which waits at another world: it goes there. */
void cmd_resume_elsewhere(struct world *w, struct session_ref who, const struct cluster_message *m,
                          struct mono now);
/* Whoever is logged in ends, for another who has its name from here on. */
void cmd_login_end(struct world *w, struct session_ref who, struct mono now);
/* The session's connection is lost, its entity is in the world: both wait for the resume window. */
void cmd_resume_wait(struct world *w, struct session_ref who, struct mono now);
/* A new key for a session that has its name; where there is no window, none. */
void cmd_resume_key(struct world *w, struct session *s);
/* The session's key for a LoginResp: in `text`, or nothing. */
struct span cmd_resume_text(const struct session *s, char text[RESUME_TEXT_BYTES]);
/* All that `old`, a session with a name, has goes to `who`, which has none; `old` ends. Its own
 * connection, if it still has one, gets its Bye. */
void cmd_resume_take_over(struct world *w, struct session_ref old, struct session_ref who,
                          struct span name, struct mono now);

/* A gateway says whose session this was before the link was lost; it was opened just now. It goes
 * on, or is closed with code 0, upon which the gateway has its client log in again. */
void cmd_bind(struct world *w, struct session_ref who, struct span note, struct mono now);
/* What the gateway is to keep of the session from now on. */
void cmd_bind_note(struct world *w, const struct session *s);
/* The same for one that is inside, or not, at another world. */
void cmd_bind_note_as(struct world *w, const struct session *s, bool inside);
/* Nobody sees it any more from `tick` on, and it sees nobody: before it ends, or goes away. */
void cmd_enter_part(struct world *w, uint32_t slot, uint32_t tick);
/* Take the session's entity out of the world, if it is there. */
void cmd_enter_undo(struct world *w, struct session *s, struct mono now);
