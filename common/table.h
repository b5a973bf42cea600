/* common/table.h: a hash table from bytes to a 32-bit value, of a size fixed at start.
 * Keyed hash, so that names chosen by a client cannot crowd one bucket. The table holds no keys:
 * the owner of the values compares them. May touch: libc. On trouble: full is E_FULL.
 */
#pragma once

#include "common/span.h"

/* Does the entry `value` have this key? */
typedef bool table_equal_fn(void *arg, uint32_t value, struct span key);

struct table {
    uint64_t *hash;  /* [size] 0: empty */
    uint32_t *value; /* [size] */
    uint32_t size;   /* a power of two, at least 4/3 of cap */
    uint32_t cap;    /* entries at most */
    uint32_t used;   /* entries now */
    uint64_t key[2]; /* of the hash */
    table_equal_fn *equal;
    void *arg; /* borrowed, passed to equal */
};

/* Owns its arrays. E_NOMEM. */
int table_init(struct table *t, uint32_t cap, uint64_t seed, table_equal_fn *equal,
               void *arg) MUST_CHECK;
void table_fini(struct table *t);
bool table_find(const struct table *t, struct span key, uint32_t *value);
/* The key must not be in it yet (the caller has looked). 0, or E_FULL. */
int table_add(struct table *t, struct span key, uint32_t value) MUST_CHECK;
/* False where it was not there. Call while `equal` still finds the key. */
bool table_remove(struct table *t, struct span key);
/* SipHash-1-3 of the key. */
uint64_t table_hash(const uint64_t key[2], struct span bytes);
