/* world/state/walkers.h: whom the world walks, and each one's next step.
 * A dense list, gone over once a tick. A walker goes from where it stands towards its goal and
 * arrives exactly on it, never past it, by one of two gaits:
 *
 *   straight   each tick as far as `speed` and the time since its last step allow
 *   tile       every `step_ns` some tiles along each axis that is not there yet:
 *              floor(elapsed / tile_ns) + 1, at most max_tiles; every tile on the way is looked at
 *
 * Either way it draws on its speed credit (world/state/motion), like a move that it asks for, so
 * that nobody gains by mixing the two. What stands in the way stops it at its last legal place. A
 * walker that gets nowhere for WALKERS_STALL_NS is stopped too.
 * Pure. May touch: common, world/state. On trouble: there is room for every slot; nothing fails.
 */
#pragma once

#include "world/state/entity.h"
#include "world/state/ground.h"

#define WALKERS_STALL_NS   CLOCK_NS_PER_S /* without progress, at most */
#define WALKERS_GAIT_WORDS "straight|tile"
#define WALKERS_NONE       UINT32_MAX

enum walkers_gait { WALKERS_STRAIGHT, WALKERS_TILE };

struct walkers_rules {
    enum walkers_gait gait;
    double speed;       /* units a second; straight */
    int64_t tick_ns;    /* from one call of walkers_step to the next */
    double tile;        /* units: the side of a tile where there is no ground */
    int64_t step_ns;    /* from one step to the next; tile */
    int64_t tile_ns;    /* time that a tile takes; tile */
    uint32_t max_tiles; /* of a step, along each axis; tile */
};

/* How a walk stands. */
enum walkers_end {
    WALKERS_ON,      /* it goes on */
    WALKERS_THERE,   /* it ended, on its goal */
    WALKERS_BLOCKED, /* it ended: something is in the way */
    WALKERS_SLOW     /* it ended: its credit does not let it move */
};

/* One walk. */
struct walkers_walk {
    uint32_t slot;
    double x, y;       /* the goal, units */
    struct mono last;  /* when its last step was */
    struct mono due;   /* when its next one is; tile */
    struct mono moved; /* when it last got on */
    bool faced;        /* it looks along the line to its goal; straight */
};

struct walkers {
    struct walkers_rules rules;
    struct walkers_walk *walks; /* [n] dense, in no order that means anything */
    uint32_t *at;               /* [cap] by slot: index in walks + 1; 0: it does not walk */
    uint32_t n, cap;
};

/* For `cap` slots. E_NOMEM. */
int walkers_init(struct walkers *w, const struct walkers_rules *rules, uint32_t cap) MUST_CHECK;
void walkers_fini(struct walkers *w);

/* Walk this slot to (x, y), which lies inside its scene. One that walks already turns there, and
 * keeps the time of its next step: asking often makes nobody faster, nor slower. */
void walkers_start(struct walkers *w, uint32_t slot, double x, double y, struct mono now);
/* Its walk, if any, is over: it stands. Returns whether it walked. */
bool walkers_stop(struct walkers *w, struct entities *e, uint32_t slot);
bool walkers_has(const struct walkers *w, uint32_t slot);

/* The next step of walks[i], on `g` (NULL: open ground). Marks the entity dirty where something
 * changed. Where the walk ends it stands, its speed is 0, and it leaves the list: the last walk
 * takes its index. */
enum walkers_end walkers_step(struct walkers *w, uint32_t i, struct entities *e,
                              const struct motion_rules *motion, const struct ground *g,
                              struct mono now) MUST_CHECK;
