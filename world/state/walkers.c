/* world/state/walkers.c: see the header. */
#include "world/state/walkers.h"

#include "common/err.h"
#include "world/state/heading.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What a step needs, together. */
struct step {
    struct walkers *w;
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
    if (rules->ways)
        w->turns = calloc((size_t)cap * WALKERS_TURNS, sizeof(*w->turns));
    if (!w->walks || !w->at || (rules->ways && !w->turns)) {
        walkers_fini(w);
        return E_NOMEM;
    }
    return 0;
}

void walkers_fini(struct walkers *w)
{
    free(w->walks);
    free(w->at);
    free(w->turns);
    memset(w, 0, sizeof(*w));
}

bool walkers_has(const struct walkers *w, uint32_t slot)
{
    return w->at[slot] != 0;
}

const struct walkers_walk *walkers_find(const struct walkers *w, uint32_t slot)
{
    return w->at[slot] != 0 ? &w->walks[w->at[slot] - 1] : NULL;
}

static struct walkers_walk *walk_of(struct walkers *w, uint32_t slot)
{
    ASSERT(w->at[slot] != 0);
    return &w->walks[w->at[slot] - 1];
}

static struct walkers_walk *send(struct walkers *w, uint32_t slot, double x, double y,
                                 struct mono now)
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
    k = walk_of(w, slot);
    k->goal_x = k->x = x;
    k->goal_y = k->y = y;
    k->speed = w->rules.speed;
    k->moved = now;
    k->faced = false;
    return k;
}

void walkers_start(struct walkers *w, uint32_t slot, double x, double y, struct mono now)
{
    send(w, slot, x, y, now)->way = WALKERS_LINE;
}

void walkers_seek(struct walkers *w, uint32_t slot, double x, double y, struct mono now)
{
    ASSERT(w->turns);
    send(w, slot, x, y, now)->way = WALKERS_SEEK;
}

void walkers_pace(struct walkers *w, uint32_t slot, double speed)
{
    walk_of(w, slot)->speed = speed;
}

void walkers_lose(struct walkers *w, uint32_t slot)
{
    walk_of(w, slot)->way = WALKERS_LOST;
}

void walkers_lead(struct walkers *w, uint32_t slot, const struct entities *e,
                  const struct ground *g, struct path *way, struct mono now)
{
    struct walkers_walk *k = walk_of(w, slot);
    struct path_turn *turns = w->turns + (size_t)slot * WALKERS_TURNS;
    struct ground_tile from = ground_at(g, e->x[slot], e->y[slot]);
    uint32_t n;

    turns[0] = (struct path_turn){(uint16_t)from.x, (uint16_t)from.y}; /* its middle, first */
    n = 1 + path_turns(way, turns + 1, WALKERS_TURNS - 1);
    k->more = n > WALKERS_TURNS;
    k->n = (uint16_t)(k->more ? WALKERS_TURNS : n);
    k->turn = 0;
    k->reaches = way->reaches;
    k->end_x = k->goal_x;
    k->end_y = k->goal_y;
    if (!k->reaches)
        ground_middle(g, (struct ground_tile){way->bx, way->by}, &k->end_x, &k->end_y);
    k->x = e->x[slot]; /* a leg that is over: its first step begins the next one */
    k->y = e->y[slot];
    k->sought = now;
    k->way = WALKERS_FOLLOW;
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

static bool leg_over(const struct step *s)
{
    return s->e->x[s->slot] == s->k->x && s->e->y[s->slot] == s->k->y;
}

/* --- along a way ----------------------------------------------------------------------------- */

/* Point `i` of the way: the middles of its tiles, then its end. */
static void point(const struct step *s, uint32_t i, double *x, double *y)
{
    const struct path_turn *t = s->w->turns + (size_t)s->slot * WALKERS_TURNS + i;

    if (i < s->k->n) {
        ground_middle(s->g, (struct ground_tile){t->x, t->y}, x, y);
    } else {
        *x = s->k->end_x;
        *y = s->k->end_y;
    }
}

/* The next leg of a walk that stands at the end of one. Straight it leads to the furthest of the
 * next points that it can see; a tile walker follows each, since it goes by rows, columns and
 * diagonals, as the way does. */
static enum walkers_end next_leg(struct step *s)
{
    struct walkers_walk *k = s->k;
    uint32_t points = k->n + !k->more, to = k->turn, last;
    double x, y;

    if (k->way == WALKERS_LINE)
        return WALKERS_THERE;
    if (k->turn >= points) {
        if (!k->more)
            return k->reaches ? WALKERS_THERE : WALKERS_NEAREST;
        k->way = WALKERS_SEEK;
        return WALKERS_SEEKING;
    }
    last = (uint32_t)k->turn + WALKERS_LEG_TURNS;
    last = last < points ? last : points;
    if (s->rules->gait == WALKERS_STRAIGHT) {
        for (uint32_t i = k->turn + 1; i < last; i++) {
            point(s, i, &x, &y);
            if (ground_way(s->g, s->e->x[s->slot], s->e->y[s->slot], x, y, NULL))
                to = i;
        }
    }
    point(s, to, &k->x, &k->y);
    k->turn = (uint16_t)(to + 1);
    k->faced = false;
    return WALKERS_ON;
}

/* Something is in the way. On a way that was found nothing is; but a step that was rounded may
 * graze a corner, and then it is found anew from where the walker stands, as long as it gets on. */
static enum walkers_end bounced(struct step *s)
{
    if (s->k->way != WALKERS_FOLLOW || s->k->moved.ns <= s->k->sought.ns)
        return WALKERS_BLOCKED;
    s->k->way = WALKERS_SEEK;
    return WALKERS_SEEKING;
}

/* It tried and got nowhere; its next try is at `next`. */
static bool stalled(const struct step *s, struct mono next)
{
    return clock_since(next, s->k->moved) > WALKERS_STALL_NS;
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

/* Towards the end of its leg, as far as `room` (units) allows, which is used. */
static enum got go(struct step *s, double *room)
{
    struct walkers_walk *k = s->k;
    double x = s->e->x[s->slot], y = s->e->y[s->slot], dx = k->x - x, dy = k->y - y;
    double distance = sqrt(dx * dx + dy * dy), length = *room;
    enum got got;

    if (distance <= length) {
        got = move_to(s, k->x, k->y);
        *room -= distance;
    } else if (length > 0) { /* rounding does not lead past the end */
        got = move_to(s, between(x + dx / distance * length, x, k->x),
                      between(y + dy / distance * length, y, k->y));
        *room = 0;
    } else {
        return GOT_POOR;
    }
    if (got == GOT_ON && !k->faced) { /* once, from the whole leg: it does not waver by rounding */
        face(s, dx, dy);
        k->faced = true;
    }
    return got;
}

static enum walkers_end step_straight(struct step *s)
{
    struct walkers_walk *k = s->k;
    double seconds = (double)clock_since(s->now, k->last) / (double)CLOCK_NS_PER_S;
    double room = fmin(seconds * k->speed, motion_reach(&s->e->motion[s->slot], s->motion, s->now));
    enum walkers_end end = WALKERS_ON;
    enum got got = GOT_ON;

    k->last = s->now;
    for (uint32_t legs = 0; legs < WALKERS_TICK_LEGS && end == WALKERS_ON; legs++) {
        if (!leg_over(s)) {
            got = go(s, &room);
            if (got != GOT_ON || !leg_over(s))
                break;
        }
        end = next_leg(s);
    }
    if (got == GOT_BLOCKED)
        return bounced(s);
    if (end == WALKERS_ON && stalled(s, (struct mono){s->now.ns + s->rules->tick_ns}))
        return WALKERS_SLOW;
    if (end == WALKERS_ON)
        set_speed(s, k->speed);
    return end;
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
    enum walkers_end end = WALKERS_ON;
    enum got got = GOT_ON;

    if (s->now.ns < k->due.ns)
        return WALKERS_ON;
    k->last = s->now;
    k->due.ns += s->rules->step_ns;
    if (k->due.ns <= s->now.ns) /* late: what was missed is not made up for */
        k->due.ns = s->now.ns + s->rules->step_ns;
    for (uint32_t legs = 0; legs < n + WALKERS_TICK_LEGS && end == WALKERS_ON; legs++) {
        double x = s->e->x[s->slot], y = s->e->y[s->slot];
        double to_x = toward(x, k->x, side), to_y = toward(y, k->y, side);

        if (leg_over(s)) {
            end = next_leg(s);
            continue;
        }
        got = done < n ? move_to(s, to_x, to_y) : GOT_POOR;
        if (got != GOT_ON)
            break;
        face(s, to_x - x, to_y - y);
        done++;
    }
    if (got == GOT_BLOCKED)
        return bounced(s);
    if (end == WALKERS_ON && done == 0 && stalled(s, k->due))
        return WALKERS_SLOW;
    if (end == WALKERS_ON && done > 0) {
        double dx = s->e->x[s->slot] - x0, dy = s->e->y[s->slot] - y0;

        set_speed(s, sqrt(dx * dx + dy * dy) * (double)CLOCK_NS_PER_S / (double)s->rules->step_ns);
    }
    return end;
}

/* It stands until it has a way, and the time that this takes is not made up for. */
static enum walkers_end step_seek(struct step *s)
{
    struct mono next = {s->now.ns + s->rules->tick_ns};

    s->k->last = s->now;
    if (s->k->way == WALKERS_LOST || stalled(s, next))
        return WALKERS_UNFOUND;
    if (clock_since(next, s->k->moved) > 2 * s->rules->tick_ns)
        set_speed(s, 0);
    return WALKERS_SEEKING;
}

enum walkers_end walkers_step(struct walkers *w, uint32_t i, struct entities *e,
                              const struct motion_rules *motion, const struct ground *g,
                              struct mono now)
{
    struct walkers_walk *k = &w->walks[i];
    struct step s = {w, k, &w->rules, e, motion, g, now, k->slot};
    enum walkers_end end;

    if (k->way == WALKERS_SEEK || k->way == WALKERS_LOST)
        end = step_seek(&s);
    else
        end = w->rules.gait == WALKERS_TILE ? step_tile(&s) : step_straight(&s);
    if (end != WALKERS_ON && end != WALKERS_SEEKING)
        (void)walkers_stop(w, e, s.slot);
    return end;
}
