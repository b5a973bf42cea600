/* world/interest/sight_mask.c: sight by masks; see sight.h.
 * The map is cut into blocks of one cell; the cell's side is a little more than the radius. For a
 * block, everybody in the nine cells around is listed once, ascending by id: the candidates. Their
 * places now and before, as whole numbers relative to the block's middle, lie side by side, and a
 * viewer's masks over them are made eight pairs an instruction: staying = now & old, changed =
 * now ^ old, already in the order in which they are told.
 *
 * The cell is wide enough that whoever is or was in the radius of somebody here is among the
 * candidates: radius + twice the slack. Whoever moved further than the slack since the last tick
 * is filed under both places; as a viewer it takes what it knew from the places of the last tick.
 * May touch: what sight.h may.
 */
#include "world/interest/sight.h"

#include "common/err.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_ROWS 3 /* of cells around a block */

/* Whole numbers are rounded to half of one, so a difference is right to one on each axis, and a
 * distance to the root of two. */
#define MASK_ROUNDING 1.5

struct sight_work {
    uint32_t cap;           /* candidates */
    uint32_t *ranks;        /* [cap] */
    struct mask_place *now; /* [cap + MASK_BATCH] */
    struct mask_place *old; /* [cap + MASK_BATCH] */
    uint32_t *index;        /* [cap] by rank: which candidate of the block at hand */
    uint64_t *in_now;       /* [words] */
    uint64_t *in_old;       /* [words] */
    uint8_t *doubtful;      /* [words] */
    uint64_t *stay;         /* [words] */
    uint64_t *gone, *added; /* [cap] */
    uint64_t *before;       /* [cap] what a jumper knew */
};

/* The block at hand. */
struct block {
    struct sight *s;
    struct entities *e;
    struct sight_work *k;
    struct mask_edge edge;
    int64_t slack2;       /* squared, in whole numbers: from here on a move is a jump */
    int32_t mid_x, mid_y; /* its middle, in whole numbers from the scene's corner */
    const uint32_t *ranks;
    uint32_t n;
};

/* What one viewer's masks came to; the arrays are the work's. */
struct found {
    uint32_t n_gone, n_added, n_now;
};

static void *lines(size_t bytes)
{
    return aligned_alloc(64, (bytes + 63) / 64 * 64);
}

int sight_work_create(uint32_t cap, struct sight_work **out)
{
    struct sight_work *k = calloc(1, sizeof(*k));
    size_t words = (size_t)cap / 64 + 2;

    if (!k)
        return E_NOMEM;
    k->cap = cap;
    k->ranks = calloc(cap, sizeof(*k->ranks));
    k->now = lines(((size_t)cap + MASK_BATCH) * sizeof(*k->now));
    k->old = lines(((size_t)cap + MASK_BATCH) * sizeof(*k->old));
    k->index = calloc(cap, sizeof(*k->index));
    k->in_now = calloc(words, sizeof(*k->in_now));
    k->in_old = calloc(words, sizeof(*k->in_old));
    k->doubtful = calloc(words, sizeof(*k->doubtful));
    k->stay = calloc(words, sizeof(*k->stay));
    k->gone = calloc(cap, sizeof(*k->gone));
    k->added = calloc(cap, sizeof(*k->added));
    k->before = calloc(cap, sizeof(*k->before));
    if (!k->ranks || !k->now || !k->old || !k->index || !k->in_now || !k->in_old || !k->doubtful ||
        !k->stay || !k->gone || !k->added || !k->before) {
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
    free(k->ranks);
    free(k->now);
    free(k->old);
    free(k->index);
    free(k->in_now);
    free(k->in_old);
    free(k->doubtful);
    free(k->stay);
    free(k->gone);
    free(k->added);
    free(k->before);
    free(k);
}

static struct mask_edge edge_of(const struct places *p)
{
    double r = p->radius * p->scale, low = r - MASK_ROUNDING, high = r + MASK_ROUNDING;
    double inner = low > 0 ? floor(low * low) : 0;

    return (struct mask_edge){(int32_t)inner, (uint32_t)(ceil(high * high) - inner)};
}

static struct block block_of(struct sight *s, struct entities *e)
{
    double slack = floor(s->places.slack * s->places.scale - MASK_ROUNDING);

    return (struct block){
        .s = s,
        .e = e,
        .k = s->work,
        .edge = edge_of(&s->places),
        .slack2 = slack > 0 ? (int64_t)(slack * slack) : 0,
    };
}

static int16_t held(int32_t v)
{
    return (int16_t)(v < -MASK_COORD_MAX  ? -MASK_COORD_MAX
                     : v > MASK_COORD_MAX ? MASK_COORD_MAX
                                          : v);
}

static struct mask_place relative(const struct block *b, int32_t x, int32_t y)
{
    return (struct mask_place){held(x - b->mid_x), held(y - b->mid_y)};
}

/* List the candidates of a cell's block and lay their places. `from`: for each row around, a cell
 * of it that is not right of the block. */
static void gather(struct block *b, const struct places_cell *cell, uint32_t from[BLOCK_ROWS],
                   const uint32_t end[BLOCK_ROWS])
{
    struct places *p = &b->s->places;
    struct sight_work *k = b->k;
    uint32_t low = cell->cx > 0 ? cell->cx - 1 : 0;

    for (int i = 0; i < BLOCK_ROWS; i++)
        places_mark_row(p, &from[i], end[i], low, cell->cx + 1);
    b->n = places_take_marked(p, k->ranks);
    b->ranks = k->ranks;
    b->mid_x = (int32_t)cell->cx * PLACES_SIDE + PLACES_SIDE / 2;
    b->mid_y = (int32_t)cell->cy * PLACES_SIDE + PLACES_SIDE / 2;
    for (uint32_t j = 0; j < b->n; j++) {
        const struct places_fixed *f = &p->ranked[k->ranks[j]];

        k->now[j] = relative(b, f->x, f->y);
        k->old[j] = relative(b, f->old_x, f->old_y);
        k->index[k->ranks[j]] = j;
    }
    for (uint32_t j = b->n; j % MASK_BATCH != 0; j++)
        k->now[j] = k->old[j] = MASK_AWAY;
}

/* Decide the doubtful pairs of one word on the exact places. */
static void decide_word(const struct block *b, uint32_t viewer, const struct mask_place at[2],
                        uint32_t word)
{
    const struct places *p = &b->s->places;
    const struct entities *e = b->e;
    struct sight_work *k = b->k;
    double r2 = p->radius * p->radius;
    uint32_t end = b->n - word * 64 < 64 ? b->n - word * 64 : 64;

    for (uint32_t i = 0; i < end; i++) {
        uint32_t j = word * 64 + i, slot = p->order[b->ranks[j]];

        if ((uint32_t)mask_beyond(k->now[j], at[0], b->edge) <= b->edge.doubt) {
            double dx = e->x[slot] - e->x[viewer], dy = e->y[slot] - e->y[viewer];

            k->in_now[word] |= (uint64_t)(dx * dx + dy * dy <= r2) << i;
        }
        if ((uint32_t)mask_beyond(k->old[j], at[1], b->edge) <= b->edge.doubt) {
            double dx = p->old_x[slot] - p->old_x[viewer], dy = p->old_y[slot] - p->old_y[viewer];

            k->in_old[word] |= (uint64_t)(dx * dx + dy * dy <= r2) << i;
        }
    }
}

static uint64_t key_of(const struct block *b, uint32_t j)
{
    const struct places *p = &b->s->places;

    return known_key(p->ids[b->ranks[j]], p->order[b->ranks[j]]);
}

/* A jumper knew these before, wherever they are now: bits where they are candidates, else gone. */
static void recall(struct block *b, uint32_t viewer, struct found *f)
{
    struct sight_work *k = b->k;
    uint32_t n = places_known(&b->s->places, b->e, viewer, k->before), j = 0;

    for (uint32_t i = 0; i < n; i++) {
        uint32_t id = known_id(k->before[i]);

        while (j < b->n && b->s->places.ids[b->ranks[j]] < id)
            j++;
        if (j < b->n && b->s->places.ids[b->ranks[j]] == id)
            k->in_old[j / 64] |= 1ull << (j % 64);
        else
            k->gone[f->n_gone++] = k->before[i];
    }
}

/* The bits that differ, as keys; who is gone joins those that are listed already. */
static void list_changed(const struct block *b, uint32_t words, struct found *f)
{
    struct sight_work *k = b->k;
    uint32_t listed = f->n_gone;

    for (uint32_t w = 0; w < words; w++) {
        for (uint64_t bits = k->in_old[w] & ~k->in_now[w]; bits != 0; bits &= bits - 1)
            k->gone[f->n_gone++] = key_of(b, w * 64 + (uint32_t)__builtin_ctzll(bits));
        for (uint64_t bits = k->in_now[w] & ~k->in_old[w]; bits != 0; bits &= bits - 1)
            k->added[f->n_added++] = key_of(b, w * 64 + (uint32_t)__builtin_ctzll(bits));
    }
    if (listed > 0)
        known_sort(k->gone, f->n_gone);
}

/* Did it move so far that its old place need not be among the block's? By whole numbers, on the
 * safe side. */
static bool has_jumped(const struct block *b, const struct places_fixed *f)
{
    int64_t dx = f->x - f->old_x, dy = f->y - f->old_y;

    return dx * dx + dy * dy >= b->slack2;
}

/* Look at one viewer of the block: k->stay, k->gone and k->added say what it is told. */
static struct found look(struct block *b, uint32_t rank, uint32_t viewer)
{
    const struct places *p = &b->s->places;
    const struct places_fixed *at = &p->ranked[rank];
    struct sight_work *k = b->k;
    uint32_t batches = (b->n + MASK_BATCH - 1) / MASK_BATCH, words = (b->n + 63) / 64;
    uint32_t self = k->index[rank];
    bool seen = at->old_x != PLACES_AWAY, jumped = seen && has_jumped(b, at);
    struct mask_place place[2] = {relative(b, at->x, at->y), relative(b, at->x, at->y)};
    struct found f = {0};
    uint64_t changed = 0;

    if (seen && !jumped)
        place[1] = relative(b, at->old_x, at->old_y);
    b->s->mask(k->now, k->old, batches, place, b->edge, k->in_now, k->in_old, k->doubtful);
    for (uint32_t w = 0; w < words; w++) {
        if (k->doubtful[w])
            decide_word(b, viewer, place, w);
    }
    if (!seen || jumped)
        memset(k->in_old, 0, words * sizeof(*k->in_old));
    k->in_now[self / 64] &= ~(1ull << (self % 64));
    k->in_old[self / 64] &= ~(1ull << (self % 64));
    if (jumped)
        recall(b, viewer, &f);
    for (uint32_t w = 0; w < words; w++) {
        k->stay[w] = k->in_now[w] & k->in_old[w];
        changed |= k->in_now[w] ^ k->in_old[w];
        f.n_now += (uint32_t)__builtin_popcountll(k->in_now[w]);
    }
    if (changed != 0 || f.n_gone > 0)
        list_changed(b, words, &f);
    return f;
}

/* --- the first half: look, and keep what fits ------------------------------------------------- */

static void count(struct sight *s, struct entities *e, uint32_t viewer, const struct found *f,
                  uint32_t tick)
{
    for (uint32_t i = 0; i < f->n_added; i++)
        e->seen_new[known_slot(s->work->added[i])] = tick;
    s->added += f->n_added;
    s->removed += f->n_gone;
    s->pairs += (uint64_t)f->n_now - s->count[viewer];
    s->count[viewer] = f->n_now;
}

static void *keep(struct arena *a, const void *from, size_t bytes)
{
    void *p = arena_take(a, bytes);

    if (p)
        memcpy(p, from, bytes);
    return p;
}

/* Keep a viewer's result in the scratch; false: it does not fit. */
static bool keep_view(struct block *b, struct arena *scratch, uint32_t viewer,
                      const struct found *f)
{
    struct sight_view *v = &b->s->views[b->s->n_views];
    struct sight_work *k = b->k;
    size_t bytes = (size_t)(b->n + 63) / 64 * sizeof(uint64_t);

    *v = (struct sight_view){.viewer = viewer};
    v->diff.n_gone = f->n_gone;
    v->diff.n_added = f->n_added;
    v->stay = keep(scratch, k->stay, bytes);
    if (!v->stay)
        return false;
    if (f->n_gone > 0 && !(v->diff.gone = keep(scratch, k->gone, f->n_gone * sizeof(uint64_t))))
        return false;
    if (f->n_added > 0 && !(v->diff.added = keep(scratch, k->added, f->n_added * sizeof(uint64_t))))
        return false;
    b->s->n_views++;
    return true;
}

static bool is_viewer(const struct block *b, uint64_t entry, const struct places_cell *cell,
                      uint32_t *slot)
{
    const struct places *p = &b->s->places;
    uint32_t rank = (uint32_t)entry;
    const struct places_fixed *f = &p->ranked[rank];

    *slot = p->order[rank];
    /* A jumper is filed twice, and looks from where it stands now. */
    return b->s->mode[*slot] == SIGHT_MASK && f->x >> PLACES_SIDE_BITS == (int32_t)cell->cx &&
           f->y >> PLACES_SIDE_BITS == (int32_t)cell->cy;
}

static bool has_viewers(const struct block *b, const struct places_cell *cell)
{
    uint32_t slot;

    for (uint32_t i = cell[0].start; i < cell[1].start; i++) {
        if (is_viewer(b, b->s->places.entries[i], cell, &slot))
            return true;
    }
    return false;
}

static void run_block(struct block *b, const struct places_cell *cell, struct arena *scratch,
                      uint32_t tick)
{
    struct sight *s = b->s;
    struct sight_block *out = &s->blocks[s->n_blocks++];
    size_t mark = scratch->used;
    bool fits = true;
    uint32_t viewer;

    *out = (struct sight_block){.n = b->n, .number = s->n_blocks, .cx = cell->cx, .cy = cell->cy};
    out->first_view = s->n_views;
    out->ranks = keep(scratch, b->ranks, b->n * sizeof(*b->ranks));
    fits = out->ranks != NULL;
    for (uint32_t i = cell[0].start; i < cell[1].start; i++) {
        struct found f;

        if (!is_viewer(b, s->places.entries[i], cell, &viewer))
            continue;
        f = look(b, (uint32_t)s->places.entries[i], viewer);
        count(s, b->e, viewer, &f, tick);
        fits = fits && scratch->cap - scratch->used > 2 * (size_t)b->e->cap * SIGHT_SPARE &&
               keep_view(b, scratch, viewer, &f);
    }
    if (fits) {
        out->n_views = s->n_views - out->first_view;
    } else {
        s->redone++;
        s->n_views = out->first_view;
        arena_rewind(scratch, mark);
    }
}

/* The rows around `cy`. */
static void rows_around(const struct places *p, uint32_t cy, uint32_t from[BLOCK_ROWS],
                        uint32_t end[BLOCK_ROWS])
{
    for (int i = 0; i < BLOCK_ROWS; i++)
        places_row(p, (int64_t)cy + i - 1, &from[i], &end[i]);
}

void sight_mask_run(struct sight *s, struct entities *e, struct arena *scratch, uint32_t tick)
{
    struct places *p = &s->places;
    struct block b = block_of(s, e);
    uint32_t from[BLOCK_ROWS], end[BLOCK_ROWS];

    for (uint32_t i = 0; i < p->n_cells; i++) {
        const struct places_cell *cell = &p->cells[i];

        if (i == 0 || cell->cy != cell[-1].cy)
            rows_around(p, cell->cy, from, end);
        if (!has_viewers(&b, cell))
            continue;
        gather(&b, cell, from, end);
        run_block(&b, cell, scratch, tick);
    }
}

/* --- the second half: tell ----------------------------------------------------------------------
 */

/* Make the masks of a block that did not fit once more, and tell them one by one. */
static void tell_again(struct block *b, const struct sight_block *kept, const uint32_t cell_at,
                       sight_tell_fn *tell, void *arg)
{
    struct places *p = &b->s->places;
    const struct places_cell *cell = &p->cells[cell_at];
    struct sight_block block = *kept;
    uint32_t from[BLOCK_ROWS], end[BLOCK_ROWS], viewer;

    rows_around(p, cell->cy, from, end);
    gather(b, cell, from, end);
    block.ranks = b->ranks;
    for (uint32_t i = cell[0].start; i < cell[1].start; i++) {
        struct sight_work *k = b->k;
        struct sight_result r = {.block = &block, .stay = k->stay};
        struct found f;

        if (!is_viewer(b, p->entries[i], cell, &viewer))
            continue;
        f = look(b, (uint32_t)p->entries[i], viewer);
        r.viewer = viewer;
        r.diff = (struct sight_diff){k->gone, k->added, f.n_gone, f.n_added};
        tell(arg, &r);
    }
}

void sight_mask_tell(struct sight *s, struct entities *e, sight_tell_fn *tell, void *arg)
{
    struct block b = block_of(s, e);
    uint32_t cell_at = 0;

    for (uint32_t i = 0; i < s->n_blocks; i++) {
        const struct sight_block *block = &s->blocks[i];

        while (s->places.cells[cell_at].cx != block->cx || s->places.cells[cell_at].cy != block->cy)
            cell_at++;
        if (block->n_views == 0) {
            tell_again(&b, block, cell_at, tell, arg);
            continue;
        }
        for (uint32_t v = 0; v < block->n_views; v++) {
            const struct sight_view *view = &s->views[block->first_view + v];
            struct sight_result r = {view->viewer, view->diff, block, view->stay};

            tell(arg, &r);
        }
    }
}
