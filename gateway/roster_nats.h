/* gateway/roster_nats.h: the roster of a cluster, kept by what its NATS says.
 * Follows the worlds' keys of the bucket, and asks every second whether it is still there.
 *
 *   nats_bus ─ follow, entries, followed ─► roster ─ when it has changed ─► whoever keeps links
 *
 * May touch: common, common/io/nats_bus, roster. Never: links, clients.
 * On trouble: NATS away, or its keys: the roster stays as it is, counted and logged once; it is
 * connected to again for ever. No line shows the URL's user or password.
 */
#pragma once

#include "common/io/loop.h"
#include "gateway/roster.h"

struct roster_nats;

/* The roster has changed; borrowed. */
typedef void roster_nats_fn(void *arg, const struct roster *r);

/* Begins to connect and returns at once. Copies `url`. `why` gets one line without newline:
 * E_NOMEM, E_ADDR, E_IO, E_MISSING. */
int roster_nats_create(struct loop *l, const char *url, roster_nats_fn *changed, void *arg,
                       struct roster_nats **out, char *why, size_t why_cap) MUST_CHECK;
/* Nothing is called any more. NULL is fine. */
void roster_nats_destroy(struct roster_nats *r);

struct roster_nats_counts {
    uint64_t worlds, spared; /* now */
    uint64_t there;          /* 1 while NATS answers */
    uint64_t losses;         /* times that it went away */
    uint64_t strange;        /* keys and values that say nothing of a world */
    uint64_t full;           /* times that a world found no place */
};
struct roster_nats_counts roster_nats_counted(const struct roster_nats *r);
