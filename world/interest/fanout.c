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

void fanout_encode(struct world *w)
{
    for (int type = EVENT_ENTER; type <= EVENT_UPDATE; type++) {
        for (uint32_t i = 0; i < w->events.n[type]; i++)
            encode(w, &w->events.list[type][i]);
    }
}

void fanout_clear(struct world *w)
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

/* The record of one who stays, where there is something to tell; bytes written. */
static size_t put_staying(struct world *w, uint64_t key, uint32_t previous,
                          struct pause_cursor *past, uint8_t *out)
{
    const struct aoi_move_tail *t = &w->tells[known_slot(key)];
    struct aoi_move_tail own;

    if (past) { /* told last before its batches paused, unlike the others */
        uint8_t tell = pause_changes(past, w, key);

        if (tell == 0 || (tell & EVENT_TELL_FAR))
            return 0;
        own = fanout_tail(&w->entities.told[known_slot(key)].wire, tell);
        t = &own;
    } else if (t->len == 0 || w->jumped[known_slot(key)]) {
        return 0;
    }
    w->metrics.aoi_moves++;
    return aoi_move_put(out, known_id(key), previous, t);
}

/* Records of all that the viewer knew before this tick and that are told now. */
static void batch_staying(struct batch *b, uint32_t viewer, const struct sight_diff *d,
                          struct pause_cursor *past)
{
    struct world *w = b->w;
    const uint64_t *keys = known_keys(&w->sight.known, viewer);
    uint32_t n = known_count(&w->sight.known, viewer), added = 0, previous = 0;
    bool doubtful = w->sight.again[viewer] != 0;
    size_t used = 0;

    for (uint32_t i = 0; i < n; i++) {
        size_t bytes;

        if (added < d->n_added && d->added[added] == keys[i]) {
            added++;
            continue;
        }
        if (doubtful && !knows_living(w, keys[i]))
            continue;
        if (used + AOI_MOVE_RECORD_MAX > PROTO_BATCH_MAX - BODY_HEAD) {
            batch_moves(b, used);
            used = 0;
            previous = 0;
        }
        bytes = put_staying(w, keys[i], previous, past, w->moves + used);
        if (bytes > 0)
            previous = known_id(keys[i]);
        used += bytes;
    }
    batch_moves(b, used);
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

/* Those of the known that jumped too far for a record, apart from the newly added. */
static uint32_t list_jumped(const struct world *w, uint32_t viewer, const struct sight_diff *d,
                            struct pause_cursor *past, uint64_t *out)
{
    const uint64_t *keys = known_keys(&w->sight.known, viewer);
    uint32_t n = known_count(&w->sight.known, viewer), added = 0, found = 0;

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
static struct sight_diff with_jumped(struct world *w, uint32_t viewer, const struct sight_diff *d,
                                     struct pause_cursor *past)
{
    uint32_t n = known_count(&w->sight.known, viewer), n_jumped;
    uint64_t *jumped = arena_take(&w->scratch, n * sizeof(*jumped)), *gone, *added;

    ASSERT(jumped); /* sight left room */
    n_jumped = list_jumped(w, viewer, d, past, jumped);
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

void fanout_viewer(struct world *w, uint32_t viewer)
{
    struct batch b = {.w = w};
    struct session *s;
    struct sight_diff d = w->sight.diffs[viewer];
    struct pause_cursor cursor, *past = NULL;
    size_t mark = w->scratch.used;

    if (!sessions_find(&w->sessions, w->entities.cold[viewer].session, &s) || s->paused)
        return;
    b.to = s;
    if (pause_resuming(w, viewer))
        past = &cursor;
    if (past || w->n_jumped > 0) {
        pause_cursor_start(&cursor, w, viewer);
        d = with_jumped(w, viewer, &d, past);
    }
    if (d.n_gone > 0)
        batch_removes(&b, d.gone, d.n_gone);
    if (d.n_added > 0)
        batch_adds(&b, d.added, d.n_added);
    pause_cursor_start(&cursor, w, viewer);
    batch_staying(&b, viewer, &w->sight.diffs[viewer], past);
    batch_send(&b);
    if (past)
        pause_forget(w, viewer);
    arena_rewind(&w->scratch, mark);
}
