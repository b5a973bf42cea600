/* tests/bench/tally.c: one figure of several programs. May touch: libc. */
#include "tests/bench/tally.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct spread {
    double median, least, most;
};

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static struct spread spread_of(const double *values, size_t n)
{
    double v[TALLY_ROUNDS_MAX];

    memcpy(v, values, n * sizeof(*v));
    qsort(v, n, sizeof(*v), compare);
    double median = n % 2 == 1 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
    return (struct spread){median, v[0], v[n - 1]};
}

void tally_add(struct tally *row, double value, double limit)
{
    if (row->rounds == TALLY_ROUNDS_MAX)
        return;
    row->value[row->rounds] = value;
    row->limit[row->rounds++] = limit;
}

static void print_row(const struct tally_head *head, const struct tally *row, bool is_limit,
                      bool json)
{
    struct spread s = spread_of(row->value, row->rounds);
    double ratios[TALLY_ROUNDS_MAX];

    for (size_t i = 0; i < row->rounds; i++)
        ratios[i] = row->limit[i] > 0 ? row->value[i] / row->limit[i] : 0;
    struct spread ratio = spread_of(ratios, row->rounds);
    if (json) {
        printf("{\"bench\":\"%s\",\"program\":\"%s\",%s,\"%s\":%.3f,\"spread\":[%.3f,%.3f],"
               "\"runs\":%zu,\"ratio_to_limit\":%.3f,\"ratio_spread\":[%.3f,%.3f]}\n",
               head->bench, row->program, head->notes, head->field, s.median, s.least, s.most,
               row->rounds, ratio.median, ratio.least, ratio.most);
        return;
    }
    printf("  %-14s %10.2f %-16s (%.2f to %.2f)", row->program, s.median, head->unit, s.least,
           s.most);
    /* The limit has others than 1 where it ran beside itself. */
    if (!is_limit || ratio.least < ratio.most)
        printf("   %.2f x (%.2f to %.2f)", ratio.median, ratio.least, ratio.most);
    printf("\n");
}

void tally_print(const struct tally_head *head, const struct tally *rows, size_t n, bool json)
{
    if (!json)
        printf("%s %s\n", head->bench, head->title);
    for (size_t i = 0; i < n; i++) {
        if (rows[i].rounds > 0)
            print_row(head, &rows[i], i == 0, json);
    }
    fflush(stdout);
}
