/* gateway/gateway_metrics.c: the table behind the counters. May touch: common/metrics. */
#include "gateway/gateway_metrics.h"

#define METRIC(field, kind, name, label, help) \
    {name, label, kind, offsetof(struct gateway_metrics, field), help},
const struct metric gateway_metrics_table[] = {
#include "gateway/gateway_metrics.def"
};
#undef METRIC

const size_t gateway_metrics_n = ARRAY_LEN(gateway_metrics_table);
