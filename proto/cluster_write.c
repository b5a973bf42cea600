/* proto/cluster_write.c: what worlds say to each other: writing; see cluster.h.
 * May touch: common, proto, msgpack-c. On trouble: the writer is `full`.
 */
#include "proto/cluster.h"

#include <msgpack.h>

#define ARRAY32 0xdd

static int put(void *w, const char *bytes, size_t n)
{
    span_put(w, bytes, n);
    return 0;
}

static void put_text(msgpack_packer *pk, struct span text)
{
    msgpack_pack_str(pk, text.n);
    msgpack_pack_str_body(pk, text.p, text.n);
}

static void put_bin(msgpack_packer *pk, struct span bytes)
{
    msgpack_pack_bin(pk, bytes.n);
    if (bytes.n > 0)
        msgpack_pack_bin_body(pk, bytes.p, bytes.n);
}

static void put_bool(msgpack_packer *pk, bool on)
{
    if (on)
        msgpack_pack_true(pk);
    else
        msgpack_pack_false(pk);
}

static void put_reals(msgpack_packer *pk, const double *reals, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        msgpack_pack_double(pk, reals[i]);
}

/* --- border frames ------------------------------------------------------------------------- */

struct cluster_border cluster_border_begin(struct span_writer *w, const struct cluster_message *m)
{
    static const uint8_t head[] = {ARRAY32, 0, 0, 0, 0};
    struct cluster_border b = {.w = w};
    msgpack_packer pk;

    msgpack_packer_init(&pk, w, put);
    msgpack_pack_array(&pk, 8);
    msgpack_pack_uint8(&pk, CLUSTER_BORDER);
    msgpack_pack_uint32(&pk, m->zone);
    msgpack_pack_uint64(&pk, m->epoch);
    msgpack_pack_uint64(&pk, m->seq);
    msgpack_pack_uint32(&pk, m->tick);
    msgpack_pack_uint32(&pk, m->part);
    b.more_at = w->len;
    put_bool(&pk, false);
    b.count_at = w->len + 1;
    span_put(w, head, sizeof(head));
    return b;
}

void cluster_border_put(struct cluster_border *b, const struct cluster_event *e)
{
    static const uint8_t elements[] = {9, 7, 3, 8, 3};
    const double place[] = {e->x, e->y, e->dir, e->speed};
    msgpack_packer pk;

    msgpack_packer_init(&pk, b->w, put);
    msgpack_pack_array(&pk, elements[e->kind]);
    msgpack_pack_uint8(&pk, (uint8_t)e->kind);
    msgpack_pack_uint32(&pk, e->id);
    b->n++;
    if (e->kind == CLUSTER_SAY) {
        put_text(&pk, e->text);
        return;
    }
    msgpack_pack_uint32(&pk, e->count);
    if (e->kind == CLUSTER_FULL) {
        msgpack_pack_uint8(&pk, e->entity_kind);
        put_text(&pk, e->name);
    }
    if (e->kind == CLUSTER_HANDED)
        msgpack_pack_uint32(&pk, e->zone);
    if (e->kind != CLUSTER_GONE)
        put_reals(&pk, place, ARRAY_LEN(place));
}

void cluster_border_end(struct cluster_border *b, bool more)
{
    if (b->w->full)
        return;
    b->w->p[b->more_at] = more ? 0xc3 : 0xc2;
    for (int i = 0; i < 4; i++)
        b->w->p[b->count_at + (size_t)i] = (uint8_t)(b->n >> (24 - 8 * i));
}

/* --- the others ------------------------------------------------------------------------------ */

static void put_soul(msgpack_packer *pk, const struct cluster_soul *s)
{
    const double reals[] = {s->x,      s->y,      s->dir,    s->speed,
                            s->credit, s->walk_x, s->walk_y, s->walk_speed};

    msgpack_pack_uint32(pk, s->zone_from);
    msgpack_pack_uint64(pk, s->epoch_from);
    msgpack_pack_uint32(pk, s->zone);
    msgpack_pack_uint64(pk, s->epoch);
    msgpack_pack_uint32(pk, s->tick);
    msgpack_pack_uint32(pk, s->bits);
    msgpack_pack_uint8(pk, s->kind);
    put_text(pk, s->name);
    put_reals(pk, reals, ARRAY_LEN(reals));
    put_bin(pk, s->key);
    put_bin(pk, s->told);
    msgpack_pack_uint64(pk, s->token);
}

static void put_head(msgpack_packer *pk, const struct cluster_message *m, size_t elements)
{
    msgpack_pack_array(pk, elements);
    msgpack_pack_uint8(pk, (uint8_t)m->kind);
}

static void put_about(msgpack_packer *pk, const struct cluster_message *m, size_t elements)
{
    put_head(pk, m, elements);
    put_text(pk, m->world);
    msgpack_pack_uint32(pk, m->id);
    msgpack_pack_uint32(pk, m->count);
}

static void put_late(msgpack_packer *pk, const struct cluster_message *m)
{
    put_about(pk, m, m->kind == CLUSTER_LATE_TAKEN ? 5 : 6);
    msgpack_pack_uint32(pk, m->number);
    if (m->kind == CLUSTER_LATE)
        put_bin(pk, m->body);
    if (m->kind == CLUSTER_LATE_END)
        put_bool(pk, m->cut);
}

static void put_name(msgpack_packer *pk, const struct cluster_message *m, size_t elements)
{
    put_head(pk, m, elements);
    put_text(pk, m->world);
    put_text(pk, m->name);
    msgpack_pack_uint32(pk, m->number);
}

static void put_announce(msgpack_packer *pk, const struct cluster_message *m)
{
    put_head(pk, m, 9);
    put_text(pk, m->world);
    msgpack_pack_uint8(pk, (uint8_t)m->reach);
    msgpack_pack_uint32(pk, m->scene);
    put_reals(pk, m->place, ARRAY_LEN(m->place));
    put_text(pk, m->text);
}

static void put_scene(msgpack_packer *pk, const struct cluster_message *m, size_t elements)
{
    put_head(pk, m, elements);
    put_text(pk, m->world);
    msgpack_pack_uint32(pk, m->scene);
}

void cluster_write(struct span_writer *w, const struct cluster_message *m)
{
    msgpack_packer pk;

    msgpack_packer_init(&pk, w, put);
    switch (m->kind) {
    case CLUSTER_BORDER:
        ASSERT(m->kind != CLUSTER_BORDER); /* it is laid event by event */
        return;
    case CLUSTER_ASK:
        put_head(&pk, m, 3);
        put_text(&pk, m->world);
        msgpack_pack_uint32(&pk, m->zone);
        return;
    case CLUSTER_BYE:
        put_head(&pk, m, 3);
        msgpack_pack_uint32(&pk, m->zone);
        msgpack_pack_uint64(&pk, m->epoch);
        return;
    case CLUSTER_ENDED:
        put_head(&pk, m, 2);
        msgpack_pack_uint32(&pk, m->id);
        return;
    case CLUSTER_PREPARE:
    case CLUSTER_SWITCH:
        put_about(&pk, m, 23);
        put_soul(&pk, &m->soul);
        return;
    case CLUSTER_ACCEPT:
    case CLUSTER_CONFIRM:
        put_about(&pk, m, 4);
        return;
    case CLUSTER_REFUSE:
        put_about(&pk, m, 6);
        msgpack_pack_uint32(&pk, m->reason);
        put_bool(&pk, m->final);
        return;
    case CLUSTER_LATE_TAKEN:
    case CLUSTER_LATE:
    case CLUSTER_LATE_END:
        put_late(&pk, m);
        return;
    case CLUSTER_SEEK:
        put_name(&pk, m, 6);
        msgpack_pack_uint8(&pk, (uint8_t)m->want);
        put_bin(&pk, m->key);
        return;
    case CLUSTER_FOUND:
        put_name(&pk, m, 7);
        msgpack_pack_uint8(&pk, (uint8_t)m->verdict);
        msgpack_pack_uint32(&pk, m->id);
        put_bool(&pk, m->inside);
        return;
    case CLUSTER_ANNOUNCE:
        put_announce(&pk, m);
        return;
    case CLUSTER_WATCH:
        put_scene(&pk, m, 3);
        return;
    case CLUSTER_SHOWN:
        put_scene(&pk, m, 4);
        put_bin(&pk, m->body);
        return;
    case CLUSTER_KINDS:
        return;
    }
}

void cluster_told_put(uint8_t out[CLUSTER_TOLD], const struct cluster_told *t)
{
    const uint32_t v[] = {t->id, (uint32_t)t->qx, (uint32_t)t->qy};

    for (int i = 0; i < 12; i++)
        out[i] = (uint8_t)(v[i / 4] >> (8 * (i % 4)));
    out[12] = t->dir;
    out[13] = t->speed;
}
