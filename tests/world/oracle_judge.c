/* tests/world/oracle_judge.c: what each client must know, from all pairs of exact places.
 * May touch: tests/world_rig. Never: world/interest.
 */
#include "tests/world/oracle.h"

#include <math.h>
#include <stdio.h>

static double turn_between(double a, double b)
{
    double d = fabs(a - b);
    return d > ORACLE_TURN / 2 ? ORACLE_TURN - d : d;
}

/* Does the wire say what is so? */
static bool same_on_wire(const struct oracle *o, const struct rig_known *k,
                         const struct oracle_player *p)
{
    double q = o->rules.quantum;
    unsigned dir = (unsigned)floor(p->dir / ORACLE_TURN * 256 + 0.5) & 255;
    unsigned speed = (unsigned)floor(p->speed / o->rules.max_speed * 255 + 0.5);
    return k->qx == (int64_t)floor(p->x / q + 0.5) && k->qy == (int64_t)floor(p->y / q + 0.5) &&
           k->wire_dir == dir && k->wire_speed == speed;
}

static void judge_add(const struct oracle *o, const struct rig_known *k,
                      const struct oracle_player *p)
{
    if (k->x != p->x || k->y != p->y || fabs(k->dir - p->dir) > 1e-9 || k->speed != p->speed)
        rig_fail("%s%u added at %.17g, %.17g, %g, %g where it is at %.17g, %.17g, %g, %g",
                 o->rig->context, k->id, k->x, k->y, k->dir, k->speed, p->x, p->y, p->dir,
                 p->speed);
    if (k->name_len != strlen(p->name) || memcmp(k->name, p->name, k->name_len) != 0)
        rig_fail("%s%u added under another name", o->rig->context, k->id);
}

/* The first batch after a pause tells what the others were told last, which may be a small change
 * ago; true where that is so. */
static bool caught_up(const struct oracle *o, const struct rig_known *k,
                      const struct oracle_player *p)
{
    double dx = p->x - k->x, dy = p->y - k->y;
    double turn = turn_between(p->dir, k->by_add ? k->dir : k->wire_dir * ORACLE_TURN / 256);
    return sqrt(dx * dx + dy * dy) < o->rules.move_epsilon + o->rules.quantum &&
           turn < o->rules.dir_epsilon / 360 * ORACLE_TURN + ORACLE_TURN / 512 + 1e-9;
}

static void judge_record(const struct oracle *o, const struct rig_known *k,
                         const struct oracle_player *p)
{
    double half = o->rules.quantum / 2 * (1 + 1e-9);
    if (fabs(k->x - p->x) > half || fabs(k->y - p->y) > half || !same_on_wire(o, k, p))
        rig_fail("%s%u told at %.17g, %.17g, %u, %u where it is at %.17g, %.17g, %g, %g",
                 o->rig->context, k->id, k->x, k->y, k->wire_dir, k->wire_speed, p->x, p->y, p->dir,
                 p->speed);
}

/* It was not told of it in this tick: may it have been left in the dark? */
static void judge_silence(const struct oracle *o, const struct rig_known *k,
                          const struct oracle_player *p, struct oracle_pair *pair)
{
    if (same_on_wire(o, k, p)) {
        pair->late = 0;
        return;
    }
    if (k->wire_speed != (unsigned)floor(p->speed / o->rules.max_speed * 255 + 0.5))
        rig_fail("%sa change of speed by %u is not told", o->rig->context, k->id);
    double dx = p->x - pair->x, dy = p->y - pair->y;
    double slack = 1e-9 + (pair->rough ? 1.5 * o->rules.quantum : 0);
    double turn_slack = 1e-9 + (pair->rough ? ORACLE_TURN / 256 : 0);
    if (sqrt(dx * dx + dy * dy) >= o->rules.move_epsilon + slack)
        rig_fail("%sa move of %g, %g by %u is not told", o->rig->context, dx, dy, k->id);
    if (turn_between(p->dir, pair->dir) >= o->rules.dir_epsilon / 360 * ORACLE_TURN + turn_slack)
        rig_fail("%sa turn from %g to %g by %u is not told", o->rig->context, pair->dir, p->dir,
                 k->id);
    pair->late++;
    if (pair->late > o->rules.update_interval)
        rig_fail("%sa change of %u waits for the %u. tick", o->rig->context, k->id, pair->late);
}

static bool sees(const struct oracle *o, const struct oracle_player *v,
                 const struct oracle_player *p, const struct oracle_pair *pair)
{
    double dx = p->x - v->x, dy = p->y - v->y;
    double reach = o->rules.radius;
    if (pair->id == p->id)
        reach += o->rules.hysteresis;
    return dx * dx + dy * dy <= reach * reach && v->scene == p->scene;
}

static void judge_pair(const struct oracle *o, bool resumed, const struct rig_known *k,
                       const struct oracle_player *p, struct oracle_pair *pair)
{
    bool told = k->tick == o->rig->world->tick;
    if (pair->id != p->id && !(told && k->by_add))
        rig_fail("%s%u is known without an add", o->rig->context, p->id);
    if (resumed && !(told && k->by_add) && !same_on_wire(o, k, p) && caught_up(o, k, p)) {
        double dir = k->wire_dir * ORACLE_TURN / 256;
        *pair = (struct oracle_pair){p->id, 1, k->x, k->y, dir, true};
        return;
    }
    if (!told) {
        judge_silence(o, k, p, pair);
        pair->rough |= resumed;
        return;
    }
    if (k->by_add)
        judge_add(o, k, p);
    else
        judge_record(o, k, p);
    *pair = (struct oracle_pair){p->id, 0, p->x, p->y, p->dir, k->by_add || resumed};
}

/* A client that does not drain is told nothing. */
static void judge_paused(const struct oracle *o, const struct oracle_player *v)
{
    if (o->rig->sessions[v->s].view.tick == o->rig->world->tick)
        rig_fail("%s#%u is told something while it is paused", o->rig->context, v->id);
}

/* What one client knows, against all the others' places. Returns how many it knows. */
static uint32_t judge_viewer(struct oracle *o, uint32_t viewer)
{
    const struct oracle_player *v = &o->players[viewer];
    const struct rig_view *view = &o->rig->sessions[v->s].view;
    uint32_t known = 0;
    for (uint32_t i = 0; i < o->n; i++) {
        const struct oracle_player *p = &o->players[i];
        struct oracle_pair *pair = &o->pairs[(size_t)viewer * o->n + i];
        if (i == viewer)
            continue;
        bool must = p->inside && sees(o, v, p, pair);
        const struct rig_known *k = p->inside ? rig_view_find(view, p->id) : NULL;
        if (must != (k != NULL))
            rig_fail("%s#%u at %.17g, %.17g %s #%u at %.17g, %.17g", o->rig->context, v->id, v->x,
                     v->y, must ? "does not know" : "knows", p->id, p->x, p->y);
        if (must) {
            judge_pair(o, v->resumed, k, p, pair);
            known++;
        } else {
            pair->id = 0;
        }
    }
    if (known != view->count)
        rig_fail("%s#%u knows %u, of whom only %u are there", o->rig->context, v->id, view->count,
                 known);
    return known;
}

/* Whether this tick is looked at mover by mover: as it comes, always, never, or by turns. */
static uint32_t few_share(struct oracle *o)
{
    uint32_t usual = 12;
    switch (o->worlds / 3 % 4) {
    case 0:
        return usual;
    case 1:
        return 0;
    case 2:
        return UINT32_MAX;
    default:
        return oracle_chance(o, 50) ? 0 : oracle_chance(o, 50) ? usual : UINT32_MAX;
    }
}

/* Those whose window is over at the tick that comes are gone with it. */
static void waits_end(struct oracle *o)
{
    struct mono now = clock_add(o->rig->now, o->rig->world->config.tick_ns);
    for (uint32_t i = 0; i < o->n; i++) {
        struct oracle_player *p = &o->players[i];
        if (p->waiting && clock_since(now, p->until) >= 0) {
            p->waiting = p->inside = false;
            memset(o->pairs + (size_t)i * o->n, 0, o->n * sizeof *o->pairs);
        }
    }
}

void oracle_judge(struct oracle *o)
{
    rig_drop(o->rig);
    snprintf(o->rig->context, sizeof o->rig->context,
             "seed %llu round %u tick %u: ", (unsigned long long)o->seed, o->round,
             o->rig->world->tick + 1);
    o->rig->world->sight.few_share = few_share(o);
    waits_end(o);
    oracle_soft_before(o);
    rig_tick(o->rig, 1);
    for (uint32_t i = 0; i < o->n; i++) { /* through portals */
        struct oracle_player *p = &o->players[i];
        if (p->inside && p->open && o->rig->sessions[p->s].puts != p->puts)
            oracle_put(o, p);
    }
    oracle_explain(o);
    if (o->rules.soft.n_tiers > 0) {
        oracle_soft_judge(o);
        return;
    }
    uint64_t known = 0;
    bool paused = false;
    for (uint32_t i = 0; i < o->n; i++) {
        struct oracle_player *p = &o->players[i];
        if (p->waiting)
            continue;
        if (p->inside && p->paused)
            judge_paused(o, p);
        else if (p->inside)
            known += judge_viewer(o, i);
        paused |= p->inside && p->paused;
        p->resumed = false;
    }
    if (!paused && known != o->rig->world->sight.pairs)
        rig_fail("%s%llu pairs known, the world counts %llu", o->rig->context,
                 (unsigned long long)known, (unsigned long long)o->rig->world->sight.pairs);
}

/* Everything has rested: each told place is the exact one, as the wire says it. */
void oracle_judge_rest(const struct oracle *o)
{
    if (o->rules.soft.n_tiers > 0) {
        oracle_soft_judge_rest(o);
        return;
    }
    for (uint32_t i = 0; i < o->n; i++) {
        const struct oracle_player *v = &o->players[i];
        const struct rig_view *view = &o->rig->sessions[v->s].view;
        for (uint32_t j = 0; v->inside && v->open && j < o->n; j++) {
            const struct oracle_player *p = &o->players[j];
            const struct rig_known *k = p->inside ? rig_view_find(view, p->id) : NULL;
            if (k && !same_on_wire(o, k, p))
                rig_fail("%s%u knows %u at %g, %g where it rests at %g, %g", o->rig->context, v->id,
                         p->id, k->x, k->y, p->x, p->y);
        }
    }
}
