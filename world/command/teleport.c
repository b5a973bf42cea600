/* world/command/teleport.c: see the header. */
#include "world/command/teleport.h"

#include "common/log.h"
#include "world/cluster/realm.h"
#include "world/command/give.h"
#include "world/command/router.h"
#include "world/command/walks.h"
#include "world/interest/pause.h"

#include <inttypes.h>

/* The session of the client that is behind the entity now; NULL: an NPC, or one who waits for its
 * client. */
static const struct session *client_of(const struct world *w, uint32_t slot)
{
    struct session *s;

    if (!sessions_find(&w->sessions, w->entities.cold[slot].session, &s))
        return NULL;
    return s->state == SESSION_INSIDE ? s : NULL;
}

/* Its client, if it has one, forgets what it knew. */
static void tell_client(struct world *w, uint32_t slot)
{
    const struct session *s = client_of(w, slot);

    sight_afresh(&w->sight, slot);
    pause_forget(w, slot);
    if (s)
        cmd_enter_tell(w, s, 0);
}

static bool in_portal(const struct world *w, uint32_t slot)
{
    const struct entities *e = &w->entities;

    return scenes_portal_at(&w->scenes, e->scene[slot], e->x[slot], e->y[slot]) != NULL;
}

/* An NPC of a cluster stays in its zone. */
static bool leaves_post(const struct world *w, uint32_t slot, uint32_t scene, double x, double y)
{
    return w->cluster && w->entities.cold[slot].kind != 0 &&
           w->cluster->home[slot] != realm_zone_at(w->cluster, scene, x, y);
}

int teleport_entity(struct world *w, struct entity_ref who, uint32_t scene, double x, double y)
{
    struct entities *e = &w->entities;
    uint32_t slot, from;
    int err = 0;

    if (!entities_find(e, who, &slot))
        err = PE_NOT_IN_WORLD;
    else if (scene >= w->scenes.n)
        err = PE_NO_SUCH_SCENE;
    else if (!scene_inside(&w->scenes.list[scene], x, y))
        err = PE_MOVE_BOUNDS;
    else if (!scene_free(&w->scenes.list[scene], x, y))
        err = PE_MOVE_BLOCKED;
    else if (leaves_post(w, slot, scene, x, y))
        err = PE_UNAVAILABLE;
    if (err != 0) {
        w->metrics.teleports_refused++;
        return err;
    }

    if (w->cluster && !realm_owns(w->cluster, realm_zone_at(w->cluster, scene, x, y))) {
        err = give_put(w, slot, scene, x, y, w->now);
        w->metrics.teleports_refused += err != 0;
        w->reason = NULL;
        return err;
    }
    (void)walks_end(w, slot);
    from = e->scene[slot];
    entities_put(e, slot, scene, x, y);
    teleport_enter(w, slot);
    tell_client(w, slot);
    w->metrics.teleports++;
    log_often(LOG_INFO, "world #%u put from \"%.*s\" to \"%.*s\" (%.1f, %.1f)", e->id[slot],
              (int)w->scenes.list[from].name.n, (const char *)w->scenes.list[from].name.p,
              (int)w->scenes.list[scene].name.n, (const char *)w->scenes.list[scene].name.p, x, y);
    return 0;
}

void teleport_enter(struct world *w, uint32_t slot)
{
    if (w->scenes.n_portals > 0)
        w->entities.arrived[slot] = in_portal(w, slot);
}

/* It moved: into a portal, out of one, or neither, as most. */
static void pass(struct world *w, uint32_t slot)
{
    struct entities *e = &w->entities;
    const struct scenes_portal *p =
        scenes_portal_at(&w->scenes, e->scene[slot], e->x[slot], e->y[slot]);

    if (!p) {
        e->arrived[slot] = 0;
    } else if (!e->arrived[slot] && client_of(w, slot)) {
        int err = teleport_entity(w, entities_ref(e, slot), p->to, p->x, p->y);

        /* Where it leads was looked at when the scenes were made. */
        ASSERT(err == 0 || w->cluster); /* another world may not take it now */
        w->metrics.portals_passed += err == 0;
    }
}

void teleport_portals(struct world *w)
{
    const struct entities *e = &w->entities;

    if (w->scenes.n_portals == 0)
        return;
    for (uint32_t i = 0; i < e->dirty_count; i++) { /* nobody is added: they are dirty already */
        uint32_t slot = e->dirty[i];

        if ((e->flags[slot] & (ENTITY_MOVED | ENTITY_DYING)) == ENTITY_MOVED)
            pass(w, slot);
    }
}
