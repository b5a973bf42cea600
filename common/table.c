/* common/table.c: open addressing with linear probing; a removal shifts back what follows, so
 * there are no tombstones and a table that lives for months stays as quick as a new one.
 * SipHash-1-3 is written from its public description (Aumasson and Bernstein).
 * May touch: libc. On trouble: full is E_FULL.
 */
#include "common/table.h"

#include "common/err.h"

#include <stdlib.h>

#define TABLE_SIZE_MIN 4u
#define TABLE_SIZE_MAX (1u << 31)

/* The bytes 8 by 8, little-endian on every machine. */
static uint64_t sip_word(const uint8_t *p)
{
    uint64_t w = 0;
    for (int i = 7; i >= 0; i--)
        w = w << 8 | p[i];
    return w;
}

static uint64_t rotl(uint64_t v, int by)
{
    return v << by | v >> (64 - by);
}

static void sip_round(uint64_t v[4])
{
    v[0] += v[1];
    v[2] += v[3];
    v[1] = rotl(v[1], 13) ^ v[0];
    v[3] = rotl(v[3], 16) ^ v[2];
    v[0] = rotl(v[0], 32);
    v[2] += v[1];
    v[0] += v[3];
    v[1] = rotl(v[1], 17) ^ v[2];
    v[3] = rotl(v[3], 21) ^ v[0];
    v[2] = rotl(v[2], 32);
}

uint64_t table_hash(const uint64_t key[2], struct span bytes)
{
    uint64_t v[4] = {key[0] ^ 0x736f6d6570736575u, key[1] ^ 0x646f72616e646f6du,
                     key[0] ^ 0x6c7967656e657261u, key[1] ^ 0x7465646279746573u};
    size_t whole = bytes.n & ~(size_t)7;

    for (size_t i = 0; i < whole; i += 8) {
        uint64_t m = sip_word(bytes.p + i);
        v[3] ^= m;
        sip_round(v);
        v[0] ^= m;
    }

    /* The last word: what is left over, and the length's low byte on top. */
    uint8_t rest[8] = {0};
    if (bytes.n > whole)
        memcpy(rest, bytes.p + whole, bytes.n - whole);
    rest[7] = (uint8_t)bytes.n;
    uint64_t last = sip_word(rest);
    v[3] ^= last;
    sip_round(v);
    v[0] ^= last;

    v[2] ^= 0xff;
    sip_round(v);
    sip_round(v);
    sip_round(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

/* 0 means an empty place, so the hash that is kept is never 0. */
static uint64_t kept_hash(const struct table *t, struct span key)
{
    uint64_t h = table_hash(t->key, key);
    return h ? h : 1;
}

int table_init(struct table *t, uint32_t cap, uint64_t seed, table_equal_fn *equal, void *arg)
{
    ASSERT(cap >= 1);
    ASSERT(equal);
    uint32_t size = TABLE_SIZE_MIN;
    while (size < TABLE_SIZE_MAX && size / 4 * 3 < cap)
        size *= 2;

    *t = (struct table){.size = size, .cap = cap, .equal = equal, .arg = arg};
    if (size / 4 * 3 < cap)
        return E_NOMEM;
    t->key[0] = seed;
    t->key[1] = seed ^ 0x9e3779b97f4a7c15u;
    t->hash = calloc(size, sizeof(*t->hash));
    t->value = calloc(size, sizeof(*t->value));
    if (!t->hash || !t->value) {
        table_fini(t);
        return E_NOMEM;
    }
    return 0;
}

void table_fini(struct table *t)
{
    if (!t)
        return;
    free(t->hash);
    free(t->value);
    *t = (struct table){0};
}

/* The place of `key`, or the empty one that ends its run. A quarter of all places is empty, so
 * there is always an end. */
static uint32_t place_of(const struct table *t, uint64_t hash, struct span key)
{
    uint32_t mask = t->size - 1;
    uint32_t at = (uint32_t)hash & mask;
    while (t->hash[at] && !(t->hash[at] == hash && t->equal(t->arg, t->value[at], key)))
        at = (at + 1) & mask;
    return at;
}

bool table_find(const struct table *t, struct span key, uint32_t *value)
{
    uint32_t at = place_of(t, kept_hash(t, key), key);
    if (!t->hash[at])
        return false;
    *value = t->value[at];
    return true;
}

int table_add(struct table *t, struct span key, uint32_t value)
{
    if (t->used == t->cap)
        return E_FULL;
    uint64_t hash = kept_hash(t, key);
    uint32_t mask = t->size - 1;
    uint32_t at = (uint32_t)hash & mask;
    while (t->hash[at])
        at = (at + 1) & mask;
    t->hash[at] = hash;
    t->value[at] = value;
    t->used++;
    return 0;
}

bool table_remove(struct table *t, struct span key)
{
    uint32_t mask = t->size - 1;
    uint32_t hole = place_of(t, kept_hash(t, key), key);
    if (!t->hash[hole])
        return false;

    /* Whatever stands behind the hole in the same run and would not be found past it moves in. */
    for (uint32_t at = (hole + 1) & mask; t->hash[at]; at = (at + 1) & mask) {
        uint32_t home = (uint32_t)t->hash[at] & mask;
        if (((at - home) & mask) >= ((at - hole) & mask)) {
            t->hash[hole] = t->hash[at];
            t->value[hole] = t->value[at];
            hole = at;
        }
    }
    t->hash[hole] = 0;
    t->used--;
    return true;
}
