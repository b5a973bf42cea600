/* world/interest/known.h: what each viewer knows: one ascending list of keys a viewer.
 * A key is id << 32 | slot: it sorts by id, and an ended entity shows by its id, since ids rest
 * longer than a tick. Lists live in chunks of powers of two from one block taken at start.
 * Pure. May touch: common. On trouble: the block's end is E_FULL, and changes nothing.
 */
#pragma once

#include "common/base.h"

#include <stdbool.h>

#define KNOWN_CLASSES   26 /* chunk sizes: 8 keys, doubling */
#define KNOWN_CHUNK_MIN 8u /* keys */

struct known_list {
    uint64_t at;  /* index of its chunk's first key in the block */
    uint32_t n;   /* keys */
    uint8_t size; /* class of its chunk + 1; 0: no chunk */
};

struct known {
    uint64_t *keys;               /* [cap] the block; pages are touched as they are used */
    uint64_t cap;                 /* keys */
    uint64_t fresh;               /* keys from here on were never given */
    uint64_t free[KNOWN_CLASSES]; /* heads of chunk lists, index + 1; 0: empty */
    struct known_list *lists;     /* [viewers] */
    uint32_t viewers;
    uint64_t *order; /* [viewers] for compacting */
    uint64_t pairs;  /* keys in all lists */
};

static inline uint64_t known_key(uint32_t id, uint32_t slot)
{
    return (uint64_t)id << 32 | slot;
}

static inline uint32_t known_id(uint64_t key)
{
    return (uint32_t)(key >> 32);
}

static inline uint32_t known_slot(uint64_t key)
{
    return (uint32_t)key;
}

/* `viewers` lists, `max_pairs` keys in all chunks together. E_NOMEM. */
int known_init(struct known *k, uint32_t viewers, uint64_t max_pairs) MUST_CHECK;
void known_fini(struct known *k);

static inline const uint64_t *known_keys(const struct known *k, uint32_t viewer)
{
    return k->keys + k->lists[viewer].at;
}

static inline uint32_t known_count(const struct known *k, uint32_t viewer)
{
    return k->lists[viewer].n;
}

/* Give the viewer's list room for `n` keys, keeping those it has. 0 or E_FULL. */
int known_reserve(struct known *k, uint32_t viewer, uint32_t n) MUST_CHECK;
/* Replace the list by `kept` of its own first keys (already moved to the front) merged with
 * `added` ascending keys; room was reserved. */
void known_merge(struct known *k, uint32_t viewer, uint32_t kept, const uint64_t *added,
                 uint32_t n_added);
/* Empty it and give its chunk back. Returns how many pairs ended. */
uint32_t known_clear(struct known *k, uint32_t viewer);
bool known_has(const struct known *k, uint32_t viewer, uint64_t key);
/* Lay all lists side by side, each in the smallest chunk that holds it. Costs a move of all keys.
 */
void known_compact(struct known *k);
/* Sort keys in place, without memory of its own, since libc's may ask for some. */
void known_sort(uint64_t *keys, uint32_t n);
