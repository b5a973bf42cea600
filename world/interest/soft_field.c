/* world/interest/soft_field.c: see the header. */
#include "world/interest/soft_field.h"

#include "common/err.h"
#include "world/interest/radix.h"

#include <stdlib.h>
#include <string.h>

int soft_field_create(const struct scenes *scenes, double radius, uint32_t cap,
                      struct soft_field **out)
{
    struct soft_field *f = calloc(1, sizeof(*f));
    double bounds[SCENES_MAX][4];

    if (!f)
        return E_NOMEM;
    scenes_bounds(scenes, bounds);
    if (grid_init(&f->grid, bounds, scenes->n, radius, false, 1) != 0) {
        free(f);
        return E_NOMEM;
    }
    f->radius = radius;
    f->cells = calloc(f->grid.cells, sizeof(*f->cells));
    f->keys = malloc(cap * sizeof(*f->keys));
    f->spare = malloc(cap * sizeof(*f->spare));
    f->x = malloc(cap * sizeof(*f->x));
    f->y = malloc(cap * sizeof(*f->y));
    f->slot = malloc(cap * sizeof(*f->slot));
    if (!f->cells || !f->keys || !f->spare || !f->x || !f->y || !f->slot) {
        soft_field_destroy(f);
        return E_NOMEM;
    }
    *out = f;
    return 0;
}

void soft_field_destroy(struct soft_field *f)
{
    if (!f)
        return;
    grid_fini(&f->grid);
    free(f->cells);
    free(f->keys);
    free(f->spare);
    free(f->x);
    free(f->y);
    free(f->slot);
    free(f);
}

void soft_field_fill(struct soft_field *f, const struct entities *e, uint32_t tick, uint32_t every,
                     uint32_t phase)
{
    const uint64_t *sorted;
    uint32_t n = 0;

    for (uint32_t i = 0; i < e->alive_count; i++) {
        uint32_t slot = e->alive[i];

        if (every > 1 && slot % every != phase)
            continue;
        f->keys[n++] =
            (uint64_t)grid_cell(&f->grid, e->scene[slot], e->x[slot], e->y[slot]) << 32 | slot;
    }
    sorted = radix_sort(f->keys, f->spare, n);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t slot = (uint32_t)sorted[i];
        struct soft_cell *c = &f->cells[sorted[i] >> 32];

        f->slot[i] = slot;
        f->x[i] = e->x[slot];
        f->y[i] = e->y[slot];
        if (c->tick != tick)
            *c = (struct soft_cell){tick, i, 0};
        c->n++;
    }
    f->n = n;
    f->tick = tick;
}

/* Of the places [from, to) those near (x, y). */
static uint32_t near_in(const struct soft_field *f, uint32_t from, uint32_t to, double x, double y,
                        uint32_t *out)
{
    const double r2 = f->radius * f->radius;
    uint32_t found = 0;

    for (uint32_t i = from; i < to; i++) {
        double dx = f->x[i] - x, dy = f->y[i] - y;

        out[found] = f->slot[i];
        found += dx * dx + dy * dy <= r2;
    }
    return found;
}

uint32_t soft_field_near(const struct soft_field *f, const struct entities *e, uint32_t viewer,
                         uint32_t *out)
{
    const double x = e->x[viewer], y = e->y[viewer];
    struct grid_box b = grid_around(&f->grid, e->scene[viewer], x, y, f->radius);
    uint32_t found = 0, others = 0;

    for (uint32_t cy = b.cy0; cy <= b.cy1; cy++) {
        uint32_t from = 0, to = 0;

        for (uint32_t cx = b.cx0; cx <= b.cx1; cx++) { /* their runs lie one behind the other */
            const struct soft_cell *c = &f->cells[grid_index(b.area, cx, cy)];

            if (c->tick != f->tick)
                continue;
            if (from == to)
                from = c->first;
            to = c->first + c->n;
        }
        found += near_in(f, from, to, x, y, out + found);
    }
    for (uint32_t i = 0; i < found; i++) {
        out[others] = out[i];
        others += out[i] != viewer;
    }
    return others;
}
