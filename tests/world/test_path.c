/* tests/world/test_path.c: shortest ways over tiles, against a plain Dijkstra.
 * May touch: world/state, common.
 */
#include "world/state/path.h"

#include "common/rng.h"
#include "tests/leak.h"

#include <criterion/criterion.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FOR_EVER UINT32_MAX

/* --- the oracle: every tile, the nearest first, by asking the ground for each single step ------
 */

struct oracle_map {
    const struct ground *g;
    double *far; /* [nx * ny] INFINITY: out of reach */
    uint8_t *done;
};

static double *spread(const struct ground *g, struct ground_tile from)
{
    size_t n = (size_t)g->nx * (size_t)g->ny;
    double *far = malloc(n * sizeof *far);
    uint8_t *done = calloc(n, 1);
    for (size_t i = 0; i < n; i++)
        far[i] = INFINITY;
    far[(size_t)from.y * (size_t)g->nx + (size_t)from.x] = 0;
    for (;;) {
        size_t at = n;
        for (size_t i = 0; i < n; i++)
            if (!done[i] && far[i] < INFINITY && (at == n || far[i] < far[at]))
                at = i;
        if (at == n)
            break;
        done[at] = 1;
        int32_t x = (int32_t)(at % (size_t)g->nx), y = (int32_t)(at / (size_t)g->nx);
        for (int dy = -1; dy <= 1; dy++) {
            for (int dx = -1; dx <= 1; dx++) {
                if ((dx == 0 && dy == 0) || !ground_step(g, x, y, dx, dy))
                    continue;
                size_t to = (size_t)(y + dy) * (size_t)g->nx + (size_t)(x + dx);
                double d = far[at] + (dx != 0 && dy != 0 ? sqrt(2) : 1);
                if (d < far[to])
                    far[to] = d;
            }
        }
    }
    free(done);
    return far;
}

/* --- maps --------------------------------------------------------------------------------------
 */

static void ground_of(struct ground *g, const char *const *rows, uint32_t ny)
{
    uint32_t nx = (uint32_t)strlen(rows[0]);
    cr_assert_eq(ground_init(g, 0, 0, 1, nx, ny), 0);
    for (uint32_t y = 0; y < ny; y++)
        for (uint32_t x = 0; x < nx; x++)
            if (rows[y][x] == '#')
                ground_block(g, (int32_t)x, (int32_t)y, true);
}

/* Scattered tiles, or walls with gaps, or rooms. */
static void random_ground(struct ground *g, struct rng *rng)
{
    uint32_t nx = 1 + (uint32_t)rng_below(rng, 90), ny = 1 + (uint32_t)rng_below(rng, 40);
    double share = rng_unit(rng) * 0.5;
    uint64_t kind = rng_below(rng, 3);
    cr_assert_eq(ground_init(g, 0, 0, 1, nx, ny), 0);
    for (uint32_t y = 0; y < ny; y++) {
        for (uint32_t x = 0; x < nx; x++) {
            bool wall = kind == 1   ? (x % 7 == 3 || y % 9 == 4) && rng_unit(rng) > share / 3
                        : kind == 2 ? rng_unit(rng) < share * ((x / 12 + y / 12) % 2)
                                    : rng_unit(rng) < share;
            ground_block(g, (int32_t)x, (int32_t)y, wall);
        }
    }
}

static struct ground_tile some_tile(const struct ground *g, struct rng *rng)
{
    return (struct ground_tile){(int32_t)rng_below(rng, (uint64_t)g->nx),
                                (int32_t)rng_below(rng, (uint64_t)g->ny)};
}

/* Follow the turns tile by tile: each step legal; returns the length, and where it ended. */
static double follow(const struct ground *g, struct ground_tile *at, const struct path_turn *turns,
                     uint32_t n)
{
    double length = 0;
    for (uint32_t i = 0; i < n; i++) {
        int32_t dx = turns[i].x - at->x, dy = turns[i].y - at->y;
        cr_assert(dx != 0 || dy != 0);
        cr_assert(dx == 0 || dy == 0 || abs(dx) == abs(dy), "not a straight line");
        int sx = (dx > 0) - (dx < 0), sy = (dy > 0) - (dy < 0);
        while (at->x != turns[i].x || at->y != turns[i].y) {
            cr_assert(ground_step(g, at->x, at->y, sx, sy), "a step that may not be");
            at->x += sx;
            at->y += sy;
            length += sx != 0 && sy != 0 ? sqrt(2) : 1;
        }
    }
    return length;
}

#define TURNS 4096

static void one_search(struct path *p, const struct lanes *l, const struct ground *g,
                       struct ground_tile from, struct ground_tile to, const double *far,
                       uint32_t budget)
{
    static struct path_turn turns[TURNS];
    struct ground_tile at = from;
    double best = INFINITY, want;
    path_begin(p, l, from, to);
    while (p->state == PATH_WAY || p->state == PATH_NEAR)
        cr_assert_gt(path_run(p, budget), 0);
    cr_assert_eq(p->state, PATH_FOUND);
    double length = path_length(p);
    uint32_t n = path_turns(p, turns, TURNS);
    cr_assert_leq(n, TURNS);
    double walked = follow(g, &at, turns, n);
    size_t here = (size_t)at.y * (size_t)g->nx + (size_t)at.x;
    want = far[(size_t)to.y * (size_t)g->nx + (size_t)to.x];
    cr_assert_eq(p->reaches, want < INFINITY);
    if (p->reaches) {
        cr_assert(at.x == to.x && at.y == to.y);
    } else {
        for (int32_t y = 0; y < g->ny; y++)
            for (int32_t x = 0; x < g->nx; x++)
                if (far[(size_t)y * (size_t)g->nx + (size_t)x] < INFINITY)
                    best = fmin(best, hypot(x - to.x, y - to.y));
        cr_assert_float_eq(hypot(at.x - to.x, at.y - to.y), best, 1e-9, "not the nearest tile");
    }
    cr_assert_float_eq(length, far[here], 1e-6, "%.9f where %.9f is the shortest", length,
                       far[here]);
    cr_assert_float_eq(walked, length, 1e-6);
}

static uint32_t rounds(uint32_t normal)
{
    const char *asked = getenv("AEGIS_PATH_ROUNDS");
    return asked ? (uint32_t)strtoul(asked, NULL, 10) : normal;
}

Test(path, every_way_is_as_short_as_dijkstras_and_cuts_no_corner, .timeout = 600)
{
    struct rng rng;
    struct path p;
    rng_init(&rng, 11);
    cr_assert_eq(path_init(&p, 128, 128), 0);
    for (uint32_t round = 0; round < rounds(150); round++) {
        struct ground g;
        struct lanes l;
        struct ground_tile from;
        random_ground(&g, &rng);
        cr_assert_eq(lanes_init(&l, &g), 0);
        from = some_tile(&g, &rng);
        if (!ground_blocked(&g, from.x, from.y)) {
            double *far = spread(&g, from);
            for (int i = 0; i < 20; i++)
                one_search(&p, &l, &g, from, some_tile(&g, &rng), far,
                           i % 2 ? FOR_EVER : 1 + (uint32_t)rng_below(&rng, 5));
            free(far);
        }
        lanes_fini(&l);
        ground_fini(&g);
    }
    path_fini(&p);
    TEST_NO_LEAKS();
}

Test(path, a_way_round_a_wall)
{
    static const char *const rows[] = {".......", "..###..", "..#....", "..###..", "......."};
    struct ground g;
    struct lanes l;
    struct path p;
    struct path_turn turns[16];
    struct ground_tile at = {3, 2};
    ground_of(&g, rows, 5);
    cr_assert_eq(lanes_init(&l, &g), 0);
    cr_assert_eq(path_init(&p, 7, 5), 0);
    path_begin(&p, &l, at, (struct ground_tile){0, 2});
    path_run(&p, FOR_EVER);
    cr_assert_eq(p.state, PATH_FOUND);
    cr_assert_float_eq(path_length(&p), 9 + sqrt(2), 1e-12);
    uint32_t n = path_turns(&p, turns, 16);
    (void)follow(&g, &at, turns, n);
    cr_assert(at.x == 0 && at.y == 2);
    path_fini(&p);
    lanes_fini(&l);
    ground_fini(&g);
    TEST_NO_LEAKS();
}

Test(path, areas_are_what_can_be_reached)
{
    static const char *const rows[] = {"..#..", "..#..", "###..", "..#.#", ".#.#."};
    struct ground g;
    struct lanes l;
    ground_of(&g, rows, 5);
    cr_assert_eq(lanes_init(&l, &g), 0);
    cr_assert_eq(l.areas, 5);
    cr_assert_eq(lanes_area(&l, 0, 0), lanes_area(&l, 1, 1));
    cr_assert_eq(lanes_area(&l, 3, 0), lanes_area(&l, 3, 3));
    cr_assert_neq(lanes_area(&l, 3, 3), lanes_area(&l, 4, 4), "a corner is a wall");
    cr_assert_neq(lanes_area(&l, 3, 3), lanes_area(&l, 2, 4));
    cr_assert_eq(lanes_area(&l, 2, 0), 0);
    cr_assert_eq(lanes_area(&l, -1, 0), 0);
    cr_assert_eq(lanes_area(&l, 0, 5), 0);
    lanes_fini(&l);
    ground_fini(&g);
    TEST_NO_LEAKS();
}

Test(path, a_search_begun_anew_forgets_the_one_before)
{
    struct ground g;
    struct lanes l;
    struct path p;
    cr_assert_eq(ground_init(&g, 0, 0, 1, 200, 200), 0);
    for (int32_t i = 0; i < 199; i++)
        ground_block(&g, 100, i, true);
    cr_assert_eq(lanes_init(&l, &g), 0);
    cr_assert_eq(path_init(&p, 200, 200), 0);
    path_begin(&p, &l, (struct ground_tile){0, 0}, (struct ground_tile){199, 0});
    cr_assert_geq(path_run(&p, 3), 3);
    cr_assert_eq(p.state, PATH_WAY, "a small budget does not do");
    path_begin(&p, &l, (struct ground_tile){0, 0}, (struct ground_tile){10, 0});
    path_run(&p, FOR_EVER);
    cr_assert_float_eq(path_length(&p), 10, 1e-12);
    path_drop(&p);
    for (uint32_t i = 0; i < p.tiles; i++)
        cr_assert_eq(p.node_at[i], 0);
    path_fini(&p);
    lanes_fini(&l);
    ground_fini(&g);
    TEST_NO_LEAKS();
}

Test(path, more_nodes_than_there_is_room_for_gives_up)
{
    struct rng rng;
    struct ground g;
    struct lanes l;
    struct path p;
    rng_init(&rng, 5);
    cr_assert_eq(ground_init(&g, 0, 0, 1, 100, 100), 0);
    for (int32_t i = 0; i < 100 * 100; i++)
        ground_block(&g, i % 100, i / 100, i > 0 && i < 9999 && rng_below(&rng, 5) == 0);
    cr_assert_eq(lanes_init(&l, &g), 0);
    cr_assert_eq(path_init(&p, 100, 100), 0);
    p.node_cap = 10;
    path_begin(&p, &l, (struct ground_tile){0, 0}, (struct ground_tile){99, 99});
    path_run(&p, FOR_EVER);
    cr_assert_eq(p.state, PATH_FULL);
    path_fini(&p);
    lanes_fini(&l);
    ground_fini(&g);
    TEST_NO_LEAKS();
}
