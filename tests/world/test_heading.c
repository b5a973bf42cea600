/* tests/world/test_heading.c: the direction of a line.
 * May touch: world/state/heading, libm for comparison.
 */
#include "world/state/heading.h"

#include "common/rng.h"

#include <criterion/criterion.h>

#include <math.h>

#define TURN 6.283185307179586

static void like_libm(double dx, double dy)
{
    double got = heading_of(dx, dy), want = atan2(dy, dx);
    if (want < 0)
        want += TURN;
    double off = fabs(got - want);
    if (off > TURN / 2)
        off = TURN - off; /* both sides of 0 are one direction */
    cr_assert(got >= 0 && got < TURN, "(%g, %g): %g", dx, dy, got);
    cr_assert_lt(off, 1e-12, "(%g, %g): %.17g, libm says %.17g", dx, dy, got, want);
}

Test(heading, the_eight_winds_are_where_they_should_be)
{
    cr_assert_eq(heading_of(0, 0), 0);
    cr_assert_eq(heading_of(3, 0), 0);
    cr_assert_eq(heading_of(0, 3), TURN / 4);
    cr_assert_eq(heading_of(-3, 0), TURN / 2);
    cr_assert_eq(heading_of(0, -3), TURN * 3 / 4);
    cr_assert_float_eq(heading_of(2, 2), TURN / 8, 1e-15);
    cr_assert_float_eq(heading_of(-2, 2), TURN * 3 / 8, 1e-15);
    cr_assert_float_eq(heading_of(-2, -2), TURN * 5 / 8, 1e-15);
    cr_assert_float_eq(heading_of(2, -2), TURN * 7 / 8, 1e-14);
    cr_assert_eq(heading_of(5e-324, 0), 0);
    cr_assert_eq(heading_of(0, 5e-324), TURN / 4);
    cr_assert_eq(heading_of(1e300, -5e-324), 0, "not a whole turn");
}

Test(heading, it_agrees_with_libm_all_around_far_below_a_grain_of_the_wire)
{
    struct rng rng;
    rng_init(&rng, 3);
    for (int i = 0; i < 3600; i++) {
        double a = TURN * i / 3600;
        like_libm(cos(a), sin(a));
        like_libm(1e9 * cos(a), 1e9 * sin(a));
    }
    for (int i = 0; i < 100000; i++) {
        double size = ldexp(1, (int)rng_below(&rng, 60) - 30);
        like_libm((rng_unit(&rng) - 0.5) * size, (rng_unit(&rng) - 0.5) * size);
        like_libm((rng_unit(&rng) - 0.5) * size, rng_unit(&rng) - 0.5);
    }
}
