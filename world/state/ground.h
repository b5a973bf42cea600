/* world/state/ground.h: what one can stand on: a rectangle of tiles, each free or blocked.
 * Every place belongs to the tile of its floor; places on the far rim belong to the last tile. A
 * way is the straight line between two places, and it is legal where every point of it stands on a
 * free tile and it cuts no corner: it may pass from a tile to a diagonal one, exactly through their
 * common corner, only where both tiles beside that corner are free. So two blocked tiles that touch
 * at a corner are a wall, and a line along the edge between free tiles is legal.
 *
 *   places are counted in tiles as whole numbers of GROUND_ONE a tile, and the way is followed in
 *   whole numbers: there is no rounding on it, so it is the same in both directions and everywhere
 *
 * Pure. May touch: common. On trouble: what is outside is blocked.
 * Source: PROTOCOL.md, "Errors" 10 and 11.
 */
#pragma once

#include "common/base.h"

#include <stdbool.h>

#define GROUND_SIDE_MAX 4096 /* tiles along one axis */

/* A tile is 2^50 steps long: 4,096 of them, and the product of two such lengths, stay in range of
 * 128 bits. Finer differences of places than that are none. */
#define GROUND_ONE_BITS 50
#define GROUND_ONE      ((int64_t)1 << GROUND_ONE_BITS)

struct ground_tile {
    int32_t x, y;
};

struct ground {
    double x0, y0;   /* low corner, units */
    double size;     /* of a tile, units */
    int32_t nx, ny;  /* tiles */
    uint32_t stride; /* words a row */
    uint64_t *bits;  /* [ny * stride] bit x % 64 of word x / 64 of row y: blocked */
};

/* All tiles free. `size` > 0 and finite, nx and ny in [1, GROUND_SIDE_MAX]. Owns its bits.
 * E_RANGE, E_NOMEM. */
int ground_init(struct ground *g, double x0, double y0, double size, uint32_t nx,
                uint32_t ny) MUST_CHECK;
void ground_fini(struct ground *g);
/* Block or free a tile, which must be there. */
void ground_block(struct ground *g, int32_t tx, int32_t ty, bool blocked);
/* x0, y0, x1, y1 in units, closed. */
void ground_bounds(const struct ground *g, double out[4]);

/* Tiles outside are blocked. */
static inline bool ground_blocked(const struct ground *g, int32_t tx, int32_t ty)
{
    if ((uint32_t)tx >= (uint32_t)g->nx || (uint32_t)ty >= (uint32_t)g->ny)
        return true;
    return g->bits[(size_t)ty * g->stride + (uint32_t)tx / 64] >> (tx % 64) & 1;
}

/* Finite and within the closed bounds? */
bool ground_inside(const struct ground *g, double x, double y);
/* The tile of a place; one outside counts to the nearest tile. */
struct ground_tile ground_at(const struct ground *g, double x, double y);
/* Inside, and on a free tile? */
bool ground_free_at(const struct ground *g, double x, double y);
/* The middle of a tile. */
void ground_middle(const struct ground *g, struct ground_tile t, double *x, double *y);

/* Is the way from (x0, y0) to (x1, y1) legal? A way of no length is where its place is; one that
 * leaves the ground is not. Symmetric.
 *   hit   NULL, or gets the tile that is in the way where it is not legal: the first blocked one
 *         that is met, or the blocked one beside the corner that would be cut
 * Cost: the tiles crossed, at most nx + ny. */
bool ground_way(const struct ground *g, double x0, double y0, double x1, double y1,
                struct ground_tile *hit);
/* May one step from tile (tx, ty) to its neighbour by dx, dy in {-1, 0, 1}? Middle to middle, as
 * ground_way has it. */
bool ground_step(const struct ground *g, int32_t tx, int32_t ty, int dx, int dy);

/* Is any tile free of those from `low` to `high`, both included and both on the ground? Cost: words
 * of bits. */
bool ground_any_free(const struct ground *g, struct ground_tile low, struct ground_tile high);
/* How many tiles are blocked. */
uint32_t ground_count(const struct ground *g);

/* Where to stand near (x, y), which may be anywhere: there itself where that is free, else in the
 * middle of the free tile whose middle is nearest (of equals the first by row and column). False:
 * every tile is blocked. Cost: tiles within that distance. */
bool ground_near(const struct ground *g, double x, double y, double *out_x, double *out_y);
