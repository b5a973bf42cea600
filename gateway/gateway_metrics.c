/* gateway/gateway_metrics.c: the table behind the counters. May touch: common/metrics. */
#include "gateway/gateway_metrics.h"

#define METRIC(field, kind, name, label, help) \
    {name, label, kind, offsetof(struct gateway_metrics, field), help},
const struct metric gateway_metrics_table[] = {
#include "gateway/gateway_metrics.def"
};
#undef METRIC

const size_t gateway_metrics_n = ARRAY_LEN(gateway_metrics_table);

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t most(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

void gateway_metrics_merge(struct gateway_metrics *sum, const struct gateway_metrics *more)
{
    const struct gateway_metrics before = *sum;

    for (size_t i = 0; i < gateway_metrics_n; i++) {
        const size_t at = gateway_metrics_table[i].offset;
        *(uint64_t *)((char *)sum + at) += *(const uint64_t *)((const char *)more + at);
    }
    sum->accepting = least(before.accepting, more->accepting);
    sum->worlds_known = least(before.worlds_known, more->worlds_known);
    sum->worlds_up = least(before.worlds_up, more->worlds_up);
    sum->link_ready = least(before.link_ready, more->link_ready);
    sum->reading_paused = most(before.reading_paused, more->reading_paused);
    sum->queue_most_bytes = most(before.queue_most_bytes, more->queue_most_bytes);
    sum->clients_max = before.clients_max;
    sum->descriptors_max = before.descriptors_max;
}
