/* world/edge/cluster_nats.h: a world's way to the other worlds of its cluster, over NATS.
 * Keys of one bucket say whose the zones are (world/cluster/member decides, this carries), subjects
 * bring what worlds say to each other. All subjects and keys stand under the cluster's generation,
 * so that nothing of one that was wiped reaches the next.
 *
 *   core ─ door ─► aegis.GENERATION.world.ID, .zone.N, .all ─► … ─► courier_message ─► core
 *   member ─ commands ─► keys ─ results, entries ─► member ─ owners ─► courier_zone ─► core
 *
 * What the core says leaves only while this world's lease lasts, asked at each message; nothing is
 * taken in while it does not. May touch: common, common/io, the core's doors, world/cluster.
 * On trouble: NATS away leaves everything as it is until the lease is over; what was said meanwhile
 * is lost, and said again or asked for by whoever needs it.
 */
#pragma once

#include "common/io/loop.h"
#include "world/cluster_door.h"
#include "world/world.h"

#define CLUSTER_NATS_WHY_MAX 320

struct cluster_nats_config {
    const char *url;   /* as nats_url_check takes it; borrowed */
    struct span world; /* this world's id: A-Z a-z 0-9 - _; borrowed */
    uint32_t nx, ny;   /* zones of each scene */
    double margin;     /* units */
    int64_t lease_ns;  /* > 0 */
    struct span terms; /* what all worlds must agree on; at most CLAIM_TEXT_MAX; borrowed */
};

struct cluster_nats;

/* Is NATS's library built in? */
bool cluster_nats_built(void);
/* Nothing is asked yet. `why` gets one line without newline: E_NOMEM. */
int cluster_nats_create(struct loop *l, const struct cluster_nats_config *c,
                        struct cluster_nats **out, char *why, size_t why_cap) MUST_CHECK;
/* For world_ops; before that world is there. */
struct cluster_door cluster_nats_door(struct cluster_nats *c);
/* Begins to connect. The world that was made with that door takes part from here on; gateways find
 * it at `address`, of at most CLAIM_TEXT_MAX bytes, borrowed. E_NOMEM, E_ADDR, E_IO, E_MISSING. */
int cluster_nats_serve(struct cluster_nats *c, struct world *w, struct span address) MUST_CHECK;
/* From here on its zones go to the other worlds, and none comes. */
void cluster_nats_leave(struct cluster_nats *c);
/* How many other worlds there are that take zones. */
uint32_t cluster_nats_others(const struct cluster_nats *c);
/* Give the lease up, so that nobody waits for its end; from the sending on this world acts no more,
 * ever. `done` is called once, when the others know, or could have come to it by themselves. */
void cluster_nats_quit(struct cluster_nats *c, loop_fn *done, void *arg);
/* NULL is fine. */
void cluster_nats_destroy(struct cluster_nats *c);

/* What it knows of the cluster, to be read. */
struct member;
const struct member *cluster_nats_member(const struct cluster_nats *c);
/* May the world tick, and take requests, at this time? */
bool cluster_nats_may_act(const struct cluster_nats *c, struct mono now);
/* All worlds tick at the same moments, counted from the beginning of their generation by the wall
 * clock. Returns the next one's number; `ahead_ns`: how long it is until then. */
uint32_t cluster_nats_beat(const struct cluster_nats *c, int64_t *ahead_ns);
/* Why it may not take part, now or ever, in words for the log, and of which flag; NULL: it may. */
const char *cluster_nats_refused(const struct cluster_nats *c, const char **flag);

struct cluster_nats_counts {
    bool up;                          /* NATS is there */
    uint64_t connects;                /* times that it came */
    uint64_t generation_ms;           /* when it began, unix time; 0: there is none yet */
    uint64_t worlds;                  /* that live, as far as is known */
    uint64_t zones;                   /* of this world now */
    uint64_t given;                   /* zones that were given up for others */
    uint64_t buried;                  /* worlds that this one found dead */
    uint64_t published, received;     /* messages */
    uint64_t dropped_out, dropped_in; /* messages that nobody took */
    uint64_t barred;                  /* messages not sent, or not taken, without a lease */
    uint64_t terms;                   /* times that all that was held became void */
    uint64_t keys_done, keys_lost, keys_away;
};
void cluster_nats_counts(const struct cluster_nats *c, struct cluster_nats_counts *out);
