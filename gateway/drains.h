/* gateway/drains.h: what clients take, of those that do not take all.
 * A client whose queue was not empty when more was written is watched: looked at once a step, and
 * let go as soon as its queue is empty. Where that never is for a whole window, what left the queue
 * meanwhile is all that the client takes, and is told to the world (clients_world.drained); when
 * its queue is empty for a whole window again, that is told too. So nothing is told of who keeps
 * up, and of the others at most once a second (the first time sooner, where the queue grows fast).
 * Pure. May touch: common, gateway's client. Never: sockets.
 * On trouble: nothing can be full; there is a place for each client, and memory is touched for
 * those that are watched.
 *
 *   client_wrote ─► watched ─► step: queue empty? ─► let go
 *                                 └─ never in a window ─► bytes a second ─► the world
 */
#pragma once

#include "common/base.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct clients;
struct client;

#define DRAINS_WINDOW_MS 1000
#define DRAINS_EARLY_MS  300   /* the first window where the queue grows fast: */
#define DRAINS_FAST      16384 /* bytes queued */

struct drain_watch {
    struct client *client;
    uint64_t written; /* bytes in this window */
    size_t queued;    /* bytes, at its start */
    uint32_t since_ms;
    bool told;          /* the world knows it as slow */
    bool full, emptied; /* in this window a look found the queue not empty, or empty */
};

struct drains {
    struct drain_watch *list; /* [n], room for all slots; in no order */
    uint32_t *at;             /* [slots] index in list, by a watched client's slot */
    uint32_t n;
};

/* E_NOMEM. */
int drains_init(struct drains *d, uint32_t slots) MUST_CHECK;
void drains_fini(struct drains *d);

/* `bytes` more were written to a client, in whose queue there were `queued`. */
void drains_wrote(struct clients *all, struct client *c, size_t queued, size_t bytes);
/* It is no longer served. */
void drains_forget(struct clients *all, struct client *c);
/* Time passed that does not count: all windows begin anew. */
void drains_restart(struct clients *all);
/* Time has come to all->awake_ms. */
void drains_step(struct clients *all);
/* The world knows nothing of it: its session opens. */
void drains_afresh(struct clients *all, struct client *c);
