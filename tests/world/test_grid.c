/* tests/world/test_grid.c: who stands where; CASES A01.
 * May touch: world/state/grid, common.
 */
#include "world/state/grid.h"

#include "common/rng.h"
#include "tests/leak.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double PLAIN[4] = {-100, -100, 100, 100};

static struct grid grid_of(const double bounds[4], double reach)
{
    struct grid g;
    cr_assert_eq(grid_init(&g, (const double(*)[4])bounds, 1, reach, true, 500), 0);
    return g;
}

Test(grid, a_cell_is_found_by_floor_on_both_sides_of_zero)
{
    double bounds[4] = {-90, -90, 90, 90};
    struct grid g = grid_of(bounds, 30);
    cr_assert_geq(g.areas[0].side, 30);
    uint32_t below = grid_cell(&g, 0, -0.5, -0.5), above = grid_cell(&g, 0, 0.5, 0.5);
    double edge = g.areas[0].x0 + floor((0 - g.areas[0].x0) / g.areas[0].side) * g.areas[0].side;
    if (edge == 0)
        cr_assert_neq(below, above, "cutting toward zero would make them one");
    for (double x = -90; x < 90; x += 0.25) {
        uint32_t want = (uint32_t)floor((x - g.areas[0].x0) / g.areas[0].side);
        cr_assert_eq(grid_cell(&g, 0, x, -90), grid_index(g.areas, want, 0), "x %g", x);
        cr_assert_eq(grid_cell(&g, 0, -90, x), grid_index(g.areas, 0, want), "y %g", x);
    }
    grid_fini(&g);
    TEST_NO_LEAKS();
}

Test(grid, places_on_the_far_rim_belong_to_the_last_cell)
{
    struct grid g = grid_of(PLAIN, 30);
    cr_assert_eq(grid_cell(&g, 0, 100, 100),
                 grid_index(g.areas, g.areas[0].nx - 1, g.areas[0].ny - 1));
    cr_assert_eq(grid_cell(&g, 0, -100, 100), grid_index(g.areas, 0, g.areas[0].ny - 1));
    cr_assert_eq(grid_cell(&g, 0, 100, -100), grid_index(g.areas, g.areas[0].nx - 1, 0));
    cr_assert_eq(grid_cell(&g, 0, -100, -100), 0);
    grid_fini(&g);
}

Test(grid, places_outside_count_to_the_nearest_cell)
{
    struct grid g = grid_of(PLAIN, 30);
    cr_assert_eq(grid_cell(&g, 0, 1e300, 1e300),
                 grid_index(g.areas, g.areas[0].nx - 1, g.areas[0].ny - 1));
    cr_assert_eq(grid_cell(&g, 0, -1e300, -1e300), 0);
    cr_assert_eq(grid_cell(&g, 0, 100.0001, -100.0001), grid_index(g.areas, g.areas[0].nx - 1, 0));
    grid_fini(&g);
}

Test(grid, a_wide_scene_has_larger_cells_rather_than_more)
{
    double bounds[4] = {-1e6, -3, 1e6, 3};
    struct grid g = grid_of(bounds, 1);
    cr_assert_leq(g.areas[0].nx, GRID_SIDE_MAX);
    cr_assert_leq(g.areas[0].ny, GRID_SIDE_MAX);
    cr_assert_geq(g.areas[0].side * g.areas[0].nx, 2e6);
    cr_assert_geq(g.areas[0].side * g.areas[0].ny, 6);
    (void)grid_cell(&g, 0, 1e6, 3);
    grid_fini(&g);
}

Test(grid, a_scene_smaller_than_the_reach_is_one_cell)
{
    double bounds[4] = {0, 0, 5, 5};
    struct grid g = grid_of(bounds, 30);
    cr_assert_eq(g.areas[0].nx * g.areas[0].ny, 1);
    struct grid_box b = grid_around(&g, 0, 2, 2, 30);
    cr_assert_eq(b.cx0 + b.cy0 + b.cx1 + b.cy1, 0);
    grid_fini(&g);
}

/* Is the cell within the box? */
static bool within(const struct grid *g, const struct grid_box *b, uint32_t cell)
{
    uint32_t cx = cell % g->areas[0].nx, cy = cell / g->areas[0].nx;
    return cx >= b->cx0 && cx <= b->cx1 && cy >= b->cy0 && cy <= b->cy1;
}

Test(grid, the_box_around_a_place_holds_all_within_reach)
{
    static const double bounds[][4] = {
        {-100, -100, 100, 100}, {-16384, -16384, 16384, 16384}, {3.7, -919.3, 1003.1, -12.5},
        {0, 0, 60, 60},         {-1e9, -1e9, 1e9, 1e9},
    };
    struct rng rng;
    rng_init(&rng, 11);
    for (size_t i = 0; i < ARRAY_LEN(bounds); i++) {
        const double *b = bounds[i];
        struct grid g = grid_of(b, 30);
        for (int n = 0; n < 20000; n++) {
            double x = b[0] + rng_unit(&rng) * (b[2] - b[0]);
            double y = b[1] + rng_unit(&rng) * (b[3] - b[1]);
            static const double to[][2] = {{30, 0},  {-30, 0}, {0, 30},
                                           {0, -30}, {18, 24}, {-24, -18}};
            const double *d = to[rng_below(&rng, ARRAY_LEN(to))];
            double px = x + d[0], py = y + d[1];
            if (px < b[0] || px > b[2] || py < b[1] || py > b[3])
                continue;
            struct grid_box box = grid_around(&g, 0, x, y, 30);
            cr_assert_lt(box.cx1, g.areas[0].nx);
            cr_assert_lt(box.cy1, g.areas[0].ny);
            if (!within(&g, &box, grid_cell(&g, 0, px, py)))
                cr_assert_fail("%g, %g is not around %g, %g", px, py, x, y);
        }
        grid_fini(&g);
    }
}

/* Slots in a cell's chain. */
static uint32_t chain(const struct grid *g, uint32_t cell, bool *in)
{
    uint32_t n = 0, before = GRID_NONE;
    memset(in, 0, g->cap);
    for (uint32_t s = g->head[cell]; s != GRID_NONE; s = g->next[s]) {
        cr_assert_eq(g->prev[s], before);
        cr_assert_eq(g->cell[s], cell);
        cr_assert_not(in[s]);
        in[s] = true;
        before = s;
        n++;
    }
    return n;
}

Test(grid, slots_are_found_in_the_cell_where_they_were_put)
{
    struct grid g = grid_of(PLAIN, 30);
    struct rng rng;
    uint32_t at[100];
    bool in[500];
    rng_init(&rng, 4);
    memset(at, 0xff, sizeof at);
    for (int step = 0; step < 3000; step++) {
        uint32_t s = (uint32_t)rng_below(&rng, 100);
        uint32_t cell = (uint32_t)rng_below(&rng, g.areas[0].nx * g.areas[0].ny);
        if (rng_below(&rng, 4) == 0 && at[s] != GRID_NONE) {
            grid_remove(&g, s);
            at[s] = GRID_NONE;
        } else {
            grid_put(&g, s, cell);
            at[s] = cell;
        }
        uint32_t want = 0;
        for (uint32_t i = 0; i < 100; i++)
            want += at[i] == cell;
        cr_assert_eq(chain(&g, cell, in), want);
        for (uint32_t i = 0; i < 100; i++) {
            cr_assert_eq(g.cell[i], at[i]);
            cr_assert_eq(in[i], at[i] == cell);
        }
    }
    grid_fini(&g);
    TEST_NO_LEAKS();
}

Test(grid, a_box_is_touched_where_any_of_its_cells_is)
{
    struct grid g = grid_of(PLAIN, 10);
    struct grid_box b = grid_around(&g, 0, 0, 0, 10);
    cr_assert_not(grid_touched(&g, &b, 5));
    for (uint32_t cell = 0; cell < g.areas[0].nx * g.areas[0].ny; cell++) {
        g.touched[cell] = 5;
        cr_assert_eq(grid_touched(&g, &b, 5), within(&g, &b, cell));
        cr_assert_not(grid_touched(&g, &b, 6));
        g.touched[cell] = 0;
    }
    grid_fini(&g);
}

Test(grid, scenes_share_no_cell)
{
    static const double bounds[][4] = {{-100, -100, 100, 100}, {0, 0, 64, 32}, {0, 0, 64, 32}};
    struct grid g;
    cr_assert_eq(grid_init(&g, bounds, 3, 30, true, 8), 0);
    for (uint32_t scene = 0; scene < 3; scene++) {
        const struct grid_area *a = &g.areas[scene];
        cr_assert_eq(a->first, scene == 0 ? 0 : a[-1].first + a[-1].nx * a[-1].ny);
        cr_assert_eq(grid_cell(&g, scene, bounds[scene][0], bounds[scene][1]), a->first);
        cr_assert_eq(grid_cell(&g, scene, 1e9, 1e9), a->first + a->nx * a->ny - 1);
    }
    cr_assert_eq(g.cells, g.areas[2].first + g.areas[2].nx * g.areas[2].ny);

    struct grid_box here = grid_around(&g, 1, 10, 10, 30), there = grid_around(&g, 2, 10, 10, 30);
    g.touched[grid_cell(&g, 2, 10, 10)] = 7;
    cr_assert_not(grid_touched(&g, &here, 7));
    cr_assert(grid_touched(&g, &there, 7));
    grid_fini(&g);
    TEST_NO_LEAKS();
}
