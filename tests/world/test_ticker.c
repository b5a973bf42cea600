/* tests/world/test_ticker.c: when a tick is due, and what a late one does to the others.
 * Source: PROTOCOL.md, "Moves"; a clock that stalls must not become a burst of ticks.
 */
#include "world/edge/ticker.h"

#include <criterion/criterion.h>

#define MS(n)  ((n)*CLOCK_NS_PER_MS)
#define PERIOD MS(50)

static struct mono at_ms(int64_t ms)
{
    return (struct mono){MS(ms)};
}

Test(ticker, a_tick_in_time_is_followed_by_the_next_of_the_grid)
{
    struct mono next;

    cr_expect_eq(ticker_plan(at_ms(1000), at_ms(1000), PERIOD, &next), 0);
    cr_expect_eq(next.ns, MS(1050));
}

Test(ticker, a_tick_that_is_a_little_late_does_not_move_the_grid)
{
    struct mono next;

    cr_expect_eq(ticker_plan(at_ms(1000), at_ms(1020), PERIOD, &next), 0);
    cr_expect_eq(next.ns, MS(1050));
}

Test(ticker, missed_ticks_are_left_out_and_counted)
{
    struct mono next;

    cr_expect_eq(ticker_plan(at_ms(1000), at_ms(6010), PERIOD, &next), 100);
    cr_expect_eq(next.ns, MS(6050));
}

Test(ticker, the_tick_after_a_late_one_is_at_least_half_a_period_away)
{
    struct mono next;

    cr_expect_eq(ticker_plan(at_ms(1000), at_ms(1040), PERIOD, &next), 1);
    cr_expect_eq(next.ns, MS(1100));
    cr_expect_eq(ticker_plan(at_ms(1000), at_ms(6049), PERIOD, &next), 101);
    cr_expect_eq(next.ns, MS(6100));
}

/* Every stall: the next is on the grid, ahead by half a period to one and a half, and no planned
 * tick is lost from the books. */
Test(ticker, planned_ticks_are_either_run_or_counted)
{
    for (int64_t late_ms = 0; late_ms < 1000; late_ms++) {
        struct mono now = at_ms(1000 + late_ms), next;
        uint64_t skipped = ticker_plan(at_ms(1000), now, PERIOD, &next);
        int64_t ahead = clock_since(next, now);

        cr_assert_eq(clock_since(next, at_ms(1000)) % PERIOD, 0);
        cr_assert_geq(ahead, PERIOD / 2);
        cr_assert_lt(ahead, PERIOD * 3 / 2);
        cr_assert_eq((int64_t)skipped, clock_since(next, at_ms(1000)) / PERIOD - 1);
    }
}

/* --- a grid that is shifted ------------------------------------------------------------------- */

struct shifted {
    struct ticker ticker;
    struct loop *loop;
    struct mono planned, ran;
    uint32_t ticks;
};

static void on_shifted(void *arg, struct mono now, uint64_t skipped)
{
    struct shifted *s = arg;

    (void)skipped;
    s->ran = now;
    if (s->ticks++ == 0) {
        s->planned = clock_add(now, MS(17));
        ticker_shift(&s->ticker, s->planned);
    }
}

Test(ticker, a_shifted_grid_goes_through_the_moment_that_was_given)
{
    struct shifted s = {0};

    cr_assert_eq(loop_create(&s.loop), 0);
    cr_assert_eq(ticker_init(&s.ticker, s.loop, MS(10), on_shifted, &s), 0);
    for (uint32_t i = 0; i < 2000 && s.ticks < 2; i++)
        loop_turn(s.loop, MS(5));
    cr_assert_eq(s.ticks, 2);
    cr_assert_geq(clock_since(s.ran, s.planned), 0, "not before it");
    cr_assert_gt(clock_since(s.ticker.next, s.planned), 0);
    cr_assert_eq(clock_since(s.ticker.next, s.planned) % MS(10), 0, "and on its grid from then on");
    ticker_fini(&s.ticker);
    loop_destroy(s.loop);
}
