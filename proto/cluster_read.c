/* proto/cluster_read.c: what worlds say to each other: reading; see cluster.h.
 * May touch: common, proto. On trouble: E_BAD.
 */
#include "proto/cluster.h"

#include "proto/take.h"
#include "proto/walk.h"

static int take_id(struct span *rest, uint32_t *id)
{
    int err = take_u32(rest, id);
    if (err != 0)
        return err;
    return *id != 0 ? 0 : E_BAD;
}

/* A text that is not empty. */
static int take_word(struct span *rest, uint64_t max, struct span *out)
{
    int err = take_text(rest, max, out);
    if (err != 0)
        return err;
    return out->n > 0 ? 0 : E_BAD;
}

static int take_kind(struct span *rest, uint8_t *kind)
{
    uint64_t v;
    int err = walk_uint(rest, UINT8_MAX, &v);
    if (err == 0)
        *kind = (uint8_t)v;
    return err;
}

static int take_reals(struct span *rest, double *const *out, uint32_t n)
{
    int err = 0;
    for (uint32_t i = 0; err == 0 && i < n; i++)
        err = take_real(rest, out[i]);
    return err;
}

static int take_place(struct span *rest, struct cluster_event *e)
{
    double *const reals[] = {&e->x, &e->y, &e->dir, &e->speed};
    return take_reals(rest, reals, ARRAY_LEN(reals));
}

static int read_event(struct span *rest, struct cluster_event *e)
{
    static const uint8_t elements[] = {9, 7, 3, 8, 3};
    uint64_t n, kind;
    int err = take_array(rest, &n);
    if (err == 0)
        err = walk_uint(rest, CLUSTER_SAY, &kind);
    if (err != 0 || n != elements[kind])
        return E_BAD;
    *e = (struct cluster_event){.kind = (enum cluster_event_kind)kind};
    err = take_id(rest, &e->id);
    if (err == 0 && e->kind == CLUSTER_SAY)
        return take_word(rest, PROTO_SAY_MAX, &e->text);
    if (err == 0)
        err = take_u32(rest, &e->count);
    if (err == 0 && e->kind == CLUSTER_FULL)
        err = take_kind(rest, &e->entity_kind);
    if (err == 0 && e->kind == CLUSTER_FULL)
        err = take_word(rest, PROTO_NAME_MAX, &e->name);
    if (err == 0 && e->kind == CLUSTER_HANDED)
        err = take_u32(rest, &e->zone);
    if (err == 0 && e->kind != CLUSTER_GONE)
        err = take_place(rest, e);
    return err;
}

int cluster_event_take(struct span *rest, struct cluster_event *out)
{
    if (rest->n == 0)
        return E_SHORT;
    return read_event(rest, out);
}

static int read_border(struct span *rest, struct cluster_message *m)
{
    struct cluster_event e;
    uint64_t n;
    int err = take_u32(rest, &m->zone);
    if (err == 0)
        err = walk_uint(rest, UINT64_MAX, &m->epoch);
    if (err == 0)
        err = walk_uint(rest, UINT64_MAX, &m->seq);
    if (err == 0)
        err = take_u32(rest, &m->tick);
    if (err == 0)
        err = take_u32(rest, &m->part);
    if (err == 0)
        err = take_bool(rest, &m->more);
    if (err == 0)
        err = take_array(rest, &n);
    if (err != 0)
        return err;
    if (n > rest->n)
        return E_BAD;
    m->n_events = (uint32_t)n;
    const uint8_t *from = rest->p;
    for (uint64_t i = 0; err == 0 && i < n; i++)
        err = read_event(rest, &e);
    m->events = span_of(from, (size_t)(rest->p - from));
    return err;
}

static int take_zone(struct span *rest, uint32_t *zone, uint64_t *epoch)
{
    int err = take_u32(rest, zone);
    return err == 0 ? walk_uint(rest, UINT64_MAX, epoch) : err;
}

/* Records ascend by id. */
static int check_told(struct span told)
{
    uint32_t last = 0;
    if (told.n % CLUSTER_TOLD != 0)
        return E_BAD;
    for (size_t i = 0; i < told.n; i += CLUSTER_TOLD) {
        struct cluster_told t = cluster_told_get(told.p + i);
        if (t.id <= last)
            return E_BAD;
        last = t.id;
    }
    return 0;
}

static int read_soul(struct span *rest, struct cluster_soul *s)
{
    double *const reals[] = {&s->x,      &s->y,      &s->dir,    &s->speed,
                             &s->credit, &s->walk_x, &s->walk_y, &s->walk_speed};
    uint64_t bits;
    int err = take_zone(rest, &s->zone_from, &s->epoch_from);
    if (err == 0)
        err = take_zone(rest, &s->zone, &s->epoch);
    if (err == 0)
        err = take_u32(rest, &s->tick);
    if (err == 0)
        err = walk_uint(rest, CLUSTER_SOUL_BITS, &bits);
    if (err != 0)
        return err;
    s->bits = (uint32_t)bits;
    err = take_kind(rest, &s->kind);
    if (err == 0)
        err = take_word(rest, PROTO_NAME_MAX, &s->name);
    if (err == 0)
        err = take_reals(rest, reals, ARRAY_LEN(reals));
    if (err == 0)
        err = take_bin(rest, CLUSTER_KEY, &s->key);
    if (err == 0 && s->key.n != (s->bits & CLUSTER_HAS_KEY ? CLUSTER_KEY : 0))
        err = E_BAD;
    if (err == 0)
        err = take_bin(rest, (uint64_t)CLUSTER_TOLD * CLUSTER_TOLD_MAX, &s->told);
    if (err == 0)
        err = walk_uint(rest, UINT64_MAX, &s->token);
    return err == 0 ? check_told(s->told) : err;
}

/* What stands behind world, entity and count. */
static int read_tail(struct span *rest, struct cluster_message *m)
{
    int err;
    switch (m->kind) {
    case CLUSTER_PREPARE:
    case CLUSTER_SWITCH:
        return read_soul(rest, &m->soul);
    case CLUSTER_REFUSE:
        err = take_u32(rest, &m->reason);
        return err == 0 ? take_bool(rest, &m->final) : err;
    case CLUSTER_LATE_TAKEN:
        return take_u32(rest, &m->number);
    case CLUSTER_LATE:
        err = take_id(rest, &m->number);
        if (err == 0)
            err = take_bin(rest, PROTO_BATCH_MAX, &m->body);
        return err == 0 && m->body.n == 0 ? E_BAD : err;
    case CLUSTER_LATE_END:
        err = take_u32(rest, &m->number);
        return err == 0 ? take_bool(rest, &m->cut) : err;
    default:
        return 0;
    }
}

/* What is said of a name. */
static int read_name(struct span *rest, struct cluster_message *m)
{
    uint64_t v;
    int err = take_word(rest, LINK_WORLD_MAX, &m->world);
    if (err == 0)
        err = take_word(rest, PROTO_NAME_MAX, &m->name);
    if (err == 0)
        err = take_u32(rest, &m->number);
    if (err == 0)
        err = walk_uint(rest, m->kind == CLUSTER_SEEK ? CLUSTER_RESUME : CLUSTER_GOES_ON, &v);
    if (err != 0)
        return err;
    if (m->kind == CLUSTER_SEEK) {
        m->want = (enum cluster_want)v;
        err = take_bin(rest, CLUSTER_KEY, &m->key);
        return err == 0 && m->key.n != (m->want == CLUSTER_RESUME ? CLUSTER_KEY : 0) ? E_BAD : err;
    }
    m->verdict = (enum cluster_verdict)v;
    err = take_u32(rest, &m->id);
    if (err == 0)
        err = take_bool(rest, &m->inside);
    return err == 0 && (m->id != 0) != (m->verdict == CLUSTER_GOES_ON) ? E_BAD : err;
}

static int read_announce(struct span *rest, struct cluster_message *m)
{
    double *const place[] = {&m->place[0], &m->place[1], &m->place[2], &m->place[3]};
    uint64_t reach;
    int err = take_word(rest, LINK_WORLD_MAX, &m->world);
    if (err == 0)
        err = walk_uint(rest, CLUSTER_REACHES - 1, &reach);
    if (err != 0)
        return err;
    m->reach = (uint32_t)reach;
    err = take_u32(rest, &m->scene);
    if (err == 0)
        err = take_reals(rest, place, ARRAY_LEN(place));
    if (err == 0 && (m->place[0] > m->place[2] || m->place[1] > m->place[3]))
        err = E_BAD;
    return err == 0 ? take_word(rest, PROTO_SAY_MAX, &m->text) : err;
}

static int read_rest(struct span *rest, struct cluster_message *m)
{
    int err;
    switch (m->kind) {
    case CLUSTER_BORDER:
        return read_border(rest, m);
    case CLUSTER_BYE:
        return take_zone(rest, &m->zone, &m->epoch);
    case CLUSTER_ENDED:
        return take_id(rest, &m->id);
    case CLUSTER_ASK:
        err = take_word(rest, LINK_WORLD_MAX, &m->world);
        return err == 0 ? take_u32(rest, &m->zone) : err;
    case CLUSTER_SEEK:
    case CLUSTER_FOUND:
        return read_name(rest, m);
    case CLUSTER_ANNOUNCE:
        return read_announce(rest, m);
    case CLUSTER_WATCH:
    case CLUSTER_SHOWN:
        err = take_word(rest, LINK_WORLD_MAX, &m->world);
        if (err == 0)
            err = take_u32(rest, &m->scene);
        if (err == 0 && m->kind == CLUSTER_SHOWN)
            err = take_bin(rest, CLUSTER_SHOWN_MAX, &m->body);
        return err;
    default:
        err = take_word(rest, LINK_WORLD_MAX, &m->world);
        if (err == 0)
            err = take_id(rest, &m->id);
        if (err == 0)
            err = take_u32(rest, &m->count);
        return err == 0 ? read_tail(rest, m) : err;
    }
}

int cluster_read(struct span message, struct cluster_message *out)
{
    static const uint8_t elements[] = {8, 3, 3, 23, 4, 6, 23, 4, 6, 6, 5, 2, 6, 7, 9, 3, 4};
    struct span rest = message;
    uint64_t n, kind;
    int err = message.n <= CLUSTER_MESSAGE_MAX ? take_array(&rest, &n) : E_BAD;
    if (err == 0)
        err = walk_uint(&rest, CLUSTER_KINDS - 1, &kind);
    if (err != 0 || n != elements[kind])
        return E_BAD;
    *out = (struct cluster_message){.kind = (enum cluster_kind)kind};
    err = read_rest(&rest, out);
    if (err != 0)
        return err;
    return rest.n == 0 ? 0 : E_BAD;
}

struct cluster_told cluster_told_get(const uint8_t in[CLUSTER_TOLD])
{
    uint32_t v[3];
    for (int i = 0; i < 3; i++)
        v[i] = (uint32_t)in[4 * i] | (uint32_t)in[4 * i + 1] << 8 | (uint32_t)in[4 * i + 2] << 16 |
               (uint32_t)in[4 * i + 3] << 24;
    return (struct cluster_told){v[0], (int32_t)v[1], (int32_t)v[2], in[12], in[13]};
}
