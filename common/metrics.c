/* common/metrics.c: the Prometheus text format, version 0.0.4.
 * May touch: libc. On trouble: none; what a stream does not take is lost.
 */
#include "common/metrics.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

static void write_head(const char *name, const char *help, const char *type, FILE *to)
{
    fprintf(to, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

void metrics_write(const struct metric *table, size_t n, const void *values, FILE *to)
{
    for (size_t i = 0; i < n; i++) {
        const struct metric *m = &table[i];
        uint64_t value;
        memcpy(&value, (const char *)values + m->offset, sizeof(value));
        if (i == 0 || strcmp(m->name, table[i - 1].name) != 0)
            write_head(m->name, m->help, m->kind == METRIC_COUNTER ? "counter" : "gauge", to);
        if (m->label[0])
            fprintf(to, "%s{%s} %" PRIu64 "\n", m->name, m->label, value);
        else
            fprintf(to, "%s %" PRIu64 "\n", m->name, value);
    }
}

/* Seconds from nanoseconds without a float's noise: 50000000 is 0.05. */
static void seconds_text(uint64_t ns, char out[32])
{
    int n = snprintf(out, 32, "%" PRIu64 ".%09" PRIu64, ns / 1000000000, ns % 1000000000);
    while (n > 0 && out[n - 1] == '0')
        out[--n] = '\0';
    if (n > 0 && out[n - 1] == '.')
        out[--n] = '\0';
}

void metrics_write_info(const char *name, const char *help, const char *label, FILE *to)
{
    write_head(name, help, "gauge", to);
    fprintf(to, "%s{%s} 1\n", name, label);
}

void metrics_write_gauges(const char *name, const char *help, const struct metric_gauge *gauges,
                          size_t n, FILE *to)
{
    write_head(name, help, "gauge", to);
    for (size_t i = 0; i < n; i++)
        fprintf(to, "%s{%s} %" PRIu64 "\n", name, gauges[i].label, gauges[i].value);
}

static void write_hist(const char *name, const struct metric_hist *m, const uint64_t *bounds_ns,
                       size_t n_bounds, FILE *to)
{
    const bool labelled = m->label[0] != '\0';
    const char *open = labelled ? "{" : "", *close = labelled ? "}" : "";
    const char *comma = labelled ? "," : "";
    char seconds[32];

    for (size_t i = 0; i < n_bounds; i++) {
        ASSERT(i == 0 || bounds_ns[i - 1] < bounds_ns[i]);
        seconds_text(bounds_ns[i], seconds);
        fprintf(to, "%s_bucket{%s%sle=\"%s\"} %" PRIu64 "\n", name, m->label, comma, seconds,
                hist_at_most(m->hist, bounds_ns[i]));
    }
    fprintf(to, "%s_bucket{%s%sle=\"+Inf\"} %" PRIu64 "\n", name, m->label, comma, m->hist->count);
    seconds_text(m->hist->sum, seconds);
    fprintf(to, "%s_sum%s%s%s %s\n", name, open, m->label, close, seconds);
    fprintf(to, "%s_count%s%s%s %" PRIu64 "\n", name, open, m->label, close, m->hist->count);
}

void metrics_write_hists(const char *name, const char *help, const struct metric_hist *hists,
                         size_t n, const uint64_t *bounds_ns, size_t n_bounds, FILE *to)
{
    write_head(name, help, "histogram", to);
    for (size_t i = 0; i < n; i++)
        write_hist(name, &hists[i], bounds_ns, n_bounds, to);
}

/* One line of a summary: `quantile` "0.5" or NULL, `end` "" or "_sum". */
static void write_summary_line(const char *name, const char *end, const char *label,
                               const char *quantile, uint64_t value, uint64_t unit_ns, FILE *to)
{
    char text[32], labels[256] = "";

    if (quantile)
        snprintf(labels, sizeof(labels), "{%s%squantile=\"%s\"}", label, label[0] ? "," : "",
                 quantile);
    else if (label[0])
        snprintf(labels, sizeof(labels), "{%s}", label);
    if (unit_ns > 0)
        seconds_text(value * unit_ns, text);
    else
        snprintf(text, sizeof(text), "%" PRIu64, value);
    fprintf(to, "%s%s%s %s\n", name, end, labels, text);
}

void metrics_write_summaries(const char *name, const char *help, const struct metric_hist *hists,
                             size_t n, uint64_t unit_ns, FILE *to)
{
    static const struct {
        const char *text;
        double q;
    } quantiles[] = {{"0.5", 0.5}, {"0.99", 0.99}, {"1", 1}};

    write_head(name, help, "summary", to);
    for (size_t i = 0; i < n; i++) {
        const struct metric_hist *m = &hists[i];

        for (size_t k = 0; k < ARRAY_LEN(quantiles); k++)
            write_summary_line(name, "", m->label, quantiles[k].text,
                               hist_quantile(m->hist, quantiles[k].q), unit_ns, to);
        write_summary_line(name, "_sum", m->label, NULL, m->hist->sum, unit_ns, to);
        write_summary_line(name, "_count", m->label, NULL, m->hist->count, 0, to);
    }
}
