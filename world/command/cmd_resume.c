/* world/command/cmd_resume.c: a session is given back to who has its key.
 * A lost connection leaves its session waiting, without a link, its entity standing in the world
 * and seeing nothing. The key brings all of it to another session, whatever gateway that came by;
 * it takes over from a connection that still looks alive too, which gets its Bye. May touch: the
 * whole core, proto. Source: PROTOCOL.md "Login".
 */
#include "world/command/router.h"

#include "common/log.h"
#include "world/command/admit.h"
#include "world/command/give.h"
#include "world/command/inbox.h"
#include "world/command/keep.h"
#include "world/command/naming.h"
#include "world/interest/drain.h"
#include "world/interest/pause.h"

#define RESUMED_ELSEWHERE "the session goes on by another connection"

void cmd_resume_key(struct world *w, struct session *s)
{
    s->has_key = w->config.resume_window_ns != 0;
    if (s->has_key)
        w->ops.secret(w->ops.arg, s->key, sizeof(s->key));
}

struct span cmd_resume_text(const struct session *s, char text[RESUME_TEXT_BYTES])
{
    if (!s->has_key)
        return span_of(NULL, 0);
    resume_text(s->key, text);
    return span_of(text, RESUME_TEXT_BYTES);
}

/* Its entity sees no more. */
static void blind(struct world *w, struct session *s)
{
    pause_end(w, s);
    pause_forget(w, s->entity.slot);
    sight_blind(&w->sight, s->entity.slot);
    w->sessions.inside--;
}

void cmd_resume_wait(struct world *w, struct session_ref who, struct mono now)
{
    struct session *s = &w->sessions.list[who.slot];

    ASSERT(s->state == SESSION_INSIDE);
    log_often(LOG_INFO, "world #%u \"%.*s\" waits session=%s peer=%s",
              w->entities.id[s->entity.slot], (int)s->name_len, s->name, SESSION_TEXT(w, s),
              s->peer);
    keep_changed(w, s->entity.slot);
    if (s->hold == SESSION_MOVES)
        give_lost(w, s);
    if (s->hold != SESSION_FREE) { /* nobody waits for answers any more */
        s->hold = SESSION_FREE;
        backlog_clear(&w->backlog, who.slot);
    }
    blind(w, s);
    sessions_wait(&w->sessions, who, clock_add(now, w->config.resume_window_ns));
    w->metrics.waits++;
}

/* The entity of `from`, which is blind, is the session's from now on. */
static void take_entity(struct world *w, struct session_ref who, struct entity_ref entity)
{
    struct session *s = &w->sessions.list[who.slot];
    uint32_t slot = entity.slot;

    s->entity = entity;
    s->state = SESSION_INSIDE;
    w->sessions.inside++;
    w->entities.cold[slot].session = who;
    w->routes[slot] = (struct world_route){s->link, s->sid};
    if (w->entities.flags[slot] & ENTITY_NEW)
        sight_watch(&w->sight, slot);
    else
        sight_watch_seen(&w->sight, slot);
    pause_enter(w, s);
    drain_enter(w, s);
}

void cmd_resume_take_over(struct world *w, struct session_ref old, struct session_ref who,
                          struct span name, struct mono now)
{
    struct session *from = &w->sessions.list[old.slot], *s = &w->sessions.list[who.slot];
    struct entity_ref entity = from->entity;
    bool in_world = from->state == SESSION_INSIDE || from->state == SESSION_WAITING;

    if (from->state == SESSION_WAITING) {
        w->metrics.waits_resumed++;
    } else {
        w->metrics.kicks_resumed++;
        outbox_close(&w->outbox, from->link, from->sid, PE_NAME_IN_USE, RESUMED_ELSEWHERE);
    }
    if (from->state == SESSION_INSIDE)
        blind(w, from);
    s->next_id = from->next_id;
    from->next_id = 0;
    w->characters.list[who.slot].known = w->characters.list[old.slot].known;
    if (w->characters.list[old.slot].known)
        w->characters.last[who.slot] = w->characters.last[old.slot];
    from->entity = (struct entity_ref){0};
    from->state = SESSION_LOGGED;
    naming_move(w, old, who);
    inbox_session_end(w, old, now);
    sessions_take_name(&w->sessions, who, name);
    s->state = SESSION_LOGGED;
    if (in_world)
        take_entity(w, who, entity);
}

/* One under which it stands in the world, or is to enter. */
static bool has_id(struct world *w, struct session *s, struct mono now)
{
    if (s->state != SESSION_LOGGED || s->next_id != 0 ||
        id_pool_take(&w->ids, now, &s->next_id) == 0)
        return true;
    w->metrics.ids_full++;
    w->reason = "the world is full: ids";
    return false;
}

bool cmd_resume_id(struct world *w, struct session *s, struct mono now, uint32_t *id)
{
    if (!has_id(w, s, now)) {
        w->reason = NULL;
        return false;
    }
    *id = s->state == SESSION_LOGGED ? s->next_id : w->entities.id[s->entity.slot];
    return true;
}

static int refuse_key(struct world *w, struct session *s)
{
    s->auth_failures++;
    w->metrics.resumes_refused++;
    return PE_AUTH_FAILED;
}

/* --- in a cluster ------------------------------------------------------------------------------
 */

/* Nobody in the cluster has the name, or whoever has it does not go on by this key. */
static void nowhere(struct world *w, struct session_ref who, int err, struct mono now)
{
    struct session *s = &w->sessions.list[who.slot];

    naming_end(w, who);
    sessions_drop_name(&w->sessions, who);
    if (err == 0 || err == PE_AUTH_FAILED)
        err = refuse_key(w, s);
    router_error(w, s, CMD_LOGIN_REQ, w->characters.list[who.slot].seq, (uint32_t)err);
    if (s->auth_failures < PROTO_AUTH_FAILURES)
        return;
    w->metrics.kicks_auth++;
    inbox_session_kick(w, who, PE_AUTH_FAILED, now);
}

/* It is not here: another world may have it. As a router_fn. */
static int look_elsewhere(struct world *w, struct session_ref who, const struct message *m,
                          const uint8_t key[SESSION_KEY_BYTES], struct mono now)
{
    struct session *s = &w->sessions.list[who.slot];

    sessions_take_name(&w->sessions, who, m->login_req.name);
    memcpy(s->key, key, SESSION_KEY_BYTES);
    w->characters.list[who.slot].seq = m->seq;
    if (keep_ask(w, who, CLUSTER_RESUME, nowhere, now) == 0)
        return 0;
    sessions_drop_name(&w->sessions, who);
    return admit_again(w, who);
}

void cmd_resume_elsewhere(struct world *w, struct session_ref who, const struct cluster_message *m,
                          struct mono now)
{
    struct session *s = &w->sessions.list[who.slot];
    struct message answer = {.cmd = CMD_LOGIN_RESP, .seq = w->characters.list[who.slot].seq};
    char text[RESUME_TEXT_BYTES];

    keep_forget(w, who);
    s->has_key = true;
    if (answer.seq != 0) { /* else a gateway bound it, and its client asked for nothing */
        answer.login_resp.resumed = m->inside;
        answer.login_resp.id = m->id;
        answer.login_resp.name = m->name;
        answer.login_resp.resume = cmd_resume_text(s, text);
        router_answer(w, s, &answer);
        cmd_bind_note_as(w, s, m->inside);
    }
    router_refuse_all(w, who, "the session goes on at another world: try again");
    w->metrics.names_redirected++;
    outbox_redirect(&w->outbox, s->link, s->sid, m->world, 0, 0);
    inbox_session_end(w, who, now);
}

int cmd_resume(struct world *w, struct session_ref who, const struct message *m, struct mono now)
{
    struct message answer = {.cmd = CMD_LOGIN_RESP, .seq = m->seq};
    struct session *s = &w->sessions.list[who.slot];
    uint8_t key[SESSION_KEY_BYTES];
    char text[RESUME_TEXT_BYTES];
    struct session_ref old;

    if (!resume_read(m->login_req.resume, key))
        return refuse_key(w, s);
    if (w->cluster && !sessions_by_name(&w->sessions, m->login_req.name, &old))
        return look_elsewhere(w, who, m, key, now);
    if (!resume_find(&w->sessions, m->login_req.name, key, &old))
        return refuse_key(w, s);

    if (w->sessions.list[old.slot].hold == SESSION_HANDED) {
        w->reason = "the session goes to another world: try again";
        return PE_UNAVAILABLE;
    }
    if (!has_id(w, &w->sessions.list[old.slot], now))
        return PE_UNAVAILABLE;

    cmd_resume_take_over(w, old, who, m->login_req.name, now);
    cmd_resume_key(w, s);
    cmd_bind_note(w, s);
    w->metrics.logins++;

    answer.login_resp.resumed = s->state == SESSION_INSIDE;
    answer.login_resp.id = s->state == SESSION_INSIDE ? w->entities.id[s->entity.slot] : s->next_id;
    answer.login_resp.name = m->login_req.name;
    answer.login_resp.resume = cmd_resume_text(s, text);
    router_answer(w, s, &answer);
    if (s->state == SESSION_INSIDE)
        cmd_enter_tell(w, s, 0);
    log_often(LOG_INFO, "world #%u \"%.*s\" resumed session=%s peer=%s", answer.login_resp.id,
              (int)s->name_len, s->name, SESSION_TEXT(w, s), s->peer);
    return 0;
}
