/* world/interest/sight_few_tell.c: sight by movers: what was found, told; see sight_few.h.
 * Mover by mover, first id first: of each word's seats that see it, those that see it alone, and
 * those that see the same others as well, are gathered in groups over all its words. A seat is told
 * when the first of its movers comes up. Viewers for whom somebody is gone or new are told one by
 * one, at the end. May touch: what sight.h may.
 */
#include "world/interest/sight_few.h"

#include "common/err.h"

/* Viewers ahead whose data may be brought while one is told. */
#define FETCH_AHEAD 8
/* And runs. */
#define RUNS_AHEAD 12

struct telling {
    struct sight *s;
    const struct entities *e;
    struct sight_few *f;
    sight_tell_fn *tell;
    void *arg;
    bool all; /* everybody is a viewer by masks */
};

/* --- groups ------------------------------------------------------------------------------------
 */

static void tell_group(const struct telling *t, struct few_group *g)
{
    struct sight_result r = {
        .movers = t->f->sets + g->first,
        .n_movers = g->n_movers,
        .group = g->viewers,
        .n_group = g->n,
    };

    if (g->n > 0)
        t->tell(t->arg, &r);
    g->n = 0;
}

static void tell_groups(const struct telling *t)
{
    for (uint32_t i = 0; i < t->f->n_groups; i++)
        tell_group(t, &t->f->groups[i]);
    t->f->n_groups = t->f->n_sets = 0;
}

static bool same_set(const uint32_t *a, const uint32_t *b, uint32_t n)
{
    for (uint32_t i = n; i > 0; i--) { /* the first one is the same in all */
        if (a[i - 1] != b[i - 1])
            return false;
    }
    return true;
}

/* The group for the movers that lie behind the others in `sets`: one that is there, or a new one,
 * which there is room for. */
static struct few_group *group_of(struct sight_few *f, uint32_t n_movers)
{
    const uint32_t *set = f->sets + f->n_sets;
    struct few_group *g;

    for (uint32_t i = 0; i < f->n_groups; i++) {
        g = &f->groups[i];
        if (g->n_movers == n_movers && same_set(f->sets + g->first, set, n_movers))
            return g;
    }
    g = &f->groups[f->n_groups++];
    g->first = f->n_sets;
    g->n_movers = n_movers;
    g->n = 0;
    f->n_sets += n_movers;
    return g;
}

/* These seats of a run's word are told of the movers [n]. */
static void tell_seats(const struct telling *t, const struct few_run *run, uint64_t seats,
                       const uint32_t *movers, uint32_t n)
{
    struct sight_few *f = t->f;
    const uint32_t *slot = t->s->cells.slot + run->first;
    struct few_group *g;

    ASSERT(n <= FEW_GROUP_MOVERS);
    if (f->n_groups == FEW_GROUPS || f->n_sets + n > FEW_GROUP_MOVERS)
        tell_groups(t);
    for (uint32_t i = 0; i < n; i++) /* a few: a call costs more */
        f->sets[f->n_sets + i] = movers[i];
    g = group_of(f, n);
    if (g->n + 64 > FEW_GROUP_MAX)
        tell_group(t, g);
    for (; seats != 0; seats &= seats - 1) {
        uint32_t viewer = slot[__builtin_ctzll(seats)];

        g->viewers[g->n] = viewer;
        g->n += t->all || t->s->mode[viewer] == SIGHT_MASK;
    }
}

/* More movers than a group may have: viewer by viewer. */
static void tell_each(const struct telling *t, const struct few_run *run, uint64_t seats,
                      uint32_t n)
{
    for (; seats != 0; seats &= seats - 1) {
        struct sight_result r = {.movers = t->f->stays, .n_movers = n};

        r.viewer = t->s->cells.slot[run->first + (uint32_t)__builtin_ctzll(seats)];
        if (t->s->mode[r.viewer] == SIGHT_MASK)
            t->tell(t->arg, &r);
    }
}

/* The seats that see a run's mover and no earlier one. */
static void tell_run(const struct telling *t, const struct few_run *run)
{
    struct sight_few *f = t->f;
    struct few_word *word = &f->words[run->word];
    uint64_t left = run->stay & ~word->told & ~word->changed;

    word->told |= run->stay;
    if (left != 0 && run->next == 0) {
        tell_seats(t, run, left, &run->subject, 1);
        return;
    }
    while (left != 0) {
        uint64_t same = left, lowest = left & -left;
        uint32_t n = 0;

        f->stays[n++] = run->subject;
        for (uint32_t at = run->next; at != 0; at = f->runs[at - 1].next) {
            const struct few_run *other = &f->runs[at - 1];

            same &= other->stay & lowest ? other->stay : ~other->stay;
            if (other->stay & lowest)
                f->stays[n++] = other->subject;
        }
        if (n <= FEW_GROUP_MOVERS)
            tell_seats(t, run, same, f->stays, n);
        else
            tell_each(t, run, same, n);
        left &= ~same;
    }
}

/* Have the caches bring who sits in a run's seats. */
static void fetch_run(const struct telling *t, const struct few_run *run)
{
    __builtin_prefetch(&t->s->cells.slot[run->first]);
    __builtin_prefetch(&t->s->cells.slot[run->first + MASK_BATCH]);
}

static void tell_movers(const struct telling *t)
{
    struct sight_few *f = t->f;

    for (uint32_t i = f->n_runs; i > 0; i--) {
        if (i > RUNS_AHEAD)
            fetch_run(t, &f->runs[i - 1 - RUNS_AHEAD]);
        if (i < f->n_runs && f->runs[i].subject != f->runs[i - 1].subject)
            tell_groups(t);
        tell_run(t, &f->runs[i - 1]);
    }
    tell_groups(t);
}

/* --- viewers for whom somebody is gone or new ---------------------------------------------------
 */

/* Have the caches bring what is said of one who is gone or new. */
static void fetch_subject(const struct entities *e, const struct few_entry *entry)
{
    uint32_t slot = entry->subject;

    __builtin_prefetch(&e->id[slot]);
    if (entry->kind == FEW_GONE)
        return;
    __builtin_prefetch(&e->cold[slot]);
    __builtin_prefetch((const char *)(&e->cold[slot] + 1) - 1);
    __builtin_prefetch(&e->x[slot]);
    __builtin_prefetch(&e->y[slot]);
    __builtin_prefetch(&e->dir[slot]);
    __builtin_prefetch(&e->speed[slot]);
}

/* Who stays in sight of a seat, ascending by id. */
static uint32_t list_stays(struct sight_few *f, uint32_t seat, uint32_t word)
{
    uint32_t n = 0;

    for (uint32_t at = f->words[word].head; at != 0; at = f->runs[at - 1].next) {
        const struct few_run *run = &f->runs[at - 1];

        if (run->stay >> (seat - run->first) & 1)
            f->stays[n++] = run->subject;
    }
    return n;
}

static void tell_changed(const struct telling *t, uint32_t seat, struct sight_result *r)
{
    struct sight_few *f = t->f;
    uint32_t n_gone = 0, n_added = 0;

    for (uint32_t at = f->head[seat]; at != 0; at = f->entries[at - 1].next) {
        const struct few_entry *entry = &f->entries[at - 1];
        uint64_t key = known_key(t->e->id[entry->subject], entry->subject);

        if (entry->kind == FEW_GONE)
            f->gone[n_gone++] = key;
        else
            f->added[n_added++] = key;
    }
    if (n_gone > 1)
        known_sort(f->gone, n_gone);
    if (n_added > 1)
        known_sort(f->added, n_added);
    r->diff = (struct sight_diff){f->gone, f->added, n_gone, n_added};
    r->n_movers = list_stays(f, seat, f->entries[f->head[seat] - 1].word);
    t->tell(t->arg, r);
}

static void tell_rest(const struct telling *t)
{
    struct sight_few *f = t->f;
    const uint32_t *slot = t->s->cells.slot;

    for (uint32_t i = 0; i < f->n_rest; i++) {
        uint32_t seat = f->rest[i];
        struct sight_result r = {.viewer = slot[seat], .movers = f->stays};

        if (i + 2 * FETCH_AHEAD < f->n_rest) {
            __builtin_prefetch(&slot[f->rest[i + 2 * FETCH_AHEAD]]);
            __builtin_prefetch(&f->head[f->rest[i + 2 * FETCH_AHEAD]]);
        }
        if (i + FETCH_AHEAD < f->n_rest) {
            r.later = &slot[f->rest[i + FETCH_AHEAD]];
            fetch_subject(t->e, &f->entries[f->head[f->rest[i + FETCH_AHEAD]] - 1]);
        }
        if (t->s->mode[r.viewer] == SIGHT_MASK)
            tell_changed(t, seat, &r);
    }
}

void sight_few_tell(struct sight *s, const struct entities *e, sight_tell_fn *tell, void *arg)
{
    struct telling t = {s, e, s->few, tell, arg, s->n_masks == e->alive_count};

    tell_movers(&t);
    tell_rest(&t);
    sight_few_clear(s->few);
}
