/* world/edge/edge_metrics.h: the edge's counters as a struct, and their descriptions.
 * May touch: common/metrics. Source: edge_metrics.def.
 */
#pragma once

#include "common/metrics.h"

#include <stdint.h>

#define METRIC(field, kind, name, label, help) uint64_t field;
struct edge_metrics {
#include "world/edge/edge_metrics.def"
};
#undef METRIC

extern const struct metric edge_metrics_table[];
extern const size_t edge_metrics_count;
