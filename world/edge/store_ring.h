/* world/edge/store_ring.h: records of one size from one thread to another.
 * One thread puts, one takes; neither ever waits, neither takes a lock that the other may hold
 * while it is not running. All memory is taken at the start. May touch: common, atomics.
 * On trouble: full is E_FULL.
 */
#pragma once

#include "common/base.h"

#include <stdatomic.h>
#include <stdbool.h>

struct store_ring {
    uint8_t *slots;
    size_t size;                 /* bytes of a record */
    uint32_t cap;                /* records; a power of two */
    _Atomic uint32_t put, taken; /* counts since the start */
};

/* `cap` is rounded up to a power of two. E_NOMEM. */
int store_ring_init(struct store_ring *r, uint32_t cap, size_t size) MUST_CHECK;
void store_ring_fini(struct store_ring *r);
int store_ring_put(struct store_ring *r, const void *record) MUST_CHECK;
/* The oldest, without taking it; false: there is none. Of the taking thread. */
bool store_ring_peek(struct store_ring *r, void *record);
void store_ring_drop(struct store_ring *r);
/* How many are in it now, or were a moment ago. */
uint32_t store_ring_count(struct store_ring *r);
