/* world/state/finder.h: who waits for a way, and the search that is under way.
 * One search at a time, for whoever has waited longest; each tick a budget of nodes for all
 * together, so that a long search goes on in the next one. A line of fixed length, each slot at
 * most once in it: asking again while waiting keeps the place, asking again while being searched
 * for goes to the end, so that nobody gets more than a share by asking often.
 *
 *   finder_ask ─► line [most] ─► path (one) ─► finder_run's `found` ─► the walker's turns
 *
 * Pure. May touch: common, world/state. On trouble: a full line is E_FULL, nothing changed.
 */
#pragma once

#include "world/state/path.h"

#define FINDER_NONE UINT32_MAX

struct finder {
    struct path path;
    uint32_t budget;     /* nodes a tick */
    uint32_t most;       /* in the line */
    uint32_t n;          /* in the line now, the searched for among them */
    uint32_t head, tail; /* slots; FINDER_NONE: empty. The head is searched for */
    uint32_t *next;      /* [cap] by slot */
    uint32_t *prev;      /* [cap] */
    uint8_t *waits;      /* [cap] it is in the line */
    bool begun;          /* the head's search is under way */

    uint64_t searches, nodes; /* since the start */
};

/* For `cap` slots and grounds of at most nx by ny tiles; 0 by 0: there is no ground, so nobody
 * asks, and no memory is taken. E_NOMEM. */
int finder_init(struct finder *f, uint32_t cap, uint32_t nx, uint32_t ny, uint32_t budget,
                uint32_t most) MUST_CHECK;
void finder_fini(struct finder *f);

/* Stand in line. 0, or E_FULL. `share` of `most` and above counts as full: 1 is all of it. */
int finder_ask(struct finder *f, uint32_t slot, double share) MUST_CHECK;
/* Out of it, if it is in. */
void finder_drop(struct finder *f, uint32_t slot);

/* Where a slot's way begins and ends; NULL lanes: it needs none any longer. */
struct finder_ends {
    const struct lanes *lanes;
    struct ground_tile from, to;
};
/* Asked when a slot's turn comes. */
typedef struct finder_ends finder_ends_fn(void *arg, uint32_t slot);
/* Its search is over: `p` is found, or full. It is out of the line. */
typedef void finder_found_fn(void *arg, uint32_t slot, struct path *p);

/* A tick's work. */
void finder_run(struct finder *f, finder_ends_fn *ends, finder_found_fn *found, void *arg);
