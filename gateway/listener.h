/* gateway/listener.h: where clients come in.
 * Accepts, gives each connection a place among the clients and a stream, under TLS where the
 * gateway has a certificate, as one of them or as a visitor. May touch: common/io, clients,
 * proxied, visitor. Never: uplink, relay.
 *
 *   accept ─► (proxy's header) ─► place ─► (handshake) ─► client, or visitor
 *
 * On trouble: what cannot be taken is closed and counted; out of descriptors, or of room for
 * handshakes, pauses accepting by itself, which is counted and logged.
 */
#pragma once

#include "common/io/handshake.h"
#include "common/io/net.h"
#include "common/io/stream.h"
#include "gateway/proxied.h"
#include "gateway/visitor.h"

struct listener {
    struct loop *loop;           /* borrowed */
    struct clients *clients;     /* borrowed */
    struct net_listener *net;    /* NULL: stopped */
    bool paused;                 /* out of descriptors, memory or room for handshakes */
    bool full;                   /* the last of these */
    uint64_t connections_max;    /* at once, in all threads; further ones wait with the kernel */
    struct stream_limits limits; /* of each client's connection */
    struct proxied *proxied;     /* who is brought by a proxy is its first. Borrowed */
    struct visitors *visitors; /* who connects is theirs first; NULL: a client at once. Borrowed */
    struct handshakes *handshakes; /* what comes is TLS; NULL: plain. Borrowed */
};

/* How the port is taken: alone, or by one listener in each of several threads. */
enum listener_port { LISTENER_ALONE, LISTENER_FIRST, LISTENER_BESIDE };

/* `limits` is copied. At `connections_max`, those that are ending among them, accepting pauses: the
 * link and operators need descriptors too. `why` gets one line on error: E_ADDR, E_IO, E_NOMEM. */
int listener_init(struct listener *l, struct loop *loop, struct clients *clients, const char *addr,
                  enum listener_port port, const struct stream_limits *limits,
                  uint64_t connections_max, struct proxied *proxied, struct visitors *visitors,
                  struct handshakes *handshakes, char *why, size_t why_cap) MUST_CHECK;
/* What becomes of handshakes whose owner is a listener. */
extern const struct handshake_ops listener_handshake_ops;
/* Go on with a connection; what proxied_init wants, with a listener as its owner. */
proxied_admit_fn listener_admit;
/* Are connections taken just now? */
bool listener_accepting(const struct listener *l);
/* Stop accepting. What was accepted stays, and still borrows `l`. */
void listener_stop(struct listener *l);
