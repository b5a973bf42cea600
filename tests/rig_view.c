/* tests/rig_view.c: what a client knows from what it was sent, held to the contract on the way.
 * May touch: common, proto. On trouble: the first breach is kept in words.
 */
#include "tests/rig_view.h"

#include "common/err.h"
#include "proto/aoi_move.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static bool breach(struct rig_view *v, const char *fmt, ...) PRINTF_LIKE(2, 3);

static bool breach(struct rig_view *v, const char *fmt, ...)
{
    if (v->breach[0] == '\0') {
        int n = snprintf(v->breach, sizeof v->breach, "client #%u, tick %u: ", v->self, v->tick);
        va_list args;
        va_start(args, fmt);
        vsnprintf(v->breach + n, sizeof v->breach - (size_t)n, fmt, args);
        va_end(args);
    }
    return false;
}

void rig_view_fini(struct rig_view *v)
{
    free(v->known);
    free(v->went);
    memset(v, 0, sizeof *v);
}

/* Index of the first one whose id is at least `id`. */
static uint32_t place_of(const struct rig_known *list, uint32_t n, uint32_t id)
{
    uint32_t lo = 0, hi = n;
    while (lo < hi) {
        uint32_t mid = (lo + hi) / 2;
        if (list[mid].id < id)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static struct rig_known *find(const struct rig_view *v, uint32_t id)
{
    uint32_t at = place_of(v->known, v->count, id);
    return at < v->count && v->known[at].id == id ? &v->known[at] : NULL;
}

const struct rig_known *rig_view_find(const struct rig_view *v, uint32_t id)
{
    return find(v, id);
}

const char *rig_view_ids(const struct rig_view *v, char *out, size_t cap)
{
    size_t len = 0;
    out[0] = '\0';
    for (uint32_t i = 0; i < v->count && len < cap; i++)
        len += (size_t)snprintf(out + len, cap - len, "%s%u", i ? " " : "", v->known[i].id);
    return out;
}

static void insert(struct rig_known **list, uint32_t *n, uint32_t *cap, const struct rig_known *k)
{
    if (*n == *cap) {
        *cap = *cap ? 2 * *cap : 16;
        *list = realloc(*list, *cap * sizeof **list);
        ASSERT(*list != NULL);
    }
    uint32_t at = place_of(*list, *n, k->id);
    memmove(*list + at + 1, *list + at, (*n - at) * sizeof **list);
    (*list)[at] = *k;
    (*n)++;
}

/* Take out all whose tick is 0; one by one would be slow in large crowds. */
static void drop_marked(struct rig_view *v)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < v->count; i++)
        if (v->known[i].tick != 0)
            v->known[n++] = v->known[i];
    v->count = n;
}

static int64_t quanta(double v, double quantum)
{
    return (int64_t)floor(v / quantum + 0.5);
}

/* A frame of the batch of `tick`: the order of ticks, of kinds, and one frame a kind. */
static bool batch_frame(struct rig_view *v, enum rig_phase phase, uint32_t tick, size_t bytes,
                        uint32_t now)
{
    if (!v->inside)
        return breach(v, "an Aoi frame outside of the world");
    if (tick != now)
        return breach(v, "a frame of tick %u in tick %u", tick, now);
    if (tick < v->tick)
        return breach(v, "tick went back to %u", tick);
    if (tick != v->tick) {
        v->tick = tick;
        v->phase = RIG_PHASE_NONE;
        v->went_count = 0;
        v->batches++;
        v->lax -= v->lax > 0;
    }
    if (phase < v->phase)
        return breach(v, "frames out of order (%d after %d)", (int)phase, (int)v->phase);
    if (phase == v->phase && v->last_bytes < PROTO_BATCH_MAX / 2)
        return breach(v, "two frames of a kind in a tick, the first of %zu bytes", v->last_bytes);
    if (phase != v->phase)
        v->last_id = 0;
    v->phase = phase;
    v->last_bytes = bytes;
    return true;
}

/* The next id in a frame. */
static bool next_id(struct rig_view *v, uint32_t id)
{
    if (id <= v->last_id)
        return breach(v, "id %u after %u", id, v->last_id);
    if (id == v->self)
        return breach(v, "told of itself");
    v->last_id = id;
    return true;
}

static bool take_remove(struct rig_view *v, const struct message *m, size_t bytes, uint32_t now)
{
    if (!batch_frame(v, RIG_PHASE_REMOVE, m->aoi_remove.tick, bytes, now))
        return false;
    if (m->aoi_remove.count == 0)
        return breach(v, "an AoiRemove of nobody");
    for (uint32_t i = 0; i < m->aoi_remove.count; i++) {
        uint32_t id = m->aoi_remove.ids[i];
        if (!next_id(v, id))
            return false;
        struct rig_known *k = find(v, id);
        if (!k)
            return breach(v, "remove of %u, who is not known", id);
        insert(&v->went, &v->went_count, &v->went_cap, k);
        k->tick = 0;
        v->removes++;
    }
    drop_marked(v);
    return true;
}

/* Removed and added in one tick: only for a jump that a record could not say, or for another who
 * was given the id while this client was paused. */
static bool jump_ok(struct rig_view *v, const struct rig_known *k)
{
    uint32_t at = place_of(v->went, v->went_count, k->id);
    if (at == v->went_count || v->went[at].id != k->id || v->lax > 0)
        return true;
    const struct rig_known *old = &v->went[at];
    if (k->name_len != old->name_len || memcmp(k->name, old->name, k->name_len) != 0)
        return true;
    int64_t dx = k->qx - old->qx, dy = k->qy - old->qy;
    if (dx >= PROTO_WRAP_QUANTA || dx <= -PROTO_WRAP_QUANTA || dy >= PROTO_WRAP_QUANTA ||
        dy <= -PROTO_WRAP_QUANTA)
        return true;
    return breach(v, "%u removed and added for a jump of %lld, %lld quanta", k->id, (long long)dx,
                  (long long)dy);
}

static bool take_entity(struct rig_view *v, const struct message_entity *e)
{
    if (!next_id(v, e->id))
        return false;
    if (find(v, e->id))
        return breach(v, "add of %u, who is known", e->id);
    if (!isfinite(e->x) || !isfinite(e->y) || !isfinite(e->dir) || !isfinite(e->speed))
        return breach(v, "add of %u at no place", e->id);
    if (e->kind > 1)
        return breach(v, "add of %u of kind %u", e->id, e->kind);
    if (e->name.n == 0 || e->name.n > PROTO_NAME_MAX)
        return breach(v, "add of %u with a name of %zu bytes", e->id, e->name.n);
    struct rig_known k = {
        .id = e->id,
        .kind = e->kind,
        .name_len = (uint8_t)e->name.n,
        .x = e->x,
        .y = e->y,
        .dir = e->dir,
        .speed = e->speed,
        .qx = quanta(e->x, v->quantum),
        .qy = quanta(e->y, v->quantum),
        .wire_dir = (uint8_t)((unsigned)floor(e->dir / 6.283185307179586 * 256 + 0.5) & 255),
        .wire_speed = (uint8_t)fmin(255, floor(e->speed / v->max_speed * 255 + 0.5)),
        .tick = v->tick,
        .by_add = true,
    };
    memcpy(k.name, e->name.p, e->name.n);
    if (!jump_ok(v, &k))
        return false;
    insert(&v->known, &v->count, &v->cap, &k);
    v->adds++;
    return true;
}

static bool take_add(struct rig_view *v, const struct message *m, size_t bytes, uint32_t now)
{
    if (!batch_frame(v, RIG_PHASE_ADD, m->aoi_add.tick, bytes, now))
        return false;
    if (m->aoi_add.count == 0 && !m->aoi_add.has_hidden)
        return breach(v, "an AoiAdd of nobody");
    if (m->aoi_add.has_hidden && !v->capped)
        return breach(v, "hidden, without a cap");
    if (m->aoi_add.has_hidden && m->aoi_add.hidden == v->hidden)
        return breach(v, "hidden told twice: %u", v->hidden);
    if (m->aoi_add.has_hidden)
        v->hidden = m->aoi_add.hidden;
    for (uint32_t i = 0; i < m->aoi_add.count; i++)
        if (!take_entity(v, &m->aoi_add.entities[i]))
            return false;
    return true;
}

static bool take_record(struct rig_view *v, const struct aoi_move_record *rec)
{
    if (!next_id(v, rec->id))
        return false;
    struct rig_known *k = find(v, rec->id);
    if (!k)
        return breach(v, "move of %u, who is not known", rec->id);
    if (k->tick == v->tick)
        return breach(v, "move of %u, who was added in this tick", rec->id);
    struct rig_known old = *k;
    k->x = aoi_move_place(k->x, rec->x, v->quantum);
    k->y = aoi_move_place(k->y, rec->y, v->quantum);
    k->qx = quanta(k->x, v->quantum);
    k->qy = quanta(k->y, v->quantum);
    if (rec->has_dir) {
        k->wire_dir = rec->dir;
        k->dir = aoi_move_dir_value(rec->dir);
    }
    if (rec->has_speed) {
        k->wire_speed = rec->speed;
        k->speed = aoi_move_speed_value(rec->speed, v->max_speed);
    }
    k->tick = v->tick;
    k->by_add = false;
    if (k->qx == old.qx && k->qy == old.qy && k->wire_dir == old.wire_dir &&
        k->wire_speed == old.wire_speed)
        return breach(v, "move of %u that says what was last told", rec->id);
    v->moves++;
    return true;
}

static bool take_move(struct rig_view *v, const struct message *m, size_t bytes, uint32_t now)
{
    if (!batch_frame(v, RIG_PHASE_MOVE, m->aoi_move.tick, bytes, now))
        return false;
    if (m->aoi_move.moves.n == 0)
        return breach(v, "an AoiMove of nobody");
    struct span rest = m->aoi_move.moves;
    v->move_bytes += rest.n;
    uint32_t previous = 0;
    struct aoi_move_record rec;
    int err;
    while ((err = aoi_move_take(&rest, &previous, &rec)) == 0)
        if (!take_record(v, &rec))
            return false;
    return err == E_SHORT ? true : breach(v, "a packed record is malformed");
}

static void enter(struct rig_view *v, const struct message *m)
{
    v->inside = true;
    v->self = m->enter_resp.id;
    v->quantum = m->enter_resp.quantum;
    v->max_speed = m->enter_resp.max_speed;
    v->count = 0;
    v->went_count = 0;
    v->tick = 0;
    v->hidden = 0;
    v->phase = RIG_PHASE_NONE;
}

bool rig_view_take(struct rig_view *v, const struct message *m, size_t bytes, uint32_t now)
{
    if (v->breach[0] != '\0')
        return false;
    if (bytes > PROTO_BATCH_MAX)
        return breach(v, "a body of %zu bytes", bytes);
    switch (m->cmd) {
    case CMD_ENTER_RESP:
        enter(v, m);
        return true;
    case CMD_LEAVE_RESP:
        v->inside = false;
        v->count = 0;
        return true;
    case CMD_AOI_REMOVE:
        return m->seq == 0 ? take_remove(v, m, bytes, now) : breach(v, "AoiRemove with a seq");
    case CMD_AOI_ADD:
        return m->seq == 0 ? take_add(v, m, bytes, now) : breach(v, "AoiAdd with a seq");
    case CMD_AOI_MOVE:
        return m->seq == 0 ? take_move(v, m, bytes, now) : breach(v, "AoiMove with a seq");
    case CMD_SAY_NOTIFY:
        if (m->seq != 0)
            return breach(v, "SayNotify with a seq");
        if (m->say_notify.id != 0 && (!v->inside || !find(v, m->say_notify.id)))
            return breach(v, "hears %u, who is not known", m->say_notify.id);
        v->hears++;
        return true;
    default:
        return true;
    }
}
