/* gateway/gateway.h: one gateway, put together: listeners, clients, relay, uplink, one timer.
 * In one thread: where a process has several, each has one of these (see crew.h).
 * May touch: common, everything in gateway. Never: flags' text, signals (that is main).
 * On trouble: only the start can fail; later trouble is some client's or the link's.
 */
#pragma once

#include "common/io/loop.h"
#include "gateway/gateway_metrics.h"
#include "gateway/gateway_opts.h"

struct gateway;
struct addresses;
struct clients_total;
struct keys;
struct roster;
struct tls;
struct web_files;

/* One of several in a process, each in a thread of its own. All zero: there are no others. */
struct gateway_place {
    uint32_t index, count;       /* of this one, and how many there are; count 0 is 1 */
    const char *listen;          /* where the first one listens; NULL: this is it. Borrowed */
    const char *ws_listen;       /* the same for WebSocket */
    struct clients_total *total; /* what all have together; NULL: count is 1. Borrowed */
    struct addresses *addresses; /* what is so of them, of all together; NULL: none is watched */
    const struct web_files *web; /* what is served; NULL: no -ws-listen. Borrowed */
    struct keys *keys;           /* of the link to the world; NULL: none. Borrowed */
    struct tls *tls;             /* what is presented; NULL: all is plain. Borrowed */
    void (*stepped)(void *arg);  /* called every 100 ms, in this gateway's thread; NULL: not */
    void (*over)(void *arg);     /* drained; in this gateway's thread. NULL: the loop is stopped */
    void *arg;
};

/* Borrows `loop` and `config`. Listens at once, dials at the first turn. `why` gets one line that
 * starts with the flag at fault: E_ADDR, E_IO, E_NOMEM. */
int gateway_create(struct loop *loop, const struct gateway_config *config,
                   const struct gateway_place *place, struct gateway **out, char *why,
                   size_t why_cap) MUST_CHECK;
/* Every connection ends at once. Call one more loop_turn before loop_destroy: what ended is freed
 * at its end. NULL is fine. */
void gateway_destroy(struct gateway *g);

/* Where it listens, with the port that was chosen; for WebSocket NULL: nowhere. */
const char *gateway_addr(const struct gateway *g);
const char *gateway_ws_addr(const struct gateway *g);

/* Stop accepting, Bye 17 to every client, then close the link; the loop is stopped, or `over` is
 * called, when that is done, or by -drain-timeout. */
void gateway_drain(struct gateway *g);

/* The worlds of the cluster, with -cluster; until then there is none. */
void gateway_worlds(struct gateway *g, const struct roster *r);

/* What it calls itself to the world, and in the names of sessions. */
const char *gateway_id(const struct gateway *g);
/* Write the frames of the client of this session into the log for a while; where there is none, the
 * log says so. */
void gateway_trace(struct gateway *g, uint64_t session, uint32_t lines, uint32_t seconds);

/* NULL: a client that comes now is served. Else what stands against it, in a few words. */
const char *gateway_unready(const struct gateway *g);

/* The counters, with gauges as of now. Cost: a look at each client. */
const struct gateway_metrics *gateway_metrics_now(struct gateway *g);
/* The same, but what is queued for clients is as of the last gateway_metrics_now. */
const struct gateway_metrics *gateway_metrics_soon(struct gateway *g);
