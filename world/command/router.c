/* world/command/router.c: see the header. */
#include "world/command/router.h"

#include "common/err.h"
#include "common/log.h"
#include "proto/walk.h"
#include "world/command/admit.h"
#include "world/command/give.h"
#include "world/command/inbox.h"
#include "world/command/shout.h"

/* A body of ours to one session that is no batch: an answer or a notice. */
#define ROUTER_ANSWER_MAX 1024

/* The session's state that a command needs, and what is said where it is another. */
enum router_need {
    NEED_NEW,     /* not logged in, else already_logged_in */
    NEED_OUTSIDE, /* not in the world, else already_in_world */
    NEED_INSIDE   /* in the world, else not_in_world */
};

struct router_row {
    uint32_t cmd;
    enum router_need need;
    router_fn *handle;
};

static const struct router_row router_rows[] = {
    {CMD_LOGIN_REQ, NEED_NEW, cmd_login},    {CMD_ENTER_REQ, NEED_OUTSIDE, cmd_enter},
    {CMD_LEAVE_REQ, NEED_INSIDE, cmd_leave}, {CMD_MOVE_REQ, NEED_INSIDE, cmd_move},
    {CMD_SAY_REQ, NEED_INSIDE, cmd_say},     {CMD_WALK_REQ, NEED_INSIDE, cmd_walk},
};

static const struct router_row *row_find(uint32_t cmd)
{
    for (size_t i = 0; i < ARRAY_LEN(router_rows); i++) {
        if (router_rows[i].cmd == cmd)
            return &router_rows[i];
    }
    return NULL;
}

static int check_need(enum router_need need, enum session_state state)
{
    switch (need) {
    case NEED_NEW:
        return state == SESSION_NEW ? 0 : PE_ALREADY_LOGGED_IN;
    case NEED_OUTSIDE:
        return state == SESSION_LOGGED ? 0 : PE_ALREADY_IN_WORLD;
    case NEED_INSIDE:
        return state == SESSION_INSIDE ? 0 : PE_NOT_IN_WORLD;
    }
    return PE_UNKNOWN_CMD;
}

void router_answer(struct world *w, const struct session *s, const struct message *m)
{
    uint8_t bytes[ROUTER_ANSWER_MAX];
    struct span_writer out = span_writer_of(bytes, sizeof(bytes));
    struct span body;

    if (s->state == SESSION_WAITING) /* its entity may walk on, but there is nobody to tell */
        return;
    message_write(&out, m);
    ASSERT(!out.full);
    body = span_written(&out);
    outbox_data(&w->outbox, s->link, s->sid, &body, 1);
}

void router_error(struct world *w, const struct session *s, uint32_t cmd, uint32_t seq,
                  uint32_t code)
{
    struct message m = {.cmd = CMD_ERROR_NOTIFY, .seq = seq};
    uint32_t slot;

    world_metrics_refused(&w->metrics, code);
    m.error_notify.code = code;
    m.error_notify.error = span_text(w->reason ? w->reason : protocol_error_text(code));
    m.error_notify.cmd = cmd;
    w->reason = NULL;
    if ((code == PE_MOVE_SPEED || code == PE_MOVE_BLOCKED || code == PE_MOVE_BOUNDS) &&
        entities_find(&w->entities, s->entity, &slot)) {
        m.error_notify.has_place = true;
        m.error_notify.x = w->entities.x[slot];
        m.error_notify.y = w->entities.y[slot];
    }
    router_answer(w, s, &m);
}

/* Count a request against -session-requests; false: one too many in this tick. */
static bool within_limit(struct world *w, struct session *s)
{
    if (s->requests_tick != w->tick) {
        s->requests_tick = w->tick;
        s->requests = 0;
    }
    s->requests++;
    return w->config.session_requests == 0 || s->requests <= w->config.session_requests;
}

/* PROTOCOL.md's order: 12, 2, 4, 3, 5/7/8, then the handler's own. */
static int run(struct world *w, struct session_ref who, struct session *s,
               const struct walk_head *head, struct mono now)
{
    const struct router_row *row = row_find(head->cmd);
    struct message m = {.cmd = head->cmd, .seq = head->seq};
    int err;

    if (!within_limit(w, s)) {
        w->metrics.requests_limited++;
        return PE_RATE_LIMITED;
    }
    if (!shout_may(w, s, head->cmd, now))
        return PE_RATE_LIMITED;
    if (!row)
        return PE_UNKNOWN_CMD;
    if (s->state == SESSION_NEW && row->need != NEED_NEW)
        return PE_NOT_LOGGED_IN;
    err = message_read_payload(w->reader, head->payload, &m);
    if (err == 0)
        err = check_need(row->need, s->state);
    return err == 0 ? row->handle(w, who, &m, now) : err;
}

/* Its session is held: the request waits too. Where there is no room it is refused at once, which
 * overtakes; the gateway's own 12 does so as well. */
static void wait(struct world *w, struct session_ref who, struct session *s, struct span body,
                 const struct walk_head *head)
{
    bool first = w->backlog.chains[who.slot].bodies == 0 && s->hold == SESSION_WAITS;
    int err = s->hold == SESSION_HANDED ? give_late(w, s, body)
              : s->hold == SESSION_LATE ? backlog_add_far(&w->backlog, who.slot, body)
                                        : backlog_add(&w->backlog, who.slot, body);

    if (err == 0)
        return;
    w->metrics.requests_held_full++;
    if (first) { /* the login itself: there is no more room for anybody's */
        admit_leave(w, who);
        w->reason = "too many log in at this time: try again later";
    } else {
        w->reason = "too many requests wait";
    }
    router_error(w, s, head->cmd, head->seq, first ? PE_UNAVAILABLE : PE_RATE_LIMITED);
}

/* Handle a request of a session that is not held. ROUTER_WAITS, or 0: it is answered. */
static int handle(struct world *w, struct session_ref who, struct session *s,
                  const struct walk_head *head, struct mono now)
{
    int err = run(w, who, s, head, now);

    if (err == ROUTER_WAITS)
        return err;
    if (err < 0) { /* no memory for it: ours, not the client's */
        log_often(LOG_WARN, "request dropped: %s cmd=%u seq=%u session=%s peer=%s", err_text(err),
                  head->cmd, head->seq, SESSION_TEXT(w, s), s->peer);
        err = PE_UNAVAILABLE;
    }
    if (err > 0)
        router_error(w, s, head->cmd, head->seq, (uint32_t)err);
    if (s->auth_failures >= PROTO_AUTH_FAILURES) {
        w->metrics.kicks_auth++;
        inbox_session_kick(w, who, PE_AUTH_FAILED, now);
    }
    return 0;
}

int router_dispatch(struct world *w, struct session_ref who, struct span body, struct mono now)
{
    struct walk_head head;
    struct session *s;
    int err = walk_body(body, &head);

    if (err != 0)
        return err;
    if (!sessions_find(&w->sessions, who, &s))
        return 0; /* it ended with the body before this one */
    w->metrics.requests++;
    if (s->hold != SESSION_FREE || handle(w, who, s, &head, now) == ROUTER_WAITS)
        wait(w, who, s, body, &head);
    return 0;
}

void router_replay(struct world *w, struct session_ref who, struct mono now)
{
    struct walk_head head;
    struct session *s;
    struct span body;

    while (sessions_find(&w->sessions, who, &s) && s->hold == SESSION_FREE &&
           backlog_peek(&w->backlog, who.slot, &body)) {
        int err = walk_body(body, &head);

        ASSERT(err == 0); /* it was walked when it came */
        if (handle(w, who, s, &head, now) == ROUTER_WAITS)
            return; /* it stays in front */
        if (sessions_find(&w->sessions, who, &s))
            backlog_drop(&w->backlog, who.slot);
    }
}

/* False: nothing waits. */
static bool refuse_first(struct world *w, struct session_ref who, const char *reason)
{
    struct walk_head head;
    struct session *s;
    struct span body;
    int err;

    if (!sessions_find(&w->sessions, who, &s) || !backlog_peek(&w->backlog, who.slot, &body))
        return false;
    err = walk_body(body, &head);
    ASSERT(err == 0);
    backlog_drop(&w->backlog, who.slot);
    w->reason = reason;
    router_error(w, s, head.cmd, head.seq, PE_UNAVAILABLE);
    return true;
}

void router_refuse(struct world *w, struct session_ref who, const char *reason, struct mono now)
{
    if (refuse_first(w, who, reason))
        router_replay(w, who, now);
}

void router_refuse_all(struct world *w, struct session_ref who, const char *reason)
{
    while (refuse_first(w, who, reason))
        ;
}
