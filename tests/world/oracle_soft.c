/* tests/world/oracle_soft.c: brute force against soft sight.
 * What is so is kept for some hundred ticks; what a viewer was told of somebody must have been so
 * at a tick that is no longer ago than the nearest tier allows in which that one has stood for so
 * long. Who has stood in sight for a tier's interval is known; who has gone as long is not. And no
 * turn carries more than its share. May touch: tests/world_rig; looks into the world for the turns.
 */
#include "tests/world/oracle.h"
#include "world/interest/soft_list.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define PAST        2048 /* ticks that are kept */
#define RECORD_MOST 11   /* bytes */
#define HEAD_BYTES  25

/* A player as it was at a tick, as the wire says it. */
struct oracle_past {
    uint32_t id; /* 0: not inside */
    int64_t qx, qy;
    uint8_t dir, speed;
    bool paused;   /* its client did not drain */
    uint32_t knew; /* whom its client knew, or was told of as new or gone, in that tick */
};

/* For how many ticks things have been so between a viewer and a subject. */
struct oracle_seen {
    uint32_t viewer_id, id;
    uint32_t within[ORACLE_TIERS_MAX]; /* ticks in a row within the tier's radius */
    uint32_t beyond;                   /* past radius and hysteresis */
    uint32_t settled;                  /* interval of the nearest tier it had stood in for that */
};

/* --- the rules ------------------------------------------------------------------------------- */

static void tiers_text(struct oracle_soft *s)
{
    size_t n = 0;
    for (uint32_t t = 0; t < s->n_tiers; t++)
        n += (size_t)snprintf(s->tiers + n, sizeof s->tiers - n, "%s%.17g:%u", t ? "," : "",
                              s->radius[t], s->every[t]);
}

struct oracle_rules oracle_soft_rules(struct rng *rng)
{
    static const uint32_t intervals[] = {1, 1, 1, 2, 3, 4, 7, 20};
    static const uint32_t refreshes[] = {1, 1, 1, 2, 5, 20};
    static const uint32_t caps[] = {0, 0, 0, 1, 3, 10, 40};
    static const uint64_t budgets[] = {0, 0, 0, 64, 90, 200, 1200};
    struct oracle_rules r = oracle_random_rules(rng);
    struct oracle_soft *s = &r.soft;
    double radius = r.radius * (0.2 + 0.8 * rng_unit(rng));
    uint32_t every = 1;
    s->n_tiers = 1 + (uint32_t)rng_below(rng, ORACLE_TIERS_MAX);
    for (uint32_t t = 0; t < s->n_tiers; t++) {
        uint32_t more = intervals[rng_below(rng, ARRAY_LEN(intervals))];
        s->radius[t] = t + 1 == s->n_tiers ? r.radius : radius;
        s->every[t] = every = more > every ? more : every;
        radius += (r.radius - radius) * (0.1 + 0.5 * rng_unit(rng));
    }
    tiers_text(s);
    s->refresh = refreshes[rng_below(rng, ARRAY_LEN(refreshes))];
    s->max = caps[rng_below(rng, ARRAY_LEN(caps))];
    s->viewer_bytes = budgets[rng_below(rng, ARRAY_LEN(budgets))];
    s->searched = rng_below(rng, 3) == 0;
    r.tight = false;
    r.ticks = 5 + (uint32_t)rng_below(rng, 40);
    return r;
}

/* --- what was so ----------------------------------------------------------------------------- */

void oracle_soft_begin(struct oracle *o)
{
    if (o->rules.soft.n_tiers == 0)
        return;
    if (!o->past) {
        o->past = calloc((size_t)ORACLE_PLAYERS_MAX * PAST, sizeof *o->past);
        o->seen = calloc((size_t)ORACLE_PLAYERS_MAX * ORACLE_PLAYERS_MAX, sizeof *o->seen);
    }
    memset(o->past, 0, (size_t)ORACLE_PLAYERS_MAX * PAST * sizeof *o->past);
    memset(o->seen, 0, (size_t)o->n * o->n * sizeof *o->seen);
}

void oracle_soft_end(struct oracle *o)
{
    free(o->past);
    free(o->seen);
}

static struct oracle_past past_of(const struct oracle *o, const struct oracle_player *p)
{
    double q = o->rules.quantum;
    return (struct oracle_past){
        .id = p->inside ? p->id : 0,
        .qx = (int64_t)floor(p->x / q + 0.5),
        .qy = (int64_t)floor(p->y / q + 0.5),
        .dir = (uint8_t)((unsigned)floor(p->dir / ORACLE_TURN * 256 + 0.5) & 255),
        .speed = (uint8_t)fmin(255, floor(p->speed / o->rules.max_speed * 255 + 0.5)),
    };
}

static struct oracle_past *past_at(const struct oracle *o, uint32_t player, uint32_t tick)
{
    return &o->past[(size_t)player * PAST + tick % PAST];
}

/* Was what the client knows so, at some tick of the last `ticks`? */
static bool was_so(const struct oracle *o, const struct rig_known *k, uint32_t player,
                   uint64_t ticks)
{
    uint32_t now = o->rig->world->tick;
    for (uint64_t i = 0; i < ticks && i < PAST && i < now; i++) {
        const struct oracle_past *p = past_at(o, player, now - (uint32_t)i);
        if (p->id == k->id && p->qx == k->qx && p->qy == k->qy && p->dir == k->wire_dir &&
            p->speed == k->wire_speed)
            return true;
    }
    return false;
}

/* Its square; in another scene one is away from all. */
static double distance2(const struct oracle_player *a, const struct oracle_player *b)
{
    if (a->scene != b->scene)
        return INFINITY;
    double dx = b->x - a->x, dy = b->y - a->y;
    return dx * dx + dy * dy;
}

static void follow(struct oracle *o, const struct oracle_player *v, const struct oracle_player *p,
                   struct oracle_seen *s)
{
    const struct oracle_soft *r = &o->rules.soft;
    double d2 = distance2(v, p), out = o->rules.radius + o->rules.hysteresis;
    if (!v->inside || !p->inside || s->id != p->id || s->viewer_id != v->id)
        *s = (struct oracle_seen){
            .viewer_id = v->id, .id = p->id, .settled = r->every[r->n_tiers - 1]};
    if (!v->inside || !p->inside)
        return;
    for (uint32_t t = 0; t < r->n_tiers; t++)
        s->within[t] = d2 <= r->radius[t] * r->radius[t] ? s->within[t] + 1 : 0;
    s->beyond = d2 > out * out ? s->beyond + 1 : 0;
    for (uint32_t t = r->n_tiers; t-- > 0 && s->beyond == 0;) {
        if (s->within[t] >= r->every[t])
            s->settled = r->every[t];
        else if (s->within[t] == 0 && t + 1 < r->n_tiers && s->settled < r->every[t + 1])
            s->settled = r->every[t + 1];
    }
    if (s->beyond == 0 && s->within[r->n_tiers - 1] == 0)
        s->settled = r->every[r->n_tiers - 1];
}

/* --- one viewer ------------------------------------------------------------------------------ */

/* Ticks that bytes may make a record wait. */
static uint64_t budget_wait(const struct oracle *o)
{
    uint64_t least = o->rules.soft.viewer_bytes / 4;
    if (o->rules.soft.viewer_bytes == 0)
        return 0;
    if (least < HEAD_BYTES + RECORD_MOST)
        least = HEAD_BYTES + RECORD_MOST;
    uint64_t records = (least - HEAD_BYTES) / RECORD_MOST;
    return SOFT_SLACK + (o->n + records - 1) / records + 1;
}

static bool by_look(const struct oracle *o)
{
    return o->rules.soft.refresh > 1 || o->rules.soft.max > 0;
}

/* Ticks after which one in this tier is known. */
static uint32_t find_within(const struct oracle *o, uint32_t tier)
{
    return by_look(o) ? o->rules.soft.refresh : o->rules.soft.every[tier];
}

/* Ticks after which a change of one in this tier is told. */
static uint64_t tell_within(const struct oracle *o, uint32_t tier)
{
    return o->rules.soft.every[tier] + o->rules.soft.refresh - 1 + budget_wait(o);
}

/* Must it be known by now, whatever the cap? */
static bool must_know(const struct oracle *o, const struct oracle_player *v,
                      const struct oracle_seen *s)
{
    const struct oracle_soft *r = &o->rules.soft;
    for (uint32_t t = 0; t < r->n_tiers; t++) {
        if (s->within[t] >= find_within(o, t))
            return true;
    }
    return v->resumed && s->within[r->n_tiers - 1] > 0;
}

static bool must_not_know(const struct oracle *o, const struct oracle_player *v,
                          const struct oracle_seen *s)
{
    return s->beyond >= (by_look(o) ? o->rules.soft.refresh : s->settled) ||
           (v->resumed && s->beyond > 0);
}

/* Is what it knows of somebody as fresh as the tiers say? */
static void judge_fresh(const struct oracle *o, const struct oracle_player *v,
                        const struct rig_known *k, uint32_t player, const struct oracle_seen *s)
{
    const struct oracle_soft *r = &o->rules.soft;
    uint64_t wait = o->rules.update_interval, within = tell_within(o, r->n_tiers - 1);
    for (uint32_t t = r->n_tiers; t-- > 0;) {
        if (s->within[t] >= r->every[t] + r->refresh - 1)
            within = tell_within(o, t);
    }
    if (v->resumed && r->viewer_bytes == 0)
        within = 1;
    for (uint32_t i = 0; r->viewer_bytes > 0 && i < within; i++)
        if (past_at(o, (uint32_t)(v - o->players), o->rig->world->tick - i)->paused)
            return; /* what the pause left waits for bytes, too */
    if (k->tick == o->rig->world->tick)
        within = 1;
    if (!was_so(o, k, player, within + wait))
        rig_fail("%s#%u knows #%u at %.17g, %.17g, %u, %u, as it was not for %llu ticks (%s, "
                 "refresh %u, max %u, %llu bytes)",
                 o->rig->context, v->id, k->id, k->x, k->y, k->wire_dir, k->wire_speed,
                 (unsigned long long)(within + wait), r->tiers, r->refresh, r->max,
                 (unsigned long long)r->viewer_bytes);
}

/* How far away a cap takes it for. */
static double counts_as(double d)
{
    return d + fmax(d * SOFT_CAP_SHARE, SOFT_CAP_UNITS);
}

/* With a cap: who is known are the nearest, but for the margin; and hidden is the rest. */
static void judge_cap(const struct oracle *o, const struct oracle_player *v, bool settled)
{
    const struct rig_view *view = &o->rig->sessions[v->s].view;
    double in2 = o->rules.radius * o->rules.radius, farthest = 0, nearest = INFINITY;
    uint32_t hidden = 0;
    if (view->count > o->rules.soft.max)
        rig_fail("%s#%u knows %u", o->rig->context, v->id, view->count);
    if (!settled)
        return;
    for (uint32_t i = 0; i < o->n; i++) {
        const struct oracle_player *p = &o->players[i];
        double d2 = distance2(v, p);
        if (p == v || !p->inside)
            continue;
        if (rig_view_find(view, p->id)) {
            farthest = fmax(farthest, sqrt(d2));
        } else if (d2 <= in2) {
            nearest = fmin(nearest, sqrt(d2));
            hidden++;
        }
    }
    if (hidden != view->hidden)
        rig_fail("%s#%u: %u are hidden, %u told", o->rig->context, v->id, hidden, view->hidden);
    if (hidden > 0 && view->count < o->rules.soft.max)
        rig_fail("%s#%u knows %u, and %u are hidden", o->rig->context, v->id, view->count, hidden);
    if (hidden > 0 && counts_as(nearest) * (1 + 1e-6) < farthest)
        rig_fail("%s#%u knows one at %.17g, and not one at %.17g", o->rig->context, v->id, farthest,
                 nearest);
}

static void judge_viewer(const struct oracle *o, uint32_t viewer)
{
    const struct oracle_player *v = &o->players[viewer];
    const struct rig_view *view = &o->rig->sessions[v->s].view;
    uint32_t known = 0;
    for (uint32_t i = 0; i < o->n; i++) {
        const struct oracle_player *p = &o->players[i];
        const struct oracle_seen *s = &o->seen[(size_t)viewer * o->n + i];
        const struct rig_known *k = i != viewer && p->inside ? rig_view_find(view, p->id) : NULL;
        if (i == viewer || !p->inside)
            continue;
        if (!k && o->rules.soft.max == 0 && must_know(o, v, s))
            rig_fail("%s#%u does not know #%u at a distance of %.17g", o->rig->context, v->id,
                     p->id, sqrt(distance2(v, p)));
        if (k && must_not_know(o, v, s))
            rig_fail("%s#%u still knows #%u at a distance of %.17g", o->rig->context, v->id, p->id,
                     sqrt(distance2(v, p)));
        if (k)
            judge_fresh(o, v, k, i, s);
        known += k != NULL;
    }
    if (known != view->count)
        rig_fail("%s#%u knows %u, of whom only %u are there", o->rig->context, v->id, view->count,
                 known);
    if (o->rules.soft.max > 0)
        judge_cap(o, v, o->rules.soft.refresh == 1);
}

/* --- turns ----------------------------------------------------------------------------------- */

/* Before a tick: does the turn that comes carry more than its share? Of all that the viewer knew in
 * the last interval, since one tick may bring a tier many and take as many others. */
static void judge_turns(const struct oracle *o, uint32_t viewer)
{
    const struct world *w = o->rig->world;
    const struct soft *s = w->sight.soft;
    struct entity_ref ref = {0};
    if (!s) /* there is nothing soft in the rules */
        return;
    for (uint32_t i = 0; i < w->entities.alive_count; i++)
        if (w->entities.id[w->entities.alive[i]] == o->players[viewer].id)
            ref = entities_ref(&w->entities, w->entities.alive[i]);
    for (uint32_t t = 0; ref.gen != 0 && t < s->rules.n_tiers; t++) {
        uint32_t every = s->rules.every[t], part = s->base[t] + (w->tick + 1) % every, most = 0;
        for (uint32_t i = 0; i < every && i < w->tick; i++) {
            uint32_t knew = past_at(o, viewer, w->tick - i)->knew;
            most = most > knew ? most : knew;
        }
        if (s->load[(size_t)ref.slot * s->n_parts + part] > most / every + 1)
            rig_fail("%s#%u: the next turn of tier %u carries %u of %u (%s, refresh %u, max %u, "
                     "%llu bytes)",
                     o->rig->context, o->players[viewer].id, t,
                     s->load[(size_t)ref.slot * s->n_parts + part], most, o->rules.soft.tiers,
                     o->rules.soft.refresh, o->rules.soft.max,
                     (unsigned long long)o->rules.soft.viewer_bytes);
    }
}

/* --- a tick ---------------------------------------------------------------------------------- */

void oracle_soft_before(struct oracle *o)
{
    for (uint32_t i = 0; i < o->n && o->rules.soft.n_tiers > 0; i++) {
        const struct oracle_player *p = &o->players[i];
        if (p->inside && p->open && !p->paused && !p->resumed)
            judge_turns(o, i);
        o->removes[i] = o->rig->sessions[p->s].view.removes;
    }
}

void oracle_soft_judge(struct oracle *o)
{
    for (uint32_t i = 0; i < o->n; i++) {
        const struct rig_view *view = &o->rig->sessions[o->players[i].s].view;
        *past_at(o, i, o->rig->world->tick) = past_of(o, &o->players[i]);
        past_at(o, i, o->rig->world->tick)->paused = o->players[i].paused;
        past_at(o, i, o->rig->world->tick)->knew =
            view->count + (uint32_t)(view->removes - o->removes[i]);
    }
    for (uint32_t i = 0; i < o->n; i++) {
        for (uint32_t j = 0; j < o->n; j++)
            follow(o, &o->players[i], &o->players[j], &o->seen[(size_t)i * o->n + j]);
    }
    for (uint32_t i = 0; i < o->n; i++) {
        struct oracle_player *p = &o->players[i];
        if (p->waiting)
            continue;
        if (p->inside && p->paused && o->rig->sessions[p->s].view.tick == o->rig->world->tick)
            rig_fail("%s#%u is told something while it is paused", o->rig->context, p->id);
        if (p->inside && !p->paused)
            judge_viewer(o, i);
        p->resumed = false;
    }
}

uint32_t oracle_soft_rest(const struct oracle *o)
{
    const struct oracle_soft *r = &o->rules.soft;
    if (r->n_tiers == 0)
        return 0;
    return r->every[r->n_tiers - 1] + r->refresh + (uint32_t)budget_wait(o);
}

void oracle_soft_judge_rest(const struct oracle *o)
{
    double in2 = o->rules.radius * o->rules.radius;
    for (uint32_t i = 0; i < o->n; i++) {
        const struct oracle_player *v = &o->players[i];
        const struct rig_view *view = &o->rig->sessions[v->s].view;
        for (uint32_t j = 0; v->inside && v->open && j < o->n; j++) {
            const struct oracle_player *p = &o->players[j];
            const struct rig_known *k = p->inside ? rig_view_find(view, p->id) : NULL;
            if (i == j || !p->inside)
                continue;
            if (k && !was_so(o, k, j, 1))
                rig_fail("%s#%u knows #%u as it is not", o->rig->context, v->id, p->id);
            if (!k && o->rules.soft.max == 0 && distance2(v, p) <= in2)
                rig_fail("%s#%u does not know #%u, who is there", o->rig->context, v->id, p->id);
        }
        if (v->inside && v->open && o->rules.soft.max > 0)
            judge_cap(o, v, true);
    }
}
