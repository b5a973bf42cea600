/* world/state/grid.h: who stands where.
 * A uniform grid over the bounds of each scene: moves an entity between cells, lists those near a
 * place, and remembers in which tick a cell last changed. Where nobody lists, it just says which
 * cell each stands in. Cells are numbered through all scenes, so no two scenes share one. Cells are
 * found by floor, never by cutting toward zero; a place on the far rim belongs to the last cell.
 * Knows places, not why they matter.
 * Pure. May touch: common, world/ids. On trouble: an entity in no cell where one is needed is our
 * bug and asserts.
 */
#pragma once

#include "common/base.h"
#include "world/ids.h"

#include <stdbool.h>

#define GRID_NONE     UINT32_MAX
#define GRID_SIDE_MAX 2048 /* cells along one axis at most: cells grow beyond the reach instead */
#define GRID_PAD      1e-6 /* units a query reaches further, so that rounding loses nobody */

/* One scene's cells. */
struct grid_area {
    double x0, y0;   /* low corner, units */
    double side;     /* of a cell, units; at least the reach it was made for */
    double per_side; /* 1 / side */
    uint32_t nx, ny; /* cells */
    uint32_t first;  /* number of its first cell */
};

struct grid {
    struct grid_area areas[SCENES_MAX]; /* by scene */
    uint32_t cells;                     /* of all areas */
    bool linked;                        /* cells list who is in them; else there is just `cell` */
    uint32_t *head;                     /* [cells] first slot, GRID_NONE: empty */
    uint32_t *touched; /* [cells] the tick in which somebody in it came, went or moved */
    uint32_t cap;      /* slots */
    uint32_t *next;    /* [cap] */
    uint32_t *prev;    /* [cap] */
    uint32_t *cell;    /* [cap] GRID_NONE: in no cell */
};

/* Cells of one scene that a query looks at, inclusive. */
struct grid_box {
    const struct grid_area *area;
    uint32_t cx0, cy0, cx1, cy1;
};

/* bounds: of each scene: x0, y0, x1, y1 in units, finite, x0 < x1, y0 < y1; `scenes` is
 * 1..SCENES_MAX, `reach` > 0. Owns its arrays. E_NOMEM. */
int grid_init(struct grid *g, const double bounds[][4], uint32_t scenes, double reach, bool linked,
              uint32_t cap) MUST_CHECK;
void grid_fini(struct grid *g);

/* The cell of a place in a scene; places outside the bounds count to the nearest cell. */
uint32_t grid_cell(const struct grid *g, uint32_t scene, double x, double y);
/* All cells of the scene within `reach` of the place. */
struct grid_box grid_around(const struct grid *g, uint32_t scene, double x, double y, double reach);

/* File a slot under a cell, coming from its old one or from none. */
void grid_put(struct grid *g, uint32_t slot, uint32_t cell);
/* Take it out; it must be in a cell. */
void grid_remove(struct grid *g, uint32_t slot);

static inline uint32_t grid_index(const struct grid_area *a, uint32_t cx, uint32_t cy)
{
    return a->first + cy * a->nx + cx;
}

/* Did anything in the box come, go or move in this tick? */
bool grid_touched(const struct grid *g, const struct grid_box *b, uint32_t tick);
