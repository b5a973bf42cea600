/* world/command/cmd_login.c: LoginReq: a name for a session.
 * Beats: version, turn, resume key (world/command/cmd_resume) or token, name; who waits under that
 * name ends, with tokens whoever has it, the name is taken, and the store asked where the character
 * was last. With its answer comes the id that the first EnterReq will use, and LoginResp. May
 * touch: the whole core, proto. Source: PROTOCOL.md "Login".
 */
#include "world/command/router.h"

#include "common/log.h"
#include "world/command/admit.h"
#include "world/command/inbox.h"
#include "world/command/keep.h"
#include "world/command/naming.h"

#define TAKEN_OVER "the name logged in by another connection"

static int take_id(struct world *w, struct session *s, struct mono now)
{
    if (s->next_id != 0 || id_pool_take(&w->ids, now, &s->next_id) == 0)
        return 0;
    w->metrics.ids_full++;
    w->reason = "the world is full: ids";
    return PE_UNAVAILABLE;
}

/* The store has answered. */
static void login_done(struct world *w, struct session_ref who, int err, struct mono now)
{
    struct session *s = &w->sessions.list[who.slot];
    struct message answer = {.cmd = CMD_LOGIN_RESP, .seq = w->characters.list[who.slot].seq};
    char key[RESUME_TEXT_BYTES];

    if (err == 0)
        err = take_id(w, s, now);
    if (err != 0) {
        naming_end(w, who);
        sessions_drop_name(&w->sessions, who);
        router_error(w, s, CMD_LOGIN_REQ, answer.seq, (uint32_t)err);
        return;
    }
    s->state = SESSION_LOGGED;
    cmd_resume_key(w, s);
    cmd_bind_note(w, s);
    w->metrics.logins++;

    answer.login_resp.id = s->next_id;
    answer.login_resp.name = span_of(s->name, s->name_len);
    answer.login_resp.resume = cmd_resume_text(s, key);
    router_answer(w, s, &answer);
    log_often(LOG_INFO, "world #%u \"%.*s\" logged in session=%s peer=%s", s->next_id,
              (int)s->name_len, s->name, SESSION_TEXT(w, s), s->peer);
}

static int refuse_token(struct world *w, struct session *s, enum auth_verdict v)
{
    s->auth_failures++;
    world_metrics_auth(&w->metrics, v);
    w->reason = auth_text(v);
    return PE_AUTH_FAILED;
}

/* What can be told of a login's token without a turn: is there one, of a token's form? */
static int glance(struct world *w, struct session *s, const struct message *m)
{
    struct span token = m->login_req.token;

    if (!w->ops.auth.ops || m->login_req.resume.n > 0 || token_form_ok(token))
        return 0;
    return refuse_token(w, s, token.n == 0 ? AUTH_MISSING : AUTH_MALFORMED);
}

static int check_token(struct world *w, struct session *s, const struct message *m)
{
    const struct auth_door *door = &w->ops.auth;
    enum auth_verdict v = AUTH_GOOD;

    if (door->ops) {
        w->auth_checked++;
        w->metrics.auth_checks++;
        v = door->ops->check(door->arg, m->login_req.token, m->login_req.name);
    }
    return v == AUTH_GOOD ? 0 : refuse_token(w, s, v);
}

/* Does somebody have it whom a newcomer does not end? With tokens nobody has. */
static bool is_in_use(const struct world *w, struct span name)
{
    struct session_ref other;

    return !w->ops.auth.ops && sessions_by_name(&w->sessions, name, &other) &&
           w->sessions.list[other.slot].state != SESSION_WAITING;
}

void cmd_login_end(struct world *w, struct session_ref who, struct mono now)
{
    const struct session *s = &w->sessions.list[who.slot];

    if (s->state == SESSION_WAITING) {
        w->metrics.waits_afresh++;
    } else {
        w->metrics.kicks_replaced++;
        log_often(LOG_INFO, "session replaced \"%.*s\" session=%s peer=%s", (int)s->name_len,
                  s->name, SESSION_TEXT(w, s), s->peer);
        outbox_close(&w->outbox, s->link, s->sid, PE_NAME_IN_USE, TAKEN_OVER);
    }
    inbox_session_end(w, who, now);
}

/* Whoever has this name goes, once it is sure that there is an id; its place is saved before it is
 * asked for. PE_*: the name cannot be had, and nothing is changed. */
static int free_name(struct world *w, struct session *s, struct span name, struct mono now)
{
    struct session_ref other;
    const struct session *o;
    int err;

    if (is_in_use(w, name))
        return PE_NAME_IN_USE;
    if (!sessions_by_name(&w->sessions, name, &other))
        return 0;
    o = &w->sessions.list[other.slot];
    if (o->hold == SESSION_HANDED) {
        w->reason = "the session goes to another world: try again";
        return PE_UNAVAILABLE;
    }
    err = take_id(w, s, now);
    if (err != 0)
        return err;
    cmd_login_end(w, other, now);
    return 0;
}

/* May it have a turn, and is it who it says? As a router_fn. */
static int let_in(struct world *w, struct session_ref who, const struct message *m, struct mono now)
{
    struct session *s = &w->sessions.list[who.slot];
    bool plain = m->login_req.resume.n == 0;
    int err = glance(w, s, m);

    if (err != 0)
        return err;
    err = admit_login(w, who, now);
    if (err == PE_UNAVAILABLE && plain && is_in_use(w, m->login_req.name)) {
        w->reason = NULL; /* no turn would help it */
        return PE_NAME_IN_USE;
    }
    return err == 0 && plain ? check_token(w, s, m) : err;
}

int cmd_login(struct world *w, struct session_ref who, const struct message *m, struct mono now)
{
    struct session *s = &w->sessions.list[who.slot];
    struct span name = m->login_req.name;
    int err;

    if (m->login_req.resume.n == 0 && !admit_name(w, name, now))
        return PE_RATE_LIMITED;
    if (m->login_req.version != PROTO_VERSION)
        return PE_BAD_VERSION;
    err = let_in(w, who, m, now);
    if (err != 0)
        return err;
    if (m->login_req.resume.n > 0)
        return cmd_resume(w, who, m, now);
    err = free_name(w, s, name, now);
    if (err == PE_NAME_IN_USE)
        admit_name_count(w, name, now);
    if (err != 0)
        return err;

    sessions_take_name(&w->sessions, who, name);
    w->characters.list[who.slot].seq = m->seq;
    if (keep_ask(w, who, w->ops.auth.ops ? CLUSTER_OWNER : CLUSTER_LOGIN, login_done, now) != 0) {
        sessions_drop_name(&w->sessions, who);
        return admit_again(w, who);
    }
    admit_name_count(w, name, now);
    return 0;
}
