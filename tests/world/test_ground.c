/* tests/world/test_ground.c: tiles, places and ways. PROTOCOL.md, "Errors" 10 and 11; CASES B09.
 * Ways are held against an oracle in whole numbers that asks of every blocked tile whether the line
 * meets it, and of every corner whether it is cut. May touch: world/state/ground, common.
 */
#include "world/state/ground.h"

#include "common/err.h"
#include "common/rng.h"
#include "tests/leak.h"

#include <math.h>

/* Rows of text: '#' is blocked. */
static struct ground ground_of(const char *const *rows, uint32_t ny, double size)
{
    struct ground g;
    uint32_t nx = 0;
    while (rows[0][nx] != '\0')
        nx++;
    cr_assert_eq(ground_init(&g, 0, 0, size, nx, ny), 0);
    for (uint32_t y = 0; y < ny; y++) {
        for (uint32_t x = 0; x < nx; x++)
            ground_block(&g, (int32_t)x, (int32_t)y, rows[y][x] == '#');
    }
    return g;
}

#define GROUND(size, ...)                         \
    ground_of((const char *const[]){__VA_ARGS__}, \
              sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *), size)

static bool both_ways(const struct ground *g, double x0, double y0, double x1, double y1)
{
    bool there = ground_way(g, x0, y0, x1, y1, NULL);
    cr_assert_eq(there, ground_way(g, x1, y1, x0, y0, NULL), "%g,%g to %g,%g", x0, y0, x1, y1);
    return there;
}

/* --- tiles and places ------------------------------------------------------------------------- */

Test(ground, sizes_that_are_not_sizes_are_refused)
{
    static const uint32_t counts[] = {0, GROUND_SIDE_MAX + 1, UINT32_MAX};
    static const double sizes[] = {0, -1, NAN, INFINITY};
    struct ground g;
    for (size_t i = 0; i < ARRAY_LEN(counts); i++) {
        cr_assert_eq(ground_init(&g, 0, 0, 1, counts[i], 5), E_RANGE);
        cr_assert_eq(ground_init(&g, 0, 0, 1, 5, counts[i]), E_RANGE);
    }
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++)
        cr_assert_eq(ground_init(&g, 0, 0, sizes[i], 5, 5), E_RANGE);
    cr_assert_eq(ground_init(&g, NAN, 0, 1, 5, 5), E_RANGE);
    cr_assert_eq(ground_init(&g, 0, INFINITY, 1, 5, 5), E_RANGE);
    ground_fini(&g);
    TEST_NO_LEAKS();
}

Test(ground, the_largest_ground_is_two_mebibytes_of_bits)
{
    struct ground g;
    cr_assert_eq(ground_init(&g, 0, 0, 1, GROUND_SIDE_MAX, GROUND_SIDE_MAX), 0);
    cr_assert_eq((size_t)g.stride * 8 * (size_t)g.ny, 2u << 20);
    ground_block(&g, 4095, 4095, true);
    cr_assert(ground_blocked(&g, 4095, 4095));
    cr_assert(both_ways(&g, 0, 0, 4096, 4094.5));
    cr_assert_not(both_ways(&g, 0, 0, 4096, 4096));
    ground_fini(&g);
    TEST_NO_LEAKS();
}

Test(ground, a_tile_is_blocked_and_freed_alone)
{
    struct ground g;
    cr_assert_eq(ground_init(&g, 0, 0, 1, 130, 3), 0);
    for (int32_t at = 0; at < 130; at++) {
        ground_block(&g, at, 1, true);
        for (int32_t y = -1; y < 4; y++) {
            for (int32_t x = -1; x < 131; x++) {
                bool outside = x < 0 || y < 0 || x >= 130 || y >= 3;
                cr_assert_eq(ground_blocked(&g, x, y), outside || (x == at && y == 1));
            }
        }
        ground_block(&g, at, 1, false);
    }
    cr_assert(ground_blocked(&g, INT32_MIN, 0) && ground_blocked(&g, 0, INT32_MAX));
    ground_fini(&g);
    TEST_NO_LEAKS();
}

Test(ground, a_place_belongs_to_the_tile_of_its_floor_and_the_far_rim_to_the_last)
{
    struct ground g;
    cr_assert_eq(ground_init(&g, -10, 20, 2, 6, 4), 0); /* to 2, 28 */
    static const double x[] = {-10, -8.5, -8, -1e-9, 0, 1.999, 2};
    static const int32_t tx[] = {0, 0, 1, 4, 5, 5, 5};
    for (size_t i = 0; i < ARRAY_LEN(x); i++) {
        struct ground_tile t = ground_at(&g, x[i], 28);
        cr_assert(t.x == tx[i] && t.y == 3, "%g is in %d, %d", x[i], t.x, t.y);
        cr_assert(ground_inside(&g, x[i], 28) && ground_free_at(&g, x[i], 20));
    }
    cr_assert_not(ground_inside(&g, nextafter(2, 3), 20));
    cr_assert_not(ground_inside(&g, nextafter(-10, -11), 20));
    cr_assert_not(ground_inside(&g, -10, nextafter(20, 19)));
    cr_assert_not(ground_free_at(&g, -10, nextafter(28, 29)));
    cr_assert_not(ground_inside(&g, NAN, 20) || ground_inside(&g, -5, INFINITY));
    struct ground_tile far = ground_at(&g, 1e300, -INFINITY);
    cr_assert(far.x == 5 && far.y == 0, "one outside counts to the nearest tile");
    ground_fini(&g);
}

Test(ground, the_bounds_are_those_of_all_tiles)
{
    struct ground g;
    double b[4];
    cr_assert_eq(ground_init(&g, -10, 20, 2.5, 6, 4), 0);
    ground_bounds(&g, b);
    cr_assert(b[0] == -10 && b[1] == 20 && b[2] == 5 && b[3] == 30);
    ground_fini(&g);
}

Test(ground, who_may_not_stand_there_stands_in_the_nearest_free_tile)
{
    struct ground g = GROUND(1, "#####", "##.##", "#####", ".....");
    double x, y;
    cr_assert(ground_near(&g, 2.25, 1.75, &x, &y));
    cr_assert(x == 2.25 && y == 1.75, "a free place is as good as it is");
    cr_assert(ground_near(&g, 3.5, 0.5, &x, &y));
    cr_assert(x == 2.5 && y == 1.5);
    cr_assert(ground_near(&g, -100, 3.25, &x, &y));
    cr_assert(x == 0.5 && y == 3.5);
    cr_assert(ground_near(&g, 1e9, 1e9, &x, &y));
    cr_assert(x == 4.5 && y == 3.5);
    cr_assert(ground_near(&g, 2.5, 2.5, &x, &y));
    cr_assert(x == 2.5 && y == 1.5, "of equals the first");
    ground_fini(&g);
    struct ground full = GROUND(1, "##", "##");
    cr_assert_not(ground_near(&full, 1, 1, &x, &y));
    ground_fini(&full);
    TEST_NO_LEAKS();
}

/* The free tile whose middle is nearest, by looking at all. */
static bool nearest(const struct ground *g, double x, double y, double *out_x, double *out_y)
{
    double best = INFINITY, b[4];
    ground_bounds(g, b);
    x = fmin(fmax(x, b[0]), b[2]);
    y = fmin(fmax(y, b[1]), b[3]);
    for (int32_t ty = 0; ty < g->ny; ty++) {
        for (int32_t tx = 0; tx < g->nx; tx++) {
            double mx, my;
            ground_middle(g, (struct ground_tile){tx, ty}, &mx, &my);
            double d = (mx - x) * (mx - x) + (my - y) * (my - y);
            if (ground_blocked(g, tx, ty) || d >= best)
                continue;
            best = d;
            *out_x = mx;
            *out_y = my;
        }
    }
    return isfinite(best);
}

Test(ground, the_nearest_free_tile_is_that_of_a_look_at_all)
{
    struct rng r;
    rng_init(&r, 8);
    for (int i = 0; i < 300; i++) {
        struct ground g;
        uint32_t nx = 1 + (uint32_t)rng_below(&r, 30), ny = 1 + (uint32_t)rng_below(&r, 30);
        cr_assert_eq(ground_init(&g, -7, 3, 1.5, nx, ny), 0);
        for (int32_t t = 0; t < g.nx * g.ny; t++)
            ground_block(&g, t % g.nx, t / g.nx, rng_below(&r, 40) != 0);
        for (int k = 0; k < 50; k++) {
            double x = rng_unit(&r) * 80 - 20, y = rng_unit(&r) * 80 - 20, got[2], want[2];
            if (ground_free_at(&g, x, y))
                continue;
            bool found = ground_near(&g, x, y, &got[0], &got[1]);
            cr_assert_eq(found, nearest(&g, x, y, &want[0], &want[1]));
            cr_assert(!found || (got[0] == want[0] && got[1] == want[1]), "%g, %g", x, y);
        }
        ground_fini(&g);
    }
    TEST_NO_LEAKS();
}

Test(ground, a_free_tile_is_found_in_any_rectangle)
{
    struct ground g;
    cr_assert_eq(ground_init(&g, 0, 0, 1, 200, 3), 0);
    for (int32_t t = 0; t < 600; t++)
        ground_block(&g, t % 200, t / 200, true);
    cr_assert_eq(ground_count(&g), 600);
    for (int32_t x = 0; x < 200; x++) {
        ground_block(&g, x, 1, false);
        for (int32_t from = 0; from < 200; from += 1 + from % 3) {
            for (int32_t to = from; to < 200; to += 7) {
                struct ground_tile low = {from, 0}, high = {to, 2};
                cr_assert_eq(ground_any_free(&g, low, high), from <= x && x <= to);
            }
        }
        ground_block(&g, x, 1, true);
    }
    cr_assert_not(ground_any_free(&g, (struct ground_tile){0, 0}, (struct ground_tile){199, 2}));
    ground_fini(&g);
    TEST_NO_LEAKS();
}

/* --- ways ------------------------------------------------------------------------------------- */

Test(ground, a_way_through_a_blocked_tile_is_not_legal)
{
    struct ground g = GROUND(1, ".....", "..#..", ".....");
    struct ground_tile hit;
    cr_assert_not(both_ways(&g, 0.5, 1.5, 4.5, 1.5));
    cr_assert_not(both_ways(&g, 0.5, 1.5, 2.5, 1.5));
    cr_assert(both_ways(&g, 0.5, 1.5, 1.999, 1.5));
    cr_assert_not(both_ways(&g, 0.5, 1.5, 2, 1.5), "the edge belongs to the tile behind it");
    cr_assert(both_ways(&g, 4.5, 1.5, 3, 1.5), "and this one to the free tile");
    cr_assert(both_ways(&g, 0.5, 0.5, 4.5, 0.5));
    cr_assert_not(both_ways(&g, 1, 0, 4, 3));
    cr_assert_not(ground_way(&g, 0.5, 1.5, 4.5, 1.5, &hit));
    cr_assert(hit.x == 2 && hit.y == 1);
    ground_fini(&g);
    TEST_NO_LEAKS();
}

Test(ground, a_way_of_no_length_is_legal_where_its_place_is)
{
    struct ground g = GROUND(1, ".#", "..");
    cr_assert(both_ways(&g, 0.5, 0.5, 0.5, 0.5));
    cr_assert(both_ways(&g, 0, 0, 0, 0));
    cr_assert(both_ways(&g, 2, 2, 2, 2));
    cr_assert_not(both_ways(&g, 1, 0, 1, 0));
    cr_assert_not(both_ways(&g, 2, 0.99, 2, 0.99));
    cr_assert(both_ways(&g, 1, 1, 1, 1), "a corner belongs to one tile alone");
    cr_assert_not(both_ways(&g, -1, 0, -1, 0));
    ground_fini(&g);
}

Test(ground, a_way_that_leaves_the_ground_is_not_legal)
{
    struct ground g = GROUND(1, "...", "...");
    cr_assert_not(both_ways(&g, 1, 1, nextafter(3, 4), 1));
    cr_assert_not(both_ways(&g, 1, 1, 1, -1e-300));
    cr_assert_not(both_ways(&g, 1, 1, NAN, 1));
    cr_assert_not(both_ways(&g, 1, 1, INFINITY, INFINITY));
    cr_assert(both_ways(&g, 0, 0, 3, 2));
    cr_assert(both_ways(&g, 3, 0, 0, 2));
    cr_assert(both_ways(&g, 3, 0, 3, 2), "along the rim");
    cr_assert(both_ways(&g, 0, 2, 3, 2));
    ground_fini(&g);
}

Test(ground, two_blocked_tiles_that_touch_at_a_corner_are_a_wall)
{
    struct ground a = GROUND(1, ".#", "#."), b = GROUND(1, "#.", ".#");
    cr_assert_not(both_ways(&a, 0.5, 0.5, 1.5, 1.5));
    cr_assert_not(both_ways(&a, 0.5, 0.5, 1, 1),
                  "not up to the corner, as one could go on from it");
    cr_assert(both_ways(&a, 1, 1, 1.5, 1.5));
    cr_assert(both_ways(&a, 0.5, 0.5, nextafter(1, 0), nextafter(1, 0)));
    cr_assert_not(both_ways(&b, 1.5, 0.5, 0.5, 1.5));
    cr_assert_not(both_ways(&b, 1.5, 0.5, 1, 1));
    ground_fini(&a);
    ground_fini(&b);
}

Test(ground, no_corner_is_cut)
{
    static const char *const rows[] = {"..", ".."};
    struct ground g = ground_of(rows, 2, 1);
    static const struct ground_tile tiles[] = {{0, 0}, {1, 0}, {0, 1}, {1, 1}};
    for (size_t i = 0; i < ARRAY_LEN(tiles); i++) {
        struct ground_tile t = tiles[i], hit;
        ground_block(&g, t.x, t.y, true);
        cr_assert_not(both_ways(&g, 0.5, 0.5, 1.5, 1.5), "%d, %d", t.x, t.y);
        cr_assert_not(both_ways(&g, 1.5, 0.5, 0.5, 1.5), "%d, %d", t.x, t.y);
        cr_assert_not(ground_way(&g, 0.25, 0.25, 1.75, 1.75, &hit));
        cr_assert(hit.x == t.x && hit.y == t.y);
        ground_block(&g, t.x, t.y, false);
        cr_assert(both_ways(&g, 0.5, 0.5, 1.5, 1.5));
    }
    /* A hair beside the corner it is a way through one of the two. */
    ground_block(&g, 1, 0, true);
    cr_assert(both_ways(&g, 0.5, 0.5, 1.5, 1.5 + 0x1p-50));
    cr_assert_not(both_ways(&g, 0.5, 0.5, 1.5, 1.5 - 0x1p-50));
    ground_fini(&g);
    TEST_NO_LEAKS();
}

Test(ground, a_line_that_grazes_an_edge_between_free_tiles_is_legal)
{
    struct ground g = GROUND(1, "......", "......", "......");
    cr_assert(both_ways(&g, 0, 1, 6, 1));
    cr_assert(both_ways(&g, 3, 0, 3, 3));
    cr_assert(both_ways(&g, 1, 0, 4, 3), "through corners that have nobody beside them");
    ground_fini(&g);
    /* Between a free and a blocked row the line belongs to the row behind it. */
    struct ground h = GROUND(1, "###", "...", "###");
    cr_assert(both_ways(&h, 0, 1, 3, 1));
    cr_assert_not(both_ways(&h, 0, 2, 3, 2));
    ground_fini(&h);
}

Test(ground, a_step_is_legal_as_the_way_between_the_middles_is)
{
    struct ground g;
    struct rng r;
    rng_init(&r, 5);
    cr_assert_eq(ground_init(&g, 0, 0, 1, 40, 40), 0);
    for (int32_t i = 0; i < 1600; i++)
        ground_block(&g, i % 40, i / 40, rng_below(&r, 3) == 0);
    for (int32_t i = 0; i < 1600; i++) {
        for (int d = 0; d < 9; d++) {
            struct ground_tile t = {i % 40, i / 40};
            int dx = d % 3 - 1, dy = d / 3 - 1;
            if (ground_blocked(&g, t.x, t.y))
                continue;
            cr_assert_eq(
                ground_step(&g, t.x, t.y, dx, dy),
                ground_way(&g, t.x + 0.5, t.y + 0.5, t.x + dx + 0.5, t.y + dy + 0.5, NULL));
        }
    }
    ground_fini(&g);
    TEST_NO_LEAKS();
}

/* --- the oracle ------------------------------------------------------------------------------- */

/* A line between places in whole numbers of 1/one of a tile. */
struct line {
    int64_t x0, y0, x1, y1, one;
};

/* Where along a line, n/d of it with d > 0, and whether the end itself is in. */
struct end {
    int64_t n, d;
    bool closed;
};

static int compare(struct end a, struct end b)
{
    int64_t l = a.n * b.d, r = b.n * a.d;
    return (l > r) - (l < r);
}

/* Keep of [lo, hi] where from + t * (to - from) is at least (or: below) `limit`. */
static bool keep(struct end *lo, struct end *hi, int64_t from, int64_t to, int64_t limit,
                 bool least, bool closed)
{
    int64_t d = to - from;
    if (d == 0)
        return least ? from >= limit : closed ? from <= limit : from < limit;
    struct end e = {d > 0 ? limit - from : from - limit, d > 0 ? d : -d, closed};
    bool low = (d > 0) == least;
    struct end *old = low ? lo : hi;
    int c = compare(e, *old);
    if (c == 0)
        old->closed = old->closed && closed;
    else if (low == (c > 0))
        *old = e;
    return true;
}

static bool line_meets_tile(const struct line *l, const struct ground *g, int32_t tx, int32_t ty)
{
    struct end lo = {0, 1, true}, hi = {1, 1, true};
    if (!keep(&lo, &hi, l->x0, l->x1, tx * l->one, true, true) ||
        !keep(&lo, &hi, l->x0, l->x1, (tx + 1) * l->one, false, tx == g->nx - 1) ||
        !keep(&lo, &hi, l->y0, l->y1, ty * l->one, true, true) ||
        !keep(&lo, &hi, l->y0, l->y1, (ty + 1) * l->one, false, ty == g->ny - 1))
        return false;
    int c = compare(lo, hi);
    return c < 0 || (c == 0 && lo.closed && hi.closed);
}

/* Does the line go between two diagonal tiles through the corner at the low end of tile i, j, with
 * a blocked one beside it? */
static bool line_cuts_corner(const struct line *l, const struct ground *g, int32_t i, int32_t j)
{
    int64_t dx = l->x1 - l->x0, dy = l->y1 - l->y0;
    int64_t cx = i * l->one - l->x0, cy = j * l->one - l->y0;
    if (dx == 0 || dy == 0 || cx * dy != cy * dx)
        return false;
    int64_t along = dx > 0 ? cx : -cx, all = dx > 0 ? dx : -dx;
    if (along < 0 || along > all)
        return false;
    bool falling = (dx > 0) == (dy > 0);
    bool comes = along > 0, goes = along < all;
    if (falling) {
        /* The corner itself is part of the tile behind it. */
        bool between = dx > 0 ? comes : goes;
        return between && (ground_blocked(g, i, j - 1) || ground_blocked(g, i - 1, j));
    }
    return comes && goes && (ground_blocked(g, i, j) || ground_blocked(g, i - 1, j - 1));
}

static bool oracle(const struct ground *g, const struct line *l)
{
    for (int32_t ty = 0; ty < g->ny; ty++) {
        for (int32_t tx = 0; tx < g->nx; tx++) {
            if (ground_blocked(g, tx, ty) && line_meets_tile(l, g, tx, ty))
                return false;
            if (tx > 0 && ty > 0 && line_cuts_corner(l, g, tx, ty))
                return false;
        }
    }
    return true;
}

static struct ground random_ground(struct rng *r, double size)
{
    struct ground g;
    uint64_t of = 2 + rng_below(r, 12);
    cr_assert_eq(
        ground_init(&g, 0, 0, size, 1 + (uint32_t)rng_below(r, 12), 1 + (uint32_t)rng_below(r, 12)),
        0);
    for (int32_t ty = 0; ty < g.ny; ty++) {
        for (int32_t tx = 0; tx < g.nx; tx++)
            ground_block(&g, tx, ty, rng_below(r, of) == 0);
    }
    return g;
}

static void against_oracle(uint64_t seed, int64_t one, int grounds, int lines)
{
    struct rng r;
    uint64_t legal = 0;
    rng_init(&r, seed);
    for (int i = 0; i < grounds; i++) {
        double size = (double)(1 << rng_below(&r, 6)) / 8;
        struct ground g = random_ground(&r, size);
        double unit = size / (double)one;
        for (int k = 0; k < lines; k++) {
            uint64_t w = (uint64_t)(g.nx * one + 1), h = (uint64_t)(g.ny * one + 1);
            struct line l = {(int64_t)rng_below(&r, w), (int64_t)rng_below(&r, h),
                             (int64_t)rng_below(&r, w), (int64_t)rng_below(&r, h), one};
            bool want = oracle(&g, &l);
            bool got = both_ways(&g, (double)l.x0 * unit, (double)l.y0 * unit, (double)l.x1 * unit,
                                 (double)l.y1 * unit);
            cr_assert_eq(got, want, "seed %d ground %d: %g,%g to %g,%g in %d of a tile", (int)seed,
                         i, (double)l.x0, (double)l.y0, (double)l.x1, (double)l.y1, (int)one);
            legal += got;
        }
        ground_fini(&g);
    }
    uint64_t all = (uint64_t)grounds * (uint64_t)lines;
    cr_assert(legal > all / 20 && legal < all * 19 / 20, "%d of %d are legal", (int)legal,
              (int)all);
}

Test(ground, ways_are_what_an_oracle_in_whole_numbers_says)
{
    against_oracle(1, 1, 300, 100);
    against_oracle(2, 2, 300, 100); /* nearly every line meets corners */
    against_oracle(3, 4, 300, 100);
    against_oracle(4, 64, 300, 100);
    against_oracle(5, 9973, 100, 100);
    TEST_NO_LEAKS();
}

Test(ground, every_point_of_a_legal_way_stands_on_a_free_tile_whatever_the_size)
{
    static const double sizes[] = {1, 0.1, 3.3333, 1e-3, 7e5};
    struct rng r;
    rng_init(&r, 6);
    for (int i = 0; i < 200; i++) {
        struct ground g = random_ground(&r, sizes[i % 5]);
        double b[4];
        ground_bounds(&g, b);
        for (int k = 0; k < 50; k++) {
            double x0 = rng_unit(&r) * b[2], y0 = rng_unit(&r) * b[3];
            double x1 = rng_unit(&r) * b[2], y1 = rng_unit(&r) * b[3];
            if (!both_ways(&g, x0, y0, x1, y1))
                continue;
            for (int t = 0; t <= 64; t++) {
                /* The ends as they are; between them a point is off its line by a rounding. */
                double x = t == 64 ? x1 : x0 + (x1 - x0) * t / 64;
                double y = t == 64 ? y1 : y0 + (y1 - y0) * t / 64;
                cr_assert(ground_free_at(&g, x, y), "%g, %g", x, y);
            }
        }
        ground_fini(&g);
    }
    TEST_NO_LEAKS();
}
