/* tests/world/oracle_act.c: what the oracle's players do.
 * May touch: tests/world_rig, common/rng. Looks into the world only for where cells end.
 */
#include "tests/world/oracle.h"

#include <math.h>

/* --- chance ---------------------------------------------------------------------------------- */

static double between(struct oracle *o, double lo, double hi)
{
    return lo + rng_unit(&o->rng) * (hi - lo);
}

bool oracle_chance(struct oracle *o, uint32_t of_100)
{
    return rng_below(&o->rng, 100) < of_100;
}

static double on_lattice(const struct oracle *o, double v)
{
    return o->rules.lattice > 0 ? floor(v / o->rules.lattice) * o->rules.lattice : v;
}

static bool in_bounds(const struct oracle *o, uint32_t scene, double x, double y)
{
    const double *b = o->bounds[scene];
    return x >= b[0] && x <= b[2] && y >= b[1] && y <= b[3];
}

static double somewhere(struct oracle *o, uint32_t scene, int axis)
{
    double lo = o->bounds[scene][axis], hi = o->bounds[scene][axis + 2];
    double middle = (lo + hi) / 2;
    double v = on_lattice(o, middle + between(o, -o->rules.area, o->rules.area));
    return v < lo ? lo : v > hi ? hi : v;
}

/* Another player who is inside, or NULL. */
static struct oracle_player *somebody(struct oracle *o, const struct oracle_player *but)
{
    for (int i = 0; i < 8; i++) {
        struct oracle_player *q = &o->players[rng_below(&o->rng, o->n)];
        if (q != but && q->inside)
            return q;
    }
    return NULL;
}

/* --- acts ------------------------------------------------------------------------------------ */

static void go(struct oracle *o, struct oracle_player *p, double x, double y)
{
    if (!in_bounds(o, p->scene, x, y))
        return;
    uint32_t seq = rig_send_move(o->rig, p->s, x, y);
    const struct message *m = rig_answer(o->rig, p->s, seq);
    if (m && m->cmd == CMD_ERROR_NOTIFY && m->error_notify.code == PE_MOVE_SPEED &&
        o->rules.max_speed < ORACLE_FAST)
        return;
    if (!m || m->cmd != CMD_MOVE_RESP)
        rig_fail("%sa move to %.17g, %.17g was refused", o->rig->context, x, y);
    p->x = x;
    p->y = y;
}

/* Chance is asked in one order, so that a seed is the same run with every compiler. */
static void go_somewhere(struct oracle *o, struct oracle_player *p)
{
    double x = somewhere(o, p->scene, 0), y = somewhere(o, p->scene, 1);
    go(o, p, x, y);
}

static void face(struct oracle *o, struct oracle_player *p, double dir, double speed)
{
    rig_turn(o->rig, p->s, p->x, p->y, dir, speed);
    dir = fmod(dir, ORACLE_TURN);
    p->dir = dir < 0 ? dir + ORACLE_TURN : dir;
    p->speed = speed;
}

static void enter(struct oracle *o, struct oracle_player *p)
{
    p->scene = o->rules.maps == 0 ? 0 : (uint32_t)rng_below(&o->rng, o->rules.maps + 1);
    p->id = rig_enter_scene(o->rig, p->s, p->scene == 0 ? SCENE_OPEN : o->maps[p->scene - 1].name);
    p->puts = o->rig->sessions[p->s].puts;
    p->inside = true;
    p->x = o->rig->sessions[p->s].x;
    p->y = o->rig->sessions[p->s].y;
    p->dir = p->speed = 0;
    if (!in_bounds(o, p->scene, p->x, p->y))
        rig_fail("%sspawned outside, at %.17g, %.17g", o->rig->context, p->x, p->y);
    for (uint32_t i = 0; i < o->n; i++)
        if (&o->players[i] != p && o->players[i].inside && o->players[i].id == p->id)
            rig_fail("%sid %u given twice", o->rig->context, p->id);
    go_somewhere(o, p);
}

void oracle_come(struct oracle *o, struct oracle_player *p)
{
    if (!p->open) {
        p->s = rig_open(o->rig, (uint32_t)rng_below(&o->rng, o->rules.links));
        p->open = true;
        p->paused = p->resumed = false;
        rig_login(o->rig, p->s, p->name);
        memcpy(p->key, o->rig->sessions[p->s].key, sizeof p->key);
    }
    enter(o, p);
}

static void forget(struct oracle *o, struct oracle_player *p)
{
    size_t at = (size_t)(p - o->players);
    p->inside = false;
    memset(o->pairs + at * o->n, 0, o->n * sizeof *o->pairs);
}

void oracle_leave(struct oracle *o, struct oracle_player *p)
{
    rig_leave(o->rig, p->s);
    forget(o, p);
}

void oracle_lose(struct oracle *o, struct oracle_player *p)
{
    if (p->inside && o->rules.window > 0)
        oracle_leave(o, p);
    rig_close(o->rig, p->s);
    p->open = false;
    if (p->inside)
        forget(o, p);
}

/* By any gateway; the old connection may still be there. */
void oracle_resume(struct oracle *o, struct oracle_player *p)
{
    char key[RIG_KEY_BYTES + 1];
    uint32_t old = p->s;
    memcpy(key, p->key, sizeof key);
    p->s = rig_open(o->rig, (uint32_t)rng_below(&o->rng, o->rules.links));
    uint32_t seq = rig_send_resume(o->rig, p->s, p->name, key);
    const struct message *m = rig_answer(o->rig, p->s, seq);
    if (!m || m->cmd != CMD_LOGIN_RESP || !m->login_resp.resumed || m->login_resp.id != p->id)
        rig_fail("%s%u is not resumed", o->rig->context, p->id);
    const struct rig_session *s = &o->rig->sessions[p->s];
    if (!s->view.inside || s->id != p->id || s->x != p->x || s->y != p->y)
        rig_fail("%s%u is resumed at %.17g, %.17g where it is at %.17g, %.17g", o->rig->context,
                 p->id, s->x, s->y, p->x, p->y);
    if (p->open &&
        (!o->rig->sessions[old].closed || o->rig->sessions[old].close_code != PE_NAME_IN_USE))
        rig_fail("%sthe older connection of %u is not closed", o->rig->context, p->id);
    memcpy(p->key, s->key, sizeof p->key);
    p->puts = s->puts;
    p->open = true;
    p->waiting = p->paused = p->resumed = false;
    memset(o->pairs + (size_t)(p - o->players) * o->n, 0, o->n * sizeof *o->pairs);
}

static void act_drop(struct oracle *o, struct oracle_player *p)
{
    if (oracle_chance(o, 30)) {
        oracle_resume(o, p);
        return;
    }
    rig_close(o->rig, p->s);
    p->open = p->paused = p->resumed = false;
    p->waiting = true;
    p->until = clock_add(o->rig->now, o->rig->world->config.resume_window_ns);
}

/* One who waits may come back, or log in afresh, or wait. */
static void act_waiting(struct oracle *o, struct oracle_player *p)
{
    if (oracle_chance(o, 20)) {
        oracle_resume(o, p);
    } else if (oracle_chance(o, 5)) {
        p->waiting = false;
        forget(o, p);
        oracle_come(o, p);
    }
}

static void act_tiny(struct oracle *o, struct oracle_player *p)
{
    double step = o->rules.move_epsilon / 3;
    double dx = between(o, -step, step), dy = between(o, -step, step);
    go(o, p, p->x + dx, p->y + dy);
    if (oracle_chance(o, 30)) {
        double turn = o->rules.dir_epsilon / 360 * ORACLE_TURN / 3;
        face(o, p, p->dir + between(o, -turn, turn), p->speed);
    }
}

static void act_turn(struct oracle *o, struct oracle_player *p)
{
    double dir = p->dir, speed = p->speed;
    switch (rng_below(&o->rng, 5)) {
    case 0:
        dir = between(o, 0, ORACLE_TURN);
        break;
    case 1: /* close to where 2π is 0 again */
        dir = between(o, -0.03, 0.03);
        break;
    case 2:
        dir = between(o, -50, 50);
        break;
    case 3:
        speed = oracle_chance(o, 30) ? 0 : between(o, 0, o->rules.max_speed);
        break;
    default:
        dir = between(o, 0, ORACLE_TURN);
        speed = between(o, 0, o->rules.max_speed);
    }
    face(o, p, dir, speed);
}

static double hair(struct oracle *o, double v)
{
    switch (rng_below(&o->rng, 5)) {
    case 0:
        return nextafter(v, INFINITY);
    case 1:
        return nextafter(v, -INFINITY);
    case 2:
        return v + 1.0 / 64;
    case 3:
        return v - 1.0 / 64;
    default:
        return v;
    }
}

static void act_edge(struct oracle *o, struct oracle_player *p)
{
    static const double ways[][2] = {{1, 0}, {0, 1}, {0.6, 0.8}, {0.8, 0.6}};
    const struct oracle_player *q = somebody(o, p);
    if (!q)
        return;
    double reach = o->rules.radius + (oracle_chance(o, 50) ? o->rules.hysteresis : 0);
    const double *way = ways[rng_below(&o->rng, 4)];
    double dx = reach * way[0], dy = reach * way[1];
    if (way[1] == 0)
        dx = hair(o, dx);
    else
        dy = hair(o, dy);
    double x = oracle_chance(o, 50) ? q->x + dx : q->x - dx;
    double y = oracle_chance(o, 50) ? q->y + dy : q->y - dy;
    go(o, p, x, y);
}

static void act_border(struct oracle *o, struct oracle_player *p)
{
    double side = o->rig->world->scenes.grid.areas[p->scene].side;
    double x0 = o->bounds[p->scene][0], y0 = o->bounds[p->scene][1];
    double x = somewhere(o, p->scene, 0), y = somewhere(o, p->scene, 1);
    if (oracle_chance(o, 70))
        x = hair(o, x0 + floor((x - x0) / side) * side);
    if (oracle_chance(o, 70))
        y = hair(o, y0 + floor((y - y0) / side) * side);
    go(o, p, x, y);
}

static void act_rim(struct oracle *o, struct oracle_player *p)
{
    const double *b = o->bounds[p->scene];
    double x = oracle_chance(o, 50) ? b[oracle_chance(o, 50) ? 0 : 2] : p->x;
    double y = oracle_chance(o, 50) ? b[oracle_chance(o, 50) ? 1 : 3] : p->y;
    go(o, p, x, y);
}

static double far(struct oracle *o)
{
    double way = 0;
    switch (rng_below(&o->rng, 4)) {
    case 0:
        way = (double)(PROTO_WRAP_QUANTA - 2 + (int)rng_below(&o->rng, 5)) * o->rules.quantum;
        break;
    case 1:
        way = (double)(65536 - 20 + (int)rng_below(&o->rng, 40)) * o->rules.quantum;
        break;
    case 2:
        way = between(o, 0, 4 * PROTO_WRAP_QUANTA * o->rules.quantum);
        break;
    default:
        return 0;
    }
    return oracle_chance(o, 50) ? way : -way;
}

static void act_joint(struct oracle *o, struct oracle_player *p)
{
    struct oracle_player *q = somebody(o, p);
    double dx = far(o), dy = far(o);
    if (!q || !q->open || !in_bounds(o, p->scene, p->x + dx, p->y + dy) ||
        !in_bounds(o, q->scene, q->x + dx, q->y + dy))
        return;
    go(o, p, p->x + dx, p->y + dy);
    go(o, q, q->x + dx, q->y + dy);
}

static void act_back(struct oracle *o, struct oracle_player *p)
{
    double x = p->x, y = p->y;
    go_somewhere(o, p);
    go(o, p, x, y);
}

static void act_refused(struct oracle *o, struct oracle_player *p)
{
    const double *b = o->bounds[p->scene];
    if (oracle_chance(o, 30)) {
        rig_refused(o->rig, p->s, rig_send_turn(o->rig, p->s, b[0], b[1], 1, -1), PE_BAD_PAYLOAD);
        return;
    }
    double x = oracle_chance(o, 50) ? b[2] + 1 : b[0] - 1, y = somewhere(o, p->scene, 1);
    const struct message *m =
        rig_refused(o->rig, p->s, rig_send_turn(o->rig, p->s, x, y, 3, 3), PE_MOVE_BOUNDS);
    if (!m->error_notify.has_place || m->error_notify.x != p->x || m->error_notify.y != p->y)
        rig_fail("%sthe last legal place is not told", o->rig->context);
}

/* All whose views know the speaker hear it, paused or not, and nobody else. */
static void act_say(struct oracle *o, struct oracle_player *p)
{
    uint64_t heard[ORACLE_PLAYERS_MAX];
    for (uint32_t i = 0; i < o->n; i++)
        heard[i] = o->rig->sessions[o->players[i].s].view.hears;
    rig_say(o->rig, p->s, "hello");
    for (uint32_t i = 0; i < o->n; i++) {
        const struct rig_view *view = &o->rig->sessions[o->players[i].s].view;
        bool knows = o->players[i].inside && rig_view_find(view, p->id) != NULL;
        if (o->players[i].open && view->hears - heard[i] != knows)
            rig_fail("%s#%u %s #%u", o->rig->context, o->players[i].id,
                     knows ? "does not hear" : "hears", p->id);
    }
}

static void act_step(struct oracle *o, struct oracle_player *p)
{
    double far_off = oracle_chance(o, 10) ? o->rules.radius : 1.5;
    double dx = between(o, -far_off, far_off), dy = between(o, -far_off, far_off);
    go(o, p, on_lattice(o, p->x + dx), on_lattice(o, p->y + dy));
}

static void act_leave(struct oracle *o, struct oracle_player *p)
{
    oracle_leave(o, p);
    if (oracle_chance(o, 40))
        enter(o, p);
}

void oracle_put(struct oracle *o, struct oracle_player *p)
{
    const struct rig_session *s = &o->rig->sessions[p->s];
    size_t at = (size_t)(p - o->players);
    p->puts = s->puts;
    p->scene = 0;
    for (uint32_t i = 0; i < o->rules.maps; i++)
        if (strcmp(s->scene, o->maps[i].name) == 0)
            p->scene = i + 1;
    p->x = s->x;
    p->y = s->y;
    memset(o->pairs + at * o->n, 0, o->n * sizeof *o->pairs);
}

/* To where it stands in another scene, to somebody, or anywhere; with chance more than once. */
static void act_hop(struct oracle *o, struct oracle_player *p)
{
    do {
        const struct oracle_player *q = somebody(o, p);
        uint32_t scene = (uint32_t)rng_below(&o->rng, o->rules.maps + 1);
        double x = somewhere(o, scene, 0), y = somewhere(o, scene, 1);
        if (oracle_chance(o, 40)) {
            x = p->x;
            y = p->y;
        } else if (q && oracle_chance(o, 50)) {
            scene = q->scene;
            x = q->x + 1;
            y = q->y;
        }
        int err = rig_teleport(o->rig, p->s, scene, x, y);
        if (err != (in_bounds(o, scene, x, y) ? 0 : PE_MOVE_BOUNDS))
            rig_fail("%sput to %.17g, %.17g of %u: %d", o->rig->context, x, y, scene, err);
        if (err != 0)
            continue;
        oracle_put(o, p);
        if (p->scene != scene || p->x != x || p->y != y)
            rig_fail("%sput to another place", o->rig->context);
    } while (oracle_chance(o, 30));
}

void oracle_pause(struct oracle *o, struct oracle_player *p)
{
    p->resumed = p->paused;
    p->paused = !p->paused;
    rig_congestion(o->rig, p->s, p->paused);
}

static void do_act(struct oracle *o, struct oracle_player *p, enum oracle_act act)
{
    switch (act) {
    case ORACLE_STEP:
        return act_step(o, p);
    case ORACLE_TINY:
        return act_tiny(o, p);
    case ORACLE_FACE:
        return act_turn(o, p);
    case ORACLE_JUMP:
        return go_somewhere(o, p);
    case ORACLE_EDGE:
        return act_edge(o, p);
    case ORACLE_BORDER:
        return act_border(o, p);
    case ORACLE_RIM:
        return act_rim(o, p);
    case ORACLE_JOINT:
        return act_joint(o, p);
    case ORACLE_BACK:
        return act_back(o, p);
    case ORACLE_SAY:
        return act_say(o, p);
    case ORACLE_REFUSED:
        return act_refused(o, p);
    case ORACLE_LEAVE:
        return act_leave(o, p);
    case ORACLE_CLOSE:
        return oracle_lose(o, p);
    case ORACLE_PAUSE:
        return oracle_pause(o, p);
    case ORACLE_DROP:
        return act_drop(o, p);
    case ORACLE_HOP:
        return act_hop(o, p);
    default:
        return;
    }
}

static enum oracle_act choose(struct oracle *o)
{
    uint32_t sum = 0;
    for (int i = 0; i < ORACLE_ACTS; i++)
        sum += o->rules.weight[i];
    uint32_t at = (uint32_t)rng_below(&o->rng, sum);
    int act = 0;
    while (at >= o->rules.weight[act])
        at -= o->rules.weight[act++];
    return (enum oracle_act)act;
}

void oracle_act(struct oracle *o)
{
    for (uint32_t i = 0; i < o->n; i++) {
        struct oracle_player *p = &o->players[i];
        uint32_t turns = 1 + (uint32_t)rng_below(&o->rng, o->rules.turns);
        if (!p->inside && oracle_chance(o, 10))
            oracle_come(o, p);
        if (p->waiting)
            act_waiting(o, p);
        while (turns-- > 0 && p->inside && p->open)
            do_act(o, p, choose(o));
    }
}
