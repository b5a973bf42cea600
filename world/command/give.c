/* world/command/give.c: who is to go, and what is said until it is gone; see give.h.
 * May touch: what give.h may.
 */
#include "world/command/give.h"

#include "common/err.h"
#include "common/log.h"
#include "world/cluster/handover.h"
#include "world/command/courier.h"
#include "world/command/give_switch.h"
#include "world/command/inbox.h"
#include "world/command/naming.h"
#include "world/command/router.h"
#include "world/state/walkers.h"

#define SCAN_TICKS 20 /* from one look at all to the next, for those whom nobody took at once */

/* --- beginning ---------------------------------------------------------------------------------
 */

/* The gift for whoever is to go to this place, which may be nobody's yet; NULL: nobody takes it
 * now.
 */
static struct gift *begin(struct world *w, uint32_t id, uint32_t count, uint32_t scene, double x,
                          double y, struct mono now)
{
    struct realm *r = w->cluster;
    uint32_t zone = realm_zone_at(r, scene, x, y), owner = r->zones[zone].owner;
    struct gift *g;

    if (owner == REALM_SELF || r->keyless || handover_guest(r->handover, id))
        return NULL; /* it has not wholly come yet */
    if (handover_gift_new(r->handover, id, count, now, &g) != 0) {
        w->metrics.gifts_full++;
        r->handover->more = true;
        return NULL;
    }
    g->world = owner;
    g->zone = zone;
    g->epoch = r->zones[zone].epoch;
    g->scene = scene;
    g->x = x;
    g->y = y;
    return g;
}

static void begin_asking(struct world *w, struct gift *g, struct mono now)
{
    if (g->world != REALM_NOBODY)
        give_ask(w, g, now);
}

static struct gift *begin_entity(struct world *w, uint32_t slot, uint32_t scene, double x, double y,
                                 struct mono now)
{
    struct gift *g = handover_gift(w->cluster->handover, w->entities.id[slot]);

    if (g)
        return g;
    g = begin(w, w->entities.id[slot], w->cluster->count[slot] + 1, scene, x, y, now);
    if (g) {
        g->entity = entities_ref(&w->entities, slot);
        begin_asking(w, g, now);
    }
    return g;
}

/* The session's requests wait, from the one at hand on. */
static void hold(struct world *w, struct gift *g, struct session_ref who)
{
    struct session *s = &w->sessions.list[who.slot];

    g->held = true;
    g->session = who;
    s->hold = SESSION_MOVES;
    s->gift = handover_gift_index(w->cluster->handover, g);
}

bool give_is_beyond(const struct world *w, uint32_t scene, double x, double y)
{
    return realm_depth(w->cluster, scene, x, y) > w->cluster->apron;
}

static int refuse(struct world *w)
{
    w->reason = "what lies there cannot be reached now: try again later";
    return PE_UNAVAILABLE;
}

int give_request(struct world *w, struct session_ref who, uint32_t scene, double x, double y,
                 struct mono now)
{
    struct session *s = &w->sessions.list[who.slot];
    struct gift *g = begin_entity(w, s->entity.slot, scene, x, y, now);

    if (!g || g->state == GIFT_REFUSED)
        return refuse(w);
    hold(w, g, who);
    return ROUTER_WAITS;
}

int give_put(struct world *w, uint32_t slot, uint32_t scene, double x, double y, struct mono now)
{
    struct gift *g = begin_entity(w, slot, scene, x, y, now);
    struct session_ref who = w->entities.cold[slot].session;
    struct session *s;

    if (!g || g->state == GIFT_REFUSED || g->zone != realm_zone_at(w->cluster, scene, x, y))
        return refuse(w);
    g->put = true;
    g->scene = scene;
    g->x = x;
    g->y = y;
    if (sessions_find(&w->sessions, who, &s) && s->state == SESSION_INSIDE &&
        s->hold == SESSION_FREE)
        hold(w, g, who);
    return 0;
}

int give_enter(struct world *w, struct session_ref who, uint32_t scene, double x, double y,
               bool asked, struct mono now)
{
    struct session *s = &w->sessions.list[who.slot];
    struct gift *g = begin(w, s->next_id, 1, scene, x, y, now);

    ASSERT(s->next_id != 0);
    if (!g)
        return refuse(w);
    g->enters = !asked;
    hold(w, g, who);
    begin_asking(w, g, now);
    return asked ? ROUTER_WAITS : 0;
}

bool give_holds(const struct world *w, uint32_t slot, struct mono now)
{
    const struct entities *e = &w->entities;
    const struct realm *r = w->cluster;
    bool npc = e->cold[slot].kind != 0;
    const struct walkers_walk *k = walkers_find(&w->walkers, slot);
    double step = k->speed * (double)clock_since(now, k->last) / (double)CLOCK_NS_PER_S;
    double most = motion_reach(&e->motion[slot], &w->motion, now);

    if (w->walkers.rules.gait == WALKERS_TILE)
        step = most;
    step = step < most ? step : most;
    return npc ? realm_out(r, slot, e) + step > r->margin
               : realm_depth(r, e->scene[slot], e->x[slot], e->y[slot]) + step > r->apron;
}

/* --- what is said ------------------------------------------------------------------------------
 */

void give_ask(struct world *w, struct gift *g, struct mono now)
{
    struct cluster_message m = {.kind = CLUSTER_PREPARE};

    if (!give_compose(w, g, now, &m.soul))
        return;
    g->said = now;
    handover_say(w, g->world, g->id, g->count, &m);
    w->metrics.gifts_asked++;
}

/* An id that was asked for under the only count there is serves no more: others may enter by it. */
static void drop_outside(struct world *w, struct gift *g, struct mono now)
{
    struct session *s;

    if (sessions_find(&w->sessions, g->session, &s) && s->next_id == g->id) {
        courier_id_end(w, g->id, now);
        s->next_id = 0;
    }
    handover_gift_drop(w->cluster->handover, g);
}

/* Nothing is asked a second time under this count: the other world may have refused it for good. */
static void spend_count(struct world *w, const struct gift *g)
{
    uint32_t slot;

    if (entities_find(&w->entities, g->entity, &slot))
        w->cluster->count[slot] = g->count;
}

/* Its client believes to be inside, and is to log in again. */
static void turn_away(struct world *w, struct session_ref who, struct mono now)
{
    const struct session *s = &w->sessions.list[who.slot];

    w->reason = NULL;
    outbox_close(&w->outbox, s->link, s->sid, 0, "where it stood cannot be reached now");
    inbox_session_end(w, who, now);
}

/* It does not come about: what waits is refused, and it is not tried again for a while. */
static void fail(struct world *w, struct gift *g, struct mono now)
{
    struct session_ref who = g->session;
    bool held = g->held, enters = g->enters;
    struct session *s;

    spend_count(w, g);
    g->state = GIFT_REFUSED;
    g->since = now;
    g->held = g->put = false;
    if (g->entity.gen == 0) /* not inside: whoever asks again begins anew */
        drop_outside(w, g, now);
    if (!held || !sessions_find(&w->sessions, who, &s) || s->hold != SESSION_MOVES)
        return;
    s->hold = SESSION_FREE;
    if (enters)
        turn_away(w, who, now);
    else
        router_refuse(w, who, "what lies there cannot be reached now: try again later", now);
}

/* Does it still stand for going? */
static bool is_wanted(const struct world *w, const struct gift *g)
{
    const struct realm *r = w->cluster;
    struct session *s;
    uint32_t slot;

    if (g->entity.gen == 0)
        return sessions_find(&w->sessions, g->session, &s) && s->hold == SESSION_MOVES;
    if (!entities_find(&w->entities, g->entity, &slot))
        return false;
    if (g->held && (!sessions_find(&w->sessions, g->session, &s) || s->hold != SESSION_MOVES))
        return false;
    return g->held || g->put ||
           realm_depth(r, w->entities.scene[slot], w->entities.x[slot], w->entities.y[slot]) >=
               r->margin;
}

/* It was to enter elsewhere, unasked; now it is here. */
static void enter_here(struct world *w, struct session_ref who, struct mono now)
{
    if (cmd_enter_again(w, who, now) != 0)
        turn_away(w, who, now);
    else if (w->sessions.list[who.slot].hold == SESSION_FREE)
        router_replay(w, who, now);
}

/* It goes on as if nothing had been. */
static void forget(struct world *w, struct gift *g, struct mono now)
{
    struct session_ref who = g->session;
    struct session *s;
    bool held = g->held && sessions_find(&w->sessions, who, &s) && s->hold == SESSION_MOVES;
    bool enters = g->enters;

    spend_count(w, g);
    handover_gift_drop(w->cluster->handover, g);
    if (!held)
        return;
    s->hold = SESSION_FREE;
    if (enters)
        enter_here(w, who, now);
    else
        router_replay(w, who, now);
}

/* Whose is the zone that was nobody's? */
static void find_owner(struct world *w, struct gift *g, struct mono now)
{
    const struct realm_zone *z = &w->cluster->zones[g->zone];

    if (z->owner == REALM_SELF) {
        forget(w, g, now); /* what waits is ours to answer */
    } else if (z->owner != REALM_NOBODY) {
        g->world = z->owner;
        g->epoch = z->epoch;
        give_ask(w, g, now);
    }
}

static void tick_one(struct world *w, struct gift *g, struct mono now)
{
    int64_t since_ns = clock_since(now, g->since);
    bool again = clock_since(now, g->said) >= HANDOVER_SAY_NS;

    switch (g->state) {
    case GIFT_ASKED:
        if (!is_wanted(w, g))
            forget(w, g, now);
        else if (since_ns > HANDOVER_WAIT_NS)
            fail(w, g, now);
        else if (g->world == REALM_NOBODY)
            find_owner(w, g, now);
        else if (again)
            give_ask(w, g, now);
        break;
    case GIFT_READY:
        if (is_wanted(w, g))
            give_switch(w, g, now);
        else
            forget(w, g, now);
        break;
    case GIFT_REFUSED:
        if (since_ns > HANDOVER_REFUSE_NS)
            handover_gift_drop(w->cluster->handover, g);
        break;
    case GIFT_GIVEN:
        give_keep_ghost(w, g);
        if (since_ns > HANDOVER_WAIT_NS)
            give_recall(w, g, now);
        else if (again)
            give_say_switch(w, g, now);
        break;
    case GIFT_BACK:
        give_keep_ghost(w, g);
        break;
    case GIFT_TAKEN:
        if (since_ns > HANDOVER_TAKEN_NS)
            give_done(w, g);
        else if (again)
            give_forward(w, g, now);
        break;
    }
}

/* One of ours that moved, or of those who would go and nobody took: is it past the margin? */
static void look(struct world *w, uint32_t slot, struct mono now)
{
    const struct entities *e = &w->entities;
    const struct realm *r = w->cluster;

    if ((e->flags[slot] & (ENTITY_GHOST | ENTITY_DYING)) || e->id[slot] == 0 ||
        e->cold[slot].kind != 0 ||
        realm_depth(r, e->scene[slot], e->x[slot], e->y[slot]) < r->margin ||
        r->zones[realm_zone_at(r, e->scene[slot], e->x[slot], e->y[slot])].owner == REALM_NOBODY)
        return;
    (void)begin_entity(w, slot, e->scene[slot], e->x[slot], e->y[slot], now);
}

void give_tick(struct world *w, struct mono now)
{
    const struct entities *e = &w->entities;
    struct handover *h = w->cluster->handover;
    bool all = w->tick % SCAN_TICKS == 0 || w->cluster->changed || h->more;
    uint32_t most = all ? e->alive_count : e->dirty_count;
    struct gift *g;

    h->more = false;
    for (uint32_t i = 0; i < most && !h->more; i++) { /* the others follow with the next tick */
        uint32_t slot = all ? e->alive[i] : e->dirty[i];

        if (all || (e->flags[slot] & ENTITY_MOVED))
            look(w, slot, now);
    }
    for (uint32_t at = 0; (g = handover_gift_next(h, &at));)
        tick_one(w, g, now);
}

/* --- answers -----------------------------------------------------------------------------------
 */

static struct gift *of(struct world *w, uint32_t id, uint32_t count)
{
    struct gift *g = handover_gift(w->cluster->handover, id);

    if (g && g->count == count)
        return g;
    w->metrics.handover_old++;
    return NULL;
}

void give_accepted(struct world *w, uint32_t id, uint32_t count, struct mono now)
{
    struct gift *g = of(w, id, count);

    if (!g || g->state != GIFT_ASKED)
        return;
    g->state = GIFT_READY; /* it goes with the next tick */
    g->since = now;
}

void give_refused(struct world *w, const struct cluster_message *m, struct mono now)
{
    struct gift *g = of(w, m->id, m->count);

    if (!g)
        return;
    w->metrics.gifts_refused++;
    log_often(LOG_INFO, "hand-over refused: #%u %s", m->id, protocol_error_name(m->reason));
    if (g->state == GIFT_ASKED || g->state == GIFT_READY)
        fail(w, g, now);
    else if (g->state == GIFT_GIVEN && m->final) /* else of an asking that came late */
        give_recall(w, g, now);
}

void give_confirmed(struct world *w, uint32_t id, uint32_t count, struct mono now)
{
    struct gift *g = of(w, id, count);

    if (g && g->state == GIFT_GIVEN) /* in BACK the key is about to say so */
        give_taken(w, g, now);
}

void give_late_taken(struct world *w, uint32_t id, uint32_t count, uint32_t number, struct mono now)
{
    struct gift *g = of(w, id, count);

    if (g && g->state == GIFT_TAKEN)
        give_forwarded(w, g, number, now);
}

/* It was asked for there, and is asked for anew, or not at all. */
static void seek_anew(struct world *w, struct gift *g, struct mono now)
{
    if (g->entity.gen == 0) { /* its id was spent with the asking */
        if (g->world != REALM_NOBODY)
            fail(w, g, now);
        return;
    }
    if (!g->held && !g->put) {
        forget(w, g, now);
        return;
    }
    g->state = GIFT_ASKED;
    g->count += g->world != REALM_NOBODY;
    g->world = REALM_NOBODY;
    g->since = now;
}

void give_zone_lost(struct world *w, uint32_t zone, uint64_t epoch, struct mono now)
{
    struct gift *g;

    for (uint32_t at = 0; (g = handover_gift_next(w->cluster->handover, &at));) {
        if (g->zone != zone || g->epoch == epoch)
            continue;
        if (g->state == GIFT_ASKED || g->state == GIFT_READY)
            seek_anew(w, g, now);
        else if (g->state == GIFT_GIVEN)
            give_recall(w, g, now);
    }
}

/* The gift whose name has this place; NULL: there is none. */
static struct gift *named(const struct world *w, uint32_t place)
{
    struct gift *g;

    for (uint32_t at = 0; (g = handover_gift_next(w->cluster->handover, &at));) {
        if (g->name_at == place && (g->state == GIFT_GIVEN || g->state == GIFT_BACK))
            return g;
    }
    return NULL;
}

void give_named(struct world *w, uint32_t place, bool ours, struct mono now)
{
    struct gift *g = named(w, place);

    ASSERT(g); /* it waits for this */
    if (ours) {
        give_back(w, g, now);
        return;
    }
    g->name_at = REALM_NONE; /* whoever asked removes it */
    give_taken(w, g, now);
}

void give_name_taken(struct world *w, uint32_t place)
{
    struct gift *g = named(w, place);

    if (g)
        g->name_at = REALM_NONE;
}
