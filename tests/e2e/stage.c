/* tests/e2e/stage.c: honest clients on one loop. May touch: common, proto, bot/bot_client,
 * tests/process. On trouble: the test at hand fails.
 */
#include "tests/e2e/stage.h"

#include "common/err.h"
#include "proto/aoi_move.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define TURN_NS (5 * CLOCK_NS_PER_MS)

/* --- what is told ----------------------------------------------------------------------------- */

static void note_event(struct player *p, enum stage_kind kind, uint32_t tick, uint32_t id, double x,
                       double y)
{
    if (p->n_events == STAGE_EVENTS_MAX)
        process_fail("%s was told of more than %d events", p->name, STAGE_EVENTS_MAX);
    p->events[p->n_events++] = (struct stage_event){kind, tick, id, x, y};
}

static void note_moves(struct player *p, const struct message *m)
{
    struct span rest = m->aoi_move.moves;
    struct aoi_move_record r;
    uint32_t previous = 0;

    while (aoi_move_take(&rest, &previous, &r) == 0) {
        /* The view took it already. */
        const struct view_entity *e = view_find(bot_client_view(p->client), r.id);
        note_event(p, STAGE_MOVE, m->aoi_move.tick, r.id, e ? e->x : 0, e ? e->y : 0);
    }
}

static void note_aoi(struct player *p, const struct message *m)
{
    if (m->cmd == CMD_AOI_REMOVE) {
        for (uint32_t i = 0; i < m->aoi_remove.count; i++)
            note_event(p, STAGE_REMOVE, m->aoi_remove.tick, m->aoi_remove.ids[i], 0, 0);
    } else if (m->cmd == CMD_AOI_ADD) {
        for (uint32_t i = 0; i < m->aoi_add.count; i++) {
            const struct message_entity *e = &m->aoi_add.entities[i];
            note_event(p, STAGE_ADD, m->aoi_add.tick, e->id, e->x, e->y);
        }
    } else if (m->cmd == CMD_AOI_MOVE) {
        note_moves(p, m);
    }
}

static void note_say(struct player *p, const struct message *m)
{
    size_t n = m->say_notify.text.n < PROTO_SAY_MAX ? m->say_notify.text.n : PROTO_SAY_MAX;

    p->said_by = m->say_notify.id;
    memcpy(p->said, m->say_notify.text.p, n);
    p->said[n] = '\0';
}

static void on_message(void *arg, const struct message *m, const struct pending_request *asked)
{
    struct player *p = arg;

    if (m->cmd < STAGE_CMDS)
        p->got[m->cmd]++;
    if (asked) {
        p->answers++;
        p->last_cmd = m->cmd;
        p->last_code = m->cmd == CMD_ERROR_NOTIFY ? m->error_notify.code : 0;
    }
    if (m->cmd == CMD_ERROR_NOTIFY && m->error_notify.code < STAGE_ERRORS)
        (asked ? p->refused : p->told)[m->error_notify.code]++;
    else if (m->cmd == CMD_SAY_NOTIFY)
        note_say(p, m);
    else
        note_aoi(p, m);
}

static void on_breach(void *arg, const char *text)
{
    struct player *p = arg;

    if (p->breach)
        return;
    p->breach = true;
    snprintf(p->why, sizeof(p->why), "%s", text);
}

static void on_closed(void *arg, const char *why)
{
    struct player *p = arg;

    p->closed = true;
    if (!p->breach)
        snprintf(p->why, sizeof(p->why), "%s", why);
}

static const struct bot_client_ops player_ops = {
    .message = on_message, .breach = on_breach, .closed = on_closed};

/* --- the loop --------------------------------------------------------------------------------- */

void stage_init(struct stage *s)
{
    *s = (struct stage){.players = calloc(STAGE_PLAYERS_MAX, sizeof(struct player))};
    if (!s->players || loop_create(&s->loop) != 0 ||
        message_reader_create(PROTO_BATCH_MAX, &s->reader) != 0)
        process_fail("%s", err_text(E_NOMEM));
}

void stage_fini(struct stage *s)
{
    for (uint32_t i = 0; i < s->n; i++) {
        bot_client_destroy(s->players[i].client);
        free(s->players[i].events);
    }
    loop_turn(s->loop, 0); /* frees the streams */
    loop_destroy(s->loop);
    message_reader_destroy(s->reader);
    free(s->players);
    *s = (struct stage){0};
}

static void judge(const struct stage *s)
{
    for (uint32_t i = 0; i < s->n; i++) {
        if (s->players[i].breach)
            process_fail("%s was told what breaks the contract: %s", s->players[i].name,
                         s->players[i].why);
    }
}

void stage_turn(struct stage *s, struct mono deadline, const char *what)
{
    if (clock_since(deadline, clock_mono()) <= 0)
        process_fail("waited in vain for: %s", what);
    loop_turn(s->loop, TURN_NS);
    judge(s);
}

void stage_pass(struct stage *s, int64_t ms)
{
    struct mono until = process_deadline(ms);

    while (clock_since(until, clock_mono()) > 0) {
        loop_turn(s->loop, TURN_NS);
        judge(s);
    }
}

void stage_pass_ticks(struct player *p, uint32_t ticks)
{
    stage_pass(p->stage, (int64_t)(ticks + 1) * p->facts->tick_ms);
}

/* --- players ---------------------------------------------------------------------------------- */

void player_reconnect(struct player *p, const char *addr)
{
    p->closed = false;
    if (bot_client_connect(p->client, addr, PROCESS_PATIENCE_MS * CLOCK_NS_PER_MS) != 0)
        process_fail("cannot connect to %s", addr);
    STAGE_UNTIL(p->stage, p->facts->connected || p->closed);
    if (p->closed)
        process_fail("no connection to %s: %s", addr, p->why);
}

struct player *stage_connect(struct stage *s, const char *addr)
{
    if (s->n == STAGE_PLAYERS_MAX)
        process_fail("more than %d players", STAGE_PLAYERS_MAX);
    struct player *p = &s->players[s->n++];
    *p = (struct player){.stage = s, .name = "a stranger"};
    p->events = malloc(STAGE_EVENTS_MAX * sizeof(*p->events));
    if (!p->events || bot_client_create(s->loop, s->reader, &player_ops, p, &p->client) != 0)
        process_fail("%s", err_text(E_NOMEM));
    p->facts = bot_client_facts(p->client);
    player_reconnect(p, addr);
    return p;
}

uint32_t player_answer(struct player *p, int rc)
{
    uint32_t before = p->answers;

    if (rc != 0)
        process_fail("%s cannot send: %s", p->name, err_text(rc));
    STAGE_UNTIL(p->stage, p->answers > before || p->closed);
    if (p->answers == before)
        process_fail("the connection of %s ended: %s", p->name, p->why);
    return p->last_code;
}

static void must(struct player *p, int rc, const char *what)
{
    uint32_t code = player_answer(p, rc);
    if (code != 0)
        process_fail("%s of %s was refused: %u", what, p->name, code);
}

void player_login(struct player *p, const char *name)
{
    p->name = name;
    must(p, bot_client_login(p->client, name), "the login");
}

void player_enter(struct player *p)
{
    must(p, bot_client_enter(p->client), "entering");
}

void player_leave(struct player *p)
{
    must(p, bot_client_leave(p->client), "leaving");
}

void player_move(struct player *p, double x, double y)
{
    must(p, bot_client_move(p->client, x, y), "a move");
    if (p->facts->x != x || p->facts->y != y)
        process_fail("%s asked for (%.17g, %.17g) and stands at (%.17g, %.17g)", p->name, x, y,
                     p->facts->x, p->facts->y);
}

void player_say(struct player *p, const char *text)
{
    must(p, bot_client_say(p->client, text), "saying something");
}

void player_ping(struct player *p)
{
    must(p, bot_client_ping(p->client), "a ping");
}

struct player *stage_login(struct stage *s, const char *addr, const char *name)
{
    struct player *p = stage_connect(s, addr);
    player_login(p, name);
    return p;
}

struct player *stage_join(struct stage *s, const char *addr, const char *name)
{
    struct player *p = stage_login(s, addr, name);
    player_enter(p);
    return p;
}

/* --- what they know --------------------------------------------------------------------------- */

bool player_knows(const struct player *p, uint32_t id)
{
    return view_find(bot_client_view(p->client), id) != NULL;
}

bool player_sees(const struct player *p, const struct player *other)
{
    const struct view *v = bot_client_view(p->client);
    const struct view_entity *e = view_find(v, other->facts->id);
    double quantum = p->facts->quantum;

    return e && strcmp(view_name_of(v, e)->text, other->facts->name) == 0 &&
           e->qx == aoi_move_quantise(other->facts->x, quantum) &&
           e->qy == aoi_move_quantise(other->facts->y, quantum);
}

uint32_t player_count(const struct player *p)
{
    return bot_client_view(p->client)->count;
}

uint32_t player_events(const struct player *p, uint32_t from, enum stage_kind kind, uint32_t id)
{
    uint32_t n = 0;

    for (uint32_t i = from; i < p->n_events; i++)
        n += p->events[i].kind == kind && p->events[i].id == id;
    return n;
}

const struct stage_event *player_last(const struct player *p, enum stage_kind kind, uint32_t id)
{
    for (uint32_t i = p->n_events; i-- > 0;) {
        if (p->events[i].kind == kind && p->events[i].id == id)
            return &p->events[i];
    }
    process_fail("%s was told nothing of kind %d about %u", p->name, (int)kind, id);
}
