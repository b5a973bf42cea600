/* gateway/addresses.c: what is so of addresses, under one lock: it is taken for each connection
 * that comes and goes and for each LoginReq, never for a frame. May touch: common, threads. On
 * trouble: see the header.
 */
#include "gateway/addresses.h"

#include "common/err.h"
#include "common/paces.h"

#include <pthread.h>
#include <stdlib.h>

enum { BUCKET_CONNECT, BUCKET_LOGIN };

struct addresses {
    pthread_mutex_t lock;
    struct addresses_limits limits;
    struct paces paces;
};

int addresses_create(const struct addresses_limits *limits, uint64_t seed, struct addresses **out)
{
    const struct pace_rate rates[PACES_BUCKETS] = {
        [BUCKET_CONNECT] = {limits->connects, 1000, 2 * limits->connects},
        [BUCKET_LOGIN] = {limits->logins, 60000, limits->logins},
    };
    struct addresses *a;

    *out = NULL;
    if (limits->connections == 0 && limits->connects == 0 && limits->logins == 0)
        return 0;
    a = calloc(1, sizeof(*a));
    if (!a || paces_init(&a->paces, limits->most, seed, rates) != 0) {
        free(a);
        return E_NOMEM;
    }
    a->limits = *limits;
    pthread_mutex_init(&a->lock, NULL);
    *out = a;
    return 0;
}

void addresses_destroy(struct addresses *a)
{
    if (!a)
        return;
    paces_fini(&a->paces);
    pthread_mutex_destroy(&a->lock);
    free(a);
}

static enum addresses_verdict enter(struct addresses *a, struct span key, uint32_t now_ms,
                                    uint32_t *slot)
{
    const uint32_t most = a->limits.connections;

    *slot = paces_get(&a->paces, key, now_ms);
    if (*slot == PACES_NONE)
        return ADDRESSES_FULL;
    if (!paces_take(&a->paces, *slot, BUCKET_CONNECT, now_ms))
        return ADDRESSES_FAST;
    if (most != 0 && paces_held(&a->paces, *slot) >= most)
        return ADDRESSES_MANY;
    paces_hold(&a->paces, *slot);
    return ADDRESSES_IN;
}

enum addresses_verdict addresses_enter(struct addresses *a, const struct host *from,
                                       uint32_t now_ms, uint32_t *slot)
{
    *slot = ADDRESSES_NONE;
    if (!a)
        return ADDRESSES_IN;
    const struct host one = host_is_ipv4(from) ? *from : host_cut(from, ADDRESSES_IPV6_BITS);
    pthread_mutex_lock(&a->lock);
    const enum addresses_verdict v = enter(a, span_of(one.bytes, sizeof(one.bytes)), now_ms, slot);
    pthread_mutex_unlock(&a->lock);
    return v;
}

void addresses_leave(struct addresses *a, uint32_t slot, uint32_t now_ms)
{
    if (!a || slot == ADDRESSES_NONE)
        return;
    pthread_mutex_lock(&a->lock);
    (void)paces_release(&a->paces, slot, now_ms);
    pthread_mutex_unlock(&a->lock);
}

bool addresses_login(struct addresses *a, uint32_t slot, uint32_t now_ms)
{
    if (!a || slot == ADDRESSES_NONE || a->limits.logins == 0)
        return true;
    pthread_mutex_lock(&a->lock);
    const bool may = paces_take(&a->paces, slot, BUCKET_LOGIN, now_ms);
    pthread_mutex_unlock(&a->lock);
    return may;
}

void addresses_step(struct addresses *a, uint32_t now_ms)
{
    if (!a)
        return;
    pthread_mutex_lock(&a->lock);
    paces_step(&a->paces, now_ms);
    pthread_mutex_unlock(&a->lock);
}

struct addresses_sum addresses_summed(struct addresses *a)
{
    struct addresses_sum sum = {0};

    if (!a)
        return sum;
    pthread_mutex_lock(&a->lock);
    sum = (struct addresses_sum){a->paces.n, a->paces.forgotten};
    pthread_mutex_unlock(&a->lock);
    return sum;
}
