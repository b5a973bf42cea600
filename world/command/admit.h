/* world/command/admit.h: who may log in now, and who waits for a turn.
 * -login-rate paces logins: those above it wait in line, first come first served, and each waits no
 * longer than -login-wait: who would is refused at once, with 13 and the reason. A login that the
 * store has no room for, or whose token cannot be checked any more in this tick (-auth-checks),
 * waits in the same line. What a session sends meanwhile waits too.
 * -login-rate-name paces the logins of each name by itself: those above it are refused with 12.
 * Only a login that got in, or found the name in use, counts: with tokens nobody can use up
 * somebody else's. Pure but for the world. May touch: the whole core.
 */
#pragma once

#include "world/world.h"

/* May this session's LoginReq go on now? 0; ROUTER_WAITS: it is in line; PE_UNAVAILABLE. */
int admit_login(struct world *w, struct session_ref who, struct mono now) MUST_CHECK;
/* It may, but the store takes no question now: it waits in front. ROUTER_WAITS. */
int admit_again(struct world *w, struct session_ref who) MUST_CHECK;
/* -login-rate-name: may this name log in again? A resume key is never asked this. */
bool admit_name(struct world *w, struct span name, struct mono now);
/* It did, or met somebody who has the name. */
void admit_name_count(struct world *w, struct span name, struct mono now);
/* It is not in line any more. */
void admit_leave(struct world *w, struct session_ref who);
/* A tick's share: those whose turn has come. */
void admit_run(struct world *w, struct mono now);
