/* world/interest/sight_list.c: sight by lists; see sight.h.
 * Who stays is found by walking what the viewer knows, in its order, with one distance each: no
 * sorting and no grid. Who is new is found in the grid among those not marked as known; they are
 * few, so sorting them is cheap. A viewer near whom no cell changed is not looked at.
 * May touch: what sight.h may.
 */
#include "world/interest/sight.h"

#include "common/err.h"

#include <string.h>

/* One look at one viewer. */
struct look {
    struct sight *s;
    const struct entities *e;
    uint32_t viewer;
    uint8_t scene;     /* of the viewer */
    double x, y;       /* of the viewer */
    double in2, keep2; /* R², (R + H)² */
    uint64_t *gone, *added;
    uint32_t kept, n_gone, n_added;
};

/* In the viewer's scene, and so near? `reach2` is the square of the distance. */
static bool is_near(const struct look *l, uint32_t slot, double reach2)
{
    double dx = l->e->x[slot] - l->x, dy = l->e->y[slot] - l->y;

    return dx * dx + dy * dy <= reach2 && l->e->scene[slot] == l->scene;
}

/* Move those who stay to the front of the list, and mark them. */
static void look_known(struct look *l)
{
    struct known *k = &l->s->known;
    uint64_t *keys = k->keys + k->lists[l->viewer].at;
    uint32_t n = known_count(k, l->viewer);

    for (uint32_t i = 0; i < n; i++) {
        uint64_t key = keys[i];
        uint32_t slot = known_slot(key);

        if (l->e->id[slot] == known_id(key) && !(l->e->flags[slot] & ENTITY_DYING) &&
            is_near(l, slot, l->keep2)) {
            keys[l->kept++] = key;
            l->s->mark[slot] = l->s->mark_now;
        } else {
            l->gone[l->n_gone++] = key;
        }
    }
}

static void look_at(struct look *l, uint32_t slot)
{
    if (slot == l->viewer || l->s->mark[slot] == l->s->mark_now)
        return;
    if (!(l->e->flags[slot] & ENTITY_DYING) && is_near(l, slot, l->in2))
        l->added[l->n_added++] = known_key(l->e->id[slot], slot);
}

static void look_cell(struct look *l, const struct grid *g, uint32_t cell)
{
    for (uint32_t slot = g->head[cell]; slot != GRID_NONE; slot = g->next[slot])
        look_at(l, slot);
}

/* Without hysteresis nobody is listed by cell; the blocks of this tick say who is near. */
static void look_in_block(struct look *l)
{
    const struct places *p = &l->s->places;
    const struct mask_fixed *f = &p->ranked[p->rank[l->viewer]];
    const struct places_block *b = places_block_of(p, f->x, f->y);

    ASSERT(b); /* the viewer stands in it */
    for (uint32_t i = 0; i < b->n; i++)
        look_at(l, known_slot(p->keys[places_list(p, b)[i]]));
}

static void look_around(struct look *l, const struct grid *g)
{
    struct grid_box b = grid_around(g, l->scene, l->x, l->y, l->s->rules.radius);

    if (!g->linked) {
        look_in_block(l);
        known_sort(l->added, l->n_added);
        return;
    }
    for (uint32_t cy = b.cy0; cy <= b.cy1; cy++) {
        for (uint32_t cx = b.cx0; cx <= b.cx1; cx++)
            look_cell(l, g, grid_index(b.area, cx, cy));
    }
    known_sort(l->added, l->n_added);
}

/* Store what the look found; those for whom there is no room wait. */
static void look_keep(struct look *l, uint32_t tick, uint32_t *seen_new)
{
    struct sight *s = l->s;
    bool full = l->n_added > 0 && known_reserve(&s->known, l->viewer, l->kept + l->n_added) != 0;

    if (full) {
        const struct known_list *list = &s->known.lists[l->viewer];
        uint32_t room = list->size ? KNOWN_CHUNK_MIN << (list->size - 1u) : 0;

        l->n_added = room - l->kept;
        s->deferred++;
    }
    sight_set_again(s, l->viewer, full);
    known_merge(&s->known, l->viewer, l->kept, l->added, l->n_added);
    for (uint32_t i = 0; i < l->n_added; i++)
        seen_new[known_slot(l->added[i])] = tick;
    s->added += l->n_added;
    s->removed += l->n_gone;
    s->pairs += (uint64_t)known_count(&s->known, l->viewer) - s->count[l->viewer];
    s->count[l->viewer] = known_count(&s->known, l->viewer);
}

void sight_next_mark(struct sight *s)
{
    if (++s->mark_now == 0) {
        memset(s->mark, 0, s->known.viewers * sizeof(*s->mark));
        s->mark_now = 1;
    }
}

void sight_list_look(struct sight *s, struct entities *e, const struct grid *g,
                     struct arena *scratch, uint32_t viewer, uint32_t tick)
{
    double reach = s->rules.radius + s->rules.hysteresis;
    struct look l = {.s = s,
                     .e = e,
                     .viewer = viewer,
                     .scene = e->scene[viewer],
                     .x = e->x[viewer],
                     .y = e->y[viewer]};
    struct grid_box near = grid_around(g, l.scene, l.x, l.y, reach);
    uint32_t n = known_count(&s->known, viewer);
    size_t mark = scratch->used, most = ((size_t)n + e->alive_count) * sizeof(uint64_t);

    s->diffs[viewer] = (struct sight_diff){0};
    if (!s->again[viewer] && g->linked && !grid_touched(g, &near, tick))
        return;
    if (scratch->cap - scratch->used < most + 2 * (size_t)e->cap * SIGHT_SPARE ||
        !(l.gone = arena_take(scratch, most))) {
        sight_set_again(s, viewer, true);
        s->deferred++;
        return;
    }
    l.in2 = s->rules.radius * s->rules.radius;
    l.keep2 = reach * reach;
    sight_next_mark(s);
    look_known(&l);
    l.added = l.gone + l.n_gone;
    look_around(&l, g);
    look_keep(&l, tick, e->seen_new);
    s->diffs[viewer] = (struct sight_diff){l.gone, l.added, l.n_gone, l.n_added};
    arena_rewind(scratch, mark);
    if (l.n_gone + l.n_added > 0) /* keep just what was used */
        l.gone = arena_take(scratch, ((size_t)l.n_gone + l.n_added) * sizeof(uint64_t));
}
