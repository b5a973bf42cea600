/* tests/world/test_scenes.c: which scenes there are, and where their portals lead.
 * May touch: world/state/scenes, tests/world/plain_map.
 */
#include "world/state/scenes.h"

#include "common/err.h"
#include "tests/leak.h"
#include "tests/world/plain_map.h"

#include <stdio.h>
#include <string.h>

#define FAR 1e6

static const char *const TOWN[] = {
    "......", /* */
    ".####.", /* */
    ".#..#.", /* */
    ".####.", /* */
    "......",
};

static struct scenes_plan plan_of(const struct map *maps, uint32_t n)
{
    return (struct scenes_plan){
        .bounds = {-100, -100, 100, 100}, .maps = maps, .n_maps = n, .far = FAR};
}

/* The line with which the plan is refused; it must name all of these. */
static void refuse(const struct scenes_plan *p, const char *a, const char *b, const char *c)
{
    struct scenes s;
    char why[256] = "";
    cr_assert_eq(scenes_init(&s, p, 30, true, 8, why, sizeof why), E_RANGE, "%s", why);
    cr_assert(strstr(why, a) && strstr(why, b) && strstr(why, c), "%s", why);
    cr_assert_null(strchr(why, '\n'));
}

Test(scenes, open_ground_is_always_there_and_a_scene_for_each_map)
{
    struct map maps[2] = {plain_map("town", TOWN, 5), plain_map_open("wild", 0, 0, 2, 50, 40)};
    struct scenes_plan p = plan_of(maps, 2);
    struct scenes s;
    uint32_t scene = 9;
    char why[256];
    p.first = span_text("wild");
    cr_assert_eq(scenes_init(&s, &p, 30, false, 8, why, sizeof why), 0, "%s", why);
    cr_assert_eq(s.n, 3);
    cr_assert_eq(s.first, 2);
    cr_assert(scenes_find(&s, span_text(SCENE_OPEN), &scene) && scene == 0);
    cr_assert(scenes_find(&s, span_text("town"), &scene) && scene == 1);
    cr_assert(scenes_find(&s, span_text("wild"), &scene) && scene == 2);
    cr_assert_not(scenes_find(&s, span_text("Town"), &scene));
    cr_assert_not(scenes_find(&s, span_text(""), &scene));
    cr_assert(s.list[2].bounds[2] == 100 && s.list[2].bounds[3] == 80);
    cr_assert(scene_free(&s.list[1], 2.5, 2.5));
    cr_assert_not(scene_free(&s.list[1], 1.5, 1.5));
    cr_assert_not(scene_free(&s.list[1], 7, 1));
    scenes_fini(&s);
    map_fini(&maps[0]);
    map_fini(&maps[1]);
    TEST_NO_LEAKS();
}

Test(scenes, maps_that_do_not_go_together_are_refused_in_one_line)
{
    struct map maps[2] = {plain_map("town", TOWN, 5), plain_map("town", TOWN, 5)};
    struct scenes_plan two = plan_of(maps, 2), one = plan_of(maps, 1);
    refuse(&two, "-map", "\"town\"", "already");
    snprintf(maps[0].name, sizeof maps[0].name, SCENE_OPEN);
    refuse(&one, "-map", "\"open\"", "already");
    snprintf(maps[0].name, sizeof maps[0].name, "to\"wn");
    refuse(&one, "-map", "name", "letters");
    maps[0].name[0] = '\0';
    refuse(&one, "-map", "name", "letters");
    snprintf(maps[0].name, sizeof maps[0].name, "town");
    one.first = span_text("moon");
    refuse(&one, "-scene", "\"moon\"", "no such scene");
    one.first = (struct span){0};
    one.far = 5;
    refuse(&one, "-map", "town", "-quantum");
    one.far = FAR;
    for (int i = 0; i < 30; i++)
        ground_block(&maps[0].ground, i % 6, i / 6, true);
    refuse(&one, "-map", "town", "no tile is free");
    map_fini(&maps[0]);
    map_fini(&maps[1]);
    TEST_NO_LEAKS();
}

Test(scenes, the_limit_of_scenes_is_told)
{
    static struct map maps[SCENES_MAX];
    for (uint32_t i = 0; i < SCENES_MAX; i++) {
        char name[16];
        snprintf(name, sizeof name, "m%u", i);
        maps[i] = plain_map_open(name, 0, 0, 1, 4, 4);
    }
    struct scenes_plan p = plan_of(maps, SCENES_MAX);
    refuse(&p, "-map", "64 maps", "at most 63");
    struct scenes s;
    char why[256];
    p.n_maps--;
    cr_assert_eq(scenes_init(&s, &p, 30, false, 8, why, sizeof why), 0, "%s", why);
    cr_assert_eq(s.n, SCENES_MAX);
    scenes_fini(&s);
    for (uint32_t i = 0; i < SCENES_MAX; i++)
        map_fini(&maps[i]);
    TEST_NO_LEAKS();
}

Test(scenes, a_portal_to_nowhere_is_refused_naming_the_file_and_the_portal)
{
    static const struct {
        const char *scene;
        double x, y;
        const char *why;
    } cases[] = {
        {"moon", 1, 1, "no scene"},       {"town", 7, 1, "out of that scene"},
        {"town", 1, -0.1, "out of that"}, {"town", 1.5, 1.5, "blocked tile"},
        {"open", 101, 0, "out of that"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct map m = plain_map("town", TOWN, 5);
        m.path = "maps/town.json";
        plain_map_portal(&m, (double[4]){0, 0, 1, 1}, cases[i].scene, cases[i].x, cases[i].y);
        struct scenes_plan p = plan_of(&m, 1);
        refuse(&p, "maps/town.json", "\"gate-0\"", cases[i].why);
        map_fini(&m);
    }
    struct map wide = plain_map_open("wide", 0, 0, 1, 512, 512);
    plain_map_portal(&wide, (double[4]){0, 0, 300, 300}, "open", 0, 0);
    struct scenes_plan p = plan_of(&wide, 1);
    refuse(&p, "wide", "\"gate-0\"", "larger than");
    map_fini(&wide);
    TEST_NO_LEAKS();
}

Test(scenes, a_portal_is_found_from_all_of_its_area_and_from_nowhere_else)
{
    struct map m = plain_map_open("wild", 0, 0, 1, 20, 20);
    plain_map_portal(&m, (double[4]){2.25, 3.5, 6, 5.75}, "open", 1, 2);
    plain_map_portal(&m, (double[4]){5, 5, 8, 8}, "wild", 19, 19);
    plain_map_portal(&m, (double[4]){18, 18, 20, 20}, "open", 3, 4);
    struct scenes_plan p = plan_of(&m, 1);
    struct scenes s;
    char why[256];
    cr_assert_eq(scenes_init(&s, &p, 30, false, 8, why, sizeof why), 0, "%s", why);
    for (double y = 0; y <= 20; y += 0.25) {
        for (double x = 0; x <= 20; x += 0.25) {
            const struct map_portal *want = NULL;
            for (uint32_t i = m.n_portals; i-- > 0;)
                want = map_within(&m.portals[i].area, x, y) ? &m.portals[i] : want;
            const struct scenes_portal *got = scenes_portal_at(&s, 1, x, y);
            cr_assert_eq(got != NULL, want != NULL, "%g, %g", x, y);
            if (got)
                cr_assert(got->x == want->x && got->y == want->y, "%g, %g", x, y);
            cr_assert_null(scenes_portal_at(&s, 0, x, y));
        }
    }
    scenes_fini(&s);
    map_fini(&m);
    TEST_NO_LEAKS();
}

Test(scenes, spawns_of_a_map_are_free_and_taken_by_turns)
{
    struct map m = plain_map("town", TOWN, 5);
    struct scenes_plan p = plan_of(&m, 1);
    struct scenes s;
    struct rng rng;
    char why[256];
    rng_init(&rng, 5);
    plain_map_spawn(&m, (double[4]){0.5, 0.5, 0.5, 0.5});
    plain_map_spawn(&m, (double[4]){1, 1, 5, 4}); /* walls around a room */
    cr_assert_eq(scenes_init(&s, &p, 30, false, 8, why, sizeof why), 0, "%s", why);
    for (uint32_t id = 1; id < 400; id++) {
        double x, y;
        scene_spawn(&s.list[1], id, &rng, &x, &y);
        cr_assert(scene_free(&s.list[1], x, y), "%g, %g", x, y);
        if (id % 2 == 1)
            cr_assert(x == 0.5 && y == 0.5);
        else
            cr_assert(x >= 1 && x <= 5 && y >= 1 && y <= 4);
    }
    m.n_spawns = 0;
    for (uint32_t id = 1; id < 400; id++) {
        double x, y;
        scene_spawn(&s.list[1], id, &rng, &x, &y);
        cr_assert(scene_free(&s.list[1], x, y), "%g, %g", x, y);
    }
    scenes_fini(&s);
    map_fini(&m);
    TEST_NO_LEAKS();
}
