/* world/outbox.c: see the header. */
#include "world/outbox.h"

#include "common/err.h"
#include "proto/link.h"

#include <stdlib.h>

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

void outbox_flush(struct outbox *o)
{
    for (uint32_t i = 0; i < o->n_runs; i++) {
        const struct outbox_run *r = &o->runs[i];

        o->drain(o->arg, r->link, span_of(o->w.p + r->start, r->end - r->start));
    }
    o->bytes += o->w.len;
    o->n_runs = 0;
    o->w.len = 0;
}

/* Make room for a frame of at most `bytes`; returns where it will start. */
static size_t begin(struct outbox *o, size_t bytes)
{
    ASSERT(bytes <= OUTBOX_BYTES);
    if (o->w.cap - o->w.len < bytes || o->n_runs == OUTBOX_RUNS)
        outbox_flush(o);
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
