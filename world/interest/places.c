/* world/interest/places.c: see the header.
 * Ranks are kept from tick to tick: they change only where somebody came or went. The lists of the
 * blocks are made anew at every tick that needs them: one pass over the ranks finds the blocks in
 * which somebody stands, and how many; those around a block bound its list; a second pass appends
 * each rank to the lists of the blocks it can be seen from.
 */
#include "world/interest/places.h"

#include "common/err.h"
#include "world/interest/known.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Blocks along an axis at most: beyond that they grow. */
#define AXIS_MAX 2048
/* Blocks between two scenes on the plane: more than a reach, whatever rounding does. */
#define PLANE_GAP 2
/* Blocks of the plane at most, gaps and all; beyond that they grow, by this. One scene alone never
 * comes so far. */
#define PLANE_BLOCKS_MAX (2u * AXIS_MAX * AXIS_MAX)
#define PLANE_GROWTH     1.25
/* Whole numbers of a reach and of a block's side, so that all fits mask.h's. */
#define BLOCK_REACH_BITS 13
/* Candidates of the average block of one reach below which blocks of two are better. */
#define BLOCK_CANDIDATES 96

_Static_assert((1 << BLOCK_REACH_BITS) <= MASK_VIEWER_MAX - (1 << 11),
               "a viewer's old place, within the slack of a block of two reaches, fits");

/* Blocks that one place can be seen from, at most. */
static uint32_t lists_of(enum places_index index)
{
    return index == PLACES_FOUR ? 16 : 9;
}

/* Blocks that a length takes. */
static uint32_t blocks_along(double length, double scale)
{
    return ((uint32_t)places_fix(length, 0, scale) >> BLOCK_REACH_BITS) + 1;
}

/* Lay the scenes on the plane, row by row, in their order, at this scale: each where its blocks
 * begin. */
static void lay_plane(struct places *p, const double bounds[][4])
{
    uint64_t area = 0;
    uint32_t widest = 0, x = 0, y = 0, row = 0;

    for (uint32_t i = 0; i < p->scenes; i++) {
        uint32_t nx = blocks_along(bounds[i][2] - bounds[i][0], p->scale);

        area += (uint64_t)(nx + PLANE_GAP) *
                (blocks_along(bounds[i][3] - bounds[i][1], p->scale) + PLANE_GAP);
        widest = nx > widest ? nx : widest;
    }
    p->nx = p->ny = 0;
    for (uint32_t i = 0; i < p->scenes; i++) {
        uint32_t nx = blocks_along(bounds[i][2] - bounds[i][0], p->scale);
        uint32_t ny = blocks_along(bounds[i][3] - bounds[i][1], p->scale);

        if (x > 0 && x + nx > widest && (uint64_t)(x + nx) * (x + nx) > area) {
            x = 0;
            y += row + PLANE_GAP;
            row = 0;
        }
        p->origins[i].x0 = bounds[i][0] - (double)x * p->reach / p->scale;
        p->origins[i].y0 = bounds[i][1] - (double)y * p->reach / p->scale;
        row = ny > row ? ny : row;
        p->nx = x + nx > p->nx ? x + nx : p->nx;
        p->ny = y + ny > p->ny ? y + ny : p->ny;
        x += nx + PLANE_GAP;
    }
}

/* How long a reach is, and where the scenes lie. */
static void measure(struct places *p, const double bounds[][4])
{
    double reach = p->radius + 2 * p->slack, most = 1 << BLOCK_REACH_BITS;

    for (uint32_t i = 0; i < p->scenes; i++) {
        double w = bounds[i][2] - bounds[i][0], h = bounds[i][3] - bounds[i][1];
        double least = (w > h ? w : h) / (AXIS_MAX - 2);

        reach = reach < least ? least : reach;
    }
    p->reach = 1 << BLOCK_REACH_BITS;
    p->bits = p->next_bits = BLOCK_REACH_BITS;
    for (;; reach *= PLANE_GROWTH) {
        p->scale = most / reach;
        lay_plane(p, bounds);
        if ((uint64_t)p->nx * p->ny <= PLANE_BLOCKS_MAX)
            break;
    }
    p->slack_fixed = (int32_t)(p->slack * p->scale / 1.4142135623730951) - 1;
}

int places_init(struct places *p, enum places_index index, const double bounds[][4],
                uint32_t scenes, double radius, double slack, uint32_t cap)
{
    ASSERT(scenes >= 1);
    ASSERT(scenes <= SCENES_MAX);
    memset(p, 0, sizeof(*p));
    p->index = index;
    p->scenes = scenes;
    p->slack = slack;
    p->radius = radius;
    p->cap = cap;
    measure(p, bounds);
    p->lists_cap = 2ull * cap * lists_of(index);
    if (p->lists_cap > UINT32_MAX)
        return E_NOMEM;
    p->old_x = calloc(cap, sizeof(*p->old_x));
    p->old_y = calloc(cap, sizeof(*p->old_y));
    p->old_scene = calloc(cap, sizeof(*p->old_scene));
    p->seen = calloc(cap, sizeof(*p->seen));
    p->rank = malloc(cap * sizeof(*p->rank));
    p->keys = calloc(cap, sizeof(*p->keys));
    p->ranked = calloc(cap, sizeof(*p->ranked));
    p->fresh = calloc(cap, sizeof(*p->fresh));
    p->fresh_keys = calloc(cap, sizeof(*p->fresh_keys));
    p->block_at = calloc((size_t)p->nx * p->ny, sizeof(*p->block_at));
    p->blocks = calloc(2 * (size_t)cap, sizeof(*p->blocks));
    p->lists = calloc(p->lists_cap, sizeof(*p->lists));
    if (!p->old_x || !p->old_y || !p->old_scene || !p->seen || !p->rank || !p->keys || !p->ranked ||
        !p->fresh || !p->fresh_keys || !p->block_at || !p->blocks || !p->lists) {
        places_fini(p);
        return E_NOMEM;
    }
    memset(p->rank, 0xff, cap * sizeof(*p->rank));
    return 0;
}

void places_fini(struct places *p)
{
    free(p->old_x);
    free(p->old_y);
    free(p->old_scene);
    free(p->seen);
    free(p->rank);
    free(p->keys);
    free(p->ranked);
    free(p->fresh);
    free(p->fresh_keys);
    free(p->block_at);
    free(p->blocks);
    free(p->lists);
    memset(p, 0, sizeof(*p));
}

/* --- what changed since the last tick ----------------------------------------------------------
 */

void places_enter(struct places *p, uint32_t slot)
{
    ASSERT(p->rank[slot] == PLACES_NONE);
    p->fresh[p->n_fresh++] = slot;
}

void places_note(struct places *p, const struct entities *e, uint32_t slot)
{
    const struct places_origin *o = &p->origins[e->scene[slot]];
    struct mask_fixed *f;

    if (p->rank[slot] == PLACES_NONE)
        return; /* it is measured when it gets its rank */
    f = &p->ranked[p->rank[slot]];
    f->x = places_fix(e->x[slot], o->x0, p->scale);
    f->y = places_fix(e->y[slot], o->y0, p->scale);
}

void places_note_end(struct places *p, uint32_t slot)
{
    struct mask_fixed *f;

    if (p->rank[slot] == PLACES_NONE)
        return;
    f = &p->ranked[p->rank[slot]];
    f->x = f->y = PLACES_AWAY;
}

/* --- ranks ---------------------------------------------------------------------------------- */

/* Close the gaps. */
static void drop_gone(struct places *p)
{
    uint32_t n = 0;

    for (uint32_t r = 0; r < p->n; r++) {
        if (p->keys[r] == 0)
            continue;
        p->keys[n] = p->keys[r];
        p->ranked[n] = p->ranked[r];
        p->rank[known_slot(p->keys[n])] = n;
        n++;
    }
    p->n = n;
    p->n_gone = 0;
}

static struct mask_fixed measured(const struct places *p, const struct entities *e, uint32_t slot)
{
    struct mask_fixed f = {PLACES_AWAY, PLACES_AWAY, PLACES_AWAY, PLACES_AWAY};

    if (!(e->flags[slot] & ENTITY_DYING)) {
        const struct places_origin *o = &p->origins[e->scene[slot]];

        f.x = places_fix(e->x[slot], o->x0, p->scale);
        f.y = places_fix(e->y[slot], o->y0, p->scale);
    }
    if (p->seen[slot]) {
        const struct places_origin *o = &p->origins[p->old_scene[slot]];

        f.old_x = places_fix(p->old_x[slot], o->x0, p->scale);
        f.old_y = places_fix(p->old_y[slot], o->y0, p->scale);
    }
    return f;
}

static void put(struct places *p, uint32_t rank, uint64_t key, struct mask_fixed f)
{
    p->keys[rank] = key;
    p->ranked[rank] = f;
    p->rank[known_slot(key)] = rank;
}

/* Merge the fresh in, from the back, so that nothing is overwritten before it is moved. */
static void merge_fresh(struct places *p, const struct entities *e)
{
    uint32_t i = p->n, j = p->n_fresh, at = p->n + p->n_fresh;

    for (uint32_t k = 0; k < p->n_fresh; k++)
        p->fresh_keys[k] = known_key(e->id[p->fresh[k]], p->fresh[k]);
    known_sort(p->fresh_keys, p->n_fresh);
    p->n = at;
    p->n_fresh = 0;
    while (j > 0) {
        uint64_t key = p->fresh_keys[j - 1];

        at--;
        if (i > 0 && p->keys[i - 1] > key) {
            i--;
            put(p, at, p->keys[i], p->ranked[i]);
        } else {
            j--;
            put(p, at, key, measured(p, e, known_slot(key)));
        }
    }
}

void places_rank(struct places *p, const struct entities *e)
{
    if (p->n_gone > 0)
        drop_gone(p);
    if (p->n_fresh > 0)
        merge_fresh(p, e);
}

/* --- the lists of blocks ------------------------------------------------------------------------
 */

/* Blocks from which a place can be seen, inclusive. */
struct range {
    int32_t x0, y0, x1, y1;
};

static inline void along(const struct places *p, int32_t v, uint32_t n, int32_t *low, int32_t *high)
{
    int32_t c;

    switch (p->index) {
    case PLACES_BLOCKS:
        *low = (v - p->reach) >> p->bits;
        *high = (v + p->reach) >> p->bits;
        break;
    case PLACES_NINE:
        c = v >> p->bits;
        *low = c - 1;
        *high = c + 1;
        break;
    default: /* of the two quadrants of each of the three cells that look at this one */
        c = v >> (p->bits + 1);
        *low = 2 * c - 1;
        *high = 2 * c + 2;
        break;
    }
    *low = *low < 0 ? 0 : *low;
    *high = *high < (int32_t)n ? *high : (int32_t)n - 1;
}

static inline struct range range_of(const struct places *p, int32_t x, int32_t y)
{
    struct range r;

    along(p, x, p->nx, &r.x0, &r.x1);
    along(p, y, p->ny, &r.y0, &r.y1);
    return r;
}

static uint32_t index_of(const struct places *p, int32_t x, int32_t y)
{
    return (uint32_t)(y >> p->bits) * p->nx + (uint32_t)(x >> p->bits);
}

static void open_block(struct places *p, int32_t x, int32_t y)
{
    uint32_t index = index_of(p, x, y), number = p->block_at[index];

    if (number == 0) {
        number = p->block_at[index] = ++p->n_blocks;
        p->blocks[number - 1] = (struct places_block){
            .bx = (uint32_t)(x >> p->bits),
            .by = (uint32_t)(y >> p->bits),
        };
    }
    p->blocks[number - 1].filed++;
}

/* Open the blocks in which somebody is filed. */
static void open_blocks(struct places *p)
{
    for (uint32_t i = 0; i < p->n_blocks; i++)
        p->block_at[p->blocks[i].by * p->nx + p->blocks[i].bx] = 0;
    p->n_blocks = 0;
    p->bits = p->next_bits;
    for (uint32_t r = 0; r < p->n; r++) {
        const struct mask_fixed *f = &p->ranked[r];

        if (f->x != PLACES_AWAY)
            open_block(p, f->x, f->y);
        if (f->x == PLACES_AWAY || places_jumped(p, f))
            open_block(p, f->old_x, f->old_y);
    }
}

/* Blocks whose people can be seen from block b, along one axis of n. */
static void around(const struct places *p, uint32_t b, uint32_t n, uint32_t *low, uint32_t *high)
{
    uint32_t left = 1, right = 1;

    if (p->index == PLACES_FOUR) {
        left += (b & 1) == 0;
        right += (b & 1) == 1;
    }
    *low = b < left ? 0 : b - left;
    *high = b + right < n ? b + right : n - 1;
}

/* Lay the lists one behind the other, each with room for all who are filed around its block. */
static void lay_lists(struct places *p)
{
    uint64_t at = 0;

    for (uint32_t i = 0; i < p->n_blocks; i++) {
        struct places_block *b = &p->blocks[i];
        uint32_t x0, y0, x1, y1;

        around(p, b->bx, p->nx, &x0, &x1);
        around(p, b->by, p->ny, &y0, &y1);
        b->first = (uint32_t)at;
        for (uint32_t y = y0; y <= y1; y++) {
            for (uint32_t x = x0; x <= x1; x++) {
                uint32_t number = p->block_at[y * p->nx + x];

                at += number ? p->blocks[number - 1].filed : 0;
            }
        }
    }
    ASSERT(at <= p->lists_cap);
}

static inline void append(struct places *p, int32_t bx, int32_t by, uint32_t rank)
{
    uint32_t number = p->block_at[(uint32_t)by * p->nx + (uint32_t)bx];
    struct places_block *b = &p->blocks[number - 1];

    if (number != 0)
        p->lists[b->first + b->n++] = rank;
}

static bool within(const struct range *r, int32_t x, int32_t y)
{
    return x >= r->x0 && x <= r->x1 && y >= r->y0 && y <= r->y1;
}

/* A jumper is listed around both of its places, once in each list. */
static void append_old(struct places *p, uint32_t rank, const struct range *now)
{
    const struct mask_fixed *f = &p->ranked[rank];
    struct range r = range_of(p, f->old_x, f->old_y);

    for (int32_t y = r.y0; y <= r.y1; y++) {
        for (int32_t x = r.x0; x <= r.x1; x++) {
            if (!within(now, x, y))
                append(p, x, y, rank);
        }
    }
}

/* Whether the next lists are of large blocks: where few could be seen from a small one, what a
 * block costs by itself counts most; where many, what each candidate costs. */
static void choose_bits(struct places *p)
{
    uint64_t sum = 0;
    uint32_t most = p->bits > BLOCK_REACH_BITS ? BLOCK_CANDIDATES * 16 / 9 : BLOCK_CANDIDATES;

    if (p->index != PLACES_BLOCKS)
        return;
    for (uint32_t i = 0; i < p->n_blocks; i++)
        sum += p->blocks[i].n;
    p->next_bits = BLOCK_REACH_BITS + (sum < (uint64_t)most * p->n_blocks);
}

void places_file(struct places *p)
{
    ASSERT(p->n_gone == 0);
    ASSERT(p->n_fresh == 0);
    open_blocks(p);
    lay_lists(p);
    for (uint32_t rank = 0; rank < p->n; rank++) {
        const struct mask_fixed *f = &p->ranked[rank];
        bool away = f->x == PLACES_AWAY;
        struct range r = range_of(p, away ? f->old_x : f->x, away ? f->old_y : f->y);

        for (int32_t y = r.y0; y <= r.y1; y++) {
            for (int32_t x = r.x0; x <= r.x1; x++)
                append(p, x, y, rank);
        }
        if (places_jumped(p, f))
            append_old(p, rank, &r);
    }
    choose_bits(p);
}

/* --- the tick is over --------------------------------------------------------------------------
 */

static void settle_one(struct places *p, const struct entities *e, uint32_t slot)
{
    p->old_x[slot] = e->x[slot];
    p->old_y[slot] = e->y[slot];
    p->old_scene[slot] = e->scene[slot];
    p->seen[slot] = 1;
    if (p->rank[slot] != PLACES_NONE) {
        struct mask_fixed *f = &p->ranked[p->rank[slot]];

        f->old_x = f->x;
        f->old_y = f->y;
    }
}

/* Where most have moved, all in the order they lie in. */
static void settle_all(struct places *p, const struct entities *e, const uint32_t *moved,
                       uint32_t n)
{
    memcpy(p->old_x, e->x, e->slots.fresh * sizeof(*p->old_x));
    memcpy(p->old_y, e->y, e->slots.fresh * sizeof(*p->old_y));
    if (p->scenes > 1)
        memcpy(p->old_scene, e->scene, e->slots.fresh * sizeof(*p->old_scene));
    for (uint32_t i = 0; i < n; i++)
        p->seen[moved[i]] = 1;
    for (uint32_t r = 0; r < p->n; r++) {
        p->ranked[r].old_x = p->ranked[r].x;
        p->ranked[r].old_y = p->ranked[r].y;
    }
}

static void forget(struct places *p, uint32_t slot)
{
    p->seen[slot] = 0;
    if (p->rank[slot] != PLACES_NONE) {
        p->keys[p->rank[slot]] = 0;
        p->n_gone++;
        p->rank[slot] = PLACES_NONE;
        return;
    }
    for (uint32_t i = 0; i < p->n_fresh; i++) {
        if (p->fresh[i] == slot) {
            p->fresh[i] = p->fresh[--p->n_fresh];
            return;
        }
    }
}

void places_settle(struct places *p, const struct entities *e, const uint32_t *moved, uint32_t n)
{
    if (n > p->n / 4) {
        settle_all(p, e, moved, n);
    } else {
        for (uint32_t i = 0; i < n; i++)
            settle_one(p, e, moved[i]);
    }
    for (uint32_t i = 0; i < e->dying_count; i++)
        forget(p, e->dying[i]);
}

/* --- looking up --------------------------------------------------------------------------------
 */

const struct places_block *places_block_of(const struct places *p, int32_t x, int32_t y)
{
    uint32_t number = p->block_at[index_of(p, x, y)];

    return number == 0 ? NULL : &p->blocks[number - 1];
}

uint32_t places_known(const struct places *p, uint32_t viewer, uint64_t *out)
{
    const struct places_origin *o = &p->origins[p->old_scene[viewer]];
    const struct places_block *block;
    uint32_t found = 0;

    if (!p->seen[viewer])
        return 0;
    block = places_block_of(p, places_fix(p->old_x[viewer], o->x0, p->scale),
                            places_fix(p->old_y[viewer], o->y0, p->scale));
    if (!block)
        return 0;
    for (uint32_t i = 0; i < block->n; i++) {
        uint64_t key = p->keys[p->lists[block->first + i]];
        uint32_t slot = known_slot(key);

        if (key != 0 && slot != viewer && p->seen[slot] && places_near_old(p, viewer, slot))
            out[found++] = key;
    }
    return found;
}
