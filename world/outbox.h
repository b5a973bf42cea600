/* world/outbox.h: link frames to send, in the order they were made.
 * One buffer of fixed size. When there are OUTBOX_HANDFUL bytes in it, or the edge asks, it is
 * handed to `drain` in runs of one link each, and is empty again; so it can never overflow and
 * never grows, and what a tick tells the first viewers is on its way while it tells the others.
 * Pure but for that one call. May touch: common, proto/link, world/ids. Never: sockets.
 *
 *   handlers, tick ─► buffer [OUTBOX_BYTES] ─► drain(link, bytes) … ─► the edge's streams
 */
#pragma once

#include "common/span.h"
#include "proto/limits.h"
#include "world/ids.h"

#define OUTBOX_BYTES   (2 * LINK_FRAME_MAX) /* the largest link frame fits beside another */
#define OUTBOX_HANDFUL 131072 /* bytes: a send that is worth its call, and still in the cache */
#define OUTBOX_RUNS    4096   /* runs of frames to one link between two drains */

/* Whole link frames for one link; borrowed for the call. */
typedef void outbox_drain_fn(void *arg, struct link_ref link, struct span frames);

struct outbox_run {
    struct link_ref link;
    size_t start, end;
};

struct outbox {
    struct span_writer w;
    struct outbox_run *runs; /* [OUTBOX_RUNS] */
    uint32_t n_runs;
    outbox_drain_fn *drain;
    void *arg;
    uint64_t frames, bytes; /* since the start */
    bool held; /* nothing leaves but what there is no room for: see world/edge/cluster_part */

    /* The frame that is being laid in place. */
    struct link_ref open_link;
    uint64_t open_session;
    size_t open_start;
    uint32_t open_bodies; /* in it so far */
    bool open;
};

/* E_NOMEM. */
int outbox_init(struct outbox *o, outbox_drain_fn *drain, void *arg) MUST_CHECK;
void outbox_fini(struct outbox *o);
/* Hand everything over now. */
void outbox_flush(struct outbox *o);
/* The same, held or not. */
void outbox_release(struct outbox *o);

/* Bodies for one session, in one link frame. Together at most LINK_FRAME_MAX minus
 * LINK_DATA_OVERHEAD; n is 1..LINK_BODIES_MAX. */
void outbox_data(struct outbox *o, struct link_ref link, uint64_t session,
                 const struct span *bodies, uint32_t n);
/* One body for many sessions of a link; n is 1..LINK_MANY_MAX. */
void outbox_data_many(struct outbox *o, struct link_ref link, const uint64_t *sessions, uint32_t n,
                      struct span body);
/* End a session at the gateway; `code` 0: it is unknown here. */
void outbox_close(struct outbox *o, struct link_ref link, uint64_t session, uint32_t code,
                  const char *reason);

/* What the gateway is to keep for a session: at most LINK_NOTE_MAX bytes. */
void outbox_note(struct outbox *o, struct link_ref link, uint64_t session, struct span note);

/* Another world has the session from now on: the last word of it here. */
void outbox_redirect(struct outbox *o, struct link_ref link, uint64_t session, struct span world,
                     uint32_t entity, uint32_t count);

/* Lay bodies for one session in place: begin, then for each body room and put, then end. They
 * travel in one link frame, in more only where one would pass LINK_FRAME_MAX or
 * LINK_PLACED_MAX bodies. Nothing else is written between begin and end. */
void outbox_begin(struct outbox *o, struct link_ref link, uint64_t session);
/* Where the next body may be laid: [most] bytes, most <= PROTO_BATCH_MAX + OUTBOX_OVERHANG. */
uint8_t *outbox_room(struct outbox *o, size_t most);
/* It has this many bytes; at least one. */
void outbox_put(struct outbox *o, size_t bytes);
void outbox_end(struct outbox *o);

#define OUTBOX_OVERHANG 64 /* bytes beyond a body that may be overwritten while it is laid */
