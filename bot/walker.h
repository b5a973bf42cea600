/* bot/walker.h: where a bot goes next, at a speed the world allows.
 * Wanders between random places of an area, or straight to a goal. Pure: time and seed are
 * arguments. May touch: common.
 * On trouble: a refused move puts the walker where the world says it stands.
 */
#pragma once

#include "common/clock.h"
#include "common/rng.h"

#include <stdbool.h>

/* Of max_speed: the rest is for rounding and for clocks that differ. */
#define WALKER_SPEED_SHARE 0.95
/* The slowest leg, as a share of max_speed. */
#define WALKER_SLOWEST 0.25
/* Time that one step uses at most, below the second of credit that the world keeps. */
#define WALKER_STEP_MAX_NS (500 * CLOCK_NS_PER_MS)

struct walker_area {
    double x0, y0, x1, y1; /* world units, x0 <= x1, y0 <= y1 */
};

struct walker {
    double x, y;       /* where the last step led */
    double dir, speed; /* of it: radians in [0, 2π), units a second */
    double goal_x, goal_y;
    double max_speed; /* units a second */
    bool has_goal;
    struct walker_area area;
    struct mono last; /* of the last step */
    struct rng rng;
};

void walker_init(struct walker *w, uint64_t seed);
/* It stands at (x, y) now, and knows nothing of a goal. */
void walker_place(struct walker *w, double x, double y, double max_speed, struct mono now);
void walker_area(struct walker *w, struct walker_area area);

bool walker_inside(const struct walker *w);

/* The next step of wandering; at full speed as long as it is not in its area yet: x, y, dir and
 * speed are where to ask for. */
void walker_wander(struct walker *w, struct mono now);
/* The next step straight to the goal at full speed. True: this step reaches it. */
bool walker_toward(struct walker *w, double x, double y, struct mono now);
/* The world refused: it stands at (x, y) still; another goal is looked for. */
void walker_refused(struct walker *w, double x, double y);
