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

/* What a page of metrics says that it is. */
#define METRICS_TYPE "text/plain; version=0.0.4; charset=utf-8"

/* X-macro rows are METRIC(field, kind, "name", "label", "help"). */

/* Write all rows of `values` in the table's order, HELP and TYPE once a name. */
void metrics_write(const struct metric *table, size_t n, const void *values, FILE *to);

/* A gauge that is always 1 and tells with its labels: `version="1.2"`. */
void metrics_write_info(const char *name, const char *help, const char *label, FILE *to);

/* Gauges of one name, told apart by their labels. */
struct metric_gauge {
    const char *label; /* scene="town" */
    uint64_t value;
};
void metrics_write_gauges(const char *name, const char *help, const struct metric_gauge *gauges,
                          size_t n, FILE *to);

/* Histograms of one name, told apart by their labels ("" for a single one), in seconds from ones
 * kept in ns, with these upper bounds (ascending, in ns). */
struct metric_hist {
    const char *label;
    const struct hist *hist; /* borrowed */
};
void metrics_write_hists(const char *name, const char *help, const struct metric_hist *hists,
                         size_t n, const uint64_t *bounds_ns, size_t n_bounds, FILE *to);

/* The same as summaries: the median, what 99 of 100 stay below, and the most, since the start.
 * `unit_ns`: what a recorded 1 means, and the values are written in seconds; 0: as they are. */
void metrics_write_summaries(const char *name, const char *help, const struct metric_hist *hists,
                             size_t n, uint64_t unit_ns, FILE *to);

/* The same tables as rows for README: name, type, labels with their values, help; one row a name.
 * `labels` of an info, or of gauges, are words as they shall stand there; of the others as in
 * metric_hist. */
void metrics_print_head(FILE *to);
void metrics_print_rows(const struct metric *table, size_t n, FILE *to);
void metrics_print_info(const char *name, const char *help, const char *labels, FILE *to);
void metrics_print_hists(const char *name, const char *help, const char *const *labels, size_t n,
                         FILE *to);
void metrics_print_summaries(const char *name, const char *help, const char *const *labels,
                             size_t n, FILE *to);
