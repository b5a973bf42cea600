/* world/interest/soft.c: see the header: viewers come and go, and a tick goes through them. */
#include "world/interest/soft.h"

#include "common/err.h"
#include "world/interest/soft_work.h"
#include "world/interest/wire.h"

#include <stdlib.h>
#include <string.h>

bool soft_wanted(const struct soft_rules *r)
{
    return r->n_tiers > 1 || r->every[0] > 1 || r->refresh > 1 || r->max > 0 || r->viewer_bytes > 0;
}

/* --- made and ended -------------------------------------------------------------------------- */

static void number_parts(struct soft *s)
{
    for (uint32_t t = 0; t < s->rules.n_tiers; t++) {
        s->base[t] = s->n_parts;
        for (uint32_t i = 0; i < s->rules.every[t]; i++)
            s->tier_of[s->n_parts++] = (uint8_t)t;
    }
    ASSERT(s->n_parts <= SOFT_PARTS_MAX);
}

static int fields_create(struct soft *s, const struct scenes *scenes)
{
    const struct soft_rules *r = &s->rules;
    int err = 0;

    for (uint32_t t = 0; err == 0 && t < r->n_tiers && !s->by_look; t++)
        err = soft_field_create(scenes, r->radius[t], s->cap, &s->fields[t]);
    if (err == 0)
        err = soft_field_create(scenes, r->radius[r->n_tiers - 1], s->cap,
                                &s->fields[SOFT_TIERS_MAX]);
    return err;
}

int soft_create(const struct soft_rules *rules, const struct scenes *scenes, uint32_t cap,
                uint64_t max_pairs, struct soft **out)
{
    struct soft *s = calloc(1, sizeof(*s));

    if (!s)
        return E_NOMEM;
    s->rules = *rules;
    s->cap = cap;
    s->by_look = rules->refresh > 1 || rules->max > 0;
    number_parts(s);
    s->bodies = aligned_alloc(_Alignof(struct soft_body), cap * sizeof(*s->bodies));
    s->settled = calloc(cap, sizeof(*s->settled));
    if (s->bodies)
        memset(s->bodies, 0, cap * sizeof(*s->bodies));
    if (!s->bodies || !s->settled || soft_list_init(s, max_pairs) != 0 ||
        fields_create(s, scenes) != 0 || soft_work_create(s, &s->work) != 0) {
        soft_destroy(s);
        return E_NOMEM;
    }
    *out = s;
    return 0;
}

void soft_destroy(struct soft *s)
{
    if (!s)
        return;
    for (uint32_t i = 0; i <= SOFT_TIERS_MAX; i++)
        soft_field_destroy(s->fields[i]);
    soft_work_destroy(s->work);
    soft_list_fini(s);
    free(s->bodies);
    free(s->settled);
    free(s);
}

/* --- viewers --------------------------------------------------------------------------------- */

void soft_watch(struct soft *s, uint32_t viewer)
{
    struct soft_viewer *v = &s->viewers[viewer];

    ASSERT(v->flags == 0);
    v->flags = SOFT_VIEWER | SOFT_LOOK;
    v->hidden = v->hidden_told = v->drain = 0;
    v->credit = 0;
    v->seat = s->n_seats;
    s->seat[s->n_seats++] = viewer;
}

void soft_afresh(struct soft *s, uint32_t viewer)
{
    struct soft_viewer *v = &s->viewers[viewer];

    if (v->flags == 0)
        return;
    s->cleared += soft_list_clear(s, viewer);
    v->hidden = v->hidden_told = 0;
    v->flags |= SOFT_LOOK;
}

void soft_blind(struct soft *s, uint32_t viewer)
{
    struct soft_viewer *v = &s->viewers[viewer];
    uint32_t last;

    if (v->flags == 0)
        return;
    s->cleared += soft_list_clear(s, viewer);
    last = s->seat[--s->n_seats];
    s->seat[v->seat] = last;
    s->viewers[last].seat = v->seat;
    v->flags = 0;
}

void soft_forget(struct soft *s, uint32_t viewer)
{
    soft_blind(s, viewer);
    s->viewers[viewer].n_always = 0;
}

void soft_hold(struct soft *s, uint32_t viewer)
{
    soft_work_note(s, viewer);
    s->viewers[viewer].flags |= SOFT_HELD;
    s->holds++;
}

void soft_release(struct soft *s, uint32_t viewer)
{
    struct soft_viewer *v = &s->viewers[viewer];

    ASSERT(v->flags & SOFT_HELD);
    v->flags = SOFT_VIEWER | SOFT_LOOK | SOFT_ALL;
}

bool soft_watches(const struct soft *s, uint32_t slot)
{
    return s->viewers[slot].flags != 0;
}

bool soft_knows(const struct soft *s, uint32_t viewer, uint64_t key)
{
    return soft_list_find(s, &s->viewers[viewer], key) != SOFT_NONE;
}

uint32_t soft_list(const struct soft *s, uint32_t viewer, uint64_t *out)
{
    const struct soft_viewer *v = &s->viewers[viewer];
    uint32_t n = 0;

    for (uint32_t i = 0; i < v->span; i++) {
        if (s->part[v->at + i] != SOFT_HOLE)
            out[n++] = s->keys[v->at + i];
    }
    return n;
}

uint32_t soft_knowers(const struct soft *s, uint64_t key, uint32_t *out)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < s->n_seats; i++) {
        if (soft_knows(s, s->seat[i], key))
            out[n++] = s->seat[i];
    }
    return n;
}

void soft_drain(struct world *w, uint32_t viewer, uint32_t bytes_per_tick)
{
    struct soft *s = w->sight.soft;

    if (!s || s->viewers[viewer].flags == 0)
        return;
    if (bytes_per_tick > 0 && bytes_per_tick < SOFT_BYTES_MIN)
        bytes_per_tick = SOFT_BYTES_MIN;
    if (bytes_per_tick > 0)
        soft_work_note(s, viewer);
    s->viewers[viewer].drain = bytes_per_tick;
}

/* --- those who are always seen --------------------------------------------------------------- */

int soft_always_add(struct world *w, uint32_t viewer, uint32_t id)
{
    struct soft *s = w->sight.soft;
    struct soft_viewer *v;

    if (!s || s->rules.max == 0 || s->viewers[viewer].flags == 0)
        return E_BAD;
    v = &s->viewers[viewer];
    for (uint32_t i = 0; i < v->n_always; i++) {
        if (v->always[i] == id)
            return 0;
    }
    if (v->n_always == SOFT_ALWAYS_MAX)
        return E_FULL;
    v->always[v->n_always++] = id;
    return 0;
}

void soft_always_remove(struct world *w, uint32_t viewer, uint32_t id)
{
    struct soft *s = w->sight.soft;
    struct soft_viewer *v;

    if (!s)
        return;
    v = &s->viewers[viewer];
    for (uint32_t i = 0; i < v->n_always; i++) {
        if (v->always[i] == id)
            v->always[i--] = v->always[--v->n_always];
    }
}

/* --- a tick ---------------------------------------------------------------------------------- */

/* What the wire says of them has changed in this tick. */
static void note_changes(struct world *w)
{
    struct soft *s = w->sight.soft;

    for (int type = EVENT_ENTER; type <= EVENT_UPDATE; type++) {
        for (uint32_t i = 0; i < w->events.n[type]; i++) {
            const struct event *ev = &w->events.list[type][i];
            struct soft_body *b = &s->bodies[ev->who.slot];
            bool fresh = type == EVENT_ENTER && ev->from == GRID_NONE;

            if (!fresh && ev->tell == 0)
                continue;
            if (fresh || w->tick - b->tick > w->config.update_interval + 1)
                b->run = w->tick;
            b->tick = w->tick;
            b->tell = fresh ? 0 : ev->tell;
            b->tail = wire_tail(&w->entities.told[ev->who.slot].wire, b->tell);
        }
    }
}

static void note_bodies(struct world *w)
{
    struct soft *s = w->sight.soft;
    const struct entities *e = &w->entities;

    for (uint32_t i = 0; i < e->alive_count; i++) {
        uint32_t slot = e->alive[i];
        struct soft_body *b = &s->bodies[slot];

        b->x = e->x[slot];
        b->y = e->y[slot];
        b->wire = e->told[slot].wire;
        b->scene = e->scene[slot];
    }
}

/* Those who ended since the last tick: known_sort's order. */
static void note_dying(struct world *w)
{
    struct soft_work *k = w->sight.soft->work;
    const struct entities *e = &w->entities;

    k->n_dying = e->dying_count;
    for (uint32_t i = 0; i < e->dying_count; i++)
        k->dying[i] = known_key(e->id[e->dying[i]], e->dying[i]);
    known_sort(k->dying, k->n_dying);
}

/* Whose turn it is, and where they stand. */
static void begin(struct world *w)
{
    struct soft *s = w->sight.soft;
    struct soft_work *k = s->work;

    k->n_due = 0;
    for (uint32_t t = 0; t < s->rules.n_tiers; t++) {
        uint32_t every = s->rules.every[t], phase = w->tick % every;

        k->due[k->n_due++] = (uint8_t)(s->base[t] + phase);
        if (!s->by_look)
            soft_field_fill(s->fields[t], &w->entities, w->tick, every, phase);
    }
    k->due[k->n_due++] = SOFT_NOW;
    k->due[k->n_due++] = SOFT_WAIT;
    note_changes(w);
    note_bodies(w);
    note_dying(w);
    if (s->full) /* there may be room enough, but scattered */
        soft_list_compact(s);
    s->full = false;
    s->n_limited = s->worst_wait = 0;
}

static void run_viewer(struct world *w, uint32_t viewer)
{
    struct soft *s = w->sight.soft;
    struct soft_work *k = s->work;
    struct soft_viewer *v = &s->viewers[viewer];
    const struct entities *e = &w->entities;
    bool budget = s->rules.viewer_bytes > 0 || v->drain > 0;

    k->n_gone = k->n_added = k->n_far = k->n_records = k->n_shared = 0;
    k->found = false;
    soft_find(w, viewer);
    soft_due(w, viewer, budget);
    v->flags &= (uint8_t)~SOFT_ALL;
    if (!budget && s->rules.every[0] == 1)
        v->flags |= SOFT_LAZY;
    soft_tell(w, viewer);
    v->order = s->seat_now;
    v->x = e->x[viewer];
    v->y = e->y[viewer];
    v->scene = e->scene[viewer];
}

void soft_tick(struct world *w)
{
    struct soft *s = w->sight.soft;

    begin(w);
    for (uint32_t i = 0; i < s->n_seats; i++) {
        s->seat_now = i;
        if (!(s->viewers[s->seat[i]].flags & SOFT_HELD))
            run_viewer(w, s->seat[i]);
    }
    s->tick = w->tick;
    s->n_capped = 0;
    s->hidden = 0;
    for (uint32_t i = 0; s->rules.max > 0 && i < s->n_seats; i++) {
        s->n_capped += s->viewers[s->seat[i]].hidden > 0;
        s->hidden += s->viewers[s->seat[i]].hidden;
    }
    soft_books(s, &w->sight);
    events_clear(&w->events);
}

/* --- the books ------------------------------------------------------------------------------- */

void soft_books(const struct soft *s, struct sight *into)
{
    into->pairs = s->pairs;
    into->added = s->added;
    into->removed = s->removed;
    into->cleared = s->cleared;
    into->holds = s->holds;
    into->deferred = s->deferred;
}

static void validate_viewer(const struct soft *s, uint32_t viewer)
{
    const struct soft_viewer *v = &s->viewers[viewer];
    const uint32_t *load = s->load + (size_t)viewer * s->n_parts;
    uint32_t n = 0, turns = 0;
    uint64_t last = 0;

    for (uint32_t i = 0; i < v->span; i++) {
        uint64_t key = s->keys[v->at + i];

        ASSERT(i == 0 || s->keys[v->at + i - 1] <= key);
        if (s->part[v->at + i] == SOFT_HOLE)
            continue;
        ASSERT(key > last);
        ASSERT(s->part[v->at + i] < s->n_parts || s->part[v->at + i] == SOFT_WAIT ||
               (v->flags & SOFT_HELD) != 0);
        ASSERT(soft_list_find(s, v, key) == i);
        last = key;
        n++;
        turns += s->part[v->at + i] < s->n_parts;
    }
    ASSERT(n == v->n);
    for (uint32_t p = 0; p < s->n_parts; p++)
        turns -= load[p];
    ASSERT(turns == 0);
}

void soft_validate(const struct soft *s, const struct entities *e)
{
    uint64_t pairs = 0;

    for (uint32_t i = 0; i < s->n_seats; i++) {
        ASSERT(s->viewers[s->seat[i]].seat == i);
        ASSERT(e->id[s->seat[i]] != 0);
        validate_viewer(s, s->seat[i]);
        pairs += s->viewers[s->seat[i]].n;
    }
    ASSERT(pairs == s->pairs);
    ASSERT(s->added - s->removed - s->cleared == s->pairs);
}
