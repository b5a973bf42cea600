/* world/edge/store_queue.c: see the header. */
#include "world/edge/store_queue.h"

#include "common/err.h"

#include <stdlib.h>

#define NONE UINT32_MAX

static struct span name_of(const struct store_character *c)
{
    return span_of(c->name, c->name_len);
}

static bool equal(void *arg, uint32_t value, struct span key)
{
    const struct store_queue *q = arg;

    return span_equal(name_of(&q->list[value]), key);
}

int store_queue_init(struct store_queue *q, uint32_t cap, uint64_t seed)
{
    *q = (struct store_queue){.cap = cap, .free = NONE, .first = NONE, .last = NONE};
    q->list = calloc(cap, sizeof(*q->list));
    q->next = calloc(cap, sizeof(*q->next));
    q->turn = calloc(cap, sizeof(*q->turn));
    if (!q->list || !q->next || !q->turn || table_init(&q->by_name, cap, seed, equal, q) != 0) {
        store_queue_fini(q);
        return E_NOMEM;
    }
    return 0;
}

void store_queue_fini(struct store_queue *q)
{
    table_fini(&q->by_name);
    free(q->turn);
    free(q->next);
    free(q->list);
    *q = (struct store_queue){0};
}

int store_queue_put(struct store_queue *q, const struct store_character *c)
{
    uint32_t slot;
    int err;

    if (table_find(&q->by_name, name_of(c), &slot)) {
        if (!store_fence_below(&c->fence, &q->list[slot].fence))
            q->list[slot] = *c;
        return 1;
    }
    if (q->count == q->cap)
        return E_FULL;
    slot = q->free;
    if (slot != NONE)
        q->free = q->next[slot];
    else
        slot = q->fresh++;
    q->list[slot] = *c;
    q->next[slot] = NONE;
    q->turn[slot] = ++q->come;
    if (q->last == NONE)
        q->first = slot;
    else
        q->next[q->last] = slot;
    q->last = slot;
    q->count++;
    err = table_add(&q->by_name, name_of(c), slot);
    ASSERT(err == 0); /* a place for each slot */
    return 0;
}

const struct store_character *store_queue_find(const struct store_queue *q, struct span name)
{
    uint32_t slot;

    return table_find(&q->by_name, name, &slot) ? &q->list[slot] : NULL;
}

uint64_t store_queue_turn(const struct store_queue *q, struct span name)
{
    uint32_t slot;

    return table_find(&q->by_name, name, &slot) ? q->turn[slot] : 0;
}

const struct store_character *store_queue_first(const struct store_queue *q)
{
    return q->first != NONE ? &q->list[q->first] : NULL;
}

const struct store_character *store_queue_after(const struct store_queue *q,
                                                const struct store_character *c)
{
    uint32_t next = q->next[c - q->list];

    return next != NONE ? &q->list[next] : NULL;
}

void store_queue_drop(struct store_queue *q, uint32_t n)
{
    for (; n > 0; n--) {
        uint32_t slot = q->first;
        bool found;

        ASSERT(slot != NONE);
        found = table_remove(&q->by_name, name_of(&q->list[slot]));
        ASSERT(found);
        q->first = q->next[slot];
        if (q->first == NONE)
            q->last = NONE;
        q->next[slot] = q->free;
        q->free = slot;
        q->count--;
        q->gone++;
    }
}
