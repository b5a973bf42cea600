/* tests/bench/workload.h: people who walk about, for benchmarks.
 * N entities in a square; each walks to a random point within WORKLOAD_LEG units of where the leg
 * began, at 3 to 12 units a second, then on. The same seed gives the same walks.
 * May touch: common/rng.
 */
#pragma once

#include "common/rng.h"

#include <stdbool.h>

#define WORKLOAD_RADIUS  30.0 /* units, the sight radius that densities are made for */
#define WORKLOAD_LEG     60.0 /* units */
#define WORKLOAD_TICK_S  0.05 /* seconds a step */
#define WORKLOAD_WARM_UP 40   /* ticks before anything is measured */

enum workload_kind {
    WORKLOAD_UNIFORM, /* a point has K others within the radius on average */
    WORKLOAD_HOTSPOT, /* the same square; half of all inside 5 % of its area */
    WORKLOAD_MASS     /* all within the radius of all */
};

struct workload {
    uint32_t n;
    double side; /* of the square, units; from 0 on both axes */
    double *x, *y;
    double *to_x, *to_y; /* of the leg */
    double *speed;       /* units a second */
    double *low, *high;  /* the square each keeps to */
    struct rng rng;
};

/* "uniform", "hotspot", "mass"; false: no such kind. */
bool workload_kind_find(const char *name, enum workload_kind *out);
const char *workload_kind_name(enum workload_kind kind);

/* Exits where there is no memory. */
void workload_init(struct workload *w, enum workload_kind kind, uint32_t n, double neighbours,
                   uint64_t seed);
void workload_fini(struct workload *w);
/* One tick: the entities [0, movers) walk. */
void workload_step(struct workload *w, uint32_t movers);
