/* bot/walker.c: where a bot goes next, at a speed the world allows.
 * The distance of a step is what the time since the last one allows, so over any while it asks
 * for less than max_speed: steps that are late or bunched never ask for more. Pure.
 * May touch: common.
 * On trouble: see walker.h.
 */
#include "bot/walker.h"

#include <math.h>

#define WALKER_TURN 6.283185307179586 /* 2π */
#define WALKER_LEG  60.0              /* units: the longest way between two turns */

void walker_init(struct walker *w, uint64_t seed)
{
    *w = (struct walker){0};
    rng_init(&w->rng, seed);
}

void walker_place(struct walker *w, double x, double y, double max_speed, struct mono now)
{
    w->x = x;
    w->y = y;
    w->max_speed = max_speed;
    w->last = now;
    w->dir = 0;
    w->speed = 0;
    w->has_goal = false;
}

void walker_area(struct walker *w, struct walker_area area)
{
    w->area = area;
    w->has_goal = false;
}

/* The direction of (dx, dy), in [0, 2π). */
static double direction(double dx, double dy)
{
    double a = atan2(dy, dx);
    if (a < 0)
        a += WALKER_TURN;
    return a < WALKER_TURN ? a : 0;
}

/* Go from where it stands to the goal at `speed`, as far as the time since the last step allows. */
static bool step(struct walker *w, double gx, double gy, double speed, struct mono now)
{
    double dx = gx - w->x, dy = gy - w->y;
    double distance = sqrt(dx * dx + dy * dy);
    int64_t ns = clock_since(now, w->last);

    if (ns > WALKER_STEP_MAX_NS)
        ns = WALKER_STEP_MAX_NS;
    double reach = speed * (double)ns / (double)CLOCK_NS_PER_S;
    w->last = now;
    w->speed = speed;
    if (distance > 0)
        w->dir = direction(dx, dy);
    if (distance <= reach) {
        w->x = gx;
        w->y = gy;
        return true;
    }
    w->x += dx / distance * reach;
    w->y += dy / distance * reach;
    return false;
}

bool walker_inside(const struct walker *w)
{
    return w->x >= w->area.x0 && w->x <= w->area.x1 && w->y >= w->area.y0 && w->y <= w->area.y1;
}

/* `v` mirrored at the edges until it lies between them. */
static double fold(double v, double lo, double hi)
{
    double span = hi - lo;

    if (!(span > 0))
        return lo;
    double at = fmod(v - lo, 2 * span);
    if (at < 0)
        at += 2 * span;
    return lo + (at <= span ? at : 2 * span - at);
}

/* Where the next leg ends. Ends drawn evenly from the whole area would crowd its middle, where
 * most ways lead through; short legs mirrored at the edges keep bots spread evenly. */
static void choose_goal(struct walker *w)
{
    const struct walker_area *a = &w->area;
    double share = WALKER_SLOWEST + rng_unit(&w->rng) * (WALKER_SPEED_SHARE - WALKER_SLOWEST);
    double angle = rng_unit(&w->rng) * WALKER_TURN;
    double length = rng_unit(&w->rng) * fmin(WALKER_LEG, fmax(a->x1 - a->x0, a->y1 - a->y0) / 2);

    if (walker_inside(w)) {
        w->goal_x = fold(w->x + length * cos(angle), a->x0, a->x1);
        w->goal_y = fold(w->y + length * sin(angle), a->y0, a->y1);
    } else {
        share = WALKER_SPEED_SHARE;
        w->goal_x = a->x0 + rng_unit(&w->rng) * (a->x1 - a->x0);
        w->goal_y = a->y0 + rng_unit(&w->rng) * (a->y1 - a->y0);
    }
    w->speed = share * w->max_speed;
    w->has_goal = true;
}

void walker_wander(struct walker *w, struct mono now)
{
    if (!w->has_goal)
        choose_goal(w);
    if (step(w, w->goal_x, w->goal_y, w->speed, now))
        w->has_goal = false;
}

bool walker_toward(struct walker *w, double x, double y, struct mono now)
{
    w->has_goal = false;
    return step(w, x, y, w->max_speed * WALKER_SPEED_SHARE, now);
}

void walker_refused(struct walker *w, double x, double y)
{
    w->x = x;
    w->y = y;
    w->has_goal = false;
}
