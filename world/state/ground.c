/* world/state/ground.c: see the header. */
#include "world/state/ground.h"

#include "common/err.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WORD_BITS 64

_Static_assert((int64_t)GROUND_SIDE_MAX <= INT64_MAX / GROUND_ONE, "a place fits");

int ground_init(struct ground *g, double x0, double y0, double size, uint32_t nx, uint32_t ny)
{
    memset(g, 0, sizeof(*g));
    if (nx < 1 || nx > GROUND_SIDE_MAX || ny < 1 || ny > GROUND_SIDE_MAX || !(size > 0) ||
        !isfinite(x0) || !isfinite(y0) || !isfinite(size))
        return E_RANGE;
    g->x0 = x0;
    g->y0 = y0;
    g->size = size;
    g->nx = (int32_t)nx;
    g->ny = (int32_t)ny;
    g->stride = (nx + WORD_BITS - 1) / WORD_BITS;
    g->bits = calloc((size_t)ny * g->stride, sizeof(*g->bits));
    return g->bits ? 0 : E_NOMEM;
}

void ground_fini(struct ground *g)
{
    free(g->bits);
    memset(g, 0, sizeof(*g));
}

void ground_block(struct ground *g, int32_t tx, int32_t ty, bool blocked)
{
    ASSERT(tx >= 0 && tx < g->nx);
    ASSERT(ty >= 0 && ty < g->ny);
    uint64_t *word = &g->bits[(size_t)ty * g->stride + (uint32_t)tx / WORD_BITS];
    uint64_t bit = (uint64_t)1 << (tx % WORD_BITS);
    *word = blocked ? *word | bit : *word & ~bit;
}

void ground_bounds(const struct ground *g, double out[4])
{
    out[0] = g->x0;
    out[1] = g->y0;
    out[2] = g->x0 + g->nx * g->size;
    out[3] = g->y0 + g->ny * g->size;
}

/* --- places ----------------------------------------------------------------------------------- */

/* A coordinate in steps from the low corner, cut to the `n` tiles; floor, so that its tile is the
 * floor of the exact one. Scaling by a power of two is exact. */
static int64_t steps(double v, double low, double size, int32_t n)
{
    double tiles = (v - low) / size;

    if (!(tiles > 0))
        return 0;
    if (tiles >= n)
        return n * GROUND_ONE;
    return (int64_t)floor(tiles * (double)GROUND_ONE);
}

static int32_t tile_of(int64_t at, int32_t n)
{
    int32_t t = (int32_t)(at >> GROUND_ONE_BITS);
    return t < n ? t : n - 1;
}

bool ground_inside(const struct ground *g, double x, double y)
{
    double b[4];

    ground_bounds(g, b);
    return x >= b[0] && x <= b[2] && y >= b[1] && y <= b[3];
}

struct ground_tile ground_at(const struct ground *g, double x, double y)
{
    return (struct ground_tile){tile_of(steps(x, g->x0, g->size, g->nx), g->nx),
                                tile_of(steps(y, g->y0, g->size, g->ny), g->ny)};
}

bool ground_free_at(const struct ground *g, double x, double y)
{
    struct ground_tile t = ground_at(g, x, y);
    return ground_inside(g, x, y) && !ground_blocked(g, t.x, t.y);
}

void ground_middle(const struct ground *g, struct ground_tile t, double *x, double *y)
{
    *x = g->x0 + (t.x + 0.5) * g->size;
    *y = g->y0 + (t.y + 0.5) * g->size;
}

/* --- ways ------------------------------------------------------------------------------------- */

/* One axis of a way. */
struct axis {
    int64_t at;     /* where it starts, steps */
    int64_t length; /* >= 0, steps */
    int32_t tile;   /* where it is */
    int32_t step;   /* 1 or -1 */
    int32_t left;   /* tiles that are yet to be entered */
};

static struct axis axis_of(double from, double to, double low, double size, int32_t n)
{
    int64_t a = steps(from, low, size, n), b = steps(to, low, size, n);
    int32_t ta = tile_of(a, n), tb = tile_of(b, n);

    return (struct axis){a, a < b ? b - a : a - b, ta, a < b ? 1 : -1, ta < tb ? tb - ta : ta - tb};
}

/* Steps from the start to the first line between tiles on the way. */
static int64_t to_line(const struct axis *a)
{
    int32_t line = a->step > 0 ? a->tile + 1 : a->tile;
    return a->step > 0 ? line * GROUND_ONE - a->at : a->at - line * GROUND_ONE;
}

static bool is_blocked(const struct ground *g, int32_t tx, int32_t ty, struct ground_tile *hit)
{
    if (!ground_blocked(g, tx, ty))
        return false;
    if (hit)
        *hit = (struct ground_tile){tx, ty};
    return true;
}

bool ground_way(const struct ground *g, double x0, double y0, double x1, double y1,
                struct ground_tile *hit)
{
    struct axis x = axis_of(x0, x1, g->x0, g->size, g->nx);
    struct axis y = axis_of(y0, y1, g->y0, g->size, g->ny);
    /* Which line comes first, that to the next column or that to the next row: the sign of
     * to_line(x) / x.length - to_line(y) / y.length, without the division. */
    __int128 order = (__int128)to_line(&x) * y.length - (__int128)to_line(&y) * x.length;

    if (hit)
        *hit = ground_at(g, x1, y1);
    if (!ground_inside(g, x0, y0) || !ground_inside(g, x1, y1) ||
        is_blocked(g, x.tile, y.tile, hit))
        return false;
    while (x.left > 0 || y.left > 0) {
        bool across = y.left == 0 || (x.left > 0 && order <= 0);
        bool down = x.left == 0 || (y.left > 0 && order >= 0);

        if (across && down &&
            (is_blocked(g, x.tile + x.step, y.tile, hit) ||
             is_blocked(g, x.tile, y.tile + y.step, hit)))
            return false;
        if (across) {
            x.tile += x.step;
            x.left--;
            order += (__int128)GROUND_ONE * y.length;
        }
        if (down) {
            y.tile += y.step;
            y.left--;
            order -= (__int128)GROUND_ONE * x.length;
        }
        if (is_blocked(g, x.tile, y.tile, hit))
            return false;
    }
    return true;
}

bool ground_step(const struct ground *g, int32_t tx, int32_t ty, int dx, int dy)
{
    return !ground_blocked(g, tx + dx, ty + dy) && !ground_blocked(g, tx + dx, ty) &&
           !ground_blocked(g, tx, ty + dy);
}

/* --- standing --------------------------------------------------------------------------------- */

bool ground_any_free(const struct ground *g, struct ground_tile low, struct ground_tile high)
{
    uint32_t first = (uint32_t)low.x / WORD_BITS, last = (uint32_t)high.x / WORD_BITS;
    uint64_t from = UINT64_MAX << (low.x % WORD_BITS);
    uint64_t to = UINT64_MAX >> (WORD_BITS - 1 - high.x % WORD_BITS);

    for (int32_t ty = low.y; ty <= high.y; ty++) {
        const uint64_t *row = &g->bits[(size_t)ty * g->stride];
        for (uint32_t w = first; w <= last; w++) {
            uint64_t mask = (w == first ? from : UINT64_MAX) & (w == last ? to : UINT64_MAX);
            if ((~row[w] & mask) != 0)
                return true;
        }
    }
    return false;
}

uint32_t ground_count(const struct ground *g)
{
    uint32_t count = 0;

    for (size_t i = 0; i < (size_t)g->ny * g->stride; i++)
        count += (uint32_t)__builtin_popcountll(g->bits[i]);
    return count;
}

/* The best tile so far. */
struct nearest {
    double x, y, distance; /* squared, of its middle; infinite: none */
    struct ground_tile tile;
};

static void consider(const struct ground *g, struct nearest *n, int32_t tx, int32_t ty)
{
    struct ground_tile t = {tx, ty};
    double x, y, distance;

    if (ground_blocked(g, tx, ty))
        return;
    ground_middle(g, t, &x, &y);
    distance = (x - n->x) * (x - n->x) + (y - n->y) * (y - n->y);
    if (distance > n->distance ||
        (distance == n->distance && (ty > n->tile.y || (ty == n->tile.y && tx > n->tile.x))))
        return;
    n->distance = distance;
    n->tile = t;
}

bool ground_near(const struct ground *g, double x, double y, double *out_x, double *out_y)
{
    struct ground_tile at = ground_at(g, x, y);
    struct nearest best;
    int32_t most = g->nx > g->ny ? g->nx : g->ny;
    double b[4];

    *out_x = x;
    *out_y = y;
    if (ground_free_at(g, x, y))
        return true;
    ground_bounds(g, b);
    best = (struct nearest){
        .x = fmin(fmax(x, b[0]), b[2]), .y = fmin(fmax(y, b[1]), b[3]), .distance = INFINITY};
    /* Square by square outward, until no tile further out can be nearer. */
    for (int32_t r = 0; r < most; r++) {
        double least = (r - 1) * g->size;

        if (r > 0 && least * least > best.distance)
            break;
        for (int32_t i = -r; i <= r; i++) {
            consider(g, &best, at.x + i, at.y - r);
            consider(g, &best, at.x + i, at.y + r);
            consider(g, &best, at.x - r, at.y + i);
            consider(g, &best, at.x + r, at.y + i);
        }
    }
    if (!isfinite(best.distance))
        return false;
    ground_middle(g, best.tile, out_x, out_y);
    return true;
}
