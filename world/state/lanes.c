/* world/state/lanes.c: see the header. */
#include "world/state/lanes.h"

#include "common/err.h"

#include <stdlib.h>
#include <string.h>

/* One lane and those beside it. */
struct three {
    const uint64_t *mid, *low, *high;
};

/* The first tile past `at`, upwards, that is blocked or where a lane beside opens. */
static int32_t up(struct three t, int32_t at, int32_t goal)
{
    uint32_t first = (uint32_t)at + 1, w = first / 64;
    uint64_t mask = ~(uint64_t)0 << (first % 64);
    uint64_t low = w > 0 ? t.low[w - 1] >> 63 : 0, high = w > 0 ? t.high[w - 1] >> 63 : 0;

    for (;; w++) { /* the rim is blocked, so there is an end */
        uint64_t opens =
            ((t.low[w] << 1 | low) & ~t.low[w]) | ((t.high[w] << 1 | high) & ~t.high[w]);
        uint64_t stop = (t.mid[w] | opens) & mask;

        if (stop != 0) {
            int32_t p = (int32_t)(w * 64) + __builtin_ctzll(stop);

            if (goal > at && goal <= p && !(goal == p && (t.mid[w] & (stop & -stop))))
                return goal;
            return t.mid[w] & (stop & -stop) ? LANES_NONE : p;
        }
        low = t.low[w] >> 63;
        high = t.high[w] >> 63;
        mask = ~(uint64_t)0;
    }
}

/* The same downwards; `words` of a lane. */
static int32_t down(struct three t, uint32_t words, int32_t at, int32_t goal)
{
    uint32_t last = (uint32_t)at - 1, w = last / 64;
    uint64_t mask = ~(uint64_t)0 >> (63 - last % 64);
    uint64_t low = w + 1 < words ? t.low[w + 1] << 63 : 0;
    uint64_t high = w + 1 < words ? t.high[w + 1] << 63 : 0;

    for (;; w--) {
        uint64_t opens =
            ((t.low[w] >> 1 | low) & ~t.low[w]) | ((t.high[w] >> 1 | high) & ~t.high[w]);
        uint64_t stop = (t.mid[w] | opens) & mask;

        if (stop != 0) {
            int bit = 63 - __builtin_clzll(stop);
            int32_t p = (int32_t)(w * 64) + bit;
            bool wall = t.mid[w] >> bit & 1;

            if (goal >= 0 && goal < at && goal >= p && !(goal == p && wall))
                return goal;
            return wall ? LANES_NONE : p;
        }
        low = t.low[w] << 63;
        high = t.high[w] << 63;
        mask = ~(uint64_t)0;
    }
}

int32_t lanes_along_row(const struct lanes *l, int32_t x, int32_t y, int dx, int32_t goal)
{
    const uint64_t *mid = l->rows + (size_t)y * l->row_words;
    struct three t = {mid, mid - l->row_words, mid + l->row_words};

    return dx > 0 ? up(t, x, goal) : down(t, l->row_words, x, goal);
}

int32_t lanes_along_col(const struct lanes *l, int32_t x, int32_t y, int dy, int32_t goal)
{
    const uint64_t *mid = l->cols + (size_t)x * l->col_words;
    struct three t = {mid, mid - l->col_words, mid + l->col_words};

    return dy > 0 ? up(t, y, goal) : down(t, l->col_words, y, goal);
}

/* --- making them ------------------------------------------------------------------------------ */

static void set_free(struct lanes *l, int32_t tx, int32_t ty)
{
    uint32_t x = (uint32_t)tx + 1, y = (uint32_t)ty + 1;

    l->rows[(size_t)y * l->row_words + x / 64] &= ~((uint64_t)1 << (x % 64));
    l->cols[(size_t)x * l->col_words + y / 64] &= ~((uint64_t)1 << (y % 64));
}

/* The number that stands for `a`; numbers are joined by letting the larger point to the smaller. */
static uint32_t root(uint32_t *joined, uint32_t a)
{
    while (joined[a] != a)
        a = joined[a] = joined[joined[a]];
    return a;
}

/* Row by row: a free tile has the area of its neighbour to the left or above, which are joined
 * where they differ; then each gets the number of what it was joined to, counted anew without gaps.
 */
static int find_areas(struct lanes *l)
{
    size_t n = (size_t)l->nx * (uint32_t)l->ny;
    uint32_t *joined = malloc((n / 2 + 2) * sizeof(*joined)), fresh = 0;

    if (!joined)
        return E_NOMEM;
    joined[0] = 0;
    for (int32_t y = 0; y < l->ny; y++) {
        for (int32_t x = 0; x < l->nx; x++) {
            uint32_t left = lanes_area(l, x - 1, y), above = lanes_area(l, x, y - 1);
            uint32_t *here = &l->area[(size_t)y * (uint32_t)l->nx + (uint32_t)x];

            if (lanes_blocked(l, x + 1, y + 1))
                continue;
            if (left == 0 && above == 0) { /* at most every second tile */
                *here = ++fresh;
                joined[fresh] = fresh;
                continue;
            }
            *here = left != 0 ? left : above;
            if (left != 0 && above != 0) {
                uint32_t a = root(joined, left), b = root(joined, above);

                joined[a > b ? a : b] = a > b ? b : a;
            }
        }
    }
    for (uint32_t i = 1; i <= fresh; i++) /* roots are smaller, so they are settled before */
        joined[i] = joined[i] == i ? ++l->areas : joined[joined[i]];
    for (size_t i = 0; i < n; i++)
        l->area[i] = joined[l->area[i]];
    free(joined);
    return 0;
}

int lanes_init(struct lanes *l, const struct ground *g)
{
    size_t rows, cols;

    memset(l, 0, sizeof(*l));
    l->nx = g->nx;
    l->ny = g->ny;
    l->row_words = ((uint32_t)g->nx + 2 + 63) / 64;
    l->col_words = ((uint32_t)g->ny + 2 + 63) / 64;
    rows = ((size_t)g->ny + 2) * l->row_words;
    cols = ((size_t)g->nx + 2) * l->col_words;
    l->rows = malloc(rows * sizeof(*l->rows));
    l->cols = malloc(cols * sizeof(*l->cols));
    l->area = calloc((size_t)g->nx * (uint32_t)g->ny, sizeof(*l->area));
    if (!l->rows || !l->cols || !l->area) {
        lanes_fini(l);
        return E_NOMEM;
    }
    memset(l->rows, 0xff, rows * sizeof(*l->rows));
    memset(l->cols, 0xff, cols * sizeof(*l->cols));
    for (int32_t y = 0; y < g->ny; y++) {
        for (int32_t x = 0; x < g->nx; x++) {
            if (!ground_blocked(g, x, y))
                set_free(l, x, y);
        }
    }
    if (find_areas(l) != 0) {
        lanes_fini(l);
        return E_NOMEM;
    }
    return 0;
}

void lanes_fini(struct lanes *l)
{
    free(l->rows);
    free(l->cols);
    free(l->area);
    memset(l, 0, sizeof(*l));
}
