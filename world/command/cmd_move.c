/* world/command/cmd_move.c: MoveReq: an entity places itself, as fast as it may.
 * May touch: the whole core, proto. Source: PROTOCOL.md "Speed", "Moves".
 */
#include "world/command/router.h"

#include "common/log.h"
#include "world/command/give.h"
#include "world/command/walks.h"

#include <math.h>

/* Why the move may not be; 0: it may, and its credit is spent. */
static int check(struct world *w, const struct session *s, uint32_t slot, const struct message *m,
                 struct mono now)
{
    struct entities *e = &w->entities;
    const struct scene *scene = &w->scenes.list[e->scene[slot]];
    double dx = m->move_req.x - e->x[slot], dy = m->move_req.y - e->y[slot], distance;
    struct motion spent = e->motion[slot];

    if (!scene_inside(scene, m->move_req.x, m->move_req.y)) {
        w->metrics.moves_bounds++;
        log_often(
            LOG_INFO,
            "world #%u move rejected: (%.6g, %.6g) is outside the scene seq=%u session=%s peer=%s",
            e->id[slot], m->move_req.x, m->move_req.y, m->seq, SESSION_TEXT(w, s), s->peer);
        return PE_MOVE_BOUNDS;
    }
    distance = sqrt(dx * dx + dy * dy);
    if (!motion_spend(&spent, &w->motion, distance, now)) {
        w->metrics.moves_speed++;
        log_often(LOG_INFO,
                  "world #%u move rejected: %.2f units / %.0f ms exceeds %g units/s "
                  "seq=%u session=%s peer=%s",
                  e->id[slot], distance,
                  1000 * fmax(motion_credit(&e->motion[slot], &w->motion, now), 0),
                  w->config.max_speed, m->seq, SESSION_TEXT(w, s), s->peer);
        return PE_MOVE_SPEED;
    }
    if (!scene_way(scene, e->x[slot], e->y[slot], m->move_req.x, m->move_req.y)) {
        w->metrics.moves_blocked++;
        log_often(
            LOG_INFO,
            "world #%u move rejected: the way to (%.6g, %.6g) is blocked seq=%u session=%s peer=%s",
            e->id[slot], m->move_req.x, m->move_req.y, m->seq, SESSION_TEXT(w, s), s->peer);
        return PE_MOVE_BLOCKED;
    }
    e->motion[slot] = spent;
    return 0;
}

int cmd_move(struct world *w, struct session_ref who, const struct message *m, struct mono now)
{
    struct session *s = &w->sessions.list[who.slot];
    struct message answer = {.cmd = CMD_MOVE_RESP, .seq = m->seq};
    struct entities *e = &w->entities;
    uint32_t slot = s->entity.slot;
    bool moved;
    struct motion before = e->motion[slot];
    int err = check(w, s, slot, m, now);

    if (err != 0)
        return err;
    if (w->cluster && give_is_beyond(w, e->scene[slot], m->move_req.x, m->move_req.y)) {
        e->motion[slot] = before; /* the world whose place that is will spend it */
        return give_request(w, who, e->scene[slot], m->move_req.x, m->move_req.y, now);
    }

    (void)walks_end(w, slot); /* its speed is 0 again, where this move says nothing of it */
    moved = e->x[slot] != m->move_req.x || e->y[slot] != m->move_req.y;
    e->x[slot] = m->move_req.x;
    e->y[slot] = m->move_req.y;
    if (m->move_req.has_dir)
        e->dir[slot] = motion_turn(m->move_req.dir);
    if (m->move_req.has_speed)
        e->speed[slot] =
            m->move_req.speed < w->config.max_speed ? m->move_req.speed : w->config.max_speed;
    entities_mark(e, slot, moved ? ENTITY_MOVED : 0);
    w->metrics.moves_ok++;

    answer.move_resp.x = e->x[slot];
    answer.move_resp.y = e->y[slot];
    router_answer(w, s, &answer);
    return 0;
}
