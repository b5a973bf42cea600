/* world/interest/sight.c: see the header: which viewer is looked at in which way, and when.
 * With hysteresis every viewer has a list. Without, a viewer has one while it is paused, made from
 * the places of the last tick, and dropped as soon as old and new places tell the same again.
 *
 * What was tried, with 10,000 walkers of whom each sees 50 (bin/bench tick; ns an entity for sight
 * alone, two cores of an AMD EPYC with AVX-512):
 *
 *   1,260  lists kept per viewer, walked with one distance each, newcomers sought in a linked grid
 *          and merged in (the first one; still what hysteresis and pauses need)
 *     204  masks: all sorted by cell each tick, the nine cells' people brought into the order of
 *          ids by a bitmap over all, once a cell
 *     110  masks: lists of blocks filled in the order of ids, in chunks
 *      98  masks: lists of blocks filled in the order of ids, side by side (this one)
 *      98  the same with places and key copied into each list: no faster, 100 bytes more an entity
 *
 * Blocks of two reaches win by a tenth where a viewer has 10 candidates in sight, blocks of one by
 * a fifth where it has 50 or more; so places chooses by how many a block lists. Bringing the next
 * viewer's data ahead gained nothing here, and a third in sight_few, whose reads lie far apart.
 */
#include "world/interest/sight.h"

#include "common/err.h"
#include "world/interest/soft.h"

#include <stdlib.h>
#include <string.h>

/* Slack between two ticks, in steps at full speed: clients that move every second tick, and some
 * jitter. A jump costs more than a wider margin, until a margin is an eighth of the radius. */
#define SIGHT_SLACK_STEPS 2.5
#define SIGHT_SLACK_SHARE 8

/* Looking at a mover costs about as much as looking at so many viewers. */
#define SIGHT_FEW_SHARE 12

int sight_init(struct sight *s, struct sight_rules rules, const double bounds[][4], uint32_t scenes,
               uint32_t cap, uint64_t max_pairs)
{
    double slack = rules.step * SIGHT_SLACK_STEPS, most = rules.radius / SIGHT_SLACK_SHARE;
    const struct mask_code *codes;

    memset(s, 0, sizeof(*s));
    s->rules = rules;
    s->cap = cap;
    s->few_share = SIGHT_FEW_SHARE;
    (void)mask_codes(&codes);
    s->mask = codes[0];
    if (places_init(&s->places, rules.index, bounds, scenes, rules.radius,
                    slack < most ? slack : most, cap) != 0 ||
        known_init(&s->known, cap, max_pairs) != 0 || sight_work_create(cap, &s->work) != 0 ||
        cells_init(&s->cells, &s->places, cap) != 0 ||
        sight_few_create(cap, s->cells.pool, &s->few) != 0) {
        sight_fini(s);
        return E_NOMEM;
    }
    s->mode = calloc(cap, sizeof(*s->mode));
    s->count = calloc(cap, sizeof(*s->count));
    s->listed = calloc(cap, sizeof(*s->listed));
    s->listed_at = calloc(cap, sizeof(*s->listed_at));
    s->again = calloc(cap, sizeof(*s->again));
    s->diffs = calloc(cap, sizeof(*s->diffs));
    s->mark = calloc(cap, sizeof(*s->mark));
    s->moved = calloc(cap, sizeof(*s->moved));
    s->keys = calloc(cap, sizeof(*s->keys));
    s->blocks = calloc(2 * (size_t)cap, sizeof(*s->blocks));
    s->views = calloc(cap, sizeof(*s->views));
    if (!s->mode || !s->count || !s->listed || !s->listed_at || !s->again || !s->diffs ||
        !s->mark || !s->moved || !s->keys || !s->blocks || !s->views) {
        sight_fini(s);
        return E_NOMEM;
    }
    return 0;
}

void sight_fini(struct sight *s)
{
    places_fini(&s->places);
    known_fini(&s->known);
    sight_work_destroy(s->work);
    cells_fini(&s->cells);
    sight_few_destroy(s->few);
    free(s->mode);
    free(s->count);
    free(s->listed);
    free(s->listed_at);
    free(s->again);
    free(s->diffs);
    free(s->mark);
    free(s->moved);
    free(s->keys);
    free(s->blocks);
    free(s->views);
    memset(s, 0, sizeof(*s));
}

void sight_set_again(struct sight *s, uint32_t viewer, bool again)
{
    if (s->again[viewer] == again)
        return;
    s->again[viewer] = again;
    s->n_again += again ? 1u : 0u - 1u;
}

/* Newcomers without a rank at most, after a tick that needed none: who leaves is sought among them.
 */
#define SIGHT_FRESH_MAX 256

/* --- lists come and go --------------------------------------------------------------------- */

static bool keeps_lists(const struct sight *s)
{
    return s->rules.hysteresis > 0;
}

static bool has_list(const struct sight *s, uint32_t viewer)
{
    return s->mode[viewer] == SIGHT_LIST || s->mode[viewer] == SIGHT_HELD;
}

static void set_mask(struct sight *s, uint32_t viewer)
{
    s->mode[viewer] = SIGHT_MASK;
    s->n_masks++;
}

static void list_add(struct sight *s, uint32_t viewer)
{
    s->n_masks -= s->mode[viewer] == SIGHT_MASK;
    s->mode[viewer] = SIGHT_LIST;
    s->listed_at[viewer] = s->n_listed;
    s->listed[s->n_listed++] = viewer;
}

static void list_drop(struct sight *s, uint32_t viewer)
{
    uint32_t last = s->listed[--s->n_listed];

    s->listed[s->listed_at[viewer]] = last;
    s->listed_at[last] = s->listed_at[viewer];
    (void)known_clear(&s->known, viewer);
    s->diffs[viewer] = (struct sight_diff){0};
    sight_set_again(s, viewer, false);
}

void sight_watch(struct sight *s, uint32_t viewer)
{
    if (s->soft) {
        soft_watch(s->soft, viewer);
        return;
    }
    if (keeps_lists(s))
        list_add(s, viewer);
    else
        set_mask(s, viewer);
}

void sight_afresh(struct sight *s, uint32_t viewer)
{
    bool held = s->mode[viewer] == SIGHT_HELD;

    if (s->soft) {
        soft_afresh(s->soft, viewer);
        soft_books(s->soft, s);
        return;
    }
    if (s->count[viewer] == 0)
        return; /* whoever it will see is new to it anyway */
    if (keeps_lists(s))
        s->holds++; /* between R and R + H it will not know all who know it */
    s->cleared += s->count[viewer];
    s->pairs -= s->count[viewer];
    s->count[viewer] = 0;
    if (has_list(s, viewer))
        (void)known_clear(&s->known, viewer);
    else
        list_add(s, viewer);
    s->diffs[viewer] = (struct sight_diff){0};
    sight_set_again(s, viewer, !held);
}

void sight_watch_seen(struct sight *s, uint32_t viewer)
{
    if (s->soft) {
        soft_watch(s->soft, viewer);
        return;
    }
    list_add(s, viewer);
    sight_set_again(s, viewer, true);
}

int sight_know(struct sight *s, uint32_t viewer, const uint64_t *words, uint32_t stride, uint32_t n)
{
    uint64_t *keys;

    ASSERT(!s->soft);
    ASSERT(s->mode[viewer] == SIGHT_BLIND);
    if (n > 0 && known_reserve(&s->known, viewer, n) != 0)
        return E_FULL;
    list_add(s, viewer);
    sight_set_again(s, viewer, true);
    if (keeps_lists(s))
        s->holds++; /* what it knows was looked at elsewhere */
    keys = s->known.keys + s->known.lists[viewer].at;
    for (uint32_t i = 0; i < n; i++)
        keys[i] = words[(size_t)i * stride];
    s->known.lists[viewer].n = n;
    s->known.pairs += n;
    s->count[viewer] = n;
    s->pairs += n;
    s->added += n;
    return 0;
}

static void unwatch(struct sight *s, uint32_t viewer)
{
    if (s->soft) {
        soft_forget(s->soft, viewer);
        soft_books(s->soft, s);
        return;
    }
    if (has_list(s, viewer))
        list_drop(s, viewer);
    s->n_masks -= s->mode[viewer] == SIGHT_MASK;
    s->cleared += s->count[viewer];
    s->pairs -= s->count[viewer];
    s->count[viewer] = 0;
    s->mode[viewer] = SIGHT_BLIND;
}

void sight_blind(struct sight *s, uint32_t viewer)
{
    if (s->soft) {
        soft_blind(s->soft, viewer);
        soft_books(s->soft, s);
        return;
    }
    unwatch(s, viewer);
    s->holds++; /* between R and R + H it may never know all who know it */
}

void sight_forget(struct sight *s, uint32_t viewer)
{
    unwatch(s, viewer);
    places_note_end(&s->places, viewer);
}

int sight_hold(struct sight *s, const struct entities *e, uint32_t viewer)
{
    if (s->soft) {
        soft_hold(s->soft, viewer);
        return 0;
    }
    if (!has_list(s, viewer)) {
        const uint64_t *keys;
        uint32_t n = sight_list(s, e, viewer, &keys);

        if (known_reserve(&s->known, viewer, n) != 0)
            return E_FULL;
        known_merge(&s->known, viewer, 0, keys, n);
        list_add(s, viewer);
    }
    s->holds++;
    s->mode[viewer] = SIGHT_HELD;
    sight_set_again(s, viewer, false); /* until it is released */
    return 0;
}

void sight_release(struct sight *s, uint32_t viewer)
{
    if (s->soft) {
        soft_release(s->soft, viewer);
        return;
    }
    ASSERT(s->mode[viewer] == SIGHT_HELD);
    s->mode[viewer] = SIGHT_LIST;
    sight_set_again(s, viewer, true);
}

/* --- questions between two ticks ------------------------------------------------------------ */

bool sight_watches(const struct sight *s, uint32_t slot)
{
    return s->soft ? soft_watches(s->soft, slot) : s->mode[slot] != SIGHT_BLIND;
}

bool sight_knows(const struct sight *s, const struct entities *e, uint32_t viewer, uint32_t subject)
{
    const struct places *p = &s->places;

    if (s->soft)
        return soft_knows(s->soft, viewer, known_key(e->id[subject], subject));
    if (has_list(s, viewer))
        return known_has(&s->known, viewer, known_key(e->id[subject], subject));
    if (s->mode[viewer] != SIGHT_MASK || !p->seen[viewer] || !p->seen[subject])
        return false;
    return viewer != subject && places_near_old(p, viewer, subject);
}

/* Those around the entity, as of the last tick's places: keys. */
static uint32_t around(struct sight *s, const struct entities *e, uint32_t subject)
{
    if (s->by_movers)
        return cells_known(&s->cells, &s->places, e, subject, s->keys);
    return places_known(&s->places, subject, s->keys);
}

uint32_t sight_list(struct sight *s, const struct entities *e, uint32_t viewer,
                    const uint64_t **out)
{
    if (s->soft) {
        *out = s->keys;
        return soft_list(s->soft, viewer, s->keys);
    }
    if (has_list(s, viewer)) {
        *out = known_keys(&s->known, viewer);
        return known_count(&s->known, viewer);
    }
    *out = s->keys;
    return around(s, e, viewer);
}

/* Is it certain that who knows somebody is known by them? Not while somebody's batches wait. */
static bool is_symmetric(const struct sight *s)
{
    /* With hysteresis, two who met while one of them waited may differ for as long as they stay
     * between R and R + H of each other: from the first wait on nothing is certain. */
    if (keeps_lists(s))
        return s->holds == 0 && s->deferred == 0;
    return s->n_again == 0 && s->n_listed == 0;
}

/* Whom it knows is who knows it. */
static uint32_t known_by_all(const struct sight *s, uint32_t subject, uint32_t *out)
{
    const uint64_t *keys = known_keys(&s->known, subject);
    uint32_t n = known_count(&s->known, subject), found = 0;

    for (uint32_t i = 0; i < n; i++) {
        if (has_list(s, known_slot(keys[i])))
            out[found++] = known_slot(keys[i]);
    }
    return found;
}

uint32_t sight_knowers(struct sight *s, const struct entities *e, uint32_t subject, uint32_t *out)
{
    uint64_t key = known_key(e->id[subject], subject);
    uint32_t n, found = 0;

    if (s->soft)
        return soft_knowers(s->soft, key, out);
    if (keeps_lists(s) && is_symmetric(s) && has_list(s, subject))
        return known_by_all(s, subject, out);
    n = keeps_lists(s) ? 0 : around(s, e, subject);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t viewer = known_slot(s->keys[i]);

        if (s->mode[viewer] == SIGHT_MASK && e->id[viewer] == known_id(s->keys[i]))
            out[found++] = viewer;
    }
    for (uint32_t i = 0; i < s->n_listed; i++) {
        if (known_has(&s->known, s->listed[i], key))
            out[found++] = s->listed[i];
    }
    return found;
}

/* --- a tick ---------------------------------------------------------------------------------- */

/* Note who is new or moved. */
static void note_moved(struct sight *s, const struct entities *e)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < e->dirty_count; i++) {
        uint32_t slot = e->dirty[i];

        if (!(e->flags[slot] & (ENTITY_MOVED | ENTITY_NEW)))
            continue;
        if (e->flags[slot] & ENTITY_NEW)
            places_enter(&s->places, slot);
        places_note(&s->places, e, slot);
        s->moved[n++] = slot;
    }
    s->n_moved = n;
}

/* So few moved, came, ended or changed that looking mover by mover costs less; and nobody's list is
 * to be made exact, for which blocks are needed. */
static bool is_quiet(const struct sight *s, const struct entities *e)
{
    uint64_t n = (uint64_t)e->dirty_count + e->dying_count;

    return n * s->few_share <= e->alive_count && s->n_again == 0;
}

void sight_run(struct sight *s, struct entities *e, const struct grid *g, struct arena *scratch,
               uint32_t tick)
{
    s->n_views = 0;
    s->ranked = false;
    if (s->n_again > 0) /* there may be room enough, but scattered */
        known_compact(&s->known);
    if (!keeps_lists(s)) {
        note_moved(s, e);
        if (!is_quiet(s, e) || !sight_few_run(s, e, tick)) {
            places_rank(&s->places, e);
            places_file(&s->places);
            s->ranked = true;
            s->by_movers = s->cells.synced = false;
            sight_mask_run(s, e, scratch, tick);
        } else if (e->dirty_count + e->dying_count > 0) {
            s->by_movers = true;
            if (s->places.n_fresh > SIGHT_FRESH_MAX)
                places_rank(&s->places, e);
        }
    }
    for (uint32_t i = 0; i < s->n_listed; i++) {
        if (s->mode[s->listed[i]] == SIGHT_LIST)
            sight_list_look(s, e, g, scratch, s->listed[i], tick);
    }
}

void sight_tell(struct sight *s, struct entities *e, sight_tell_fn *tell, void *arg)
{
    if (!keeps_lists(s)) {
        if (s->ranked)
            sight_mask_tell(s, e, tell, arg);
        else
            sight_few_tell(s, e, tell, arg);
    }
    for (uint32_t i = 0; i < s->n_listed; i++) {
        uint32_t viewer = s->listed[i];
        struct sight_result r = {.viewer = viewer, .diff = s->diffs[viewer]};

        if (s->mode[viewer] == SIGHT_LIST)
            tell(arg, &r);
    }
}

void sight_settle(struct sight *s, const struct entities *e)
{
    uint32_t at = 0;

    if (keeps_lists(s))
        return;
    if (s->cells.synced)
        cells_settle(&s->cells, e, s->moved, s->n_moved);
    places_settle(&s->places, e, s->moved, s->n_moved);
    while (at < s->n_listed) { /* exact again: old and new places tell the same from here on */
        uint32_t viewer = s->listed[at];

        if (s->mode[viewer] != SIGHT_LIST || s->again[viewer]) {
            at++;
            continue;
        }
        list_drop(s, viewer);
        set_mask(s, viewer);
    }
}
