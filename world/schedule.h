/* world/schedule.h: periodic work of a world, counted in ticks.
 * A short table of jobs; a job runs in each tick whose number is its phase modulo its period, so
 * that jobs of one period do not fall on one tick. Pure. May touch: common.
 */
#pragma once

#include "common/base.h"
#include "common/clock.h"

#define SCHEDULE_JOBS_MAX 16

struct world;

typedef void schedule_fn(struct world *w, struct mono now);

struct schedule_job {
    const char *name;
    uint32_t every; /* ticks; >= 1 */
    uint32_t phase; /* ticks, below every */
    schedule_fn *fn;
};

struct schedule {
    struct schedule_job jobs[SCHEDULE_JOBS_MAX];
    uint32_t n;
};

/* The job's phase is its place in the table. A table that is full is our bug. */
void schedule_add(struct schedule *s, const char *name, uint32_t every, schedule_fn *fn);
/* Run what is due in this tick, in the order of the table. */
void schedule_run(const struct schedule *s, struct world *w, uint32_t tick, struct mono now);
