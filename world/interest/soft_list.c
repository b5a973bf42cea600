/* world/interest/soft_list.c: see the header. */
#include "world/interest/soft_list.h"

#include "common/err.h"

#include <stdlib.h>
#include <string.h>

#define CHUNK_MIN  16u /* places of the smallest chunk; the others double */
#define CLASSES    32
#define HOLE_EVERY 12 /* pairs to a hole where a list is laid out anew */
#define HOLE_NEAR  48 /* places that are shifted to reach one */

#define COMPACT_GAIN 8  /* compact for an eighth of the block at least */
#define ORDER_BITS   24 /* of an order word for the viewer; the rest is a place in the block */

static uint32_t chunk_places(unsigned size_class)
{
    return CHUNK_MIN << size_class;
}

int soft_list_init(struct soft *s, uint64_t max_pairs)
{
    uint64_t slots = s->cap < SOFT_BITS_SLOTS ? (s->cap + 63) / 64 * 64 : SOFT_BITS_SLOTS;

    s->room = max_pairs;
    s->keys = malloc(max_pairs * sizeof(*s->keys));
    s->told = malloc(max_pairs * sizeof(*s->told));
    s->part = malloc(max_pairs + SOFT_PAD);
    s->viewers = calloc(s->cap, sizeof(*s->viewers));
    s->seat = calloc(s->cap, sizeof(*s->seat));
    s->order = malloc(s->cap * sizeof(*s->order));
    s->load = calloc((size_t)s->cap * s->n_parts, sizeof(*s->load));
    if (!s->keys || !s->told || !s->part || !s->viewers || !s->seat || !s->order || !s->load)
        return E_NOMEM;
    if (s->by_look)
        return 0; /* nobody asks for bits */
    s->bits = calloc(slots * slots / 64 * s->rules.n_tiers, sizeof(*s->bits));
    s->bits_slots = (uint32_t)slots;
    return s->bits ? 0 : E_NOMEM;
}

void soft_list_fini(struct soft *s)
{
    free(s->keys);
    free(s->told);
    free(s->part);
    free(s->viewers);
    free(s->seat);
    free(s->order);
    free(s->load);
    free(s->bits);
}

/* --- chunks ---------------------------------------------------------------------------------- */

static unsigned class_of(uint32_t n)
{
    unsigned size_class = 0;

    while (chunk_places(size_class) < n)
        size_class++;
    return size_class;
}

static bool chunk_take(struct soft *s, unsigned size_class, uint64_t *at)
{
    uint64_t n = chunk_places(size_class);

    if (s->free[size_class] != 0) {
        *at = s->free[size_class] - 1;
        s->free[size_class] = s->keys[*at];
        return true;
    }
    if (s->room - s->fresh < n)
        return false;
    *at = s->fresh;
    s->fresh += n;
    return true;
}

static void chunk_give(struct soft *s, const struct soft_viewer *v)
{
    if (v->size == 0)
        return;
    s->keys[v->at] = s->free[v->size - 1u];
    s->free[v->size - 1u] = v->at + 1;
}

static void move(struct soft *s, uint64_t to, uint64_t from)
{
    s->keys[to] = s->keys[from];
    s->told[to] = s->told[from];
    s->part[to] = s->part[from];
}

/* Push the pairs to the chunk's front, without holes. */
static void close_holes(struct soft *s, struct soft_viewer *v)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < v->span; i++) {
        if (s->part[v->at + i] == SOFT_HOLE)
            continue;
        if (n != i)
            move(s, v->at + n, v->at + i);
        n++;
    }
    ASSERT(n == v->n);
    v->span = n;
}

/* Spread the pairs, which lie at the front, with a hole behind every so many. */
static void open_holes(struct soft *s, struct soft_viewer *v)
{
    uint32_t holes = v->n / HOLE_EVERY, to;

    if (holes > chunk_places(v->size - 1u) - v->n)
        holes = chunk_places(v->size - 1u) - v->n;
    to = v->n + holes;
    v->span = to;
    for (uint32_t i = v->n; i > 0; i--) { /* from the back: a pair goes where nothing unread lies */
        if (i % HOLE_EVERY == 0 && to > i) {
            to--;
            s->keys[v->at + to] = s->keys[v->at + i - 1];
            s->part[v->at + to] = SOFT_HOLE;
        }
        to--;
        if (to != i - 1)
            move(s, v->at + to, v->at + i - 1);
    }
}

/* Close the holes, and make room in the chunk, or a new one, for `more`. False: there is none. */
static bool grow(struct soft *s, struct soft_viewer *v, uint32_t more)
{
    uint32_t want = v->n + more;
    unsigned size_class = class_of(want + want / HOLE_EVERY);
    uint64_t at;

    close_holes(s, v);
    if (v->size > size_class)
        return true;
    if (size_class >= CLASSES || !chunk_take(s, size_class, &at))
        return v->size > 0 && want <= chunk_places(v->size - 1u);
    memcpy(s->keys + at, s->keys + v->at, v->n * sizeof(*s->keys));
    memcpy(s->told + at, s->told + v->at, v->n * sizeof(*s->told));
    memcpy(s->part + at, s->part + v->at, v->n);
    chunk_give(s, v);
    v->at = at;
    v->size = (uint8_t)(size_class + 1);
    return true;
}

/* Places that all lists would take in their smallest chunks. */
static uint64_t least_room(const struct soft *s)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < s->n_seats; i++) {
        uint32_t n = s->viewers[s->seat[i]].n;

        sum += n > 0 ? chunk_places(class_of(n)) : 0;
    }
    return sum;
}

void soft_list_compact(struct soft *s)
{
    uint32_t n = 0;

    if (s->fresh - least_room(s) < s->room / COMPACT_GAIN)
        return;
    for (uint32_t i = 0; i < s->n_seats; i++) {
        struct soft_viewer *v = &s->viewers[s->seat[i]];

        if (v->size == 0)
            continue;
        close_holes(s, v);
        if (v->n == 0)
            v->size = 0;
        else
            s->order[n++] = v->at << ORDER_BITS | s->seat[i];
    }
    known_sort(s->order, n);
    memset(s->free, 0, sizeof(s->free));
    s->fresh = 0;
    for (uint32_t i = 0; i < n; i++) { /* in the order of places: each moves down, or stays */
        struct soft_viewer *v = &s->viewers[s->order[i] & ((1u << ORDER_BITS) - 1)];
        unsigned size_class = class_of(v->n);

        memmove(s->keys + s->fresh, s->keys + v->at, v->n * sizeof(*s->keys));
        memmove(s->told + s->fresh, s->told + v->at, v->n * sizeof(*s->told));
        memmove(s->part + s->fresh, s->part + v->at, v->n);
        v->at = s->fresh;
        v->size = (uint8_t)(size_class + 1);
        s->fresh += chunk_places(size_class);
    }
}

/* --- places ---------------------------------------------------------------------------------- */

/* The first place whose key is not below. */
static uint32_t lower(const struct soft *s, const struct soft_viewer *v, uint64_t key)
{
    const uint64_t *keys = s->keys + v->at;
    uint32_t low = 0, n = v->span;

    while (n > 0) {
        uint32_t half = n / 2;

        low += keys[low + half] < key ? n - half : 0;
        n = half;
    }
    return low;
}

uint32_t soft_list_find(const struct soft *s, const struct soft_viewer *v, uint64_t key)
{
    for (uint32_t i = lower(s, v, key); i < v->span && s->keys[v->at + i] == key; i++) {
        if (s->part[v->at + i] != SOFT_HOLE)
            return i;
    }
    return SOFT_NONE;
}

/* Shift the pairs between a place and the nearest hole, so that the place is free. SOFT_NONE: no
 * hole is so near. */
static uint32_t make_room(struct soft *s, struct soft_viewer *v, uint32_t place, uint32_t near)
{
    const uint8_t *part = s->part + v->at;
    uint32_t chunk = v->size ? chunk_places(v->size - 1u) : 0;

    for (uint32_t d = 0; d < near; d++) {
        uint32_t up = place + d;

        if (up == v->span && up < chunk)
            v->span++;
        else if (up >= v->span || part[up] != SOFT_HOLE) {
            if (d >= place || part[place - 1 - d] != SOFT_HOLE)
                continue;
            for (uint32_t i = place - 1 - d; i + 1 < place; i++)
                move(s, v->at + i, v->at + i + 1);
            return place - 1;
        }
        for (uint32_t i = up; i > place; i--)
            move(s, v->at + i, v->at + i - 1);
        return place;
    }
    return SOFT_NONE;
}

uint32_t soft_list_insert(struct soft *s, uint32_t viewer, uint64_t key)
{
    struct soft_viewer *v = &s->viewers[viewer];
    uint32_t place = make_room(s, v, lower(s, v, key), HOLE_NEAR);

    if (place == SOFT_NONE) {
        if (!grow(s, v, 1))
            return SOFT_NONE;
        open_holes(s, v);
        place = make_room(s, v, lower(s, v, key), v->span + 1);
        ASSERT(place != SOFT_NONE);
    }
    s->keys[v->at + place] = key;
    s->part[v->at + place] = SOFT_NOW;
    v->n++;
    s->pairs++;
    s->added++;
    return place;
}

bool soft_list_insert_all(struct soft *s, uint32_t viewer, const uint64_t *keys, uint32_t n)
{
    struct soft_viewer *v = &s->viewers[viewer];
    uint32_t old, to;

    if (!grow(s, v, n))
        return false;
    old = v->n;
    to = old + n;
    for (uint32_t i = n; i > 0;) { /* from the back: a pair goes where nothing unread lies */
        to--;
        if (old > 0 && s->keys[v->at + old - 1] > keys[i - 1]) {
            old--;
            move(s, v->at + to, v->at + old);
        } else {
            i--;
            s->keys[v->at + to] = keys[i];
            s->part[v->at + to] = SOFT_NOW;
        }
    }
    v->n += n;
    open_holes(s, v);
    s->pairs += n;
    s->added += n;
    return true;
}

/* --- parts ----------------------------------------------------------------------------------- */

static void leave_part(struct soft *s, uint32_t viewer, uint32_t place)
{
    struct soft_viewer *v = &s->viewers[viewer];
    uint8_t part = s->part[v->at + place];

    if (part >= s->n_parts)
        return;
    s->load[(size_t)viewer * s->n_parts + part]--;
    s->global[part]--;
    v->in_tier[s->tier_of[part]]--;
}

/* Of the parts of a tier the one that the viewer has fewest of; of those the one with fewest of
 * all. */
static uint8_t least(const struct soft *s, uint32_t viewer, uint32_t tier)
{
    const uint32_t *load = s->load + (size_t)viewer * s->n_parts;
    uint32_t best = s->base[tier], end = best + s->rules.every[tier];

    for (uint32_t p = best + 1; p < end; p++) {
        if (load[p] < load[best] || (load[p] == load[best] && s->global[p] < s->global[best]))
            best = p;
    }
    return (uint8_t)best;
}

void soft_list_bits(struct soft *s, uint32_t viewer, uint32_t slot, uint32_t tier)
{
    uint32_t n = s->rules.n_tiers;
    uint64_t *word, bit = 1ull << (slot & 63);

    if (viewer >= s->bits_slots || slot >= s->bits_slots)
        return;
    word = s->bits + (size_t)viewer * soft_list_words(s) + (size_t)slot / 64 * n;
    for (uint32_t t = 0; t < n; t++)
        word[t] = t >= tier ? word[t] | bit : word[t] & ~bit;
}

void soft_list_turn(struct soft *s, uint32_t viewer, uint32_t place, uint32_t tier)
{
    struct soft_viewer *v = &s->viewers[viewer];
    uint8_t part;

    leave_part(s, viewer, place);
    part = least(s, viewer, tier);
    s->part[v->at + place] = part;
    s->load[(size_t)viewer * s->n_parts + part]++;
    s->global[part]++;
    v->in_tier[tier]++;
    soft_list_bits(s, viewer, known_slot(s->keys[v->at + place]), tier);
}

void soft_list_mark(struct soft *s, uint32_t viewer, uint32_t place, uint8_t word)
{
    leave_part(s, viewer, place);
    s->part[s->viewers[viewer].at + place] = word;
}

void soft_list_erase(struct soft *s, uint32_t viewer, uint32_t place)
{
    struct soft_viewer *v = &s->viewers[viewer];

    leave_part(s, viewer, place);
    soft_list_bits(s, viewer, known_slot(s->keys[v->at + place]), s->rules.n_tiers);
    s->part[v->at + place] = SOFT_HOLE;
    v->n--;
    s->pairs--;
    s->removed++;
}

uint32_t soft_list_clear(struct soft *s, uint32_t viewer)
{
    struct soft_viewer *v = &s->viewers[viewer];
    uint32_t n = v->n;

    for (uint32_t i = 0; i < v->span; i++) {
        if (s->part[v->at + i] != SOFT_HOLE)
            soft_list_erase(s, viewer, i);
    }
    s->removed -= n; /* nobody is told */
    chunk_give(s, v);
    v->size = 0;
    v->span = 0;
    return n;
}
