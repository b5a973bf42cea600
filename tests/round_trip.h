/* tests/round_trip.h: what must hold for any bytes whatever, for tests and fuzz targets.
 * Each function takes bytes from anywhere and returns NULL, or the rule that was broken. What is
 * refused is fine; what is taken must come out of the writer so that it is taken again as the same.
 * May touch: common, proto.
 */
#pragma once

#include "common/err.h"
#include "proto/aoi_move.h"
#include "proto/frame.h"
#include "proto/link.h"
#include "proto/message.h"
#include "proto/walk.h"

#include <stdlib.h>

#define ROUND_TRIP_HOLDS(cond) \
    do {                       \
        if (!(cond))           \
            return #cond;      \
    } while (0)

static inline const char *round_trip_frame(struct span in, uint32_t max)
{
    struct span body = {0};
    size_t used = 0;
    int err = frame_split(in, max, &body, &used);
    ROUND_TRIP_HOLDS(err == 0 || err == E_SHORT || err == E_BAD);
    if (in.n >= FRAME_HEAD) {
        uint32_t n = span_be32(in.p);
        ROUND_TRIP_HOLDS((err == E_BAD) == (n == 0 || n > max));
    }
    if (err != 0)
        return NULL;
    uint8_t head[FRAME_HEAD];
    frame_head(head, (uint32_t)body.n);
    ROUND_TRIP_HOLDS(used == FRAME_HEAD + body.n);
    ROUND_TRIP_HOLDS(used <= in.n);
    ROUND_TRIP_HOLDS(body.p == in.p + FRAME_HEAD);
    ROUND_TRIP_HOLDS(memcmp(head, in.p, FRAME_HEAD) == 0);
    ROUND_TRIP_HOLDS(frame_split(span_of(in.p, used - 1), max, &body, &used) == E_SHORT);
    return NULL;
}

static inline const char *round_trip_walk(struct span in)
{
    size_t used = 0, again = 0;
    int err = walk_value(in, 0, &used);
    ROUND_TRIP_HOLDS(err == 0 || err == E_BAD);
    if (err == 0) {
        ROUND_TRIP_HOLDS(used >= 1);
        ROUND_TRIP_HOLDS(used <= in.n);
        ROUND_TRIP_HOLDS(walk_value(span_of(in.p, used), 0, &again) == 0);
        ROUND_TRIP_HOLDS(again == used);
        ROUND_TRIP_HOLDS(walk_value(span_of(in.p, used - 1), 0, &again) == E_BAD);
    }
    struct walk_head head;
    int body_err = walk_body(in, &head);
    ROUND_TRIP_HOLDS(body_err == 0 || body_err == E_BAD);
    if (body_err != 0)
        return NULL;
    ROUND_TRIP_HOLDS(err == 0);
    ROUND_TRIP_HOLDS(used == in.n);
    ROUND_TRIP_HOLDS(head.payload.p + head.payload.n == in.p + in.n);
    ROUND_TRIP_HOLDS(walk_value(head.payload, 1, &used) == 0);
    ROUND_TRIP_HOLDS(used == head.payload.n);
    return NULL;
}

/* An integer of one byte may come back as a float64 of nine. */
#define ROUND_TRIP_ROOM(n) ((n)*16 + 256)

static inline const char *round_trip_message(struct message_reader *r, struct span body)
{
    struct message m;
    struct walk_head head;
    int walked = walk_body(body, &head);
    int err = message_read(r, body, &m);
    ROUND_TRIP_HOLDS((walked == 0) == (err >= 0));
    if (err < 0)
        return NULL;
    ROUND_TRIP_HOLDS(m.cmd == head.cmd);
    ROUND_TRIP_HOLDS(m.seq == head.seq);
    ROUND_TRIP_HOLDS((err == PE_UNKNOWN_CMD) == (protocol_cmd_name(m.cmd) == NULL));
    ROUND_TRIP_HOLDS(err == 0 || err == PE_UNKNOWN_CMD || err == PE_BAD_PAYLOAD);
    if (err != 0)
        return NULL;

    size_t cap = ROUND_TRIP_ROOM(body.n);
    uint8_t *room = malloc(2 * cap);
    ASSERT(room != NULL);
    struct span_writer first = span_writer_of(room, cap);
    struct span_writer second = span_writer_of(room + cap, cap);
    message_write(&first, &m);
    err = message_read(r, span_written(&first), &m);
    if (err == 0)
        message_write(&second, &m);
    bool same = span_equal(span_written(&first), span_written(&second));
    free(room);
    ROUND_TRIP_HOLDS(!first.full);
    ROUND_TRIP_HOLDS(!second.full);
    ROUND_TRIP_HOLDS(err == 0);
    ROUND_TRIP_HOLDS(same);
    return NULL;
}

static inline const char *round_trip_aoi_move(struct span in)
{
    struct span rest = in;
    uint32_t previous = 0;
    struct aoi_move_record a, b;
    for (;;) {
        uint32_t before = previous;
        struct span from = rest;
        int err = aoi_move_take(&rest, &previous, &a);
        ROUND_TRIP_HOLDS(err == 0 || err == E_BAD || err == E_SHORT);
        ROUND_TRIP_HOLDS((err == E_SHORT) == (from.n == 0));
        if (err != 0) {
            ROUND_TRIP_HOLDS(rest.p == from.p && rest.n == from.n && previous == before);
            return NULL;
        }
        ROUND_TRIP_HOLDS(rest.n < from.n);
        ROUND_TRIP_HOLDS(from.n - rest.n <= AOI_MOVE_RECORD_MAX);
        ROUND_TRIP_HOLDS(a.id > before);
        ROUND_TRIP_HOLDS(previous == a.id);

        uint8_t out[AOI_MOVE_RECORD_MAX];
        struct aoi_move_tail t = aoi_move_tail(a.x, a.y, a.has_dir, a.dir, a.has_speed, a.speed);
        struct span again = span_of(out, aoi_move_put(out, a.id, before, &t));
        ROUND_TRIP_HOLDS(again.n <= from.n - rest.n);
        ROUND_TRIP_HOLDS(aoi_move_take(&again, &before, &b) == 0);
        ROUND_TRIP_HOLDS(again.n == 0);
        ROUND_TRIP_HOLDS(b.id == a.id && b.x == a.x && b.y == a.y);
        ROUND_TRIP_HOLDS(b.has_dir == a.has_dir && b.has_speed == a.has_speed);
        ROUND_TRIP_HOLDS(b.dir == a.dir && b.speed == a.speed);
    }
}

/* Write what was read. hello's version is always ours. */
static inline void round_trip_link_write(struct span_writer *w, const struct link_frame *f,
                                         uint64_t *sessions)
{
    struct span rest = f->sessions;
    uint32_t n = 0;
    switch (f->kind) {
    case LINK_HELLO:
        link_write_hello(w, f->id, f->key);
        return;
    case LINK_OPEN:
        link_write_open(w, f->session, f->text);
        return;
    case LINK_DATA:
        link_write_data(w, f->session, f->bodies, f->n_bodies);
        return;
    case LINK_DATA_MANY:
        while (n < f->n_sessions && link_session_take(&rest, &sessions[n]) == 0)
            n++;
        link_write_data_many(w, sessions, n, f->bodies[0]);
        return;
    case LINK_CLOSE:
        link_write_close(w, f->session, f->code, f->text);
        return;
    case LINK_CONGESTION:
        link_write_congestion(w, f->session, f->on);
        return;
    case LINK_DRAIN:
        link_write_drain(w, f->session, f->number);
        return;
    case LINK_PING:
        link_write_ping(w, f->number);
        return;
    case LINK_PONG:
        link_write_pong(w, f->number);
        return;
    case LINK_BIND:
        link_write_bind(w, f->session, f->text, f->note);
        return;
    case LINK_NOTE:
        link_write_note(w, f->session, f->note);
        return;
    case LINK_REDIRECT:
        link_write_redirect(w, f->session, f->world, f->entity, f->count);
        return;
    case LINK_LEFT:
        link_write_left(w, f->session);
        return;
    case LINK_ATTACH:
        link_write_attach(w, f->session, f->text, f->note, f->entity, f->count);
        return;
    case LINK_PROOF:
        link_write_proof(w, f->key);
        return;
    }
}

static inline bool round_trip_link_same(const struct link_frame *a, const struct link_frame *b)
{
    bool same = a->kind == b->kind && a->session == b->session && span_equal(a->id, b->id) &&
                span_equal(a->key, b->key) && span_equal(a->text, b->text) &&
                span_equal(a->note, b->note) && span_equal(a->world, b->world) &&
                a->entity == b->entity && a->count == b->count && a->code == b->code &&
                a->on == b->on && a->number == b->number && a->n_bodies == b->n_bodies &&
                a->n_sessions == b->n_sessions;
    for (uint32_t i = 0; same && i < a->n_bodies; i++)
        same = span_equal(a->bodies[i], b->bodies[i]);
    struct span x = a->sessions, y = b->sessions;
    for (uint32_t i = 0; same && i < a->n_sessions; i++) {
        uint64_t s = 0, t = 1;
        same = link_session_take(&x, &s) == 0 && link_session_take(&y, &t) == 0 && s == t;
    }
    return same && x.n == 0 && y.n == 0;
}

static inline const char *round_trip_link(struct span body)
{
    struct link_frame f, g;
    int err = link_read(body, &f);
    ROUND_TRIP_HOLDS(err == 0 || err == E_BAD);
    if (err != 0)
        return NULL;
    size_t used, cap = ROUND_TRIP_ROOM(body.n);
    ROUND_TRIP_HOLDS(walk_value(body, 0, &used) == 0);
    ROUND_TRIP_HOLDS(used == body.n);

    uint8_t *room = malloc(cap + LINK_MANY_MAX * sizeof(uint64_t));
    ASSERT(room != NULL);
    struct span_writer w = span_writer_of(room + LINK_MANY_MAX * sizeof(uint64_t), cap);
    round_trip_link_write(&w, &f, (uint64_t *)(void *)room);
    struct span again = {0};
    err = w.full ? E_FULL : frame_split(span_written(&w), LINK_FRAME_MAX, &again, &used);
    if (err == 0)
        err = link_read(again, &g);
    bool same = err == 0 && round_trip_link_same(&f, &g);
    free(room);
    ROUND_TRIP_HOLDS(err == 0);
    ROUND_TRIP_HOLDS(same);
    return NULL;
}
