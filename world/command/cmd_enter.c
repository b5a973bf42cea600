/* world/command/cmd_enter.c: EnterReq and LeaveReq: into the world, and out of it.
 * May touch: the whole core, proto. Source: PROTOCOL.md "Ids", "Entering", "Leaving".
 */
#include "world/command/router.h"

#include "common/log.h"
#include "world/command/courier.h"
#include "world/command/give.h"
#include "world/cluster/border.h"
#include "world/cluster/registry.h"
#include "world/command/walks.h"
#include "world/command/keep.h"
#include "world/command/shout.h"
#include "world/command/teleport.h"
#include "world/interest/drain.h"
#include "world/interest/notice.h"
#include "world/interest/part.h"
#include "world/interest/pause.h"

#define WORLDS_ABREAST 4 /* see newcomer */

void cmd_enter_tell(struct world *w, const struct session *s, uint32_t seq)
{
    struct message m = {.cmd = CMD_ENTER_RESP, .seq = seq};
    const struct world_config *c = &w->config;
    uint32_t slot = s->entity.slot;

    m.enter_resp.id = w->entities.id[slot];
    m.enter_resp.scene = w->scenes.list[w->entities.scene[slot]].name;
    m.enter_resp.x = w->entities.x[slot];
    m.enter_resp.y = w->entities.y[slot];
    m.enter_resp.tick_ms = (uint32_t)(c->tick_ns / CLOCK_NS_PER_MS);
    m.enter_resp.radius = c->aoi_radius;
    m.enter_resp.quantum = c->quantum;
    m.enter_resp.max_speed = c->max_speed;
    router_answer(w, s, &m);
}

/* The id it enters under: the one that its login kept, or a new one. */
static int take_id(struct world *w, struct session *s, struct mono now, uint32_t *id)
{
    if (s->next_id == 0 && id_pool_take(&w->ids, now, &s->next_id) != 0) {
        w->metrics.ids_full++;
        w->reason = "the world is full: ids";
        return PE_UNAVAILABLE;
    }
    *id = s->next_id;
    return 0;
}

/* Is the place where it was last a place still? */
static bool stands(const struct world *w, const struct store_character *last, uint32_t *number)
{
    return scenes_find(&w->scenes, span_of(last->scene, last->scene_len), number) &&
           scene_free(&w->scenes.list[*number], last->x, last->y);
}

/* The how many-th newcomer is it? In a cluster each world counts in blocks of ids of its own, and
 * the first of some worlds stand side by side. */
static uint32_t newcomer(const struct world *w, uint32_t id)
{
    uint32_t block = w->cluster ? w->cluster->door.ids : 0;

    if (block == 0)
        return id;
    return 1 + (id - 1) % block * WORLDS_ABREAST + (id - 1) / block % WORLDS_ABREAST;
}

/* Where it was last, unless another scene is asked for; else a spawn in the scene that `b` says.
 * Returns where it looks. */
static double place(struct world *w, struct session_ref who, bool asked, struct entity_birth *b)
{
    const struct store_character *last = keep_last(w, who);
    uint32_t scene;

    if (!last || !stands(w, last, &scene) || (asked && scene != b->scene)) {
        scene_spawn(&w->scenes.list[b->scene], newcomer(w, b->id), &w->rng, &b->x, &b->y);
        return 0;
    }
    b->scene = scene;
    b->x = last->x;
    b->y = last->y;
    return last->dir;
}

/* Into the world: where it was last, or at a spawn of the scene; of no other one if that is asked
 * for. `request`: by the request at hand. 0, or a PE_*, and nothing is changed; in a cluster
 * ROUTER_WAITS, or 0 without a request, where the place is another world's, which lets it in. */
static int enter(struct world *w, struct session_ref who, uint32_t scene, bool asked, bool request,
                 struct mono now)
{
    struct session *s = &w->sessions.list[who.slot];
    struct entity_birth birth = {
        .name = span_of(s->name, s->name_len),
        .session = who,
        .scene = scene,
        .now = now,
    };
    double dir = 0;
    int err;

    if (w->cluster) {
        err = take_id(w, s, now, &birth.id);
        if (err != 0)
            return err;
        dir = place(w, who, asked, &birth);
        if (!realm_owns(w->cluster, realm_zone_at(w->cluster, birth.scene, birth.x, birth.y)))
            return give_enter(w, who, birth.scene, birth.x, birth.y, request, now);
    }
    if (entities_full(&w->entities)) {
        w->metrics.entities_full++;
        w->reason = "the world is full: entities";
        return PE_UNAVAILABLE;
    }
    if (!keep_room(w)) {
        w->metrics.saves_full++;
        w->reason = "the store is busy: try again later";
        return PE_UNAVAILABLE;
    }
    if (!w->cluster) {
        err = take_id(w, s, now, &birth.id);
        if (err != 0)
            return err;
        dir = place(w, who, asked, &birth);
    }

    err = entities_add(&w->entities, &birth, &s->entity);
    ASSERT(err == 0); /* there was a place */
    w->entities.dir[s->entity.slot] = dir;
    if (w->cluster)
        realm_born(w->cluster, s->entity.slot, w->cluster->registry->of[who.slot]);
    s->next_id = 0;
    s->state = SESSION_INSIDE;
    w->sessions.inside++;
    w->routes[s->entity.slot] = (struct world_route){s->link, s->sid};
    sight_watch(&w->sight, s->entity.slot);
    pause_enter(w, s);
    drain_enter(w, s);
    teleport_enter(w, s->entity.slot);
    log_often(LOG_INFO, "world #%u \"%.*s\" entered (%.1f, %.1f) session=%s peer=%s", birth.id,
              (int)s->name_len, s->name, birth.x, birth.y, SESSION_TEXT(w, s), s->peer);
    return 0;
}

int cmd_enter(struct world *w, struct session_ref who, const struct message *m, struct mono now)
{
    const struct session *s = &w->sessions.list[who.slot];
    uint32_t scene = w->scenes.first;
    int err;

    if (m->enter_req.has_scene && !scenes_find(&w->scenes, m->enter_req.scene, &scene))
        return PE_NO_SUCH_SCENE;
    err = enter(w, who, scene, m->enter_req.has_scene, true, now);
    if (err != 0)
        return err;
    cmd_bind_note(w, s);
    cmd_enter_tell(w, s, m->seq);
    return 0;
}

int cmd_enter_again(struct world *w, struct session_ref who, struct mono now)
{
    int err = enter(w, who, w->scenes.first, false, false, now);

    if (err == 0 && w->sessions.list[who.slot].state == SESSION_INSIDE)
        cmd_enter_tell(w, &w->sessions.list[who.slot], 0);
    return err;
}

void cmd_enter_part(struct world *w, uint32_t slot, uint32_t tick)
{
    (void)walks_end(w, slot);
    part_from(w, slot, tick);
}

void cmd_enter_undo(struct world *w, struct session *s, struct mono now)
{
    struct entities *e = &w->entities;
    uint32_t slot;

    if ((s->state != SESSION_INSIDE && s->state != SESSION_WAITING) ||
        !entities_find(e, s->entity, &slot))
        return;
    keep_entity(w, slot, e->cold[slot].session);
    cmd_enter_part(w, slot, w->tick + 1);
    if (w->cluster) {
        border_end(w, slot);
        realm_past_note(w->cluster, e->id[slot], w->cluster->count[slot], now);
    }
    courier_id_end(w, e->id[slot], now);
    log_often(LOG_INFO, "world #%u \"%.*s\" left (%.1f, %.1f) session=%s peer=%s", e->id[slot],
              (int)s->name_len, s->name, e->x[slot], e->y[slot], SESSION_TEXT(w, s), s->peer);
    entities_remove(e, s->entity);
    w->sessions.inside -= s->state == SESSION_INSIDE;
    s->entity = (struct entity_ref){0};
    s->state = SESSION_LOGGED;
}

int cmd_leave(struct world *w, struct session_ref who, const struct message *m, struct mono now)
{
    struct session *s = &w->sessions.list[who.slot];
    struct message answer = {.cmd = CMD_LEAVE_RESP, .seq = m->seq};

    if (w->config.fanout_bytes != 0)
        shout_charge(w, s, SHOUT_VISIT_BYTES, notice_count_knowing(w, s->entity.slot), now);
    cmd_enter_undo(w, s, now);
    cmd_bind_note(w, s);
    router_answer(w, s, &answer);
    return 0;
}
