/* world/edge/store_worker_own.h: what the loop's side of the store's worker (store_worker.c) and
 * its thread (store_worker_thread.c) have in common. Nobody else includes it.
 */
#pragma once

#include "world/edge/store_queue.h"
#include "world/edge/store_ring.h"
#include "world/edge/store_worker.h"

#include <pthread.h>
#include <semaphore.h>

#define STORE_TURN 256 /* requests taken, or answers handed over, in one go */

enum store_request_kind { REQUEST_SAVE, REQUEST_LOAD, REQUEST_SETTLE };

struct store_request {
    enum store_request_kind kind;
    union {
        struct store_ticket ticket; /* of a load */
        struct store_settle settle; /* of a settle */
    };
    struct store_character character; /* of a save; else its name alone */
};

struct store_reply {
    struct store_answer answer;
    uint8_t *data; /* owned; NULL: none */
};

/* A settle whose name is in the queue. */
struct store_waiter {
    struct store_settle what;
    uint64_t turn; /* as store_queue_turn says */
};

/* What the thread sleeps for. */
enum store_wake { WAKE_AWAKE, WAKE_LOADS, WAKE_ANY };

struct store_worker {
    struct store_worker_config config;
    struct loop_bell *bell;
    pthread_t thread;
    bool running;
    sem_t wake;

    struct store_ring requests, answers, settled;
    _Atomic int asleep; /* enum store_wake */
    _Atomic bool stop, hurry;

    /* The loop's. */
    uint32_t open;      /* loads not answered yet */
    uint32_t settling;  /* settles not told yet */
    bool held;          /* answers wait */
    uint64_t saves_put; /* taken from the core */

    /* The thread's own. */
    struct store_queue queue;
    struct store_waiter *waiters; /* [STORE_SETTLES] as they asked; so many of them: */
    uint32_t waiting;
    struct mono group_at; /* the next group is due; where something waits */
    uint8_t data[STORE_DATA_MAX];
    struct mono failed_at, logged_at; /* of the failure that lasts */
    bool refused_said;                /* in the log, at: */
    struct mono refused_at;
    uint64_t refused_unsaid; /* since then */

    /* The thread's, read by the loop. */
    _Atomic uint64_t saves_done; /* stored, or their place was taken by a later one that is */
    _Atomic uint64_t stored, coalesced, refused, groups, found, unknown, load_failures, full;
    _Atomic uint64_t failures[STORE_TROUBLE_COUNT];
    _Atomic uint32_t pending;
    pthread_mutex_t lock; /* of the two below */
    bool failing;
    char why[STORE_WHY_MAX];
};

static inline void store_worker_add(_Atomic uint64_t *counter, uint64_t n)
{
    atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

/* The thread; the arg is the worker. */
void *store_worker_run(void *arg);
