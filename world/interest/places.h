/* world/interest/places.h: this tick's places and the last one's, laid out for looking up.
 * All are listed in the order of their ids, so that a position in the list (a rank) sorts like an
 * id. The map is cut into blocks; for each block in which somebody looks, the ranks of everybody
 * who could be seen from anywhere inside it are listed, in one pass over the ranks, so that each
 * list comes out in the order of ids without sorting.
 * All scenes lie on one plane of blocks, with gaps between them that nobody sees across; so nothing
 * that is looked up has to know of scenes, and one scene costs what it would cost alone. In whole
 * numbers a change of scene is a jump on the plane. Exact places are the scene's own, and are
 * compared within one scene.
 * Pure. May touch: common, world/state, world/interest. On trouble: nothing can be full; all is
 * sized at start.
 *
 *   entities ─► ranked (by id) ─► lists of blocks
 */
#pragma once

#include "world/interest/known.h"
#include "world/interest/mask.h"
#include "world/state/entity.h"

#define PLACES_AWAY (INT32_MIN / 2) /* a coordinate of nowhere */
#define PLACES_NONE UINT32_MAX      /* no rank */

/* How a viewer finds its candidates; all give the same results (-aoi-index). */
enum places_index {
    PLACES_BLOCKS, /* blocks with a margin of one reach around: of two reaches, or of one where
                    * people stand close */
    PLACES_NINE,   /* cells of one reach: the nine around the viewer's */
    PLACES_FOUR    /* cells of two reaches: the four around the viewer's quadrant */
};
#define PLACES_INDEX_WORDS "blocks|nine|four"

/* A part of the map in which somebody looks, or looked. */
struct places_block {
    uint32_t bx, by;
    uint32_t filed; /* those who stand here, stood here before a jump, or ended here */
    uint32_t first; /* index of its list */
    uint32_t n;     /* ranks in it, ascending */
};

/* Where a scene lies: the place in it, maybe outside, that is the plane's low corner. Units. */
struct places_origin {
    double x0, y0;
};

struct places {
    enum places_index index;
    struct places_origin origins[SCENES_MAX]; /* by scene */
    uint32_t scenes;
    double scale;        /* whole numbers a unit */
    double slack;        /* units an entity may move between two ticks without being a jumper */
    double radius;       /* units */
    int32_t reach;       /* whole numbers: radius and twice the slack, or more */
    int32_t slack_fixed; /* whole numbers: who moved less on both axes is no jumper */
    unsigned bits;       /* a block's side is 2^bits whole numbers, in the lists at hand */
    unsigned next_bits;  /* and in the next ones */
    uint32_t nx, ny;     /* the plane in blocks of one reach */
    uint32_t cap;        /* slots */

    double *old_x, *old_y; /* [cap] by slot: exact places at the last tick */
    uint8_t *old_scene;    /* [cap] by slot: the scene of that place */
    uint8_t *seen;         /* [cap] by slot: a tick has seen it */

    uint32_t *rank;            /* [cap] by slot; PLACES_NONE: not ranked yet */
    uint64_t *keys;            /* [cap] by rank: world/interest/known, ascending; 0: gone */
    struct mask_fixed *ranked; /* [cap] by rank; from the plane's low corner; or PLACES_AWAY */
    uint32_t n, n_gone;        /* ranks, and those of them that are gone */
    uint32_t *fresh;           /* [cap] slots that have no rank yet */
    uint32_t n_fresh;
    uint64_t *fresh_keys; /* [cap] to sort them */

    uint32_t *block_at;          /* [nx * ny] number of its list + 1, 0: none */
    struct places_block *blocks; /* [2 * cap] */
    uint32_t n_blocks;
    uint32_t *lists; /* [lists_cap] ranks */
    uint64_t lists_cap;
};

/* bounds: of each scene: x0, y0, x1, y1 units; `slack` units. E_NOMEM. */
int places_init(struct places *p, enum places_index index, const double bounds[][4],
                uint32_t scenes, double radius, double slack, uint32_t cap) MUST_CHECK;
void places_fini(struct places *p);

/* An entity came; it is given a rank when ranks are needed. */
void places_enter(struct places *p, uint32_t slot);
/* It is new, or has moved, since the last tick. */
void places_note(struct places *p, const struct entities *e, uint32_t slot);
/* It ended; if a tick has seen it, it is still in its slot until the tick is over. */
void places_note_end(struct places *p, uint32_t slot);

/* Rank those who have no rank, and drop those who are gone. */
void places_rank(struct places *p, const struct entities *e);
/* Make the lists of the blocks; all are ranked. */
void places_file(struct places *p);
/* The tick is over: now becomes before, for those moved [n]; the dying are forgotten. */
void places_settle(struct places *p, const struct entities *e, const uint32_t *moved, uint32_t n);

/* Whole numbers of a coordinate; `v` is not below the origin. */
static inline int32_t places_fix(double v, double origin, double scale)
{
    return (int32_t)((v - origin) * scale + 0.5);
}

/* Are two within the radius of each other's place at the last tick? Exactly. */
static inline bool places_near_old(const struct places *p, uint32_t a, uint32_t b)
{
    double dx = p->old_x[a] - p->old_x[b], dy = p->old_y[a] - p->old_y[b];

    return dx * dx + dy * dy <= p->radius * p->radius && p->old_scene[a] == p->old_scene[b];
}

/* Did it move so far that its old place need not be within the slack of the new one? On the safe
 * side; false for who was not there, or is not. */
static inline bool places_jumped(const struct places *p, const struct mask_fixed *f)
{
    int32_t dx = f->x - f->old_x, dy = f->y - f->old_y;

    dx = dx < 0 ? -dx : dx;
    dy = dy < 0 ? -dy : dy;
    return (dx > dy ? dx : dy) >= p->slack_fixed && f->x != PLACES_AWAY && f->old_x != PLACES_AWAY;
}

/* The list of the block around a place in whole numbers; NULL: nobody looked from there when the
 * lists were made. */
const struct places_block *places_block_of(const struct places *p, int32_t x, int32_t y);
static inline const uint32_t *places_list(const struct places *p, const struct places_block *block)
{
    return p->lists + block->first;
}

/* Those whose place at the last tick lies within the radius of `viewer`'s place at the last tick:
 * keys (world/interest/known), ascending; who ended since the last tick among them.
 *   out   [cap] borrowed
 * Between places_file and the next tick's first places_rank. Returns how many. */
uint32_t places_known(const struct places *p, uint32_t viewer, uint64_t *out);
