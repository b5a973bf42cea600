/* tests/world/test_plane.c: how the scenes lie on the plane of blocks that sight looks at.
 * May touch: world/interest/places, common.
 */
#include "common/rng.h"
#include "tests/leak.h"
#include "world/interest/places.h"

#include <math.h>
#include <string.h>

#define REACH_BITS 13 /* a block of one reach is so many whole numbers */

/* Blocks that a scene takes: x0, y0, x1, y1, inclusive. */
static void blocks_of(const struct places *p, uint32_t scene, const double b[4], int32_t out[4])
{
    const struct places_origin *o = &p->origins[scene];
    out[0] = places_fix(b[0], o->x0, p->scale) >> REACH_BITS;
    out[1] = places_fix(b[1], o->y0, p->scale) >> REACH_BITS;
    out[2] = places_fix(b[2], o->x0, p->scale) >> REACH_BITS;
    out[3] = places_fix(b[3], o->y0, p->scale) >> REACH_BITS;
}

/* On the plane, and more than a block apart from each other. */
static void judge(const struct places *p, const double bounds[][4])
{
    for (uint32_t i = 0; i < p->scenes; i++) {
        int32_t a[4], b[4];
        blocks_of(p, i, bounds[i], a);
        cr_assert(a[0] >= 0 && a[1] >= 0 && a[2] < (int32_t)p->nx && a[3] < (int32_t)p->ny);
        for (uint32_t j = 0; j < i; j++) {
            blocks_of(p, j, bounds[j], b);
            cr_assert(a[0] - b[2] > 1 || b[0] - a[2] > 1 || a[1] - b[3] > 1 || b[1] - a[3] > 1,
                      "%u and %u touch", i, j);
        }
    }
    cr_assert_leq((uint64_t)p->nx * p->ny, 1u << 23);
    cr_assert_geq(p->reach / p->scale, p->radius + 2 * p->slack - 1e-9);
}

Test(plane, one_scene_alone_lies_as_it_is)
{
    static const double bounds[][4] = {{-16384, -16384, 16384, 16384}};
    struct places p;
    cr_assert_eq(places_init(&p, PLACES_BLOCKS, bounds, 1, 30, 1.5, 8), 0);
    cr_assert(p.origins[0].x0 == -16384 && p.origins[0].y0 == -16384);
    cr_assert_eq(p.nx, (uint32_t)(32768 / 33) + 1);
    judge(&p, bounds);
    places_fini(&p);
    TEST_NO_LEAKS();
}

Test(plane, scenes_never_touch_whatever_their_sizes)
{
    static const double sides[] = {1, 33, 300, 4096, 32768, 1e7};
    static double bounds[SCENES_MAX][4];
    struct rng rng;
    rng_init(&rng, 3);
    for (uint32_t round = 0; round < 200; round++) {
        uint32_t n = 1 + (uint32_t)rng_below(&rng, SCENES_MAX), kinds = 1 + round % 6;
        double radius = round % 3 == 0 ? 2 : 30;
        for (uint32_t i = 0; i < n; i++) {
            double x = (rng_unit(&rng) - 0.5) * 1e5, y = (rng_unit(&rng) - 0.5) * 1e5;
            double w = sides[rng_below(&rng, kinds)] * (0.1 + rng_unit(&rng));
            double h = sides[rng_below(&rng, kinds)] * (0.1 + rng_unit(&rng));
            memcpy(bounds[i], (double[4]){x, y, x + w, y + h}, sizeof bounds[i]);
        }
        struct places p;
        cr_assert_eq(
            places_init(&p, PLACES_BLOCKS, (const double(*)[4])bounds, n, radius, radius / 20, 8),
            0);
        judge(&p, (const double(*)[4])bounds);
        places_fini(&p);
    }
    TEST_NO_LEAKS();
}

Test(plane, as_many_large_scenes_as_there_may_be_fit_with_larger_blocks)
{
    static double bounds[SCENES_MAX][4];
    for (uint32_t i = 0; i < SCENES_MAX; i++)
        memcpy(bounds[i], (double[4]){0, 0, 32768, 32768}, sizeof bounds[i]);
    struct places p;
    cr_assert_eq(places_init(&p, PLACES_NINE, (const double(*)[4])bounds, SCENES_MAX, 30, 1.5, 8),
                 0);
    judge(&p, (const double(*)[4])bounds);
    cr_assert_gt(p.reach / p.scale, 60);
    places_fini(&p);
    TEST_NO_LEAKS();
}
