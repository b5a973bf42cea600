/* world/command/cmd_login.c: LoginReq: a name for a session.
 * Beats: version, resume key, name; then the name and the id that the first EnterReq will use are
 * taken. May touch: the whole core, proto. Source: PROTOCOL.md "Login".
 */
#include "world/command/router.h"

#include "common/log.h"

#include <inttypes.h>

int cmd_login(struct world *w, struct session_ref who, const struct message *m, struct mono now)
{
    struct message answer = {.cmd = CMD_LOGIN_RESP, .seq = m->seq};
    struct session *s = &w->sessions.list[who.slot];
    struct session_ref other;
    uint32_t id;

    if (m->login_req.version != PROTO_VERSION)
        return PE_BAD_VERSION;
    if (m->login_req.resume.n > 0) { /* no key was ever given */
        s->auth_failures++;
        return PE_AUTH_FAILED;
    }
    if (sessions_by_name(&w->sessions, m->login_req.name, &other))
        return PE_NAME_IN_USE;
    if (id_pool_take(&w->ids, now, &id) != 0) {
        w->metrics.ids_full++;
        return PE_UNAVAILABLE;
    }

    sessions_take_name(&w->sessions, who, m->login_req.name);
    s->state = SESSION_LOGGED;
    s->next_id = id;
    w->metrics.logins++;

    answer.login_resp.id = id;
    answer.login_resp.name = m->login_req.name;
    router_answer(w, s, &answer);
    log_often(LOG_INFO, "world #%u \"%.*s\" logged in session=%" PRIu64 " peer=%s", id,
              (int)s->name_len, s->name, s->sid, s->peer);
    return 0;
}
