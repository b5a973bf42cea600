/* world/interest/places.c: see the header.
 * Entries are sorted by a radix sort on the cell's number within the box of cells that are in use:
 * one pass for 2,048 cells, two for four million. A stable sort of entries made in the order of
 * ranks leaves each cell in the order of ranks.
 */
#include "world/interest/places.h"

#include "common/err.h"
#include "world/interest/known.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define RADIX_BITS 11
#define RADIX      (1u << RADIX_BITS)

int places_init(struct places *p, const double bounds[4], double radius, double slack, uint32_t cap)
{
    double w = bounds[2] - bounds[0], h = bounds[3] - bounds[1], longest = w > h ? w : h;
    double reach = radius + 2 * slack;
    uint32_t words = cap / 64 + 1;

    memset(p, 0, sizeof(*p));
    p->x0 = bounds[0];
    p->y0 = bounds[1];
    p->slack = slack;
    p->radius = radius;
    p->cap = cap;
    p->side = reach;
    if (p->side < longest / (PLACES_AXIS_MAX / 4))
        p->side = longest / (PLACES_AXIS_MAX / 4);
    p->scale = PLACES_SIDE / p->side;
    p->fixed = calloc(cap, sizeof(*p->fixed));
    p->old_x = calloc(cap, sizeof(*p->old_x));
    p->old_y = calloc(cap, sizeof(*p->old_y));
    p->seen = calloc(cap, sizeof(*p->seen));
    p->order = calloc(cap, sizeof(*p->order));
    p->order_next = calloc(cap, sizeof(*p->order_next));
    p->ids = calloc(cap, sizeof(*p->ids));
    p->ranked = calloc(cap, sizeof(*p->ranked));
    p->entries = calloc(2 * (size_t)cap, sizeof(*p->entries));
    p->entries_next = calloc(2 * (size_t)cap, sizeof(*p->entries_next));
    p->cells = calloc(2 * (size_t)cap + 1, sizeof(*p->cells));
    p->rows = calloc(PLACES_AXIS_MAX + 1, sizeof(*p->rows));
    p->jumpers = calloc(cap, sizeof(*p->jumpers));
    p->bits = calloc(words, sizeof(*p->bits));
    p->summary = calloc(words / 64 + 1, sizeof(*p->summary));
    if (!p->fixed || !p->old_x || !p->old_y || !p->seen || !p->order || !p->order_next || !p->ids ||
        !p->ranked || !p->entries || !p->entries_next || !p->cells || !p->rows || !p->jumpers ||
        !p->bits || !p->summary) {
        places_fini(p);
        return E_NOMEM;
    }
    return 0;
}

void places_fini(struct places *p)
{
    free(p->fixed);
    free(p->old_x);
    free(p->old_y);
    free(p->seen);
    free(p->order);
    free(p->order_next);
    free(p->ids);
    free(p->ranked);
    free(p->entries);
    free(p->entries_next);
    free(p->cells);
    free(p->rows);
    free(p->jumpers);
    free(p->bits);
    free(p->summary);
    memset(p, 0, sizeof(*p));
}

/* --- what changed since the last tick ----------------------------------------------------------
 */

static int32_t fixed_of(double v, double origin, double scale)
{
    return (int32_t)floor((v - origin) * scale + 0.5);
}

bool places_is_jump(const struct places *p, const struct entities *e, uint32_t slot)
{
    double dx = e->x[slot] - p->old_x[slot], dy = e->y[slot] - p->old_y[slot];

    return p->seen[slot] && dx * dx + dy * dy > p->slack * p->slack;
}

void places_note(struct places *p, const struct entities *e, uint32_t slot, bool jump)
{
    struct places_fixed *f = &p->fixed[slot];

    f->x = fixed_of(e->x[slot], p->x0, p->scale);
    f->y = fixed_of(e->y[slot], p->y0, p->scale);
    if (!p->seen[slot]) {
        f->old_x = f->old_y = PLACES_AWAY;
        p->changed = true;
    }
    if (jump)
        p->jumpers[p->n_jumpers++] = slot;
}

void places_note_end(struct places *p, uint32_t slot)
{
    p->fixed[slot].x = p->fixed[slot].y = PLACES_AWAY;
}

/* --- filing ------------------------------------------------------------------------------------
 */

/* Merge the newcomers into the order of ids, and drop those whose slots were given back. */
static void merge_order(struct places *p, const struct entities *e, const uint32_t *fresh,
                        uint32_t n_fresh)
{
    uint32_t i = 0, j = 0, n = 0, *t;

    while (i < p->n || j < n_fresh) {
        if (i < p->n && !p->seen[p->order[i]]) {
            i++; /* buried after the last tick; its slot, even its id, may be another's now */
        } else if (j == n_fresh || (i < p->n && p->ids[i] < e->id[fresh[j]])) {
            p->order_next[n++] = p->order[i++];
        } else {
            p->order_next[n++] = fresh[j++];
        }
    }
    t = p->order;
    p->order = p->order_next;
    p->order_next = t;
    p->n = n;
    for (uint32_t rank = 0; rank < n; rank++)
        p->ids[rank] = e->id[p->order[rank]];
}

/* Where it is filed: where it stands, or stood if it is no more. */
static uint64_t cell_of(int32_t x, int32_t y)
{
    return (uint64_t)(uint32_t)(y >> PLACES_SIDE_BITS) << 32 | (uint32_t)(x >> PLACES_SIDE_BITS);
}

struct box {
    uint32_t cx0, cy0, cx1, cy1;
};

static void box_add(struct box *b, uint32_t cx, uint32_t cy)
{
    b->cx0 = cx < b->cx0 ? cx : b->cx0;
    b->cx1 = cx > b->cx1 ? cx : b->cx1;
    b->cy0 = cy < b->cy0 ? cy : b->cy0;
    b->cy1 = cy > b->cy1 ? cy : b->cy1;
}

/* Lay the ranked places and find the box of cells in use. */
static struct box lay(struct places *p)
{
    struct box b = {UINT32_MAX, UINT32_MAX, 0, 0};

    for (uint32_t rank = 0; rank < p->n; rank++) {
        struct places_fixed f = p->fixed[p->order[rank]];
        uint64_t cell = f.x == PLACES_AWAY ? cell_of(f.old_x, f.old_y) : cell_of(f.x, f.y);

        p->ranked[rank] = f;
        box_add(&b, (uint32_t)cell, (uint32_t)(cell >> 32));
    }
    for (uint32_t i = 0; i < p->n_jumpers; i++) {
        struct places_fixed f = p->fixed[p->jumpers[i]];
        uint64_t cell = cell_of(f.old_x, f.old_y);

        box_add(&b, (uint32_t)cell, (uint32_t)(cell >> 32));
    }
    return b;
}

static void pass(const uint64_t *in, uint64_t *out, uint32_t n, unsigned shift)
{
    uint32_t start[RADIX] = {0}, sum = 0;

    for (uint32_t i = 0; i < n; i++)
        start[in[i] >> shift & (RADIX - 1)]++;
    for (uint32_t i = 0; i < RADIX; i++) {
        uint32_t count = start[i];

        start[i] = sum;
        sum += count;
    }
    for (uint32_t i = 0; i < n; i++)
        out[start[in[i] >> shift & (RADIX - 1)]++] = in[i];
}

static void sort_entries(struct places *p, uint64_t keys)
{
    for (unsigned shift = 0; keys >> shift != 0; shift += RADIX_BITS) {
        uint64_t *t = p->entries;

        pass(p->entries, p->entries_next, p->n_entries, 32 + shift);
        p->entries = p->entries_next;
        p->entries_next = t;
    }
}

static uint64_t entry_of(const struct box *b, uint64_t cell, uint32_t rank)
{
    uint64_t width = (uint64_t)b->cx1 - b->cx0 + 1;
    uint64_t key = ((cell >> 32) - b->cy0) * width + ((uint32_t)cell - b->cx0);

    return key << 32 | rank;
}

/* The cells and rows of the sorted entries. */
static void list_cells(struct places *p, const struct box *b)
{
    uint32_t width = b->cx1 - b->cx0 + 1, row = 0;
    uint64_t last = UINT64_MAX;

    p->n_cells = 0;
    p->low_cy = b->cy0;
    p->n_rows = p->n_entries ? b->cy1 - b->cy0 + 1 : 0;
    for (uint32_t i = 0; i < p->n_entries; i++) {
        uint64_t key = p->entries[i] >> 32;

        if (key == last)
            continue;
        last = key;
        while (row <= key / width)
            p->rows[row++] = p->n_cells;
        p->cells[p->n_cells++] = (struct places_cell){b->cx0 + (uint32_t)(key % width),
                                                      b->cy0 + (uint32_t)(key / width), i};
    }
    while (row <= p->n_rows)
        p->rows[row++] = p->n_cells;
    p->cells[p->n_cells].start = p->n_entries;
}

static uint32_t rank_of(const struct places *p, uint32_t id)
{
    uint32_t low = 0, high = p->n;

    while (low < high) {
        uint32_t mid = low + (high - low) / 2;

        if (p->ids[mid] < id)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

void places_sort(struct places *p, const struct entities *e, const uint32_t *fresh,
                 uint32_t n_fresh)
{
    struct box b;
    uint32_t n = 0;

    if (p->changed)
        merge_order(p, e, fresh, n_fresh);
    p->changed = false;
    b = lay(p);
    for (uint32_t rank = 0; rank < p->n; rank++) {
        const struct places_fixed *f = &p->ranked[rank];
        uint64_t cell = f->x == PLACES_AWAY ? cell_of(f->old_x, f->old_y) : cell_of(f->x, f->y);

        p->entries[n++] = entry_of(&b, cell, rank);
    }
    for (uint32_t i = 0; i < p->n_jumpers; i++) {
        const struct places_fixed *f = &p->fixed[p->jumpers[i]];
        uint64_t before = cell_of(f->old_x, f->old_y);

        if (before != cell_of(f->x, f->y))
            p->entries[n++] = entry_of(&b, before, rank_of(p, e->id[p->jumpers[i]]));
    }
    p->n_entries = n;
    if (n > 0)
        sort_entries(p, ((uint64_t)b.cx1 - b.cx0 + 1) * ((uint64_t)b.cy1 - b.cy0 + 1) - 1);
    list_cells(p, &b);
}

void places_settle(struct places *p, const struct entities *e, const uint32_t *dirty, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t slot = dirty[i];
        struct places_fixed *f = &p->fixed[slot];

        f->old_x = f->x;
        f->old_y = f->y;
        p->old_x[slot] = e->x[slot];
        p->old_y[slot] = e->y[slot];
        p->seen[slot] = 1;
    }
    for (uint32_t i = 0; i < e->dying_count; i++)
        p->seen[e->dying[i]] = 0;
    p->changed = e->dying_count > 0; /* they have no place in the next order */
    p->n_jumpers = 0;
}

/* --- looking up --------------------------------------------------------------------------------
 */

void places_row(const struct places *p, int64_t cy, uint32_t *first, uint32_t *end)
{
    int64_t row = cy - p->low_cy;

    if (row < 0 || row >= p->n_rows) {
        *first = *end = 0;
        return;
    }
    *first = p->rows[row];
    *end = p->rows[row + 1];
}

void places_mark_row(struct places *p, uint32_t *from, uint32_t row_end, uint32_t cx0, uint32_t cx1)
{
    uint32_t at = *from, last;

    while (at < row_end && p->cells[at].cx < cx0)
        at++;
    *from = at;
    last = at;
    while (last < row_end && p->cells[last].cx <= cx1)
        last++;
    for (uint32_t i = p->cells[at].start; i < p->cells[last].start; i++) {
        uint32_t rank = (uint32_t)p->entries[i], word = rank / 64;

        p->bits[word] |= 1ull << (rank % 64);
        p->summary[word / 64] |= 1ull << (word % 64);
    }
}

uint32_t places_take_marked(struct places *p, uint32_t *out)
{
    uint32_t words = p->n / 64 + 1, n = 0;

    for (uint32_t s = 0; s <= words / 64; s++) {
        uint64_t some = p->summary[s];

        p->summary[s] = 0;
        for (; some != 0; some &= some - 1) {
            uint32_t word = s * 64 + (uint32_t)__builtin_ctzll(some);

            for (uint64_t b = p->bits[word]; b != 0; b &= b - 1)
                out[n++] = word * 64 + (uint32_t)__builtin_ctzll(b);
            p->bits[word] = 0;
        }
    }
    return n;
}

uint32_t places_known(struct places *p, const struct entities *e, uint32_t viewer, uint64_t *out)
{
    const struct places_fixed *f = &p->fixed[viewer];
    double x = p->old_x[viewer], y = p->old_y[viewer], r2 = p->radius * p->radius;
    int64_t cx = f->old_x >> PLACES_SIDE_BITS, cy = f->old_y >> PLACES_SIDE_BITS;
    uint32_t *ranks = p->order_next, n, found = 0; /* free between two sorts */

    if (!p->seen[viewer])
        return 0;
    for (int64_t row = cy - 1; row <= cy + 1; row++) {
        uint32_t first, end;

        places_row(p, row, &first, &end);
        places_mark_row(p, &first, end, cx > 0 ? (uint32_t)cx - 1 : 0, (uint32_t)cx + 1);
    }
    n = places_take_marked(p, ranks);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t slot = p->order[ranks[i]];
        double dx = p->old_x[slot] - x, dy = p->old_y[slot] - y;

        if (slot != viewer && p->seen[slot] && e->id[slot] == p->ids[ranks[i]] &&
            dx * dx + dy * dy <= r2)
            out[found++] = known_key(p->ids[ranks[i]], slot);
    }
    return found;
}
