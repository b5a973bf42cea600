/* tests/world/test_mask.c: bits of who is within the radius: the same from every kind of code.
 * May touch: world/interest/mask, common.
 */
#include "world/interest/mask.h"

#include "common/rng.h"

#include <criterion/criterion.h>

#include <string.h>

#define MOST    600
#define BATCHES ((MOST + MASK_BATCH - 1) / MASK_BATCH + 1)
#define WORDS   (MASK_WORDS(BATCHES) + 1)

struct case_of {
    _Alignas(MASK_ALIGN) struct mask_place now[BATCHES * MASK_BATCH];
    _Alignas(MASK_ALIGN) struct mask_place old[BATCHES * MASK_BATCH];
    struct mask_place viewer[2];
    struct mask_edge edge;
    uint32_t n, batches;
};

struct result {
    uint64_t now[WORDS], old[WORDS];
    uint8_t doubtful[WORDS];
    bool any;
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
    int32_t most = rng_below(rng, 4) ? 9000 : MASK_COORD_MAX;
    int32_t radius = 1 + (int32_t)rng_below(rng, 8192);
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
    c->viewer[0] = place(rng, rng_below(rng, 4) ? 4096 : MASK_VIEWER_MAX);
    c->viewer[1] = place(rng, rng_below(rng, 4) ? 4096 : MASK_VIEWER_MAX);
}

static void run(const struct mask_code *m, const struct case_of *c, struct result *r)
{
    memset(r, 0xa5, sizeof *r); /* what is not written shows */
    r->any = m->look(c->now, c->old, c->batches, c->viewer, c->edge, r->now, r->old, r->doubtful);
}

static int64_t distance2(struct mask_place a, struct mask_place b)
{
    int64_t dx = (int64_t)a.x - b.x, dy = (int64_t)a.y - b.y;
    return dx * dx + dy * dy;
}

/* One candidate in one of the two masks. Returns whether it is doubtful. */
static bool check_bit(const struct case_of *c, uint32_t j, int64_t d2, uint64_t word,
                      uint8_t doubtful)
{
    bool bit = word >> (j % 64) & 1, within = d2 < c->edge.inner;
    bool unsure = !within && d2 - c->edge.inner <= c->edge.doubt;
    if (bit != within)
        cr_assert_fail("candidate %u: bit %d, %lld of %d", j, bit, (long long)d2, c->edge.inner);
    if (unsure && !doubtful)
        cr_assert_fail("candidate %u: %lld of %d is doubtful, and not said to be", j, (long long)d2,
                       c->edge.inner);
    return unsure;
}

static void check(const struct case_of *c, const struct result *r)
{
    bool any = false;
    for (uint32_t j = 0; j < c->batches * MASK_BATCH; j++) {
        uint8_t doubtful = r->doubtful[j / 64];
        any |= check_bit(c, j, distance2(c->now[j], c->viewer[0]), r->now[j / 64], doubtful);
        any |= check_bit(c, j, distance2(c->old[j], c->viewer[1]), r->old[j / 64], doubtful);
    }
    cr_assert_eq(any, r->any);
    for (uint32_t j = c->batches * MASK_BATCH; j % 64 != 0; j++) /* the rest of the last word */
        cr_assert(!(r->now[j / 64] >> (j % 64) & 1) && !(r->old[j / 64] >> (j % 64) & 1));
}

Test(mask, bits_are_what_whole_numbers_say_and_all_code_says_the_same)
{
    static struct case_of c;
    static struct result got, portable;
    const struct mask_code *codes;
    uint32_t n = mask_codes(&codes);
    struct rng rng;
    cr_assert_geq(n, 1);
    cr_assert_str_eq(codes[n - 1].name, "portable");
    rng_init(&rng, 55);
    for (int i = 0; i < 4000; i++) {
        make(&c, &rng);
        run(&codes[n - 1], &c, &portable);
        check(&c, &portable);
        for (uint32_t k = 0; k + 1 < n; k++) {
            run(&codes[k], &c, &got);
            cr_assert_eq(memcmp(&got, &portable, sizeof got), 0, "%s", codes[k].name);
        }
    }
}

Test(mask, doubt_is_bit_by_bit_what_whole_numbers_say)
{
    static struct case_of c;
    const struct mask_code *codes;
    uint32_t n = mask_codes(&codes);
    struct rng rng;
    rng_init(&rng, 56);
    for (int i = 0; i < 4000; i++) {
        make(&c, &rng);
        uint32_t batches = 1 + (uint32_t)rng_below(&rng, 64 / MASK_BATCH);
        uint64_t want = 0;
        for (uint32_t j = 0; j < batches * MASK_BATCH; j++) {
            int64_t over = distance2(c.now[j], c.viewer[0]) - c.edge.inner;
            want |= (uint64_t)(over >= 0 && over <= c.edge.doubt) << j;
        }
        for (uint32_t k = 0; k < n; k++)
            cr_assert_eq(codes[k].doubt(c.now, batches, c.viewer[0], c.edge), want, "%s",
                         codes[k].name);
    }
}

Test(mask, inside_is_half_open_around_the_middle)
{
    static struct case_of c;
    static uint64_t inside[WORDS];
    const struct mask_code *codes;
    uint32_t n = mask_codes(&codes);
    struct rng rng;
    rng_init(&rng, 57);
    for (int i = 0; i < 4000; i++) {
        unsigned bits = 13 + (unsigned)rng_below(&rng, 2);
        int32_t half = 1 << (bits - 1);
        make(&c, &rng);
        for (uint32_t j = 0; j < c.n; j += 7) { /* on the edges themselves */
            c.now[j].x = (int16_t)(j % 2 ? -half : half);
            c.now[j].y = (int16_t)(j % 3 ? half - 1 : -half - 1);
        }
        for (uint32_t k = 0; k < n; k++) {
            codes[k].inside(c.now, c.batches, bits, inside);
            for (uint32_t j = 0; j < c.batches * MASK_BATCH; j++) {
                bool want = c.now[j].x >= -half && c.now[j].x < half && c.now[j].y >= -half &&
                            c.now[j].y < half;
                cr_assert_eq(inside[j / 64] >> (j % 64) & 1, want, "%s %u", codes[k].name, j);
            }
        }
    }
}

Test(mask, laying_holds_what_is_far_and_pads_the_rest)
{
    static struct mask_fixed fixed[MOST];
    static uint32_t ranks[MOST];
    static struct case_of c;
    const struct mask_code *codes;
    uint32_t n_codes = mask_codes(&codes);
    struct rng rng;
    rng_init(&rng, 58);
    for (int i = 0; i < 500; i++) {
        int32_t mid = (int32_t)rng_below(&rng, 1 << 25);
        uint32_t n = (uint32_t)rng_below(&rng, MOST);
        for (uint32_t j = 0; j < MOST; j++) {
            int32_t far = rng_below(&rng, 3) ? 30000 : 1 << 25;
            fixed[j].x = mid + (int32_t)rng_below(&rng, (uint64_t)far * 2) - far;
            fixed[j].y = rng_below(&rng, 20) ? mid + (int32_t)rng_below(&rng, 100) : INT32_MIN / 2;
            fixed[j].old_x = rng_below(&rng, 20) ? fixed[j].x + 7 : INT32_MIN / 2;
            fixed[j].old_y = mid - MASK_COORD_MAX - 1 + (int32_t)rng_below(&rng, 3);
            ranks[j] = (uint32_t)rng_below(&rng, MOST);
        }
        for (uint32_t k = 0; k < n_codes; k++) {
            codes[k].lay(fixed, ranks, n, mid, mid, c.now, c.old);
            for (uint32_t j = 0; j < n; j++) {
                const struct mask_fixed *f = &fixed[ranks[j]];
                const int32_t from[4] = {f->x, f->y, f->old_x, f->old_y};
                const int16_t got[4] = {c.now[j].x, c.now[j].y, c.old[j].x, c.old[j].y};
                for (int a = 0; a < 4; a++) {
                    int64_t v = (int64_t)from[a] - mid;
                    v = v > MASK_COORD_MAX ? MASK_COORD_MAX : v;
                    v = v < -MASK_COORD_MAX ? -MASK_COORD_MAX : v;
                    cr_assert_eq(got[a], v, "%s", codes[k].name);
                }
            }
            for (uint32_t j = n; j % MASK_BATCH != 0; j++)
                cr_assert(c.now[j].x == MASK_AWAY.x && c.old[j].y == MASK_AWAY.y);
        }
    }
}

Test(mask, the_edges_of_doubt)
{
    static struct case_of c;
    static struct result r;
    const struct mask_code *codes;
    uint32_t n = mask_codes(&codes);
    /* squared distances 0, 25, 25, 26, 36, 37, where below 25 is within and up to 36 in doubt */
    static const struct mask_place at[] = {{0, 0}, {4, 3}, {5, 0}, {5, 1}, {6, 0}, {6, 1}};
    for (size_t f = 0; f < n; f++) {
        for (uint32_t j = 0; j < 6; j++) {
            memset(&c, 0, sizeof c);
            for (uint32_t k = 0; k < BATCHES * MASK_BATCH; k++)
                c.now[k] = c.old[k] = MASK_AWAY;
            c.edge = (struct mask_edge){25, 11};
            c.batches = c.n = 1;
            c.now[3] = at[j];
            run(&codes[f], &c, &r);
            cr_assert_eq(r.now[0], j == 0 ? 8 : 0);
            cr_assert_eq(r.doubtful[0], j >= 1 && j <= 4);
            c.old[3] = at[j];
            c.now[3] = MASK_AWAY;
            run(&codes[f], &c, &r);
            cr_assert_eq(r.old[0], j == 0 ? 8 : 0);
            cr_assert_eq(r.doubtful[0], j >= 1 && j <= 4);
        }
    }
}

Test(mask, who_is_nowhere_is_within_of_nobody)
{
    static struct case_of c;
    static struct result r;
    const struct mask_code *codes;
    uint32_t n = mask_codes(&codes);
    for (size_t f = 0; f < n; f++) {
        for (int corner = 0; corner < 4; corner++) {
            int16_t x = corner & 1 ? MASK_VIEWER_MAX : -MASK_VIEWER_MAX;
            int16_t y = corner & 2 ? MASK_VIEWER_MAX : -MASK_VIEWER_MAX;
            c.viewer[0] = c.viewer[1] = (struct mask_place){x, y};
            c.edge = (struct mask_edge){8192 * 8192, 8192 * 6};
            c.batches = BATCHES;
            for (uint32_t k = 0; k < BATCHES * MASK_BATCH; k++)
                c.now[k] = c.old[k] = MASK_AWAY;
            run(&codes[f], &c, &r);
            for (uint32_t w = 0; w < MASK_WORDS(BATCHES); w++)
                cr_assert_eq(r.now[w] | r.old[w] | r.doubtful[w], 0);
        }
    }
}
