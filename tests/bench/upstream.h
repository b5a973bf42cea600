/* tests/bench/upstream.h: what stands behind a program that is measured.
 *
 *   UPSTREAM_SINK   takes what comes and says nothing by itself
 *   UPSTREAM_ECHO   every connection gets back what it sent
 *   UPSTREAM_WORLD  a world as a gateway sees it, with nobody in it: says hello, answers pings,
 *                   lets everybody in who sends LoginReq with its number from 1 up as seq, and
 *                   answers SayReq with the same body as a SayResp, one link frame an answer, as
 *                   the real one does
 *
 * May touch: sockets, pump, proto. On trouble: one line on standard error and exit 1.
 */
#pragma once

#include "common/span.h"
#include "tests/bench/pump.h"

enum upstream_kind { UPSTREAM_SINK, UPSTREAM_ECHO, UPSTREAM_WORLD };

struct upstream_conn {
    int fd;           /* -1: closed */
    uint8_t *pending; /* what did not fit into the socket; NULL: nothing ever */
    size_t at, n;     /* where it begins in there, and its bytes */
    size_t cap;
    uint8_t *in; /* of a link: what is not whole yet; NULL: no link */
    size_t in_n;
};

struct upstream_session {
    uint32_t conn; /* its link */
    uint64_t id;   /* 0: not logged in */
};

struct upstream {
    struct pump *pump;
    enum upstream_kind kind;
    uint32_t listen_kind, conn_kind; /* of the pump */
    int listener;
    char addr[64];
    struct upstream_conn *conns;       /* [cap] */
    uint32_t n, cap;                   /* connections so far */
    struct upstream_session *sessions; /* [clients] by number from 0 */
    uint32_t clients;
    uint8_t *read; /* what one read brings, where that is no link */
    uint8_t *out;  /* answers of one read */
};

/* `clients`: that may log in; `cap`: connections at most. */
void upstream_init(struct upstream *u, struct pump *pump, enum upstream_kind kind,
                   uint32_t listen_kind, uint32_t conn_kind, uint32_t cap, uint32_t clients);
void upstream_fini(struct upstream *u);

/* A connection that was made from here; its index. */
uint32_t upstream_adopt(struct upstream *u, int fd);
/* Send on connection `i`, now or as soon as there is room. */
void upstream_send(struct upstream *u, uint32_t i, struct span bytes);
/* Is all of it with the kernel? */
bool upstream_sent(const struct upstream *u, uint32_t i);

/* Bytes of the LoginResp that every client gets, with its head. */
size_t upstream_login_bytes(void);
