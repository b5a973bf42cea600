/* world/interest/soft_list.h: what each viewer of soft sight knows, as lists of pairs.
 * A list is ascending by key, with holes in it: a pair that goes leaves a hole, which keeps its
 * key; one that comes shifts the pairs up to the nearest hole, so that a change of a long list
 * costs a few words. A list without a hole nearby is laid out anew with some. Each pair has a part:
 * the tier and phase of its turn, or one of three words. Who is known is also a bit for each
 * viewer, slot and tier, for the lower slots.
 * Pure. May touch: what soft.h may. On trouble: a block that is full takes nobody more.
 *
 *   part   7  7  3  hole  8  7  hole  hole  2 …     one byte a place, looked through at every tick
 *   keys   ascending
 *   told   place, dir, speed; when
 */
#pragma once

#include "world/interest/known.h"
#include "world/interest/soft.h"

#define SOFT_NOW  253u /* its turn is now, whenever that is */
#define SOFT_WAIT 254u /* it waits for bytes */
#define SOFT_HOLE 255u
#define SOFT_NONE UINT32_MAX /* no place */

#define SOFT_PAD        64    /* parts behind the block that may be read */
#define SOFT_BITS_SLOTS 65536 /* slots that have bits; the others' pairs are searched for */

enum soft_flag {
    SOFT_VIEWER = 1,
    SOFT_HELD = 2, /* told nothing: its client does not drain */
    SOFT_LOOK = 4, /* its next tick looks at all who are around */
    SOFT_ALL = 8,  /* and tells all that is not as it was told */
    SOFT_LAZY = 16 /* what it was told of part 0 is not noted: it is what all were told */
};

struct soft_viewer {
    uint64_t at;   /* of its chunk in the block */
    uint32_t span; /* places in use, holes among them */
    uint32_t n;    /* pairs */
    uint8_t size;  /* class of its chunk + 1; 0: no chunk */
    uint8_t flags; /* enum soft_flag */
    uint8_t scene; /* where it stood at the last tick */
    uint8_t n_always;
    uint32_t seat;
    uint32_t order;                   /* its place among the viewers in the last tick */
    uint32_t hidden, hidden_told;     /* in sight but not told; as its client knows it */
    uint32_t drain;                   /* bytes a tick; 0: all */
    int64_t credit;                   /* bytes */
    double x, y;                      /* where it stood at the last tick */
    uint32_t in_tier[SOFT_TIERS_MAX]; /* pairs with a turn in it */
    uint32_t always[SOFT_ALWAYS_MAX]; /* ids */
};

/* Is it seen whatever the cap says? */
static inline bool soft_list_always(const struct soft_viewer *v, uint32_t id)
{
    for (uint32_t i = 0; i < v->n_always; i++) {
        if (v->always[i] == id)
            return true;
    }
    return false;
}

int soft_list_init(struct soft *s, uint64_t max_pairs) MUST_CHECK;
void soft_list_fini(struct soft *s);

/* Lay all lists side by side, each in the smallest chunk that holds it, if that gains an eighth of
 * the block. Costs a move of all pairs. */
void soft_list_compact(struct soft *s);

/* The place of a key; SOFT_NONE: it is not known. */
uint32_t soft_list_find(const struct soft *s, const struct soft_viewer *v, uint64_t key);
/* A place for a key that is not known, part SOFT_NOW; SOFT_NONE: the block is full. Places of
 * others may change. */
uint32_t soft_list_insert(struct soft *s, uint32_t viewer, uint64_t key);
/* The same for many, ascending, none of them known. False: there is no room; nothing changed. */
bool soft_list_insert_all(struct soft *s, uint32_t viewer, const uint64_t *keys,
                          uint32_t n) MUST_CHECK;
void soft_list_erase(struct soft *s, uint32_t viewer, uint32_t place);
/* Forget all; returns how many there were. */
uint32_t soft_list_clear(struct soft *s, uint32_t viewer);

/* Give it the part in its tier that its viewer has fewest of; its bits say so. */
void soft_list_turn(struct soft *s, uint32_t viewer, uint32_t place, uint32_t tier);
/* SOFT_NOW or SOFT_WAIT; its bits stay. */
void soft_list_mark(struct soft *s, uint32_t viewer, uint32_t place, uint8_t word);

static inline uint32_t soft_list_words(const struct soft *s)
{
    return s->rules.n_tiers * (s->bits_slots / 64);
}

/* Is it known for certain to be in this tier or a nearer one? No bits: not certain. */
static inline bool soft_list_bit(const struct soft *s, uint32_t viewer, uint32_t slot,
                                 uint32_t tier)
{
    const uint64_t *row = s->bits + (size_t)viewer * soft_list_words(s);

    if (viewer >= s->bits_slots || slot >= s->bits_slots)
        return false;
    return row[slot / 64 * s->rules.n_tiers + tier] >> (slot & 63) & 1;
}
/* From this tier on; tier n_tiers: in none. */
void soft_list_bits(struct soft *s, uint32_t viewer, uint32_t slot, uint32_t tier);
