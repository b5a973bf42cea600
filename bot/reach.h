/* bot/reach.h: a connection until it can be used: dialled, and under TLS where that is asked for.
 * One at a time. May touch: common, common/io.
 * On trouble: `done` says why, once; nothing is tried again.
 *
 *   reach_begin ─► net_dial ─► (handshake) ─► done
 */
#pragma once

#include "common/addr.h"
#include "common/io/handshake.h"
#include "common/io/net.h"

#define REACH_WHY_MAX 192 /* bytes of a reason, with its NUL */

/* Takes `fd` and `seal` (NULL: plain); fd -1: it failed, for `why`. Anything may be called from it,
 * reach_fini too. */
typedef void reach_done_fn(void *arg, int fd, struct ssl_st *seal, const char *why);

struct reach {
    struct loop *loop; /* borrowed */
    reach_done_fn *done;
    void *arg;
    struct tls *trust; /* borrowed; NULL: plain */
    int rcvbuf;        /* bytes; 0: the kernel's choice */

    struct net_dialer *dialer;     /* NULL: not dialling */
    struct handshakes *handshakes; /* of this one alone; NULL: none yet */
    struct handshake *handshake;   /* NULL: not under way */
    struct addr to;                /* of the last reach_begin, where there is trust */
};

/* `r` has the first three, and whatever else is wanted. E_ADDR, E_NOMEM: nothing is under way. */
int reach_begin(struct reach *r, const char *addr, int64_t timeout_ns) MUST_CHECK;
bool reach_under_way(const struct reach *r);
/* Whatever is under way ends, and nobody hears of it. */
void reach_cancel(struct reach *r);
void reach_fini(struct reach *r);
