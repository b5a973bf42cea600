/* bot/stroll.c: see the header. An arrival is not told, so the player asks where it is: a move to
 * where nothing is gets refused, changes nothing, and the refusal tells the place.
 * May touch: common, proto, bot.
 */
#include "bot/stroll.h"

#include "bot/bot_client.h"
#include "common/err.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#define STROLL_NAME    "delta"
#define STROLL_NOWHERE 1e12 /* units: outside every scene */
#define STROLL_LOOK    24.0 /* units that it walks to find a wall */
#define STROLL_POLL_NS (100 * CLOCK_NS_PER_MS)
#define STROLL_STILL   20 /* polls without a step after which it has been forgotten */

struct stroll {
    struct loop *loop;
    struct bot_client *client;
    const struct bot_client_facts *facts;
    const char *scene;
    struct mono deadline;
    bool closed;
    bool stopped;  /* a MoveFail came since the last walk was asked for */
    uint32_t code; /* its */
    char *why;
    size_t why_cap;
};

static bool fail(struct stroll *s, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* The first reason is the one that is told. Always false. */
static bool fail(struct stroll *s, const char *fmt, ...)
{
    va_list ap;

    if (s->why[0] != '\0')
        return false;
    va_start(ap, fmt);
    vsnprintf(s->why, s->why_cap, fmt, ap);
    va_end(ap);
    return false;
}

static void on_message(void *arg, const struct message *m, const struct pending_request *asked)
{
    struct stroll *s = arg;

    (void)asked;
    if (m->cmd == CMD_MOVE_FAIL) {
        s->stopped = true;
        s->code = m->move_fail.code;
    }
    if (m->cmd == CMD_ERROR_NOTIFY && m->error_notify.code != PE_MOVE_BOUNDS)
        fail(s, STROLL_NAME " was told: %s", protocol_error_text(m->error_notify.code));
}

static void on_breach(void *arg, const char *text)
{
    fail(arg, STROLL_NAME " was told what breaks the contract: %s", text);
}

static void on_closed(void *arg, const char *why)
{
    struct stroll *s = arg;

    s->closed = true;
    fail(s, "connection of " STROLL_NAME " ended: %s", why);
}

static const struct bot_client_ops stroll_ops = {
    .message = on_message, .breach = on_breach, .closed = on_closed};

/* --- waiting ---------------------------------------------------------------------------------- */

static bool is_over(const struct stroll *s)
{
    return s->closed || s->why[0] != '\0';
}

static bool connected(void *arg)
{
    const struct stroll *s = arg;
    return is_over(s) || s->facts->connected;
}

static bool answered(void *arg)
{
    const struct stroll *s = arg;
    return is_over(s) || s->facts->pending == 0;
}

static bool stopped(void *arg)
{
    const struct stroll *s = arg;
    return is_over(s) || s->stopped;
}

/* Wait for the answer to what was just sent (`rc` is what sending said). */
static bool await(struct stroll *s, const char *what, int rc)
{
    if (rc != 0)
        return fail(s, "%s of " STROLL_NAME " could not be sent: %s", what, err_text(rc));
    if (!bot_client_run_until(s->loop, answered, s, s->deadline))
        return fail(s, "%s of " STROLL_NAME " had no answer in time", what);
    return !is_over(s);
}

/* Ask for a walk and wait until it is over. False: something is wrong; else it is at the goal, or
 * `stopped`. */
static bool walk(struct stroll *s, double x, double y, bool path)
{
    double was_x, was_y;
    int still = 0;

    s->stopped = false;
    if (!await(s, "a walk", bot_client_walk(s->client, x, y, path)))
        return false;
    x = s->facts->x; /* the goal, as the world has it */
    y = s->facts->y;
    was_x = was_y = NAN;
    while (!s->stopped) {
        struct mono until = clock_add(clock_mono(), STROLL_POLL_NS);

        if (clock_since(s->deadline, until) < 0)
            return fail(s, "a walk of " STROLL_NAME " to (%.1f, %.1f) was not over in time", x, y);
        bot_client_run_until(s->loop, stopped, s, until);
        if (is_over(s) ||
            !await(s, "a question", bot_client_move(s->client, STROLL_NOWHERE, STROLL_NOWHERE)))
            return false;
        if (strcmp(s->facts->scene, s->scene) != 0)
            return fail(s, STROLL_NAME " walked into a portal to %s", s->facts->scene);
        if (s->facts->x == x && s->facts->y == y)
            return true;
        still = s->facts->x == was_x && s->facts->y == was_y ? still + 1 : 0;
        if (still == STROLL_STILL)
            return fail(s, STROLL_NAME " stands at (%.1f, %.1f) and was not told why", was_x,
                        was_y);
        was_x = s->facts->x;
        was_y = s->facts->y;
    }
    return true;
}

/* --- the steps -------------------------------------------------------------------------------- */

static bool come_in(struct stroll *s, const char *addr)
{
    int rc = bot_client_connect(s->client, addr, clock_since(s->deadline, clock_mono()));

    if (rc != 0)
        return fail(s, "cannot connect to %s: %s", addr, err_text(rc));
    if (!bot_client_run_until(s->loop, connected, s, s->deadline) || is_over(s))
        return fail(s, "no connection to %s in time", addr);
    if (!await(s, "the login", bot_client_login(s->client, STROLL_NAME)) ||
        !await(s, "entering", bot_client_enter_scene(s->client, s->scene)))
        return false;
    printf("[" STROLL_NAME "] entered %s (x=%.1f y=%.1f)\n", s->facts->scene, s->facts->x,
           s->facts->y);
    return true;
}

/* From where it stands before a wall: to the other side, some way in that direction. */
static bool go_round(struct stroll *s, double dx, double dy, bool *done)
{
    static const double beyond[] = {3, 5, 8, 12, 16, 24};
    double x = s->facts->x, y = s->facts->y;

    for (size_t i = 0; i < ARRAY_LEN(beyond) && !*done; i++) {
        if (!walk(s, x + dx * beyond[i], y + dy * beyond[i], true))
            return false;
        if (s->stopped) { /* not to be reached: back to the wall */
            if (!walk(s, x, y, true))
                return false;
            continue;
        }
        printf("[" STROLL_NAME "] walk by path -> round it to (%.1f, %.1f)\n", s->facts->x,
               s->facts->y);
        *done = true;
    }
    return true;
}

static bool play(struct stroll *s)
{
    static const struct {
        double x, y;
    } ways[] = {{1, -1}, {1, 1}, {-1, 1}, {-1, -1}, {1, 0}, {0, -1}, {-1, 0}, {0, 1}};
    double x = s->facts->x, y = s->facts->y;
    bool done = false;

    for (size_t i = 0; i < ARRAY_LEN(ways) && !done; i++) {
        if (!walk(s, x + ways[i].x * STROLL_LOOK, y + ways[i].y * STROLL_LOOK, false))
            return false;
        if (s->stopped && s->code == PE_MOVE_BLOCKED) {
            printf("[" STROLL_NAME "] walk straight -> stopped by a wall at (%.1f, %.1f)\n",
                   s->facts->x, s->facts->y);
            if (!go_round(s, ways[i].x, ways[i].y, &done))
                return false;
        }
        if (!walk(s, x, y, true))
            return false;
        if (s->stopped)
            return fail(s, STROLL_NAME " does not find back to (%.1f, %.1f)", x, y);
    }
    if (!done)
        return fail(s, "nothing to walk round in %s near (%.1f, %.1f)", s->scene, x, y);
    printf("[" STROLL_NAME "] walk by path -> back at (%.1f, %.1f)\n", s->facts->x, s->facts->y);
    return await(s, "leaving", bot_client_leave(s->client));
}

bool stroll_run(struct loop *l, struct message_reader *reader, const struct bot_config *config,
                struct mono deadline, char *why, size_t why_cap)
{
    struct stroll s = {
        .loop = l, .scene = config->scene, .deadline = deadline, .why = why, .why_cap = why_cap};
    int rc = bot_client_create(l, reader, &stroll_ops, &s, &s.client);
    bool ok;

    why[0] = '\0';
    if (rc != 0)
        return fail(&s, "%s", err_text(rc));
    s.facts = bot_client_facts(s.client);
    bot_client_sign(s.client, config->signer);
    bot_client_secure(s.client, config->trust);
    ok = come_in(&s, config->addr) && play(&s);
    bot_client_destroy(s.client);
    return ok && why[0] == '\0';
}
