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
 *
 * It goes along a line, or it waits for a way (world/state/finder) and then follows its turns: by
 * tiles one after the other; straight in legs, each to the furthest turn of the next few that is a
 * legal way from where it stands. Of a way with many turns it keeps the first ones, and asks for
 * the rest at their end.
 * Pure. May touch: common, world/state. On trouble: there is room for every slot; nothing fails.
 */
#pragma once

#include "world/state/entity.h"
#include "world/state/ground.h"
#include "world/state/path.h"

#define WALKERS_STALL_NS   CLOCK_NS_PER_S /* without progress, at most */
#define WALKERS_GAIT_WORDS "straight|tile"
#define WALKERS_TURNS      128 /* kept of a way */
#define WALKERS_LEG_TURNS  16  /* looked at for one leg */
#define WALKERS_TICK_LEGS  16  /* begun in one tick at most */

enum walkers_gait { WALKERS_STRAIGHT, WALKERS_TILE };

struct walkers_rules {
    enum walkers_gait gait;
    double speed;       /* units a second; straight */
    int64_t tick_ns;    /* from one call of walkers_step to the next */
    double tile;        /* units: the side of a tile where there is no ground */
    int64_t step_ns;    /* from one step to the next; tile */
    int64_t tile_ns;    /* time that a tile takes; tile */
    uint32_t max_tiles; /* of a step, along each axis; tile */
    bool ways;          /* some scene has ground, so that some may ask for a way */
};

/* How a walk stands. */
enum walkers_end {
    WALKERS_ON,      /* it goes on */
    WALKERS_SEEKING, /* it goes on, and waits for a way */
    WALKERS_THERE,   /* it ended, on its goal */
    WALKERS_NEAREST, /* it ended, as near to its goal as one can get */
    WALKERS_BLOCKED, /* it ended: something is in the way */
    WALKERS_SLOW,    /* it ended: its credit does not let it move */
    WALKERS_UNFOUND  /* it ended: no way was found in time */
};

enum walkers_way { WALKERS_LINE, WALKERS_SEEK, WALKERS_FOLLOW, WALKERS_LOST };

/* One walk. */
struct walkers_walk {
    uint32_t slot;
    uint8_t way;           /* enum walkers_way */
    bool faced;            /* it looks along its leg; straight */
    bool reaches;          /* the way leads to the goal; else to the nearest tile */
    bool more;             /* the way has more turns than were kept */
    uint16_t turn, n;      /* the next of the turns, and how many were kept */
    double goal_x, goal_y; /* what was asked for, units */
    double end_x, end_y;   /* where the way ends: the goal, or the middle of the nearest tile */
    double x, y;           /* end of the leg at hand: without a way the goal itself */
    double speed;          /* units a second; straight */
    struct mono last;      /* when its last step was */
    struct mono due;       /* when its next one is; tile */
    struct mono moved;     /* when it last got on */
    struct mono sought;    /* when it last got a way */
};

struct walkers {
    struct walkers_rules rules;
    struct walkers_walk *walks; /* [n] dense, in no order that means anything */
    uint32_t *at;               /* [cap] by slot: index in walks + 1; 0: it does not walk */
    struct path_turn *turns;    /* [cap][WALKERS_TURNS] by slot; NULL without ways */
    uint32_t n, cap;
};

/* For `cap` slots. E_NOMEM. */
int walkers_init(struct walkers *w, const struct walkers_rules *rules, uint32_t cap) MUST_CHECK;
void walkers_fini(struct walkers *w);

/* Walk this slot to (x, y), which lies inside its scene. One that walks already turns there, and
 * keeps the time of its next step: asking often makes nobody faster, nor slower. */
void walkers_start(struct walkers *w, uint32_t slot, double x, double y, struct mono now);
/* The same by a way that is still to be found: walkers_lead or walkers_lose says how that went. */
void walkers_seek(struct walkers *w, uint32_t slot, double x, double y, struct mono now);
/* How fast it goes, where that is not the rules' speed; until it is sent somewhere anew. */
void walkers_pace(struct walkers *w, uint32_t slot, double speed);
/* Its way was found from where it stands, on `g`. */
void walkers_lead(struct walkers *w, uint32_t slot, const struct entities *e,
                  const struct ground *g, struct path *way, struct mono now);
/* No way is to be had; its next step ends the walk. */
void walkers_lose(struct walkers *w, uint32_t slot);
/* Its walk; NULL: it does not walk. Until the list changes. */
const struct walkers_walk *walkers_find(const struct walkers *w, uint32_t slot);
/* Its walk, if any, is over: it stands. Returns whether it walked. */
bool walkers_stop(struct walkers *w, struct entities *e, uint32_t slot);
bool walkers_has(const struct walkers *w, uint32_t slot);

/* The next step of walks[i], on `g` (NULL: open ground). Marks the entity dirty where something
 * changed. Where the walk ends it stands, its speed is 0, and it leaves the list: the last walk
 * takes its index. */
enum walkers_end walkers_step(struct walkers *w, uint32_t i, struct entities *e,
                              const struct motion_rules *motion, const struct ground *g,
                              struct mono now) MUST_CHECK;
