/* common/io/nats_bus_own.h: what the rooms of the bus share, and nobody else sees.
 * nats_bus.c is the loop's side, nats_work.c what the threads do. May touch: as nats_bus.h.
 */
#pragma once

#include "common/io/mailbox.h"
#include "common/io/nats_bus.h"
#include "common/io/nats_keys.h"

#include <pthread.h>
#include <stdatomic.h>

struct __natsSubscription;

#define NATS_BUS_THREADS 3

/* Records of the mailboxes. */
enum nats_bus_record {
    RECORD_MESSAGE, /* struct message_head, subject, bytes; both ways */
    RECORD_SUBSCRIBE,
    RECORD_UNSUBSCRIBE,
    RECORD_KEY,    /* struct key_head, key, value; both ways */
    RECORD_FOLLOW, /* nothing */
    RECORD_ENTRY,  /* struct key_head, key, value */
    RECORD_FOLLOWED,
    RECORD_UP, /* a byte */
};

struct nats_bus_message {
    uint32_t subject_bytes;
    uint32_t life; /* of the connection that it is meant for */
};

struct nats_bus_key_head {
    uint64_t ticket, revision;
    uint32_t key_bytes;
    uint8_t op, result;
    bool deleted;
};

struct nats_bus_sub {
    char subject[NATS_BUS_SUBJECT_MAX + 1];
    struct __natsSubscription *sub; /* NULL: no such */
};

struct nats_bus {
    const struct nats_bus_user *user;
    void *arg;
    struct nats_keys_config keys_config;
    char follow[NATS_BUS_FOLLOW_MAX][NATS_BUS_KEY_MAX + 1];
    struct __natsSubscription *follows[NATS_BUS_FOLLOW_MAX];
    uint32_t n_follow;
    _Atomic bool missed; /* changes of the bucket, for want of room */
    struct __natsOptions *options;
    struct __natsConnection *nc;
    pthread_rwlock_t use; /* of `nc`, and all that hangs from it: the thread that follows makes them
                           * anew, and has them alone then */
    struct loop_bell *bell;
    struct mailbox *out, *keys, *changes, *in;
    pthread_t threads[NATS_BUS_THREADS];
    uint32_t n_threads;
    struct nats_bus_sub subs[NATS_BUS_SUBS_MAX]; /* the subjects' thread's, with `use` */

    _Atomic bool up;
    _Atomic bool told;    /* why the server refused the connection */
    _Atomic bool lacks;   /* a subject is to be subscribed to that is not */
    pthread_mutex_t lock; /* of the three below */
    pthread_cond_t change;
    uint32_t calling;           /* subscriptions whose calls are not over */
    bool over;                  /* and the connection's */
    _Atomic uint32_t life;      /* of the connection: grows with each */
    _Atomic uint32_t questions; /* keys not answered yet */
    _Atomic uint64_t counts[sizeof(struct nats_bus_counts) / sizeof(uint64_t)];
};

#define NATS_BUS_COUNT(b, field, n)                                                              \
    atomic_fetch_add_explicit(                                                                   \
        &(b)->counts[offsetof(struct nats_bus_counts, field) / sizeof(uint64_t)], (uint64_t)(n), \
        memory_order_relaxed)

/* What must not be lost waits for room on its way to the loop. From any thread. */
void nats_bus_tell(struct nats_bus *b, enum nats_bus_record kind, const struct span *pieces,
                   uint32_t n);
/* A message's two parts. */
struct nats_bus_message nats_bus_split(struct span record, struct span *subject,
                                       struct span *bytes);
/* Begin a connection with the options; natsStatus. */
int nats_bus_connect(struct nats_bus *b);
/* The connection was closed by NATS's library, which does not make it again by itself. */
bool nats_bus_closed(struct nats_bus *b);
/* A subscription's calls are over; its argument is the bus. */
void nats_bus_complete(void *arg);

/* What each of the threads does until the end; the argument is the bus. */
typedef void *nats_work_fn(void *arg);
extern nats_work_fn *const nats_work[NATS_BUS_THREADS];
