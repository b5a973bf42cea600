/* world/cluster/lease.h: a world's lease, and those of the other worlds.
 *
 *            create, or take over what is buried or silent
 *   asking ───────────────────────────────► held ── renewed every so often, in one epoch
 *      │ somebody else renews it              │ buried, or not there any more
 *      ▼                                      ▼
 *   refused                                 lost: all that was held in this epoch is void
 *
 * The owner counts `lease_ns` from the sending of a renewal that succeeded, and may act until then;
 * past it, it stands still, and goes on in the same epoch if it still gets a renewal through.
 * Others who saw the key unchanged for lease and guard bury it, by compare-and-set at the revision
 * seen, so that a renewal and a burial exclude each other (tests/model/lease.pml). The epoch is the
 * revision at which the lease was claimed: later values carry it, the first one stands for itself.
 *
 * The guard is for clocks that run unevenly: two of a lease that differ by less than the guard.
 * Pure. May touch: common, world/cluster/kv. On trouble: a full queue is asked again at the next
 * turn.
 */
#pragma once

#include "world/cluster/kv.h"

#define LEASE_PEERS_MAX 256 /* worlds that a cluster ever saw, this one included */
#define LEASE_WHY_MAX   320

struct lease_config {
    struct span world, address; /* copied */
    uint64_t nonce;             /* of this process; random */
    int64_t lease_ns, guard_ns;
    int64_t renew_ns; /* between renewals: a fraction of the lease */
};

enum lease_state { LEASE_ASKING, LEASE_HELD, LEASE_REFUSED, LEASE_QUIT };

struct lease_peer {
    struct kv_cell cell;
    uint64_t epoch; /* the last seen */
};

struct lease {
    int64_t lease_ns, guard_ns, renew_ns;
    struct claim_name self;
    uint64_t nonce;
    struct claim own; /* what is written, but for state and epoch */

    enum lease_state state;
    struct kv_cell cell; /* of the own key */
    uint64_t epoch;      /* 0: none */
    struct mono until;   /* may act before this */
    struct mono renewed; /* when the last renewal was sent */
    bool quits;          /* it is to be given up */
    bool ask;            /* the own key has to be looked at */
    uint64_t saw;        /* of a foreign lease under our key: its revision and since when */
    struct mono saw_at;
    char why[LEASE_WHY_MAX];

    uint64_t generation;
    struct lease_peer *peers; /* [LEASE_PEERS_MAX], owned */
    uint32_t n_peers;
    bool synced;      /* all that stands in the store has been told since it was last followed */
    uint64_t burials; /* done by this world */
    uint64_t full;    /* worlds for whom there was no place */
};

int lease_init(struct lease *l, const struct lease_config *c) MUST_CHECK; /* E_NOMEM */
void lease_fini(struct lease *l);
/* Another generation: nothing is held, nobody is known. */
void lease_generation(struct lease *l, uint64_t number, struct mono now);

/* May it act at this time? Asked before each tick's output leaves. */
static inline bool lease_may_act(const struct lease *l, struct mono now)
{
    return l->epoch != 0 && clock_since(l->until, now) > 0;
}

void lease_turn(struct lease *l, struct kv_queue *q, struct mono now);
/* True where its epoch ended thereby: all that was held in it is void. */
bool lease_result(struct lease *l, const struct kv_result *r, struct mono now);
bool lease_entry(struct lease *l, const struct kv_entry *e, struct mono now);
void lease_follow(struct lease *l, struct mono now);
void lease_followed(struct lease *l, struct mono now);
/* Give it up: from the sending on it does not act, and others need not wait. The last of all. */
void lease_quit(struct lease *l);
/* Said with the next renewal, which is soon. */
void lease_tell(struct lease *l, uint64_t load, bool draining);

/* Is this world's epoch over for good, as far as this one knows? What was seen of it may be old:
 * then it says no. */
bool lease_is_over(const struct lease *l, const struct claim_name *world, uint64_t epoch);
/* The next world that lives, as far as is known; `at` counts from 0. This one is among them while
 * it holds its lease. NULL: no more. */
const struct claim *lease_living(const struct lease *l, uint32_t *at);
/* NULL: not known, or it does not live. */
const struct claim *lease_find(const struct lease *l, const struct claim_name *world);
