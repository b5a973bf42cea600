/* world/interest/explain.c: see the header. */
#include "world/interest/explain.h"

#include "world/interest/pause.h"
#include "world/interest/soft_work.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

/* --- what is so ------------------------------------------------------------------------------- */

static bool is_held(const struct world *w, uint32_t viewer)
{
    const struct sight *s = &w->sight;

    if (s->soft)
        return (s->soft->viewers[viewer].flags & SOFT_HELD) != 0;
    return s->mode[viewer] == SIGHT_HELD;
}

/* Ticks from the last one to the next whose number is `phase` modulo `every`. */
static uint32_t ticks_to(uint32_t tick, uint32_t every, uint32_t phase)
{
    uint32_t past = tick % every;

    return phase > past ? phase - past : every - past + phase;
}

static void note_session(const struct world *w, uint32_t viewer, struct explain *x)
{
    struct session *s;

    if (!sessions_find(&w->sessions, w->entities.cold[viewer].session, &s))
        return;
    x->slow_client = s->congested;
    x->slow_link = s->state != SESSION_WAITING && w->sessions.links[s->link.slot].congested;
}

/* As sight has it. */
static void note_distance(const struct world *w, uint32_t viewer, uint32_t subject,
                          struct explain *x)
{
    double reach = x->radius + x->hysteresis;

    x->distance2 = soft_work_distance2(&w->entities, viewer, subject);
    x->distance = sqrt(x->distance2);
    x->within = x->distance2 <= x->radius * x->radius;
    x->kept_within = x->distance2 <= reach * reach;
}

/* For the cap; false: it takes no place there. `rank`: the lower, the sooner. */
static bool cap_rank(const struct world *w, uint32_t viewer, uint32_t slot, double d2,
                     const struct explain *x, double *rank)
{
    const struct soft *s = w->sight.soft;
    const struct soft_viewer *v = &s->viewers[viewer];
    const uint32_t id = w->entities.id[slot];
    const bool known = soft_list_find(s, v, known_key(id, slot)) != SOFT_NONE;
    const double reach = x->radius + (known ? x->hysteresis : 0);

    *rank = soft_list_always(v, id) ? 0 : soft_work_rank(sqrt(d2), known);
    return d2 <= reach * reach;
}

/* How many stand within the radius, how many of those are nearer, and who comes before it where
 * places are few. */
static void note_crowd(const struct world *w, uint32_t viewer, uint32_t subject, struct explain *x)
{
    const struct entities *e = &w->entities;
    const double r2 = x->radius * x->radius;
    double own, other;

    (void)cap_rank(w, viewer, subject, x->distance2, x, &own);
    for (uint32_t i = 0; i < e->alive_count; i++) {
        uint32_t slot = e->alive[i];
        double d2 = soft_work_distance2(e, viewer, slot);

        if (slot == viewer || e->scene[slot] != e->scene[viewer])
            continue;
        x->in_sight += d2 <= r2;
        x->nearer += d2 <= r2 && d2 < x->distance2;
        if (slot != subject && cap_rank(w, viewer, slot, d2, x, &other))
            x->ahead += other <= own;
    }
}

/* Of a pair that is known by turns: when its next one is, and what waits. */
static void note_turn(const struct world *w, uint32_t viewer, uint32_t subject, struct explain *x)
{
    const struct soft *s = w->sight.soft;
    const struct soft_viewer *v = &s->viewers[viewer];
    uint32_t place = soft_list_find(s, v, known_key(w->entities.id[subject], subject));
    uint8_t part;

    if (place == SOFT_NONE || (v->flags & SOFT_HELD))
        return;
    part = s->part[v->at + place];
    if (part == SOFT_WAIT)
        x->waited = w->tick - s->told[v->at + place].since + 1;
    x->due = 1;
    if (part < s->n_parts) {
        uint32_t tier = s->tier_of[part];

        x->due = ticks_to(w->tick, s->rules.every[tier], part - s->base[tier]);
    }
}

static void note_soft(const struct world *w, uint32_t viewer, uint32_t subject, struct explain *x)
{
    const struct soft *s = w->sight.soft;
    const struct soft_viewer *v = &s->viewers[viewer];

    x->tiers = s->rules.n_tiers;
    x->refresh = s->rules.refresh;
    x->max = s->rules.max;
    x->bytes = s->rules.viewer_bytes;
    if (v->drain > 0 && (x->bytes == 0 || v->drain < x->bytes))
        x->bytes = v->drain;
    if (x->same_scene) {
        x->tier = soft_work_tier(s, x->distance2);
        x->every = s->rules.every[x->tier];
    }
    if (x->max > 0 && x->same_scene)
        note_crowd(w, viewer, subject, x);
}

/* --- the one reason --------------------------------------------------------------------------- */

static enum explain_why why_seen(const struct world *w, uint32_t viewer, uint32_t subject,
                                 const struct explain *x)
{
    if (is_held(w, viewer))
        return EXPLAIN_HELD;
    if ((w->entities.flags[subject] & (ENTITY_DYING | ENTITY_AWAY)) || !x->same_scene ||
        !x->kept_within)
        return EXPLAIN_LEAVING;
    return x->within ? EXPLAIN_IN_RADIUS : EXPLAIN_KEPT;
}

/* In sight, and not known; soft sight. */
static enum explain_why why_not_soft(const struct world *w, uint32_t viewer, uint32_t subject,
                                     struct explain *x)
{
    const struct soft *s = w->sight.soft;
    const struct soft_viewer *v = &s->viewers[viewer];

    x->due = 1;
    if (s->full)
        return EXPLAIN_NO_ROOM;
    if (v->flags & SOFT_LOOK)
        return EXPLAIN_NEXT_TICK;
    if (x->max > 0 && v->n >= x->max && x->ahead >= x->max)
        return EXPLAIN_CAP;
    if (s->by_look) {
        x->due = ticks_to(w->tick + viewer, x->refresh, 0);
        return x->due > 1 ? EXPLAIN_REFRESH : EXPLAIN_NEXT_TICK;
    }
    x->due = UINT32_MAX;
    for (uint32_t t = x->tier; t < s->rules.n_tiers; t++) {
        uint32_t due = ticks_to(w->tick, s->rules.every[t], subject % s->rules.every[t]);

        x->due = due < x->due ? due : x->due;
    }
    return x->due > 1 ? EXPLAIN_TURN : EXPLAIN_NEXT_TICK;
}

/* Two who are there, of whom one does not see the other. */
static enum explain_why why_not(const struct world *w, uint32_t viewer, uint32_t subject,
                                struct explain *x)
{
    const struct entities *e = &w->entities;

    if (viewer == subject)
        return EXPLAIN_SELF;
    if (e->cold[viewer].kind != 0)
        return EXPLAIN_NPC;
    if (entities_is_ghost(e, viewer))
        return EXPLAIN_ELSEWHERE;
    if (!sight_watches(&w->sight, viewer))
        return EXPLAIN_WAITING;
    if (e->flags[subject] & ENTITY_AWAY)
        return EXPLAIN_ASLEEP;
    if (!x->same_scene)
        return EXPLAIN_SCENE;
    if (!x->within)
        return x->kept_within ? EXPLAIN_RIM : EXPLAIN_FAR;
    if (is_held(w, viewer))
        return EXPLAIN_PAUSED;
    if (w->sight.soft)
        return why_not_soft(w, viewer, subject, x);
    x->due = 1;
    if (w->sight.again[viewer] && w->sight.count[viewer] > 0 && !pause_resuming(w, viewer))
        return EXPLAIN_NO_ROOM;
    return EXPLAIN_NEXT_TICK;
}

void explain_pair(struct world *w, uint32_t viewer, uint32_t subject, struct explain *x)
{
    const struct entities *e = &w->entities;

    *x = (struct explain){
        .why = viewer == EXPLAIN_NOBODY ? EXPLAIN_VIEWER_OUT : EXPLAIN_SUBJECT_OUT,
        .radius = w->config.aoi_radius,
        .hysteresis = w->config.aoi_hysteresis,
        .tiers = 1,
        .every = 1,
        .refresh = 1,
    };
    if (viewer == EXPLAIN_NOBODY || subject == EXPLAIN_NOBODY)
        return;
    x->same_scene = e->scene[viewer] == e->scene[subject];
    if (x->same_scene)
        note_distance(w, viewer, subject, x);
    note_session(w, viewer, x);
    if (w->sight.soft)
        note_soft(w, viewer, subject, x);
    x->sees = sight_watches(&w->sight, viewer) && sight_knows(&w->sight, e, viewer, subject);
    if (!x->sees) {
        x->why = why_not(w, viewer, subject, x);
        return;
    }
    x->why = why_seen(w, viewer, subject, x);
    if (x->why != EXPLAIN_HELD)
        x->due = 1;
    if (w->sight.soft)
        note_turn(w, viewer, subject, x);
    if (w->sight.soft && w->sight.soft->by_look && x->why == EXPLAIN_LEAVING)
        x->due = ticks_to(w->tick + viewer, x->refresh, 0);
}

/* --- in words --------------------------------------------------------------------------------- */

static const char *const words[EXPLAIN_WHYS] = {
    [EXPLAIN_IN_RADIUS] = "in_radius",
    [EXPLAIN_KEPT] = "kept",
    [EXPLAIN_HELD] = "held",
    [EXPLAIN_LEAVING] = "leaving",
    [EXPLAIN_VIEWER_OUT] = "viewer_not_entered",
    [EXPLAIN_SUBJECT_OUT] = "subject_not_entered",
    [EXPLAIN_SELF] = "self",
    [EXPLAIN_NPC] = "viewer_is_npc",
    [EXPLAIN_ELSEWHERE] = "viewer_elsewhere",
    [EXPLAIN_WAITING] = "viewer_waits",
    [EXPLAIN_ASLEEP] = "subject_asleep",
    [EXPLAIN_SCENE] = "other_scene",
    [EXPLAIN_FAR] = "too_far",
    [EXPLAIN_RIM] = "at_the_rim",
    [EXPLAIN_PAUSED] = "viewer_paused",
    [EXPLAIN_NO_ROOM] = "no_room",
    [EXPLAIN_CAP] = "capped",
    [EXPLAIN_REFRESH] = "refresh",
    [EXPLAIN_TURN] = "turn",
    [EXPLAIN_NEXT_TICK] = "next_tick",
};

const char *explain_word(enum explain_why why)
{
    return words[why];
}

static const char *slow_text(const struct explain *x)
{
    return x->slow_client ? "its client does not drain" : "its gateway's link does not drain";
}

static int text_seen(const struct explain *x, char *out, size_t cap)
{
    char where[80];

    snprintf(where, sizeof(where),
             x->same_scene ? "%.2f units away, past the radius of %g" : "in another scene",
             x->distance, x->radius);
    switch (x->why) {
    case EXPLAIN_IN_RADIUS:
        return snprintf(out, cap, "seen: %.2f units away, within the radius of %g", x->distance,
                        x->radius);
    case EXPLAIN_KEPT:
        return snprintf(out, cap, "seen: %s, but known before and within the hysteresis of %g",
                        where, x->hysteresis);
    case EXPLAIN_HELD:
        return snprintf(out, cap, "seen as it was when the viewer's batches were paused: %s",
                        slow_text(x));
    default:
        return snprintf(out, cap, "still seen, but gone, asleep or %s: forgotten in %" PRIu32 "%s",
                        where, x->due, x->due == 1 ? " tick" : " ticks");
    }
}

static int text_unseen(const struct explain *x, char *out, size_t cap)
{
    switch (x->why) {
    case EXPLAIN_FAR:
        return snprintf(out, cap, "not seen: %.2f units away, the radius is %g", x->distance,
                        x->radius);
    case EXPLAIN_RIM:
        return snprintf(out, cap,
                        "not seen: %.2f units away, and whoever was not known before has to come "
                        "within the radius of %g; the hysteresis of %g is for those who were",
                        x->distance, x->radius, x->hysteresis);
    case EXPLAIN_PAUSED:
        return snprintf(out, cap, "not seen: the viewer's batches are paused: %s", slow_text(x));
    case EXPLAIN_CAP:
        return snprintf(out, cap,
                        "not seen: the viewer knows the %" PRIu32 " it may (-aoi-max); of %" PRIu32
                        " within the radius %" PRIu32 " are nearer, and a place is taken only by "
                        "who is nearer by a tenth and by a unit",
                        x->max, x->in_sight, x->nearer);
    case EXPLAIN_REFRESH:
        return snprintf(out, cap,
                        "not seen yet: who is in sight is looked up every %" PRIu32
                        " ticks (-aoi-refresh), next in %" PRIu32,
                        x->refresh, x->due);
    case EXPLAIN_TURN:
        return snprintf(out, cap,
                        "not seen yet: ring %" PRIu32 " of %" PRIu32 " is looked at every %" PRIu32
                        " ticks (-aoi-tiers), its turn is in %" PRIu32,
                        x->tier + 1, x->tiers, x->every, x->due);
    default:
        return 0;
    }
}

static const char *const plain_texts[EXPLAIN_WHYS] = {
    [EXPLAIN_VIEWER_OUT] = "not seen: the viewer has not entered the world",
    [EXPLAIN_SUBJECT_OUT] = "not seen: it has not entered the world",
    [EXPLAIN_SELF] = "not seen: nobody is told of itself",
    [EXPLAIN_NPC] = "not seen: the viewer is an NPC, and those see nobody",
    [EXPLAIN_ELSEWHERE] = "not told here: the viewer is another world's, which tells it",
    [EXPLAIN_WAITING] = "not seen: the viewer's connection was lost, and it waits for its client",
    [EXPLAIN_ASLEEP] = "not seen: it is an NPC that sleeps, since no player is near",
    [EXPLAIN_SCENE] = "not seen: they stand in different scenes",
    [EXPLAIN_NO_ROOM] = "not seen: there is no room for more pairs (-max-pairs)",
    [EXPLAIN_NEXT_TICK] = "not seen yet: it is in sight since the last tick, the next one tells",
};

void explain_text(const struct explain *x, char out[EXPLAIN_TEXT_MAX])
{
    size_t cap = EXPLAIN_TEXT_MAX;
    int n;

    if (plain_texts[x->why])
        n = snprintf(out, cap, "%s", plain_texts[x->why]);
    else
        n = x->sees ? text_seen(x, out, cap) : text_unseen(x, out, cap);
    ASSERT(n > 0);
    ASSERT((size_t)n < cap);
    if (x->sees && x->tiers > 1 && x->why == EXPLAIN_IN_RADIUS)
        n += snprintf(out + n, cap - (size_t)n,
                      "; ring %" PRIu32 " of %" PRIu32 ", told every %" PRIu32
                      " ticks, next in %" PRIu32,
                      x->tier + 1, x->tiers, x->every, x->due);
    if (x->waited > 0)
        n += snprintf(out + n, cap - (size_t)n,
                      "; its last change waits for bytes since %" PRIu32 "%s (%" PRIu64 " a tick)",
                      x->waited, x->waited == 1 ? " tick" : " ticks", x->bytes);
    ASSERT((size_t)n < cap);
}
