/* gateway/roster.h: which worlds a cluster has, as their keys say it.
 * Takes what stands under `<generation>.world.<id>` (proto/kv_key, proto/claim) and the time;
 * leaves the worlds that there are: at which address, and whether they take new sessions.
 *
 *   key held ─► there ── buried, free or deleted ──────────────────────► gone
 *                 │ not among what the store has, or of the generation
 *                 │ before: in doubt, gets no new sessions ── for a while ─► gone
 *                 └ not renewed for so long that it must be over ──────────► gone
 *
 * While the store is away nothing ages: what was known goes on. Of two worlds at one address the
 * one whose lease is the later is there: a world takes one link of a gateway, so the other's would
 * end it. Pure. May touch: common, proto. On trouble: what is no key or claim of ours is E_BAD and
 * changes nothing; a world too many is E_FULL, and comes when another went; E_ADDR where another
 * one has its address.
 */
#pragma once

#include "common/clock.h"
#include "common/span.h"
#include "proto/claim.h"

#define ROSTER_MAX 64 /* worlds at one time */
/* Worlds bury each other when a lease is over; this is for the last one, whom nobody buries. */
#define ROSTER_SILENCE_NS     (12 * 60 * CLOCK_NS_PER_S) /* longer than any lease */
#define ROSTER_SILENCE_MIN_NS (60 * CLOCK_NS_PER_S)
#define ROSTER_GAPS           8 /* of its longest gap between renewals: sooner than the above */
#define ROSTER_DOUBT_NS       (10 * CLOCK_NS_PER_S)

/* A world. Plain, and without pointers: copied from thread to thread. */
struct roster_world {
    struct claim_name id;
    char addr[CLAIM_TEXT_MAX + 1];
    uint64_t nonce;    /* of its process: another one is another world of that name */
    uint64_t epoch;    /* of its lease: the later one is the one that is there */
    bool draining;     /* gives away what it has */
    bool doubted;      /* may be there no more */
    bool told;         /* since the store was followed last */
    uint64_t revision; /* of what is known of it, in `generation` */
    uint64_t generation;
    struct mono renewed, until;
    int64_t gap_ns; /* the longest between two renewals; 0: not known */
};

struct roster {
    struct roster_world worlds[ROSTER_MAX]; /* [n], in no order */
    uint32_t n;
    uint64_t generation; /* the highest that a world lives in; 0: none yet */
    uint64_t version;    /* grows with each change of what a gateway has to know */
    bool there;          /* the store is: time counts */
    bool followed;       /* all that it has has been told */
};

/* The store is there and will be told anew: roster_entry for all that it has, then followed. */
void roster_follow(struct roster *r, struct mono now);
void roster_followed(struct roster *r, struct mono now);
/* The store is away; it answers again, and was not followed anew. */
void roster_away(struct roster *r);
void roster_back(struct roster *r, struct mono now);
/* What stands under a key now; the same may be told again. 0, E_BAD, E_FULL or E_ADDR. */
int roster_entry(struct roster *r, struct span key, struct span value, uint64_t revision,
                 bool deleted, struct mono now) MUST_CHECK;
/* Time has come to `now`; called every second or so. */
void roster_turn(struct roster *r, struct mono now);

/* Takes it no new sessions, if there is another that does? */
static inline bool roster_spared(const struct roster_world *w)
{
    return w->draining || w->doubted;
}
/* NULL: it is not there. */
const struct roster_world *roster_find(const struct roster *r, const struct claim_name *id);
