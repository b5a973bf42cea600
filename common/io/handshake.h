/* common/io/handshake.h: connections until a seal stands on them: many at once, and bounded in
 * number, in time, and in the processor time that they get of a turn.
 * A handshake costs a server as much as a hundred messages, and anybody may ask for one. So
 * those that can go on stand in a queue, which is worked off for a slice of time in a turn, and
 * then rests as long: whoever is served already waits for a slice at most. A connection that says
 * nothing has no seal yet, and costs no more than its descriptor and a few hundred bytes.
 * May touch: libevent, sockets, tls. Never: what comes after.
 *
 *   handshakes_take ─► waits for its peer ─► queue ─► one step ─► done: takes socket and seal
 *                            ▲                           │  └──► failed
 *                            └───────────────────────────┘
 *
 * On trouble: the connection is closed and its owner told why, once, from the loop.
 */
#pragma once

#include "common/base.h"
#include "common/io/loop.h"
#include "common/io/tls.h"

struct handshakes;
struct handshake;

/* What one that waits for its peer has at least, before it can lose its place to another. */
#define HANDSHAKE_GRACE_NS CLOCK_NS_PER_S

struct handshake_ops {
    /* The seal stands; the callee takes `fd` and `seal`. */
    void (*done)(void *owner, void *what, int fd, struct ssl_st *seal);
    /* It does not, and the connection is closed. `text`: more for a person. Neither call may
     * cancel another handshake, but may end them all. */
    void (*failed)(void *owner, void *what, enum tls_fault fault, const char *text);
};

struct handshakes_config {
    struct tls *tls;           /* borrowed, as all below */
    bool client;               /* we begin; else the peer does */
    uint32_t most;             /* at once, of all that share `pending`; 0: no limit */
    _Atomic uint32_t *pending; /* NULL: shared with nobody */
    int64_t timeout_ns;        /* of waiting for the peer, all in all; 0: off */
    int64_t slice_ns;          /* of a turn, for all of them; 0: what is there is done */
    const struct handshake_ops *ops;
};

/* `c` is copied. E_NOMEM. */
int handshakes_create(struct loop *l, const struct handshakes_config *c,
                      struct handshakes **out) MUST_CHECK;
/* All that are under way fail with TLS_FAULT_ENDED, and no more are taken. */
void handshakes_end(struct handshakes *h);
/* Ends them first. May be called from an outcome; freed at the end of the turn. NULL is fine. */
void handshakes_destroy(struct handshakes *h);

/* Is there room for one more, or one here that has waited for its peer beyond its grace, and would
 * lose its place to the next? */
bool handshakes_room(const struct handshakes *h);
/* Under way here. */
uint32_t handshakes_pending(const struct handshakes *h);

/* Begin one; takes `fd`, which must not block. `owner` and `what` come back with the outcome, never
 * from inside this call; another's, which loses its place to it, may. `host`: see tls_seal; NULL
 * for a server. E_NOMEM; E_FULL: there is no room. The fd is closed then. */
int handshakes_take(struct handshakes *h, int fd, const char *host, void *owner, void *what,
                    struct handshake **out) MUST_CHECK;
/* Close it; nobody is told. */
void handshake_cancel(struct handshake *s);
