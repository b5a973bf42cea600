/* world/state/walkers.c: see the header. */
#include "world/state/walkers.h"

#include "common/err.h"
#include "world/state/heading.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What a step needs, together. */
struct step {
    struct walkers_walk *k;
    const struct walkers_rules *rules;
    struct entities *e;
    const struct motion_rules *motion;
    const struct ground *g;
    struct mono now;
    uint32_t slot;
};

/* What came of an attempt to move. */
enum got { GOT_ON, GOT_BLOCKED, GOT_POOR };

int walkers_init(struct walkers *w, const struct walkers_rules *rules, uint32_t cap)
{
    memset(w, 0, sizeof(*w));
    ASSERT(rules->speed > 0);
    ASSERT(rules->tile > 0);
    ASSERT(rules->step_ns > 0);
    ASSERT(rules->tile_ns > 0);
    ASSERT(rules->max_tiles > 0);
    w->rules = *rules;
    w->cap = cap;
    w->walks = calloc(cap, sizeof(*w->walks));
    w->at = calloc(cap, sizeof(*w->at));
    if (!w->walks || !w->at) {
        walkers_fini(w);
        return E_NOMEM;
    }
    return 0;
}

void walkers_fini(struct walkers *w)
{
    free(w->walks);
    free(w->at);
    memset(w, 0, sizeof(*w));
}

bool walkers_has(const struct walkers *w, uint32_t slot)
{
    return w->at[slot] != 0;
}

void walkers_start(struct walkers *w, uint32_t slot, double x, double y, struct mono now)
{
    struct walkers_walk *k;

    if (w->at[slot] == 0) {
        ASSERT(w->n < w->cap);
        k = &w->walks[w->n++];
        w->at[slot] = w->n;
        k->slot = slot;
        k->last = now;
        k->due = (struct mono){now.ns + w->rules.step_ns};
    }
    k = &w->walks[w->at[slot] - 1];
    k->x = x;
    k->y = y;
    k->moved = now;
    k->faced = false;
}

bool walkers_stop(struct walkers *w, struct entities *e, uint32_t slot)
{
    uint32_t i = w->at[slot];

    if (i == 0)
        return false;
    w->walks[i - 1] = w->walks[--w->n];
    w->at[w->walks[i - 1].slot] = i;
    w->at[slot] = 0;
    if (e->speed[slot] != 0) {
        e->speed[slot] = 0;
        entities_mark(e, slot, 0);
    }
    return true;
}

/* --- one step -------------------------------------------------------------------------------- */

/* To a place on the way, by the ground and the credit. */
static enum got move_to(struct step *s, double x, double y)
{
    struct entities *e = s->e;
    double dx = x - e->x[s->slot], dy = y - e->y[s->slot];

    if (s->g && !ground_way(s->g, e->x[s->slot], e->y[s->slot], x, y, NULL))
        return GOT_BLOCKED;
    if (!motion_spend(&e->motion[s->slot], s->motion, sqrt(dx * dx + dy * dy), s->now))
        return GOT_POOR;
    if (dx != 0 || dy != 0) {
        e->x[s->slot] = x;
        e->y[s->slot] = y;
        entities_mark(e, s->slot, ENTITY_MOVED);
    }
    s->k->moved = s->now;
    return GOT_ON;
}

static void face(struct step *s, double dx, double dy)
{
    double dir = heading_of(dx, dy);

    if (s->e->dir[s->slot] == dir)
        return;
    s->e->dir[s->slot] = dir;
    entities_mark(s->e, s->slot, 0);
}

static void set_speed(struct step *s, double speed)
{
    if (speed > s->motion->max_speed)
        speed = s->motion->max_speed;
    if (s->e->speed[s->slot] == speed)
        return;
    s->e->speed[s->slot] = speed;
    entities_mark(s->e, s->slot, 0);
}

static bool is_there(const struct step *s)
{
    return s->e->x[s->slot] == s->k->x && s->e->y[s->slot] == s->k->y;
}

/* It tried and got nowhere; its next try is at `next`. */
static enum walkers_end stalled(const struct step *s, struct mono next)
{
    return clock_since(next, s->k->moved) > WALKERS_STALL_NS ? WALKERS_SLOW : WALKERS_ON;
}

/* `v` moved by `by` towards `goal`, which it does not pass. */
static double toward(double v, double goal, double by)
{
    if (v < goal)
        return v + by < goal ? v + by : goal;
    return v - by > goal ? v - by : goal;
}

/* `v` between a and b, whichever is the larger one. */
static double between(double v, double a, double b)
{
    double low = a < b ? a : b, high = a < b ? b : a;

    return v < low ? low : v > high ? high : v;
}

static enum walkers_end step_straight(struct step *s)
{
    struct walkers_walk *k = s->k;
    double x = s->e->x[s->slot], y = s->e->y[s->slot], dx = k->x - x, dy = k->y - y;
    double distance = sqrt(dx * dx + dy * dy);
    double seconds = (double)clock_since(s->now, k->last) / (double)CLOCK_NS_PER_S;
    double reach =
        fmin(seconds * s->rules->speed, motion_reach(&s->e->motion[s->slot], s->motion, s->now));
    enum got got;

    k->last = s->now;
    if (distance <= reach)
        got = move_to(s, k->x, k->y);
    else if (reach > 0) /* rounding does not lead past the goal */
        got = move_to(s, between(x + dx / distance * reach, x, k->x),
                      between(y + dy / distance * reach, y, k->y));
    else
        got = GOT_POOR;
    if (got == GOT_BLOCKED)
        return WALKERS_BLOCKED;
    if (got == GOT_POOR)
        return stalled(s, (struct mono){s->now.ns + s->rules->tick_ns});
    if (!k->faced) /* once, from the whole line: what others see does not waver with rounding */
        face(s, dx, dy);
    k->faced = true;
    if (is_there(s))
        return WALKERS_THERE;
    set_speed(s, s->rules->speed);
    return WALKERS_ON;
}

/* How many tiles a step may lead after so much time. */
static uint32_t tiles_of(const struct walkers_rules *r, int64_t elapsed_ns)
{
    int64_t n = (elapsed_ns > 0 ? elapsed_ns / r->tile_ns : 0) + 1;

    return n < (int64_t)r->max_tiles ? (uint32_t)n : r->max_tiles;
}

static enum walkers_end step_tile(struct step *s)
{
    struct walkers_walk *k = s->k;
    double x0 = s->e->x[s->slot], y0 = s->e->y[s->slot], side = s->g ? s->g->size : s->rules->tile;
    uint32_t n = tiles_of(s->rules, clock_since(s->now, k->last)), done = 0;
    enum got got = GOT_ON;

    if (s->now.ns < k->due.ns)
        return WALKERS_ON;
    k->last = s->now;
    k->due.ns += s->rules->step_ns;
    if (k->due.ns <= s->now.ns) /* late: what was missed is not made up for */
        k->due.ns = s->now.ns + s->rules->step_ns;
    while (done < n && !is_there(s)) {
        double x = s->e->x[s->slot], y = s->e->y[s->slot];
        double to_x = toward(x, k->x, side), to_y = toward(y, k->y, side);

        got = move_to(s, to_x, to_y);
        if (got != GOT_ON)
            break;
        face(s, to_x - x, to_y - y);
        done++;
    }
    if (got == GOT_BLOCKED)
        return WALKERS_BLOCKED;
    if (is_there(s))
        return WALKERS_THERE;
    if (done == 0)
        return stalled(s, k->due);
    double dx = s->e->x[s->slot] - x0, dy = s->e->y[s->slot] - y0;
    set_speed(s, sqrt(dx * dx + dy * dy) * (double)CLOCK_NS_PER_S / (double)s->rules->step_ns);
    return WALKERS_ON;
}

enum walkers_end walkers_step(struct walkers *w, uint32_t i, struct entities *e,
                              const struct motion_rules *motion, const struct ground *g,
                              struct mono now)
{
    struct step s = {&w->walks[i], &w->rules, e, motion, g, now, w->walks[i].slot};
    enum walkers_end end = w->rules.gait == WALKERS_TILE ? step_tile(&s) : step_straight(&s);

    if (end != WALKERS_ON)
        (void)walkers_stop(w, e, s.slot);
    return end;
}
