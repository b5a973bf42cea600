/* world/edge/store_queue.h: characters that are not stored yet, one entry a name.
 * A later save of a name takes the place of the earlier one where that stands, so no save overtakes
 * another of its name, the last one wins, and a database that is away costs memory only for as many
 * characters as changed meanwhile. Pure; of one thread. May touch: common, world/store.
 * On trouble: full is E_FULL, and who saves waits.
 */
#pragma once

#include "common/table.h"
#include "world/store.h"

struct store_queue {
    struct store_character *list; /* [cap] */
    uint32_t *next;               /* [cap] behind it in the queue, or among the free */
    uint64_t *turn;               /* [cap] how many will have left the queue when it has */
    struct table by_name;
    uint32_t cap, count;
    uint32_t fresh, free; /* slots never used begin at fresh; head of the free ones */
    uint32_t first, last;
    uint64_t come, gone; /* entries since the start */
};

/* E_NOMEM. */
int store_queue_init(struct store_queue *q, uint32_t cap, uint64_t seed) MUST_CHECK;
void store_queue_fini(struct store_queue *q);

/* 0: it stands at the end. 1: it took the place of an earlier one, or was below its fence. E_FULL.
 */
int store_queue_put(struct store_queue *q, const struct store_character *c) MUST_CHECK;
/* What waits under that name; NULL: nothing does. Lives until the next put or drop. */
const struct store_character *store_queue_find(const struct store_queue *q, struct span name);
/* What waits under that name is stored as soon as `gone` is this; 0: nothing waits. */
uint64_t store_queue_turn(const struct store_queue *q, struct span name);
/* The first, and the one behind another; NULL: there is none. */
const struct store_character *store_queue_first(const struct store_queue *q);
const struct store_character *store_queue_after(const struct store_queue *q,
                                                const struct store_character *c);
/* The first `n` are stored. */
void store_queue_drop(struct store_queue *q, uint32_t n);
