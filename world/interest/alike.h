/* world/interest/alike.h: viewers who are told the same in a tick.
 * They get the same bytes, so the body goes to the link once, with a list of its receivers.
 * Pure. May touch: common, proto/limits, world/ids, world/outbox. On trouble: nothing can be full;
 * sized at start for all viewers.
 *
 *   alike_add, viewer by viewer ─► alike_tell: one frame for each link
 */
#pragma once

#include "common/err.h"
#include "proto/limits.h"
#include "world/ids.h"
#include "world/outbox.h"

struct alike_viewer {
    uint64_t sid;
    struct link_ref link;
};

struct alike {
    struct link_ref link; /* of the first one */
    uint64_t *sids;       /* [n] of viewers on that link; at most LINK_MANY_MAX */
    uint32_t n;
    struct alike_viewer *others; /* [n_others] on another link, or for whom that list was full */
    uint32_t n_others, cap;
};

/* For `cap` viewers. E_NOMEM. */
int alike_init(struct alike *a, uint32_t cap) MUST_CHECK;
void alike_fini(struct alike *a);

/* One more for the next body. */
static inline void alike_add(struct alike *a, struct link_ref link, uint64_t sid)
{
    if (a->n == 0)
        a->link = link;
    if (a->n < LINK_MANY_MAX && link_ref_equal(a->link, link)) {
        a->sids[a->n++] = sid;
        return;
    }
    ASSERT(a->n_others < a->cap);
    a->others[a->n_others++] = (struct alike_viewer){sid, link};
}

/* Send `body` to all who were added, and forget them. */
void alike_tell(struct alike *a, struct span body, struct outbox *out);
