/* world/state/id_pool.h: entity ids: the lowest free one first, after its rest.
 * A bitmap of free ids in three levels, and a ring of resting ones in the order of their ends.
 * Pure. May touch: common. Source: PROTOCOL.md, "Ids".
 * On trouble: no id left is E_FULL; giving an id that is not out is our bug and asserts.
 */
#pragma once

#include "common/base.h"
#include "common/clock.h"

struct id_pool_rest {
    uint32_t id;
    struct mono until;
};

struct id_pool {
    uint32_t max;                 /* ids are 1..max */
    uint64_t *free[4];            /* bit set: free (level 0), or some free below (levels 1..3) */
    struct id_pool_rest *resting; /* [max] ring */
    uint32_t rest_head, rest_count;
    uint32_t out; /* given and not ended */
    int64_t rest_ns;
};

/* `max` ids from 1 up; an ended id rests `rest_ns`. E_NOMEM. */
int id_pool_init(struct id_pool *p, uint32_t max, int64_t rest_ns) MUST_CHECK;
void id_pool_fini(struct id_pool *p);
/* The lowest id that is free at `now`. 0 or E_FULL. */
int id_pool_take(struct id_pool *p, struct mono now, uint32_t *id) MUST_CHECK;
/* Free those whose rest is over; taking does it too. */
void id_pool_wake(struct id_pool *p, struct mono now);
/* Its entity ended: it rests from `now`. Times never go back. */
void id_pool_end(struct id_pool *p, uint32_t id, struct mono now);
/* Nobody ever was seen under it: free again at once. */
void id_pool_return(struct id_pool *p, uint32_t id);
