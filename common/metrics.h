/* common/metrics.h: counters described by a table, written as Prometheus text.
 * Each process has one struct of uint64_t fields made from an X-macro file (see
 * world/world_metrics.def) and one array of descriptions made from the same file, so no counter
 * lacks its name. May touch: libc. Never: labels that a client chose.
 */
#pragma once

#include "common/hist.h"

#include <stdio.h>

enum metric_kind { METRIC_COUNTER, METRIC_GAUGE };

/* One row; rows of one name differ in `label` and must stand together. */
struct metric {
    const char *name;  /* aegis_world_moves_total */
    const char *label; /* reason="speed", or "" */
    enum metric_kind kind;
    size_t offset; /* of the uint64_t in the struct */
    const char *help;
};

/* X-macro rows are METRIC(field, kind, "name", "label", "help"). */

/* Write all rows of `values` in the table's order, HELP and TYPE once a name. */
void metrics_write(const struct metric *table, size_t n, const void *values, FILE *to);

/* A histogram in seconds from one kept in ns, with these upper bounds (ascending, in ns). */
void metrics_write_hist(const char *name, const char *help, const struct hist *h,
                        const uint64_t *bounds_ns, size_t n_bounds, FILE *to);
