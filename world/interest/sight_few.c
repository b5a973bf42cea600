/* world/interest/sight_few.c: sight by movers, for a tick in which few moved; see sight.h.
 * A pair of two who stand still stays as it is. So for each who moved, came, ended (a subject),
 * or changed otherwise, those around are looked at once, by masks over the cells' places now and
 * before, and what is found is hung on the viewers it concerns: the subject stays in sight and may
 * be told, is gone or is new. What costs nothing are all the others.
 *
 *   subjects, last id first ─► cells around ─► entries, chained by viewer ─► viewers
 *
 * A pair of two subjects is looked at from both; each time what the other one sees is noted. One
 * who jumped is left out of the masks and compared exactly with every subject; where many jump,
 * or there are more entries than room, the tick is one in which many moved.
 * May touch: what sight.h may.
 */
#include "world/interest/sight.h"

#include "common/err.h"
#include "world/interest/radix.h"

#include <stdlib.h>
#include <string.h>

#define JUMPERS_MAX 32
/* Viewers ahead whose data may be brought while one is told. */
#define FETCH_AHEAD 8
/* Entries beyond those that the slots give room for. */
#define ENTRIES_SPARE 65536

enum entry_kind { ENTRY_STAY, ENTRY_GONE, ENTRY_NEW };
#define KIND_SHIFT 30
#define SLOT_BITS  ((1u << KIND_SHIFT) - 1)

/* One thing that a viewer learns of a subject. */
struct entry {
    uint32_t next;    /* of the same viewer, index + 1; 0: none */
    uint32_t seat;    /* the viewer's place in the cells' pool: neighbours sit side by side */
    uint32_t subject; /* slot, with its kind in the upper bits */
};

static enum entry_kind kind_of(const struct entry *e)
{
    return (enum entry_kind)(e->subject >> KIND_SHIFT);
}

struct sight_few {
    struct entry *entries; /* [cap] */
    uint32_t n, cap;
    bool full;

    uint32_t *head; /* [seats] by viewer's seat: its last entry, index + 1; 0: none */
    uint32_t *rest; /* [slots] seats of viewers who are told of more than one mover */
    uint32_t n_rest;
    uint64_t *subjects, *spare; /* [slots] keys */
    uint32_t *stays;            /* [slots] of one viewer */
    uint32_t *alone;            /* [slots] viewers of one mover */
    uint64_t *gone, *added;     /* [slots] of one viewer */
    uint32_t jumpers[JUMPERS_MAX];
    uint32_t n_jumpers;
    uint64_t in_now[SIGHT_CELL_WORDS], in_old[SIGHT_CELL_WORDS];
    uint8_t doubtful[SIGHT_CELL_WORDS];
};

int sight_few_create(uint32_t slots, uint32_t seats, struct sight_few **out)
{
    struct sight_few *f = calloc(1, sizeof(*f));

    if (!f)
        return E_NOMEM;
    f->cap = slots + ENTRIES_SPARE;
    f->entries = calloc(f->cap, sizeof(*f->entries));
    f->head = calloc(seats, sizeof(*f->head));
    f->rest = calloc(slots, sizeof(*f->rest));
    f->subjects = calloc(slots, sizeof(*f->subjects));
    f->spare = calloc(slots, sizeof(*f->spare));
    f->stays = calloc(slots, sizeof(*f->stays));
    f->alone = calloc(slots, sizeof(*f->alone));
    f->gone = calloc(slots, sizeof(*f->gone));
    f->added = calloc(slots, sizeof(*f->added));
    if (!f->entries || !f->head || !f->rest || !f->subjects || !f->spare || !f->stays ||
        !f->alone || !f->gone || !f->added) {
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
    free(f->entries);
    free(f->head);
    free(f->rest);
    free(f->subjects);
    free(f->spare);
    free(f->stays);
    free(f->alone);
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
        if (f->n_jumpers == JUMPERS_MAX)
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

static inline void add(struct turn *t, uint32_t seat, uint32_t subject, enum entry_kind kind)
{
    struct sight_few *f = t->f;

    if (f->n == f->cap) {
        f->full = true;
        return;
    }
    f->entries[f->n] = (struct entry){f->head[seat], seat, subject | (uint32_t)kind << KIND_SHIFT};
    f->head[seat] = ++f->n;
}

/* `subject` and the one in this seat are in each other's sight now, or were before, or both. */
static inline void found(struct turn *t, uint32_t subject, uint32_t seat, bool now, bool old)
{
    const struct cells *c = &t->s->cells;
    enum entry_kind kind = !now ? ENTRY_GONE : old ? ENTRY_STAY : ENTRY_NEW;

    add(t, seat, subject, kind);
    if (kind != ENTRY_STAY && t->s->mark[c->slot[seat]] != t->s->mark_now)
        add(t, c->at[subject], c->slot[seat], kind); /* a subject finds it by itself */
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

    if (now || old)
        found(t, subject, t->s->cells.at[other], now, old);
}

/* The masks of a subject over one run of at most SIGHT_CELL_WORDS words of a cell. */
static void look_run(struct turn *t, uint32_t subject, const struct mask_place place[2],
                     uint32_t first, uint32_t n, bool alive, bool seen)
{
    const struct cells *c = &t->s->cells;
    struct sight_few *f = t->f;
    uint32_t batches = (n + MASK_BATCH - 1) / MASK_BATCH;
    bool doubt = t->s->mask.look(c->now + first, c->old + first, batches, place, t->edge, f->in_now,
                                 f->in_old, f->doubtful);

    for (uint32_t w = 0; w < MASK_WORDS(batches); w++) {
        uint64_t now = alive ? f->in_now[w] : 0, old = seen ? f->in_old[w] : 0;
        uint64_t unsure_now = 0, unsure_old = 0;

        if (doubt && f->doubtful[w]) {
            uint32_t at = first + w * 64, left = batches - w * (64 / MASK_BATCH);

            left = left < 64 / MASK_BATCH ? left : 64 / MASK_BATCH;
            unsure_now = t->s->mask.doubt(c->now + at, left, place[0], t->edge);
            unsure_old = t->s->mask.doubt(c->old + at, left, place[1], t->edge);
        }
        for (uint64_t bits = now | old | unsure_now | unsure_old; bits != 0; bits &= bits - 1) {
            uint32_t seat = first + w * 64 + (uint32_t)__builtin_ctzll(bits), other = c->slot[seat];
            uint64_t bit = bits & -bits;

            if (other == subject || is_jumper(t, other))
                continue;
            if ((unsure_now | unsure_old) & bit)
                found_exact(t, subject, other);
            else
                found(t, subject, seat, (now & bit) != 0, (old & bit) != 0);
        }
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

/* Have the caches bring the cells around a subject. */
static void fetch_around(const struct turn *t, uint32_t subject)
{
    const struct cells *c = &t->s->cells;
    const struct cells_cell *cells[CELLS_AROUND];
    uint32_t n = cells_around(c, place_of(t, subject), cells);

    for (uint32_t k = 0; k < n; k++) {
        for (uint32_t at = 0; at < cells[k]->n; at += MASK_BATCH) {
            __builtin_prefetch(&c->now[cells[k]->first + at]);
            __builtin_prefetch(&c->old[cells[k]->first + at]);
            __builtin_prefetch(&c->slot[cells[k]->first + at]);
            __builtin_prefetch(&t->f->head[cells[k]->first + at]);
        }
    }
}

static void look_around(struct turn *t, uint32_t subject)
{
    const struct places *p = &t->s->places;
    const struct cells *c = &t->s->cells;
    const struct cells_cell *cells[CELLS_AROUND];
    bool alive = !is_dying(t->e, subject), seen = p->seen[subject];
    struct cells_place now = place_of(t, subject), old = seen ? place_old(t, subject) : now;
    uint32_t n = cells_around(c, now, cells);

    for (uint32_t k = 0; k < n; k++) {
        struct mask_place place[2] = {cells_from(cells[k], now), cells_from(cells[k], old)};

        for (uint32_t at = 0; at < cells[k]->n; at += SIGHT_CELL_WORDS * 64) {
            uint32_t left = cells[k]->n - at;

            look_run(t, subject, place, cells[k]->first + at,
                     left < SIGHT_CELL_WORDS * 64 ? left : SIGHT_CELL_WORDS * 64, alive, seen);
        }
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

/* Nothing is hung on anybody. */
static void clear(struct sight_few *f)
{
    for (uint32_t i = 0; i < f->n; i++)
        f->head[f->entries[i].seat] = 0;
    f->n = 0;
    f->full = false;
}

/* The books of sight. */
static void count(struct sight *s, struct entities *e, uint32_t tick)
{
    const struct sight_few *f = s->few;

    for (uint32_t i = 0; i < f->n; i++) {
        const struct entry *entry = &f->entries[i];

        uint32_t viewer = s->cells.slot[entry->seat];

        if (kind_of(entry) == ENTRY_STAY || s->mode[viewer] != SIGHT_MASK)
            continue;
        if (kind_of(entry) == ENTRY_NEW) {
            e->seen_new[entry->subject & SLOT_BITS] = tick;
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

bool sight_few_run(struct sight *s, struct entities *e, uint32_t tick)
{
    struct turn t = {.s = s, .e = e, .f = s->few, .r2 = s->rules.radius * s->rules.radius};
    struct cells *c = &s->cells;
    uint32_t n;

    clear(t.f);
    if (e->dirty_count + e->dying_count == 0)
        return true;
    if (!list_subjects(&t, &n))
        return false;
    if (!c->synced || !cells_follow(c, &s->places, e, s->moved, s->n_moved))
        cells_make(c, &s->places, e);
    t.edge = sight_edge(s->rules.radius * c->scale);
    for (uint32_t i = n; i > 0 && !t.f->full; i--) {
        uint32_t subject = known_slot(t.f->subjects[i - 1]);

        if (i > 1)
            fetch_around(&t, known_slot(t.f->subjects[i - 2]));
        if (is_jumper(&t, subject))
            look_jumper(&t, subject);
        else
            look_around(&t, subject);
    }
    if (t.f->full) {
        clear(t.f);
        return false;
    }
    count(s, e, tick);
    return true;
}

/* Have the caches bring what is said of one who is gone or new. */
static void fetch_subject(const struct entities *e, const struct entry *entry)
{
    uint32_t slot = entry->subject & SLOT_BITS;

    if (kind_of(entry) == ENTRY_STAY)
        return;
    __builtin_prefetch(&e->id[slot]);
    if (kind_of(entry) == ENTRY_GONE)
        return;
    __builtin_prefetch(&e->cold[slot]);
    __builtin_prefetch(&e->x[slot]);
    __builtin_prefetch(&e->y[slot]);
    __builtin_prefetch(&e->dir[slot]);
    __builtin_prefetch(&e->speed[slot]);
}

/* Hand over those who are told of one mover and nothing else, since each mover's entries lie
 * together; and list the others. */
static void tell_alone(struct sight *s, const struct entities *e, sight_tell_fn *tell, void *arg)
{
    const bool all = s->n_masks == e->alive_count;
    struct sight_few *f = s->few;
    uint32_t mover = 0, n = 0, viewer;

    f->n_rest = 0;
    for (uint32_t i = 0; i <= f->n; i++) {
        const struct entry *entry = &f->entries[i];
        bool last = i == f->n, stays = !last && kind_of(entry) == ENTRY_STAY;

        if (n > 0 && (last || (stays && entry->subject != mover))) {
            struct sight_result r = {.movers = &mover, .n_movers = 1, .alone = f->alone};

            r.n_alone = n;
            tell(arg, &r);
            n = 0;
        }
        if (last || f->head[entry->seat] != i + 1)
            continue; /* it hangs behind another one */
        if (!stays || entry->next != 0) {
            f->rest[f->n_rest++] = entry->seat;
            continue;
        }
        f->head[entry->seat] = 0;
        viewer = s->cells.slot[entry->seat];
        if (!all && s->mode[viewer] != SIGHT_MASK)
            continue;
        mover = entry->subject;
        f->alone[n++] = viewer;
    }
}

/* Tell a viewer what hangs on it. */
static void tell_chain(struct sight_few *f, const struct entities *e, uint32_t seat,
                       struct sight_result *r, sight_tell_fn *tell, void *arg)
{
    uint32_t n_gone = 0, n_added = 0;

    for (uint32_t at = f->head[seat]; at != 0; at = f->entries[at - 1].next) {
        const struct entry *entry = &f->entries[at - 1];

        if (kind_of(entry) == ENTRY_STAY)
            f->stays[r->n_movers++] = entry->subject & SLOT_BITS;
        else if (kind_of(entry) == ENTRY_GONE)
            f->gone[n_gone++] = key_of(e, entry->subject & SLOT_BITS);
        else
            f->added[n_added++] = key_of(e, entry->subject & SLOT_BITS);
    }
    if (n_gone > 1)
        known_sort(f->gone, n_gone);
    if (n_added > 1)
        known_sort(f->added, n_added);
    r->diff = (struct sight_diff){f->gone, f->added, n_gone, n_added};
    tell(arg, r);
}

void sight_few_tell(struct sight *s, const struct entities *e, sight_tell_fn *tell, void *arg)
{
    struct sight_few *f = s->few;

    tell_alone(s, e, tell, arg);
    for (uint32_t i = 0; i < f->n_rest; i++) {
        const uint32_t *slot = s->cells.slot, seat = f->rest[i];
        struct sight_result r = {.viewer = slot[seat], .movers = f->stays};

        if (i + FETCH_AHEAD < f->n_rest) {
            r.later = &slot[f->rest[i + FETCH_AHEAD]];
            __builtin_prefetch(&f->entries[f->head[f->rest[i + FETCH_AHEAD]] - 1]);
        }
        if (i + FETCH_AHEAD / 2 < f->n_rest)
            fetch_subject(e, &f->entries[f->head[f->rest[i + FETCH_AHEAD / 2]] - 1]);
        if (s->mode[r.viewer] == SIGHT_MASK)
            tell_chain(f, e, seat, &r, tell, arg);
    }
    for (uint32_t i = 0; i < f->n_rest; i++)
        f->head[f->rest[i]] = 0;
    f->n = 0;
}
