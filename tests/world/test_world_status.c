/* tests/world/test_world_status.c: the status line. */
#include "world/edge/world_status.h"

#include <criterion/criterion.h>
#include <string.h>

#define LINE_MAX 768

Test(world_status, counts_are_told_as_of_one_second)
{
    static struct hist ages[2];
    struct world_status_now now = {
        .players = 30, .known = 870, .ages = ages, .n_tiers = 2, .tick_ns = 50 * CLOCK_NS_PER_MS};
    struct hist ticks = {0};
    char text[LINE_MAX];

    hist_add(&ticks, 10000);
    hist_add(&ticks, 10000);
    hist_add(&ticks, 2500999);
    hist_add_many(&ages[0], 0, 90);
    hist_add_many(&ages[0], 2, 10);
    hist_add_many(&ages[1], 4, 10);
    world_status_text(&now, (struct world_status_counts){100, 20, 10, 1000},
                      (struct world_status_counts){400, 24, 10, 1005}, 2 * CLOCK_NS_PER_S, &ticks,
                      text, sizeof(text));
    cr_expect_str_eq(text, "status players=30 moves=150 updates=3 tick_p50_us=10 tick_max_us=2500 "
                           "known=870 adds=2 removes=0 age_p50_ms=0,200 age_p99_ms=100,200");
}

Test(world_status, nothing_happened_is_a_line_of_zeros)
{
    static struct hist ages;
    struct world_status_now now = {.ages = &ages, .n_tiers = 1, .tick_ns = 50 * CLOCK_NS_PER_MS};
    struct hist ticks = {0};
    struct world_status_counts same = {7, 7, 7, 7};
    char text[LINE_MAX];

    world_status_text(&now, same, same, CLOCK_NS_PER_S, &ticks, text, sizeof(text));
    cr_expect_str_eq(text, "status players=0 moves=0 updates=0 tick_p50_us=0 tick_max_us=0 "
                           "known=0 adds=0 removes=0 age_p50_ms=0 age_p99_ms=0");
    now.cluster = now.still = true;
    now.zones = 3;
    now.ghosts = 14;
    world_status_text(&now, same, same, CLOCK_NS_PER_S, &ticks, text, sizeof(text));
    cr_expect(strstr(text, " age_p99_ms=0 zones=3 ghosts=14 acts=0"), "%s", text);
}

Test(world_status, the_longest_line_is_whole)
{
    static struct hist ages[AGES_TIERS];
    struct world_status_now now = {.players = UINT32_MAX,
                                   .known = UINT64_MAX,
                                   .ages = ages,
                                   .n_tiers = AGES_TIERS,
                                   .tick_ns = 10 * CLOCK_NS_PER_S,
                                   .cluster = true,
                                   .zones = UINT32_MAX,
                                   .ghosts = UINT32_MAX};
    struct hist ticks = {0};
    struct world_status_counts none = {0}, all = {1ull << 62, 1ull << 62, 1ull << 62, 1ull << 62};
    char text[LINE_MAX];

    for (int i = 0; i < AGES_TIERS; i++)
        hist_add(&ages[i], AGES_MAX);
    world_status_text(&now, none, all, 1, &ticks, text, sizeof(text));
    cr_expect_str_eq(strrchr(text, ','), ",10230000 zones=4294967295 ghosts=4294967295 acts=1");
}
