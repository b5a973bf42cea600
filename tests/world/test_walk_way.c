/* tests/world/test_walk_way.c: WalkReq with `path` on a map: round houses, to what cannot be
 * reached, in turn with others. May touch: tests/world_rig, world/state/map.
 */
#include "tests/leak.h"
#include "tests/world_rig.h"
#include "world/state/map.h"

#include <math.h>
#include <string.h>

/* Rows of the same length: '#' is blocked; 's' the one tile to come in at. */
static void map_of(struct map *m, const char *const *rows, uint32_t ny)
{
    uint32_t nx = (uint32_t)strlen(rows[0]);
    *m = (struct map){.name = "yard"};
    cr_assert_eq(ground_init(&m->ground, 0, 0, 1, nx, ny), 0);
    m->spawns = calloc(1, sizeof *m->spawns);
    m->n_spawns = 1;
    for (uint32_t y = 0; y < ny; y++) {
        for (uint32_t x = 0; x < nx; x++) {
            if (rows[y][x] == '#')
                ground_block(&m->ground, (int32_t)x, (int32_t)y, true);
            if (rows[y][x] == 's')
                m->spawns[0].area = (struct map_area){x + 0.5, y + 0.5, x + 0.5, y + 0.5};
        }
    }
}

static const char *const YARD[] = {
    "..........#...", /* a house, and a court that is shut */
    ".s..####..#.#.", /* whose only tile is (13, 0), past a corner */
    "....#..#..####", "....#..#......", "....####......", "..............",
};

static struct rig *yard(struct map *m, int gait)
{
    struct world_config c = rig_config();
    map_of(m, YARD, ARRAY_LEN(YARD));
    c.walk = gait;
    c.scene = "yard";
    return rig_create_maps(&c, m, 1);
}

static uint32_t slot_of(const struct rig *r, uint32_t s)
{
    uint32_t slot = 0;
    while (r->world->entities.id[slot] != r->sessions[s].id)
        slot++;
    return slot;
}

/* Ticks until the walk is over, 600 at most, each place on free ground. */
static uint32_t walk_on(struct rig *r, uint32_t s, const struct map *m)
{
    uint32_t slot = slot_of(r, s), ticks = 0;
    while (walkers_has(&r->world->walkers, slot)) {
        cr_assert_lt(++ticks, 600, "it walks and walks");
        rig_tick(r, 1);
        cr_assert(
            ground_free_at(&m->ground, r->world->entities.x[slot], r->world->entities.y[slot]));
    }
    cr_assert_eq(r->world->entities.speed[slot], 0);
    return ticks;
}

static void stands(struct rig *r, uint32_t s, double x, double y)
{
    uint32_t slot = slot_of(r, s);
    cr_assert(r->world->entities.x[slot] == x && r->world->entities.y[slot] == y,
              "stands at (%.17g, %.17g)", r->world->entities.x[slot], r->world->entities.y[slot]);
}

Test(walk_way, a_straight_walk_into_a_house_stops_at_its_wall)
{
    struct map m;
    struct rig *r = yard(&m, WALKERS_STRAIGHT);
    uint32_t s = rig_join(r, "s");
    stands(r, s, 1.5, 1.5);
    rig_drop(r);
    rig_walk(r, s, 9.5, 1.5, false);
    walk_on(r, s, &m);
    const struct message *f = rig_next(r, s, CMD_MOVE_FAIL);
    cr_assert_not_null(f);
    cr_assert_eq(f->move_fail.code, (uint32_t)PE_MOVE_BLOCKED);
    stands(r, s, f->move_fail.x, f->move_fail.y);
    cr_assert(f->move_fail.x > 3.3 && f->move_fail.x < 4 && f->move_fail.y == 1.5);
    cr_assert_eq(r->world->metrics.walks_blocked, 1);
    rig_destroy(r);
    map_fini(&m);
    TEST_NO_LEAKS();
}

Test(walk_way, with_path_the_house_is_walked_round_by_either_gait)
{
    for (int gait = WALKERS_STRAIGHT; gait <= WALKERS_TILE; gait++) {
        struct map m;
        struct rig *r = yard(&m, gait);
        uint32_t s = rig_join(r, "s");
        rig_drop(r);
        rig_walk(r, s, 9.25, 3.75, true);
        uint32_t ticks = walk_on(r, s, &m);
        stands(r, s, 9.25, 3.75);
        cr_assert_null(rig_next(r, s, CMD_MOVE_FAIL));
        cr_assert_eq(r->world->metrics.walks_there, 1);
        /* 9.5 units or so at 12 a second; ten tiles, two each half second */
        cr_assert_leq(ticks, gait == WALKERS_TILE ? 60 : 20, "%u", ticks);
        rig_destroy(r);
        map_fini(&m);
    }
    TEST_NO_LEAKS();
}

/* How often it turns, and how far it goes, until it is there. */
static uint32_t turns_of(struct rig *r, uint32_t s, const struct map *m, double *went)
{
    const struct entities *e = &r->world->entities;
    uint32_t slot = slot_of(r, s), turns = 0;
    double dir = -1;
    *went = 0;
    while (walkers_has(&r->world->walkers, slot)) {
        double x = e->x[slot], y = e->y[slot];
        rig_tick(r, 1);
        *went += hypot(e->x[slot] - x, e->y[slot] - y);
        turns += e->dir[slot] != dir;
        dir = e->dir[slot];
        cr_assert(ground_free_at(&m->ground, e->x[slot], e->y[slot]));
    }
    return turns;
}

Test(walk_way, a_way_is_walked_in_few_straight_legs)
{
    struct map m;
    struct rig *r = yard(&m, WALKERS_STRAIGHT);
    uint32_t s = rig_join(r, "s");
    double went;
    rig_walk(r, s, 3.25, 5.5, true);
    cr_assert_eq(turns_of(r, s, &m, &went), 1, "nothing is in the way");
    cr_assert_float_eq(went, hypot(3.25 - 1.5, 5.5 - 1.5), 1e-9);
    rig_walk(r, s, 9.5, 0.5, true);
    uint32_t turns = turns_of(r, s, &m, &went);
    cr_assert_leq(turns, 3, "%u", turns);
    cr_assert_leq(went, 10.5, "not by tiles, which are further: %g", went);
    rig_destroy(r);
    map_fini(&m);
    TEST_NO_LEAKS();
}

Test(walk_way, what_cannot_be_reached_ends_at_the_nearest_tile_with_a_move_fail)
{
    static const struct {
        double x, y, end_x, end_y;
    } cases[] = {
        {5.5, 2.5, 5.5, 0.5},   /* inside the house: of tiles as near the first row */
        {6.2, 1.1, 6.5, 0.5},   /* on its wall */
        {13.9, 0.1, 13.5, 3.5}, /* the court that is shut */
        {1e6, -5, 9.5, 0.5},    /* the far corner, which is the court's */
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct map m;
        struct rig *r = yard(&m, WALKERS_STRAIGHT);
        uint32_t s = rig_join(r, "s");
        rig_drop(r);
        rig_send_walk(r, s, cases[i].x, cases[i].y, true);
        walk_on(r, s, &m);
        const struct message *f = rig_next(r, s, CMD_MOVE_FAIL);
        cr_assert_not_null(f);
        cr_assert_eq(f->move_fail.code, (uint32_t)PE_MOVE_BLOCKED);
        cr_assert_eq(r->world->metrics.walks_nearest, 1);
        if (i != 3)
            stands(r, s, cases[i].end_x, cases[i].end_y);
        /* and again, from there: it is over at once, with the same word */
        rig_drop(r);
        rig_send_walk(r, s, cases[i].x, cases[i].y, true);
        rig_tick(r, 2);
        cr_assert_not_null(rig_next(r, s, CMD_MOVE_FAIL));
        rig_destroy(r);
        map_fini(&m);
    }
    TEST_NO_LEAKS();
}

Test(walk_way, on_open_ground_path_is_a_straight_walk)
{
    struct world_config c = rig_config();
    struct rig *r = rig_create(&c);
    uint32_t s = rig_join(r, "s");
    rig_walk(r, s, 8, 3, true);
    rig_tick(r, 5);
    stands(r, s, 8, 3);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

/* A corridor that winds through 63 by 63 tiles, with more turns than a walker keeps. */
static void winding(struct map *m)
{
    char text[63][64];
    const char *rows[63];
    for (int y = 0; y < 63; y++) {
        for (int x = 0; x < 63; x++)
            text[y][x] = y % 2 && x != (y / 2 % 2 ? 0 : 62) ? '#' : '.';
        text[y][63] = '\0';
        rows[y] = text[y];
    }
    text[0][0] = 's';
    map_of(m, rows, 63);
}

Test(walk_way, a_way_with_more_turns_than_are_kept_is_walked_to_its_end)
{
    struct map m;
    struct world_config c = rig_config();
    winding(&m);
    c.scene = "yard";
    c.max_speed = 200;
    struct rig *r = rig_create_maps(&c, &m, 1);
    uint32_t s = rig_join(r, "s");
    uint32_t slot = slot_of(r, s);
    r->world->walkers.rules.speed = 200;
    rig_walk(r, s, 62.5, 62.5, true);
    rig_tick(r, 1);
    cr_assert_eq(r->world->metrics.paths_found, 1);
    struct walkers_walk *k = &r->world->walkers.walks[r->world->walkers.at[slot] - 1];
    cr_assert(!k->more);
    k->n = 20; /* as if it had kept fewer */
    k->more = true;
    walk_on(r, s, &m);
    stands(r, s, 62.5, 62.5);
    cr_assert_eq(r->world->metrics.paths_found, 2);
    rig_destroy(r);
    map_fini(&m);
    TEST_NO_LEAKS();
}

Test(walk_way, a_search_that_takes_too_long_ends_with_unavailable_within_a_second)
{
    struct map m;
    struct world_config c = rig_config();
    winding(&m);
    c.scene = "yard";
    c.path_budget = 1;
    struct rig *r = rig_create_maps(&c, &m, 1);
    uint32_t s = rig_join(r, "s");
    rig_drop(r);
    rig_walk(r, s, 62.5, 62.5, true);
    cr_assert_leq(walk_on(r, s, &m), 20);
    const struct message *f = rig_next(r, s, CMD_MOVE_FAIL);
    cr_assert_not_null(f);
    cr_assert_eq(f->move_fail.code, (uint32_t)PE_UNAVAILABLE);
    cr_assert(f->move_fail.x == 0.5 && f->move_fail.y == 0.5);
    cr_assert_eq(r->world->metrics.walks_unfound, 1);
    cr_assert_eq(r->world->finder.n, 0);
    rig_destroy(r);
    map_fini(&m);
    TEST_NO_LEAKS();
}

Test(walk_way, a_full_line_refuses_with_13_and_the_walk_before_goes_on)
{
    struct map m;
    struct world_config c = rig_config();
    map_of(&m, YARD, ARRAY_LEN(YARD));
    c.scene = "yard";
    c.path_queue = 2;
    struct rig *r = rig_create_maps(&c, &m, 1);
    uint32_t a = rig_join(r, "a"), b = rig_join(r, "b"), s = rig_join(r, "s");
    rig_walk(r, s, 2.5, 1.5, false);
    rig_walk(r, a, 9.5, 3.5, true);
    rig_walk(r, b, 9.5, 3.5, true);
    rig_refused(r, s, rig_send_walk(r, s, 9.5, 3.5, true), PE_UNAVAILABLE);
    cr_assert_eq(r->world->metrics.paths_full, 1);
    rig_walk(r, a, 9.5, 4.5, true); /* it is in the line already */
    rig_tick(r, 2);
    stands(r, s, 2.5, 1.5);
    rig_walk(r, s, 9.5, 3.5, true);
    walk_on(r, a, &m);
    walk_on(r, s, &m);
    stands(r, a, 9.5, 4.5);
    stands(r, b, 9.5, 3.5);
    stands(r, s, 9.5, 3.5);
    rig_destroy(r);
    map_fini(&m);
    TEST_NO_LEAKS();
}

Test(walk_way, a_move_a_leave_and_a_walk_end_the_search)
{
    struct map m;
    struct rig *r = yard(&m, WALKERS_STRAIGHT);
    uint32_t s = rig_join(r, "s");
    rig_walk(r, s, 9.5, 3.5, true);
    rig_move(r, s, 1.6, 1.5);
    cr_assert_eq(r->world->finder.n, 0);
    rig_walk(r, s, 9.5, 3.5, true);
    rig_walk(r, s, 2.5, 1.5, false);
    cr_assert_eq(r->world->finder.n, 0);
    rig_walk(r, s, 9.5, 3.5, true);
    rig_leave(r, s);
    cr_assert(r->world->finder.n == 0 && r->world->walkers.n == 0);
    rig_tick(r, 2);
    rig_destroy(r);
    map_fini(&m);
    TEST_NO_LEAKS();
}

/* --- B09, on a map whose rim has tiles missing -------------------------------------------------
 */

Test(walk_way, b09_along_the_rim_of_a_map_nothing_is_looked_up_outside)
{
    static const char *const rows[] = {"s.......", "........", "........"};
    static const double far[][2] = {{-1e6, 8}, {1e6, 8}, {1e6, -5}, {-1e6, -5}, {8, 3}, {0, 0}};
    for (int gait = WALKERS_STRAIGHT; gait <= WALKERS_TILE; gait++) {
        struct map m;
        struct world_config c = rig_config();
        map_of(&m, rows, 3);
        c.walk = gait;
        c.scene = "yard";
        struct rig *r = rig_create_maps(&c, &m, 1);
        uint32_t s = rig_join(r, "s");
        for (size_t i = 0; i < ARRAY_LEN(far); i++) {
            for (int path = 0; path < 2; path++) {
                double x = far[i][0] <= 0 ? 0 : 8, y = far[i][1] <= 0 ? 0 : 3;
                rig_send_walk(r, s, 4, 1, false);
                walk_on(r, s, &m);
                const struct message *a =
                    rig_answer(r, s, rig_send_walk(r, s, far[i][0], far[i][1], path != 0));
                cr_assert(a->walk_resp.x == x && a->walk_resp.y == y);
                walk_on(r, s, &m);
                stands(r, s, x, y);
                rig_drop(r);
            }
        }
        rig_destroy(r);
        map_fini(&m);
    }
    TEST_NO_LEAKS();
}
