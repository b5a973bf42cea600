/* tests/world/test_schedule.c: periodic work, counted in ticks. May touch: world/schedule. */
#include "world/schedule.h"

#include <criterion/criterion.h>

/* The jobs only see a world; this one is a counter that says it is one. */
struct diary {
    uint32_t tick;
    uint32_t ran[3];
    uint32_t last[3];
    int64_t at;
};

static void write_down(struct world *w, uint32_t job, struct mono now)
{
    struct diary *d = (struct diary *)(void *)w;
    d->ran[job]++;
    d->last[job] = d->tick;
    d->at = now.ns;
}

static void first(struct world *w, struct mono now)
{
    write_down(w, 0, now);
}

static void second(struct world *w, struct mono now)
{
    write_down(w, 1, now);
}

static void third(struct world *w, struct mono now)
{
    write_down(w, 2, now);
}

Test(schedule, each_job_runs_once_in_its_period_and_not_all_in_one_tick)
{
    struct schedule s = {.n = 0};
    struct diary d = {0};
    schedule_add(&s, "first", 5, first);
    schedule_add(&s, "second", 5, second);
    schedule_add(&s, "third", 1, third);
    for (d.tick = 1; d.tick <= 100; d.tick++) {
        schedule_run(&s, (struct world *)(void *)&d, d.tick, (struct mono){d.tick * 50});
        cr_assert_eq(d.last[2], d.tick);
        cr_assert_eq(d.at, d.tick * 50);
        cr_assert(d.last[0] != d.last[1] || d.last[0] == 0);
    }
    cr_assert(d.ran[0] == 20 && d.ran[1] == 20 && d.ran[2] == 100);
}

Test(schedule, an_empty_table_does_nothing)
{
    struct schedule s = {.n = 0};
    schedule_run(&s, NULL, 1, (struct mono){0});
}
