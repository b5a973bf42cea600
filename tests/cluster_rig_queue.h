/* tests/cluster_rig_queue.h: bytes under way between the parts of tests/cluster_rig.
 * May touch: common.
 */
#pragma once

#include "common/span.h"

/* Bytes under way. */
struct crig_parcel {
    uint32_t from, to; /* worlds; of a link's: `to` alone */
    uint64_t due;      /* step in which it is delivered */
    struct span bytes; /* owned */
};

struct crig_queue {
    struct crig_parcel *list; /* [n] in the order of sending */
    uint32_t n, cap;
};

void crig_queue_put(struct crig_queue *q, uint32_t from, uint32_t to, uint64_t due,
                    struct span bytes);
/* The first that is due, whose bytes are the caller's now; of a link only its very first. */
bool crig_queue_take(struct crig_queue *q, uint64_t step, bool fifo, struct crig_parcel *out);
void crig_queue_fini(struct crig_queue *q);
