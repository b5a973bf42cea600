/* tests/world/oracle_explain.c: what is explained to operators, against what each client knows.
 * After each tick, for some of the players and another one each: what is said to be seen is what
 * the client was told, and the reason agrees with the oracle's own places, scenes, pauses and
 * waits. May touch: tests/world_rig, world/interest/explain.
 */
#include "tests/world/oracle.h"
#include "world/interest/explain.h"

#include <math.h>

#define NEAR_ENOUGH 1e-9 /* of distances computed twice */
#define SHARE       4    /* one of so many players a tick */

static uint32_t slot_of(const struct oracle *o, const struct oracle_player *p)
{
    const struct entities *e = &o->rig->world->entities;

    for (uint32_t i = 0; p->inside && i < e->alive_count; i++) {
        if (e->id[e->alive[i]] == p->id)
            return e->alive[i];
    }
    return EXPLAIN_NOBODY;
}

/* How many others may hold the viewer's places: those within the radius, and whom it knows within
 * the hysteresis too. */
static uint32_t holders(const struct oracle *o, const struct oracle_player *v,
                        const struct oracle_player *p)
{
    const struct rig_session *s = &o->rig->sessions[v->s];
    uint32_t n = 0;

    for (uint32_t i = 0; i < o->n; i++) {
        const struct oracle_player *q = &o->players[i];
        bool known = q->inside && rig_view_find(&s->view, q->id) != NULL;
        double reach = o->rules.radius + (known ? o->rules.hysteresis : 0);

        n += q != v && q != p && q->inside && q->scene == v->scene &&
             hypot(q->x - v->x, q->y - v->y) <= reach * (1 + NEAR_ENOUGH);
    }
    return n;
}

/* May this be the reason, after a tick? */
static bool fits(const struct oracle *o, const struct oracle_player *v,
                 const struct oracle_player *p, const struct explain *x)
{
    const struct oracle_soft *soft = &o->rules.soft;
    double d = hypot(p->x - v->x, p->y - v->y), r = o->rules.radius, h = o->rules.hysteresis;
    bool same = v->scene == p->scene;

    switch (x->why) {
    case EXPLAIN_IN_RADIUS:
        return same && d <= r * (1 + NEAR_ENOUGH);
    case EXPLAIN_KEPT:
    case EXPLAIN_RIM:
        return same && d > r * (1 - NEAR_ENOUGH) && d <= (r + h) * (1 + NEAR_ENOUGH);
    case EXPLAIN_HELD:
    case EXPLAIN_PAUSED:
        return v->paused && x->slow_client && !x->slow_link;
    case EXPLAIN_LEAVING:
        return soft->n_tiers > 0 && (!same || d > (r + h) * (1 - NEAR_ENOUGH)) && x->due > 0;
    case EXPLAIN_VIEWER_OUT:
        return !v->inside;
    case EXPLAIN_SUBJECT_OUT:
        return !p->inside;
    case EXPLAIN_WAITING:
        return v->waiting;
    case EXPLAIN_SCENE:
        return !same;
    case EXPLAIN_FAR:
        return same && d > (r + h) * (1 - NEAR_ENOUGH);
    case EXPLAIN_CAP:
        return soft->max > 0 && x->ahead >= soft->max && holders(o, v, p) >= soft->max &&
               d <= r * (1 + NEAR_ENOUGH);
    case EXPLAIN_REFRESH:
        return soft->refresh > 1 && x->due > 0 && x->due <= soft->refresh;
    case EXPLAIN_TURN:
    case EXPLAIN_NEXT_TICK: /* its turn is the next one */
        return soft->n_tiers > 0 && x->due > 0 && same && d <= r * (1 + NEAR_ENOUGH);
    default:
        return false;
    }
}

static void judge_pair(const struct oracle *o, const struct oracle_player *v,
                       const struct oracle_player *p)
{
    const struct rig_session *s = &o->rig->sessions[v->s];
    bool listens = v->inside && v->open && !v->waiting;
    bool knows = listens && p->inside && rig_view_find(&s->view, p->id) != NULL;
    struct explain x;
    char text[EXPLAIN_TEXT_MAX];

    explain_pair(o->rig->world, slot_of(o, v), slot_of(o, p), &x);
    explain_text(&x, text);
    if (x.sees != knows)
        rig_fail("%s#%u %s #%u, and that is explained as: %s", o->rig->context, v->id,
                 knows ? "knows" : "does not know", p->id, text);
    if (!fits(o, v, p, &x))
        rig_fail("%s#%u at %.17g, %.17g and #%u at %.17g, %.17g: wrongly explained as %s: %s",
                 o->rig->context, v->id, v->x, v->y, p->id, p->x, p->y, explain_word(x.why), text);
    if (x.same_scene && fabs(x.distance - hypot(p->x - v->x, p->y - v->y)) > 1e-6)
        rig_fail("%s#%u and #%u: a distance of %.17g", o->rig->context, v->id, p->id, x.distance);
    if (x.sees != (strncmp(text, "seen", 4) == 0 || strncmp(text, "still seen", 10) == 0))
        rig_fail("%sseen, or not seen: %s", o->rig->context, text);
}

void oracle_explain(const struct oracle *o)
{
    for (uint32_t i = o->rig->world->tick % SHARE; i < o->n; i += SHARE) {
        uint32_t other = (i + 1 + o->rig->world->tick * 7) % o->n;

        if (other != i)
            judge_pair(o, &o->players[i], &o->players[other]);
    }
}
