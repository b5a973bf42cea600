/* world/interest/wire.c: see the header.
 *
 *   dirty ─► decide ─► events (sorted), told
 */
#include "world/interest/wire.h"

struct entity_wire wire_of(const struct world *w, uint32_t slot)
{
    const struct entities *e = &w->entities;

    return (struct entity_wire){
        .qx = (int32_t)aoi_move_quantise(e->x[slot], w->config.quantum),
        .qy = (int32_t)aoi_move_quantise(e->y[slot], w->config.quantum),
        .dir = aoi_move_dir(e->dir[slot]),
        .speed = aoi_move_speed(e->speed[slot], w->config.max_speed),
    };
}

/* May this change wait for more? */
static bool may_wait(const struct world *w, uint32_t slot, uint8_t tell)
{
    const struct entities *e = &w->entities;
    const struct entity_told *t = &e->told[slot];
    double dx = e->x[slot] - t->x, dy = e->y[slot] - t->y, epsilon = w->config.move_epsilon;

    if (tell & (EVENT_TELL_SPEED | EVENT_TELL_FAR))
        return false;
    if (dx * dx + dy * dy >= epsilon * epsilon)
        return false;
    if (motion_angle(e->dir[slot], t->dir) >= w->dir_epsilon)
        return false;
    if (e->seen_new[slot] == w->tick)
        return false;
    return w->config.update_interval > 0 &&
           (t->pending_since == 0 || w->tick - t->pending_since < w->config.update_interval);
}

/* What viewers are told of it now (EVENT_TELL_*), keeping the books of what they were told. */
static uint8_t settle(struct world *w, uint32_t slot, bool *waits)
{
    struct entities *e = &w->entities;
    struct entity_told *t = &e->told[slot];
    struct entity_wire now = wire_of(w, slot);
    bool fresh = (e->flags[slot] & ENTITY_NEW) != 0;
    uint8_t tell = fresh ? 0 : wire_changes(&t->wire, &now);

    *waits = false;
    if (tell != 0 && may_wait(w, slot, tell)) {
        if (t->pending_since == 0)
            t->pending_since = w->tick;
        *waits = true;
        return 0;
    }
    if (tell != 0 && !w->sight.soft)
        ages_add(&w->ages, 0, t->pending_since ? w->tick - t->pending_since : 0, 1);
    t->pending_since = 0;
    if (fresh || tell != 0)
        *t = (struct entity_told){now, e->x[slot], e->y[slot], e->dir[slot], 0};
    return tell;
}

bool wire_settle(struct world *w, uint32_t slot)
{
    struct entities *e = &w->entities;

    if (e->told[slot].pending_since == 0)
        return false;
    e->told[slot] = (struct entity_told){wire_of(w, slot), e->x[slot], e->y[slot], e->dir[slot], 0};
    return true;
}

static void add_events(struct world *w, uint32_t slot, uint32_t from, uint32_t to, uint8_t tell)
{
    const struct entities *e = &w->entities;
    struct event ev = {
        .who = entities_ref(e, slot),
        .id = e->id[slot],
        .from = from,
        .to = to,
        .tick = w->tick,
    };

    if (from != to) {
        if (from != GRID_NONE)
            events_add(&w->events, EVENT_LEAVE, &ev);
        ev.tell = tell;
        events_add(&w->events, EVENT_ENTER, &ev);
    } else if (tell != 0) {
        ev.tell = tell;
        events_add(&w->events, EVENT_UPDATE, &ev);
    }
}

/* The dirty, ascending by id: out [dirty_count]. Returns how many are to be looked at. */
static uint32_t in_order(struct world *w, uint32_t *out)
{
    const struct entities *e = &w->entities;
    const struct places *p = &w->sight.places;
    uint32_t n = 0;

    if (w->sight.ranked && e->dirty_count > p->n / 8) { /* the ranks are in that order already */
        for (uint32_t rank = 0; rank < p->n; rank++) {
            uint32_t slot = known_slot(p->keys[rank]);

            out[n] = slot;
            n += e->flags[slot] & ENTITY_DIRTY;
        }
        return n;
    }
    for (uint32_t i = 0; i < e->dirty_count; i++) {
        uint32_t slot = e->dirty[i];

        if (e->flags[slot] & ENTITY_DIRTY)
            w->events.keys[0][n++] = (uint64_t)e->id[slot] << 32 | slot;
    }
    events_sort_keys(&w->events, n);
    for (uint32_t i = 0; i < n; i++)
        out[i] = (uint32_t)w->events.keys[0][i];
    return n;
}

void wire_decide(struct world *w, const uint32_t *from)
{
    struct entities *e = &w->entities;
    struct grid *g = &w->scenes.grid;
    uint32_t *order = arena_take(&w->scratch, ((size_t)e->dirty_count + 1) * sizeof(*order));
    uint32_t n, waiting = 0;

    ASSERT(order); /* sight left room */
    n = in_order(w, order);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t slot = order[i], cell = g->cell[slot], to = cell;
        bool waits;
        uint8_t tell = settle(w, slot, &waits);

        if (from) {
            cell = from[slot];
        } else if (e->flags[slot] & (ENTITY_MOVED | ENTITY_NEW)) {
            to = grid_cell(g, e->scene[slot], e->x[slot], e->y[slot]);
            g->cell[slot] = to;
        }
        add_events(w, slot, cell, to, tell);
        e->flags[slot] = (uint8_t)((e->flags[slot] & ENTITY_GHOST) | (waits ? ENTITY_DIRTY : 0));
        if (waits) {
            e->dirty_at[slot] = waiting;
            e->dirty[waiting++] = slot;
        }
    }
    e->dirty_count = waiting;
    events_sort(&w->events);
}
