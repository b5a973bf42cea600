/* world/interest/drain.h: viewers whose clients take less than they are told.
 * A gateway says how many bytes a second such a client takes. From then on that, less a part for
 * what is no record, is its viewer's budget in place of -viewer-bytes, so that it is told less
 * instead of nothing. When its queue is empty again the budget grows by a quarter a second until
 * the flag's is reached: a client that is slow all the time swings by that much, and is not flooded
 * each time it has caught up. A world without -viewer-bytes counts what it is told, and does
 * nothing.
 * Pure. May touch: common, world. On trouble: nothing can be full; there is a place for each
 * session.
 */
#pragma once

#include "world/world.h"

#define DRAIN_JOB_NS   CLOCK_NS_PER_S /* budgets grow this often */
#define DRAIN_OTHER    8              /* one part of so many is left for what is no record */
#define DRAIN_GROWTH   4              /* a budget grows by one part of so many, */
#define DRAIN_AT_LEAST 256            /* and by these bytes a second at least */

/* Its client takes so many bytes a second; 0: its queue is empty again. */
void drain_told(struct world *w, struct session_ref who, uint64_t bytes_per_s);
/* The session has an entity now: what is known of its client is the viewer's. */
void drain_enter(struct world *w, const struct session *s);
/* A second has passed: a job of the schedule. */
void drain_grow(struct world *w, struct mono now);
