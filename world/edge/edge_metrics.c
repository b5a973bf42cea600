/* world/edge/edge_metrics.c: the descriptions of the edge's counters.
 * May touch: common/metrics. Source: edge_metrics.def.
 */
#include "world/edge/edge_metrics.h"

#define METRIC(field, kind, name, label, help) \
    {name, label, METRIC_##kind, offsetof(struct edge_metrics, field), help},
const struct metric edge_metrics_table[] = {
#include "world/edge/edge_metrics.def"
};
#undef METRIC

const size_t edge_metrics_count = ARRAY_LEN(edge_metrics_table);
