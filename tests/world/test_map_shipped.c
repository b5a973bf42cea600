/* tests/world/test_map_shipped.c: the maps of deploy/maps, and one that the editor itself wrote.
 * Run from the root of the tree. May touch: world/edge/map_tiled, tests/world_rig, those files.
 */
#include "tests/leak.h"
#include "tests/world/map_rig.h"
#include "tests/world_rig.h"

#include <math.h>
#include <stdlib.h>

#if defined AEGIS_PART_JANSSON && defined AEGIS_PART_ZLIB

static struct map load(const char *spec)
{
    struct map m;
    char why[512] = "";
    cr_assert_eq(map_tiled_load(spec, 1, &m, why, sizeof why), 0, "%s", why);
    return m;
}

/* How many tiles one can walk to from a place. */
static uint32_t reached(const struct ground *g, double x, double y)
{
    size_t n = (size_t)g->nx * (size_t)g->ny, todo = 0;
    uint8_t *seen = calloc(n, 1);
    struct ground_tile *list = malloc(n * sizeof *list), at = ground_at(g, x, y);
    uint32_t count = 0;
    list[todo++] = at;
    seen[(size_t)at.y * (size_t)g->nx + (size_t)at.x] = 1;
    while (todo > 0) {
        at = list[--todo];
        count++;
        for (int d = 0; d < 9; d++) {
            int32_t tx = at.x + d % 3 - 1, ty = at.y + d / 3 - 1;
            if (!ground_step(g, at.x, at.y, d % 3 - 1, d / 3 - 1))
                continue;
            uint8_t *mark = &seen[(size_t)ty * (size_t)g->nx + (size_t)tx];
            if (!*mark)
                list[todo++] = (struct ground_tile){tx, ty};
            *mark = 1;
        }
    }
    free(list);
    free(seen);
    return count;
}

static void can_be_walked(const struct map *m)
{
    const struct ground *g = &m->ground;
    double x = m->spawns[0].area.x0, y = m->spawns[0].area.y0;
    cr_assert(ground_near(g, x, y, &x, &y));
    uint32_t tiles = (uint32_t)(g->nx * g->ny);
    cr_assert_eq(reached(g, x, y), tiles - ground_count(g), "every free tile can be come to");
}

Test(map_shipped, the_town_is_small_and_has_houses_people_and_a_way_out)
{
    struct map m = load("deploy/maps/town.json");
    cr_assert_str_eq(m.name, "town");
    cr_assert(m.ground.nx == 64 && m.ground.ny == 48);
    cr_assert(ground_blocked(&m.ground, 5, 5) && ground_free_at(&m.ground, 8.5, 7.5), "a house");
    cr_assert(ground_free_at(&m.ground, 12.5, 8.5), "an alley between two");
    cr_assert(ground_blocked(&m.ground, 11, 8) && ground_blocked(&m.ground, 13, 8));
    cr_assert(ground_blocked(&m.ground, 26, 19), "a stall, which the layer `blocked` blocks");
    cr_assert(m.n_spawns == 2 && m.n_npcs == 8 && m.n_portals == 1);
    cr_assert_str_eq(m.portals[0].scene, "wild");
    can_be_walked(&m);
    map_fini(&m);
    TEST_NO_LEAKS();
}

Test(map_shipped, the_wilderness_is_large_and_all_of_it_can_be_walked)
{
    struct map m = load("deploy/maps/wild.json");
    cr_assert(m.ground.nx == 1024 && m.ground.ny == 1024);
    cr_assert(m.n_spawns == 2 && m.n_npcs == 48 && m.n_portals == 1);
    can_be_walked(&m);
    map_fini(&m);
    TEST_NO_LEAKS();
}

Test(map_shipped, one_leaves_the_town_for_the_wilderness_and_comes_back)
{
    struct map maps[2] = {load("deploy/maps/town.json"), load("deploy/maps/wild.json")};
    struct world_config c = rig_config();
    c.scene = "town";
    c.max_speed = 100;
    struct rig *r = rig_create_maps(&c, maps, 2);
    uint32_t s = rig_join(r, "a");
    rig_tick(r, 20);
    rig_place(r, s, r->sessions[s].x, 22.5); /* along the square, round the well, by the gate */
    rig_place(r, s, 60.5, 22.5);
    rig_place(r, s, 60.5, 24);
    rig_move(r, s, 62.5, 24);
    rig_tick(r, 1);
    const struct message *m = rig_next(r, s, CMD_ENTER_RESP);
    cr_assert_not_null(m);
    cr_assert(span_equal(m->enter_resp.scene, span_text("wild")));
    cr_assert(m->enter_resp.x == 8.5 && m->enter_resp.y == 512);
    rig_tick(r, 20);
    rig_place(r, s, 1.5, 512);
    rig_tick(r, 1);
    m = rig_next(r, s, CMD_ENTER_RESP);
    cr_assert_not_null(m);
    cr_assert(span_equal(m->enter_resp.scene, span_text("town")));
    rig_destroy(r);
    map_fini(&maps[0]);
    map_fini(&maps[1]);
    TEST_NO_LEAKS();
}

#endif

#if defined AEGIS_PART_JANSSON && defined AEGIS_PART_LIBZSTD

Test(map_shipped, a_map_that_the_editor_saved_is_read)
{
    /* Saved by Tiled 1.8.2: zstd, a group, an embedded tileset, every kind of object. */
    struct map m;
    char why[512] = "";
    int err = map_tiled_load("tests/vectors/map_saved.json", 2, &m, why, sizeof why);
    cr_assert_eq(err, 0, "%s", why);
    cr_assert_str_eq(map_rig_shown(&m), "........\n"
                                        "..###...\n"
                                        "....#...\n"
                                        "........\n"
                                        "........\n"
                                        ".......#\n");
    cr_assert(m.n_spawns == 2 && m.n_npcs == 2 && m.n_portals == 1 && m.n_points == 6);
    cr_assert(m.spawns[0].area.x0 == 3 && m.spawns[0].area.y1 == 3);
    cr_assert(m.spawns[1].area.x0 == 8 && m.spawns[1].area.x1 == 12);
    cr_assert_str_eq(m.npcs[0].name, "walker");
    cr_assert_str_eq(m.npcs[0].behaviour, "patrol");
    cr_assert(m.npcs[0].speed == 1.5 && !m.npcs[0].closed && m.npcs[1].closed);
    cr_assert(m.points[2].x == 9 && m.points[2].y == 7);
    cr_assert(m.portals[0].x == 7 && m.portals[0].y == 14, "tiles there, in units");
    map_fini(&m);
    TEST_NO_LEAKS();
}

#endif
