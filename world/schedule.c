/* world/schedule.c: see the header. */
#include "world/schedule.h"

void schedule_add(struct schedule *s, const char *name, uint32_t every, schedule_fn *fn)
{
    ASSERT(s->n < SCHEDULE_JOBS_MAX);
    ASSERT(every >= 1);
    s->jobs[s->n] = (struct schedule_job){name, every, s->n % every, fn};
    s->n++;
}

void schedule_run(const struct schedule *s, struct world *w, uint32_t tick, struct mono now)
{
    for (uint32_t i = 0; i < s->n; i++) {
        if (tick % s->jobs[i].every == s->jobs[i].phase)
            s->jobs[i].fn(w, now);
    }
}
