/* world/world_metrics.h: the world's counters as a struct, and their descriptions.
 * May touch: common/metrics, proto/errors.def, world/session/auth's verdicts. Source:
 * world_metrics.def.
 */
#pragma once

#include "common/metrics.h"
#include "world/session/auth.h"

#include <stdint.h>

#define METRIC(field, kind, name, label, help) uint64_t field;
struct world_metrics {
#include "world/world_metrics.def"
};
#undef METRIC

extern const struct metric world_metrics_table[];
extern const size_t world_metrics_count;

/* Count a request that was answered with this error (PE_*). */
void world_metrics_refused(struct world_metrics *m, uint32_t code);
/* Count a token that was refused for this. */
void world_metrics_auth(struct world_metrics *m, enum auth_verdict v);
