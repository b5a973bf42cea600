/* world/interest/cells.c: see the header.
 * A cell that is full moves to the end of the pool, into twice the room; when the pool is used up
 * all is made anew, side by side.
 */
#include "world/interest/cells.h"

#include "common/err.h"

#include <stdlib.h>
#include <string.h>

#define ROOM_SPARE 2 /* newcomers for whom a cell has room when it is made */

/* Places in the pool for each slot: one alone in its cell takes a whole vector. */
#define POOL_PER_SLOT MASK_BATCH

_Static_assert(1 + ROOM_SPARE <= MASK_BATCH, "one alone takes no more");

int cells_init(struct cells *c, const struct places *p, uint32_t cap)
{
    size_t pool = ((size_t)cap + 4) * POOL_PER_SLOT;

    memset(c, 0, sizeof(*c));
    c->origins = p->origins;
    c->scale = p->scale * (1 << CELLS_BITS) / p->reach;
    c->nx = p->nx + 1; /* rounding may put the far rim one further */
    c->ny = p->ny + 1;
    c->cap = cap;
    if (pool > UINT32_MAX)
        return E_NOMEM;
    c->pool = (uint32_t)pool;
    c->cells_cap = cap;
    c->cell_at = calloc((size_t)c->nx * c->ny, sizeof(*c->cell_at));
    c->cells = calloc(c->cells_cap, sizeof(*c->cells));
    c->now = aligned_alloc(MASK_ALIGN, pool * sizeof(*c->now));
    c->old = aligned_alloc(MASK_ALIGN, pool * sizeof(*c->old));
    c->slot = aligned_alloc(MASK_ALIGN, pool * sizeof(*c->slot));
    c->at = calloc(cap, sizeof(*c->at));
    c->home = calloc(cap, sizeof(*c->home));
    if (!c->cell_at || !c->cells || !c->now || !c->old || !c->slot || !c->at || !c->home) {
        cells_fini(c);
        return E_NOMEM;
    }
    return 0;
}

void cells_fini(struct cells *c)
{
    free(c->cell_at);
    free(c->cells);
    free(c->now);
    free(c->old);
    free(c->slot);
    free(c->at);
    free(c->home);
    memset(c, 0, sizeof(*c));
}

/* --- where a place is --------------------------------------------------------------------- */

static struct cells_place now_of(const struct cells *c, const struct entities *e, uint32_t slot)
{
    return cells_fix(c, e->scene[slot], e->x[slot], e->y[slot]);
}

static struct cells_place old_of(const struct cells *c, const struct places *p, uint32_t slot)
{
    return cells_fix(c, p->old_scene[slot], p->old_x[slot], p->old_y[slot]);
}

uint32_t cells_around(const struct cells *c, struct cells_place at,
                      const struct cells_cell *out[CELLS_AROUND])
{
    uint32_t cx = (uint32_t)at.x >> CELLS_BITS, cy = (uint32_t)at.y >> CELLS_BITS;
    uint32_t n = 0, x0, y0, x1, y1;

    x0 = cx > 0 ? cx - 1 : 0;
    y0 = cy > 0 ? cy - 1 : 0;
    x1 = cx + 1 < c->nx ? cx + 1 : c->nx - 1;
    y1 = cy + 1 < c->ny ? cy + 1 : c->ny - 1;
    for (uint32_t j = y0; j <= y1; j++) {
        for (uint32_t i = x0; i <= x1; i++) {
            uint32_t number = c->cell_at[j * c->nx + i];

            if (number != 0 && c->cells[number - 1].n > 0)
                out[n++] = &c->cells[number - 1];
        }
    }
    return n;
}

/* --- filing ----------------------------------------------------------------------------------
 */

static bool is_dying(const struct entities *e, uint32_t slot)
{
    return (e->flags[slot] & ENTITY_DYING) != 0;
}

/* Where it is filed. */
static struct cells_place filed(const struct cells *c, const struct places *p,
                                const struct entities *e, uint32_t slot)
{
    return is_dying(e, slot) ? old_of(c, p, slot) : now_of(c, e, slot);
}

static void lay(struct cells *c, const struct places *p, const struct entities *e, uint32_t slot)
{
    const struct cells_cell *cell = &c->cells[c->home[slot]];
    uint32_t at = c->at[slot];

    c->slot[at] = slot;
    c->now[at] = is_dying(e, slot) ? MASK_AWAY : cells_from(cell, now_of(c, e, slot));
    c->old[at] = p->seen[slot] ? cells_from(cell, old_of(c, p, slot)) : MASK_AWAY;
}

/* The number of a cell; one that nobody was in gets no room yet. UINT32_MAX: no more cells. */
static uint32_t number_of(struct cells *c, struct cells_place place)
{
    uint32_t cx = (uint32_t)place.x >> CELLS_BITS, cy = (uint32_t)place.y >> CELLS_BITS;
    uint32_t *at = &c->cell_at[cy * c->nx + cx];

    if (*at == 0) {
        if (c->n_cells == c->cells_cap)
            return UINT32_MAX;
        c->cells[c->n_cells++] = (struct cells_cell){.cx = cx, .cy = cy};
        *at = c->n_cells;
    }
    return *at - 1;
}

static uint32_t rounded(uint32_t n)
{
    return (n + MASK_BATCH - 1) / MASK_BATCH * MASK_BATCH;
}

/* Take room for `n` at the pool's end, with nobody in it. */
static bool take_room(struct cells *c, struct cells_cell *cell, uint32_t n)
{
    uint32_t room = rounded(n);

    if (c->pool - c->used < room)
        return false;
    cell->first = c->used;
    cell->room = room;
    c->used += room;
    for (uint32_t i = cell->first; i < c->used; i++)
        c->now[i] = c->old[i] = MASK_AWAY;
    return true;
}

static void make_one(struct cells *c, uint32_t slot)
{
    struct cells_cell *cell = &c->cells[c->home[slot]];

    c->at[slot] = cell->first + cell->n++;
}

void cells_make(struct cells *c, const struct places *p, const struct entities *e)
{
    const uint32_t *lists[2] = {e->alive, e->dying};
    const uint32_t n[2] = {e->alive_count, e->dying_count};

    for (uint32_t i = 0; i < c->n_cells; i++)
        c->cell_at[c->cells[i].cy * c->nx + c->cells[i].cx] = 0;
    c->n_cells = c->used = 0;
    for (int l = 0; l < 2; l++) {
        for (uint32_t i = 0; i < n[l]; i++) {
            uint32_t slot = lists[l][i];

            c->home[slot] = number_of(c, filed(c, p, e, slot));
            c->cells[c->home[slot]].n++;
        }
    }
    for (uint32_t i = 0; i < c->n_cells; i++) {
        bool fits = take_room(c, &c->cells[i], c->cells[i].n + ROOM_SPARE);

        ASSERT(fits); /* the pool was measured for each alone in a cell */
        c->cells[i].n = 0;
    }
    for (int l = 0; l < 2; l++) {
        for (uint32_t i = 0; i < n[l]; i++) {
            make_one(c, lists[l][i]);
            lay(c, p, e, lists[l][i]);
        }
    }
    c->synced = true;
}

static void leave(struct cells *c, uint32_t slot)
{
    struct cells_cell *cell = &c->cells[c->home[slot]];
    uint32_t at = c->at[slot], last = cell->first + --cell->n;

    c->now[at] = c->now[last];
    c->old[at] = c->old[last];
    c->slot[at] = c->slot[last];
    c->at[c->slot[at]] = at;
    c->now[last] = c->old[last] = MASK_AWAY;
}

static bool grow(struct cells *c, struct cells_cell *cell)
{
    struct cells_cell before = *cell;

    if (!take_room(c, cell, before.n == 0 ? 1 : 2 * before.n))
        return false;
    for (uint32_t i = 0; i < before.n; i++) {
        c->now[cell->first + i] = c->now[before.first + i];
        c->old[cell->first + i] = c->old[before.first + i];
        c->slot[cell->first + i] = c->slot[before.first + i];
        c->at[c->slot[cell->first + i]] = cell->first + i;
    }
    return true;
}

static bool enter(struct cells *c, uint32_t slot, uint32_t number)
{
    struct cells_cell *cell;

    if (number == UINT32_MAX)
        return false;
    cell = &c->cells[number];
    if (cell->n == cell->room && !grow(c, cell))
        return false;
    c->home[slot] = number;
    c->at[slot] = cell->first + cell->n++;
    return true;
}

bool cells_follow(struct cells *c, const struct places *p, const struct entities *e,
                  const uint32_t *moved, uint32_t n)
{
    c->synced = false;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t slot = moved[i], number = number_of(c, now_of(c, e, slot));

        if (p->seen[slot] && number != c->home[slot])
            leave(c, slot);
        if ((!p->seen[slot] || number != c->home[slot]) && !enter(c, slot, number))
            return false;
        lay(c, p, e, slot);
    }
    for (uint32_t i = 0; i < e->dying_count; i++)
        c->now[c->at[e->dying[i]]] = MASK_AWAY;
    c->synced = true;
    return true;
}

void cells_settle(struct cells *c, const struct entities *e, const uint32_t *moved, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        c->old[c->at[moved[i]]] = c->now[c->at[moved[i]]];
    for (uint32_t i = 0; i < e->dying_count; i++)
        leave(c, e->dying[i]);
}

uint32_t cells_known(const struct cells *c, const struct places *p, const struct entities *e,
                     uint32_t viewer, uint64_t *out)
{
    const struct cells_cell *cells[CELLS_AROUND];
    uint32_t n, found = 0;

    if (!p->seen[viewer])
        return 0;
    n = cells_around(c, old_of(c, p, viewer), cells);
    for (uint32_t k = 0; k < n; k++) {
        for (uint32_t i = 0; i < cells[k]->n; i++) {
            uint32_t slot = c->slot[cells[k]->first + i];

            if (slot != viewer && p->seen[slot] && places_near_old(p, viewer, slot))
                out[found++] = known_key(e->id[slot], slot);
        }
    }
    known_sort(out, found);
    return found;
}
