/* tests/bench/crowd.h: many clients of the program that is measured, all in this process.
 * They connect in small groups, each group greeted before the next comes, so that no listener's
 * queue runs over. May touch: sockets, pump. On trouble: one line on standard error and exit 1.
 */
#pragma once

#include "common/span.h"
#include "tests/bench/pump.h"

#define CROWD_HELLO_MAX 512  /* bytes a client says first */
#define CROWD_STASH     2048 /* bytes of an answer that is put together */

/* What client `i` says when it is connected; bytes, 0: nothing. */
typedef size_t crowd_hello_fn(void *arg, uint32_t i, uint8_t out[CROWD_HELLO_MAX]);
/* Is this all that greets client `i`? */
typedef bool crowd_greeted_fn(void *arg, uint32_t i, struct span got);
/* What client `i` read, once it was greeted. */
typedef void crowd_data_fn(void *arg, uint32_t i, struct span bytes);

struct tls;
struct ssl_st;

struct crowd {
    struct pump *pump;
    uint32_t kind; /* of the pump */
    uint32_t n, cap;
    int *fd;              /* [cap] */
    struct tls *tls;      /* NULL: plain */
    struct ssl_st **seal; /* [cap]; NULL: plain */
    uint64_t *bytes;      /* [cap] read since they were greeted */
    uint64_t total;       /* the sum of them */
    uint8_t *scratch;     /* what one read brings */
    crowd_data_fn *data;
    void *arg;
    struct crowd_group *group; /* those that connect just now */
};

/* `cap`: clients at most. `data` may be NULL: bytes are counted alone. */
void crowd_init(struct crowd *c, struct pump *pump, uint32_t kind, uint32_t cap,
                crowd_data_fn *data, void *arg);
/* All speak TLS, to whoever is there. Before the first connects. */
void crowd_secure(struct crowd *c);
/* Close all, by reset: nothing waits in the kernel afterwards. */
void crowd_fini(struct crowd *c);

/* Connect `n` more to `addr` ("127.0.0.1:PORT") and wait until they are greeted. False: they were
 * not, in time. */
bool crowd_connect(struct crowd *c, const char *addr, uint32_t n, crowd_hello_fn *hello,
                   crowd_greeted_fn *greeted, void *arg);
/* Forget what was counted so far. */
void crowd_reset(struct crowd *c);
/* Send all of it; the socket has room for it. */
void crowd_send(struct crowd *c, uint32_t i, struct span bytes);

/* A connected socket that sends at once; -1: nobody is there. */
int crowd_dial(const char *addr);
