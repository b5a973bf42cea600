/* tests/world/test_late.c: ticks and inputs that come late, and a clock that stands or goes back.
 * The world is handed its time; whatever that does, moves stay legal and views exact. That a
 * process which stood still makes no burst of ticks is the ticker's: tests/world/test_ticker.c. May
 * touch: tests/world_rig. Source: PROTOCOL.md, "Speed".
 */
#include "tests/leak.h"
#include "tests/world_rig.h"

#include <criterion/criterion.h>

#define LATE_NS (10 * CLOCK_NS_PER_S)

static struct rig *slow_walkers(void)
{
    struct world_config c = rig_config(); /* 12 units a second, a burst of one second */
    return rig_create(&c);
}

/* A legal step, and how many batches the viewer then got with the next tick. */
static uint64_t batches_of_a_step(struct rig *r, uint32_t who, uint32_t viewer)
{
    uint64_t before = r->sessions[viewer].view.batches;

    rig_move(r, who, r->sessions[who].x + 1, 0);
    rig_tick(r, 1);
    return r->sessions[viewer].view.batches - before;
}

Test(late, a_tick_ten_seconds_late_is_one_tick_with_one_batch)
{
    struct rig *r = slow_walkers();
    uint32_t a = rig_join(r, "a"), v = rig_join(r, "v");
    rig_tick(r, 1);
    uint32_t tick = r->world->tick;
    rig_pass(r, LATE_NS);
    cr_assert_eq(batches_of_a_step(r, a, v), 1);
    cr_assert_eq(r->world->tick, tick + 1);
    cr_assert_eq(batches_of_a_step(r, a, v), 1);
    rig_balance(r);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(late, however_late_it_is_nobody_gains_more_than_the_burst)
{
    struct rig *r = slow_walkers();
    uint32_t a = rig_join(r, "a");
    double x = r->sessions[a].x;
    rig_tick(r, 1);
    rig_pass(r, LATE_NS);
    (void)rig_refused(r, a, rig_send_move(r, a, x + 12.25, 0), PE_MOVE_SPEED);
    rig_move(r, a, x + 12.23, 0); /* a second of it, and the overdraft */
    rig_tick(r, 1);
    (void)rig_refused(r, a, rig_send_move(r, a, x + 12.23 + 1, 0), PE_MOVE_SPEED);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(late, a_clock_that_goes_back_gives_no_credit_twice_and_breaks_nothing)
{
    struct rig *r = slow_walkers();
    uint32_t a = rig_join(r, "a"), v = rig_join(r, "v");
    rig_tick(r, 20);
    rig_move(r, a, r->sessions[a].x + 12, 0);
    rig_pass(r, -3600 * CLOCK_NS_PER_S);
    (void)rig_refused(r, a, rig_send_move(r, a, r->sessions[a].x + 1, 0), PE_MOVE_SPEED);
    rig_tick(r, 20);
    (void)rig_refused(r, a, rig_send_move(r, a, r->sessions[a].x + 1, 0), PE_MOVE_SPEED);
    rig_say(r, a, "still here");
    rig_leave(r, v);
    rig_enter(r, v);
    rig_tick(r, 1);
    cr_assert(rig_knows(r, v, a));
    rig_pass(r, 3601 * CLOCK_NS_PER_S);
    cr_assert_eq(batches_of_a_step(r, a, v), 1);
    rig_balance(r);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(late, a_clock_that_stands_gives_no_credit)
{
    struct rig *r = slow_walkers();
    uint32_t a = rig_join(r, "a");
    rig_pass(r, CLOCK_NS_PER_S);
    rig_move(r, a, r->sessions[a].x + 12, 0);
    for (int i = 0; i < 10; i++) {
        rig_tick(r, 1);
        rig_pass(r, -r->world->config.tick_ns);
        uint32_t seq = rig_send_move(r, a, r->sessions[a].x + 1, 0);
        (void)rig_refused(r, a, seq, PE_MOVE_SPEED);
    }
    rig_destroy(r);
    TEST_NO_LEAKS();
}
