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

/* Its next turn: in the tier it stands in; elsewhere in it, where this turn carries more than its
 * share. */
static void next_turn(struct soft *s, uint32_t viewer, uint32_t place, uint32_t tier)
{
    const struct soft_viewer *v = &s->viewers[viewer];
    uint8_t part = s->part[v->at + place];
    uint32_t every = s->rules.every[tier];

    if (part < s->n_parts && s->tier_of[part] == tier) {
        uint32_t share = (v->in_tier[tier] + every - 1) / every;

        if (s->load[(size_t)viewer * s->n_parts + part] <= share)
            return;
    }
    soft_list_turn(s, viewer, place, tier);
}

static struct entity_wire wire_told(const struct soft_told *t)
{
    return (struct entity_wire){.qx = t->qx, .qy = t->qy, .dir = t->dir, .speed = t->speed};
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

/* Its turn: is there anything to tell? */
static void compare(struct world *w, uint32_t viewer, uint32_t place, bool waited, double d2)
{
    struct soft *s = w->sight.soft;
    struct soft_work *k = s->work;
    uint64_t at = s->viewers[viewer].at + place;
    struct soft_told *told = &s->told[at];
    uint32_t slot = known_slot(s->keys[at]), tier = soft_work_tier(s, d2);
    struct entity_wire before = wire_told(told);
    uint8_t tell;

    if (!waited && s->changes[slot].tick < told->since) /* later in a tick it may change anew */
        return;
    tell = wire_changes(&before, &w->entities.told[slot].wire);
    if ((tell & EVENT_TELL_FAR) && wire_settle(w, slot)) { /* is it so far in the end? */
        s->changes[slot].tick = w->tick;
        tell = wire_changes(&before, &w->entities.told[slot].wire);
    }
    if (tell == 0) {
        told->since = w->tick;
        return;
    }
    if (tell & EVENT_TELL_FAR) {
        k->far[k->n_far++] = s->keys[at];
        soft_work_told(w, viewer, place, true);
        return;
    }
    k->records[k->n_records++] = (struct soft_record){
        .place = place,
        .slot = slot,
        .since = waited ? told->since : w->tick,
        .deadline = (waited ? told->since : w->tick) + slack_of(s, d2),
        .tell = tell,
        .tier = (uint8_t)tier,
        .bytes = bytes_of(known_id(s->keys[at]), tell),
        .goes = true,
    };
}

static void due(struct world *w, uint32_t viewer, uint32_t place)
{
    struct soft *s = w->sight.soft;
    struct soft_work *k = s->work;
    const struct entities *e = &w->entities;
    uint64_t at = s->viewers[viewer].at + place;
    uint32_t slot = known_slot(s->keys[at]);
    double d2 = soft_work_distance2(e, viewer, slot);
    bool waited = s->part[at] == SOFT_WAIT;

    if (e->scene[slot] != e->scene[viewer] || (d2 > k->keep2 && !s->by_look)) {
        k->gone[k->n_gone++] = s->keys[at];
        soft_list_erase(s, viewer, place);
        return;
    }
    next_turn(s, viewer, place, soft_work_tier(s, d2));
    compare(w, viewer, place, waited, d2);
}

void soft_due(struct world *w, uint32_t viewer)
{
    struct soft *s = w->sight.soft;
    const struct soft_viewer *v = &s->viewers[viewer];
    const uint8_t *part = s->part + v->at;

    if (v->flags & SOFT_ALL) {
        for (uint32_t i = 0; i < v->span; i++) {
            if (part[i] != SOFT_HOLE)
                due(w, viewer, i);
        }
        return;
    }
    for (uint32_t i = 0; i < v->span; i += 16) {
        uint32_t bits = due_sixteen(s->work, part + i);

        if (v->span - i < 16)
            bits &= (1u << (v->span - i)) - 1;
        for (; bits != 0; bits &= bits - 1)
            due(w, viewer, i + (uint32_t)__builtin_ctz(bits));
    }
}
