/* world/interest/sight_few.c: sight by movers, for a tick in which few moved; see sight.h.
 * A pair of two who stand still stays as it is. So for each who moved, came, ended (a subject),
 * or changed otherwise, those around are looked at once, by masks over the cells' places now and
 * before, and what is found is kept: for whom the subject stays in sight and may be told, as bits;
 * for whom it is gone or new, one by one. What costs nothing are all the others.
 *
 * A pair of two subjects is looked at from both; each time what the other one sees is noted. One
 * who jumped is left out of the masks and compared exactly with every subject; where many jump,
 * or more is found than there is room for, the tick is one in which many moved.
 *
 * What was tried, with 100,000 of whom 1,000 move and 50 in sight (bin/bench tick; ns a mover for
 * the whole tick): an entry for each pair hung on its viewer, 2,100; bits, and viewers
 * grouped by what they are told, 1,500.
 * May touch: what sight.h may.
 */
#include "world/interest/sight_few.h"

#include "common/err.h"
#include "world/interest/radix.h"

#include <stdlib.h>
#include <string.h>

/* Runs and entries beyond those that the slots give room for. */
#define FEW_SPARE 65536

int sight_few_create(uint32_t slots, uint32_t seats, struct sight_few **out)
{
    struct sight_few *f = calloc(1, sizeof(*f));

    if (!f)
        return E_NOMEM;
    f->runs_cap = slots / 2 + FEW_SPARE;
    f->entries_cap = slots / 4 + FEW_SPARE;
    f->runs = calloc(f->runs_cap, sizeof(*f->runs));
    f->words = calloc((size_t)f->runs_cap + f->entries_cap, sizeof(*f->words));
    f->word_at = calloc((size_t)seats / MASK_BATCH + 1, sizeof(*f->word_at));
    f->entries = calloc(f->entries_cap, sizeof(*f->entries));
    f->head = calloc(seats, sizeof(*f->head));
    f->rest = calloc(slots, sizeof(*f->rest));
    f->subjects = calloc(slots, sizeof(*f->subjects));
    f->spare = calloc(slots, sizeof(*f->spare));
    f->stays = calloc(slots, sizeof(*f->stays));
    f->gone = calloc(slots, sizeof(*f->gone));
    f->added = calloc(slots, sizeof(*f->added));
    if (!f->runs || !f->words || !f->word_at || !f->entries || !f->head || !f->rest ||
        !f->subjects || !f->spare || !f->stays || !f->gone || !f->added) {
        sight_few_destroy(f);
        return E_NOMEM;
    }
    *out = f;
    return 0;
}

void sight_few_destroy(struct sight_few *f)
{
    if (!f)
        return;
    free(f->runs);
    free(f->words);
    free(f->word_at);
    free(f->entries);
    free(f->head);
    free(f->rest);
    free(f->subjects);
    free(f->spare);
    free(f->stays);
    free(f->gone);
    free(f->added);
    free(f);
}

/* The tick at hand. */
struct turn {
    struct sight *s;
    const struct entities *e;
    struct sight_few *f;
    struct mask_edge edge;
    double r2;
};

/* --- who is looked at ------------------------------------------------------------------------- */

static bool is_dying(const struct entities *e, uint32_t slot)
{
    return (e->flags[slot] & ENTITY_DYING) != 0;
}

/* Did it jump? Exactly: who did not is within the slack of where it was. */
static bool has_jumped(const struct turn *t, uint32_t slot)
{
    const struct places *p = &t->s->places;
    double dx, dy;

    if (!p->seen[slot] || is_dying(t->e, slot))
        return false;
    dx = t->e->x[slot] - p->old_x[slot];
    dy = t->e->y[slot] - p->old_y[slot];
    return dx * dx + dy * dy > p->slack * p->slack || t->e->scene[slot] != p->old_scene[slot];
}

static uint64_t key_of(const struct entities *e, uint32_t slot)
{
    return known_key(e->id[slot], slot);
}

/* List the subjects, ascending; mark them, and list the jumpers. False: too many of those. */
static bool list_subjects(struct turn *t, uint32_t *n)
{
    const struct entities *e = t->e;
    struct sight *s = t->s;
    struct sight_few *f = t->f;
    uint64_t *sorted;

    *n = 0;
    f->n_jumpers = 0;
    sight_next_mark(s);
    for (uint32_t i = 0; i < e->dirty_count; i++) {
        uint32_t slot = e->dirty[i];

        if (!(e->flags[slot] & ENTITY_DIRTY))
            continue;
        f->subjects[(*n)++] = key_of(e, slot);
        s->mark[slot] = s->mark_now;
        if (!has_jumped(t, slot))
            continue;
        if (f->n_jumpers == FEW_JUMPERS_MAX)
            return false;
        f->jumpers[f->n_jumpers++] = slot;
    }
    for (uint32_t i = 0; i < e->dying_count; i++) {
        f->subjects[(*n)++] = key_of(e, e->dying[i]);
        s->mark[e->dying[i]] = s->mark_now;
    }
    sorted = radix_sort(f->subjects, f->spare, *n);
    if (sorted != f->subjects) {
        f->spare = f->subjects;
        f->subjects = sorted;
    }
    return true;
}

static bool is_jumper(const struct turn *t, uint32_t slot)
{
    for (uint32_t i = 0; i < t->f->n_jumpers; i++) {
        if (t->f->jumpers[i] == slot)
            return true;
    }
    return false;
}

/* --- what is found ------------------------------------------------------------------------------
 */

/* The word of this number. */
static inline uint32_t word_get(struct sight_few *f, uint32_t number)
{
    uint32_t *at = &f->word_at[number];

    if (*at == 0) {
        f->words[f->n_words] = (struct few_word){.number = number};
        *at = ++f->n_words;
    }
    return *at - 1;
}

/* The number of the word of somebody's seat, and the seat of its first bit. */
static uint32_t number_of(const struct cells *c, uint32_t slot, uint32_t *first)
{
    uint32_t cell = c->cells[c->home[slot]].first, word = (c->at[slot] - cell) / 64;

    *first = cell + word * 64;
    return few_word_number(cell, word);
}

/* The subject stays in sight of these seats. */
static inline void stays(struct turn *t, uint32_t subject, uint32_t number, uint32_t first,
                         uint64_t bits)
{
    struct sight_few *f = t->f;
    uint32_t word;

    if (f->n_runs == f->runs_cap) {
        f->full = true;
        return;
    }
    word = word_get(f, number);
    f->runs[f->n_runs] = (struct few_run){bits, f->words[word].head, word, first, subject};
    f->words[word].head = ++f->n_runs;
}

/* The viewer in this seat learns that the subject is gone or new. */
static void changes(struct turn *t, uint32_t seat, uint32_t number, uint32_t first,
                    uint32_t subject, enum few_kind kind)
{
    struct sight_few *f = t->f;
    uint32_t word;

    if (f->n_entries == f->entries_cap) {
        f->full = true;
        return;
    }
    if (f->head[seat] == 0)
        f->rest[f->n_rest++] = seat;
    word = word_get(f, number);
    f->words[word].changed |= 1ull << (seat - first);
    f->entries[f->n_entries] = (struct few_entry){f->head[seat], seat, word, subject, kind};
    f->head[seat] = ++f->n_entries;
}

/* The subject and the one in this seat are in each other's sight just now, or were just before. */
static void changed(struct turn *t, uint32_t subject, uint32_t seat, uint32_t number,
                    uint32_t first, bool now)
{
    const struct cells *c = &t->s->cells;
    enum few_kind kind = now ? FEW_NEW : FEW_GONE;
    uint32_t other = c->slot[seat];

    changes(t, seat, number, first, subject, kind);
    if (t->s->mark[other] != t->s->mark_now) { /* a subject finds it by itself */
        number = number_of(c, subject, &first);
        changes(t, c->at[subject], number, first, other, kind);
    }
}

static bool near_now(const struct turn *t, uint32_t a, uint32_t b)
{
    double dx = t->e->x[a] - t->e->x[b], dy = t->e->y[a] - t->e->y[b];

    return !is_dying(t->e, a) && !is_dying(t->e, b) && dx * dx + dy * dy <= t->r2 &&
           t->e->scene[a] == t->e->scene[b];
}

static bool near_old(const struct turn *t, uint32_t a, uint32_t b)
{
    const struct places *p = &t->s->places;

    return p->seen[a] && p->seen[b] && places_near_old(p, a, b);
}

static void found_exact(struct turn *t, uint32_t subject, uint32_t other)
{
    bool now = near_now(t, subject, other), old = near_old(t, subject, other);
    const struct cells *c = &t->s->cells;
    uint32_t seat = c->at[other], first, number = number_of(c, other, &first);

    if (now != old)
        changed(t, subject, seat, number, first, now);
    else if (now)
        stays(t, subject, number, first, 1ull << (seat - first));
}

/* Decide the doubtful pairs of one word on the exact places. */
static void decide_word(struct turn *t, uint32_t subject, const struct mask_place place[2],
                        uint32_t first, uint32_t batches, uint64_t *now, uint64_t *old)
{
    const struct cells *c = &t->s->cells;
    const struct mask_code *m = &t->s->mask;

    for (uint64_t d = m->doubt(c->now + first, batches, place[0], t->edge); d != 0; d &= d - 1) {
        uint32_t i = (uint32_t)__builtin_ctzll(d);

        *now |= (uint64_t)near_now(t, subject, c->slot[first + i]) << i;
    }
    for (uint64_t d = m->doubt(c->old + first, batches, place[1], t->edge); d != 0; d &= d - 1) {
        uint32_t i = (uint32_t)__builtin_ctzll(d);

        *old |= (uint64_t)near_old(t, subject, c->slot[first + i]) << i;
    }
}

/* Seats of this word that the masks do not speak for: the subject's own, and jumpers'. */
static uint64_t left_out(const struct turn *t, uint32_t subject, uint32_t first)
{
    const struct cells *c = &t->s->cells;
    uint64_t bits = 0;

    if (c->at[subject] - first < 64)
        bits = 1ull << (c->at[subject] - first);
    for (uint32_t i = 0; i < t->f->n_jumpers; i++) {
        if (c->at[t->f->jumpers[i]] - first < 64)
            bits |= 1ull << (c->at[t->f->jumpers[i]] - first);
    }
    return bits;
}

/* The masks of a subject over one run of at most SIGHT_CELL_WORDS words of a cell, from word
 * `from` on. */
static void look_run(struct turn *t, uint32_t subject, const struct mask_place place[2],
                     const struct cells_cell *cell, uint32_t from, bool alive, bool seen)
{
    const struct cells *c = &t->s->cells;
    struct sight_few *f = t->f;
    uint32_t start = cell->first + from * 64, n = cell->n - from * 64;
    uint32_t batches = (n + MASK_BATCH - 1) / MASK_BATCH;
    bool doubt;

    if (batches > SIGHT_CELL_WORDS * 64 / MASK_BATCH)
        batches = SIGHT_CELL_WORDS * 64 / MASK_BATCH;
    doubt = t->s->mask.look(c->now + start, c->old + start, batches, place, t->edge, f->in_now,
                            f->in_old, f->doubtful);
    for (uint32_t w = 0; w < MASK_WORDS(batches); w++) {
        uint32_t first = start + w * 64, left = batches - w * (64 / MASK_BATCH);
        uint32_t number = few_word_number(cell->first, from + w);
        uint64_t now = f->in_now[w], old = f->in_old[w], all;

        if (doubt && f->doubtful[w])
            decide_word(t, subject, place, first, left < 64 / MASK_BATCH ? left : 64 / MASK_BATCH,
                        &now, &old);
        all = ~left_out(t, subject, first);
        now = alive ? now & all : 0;
        old = seen ? old & all : 0;
        if ((now & old) != 0)
            stays(t, subject, number, first, now & old);
        for (uint64_t bits = now ^ old; bits != 0; bits &= bits - 1)
            changed(t, subject, first + (uint32_t)__builtin_ctzll(bits), number, first,
                    (now & bits & -bits) != 0);
    }
}

static struct cells_place place_now(const struct turn *t, uint32_t subject)
{
    const struct entities *e = t->e;

    return cells_fix(&t->s->cells, e->scene[subject], e->x[subject], e->y[subject]);
}

static struct cells_place place_old(const struct turn *t, uint32_t subject)
{
    const struct places *p = &t->s->places;

    return cells_fix(&t->s->cells, p->old_scene[subject], p->old_x[subject], p->old_y[subject]);
}

/* Where a subject is looked for: where it stands, or stood if it ended. */
static struct cells_place place_of(const struct turn *t, uint32_t subject)
{
    return is_dying(t->e, subject) ? place_old(t, subject) : place_now(t, subject);
}

/* The cells around a subject, which the caches are told to bring. */
struct around {
    const struct cells_cell *cells[CELLS_AROUND];
    uint32_t n;
};

static void fetch_around(const struct turn *t, uint32_t subject, struct around *out)
{
    const struct cells *c = &t->s->cells;

    out->n = cells_around(c, place_of(t, subject), out->cells);
    for (uint32_t k = 0; k < out->n; k++) {
        const struct cells_cell *cell = out->cells[k];

        __builtin_prefetch(&t->f->word_at[few_word_number(cell->first, 0)]);
        for (uint32_t at = 0; at < cell->n; at += MASK_BATCH) {
            __builtin_prefetch(&c->now[cell->first + at]);
            __builtin_prefetch(&c->old[cell->first + at]);
        }
    }
}

static void look_around(struct turn *t, uint32_t subject, const struct around *around)
{
    bool alive = !is_dying(t->e, subject), seen = t->s->places.seen[subject];
    struct cells_place now = place_of(t, subject), old = seen ? place_old(t, subject) : now;

    for (uint32_t k = 0; k < around->n; k++) {
        const struct cells_cell *cell = around->cells[k];
        struct mask_place place[2] = {cells_from(cell, now), cells_from(cell, old)};

        for (uint32_t from = 0; from * 64 < cell->n; from += SIGHT_CELL_WORDS)
            look_run(t, subject, place, cell, from, alive, seen);
    }
    for (uint32_t i = 0; i < t->f->n_jumpers; i++)
        found_exact(t, subject, t->f->jumpers[i]);
}

/* Everybody around one place of a jumper, each once in both. */
static void look_exactly(struct turn *t, uint32_t subject, struct cells_place at, bool second)
{
    const struct cells *c = &t->s->cells;
    const struct cells_cell *cells[CELLS_AROUND];
    uint32_t n = cells_around(c, at, cells);

    for (uint32_t k = 0; k < n; k++) {
        for (uint32_t i = 0; i < cells[k]->n; i++) {
            uint32_t other = c->slot[cells[k]->first + i];

            if (other == subject || is_jumper(t, other))
                continue;
            /* The first time all that are near it now, the second time the rest. */
            if (near_now(t, subject, other) != second)
                found_exact(t, subject, other);
        }
    }
}

static void look_jumper(struct turn *t, uint32_t subject)
{
    look_exactly(t, subject, place_now(t, subject), false);
    look_exactly(t, subject, place_old(t, subject), true);
    for (uint32_t i = 0; i < t->f->n_jumpers; i++) {
        if (t->f->jumpers[i] != subject)
            found_exact(t, subject, t->f->jumpers[i]);
    }
}

/* --- a tick -------------------------------------------------------------------------------------
 */

void sight_few_clear(struct sight_few *f)
{
    for (uint32_t i = 0; i < f->n_words; i++)
        f->word_at[f->words[i].number] = 0;
    for (uint32_t i = 0; i < f->n_rest; i++)
        f->head[f->rest[i]] = 0;
    f->n_runs = f->n_words = f->n_entries = f->n_rest = 0;
    f->full = false;
}

/* The books of sight. */
static void count(struct sight *s, struct entities *e, uint32_t tick)
{
    const struct sight_few *f = s->few;

    for (uint32_t i = 0; i < f->n_entries; i++) {
        const struct few_entry *entry = &f->entries[i];
        uint32_t viewer = s->cells.slot[entry->seat];

        if (s->mode[viewer] != SIGHT_MASK)
            continue;
        if (entry->kind == FEW_NEW) {
            e->seen_new[entry->subject] = tick;
            s->count[viewer]++;
            s->added++;
            s->pairs++;
        } else {
            s->count[viewer]--;
            s->removed++;
            s->pairs--;
        }
    }
}

/* Look for all subjects [n], the last one first. */
static void look_all(struct turn *t, uint32_t n)
{
    struct around around[2];

    if (n > 0)
        fetch_around(t, known_slot(t->f->subjects[n - 1]), &around[n % 2]);
    for (uint32_t i = n; i > 0 && !t->f->full; i--) {
        uint32_t subject = known_slot(t->f->subjects[i - 1]);

        if (i > 1)
            fetch_around(t, known_slot(t->f->subjects[i - 2]), &around[(i - 1) % 2]);
        if (is_jumper(t, subject))
            look_jumper(t, subject);
        else
            look_around(t, subject, &around[i % 2]);
    }
}

bool sight_few_run(struct sight *s, struct entities *e, uint32_t tick)
{
    struct turn t = {.s = s, .e = e, .f = s->few, .r2 = s->rules.radius * s->rules.radius};
    struct cells *c = &s->cells;
    uint32_t n;

    sight_few_clear(t.f);
    if (e->dirty_count + e->dying_count == 0)
        return true;
    if (!list_subjects(&t, &n))
        return false;
    if (!c->synced || !cells_follow(c, &s->places, e, s->moved, s->n_moved))
        cells_make(c, &s->places, e);
    t.edge = sight_edge(s->rules.radius * c->scale);
    look_all(&t, n);
    if (t.f->full) {
        sight_few_clear(t.f);
        return false;
    }
    count(s, e, tick);
    return true;
}
