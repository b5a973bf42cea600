/* tests/world/test_motion.c: speed credit and directions. PROTOCOL.md, "Speed".
 * May touch: world/state/motion, common.
 */
#include "world/state/motion.h"

#include "common/rng.h"
#include "proto/limits.h"

#include <criterion/criterion.h>

#include <math.h>

#define MS   CLOCK_NS_PER_MS
#define TURN 6.283185307179586

static const struct motion_rules RULES = {.max_speed = 12, .burst = 1};
static const struct mono START = {7000 * CLOCK_NS_PER_S};

static struct mono after(int64_t ns)
{
    return clock_add(START, ns);
}

Test(motion, credit_starts_at_twenty_milliseconds)
{
    struct motion m;
    motion_start(&m, START);
    cr_assert_float_eq(motion_credit(&m, &RULES, START), 0.02, 1e-12);
}

Test(motion, at_once_after_entering_forty_milliseconds_of_way_pass)
{
    struct motion m;
    motion_start(&m, START);
    cr_assert(motion_spend(&m, &RULES, 12 * 0.04, START), "0.02 s and 0.02 s of overdraft");
    cr_assert_not(motion_spend(&m, &RULES, 0.001, START), "nothing is left");
    cr_assert(motion_spend(&m, &RULES, 0, START), "standing still needs none");
}

Test(motion, a_hair_more_is_refused_and_takes_nothing)
{
    struct motion m;
    motion_start(&m, START);
    cr_assert_not(motion_spend(&m, &RULES, 12 * 0.04 * (1 + 1e-6), START));
    cr_assert(motion_spend(&m, &RULES, 12 * 0.04, START));
}

Test(motion, credit_grows_with_time_up_to_the_burst)
{
    struct motion m;
    motion_start(&m, START);
    cr_assert_float_eq(motion_credit(&m, &RULES, after(500 * MS)), 0.52, 1e-9);
    cr_assert_float_eq(motion_credit(&m, &RULES, after(980 * MS)), 1, 1e-9);
    cr_assert_float_eq(motion_credit(&m, &RULES, after(3600 * 1000 * MS)), 1, 1e-9);
    cr_assert_not(motion_spend(&m, &RULES, 12.25, after(3600 * 1000 * MS)));
    cr_assert(motion_spend(&m, &RULES, 12.24, after(3600 * 1000 * MS)));
}

Test(motion, without_a_cap_it_grows_on)
{
    struct motion_rules r = {.max_speed = 12, .burst = 0};
    struct motion m;
    motion_start(&m, START);
    cr_assert(motion_spend(&m, &r, 12 * 99, after(100 * 1000 * MS)));
    cr_assert_not(motion_spend(&m, &r, 12 * 2, after(100 * 1000 * MS)));
}

Test(motion, a_clock_that_stands_or_goes_back_gives_nothing)
{
    struct motion m;
    motion_start(&m, START);
    cr_assert_float_eq(motion_credit(&m, &RULES, after(-5000 * MS)), 0.02, 1e-12);
    cr_assert(motion_spend(&m, &RULES, 0.48, after(-5000 * MS)));
    cr_assert_not(motion_spend(&m, &RULES, 0.1, after(-1000 * MS)));
    cr_assert_float_eq(motion_credit(&m, &RULES, after(100 * MS)), 0.08, 1e-9,
                       "time counts once, from where it was furthest");
}

Test(motion, a_refused_move_leaves_the_credit_as_it_was)
{
    struct motion m;
    motion_start(&m, START);
    for (int i = 1; i <= 100; i++)
        cr_assert_not(motion_spend(&m, &RULES, 500, after(i * MS)));
    cr_assert_float_eq(motion_credit(&m, &RULES, after(100 * MS)), 0.12, 1e-9);
}

Test(motion, rounding_does_not_refuse_who_moves_at_full_speed)
{
    struct motion m;
    struct motion_rules r = {.max_speed = 0.1, .burst = 1};
    motion_start(&m, START);
    cr_assert(motion_spend(&m, &r, 0.1 * 0.04, START));
    for (int i = 1; i <= 100000; i++)
        cr_assert(motion_spend(&m, &r, 0.1 * 0.05, after(50 * MS * i)), "step %d", i);
}

/* However the steps and times fall, the way is never longer than time, burst and overdraft say. */
Test(motion, sending_faster_than_time_gains_no_distance)
{
    struct rng rng;
    rng_init(&rng, 3);
    for (int run = 0; run < 200; run++) {
        struct motion m;
        double way = 0;
        int64_t t = 0;
        motion_start(&m, START);
        for (int i = 0; i < 300; i++) {
            t += (int64_t)rng_below(&rng, 30 * MS);
            double d = rng_unit(&rng) * 1.5;
            if (motion_spend(&m, &RULES, d, after(t)))
                way += d;
        }
        cr_assert_leq(way, 12 * ((double)t / 1e9 + 0.04) * (1 + 1e-8));
    }
}

Test(motion, directions_are_taken_modulo_a_turn)
{
    cr_assert_eq(motion_turn(0), 0);
    cr_assert_eq(motion_turn(1), 1);
    cr_assert_eq(motion_turn(TURN), 0);
    cr_assert_float_eq(motion_turn(-1), TURN - 1, 1e-12);
    cr_assert_float_eq(motion_turn(7), 7 - TURN, 1e-12);
    cr_assert_float_eq(motion_turn(-100), fmod(-100, TURN) + TURN, 1e-9);
    double odd[] = {1e300,   -1e300,          1e17,   -1e17,
                    -1e-300, -5e-324,         -1e-17, nextafter(TURN, 0),
                    1e308,   nextafter(0, -1)};
    for (size_t i = 0; i < ARRAY_LEN(odd); i++) {
        double d = motion_turn(odd[i]);
        cr_assert(d >= 0, "%g", odd[i]);
        cr_assert(d < TURN, "%g", odd[i]);
    }
}

Test(motion, the_smaller_angle_counts_across_two_pi)
{
    cr_assert_eq(motion_angle(1, 1), 0);
    cr_assert_float_eq(motion_angle(0.1, TURN - 0.1), 0.2, 1e-12);
    cr_assert_float_eq(motion_angle(TURN - 0.1, 0.1), 0.2, 1e-12);
    cr_assert_float_eq(motion_angle(0, TURN / 2), TURN / 2, 1e-12);
    cr_assert_float_eq(motion_angle(1, 3), 2, 1e-12);
    cr_assert_float_eq(motion_angle(3, 1), 2, 1e-12);
    cr_assert_float_eq(motion_angle(0, nextafter(TURN, 0)), 0, 1e-12);
    cr_assert_float_eq(motion_angle(0.5, 0.5 + TURN / 2 + 0.25), TURN / 2 - 0.25, 1e-12);
}
