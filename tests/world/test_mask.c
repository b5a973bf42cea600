/* tests/world/test_mask.c: bits of who is within the radius: the same from every kind of code.
 * May touch: world/interest/mask, common.
 */
#include "world/interest/mask.h"

#include "common/rng.h"

#include <criterion/criterion.h>

#include <string.h>

#define MOST    600
#define BATCHES ((MOST + MASK_BATCH - 1) / MASK_BATCH + 1)
#define WORDS   (BATCHES / 8 + 1)

struct case_of {
    _Alignas(64) struct mask_place now[BATCHES * MASK_BATCH];
    _Alignas(64) struct mask_place old[BATCHES * MASK_BATCH];
    struct mask_place viewer[2];
    struct mask_edge edge;
    uint32_t n, batches;
};

struct result {
    uint64_t now[WORDS], old[WORDS];
    uint8_t doubtful[WORDS];
};

static int16_t coord(struct rng *rng, int32_t most)
{
    return (int16_t)((int32_t)rng_below(rng, 2 * (uint64_t)most + 1) - most);
}

static struct mask_place place(struct rng *rng, int32_t most)
{
    struct mask_place p;
    p.x = coord(rng, most);
    p.y = coord(rng, most);
    return p;
}

static void make(struct case_of *c, struct rng *rng)
{
    int32_t most = rng_below(rng, 4) ? 6000 : MASK_COORD_MAX;
    int32_t radius = 1 + (int32_t)rng_below(rng, 4500);
    c->n = (uint32_t)rng_below(rng, MOST + 1);
    c->batches = (c->n + MASK_BATCH - 1) / MASK_BATCH;
    c->edge.inner = radius * radius;
    c->edge.doubt = (uint32_t)rng_below(rng, 6 * (uint64_t)radius + 9);
    for (uint32_t j = 0; j < BATCHES * MASK_BATCH; j++) {
        c->now[j] = j < c->n ? place(rng, most) : MASK_AWAY;
        c->old[j] = j < c->n ? place(rng, most) : MASK_AWAY;
        if (j < c->n && rng_below(rng, 3) == 0)
            c->old[j] = c->now[j];
    }
    c->viewer[0] = place(rng, rng_below(rng, 4) ? 2048 : MASK_VIEWER_MAX);
    c->viewer[1] = place(rng, rng_below(rng, 4) ? 2048 : MASK_VIEWER_MAX);
}

static void run(mask_fn *mask, const struct case_of *c, struct result *r)
{
    memset(r, 0xa5, sizeof *r); /* what is not written shows */
    mask(c->now, c->old, c->batches, c->viewer, c->edge, r->now, r->old, r->doubtful);
}

static int64_t distance2(struct mask_place a, struct mask_place b)
{
    int64_t dx = (int64_t)a.x - b.x, dy = (int64_t)a.y - b.y;
    return dx * dx + dy * dy;
}

/* One candidate in one of the two masks. */
static void check_bit(const struct case_of *c, uint32_t j, int64_t d2, uint64_t word,
                      uint8_t doubtful)
{
    bool bit = word >> (j % 64) & 1, within = d2 < c->edge.inner;
    bool unsure = !within && d2 - c->edge.inner <= c->edge.doubt;
    if (bit != within)
        cr_assert_fail("candidate %u: bit %d, %lld of %d", j, bit, (long long)d2, c->edge.inner);
    if (unsure && !doubtful)
        cr_assert_fail("candidate %u: %lld of %d is doubtful, and not said to be", j, (long long)d2,
                       c->edge.inner);
}

static void check(const struct case_of *c, const struct result *r)
{
    for (uint32_t j = 0; j < c->batches * MASK_BATCH; j++) {
        check_bit(c, j, distance2(c->now[j], c->viewer[0]), r->now[j / 64], r->doubtful[j / 64]);
        check_bit(c, j, distance2(c->old[j], c->viewer[1]), r->old[j / 64], r->doubtful[j / 64]);
    }
    for (uint32_t j = c->batches * MASK_BATCH; j % 64 != 0; j++) /* the rest of the last word */
        cr_assert(!(r->now[j / 64] >> (j % 64) & 1) && !(r->old[j / 64] >> (j % 64) & 1));
}

Test(mask, bits_are_what_whole_numbers_say_and_all_code_says_the_same)
{
    static struct case_of c;
    static struct result chosen, portable;
    const char *name = NULL;
    mask_fn *mask = mask_choose(&name);
    struct rng rng;
    cr_assert_not_null(name);
    rng_init(&rng, 55);
    for (int i = 0; i < 4000; i++) {
        make(&c, &rng);
        run(mask, &c, &chosen);
        run(mask_portable, &c, &portable);
        check(&c, &portable);
        check(&c, &chosen);
        cr_assert_eq(memcmp(&chosen, &portable, sizeof chosen), 0, "%s", name);
    }
}

Test(mask, the_edges_of_doubt)
{
    static struct case_of c;
    static struct result r;
    const char *name;
    mask_fn *both[] = {mask_choose(&name), mask_portable};
    /* squared distances 0, 25, 25, 26, 36, 37, where below 25 is within and up to 36 in doubt */
    static const struct mask_place at[] = {{0, 0}, {4, 3}, {5, 0}, {5, 1}, {6, 0}, {6, 1}};
    for (size_t f = 0; f < 2; f++) {
        for (uint32_t j = 0; j < 6; j++) {
            memset(&c, 0, sizeof c);
            for (uint32_t k = 0; k < BATCHES * MASK_BATCH; k++)
                c.now[k] = c.old[k] = MASK_AWAY;
            c.edge = (struct mask_edge){25, 11};
            c.batches = c.n = 1;
            c.now[3] = at[j];
            run(both[f], &c, &r);
            cr_assert_eq(r.now[0], j == 0 ? 8 : 0);
            cr_assert_eq(r.doubtful[0], j >= 1 && j <= 4);
            c.old[3] = at[j];
            c.now[3] = MASK_AWAY;
            run(both[f], &c, &r);
            cr_assert_eq(r.old[0], j == 0 ? 8 : 0);
            cr_assert_eq(r.doubtful[0], j >= 1 && j <= 4);
        }
    }
}

Test(mask, who_is_nowhere_is_within_of_nobody)
{
    static struct case_of c;
    static struct result r;
    const char *name;
    mask_fn *both[] = {mask_choose(&name), mask_portable};
    for (size_t f = 0; f < 2; f++) {
        for (int corner = 0; corner < 4; corner++) {
            int16_t x = corner & 1 ? MASK_VIEWER_MAX : -MASK_VIEWER_MAX;
            int16_t y = corner & 2 ? MASK_VIEWER_MAX : -MASK_VIEWER_MAX;
            c.viewer[0] = c.viewer[1] = (struct mask_place){x, y};
            c.edge = (struct mask_edge){4096 * 4096, 4096 * 6};
            c.batches = BATCHES;
            for (uint32_t k = 0; k < BATCHES * MASK_BATCH; k++)
                c.now[k] = c.old[k] = MASK_AWAY;
            run(both[f], &c, &r);
            for (uint32_t w = 0; w < BATCHES / 8; w++)
                cr_assert_eq(r.now[w] | r.old[w] | r.doubtful[w], 0);
        }
    }
}
