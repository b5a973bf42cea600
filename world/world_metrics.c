/* world/world_metrics.c: the descriptions of the world's counters.
 * May touch: common/metrics. Source: world_metrics.def.
 */
#include "world/world_metrics.h"

#define METRIC(field, kind, name, label, help) \
    {name, label, METRIC_##kind, offsetof(struct world_metrics, field), help},
const struct metric world_metrics_table[] = {
#include "world/world_metrics.def"
};
#undef METRIC

const size_t world_metrics_count = ARRAY_LEN(world_metrics_table);
