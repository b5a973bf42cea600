/* tests/world/test_zones.c: every place is in one zone, and those within reach are found.
 * May touch: world/cluster/zones, common.
 */
#include "world/cluster/zones.h"

#include "common/err.h"
#include "common/rng.h"
#include "tests/leak.h"

#include <math.h>
#include <string.h>

static const double OPEN[4] = {-16384, -16384, 16384, 16384};

static struct zones cut(const double bounds[4], uint32_t nx, uint32_t ny, double reach)
{
    struct zones z;
    char why[200];

    cr_assert_eq(zones_init(&z, bounds, nx, ny, reach, why, sizeof(why)), 0);
    return z;
}

Test(zones, a_cut_is_columns_by_rows)
{
    uint32_t nx = 0, ny = 0;

    cr_assert_eq(zones_parse("4x2", &nx, &ny), 0);
    cr_assert_eq(nx, 4);
    cr_assert_eq(ny, 2);
    cr_assert_eq(zones_parse("32x32", &nx, &ny), 0);
    cr_assert_eq(zones_parse("1x1", &nx, &ny), 0);
}

Test(zones, what_is_no_cut_is_refused)
{
    static const char *const bad[] = {"",
                                      "4",
                                      "x",
                                      "4x",
                                      "x2",
                                      "0x1",
                                      "1x0",
                                      "33x1",
                                      "1x33",
                                      "-1x2",
                                      "4x2x",
                                      " 4x2",
                                      "4x2 ",
                                      "4X2",
                                      "4*2",
                                      "04x2",
                                      "4x+2",
                                      "4.0x2",
                                      "99999999999999x1"};
    uint32_t nx = 77, ny = 77;

    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        cr_assert_eq(zones_parse(bad[i], &nx, &ny), E_BAD, "%s", bad[i]);
    cr_assert_eq(nx, 77);
    cr_assert_eq(ny, 77);
}

Test(zones, zones_narrower_than_the_reach_are_refused_by_a_line_that_names_the_flag)
{
    static const double bounds[4] = {0, 0, 160, 80};
    struct zones z;
    char why[200] = "";

    cr_assert_eq(zones_init(&z, bounds, 4, 2, 40, why, sizeof(why)), 0);
    cr_assert_str_eq(why, "");
    cr_assert_eq(zones_init(&z, bounds, 4, 2, 40.015625, why, sizeof(why)), E_RANGE);
    cr_assert_str_eq(why, "-zones 4x2: a zone would be 40 by 40, and may not be narrower than "
                          "radius, hysteresis and margin, 40.0156");
    cr_assert_eq(zones_init(&z, bounds, 5, 1, 40, why, sizeof(why)), E_RANGE);
    cr_assert_eq(zones_init(&z, bounds, 1, 3, 40, why, sizeof(why)), E_RANGE);
}

Test(zones, a_scene_of_one_row_may_be_as_low_as_it_likes)
{
    static const double bounds[4] = {0, 0, 160, 8};
    struct zones z;
    char why[200];

    cr_assert_eq(zones_init(&z, bounds, 4, 1, 40, why, sizeof(why)), 0);
    cr_assert_eq(zones_init(&z, bounds, 1, 1, 400, why, sizeof(why)), 0);
}

Test(zones, a_line_belongs_to_the_zone_that_begins_at_it)
{
    struct zones z = cut(OPEN, 4, 2, 38);

    cr_assert_eq(zones_at(&z, 0, 0), 6);
    cr_assert_eq(zones_at(&z, -1.0 / 64, 0), 5);
    cr_assert_eq(zones_at(&z, 0, -1.0 / 64), 2);
    cr_assert_eq(zones_at(&z, -1.0 / 64, -1.0 / 64), 1);
    cr_assert_eq(zones_at(&z, nextafter(0, -1), nextafter(0, -1)), 1);
    cr_assert_eq(zones_at(&z, -0.0, -0.0), 6);
    cr_assert_eq(zones_at(&z, -8192, -1), 1);
    cr_assert_eq(zones_at(&z, nextafter(-8192, -9000), -1), 0);
}

Test(zones, the_scenes_edges_belong_to_its_outer_zones)
{
    struct zones z = cut(OPEN, 4, 2, 38);

    cr_assert_eq(zones_at(&z, -16384, -16384), 0);
    cr_assert_eq(zones_at(&z, 16384, -16384), 3);
    cr_assert_eq(zones_at(&z, -16384, 16384), 4);
    cr_assert_eq(zones_at(&z, 16384, 16384), 7);
    cr_assert_eq(zones_at(&z, 1e300, -1e300), 3);
    cr_assert_eq(zones_at(&z, -1e300, 1e300), 4);
}

/* Also where the lines are no round numbers: between two lines there is no gap and no overlap. */
Test(zones, a_place_on_or_beside_any_line_is_in_exactly_one_zone)
{
    static const double bounds[4] = {-1000.1, -333.3, 2000.7, 999.9};

    for (uint32_t nx = 1; nx <= 32; nx++) {
        struct zones z = cut(bounds, nx, 33 - nx, 1);

        for (uint32_t i = 0; i <= nx; i++) {
            double at[3] = {nextafter(z.x[i], -1e9), z.x[i], nextafter(z.x[i], 1e9)};
            uint32_t below = i > 0 ? i - 1 : 0, above = i < nx ? i : nx - 1;

            cr_assert_eq(zones_at(&z, at[0], -333.3), below, "%u of %u", i, nx);
            cr_assert_eq(zones_at(&z, at[1], -333.3), above, "%u of %u", i, nx);
            cr_assert_eq(zones_at(&z, at[2], -333.3), above, "%u of %u", i, nx);
        }
        for (uint32_t i = 1; i < z.ny; i++) {
            cr_assert_eq(zones_at(&z, -1000.1, z.y[i]), i * nx);
            cr_assert_eq(zones_at(&z, -1000.1, nextafter(z.y[i], -1e9)), (i - 1) * nx);
        }
    }
}

Test(zones, zones_tile_their_scene)
{
    static const double bounds[4] = {-1000.1, -333.3, 2000.7, 999.9};
    struct zones z = cut(bounds, 7, 5, 1);
    double b[4], right[4], above[4];

    for (uint32_t zone = 0; zone < zones_count(&z); zone++) {
        zones_bounds(&z, zone, b);
        cr_assert_lt(b[0], b[2]);
        cr_assert_lt(b[1], b[3]);
        if (zone % 7 < 6) {
            zones_bounds(&z, zone + 1, right);
            cr_assert_eq(b[2], right[0]);
        }
        if (zone / 7 < 4) {
            zones_bounds(&z, zone + 7, above);
            cr_assert_eq(b[3], above[1]);
        }
    }
    zones_bounds(&z, 0, b);
    cr_assert_eq(b[0], bounds[0]);
    cr_assert_eq(b[1], bounds[1]);
    zones_bounds(&z, 34, b);
    cr_assert_eq(b[2], bounds[2]);
    cr_assert_eq(b[3], bounds[3]);
}

Test(zones, a_zone_at_exactly_the_reach_is_near)
{
    static const double bounds[4] = {0, 0, 400, 400};
    struct zones z = cut(bounds, 2, 2, 30);
    uint32_t near[ZONES_NEAR_MAX];

    /* 18 and 24 from the corner of all four: 30 to the one across */
    cr_assert_eq(zones_near(&z, 200 - 18, 200 - 24, near), 4);
    for (uint32_t i = 0; i < 4; i++)
        cr_assert_eq(near[i], i);
    cr_assert_eq(zones_near(&z, 200 - 18, 200 - 24 - 1.0 / 64, near), 3);
    cr_assert_eq(near[2], 2);
    cr_assert_eq(zones_near(&z, 170, 100, near), 2);
    cr_assert_eq(near[1], 1);
    cr_assert_eq(zones_near(&z, 170 - 1.0 / 64, 100, near), 1);
    cr_assert_eq(near[0], 0);
    /* the other way round, where the line belongs to the zone across */
    cr_assert_eq(zones_near(&z, 230, 100, near), 2);
    cr_assert_eq(zones_near(&z, 230 + 1.0 / 64, 100, near), 1);
    cr_assert_eq(near[0], 1);
}

Test(zones, in_zones_as_narrow_as_the_reach_all_nine_may_be_near)
{
    static const double bounds[4] = {0, 0, 96, 96};
    struct zones z = cut(bounds, 3, 3, 32);
    uint32_t near[ZONES_NEAR_MAX];

    cr_assert_eq(zones_near(&z, 32, 48, near), 7); /* of the last column the middle */
    cr_assert_eq(zones_near(&z, 32, 32, near), 8); /* the corner across is too far */
    cr_assert_eq(zones_near(&z, 48, 48, near), 9);
}

/* By all zones of the scene, and a distance of its own: the nearest point, then hypot's square. */
static uint32_t near_by_all(const struct zones *z, double x, double y, uint32_t *out)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < zones_count(z); i++) {
        double b[4], px, py;

        zones_bounds(z, i, b);
        px = fmin(fmax(x, b[0]), b[2]);
        py = fmin(fmax(y, b[1]), b[3]);
        if ((x - px) * (x - px) + (y - py) * (y - py) <= z->reach * z->reach)
            out[n++] = i;
    }
    return n;
}

Test(zones, those_within_reach_are_what_asking_all_zones_gives)
{
    struct rng rng;
    uint32_t near[ZONES_NEAR_MAX], all[ZONES_MAX];

    rng_init(&rng, 20);
    for (int round = 0; round < 400; round++) {
        uint32_t nx = 1 + (uint32_t)rng_below(&rng, 12), ny = 1 + (uint32_t)rng_below(&rng, 12);
        double reach = (double)(1 + rng_below(&rng, 64 * 40)) / 64;
        double x0 = (double)rng_below(&rng, 2000) - 1000, y0 = (double)rng_below(&rng, 2000) - 1000;
        double bounds[4] = {x0, y0, x0 + nx * (reach + 20 * rng_unit(&rng) + 0.01),
                            y0 + ny * (reach + 20 * rng_unit(&rng) + 0.01)};
        struct zones z = cut(bounds, nx, ny, reach);

        for (int i = 0; i < 100; i++) {
            double x = bounds[0] + (bounds[2] - bounds[0]) * rng_unit(&rng);
            double y = bounds[1] + (bounds[3] - bounds[1]) * rng_unit(&rng);
            uint32_t n, n_all, own;

            if (i % 3 == 0) /* on a line, and on another's reach */
                x = z.x[rng_below(&rng, nx + 1)];
            if (i % 4 == 0)
                y = fmin(z.y[rng_below(&rng, ny + 1)] + reach, bounds[3]);
            n = zones_near(&z, x, y, near);
            n_all = near_by_all(&z, x, y, all);
            own = zones_at(&z, x, y);
            cr_assert_eq(n, n_all);
            cr_assert_eq(memcmp(near, all, n * sizeof(*all)), 0);
            cr_assert_eq(zones_distance2(&z, own, x, y), 0);
        }
    }
}

Test(zones, the_zones_around_share_a_line_or_a_corner)
{
    struct zones z = cut(OPEN, 4, 3, 38);
    static const uint32_t corner[] = {1, 4, 5}, side[] = {0, 1, 5, 8, 9};
    static const uint32_t middle[] = {0, 1, 2, 4, 6, 8, 9, 10};
    uint32_t out[ZONES_NEAR_MAX - 1];

    cr_assert_eq(zones_around(&z, 0, out), 3);
    cr_assert_eq(memcmp(out, corner, sizeof(corner)), 0);
    cr_assert_eq(zones_around(&z, 4, out), 5);
    cr_assert_eq(memcmp(out, side, sizeof(side)), 0);
    cr_assert_eq(zones_around(&z, 5, out), 8);
    cr_assert_eq(memcmp(out, middle, sizeof(middle)), 0);
    z = cut(OPEN, 1, 1, 38);
    cr_assert_eq(zones_around(&z, 0, out), 0);
}

Test(zones, one_stays_at_home_until_it_is_the_margin_past_the_border)
{
    struct zones z = cut(OPEN, 2, 2, 38);

    cr_assert_eq(zones_home(&z, 0, -1, -1, 4), 0);
    cr_assert_eq(zones_home(&z, 0, 0, -1, 4), 0); /* on the line, which is the other's */
    cr_assert_eq(zones_home(&z, 0, 4 - 1.0 / 64, -1, 4), 0);
    cr_assert_eq(zones_home(&z, 0, 4, -1, 4), 1);
    cr_assert_eq(zones_home(&z, 1, 4, -1, 4), 1);
    cr_assert_eq(zones_home(&z, 1, -4, -1, 4), 0);
    cr_assert_eq(zones_home(&z, 0, 3, 3, 4), 3); /* round the corner: 4.24 away */
    cr_assert_eq(zones_home(&z, 0, 2, 2, 4), 0);
    cr_assert_eq(zones_home(&z, 0, 0, 0, 0), 3); /* without a margin at once */
    cr_assert_eq(zones_home(&z, 0, -1, -1, 0), 0);
}
