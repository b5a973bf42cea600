/* world/store.h: what the core asks of a store: a character by its name, and to keep one.
 * The core never waits: a load is asked here and answered later through inbox_loaded, by whoever
 * drives the core; a save is handed over and forgotten. What the store is (none, a file, a
 * service), its thread and its queues are the edge's.
 *
 *   a login ──load──► store ──…──► inbox_loaded ──► the login goes on
 *   leave, sweep ──save──► store        (a load behind a save of one name brings that save)
 *   who must know ──settle──► store ──…──► inbox_stored    (all saves of that name before it are)
 *
 * May touch: common, proto/limits, world/ids. On trouble: full is E_FULL, and asked again later.
 */
#pragma once

#include "common/span.h"
#include "proto/limits.h"
#include "world/ids.h"

#define STORE_DATA_MAX 65536 /* bytes of a character's `data` */

/* Who may save: of two saves of a character the one with the higher fence is the newer, whenever it
 * comes; compared in this order. A world that slept while another took over saves with the lower
 * one, and is refused. All zero without a cluster. */
struct store_fence {
    uint64_t generation; /* of the cluster; a later one is higher */
    uint64_t epoch;      /* of the zone's ownership */
    uint64_t count;      /* of the character's hand-overs */
};

static inline bool store_fence_below(const struct store_fence *a, const struct store_fence *b)
{
    if (a->generation != b->generation)
        return a->generation < b->generation;
    if (a->epoch != b->epoch)
        return a->epoch < b->epoch;
    return a->count < b->count;
}

/* Where a character was last. Plain and without pointers, so that queues copy it. */
struct store_character {
    char name[PROTO_NAME_MAX];
    char scene[PROTO_SCENE_MAX];
    uint8_t name_len, scene_len; /* bytes */
    double x, y;                 /* units */
    double dir;                  /* radians in [0, 2π) */
    int64_t seen_s;              /* unix seconds of its last save; the edge's, 0 from the core */
    struct store_fence fence;
};

/* Which question is answered: comes back with the answer as it was given. */
struct store_ticket {
    struct session_ref who;
    uint32_t number;
};

enum store_result {
    STORE_FOUND,
    STORE_UNKNOWN, /* no such character yet */
    STORE_FAILED   /* it cannot be told; nothing may be assumed */
};

/* The answer to a load. `data` is the game's own, opaque here, at most STORE_DATA_MAX bytes; it is
 * kept with the character and a save leaves it as it is. Both are borrowed for the call. */
struct store_answer {
    struct store_ticket ticket;
    enum store_result result;
    struct store_character character; /* where FOUND */
    struct span data;                 /* where FOUND */
};

/* Whose saves are asked after, in the asker's own numbers: comes back as it was given. */
struct store_settle {
    uint32_t place, number;
};

/* Called inside of ticks and requests: no malloc, no wait, no system call worth the name. */
struct store_ops {
    /* Ask for a name. 0: inbox_loaded follows, once. E_FULL: ask again later. */
    int (*load)(void *arg, struct store_ticket ticket, struct span name);
    /* Keep this; borrowed for the call. 0: it is kept, or will be, in the order of the calls for
     * each name, unless what is there has a higher fence. E_FULL: it is not taken, ask again later.
     */
    int (*save)(void *arg, const struct store_character *c);
    /* Tell when all saves of this name that were taken before are stored, or refused since what is
     * there has a higher fence. 0: inbox_stored follows, once, never from inside of this call; a
     * database that is away is waited for. E_FULL: ask again later. */
    int (*settle)(void *arg, struct store_settle what, struct span name);
};

/* What the core is given. `ops` NULL: nothing is kept, every character is unknown at once, and what
 * was saved is as good as stored. */
struct store_door {
    const struct store_ops *ops;
    void *arg;
};
