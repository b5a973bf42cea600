/* common/io/net.h: listen and dial.
 * Addresses are host:port or [ipv6]:port; port 0 lets the kernel choose. May touch: libevent,
 * sockets, the resolver. Never: bytes of a connection (that is stream).
 * On trouble: out of descriptors pauses accepting and tries again by itself; it is reported once.
 * What waits meanwhile is kept by the kernel.
 */
#pragma once

#include "common/base.h"
#include "common/io/loop.h"

#define NET_TEXT_MAX 64 /* bytes of an address as text, with its NUL */

struct net_listener;
struct net_dialer;

struct net_listener_ops {
    /* A connection: non-blocking, close-on-exec; the callee takes `fd`. */
    void (*accepted)(void *arg, int fd, const char *peer);
    /* Accepting is paused for NET_ACCEPT_PAUSE_MS (`on`), or goes on again; errno in `err`. */
    void (*paused)(void *arg, bool on, int err);
    /* Is there room for one more? 0, or what accepting pauses for: as if the system had said so
     * (EMFILE: descriptors, of which some are left for others). May be NULL: always. */
    int (*room)(void *arg);
};

/* How long accepting rests when the process is out of descriptors or memory. */
#define NET_ACCEPT_PAUSE_MS 100

/* Connections taken from the listener in one turn at most, so that a flood starves nobody. */
#define NET_ACCEPTS_A_TURN 64

/* `why` gets one line without newline on error: E_ADDR, E_IO, E_NOMEM. */
int net_listen(struct loop *l, const char *addr, const struct net_listener_ops *ops, void *arg,
               struct net_listener **out, char *why, size_t why_cap) MUST_CHECK;
/* The same for one of several listeners of a process on one port (SO_REUSEPORT): the kernel spreads
 * connections over them. `first`: nobody else may have the port yet. */
int net_listen_shared(struct loop *l, const char *addr, bool first,
                      const struct net_listener_ops *ops, void *arg, struct net_listener **out,
                      char *why, size_t why_cap) MUST_CHECK;
/* Where it listens, with the port that the kernel chose: "127.0.0.1:40123". */
const char *net_listener_addr(const struct net_listener *n);
void net_listener_destroy(struct net_listener *n); /* closes it; NULL is fine */

/* Connect without blocking. Exactly one call of `done` follows unless the dialer is destroyed
 * first: fd >= 0 (taken by the callee), or -1 with an errno value in `err` (ETIMEDOUT after
 * `timeout_ns`, EHOSTUNREACH where the name is unknown). The dialer is destroyed by its owner. */
typedef void net_dialed_fn(void *arg, int fd, int err);
int net_dial(struct loop *l, const char *addr, int64_t timeout_ns, net_dialed_fn *done, void *arg,
             struct net_dialer **out) MUST_CHECK;
void net_dialer_destroy(struct net_dialer *d); /* NULL is fine */

/* Raise the soft descriptor limit to the hard one; returns the limit in force. */
uint64_t net_raise_descriptors(void);
