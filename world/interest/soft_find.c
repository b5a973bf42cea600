/* world/interest/soft_find.c: who is in a viewer's sight, in soft sight.
 * Turn by turn: in each tier those whose slot's turn it is are looked at in the index of that tier;
 * who is known there already is passed over by its bit. Or as a whole, at a viewer's refresh, with
 * a cap, and where all around it is new: all known, then all around.
 * May touch: what soft.h may.
 */
#include "world/interest/soft_work.h"

#include <math.h>
#include <string.h>

#define MANY 16 /* newcomers who are merged into a list all at once */

/* --- one comes, one goes --------------------------------------------------------------------- */

static void drop(struct soft *s, uint32_t viewer, uint32_t place)
{
    struct soft_work *k = s->work;

    k->gone[k->n_gone++] = s->keys[s->viewers[viewer].at + place];
    soft_list_erase(s, viewer, place);
}

/* False: there is no room. */
static bool take(struct world *w, uint32_t viewer, uint32_t slot, uint32_t tier)
{
    struct soft *s = w->sight.soft;
    uint64_t key = known_key(w->entities.id[slot], slot);
    uint32_t place = soft_list_insert(s, viewer, key);

    if (place == SOFT_NONE) {
        s->deferred++;
        s->full = true;
        return false;
    }
    soft_list_bits(s, viewer, slot, tier); /* its turn is now: it will find that all is told */
    soft_work_settle(w, slot);
    soft_work_told(w, viewer, place);
    s->work->added[s->work->n_added++] = key;
    return true;
}

/* One who is known has come so near: if that is nearer than its turn says, its turn is now. */
static void come_near(struct soft *s, uint32_t viewer, uint32_t place, uint32_t tier)
{
    uint64_t at = s->viewers[viewer].at + place;
    uint8_t part = s->part[at];

    if (part < s->n_parts && s->tier_of[part] <= tier)
        return;
    soft_list_bits(s, viewer, known_slot(s->keys[at]), tier);
    if (part < s->n_parts)
        soft_list_mark(s, viewer, place, SOFT_NOW);
}

/* The tier of a pair's turn; beyond all where it is now, or waits. */
static uint32_t tier_at(const struct soft *s, uint32_t viewer, uint32_t place)
{
    uint8_t part = s->part[s->viewers[viewer].at + place];

    return part < s->n_parts ? s->tier_of[part] : SOFT_TIERS_MAX;
}

/* --- turn by turn ---------------------------------------------------------------------------- */

static void find_in_tier(struct world *w, uint32_t viewer, uint32_t tier)
{
    struct soft *s = w->sight.soft;
    const struct entities *e = &w->entities;
    uint32_t *hits = s->work->hits, n = soft_field_near(s->fields[tier], e, viewer, hits);

    for (uint32_t i = 0; i < n; i++) {
        uint32_t slot = hits[i], place, now;

        if (soft_list_bit(s, viewer, slot, tier))
            continue;
        now = soft_work_tier(s, soft_work_distance2(e, viewer, slot));
        place = soft_list_find(s, &s->viewers[viewer], known_key(e->id[slot], slot));
        if (place == SOFT_NONE)
            (void)take(w, viewer, slot, now);
        else if (tier_at(s, viewer, place) > tier) /* as its bit would have said */
            come_near(s, viewer, place, now);
    }
}

/* Those who ended are gone at once. */
static void find_dead(struct soft *s, uint32_t viewer)
{
    const struct soft_work *k = s->work;
    const struct soft_viewer *v = &s->viewers[viewer];

    for (uint32_t i = 0; i < k->n_dying; i++) {
        uint32_t slot = known_slot(k->dying[i]), place;

        if (viewer < s->bits_slots && slot < s->bits_slots &&
            !soft_list_bit(s, viewer, slot, s->rules.n_tiers - 1))
            continue;
        place = soft_list_find(s, v, k->dying[i]);
        if (place != SOFT_NONE)
            drop(s, viewer, place);
    }
}

/* --- as a whole ------------------------------------------------------------------------------ */

/* Is the one of this pair still there, and in sight for one who is known? */
static bool stays(const struct world *w, uint32_t viewer, uint64_t at, double *d2)
{
    const struct soft *s = w->sight.soft;
    const struct entities *e = &w->entities;
    uint32_t slot = known_slot(s->keys[at]);

    if (e->id[slot] != known_id(s->keys[at]) || (e->flags[slot] & ENTITY_DYING) ||
        s->told[at].gen != (uint16_t)e->slots.gen[slot] || e->scene[slot] != e->scene[viewer])
        return false;
    *d2 = soft_work_distance2(e, viewer, slot);
    return *d2 <= s->work->keep2;
}

/* Note one who may be kept: those always seen first, then by distance, where newcomers count as
 * further away than they are. */
static void consider(const struct world *w, uint32_t viewer, uint32_t n, struct soft_choice c)
{
    const struct soft *s = w->sight.soft;
    struct soft_work *k = s->work;
    double d = sqrt(soft_work_distance2(&w->entities, viewer, c.slot));
    uint32_t bits = 0;
    float rank;

    d = soft_work_rank(d, c.place != SOFT_NONE);
    if (!soft_list_always(&s->viewers[viewer], w->entities.id[c.slot])) {
        rank = (float)d; /* not negative, so its bits are in its order */
        memcpy(&bits, &rank, sizeof(bits));
        bits++;
    }
    k->choices[n] = c;
    k->ranks[n] = (uint64_t)bits << 32 | n;
}

/* Bring the `want` smallest to the front, in any order. */
static void select_least(uint64_t *keys, uint32_t n, uint32_t want)
{
    uint32_t low = 0, high = n; /* the border lies within */
    int turns = 0;

    while (high - low > 1 && want > low && want < high) {
        uint64_t a = keys[low], b = keys[low + (high - low) / 2], c = keys[high - 1];
        uint64_t pivot = a < b ? (b < c ? b : a < c ? c : a) : (a < c ? a : b < c ? c : b);
        uint32_t i = low, j = high - 1;

        if (++turns > 100) { /* an order that somebody made for it */
            known_sort(keys + low, high - low);
            return;
        }
        for (;;) {
            while (keys[i] < pivot)
                i++;
            while (keys[j] > pivot)
                j--;
            if (i >= j)
                break;
            uint64_t t = keys[i];
            keys[i++] = keys[j];
            keys[j--] = t;
        }
        if (want < i || (i == j && want == i)) /* i == j: the pivot, in its place */
            high = i;
        else
            low = i == j ? i + 1 : i;
    }
}

/* Of all who may be kept those that are; the others go, or are hidden. */
static void keep_nearest(struct world *w, uint32_t viewer, uint32_t n)
{
    struct soft *s = w->sight.soft;
    struct soft_work *k = s->work;
    uint32_t keep = n < s->rules.max ? n : s->rules.max, hidden = 0;
    bool full = false;

    select_least(k->ranks, n, keep);
    for (uint32_t i = keep; i < n; i++) {
        const struct soft_choice *c = &k->choices[(uint32_t)k->ranks[i]];

        hidden += c->in;
        if (c->place != SOFT_NONE)
            drop(s, viewer, c->place);
    }
    for (uint32_t i = 0; i < keep; i++) {
        const struct soft_choice *c = &k->choices[(uint32_t)k->ranks[i]];
        double d2 = soft_work_distance2(&w->entities, viewer, c->slot);

        if (c->place == SOFT_NONE && !take(w, viewer, c->slot, soft_work_tier(s, d2))) {
            hidden++;
            full = true;
        }
    }
    s->viewers[viewer].hidden = hidden;
    if (full)
        s->viewers[viewer].flags |= SOFT_LOOK;
}

/* Of those who are known: who is gone, who is to be told at once; marks who stays. Returns how many
 * are noted as choices. */
static uint32_t look_known(struct world *w, uint32_t viewer)
{
    struct soft *s = w->sight.soft;
    struct soft_work *k = s->work;
    const struct soft_viewer *v = &s->viewers[viewer];
    const double in2 = k->radius2[s->rules.n_tiers - 1];
    uint32_t n = 0;

    if (++k->mark_now == 0) {
        memset(k->mark, 0, s->cap * sizeof(*k->mark));
        k->mark_now = 1;
    }
    for (uint32_t i = 0; i < v->span; i++) {
        uint32_t slot = known_slot(s->keys[v->at + i]);
        double d2;

        if (s->part[v->at + i] == SOFT_HOLE)
            continue;
        if (!stays(w, viewer, v->at + i, &d2)) {
            drop(s, viewer, i);
            continue;
        }
        k->mark[slot] = k->mark_now;
        come_near(s, viewer, i, soft_work_tier(s, d2));
        if (s->rules.max > 0)
            consider(w, viewer, n++, (struct soft_choice){slot, i, d2 <= in2});
    }
    return n;
}

/* Those who are new, [n] keys in `added`, all at once, if there is room for that. */
static bool take_many(struct world *w, uint32_t viewer, uint32_t n)
{
    struct soft *s = w->sight.soft;
    struct soft_work *k = s->work;
    const struct soft_viewer *v = &s->viewers[viewer];
    uint32_t at = 0;

    if (n < MANY || !soft_list_insert_all(s, viewer, k->added, n))
        return false;
    for (uint32_t i = 0; at < n; i++) {
        uint32_t slot = known_slot(k->added[at]);

        if (s->keys[v->at + i] != k->added[at] || s->part[v->at + i] == SOFT_HOLE)
            continue;
        soft_list_bits(s, viewer, slot,
                       soft_work_tier(s, soft_work_distance2(&w->entities, viewer, slot)));
        soft_work_settle(w, slot);
        soft_work_told(w, viewer, i);
        at++;
    }
    k->n_added = n;
    return true;
}

/* Those who are new, [n] keys in `added`. */
static void take_all(struct world *w, uint32_t viewer, uint32_t n)
{
    struct soft *s = w->sight.soft;
    struct soft_work *k = s->work;

    soft_work_sort(k, k->added, n);
    if (take_many(w, viewer, n))
        return;
    for (uint32_t i = 0; i < n; i++) { /* what is taken is noted where it was read */
        uint32_t slot = known_slot(k->added[i]);
        double d2 = soft_work_distance2(&w->entities, viewer, slot);

        if (!take(w, viewer, slot, soft_work_tier(s, d2)))
            s->viewers[viewer].flags |= SOFT_LOOK;
    }
}

static void look(struct world *w, uint32_t viewer)
{
    struct soft *s = w->sight.soft;
    struct soft_work *k = s->work;
    struct soft_field *all = s->fields[SOFT_TIERS_MAX];
    const struct entities *e = &w->entities;
    uint32_t n, hits, fresh = 0;

    if (all->tick != w->tick)
        soft_field_fill(all, e, w->tick, 1, 0);
    s->viewers[viewer].flags &= (uint8_t)~SOFT_LOOK;
    n = look_known(w, viewer);
    hits = soft_field_near(all, e, viewer, k->hits);
    for (uint32_t i = 0; i < hits; i++) {
        uint32_t slot = k->hits[i];

        if (k->mark[slot] == k->mark_now)
            continue;
        if (s->rules.max > 0)
            consider(w, viewer, n++, (struct soft_choice){slot, SOFT_NONE, true});
        else
            k->added[fresh++] = known_key(e->id[slot], slot);
    }
    if (s->rules.max > 0)
        keep_nearest(w, viewer, n);
    else
        take_all(w, viewer, fresh);
    k->found = true;
}

/* --------------------------------------------------------------------------------------------- */

/* Is it the viewer's time to look at all around? */
static bool looks(const struct world *w, uint32_t viewer)
{
    const struct soft *s = w->sight.soft;
    const struct soft_viewer *v = &s->viewers[viewer];
    const struct entities *e = &w->entities;
    double dx = e->x[viewer] - v->x, dy = e->y[viewer] - v->y;

    if (v->flags & SOFT_LOOK)
        return true;
    if (s->by_look && (w->tick + viewer) % s->rules.refresh == 0)
        return true;
    return e->scene[viewer] != v->scene || dx * dx + dy * dy > s->work->jump2;
}

void soft_find(struct world *w, uint32_t viewer)
{
    struct soft *s = w->sight.soft;

    if (looks(w, viewer)) {
        look(w, viewer);
        return;
    }
    find_dead(s, viewer);
    for (uint32_t t = 0; t < s->rules.n_tiers && !s->by_look; t++)
        find_in_tier(w, viewer, t);
}
