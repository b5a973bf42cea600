/* common/io/nats_bus.h: one connection to NATS: subjects, and the keys of one bucket.
 * With nats_keys and nats_work alone knows nats.c. Its calls may block, so none is made in the
 * loop's thread: what the loop wants goes by mailbox to two threads (subjects; keys), a third
 * follows the bucket, and what they learn comes back by mailbox and bell.
 *
 *   loop ─ publish, subscribe ─► mailbox ─► subjects ─┐
 *   loop ─ key ────────────────► mailbox ─► keys ─────┼─ nats.c
 *   loop ◄─ bell ◄─ mailbox ◄─ answers, entries, messages, up and down
 *
 * The connection is made again for ever; nothing that was published while it is away is kept, since
 * what would come late is worse than nothing. After each time the bucket is made if it is not there
 * and followed anew: on_follow, its entries, on_followed. Entries that end by the bucket's age are
 * told to nobody, so whoever leases a key watches the clock itself. So is one that the server
 * refuses, for another password say, which NATS's library would give up.
 *
 * May touch: common, common/io/loop, common/io/mailbox, nats.c, threads.
 * On trouble: without a connection keys are answered NATS_BUS_AWAY and messages go nowhere, both
 * counted; messages that the loop has no room for are dropped and counted: whoever needs all of
 * them numbers them. AWAY leaves open whether it happened.
 */
#pragma once

#include "common/io/loop.h"
#include "common/span.h"

#define NATS_BUS_SUBJECT_MAX 191  /* bytes */
#define NATS_BUS_KEY_MAX     127  /* bytes, of NATS's own letters: A-Z a-z 0-9 - _ = / . */
#define NATS_BUS_VALUE_MAX   2048 /* bytes */
#define NATS_BUS_KEYS_MAX    8192 /* questions about keys at one time */
#define NATS_BUS_SUBS_MAX    256  /* subjects at one time */
#define NATS_BUS_FOLLOW_MAX  8
#define NATS_BUS_WAIT_MS     2000 /* for an answer of the server's */

enum nats_bus_op {
    NATS_BUS_GET,
    NATS_BUS_CREATE, /* where it is not, or was deleted */
    NATS_BUS_UPDATE, /* where `revision` is its last */
    NATS_BUS_DELETE  /* where `revision` is its last */
};

enum nats_bus_result {
    NATS_BUS_DONE,    /* `revision` and, of a get, `value` */
    NATS_BUS_LOST,    /* another was faster: it is not at that revision, or is there already */
    NATS_BUS_MISSING, /* of a get: it is not there */
    NATS_BUS_AWAY     /* it is not known whether it was done */
};

/* The answer to nats_bus_key; spans are borrowed for the call. */
struct nats_bus_answer {
    uint64_t ticket;
    enum nats_bus_op op;
    enum nats_bus_result result;
    struct span key, value;
    uint64_t revision;
};

/* What stands under a key now, of those that are followed; one and the same may be told more than
 * once. Spans are borrowed for the call. */
struct nats_bus_entry {
    struct span key, value; /* deleted: no value */
    uint64_t revision;
    bool deleted;
};

/* All are called in the loop's thread. */
struct nats_bus_user {
    void (*up)(void *arg, bool up);
    void (*answer)(void *arg, const struct nats_bus_answer *a);
    void (*follow)(void *arg); /* what was known of the bucket is to be forgotten */
    void (*entry)(void *arg, const struct nats_bus_entry *e);
    void (*followed)(void *arg); /* all that stands in it has been told */
    void (*message)(void *arg, struct span subject, struct span bytes);
};

struct nats_bus_config {
    const char *url;    /* nats://[user:pass@]host:port[,...]; copied */
    const char *name;   /* of this process, for NATS's own list; copied */
    const char *bucket; /* A-Z a-z 0-9 - _; copied */
    /* Those of its keys that are followed, such as "zone.>"; NULL at the end; copied. NULL: none.
     */
    const char *const *follow;
    int64_t ttl_ns;       /* age at which the bucket's entries end; 0: never */
    int replicas;         /* of the bucket; 0: 1 */
    size_t message_bytes; /* that wait for the loop, or for NATS */
    const struct nats_bus_user *user;
    void *arg;
};

struct nats_bus;

/* Of the library that runs, for -version; "" where it is not built in. */
const char *nats_bus_library(void);
/* Begins to connect and returns at once. E_NOMEM; E_ADDR: no such url; E_IO: no thread, or NATS's
 * library refused; E_MISSING: not built in. */
int nats_bus_create(struct loop *l, const struct nats_bus_config *c,
                    struct nats_bus **out) MUST_CHECK;
/* Sends what was published, for a bounded time, and ends. Nothing is called any more. NULL is fine.
 */
void nats_bus_destroy(struct nats_bus *b);
bool nats_bus_up(const struct nats_bus *b);

/* No memory is taken, and nothing waits. 0; E_CLOSED: no connection; E_FULL. */
int nats_bus_publish(struct nats_bus *b, struct span subject, const struct span *pieces,
                     uint32_t n) MUST_CHECK;
/* From now on, over all connections, until nats_bus_unsubscribe. 0 or E_FULL. */
int nats_bus_subscribe(struct nats_bus *b, struct span subject) MUST_CHECK;
int nats_bus_unsubscribe(struct nats_bus *b, struct span subject) MUST_CHECK;

/* Ask about a key; `answer` follows once, later. 0 or E_FULL. */
int nats_bus_key(struct nats_bus *b, enum nats_bus_op op, uint64_t ticket, struct span key,
                 struct span value, uint64_t revision) MUST_CHECK;

/* Since the start. */
struct nats_bus_counts {
    uint64_t connects;                /* connections made */
    uint64_t published, bytes;        /* messages that NATS's library took, and their bytes */
    uint64_t dropped_out, dropped_in; /* messages that nobody took */
    uint64_t received;                /* messages */
    uint64_t done, lost, missing, keys_away; /* answers */
};
void nats_bus_counts(const struct nats_bus *b, struct nats_bus_counts *out);
