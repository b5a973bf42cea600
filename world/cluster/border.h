/* world/cluster/border.h: what zones tell their neighbours, and what they are told.
 * Each tick a zone of ours tells who of its own stands within reach of a zone that is not ours: who
 * is new there, moved, is gone, was handed over, and what they said. Frames are numbered; who
 * misses one asks for a whole, which the next tick brings, for all that listen.
 *
 *   dirty, dying, says ─► border_tell ─► publish … border_take ─► ghosts
 *                              ▲──── ask ◄──── a gap
 *
 * One who changes between two zones, of one world or of two, is told of by the old one as handed,
 * and by the new one in full: whichever word comes first, a ghost stays where it is seen. Until the
 * new one's word comes it is pending; who waits in vain is gone after BORDER_PENDING_TICKS.
 * A zone of which nobody tells any more, as its owner is dead, keeps its ghosts as long.
 * Pure. May touch: world, proto. On trouble: whatever is not sound is counted and dropped.
 */
#pragma once

#include "world/cluster/realm.h"

#define BORDER_ASK_TICKS     4 /* from one asking for a whole to the next */
#define BORDER_PENDING_TICKS 60
#define BORDER_READY_TICKS   20        /* from having a zone to taking whoever comes */
#define BORDER_MISSING_TICKS 20        /* from one try to the next, where there was no room */
#define BORDER_SAY_BYTES     (1 << 16) /* of words in a tick */

/* E_NOMEM. */
int border_create(struct border **out) MUST_CHECK;
void border_destroy(struct border *b);

/* A phase of the tick, when all of ours stand where they will: tell the neighbours. */
void border_tell(struct world *w);
/* The beginning of a tick: ask where something is missing; who waited in vain is gone. */
void border_tick(struct world *w);
/* A zone of ours is entered: do we know who is around it? Not for longer than BORDER_READY_TICKS.
 */
bool border_ready(const struct world *w, uint32_t zone);
/* Something was said by one of ours: the next tick tells the neighbours. */
void border_say(struct world *w, uint32_t slot, struct span text);

/* One of ours ends, before it is removed. */
void border_end(struct world *w, uint32_t slot);

/* Between two ticks: a border frame, an ask, a bye. */
void border_take(struct world *w, const struct cluster_message *m, struct mono now);
void border_asked(struct world *w, const struct cluster_message *m);
void border_bye(struct world *w, const struct cluster_message *m);
/* Between two ticks: its owner is dead, and whom it told of are gone. */
void border_dead(struct world *w, uint32_t zone);
/* Between two ticks: the zone is this world's now, under this epoch; REALM_NOBODY: nobody's.
 * Whoever of ours stands in one that was ours is a stray. */
void border_owner(struct world *w, uint32_t zone, uint32_t world, uint64_t epoch);
