/* world/world_metrics.c: the descriptions of the world's counters.
 * May touch: common/metrics, proto/errors.def. Source: world_metrics.def.
 */
#include "world/world_metrics.h"

#define METRIC(field, kind, name, label, help) \
    {name, label, METRIC_##kind, offsetof(struct world_metrics, field), help},
const struct metric world_metrics_table[] = {
#include "world/world_metrics.def"
};
#undef METRIC

const size_t world_metrics_count = ARRAY_LEN(world_metrics_table);

#define PE(number, NAME, name, text) [number] = offsetof(struct world_metrics, refused_##number),
static const size_t refused_offsets[] = {
#include "proto/errors.def"
};
#undef PE

void world_metrics_refused(struct world_metrics *m, uint32_t code)
{
    ASSERT(code >= 1);
    ASSERT(code < ARRAY_LEN(refused_offsets));
    (*(uint64_t *)((char *)m + refused_offsets[code]))++;
}

void world_metrics_auth(struct world_metrics *m, enum auth_verdict v)
{
    switch (v) {
    case AUTH_GOOD:
    case AUTH_COUNT:
        break;
#define AUTH_CASE(name, word, text) \
    case name:                      \
        m->auth_##word++;           \
        return;
        AUTH_VERDICTS(AUTH_CASE)
#undef AUTH_CASE
    }
    ASSERT(!"a verdict that refuses");
}
