/* world/interest/lone.h: viewers who are told of one mover in a tick, and of nothing else.
 * They get the same bytes, so the body goes to the link once, with a list of its receivers.
 * Pure. May touch: common, proto/limits, world/ids, world/outbox. On trouble: nothing can be full;
 * sized at start for all viewers.
 *
 *   lone_add, viewer by viewer ─► lone_tell: one frame for each link
 */
#pragma once

#include "common/err.h"
#include "world/ids.h"
#include "world/outbox.h"

struct lone_viewer {
    uint64_t sid;
    struct link_ref link;
};

struct lone {
    struct lone_viewer *viewers; /* [n] */
    uint32_t n, cap;
    uint64_t *sids; /* [LINK_MANY_MAX] */
};

/* For `cap` viewers. E_NOMEM. */
int lone_init(struct lone *l, uint32_t cap) MUST_CHECK;
void lone_fini(struct lone *l);

/* One more for the next body. */
static inline void lone_add(struct lone *l, struct link_ref link, uint64_t sid)
{
    ASSERT(l->n < l->cap);
    l->viewers[l->n++] = (struct lone_viewer){sid, link};
}

/* Send `body` to all who were added, and forget them. */
void lone_tell(struct lone *l, struct span body, struct outbox *out);
