/* world/interest/fanout.c: see the header.
 *
 *   dirty ─► decide ─► events (sorted) ─► encode ─► tells[slot]     once a mover
 *   diffs, known lists, tells ─► viewer ─► remove, add, move ─► outbox     once a viewer
 *
 * All viewers of an entity are told in the same tick, so what they were last told is kept once, at
 * the entity. That holds for a newcomer too: whoever is shown an entity whose small change was
 * still waiting makes it be told to the others in that tick.
 */
#include "world/interest/fanout.h"

#include "proto/link.h"
#include "world/interest/pause.h"

#define BODY_HEAD 64 /* bytes of a body around its entities, ids or records, at most */

/* The batch of the viewer at hand: bodies in w->batch, not sent yet. */
struct batch {
    struct world *w;
    const struct session *to;
    struct span bodies[LINK_BODIES_MAX];
    uint32_t n;
    size_t used; /* bytes of w->batch */
};

static bool far_apart(int32_t a, int32_t b)
{
    return a < b ? b - a >= PROTO_WRAP_QUANTA : a - b >= PROTO_WRAP_QUANTA;
}

static bool wire_far(const struct entity_wire *a, const struct entity_wire *b)
{
    return far_apart(a->qx, b->qx) || far_apart(a->qy, b->qy);
}

struct entity_wire fanout_wire(const struct world *w, uint32_t slot)
{
    const struct entities *e = &w->entities;

    return (struct entity_wire){
        .qx = (int32_t)aoi_move_quantise(e->x[slot], w->config.quantum),
        .qy = (int32_t)aoi_move_quantise(e->y[slot], w->config.quantum),
        .dir = aoi_move_dir(e->dir[slot]),
        .speed = aoi_move_speed(e->speed[slot], w->config.max_speed),
    };
}

uint8_t fanout_changes(const struct entity_wire *told, const struct entity_wire *now)
{
    uint8_t tell = 0;

    if (told->qx != now->qx || told->qy != now->qy)
        tell |= EVENT_TELL_PLACE;
    if (told->dir != now->dir)
        tell |= EVENT_TELL_PLACE | EVENT_TELL_DIR;
    if (told->speed != now->speed)
        tell |= EVENT_TELL_PLACE | EVENT_TELL_SPEED;
    if (wire_far(told, now))
        tell |= EVENT_TELL_FAR;
    return tell;
}

/* May this change wait for more? */
static bool may_wait(const struct world *w, uint32_t slot, uint8_t tell)
{
    const struct entities *e = &w->entities;
    const struct entity_told *t = &e->told[slot];
    double dx = e->x[slot] - t->x, dy = e->y[slot] - t->y, epsilon = w->config.move_epsilon;

    if (tell & (EVENT_TELL_SPEED | EVENT_TELL_FAR))
        return false;
    if (dx * dx + dy * dy >= epsilon * epsilon)
        return false;
    if (motion_angle(e->dir[slot], t->dir) >= w->dir_epsilon)
        return false;
    if (e->seen_new[slot] == w->tick)
        return false;
    return w->config.update_interval > 0 &&
           (t->pending_since == 0 || w->tick - t->pending_since < w->config.update_interval);
}

/* What viewers are told of it now (EVENT_TELL_*), keeping the books of what they were told. */
static uint8_t settle(struct world *w, uint32_t slot, bool *waits)
{
    struct entities *e = &w->entities;
    struct entity_told *t = &e->told[slot];
    struct entity_wire now = fanout_wire(w, slot);
    bool fresh = (e->flags[slot] & ENTITY_NEW) != 0;
    uint8_t tell = fresh ? 0 : fanout_changes(&t->wire, &now);

    *waits = false;
    if (tell != 0 && may_wait(w, slot, tell)) {
        if (t->pending_since == 0)
            t->pending_since = w->tick;
        *waits = true;
        return 0;
    }
    t->pending_since = 0;
    if (fresh || tell != 0)
        *t = (struct entity_told){now, e->x[slot], e->y[slot], e->dir[slot], 0};
    return tell;
}

static void add_events(struct world *w, uint32_t slot, uint32_t from, uint8_t tell)
{
    const struct entities *e = &w->entities;
    struct event ev = {
        .who = entities_ref(e, slot),
        .id = e->id[slot],
        .from = from,
        .to = w->scene.grid.cell[slot],
        .tick = w->tick,
        .x = e->x[slot],
        .y = e->y[slot],
        .dir = e->dir[slot],
        .speed = e->speed[slot],
    };

    if (from != ev.to) {
        if (from != GRID_NONE)
            events_add(&w->events, EVENT_LEAVE, &ev);
        ev.tell = tell;
        events_add(&w->events, EVENT_ENTER, &ev);
    } else if (tell != 0) {
        ev.tell = tell;
        events_add(&w->events, EVENT_UPDATE, &ev);
    }
}

void fanout_decide(struct world *w, const uint32_t *from)
{
    struct entities *e = &w->entities;
    uint32_t n = 0;

    for (uint32_t i = 0; i < e->dirty_count; i++) {
        uint32_t slot = e->dirty[i];
        bool waits;
        uint8_t tell;

        if (!(e->flags[slot] & ENTITY_DIRTY))
            continue;
        tell = settle(w, slot, &waits);
        add_events(w, slot, from[i], tell);
        e->flags[slot] = waits ? ENTITY_DIRTY : 0;
        if (waits) {
            e->dirty_at[slot] = n;
            e->dirty[n++] = slot;
        }
    }
    e->dirty_count = n;
    events_sort(&w->events);
}

struct aoi_move_tail fanout_tail(const struct entity_wire *wire, uint8_t tell)
{
    return aoi_move_tail(wire->qx, wire->qy, tell & EVENT_TELL_DIR, wire->dir,
                         tell & EVENT_TELL_SPEED, wire->speed);
}

static void encode(struct world *w, const struct event *ev)
{
    uint32_t slot;

    if (ev->tell == 0)
        return;
    if (!entities_find(&w->entities, ev->who, &slot)) {
        w->events.stale++;
        return;
    }
    w->tells[slot] = fanout_tail(&w->entities.told[slot].wire, ev->tell);
    if (ev->tell & EVENT_TELL_FAR) {
        w->jumped[slot] = 1;
        w->n_jumped++;
    }
}

static void fanout_encode(struct world *w)
{
    for (int type = EVENT_ENTER; type <= EVENT_UPDATE; type++) {
        for (uint32_t i = 0; i < w->events.n[type]; i++)
            encode(w, &w->events.list[type][i]);
    }
}

static void fanout_clear(struct world *w)
{
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

/* A viewer that had to wait may still know who ended, and another stands in that slot now. */
static bool knows_living(const struct world *w, uint64_t key)
{
    return w->entities.id[known_slot(key)] == known_id(key);
}

/* --- one viewer's batch -------------------------------------------------------------------- */

static void batch_send(struct batch *b)
{
    if (b->n > 0)
        outbox_data(&b->w->outbox, b->to->link, b->to->sid, b->bodies, b->n);
    b->n = 0;
    b->used = 0;
}

static void batch_add(struct batch *b, const struct message *m)
{
    struct span_writer w;

    if (b->n == LINK_BODIES_MAX || WORLD_BATCH_BYTES - b->used < PROTO_BATCH_MAX)
        batch_send(b);
    w = span_writer_of(b->w->batch + b->used, PROTO_BATCH_MAX);
    message_write(&w, m);
    ASSERT(!w.full);
    b->bodies[b->n++] = span_written(&w);
    b->used += w.len;
}

static void batch_removes(struct batch *b, const uint64_t *keys, uint32_t n)
{
    const uint32_t most = (PROTO_BATCH_MAX - BODY_HEAD) / 5; /* a uint32 takes 5 bytes */
    uint32_t *ids = arena_take(&b->w->scratch, n * sizeof(*ids));

    ASSERT(ids); /* sight left room */
    for (uint32_t i = 0; i < n; i++)
        ids[i] = known_id(keys[i]);
    for (uint32_t at = 0, some; at < n; at += some) {
        struct message m = {.cmd = CMD_AOI_REMOVE};

        some = n - at < most ? n - at : most;
        m.aoi_remove.tick = b->w->tick;
        m.aoi_remove.ids = ids + at;
        m.aoi_remove.count = some;
        batch_add(b, &m);
    }
    b->w->metrics.aoi_removes += n;
}

static struct message_entity entity_message(const struct entities *e, uint32_t slot)
{
    const struct entity_cold *c = &e->cold[slot];

    return (struct message_entity){
        .id = e->id[slot],
        .kind = c->kind,
        .name = span_of(c->name, c->name_len),
        .x = e->x[slot],
        .y = e->y[slot],
        .dir = e->dir[slot],
        .speed = e->speed[slot],
    };
}

/* Array head, id, kind, name with its head, four float64. */
static size_t entity_bytes(const struct message_entity *e)
{
    return 1 + 5 + 5 + 2 + e->name.n + 4 * 9;
}

static void batch_adds(struct batch *b, const uint64_t *keys, uint32_t n)
{
    struct message_entity *list = arena_take(&b->w->scratch, n * sizeof(*list));
    uint32_t at = 0;

    ASSERT(list); /* sight left room */
    for (uint32_t i = 0; i < n; i++)
        list[i] = entity_message(&b->w->entities, known_slot(keys[i]));
    while (at < n) {
        struct message m = {.cmd = CMD_AOI_ADD};
        size_t bytes = BODY_HEAD;
        uint32_t end = at;

        while (end < n && bytes + entity_bytes(&list[end]) <= PROTO_BATCH_MAX)
            bytes += entity_bytes(&list[end++]);
        m.aoi_add.tick = b->w->tick;
        m.aoi_add.entities = list + at;
        m.aoi_add.count = end - at;
        batch_add(b, &m);
        at = end;
    }
    b->w->metrics.aoi_adds += n;
}

static void batch_moves(struct batch *b, size_t bytes)
{
    struct message m = {.cmd = CMD_AOI_MOVE};

    if (bytes == 0)
        return;
    m.aoi_move.tick = b->w->tick;
    m.aoi_move.moves = span_of(b->w->moves, bytes);
    batch_add(b, &m);
}

/* Lay what is told of each candidate of a block, once for all its viewers. */
static void block_lay(struct world *w, const struct sight_block *block)
{
    const struct places *p = &w->sight.places;
    struct world_fan *fan = &w->fan;

    fan->block = block;
    fan->any = 0;
    for (uint32_t at = 0; at < block->n; at += 64) {
        uint32_t end = block->n - at < 64 ? block->n - at : 64;
        uint64_t told = 0;

        for (uint32_t i = 0; i < end; i++) {
            uint32_t rank = block->ranks[at + i], slot = p->order[rank];

            fan->ids[at + i] = p->ids[rank];
            fan->tails[at + i] = w->tells[slot];
            told |= (uint64_t)(w->tells[slot].len != 0 && !w->jumped[slot]) << i;
        }
        fan->told[at / 64] = told;
        fan->any |= told;
    }
}

/* Records go to w->moves; a full one is told and begun anew. */
struct records {
    struct batch *b;
    size_t used;
    uint32_t previous, n;
};

static void records_put(struct records *r, uint32_t id, const struct aoi_move_tail *t)
{
    if (r->used + AOI_MOVE_RECORD_MAX > PROTO_BATCH_MAX - BODY_HEAD) {
        batch_moves(r->b, r->used);
        r->used = 0;
        r->previous = 0;
    }
    r->used += aoi_move_put(r->b->w->moves + r->used, id, r->previous, t);
    r->previous = id;
    r->n++;
}

/* Records of those who stay, by mask. */
static void staying_by_mask(struct records *r, const struct sight_result *result)
{
    const struct world_fan *fan = &r->b->w->fan;
    uint32_t words = (result->block->n + 63) / 64;

    for (uint32_t i = 0; i < words; i++) {
        for (uint64_t bits = result->stay[i] & fan->told[i]; bits != 0; bits &= bits - 1) {
            uint32_t j = i * 64 + (uint32_t)__builtin_ctzll(bits);

            records_put(r, fan->ids[j], &fan->tails[j]);
        }
    }
}

/* Records of those who stay, by the viewer's list. `past`: what it was told before its batches
 * paused, unlike the others; NULL: the same as they. */
static void staying_by_list(struct records *r, const struct sight_result *result,
                            struct pause_cursor *past)
{
    struct world *w = r->b->w;
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
            struct aoi_move_tail own = fanout_tail(&w->entities.told[slot].wire, tell);

            if (tell != 0 && !(tell & EVENT_TELL_FAR))
                records_put(r, known_id(keys[i]), &own);
        } else if (w->tells[slot].len != 0 && !w->jumped[slot]) {
            records_put(r, known_id(keys[i]), &w->tells[slot]);
        }
    }
}

static void batch_staying(struct batch *b, const struct sight_result *r, struct pause_cursor *past)
{
    struct records records = {.b = b};

    if (r->block)
        staying_by_mask(&records, r);
    else
        staying_by_list(&records, r, past);
    batch_moves(b, records.used);
    b->w->metrics.aoi_moves += records.n;
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
            uint32_t rank = r->block->ranks[i * 64 + (uint32_t)__builtin_ctzll(bits)];

            if (w->jumped[p->order[rank]])
                out[found++] = known_key(p->ids[rank], p->order[rank]);
        }
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
    n_jumped = r->block ? jumped_by_mask(w, r, jumped) : jumped_by_list(w, r, past, jumped);
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

static void tell_viewer(void *arg, const struct sight_result *r)
{
    struct world *w = arg;
    struct batch b = {.w = w};
    struct session *s;
    struct sight_diff d = r->diff;
    struct pause_cursor cursor, *past = NULL;
    size_t mark = w->scratch.used;

    if (r->block && r->block != w->fan.block)
        block_lay(w, r->block);
    if (r->block && w->fan.any == 0 && w->n_jumped == 0 && d.n_gone + d.n_added == 0)
        return;
    if (!sessions_find(&w->sessions, w->entities.cold[r->viewer].session, &s))
        return;
    b.to = s;
    if (pause_resuming(w, r->viewer))
        past = &cursor;
    pause_cursor_start(&cursor, w, r->viewer);
    if (past || w->n_jumped > 0)
        d = with_jumped(w, r, past);
    if (d.n_gone > 0)
        batch_removes(&b, d.gone, d.n_gone);
    if (d.n_added > 0)
        batch_adds(&b, d.added, d.n_added);
    pause_cursor_start(&cursor, w, r->viewer);
    batch_staying(&b, r, past);
    batch_send(&b);
    if (past)
        pause_forget(w, r->viewer);
    arena_rewind(&w->scratch, mark);
}

void fanout_tell(struct world *w)
{
    fanout_encode(w);
    w->fan.block = NULL;
    sight_tell(&w->sight, &w->entities, tell_viewer, w);
    fanout_clear(w);
}
