/* tests/bench/tally.h: one figure of several programs, each measured beside the limit program.
 * Prints medians, the spread, and the ratio to the limit: the median of the rounds' own ratios,
 * since what disturbs one program disturbs the one beside it. May touch: libc.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define TALLY_ROUNDS_MAX 1000

struct tally {
    const char *program;
    size_t rounds;
    double value[TALLY_ROUNDS_MAX];
    double limit[TALLY_ROUNDS_MAX]; /* of the limit, beside it */
};

/* One more round; beyond TALLY_ROUNDS_MAX it is left out. */
void tally_add(struct tally *row, double value, double limit);

struct tally_head {
    const char *bench; /* fanout */
    const char *field; /* us_per_frame: the name in JSON */
    const char *unit;  /* "us a frame" */
    const char *notes; /* more JSON fields, such as "\"n\":5000", without commas around */
    const char *title; /* what the table says above */
};

/* Rows with no rounds are left out; the first is the limit's. */
void tally_print(const struct tally_head *head, const struct tally *rows, size_t n, bool json);
