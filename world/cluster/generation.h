/* world/cluster/generation.h: the cluster's generation: which store of keys this is, and what all
 * its worlds agree on.
 *
 *   asking ─ nobody's ─► written closed ─ a lease and its guard later ─► open
 *      └──── found ────► agrees? else refused
 *
 * A store that was wiped has no generation: the next world writes a new one, with a higher number.
 * Owners of the one before may still act until their leases end, so a new one counts only when a
 * lease and its guard have passed since it was first seen; who has waited so long opens it.
 * One that is lower than another that was heard of is written over: it is a late write, or its
 * clock was behind.
 *
 * A store may be wiped while owners of its generation still act. What they held stands there no
 * more, and others of that generation could claim it anew. So a claim counts only when the
 * generation was read again after it succeeded: then it was made in the store that it is of.
 * Pure. May touch: common, world/cluster/kv. On trouble: who does not agree is refused, `why` says.
 */
#pragma once

#include "world/cluster/kv.h"

#define GENERATION_WHY_MAX 320

struct generation {
    struct kv_cell cell;
    uint64_t number; /* 0: none yet */
    uint64_t floor;  /* the highest that was ever heard of: what is lower is over */
    bool open;
    bool ask; /* it has to be looked at anew */
    bool refused;
    bool wanted;           /* a claim waits for the generation to be read again */
    struct mono checked;   /* when the question was sent that found it open, last */
    struct mono closed_at; /* first seen, closed */
    int64_t wait_ns;       /* lease and guard */
    struct claim_name self;
    uint8_t terms_len;
    char terms[CLAIM_TEXT_MAX]; /* what all agree on: zones, radius, tick, ... */
    char why[GENERATION_WHY_MAX];
};

void generation_init(struct generation *g, struct span self, struct span terms, int64_t wait_ns);
/* `proposal`: a number for a new one; the unix time in ms, shifted by 16 and 16 random bits. */
void generation_turn(struct generation *g, struct kv_queue *q, uint64_t proposal, struct mono now);
/* All three: true where its number has become another one than before (0 before the first). */
bool generation_result(struct generation *g, const struct kv_result *r, struct mono now);
bool generation_entry(struct generation *g, const struct kv_entry *e, struct mono now);
/* Was it found open by a question that was sent after `since`? If not, it will be asked. */
bool generation_checked(struct generation *g, struct mono since);
/* Keys of this generation were seen. */
void generation_heard(struct generation *g, uint64_t number);
/* The store is followed anew, or something does not look like ours any more: ask. */
void generation_doubt(struct generation *g);
