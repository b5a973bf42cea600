/* world/edge/ticker.c: when a tick is due.
 *
 *   planned   |----|----|----|----|----|----|
 *   begun     x    x              x    x
 *                      (stall)    ^ two are left out; the next is on the grid again
 *
 * May touch: common, common/io/loop, the clock. On trouble: none once it runs.
 */
#include "world/edge/ticker.h"

uint64_t ticker_plan(struct mono planned, struct mono now, int64_t period_ns, struct mono *next)
{
    int64_t late = clock_since(now, planned);
    ASSERT(late >= 0);
    int64_t missed = late / period_ns;
    *next = clock_add(planned, (missed + 1) * period_ns);
    /* A late one right before the next: the two would be one tick's work done twice. */
    if (clock_since(*next, now) < period_ns / 2) {
        *next = clock_add(*next, period_ns);
        missed++;
    }
    return (uint64_t)missed;
}

static void on_due(void *arg)
{
    struct ticker *t = arg;
    struct mono now = loop_now(t->loop);

    if (clock_since(now, t->next) >= 0) {
        uint64_t skipped = ticker_plan(t->next, now, t->period_ns, &t->next);
        t->fn(t->arg, now, skipped);
    }
    /* The tick took its time, so the turn's `now` is old. */
    if (t->timer)
        loop_timer_arm(t->timer, clock_since(t->next, clock_mono()));
}

int ticker_init(struct ticker *t, struct loop *l, int64_t period_ns, ticker_fn *fn, void *arg)
{
    ASSERT(period_ns > 0);
    *t = (struct ticker){.loop = l, .period_ns = period_ns, .fn = fn, .arg = arg};
    int err = loop_timer_create(l, on_due, t, &t->timer);
    if (err != 0)
        return err;
    t->next = clock_add(clock_mono(), period_ns);
    loop_timer_arm(t->timer, period_ns);
    return 0;
}

void ticker_shift(struct ticker *t, struct mono next)
{
    t->next = next;
}

void ticker_fini(struct ticker *t)
{
    loop_timer_destroy(t->timer);
    t->timer = NULL;
}
