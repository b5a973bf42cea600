/* world/interest/fanout.c: see the header.
 *
 *   events ─► encode ─► tells[slot]                                      once a mover
 *   a block's candidates ─► ids, tails, told bits                        once a block
 *   diff, stay bits or list ─► remove, add, move ─► outbox, in place     once a viewer
 */
#include "world/interest/fanout.h"

#include "world/interest/batch.h"
#include "world/interest/pause.h"
#include "world/interest/sight_few.h"
#include "world/interest/wire.h"

_Static_assert(PACK_OVERHANG <= OUTBOX_OVERHANG, "records may be laid with that much behind them");

/* --- once a tick --------------------------------------------------------------------------- */

static void encode(struct world *w, const struct event *ev)
{
    uint32_t slot;

    if (ev->tell == 0)
        return;
    if (!entities_find(&w->entities, ev->who, &slot)) {
        w->events.stale++;
        return;
    }
    w->tells[slot] = wire_tail(&w->entities.told[slot].wire, ev->tell);
    if (ev->tell & EVENT_TELL_FAR) {
        w->jumped[slot] = 1;
        w->n_jumped++;
    }
}

static void encode_all(struct world *w)
{
    for (int type = EVENT_ENTER; type <= EVENT_UPDATE; type++) {
        for (uint32_t i = 0; i < w->events.n[type]; i++)
            encode(w, &w->events.list[type][i]);
    }
}

static void clear(struct world *w)
{
    uint32_t told = w->events.n[EVENT_ENTER] + w->events.n[EVENT_UPDATE];

    if (told > w->entities.slots.fresh / 4) {
        memset(w->tells, 0, w->entities.slots.fresh * sizeof(*w->tells));
        memset(w->jumped, 0, w->entities.slots.fresh * sizeof(*w->jumped));
        w->n_jumped = 0;
        events_clear(&w->events);
        return;
    }
    for (int type = EVENT_ENTER; type <= EVENT_UPDATE; type++) {
        for (uint32_t i = 0; i < w->events.n[type]; i++) {
            uint32_t slot = w->events.list[type][i].who.slot;

            w->tells[slot].len = 0;
            w->jumped[slot] = 0;
        }
    }
    w->n_jumped = 0;
    events_clear(&w->events);
}

/* --- one viewer's batch -------------------------------------------------------------------- */

/* A viewer that had to wait may still know who ended, and another stands in that slot now. */
static bool knows_living(const struct world *w, uint64_t key)
{
    return w->entities.id[known_slot(key)] == known_id(key);
}

/* Lay what is told of each candidate of a block, once for all its viewers. */
static void block_lay(struct world *w, const struct sight_block *block)
{
    const struct places *p = &w->sight.places;
    struct pack_list *l = &w->fan.list;

    w->fan.block = block->number;
    w->fan.any = 0;
    for (uint32_t at = 0; at < block->n; at += 64) {
        uint32_t end = block->n - at < 64 ? block->n - at : 64;
        uint64_t told = 0;

        for (uint32_t i = 0; i < end; i++) {
            uint64_t key = p->keys[block->ranks[at + i]];
            uint32_t slot = known_slot(key);

            l->ids[at + i] = known_id(key);
            l->tails[at + i] = w->tells[slot];
            told |= (uint64_t)(w->tells[slot].len != 0 && !w->jumped[slot]) << i;
        }
        l->told[at / 64] = told;
        w->fan.any |= told;
    }
}

/* Records of those who stay, by mask. */
static void staying_by_mask(struct batch_records *r, const struct sight_result *result)
{
    const struct pack_list *l = &r->w->fan.list;
    const uint32_t words = (result->block->n + 63) / 64;
    const size_t most = (size_t)r->w->sight.count[result->viewer] * AOI_MOVE_RECORD_MAX;

    if (most <= (size_t)(r->end - r->at)) {
        r->n = r->w->fan.code.pack(l, result->stay, words, r->at, &r->at);
        return;
    }
    for (uint32_t i = 0; i < words; i++) {
        for (uint64_t bits = result->stay[i] & l->told[i]; bits != 0; bits &= bits - 1) {
            const uint32_t j = i * 64 + (uint32_t)__builtin_ctzll(bits);

            batch_records_put(r, l->ids[j], &l->tails[j]);
        }
    }
}

/* Records of those who stay, by the viewer's list. `past`: what it was told before its batches
 * paused, unlike the others; NULL: the same as they. */
static void staying_by_list(struct batch_records *r, const struct sight_result *result,
                            struct pause_cursor *past)
{
    struct world *w = r->w;
    const uint64_t *keys = known_keys(&w->sight.known, result->viewer);
    const struct sight_diff *d = &result->diff;
    uint32_t n = known_count(&w->sight.known, result->viewer), added = 0;

    for (uint32_t i = 0; i < n; i++) {
        uint32_t slot = known_slot(keys[i]);

        if (added < d->n_added && d->added[added] == keys[i]) {
            added++;
        } else if (!knows_living(w, keys[i])) {
            continue;
        } else if (past) {
            uint8_t tell = pause_changes(past, w, keys[i]);
            struct aoi_move_tail own = wire_tail(&w->entities.told[slot].wire, tell);

            if (tell != 0 && !(tell & EVENT_TELL_FAR))
                batch_records_put(r, known_id(keys[i]), &own);
        } else if (w->tells[slot].len != 0 && !w->jumped[slot]) {
            batch_records_put(r, known_id(keys[i]), &w->tells[slot]);
        }
    }
}

/* Records of those who stay and moved, by name. */
static void staying_movers(struct batch_records *r, const struct sight_result *result)
{
    const struct world *w = r->w;

    for (uint32_t i = 0; i < result->n_movers; i++) {
        uint32_t slot = result->movers[i];

        if (w->tells[slot].len != 0 && !w->jumped[slot])
            batch_records_put(r, w->entities.id[slot], &w->tells[slot]);
    }
}

static void put_staying(struct world *w, const struct sight_result *r, struct pause_cursor *past)
{
    struct batch_records records = {.w = w};

    if (r->movers && r->n_movers == 0)
        return;
    batch_records_begin(&records, r->movers ? r->n_movers : w->sight.count[r->viewer]);
    if (r->block)
        staying_by_mask(&records, r);
    else if (r->movers)
        staying_movers(&records, r);
    else
        staying_by_list(&records, r, past);
    batch_records_end(&records);
    w->metrics.aoi_moves += records.n;
}

/* Merge two ascending lists of keys; `out` has room for both. */
static void merge(const uint64_t *a, uint32_t n_a, const uint64_t *b, uint32_t n_b, uint64_t *out)
{
    uint32_t i = 0, j = 0;

    while (i < n_a || j < n_b) {
        if (j == n_b || (i < n_a && a[i] < b[j]))
            *out++ = a[i++];
        else
            *out++ = b[j++];
    }
}

/* Those who stay and jumped too far for a record, by mask. */
static uint32_t jumped_by_mask(const struct world *w, const struct sight_result *r, uint64_t *out)
{
    const struct places *p = &w->sight.places;
    uint32_t words = (r->block->n + 63) / 64, found = 0;

    for (uint32_t i = 0; i < words; i++) {
        for (uint64_t bits = r->stay[i]; bits != 0; bits &= bits - 1) {
            uint64_t key = p->keys[r->block->ranks[i * 64 + (uint32_t)__builtin_ctzll(bits)]];

            if (w->jumped[known_slot(key)])
                out[found++] = key;
        }
    }
    return found;
}

/* The same by name. */
static uint32_t jumped_movers(const struct world *w, const struct sight_result *r, uint64_t *out)
{
    uint32_t found = 0;

    for (uint32_t i = 0; i < r->n_movers; i++) {
        if (w->jumped[r->movers[i]])
            out[found++] = known_key(w->entities.id[r->movers[i]], r->movers[i]);
    }
    return found;
}

/* The same by the viewer's list, apart from the newly added. */
static uint32_t jumped_by_list(const struct world *w, const struct sight_result *r,
                               struct pause_cursor *past, uint64_t *out)
{
    const struct sight_diff *d = &r->diff;
    const uint64_t *keys = known_keys(&w->sight.known, r->viewer);
    uint32_t n = known_count(&w->sight.known, r->viewer), added = 0, found = 0;

    for (uint32_t i = 0; i < n; i++) {
        bool far;

        if (added < d->n_added && d->added[added] == keys[i]) {
            added++;
            continue;
        }
        if (!knows_living(w, keys[i]))
            continue;
        far = past ? (pause_changes(past, w, keys[i]) & EVENT_TELL_FAR) != 0
                   : w->jumped[known_slot(keys[i])] != 0;
        if (far)
            out[found++] = keys[i];
    }
    return found;
}

/* The diff with those who jumped among both gone and added. */
static struct sight_diff with_jumped(struct world *w, const struct sight_result *r,
                                     struct pause_cursor *past)
{
    const struct sight_diff *d = &r->diff;
    uint32_t n = w->sight.count[r->viewer], n_jumped;
    uint64_t *jumped = arena_take(&w->scratch, n * sizeof(*jumped)), *gone, *added;

    ASSERT(jumped); /* sight left room */
    n_jumped = r->block    ? jumped_by_mask(w, r, jumped)
               : r->movers ? jumped_movers(w, r, jumped)
                           : jumped_by_list(w, r, past, jumped);
    if (n_jumped == 0)
        return *d;
    gone = arena_take(&w->scratch, ((size_t)d->n_gone + n_jumped) * sizeof(*gone));
    added = arena_take(&w->scratch, ((size_t)d->n_added + n_jumped) * sizeof(*added));
    ASSERT(gone);
    ASSERT(added);
    merge(d->gone, d->n_gone, jumped, n_jumped, gone);
    merge(d->added, d->n_added, jumped, n_jumped, added);
    return (struct sight_diff){gone, added, d->n_gone + n_jumped, d->n_added + n_jumped};
}

/* --- viewers who are told the same ------------------------------------------------------------ */

_Static_assert(WORLD_GROUP_VIEWERS >= 2 * FEW_GROUP_MAX, "a group fits behind what waits");
_Static_assert(WORLD_GROUP_MOVERS >= 2 * FEW_GROUP_MOVERS, "its movers too");

/* Have the caches bring what telling a viewer will need. */
static void fetch(const struct world *w, uint32_t viewer)
{
    __builtin_prefetch(&w->routes[viewer]);
}

/* The movers' records, as one body; empty where nothing of them is told. */
static struct span body_of(struct world *w, const uint32_t *movers, uint32_t n, uint32_t *told)
{
    bool wide = n * AOI_MOVE_RECORD_MAX > UINT16_MAX;
    uint8_t *body = arena_take(&w->scratch, AOI_MOVE_HEAD(true) + n * AOI_MOVE_RECORD_MAX + 2);
    uint8_t *at = body + AOI_MOVE_HEAD(wide), *first = at;
    uint32_t previous = 0;

    ASSERT(body); /* sight left room */
    *told = 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct aoi_move_tail *tail = &w->tells[movers[i]];
        uint32_t id = w->entities.id[movers[i]];

        if (tail->len == 0)
            continue;
        at += aoi_move_put_wide(at, id, previous, tail);
        previous = id;
        (*told)++;
    }
    if (*told > 0)
        aoi_move_head(body, world_told_tick(w), (size_t)(at - first), wide);
    return span_of(body, (size_t)(at - body));
}

static void tell_waiting(struct world *w)
{
    struct world_groups *g = &w->fan.groups;
    size_t mark = w->scratch.used;

    for (uint32_t i = 0; i < g->n; i++) {
        const uint32_t *viewers = g->viewers + g->groups[i].viewers;
        uint32_t n = g->groups[i].n_viewers, told;
        struct span body =
            body_of(w, g->movers + g->groups[i].movers, g->groups[i].n_movers, &told);

        if (told > 0) {
            for (uint32_t v = 0; v < n; v++)
                alike_add(&w->fan.alike, w->routes[viewers[v]].link, w->routes[viewers[v]].sid);
            alike_tell(&w->fan.alike, body, &w->outbox);
            w->metrics.aoi_moves += (uint64_t)told * n;
        }
        arena_rewind(&w->scratch, mark);
    }
    g->n = g->n_viewers = g->n_movers = 0;
}

/* It waits until there are many. */
static void tell_group(struct world *w, const struct sight_result *r)
{
    struct world_groups *g = &w->fan.groups;

    if (g->n == WORLD_GROUPS || g->n_viewers + r->n_group > WORLD_GROUP_VIEWERS ||
        g->n_movers + r->n_movers > WORLD_GROUP_MOVERS)
        tell_waiting(w);
    g->groups[g->n].viewers = g->n_viewers;
    g->groups[g->n].n_viewers = r->n_group;
    g->groups[g->n].movers = g->n_movers;
    g->groups[g->n++].n_movers = r->n_movers;
    for (uint32_t i = 0; i < r->n_group; i++) {
        fetch(w, r->group[i]);
        g->viewers[g->n_viewers++] = r->group[i];
    }
    for (uint32_t i = 0; i < r->n_movers; i++)
        g->movers[g->n_movers++] = r->movers[i];
}

static bool any_jumped(const struct world *w, const struct sight_result *r)
{
    if (w->n_jumped == 0)
        return false;
    for (uint32_t i = 0; i < r->n_movers; i++) {
        if (w->jumped[r->movers[i]])
            return true;
    }
    return false;
}

static void tell_viewer(void *arg, const struct sight_result *r);

/* One who jumped too far for a record is told by remove and add, viewer by viewer. */
static void tell_each(struct world *w, const struct sight_result *r)
{
    struct sight_result one = {.movers = r->movers, .n_movers = r->n_movers};

    for (uint32_t i = 0; i < r->n_group; i++) {
        one.viewer = r->group[i];
        tell_viewer(w, &one);
    }
}

static void tell_viewer(void *arg, const struct sight_result *r)
{
    struct world *w = arg;
    const struct world_route *route = &w->routes[r->viewer];
    struct sight_diff d = r->diff;
    struct pause_cursor cursor, *past = NULL;
    size_t mark = w->scratch.used;

    if (r->block && r->block->number != w->fan.block)
        block_lay(w, r->block);
    if (r->block && w->fan.any == 0 && w->n_jumped == 0 && d.n_gone + d.n_added == 0)
        return;
    if (r->group) {
        if (any_jumped(w, r))
            tell_each(w, r);
        else
            tell_group(w, r);
        return;
    }
    if (r->later)
        fetch(w, *r->later);
    if (!r->block && !r->movers && pause_resuming(w, r->viewer))
        past = &cursor;
    outbox_begin(&w->outbox, route->link, route->sid);
    if (past)
        pause_cursor_start(&cursor, w, r->viewer);
    if (past || w->n_jumped > 0)
        d = with_jumped(w, r, past);
    if (d.n_gone > 0)
        batch_removes(w, d.gone, d.n_gone);
    if (d.n_added > 0)
        batch_adds(w, d.added, d.n_added);
    if (past)
        pause_cursor_start(&cursor, w, r->viewer);
    put_staying(w, r, past);
    outbox_end(&w->outbox);
    if (past)
        pause_forget(w, r->viewer);
    arena_rewind(&w->scratch, mark);
}

void fanout_tell(struct world *w)
{
    encode_all(w);
    w->fan.block = 0;
    sight_tell(&w->sight, &w->entities, tell_viewer, w);
    tell_waiting(w);
    clear(w);
}
