/* world/cluster/kv.h: what the machines of a cluster ask of a store of compare-and-set, as values.
 *
 *   machines ─ kv_command ─► kv_queue ─ edge ─► the store
 *   machines ◄─ kv_result, kv_entry ─ edge ◄──┘
 *
 * A command goes out with the time of its asking and comes back whole in its result, so that what
 * is counted is counted from the sending. Each key's machine has one command under way; an answer
 * to one that it gave up has another turn, and is not listened to.
 * Pure. May touch: common, proto/claim, proto/kv_key. On trouble: a full queue is E_FULL, and asked
 * again later.
 */
#pragma once

#include "common/clock.h"
#include "common/span.h"
#include "proto/limits.h"
#include "proto/claim.h"
#include "proto/kv_key.h"

#define KV_QUEUE 1024 /* commands that wait for the edge */

enum kv_op {
    KV_GET,
    KV_CREATE, /* where there is none */
    KV_UPDATE, /* where `revision` is its last */
    KV_DELETE  /* where `revision` is its last */
};

struct kv_command {
    enum kv_op op;
    struct kv_key key;
    uint64_t revision;
    struct claim value;
    uint32_t turn;
    struct mono asked;
};

enum kv_outcome {
    KV_DONE,    /* at `revision`; of a get `value` stands there */
    KV_LOST,    /* another was first: nothing was done */
    KV_MISSING, /* of a get: nothing stands there */
    KV_UNKNOWN  /* it may have been done, or may be done later */
};

struct kv_result {
    struct kv_command command; /* as it was given */
    enum kv_outcome outcome;
    uint64_t revision;
    struct claim value;
};

/* What stands under a key, told without a question. */
struct kv_entry {
    struct kv_key key;
    uint64_t revision;
    bool deleted;
    struct claim value;
};

struct kv_queue {
    struct kv_command *commands; /* [KV_QUEUE] ring, owned */
    uint32_t head, count;
    uint32_t turn; /* of the last command */
    uint64_t full; /* times that there was no room */
};

int kv_queue_init(struct kv_queue *q) MUST_CHECK; /* E_NOMEM */
void kv_queue_fini(struct kv_queue *q);
bool kv_queue_next(struct kv_queue *q, struct kv_command *out);

/* What a machine knows of one key, and what it asks of it. */
struct kv_cell {
    struct kv_key key;
    uint64_t revision;  /* the highest seen; 0: none yet */
    struct claim value; /* state CLAIM_NONE: nothing stands there */
    bool known;         /* told, since the store was last followed anew */
    struct mono seen;   /* when it was last seen to change */
    uint32_t turn;      /* of the command under way; 0: none */
    struct mono again;  /* not asked before, after an unknown outcome */
};

#define KV_AGAIN_NS (50 * CLOCK_NS_PER_MS) /* after an unknown outcome */

/* Nothing is under way, and asking makes sense now. */
static inline bool kv_cell_idle(const struct kv_cell *c, struct mono now)
{
    return c->turn == 0 && clock_since(now, c->again) >= 0;
}
/* False: the queue is full. Nothing may be under way. */
bool kv_cell_ask(struct kv_cell *c, struct kv_queue *q, enum kv_op op, const struct claim *value,
                 struct mono now);
/* Is it the answer to what is under way? Then the cell knows what the answer says. */
bool kv_cell_answer(struct kv_cell *c, const struct kv_result *r, struct mono now);
/* True where it is news. */
bool kv_cell_entry(struct kv_cell *c, const struct kv_entry *e, struct mono now);
/* The store is followed anew: what was seen counts from now. */
void kv_cell_follow(struct kv_cell *c, struct mono now);
