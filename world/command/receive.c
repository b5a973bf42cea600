/* world/command/receive.c: see the header. */
#include "world/command/receive.h"

#include "common/err.h"
#include "common/log.h"
#include "world/cluster/border.h"
#include "world/cluster/ghosts.h"
#include "world/cluster/handover.h"
#include "world/cluster/registry.h"
#include "world/command/courier.h"
#include "world/command/inbox.h"
#include "world/command/keep.h"
#include "world/command/naming.h"
#include "world/command/router.h"
#include "world/command/teleport.h"
#include "world/command/walks.h"

#include <inttypes.h>

static uint32_t chain_of(const struct world *w, const struct guest *g)
{
    const struct handover *h = w->cluster->handover;

    return h->chain + handover_guest_index(h, g);
}

static void answer(struct world *w, const struct cluster_message *m, enum cluster_kind kind,
                   uint32_t number)
{
    uint32_t world = realm_world(w->cluster, m->world);
    struct cluster_message a = {
        .kind = kind, .number = number, .reason = number, .final = m->kind == CLUSTER_SWITCH};

    if (world != REALM_NOBODY && world != REALM_SELF)
        handover_say(w, world, m->id, m->count, &a);
}

static void drop(struct world *w, struct guest *g)
{
    backlog_clear(&w->backlog, chain_of(w, g));
    handover_guest_drop(w->cluster->handover, g);
}

/* --- prepare -------------------------------------------------------------------------------------
 */

static bool is_sound(const struct world *w, const struct cluster_soul *s)
{
    const struct realm *r = w->cluster;
    const struct scene *scene;

    if (s->zone >= r->n_zones)
        return false;
    scene = &w->scenes.list[realm_scene_of(r, s->zone)];
    if ((s->bits & CLUSTER_WALKS) && !scene_inside(scene, s->walk_x, s->walk_y))
        return false;
    return scene_inside(scene, s->x, s->y) && s->dir >= 0 && s->dir < 6.283185307179587 &&
           s->speed >= 0 && s->speed <= w->config.max_speed && s->walk_speed >= 0 &&
           message_name_ok(s->name);
}

/* The zone is ours, as the other world believes. */
static bool is_ours(const struct world *w, const struct cluster_soul *s)
{
    const struct realm *r = w->cluster;

    return realm_owns(r, s->zone) && r->zones[s->zone].epoch == s->epoch;
}

/* Is the name on some other way here? */
static bool name_busy(const struct world *w, const struct cluster_soul *s)
{
    const struct registry *r = w->cluster->registry;
    uint32_t place = registry_find(r, s->name);

    return place != REGISTRY_NONE &&
           !(r->list[place].state == REGISTRY_GIVEN && r->list[place].token < s->token);
}

/* Who has the name here; false: nobody who still needs it. */
static bool name_taken(const struct world *w, struct span name, struct session_ref *who)
{
    return sessions_by_name(&w->sessions, name, who) &&
           w->sessions.list[who->slot].hold != SESSION_HANDED;
}

/* Why it cannot be taken now; 0: it can. */
static uint32_t check(const struct world *w, const struct cluster_message *m)
{
    struct session_ref who;
    uint32_t slot;
    bool here = entities_by_id(&w->entities, m->id, &slot);

    if (!is_sound(w, &m->soul) || !is_ours(w, &m->soul))
        return PE_UNAVAILABLE;
    if (here && !entities_is_ghost(&w->entities, slot))
        return PE_ALREADY_IN_WORLD;
    if (here && w->cluster->count[slot] > m->count)
        return PE_UNAVAILABLE;
    if (name_taken(w, m->soul.name, &who))
        return PE_NAME_IN_USE;
    if (name_busy(w, &m->soul))
        return PE_UNAVAILABLE;
    if ((!here && entities_full(&w->entities)) || !keep_room(w) ||
        w->sessions.slots.live == w->sessions.slots.cap)
        return PE_UNAVAILABLE;
    return 0;
}

void receive_prepare(struct world *w, const struct cluster_message *m, struct mono now)
{
    struct realm *r = w->cluster;
    struct guest *g = handover_guest(r->handover, m->id);
    uint32_t world = realm_world(r, m->world), why;

    if ((g && g->state != GUEST_ASKED) || world == REALM_NOBODY) {
        w->metrics.handover_old++; /* it came already */
        return;
    }
    why = realm_is_past(r, m->id, m->count, now) ? PE_UNAVAILABLE : check(w, m);
    if (why == 0 && g && m->count >= g->count) {
        g->count = m->count;
        g->since = now;
    } else if (why == 0 && !g && handover_guest_new(r->handover, m->id, m->count, now, &g) != 0) {
        why = PE_UNAVAILABLE;
    }
    if (why != 0) {
        w->metrics.guests_refused++;
        answer(w, m, CLUSTER_REFUSE, why);
        return;
    }
    g->world = world;
    if (border_ready(w, m->soul.zone)) /* else it asks again */
        answer(w, m, CLUSTER_ACCEPT, 0);
}

/* --- switch --------------------------------------------------------------------------------------
 */

/* When the credit that it brings was counted, in its other world's tick. It grows on its way too,
 * so that who moves as fast as may be is refused nothing behind a border. Worlds count ticks from
 * one origin; to one that is behind, no time has passed. */
static struct mono counted_at(const struct world *w, const struct cluster_soul *s)
{
    uint32_t given = s->tick + 1, passed = w->tick > given ? w->tick - given : 0;

    return clock_add(w->cluster->ticked, -(int64_t)passed * w->config.tick_ns);
}

/* Its entity: the ghost that it was here, or a new one. E_FULL. */
static int take_entity(struct world *w, const struct guest *g, struct mono now, uint32_t *slot)
{
    const struct cluster_soul *s = &g->soul;
    struct cluster_event full = {
        .id = g->id,
        .count = g->count,
        .entity_kind = s->kind,
        .name = s->name,
        .x = s->x,
        .y = s->y,
        .dir = s->dir,
        .speed = s->speed,
    };
    int err = 0;

    if (!entities_by_id(&w->entities, g->id, slot))
        err = ghosts_put(w, s->zone, &full, now, slot);
    if (err != 0)
        return err;
    ghosts_take(w, *slot, g->count);
    w->cluster->name[*slot] = REALM_NONE; /* until a session has it */
    ghosts_place(w, *slot, realm_scene_of(w->cluster, s->zone), s->x, s->y, s->dir, s->speed);
    w->cluster->home[*slot] = realm_home(w->cluster, *slot, &w->entities);
    w->entities.motion[*slot] = (struct motion){s->credit, counted_at(w, s)};
    w->entities.arrived[*slot] = (s->bits & CLUSTER_ARRIVED) != 0;
    return 0;
}

static void take_walk(struct world *w, const struct cluster_soul *s, uint32_t slot, struct mono now)
{
    if (!(s->bits & CLUSTER_WALKS))
        return;
    if (walks_go(w, slot, s->walk_x, s->walk_y, s->bits & CLUSTER_PATH, WALKS_PLAYER, now) != 0)
        w->metrics.walks_left++;
    else if (s->walk_speed > 0 && walkers_has(&w->walkers, slot))
        walkers_pace(&w->walkers, slot, s->walk_speed);
}

/* One that waits for its client, as after a lost connection. E_FULL. */
static int take_session(struct world *w, const struct guest *g, struct mono now,
                        struct session_ref *out)
{
    int64_t wait_ns = w->config.resume_window_ns;
    struct session *s;
    int err = sessions_open_waiting(&w->sessions, g->soul.name,
                                    clock_add(now, wait_ns ? wait_ns : HANDOVER_WAIT_NS), out);

    if (err != 0)
        return err;
    characters_begin(&w->characters, out->slot);
    s = &w->sessions.list[out->slot];
    s->has_key = g->soul.key.n > 0;
    memcpy(s->key, g->key, sizeof(s->key));
    return 0;
}

/* It is ours. E_FULL: there is no room, and nothing has changed. */
static int take(struct world *w, struct guest *g, struct mono now)
{
    struct session_ref old;
    struct session *s;
    uint32_t slot;

    if (sessions_by_name(&w->sessions, g->soul.name, &old)) /* one we handed over ourselves */
        inbox_session_end(w, old, now);
    if (!(g->soul.bits & CLUSTER_INSIDE))
        return 0;
    if (!keep_room(w) || take_session(w, g, now, &g->waiting) != 0)
        return E_FULL;
    s = &w->sessions.list[g->waiting.slot];
    if (take_entity(w, g, now, &slot) != 0) {
        s->state = SESSION_LOGGED;
        inbox_session_end(w, g->waiting, now);
        return E_FULL;
    }
    s->entity = entities_ref(&w->entities, slot);
    w->entities.cold[slot].session = g->waiting;
    naming_own(w, g->name_at, g->waiting);
    w->cluster->name[slot] = g->name_at;
    g->name_at = REALM_NONE;
    keep_came(w, slot);
    take_walk(w, &g->soul, slot, now);
    return 0;
}

/* It is ours, and there is no room for it after all: it is kept where it stood, and its client
 * enters anew. */
static void lay_down(struct world *w, struct guest *g, struct mono now)
{
    const struct scene *scene = &w->scenes.list[realm_scene_of(w->cluster, g->soul.zone)];
    struct store_character c = {
        .name_len = (uint8_t)g->soul.name.n,
        .scene_len = (uint8_t)scene->name.n,
        .x = g->soul.x,
        .y = g->soul.y,
        .dir = g->soul.dir,
        .fence = {w->cluster->registry->generation, naming_token(w, g->name_at), 0},
    };

    memcpy(c.name, g->soul.name.p, g->soul.name.n);
    memcpy(c.scene, scene->name.p, scene->name.n);
    keep_character(w, &c);
    w->metrics.guests_laid++;
    realm_past_note(w->cluster, g->id, g->count, now);
    courier_id_end(w, g->id, now);
}

static void say_confirm(struct world *w, const struct guest *g)
{
    struct cluster_message m = {.kind = CLUSTER_CONFIRM};

    handover_say(w, g->world, g->id, g->count, &m);
}

static struct guest *named(const struct world *w, uint32_t place)
{
    struct guest *g;

    for (uint32_t at = 0; (g = handover_guest_next(w->cluster->handover, &at));) {
        if (g->state == GUEST_TAKES && g->name_at == place)
            return g;
    }
    return NULL;
}

/* Its client, if it is here already, is to log in again. */
static void drop_with_client(struct world *w, struct guest *g, struct mono now)
{
    struct session_ref who = g->client;
    struct session *s;

    drop(w, g);
    if (!sessions_find(&w->sessions, who, &s))
        return;
    outbox_close(&w->outbox, s->link, s->sid, 0, "the entity is not here any more");
    inbox_session_end(w, who, now);
}

void receive_named(struct world *w, uint32_t place, bool ours, struct mono now)
{
    struct guest *g = named(w, place);

    ASSERT(g);   /* it waits for this */
    if (!ours) { /* it went back, or on */
        w->metrics.guests_refused++;
        drop_with_client(w, g, now);
        return;
    }
    if (id_pool_owns(&w->ids, g->id))
        id_pool_abroad(&w->ids, g->id, false);
    say_confirm(w, g);
    if (take(w, g, now) != 0) {
        lay_down(w, g, now);
        naming_leave(w, place);
        drop_with_client(w, g, now);
        return;
    }
    g->state = GUEST_HERE;
    g->since = now;
    w->metrics.guests_taken++;
    if (!(g->soul.bits & CLUSTER_CLIENT)) /* nobody will attach */
        drop(w, g);
}

/* It came under this count, whatever became of it since. */
static bool came(const struct world *w, const struct cluster_message *m, struct mono now)
{
    const struct realm_past *p = realm_past_of(w->cluster, m->id, now);
    uint32_t slot;

    if (entities_by_id(&w->entities, m->id, &slot) && w->cluster->count[slot] >= m->count &&
        (!entities_is_ghost(&w->entities, slot) || w->cluster->count[slot] > m->count))
        return true;
    return p && !p->refused && p->count >= m->count;
}

static void refuse(struct world *w, const struct cluster_message *m, struct mono now)
{
    realm_past_refuse(w->cluster, m->id, m->count, now);
    w->metrics.guests_refused++;
    answer(w, m, CLUSTER_REFUSE, PE_UNAVAILABLE);
}

void receive_switch(struct world *w, const struct cluster_message *m, struct mono now)
{
    struct handover *h = w->cluster->handover;
    struct guest *g = handover_guest(h, m->id);
    struct session_ref who;

    if ((g && g->state == GUEST_HERE && g->count >= m->count) || came(w, m, now)) {
        answer(w, m, CLUSTER_CONFIRM, 0);
        return;
    }
    if (g && g->state != GUEST_ASKED)
        return; /* it is under way */
    if (!g || g->count != m->count) {
        refuse(w, m, now);
        return;
    }
    if (!is_sound(w, &m->soul) || !is_ours(w, &m->soul) || name_taken(w, m->soul.name, &who) ||
        naming_take(w, m->soul.name, m->soul.token, &g->name_at) != 0) {
        refuse(w, m, now);
        drop(w, g);
        return;
    }
    g->state = GUEST_TAKES;
    handover_keep_soul(&g->soul, &m->soul, g->name, g->key);
    if (handover_told_take(h, handover_guest_index(h, g), m->soul.told) != 0)
        g->soul.bits |= CLUSTER_AFRESH;
}

/* --- what is late --------------------------------------------------------------------------------
 */

/* All that it asked elsewhere is here, and it: its own requests come behind that. */
static void finish(struct world *w, struct guest *g, struct mono now)
{
    struct session_ref who = g->client;
    struct session *s;

    if (!sessions_find(&w->sessions, who, &s)) { /* it was lost just now */
        drop(w, g);
        return;
    }
    if (g->cut) { /* what was lost has no answer of its own */
        struct message m = {.cmd = CMD_ERROR_NOTIFY};

        m.error_notify.code = PE_UNAVAILABLE;
        m.error_notify.error = span_text("what was not answered may or may not have happened");
        w->metrics.late_lost++;
        router_answer(w, s, &m);
    }
    backlog_move(&w->backlog, who.slot, chain_of(w, g));
    s->hold = SESSION_FREE;
    drop(w, g);
    router_replay(w, who, now);
}

static void finish_if(struct world *w, struct guest *g, struct mono now)
{
    if (g->taken && g->ended)
        finish(w, g, now);
}

void receive_late(struct world *w, const struct cluster_message *m, struct mono now)
{
    struct guest *g = handover_guest(w->cluster->handover, m->id);

    if (!g || g->count != m->count) {
        answer(w, m, CLUSTER_LATE_TAKEN, m->number); /* nobody waits for it any more */
        w->metrics.handover_old++;
        return;
    }
    if (g->state != GUEST_HERE || m->number > g->late + 1)
        return;
    if (m->number == g->late + 1) {
        if (backlog_add_far(&w->backlog, chain_of(w, g), m->body) != 0)
            return; /* it is said again */
        g->late++;
        g->attached = now; /* it is worth waiting for the next */
        w->metrics.late_taken++;
    }
    answer(w, m, CLUSTER_LATE_TAKEN, m->number);
}

void receive_late_end(struct world *w, const struct cluster_message *m, struct mono now)
{
    struct guest *g = handover_guest(w->cluster->handover, m->id);

    if (g && g->count == m->count && (g->state != GUEST_HERE || m->number > g->late))
        return;
    answer(w, m, CLUSTER_LATE_TAKEN, m->number + 1);
    if (!g || g->count != m->count || g->ended)
        return;
    g->ended = true;
    g->cut = m->cut;
    finish_if(w, g, now);
}

/* --- the client ----------------------------------------------------------------------------------
 */

void receive_attach(struct world *w, struct session_ref who, const struct link_frame *f,
                    struct mono now)
{
    struct guest *g = handover_guest(w->cluster->handover, f->entity);
    struct session *s;

    /* The giver may have read of the name's taking before we do. */
    if (!g || g->count != f->count || g->state == GUEST_ASKED ||
        sessions_find(&w->sessions, g->client, &s)) {
        cmd_bind(w, who, f->note, now); /* as after a lost link */
        return;
    }
    g->client = who;
    g->attached = now;
    w->sessions.list[who.slot].hold = SESSION_LATE;
}

/* Its client is to log in again. */
static void turn_away(struct world *w, struct guest *g, struct mono now)
{
    struct session_ref who = g->client;
    const struct session *s = &w->sessions.list[who.slot];

    if (g->name_at != REALM_NONE)
        naming_leave(w, g->name_at);
    drop(w, g);
    outbox_close(&w->outbox, s->link, s->sid, 0, "the entity is not here any more");
    inbox_session_end(w, who, now);
}

/* The waiting one's entity is the client's, which knows what it was told elsewhere. */
static void take_inside(struct world *w, struct guest *g, struct mono now)
{
    uint32_t index = handover_guest_index(w->cluster->handover, g), slot;
    struct session *s;

    if (!sessions_find(&w->sessions, g->waiting, &s) || s->state != SESSION_WAITING) {
        turn_away(w, g, now); /* somebody else has it by its key, or its wait is over */
        return;
    }
    cmd_resume_take_over(w, g->waiting, g->client, g->soul.name, now);
    s = &w->sessions.list[g->client.slot];
    s->has_key = g->soul.key.n > 0;
    memcpy(s->key, g->key, sizeof(s->key));
    slot = s->entity.slot;
    g->taken = true;
    if (g->soul.bits & CLUSTER_AFRESH) {
        cmd_enter_tell(w, s, 0);
        return;
    }
    sight_blind(&w->sight, slot);
    if (handover_told_know(w, index, slot) != 0) { /* no room: it forgets all, and is told anew */
        sight_watch_seen(&w->sight, slot);
        cmd_enter_tell(w, s, 0);
    }
    pause_enter(w, s);
}

/* A session that is not in the world yet. */
static void take_outside(struct world *w, struct guest *g, struct mono now)
{
    struct session *s = &w->sessions.list[g->client.slot];
    const struct scene *scene = &w->scenes.list[realm_scene_of(w->cluster, g->soul.zone)];
    struct store_character *last = &w->characters.last[g->client.slot];
    struct session_ref old;

    if (sessions_by_name(&w->sessions, g->soul.name, &old)) {
        turn_away(w, g, now);
        return;
    }
    sessions_take_name(&w->sessions, g->client, g->soul.name);
    naming_own(w, g->name_at, g->client);
    g->name_at = REALM_NONE;
    characters_begin(&w->characters, g->client.slot);
    s->state = SESSION_LOGGED;
    s->next_id = g->id;
    s->has_key = g->soul.key.n > 0;
    memcpy(s->key, g->key, sizeof(s->key));
    *last = (struct store_character){.x = g->soul.x, .y = g->soul.y, .dir = g->soul.dir};
    last->name_len = (uint8_t)g->soul.name.n;
    memcpy(last->name, g->name, g->soul.name.n);
    last->scene_len = (uint8_t)scene->name.n;
    memcpy(last->scene, scene->name.p, scene->name.n);
    w->characters.list[g->client.slot].known = true;
    g->taken = true;
    if (!(g->soul.bits & CLUSTER_ENTERS) || cmd_enter_again(w, g->client, now) == 0)
        return;
    w->reason = NULL;
    turn_away(w, g, now);
}

/* Awaited for too long. */
static bool is_over(struct world *w, struct guest *g, struct mono now)
{
    struct session *s;

    if (g->state == GUEST_TAKES) /* the key's answer comes, or everything is void */
        return false;
    if (g->state == GUEST_ASKED)
        return clock_since(now, g->since) > HANDOVER_WAIT_NS;
    if (g->client.gen == 0)
        return clock_since(now, g->since) > HANDOVER_WAIT_NS;
    return !sessions_find(&w->sessions, g->client, &s) || s->hold != SESSION_LATE;
}

static void forget(struct world *w, struct guest *g, struct mono now)
{
    bool outside = g->state == GUEST_HERE && !(g->soul.bits & CLUSTER_INSIDE) && !g->taken;
    uint32_t id = g->id;

    if (g->state == GUEST_ASKED)
        realm_past_refuse(w->cluster, g->id, g->count, now);
    else
        w->metrics.guests_lost++;
    if (g->name_at != REALM_NONE)
        naming_leave(w, g->name_at);
    drop(w, g);
    if (outside)
        courier_id_end(w, id, now);
}

static void tick_one(struct world *w, struct guest *g, struct mono now)
{
    if (is_over(w, g, now)) {
        forget(w, g, now);
        return;
    }
    if (g->client.gen == 0 || g->state != GUEST_HERE)
        return;
    if (!g->taken && g->soul.tick >= world_told_tick(w)) /* no client is told of one tick twice */
        w->lead += g->soul.tick + 1 - world_told_tick(w);
    if (!g->taken) {
        if (g->soul.bits & CLUSTER_INSIDE)
            take_inside(w, g, now);
        else
            take_outside(w, g, now);
        finish_if(w, g, now);
    } else if (g->taken && clock_since(now, g->attached) > HANDOVER_WAIT_NS) {
        g->cut = true; /* the other world says no more */
        finish(w, g, now);
    }
}

void receive_tick(struct world *w, struct mono now)
{
    struct guest *g;

    for (uint32_t at = 0; (g = handover_guest_next(w->cluster->handover, &at));)
        tick_one(w, g, now);
}
