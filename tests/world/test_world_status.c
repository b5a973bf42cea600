/* tests/world/test_world_status.c: the status line. */
#include "world/edge/world_status.h"

#include <criterion/criterion.h>

Test(world_status, counts_are_told_as_of_one_second)
{
    struct hist ticks = {0};
    char text[192];

    hist_add(&ticks, 10000);
    hist_add(&ticks, 10000);
    hist_add(&ticks, 2500999);
    world_status_text(30, (struct world_status_counts){100, 1000},
                      (struct world_status_counts){400, 1005}, 2 * CLOCK_NS_PER_S, &ticks, text,
                      sizeof(text));
    cr_expect_str_eq(text, "status players=30 moves=150 updates=3 tick_p50_us=10 tick_max_us=2500");
}

Test(world_status, nothing_happened_is_a_line_of_zeros)
{
    struct hist ticks = {0};
    struct world_status_counts same = {7, 7};
    char text[192];

    world_status_text(0, same, same, CLOCK_NS_PER_S, &ticks, text, sizeof(text));
    cr_expect_str_eq(text, "status players=0 moves=0 updates=0 tick_p50_us=0 tick_max_us=0");
}
