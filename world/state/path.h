/* world/state/path.h: one search for a shortest way over the tiles, a bit at a time.
 * Eight neighbours, a straight step costs 1 and a diagonal one √2, and a diagonal one needs both
 * tiles beside it (no corner is cut). Where the goal cannot be reached, the search is for the tile
 * that can be and is nearest to it (of equals the first by row and column).
 *
 * Three ways were weighed on paper, for a map of 1024 x 1024 (a million tiles):
 *
 *   A*             exact and simple; but in the open every tile around the line is expanded, a
 *                  hundred thousand for a way across a clearing, each with eight looks and a heap
 *                  operation, and 24 bytes for each tile touched.
 *   hierarchical   clusters with their entrances as a small graph. The fastest on long ways, but
 *                  its ways are some percent longer than the shortest, which the contract asks for,
 *                  and the graph takes its own memory, building and smoothing.
 *   jump points    A* that expands only tiles where a shortest way may turn, and finds them by
 *                  looking along lines. Exact, needs no graph; with tiles as bits a look takes 64
 *                  at once (world/state/lanes), so a look is cheap and the heap is small.
 *
 * Jump points are taken. Their one fault, a single expansion that looks across the whole map, is
 * bounded: a diagonal look ends after PATH_DIAGONAL tiles and goes on from a node there; and looks
 * count against the budget beside the nodes. An unreachable goal, for which such a search would go
 * over everything there is, is known at once by its area.
 *
 * Memory is taken once, for the largest ground; a search touches what it uses of it.
 * Pure. May touch: common, world/state. On trouble: more than PATH_NODES_MAX nodes is PATH_FULL.
 */
#pragma once

#include "world/state/lanes.h"

#define PATH_NODES_MAX (1u << 20) /* of one search */
#define PATH_DIAGONAL  64         /* tiles of one diagonal look */
#define PATH_LOOKS     16         /* looks along a line that count as one node */
#define PATH_RING      64         /* tiles asked for a nearest one that count as one node */

enum path_state {
    PATH_IDLE, /* no search */
    PATH_NEAR, /* it seeks the nearest tile that can be reached */
    PATH_WAY,  /* it seeks a way */
    PATH_FOUND,
    PATH_FULL /* given up: too many nodes */
};

struct path_node {
    double g, f;     /* from the start; and at least to the goal through it */
    uint32_t tile;   /* in lane coordinates: y * width + x */
    uint32_t parent; /* node + 1; 0: the start */
    uint32_t heap;   /* index in the heap + 1; 0: not in it */
    uint8_t from;    /* direction it was reached by, 0..7; PATH_ANY at the start */
};

#define PATH_ANY 8

struct path {
    enum path_state state;
    const struct lanes *lanes; /* of the search at hand */
    uint32_t width;            /* lane tiles a row */
    int32_t gx, gy;            /* goal, lane coordinates; the nearest tile once that is known */
    bool reaches;              /* the goal is what was asked for */
    uint32_t start_area;
    int32_t ring;      /* next ring around the goal to look at */
    int32_t best;      /* squared distance of the nearest tile so far; -1: none */
    int32_t bx, by;    /* it, tile coordinates */
    uint32_t sx, sy;   /* start, lane coordinates */
    uint32_t goal;     /* node, once found */
    uint32_t looks;    /* not yet counted as nodes */
    uint32_t expanded; /* nodes of this search */

    uint32_t *node_at;       /* [tiles of the largest ground and its rim] node + 1; 0: none */
    struct path_node *nodes; /* [node_cap] */
    uint32_t *heap;          /* [node_cap] nodes */
    uint32_t n_nodes, node_cap, n_heap;
    uint32_t tiles; /* of node_at */
};

/* For grounds of at most `nx` by `ny` tiles. E_NOMEM. */
int path_init(struct path *p, uint32_t nx, uint32_t ny) MUST_CHECK;
void path_fini(struct path *p);

/* Begin a search from the free tile `from` to `to`, both on the ground; another one is dropped. */
void path_begin(struct path *p, const struct lanes *l, struct ground_tile from,
                struct ground_tile to);
/* Go on for about `budget` nodes. Returns how many that came to: more where the last one was
 * costly. `p->state` tells whether it is found, or given up. */
uint32_t path_run(struct path *p, uint32_t budget);
/* Forget it. */
void path_drop(struct path *p);

/* Where a way turns. */
struct path_turn {
    uint16_t x, y; /* tile */
};

/* What was found: the first `cap` of its turns after the start's tile, the goal's tile last.
 * Between two of them it runs straight along a row, a column or a diagonal. Returns how many there
 * are in all. The search is over then, but not forgotten. */
uint32_t path_turns(struct path *p, struct path_turn *out, uint32_t cap);
/* Its length, in tiles. */
double path_length(const struct path *p);
