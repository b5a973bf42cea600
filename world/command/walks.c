/* world/command/walks.c: see the header. */
#include "world/command/walks.h"

#include "common/err.h"
#include "world/command/give.h"
#include "world/command/router.h"
#include "world/state/map.h"

#define NPC_SHARE 0.5 /* of the line of those who wait for a way */

const struct ground *walks_ground(const struct world *w, uint32_t slot)
{
    const struct map *map = w->scenes.list[w->entities.scene[slot]].map;

    return map ? &map->ground : NULL;
}

int walks_go(struct world *w, uint32_t slot, double x, double y, bool path, enum walks_for whose,
             struct mono now)
{
    const struct entities *e = &w->entities;
    bool way = path && walks_ground(w, slot);

    if (way && finder_ask(&w->finder, slot, whose == WALKS_NPC ? NPC_SHARE : 1) != 0) {
        w->metrics.paths_full++;
        return E_FULL;
    }
    if (!way)
        finder_drop(&w->finder, slot);
    if (e->x[slot] == x && e->y[slot] == y)
        (void)walks_end(w, slot);
    else if (way)
        walkers_seek(&w->walkers, slot, x, y, now);
    else
        walkers_start(&w->walkers, slot, x, y, now);
    return 0;
}

bool walks_end(struct world *w, uint32_t slot)
{
    bool walked = walkers_stop(&w->walkers, &w->entities, slot);

    finder_drop(&w->finder, slot);
    w->metrics.walks_left += walked;
    return walked;
}

/* --- ways ------------------------------------------------------------------------------------- */

static struct finder_ends way_ends(void *arg, uint32_t slot)
{
    const struct world *w = arg;
    const struct walkers_walk *k = walkers_find(&w->walkers, slot);
    const struct ground *g = walks_ground(w, slot);

    ASSERT(k);
    ASSERT(g);
    if (!ground_free_at(g, w->entities.x[slot], w->entities.y[slot]))
        return (struct finder_ends){0}; /* nowhere leads from a blocked tile: it waits in vain */
    return (struct finder_ends){
        .lanes = &w->lanes[w->entities.scene[slot]],
        .from = ground_at(g, w->entities.x[slot], w->entities.y[slot]),
        .to = ground_at(g, k->goal_x, k->goal_y),
    };
}

static void way_found(void *arg, uint32_t slot, struct path *p)
{
    struct world *w = arg;

    if (p->state == PATH_FOUND) {
        w->metrics.paths_found++;
        walkers_lead(&w->walkers, slot, &w->entities, walks_ground(w, slot), p, w->now);
    } else {
        w->metrics.paths_large++;
        walkers_lose(&w->walkers, slot);
    }
}

/* --- a tick ----------------------------------------------------------------------------------- */

/* Its owner, if anybody is there, hears that the walk is over. */
static void tell_fail(struct world *w, uint32_t slot, uint32_t code)
{
    struct message m = {.cmd = CMD_MOVE_FAIL};
    struct session *s;

    if (!sessions_find(&w->sessions, w->entities.cold[slot].session, &s))
        return;
    m.move_fail.x = w->entities.x[slot];
    m.move_fail.y = w->entities.y[slot];
    m.move_fail.code = code;
    router_answer(w, s, &m);
}

static void ended(struct world *w, uint32_t slot, enum walkers_end end)
{
    switch (end) {
    case WALKERS_THERE:
        w->metrics.walks_there++;
        break;
    case WALKERS_NEAREST:
        w->metrics.walks_nearest++;
        tell_fail(w, slot, PE_MOVE_BLOCKED);
        break;
    case WALKERS_BLOCKED:
        w->metrics.walks_blocked++;
        tell_fail(w, slot, PE_MOVE_BLOCKED);
        break;
    case WALKERS_SLOW:
        w->metrics.walks_slow++;
        tell_fail(w, slot, PE_MOVE_SPEED);
        break;
    case WALKERS_UNFOUND:
        w->metrics.walks_unfound++;
        tell_fail(w, slot, PE_UNAVAILABLE);
        break;
    case WALKERS_ON:
    case WALKERS_SEEKING:
        return;
    }
    finder_drop(&w->finder, slot);
}

/* It stands at the end of what this world may have it walk on, until another world takes it; not
 * for ever. */
static void wait_beyond(struct world *w, uint32_t slot, struct mono now)
{
    if (clock_since(now, walkers_find(&w->walkers, slot)->moved) < 3 * WALKERS_STALL_NS)
        return;
    (void)walks_end(w, slot);
    tell_fail(w, slot, PE_UNAVAILABLE);
}

void walks_tick(struct world *w, struct mono now)
{
    struct walkers *ws = &w->walkers;

    finder_run(&w->finder, way_ends, way_found, w);
    for (uint32_t i = ws->n; i-- > 0;) { /* who ends is replaced by one that took its step */
        uint32_t slot = ws->walks[i].slot;
        enum walkers_end end;

        if (w->cluster && give_holds(w, slot, now)) {
            wait_beyond(w, slot, now);
            continue;
        }
        end = walkers_step(ws, i, &w->entities, &w->motion, walks_ground(w, slot), now);

        /* Where the line was full it asks again, until it has stood for too long. */
        if (end == WALKERS_SEEKING && !finder_waits(&w->finder, slot) &&
            finder_ask(&w->finder, slot, 1) != 0)
            w->metrics.paths_full++;
        ended(w, slot, end);
    }
}
