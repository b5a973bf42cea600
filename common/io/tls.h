/* common/io/tls.h: TLS by OpenSSL: what a side presents or trusts, and the seal of one connection.
 * A `struct tls` is a server's certificate with its keys, or a client's trust; all threads share
 * it. A `struct ssl_st` (OpenSSL's SSL) is the seal of one connection, over the socket itself and
 * not over buffers in memory: so a stream queues what its owner wrote, its limits count the same
 * bytes as over plain TCP, nothing is sealed before the kernel has room for it, and an idle
 * connection holds no buffer. libevent's own wrapper stands on bufferevents, which have no limit on
 * what is queued. May touch: OpenSSL, sockets, the files named. Never: the loop.
 *
 *   stream's queue ─► tls_send: a record of at most 16 KiB ─► kernel
 *   stream's data  ◄─ tls_read: all records that are there ◄─ kernel
 *
 * TLS 1.2 and 1.3, ciphers with forward secrecy and authenticated encryption only, no compression,
 * no renegotiation, no early data. Sessions resume by tickets; their keys change by themselves and
 * outlive a reload of the certificate.
 * On trouble: where OpenSSL is not built in, contexts are E_MISSING, and there are no seals.
 */
#pragma once

#include "common/base.h"
#include "common/clock.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

struct tls;
struct ssl_st;

#define TLS_WHY_MAX 384

/* Keys of tickets serve for new ones this long, and for those given out as long again. */
#define TLS_TICKET_NS (6 * 3600 * CLOCK_NS_PER_S)

/* Why a context cannot be had: one line, and which file is at fault. */
struct tls_why {
    bool key; /* the key's file; else the certificate's, or the one of those trusted */
    char text[TLS_WHY_MAX];
};

/* The version of OpenSSL that runs; NULL: not built in. */
const char *tls_library(void);

/* A server's: PEM files, the certificate's with those that lead to its root behind it. E_IO: not
 * readable; E_BAD: not what they must be, or not of one another; E_NOMEM; E_MISSING. */
int tls_server_create(const char *cert, const char *key, struct tls **out,
                      struct tls_why *why) MUST_CHECK;
/* A client's: trusts those whose certificates stand in the file `trust`, those of the system where
 * that is "", everybody where `insecure`. Errors as above. */
int tls_client_create(const char *trust, bool insecure, struct tls **out,
                      struct tls_why *why) MUST_CHECK;
/* Seals that were made of it live on. NULL is fine. */
void tls_destroy(struct tls *t);

/* Read the server's files anew, for connections from now on. Where they are bad all stays as it
 * is. From one thread, while others make seals. Errors as above. */
int tls_reload(struct tls *t, struct tls_why *why) MUST_CHECK;

/* What a server presents now. */
struct tls_facts {
    char subject[256]; /* as one line */
    int64_t expires_s; /* the last second that it is good for, since 1970 */
    bool expired;      /* it is past that, by the wall clock */
};
struct tls_facts tls_facts_now(struct tls *t);

/* --- a seal ------------------------------------------------------------------------------------
 */

/* For a connected socket, which stays the caller's and must not block. `host` is whom a client
 * means to reach (a name, or a numeric address), and what it holds the certificate against; NULL
 * for a server. NULL: no memory. */
struct ssl_st *tls_seal(struct tls *t, int fd, const char *host, struct mono now) MUST_CHECK;
void tls_seal_free(struct ssl_st *seal); /* NULL is fine; says nothing to the peer */

/* Why a handshake fails; TLS_FAULT(NAME, "log text"). */
#define TLS_FAULTS(TLS_FAULT)                                                            \
    TLS_FAULT(NONE, "none")                                                              \
    TLS_FAULT(GONE, "gone")         /* the peer closed, or the connection broke */       \
    TLS_FAULT(PLAIN, "not_tls")     /* what came is not TLS */                           \
    TLS_FAULT(VERSION, "version")   /* no version or cipher that both speak */           \
    TLS_FAULT(REFUSED, "refused")   /* the peer ended it, such as for our certificate */ \
    TLS_FAULT(TRUST, "trust")       /* we ended it for the peer's certificate */         \
    TLS_FAULT(PROTOCOL, "protocol") /* anything else that came and is not allowed */     \
    TLS_FAULT(LATE, "late")         /* not done in time */                               \
    TLS_FAULT(FULL, "full")         /* others had to have its place */                   \
    TLS_FAULT(ENDED, "ended")       /* nobody wants it any more */                       \
    TLS_FAULT(MEMORY, "memory")

enum tls_fault {
#define TLS_FAULT(NAME, text) TLS_FAULT_##NAME,
    TLS_FAULTS(TLS_FAULT)
#undef TLS_FAULT
};
const char *tls_fault_text(enum tls_fault fault);

/* Go on with the handshake as far as it goes without waiting. */
enum tls_step { TLS_STEP_DONE, TLS_STEP_IN, TLS_STEP_OUT, TLS_STEP_FAILED };
enum tls_step tls_shake(struct ssl_st *seal, enum tls_fault *fault);
/* Done by a ticket, not by the certificate? */
bool tls_resumed(const struct ssl_st *seal);
/* What failed, in OpenSSL's words, for a person; right after tls_shake. */
void tls_shake_text(struct ssl_st *seal, char *out, size_t cap);

/* Where a connection stands after tls_read. */
enum tls_state {
    TLS_OPEN,  /* nothing more is there now */
    TLS_OUT,   /* it must send before it can read on */
    TLS_ENDED, /* the peer said goodbye, or shut its side */
    TLS_BROKEN /* what came is not allowed, or the connection broke */
};
/* Room that tls_read needs, bytes: so that nothing is ever left behind in the seal that no readable
 * socket would tell of. */
#define TLS_READ_MIN 65536
/* Bytes of `at` that were filled; `room` is at least TLS_READ_MIN. */
size_t tls_read(struct ssl_st *seal, uint8_t *at, size_t room, enum tls_state *state);
/* Seal and send, as far as the kernel takes it. Bytes taken, 0 too, or a negative errno. Of what is
 * not taken a part may be out: the same bytes, and as many or more, must come in the next call. */
ptrdiff_t tls_send(struct ssl_st *seal, const struct iovec *pieces, size_t n);
/* Say goodbye. False: the kernel has no room, ask again. */
bool tls_shut(struct ssl_st *seal);
