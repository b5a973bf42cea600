/* world/interest/lone.h: viewers who are told of one mover in a tick, and of nothing else.
 * They get the same bytes, so the body goes to the link once, with a list of its receivers.
 * Pure. May touch: common, proto/link, world/ids, world/outbox. On trouble: nothing can be full;
 * sized at start for all viewers.
 *
 *   lone_add (viewer by viewer) ─► sorted by mover ─► one frame a mover and link
 */
#pragma once

#include "proto/aoi_move.h"
#include "world/ids.h"
#include "world/outbox.h"

struct lone_viewer {
    uint64_t sid;
    struct link_ref link;
    uint32_t mover; /* slot */
};

struct lone {
    struct lone_viewer *viewers; /* [n] in the order in which they came */
    struct lone_viewer *sorted;  /* [n] by mover */
    uint64_t *sids;              /* [LINK_MANY_MAX] */
    uint32_t n, laid;
    uint32_t *count; /* [cap] by mover: its viewers; all 0 between two ticks */
    uint32_t *at;    /* [cap] by mover: where they lie in `sorted` */
    uint32_t cap;
};

/* For `cap` slots. E_NOMEM. */
int lone_init(struct lone *l, uint32_t cap) MUST_CHECK;
void lone_fini(struct lone *l);

/* This viewer is told of that mover alone. At most once in a tick for each viewer. */
void lone_add(struct lone *l, struct link_ref link, uint64_t sid, uint32_t mover);
/* Give the mover's viewers a place; once for each mover that has any. */
void lone_lay(struct lone *l, uint32_t mover);
/* All movers are laid: sort. */
void lone_sort(struct lone *l);
/* Send `body` to all viewers of a mover, and forget them. */
void lone_tell(struct lone *l, uint32_t mover, struct span body, struct outbox *out);
/* All movers are told. */
void lone_clear(struct lone *l);
