/* world/edge/cluster_part.h: the program's part in a cluster, and when it stands still.
 * While its lease is over a world does nothing: no tick, no request, no answer of the store, no
 * word to anybody but the pings that keep its gateways. What comes meanwhile waits where it is: in
 * the kernel's buffers, in the store's queue. It goes on where it was when its lease is renewed.
 * Without -cluster there is none of it, and it always may act.
 * May touch: common, the edge, the core's doors, the clock. On trouble: cluster_part_refused.
 */
#pragma once

#include "proto/claim.h"
#include "world/edge/cluster_nats.h"
#include "world/edge/storage.h"
#include "world/edge/world_link.h"

struct cluster_part {
    struct cluster_nats *nats; /* NULL: the world is alone */
    struct world *world;       /* NULL: not served yet; all three borrowed */
    struct world_link *link;
    struct storage *storage;
    bool still;       /* everything waits */
    bool acted;       /* it did once */
    bool leaves;      /* it gives all away */
    bool rests;       /* it will not act any more */
    uint64_t in_step; /* the generation in whose moments it ticks; 0: none yet */
    uint64_t stills;
    char address[CLAIM_TEXT_MAX + 1];
    char terms[CLAIM_TEXT_MAX + 1];
};

/* With -cluster make ready; `o`, maps as they were loaded. Borrows both. `why` gets the line
 * without newline, which names the flag: E_NOMEM. */
int cluster_part_init(struct cluster_part *p, struct loop *l, const struct world_options *o,
                      const struct map *maps, uint32_t n_maps, char *why,
                      size_t why_cap) MUST_CHECK;
/* For world_ops; all zero where it is alone. */
struct cluster_door cluster_part_door(struct cluster_part *p);
/* Takes part from here on. `link` listens. E_NOMEM, E_IO, E_RANGE, as above. */
int cluster_part_serve(struct cluster_part *p, const struct world_options *o, struct world *w,
                       struct world_link *link, struct storage *s, char *why,
                       size_t why_cap) MUST_CHECK;
void cluster_part_fini(struct cluster_part *p); /* zero is fine */

/* May it act now? Asked before whatever acts; what stands still, and goes on, does so here. */
bool cluster_part_may_act(struct cluster_part *p);
/* When it first acts in a generation, its ticks fall into step with those of the other worlds: the
 * next one is due in `ahead_ns`, and this one is left out. False: they are. */
bool cluster_part_falls_in(struct cluster_part *p, int64_t *ahead_ns);
/* Why it may not take part, ever, as a line that names the flag; false: it may. */
bool cluster_part_refused(const struct cluster_part *p, char *why, size_t why_cap);
/* Why it does not serve now, as a sentence for operators; NULL: it does. */
const char *cluster_part_trouble(const struct cluster_part *p);
/* Bring the counters up to date. */
void cluster_part_gauges(const struct cluster_part *p, struct edge_metrics *m);
/* Are there worlds that would take what is here? */
bool cluster_part_can_leave(const struct cluster_part *p);
/* Give all that is here to them, zone by zone. */
void cluster_part_leave(struct cluster_part *p);
/* Behind each tick meanwhile: is there nothing left? */
bool cluster_part_left(struct cluster_part *p, struct mono now);
/* Stand still for good: nothing more is taken in, since all is being saved. */
void cluster_part_rest(struct cluster_part *p);
/* The end: the lease is given up. `done` is called once, now or later. */
void cluster_part_quit(struct cluster_part *p, loop_fn *done, void *arg);
