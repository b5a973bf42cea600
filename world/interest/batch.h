/* world/interest/batch.h: the bodies of one viewer's batch, laid in place in the outbox.
 * Between outbox_begin and outbox_end: removes, adds, then records, each ascending by id; a body
 * that would pass PROTO_BATCH_MAX is followed by another. Counts what is told.
 * May touch: common, proto, world. On trouble: nothing can be full. Source: PROTOCOL.md "Order".
 */
#pragma once

#include "world/world.h"

#define BATCH_HIDDEN_NONE UINT64_MAX /* nothing is said of who is hidden */

/* keys: world/interest/known, [n] ascending. */
void batch_removes(struct world *w, const uint64_t *keys, uint32_t n);
/* All are alive, and told at their exact places. */
void batch_adds(struct world *w, const uint64_t *keys, uint32_t n);
/* The same, and how many more are in sight; there may be nobody to add. */
void batch_adds_hidden(struct world *w, const uint64_t *keys, uint32_t n, uint64_t hidden);

/* Records, one behind the other. */
struct batch_records {
    struct world *w;
    uint8_t *body; /* where the body began; NULL: none is begun */
    uint8_t *at, *end;
    uint32_t previous; /* id */
    uint32_t n;
    bool wide;
};

/* Begin a body for up to `n` records; with r->w set and all else zero. */
void batch_records_begin(struct batch_records *r, uint32_t n);
/* End it; a body without records is none. */
void batch_records_end(struct batch_records *r);

static inline void batch_records_put(struct batch_records *r, uint32_t id,
                                     const struct aoi_move_tail *t)
{
    if ((size_t)(r->end - r->at) < AOI_MOVE_RECORD_MAX) { /* full: another body */
        batch_records_end(r);
        batch_records_begin(r, UINT32_MAX);
    }
    r->at += aoi_move_put_wide(r->at, id, r->previous, t);
    r->previous = id;
    r->n++;
}
