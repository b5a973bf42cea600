/* world/command/cmd_walk.c: WalkReq: the world walks an entity to a goal, tick by tick.
 * A new WalkReq takes the place of the walk before. A MoveReq that is accepted ends it, as does
 * leaving; one that is refused changes nothing, so the walk goes on. What ends short of its goal
 * is told by MoveFail (world/command/walks).
 * May touch: the whole core, proto. Source: PROTOCOL.md, "Commands".
 */
#include "world/command/router.h"
#include "world/command/walks.h"

static double held(double v, double low, double high)
{
    return v < low ? low : v > high ? high : v;
}

int cmd_walk(struct world *w, struct session_ref who, const struct message *m, struct mono now)
{
    struct session *s = &w->sessions.list[who.slot];
    struct message answer = {.cmd = CMD_WALK_RESP, .seq = m->seq};
    uint32_t slot = s->entity.slot;
    const double *b = w->scenes.list[w->entities.scene[slot]].bounds;
    double x = held(m->walk_req.x, b[0], b[2]), y = held(m->walk_req.y, b[1], b[3]);

    if (walks_go(w, slot, x, y, m->walk_req.path, WALKS_PLAYER, now) != 0) {
        w->reason = "too many wait for a way: try again later";
        return PE_UNAVAILABLE;
    }
    w->metrics.walks++;

    answer.walk_resp.x = x;
    answer.walk_resp.y = y;
    router_answer(w, s, &answer);
    return 0;
}
