/* tests/tls_peer.h: the other side of a TLS connection, by OpenSSL alone and nothing of ours.
 * On a socket that does not block: each call does what can be done now, so that a test can turn its
 * loop between them. May touch: OpenSSL, sockets. On trouble: the test at hand fails.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ssl_st;
struct ssl_ctx_st;
struct ssl_session_st;

struct tls_peer {
    int fd; /* -1: closed */
    struct ssl_ctx_st *ctx;
    struct ssl_st *seal;
    struct ssl_session_st *ticket; /* the last one that came; NULL: none */
    bool ended;                    /* the other side said goodbye */
    bool broken;                   /* or the connection ended in another way */
};

#define TLS_PEER_1_0 0x0301
#define TLS_PEER_1_1 0x0302
#define TLS_PEER_1_2 0x0303
#define TLS_PEER_1_3 0x0304

/* A client; takes `fd`. `version`: this one only; 0: any. `older`: its ticket is used; may be NULL.
 */
void tls_peer_client(struct tls_peer *p, int fd, int version, const struct tls_peer *older);
/* A server with these files. */
void tls_peer_server(struct tls_peer *p, int fd, const char *cert, const char *key);
void tls_peer_end(struct tls_peer *p);
/* Close the socket, by RST where `reset`, and say nothing more. */
void tls_peer_close(struct tls_peer *p, bool reset);

/* Go on with the handshake: 1 done, 0 not yet, -1 failed. */
int tls_peer_shake(struct tls_peer *p);
/* Bytes taken. */
size_t tls_peer_send(struct tls_peer *p, const void *bytes, size_t n);
/* Bytes that came; 0: none now, or see `ended` and `broken`. */
size_t tls_peer_recv(struct tls_peer *p, void *bytes, size_t n);
void tls_peer_goodbye(struct tls_peer *p);
/* Ask for other keys; with the next send. */
void tls_peer_rekey(struct tls_peer *p);
/* TLS 1.2: try to shake hands anew. True: it was refused. */
bool tls_peer_renegotiate_refused(struct tls_peer *p);

bool tls_peer_resumed(const struct tls_peer *p);
int tls_peer_version(const struct tls_peer *p);
/* Has the other side's certificate this name? */
bool tls_peer_sees(const struct tls_peer *p, const char *name);
bool tls_peer_compresses(const struct tls_peer *p);
