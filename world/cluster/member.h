/* world/cluster/member.h: one world's part in the cluster: generation, lease, zones, names, ids.
 *
 *   edge ─ member_entry, _result, _follow, _followed ─► member ─ member_next ─► edge ─► the store
 *   tick ─ member_turn, member_may_act, holdings_*, names_*, blocks_* ─┘
 *
 * Keys of a generation that is not the present one are let be; those of a later one than is known
 * say that there is one, and are kept for it.
 * Pure. May touch: common, world/cluster. On trouble: member_refused says why it may not take part.
 */
#pragma once

#include "world/cluster/blocks.h"
#include "world/cluster/generation.h"
#include "world/cluster/holdings.h"
#include "world/cluster/names.h"

struct member_config {
    struct lease_config lease;
    struct span terms; /* what all worlds must agree on, as text; copied */
    uint32_t zones;
    int64_t settle_ns;
    uint32_t names;       /* places */
    uint32_t ids, blocks; /* ids of a block, blocks at most */
};

struct member {
    struct kv_queue queue;
    struct generation generation;
    struct lease lease;
    struct holdings holdings;
    struct names names;
    struct blocks blocks;
    uint64_t tables; /* the generation whose keys are kept */
    uint32_t
        term; /* grows when all that was held became void; looked at after each answer and
               * entry: with the next turn it may be held anew, by a world that knows nothing */
};

int member_init(struct member *m, const struct member_config *c) MUST_CHECK; /* E_NOMEM */
void member_fini(struct member *m);

/* Several times in each renewal's time, and whenever something was answered or told, so that what
 * follows from it is asked at once; costs little where there is nothing to do. `proposal`: see
 * generation_turn. */
void member_turn(struct member *m, uint64_t proposal, struct mono now);
/* What is to be done in the store; false: no more. */
bool member_next(struct member *m, struct kv_command *out);
void member_result(struct member *m, const struct kv_result *r, struct mono now);
void member_entry(struct member *m, const struct kv_entry *e, struct mono now);
/* The store is followed anew: entries of all that stands there, then `followed`. */
void member_follow(struct member *m, struct mono now);
void member_followed(struct member *m, struct mono now);

/* May anything of this world leave it at this time? Asked before each tick's output does. */
static inline bool member_may_act(const struct member *m, struct mono now)
{
    return lease_may_act(&m->lease, now);
}
/* Why this world may not take part, for its last words; NULL: it may. */
const char *member_refused(const struct member *m);
