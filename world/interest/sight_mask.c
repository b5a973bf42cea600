/* world/interest/sight_mask.c: sight by masks, for a tick in which many moved; see sight.h.
 * The map is cut into blocks. Everybody who could be seen from inside a block is listed once for
 * it, ascending by id: the candidates (world/interest/places). Their places now and before, as
 * whole numbers relative to the block's middle, lie side by side, and a viewer's masks over them
 * are made many pairs an instruction: staying = now & old, changed = now ^ old, already in the
 * order in which they are told.
 *
 * A block's margin is the radius and twice the slack, so that whoever is or was in the radius of
 * somebody inside is among the candidates. Whoever moved further than the slack since the last
 * tick is listed around both places; as a viewer it takes what it knew from the places of the last
 * tick. May touch: what sight.h may.
 */
#include "world/interest/sight.h"

#include "common/err.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Whole numbers are rounded to half of one, so a difference is right to one on each axis, and a
 * distance to the root of two. */
#define MASK_ROUNDING 1.5

struct sight_work {
    struct mask_place *now; /* [cap + MASK_BATCH] */
    struct mask_place *old; /* [cap + MASK_BATCH] */
    uint64_t *inside;       /* [words] who stands in the block */
    uint64_t *in_now;       /* [words] */
    uint64_t *in_old;       /* [words] */
    uint8_t *doubtful;      /* [words] */
    uint64_t *stay;         /* [words] where the scratch has no room */
    uint64_t *gone, *added; /* [cap] */
    uint64_t *before;       /* [cap] what a jumper knew */
};

/* The block at hand. */
struct block {
    struct sight *s;
    struct entities *e;
    struct sight_work *k;
    struct mask_edge edge;
    const uint32_t *ranks;      /* [n] */
    uint32_t n, batches, words; /* candidates; vectors and words of them */
    bool all;                   /* all who are alive look by masks */
};

/* What one viewer's masks came to; gone and added are the work's. */
struct found {
    uint32_t n_gone, n_added;
};

static void *lines(size_t bytes)
{
    return aligned_alloc(MASK_ALIGN, (bytes + MASK_ALIGN - 1) / MASK_ALIGN * MASK_ALIGN);
}

int sight_work_create(uint32_t cap, struct sight_work **out)
{
    struct sight_work *k = calloc(1, sizeof(*k));
    size_t words = (size_t)cap / 64 + 2;

    if (!k)
        return E_NOMEM;
    k->now = lines(((size_t)cap + MASK_BATCH) * sizeof(*k->now));
    k->old = lines(((size_t)cap + MASK_BATCH) * sizeof(*k->old));
    k->inside = calloc(words, sizeof(*k->inside));
    k->in_now = calloc(words, sizeof(*k->in_now));
    k->in_old = calloc(words, sizeof(*k->in_old));
    k->doubtful = calloc(words, sizeof(*k->doubtful));
    k->stay = calloc(words, sizeof(*k->stay));
    k->gone = calloc(cap, sizeof(*k->gone));
    k->added = calloc(cap, sizeof(*k->added));
    k->before = calloc(cap, sizeof(*k->before));
    if (!k->now || !k->old || !k->inside || !k->in_now || !k->in_old || !k->doubtful || !k->stay ||
        !k->gone || !k->added || !k->before) {
        sight_work_destroy(k);
        return E_NOMEM;
    }
    *out = k;
    return 0;
}

void sight_work_destroy(struct sight_work *k)
{
    if (!k)
        return;
    free(k->now);
    free(k->old);
    free(k->inside);
    free(k->in_now);
    free(k->in_old);
    free(k->doubtful);
    free(k->stay);
    free(k->gone);
    free(k->added);
    free(k->before);
    free(k);
}

struct mask_edge sight_edge(double r)
{
    double low = r - MASK_ROUNDING, high = r + MASK_ROUNDING;
    double inner = low > 0 ? floor(low * low) : 0;

    return (struct mask_edge){(int32_t)inner, (uint32_t)(ceil(high * high) - inner)};
}

static struct block block_start(struct sight *s, struct entities *e)
{
    return (struct block){.s = s,
                          .e = e,
                          .k = s->work,
                          .edge = sight_edge(s->places.radius * s->places.scale),
                          .all = s->n_masks == e->alive_count};
}

/* List a block's candidates and lay their places. */
static void gather(struct block *b, const struct places_block *at)
{
    const struct places *p = &b->s->places;
    struct sight_work *k = b->k;
    int32_t half = 1 << (p->bits - 1);

    b->n = at->n;
    b->batches = (b->n + MASK_BATCH - 1) / MASK_BATCH;
    b->words = (b->n + 63) / 64;
    b->ranks = places_list(p, at);
    b->s->mask.lay(p->ranked, b->ranks, b->n, (int32_t)(at->bx << p->bits) + half,
                   (int32_t)(at->by << p->bits) + half, k->now, k->old);
    b->s->mask.inside(k->now, b->batches, p->bits, k->inside);
}

static uint64_t key_of(const struct block *b, uint32_t j)
{
    return b->s->places.keys[b->ranks[j]];
}

static bool near(const double *x, const double *y, uint32_t a, uint32_t b, double r2)
{
    double dx = x[a] - x[b], dy = y[a] - y[b];

    return dx * dx + dy * dy <= r2;
}

/* Decide the doubtful pairs of one word on the exact places. */
static void decide_word(const struct block *b, uint32_t viewer, const struct mask_place at[2],
                        uint32_t word)
{
    const struct places *p = &b->s->places;
    const struct mask_code *m = &b->s->mask;
    struct sight_work *k = b->k;
    double r2 = p->radius * p->radius;
    uint32_t first = word * 64, left = b->batches - word * (64 / MASK_BATCH);
    uint32_t batches = left < 64 / MASK_BATCH ? left : 64 / MASK_BATCH;

    for (uint64_t d = m->doubt(k->now + first, batches, at[0], b->edge); d != 0; d &= d - 1) {
        uint32_t i = (uint32_t)__builtin_ctzll(d), slot = known_slot(key_of(b, first + i));

        k->in_now[word] |= (uint64_t)near(b->e->x, b->e->y, slot, viewer, r2) << i;
    }
    for (uint64_t d = m->doubt(k->old + first, batches, at[1], b->edge); d != 0; d &= d - 1) {
        uint32_t i = (uint32_t)__builtin_ctzll(d), slot = known_slot(key_of(b, first + i));

        k->in_old[word] |= (uint64_t)near(p->old_x, p->old_y, slot, viewer, r2) << i;
    }
}

/* A jumper knew these before, wherever they are now: bits where they are candidates, else gone. */
static void recall(struct block *b, uint32_t viewer, struct found *f)
{
    const struct places *p = &b->s->places;
    struct sight_work *k = b->k;
    uint32_t n = places_known(p, viewer, k->before), j = 0;

    for (uint32_t i = 0; i < n; i++) {
        while (j < b->n && key_of(b, j) < k->before[i])
            j++;
        if (j < b->n && key_of(b, j) == k->before[i])
            k->in_old[j / 64] |= 1ull << (j % 64);
        else
            k->gone[f->n_gone++] = k->before[i];
    }
}

/* The bits that differ, as keys; who is gone joins those that are listed already. */
static void list_changed(const struct block *b, struct found *f)
{
    struct sight_work *k = b->k;
    uint32_t listed = f->n_gone;

    for (uint32_t w = 0; w < b->words; w++) {
        uint64_t now = k->in_now[w], old = k->in_old[w];

        for (uint64_t bits = old & ~now; bits != 0; bits &= bits - 1)
            k->gone[f->n_gone++] = key_of(b, w * 64 + (uint32_t)__builtin_ctzll(bits));
        for (uint64_t bits = now & ~old; bits != 0; bits &= bits - 1)
            k->added[f->n_added++] = key_of(b, w * 64 + (uint32_t)__builtin_ctzll(bits));
    }
    if (listed > 0)
        known_sort(k->gone, f->n_gone);
}

/* Look at the viewer that is candidate `self` of its block: `stay` [words], k->gone and k->added
 * say what it is told. */
static struct found look(struct block *b, uint32_t self, uint32_t viewer, uint64_t *stay)
{
    const struct places *p = &b->s->places;
    struct sight_work *k = b->k;
    const struct mask_fixed *at = &p->ranked[b->ranks[self]];
    bool seen = at->old_x != PLACES_AWAY, jumped = places_jumped(p, at);
    struct mask_place place[2] = {k->now[self], k->old[self]};
    struct found f = {0};
    uint64_t changed = 0;

    if (!seen || jumped)
        place[1] = place[0];
    if (b->s->mask.look(k->now, k->old, b->batches, place, b->edge, k->in_now, k->in_old,
                        k->doubtful)) {
        for (uint32_t w = 0; w < b->words; w++) {
            if (k->doubtful[w])
                decide_word(b, viewer, place, w);
        }
    }
    if (!seen || jumped)
        memset(k->in_old, 0, b->words * sizeof(*k->in_old));
    k->in_now[self / 64] &= ~(1ull << (self % 64));
    k->in_old[self / 64] &= ~(1ull << (self % 64));
    if (jumped)
        recall(b, viewer, &f);
    for (uint32_t w = 0; w < b->words; w++) {
        stay[w] = k->in_now[w] & k->in_old[w];
        changed |= k->in_now[w] ^ k->in_old[w];
    }
    if (changed != 0 || f.n_gone > 0)
        list_changed(b, &f);
    return f;
}

/* The next candidate from *word and *bits on that is a viewer and looks from this block. */
static bool next_viewer(const struct block *b, uint32_t *word, uint64_t *bits, uint32_t *self,
                        uint32_t *viewer)
{
    for (;;) {
        while (*bits == 0) {
            if (*word == b->words)
                return false;
            *bits = b->k->inside[(*word)++];
        }
        *self = (*word - 1) * 64 + (uint32_t)__builtin_ctzll(*bits);
        *bits &= *bits - 1;
        *viewer = known_slot(key_of(b, *self));
        if (b->all || b->s->mode[*viewer] == SIGHT_MASK)
            return true;
    }
}

/* --- the first half: look, and keep what fits ------------------------------------------------- */

static void count(struct sight *s, struct entities *e, uint32_t viewer, const struct found *f,
                  uint32_t tick)
{
    for (uint32_t i = 0; i < f->n_added; i++)
        e->seen_new[known_slot(s->work->added[i])] = tick;
    s->added += f->n_added;
    s->removed += f->n_gone;
    s->pairs += (uint64_t)f->n_added - f->n_gone;
    s->count[viewer] += f->n_added - f->n_gone;
}

/* Where the scratch has room for a viewer's bits and for all that could have changed, beside what
 * writing batches needs. */
static bool has_room(const struct block *b, const struct arena *scratch)
{
    size_t keys = b->n + (size_t)b->e->alive_count + b->e->dying_count;

    return scratch->cap - scratch->used >
           2 * (size_t)b->e->cap * SIGHT_SPARE + (b->words + 2 * keys + 8) * sizeof(uint64_t);
}

/* Look at a viewer, and keep what it is told in the scratch. */
static void run_viewer(struct block *b, uint32_t self, uint32_t viewer, struct arena *scratch,
                       uint32_t tick)
{
    struct sight *s = b->s;
    struct sight_view *v = &s->views[s->n_views++];
    uint64_t *stay = arena_take(scratch, 0);
    struct found f = look(b, self, viewer, stay);
    size_t bytes = (b->words + (size_t)f.n_gone + f.n_added) * sizeof(*stay);

    *v = (struct sight_view){viewer, f.n_gone, f.n_added, stay};
    if (f.n_gone + f.n_added > 0) {
        count(s, b->e, viewer, &f, tick);
        for (uint32_t i = 0; i < f.n_gone; i++) /* a few: a call costs more */
            stay[b->words + i] = s->work->gone[i];
        for (uint32_t i = 0; i < f.n_added; i++)
            stay[b->words + f.n_gone + i] = s->work->added[i];
    }
    stay = arena_take(scratch, bytes);
    ASSERT(stay == v->stay);
}

static void run_block(struct block *b, uint32_t number, struct arena *scratch, uint32_t tick)
{
    struct sight *s = b->s;
    struct sight_kept *out = &s->blocks[number];
    size_t mark = scratch->used;
    uint32_t viewer, self, word = 0;
    uint64_t bits = 0;
    bool fits = true;

    *out = (struct sight_kept){.first_view = s->n_views};
    while (next_viewer(b, &word, &bits, &self, &viewer)) {
        out->n_viewers++;
        fits = fits && has_room(b, scratch);
        if (fits) {
            run_viewer(b, self, viewer, scratch, tick);
        } else {
            struct found f = look(b, self, viewer, s->work->stay);

            count(s, b->e, viewer, &f, tick);
        }
    }
    if (fits)
        return;
    s->redone++;
    out->redo = true;
    s->n_views = out->first_view;
    arena_rewind(scratch, mark);
}

void sight_mask_run(struct sight *s, struct entities *e, struct arena *scratch, uint32_t tick)
{
    struct places *p = &s->places;
    struct block b = block_start(s, e);

    for (uint32_t i = 0; i < p->n_blocks; i++) {
        gather(&b, &p->blocks[i]);
        run_block(&b, i, scratch, tick);
    }
}

/* --- the second half: tell ----------------------------------------------------------------------
 */

/* Make the masks of a block that did not fit once more, and tell them one by one. */
static void tell_again(struct block *b, const struct places_block *at, struct sight_result *r,
                       sight_tell_fn *tell, void *arg)
{
    struct sight_work *k = b->k;
    uint32_t viewer, self, word = 0;
    uint64_t bits = 0;

    gather(b, at);
    while (next_viewer(b, &word, &bits, &self, &viewer)) {
        struct found f = look(b, self, viewer, k->stay);

        r->viewer = viewer;
        r->diff = (struct sight_diff){k->gone, k->added, f.n_gone, f.n_added};
        r->stay = k->stay;
        tell(arg, r);
    }
}

void sight_mask_tell(struct sight *s, struct entities *e, sight_tell_fn *tell, void *arg)
{
    const struct places *p = &s->places;
    struct block b = block_start(s, e);

    for (uint32_t i = 0; i < p->n_blocks; i++) {
        const struct sight_kept *kept = &s->blocks[i];
        const struct sight_view *view = &s->views[kept->first_view];
        struct sight_block block = {places_list(p, &p->blocks[i]), p->blocks[i].n, i + 1};
        struct sight_result r = {.block = &block};

        if (kept->redo) {
            tell_again(&b, &p->blocks[i], &r, tell, arg);
            continue;
        }
        for (uint32_t v = 0; v < kept->n_viewers; v++, view++) {
            const uint64_t *keys = view->stay + (block.n + 63) / 64;

            r.viewer = view->viewer;
            r.stay = view->stay;
            r.diff = (struct sight_diff){keys, keys + view->n_gone, view->n_gone, view->n_added};
            tell(arg, &r);
        }
    }
}
