/* tests/common/test_clock.c: monotonic time as a value. */
#include "common/clock.h"

#include <criterion/criterion.h>

Test(clock, time_never_goes_back)
{
    struct mono before = clock_mono();
    for (int i = 0; i < 100000; i++) {
        struct mono t = clock_mono();
        cr_assert_geq(clock_since(t, before), 0);
        before = t;
    }
    cr_assert_gt(before.ns, 0);
}

Test(clock, adding_and_taking_the_difference_undo_each_other)
{
    struct mono t = {5 * CLOCK_NS_PER_S};
    cr_assert_eq(clock_since(clock_add(t, 50 * CLOCK_NS_PER_MS), t), 50 * CLOCK_NS_PER_MS);
    cr_assert_eq(clock_since(t, clock_add(t, 1)), -1);
    cr_assert_eq(clock_add(t, -CLOCK_NS_PER_S).ns, 4 * CLOCK_NS_PER_S);
}
