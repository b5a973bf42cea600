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

static struct grid_area measure(const double bounds[4], double reach, uint32_t first)
{
    struct grid_area a = {.x0 = bounds[0], .y0 = bounds[1], .first = first};
    double w = bounds[2] - bounds[0], h = bounds[3] - bounds[1];
    double longest = w > h ? w : h;

    ASSERT(w > 0);
    ASSERT(h > 0);
    a.side = longest / (GRID_SIDE_MAX - 1); /* the far rim needs one more */
    if (a.side < reach)
        a.side = reach;
    a.per_side = 1 / a.side;
    a.nx = cells_along(w, a.side);
    a.ny = cells_along(h, a.side);
    return a;
}

int grid_init(struct grid *g, const double bounds[][4], uint32_t scenes, double reach, bool linked,
              uint32_t cap)
{
    size_t cells;

    ASSERT(reach > 0);
    ASSERT(scenes >= 1);
    ASSERT(scenes <= SCENES_MAX);
    memset(g, 0, sizeof(*g));
    for (uint32_t i = 0; i < scenes; i++) {
        g->areas[i] = measure(bounds[i], reach, g->cells);
        g->cells += g->areas[i].nx * g->areas[i].ny;
    }
    g->cap = cap;
    g->linked = linked;
    cells = g->cells;
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

uint32_t grid_cell(const struct grid *g, uint32_t scene, double x, double y)
{
    const struct grid_area *a = &g->areas[scene];

    return grid_index(a, along(x, a->x0, a->per_side, a->nx), along(y, a->y0, a->per_side, a->ny));
}

struct grid_box grid_around(const struct grid *g, uint32_t scene, double x, double y, double reach)
{
    const struct grid_area *a = &g->areas[scene];
    double r = reach + GRID_PAD;

    return (struct grid_box){
        .area = a,
        .cx0 = along(x - r, a->x0, a->per_side, a->nx),
        .cy0 = along(y - r, a->y0, a->per_side, a->ny),
        .cx1 = along(x + r, a->x0, a->per_side, a->nx),
        .cy1 = along(y + r, a->y0, a->per_side, a->ny),
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
            if (g->touched[grid_index(b->area, cx, cy)] == tick)
                return true;
        }
    }
    return false;
}
