/* tests/bench/bench.h: what the benchmarks share: arguments, time, medians.
 * May touch: common.
 */
#pragma once

#include "common/opts.h"
#include "tests/bench/workload.h"

#include <stdio.h>

struct bench_args {
    uint64_t n;        /* entities */
    double neighbours; /* K */
    uint64_t scenes;   /* over which they are spread, by turns */
    uint64_t ticks;    /* measured */
    double move_share; /* of all, that move */
    const char *workload;
    const char *store;     /* of the world, as -store says it */
    int64_t save_every_ns; /* of the world */
    uint64_t seed;
    uint64_t runs;    /* of each program */
    const char *only; /* of the programs beside ours, those with this in their names */
    bool json;
};

/* Returns the exit status. */
typedef int bench_fn(const struct bench_args *a);

bench_fn bench_tick, bench_sight, bench_memory, bench_wire, bench_codec, bench_map;

/* Parse a benchmark's flags by its table. True: run it, and opts_destroy(*o) afterwards; false: all
 * is said, and `*status` is the exit status. */
bool bench_parse(const struct opt *table, size_t n, void *args, int argc, char **argv,
                 struct opts **o, int *status);
int64_t bench_now_ns(void);
/* CPU time of this thread. */
int64_t bench_cpu_ns(void);
/* Sorts `values`. */
double bench_median(double *values, size_t n);
