/* world/interest/soft_due.c: whose turn it is, in soft sight.
 * One byte a pair is looked through, sixteen at a time where the processor has instructions for
 * that; who is found is measured anew, gets its next turn, and is compared with what the viewer was
 * told of it.
 * May touch: what soft.h may, the compiler's vector intrinsics.
 */
#include "world/interest/soft_work.h"

#include "world/interest/wire.h"

#include <math.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define AHEAD 8 /* turns whose memory is brought in advance */

/* Bits for those of sixteen parts that are one of `due` [n]. */
static inline uint32_t due_sixteen(const uint8_t *part, const uint8_t *due, uint32_t n)
{
#ifdef __SSE2__
    __m128i parts = _mm_loadu_si128((const __m128i *)(const void *)part), found;

    found = _mm_cmpeq_epi8(parts, _mm_set1_epi8((char)due[0]));
    for (uint32_t i = 1; i < n; i++)
        found = _mm_or_si128(found, _mm_cmpeq_epi8(parts, _mm_set1_epi8((char)due[i])));
    return (uint32_t)_mm_movemask_epi8(found);
#else
    uint32_t bits = 0;

    for (uint32_t i = 0; i < 16; i++) {
        for (uint32_t k = 0; k < n; k++)
            bits |= (uint32_t)(part[i] == due[k]) << i;
    }
    return bits;
#endif
}

/* One viewer's turn. */
struct turn {
    struct world *w;
    struct soft *s;
    struct soft_work *k;
    uint32_t viewer;
    uint64_t at; /* of the viewer's list */
    double x, y; /* of the viewer */
    uint8_t scene;
    bool budget;                    /* not all may go in this tick */
    uint32_t share[SOFT_TIERS_MAX]; /* of a tier's pairs, in one turn */
    bool lazy;                      /* of part 0 it was told what all were told */
    uint32_t order;
};

/* Its next turn: in the tier it stands in; elsewhere in it, where this turn carries more than its
 * share. */
static inline void next_turn(const struct turn *t, uint32_t place, uint32_t tier)
{
    struct soft *s = t->s;
    uint8_t part = s->part[t->at + place];

    if (part < s->n_parts && s->tier_of[part] == tier) {
        if (s->load[(size_t)t->viewer * s->n_parts + part] <= t->share[tier])
            return;
    }
    soft_list_turn(s, t->viewer, place, tier);
}

/* The ticks that one at this distance lets the nearest go first. */
static uint32_t slack_of(const struct soft *s, double d2)
{
    double part = d2 / s->work->radius2[s->rules.n_tiers - 1];

    return part < 1 ? (uint32_t)(part * SOFT_SLACK) : SOFT_SLACK;
}

/* At most so many bytes, whoever goes before it. */
static uint8_t bytes_of(uint32_t id, uint8_t tell)
{
    uint32_t head = id < 1u << 5    ? 1
                    : id < 1u << 12 ? 2
                    : id < 1u << 19 ? 3
                    : id < 1u << 26 ? 4
                                    : 5;

    return (uint8_t)(head + 4 + ((tell & EVENT_TELL_DIR) != 0) + ((tell & EVENT_TELL_SPEED) != 0));
}

static inline uint8_t changes_of(const struct soft_told *told, const struct soft_body *b)
{
    struct entity_wire before = {
        .qx = told->qx, .qy = told->qy, .dir = told->dir, .speed = told->speed};

    return wire_changes(&before, &b->wire);
}

/* Its turn: is there anything to tell? */
static inline void compare(const struct turn *t, uint32_t place, uint32_t slot, bool waited,
                           uint32_t tier, double d2)
{
    struct soft_work *k = t->k;
    struct soft_told *told = &t->s->told[t->at + place];
    const struct soft_body *b = &t->s->bodies[slot];
    uint32_t tick = t->w->tick;
    uint8_t tell;

    if (!waited && b->tick < told->since) /* not as of its tick: there it may change later */
        return;
    tell = changes_of(told, b);
    if (tell & EVENT_TELL_FAR) {
        soft_work_settle(t->w, slot); /* an add is exact: is it as far in the end? */
        tell = changes_of(told, b);
    }
    if (tell == 0) {
        told->since = tick;
        return;
    }
    if (tell & EVENT_TELL_FAR) {
        k->far[k->n_far++] = t->s->keys[t->at + place];
        soft_work_told(t->w, t->viewer, place);
        return;
    }
    k->records[k->n_records] = (struct soft_record){
        .place = place,
        .slot = slot,
        .since = waited ? told->since : tick,
        .tell = tell,
        .tier = (uint8_t)tier,
        .goes = true,
    };
    if (t->budget) {
        k->records[k->n_records].deadline = k->records[k->n_records].since + slack_of(t->s, d2);
        k->records[k->n_records].bytes = bytes_of(known_id(t->s->keys[t->at + place]), tell);
    }
    k->n_records++;
}

/* What this viewer was told of one who was settled behind its back; NULL: it was not. */
static inline const struct entity_wire *missed_of(const struct turn *t, uint32_t slot,
                                                  const struct soft_body *b)
{
    const struct soft_settled *c = &t->s->settled[slot];
    uint32_t tick = t->w->tick;

    if (b->settled + 1 < tick)
        return NULL;
    if (b->settled + 1 == tick)
        return t->order < b->settled_by ? &c->before : NULL;
    return c->last + 1 == tick && t->order < c->last_by ? &c->before_that : NULL;
}

/* One of whom this viewer was told in the last tick what all were told. */
static inline void due_lazy(const struct turn *t, uint32_t place, uint32_t slot, uint32_t tier,
                            double d2)
{
    struct soft *s = t->s;
    struct soft_work *k = t->k;
    const struct soft_body *b = &s->bodies[slot];
    struct soft_told *told = &s->told[t->at + place];
    const struct entity_wire *missed = missed_of(t, slot, b), *wire = missed ? missed : &b->wire;
    bool changed = b->tick == t->w->tick && b->tell != 0;

    if (!missed && !(changed && (b->tell & EVENT_TELL_FAR))) {
        if (changed)
            k->records[k->n_records++] =
                (struct soft_record){.place = place, .slot = slot, .goes = true};
        if (tier == 0)
            return;
    }
    *told = (struct soft_told){.qx = wire->qx,
                               .qy = wire->qy,
                               .since = t->w->tick - (missed != NULL),
                               .gen = told->gen,
                               .dir = wire->dir,
                               .speed = wire->speed};
    next_turn(t, place, tier);
    if (missed) {
        compare(t, place, slot, false, tier, d2);
    } else if (changed && (b->tell & EVENT_TELL_FAR)) {
        k->far[k->n_far++] = s->keys[t->at + place];
    }
}

static inline void due(const struct turn *t, uint32_t place)
{
    struct soft *s = t->s;
    uint64_t at = t->at + place;
    uint32_t slot = known_slot(s->keys[at]), tier;
    const struct soft_body *b = &s->bodies[slot];
    double dx = b->x - t->x, dy = b->y - t->y, d2 = dx * dx + dy * dy;
    bool waited = s->part[at] == SOFT_WAIT;

    if (b->scene != t->scene || (d2 > t->k->keep2 && !s->by_look)) {
        t->k->gone[t->k->n_gone++] = s->keys[at];
        soft_list_erase(s, t->viewer, place);
        return;
    }
    tier = soft_work_tier(s, d2);
    if (t->lazy && s->part[at] == 0) {
        due_lazy(t, place, slot, tier, d2);
        return;
    }
    next_turn(t, place, tier);
    compare(t, place, slot, waited, tier, d2);
}

/* --- a viewer's turns ------------------------------------------------------------------------ */

/* The places of all. */
static uint32_t collect_all(const struct soft *s, const struct soft_viewer *v, uint32_t *out)
{
    const uint8_t *part = s->part + v->at;
    uint32_t n = 0;

    for (uint32_t i = 0; i < v->span; i++) {
        out[n] = i;
        n += part[i] != SOFT_HOLE;
    }
    return n;
}

/* The places whose part is one of `due` [n_due]. */
static uint32_t collect(const struct soft *s, const struct soft_viewer *v, const uint8_t *due,
                        uint32_t n_due, uint32_t *out)
{
    const uint8_t *part = s->part + v->at;
    uint32_t n = 0;

    for (uint32_t i = 0; i < v->span; i += 64) {
        uint64_t bits = 0;

        for (uint32_t k = 0; k < 64; k += 16)
            bits |= (uint64_t)due_sixteen(part + i + k, due, n_due) << k;
        if (v->span - i < 64)
            bits &= (1ull << (v->span - i)) - 1;
        for (; bits != 0; bits &= bits - 1)
            out[n++] = i + (uint32_t)__builtin_ctzll(bits);
    }
    return n;
}

/* Those of part 0 [n] of whom the viewer was told what all were told: who stays near and changed is
 * told by the tail that all get. The others' places go to `odd`, ascending; returns how many. No
 * branch depends on who it is. */
static uint32_t near_turns(const struct turn *t, const uint32_t *places, uint32_t n, uint32_t *odd)
{
    const struct soft *s = t->s;
    const uint64_t *keys = s->keys + t->at;
    const double stay2 = s->rules.n_tiers > 1 ? t->k->radius2[0]
                         : s->by_look         ? (double)INFINITY
                                              : t->k->keep2;
    const uint32_t tick = t->w->tick;
    struct soft_shared *shared = t->k->shared;
    uint32_t n_odd = 0, n_shared = 0;

    for (uint32_t i = 0; i < n; i++) {
        uint32_t place = places[i], slot = known_slot(keys[place]);
        const struct soft_body *b = &s->bodies[slot];
        double dx = b->x - t->x, dy = b->y - t->y;
        bool changed = (b->tick == tick) & (b->tell != 0);
        bool stays = (dx * dx + dy * dy <= stay2) & (b->scene == t->scene) &
                     (b->settled + 1 < tick) & !(changed & ((b->tell & EVENT_TELL_FAR) != 0));

        if (i + 2 * AHEAD < n)
            __builtin_prefetch(&keys[places[i + 2 * AHEAD]]);
        if (i + AHEAD < n)
            __builtin_prefetch(&s->bodies[known_slot(keys[places[i + AHEAD]])]);
        shared[n_shared] = (struct soft_shared){place, slot};
        n_shared += stays & changed;
        odd[n_odd] = place;
        n_odd += !stays;
    }
    t->k->n_shared = n_shared;
    return n_odd;
}

/* One by one, in the order of two lists. */
static void other_turns(const struct turn *t, const uint32_t *a, uint32_t n_a, const uint32_t *b,
                        uint32_t n_b)
{
    const struct soft *s = t->s;
    uint32_t i = 0, j = 0;

    while (i < n_a || j < n_b) {
        if (i + 2 * AHEAD < n_a) { /* too far apart for the processor to guess */
            __builtin_prefetch(&s->keys[t->at + a[i + 2 * AHEAD]]);
            __builtin_prefetch(&s->told[t->at + a[i + 2 * AHEAD]], 1);
        }
        if (i + AHEAD < n_a)
            __builtin_prefetch(&s->bodies[known_slot(s->keys[t->at + a[i + AHEAD]])]);
        if (j == n_b || (i < n_a && a[i] < b[j]))
            due(t, a[i++]);
        else
            due(t, b[j++]);
    }
}

void soft_due(struct world *w, uint32_t viewer, bool budget)
{
    struct soft *s = w->sight.soft;
    struct soft_work *k = s->work;
    const struct soft_viewer *v = &s->viewers[viewer];
    struct turn t = {
        .w = w,
        .s = s,
        .k = k,
        .viewer = viewer,
        .at = v->at,
        .x = w->entities.x[viewer],
        .y = w->entities.y[viewer],
        .scene = w->entities.scene[viewer],
        .budget = budget,
        .lazy = (v->flags & SOFT_LAZY) != 0,
        .order = v->order,
    };
    uint32_t n, n_odd = 0;

    for (uint32_t tier = 0; tier < s->rules.n_tiers; tier++)
        t.share[tier] = (v->in_tier[tier] + s->rules.every[tier] - 1) / s->rules.every[tier];
    if (v->flags & SOFT_ALL) {
        n = collect_all(s, v, k->places);
    } else if (t.lazy) { /* due[0] is part 0 */
        n = collect(s, v, k->due, 1, k->places);
        n_odd = near_turns(&t, k->places, n, k->odd);
        n = collect(s, v, k->due + 1, k->n_due - 1, k->places);
    } else {
        n = collect(s, v, k->due, k->n_due, k->places);
    }
    other_turns(&t, k->places, n, k->odd, n_odd);
}
