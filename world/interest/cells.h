/* world/interest/cells.h: who stands in which cell, kept from tick to tick while few move.
 * Each cell has room side by side for its people's places now and before, as whole numbers from
 * its middle, padded for vectors; a mover costs a few words. Made anew when it is needed after a
 * tick in which many moved.
 * Pure. May touch: common, world/state, world/interest. On trouble: where there is no room
 * cells_follow says so, and they have to be made anew.
 */
#pragma once

#include "world/interest/mask.h"
#include "world/interest/places.h"
#include "world/state/entity.h"

#define CELLS_BITS 12 /* a cell's side, one reach, is 2^CELLS_BITS whole numbers */

struct cells_cell {
    uint32_t cx, cy;
    uint32_t first; /* place in the pool; a multiple of MASK_BATCH, as is the room */
    uint32_t n, room;
};

struct cells {
    const struct places_origin *origins; /* by scene; borrowed from places */
    double scale;                        /* whole numbers a unit */
    uint32_t nx, ny;                     /* cells of the plane: see places.h */
    uint32_t cap;                        /* slots */
    bool synced;                         /* what stands here is so as of the last tick */

    uint32_t *cell_at;        /* [nx * ny] number of the cell + 1; 0: nobody was there */
    struct cells_cell *cells; /* [cells_cap] */
    uint32_t n_cells, cells_cap;

    struct mask_place *now, *old; /* [pool] MASK_AWAY: not there, or not so near */
    uint32_t *slot;               /* [pool] */
    uint32_t pool, used;
    uint32_t *at;   /* [cap] by slot: place in the pool */
    uint32_t *home; /* [cap] by slot: number of its cell */
};

/* As `places` measures the scenes, which stays where it is; for `cap` slots. E_NOMEM. */
int cells_init(struct cells *c, const struct places *places, uint32_t cap) MUST_CHECK;
void cells_fini(struct cells *c);

/* File everybody alive or dying, where they stand now (the dying: where they stood). */
void cells_make(struct cells *c, const struct places *p, const struct entities *e);
/* Follow the movers and newcomers [n], and those who ended since the last tick. False: no room;
 * nothing in it holds any more. */
bool cells_follow(struct cells *c, const struct places *p, const struct entities *e,
                  const uint32_t *moved, uint32_t n);
/* The tick is over: now becomes before for those moved [n]; the dying are forgotten. */
void cells_settle(struct cells *c, const struct entities *e, const uint32_t *moved, uint32_t n);

/* A place in whole numbers from the plane's corner, and the one of a place in units of a scene. */
struct cells_place {
    int32_t x, y;
};
static inline struct cells_place cells_fix(const struct cells *c, uint32_t scene, double x,
                                           double y)
{
    const struct places_origin *o = &c->origins[scene];

    return (struct cells_place){places_fix(x, o->x0, c->scale), places_fix(y, o->y0, c->scale)};
}
/* The cells around a place, at most nine: pointers. Returns how many. */
#define CELLS_AROUND 9
uint32_t cells_around(const struct cells *c, struct cells_place at,
                      const struct cells_cell *out[CELLS_AROUND]);
/* The same from a cell's middle. */
static inline struct mask_place cells_from(const struct cells_cell *cell, struct cells_place at)
{
    int32_t half = 1 << (CELLS_BITS - 1);

    return (struct mask_place){
        mask_hold(at.x - (int32_t)(cell->cx << CELLS_BITS) - half),
        mask_hold(at.y - (int32_t)(cell->cy << CELLS_BITS) - half),
    };
}

/* As places_known, between two ticks while synced. */
uint32_t cells_known(const struct cells *c, const struct places *p, const struct entities *e,
                     uint32_t viewer, uint64_t *out);
