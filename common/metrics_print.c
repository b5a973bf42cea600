/* common/metrics_print.c: README's rows from the tables of metrics.
 * May touch: libc. On trouble: none; what a stream does not take is lost.
 */
#include "common/metrics.h"

#include <stdbool.h>
#include <string.h>

void metrics_print_head(FILE *to)
{
    fputs("| metric | type | labels | meaning |\n| --- | --- | --- | --- |\n", to);
}

static void print_begin(const char *name, const char *type, FILE *to)
{
    fprintf(to, "| `%s` | %s |", name, type);
}

/* `reason="speed"` as "`reason`: speed", and as ", speed" where the row has labels already. */
static void print_label(const char *label, bool first, FILE *to)
{
    const char *value = strchr(label, '=');

    if (!value)
        return;
    if (first)
        fprintf(to, " `%.*s`: ", (int)(value - label), label);
    else
        fputs(", ", to);
    for (value++; *value; value++) {
        if (*value != '"')
            fputc(*value, to);
    }
}

static void print_end(const char *help, FILE *to)
{
    fputs(" | ", to);
    for (; *help; help++) {
        if (*help == '|')
            fputc('\\', to);
        fputc(*help, to);
    }
    fputs(" |\n", to);
}

void metrics_print_rows(const struct metric *table, size_t n, FILE *to)
{
    for (size_t i = 0; i < n; i++) {
        const struct metric *m = &table[i];
        const bool first = i == 0 || strcmp(m->name, table[i - 1].name) != 0;

        if (first)
            print_begin(m->name, m->kind == METRIC_COUNTER ? "counter" : "gauge", to);
        print_label(m->label, first, to);
        if (i + 1 == n || strcmp(m->name, table[i + 1].name) != 0)
            print_end(m->help, to);
    }
}

void metrics_print_info(const char *name, const char *help, const char *labels, FILE *to)
{
    print_begin(name, "gauge", to);
    fprintf(to, " %s", labels);
    print_end(help, to);
}

/* A name whose rows differ in their labels. */
static void print_kind(const char *name, const char *type, const char *help,
                       const char *const *labels, size_t n, FILE *to)
{
    print_begin(name, type, to);
    for (size_t i = 0; i < n; i++)
        print_label(labels[i], i == 0, to);
    print_end(help, to);
}

void metrics_print_hists(const char *name, const char *help, const char *const *labels, size_t n,
                         FILE *to)
{
    print_kind(name, "histogram", help, labels, n, to);
}

void metrics_print_summaries(const char *name, const char *help, const char *const *labels,
                             size_t n, FILE *to)
{
    print_kind(name, "summary", help, labels, n, to);
}
