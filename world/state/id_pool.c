/* world/state/id_pool.c: see the header.
 * Level 0 of the bitmap has a bit for each id; a bit of level k+1 says that a word of level k is
 * not zero. The lowest free id is four look-ups away, whatever the number of ids.
 */
#include "world/state/id_pool.h"

#include "common/err.h"

#include <stdlib.h>
#include <string.h>

#define ID_LEVELS 4
#define ID_BITS   64u

static uint32_t level_words(uint32_t max, unsigned level)
{
    uint64_t n = (uint64_t)max + 1; /* bit 0 stands for id 0, which is never free */

    for (unsigned i = 0; i <= level; i++)
        n = (n + ID_BITS - 1) / ID_BITS;
    return (uint32_t)n;
}

static void mark_free(struct id_pool *p, uint32_t id)
{
    uint32_t bit = id;

    for (unsigned i = 0; i < ID_LEVELS; i++) {
        p->free[i][bit / ID_BITS] |= 1ull << (bit % ID_BITS);
        bit /= ID_BITS;
    }
}

static void mark_taken(struct id_pool *p, uint32_t id)
{
    uint32_t bit = id;

    for (unsigned i = 0; i < ID_LEVELS; i++) {
        p->free[i][bit / ID_BITS] &= ~(1ull << (bit % ID_BITS));
        if (p->free[i][bit / ID_BITS] != 0)
            return;
        bit /= ID_BITS;
    }
}

static bool is_free(const struct id_pool *p, uint32_t id)
{
    return (p->free[0][id / ID_BITS] >> (id % ID_BITS) & 1) != 0;
}

int id_pool_init(struct id_pool *p, uint32_t max, int64_t rest_ns)
{
    ASSERT(max >= 1);
    ASSERT(max < 1u << 24); /* four levels of 64 */
    memset(p, 0, sizeof(*p));
    p->max = max;
    p->rest_ns = rest_ns;
    p->resting = calloc(max, sizeof(*p->resting));
    for (unsigned i = 0; i < ID_LEVELS; i++)
        p->free[i] = calloc(level_words(max, i), sizeof(*p->free[i]));
    for (unsigned i = 0; i < ID_LEVELS; i++) {
        if (!p->free[i] || !p->resting) {
            id_pool_fini(p);
            return E_NOMEM;
        }
    }
    for (uint32_t id = 1; id <= max; id++)
        mark_free(p, id);
    return 0;
}

void id_pool_fini(struct id_pool *p)
{
    for (unsigned i = 0; i < ID_LEVELS; i++)
        free(p->free[i]);
    free(p->resting);
    free(p->fed);
    free(p->abroad);
    memset(p, 0, sizeof(*p));
}

int id_pool_close(struct id_pool *p)
{
    ASSERT(!p->fed);
    ASSERT(p->out == 0);
    for (unsigned i = 0; i < ID_LEVELS; i++)
        memset(p->free[i], 0, level_words(p->max, i) * sizeof(*p->free[i]));
    p->fed = calloc(level_words(p->max, 0), sizeof(*p->fed));
    p->abroad = calloc(level_words(p->max, 0), sizeof(*p->abroad));
    return p->fed && p->abroad ? 0 : E_NOMEM;
}

void id_pool_void(struct id_pool *p)
{
    ASSERT(p->fed);
    for (unsigned i = 0; i < ID_LEVELS; i++)
        memset(p->free[i], 0, level_words(p->max, i) * sizeof(*p->free[i]));
    memset(p->fed, 0, level_words(p->max, 0) * sizeof(*p->fed));
    memset(p->abroad, 0, level_words(p->max, 0) * sizeof(*p->abroad));
    p->rest_head = p->rest_count = p->out = 0;
}

static bool bit_of(const uint64_t *bits, uint32_t id)
{
    return (bits[id / ID_BITS] >> (id % ID_BITS) & 1) != 0;
}

void id_pool_feed(struct id_pool *p, uint32_t first, uint32_t n)
{
    ASSERT(p->fed);
    ASSERT(first >= 1);
    ASSERT(n <= p->max);
    ASSERT(first <= p->max - n + 1);
    for (uint32_t id = first; id < first + n; id++) {
        ASSERT(!bit_of(p->fed, id));
        p->fed[id / ID_BITS] |= 1ull << (id % ID_BITS);
        mark_free(p, id);
    }
}

bool id_pool_owns(const struct id_pool *p, uint32_t id)
{
    return id >= 1 && id <= p->max && (!p->fed || bit_of(p->fed, id));
}

void id_pool_abroad(struct id_pool *p, uint32_t id, bool on)
{
    ASSERT(p->fed);
    ASSERT(id_pool_owns(p, id));
    ASSERT(!is_free(p, id));
    if (on)
        p->abroad[id / ID_BITS] |= 1ull << (id % ID_BITS);
    else
        p->abroad[id / ID_BITS] &= ~(1ull << (id % ID_BITS));
}

bool id_pool_ended(struct id_pool *p, uint32_t id, struct mono now)
{
    ASSERT(p->fed);
    if (!id_pool_owns(p, id) || !bit_of(p->abroad, id))
        return false;
    id_pool_abroad(p, id, false);
    id_pool_end(p, id, now);
    return true;
}

void id_pool_wake(struct id_pool *p, struct mono now)
{
    while (p->rest_count > 0 && p->resting[p->rest_head].until.ns <= now.ns) {
        mark_free(p, p->resting[p->rest_head].id);
        p->rest_head = (p->rest_head + 1) % p->max;
        p->rest_count--;
    }
}

int id_pool_take(struct id_pool *p, struct mono now, uint32_t *id)
{
    uint32_t at = 0;

    id_pool_wake(p, now);
    for (int i = ID_LEVELS - 1; i >= 0; i--) {
        uint64_t word = p->free[i][at];

        if (word == 0)
            return E_FULL;
        at = at * ID_BITS + (uint32_t)__builtin_ctzll(word);
    }
    mark_taken(p, at);
    p->out++;
    *id = at;
    return 0;
}

void id_pool_end(struct id_pool *p, uint32_t id, struct mono now)
{
    uint32_t at;

    ASSERT(id >= 1);
    ASSERT(id <= p->max);
    ASSERT(!is_free(p, id));
    ASSERT(p->rest_count < p->max);
    at = (p->rest_head + p->rest_count) % p->max;
    p->resting[at] = (struct id_pool_rest){id, clock_add(now, p->rest_ns)};
    p->rest_count++;
    p->out--;
}

void id_pool_return(struct id_pool *p, uint32_t id)
{
    ASSERT(id >= 1);
    ASSERT(id <= p->max);
    ASSERT(!is_free(p, id));
    mark_free(p, id);
    p->out--;
}
