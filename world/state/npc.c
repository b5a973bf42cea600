/* world/state/npc.c: see the header. */
#include "world/state/npc.h"

#include "common/err.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ANYWHERE_TRIES 64 /* tiles drawn before the nearest free one is taken */

static const struct npc_kind *const npc_kinds[] = {&npc_stand, &npc_wander, &npc_patrol};

const struct npc_kind *npc_kind_find(struct span name)
{
    for (size_t i = 0; i < ARRAY_LEN(npc_kinds); i++) {
        if (span_equal(name, span_text(npc_kinds[i]->name)))
            return npc_kinds[i];
    }
    return NULL;
}

/* --- cells ------------------------------------------------------------------------------------ */

static uint32_t cells_along(double length, double side)
{
    double n = floor(length / side) + 1;

    return n < NPC_SIDE_MAX ? (uint32_t)n : NPC_SIDE_MAX;
}

static void lay_fields(struct npcs *ns, const struct scenes *scenes, double reach)
{
    for (uint32_t i = 0; i < scenes->n; i++) {
        const double *b = scenes->list[i].bounds;
        double w = b[2] - b[0], h = b[3] - b[1];
        double side = fmax(reach, (w > h ? w : h) / (NPC_SIDE_MAX - 1));

        ns->fields[i] = (struct npc_field){
            .x0 = b[0],
            .y0 = b[1],
            .per_side = 1 / side,
            .nx = cells_along(w, side),
            .ny = cells_along(h, side),
            .first = ns->cells,
        };
        ns->cells += ns->fields[i].nx * ns->fields[i].ny;
    }
}

static uint32_t cell_axis(double v, double low, double per_side, uint32_t n)
{
    double c = floor((v - low) * per_side);

    return c <= 0 ? 0 : c < n ? (uint32_t)c : n - 1;
}

static uint32_t cell_of(const struct npcs *ns, uint32_t scene, double x, double y)
{
    const struct npc_field *f = &ns->fields[scene];

    return f->first + cell_axis(y, f->y0, f->per_side, f->ny) * f->nx +
           cell_axis(x, f->x0, f->per_side, f->nx);
}

int npcs_init(struct npcs *ns, uint32_t cap, uint32_t slots, const struct scenes *scenes,
              double reach, uint64_t seed)
{
    memset(ns, 0, sizeof(*ns));
    rng_init(&ns->rng, seed);
    if (cap == 0)
        return 0;
    ns->cap = cap;
    lay_fields(ns, scenes, reach);
    ns->list = calloc(cap, sizeof(*ns->list));
    ns->awake = calloc(cap, sizeof(*ns->awake));
    ns->near = calloc(ns->cells, sizeof(*ns->near));
    ns->head = malloc(ns->cells * sizeof(*ns->head));
    ns->seen = calloc(slots, sizeof(*ns->seen));
    if (!ns->list || !ns->awake || !ns->near || !ns->head || !ns->seen) {
        npcs_fini(ns);
        return E_NOMEM;
    }
    memset(ns->head, 0xff, ns->cells * sizeof(*ns->head));
    return 0;
}

void npcs_fini(struct npcs *ns)
{
    free(ns->list);
    free(ns->awake);
    free(ns->near);
    free(ns->head);
    free(ns->seen);
    memset(ns, 0, sizeof(*ns));
}

/* --- who stands where, and who is awake --------------------------------------------------------
 */

static void file(struct npcs *ns, uint32_t i, uint32_t cell)
{
    struct npc *n = &ns->list[i];

    n->cell = cell;
    n->above = NPC_NONE;
    n->below = ns->head[cell];
    if (n->below != NPC_NONE)
        ns->list[n->below].above = i;
    ns->head[cell] = i;
}

static void unfile(struct npcs *ns, uint32_t i)
{
    struct npc *n = &ns->list[i];

    if (n->above == NPC_NONE)
        ns->head[n->cell] = n->below;
    else
        ns->list[n->above].below = n->below;
    if (n->below != NPC_NONE)
        ns->list[n->below].above = n->above;
}

uint32_t npcs_add(struct npcs *ns, const struct npc *n)
{
    uint32_t i = ns->n++;

    ASSERT(i < ns->cap);
    ns->list[i] = *n;
    ns->list[i].slot = NPC_NONE;
    ns->list[i].awake_at = 0;
    return i;
}

void npcs_come(struct npcs *ns, uint32_t i, uint32_t slot, struct entities *e)
{
    struct npc *n = &ns->list[i];

    ASSERT(n->slot == NPC_NONE);
    n->slot = slot;
    n->next = 0;
    n->back = n->rested = false;
    n->until = (struct mono){0};
    ns->n_there++;
    file(ns, i, cell_of(ns, e->scene[slot], e->x[slot], e->y[slot]));
    if (ns->near[n->cell] == 0) {
        entities_doze(e, entities_ref(e, slot));
        return;
    }
    ns->awake[ns->n_awake++] = i;
    n->awake_at = ns->n_awake;
}

static void unlist_awake(struct npcs *ns, uint32_t i)
{
    uint32_t at = ns->list[i].awake_at;

    ASSERT(at != 0);
    ns->awake[at - 1] = ns->awake[--ns->n_awake];
    ns->list[ns->awake[at - 1]].awake_at = at;
    ns->list[i].awake_at = 0;
}

uint32_t npcs_go(struct npcs *ns, uint32_t i, struct entities *e)
{
    uint32_t slot = ns->list[i].slot;

    ASSERT(slot != NPC_NONE);
    unfile(ns, i);
    if (ns->list[i].awake_at != 0)
        unlist_awake(ns, i);
    else
        entities_rise(e, slot);
    ns->list[i].slot = NPC_NONE;
    ns->n_there--;
    return slot;
}

static void wake(struct npcs *ns, uint32_t i, struct entities *e)
{
    if (ns->list[i].awake_at != 0)
        return;
    ns->awake[ns->n_awake++] = i;
    ns->list[i].awake_at = ns->n_awake;
    entities_rise(e, ns->list[i].slot);
}

void npcs_sleep(struct npcs *ns, uint32_t i, struct entities *e)
{
    unlist_awake(ns, i);
    entities_doze(e, entities_ref(e, ns->list[i].slot));
}

static const struct npc_field *field_of(const struct npcs *ns, uint32_t cell)
{
    const struct npc_field *f = ns->fields;

    while (cell >= f->first + f->nx * f->ny)
        f++;
    return f;
}

/* A player came to the cell or went from it: it and those around it hear of it. */
static void count(struct npcs *ns, struct entities *e, uint32_t cell, bool came)
{
    const struct npc_field *f = field_of(ns, cell);
    uint32_t cx = (cell - f->first) % f->nx, cy = (cell - f->first) / f->nx;

    for (uint32_t y = cy > 0 ? cy - 1 : 0; y <= cy + 1 && y < f->ny; y++) {
        for (uint32_t x = cx > 0 ? cx - 1 : 0; x <= cx + 1 && x < f->nx; x++) {
            uint32_t *near = &ns->near[f->first + y * f->nx + x];

            if (!came) {
                (*near)--;
                continue;
            }
            if ((*near)++ > 0)
                continue;
            for (uint32_t i = ns->head[near - ns->near]; i != NPC_NONE; i = ns->list[i].below)
                wake(ns, i, e);
        }
    }
}

/* A player's cell, plus one; 0: it is gone. */
static void note(struct npcs *ns, struct entities *e, uint32_t slot, uint32_t now)
{
    uint32_t before = ns->seen[slot];

    if (before == now)
        return;
    ns->seen[slot] = now;
    if (now != 0)
        count(ns, e, now - 1, true);
    if (before != 0)
        count(ns, e, before - 1, false);
}

void npcs_count(struct npcs *ns, struct entities *e)
{
    if (ns->n == 0)
        return;
    for (uint32_t i = 0; i < e->dying_count; i++)
        note(ns, e, e->dying[i], 0);
    for (uint32_t i = 0, n = e->dirty_count; i < n; i++) { /* who wakes comes behind them */
        uint32_t slot = e->dirty[i];

        if ((e->flags[slot] & (ENTITY_MOVED | ENTITY_NEW)) && !(e->flags[slot] & ENTITY_DYING) &&
            e->cold[slot].kind == 0)
            note(ns, e, slot, 1 + cell_of(ns, e->scene[slot], e->x[slot], e->y[slot]));
    }
}

bool npcs_watched(struct npcs *ns, uint32_t i, const struct entities *e)
{
    struct npc *n = &ns->list[i];
    uint32_t cell = cell_of(ns, e->scene[n->slot], e->x[n->slot], e->y[n->slot]);

    if (cell != n->cell) {
        unfile(ns, i);
        file(ns, i, cell);
    }
    return ns->near[cell] > 0;
}

void npcs_anywhere(struct npcs *ns, const struct scene *s, double *x, double *y)
{
    const double *b = s->bounds;

    for (int i = 0; i < ANYWHERE_TRIES; i++) {
        *x = b[0] + rng_unit(&ns->rng) * (b[2] - b[0]);
        *y = b[1] + rng_unit(&ns->rng) * (b[3] - b[1]);
        if (!s->map || ground_free_at(&s->map->ground, *x, *y))
            return;
    }
    bool found = ground_near(&s->map->ground, *x, *y, x, y);

    ASSERT(found); /* a scene has a free tile: its spawns stand on one */
}
