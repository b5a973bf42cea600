/* tests/gateway/test_wheel.c: looks come when they were asked for. */
#include "gateway/wheel.h"

#include "tests/leak.h"

#include <criterion/criterion.h>

#define CAP 64

struct looked {
    struct wheel w;
    uint32_t step;    /* now */
    uint32_t at[CAP]; /* step of the last look; 0: none */
    uint32_t count[CAP];
    uint32_t again_ms; /* what a look answers */
    uint32_t clear;    /* a look clears this slot; WHEEL_NONE: none */
};

static uint32_t look(void *arg, uint32_t slot)
{
    struct looked *l = arg;

    l->at[slot] = l->step;
    l->count[slot]++;
    if (l->clear != WHEEL_NONE)
        wheel_clear(&l->w, l->clear);
    return l->again_ms;
}

static void setup(struct looked *l)
{
    *l = (struct looked){.again_ms = WHEEL_NONE, .clear = WHEEL_NONE};
    cr_assert_eq(wheel_init(&l->w, CAP), 0);
}

static void steps(struct looked *l, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        l->step++;
        wheel_turn(&l->w, look, l);
    }
}

Test(wheel, a_look_comes_not_before_its_delay_and_at_most_a_step_later)
{
    struct looked l;
    setup(&l);
    const uint32_t delay_ms[] = {0, 1, 99, 100, 101, 1000, 59999, 60000};

    for (uint32_t i = 0; i < 8; i++)
        wheel_set(&l.w, i, delay_ms[i]);
    steps(&l, 1000);
    const uint32_t step[] = {1, 1, 1, 1, 2, 10, 600, 600};
    for (uint32_t i = 0; i < 8; i++) {
        cr_assert_eq(l.at[i], step[i], "delay %u: step %u", delay_ms[i], l.at[i]);
        cr_assert_eq(l.count[i], 1);
    }
    wheel_fini(&l.w);
    TEST_NO_LEAKS();
}

Test(wheel, what_is_due_beyond_the_horizon_is_looked_at_early)
{
    struct looked l;
    setup(&l);

    wheel_set(&l.w, 3, 86400000);
    steps(&l, WHEEL_BUCKETS - 1);
    cr_assert_eq(l.at[3], WHEEL_BUCKETS - 1);
    wheel_fini(&l.w);
}

Test(wheel, a_look_that_answers_a_delay_comes_again)
{
    struct looked l;
    setup(&l);

    l.again_ms = 500;
    wheel_set(&l.w, 7, 500);
    steps(&l, 5000);
    cr_assert_eq(l.count[7], 1000);
    wheel_fini(&l.w);
}

Test(wheel, a_cleared_slot_is_not_looked_at)
{
    struct looked l;
    setup(&l);

    for (uint32_t i = 0; i < 5; i++)
        wheel_set(&l.w, i, 200);
    wheel_clear(&l.w, 0);
    wheel_clear(&l.w, 2);
    wheel_clear(&l.w, 4);
    wheel_clear(&l.w, 4);
    wheel_clear(&l.w, 5);
    steps(&l, 3);
    for (uint32_t i = 0; i < 5; i++)
        cr_assert_eq(l.count[i], i % 2);
    wheel_fini(&l.w);
}

Test(wheel, setting_again_replaces_and_hastening_only_brings_forward)
{
    struct looked l;
    setup(&l);

    wheel_set(&l.w, 1, 1000);
    wheel_set(&l.w, 1, 2000);
    wheel_set(&l.w, 2, 1000);
    wheel_hasten(&l.w, 2, 2000);
    wheel_set(&l.w, 3, 1000);
    wheel_hasten(&l.w, 3, 300);
    wheel_hasten(&l.w, 4, 400);
    steps(&l, 30);
    cr_assert_eq(l.at[1], 20);
    cr_assert_eq(l.at[2], 10);
    cr_assert_eq(l.at[3], 3);
    cr_assert_eq(l.at[4], 4);
    for (uint32_t i = 1; i < 5; i++)
        cr_assert_eq(l.count[i], 1);
    wheel_fini(&l.w);
}

Test(wheel, a_look_may_clear_another_of_the_same_step)
{
    struct looked l;
    setup(&l);

    for (uint32_t i = 0; i < 4; i++)
        wheel_set(&l.w, i, 100);
    l.clear = 0; /* the one that would come last */
    steps(&l, 1);
    cr_assert_eq(l.count[0], 0);
    cr_assert_eq(l.count[1] + l.count[2] + l.count[3], 3);
    wheel_fini(&l.w);
}
