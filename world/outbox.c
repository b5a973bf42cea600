/* world/outbox.c: see the header. */
#include "world/outbox.h"

#include "common/err.h"
#include "proto/link.h"

#include <stdlib.h>

_Static_assert(OUTBOX_HANDFUL + LINK_FRAME_MAX + LINK_DATA_HEAD + LINK_BODY_HEAD +
                       OUTBOX_OVERHANG <=
                   OUTBOX_BYTES,
               "a frame fits behind what waits");

int outbox_init(struct outbox *o, outbox_drain_fn *drain, void *arg)
{
    uint8_t *buffer = malloc(OUTBOX_BYTES);

    *o = (struct outbox){.w = span_writer_of(buffer, OUTBOX_BYTES), .drain = drain, .arg = arg};
    o->runs = malloc(OUTBOX_RUNS * sizeof(*o->runs));
    if (!buffer || !o->runs) {
        outbox_fini(o);
        return E_NOMEM;
    }
    return 0;
}

void outbox_fini(struct outbox *o)
{
    free(o->w.p);
    free(o->runs);
    *o = (struct outbox){0};
}

void outbox_release(struct outbox *o)
{
    for (uint32_t i = 0; i < o->n_runs; i++) {
        const struct outbox_run *r = &o->runs[i];

        o->drain(o->arg, r->link, span_of(o->w.p + r->start, r->end - r->start));
    }
    o->bytes += o->w.len;
    o->n_runs = 0;
    o->w.len = 0;
}

void outbox_flush(struct outbox *o)
{
    if (!o->held)
        outbox_release(o);
}

/* Make room for a frame of at most `bytes`; returns where it will start. */
static size_t begin(struct outbox *o, size_t bytes)
{
    ASSERT(bytes <= OUTBOX_BYTES);
    if (o->w.cap - o->w.len < bytes || o->n_runs == OUTBOX_RUNS)
        outbox_release(o);
    return o->w.len;
}

/* The frame that began at `start` is whole; it joins the run before it where that is the same
 * link's. */
static void end(struct outbox *o, struct link_ref link, size_t start)
{
    struct outbox_run *last = o->n_runs > 0 ? &o->runs[o->n_runs - 1] : NULL;

    ASSERT(!o->w.full);
    o->frames++;
    if (last && link_ref_equal(last->link, link))
        last->end = o->w.len;
    else
        o->runs[o->n_runs++] = (struct outbox_run){link, start, o->w.len};
    if (o->w.len >= OUTBOX_HANDFUL)
        outbox_release(o);
}

void outbox_data(struct outbox *o, struct link_ref link, uint64_t session,
                 const struct span *bodies, uint32_t n)
{
    size_t bytes = LINK_DATA_OVERHEAD, start;

    for (uint32_t i = 0; i < n; i++)
        bytes += bodies[i].n;
    start = begin(o, bytes);
    link_write_data(&o->w, session, bodies, n);
    end(o, link, start);
}

void outbox_data_many(struct outbox *o, struct link_ref link, const uint64_t *sessions, uint32_t n,
                      struct span body)
{
    size_t start = begin(o, LINK_DATA_OVERHEAD + 9 * (size_t)n + body.n);

    link_write_data_many(&o->w, sessions, n, body);
    end(o, link, start);
}

void outbox_close(struct outbox *o, struct link_ref link, uint64_t session, uint32_t code,
                  const char *reason)
{
    size_t start = begin(o, LINK_DATA_OVERHEAD + LINK_TEXT_MAX);

    link_write_close(&o->w, session, code, span_text(reason));
    end(o, link, start);
}

void outbox_note(struct outbox *o, struct link_ref link, uint64_t session, struct span note)
{
    size_t start = begin(o, LINK_DATA_OVERHEAD + LINK_NOTE_MAX);

    link_write_note(&o->w, session, note);
    end(o, link, start);
}

void outbox_redirect(struct outbox *o, struct link_ref link, uint64_t session, struct span world,
                     uint32_t entity, uint32_t count)
{
    size_t start = begin(o, LINK_DATA_OVERHEAD + LINK_WORLD_MAX);

    link_write_redirect(&o->w, session, world, entity, count);
    end(o, link, start);
}

void outbox_begin(struct outbox *o, struct link_ref link, uint64_t session)
{
    ASSERT(!o->open);
    ASSERT(o->w.len < OUTBOX_HANDFUL); /* so that a frame is never cut for want of room */
    o->open = true;
    o->open_link = link;
    o->open_session = session;
    o->open_bodies = 0;
}

/* Close the link frame that is open, if it has a body. */
static void placed_end(struct outbox *o)
{
    if (o->open_bodies == 0)
        return;
    link_data_head(o->w.p + o->open_start, o->open_session, o->open_bodies,
                   o->w.len - o->open_start);
    end(o, o->open_link, o->open_start);
    o->open_bodies = 0;
}

uint8_t *outbox_room(struct outbox *o, size_t most)
{
    size_t bytes = most + LINK_BODY_HEAD + OUTBOX_OVERHANG;

    ASSERT(o->open);
    ASSERT(most <= PROTO_BATCH_MAX + OUTBOX_OVERHANG);
    if (o->open_bodies == LINK_PLACED_MAX || o->w.cap - o->w.len < bytes + LINK_DATA_HEAD ||
        (o->open_bodies > 0 && o->w.len - o->open_start + bytes > LINK_FRAME_MAX))
        placed_end(o);
    if (o->open_bodies == 0) {
        o->open_start = begin(o, bytes + LINK_DATA_HEAD);
        return o->w.p + o->open_start + LINK_DATA_HEAD + LINK_BODY_HEAD;
    }
    return o->w.p + o->w.len + LINK_BODY_HEAD;
}

void outbox_put(struct outbox *o, size_t bytes)
{
    if (o->open_bodies == 0)
        o->w.len += LINK_DATA_HEAD;
    link_body_head(o->w.p + o->w.len, bytes);
    o->w.len += LINK_BODY_HEAD + bytes;
    o->open_bodies++;
}

void outbox_end(struct outbox *o)
{
    ASSERT(o->open);
    placed_end(o);
    o->open = false;
}
