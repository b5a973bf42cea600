/* tests/e2e/test_e2e_walk.c: walking in real processes: seen by others, round houses of the town.
 * May touch: tests/pair, tests/e2e/stage. On trouble: the test fails.
 */
#include "tests/e2e/stage.h"
#include "tests/leak.h"
#include "tests/pair.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define BOT_MS 40000 /* for one scenario, walking included */
#define TOWN   "deploy/maps/town.json"
#define WILD   "deploy/maps/wild.json" /* where the town's portal leads */

TestSuite(e2e_walk, .fini = process_end_all, .timeout = 90);

/* Where the viewer last saw the walker; not yet: where nobody is. */
static bool seen_at(const struct player *viewer, const struct player *walker, double x, double y)
{
    for (uint32_t i = viewer->n_events; i-- > 0;) {
        const struct stage_event *e = &viewer->events[i];
        if (e->id == walker->facts->id && e->kind != STAGE_REMOVE)
            return e->x == x && e->y == y;
    }
    return false;
}

static void walk(struct player *p, double x, double y, bool path)
{
    cr_assert_eq(player_answer(p, bot_client_walk(p->client, x, y, path)), 0);
    cr_assert_eq(p->last_cmd, (uint32_t)CMD_WALK_RESP);
}

Test(e2e_walk, a_walker_is_seen_on_its_way_and_on_its_goal)
{
    struct pair pair = pair_start(PROCESS_ARGS("-seed", "1"), NULL);
    struct stage stage;

    stage_init(&stage);
    struct player *viewer = stage_join(&stage, pair.gateway->addr, "viewer");
    struct player *walker = stage_join(&stage, pair.gateway->addr, "walker");
    STAGE_UNTIL(&stage, player_sees(viewer, walker));
    uint32_t before = viewer->n_events;
    double x = walker->facts->x + 3, y = walker->facts->y + 4;
    walk(walker, x, y, false);
    STAGE_UNTIL(&stage, seen_at(viewer, walker, x, y));
    cr_assert_gt(player_events(viewer, before, STAGE_MOVE, walker->facts->id), 4u,
                 "five units are nine ticks");
    const struct view_entity *e = view_find(bot_client_view(viewer->client), walker->facts->id);
    cr_assert(e && e->speed == 0, "it stands");
    stage_pass_ticks(viewer, 3);
    cr_assert_eq(walker->got[CMD_MOVE_FAIL], 0u);
    stage_fini(&stage);
    pair_end(&pair);
    TEST_NO_LEAKS();
}

Test(e2e_walk, by_tiles_it_takes_a_step_each_half_second)
{
    struct pair pair = pair_start(PROCESS_ARGS("-walk", "tile"), NULL);
    struct stage stage;

    stage_init(&stage);
    struct player *viewer = stage_join(&stage, pair.gateway->addr, "viewer");
    struct player *walker = stage_join(&stage, pair.gateway->addr, "walker");
    STAGE_UNTIL(&stage, player_sees(viewer, walker));
    uint32_t before = viewer->n_events;
    double x = walker->facts->x;
    walk(walker, x + 5, 0, false);
    STAGE_UNTIL(&stage, seen_at(viewer, walker, x + 5, 0));
    static const double steps[] = {2, 4, 5};
    for (uint32_t i = 0; i < 3; i++)
        cr_assert_eq(viewer->events[before + i].x, x + steps[i]);
    stage_fini(&stage);
    pair_end(&pair);
    TEST_NO_LEAKS();
}

Test(e2e_walk, a_walk_into_nothing_but_a_number_is_refused_and_the_connection_stays)
{
    struct pair pair = pair_start(PROCESS_ARGS("-seed", "1"), NULL);
    struct stage stage;

    stage_init(&stage);
    struct player *p = stage_join(&stage, pair.gateway->addr, "p");
    cr_assert_eq(player_answer(p, bot_client_walk(p->client, 0.0 / 0.0, 0, false)),
                 (uint32_t)PE_BAD_PAYLOAD);
    walk(p, 1e300, -1e300, true);
    cr_assert(p->facts->x == 16384 && p->facts->y == -16384, "clamped to the scene");
    stage_fini(&stage);
    pair_end(&pair);
    TEST_NO_LEAKS();
}

/* The last lines of the scenario, in the town: each begins so. */
static const char *const stroll[] = {
    "[delta] entered town (x=",
    "[delta] walk straight -> stopped by a wall at (",
    "[delta] walk by path -> round it to (",
    "[delta] walk by path -> back at (",
    "smoke OK",
};

Test(e2e_walk, smoke_walks_round_a_house_of_the_town_by_either_gait)
{
    static const char *const gaits[] = {"straight", "tile"};

    for (size_t g = 0; g < ARRAY_LEN(gaits); g++) {
        struct pair pair = pair_start(
            PROCESS_ARGS("-map", TOWN, "-map", WILD, "-scene", g == 0 ? "open" : "town", "-walk",
                         gaits[g], "-tile-ms", "100", "-walk-step", "100ms", "-npcs", "50"),
            NULL);
        struct process *bot = process_start(
            "bot", PROCESS_ARGS("-mode=smoke", "-scene", "town", "-addr", pair.gateway->addr));

        process_await_exit(bot, BOT_MS, 0);
        const char *at = strstr((const char *)process_out(bot).p, stroll[0]);
        for (size_t i = 0; i < ARRAY_LEN(stroll); i++) {
            at = at ? strstr(at, stroll[i]) : NULL;
            cr_assert_not_null(at, "no line \"%s\" in:\n%.*s", stroll[i], (int)process_out(bot).n,
                               (const char *)process_out(bot).p);
        }
        pair_end(&pair);
    }
    TEST_NO_LEAKS();
}

Test(e2e_walk, a_scene_without_walls_is_nothing_to_walk_round)
{
    struct pair pair = pair_start(PROCESS_ARGS("-seed", "1"), NULL);
    struct process *bot = process_start(
        "bot", PROCESS_ARGS("-mode=smoke", "-scene", "nowhere", "-addr", pair.gateway->addr));

    process_await_exit(bot, BOT_MS, 1);
    cr_assert_not_null(strstr((const char *)process_out(bot).p,
                              "smoke FAILED: delta was told: there is no such scene"));
    pair_end(&pair);
    TEST_NO_LEAKS();
}
