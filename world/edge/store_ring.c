/* world/edge/store_ring.c: see the header. */
#include "world/edge/store_ring.h"

#include "common/err.h"

#include <stdlib.h>
#include <string.h>

int store_ring_init(struct store_ring *r, uint32_t cap, size_t size)
{
    *r = (struct store_ring){.size = size, .cap = 1};
    while (r->cap < cap)
        r->cap *= 2;
    r->slots = calloc(r->cap, size);
    return r->slots ? 0 : E_NOMEM;
}

void store_ring_fini(struct store_ring *r)
{
    free(r->slots);
    r->slots = NULL;
}

static uint8_t *slot(const struct store_ring *r, uint32_t number)
{
    return r->slots + (size_t)(number & (r->cap - 1)) * r->size;
}

int store_ring_put(struct store_ring *r, const void *record)
{
    uint32_t put = atomic_load_explicit(&r->put, memory_order_relaxed);

    if (put - atomic_load_explicit(&r->taken, memory_order_acquire) == r->cap)
        return E_FULL;
    memcpy(slot(r, put), record, r->size);
    atomic_store(&r->put, put + 1); /* also before whatever the caller looks at next */
    return 0;
}

bool store_ring_peek(struct store_ring *r, void *record)
{
    uint32_t taken = atomic_load_explicit(&r->taken, memory_order_relaxed);

    if (atomic_load(&r->put) == taken)
        return false;
    memcpy(record, slot(r, taken), r->size);
    return true;
}

void store_ring_drop(struct store_ring *r)
{
    atomic_fetch_add_explicit(&r->taken, 1, memory_order_release);
}

uint32_t store_ring_count(struct store_ring *r)
{
    uint32_t taken = atomic_load(&r->taken);

    return atomic_load(&r->put) - taken;
}
