/* world/command/cmd_bind.c: sessions that a gateway kept while its link was lost.
 * The gateway holds a note of ours for each session, and brings it when the link is there again. If
 * it was the link alone that broke, the entity waits here, and goes on. If this is another life of
 * the world, the session begins anew under its name and with its key, and enters where its
 * character was last. May touch: the whole core, proto. On trouble: the session is closed with code
 * 0, so that its client logs in again; in a cluster, where it may do better soon or elsewhere, it
 * is sent there. Source: PROTOCOL.md, "Ids".
 */
#include "world/command/router.h"

#include "common/log.h"
#include "world/command/inbox.h"
#include "world/command/keep.h"

void cmd_bind_note_as(struct world *w, const struct session *s, bool inside)
{
    uint8_t note[RESUME_NOTE_MAX];

    outbox_note(&w->outbox, s->link, s->sid, span_of(note, resume_note_write(s, inside, note)));
}

void cmd_bind_note(struct world *w, const struct session *s)
{
    cmd_bind_note_as(w, s, s->state == SESSION_INSIDE);
}

static void refuse(struct world *w, struct session_ref who, const char *why, struct mono now)
{
    const struct session *s = &w->sessions.list[who.slot];

    w->metrics.binds_refused++;
    log_often(LOG_INFO, "session not bound: %s session=%s peer=%s", why, SESSION_TEXT(w, s),
              s->peer);
    outbox_close(&w->outbox, s->link, s->sid, 0, why);
    inbox_session_end(w, who, now);
}

/* Not now: in a cluster it is bound once more, at another world or here a little later. */
static void put_off(struct world *w, struct session_ref who, const char *why, struct mono now)
{
    const struct session *s = &w->sessions.list[who.slot];

    if (!w->cluster) {
        refuse(w, who, why, now);
        return;
    }
    w->metrics.binds_refused++;
    log_often(LOG_INFO, "session sent elsewhere: %s session=%s peer=%s", why, SESSION_TEXT(w, s),
              s->peer);
    router_refuse_all(w, who, why);
    outbox_redirect(&w->outbox, s->link, s->sid, (struct span){0}, 0, 0);
    inbox_session_end(w, who, now);
}

/* The store has answered: it is logged in, and inside if it was. */
static void bind_done(struct world *w, struct session_ref who, int err, struct mono now)
{
    struct session *s = &w->sessions.list[who.slot];

    if (err == 0 && id_pool_take(&w->ids, now, &s->next_id) != 0) {
        w->metrics.ids_full++;
        err = PE_UNAVAILABLE;
    }
    if (err == PE_UNAVAILABLE) {
        put_off(w, who, w->reason ? w->reason : "the world is full: ids", now);
        return;
    }
    if (err != 0) {
        refuse(w, who, w->reason ? w->reason : "the name was taken meanwhile", now);
        return;
    }
    s->state = SESSION_LOGGED;
    s->has_key = s->bound_key;
    if (!s->bound_inside) {
        w->metrics.binds_logged++;
    } else if (cmd_enter_again(w, who, now) == 0) {
        w->metrics.binds_entered++;
    } else {
        refuse(w, who, w->reason, now);
        w->reason = NULL;
    }
}

/* Its entity waits here: it goes on, with the key that its client has. */
static void go_on(struct world *w, struct session_ref who, struct session_ref old,
                  const struct resume_note *note, struct mono now)
{
    struct session *s = &w->sessions.list[who.slot];

    cmd_resume_take_over(w, old, who, note->name, now);
    s->has_key = true;
    memcpy(s->key, note->key, sizeof(s->key));
    w->metrics.binds_resumed++;
    if (s->state == SESSION_INSIDE)
        cmd_enter_tell(w, s, 0);
}

void cmd_bind(struct world *w, struct session_ref who, struct span bytes, struct mono now)
{
    struct session *s = &w->sessions.list[who.slot];
    struct resume_note note;
    struct session_ref old;

    if (!resume_note_read(bytes, &note) || !message_name_ok(note.name)) {
        refuse(w, who, "no note of ours", now);
        return;
    }
    if (note.has_key && resume_find(&w->sessions, note.name, note.key, &old)) {
        go_on(w, who, old, &note, now);
        return;
    }
    if (sessions_by_name(&w->sessions, note.name, &old)) {
        refuse(w, who, "the name was taken meanwhile", now);
        return;
    }
    sessions_take_name(&w->sessions, who, note.name);
    s->bound_inside = note.inside;
    s->bound_key = note.has_key && w->config.resume_window_ns != 0;
    memcpy(s->key, note.key, sizeof(s->key));
    w->characters.list[who.slot].seq = 0;
    if (keep_ask(w, who, note.has_key ? CLUSTER_RESUME : CLUSTER_LOGIN, bind_done, now) != 0)
        put_off(w, who, "the store is busy", now);
}
