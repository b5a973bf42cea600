/* world/state/grid.c: see the header. */
#include "world/state/grid.h"

#include "common/err.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint32_t cells_along(double length, double side)
{
    double n = floor(length / side) + 1; /* the far rim is inside, so it has a cell */

    return n < GRID_SIDE_MAX ? (uint32_t)n : GRID_SIDE_MAX;
}

int grid_init(struct grid *g, const double bounds[4], double reach, bool linked, uint32_t cap)
{
    double w = bounds[2] - bounds[0], h = bounds[3] - bounds[1];
    double longest = w > h ? w : h;
    size_t cells;

    ASSERT(w > 0);
    ASSERT(h > 0);
    ASSERT(reach > 0);
    memset(g, 0, sizeof(*g));
    g->x0 = bounds[0];
    g->y0 = bounds[1];
    g->side = longest / (GRID_SIDE_MAX - 1); /* the far rim needs one more */
    if (g->side < reach)
        g->side = reach;
    g->per_side = 1 / g->side;
    g->nx = cells_along(w, g->side);
    g->ny = cells_along(h, g->side);
    g->cap = cap;
    g->linked = linked;
    cells = (size_t)g->nx * g->ny;
    g->cell = malloc(cap * sizeof(*g->cell));
    if (linked) {
        g->head = malloc(cells * sizeof(*g->head));
        g->touched = calloc(cells, sizeof(*g->touched));
        g->next = malloc(cap * sizeof(*g->next));
        g->prev = malloc(cap * sizeof(*g->prev));
    }
    if (!g->cell || (linked && (!g->head || !g->touched || !g->next || !g->prev))) {
        grid_fini(g);
        return E_NOMEM;
    }
    if (linked)
        memset(g->head, 0xff, cells * sizeof(*g->head));
    memset(g->cell, 0xff, cap * sizeof(*g->cell));
    return 0;
}

void grid_fini(struct grid *g)
{
    free(g->head);
    free(g->touched);
    free(g->next);
    free(g->prev);
    free(g->cell);
    memset(g, 0, sizeof(*g));
}

/* The column (or row) of a coordinate, held to those there are. */
static uint32_t along(double v, double origin, double per_side, uint32_t n)
{
    double c = (v - origin) * per_side;

    if (!(c > 0))
        return 0;
    return c < n - 1 ? (uint32_t)c : n - 1; /* above 0, cutting is floor */
}

uint32_t grid_cell(const struct grid *g, double x, double y)
{
    return grid_index(g, along(x, g->x0, g->per_side, g->nx), along(y, g->y0, g->per_side, g->ny));
}

struct grid_box grid_around(const struct grid *g, double x, double y, double reach)
{
    double r = reach + GRID_PAD;

    return (struct grid_box){
        .cx0 = along(x - r, g->x0, g->per_side, g->nx),
        .cy0 = along(y - r, g->y0, g->per_side, g->ny),
        .cx1 = along(x + r, g->x0, g->per_side, g->nx),
        .cy1 = along(y + r, g->y0, g->per_side, g->ny),
    };
}

void grid_remove(struct grid *g, uint32_t slot)
{
    uint32_t cell = g->cell[slot], prev, next;

    ASSERT(cell != GRID_NONE);
    g->cell[slot] = GRID_NONE;
    if (!g->linked)
        return;
    prev = g->prev[slot];
    next = g->next[slot];
    if (prev == GRID_NONE)
        g->head[cell] = next;
    else
        g->next[prev] = next;
    if (next != GRID_NONE)
        g->prev[next] = prev;
}

void grid_put(struct grid *g, uint32_t slot, uint32_t cell)
{
    uint32_t first;

    ASSERT(slot < g->cap);
    if (g->cell[slot] == cell)
        return;
    if (!g->linked) {
        g->cell[slot] = cell;
        return;
    }
    if (g->cell[slot] != GRID_NONE)
        grid_remove(g, slot);
    first = g->head[cell];
    g->next[slot] = first;
    g->prev[slot] = GRID_NONE;
    if (first != GRID_NONE)
        g->prev[first] = slot;
    g->head[cell] = slot;
    g->cell[slot] = cell;
}

bool grid_touched(const struct grid *g, const struct grid_box *b, uint32_t tick)
{
    for (uint32_t cy = b->cy0; cy <= b->cy1; cy++) {
        for (uint32_t cx = b->cx0; cx <= b->cx1; cx++) {
            if (g->touched[grid_index(g, cx, cy)] == tick)
                return true;
        }
    }
    return false;
}
