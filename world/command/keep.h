/* world/command/keep.h: characters come from the store and go back to it.
 *
 *   keep_ask ──► store … inbox_loaded ──► `then` ──► what the session sent meanwhile, in order
 *   keep_entity (leave, end, disconnect), keep_run (the sweep), keep_finish (the end) ──► store
 *
 * Every entity is looked at once in -save-every, a few of them each tick, and saved where it stands
 * elsewhere than it was saved: slots are taken at a stride, so that a crowd which came in together
 * is spread over the whole time, and there is no list to keep up. What the store does not take at
 * once is handed over later, in order. Without a store all of it does nothing.
 * May touch: the whole core.
 */
#pragma once

#include "proto/cluster.h"
#include "world/world.h"

/* Ask for the last place of the session's name (it has one), which in a cluster is claimed before,
 * for what `want` says. `then` is called once: now where nothing is kept, else with the answer or
 * when -login-wait is over; until then what the session sends waits, and so does whatever was told
 * to wait before. 0; E_FULL: the store takes no question now, nothing changed. */
int keep_ask(struct world *w, struct session_ref who, enum cluster_want want, character_fn *then,
             struct mono now) MUST_CHECK;
/* The session's name is claimed. */
void keep_named(struct world *w, struct session_ref who, struct mono now);
/* It cannot be had: a PE_*, `reason` or NULL. */
void keep_refused(struct world *w, struct session_ref who, int err, const char *reason,
                  struct mono now);
/* The session waits no more, and goes away: `then` is not called. */
void keep_forget(struct world *w, struct session_ref who);
/* The session ends: nobody waits any more. */
void keep_end(struct world *w, struct session_ref who);

/* Where the session's character was last; NULL: nowhere that is known. */
const struct store_character *keep_last(const struct world *w, struct session_ref who);

/* Save an entity as it stands, if it is a player. `who` (gen 0: nobody) enters there again. */
void keep_entity(struct world *w, uint32_t entity, struct session_ref who);
/* Save an entity that came from another world, now or as soon as the store takes it, so that no
 * older save of it counts any more. */
void keep_came(struct world *w, uint32_t entity);
/* Save one as it came, that has no place here. */
void keep_character(struct world *w, const struct store_character *c);
/* Save an entity that stays, if it stands elsewhere than was saved; where the store is full, the
 * sweep will. */
void keep_changed(struct world *w, uint32_t entity);
/* Room for one more entity, even if all leave at once and the store takes nothing? */
bool keep_room(const struct world *w);

/* A tick's share: what waits for the store, and the sweep. */
void keep_run(struct world *w, struct mono now);
/* The end: hand everybody's place over. True: all of it is; false: the store is full, again. */
bool keep_finish(struct world *w) MUST_CHECK;
/* How many places are not handed over yet. */
uint64_t keep_left(const struct world *w);
