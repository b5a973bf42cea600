/* tests/common/tls_rig.h: handshakes of ours in one thread with their peers.
 * May touch: common/io, sockets, tests/certs, tests/tls_peer.
 */
#pragma once

#include "common/io/handshake.h"
#include "tests/certs.h"
#include "tests/tls_peer.h"

#define TLS_RIG_MAX 64 /* outcomes that are kept */

/* What came of one handshake. */
struct tls_outcome {
    void *what;
    int fd;              /* -1: it failed */
    struct ssl_st *seal; /* the rig's until it is set to NULL */
    enum tls_fault fault;
    char text[160];
};

struct tls_rig {
    struct loop *loop;
    struct certs certs;
    struct tls *tls;
    struct handshakes *handshakes;
    struct tls_outcome outcomes[TLS_RIG_MAX];
    int n;
};

/* Ours is the server; the peers are tls_peer's. `c` gives most, timeout and slice; may be NULL. */
void tls_rig_make(struct tls_rig *r, const struct handshakes_config *c);
/* Ours is the client, which trusts the rig's own certificate, or everybody. */
void tls_rig_make_client(struct tls_rig *r, bool insecure);
void tls_rig_end(struct tls_rig *r);

/* A connection: our end goes to the handshakes under the name `what`; returns the peer's. */
int tls_rig_knock(struct tls_rig *r, void *what);
/* The same, our end a client that means to reach `host`. */
int tls_rig_reach(struct tls_rig *r, const char *host);
/* Turn until so many outcomes are there; the test fails where they do not come. */
void tls_rig_until(struct tls_rig *r, int n);
/* The same while the peer shakes hands. */
void tls_rig_shake(struct tls_rig *r, struct tls_peer *p, int n);
/* Shake hands with a client of this version; the last outcome. */
struct tls_outcome *tls_rig_meet(struct tls_rig *r, struct tls_peer *p, int version,
                                 const struct tls_peer *older);
/* So long passes. */
void tls_rig_pass(struct tls_rig *r, int64_t ns);
