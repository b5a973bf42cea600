/* world/state/lanes.h: a ground made ready for finding ways on it.
 * Its tiles as bits twice, by rows and by columns, with a blocked rim around, so that a look along
 * a line of tiles takes 64 of them at once; and the area of each tile: two tiles have the same one
 * where there is a way from one to the other. (A diagonal step needs both tiles beside it, so the
 * four straight steps alone settle that.) Made once at the start and never changed.
 *
 *   lane coordinates are the tile's plus one: 0 and n + 1 are the rim
 *
 * Pure. May touch: common, world/state/ground. On trouble: E_NOMEM.
 */
#pragma once

#include "world/state/ground.h"

#define LANES_NONE (-1)

struct lanes {
    int32_t nx, ny;     /* tiles */
    uint32_t row_words; /* of a row */
    uint32_t col_words; /* of a column */
    uint64_t *rows;     /* [(ny + 2) * row_words] bit: blocked */
    uint64_t *cols;     /* [(nx + 2) * col_words] */
    uint32_t *area;     /* [nx * ny] 0: blocked */
    uint32_t areas;     /* numbered from 1 */
};

/* Of a ground, which it does not need afterwards. Owns its arrays. E_NOMEM. */
int lanes_init(struct lanes *l, const struct ground *g) MUST_CHECK;
void lanes_fini(struct lanes *l);

/* In lane coordinates. */
static inline bool lanes_blocked(const struct lanes *l, int32_t x, int32_t y)
{
    return l->rows[(size_t)y * l->row_words + (uint32_t)x / 64] >> (x % 64) & 1;
}

/* In tile coordinates; 0 outside too. */
static inline uint32_t lanes_area(const struct lanes *l, int32_t tx, int32_t ty)
{
    if ((uint32_t)tx >= (uint32_t)l->nx || (uint32_t)ty >= (uint32_t)l->ny)
        return 0;
    return l->area[(size_t)ty * (uint32_t)l->nx + (uint32_t)tx];
}

/* Along the row `y` from x (a free tile) by dx, to the first tile where a shortest way may turn
 * off: one beside which a lane opens behind a blocked tile; or to `goal` (LANES_NONE: none), if
 * that lies before. LANES_NONE: a blocked tile comes first. */
int32_t lanes_along_row(const struct lanes *l, int32_t x, int32_t y, int dx, int32_t goal);
/* The same along the column `x` from y by dy. */
int32_t lanes_along_col(const struct lanes *l, int32_t x, int32_t y, int dy, int32_t goal);
