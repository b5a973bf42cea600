/* world/cluster/holdings.h: whose each zone is, and the zones of this world.
 *
 *   nobody's ─ claimed, by create or compare-and-set ─► ours ─ given up for another ─► free
 *      ▲                                                 │                              │
 *      └────────── its owner's epoch is over ◄───────────┴── claimed by the other ◄─────┘
 *
 * A zone's key holds its owner's world and epoch, and counts while that epoch is not over; it is
 * never renewed, so its own epoch is the revision that it stands at. From the sending of what gives
 * a zone up its owner does not act for it. `holdings_next` tells of each zone whose owner changed.
 * Pure. May touch: common, world/cluster.
 */
#pragma once

#include "world/cluster/balance.h"
#include "world/cluster/generation.h"
#include "world/cluster/lease.h"

#define HOLDINGS_TURN_NS     (50 * CLOCK_NS_PER_MS) /* between looks at the whole, without news */
#define HOLDINGS_DRAIN_PARTS 16 /* of the time to settle lie between two moves of who drains */

struct holding {
    struct kv_cell cell;
    bool owned;           /* by this world, in its present epoch */
    bool checking;        /* it was claimed, and counts when the generation was read again */
    struct mono since;    /* CHECKING: when it was claimed */
    bool leaving;         /* it is being given up */
    bool ask;             /* it has to be looked at */
    bool changed;         /* its owner may have, since holdings_next told of it */
    struct claim_name to; /* for whom it is given up */
};

struct holdings {
    struct holding *zones; /* [n], owned */
    uint32_t n;
    int64_t settle_ns; /* between the last change of any owner and a move */
    struct mono changed_at, looked_at;
    bool news;       /* of any key, since the last look */
    uint32_t living; /* worlds that lived, at the last look */
    uint64_t generation;
    uint64_t moves;

    /* Scratch of a look: [LEASE_PEERS_MAX + 1] worlds, [n] zones. */
    const struct claim **worlds;
    bool *drains;
    uint32_t *count, *owner, *deal;
};

int holdings_init(struct holdings *h, uint32_t n_zones, int64_t settle_ns) MUST_CHECK; /* E_NOMEM */
void holdings_fini(struct holdings *h);
void holdings_generation(struct holdings *h, uint64_t number, struct mono now);
/* Only in an open generation. */
void holdings_turn(struct holdings *h, const struct lease *l, struct generation *g,
                   struct kv_queue *q, struct mono now);
void holdings_result(struct holdings *h, const struct lease *l, const struct kv_result *r,
                     struct mono now);
void holdings_entry(struct holdings *h, const struct lease *l, const struct kv_entry *e,
                    struct mono now);
void holdings_follow(struct holdings *h, struct mono now);
void holdings_followed(struct holdings *h);
/* Our epoch ended, and all with it. */
void holdings_lose(struct holdings *h);

/* May this world act for it, while its lease says that it may act at all? */
static inline bool holdings_owns(const struct holdings *h, uint32_t zone)
{
    return h->zones[zone].owned && !h->zones[zone].leaving;
}
/* Of ours: what its frames carry. */
static inline uint64_t holdings_epoch(const struct holdings *h, uint32_t zone)
{
    return h->zones[zone].cell.revision;
}
/* Whose it is, ours included, and in which epoch of the zone; NULL: nobody's. */
const struct claim_name *holdings_owner(const struct holdings *h, const struct lease *l,
                                        uint32_t zone, uint64_t *epoch);
/* Is the world that had it dead, as far as is known, and did not give it up? */
bool holdings_is_dead(const struct holdings *h, const struct lease *l, uint32_t zone,
                      const struct claim_name *had);
/* How many are ours. */
uint32_t holdings_owned(const struct holdings *h);
/* A zone whose owner may have changed, once for each change; false: no more. */
bool holdings_next(struct holdings *h, uint32_t *zone);
