/* world/interest/known.c: see the header.
 * A chunk of class c holds KNOWN_CHUNK_MIN << c keys; a free chunk's first key links to the next
 * free one of its class. Chunks are never split or joined: a class that was needed once is needed
 * again, and the block's size bounds the whole.
 */
#include "world/interest/known.h"

#include "common/err.h"

#include <stdlib.h>
#include <string.h>

static uint64_t chunk_keys(unsigned size_class)
{
    return (uint64_t)KNOWN_CHUNK_MIN << size_class;
}

int known_init(struct known *k, uint32_t viewers, uint64_t max_pairs)
{
    memset(k, 0, sizeof(*k));
    k->cap = max_pairs;
    k->viewers = viewers;
    k->keys = malloc(max_pairs * sizeof(*k->keys));
    k->lists = calloc(viewers, sizeof(*k->lists));
    if (!k->keys || !k->lists) {
        known_fini(k);
        return E_NOMEM;
    }
    return 0;
}

void known_fini(struct known *k)
{
    free(k->keys);
    free(k->lists);
    memset(k, 0, sizeof(*k));
}

/* A chunk of this class: a free one, or fresh from the block. */
static bool chunk_take(struct known *k, unsigned size_class, uint64_t *at)
{
    uint64_t n = chunk_keys(size_class);

    if (k->free[size_class] != 0) {
        *at = k->free[size_class] - 1;
        k->free[size_class] = k->keys[*at];
        return true;
    }
    if (k->cap - k->fresh < n)
        return false;
    *at = k->fresh;
    k->fresh += n;
    return true;
}

static void chunk_give(struct known *k, struct known_list *l)
{
    unsigned size_class;

    if (l->size == 0)
        return;
    size_class = l->size - 1u;
    k->keys[l->at] = k->free[size_class];
    k->free[size_class] = l->at + 1;
    l->size = 0;
}

int known_reserve(struct known *k, uint32_t viewer, uint32_t n)
{
    struct known_list *l = &k->lists[viewer];
    unsigned size_class = 0;
    uint64_t at;

    if (n == 0 || (l->size != 0 && n <= chunk_keys(l->size - 1u)))
        return 0;
    while (chunk_keys(size_class) < n)
        size_class++;
    if (size_class >= KNOWN_CLASSES || !chunk_take(k, size_class, &at))
        return E_FULL;
    memcpy(k->keys + at, k->keys + l->at, l->n * sizeof(*k->keys));
    chunk_give(k, l);
    l->at = at;
    l->size = (uint8_t)(size_class + 1);
    return 0;
}

void known_merge(struct known *k, uint32_t viewer, uint32_t kept, const uint64_t *added,
                 uint32_t n_added)
{
    struct known_list *l = &k->lists[viewer];
    uint64_t *keys = k->keys + l->at;
    uint32_t i = kept, j = n_added, out = kept + n_added;

    ASSERT(kept <= l->n);
    ASSERT(out == 0 || l->size != 0);
    k->pairs = k->pairs - l->n + out;
    l->n = out;
    /* From the back, so that each key is written where nothing unread lies. */
    while (j > 0) {
        if (i > 0 && keys[i - 1] > added[j - 1])
            keys[--out] = keys[--i];
        else
            keys[--out] = added[--j];
    }
}

uint32_t known_clear(struct known *k, uint32_t viewer)
{
    struct known_list *l = &k->lists[viewer];
    uint32_t n = l->n;

    k->pairs -= n;
    chunk_give(k, l);
    *l = (struct known_list){0};
    return n;
}

bool known_has(const struct known *k, uint32_t viewer, uint64_t key)
{
    const uint64_t *keys = known_keys(k, viewer);
    uint32_t low = 0, high = known_count(k, viewer);

    while (low < high) {
        uint32_t mid = low + (high - low) / 2;

        if (keys[mid] < key)
            low = mid + 1;
        else
            high = mid;
    }
    return low < known_count(k, viewer) && keys[low] == key;
}
