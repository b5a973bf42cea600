/* tests/common/test_base.c: assertions stay on. */
#include "common/base.h"

#include <criterion/criterion.h>
#include <signal.h>

Test(base, an_assertion_that_holds_costs_nothing_and_is_evaluated_once)
{
    int times = 0;
    ASSERT(++times == 1);
    cr_assert_eq(times, 1);
}

Test(base, a_failed_assertion_aborts_in_every_build, .signal = SIGABRT)
{
    int one = 1;
    ASSERT(one == 2);
}
