/* world/command/naming.h: whose name is whose, where the world is one of a cluster.
 * A name lives once in the cluster, and who holds its key acts for whoever bears it. It is claimed
 * before a character is loaded, and given up when the last save of it is stored; hand-over passes
 * it on by the key's token. Where a claim finds that another world holds it, that world is asked
 * what becomes of who bears it: it ends, it stays, or the session goes on there:
 *
 *   claim ─ elsewhere ─► seek ──► its holder: ends it, and gives the name up; or says `found`
 *     ▲                   │ in NAMING_SEEK_NS, whatever was heard
 *     └───────────────────┘
 *
 * until the wait for the store (-login-wait) is over, which this is a part of.
 * May touch: the whole core, proto. On trouble: a full list is E_FULL, and asked again.
 * Source: tests/model/handover.pml.
 */
#pragma once

#include "world/cluster/realm.h"
#include "world/world.h"

#define NAMING_SEEK_NS (200 * CLOCK_NS_PER_MS)
#define NAMING_WAITS   1 /* keep_named or keep_refused follows */

struct courier_name;

/* The session's name, for this world. 0: it is held; NAMING_WAITS; E_FULL: not now. */
int naming_claim(struct world *w, struct session_ref who, enum cluster_want want) MUST_CHECK;
/* The session ends, or has its name no more. */
void naming_end(struct world *w, struct session_ref who);
/* All that `from` has is `to`'s. */
void naming_move(struct world *w, struct session_ref from, struct session_ref to);
/* The store is to be asked again for the character of this session. */
void naming_load_again(struct world *w, struct session_ref who);
/* What a save of this entity carries; all zero without a cluster. */
struct store_fence naming_fence(const struct world *w, uint32_t slot);
/* The same for a session whose name is held. */
struct store_fence naming_session_fence(const struct world *w, struct session_ref who);

/* The session's name is offered to another world from here on. Returns its place. */
uint32_t naming_give(struct world *w, struct session_ref who);
uint64_t naming_token(const struct world *w, uint32_t place);
/* It was taken; REGISTRY_NONE is fine. */
void naming_given(struct world *w, uint32_t place);
/* It was not: give_named follows. */
void naming_take_back(struct world *w, uint32_t place);
/* From another world: receive_named follows. 0; E_FULL: the name is on some other way here. */
int naming_take(struct world *w, struct span name, uint64_t token, uint32_t *place) MUST_CHECK;
/* A held name of nobody's gets a session. */
void naming_own(struct world *w, uint32_t place, struct session_ref who);
/* Nobody here bears it any more. */
void naming_leave(struct world *w, uint32_t place);
/* All that this world holds is void. */
void naming_lose(struct world *w);

/* Answers. */
void naming_heard(struct world *w, const struct courier_name *n, struct mono now);
void naming_sought(struct world *w, const struct cluster_message *m, struct mono now);
void naming_found(struct world *w, const struct cluster_message *m, struct mono now);
/* A tick's share: what could not be asked at once. */
void naming_tick(struct world *w, struct mono now);
