/* world/edge/ticker.h: when a tick is due.
 * Planned times lie on a grid of one period from the start on, so a tick that comes late does not
 * move those after it. What was missed is left out and counted: never a burst of ticks. Only
 * monotonic time counts. May touch: common, common/io/loop, the clock.
 */
#pragma once

#include "common/io/loop.h"

/* A tick is due. `skipped` planned ones before it, or right behind it, are left out. */
typedef void ticker_fn(void *arg, struct mono now, uint64_t skipped);

struct ticker {
    struct loop_timer *timer; /* NULL: not started */
    struct loop *loop;        /* borrowed */
    int64_t period_ns;
    struct mono next; /* planned */
    ticker_fn *fn;
    void *arg;
};

/* The first tick comes one period from now. E_NOMEM. */
int ticker_init(struct ticker *t, struct loop *l, int64_t period_ns, ticker_fn *fn,
                void *arg) MUST_CHECK;
/* No tick any more. Zero is fine, twice too; so is a call from `fn`. */
void ticker_fini(struct ticker *t);

/* From `fn` alone: the grid goes through `next` from here on, which is the next tick. */
void ticker_shift(struct ticker *t, struct mono next);

/* The plan alone: a tick planned for `planned` begins at `now`, which is not before it. Sets the
 * next planned time, at least half a period from now; returns how many are left out. */
uint64_t ticker_plan(struct mono planned, struct mono now, int64_t period_ns, struct mono *next);
