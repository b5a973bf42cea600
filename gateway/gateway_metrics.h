/* gateway/gateway_metrics.h: the gateway's counters as one struct, described by one table.
 * May touch: common/metrics.
 */
#pragma once

#include "common/metrics.h"

struct gateway_metrics {
#define METRIC(field, kind, name, label, help) uint64_t field;
#include "gateway/gateway_metrics.def"
#undef METRIC
};

extern const struct metric gateway_metrics_table[];
extern const size_t gateway_metrics_n;

/* Add another thread's numbers: sums, but for limits of the process, the most and "all do". */
void gateway_metrics_merge(struct gateway_metrics *sum, const struct gateway_metrics *more);
