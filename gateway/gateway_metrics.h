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
