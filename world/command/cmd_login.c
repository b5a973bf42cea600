/* world/command/cmd_login.c: LoginReq: a name for a session.
 * Beats: version, turn, resume key (world/command/cmd_resume), name; who waits under that name
 * ends, the name is taken, and the store asked where the character was last. With its answer comes
 * the id that the first EnterReq will use, and LoginResp. May touch: the whole core, proto. Source:
 * PROTOCOL.md "Login".
 */
#include "world/command/router.h"

#include "common/log.h"
#include "world/command/admit.h"
#include "world/command/inbox.h"
#include "world/command/keep.h"

#include <inttypes.h>

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
    log_often(LOG_INFO, "world #%u \"%.*s\" logged in session=%" PRIu64 " peer=%s", s->next_id,
              (int)s->name_len, s->name, s->sid, s->peer);
}

/* Does somebody have it who does not merely wait? `other`, where anybody has it. */
static bool is_in_use(const struct world *w, struct span name, struct session_ref *other)
{
    return sessions_by_name(&w->sessions, name, other) &&
           w->sessions.list[other->slot].state != SESSION_WAITING;
}

/* Whoever waits under this name goes, once it is sure that there is an id; its place is saved
 * before it is asked for. PE_*: the name cannot be had, and nothing is changed. */
static int free_name(struct world *w, struct session *s, struct span name, struct mono now)
{
    struct session_ref other = {0};
    int err;

    if (is_in_use(w, name, &other))
        return PE_NAME_IN_USE;
    if (other.gen == 0)
        return 0;
    err = take_id(w, s, now);
    if (err != 0)
        return err;
    w->metrics.waits_afresh++;
    inbox_session_end(w, other, now);
    return 0;
}

int cmd_login(struct world *w, struct session_ref who, const struct message *m, struct mono now)
{
    struct session *s = &w->sessions.list[who.slot];
    struct session_ref other;
    int err;

    if (m->login_req.version != PROTO_VERSION)
        return PE_BAD_VERSION;
    err = admit_login(w, who, now);
    if (err == PE_UNAVAILABLE && m->login_req.resume.n == 0 &&
        is_in_use(w, m->login_req.name, &other)) { /* no turn would help it */
        w->reason = NULL;
        return PE_NAME_IN_USE;
    }
    if (err != 0)
        return err;
    if (m->login_req.resume.n > 0)
        return cmd_resume(w, who, m, now);
    err = free_name(w, s, m->login_req.name, now);
    if (err != 0)
        return err;

    sessions_take_name(&w->sessions, who, m->login_req.name);
    w->characters.list[who.slot].seq = m->seq;
    if (keep_ask(w, who, login_done, now) != 0) {
        sessions_drop_name(&w->sessions, who);
        return admit_again(w, who);
    }
    return 0;
}
