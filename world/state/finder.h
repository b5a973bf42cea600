/* world/state/finder.h: who waits for a way, and the search that is under way.
 * One search at a time; each tick a budget of nodes for all together, so that a long search goes on
 * in the next one. What a search costs is charged to who asked, and of those who wait the one that
 * was served least goes first: an asker with goals that cost much gets its share of the nodes and
 * no more, and who asks little never waits for more than the search at hand. (Fair queueing: a
 * place in line is where one's last search ended, but not more than FINDER_CREDIT behind the place
 * that is served; of equal places the first that asked.) Weighed against budgets by client, refused
 * when spent: those need a number that is right for every map and crowd.
 * A line of fixed length, each slot at most once in it: asking again while waiting keeps the place,
 * asking again while being searched for begins anew, and what was spent is paid.
 *
 *   finder_ask ─► line [most] ─► path (one) ─► finder_run's `found` ─► the walker's turns
 *
 * Pure. May touch: common, world/state. On trouble: a full line is E_FULL, nothing changed.
 */
#pragma once

#include "world/state/path.h"

#define FINDER_NONE   UINT32_MAX
#define FINDER_CREDIT 65536 /* nodes: one long search */

/* A place in the line: a heap, the least place and then the least order first. */
struct finder_wait {
    uint64_t place, order;
    uint32_t slot;
};

struct finder {
    struct path path;
    uint32_t budget;          /* nodes a tick */
    uint32_t most;            /* in the line, the searched for with them */
    uint32_t n;               /* in the line now, the searched for with them */
    uint32_t current;         /* who is searched for; FINDER_NONE: nobody */
    uint64_t place, spent;    /* its place, and nodes so far */
    uint64_t served;          /* the furthest place that was served */
    uint64_t order;           /* given last */
    uint32_t n_line;          /* in `line` */
    struct finder_wait *line; /* [most] */
    uint32_t *at;             /* [cap] where in `line`, and one; 0: it is not */
    uint64_t *paid;           /* [cap] where its last search ended */

    uint64_t searches, nodes; /* since the start */
};

/* For `cap` slots and grounds of at most nx by ny tiles; 0 by 0: there is no ground, so nobody
 * asks, and no memory is taken. E_NOMEM. */
int finder_init(struct finder *f, uint32_t cap, uint32_t nx, uint32_t ny, uint32_t budget,
                uint32_t most) MUST_CHECK;
void finder_fini(struct finder *f);

/* Stand in line. 0, or E_FULL. `share` of `most` and above counts as full: 1 is all of it. */
int finder_ask(struct finder *f, uint32_t slot, double share) MUST_CHECK;
/* Is it in line, or searched for? */
bool finder_waits(const struct finder *f, uint32_t slot);
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
