/* world/command/cmd_walk.c: WalkReq: the world walks an entity to a goal, tick by tick.
 * A new WalkReq takes the place of the walk before. A MoveReq that is accepted ends it, as does
 * leaving; one that is refused changes nothing, so the walk goes on. What ends short of its goal
 * is told by MoveFail. May touch: the whole core, proto. Source: PROTOCOL.md, "WalkReq".
 */
#include "world/command/router.h"

#include "world/state/map.h"

static double held(double v, double low, double high)
{
    return v < low ? low : v > high ? high : v;
}

int cmd_walk(struct world *w, struct session_ref who, const struct message *m, struct mono now)
{
    struct session *s = &w->sessions.list[who.slot];
    struct message answer = {.cmd = CMD_WALK_RESP, .seq = m->seq};
    const struct entities *e = &w->entities;
    uint32_t slot = s->entity.slot;
    const double *b = w->scenes.list[e->scene[slot]].bounds;
    double x = held(m->walk_req.x, b[0], b[2]), y = held(m->walk_req.y, b[1], b[3]);

    if (e->x[slot] == x && e->y[slot] == y)
        (void)cmd_walk_end(w, slot);
    else
        walkers_start(&w->walkers, slot, x, y, now);
    w->metrics.walks++;

    answer.walk_resp.x = x;
    answer.walk_resp.y = y;
    router_answer(w, s, &answer);
    return 0;
}

bool cmd_walk_end(struct world *w, uint32_t slot)
{
    bool walked = walkers_stop(&w->walkers, &w->entities, slot);

    w->metrics.walks_ended += walked;
    return walked;
}

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

/* What there is to stand on around it; NULL: open ground. */
static const struct ground *ground_of(const struct world *w, uint32_t slot)
{
    const struct map *map = w->scenes.list[w->entities.scene[slot]].map;

    return map ? &map->ground : NULL;
}

void cmd_walk_tick(struct world *w, struct mono now)
{
    struct walkers *ws = &w->walkers;

    for (uint32_t i = ws->n; i-- > 0;) { /* one that ends is replaced by one that was stepped */
        uint32_t slot = ws->walks[i].slot;

        switch (walkers_step(ws, i, &w->entities, &w->motion, ground_of(w, slot), now)) {
        case WALKERS_ON:
            break;
        case WALKERS_THERE:
            w->metrics.walks_there++;
            break;
        case WALKERS_BLOCKED:
            w->metrics.walks_blocked++;
            tell_fail(w, slot, PE_MOVE_BLOCKED);
            break;
        case WALKERS_SLOW:
            w->metrics.walks_slow++;
            tell_fail(w, slot, PE_MOVE_SPEED);
            break;
        }
    }
}
