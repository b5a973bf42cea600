/* world/interest/places.h: this tick's places and the last one's, laid out for looking up.
 * Whole numbers by slot; a list of all in the order of their ids, so that a position in it (a
 * rank) sorts like an id; and entries sorted by cell, made anew each tick, so that the people of a
 * row of cells lie side by side. An entity is filed under the cell where it stands now; one that
 * jumped, and one that ended since the last tick, also under the cell where it stood.
 * Pure. May touch: common, world/state, world/interest. On trouble: nothing can be full; all is
 * sized at start.
 *
 *   entities ─► ranked (by id) ─► entries (by cell, then id) ─► cells, rows
 */
#pragma once

#include "world/interest/mask.h"
#include "world/state/entity.h"

#define PLACES_SIDE_BITS 12 /* a cell's side is 2^12 whole numbers */
#define PLACES_SIDE      (1 << PLACES_SIDE_BITS)
#define PLACES_AXIS_MAX  65536           /* cells along one axis at most */
#define PLACES_AWAY      (INT32_MIN / 2) /* a coordinate of nowhere */

/* Now and at the last tick, in whole numbers from the scene's low corner; PLACES_AWAY: not there.
 */
struct places_fixed {
    int32_t x, y, old_x, old_y;
};

/* A run of entries of one cell. */
struct places_cell {
    uint32_t cx, cy;
    uint32_t start; /* of its entries; they end where the next cell's start */
};

struct places {
    double x0, y0; /* the scene's low corner, units */
    double side;   /* of a cell, units */
    double scale;  /* whole numbers a unit */
    double slack;  /* units an entity may move between two ticks without being a jumper */
    double radius; /* units */
    uint32_t cap;  /* slots */

    struct places_fixed *fixed; /* [cap] by slot */
    double *old_x, *old_y;      /* [cap] by slot: exact places at the last tick */
    uint8_t *seen;              /* [cap] by slot: a tick has seen it */

    uint32_t *order, *order_next; /* [cap] slots by id, ascending */
    uint32_t *ids;                /* [cap] by rank */
    struct places_fixed *ranked;  /* [cap] by rank */
    uint32_t n;                   /* ranks */

    uint64_t *entries, *entries_next; /* [2 * cap] key << 32 | rank */
    uint32_t n_entries;
    struct places_cell *cells; /* [2 * cap + 1]; the last one is the end */
    uint32_t n_cells;
    uint32_t *rows; /* [PLACES_AXIS_MAX + 1] first cell of each row from low_cy on */
    uint32_t low_cy, n_rows;

    uint32_t *jumpers; /* [cap] slots */
    uint32_t n_jumpers;

    uint64_t *bits;    /* over ranks; all zero between two uses */
    uint64_t *summary; /* a bit for each word of bits */
    bool changed;      /* somebody came or went since `order` was made */
};

/* bounds: x0, y0, x1, y1 units; `slack` units. E_NOMEM. */
int places_init(struct places *p, const double bounds[4], double radius, double slack,
                uint32_t cap) MUST_CHECK;
void places_fini(struct places *p);

/* Is this dirty entity now further than the slack from where the last tick saw it? */
bool places_is_jump(const struct places *p, const struct entities *e, uint32_t slot);
/* It is new, or has moved, since the last tick; `jump` as places_is_jump says. */
void places_note(struct places *p, const struct entities *e, uint32_t slot, bool jump);
/* It ended; it is still in its slot until the tick is over. */
void places_note_end(struct places *p, uint32_t slot);

/* File everybody. `fresh` [n_fresh]: slots new since the last tick, ascending by id. */
void places_sort(struct places *p, const struct entities *e, const uint32_t *fresh,
                 uint32_t n_fresh);
/* The tick is over: now becomes before, for those `dirty` [n]; the dying are forgotten. */
void places_settle(struct places *p, const struct entities *e, const uint32_t *dirty, uint32_t n);

/* Those whose place at the last tick lies within the radius of `viewer`'s place at the last tick:
 * keys (world/interest/known), ascending; who ended since the last tick among them.
 *   out   [cap] borrowed
 * Between two ticks, or between places_sort and places_settle. Returns how many. */
uint32_t places_known(struct places *p, const struct entities *e, uint32_t viewer, uint64_t *out);

/* Set the bit of each entry in cells [cx0, cx1] of a row; `from` is the first cell of the row to
 * look at, and is moved to the first one that is not left of cx0. */
void places_mark_row(struct places *p, uint32_t *from, uint32_t row_end, uint32_t cx0,
                     uint32_t cx1);
/* Take the marked ranks, ascending, and clear the bits. Returns how many. */
uint32_t places_take_marked(struct places *p, uint32_t *out);

/* First cell of row `cy` and of the one after it; an empty row gives the same twice. */
void places_row(const struct places *p, int64_t cy, uint32_t *first, uint32_t *end);
