/* world/edge/store_worker.h: the thread that owns a database, and the queues to it and back.
 *
 *   loop thread                                        the worker's thread
 *   load, save, settle ──► ring [STORE_REQUESTS] ──► save: store_queue ──group──► database
 *                                               ├──► load: store_queue, else database
 *                                               └──► settle: list [STORE_SETTLES] until its group
 *   answer ◄── bell ◄── ring [STORE_ANSWERS] ◄── load
 *   stored ◄── bell ◄── ring [STORE_SETTLES] ◄── settle
 *
 * Requests are taken in their order, so a load behind a save of its name finds that save, stored or
 * not, and a settle behind one waits for it, or for the later one that took its place. Saves wait
 * for STORE_GROUP_NS and are stored as one group. A group that fails stays, is tried again, and is
 * coalesced with what comes; the world goes on meanwhile. `last seen` is set here. May touch:
 * common, common/io/loop, a thread, both clocks. On trouble: see store_worker_trouble.
 */
#pragma once

#include "common/io/loop.h"
#include "world/edge/edge_metrics.h"
#include "world/edge/store_db.h"

#define STORE_REQUESTS 32768                   /* not yet taken by the thread */
#define STORE_ANSWERS  32768                   /* loads asked and not yet answered to the loop */
#define STORE_SETTLES  32768                   /* settles asked and not yet told to the loop */
#define STORE_GROUP_NS (100 * CLOCK_NS_PER_MS) /* a save waits so long for others at most */
#define STORE_AGAIN_NS CLOCK_NS_PER_S          /* after a failure */
#define STORE_LOG_NS   (10 * CLOCK_NS_PER_S)   /* between two lines of what lasts */

typedef void store_answer_fn(void *arg, const struct store_answer *a);
typedef void store_stored_fn(void *arg, const struct store_settle *what);

struct store_worker_config {
    const struct store_db_ops *db;
    void *db_arg;            /* taken: closed by the worker, also where creating it fails */
    uint32_t pending_max;    /* characters that wait to be stored */
    int64_t delay_ns;        /* each trip to the database takes so much longer: for tests */
    store_answer_fn *answer; /* these two in the loop's thread */
    store_stored_fn *stored;
    void *arg;
};

struct store_worker;

/* E_NOMEM, E_IO. */
int store_worker_create(struct loop *l, const struct store_worker_config *c,
                        struct store_worker **out) MUST_CHECK;
/* Stops after the trip at hand; what is not stored by then is lost. Where the database hangs the
 * process ends here, with status 1. NULL is fine. */
void store_worker_destroy(struct store_worker *w);

/* For the core; the arg is the worker. */
extern const struct store_ops store_worker_ops;

/* While held, no answer is handed over. */
void store_worker_hold(struct store_worker *w, bool held);
/* Store what waits now, without waiting for more, from here on. */
void store_worker_hurry(struct store_worker *w);
/* Is everything stored that was taken, and told who asked? So many saves are not: `left` may be
 * NULL. */
bool store_worker_settled(struct store_worker *w, uint64_t *left);
/* Does storing fail at present? `why` gets a few words. */
bool store_worker_trouble(struct store_worker *w, char why[STORE_WHY_MAX]);
/* Bring the counters of the store up to date. */
void store_worker_gauges(struct store_worker *w, struct edge_metrics *m);
