/* world/interest/soft_due.c: whose turn it is, in soft sight.
 * One byte a pair is looked through, sixteen at a time where the processor has instructions for
 * that; who is found is measured anew, gets its next turn, and is compared with what the viewer was
 * told of it.
 * May touch: what soft.h may, the compiler's vector intrinsics.
 */
#include "world/interest/soft_work.h"

#include "world/interest/wire.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define AHEAD 12 /* turns whose memory is brought in advance */

/* Bits for those of sixteen parts whose turn it is. */
static inline uint32_t due_sixteen(const struct soft_work *k, const uint8_t *part)
{
#ifdef __SSE2__
    __m128i parts = _mm_loadu_si128((const __m128i *)(const void *)part), found;

    found = _mm_cmpeq_epi8(parts, _mm_set1_epi8((char)k->due[0]));
    for (uint32_t i = 1; i < k->n_due; i++)
        found = _mm_or_si128(found, _mm_cmpeq_epi8(parts, _mm_set1_epi8((char)k->due[i])));
    return (uint32_t)_mm_movemask_epi8(found);
#else
    uint32_t bits = 0;

    for (uint32_t i = 0; i < 16; i++)
        bits |= (uint32_t)k->turn[part[i]] << i;
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
    bool budget; /* not all may go in this tick */
    bool lazy;   /* of part 0 it was told what all were told */
    uint32_t order;
};

/* Its next turn: in the tier it stands in; elsewhere in it, where this turn carries more than its
 * share. */
static inline void next_turn(const struct turn *t, uint32_t place, uint32_t tier)
{
    struct soft *s = t->s;
    uint8_t part = s->part[t->at + place];
    uint32_t every = s->rules.every[tier], share;

    if (part < s->n_parts && s->tier_of[part] == tier) {
        if (every == 1)
            return;
        share = (s->viewers[t->viewer].in_tier[tier] + every - 1) / every;
        if (s->load[(size_t)t->viewer * s->n_parts + part] <= share)
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
        k->n_shared += changed;
        if (tier == 0)
            return;
    }
    *told = (struct soft_told){.qx = wire->qx,
                               .qy = wire->qy,
                               .since = missed ? 0 : t->w->tick,
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

/* The places of those whose turn it is. */
static uint32_t collect(const struct soft *s, const struct soft_viewer *v, uint32_t *out)
{
    const uint8_t *part = s->part + v->at;
    uint32_t n = 0;

    if (v->flags & SOFT_ALL) {
        for (uint32_t i = 0; i < v->span; i++) {
            out[n] = i;
            n += part[i] != SOFT_HOLE;
        }
        return n;
    }
    for (uint32_t i = 0; i < v->span; i += 16) {
        uint32_t bits = due_sixteen(s->work, part + i);

        if (v->span - i < 16)
            bits &= (1u << (v->span - i)) - 1;
        for (; bits != 0; bits &= bits - 1)
            out[n++] = i + (uint32_t)__builtin_ctz(bits);
    }
    return n;
}

void soft_due(struct world *w, uint32_t viewer, bool budget)
{
    struct soft *s = w->sight.soft;
    const struct soft_viewer *v = &s->viewers[viewer];
    const uint32_t *places = s->work->places;
    struct turn t = {
        .w = w,
        .s = s,
        .k = s->work,
        .viewer = viewer,
        .at = v->at,
        .x = w->entities.x[viewer],
        .y = w->entities.y[viewer],
        .scene = w->entities.scene[viewer],
        .budget = budget,
        .lazy = (v->flags & SOFT_LAZY) != 0,
        .order = v->order,
    };
    uint32_t n = collect(s, v, s->work->places);

    for (uint32_t i = 0; i < n; i++) {
        if (i + AHEAD < n) { /* they lie far apart, too far for the processor to guess */
            __builtin_prefetch(&s->keys[v->at + places[i + AHEAD]]);
            __builtin_prefetch(&s->told[v->at + places[i + AHEAD]], 1);
        }
        due(&t, places[i]);
    }
}
