/* world/interest/known.c: see the header.
 * A chunk of class c holds KNOWN_CHUNK_MIN << c keys; a free chunk's first key links to the next
 * free one of its class. Chunks are never split or joined; where lists have changed their sizes so
 * much that one finds no room though there is some, known_compact lays all anew.
 */
#include "world/interest/known.h"

#include "common/err.h"

#include <stdlib.h>
#include <string.h>

#define KNOWN_VIEWER_BITS  24 /* of an order word; the rest is a place in the block */
#define KNOWN_COMPACT_GAIN 8  /* compact for an eighth of the block at least */
#define KNOWN_INSERTION    24 /* keys up to which insertion sorts faster than a heap */

static uint64_t chunk_keys(unsigned size_class)
{
    return (uint64_t)KNOWN_CHUNK_MIN << size_class;
}

int known_init(struct known *k, uint32_t viewers, uint64_t max_pairs)
{
    ASSERT(viewers < 1u << KNOWN_VIEWER_BITS);
    ASSERT(max_pairs < 1ull << (64 - KNOWN_VIEWER_BITS));
    memset(k, 0, sizeof(*k));
    k->cap = max_pairs;
    k->viewers = viewers;
    k->keys = malloc(max_pairs * sizeof(*k->keys));
    k->lists = calloc(viewers, sizeof(*k->lists));
    k->order = calloc(viewers, sizeof(*k->order));
    if (!k->keys || !k->lists || !k->order) {
        known_fini(k);
        return E_NOMEM;
    }
    return 0;
}

void known_fini(struct known *k)
{
    free(k->keys);
    free(k->lists);
    free(k->order);
    memset(k, 0, sizeof(*k));
}

/* The smallest class that holds n keys; n >= 1. */
static unsigned class_of(uint32_t n)
{
    unsigned size_class = 0;

    while (chunk_keys(size_class) < n)
        size_class++;
    return size_class;
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
    unsigned size_class;
    uint64_t at;

    if (n == 0 || (l->size != 0 && n <= chunk_keys(l->size - 1u)))
        return 0;
    size_class = class_of(n);
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

static void sift(uint64_t *keys, uint32_t from, uint32_t n)
{
    uint64_t key = keys[from];
    uint32_t at = from, child;

    while ((child = 2 * at + 1) < n) {
        if (child + 1 < n && keys[child + 1] > keys[child])
            child++;
        if (keys[child] <= key)
            break;
        keys[at] = keys[child];
        at = child;
    }
    keys[at] = key;
}

/* In place and without memory of its own, since libc's may ask for some. */
void known_sort(uint64_t *keys, uint32_t n)
{
    if (n <= KNOWN_INSERTION) {
        for (uint32_t i = 1; i < n; i++) {
            uint64_t key = keys[i];
            uint32_t at = i;

            for (; at > 0 && keys[at - 1] > key; at--)
                keys[at] = keys[at - 1];
            keys[at] = key;
        }
        return;
    }
    for (uint32_t i = n / 2; i > 0; i--)
        sift(keys, i - 1, n);
    for (uint32_t last = n - 1; last > 0; last--) {
        uint64_t key = keys[last];

        keys[last] = keys[0];
        keys[0] = key;
        sift(keys, 0, last);
    }
}

/* Keys that all lists would take in their smallest chunks. */
static uint64_t least_room(const struct known *k)
{
    uint64_t sum = 0;

    for (uint32_t v = 0; v < k->viewers; v++) {
        if (k->lists[v].n > 0)
            sum += chunk_keys(class_of(k->lists[v].n));
    }
    return sum;
}

void known_compact(struct known *k)
{
    uint32_t n = 0;

    if (k->fresh - least_room(k) < k->cap / KNOWN_COMPACT_GAIN)
        return;
    for (uint32_t v = 0; v < k->viewers; v++) {
        struct known_list *l = &k->lists[v];

        if (l->n == 0)
            *l = (struct known_list){0};
        else
            k->order[n++] = l->at << KNOWN_VIEWER_BITS | v;
    }
    known_sort(k->order, n);
    memset(k->free, 0, sizeof(k->free));
    k->fresh = 0;
    for (uint32_t i = 0; i < n; i++) { /* in the order of places: each moves down, or stays */
        struct known_list *l = &k->lists[k->order[i] & ((1u << KNOWN_VIEWER_BITS) - 1)];
        unsigned size_class = class_of(l->n);

        memmove(k->keys + k->fresh, k->keys + l->at, l->n * sizeof(*k->keys));
        l->at = k->fresh;
        l->size = (uint8_t)(size_class + 1);
        k->fresh += chunk_keys(size_class);
    }
}
