/* common/paces.c: how often each of many asks. May touch: common/table. On trouble: the header. */
#include "common/paces.h"

#include "common/err.h"

#include <stdlib.h>

#define STEP_MAX 1024 /* forgotten in one step */

static bool key_equal(void *arg, uint32_t value, struct span key)
{
    const struct paces *p = arg;
    const struct pace *one = &p->list[value];
    return span_equal(span_of(one->key, one->key_bytes), key);
}

int paces_init(struct paces *p, uint32_t cap, uint64_t seed,
               const struct pace_rate rates[PACES_BUCKETS])
{
    *p = (struct paces){.cap = cap, .free = PACES_NONE, .first = PACES_NONE, .last = PACES_NONE};
    memcpy(p->rates, rates, sizeof(p->rates));
    p->list = calloc(cap, sizeof(*p->list));
    if (!p->list || table_init(&p->table, cap, seed, key_equal, p) != 0) {
        free(p->list);
        p->list = NULL;
        return E_NOMEM;
    }
    return 0;
}

void paces_fini(struct paces *p)
{
    if (!p->list)
        return;
    table_fini(&p->table);
    free(p->list);
    p->list = NULL;
}

/* --- the list of who is not held ---------------------------------------------------------------
 */

static void unlink_one(struct paces *p, uint32_t slot)
{
    const struct pace *one = &p->list[slot];

    if (one->prev == PACES_NONE)
        p->first = one->next;
    else
        p->list[one->prev].next = one->next;
    if (one->next == PACES_NONE)
        p->last = one->prev;
    else
        p->list[one->next].prev = one->prev;
}

static void append(struct paces *p, uint32_t slot)
{
    struct pace *one = &p->list[slot];

    one->prev = p->last;
    one->next = PACES_NONE;
    if (p->last == PACES_NONE)
        p->first = slot;
    else
        p->list[p->last].next = slot;
    p->last = slot;
}

static void forget_first(struct paces *p)
{
    const uint32_t slot = p->first;
    struct pace *one = &p->list[slot];
    const bool was_there = table_remove(&p->table, span_of(one->key, one->key_bytes));

    ASSERT(was_there);
    unlink_one(p, slot);
    one->next = p->free;
    p->free = slot;
    p->n--;
}

/* --- keys --------------------------------------------------------------------------------------
 */

static uint32_t add(struct paces *p, struct span key, uint32_t now_ms)
{
    if (p->n == p->cap) {
        if (p->first == PACES_NONE)
            return PACES_NONE;
        forget_first(p);
        p->forgotten++;
    }
    const uint32_t slot = p->free != PACES_NONE ? p->free : p->fresh++;
    struct pace *one = &p->list[slot];

    if (slot == p->free)
        p->free = one->next;
    *one = (struct pace){.key_bytes = (uint8_t)key.n, .heard_ms = now_ms};
    memcpy(one->key, key.p, key.n);
    for (uint32_t b = 0; b < PACES_BUCKETS; b++) {
        one->buckets[b].level = (uint64_t)p->rates[b].burst * p->rates[b].per_ms;
        one->buckets[b].at_ms = now_ms;
    }
    append(p, slot);
    p->n++;
    const int err = table_add(&p->table, key, slot);
    ASSERT(err == 0); /* it has room for all */
    return slot;
}

uint32_t paces_get(struct paces *p, struct span key, uint32_t now_ms)
{
    uint32_t slot;

    ASSERT(key.n >= 1);
    ASSERT(key.n <= PACES_KEY_MAX);
    if (!table_find(&p->table, key, &slot))
        return add(p, key, now_ms);
    p->list[slot].heard_ms = now_ms;
    if (p->list[slot].held == 0) {
        unlink_one(p, slot);
        append(p, slot);
    }
    return slot;
}

uint32_t paces_hold(struct paces *p, uint32_t slot)
{
    if (p->list[slot].held == 0)
        unlink_one(p, slot);
    return ++p->list[slot].held;
}

uint32_t paces_release(struct paces *p, uint32_t slot, uint32_t now_ms)
{
    struct pace *one = &p->list[slot];

    ASSERT(one->held > 0);
    one->held--;
    one->heard_ms = now_ms;
    if (one->held == 0)
        append(p, slot);
    return one->held;
}

uint32_t paces_held(const struct paces *p, uint32_t slot)
{
    return p->list[slot].held;
}

bool paces_has(struct paces *p, uint32_t slot, uint32_t bucket, uint32_t now_ms)
{
    const struct pace_rate *rate = &p->rates[bucket];
    uint64_t *level = &p->list[slot].buckets[bucket].level;
    uint32_t *at_ms = &p->list[slot].buckets[bucket].at_ms;
    const uint32_t passed_ms = now_ms - *at_ms;
    const uint64_t full = (uint64_t)rate->burst * rate->per_ms;

    if (rate->tokens == 0)
        return true;
    if (passed_ms <= INT32_MAX) { /* else it is a step back */
        *level += (uint64_t)passed_ms * rate->tokens;
        *at_ms = now_ms;
    }
    if (*level > full)
        *level = full;
    return *level >= rate->per_ms;
}

bool paces_take(struct paces *p, uint32_t slot, uint32_t bucket, uint32_t now_ms)
{
    const struct pace_rate *rate = &p->rates[bucket];

    if (!paces_has(p, slot, bucket, now_ms))
        return false;
    if (rate->tokens != 0)
        p->list[slot].buckets[bucket].level -= rate->per_ms;
    return true;
}

void paces_step(struct paces *p, uint32_t now_ms)
{
    for (int i = 0; i < STEP_MAX && p->first != PACES_NONE; i++) {
        const uint32_t idle_ms = now_ms - p->list[p->first].heard_ms;
        if (idle_ms < PACES_FORGET_MS || idle_ms > INT32_MAX)
            return;
        forget_first(p);
    }
}
