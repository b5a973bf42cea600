/* world/cluster/ghosts.c: see the header. */
#include "world/cluster/ghosts.h"

#include "common/err.h"
#include "world/interest/part.h"

int ghosts_put(struct world *w, uint32_t zone, const struct cluster_event *full, struct mono now,
               uint32_t *slot)
{
    struct realm *r = w->cluster;
    struct entity_birth b = {
        .id = full->id,
        .kind = full->entity_kind,
        .name = full->name,
        .scene = realm_scene_of(r, zone),
        .x = full->x,
        .y = full->y,
        .now = now,
    };
    struct entity_ref ref;

    if (entities_add(&w->entities, &b, &ref) != 0) {
        w->metrics.ghosts_full++;
        return E_FULL;
    }
    *slot = ref.slot;
    entities_ghost(&w->entities, ref.slot, true);
    w->entities.dir[ref.slot] = full->dir;
    w->entities.speed[ref.slot] = full->speed;
    r->home[ref.slot] = zone;
    r->count[ref.slot] = full->count;
    r->told[ref.slot] = r->gave[ref.slot] = REALM_NONE;
    r->pending[ref.slot] = 0;
    w->metrics.ghosts_put++;
    return 0;
}

void ghosts_place(struct world *w, uint32_t slot, uint32_t scene, double x, double y, double dir,
                  double speed)
{
    struct entities *e = &w->entities;

    if (e->scene[slot] != scene || e->x[slot] != x || e->y[slot] != y)
        entities_put(e, slot, scene, x, y);
    if (e->dir[slot] == dir && e->speed[slot] == speed)
        return;
    e->dir[slot] = dir;
    e->speed[slot] = speed;
    entities_mark(e, slot, 0);
}

void ghosts_remove(struct world *w, uint32_t slot, uint32_t tick)
{
    ASSERT(entities_is_ghost(&w->entities, slot));
    part_from(w, slot, tick);
    entities_remove(&w->entities, entities_ref(&w->entities, slot));
    w->cluster->home[slot] = REALM_NONE;
    w->metrics.ghosts_gone++;
}

void ghosts_give(struct world *w, uint32_t slot, uint32_t zone, uint32_t count)
{
    struct realm *r = w->cluster;

    entities_ghost(&w->entities, slot, true);
    entities_mark(&w->entities, slot, 0); /* so that borders are told of it */
    w->entities.cold[slot].session = (struct session_ref){0};
    r->home[slot] = zone;
    r->count[slot] = count;
    r->pending[slot] = w->tick;
    r->n_pending++;
}

void ghosts_take(struct world *w, uint32_t slot, uint32_t count)
{
    struct realm *r = w->cluster;

    entities_ghost(&w->entities, slot, false);
    entities_mark(&w->entities, slot, 0); /* so that borders are told of it */
    r->count[slot] = count;
    r->pending[slot] = 0;
    r->told[slot] = REALM_OWED;
    r->came_at[slot] = w->tick;
    r->home[slot] = REALM_NONE;
    r->home[slot] = realm_home(r, slot, &w->entities);
}

void ghosts_clear(struct world *w, uint32_t zone, uint32_t tick)
{
    const struct entities *e = &w->entities;

    for (uint32_t i = e->alive_count; i-- > 0;) { /* who goes is replaced by one looked at */
        uint32_t slot = e->alive[i];

        if (entities_is_ghost(e, slot) && w->cluster->home[slot] == zone &&
            w->cluster->pending[slot] == 0)
            ghosts_remove(w, slot, tick);
    }
}
