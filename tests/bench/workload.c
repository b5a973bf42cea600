/* tests/bench/workload.c: see the header. */
#include "tests/bench/workload.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOTSPOT_AREA 0.05
#define MASS_SIDE    21.0 /* units: its diagonal is below the radius */

static const char *const kind_names[] = {"uniform", "hotspot", "mass"};

bool workload_kind_find(const char *name, enum workload_kind *out)
{
    for (unsigned i = 0; i < ARRAY_LEN(kind_names); i++) {
        if (strcmp(kind_names[i], name) == 0) {
            *out = (enum workload_kind)i;
            return true;
        }
    }
    return false;
}

const char *workload_kind_name(enum workload_kind kind)
{
    return kind_names[kind];
}

static double *numbers(uint32_t n)
{
    double *p = calloc(n, sizeof(*p));

    if (!p) {
        fprintf(stderr, "bench: out of memory\n");
        exit(1);
    }
    return p;
}

static double held(double v, double low, double high)
{
    return v < low ? low : v > high ? high : v;
}

static void new_leg(struct workload *w, uint32_t i)
{
    double low = w->low[i], high = w->high[i];

    w->to_x[i] = held(w->x[i] + (2 * rng_unit(&w->rng) - 1) * WORKLOAD_LEG, low, high);
    w->to_y[i] = held(w->y[i] + (2 * rng_unit(&w->rng) - 1) * WORKLOAD_LEG, low, high);
    w->speed[i] = 3 + 9 * rng_unit(&w->rng);
}

void workload_init(struct workload *w, enum workload_kind kind, uint32_t n, double neighbours,
                   uint64_t seed)
{
    double spot;

    *w = (struct workload){.n = n};
    rng_init(&w->rng, seed);
    w->side = kind == WORKLOAD_MASS
                  ? MASS_SIDE
                  : sqrt(n * 3.14159265358979 * WORKLOAD_RADIUS * WORKLOAD_RADIUS / neighbours);
    spot = w->side * sqrt(HOTSPOT_AREA);
    w->x = numbers(n);
    w->y = numbers(n);
    w->to_x = numbers(n);
    w->to_y = numbers(n);
    w->speed = numbers(n);
    w->low = numbers(n);
    w->high = numbers(n);
    for (uint32_t i = 0; i < n; i++) {
        bool hot = kind == WORKLOAD_HOTSPOT && i % 2 == 0;

        w->low[i] = hot ? (w->side - spot) / 2 : 0;
        w->high[i] = hot ? (w->side + spot) / 2 : w->side;
        w->x[i] = w->low[i] + rng_unit(&w->rng) * (w->high[i] - w->low[i]);
        w->y[i] = w->low[i] + rng_unit(&w->rng) * (w->high[i] - w->low[i]);
        new_leg(w, i);
    }
}

void workload_fini(struct workload *w)
{
    free(w->x);
    free(w->y);
    free(w->to_x);
    free(w->to_y);
    free(w->speed);
    free(w->low);
    free(w->high);
}

void workload_step(struct workload *w, uint32_t movers)
{
    for (uint32_t i = 0; i < movers; i++) {
        double dx = w->to_x[i] - w->x[i], dy = w->to_y[i] - w->y[i];
        double left = sqrt(dx * dx + dy * dy), step = w->speed[i] * WORKLOAD_TICK_S;

        if (left <= step) {
            w->x[i] = w->to_x[i];
            w->y[i] = w->to_y[i];
            new_leg(w, i);
        } else {
            w->x[i] += dx * step / left;
            w->y[i] += dy * step / left;
        }
    }
}
