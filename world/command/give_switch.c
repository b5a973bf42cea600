/* world/command/give_switch.c: the moment of going, and after; see give_switch.h.
 * From the switch on the session has no entity here, and its requests go into a chain of the
 * gift's; one after the other they are sent, each when the one before was taken.
 * May touch: what give.h may.
 */
#include "world/command/give_switch.h"

#include "common/err.h"
#include "common/log.h"
#include "world/cluster/ghosts.h"
#include "world/command/courier.h"
#include "world/command/give.h"
#include "world/command/inbox.h"
#include "world/command/keep.h"
#include "world/command/naming.h"
#include "world/command/router.h"
#include "world/command/walks.h"
#include "world/interest/drain.h"
#include "world/interest/pause.h"

static uint32_t chain_of(const struct world *w, const struct gift *g)
{
    const struct handover *h = w->cluster->handover;

    return h->chain + handover_gift_index(h, g);
}

/* The client's session, if the gift still has it. */
static struct session *session_of(const struct world *w, const struct gift *g)
{
    struct session *s;

    return sessions_find(&w->sessions, g->session, &s) ? s : NULL;
}

/* --- what goes ---------------------------------------------------------------------------------
 */

static void compose_walk(const struct world *w, uint32_t slot, struct cluster_soul *soul)
{
    const struct walkers_walk *k = walkers_find(&w->walkers, slot);

    if (!k)
        return;
    soul->bits |= CLUSTER_WALKS | (k->way != WALKERS_LINE ? CLUSTER_PATH : 0);
    soul->walk_x = k->goal_x;
    soul->walk_y = k->goal_y;
    soul->walk_speed = k->speed;
}

static void compose_session(const struct session *s, struct cluster_soul *soul)
{
    soul->name = span_of(s->name, s->name_len);
    if (s->link.gen != 0)
        soul->bits |= CLUSTER_CLIENT;
    if (!s->has_key)
        return;
    soul->bits |= CLUSTER_HAS_KEY;
    soul->key = span_of(s->key, sizeof(s->key));
}

static void compose_entity(struct world *w, const struct gift *g, uint32_t slot, struct mono now,
                           struct cluster_soul *soul)
{
    const struct entities *e = &w->entities;
    const struct entity_cold *cold = &e->cold[slot];
    struct session *s;

    soul->bits = CLUSTER_INSIDE;
    soul->kind = cold->kind;
    soul->name = span_of(cold->name, cold->name_len);
    if (sessions_find(&w->sessions, cold->session, &s))
        compose_session(s, soul);
    soul->x = e->x[slot];
    soul->y = e->y[slot];
    soul->dir = e->dir[slot];
    soul->speed = e->speed[slot];
    soul->credit = motion_credit(&e->motion[slot], &w->motion, now);
    if (e->arrived[slot])
        soul->bits |= CLUSTER_ARRIVED;
    if (w->sight.soft)
        soul->bits |= CLUSTER_AFRESH; /* what it was told lies in no list */
    if (g->put) {
        soul->bits |= CLUSTER_AFRESH | CLUSTER_ARRIVED;
        soul->x = g->x;
        soul->y = g->y;
    } else {
        compose_walk(w, slot, soul);
    }
}

bool give_compose(struct world *w, struct gift *g, struct mono now, struct cluster_soul *soul)
{
    struct realm *r = w->cluster;
    struct session *s;
    uint32_t slot;

    *soul =
        (struct cluster_soul){.zone = g->zone, .epoch = g->epoch, .tick = world_told_tick(w) - 1};
    if (g->entity.gen != 0) {
        if (!entities_find(&w->entities, g->entity, &slot))
            return false;
        compose_entity(w, g, slot, now, soul);
        soul->zone_from = realm_home(r, slot, &w->entities);
    } else {
        s = session_of(w, g);
        if (!s)
            return false;
        compose_session(s, soul);
        soul->bits |= g->enters ? CLUSTER_ENTERS : 0;
        soul->x = g->x;
        soul->y = g->y;
        soul->zone_from = REALM_NONE;
    }
    if (soul->zone_from != REALM_NONE)
        soul->epoch_from = r->zones[soul->zone_from].epoch;
    return true;
}

/* --- going -------------------------------------------------------------------------------------
 */

/* Its session, if it has one: it sees no more; a client stays until its gateway leaves, one who
 * waits goes at once. */
static void part_session(struct world *w, struct gift *g, uint32_t slot, struct mono now)
{
    struct session_ref who = w->entities.cold[slot].session;
    struct session *s;

    g->session = (struct session_ref){0};
    g->left = true;
    if (!sessions_find(&w->sessions, who, &s))
        return;
    if (s->state == SESSION_INSIDE) {
        if (!(g->soul.bits & CLUSTER_AFRESH) &&
            handover_told_keep(w, handover_gift_index(w->cluster->handover, g), slot) != 0)
            g->soul.bits |= CLUSTER_AFRESH;
        pause_end(w, s);
        pause_forget(w, slot);
        sight_blind(&w->sight, slot);
        w->sessions.inside--;
        g->session = who;
        g->left = false;
    }
    s->entity = (struct entity_ref){0};
    s->state = SESSION_LOGGED;
    if (g->left)
        inbox_session_end(w, who, now);
}

static void part_entity(struct world *w, struct gift *g, uint32_t slot)
{
    double speed = w->entities.speed[slot];

    (void)walks_end(w, slot); /* it stands by that, but goes on elsewhere */
    w->entities.speed[slot] = speed;
    ghosts_give(w, slot, g->zone, g->count);
    if (g->put)
        ghosts_place(w, slot, g->scene, g->x, g->y, g->soul.dir, speed);
}

/* The session that has its name. */
static struct session_ref bearer(const struct world *w, const struct gift *g)
{
    return g->entity.gen != 0 ? w->entities.cold[g->entity.slot].session : g->session;
}

void give_switch(struct world *w, struct gift *g, struct mono now)
{
    struct cluster_soul soul;
    struct session *s;
    bool here = give_compose(w, g, now, &soul);

    ASSERT(here); /* it was wanted just now */
    handover_keep_soul(&g->soul, &soul, g->name, g->key);
    g->name_at = naming_give(w, bearer(w, g));
    g->soul.token = naming_token(w, g->name_at);
    if (g->entity.gen != 0) {
        part_session(w, g, g->entity.slot, now);
        part_entity(w, g, g->entity.slot);
        g->entity = (struct entity_ref){0};
    } else {
        session_of(w, g)->next_id = 0; /* it is the other world's to let rest */
    }
    if (id_pool_owns(&w->ids, g->id))
        id_pool_abroad(&w->ids, g->id, true);
    s = session_of(w, g);
    if (s) {
        s->hold = SESSION_HANDED;
        s->gift = handover_gift_index(w->cluster->handover, g);
        backlog_move(&w->backlog, chain_of(w, g), g->session.slot);
    }
    g->state = GIFT_GIVEN;
    g->since = now;
    w->metrics.gifts_given++;
    give_say_switch(w, g, now);
}

void give_say_switch(struct world *w, struct gift *g, struct mono now)
{
    struct cluster_message m = {.kind = CLUSTER_SWITCH, .soul = g->soul};
    size_t mark = w->scratch.used;

    g->said = now;
    m.soul.told = handover_told_records(w, handover_gift_index(w->cluster->handover, g));
    handover_say(w, g->world, g->id, g->count, &m);
    arena_rewind(&w->scratch, mark);
}

void give_keep_ghost(struct world *w, const struct gift *g)
{
    uint32_t slot;

    if (entities_by_id(&w->entities, g->id, &slot) && entities_is_ghost(&w->entities, slot) &&
        w->cluster->pending[slot] != 0)
        w->cluster->pending[slot] = w->tick;
}

/* --- gone --------------------------------------------------------------------------------------
 */

void give_taken(struct world *w, struct gift *g, struct mono now)
{
    const struct session *s = session_of(w, g);

    naming_given(w, g->name_at);
    g->name_at = REALM_NONE;
    g->state = GIFT_TAKEN;
    g->since = now;
    w->metrics.gifts_taken++;
    if (s)
        outbox_redirect(&w->outbox, s->link, s->sid, realm_world_id(w->cluster, g->world), g->id,
                        g->count);
    if (!(g->soul.bits & CLUSTER_CLIENT))
        give_done(w, g);
    else
        give_forward(w, g, now);
}

int give_late(struct world *w, struct session *s, struct span body)
{
    struct gift *g = &w->cluster->handover->gifts[s->gift];
    bool first = w->backlog.chains[chain_of(w, g)].bodies == 0;
    int err = backlog_add_far(&w->backlog, chain_of(w, g), body);

    if (err != 0 && g->state == GIFT_TAKEN) { /* it cannot be answered here any more */
        g->cut = true;
        return 0;
    }
    if (err == 0 && first && g->state == GIFT_TAKEN)
        give_forward(w, g, w->now);
    return err;
}

void give_lost(struct world *w, struct session *s)
{
    struct gift *g = &w->cluster->handover->gifts[s->gift];

    if (s->hold == SESSION_MOVES) {
        g->held = false; /* whoever asked is not there any more */
        g->session = (struct session_ref){0};
        return;
    }
    g->session = (struct session_ref){0};
    g->left = true;
    if (g->state == GIFT_TAKEN && w->backlog.chains[chain_of(w, g)].bodies == 0)
        give_forward(w, g, w->now);
}

void give_left(struct world *w, struct session_ref who, struct mono now)
{
    struct session *s;

    if (sessions_find(&w->sessions, who, &s) && s->hold == SESSION_HANDED)
        inbox_session_end(w, who, now);
}

void give_forward(struct world *w, struct gift *g, struct mono now)
{
    struct cluster_message m = {.kind = CLUSTER_LATE, .number = g->late};
    struct span body;

    if (backlog_peek(&w->backlog, chain_of(w, g), &body)) {
        m.body = body;
        w->metrics.late_sent++;
    } else if (g->left) {
        m.kind = CLUSTER_LATE_END;
        m.number = g->late - 1;
        m.cut = g->cut;
    } else {
        return;
    }
    g->said = now;
    handover_say(w, g->world, g->id, g->count, &m);
}

void give_forwarded(struct world *w, struct gift *g, uint32_t number, struct mono now)
{
    uint32_t chain = chain_of(w, g);

    if (number < g->late)
        return; /* of one before */
    if (w->backlog.chains[chain].bodies > 0) {
        backlog_drop(&w->backlog, chain);
        g->late++;
        g->since = now;
        give_forward(w, g, now);
    } else if (g->left) {
        give_done(w, g);
    }
}

void give_done(struct world *w, struct gift *g)
{
    struct session_ref who = g->session;
    struct session *s = session_of(w, g);

    backlog_clear(&w->backlog, chain_of(w, g));
    g->session = (struct session_ref){0};
    if (s) { /* its gateway never left it */
        s->hold = SESSION_FREE;
        outbox_close(&w->outbox, s->link, s->sid, 0, "the session went to another world");
        inbox_session_end(w, who, w->now);
    }
    handover_gift_drop(w->cluster->handover, g);
}

/* --- back again --------------------------------------------------------------------------------
 */

/* Its entity, ours again under a count that nobody else has; SLOTS_NONE: there is no room. */
static uint32_t rise(struct world *w, struct gift *g, struct mono now)
{
    const struct cluster_soul *soul = &g->soul;
    struct cluster_event full = {
        .id = g->id,
        .count = g->count,
        .entity_kind = soul->kind,
        .name = soul->name,
        .x = soul->x,
        .y = soul->y,
        .dir = soul->dir,
        .speed = soul->speed,
    };
    uint32_t slot;

    if (!entities_by_id(&w->entities, g->id, &slot) &&
        ghosts_put(w, g->zone, &full, now, &slot) != 0)
        return SLOTS_NONE;
    ASSERT(entities_is_ghost(&w->entities, slot));
    ghosts_take(w, slot, g->count + 1);
    w->cluster->name[slot] = g->name_at;
    ghosts_place(w, slot, realm_scene_of(w->cluster, g->zone), soul->x, soul->y, soul->dir,
                 soul->speed);
    w->entities.motion[slot] = (struct motion){soul->credit, g->since};
    return slot;
}

/* Nobody is behind it any more: it leaves the world. */
static void bury(struct world *w, uint32_t slot, struct mono now)
{
    keep_entity(w, slot, (struct session_ref){0});
    cmd_enter_part(w, slot, w->tick + 1);
    courier_id_end(w, w->entities.id[slot], now);
    entities_remove(&w->entities, entities_ref(&w->entities, slot));
}

static void back_inside(struct world *w, struct gift *g, struct session_ref who, struct session *s,
                        struct mono now)
{
    uint32_t slot = rise(w, g, now);

    if (s)
        naming_own(w, g->name_at, who);
    if (slot == SLOTS_NONE) { /* its client begins anew */
        courier_id_end(w, g->id, now);
        if (s)
            inbox_session_kick(w, who, PE_UNAVAILABLE, now);
        return;
    }
    if (!s) {
        bury(w, slot, now);
        return;
    }
    keep_came(w, slot);
    s->entity = entities_ref(&w->entities, slot);
    s->state = SESSION_INSIDE;
    w->sessions.inside++;
    w->entities.cold[slot].session = who;
    w->routes[slot] = (struct world_route){s->link, s->sid};
    if ((g->soul.bits & CLUSTER_AFRESH) ||
        handover_told_know(w, handover_gift_index(w->cluster->handover, g), slot) != 0) {
        sight_watch_seen(&w->sight, slot);
        cmd_enter_tell(w, s, 0);
    }
    pause_enter(w, s);
    drain_enter(w, s);
    if ((g->soul.bits & CLUSTER_WALKS) &&
        walks_go(w, slot, g->soul.walk_x, g->soul.walk_y, g->soul.bits & CLUSTER_PATH, WALKS_PLAYER,
                 now) != 0)
        w->metrics.walks_left++;
}

void give_recall(struct world *w, struct gift *g, struct mono now)
{
    if (g->name_at == REALM_NONE) { /* it came back, and went: whoever has it took it from there */
        give_taken(w, g, now);
        return;
    }
    g->state = GIFT_BACK;
    naming_take_back(w, g->name_at);
}

static void back_outside(struct world *w, struct gift *g, struct session_ref who, struct session *s)
{
    if (!s) {
        courier_id_return(w, g->id);
        return;
    }
    s->next_id = g->id;
    naming_own(w, g->name_at, who);
}

void give_back(struct world *w, struct gift *g, struct mono now)
{
    struct session_ref who = g->session;
    struct session *s = session_of(w, g);
    bool inside = g->soul.bits & CLUSTER_INSIDE;

    w->metrics.gifts_back++;
    if (id_pool_owns(&w->ids, g->id))
        id_pool_abroad(&w->ids, g->id, false);
    if (s) {
        s->hold = SESSION_FREE;
        backlog_move(&w->backlog, who.slot, chain_of(w, g));
    }
    if (inside)
        back_inside(w, g, who, s, now);
    else
        back_outside(w, g, who, s);
    if (!s)
        naming_leave(w, g->name_at);
    backlog_clear(&w->backlog, chain_of(w, g));
    handover_gift_drop(w->cluster->handover, g);
    if (!sessions_find(&w->sessions, who, &s))
        return;
    if (inside)
        router_replay(w, who, now);
    else
        router_refuse(w, who, "what lies there cannot be reached now: try again later", now);
}
