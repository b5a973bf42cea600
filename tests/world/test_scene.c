/* tests/world/test_scene.c: bounds and spawns. DESIGN.md, "Spawns"; CASES B09.
 * May touch: world/state/scene, common.
 */
#include "world/state/scene.h"

#include "common/err.h"
#include "tests/leak.h"

#include <math.h>
#include <string.h>

static const double OPEN[4] = {-16384, -16384, 16384, 16384};

static struct scene scene_of(const double bounds[4], const char *spawn)
{
    struct scene s = {.name = span_text(SCENE_OPEN)};
    memcpy(s.bounds, bounds, sizeof s.bounds);
    cr_assert_eq(scene_spawn_parse(spawn, &s.spawn), 0);
    return s;
}

Test(scene, the_line_puts_the_first_three_at_eight_sixteen_and_twenty_four)
{
    struct scene s = scene_of(OPEN, "line");
    struct rng rng;
    double x, y;
    rng_init(&rng, 1);
    static const uint32_t ids[] = {1, 2, 3, 1999, 2000, 2001, 4000, 4001};
    static const double want[] = {8, 16, 24, 15992, 16000, 8, 16000, 8};
    for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
        scene_spawn(&s, ids[i], &rng, &x, &y);
        cr_assert_eq(x, want[i], "id %u", ids[i]);
        cr_assert_eq(y, 0);
    }
    TEST_NO_LEAKS();
}

Test(scene, spawns_are_inside_whatever_the_rule_and_the_bounds)
{
    static const char *const rules[] = {"line", "uniform", "0,0,50", "9,-9,0", "1e6,-1e6,5"};
    static const double bounds[][4] = {{-5, -5, 5, 5}, {100, 200, 300, 400}, {-9, -9, -8, -8}};
    struct rng rng;
    rng_init(&rng, 2);
    for (size_t r = 0; r < ARRAY_LEN(rules); r++) {
        for (size_t b = 0; b < ARRAY_LEN(bounds); b++) {
            struct scene s = scene_of(bounds[b], rules[r]);
            for (uint32_t id = 1; id < 300; id++) {
                double x = NAN, y = NAN;
                scene_spawn(&s, id, &rng, &x, &y);
                cr_assert(scene_inside(&s, x, y), "%s: %g, %g", rules[r], x, y);
            }
        }
    }
    TEST_NO_LEAKS();
}

Test(scene, uniform_fills_all_four_quarters)
{
    struct scene s = scene_of(OPEN, "uniform");
    struct rng rng;
    uint32_t quarter[4] = {0};
    rng_init(&rng, 3);
    for (uint32_t id = 1; id <= 4000; id++) {
        double x, y;
        scene_spawn(&s, id, &rng, &x, &y);
        quarter[(x > 0) + 2 * (y > 0)]++;
    }
    for (int i = 0; i < 4; i++)
        cr_assert(quarter[i] > 800 && quarter[i] < 1200, "%u", quarter[i]);
}

Test(scene, a_disc_holds_all_of_its_spawns_and_is_filled)
{
    struct scene s = scene_of(OPEN, "100,-50,20");
    struct rng rng;
    uint32_t inner = 0;
    rng_init(&rng, 4);
    for (uint32_t id = 1; id <= 4000; id++) {
        double x, y;
        scene_spawn(&s, id, &rng, &x, &y);
        double dx = x - 100, dy = y + 50, d = sqrt(dx * dx + dy * dy);
        cr_assert_leq(d, 20 * (1 + 1e-9));
        inner += d < 10;
    }
    cr_assert(inner > 800 && inner < 1200, "a quarter of the area is within half the radius");
}

Test(scene, the_bounds_are_part_of_it)
{
    double b[4] = {-10, 0, 30, 20};
    struct scene s = scene_of(b, "line");
    cr_assert(scene_inside(&s, -10, 0));
    cr_assert(scene_inside(&s, 30, 20));
    cr_assert(scene_inside(&s, 30 - 1.0 / 64, 20 - 1.0 / 64));
    cr_assert_not(scene_inside(&s, nextafter(30, 31), 10));
    cr_assert_not(scene_inside(&s, 10, nextafter(20, 21)));
    cr_assert_not(scene_inside(&s, nextafter(-10, -11), 10));
    cr_assert_not(scene_inside(&s, 10, -5e-324));
    cr_assert_not(scene_inside(&s, NAN, 10));
    cr_assert_not(scene_inside(&s, 10, NAN));
    cr_assert_not(scene_inside(&s, INFINITY, 10));
    cr_assert_not(scene_inside(&s, 10, -INFINITY));
}

Test(scene, spawn_rules_are_parsed_or_refused)
{
    struct scene_spawn_rule r;
    cr_assert_eq(scene_spawn_parse("line", &r), 0);
    cr_assert_eq(r.kind, SCENE_SPAWN_LINE);
    cr_assert_eq(scene_spawn_parse("uniform", &r), 0);
    cr_assert_eq(r.kind, SCENE_SPAWN_UNIFORM);
    cr_assert_eq(scene_spawn_parse("1.5,-2,0", &r), 0);
    cr_assert_eq(r.kind, SCENE_SPAWN_DISC);
    cr_assert(r.x == 1.5 && r.y == -2 && r.r == 0);
    static const char *const bad[] = {
        "",        "lines", "LINE", "1,2", "1,2,3,4", "1,2,-1", "nan,0,1",  "0,inf,1",
        "0,0,inf", "a,b,c", "1,2,", ",,",  "1,2,3x",  "1;2;3",  "uniform ", "1e999,0,1"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        cr_assert_eq(scene_spawn_parse(bad[i], &r), E_BAD, "\"%s\"", bad[i]);
}
