/* bot/smoke.c: one scenario with three players that shows whether a pair of gateway and world
 * works. A straight story: each step asks, turns the loop until the answer is there, and prints its
 * line; the first thing that is not as it should be ends it. May touch: common, proto, bot.
 * On trouble: `smoke FAILED: why`, exit status 1. A server that is not there yet, a name that is
 * still being freed and a move that came too early are tried again; all else is told at once.
 */
#include "bot/smoke.h"

#include "bot/bot_client.h"
#include "bot/smoke_plan.h"
#include "bot/stroll.h"
#include "bot/walker.h"
#include "common/clock.h"
#include "common/err.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#define SMOKE_OPEN       "open" /* the scene without walls that each world has */
#define SMOKE_SMALL_STEP 0.1    /* units: what the credit on entering pays for */

#define SMOKE_RETRY_NS      (200 * CLOCK_NS_PER_MS) /* between tries to connect or to log in */
#define SMOKE_NAME_WAIT_NS  (10 * CLOCK_NS_PER_S)   /* for a name that somebody else has */
#define SMOKE_SIGHT_WAIT_NS (5 * CLOCK_NS_PER_S)    /* for what the next tick should bring */
#define SMOKE_STEP_NS       (50 * CLOCK_NS_PER_MS)  /* between two steps of walking */
#define SMOKE_SMALL_TRIES   20                      /* of the legal move */
#define SMOKE_QUIET_TICKS   4                       /* listened to after the last leave */

/* The answer to the request that was sent last. */
struct smoke_answer {
    bool here;
    uint32_t cmd;
    uint32_t code; /* of an ErrorNotify */
    bool has_place;
    double x, y;
    char text[BOT_WHY_MAX]; /* of an ErrorNotify */
};

struct smoke_player {
    struct smoke *smoke;
    const char *name, *addr;
    struct bot_client *client;
    const struct bot_client_facts *facts;
    struct smoke_answer answer;
    bool closed;
    char closed_why[BOT_WHY_MAX];
    struct walker walker;
    bool walks; /* takes part in walk() */
    struct smoke_plan_place goal;
};

enum smoke_who { ALPHA, BETA, GAMMA };

struct smoke {
    const struct bot_config *config;
    struct loop *loop;
    struct message_reader *reader;
    struct mono deadline;
    struct smoke_player player[SMOKE_PLAN_PLAYERS];
    bool placed; /* there is a place round which they meet */
    struct smoke_plan_place at;
    bool failed;
    bool walled; /* walk() met the end of the scene or a wall */
    char why[2 * BOT_WHY_MAX];
};

/* --- what happens to a player --------------------------------------------------------------- */

static bool fail(struct smoke *s, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* The first reason is the one that is told. Always false. */
static bool fail(struct smoke *s, const char *fmt, ...)
{
    va_list ap;

    if (s->failed)
        return false;
    s->failed = true;
    va_start(ap, fmt);
    vsnprintf(s->why, sizeof(s->why), fmt, ap);
    va_end(ap);
    return false;
}

static void on_message(void *arg, const struct message *m, const struct pending_request *asked)
{
    struct smoke_player *p = arg;

    if (!asked) {
        if (m->cmd != CMD_ERROR_NOTIFY)
            return;
        if (p->facts->id != 0)
            fail(p->smoke, "%s was told unasked: %s", p->name,
                 protocol_error_text(m->error_notify.code));
        /* Before the login it may be all the answer that there will be. */
    }
    p->answer = (struct smoke_answer){.here = true, .cmd = m->cmd};
    if (m->cmd == CMD_ERROR_NOTIFY) {
        p->answer.code = m->error_notify.code;
        p->answer.has_place = m->error_notify.has_place;
        p->answer.x = m->error_notify.x;
        p->answer.y = m->error_notify.y;
        bot_client_error_text(m, p->answer.text, sizeof(p->answer.text));
    } else if (m->cmd == CMD_MOVE_RESP) {
        p->answer.x = m->move_resp.x;
        p->answer.y = m->move_resp.y;
    }
}

static void on_breach(void *arg, const char *text)
{
    struct smoke_player *p = arg;

    fail(p->smoke, "%s was told what breaks the contract: %s", p->name, text);
}

static void on_closed(void *arg, const char *why)
{
    struct smoke_player *p = arg;

    p->closed = true;
    snprintf(p->closed_why, sizeof(p->closed_why), "%s", why);
}

static const struct bot_client_ops smoke_ops = {
    .message = on_message, .breach = on_breach, .closed = on_closed};

/* --- turning the loop ----------------------------------------------------------------------- */

static bool has_failed(void *arg)
{
    const struct smoke *s = arg;
    return s->failed;
}

/* False where the scenario is over meanwhile. */
static bool pause_for(struct smoke *s, int64_t ns)
{
    struct mono until = clock_add(clock_mono(), ns);

    if (clock_since(s->deadline, until) < 0)
        until = s->deadline;
    bot_client_run_until(s->loop, has_failed, s, until);
    return !s->failed;
}

static bool time_is_over(const struct smoke *s)
{
    return clock_since(s->deadline, clock_mono()) <= 0;
}

static bool has_answer(void *arg)
{
    const struct smoke_player *p = arg;
    return p->answer.here || p->closed || p->smoke->failed;
}

/* Wait for the answer to what was just sent (`rc` is what sending said). */
static bool await(struct smoke_player *p, const char *what, int rc)
{
    struct smoke *s = p->smoke;

    if (rc != 0)
        return fail(s, "%s of %s could not be sent: %s", what, p->name, err_text(rc));
    bot_client_run_until(s->loop, has_answer, p, s->deadline);
    if (s->failed)
        return false;
    if (p->closed)
        return fail(s, "connection of %s ended: %s", p->name, p->closed_why);
    if (!p->answer.here)
        return fail(s, "%s of %s had no answer in time", what, p->name);
    return true;
}

/* As await, for an answer that has to be this one. */
static bool await_only(struct smoke_player *p, const char *what, int rc, uint32_t cmd)
{
    if (!await(p, what, rc))
        return false;
    if (p->answer.cmd != cmd)
        return fail(p->smoke, "%s: %s", p->name, p->answer.text);
    return true;
}

/* --- log in and enter ------------------------------------------------------------------------ */

static bool is_connected(void *arg)
{
    const struct smoke_player *p = arg;
    return p->facts->connected || p->closed || p->smoke->failed;
}

/* One try to be connected and to have an answer to a login. False: `closed_why` tells. */
static bool try_login(struct smoke_player *p)
{
    struct smoke *s = p->smoke;

    p->answer.here = false;
    if (!p->facts->connected) {
        p->closed = false;
        int rc = bot_client_connect(p->client, p->addr, s->config->timeout_ns);
        if (rc != 0)
            return fail(s, "cannot connect to %s: %s", p->addr, err_text(rc));
        if (!bot_client_run_until(s->loop, is_connected, p, s->deadline) || p->closed)
            return false;
    }
    int rc = bot_client_login(p->client, p->name);
    if (rc != 0)
        return fail(s, "login of %s could not be sent: %s", p->name, err_text(rc));
    bot_client_run_until(s->loop, has_answer, p, s->deadline);
    return p->answer.here;
}

static bool login(struct smoke_player *p)
{
    struct smoke *s = p->smoke;
    const char *why = "no answer";
    struct mono began = clock_mono();

    for (; !s->failed && !time_is_over(s); pause_for(s, SMOKE_RETRY_NS)) {
        if (!try_login(p)) {
            if (p->closed)
                why = p->closed_why;
            continue;
        }
        if (p->answer.cmd == CMD_LOGIN_RESP) {
            printf("[%s] login reply {\"ok\":true,\"id\":%u,\"name\":\"%s\"}\n", p->name,
                   p->facts->id, p->facts->name);
            if (strcmp(p->facts->name, p->name) != 0)
                return fail(s, "%s is called \"%s\" by the server", p->name, p->facts->name);
            return true;
        }
        why = p->answer.text;
        if (p->answer.code == PE_NAME_IN_USE) {
            if (clock_since(clock_mono(), began) > SMOKE_NAME_WAIT_NS)
                return fail(s, "the name \"%s\" is held by somebody else", p->name);
        } else if (p->answer.code != PE_UNAVAILABLE && p->answer.code != PE_RATE_LIMITED) {
            return fail(s, "%s: %s", p->name, why);
        }
    }
    return fail(s, "no login of %s at %s in time: %s", p->name, p->addr, why);
}

/* A world with scenes may lead those who name none into walls: the three need open ground. */
static bool enter(struct smoke_player *p)
{
    p->answer.here = false;
    int rc = p->smoke->config->scene[0] != '\0' ? bot_client_enter_scene(p->client, SMOKE_OPEN)
                                                : bot_client_enter(p->client);
    if (!await_only(p, "entering", rc, CMD_ENTER_RESP))
        return false;
    walker_place(&p->walker, p->facts->x, p->facts->y, p->facts->max_speed, clock_mono());
    printf("[%s] entered world (x=%.1f)\n", p->name, p->facts->x);
    return true;
}

/* --- walking --------------------------------------------------------------------------------- */

/* Handle what the world said to a step. A step that came too early is no fault: the next one
 * starts from where the world left the player. */
static bool take_step_answer(struct smoke_player *p)
{
    if (p->answer.cmd == CMD_MOVE_RESP)
        return true;
    if (p->answer.code != PE_MOVE_SPEED && p->answer.code != PE_MOVE_BLOCKED &&
        p->answer.code != PE_MOVE_BOUNDS)
        return fail(p->smoke, "%s: %s", p->name, p->answer.text);
    walker_refused(&p->walker, p->answer.x, p->answer.y);
    if (p->answer.code != PE_MOVE_SPEED)
        p->smoke->walled = true;
    return true;
}

/* All who walk go toward their goals until `pred` holds. False: over, failed or walled. */
static bool walk(struct smoke *s, bot_client_pred_fn *pred)
{
    for (int i = 0; i < SMOKE_PLAN_PLAYERS; i++)
        s->player[i].walker.last = clock_mono();
    s->walled = false;
    while (pause_for(s, SMOKE_STEP_NS) && !time_is_over(s)) {
        if (pred(s))
            return true;
        for (int i = 0; i < SMOKE_PLAN_PLAYERS; i++) {
            struct smoke_player *p = &s->player[i];
            if (!p->walks)
                continue;
            p->answer.here = false;
            walker_toward(&p->walker, p->goal.x, p->goal.y, clock_mono());
            int rc = bot_client_move_with(p->client, p->walker.x, p->walker.y, p->walker.dir,
                                          p->walker.speed);
            if (!await(p, "a step", rc) || !take_step_answer(p) || s->walled)
                return false;
        }
    }
    return false;
}

static void places(const struct smoke *s, struct smoke_plan_place at[SMOKE_PLAN_PLAYERS])
{
    for (int i = 0; i < SMOKE_PLAN_PLAYERS; i++)
        at[i] = (struct smoke_plan_place){s->player[i].facts->x, s->player[i].facts->y};
}

/* Has everybody come to its goal, as the world says? */
static bool all_there(void *arg)
{
    const struct smoke *s = arg;
    for (int i = 0; i < SMOKE_PLAN_PLAYERS; i++) {
        const struct smoke_player *p = &s->player[i];
        if (p->facts->x != p->goal.x || p->facts->y != p->goal.y)
            return false;
    }
    return true;
}

static void who_walks(struct smoke *s, bool alpha, bool beta, bool gamma)
{
    s->player[ALPHA].walks = alpha;
    s->player[BETA].walks = beta;
    s->player[GAMMA].walks = gamma;
}

/* --- sight ----------------------------------------------------------------------------------- */

static bool sees(const struct smoke *s, int viewer, int other)
{
    const struct view *v = bot_client_view(s->player[viewer].client);
    return view_find_name(v, span_text(s->player[other].name)) != NULL;
}

static bool all_see(void *arg)
{
    const struct smoke *s = arg;
    for (int i = 0; i < SMOKE_PLAN_PLAYERS; i++) {
        for (int j = 0; j < SMOKE_PLAN_PLAYERS; j++) {
            if (i != j && !sees(s, i, j))
                return false;
        }
    }
    return true;
}

static bool gamma_is_alone(void *arg)
{
    const struct smoke *s = arg;
    return !sees(s, GAMMA, ALPHA) && !sees(s, GAMMA, BETA) && !sees(s, ALPHA, GAMMA) &&
           !sees(s, BETA, GAMMA);
}

/* Do the others know of alpha's small step? */
static bool others_know_alpha(void *arg)
{
    const struct smoke *s = arg;
    const struct bot_client_facts *f = s->player[ALPHA].facts;
    for (int i = BETA; i <= GAMMA; i++) {
        const struct view_entity *e = view_find(bot_client_view(s->player[i].client), f->id);
        if (!e || fabs(e->x - f->x) > f->quantum || fabs(e->y - f->y) > f->quantum)
            return false;
    }
    return true;
}

/* Wait a little for `pred`. */
static bool soon(struct smoke *s, bot_client_pred_fn *pred)
{
    struct mono until = clock_add(clock_mono(), SMOKE_SIGHT_WAIT_NS);

    return bot_client_run_until(s->loop, pred, s,
                                clock_since(s->deadline, until) < 0 ? s->deadline : until) &&
           !s->failed;
}

/* Who of the other two does this one not see? */
static bool fail_sight(struct smoke *s)
{
    for (int i = 0; i < SMOKE_PLAN_PLAYERS; i++) {
        for (int j = 0; j < SMOKE_PLAN_PLAYERS; j++) {
            if (i != j && !sees(s, i, j))
                return fail(s, "%s does not see %s", s->player[i].name, s->player[j].name);
        }
    }
    return fail(s, "the time was over");
}

/* --- the steps ------------------------------------------------------------------------------- */

/* All walk to `goal` until `pred` holds. */
static bool gather(struct smoke *s, const struct smoke_plan_place goal[SMOKE_PLAN_PLAYERS],
                   bot_client_pred_fn *pred)
{
    const struct bot_client_facts *f = s->player[ALPHA].facts;
    struct smoke_plan_place at[SMOKE_PLAN_PLAYERS];

    places(s, at);
    double seconds = smoke_plan_longest(at, goal) / (f->max_speed * WALKER_SPEED_SHARE);
    if (seconds * (double)CLOCK_NS_PER_S > (double)clock_since(s->deadline, clock_mono()))
        return fail(s, "the three stand %.0f s of walking apart: too far to meet in time", seconds);
    for (int i = 0; i < SMOKE_PLAN_PLAYERS; i++)
        s->player[i].goal = goal[i];
    who_walks(s, true, true, true);
    if (walk(s, pred))
        return true;
    return s->walled ? fail(s, "a wall keeps the three from meeting") : fail_sight(s);
}

static bool come_together(struct smoke *s)
{
    struct smoke_plan_place at[SMOKE_PLAN_PLAYERS], goal[SMOKE_PLAN_PLAYERS];
    const struct bot_client_facts *f = s->player[ALPHA].facts;

    if (s->placed) {
        smoke_plan_round(s->at, f->radius, 0, goal);
        return gather(s, goal, all_there);
    }
    places(s, at);
    if (smoke_plan_together(at, f->radius))
        return true;
    smoke_plan_meet(at, f->radius, goal);
    return gather(s, goal, all_see);
}

static bool meet(struct smoke *s)
{
    static const char *const others[] = {"beta gamma", "alpha gamma", "alpha beta"};

    if (!come_together(s))
        return false;
    if (!soon(s, all_see))
        return fail_sight(s);
    for (int i = 0; i < SMOKE_PLAN_PLAYERS; i++)
        printf("[%s] sees %d neighbours: [%s]\n", s->player[i].name, SMOKE_PLAN_PLAYERS - 1,
               others[i]);
    return true;
}

/* Somebody got lost, or all have arrived. */
static bool lost_or_there(void *arg)
{
    return !all_see(arg) || all_there(arg);
}

/* Each goes on into the next quarter round -at, and all see each other all the way. */
static bool go_round(struct smoke *s)
{
    struct smoke_plan_place goal[SMOKE_PLAN_PLAYERS];

    if (!s->placed)
        return true;
    smoke_plan_round(s->at, s->player[ALPHA].facts->radius, 1, goal);
    if (!gather(s, goal, lost_or_there) || !all_see(s))
        return fail_sight(s);
    for (int i = 0; i < SMOKE_PLAN_PLAYERS; i++)
        printf("[%s] went round (%g, %g) to (%.1f, %.1f) -> in sight of the others all the way\n",
               s->player[i].name, s->at.x, s->at.y, goal[i].x, goal[i].y);
    return true;
}

static bool legal_move(struct smoke *s)
{
    struct smoke_player *p = &s->player[ALPHA];
    double x = p->facts->x, y = p->facts->y + SMOKE_SMALL_STEP;

    for (int i = 0; i < SMOKE_SMALL_TRIES; i++) {
        p->answer.here = false;
        if (!await(p, "the legal move", bot_client_move(p->client, x, y)))
            return false;
        if (p->answer.cmd == CMD_MOVE_RESP)
            break;
        if (p->answer.code != PE_MOVE_SPEED)
            return fail(s, "%s: %s", p->name, p->answer.text);
        if (!pause_for(s, 2 * SMOKE_STEP_NS))
            return false;
    }
    if (p->answer.cmd != CMD_MOVE_RESP)
        return fail(s, "%s: %s", p->name, p->answer.text);
    if (p->answer.x != x || p->answer.y != y)
        return fail(s, "alpha asked for (%.17g, %.17g) and was told (%.17g, %.17g)", x, y,
                    p->answer.x, p->answer.y);
    if (!soon(s, others_know_alpha))
        return fail(s, "beta and gamma were not told of alpha's move");
    walker_place(&p->walker, x, y, p->facts->max_speed, clock_mono());
    printf("[alpha] legal move -> MoveResp\n");
    return true;
}

static bool far_move(struct smoke *s)
{
    struct smoke_plan_place at[SMOKE_PLAN_PLAYERS], others;
    struct smoke_player *p = &s->player[GAMMA];

    places(s, at);
    others =
        (struct smoke_plan_place){(at[ALPHA].x + at[BETA].x) / 2, (at[ALPHA].y + at[BETA].y) / 2};
    who_walks(s, false, false, true);
    bool alone = false;
    for (unsigned turn = 0; turn < 4 && !alone; turn++) {
        p->goal = smoke_plan_away(at[GAMMA], others, turn);
        alone = walk(s, gamma_is_alone);
        if (!alone && !s->walled)
            return fail(s, "gamma walked to x=%.1f and is still in sight", p->facts->x);
    }
    if (!alone)
        return fail(s, "walls all round keep gamma in sight");
    printf("[gamma] far move to x=%.1f -> out of sight of [alpha beta]\n", p->facts->x);
    p->goal = at[GAMMA];
    if (!walk(s, all_see))
        return fail_sight(s);
    printf("[gamma] back at x=%.1f -> in sight of [alpha beta]\n", p->facts->x);
    return true;
}

static bool teleport(struct smoke *s)
{
    struct smoke_player *p = &s->player[ALPHA];
    struct smoke_plan_place at = {p->facts->x, p->facts->y};
    struct smoke_plan_place to = smoke_plan_teleport(at, p->facts->max_speed);

    p->answer.here = false;
    if (!await(p, "the teleport", bot_client_move(p->client, to.x, to.y)))
        return false;
    if (p->answer.cmd != CMD_ERROR_NOTIFY)
        return fail(s, "the teleport from x=%.1f to x=%.0f was accepted", at.x, to.x);
    if (p->answer.code != PE_MOVE_SPEED)
        return fail(s, "the teleport should break the speed limit, but %s", p->answer.text);
    if (!p->answer.has_place || p->answer.x != at.x || p->answer.y != at.y)
        return fail(s, "the teleport's refusal does not tell alpha's place");
    printf("[alpha] teleport to x=%.0f -> rejected (ErrorNotify)\n", to.x);
    return true;
}

static bool leave(struct smoke *s)
{
    for (int i = 0; i < SMOKE_PLAN_PLAYERS; i++) {
        struct smoke_player *p = &s->player[i];
        p->answer.here = false;
        if (!await_only(p, "leaving", bot_client_leave(p->client), CMD_LEAVE_RESP))
            return false;
    }
    /* Whatever still comes about the world now is a breach. */
    return pause_for(s, SMOKE_QUIET_TICKS * CLOCK_NS_PER_MS * s->player[ALPHA].facts->tick_ms);
}

static bool play(struct smoke *s)
{
    for (int i = 0; i < SMOKE_PLAN_PLAYERS; i++) {
        if (!login(&s->player[i]))
            return false;
    }
    for (int i = 0; i < SMOKE_PLAN_PLAYERS; i++) {
        if (!enter(&s->player[i]))
            return false;
    }
    return meet(s) && go_round(s) && legal_move(s) && far_move(s) && teleport(s) && leave(s);
}

/* --- set up ---------------------------------------------------------------------------------- */

static int set_up(struct smoke *s, const struct bot_config *config)
{
    static const char *const names[SMOKE_PLAN_PLAYERS] = {"alpha", "beta", "gamma"};
    int rc = loop_create(&s->loop);

    s->placed = smoke_plan_read(config->at, &s->at);
    if (rc == 0)
        rc = message_reader_create(PROTO_BATCH_MAX, &s->reader);
    for (int i = 0; rc == 0 && i < SMOKE_PLAN_PLAYERS; i++) {
        struct smoke_player *p = &s->player[i];
        p->smoke = s;
        p->name = names[i];
        p->addr = bot_opts_gateway(config->addr, &config->also, (uint64_t)i);
        walker_init(&p->walker, 0);
        rc = bot_client_create(s->loop, s->reader, &smoke_ops, p, &p->client);
        if (rc != 0)
            break;
        p->facts = bot_client_facts(p->client);
        bot_client_sign(p->client, config->signer);
        bot_client_secure(p->client, config->trust);
    }
    return rc;
}

int smoke_run(const struct bot_config *config)
{
    struct smoke s = {.config = config, .deadline = clock_add(clock_mono(), config->timeout_ns)};
    int rc = set_up(&s, config);

    bool ok = rc == 0 ? play(&s) : fail(&s, "%s", err_text(rc));
    if (ok && config->scene[0] != '\0')
        ok = stroll_run(s.loop, s.reader, config, s.deadline, s.why, sizeof(s.why));
    for (int i = 0; i < SMOKE_PLAN_PLAYERS; i++)
        bot_client_destroy(s.player[i].client);
    message_reader_destroy(s.reader);
    loop_destroy(s.loop);
    if (ok)
        printf("smoke OK\n");
    else
        printf("smoke FAILED: %s\n", s.why);
    return ok ? 0 : 1;
}
