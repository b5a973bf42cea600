/* world/edge/watch_stats.h: the numbers beside a live map: times of the last ticks, counts, and
 * whose clients are slow. Adds a tick with a few stores; sorts only when it is asked.
 * May touch: common, the core's state and counters. On trouble: nothing can fail.
 */
#pragma once

#include "world/edge/edge_metrics.h"
#include "world/world.h"

#include <stdio.h>

#define WATCH_STATS_TICKS 200 /* that the quantiles are of */
#define WATCH_STATS_SLOW  20  /* slow clients that are listed */

struct watch_stats {
    const struct edge_metrics *metrics;              /* borrowed */
    uint32_t us[PHASE_COUNT + 1][WATCH_STATS_TICKS]; /* a ring each; the last: whole ticks */
    uint32_t n;                                      /* ticks in it */
    uint32_t at;                                     /* where the next one goes */
};

/* A tick has ended; with the hand-over to the links it took so long. */
void watch_stats_tick(struct watch_stats *s, const struct world *w, uint64_t took_ns);
/* One JSON object, times in microseconds as [last, median, what 99 of 100 stay below]. */
void watch_stats_write(const struct watch_stats *s, struct world *w, FILE *to);
