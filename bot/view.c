/* bot/view.c: what one client knows of the world, and whether it was told as the contract says.
 * Entities lie in one array ascending by id, and so do the records of a batch: each batch is one
 * pass over both. A hash was the other way; it loses at 20 neighbours and at 1,000 alike, since
 * batches come in the array's own order. May touch: common, proto.
 * On trouble: a breach is told as a text and the view goes on as well as it can.
 */
#include "bot/view.h"

#include "common/err.h"
#include "proto/aoi_move.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* A second batch of one kind in one tick is a split for size only where the first was at least
 * this large. */
#define VIEW_SPLIT_BYTES (PROTO_BATCH_MAX / 2)

/* What a server may say without arithmetic on it running out of range. */
#define VIEW_TURN        6.283185307179586 /* 2π */
#define VIEW_PLACE_MAX   1e9               /* world units */
#define VIEW_QUANTUM_MIN 1e-6
#define VIEW_QUANTA_MAX  1e9 /* either way; a step more stays within int32_t */

/* Note a breach; the first one of a message is the one that is told. */
static void breach(struct view *v, const char *fmt, ...) PRINTF_LIKE(2, 3);

static void breach(struct view *v, const char *fmt, ...)
{
    va_list ap;

    v->counted.breaches++;
    if (v->breach[0] != '\0')
        return;
    va_start(ap, fmt);
    vsnprintf(v->breach, sizeof(v->breach), fmt, ap);
    va_end(ap);
}

void view_init(struct view *v, view_moved_fn *moved, void *arg)
{
    *v = (struct view){.moved = moved, .moved_arg = arg};
}

void view_fini(struct view *v)
{
    if (!v)
        return;
    free(v->known);
    free(v->gone);
    free(v->scratch);
    free(v->names);
    *v = (struct view){0};
}

/* Forget all entities and how far the tick was. */
static void forget_entities(struct view *v)
{
    v->count = 0;
    v->gone_count = 0;
    v->names_made = 0;
    v->names_free = 0;
    v->hidden = 0;
    v->has_tick = false;
    v->tick = 0;
    v->phase = VIEW_NOTHING;
    v->last_bytes = 0;
    v->last_id = 0;
}

void view_forget(struct view *v)
{
    forget_entities(v);
    v->in_world = false;
    v->self = 0;
}

/* The first index whose id is at least `id`. */
static uint32_t lower_bound(const struct view *v, uint32_t id)
{
    uint32_t lo = 0, hi = v->count;

    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (v->known[mid].id < id)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

const struct view_entity *view_find(const struct view *v, uint32_t id)
{
    uint32_t i = lower_bound(v, id);

    return i < v->count && v->known[i].id == id ? &v->known[i] : NULL;
}

const struct view_entity *view_find_name(const struct view *v, struct span name)
{
    for (uint32_t i = 0; i < v->count; i++) {
        const struct view_name *n = view_name_of(v, &v->known[i]);
        if (span_equal(span_of(n->text, n->len), name))
            return &v->known[i];
    }
    return NULL;
}

const struct view_name *view_name_of(const struct view *v, const struct view_entity *e)
{
    ASSERT(e->name < v->names_made);
    return &v->names[e->name];
}

/* Make room for `want` of `size` bytes each; the array doubles. */
static bool reserve(void **array, uint32_t *cap, uint32_t want, size_t size)
{
    uint32_t n = *cap ? *cap : 8;
    void *grown;

    if (want <= *cap)
        return true;
    while (n < want)
        n *= 2;
    grown = realloc(*array, n * size);
    if (!grown)
        return false;
    *array = grown;
    *cap = n;
    return true;
}

static bool reserve_entities(struct view *v, struct view_entity **array, uint32_t *cap,
                             uint32_t want)
{
    void *p = *array;
    bool ok = reserve(&p, cap, want, sizeof(**array));

    *array = p;
    if (!ok)
        breach(v, "out of memory for %u entities", want);
    return ok;
}

static bool reserve_gone(struct view *v, uint32_t want)
{
    void *p = v->gone;
    bool ok = reserve(&p, &v->gone_cap, want, sizeof(*v->gone));

    v->gone = p;
    if (!ok)
        breach(v, "out of memory for %u removed ids", want);
    return ok;
}

/* Keep a name; there is room for it. */
static uint32_t take_name(struct view *v, struct span name)
{
    uint32_t at = v->names_free > 0 ? v->names_free - 1 : v->names_made++;

    if (v->names_free > 0)
        v->names_free = v->names[at].next_free;
    struct view_name *n = &v->names[at];
    n->len = (uint8_t)name.n;
    memcpy(n->text, name.p, name.n);
    n->text[name.n] = '\0';
    return at;
}

static void give_name(struct view *v, uint32_t at)
{
    v->names[at].next_free = v->names_free;
    v->names_free = at + 1;
}

/* Room for the names of `more` entities, whatever is free. */
static bool reserve_names(struct view *v, uint32_t more)
{
    void *p = v->names;
    bool ok = reserve(&p, &v->names_cap, v->names_made + more, sizeof(*v->names));

    v->names = p;
    if (!ok)
        breach(v, "out of memory for %u names", more);
    return ok;
}

/* Where `id` was last told to be, if it was removed in this tick. */
static const struct view_gone *find_gone(const struct view *v, uint32_t id)
{
    uint32_t lo = 0, hi = v->gone_count;

    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (v->gone[mid].id < id)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < v->gone_count && v->gone[lo].id == id ? &v->gone[lo] : NULL;
}

/* Is the step so long that a wrapped coordinate may not tell it? */
static bool is_far(int32_t ax, int32_t ay, int32_t bx, int32_t by)
{
    return llabs((int64_t)ax - bx) >= PROTO_WRAP_QUANTA ||
           llabs((int64_t)ay - by) >= PROTO_WRAP_QUANTA;
}

/* What holds for each Aoi message: the client is in the world, ticks go up, and in one tick the
 * kinds come in their order, each once unless it had to be split. */
static void open_batch(struct view *v, const char *what, enum view_phase phase, uint32_t tick,
                       size_t body_bytes)
{
    if (!v->in_world)
        breach(v, "%s outside the world", what);
    if (v->has_tick && tick < v->tick)
        breach(v, "%s of tick %u after tick %u", what, tick, v->tick);
    if (!v->has_tick || tick != v->tick) {
        v->gone_count = 0;
        v->phase = VIEW_NOTHING;
        v->last_id = 0;
    } else if (phase < v->phase) {
        breach(v, "%s of tick %u after a later kind of the same tick", what, tick);
        v->last_id = 0;
    } else if (phase == v->phase && v->last_bytes < VIEW_SPLIT_BYTES) {
        breach(v, "a second %s in tick %u, though the first had only %zu bytes", what, tick,
               v->last_bytes);
    }
    if (phase != v->phase)
        v->last_id = 0;
    v->has_tick = true;
    v->tick = tick;
    v->phase = phase;
    v->last_bytes = body_bytes;
}

/* Ids are positive, ascending within the kind and tick, and never one's own. False: skip it. */
static bool check_id(struct view *v, const char *what, uint32_t id)
{
    if (id == 0) {
        breach(v, "%s names id 0 in tick %u", what, v->tick);
        return false;
    }
    if (id <= v->last_id) {
        breach(v, "%s names #%u after #%u in tick %u", what, id, v->last_id, v->tick);
        return false;
    }
    v->last_id = id;
    if (id == v->self) {
        breach(v, "%s tells the client of itself (#%u) in tick %u", what, id, v->tick);
        return false;
    }
    return true;
}

static void apply_remove(struct view *v, const struct message *m, size_t body_bytes)
{
    uint32_t from = 0, to = 0;

    open_batch(v, "AoiRemove", VIEW_REMOVED, m->aoi_remove.tick, body_bytes);
    if (m->aoi_remove.count == 0)
        breach(v, "AoiRemove without ids in tick %u", v->tick);
    if (!reserve_gone(v, v->gone_count + m->aoi_remove.count))
        return;
    for (uint32_t i = 0; i < m->aoi_remove.count; i++) {
        uint32_t id = m->aoi_remove.ids[i];

        v->counted.removes++;
        if (!check_id(v, "AoiRemove", id))
            continue;
        while (from < v->count && v->known[from].id < id)
            v->known[to++] = v->known[from++];
        if (from == v->count || v->known[from].id != id) {
            breach(v, "AoiRemove of #%u, which was not known, in tick %u", id, v->tick);
            continue;
        }
        v->gone[v->gone_count++] = (struct view_gone){id, v->known[from].qx, v->known[from].qy};
        give_name(v, v->known[from].name);
        from++;
    }
    while (from < v->count)
        v->known[to++] = v->known[from++];
    v->count = to;
}

/* A checked coordinate in quanta. */
static int32_t quanta(const struct view *v, double place)
{
    return (int32_t)aoi_move_quantise(place, v->quantum);
}

/* Turn an AoiAdd's entity into ours. */
static void entity_from(struct view *v, const struct message_entity *m, struct view_entity *e)
{
    *e = (struct view_entity){
        .id = m->id,
        .told = v->tick,
        .x = m->x,
        .y = m->y,
        .qx = quanta(v, m->x),
        .qy = quanta(v, m->y),
        .name = take_name(v, m->name),
        .kind = (uint8_t)(m->kind > 255 ? 255 : m->kind),
        .dir = aoi_move_dir(m->dir),
        .speed = aoi_move_speed(m->speed, v->max_speed),
    };
}

/* May this entity be added? The places are checked before arithmetic touches them. */
static bool check_entity(struct view *v, const struct message_entity *m)
{
    const struct view_gone *g;

    if (!check_id(v, "AoiAdd", m->id))
        return false;
    if (m->name.n > PROTO_NAME_MAX || !message_name_ok(m->name)) {
        breach(v, "AoiAdd of #%u with a name of %zu bytes that cannot be one", m->id, m->name.n);
        return false;
    }
    const double most = fmin(VIEW_PLACE_MAX, VIEW_QUANTA_MAX * v->quantum);
    if (!(fabs(m->x) < most && fabs(m->y) < most)) {
        breach(v, "AoiAdd of #%u at a place that cannot be", m->id);
        return false;
    }
    if (!(m->dir >= 0 && m->dir <= VIEW_TURN && m->speed >= 0 && m->speed < VIEW_PLACE_MAX)) {
        breach(v, "AoiAdd of #%u with dir %g and speed %g", m->id, m->dir, m->speed);
        return false;
    }
    g = find_gone(v, m->id);
    if (g && !is_far(g->qx, g->qy, quanta(v, m->x), quanta(v, m->y)))
        breach(v, "#%u removed and added in tick %u without a far jump", m->id, v->tick);
    return true;
}

static void apply_add(struct view *v, const struct message *m, size_t body_bytes)
{
    uint32_t from = 0, to = 0, sum = v->count + m->aoi_add.count;
    struct view_entity *merged;
    uint32_t merged_cap;

    open_batch(v, "AoiAdd", VIEW_ADDED, m->aoi_add.tick, body_bytes);
    if (m->aoi_add.has_hidden)
        v->hidden = m->aoi_add.hidden;
    else if (m->aoi_add.count == 0)
        breach(v, "AoiAdd without entities in tick %u", v->tick);
    if (!v->in_world)
        return;
    if (sum > VIEW_ENTITIES_MAX) {
        breach(v, "more than %d entities in sight", VIEW_ENTITIES_MAX);
        return;
    }
    if (!reserve_entities(v, &v->scratch, &v->scratch_cap, sum) ||
        !reserve_names(v, m->aoi_add.count))
        return;
    merged = v->scratch;
    for (uint32_t i = 0; i < m->aoi_add.count; i++) {
        const struct message_entity *e = &m->aoi_add.entities[i];

        v->counted.adds++;
        if (!check_entity(v, e))
            continue;
        while (from < v->count && v->known[from].id < e->id)
            merged[to++] = v->known[from++];
        if (from < v->count && v->known[from].id == e->id) {
            breach(v, "AoiAdd of #%u, which is known already, in tick %u", e->id, v->tick);
            give_name(v, v->known[from].name);
            from++;
        }
        entity_from(v, e, &merged[to++]);
    }
    while (from < v->count)
        merged[to++] = v->known[from++];
    merged_cap = v->scratch_cap;
    v->scratch = v->known;
    v->scratch_cap = v->cap;
    v->known = merged;
    v->cap = merged_cap;
    v->count = to;
}

/* The number with these low 16 bits that is nearest to `last`: what aoi_move_place finds, but for
 * steps of half the range, which are too far in any case. */
static int32_t nearest(int32_t last, uint16_t wrapped)
{
    int16_t step = (int16_t)(uint16_t)(wrapped - (uint16_t)last);

    /* A server could lead it round the whole range, step by step; then it wraps. */
    return (int32_t)((uint32_t)last + (uint32_t)step);
}

/* Apply one record to the entity it names. */
static void apply_record(struct view *v, struct view_entity *e, const struct aoi_move_record *r)
{
    int32_t qx = nearest(e->qx, r->x), qy = nearest(e->qy, r->y);

    if (e->told == v->tick)
        breach(v, "#%u is told twice in tick %u", e->id, v->tick);
    if (is_far(e->qx, e->qy, qx, qy))
        breach(v, "AoiMove takes #%u too far for a wrapped place in tick %u", e->id, v->tick);
    if (qx == e->qx && qy == e->qy && !(r->has_dir && r->dir != e->dir) &&
        !(r->has_speed && r->speed != e->speed))
        breach(v, "AoiMove of #%u changes nothing in tick %u", e->id, v->tick);
    e->told = v->tick;
    e->x = qx * v->quantum;
    e->y = qy * v->quantum;
    e->qx = qx;
    e->qy = qy;
    if (r->has_dir)
        e->dir = r->dir;
    if (r->has_speed)
        e->speed = r->speed;
    if (v->moved)
        v->moved(v->moved_arg, e);
}

static void apply_move(struct view *v, const struct message *m, size_t body_bytes)
{
    struct span rest = m->aoi_move.moves;
    uint32_t previous = 0, i = 0;
    struct aoi_move_record r;
    int rc;

    open_batch(v, "AoiMove", VIEW_MOVED, m->aoi_move.tick, body_bytes);
    if (rest.n == 0)
        breach(v, "AoiMove without records in tick %u", v->tick);
    if (!v->in_world)
        return;
    while ((rc = aoi_move_take(&rest, &previous, &r)) == 0) {
        v->counted.moves++;
        if (!check_id(v, "AoiMove", r.id))
            continue;
        while (i < v->count && v->known[i].id < r.id)
            i++;
        if (i == v->count || v->known[i].id != r.id) {
            breach(v, "AoiMove of #%u, which is not known, in tick %u", r.id, v->tick);
            continue;
        }
        apply_record(v, &v->known[i], &r);
    }
    if (rc != E_SHORT)
        breach(v, "AoiMove with malformed records in tick %u", v->tick);
}

static void apply_enter(struct view *v, const struct message *m)
{
    if (v->in_world && m->seq != 0)
        breach(v, "EnterResp to a client that is in the world");
    forget_entities(v);
    v->in_world = true;
    v->self = m->enter_resp.id;
    v->quantum = m->enter_resp.quantum;
    v->max_speed = m->enter_resp.max_speed;
    v->radius = m->enter_resp.radius;
    if (v->self == 0)
        breach(v, "EnterResp with id 0");
    if (!(v->quantum > VIEW_QUANTUM_MIN && v->max_speed > 0 && v->radius > 0)) {
        breach(v, "EnterResp with quantum %g, max_speed %g, radius %g", v->quantum, v->max_speed,
               v->radius);
        v->in_world = false;
    }
}

const char *view_apply(struct view *v, const struct message *m, size_t body_bytes)
{
    v->breach[0] = '\0';
    switch (m->cmd) {
    case CMD_ENTER_RESP:
        apply_enter(v, m);
        break;
    case CMD_LEAVE_RESP:
        if (!v->in_world)
            breach(v, "LeaveResp to a client that is not in the world");
        view_forget(v);
        break;
    case CMD_AOI_REMOVE:
        apply_remove(v, m, body_bytes);
        break;
    case CMD_AOI_ADD:
        apply_add(v, m, body_bytes);
        break;
    case CMD_AOI_MOVE:
        apply_move(v, m, body_bytes);
        break;
    case CMD_SAY_NOTIFY:
        if (m->say_notify.id != 0 && !view_find(v, m->say_notify.id))
            breach(v, "SayNotify of #%u, which is not known", m->say_notify.id);
        break;
    case CMD_ERROR_NOTIFY:
        if (m->error_notify.code == PE_NOT_LOGGED_IN && m->seq == 0)
            view_forget(v);
        break;
    default:
        break;
    }
    return v->breach[0] != '\0' ? v->breach : NULL;
}
