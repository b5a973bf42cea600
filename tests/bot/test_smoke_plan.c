/* tests/bot/test_smoke_plan.c: where the three players of the smoke scenario go. */
#include "bot/smoke_plan.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#define RADIUS 30.0

Test(smoke_plan, three_in_a_row_of_the_spawn_line_stand_together)
{
    const struct smoke_plan_place row[] = {{8, 0}, {16, 0}, {24, 0}};
    const struct smoke_plan_place edge[] = {{0, 0}, {15, 0}, {30, 0}};
    const struct smoke_plan_place past[] = {{0, 0}, {15, 0}, {30.01, 0}};
    cr_assert(smoke_plan_together(row, RADIUS));
    cr_assert(smoke_plan_together(edge, RADIUS));
    cr_assert_not(smoke_plan_together(past, RADIUS));
}

Test(smoke_plan, those_far_apart_meet_in_the_middle_and_stand_together_there)
{
    const struct smoke_plan_place at[] = {{8, 0}, {16, 40}, {272, 0}};
    struct smoke_plan_place goal[SMOKE_PLAN_PLAYERS];
    smoke_plan_meet(at, RADIUS, goal);
    double longest = smoke_plan_longest(at, goal);
    cr_assert(smoke_plan_together(goal, RADIUS));
    cr_assert_eq(goal[1].x, 140);
    cr_assert_eq(goal[1].y, 20);
    cr_assert(longest >= 124 && longest < 140);
    smoke_plan_meet(at, 2, goal);
    cr_assert(smoke_plan_together(goal, 2), "a short sight brings them closer");
}

Test(smoke_plan, the_teleport_is_far_from_wherever_one_stands)
{
    struct smoke_plan_place to = smoke_plan_teleport((struct smoke_plan_place){8, 3}, 12);
    cr_assert_eq(to.x, 9999);
    cr_assert_eq(to.y, 3);
    to = smoke_plan_teleport((struct smoke_plan_place){10000, 3}, 12);
    cr_assert_eq(to.x, 9999);
    cr_assert(fabs(to.y - 3) > 12 * 30);
}

Test(smoke_plan, the_first_way_leads_away_and_the_others_in_other_directions)
{
    struct smoke_plan_place at = {24, 0}, others = {12, 0};
    struct smoke_plan_place way[4];
    for (unsigned i = 0; i < 4; i++)
        way[i] = smoke_plan_away(at, others, i);
    cr_assert(way[0].x > at.x && way[0].y == at.y);
    for (unsigned i = 0; i < 4; i++) {
        for (unsigned j = 0; j < i; j++)
            cr_assert(way[i].x != way[j].x || way[i].y != way[j].y);
    }
    cr_assert(smoke_plan_away((struct smoke_plan_place){-24, 0}, others, 0).x < -24);
}

Test(smoke_plan, round_a_place_each_has_a_quarter_of_its_own_and_all_are_in_sight)
{
    const struct smoke_plan_place corner = {40, -7};
    struct smoke_plan_place goal[SMOKE_PLAN_PLAYERS], next[SMOKE_PLAN_PLAYERS];

    for (unsigned turn = 0; turn < 5; turn++) {
        smoke_plan_round(corner, RADIUS, turn, goal);
        cr_assert(smoke_plan_together(goal, RADIUS));
        for (int i = 0; i < SMOKE_PLAN_PLAYERS; i++) {
            cr_assert(fabs(goal[i].x - corner.x) > 5 && fabs(goal[i].y - corner.y) > 5,
                      "past the margin of a border");
            for (int j = 0; j < i; j++)
                cr_assert((goal[i].x > corner.x) != (goal[j].x > corner.x) ||
                          (goal[i].y > corner.y) != (goal[j].y > corner.y));
        }
        smoke_plan_round(corner, RADIUS, turn + 1, next);
        cr_assert(memcmp(goal + 1, next, 2 * sizeof(*goal)) == 0,
                  "who goes on takes the next's place");
    }
}

Test(smoke_plan, a_place_is_two_finite_numbers_with_a_comma)
{
    static const char *const none[] = {"",    "1",   "1,",    ",1",   "1,2,3",
                                       "1;2", "x,2", "nan,1", "1,inf"};
    struct smoke_plan_place at;

    cr_assert(smoke_plan_read("-3.5,40", &at));
    cr_assert(at.x == -3.5 && at.y == 40);
    for (size_t i = 0; i < ARRAY_LEN(none); i++)
        cr_assert_not(smoke_plan_read(none[i], &at), "%s", none[i]);
}
