/* common/hist.h: a latency histogram with log-linear buckets (16 a power of two: within 6.25 %).
 * Recording is one add; no allocation. May touch: libc.
 */
#pragma once

#include "common/base.h"

#define HIST_SUB     16 /* buckets in each power of two */
#define HIST_BUCKETS (HIST_SUB * 61)

struct hist {
    uint64_t count;
    uint64_t sum; /* of the values, in their unit */
    uint64_t max;
    uint64_t bucket[HIST_BUCKETS];
};

/* `value` in any one unit, ns by custom. */
void hist_add(struct hist *h, uint64_t value);
/* The same value so many times. */
void hist_add_many(struct hist *h, uint64_t value, uint64_t times);
/* The value below which `q` (0..1) of all lie, from a bucket's upper edge, never above max;
 * 0 where nothing was recorded. */
uint64_t hist_quantile(const struct hist *h, double q);
/* How many values were at most `limit` (to the bucket's edge). */
uint64_t hist_at_most(const struct hist *h, uint64_t limit);
void hist_merge(struct hist *into, const struct hist *from);
/* What was recorded in `now` since it was as `before`; its max is a bucket's upper edge. */
void hist_since(const struct hist *now, const struct hist *before, struct hist *out);
void hist_clear(struct hist *h);
