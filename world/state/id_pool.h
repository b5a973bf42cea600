/* world/state/id_pool.h: entity ids: the lowest free one first, after its rest.
 * A bitmap of free ids in three levels, and a ring of resting ones in the order of their ends.
 * In a cluster a world gives the ids of blocks that it was fed, and no others; entities of other
 * worlds' ids come and go, and of its own some end elsewhere.
 * Pure. May touch: common. Source: PROTOCOL.md, "Ids".
 * On trouble: no id left is E_FULL; giving an id that is not out is our bug and asserts.
 */
#pragma once

#include "common/base.h"
#include "common/clock.h"

#include <stdbool.h>

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
    uint64_t *fed;    /* bits: it may give this id; NULL: all of them */
    uint64_t *abroad; /* bits: it gave this one, to an entity that is another world's now */
};

/* `max` ids from 1 up; an ended id rests `rest_ns`. E_NOMEM. */
int id_pool_init(struct id_pool *p, uint32_t max, int64_t rest_ns) MUST_CHECK;
void id_pool_fini(struct id_pool *p);
/* From now on it has no ids but those that it is fed; none is out. E_NOMEM. */
int id_pool_close(struct id_pool *p) MUST_CHECK;
/* `n` more ids, from `first` up, all at most `max`; fed once. */
void id_pool_feed(struct id_pool *p, uint32_t first, uint32_t n);
/* None of what it was fed is its own any more; whoever has one of them keeps it. */
void id_pool_void(struct id_pool *p);
/* Does it give this id? */
bool id_pool_owns(const struct id_pool *p, uint32_t id);
/* The entity of an id that is out is another world's now (`on`), or this one's again. */
void id_pool_abroad(struct id_pool *p, uint32_t id, bool on);
/* One that is abroad has ended there; any other is none of ours, or was told of before. Returns
 * whether it was. */
bool id_pool_ended(struct id_pool *p, uint32_t id, struct mono now);
/* The lowest id that is free at `now`. 0 or E_FULL. */
int id_pool_take(struct id_pool *p, struct mono now, uint32_t *id) MUST_CHECK;
/* Free those whose rest is over; taking does it too. */
void id_pool_wake(struct id_pool *p, struct mono now);
/* Its entity ended: it rests from `now`. Times never go back. */
void id_pool_end(struct id_pool *p, uint32_t id, struct mono now);
/* Nobody ever was seen under it: free again at once. */
void id_pool_return(struct id_pool *p, uint32_t id);
