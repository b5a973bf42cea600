/* world/edge/admin_act.c: what operators do to the world.
 * Each act is a POST with the token of -admin-token in its Authorization field, which no page of
 * another origin can send. It is carried out whole or not at all, and logged with who asked for it.
 * May touch: what world_admin.h may. On trouble: 4xx or 503 with one sentence; nothing changed.
 */
#include "common/log.h"
#include "proto/message.h"
#include "world/command/crier.h"
#include "world/command/inbox.h"
#include "world/command/teleport.h"
#include "world/edge/announce.h"
#include "world/edge/json_put.h"
#include "world/edge/world_admin_own.h"
#include "world/interest/explain.h"

#include <inttypes.h>

#define REASON_MAX     128                    /* bytes of a kick's reason: LINK_TEXT_MAX */
#define DRAIN_AFTER_NS (50 * CLOCK_NS_PER_MS) /* so that the answer is on its way */

int world_admin_refuse(struct world_admin *a, const struct http_order *in, int status,
                       const char *why, FILE *to)
{
    a->view.metrics->orders_refused++;
    log_often(LOG_WARN, "order refused path=%.*s peer=%s status=%d: %s", (int)in->path.n,
              (const char *)in->path.p, in->peer, status, why);
    return world_admin_say_no(status, why, to);
}

/* May the world be changed by this request? NULL, or why not. */
static const char *forbidden(const struct world_admin *a, const struct http_order *in, int *status)
{
    const char *why = admin_token_refusal(
        a->view.token, in->authorization,
        "nothing can be changed here: the world was started without -admin-token", status);

    if (why)
        return why;
    *status = 503;
    return world_link_listening(a->view.link) ? NULL : "the world is ending";
}

/* The same for what the world itself has to do, which it does not while it stands still. */
static const char *forbidden_now(const struct world_admin *a, const struct http_order *in,
                                 int *status)
{
    const char *why = forbidden(a, in, status);

    return why ? why : world_admin_still(a); /* of both 503 */
}

/* An act's beginning: may it, is it well formed, and who is meant (with ADMIN_ASK_WHO). Returns 0,
 * or the status of the refusal that was written. */
struct act {
    struct admin_ask ask;
    struct world_admin_who who;
};
static int begin(struct world_admin *a, const struct http_order *in, unsigned may, unsigned must,
                 struct act *out, FILE *to)
{
    int status;
    const char *why =
        (must & ADMIN_ASK_WHO) ? forbidden_now(a, in, &status) : forbidden(a, in, &status);

    if (why)
        return world_admin_refuse(a, in, status, why, to);
    if (admin_ask_read(in->query, may, must, &out->ask, &why) != 0)
        return world_admin_refuse(a, in, 400, why, to);
    if ((must & ADMIN_ASK_WHO) && !world_admin_find(a->view.world, &out->ask.who, &out->who))
        return world_admin_refuse(a, in, 404, "there is nobody of that id or name", to);
    return 0;
}

static int done(FILE *to)
{
    fputs("{\"done\":true}\n", to);
    return 200;
}

/* --- announce --------------------------------------------------------------------------------- */

static const char *const area_words[] = {
    [NOTICE_EVERYBODY] = "everybody",
    [NOTICE_SCENE] = "scene",
    [NOTICE_ZONE] = "zone",
    [NOTICE_CELL] = "cell",
};

int admin_act_announce(void *arg, const struct http_order *in, FILE *to)
{
    struct world_admin *a = arg;
    struct world *w = a->view.world;
    struct crier_area area = {.reach = NOTICE_EVERYBODY, .scene = w->scenes.first};
    struct announce what;
    int status;
    const char *why = forbidden_now(a, in, &status);

    if (why)
        return world_admin_refuse(a, in, status, why, to);
    if (announce_read(in->query, in->body, &what, &why) != 0)
        return world_admin_refuse(a, in, 400, why, to);
    if (what.has_scene && !scenes_find(&w->scenes, span_text(what.scene), &area.scene))
        return world_admin_refuse(a, in, 404, "there is no such scene", to);
    if (what.has_scene)
        area.reach = NOTICE_SCENE;
    if (what.has_rect) {
        area.reach = NOTICE_ZONE;
        memcpy(area.place, what.rect, sizeof(area.place));
    }
    if (what.has_at) {
        area.reach = NOTICE_CELL;
        area.place[0] = area.place[2] = what.at[0];
        area.place[1] = area.place[3] = what.at[1];
    }
    uint32_t told = crier_announce(w, &area, what.text, loop_now(a->loop));
    outbox_flush(&w->outbox);
    log_line(LOG_INFO, "announced area=%s told=%" PRIu32 " bytes=%zu peer=%s",
             area_words[area.reach], told, what.text.n, in->peer);
    fprintf(to, "{\"told\":%" PRIu32 "}\n", told);
    return 200;
}

/* --- kick, teleport --------------------------------------------------------------------------- */

/* The body as the reason; the code's own text where there is none. */
static const char *reason_of(struct span body, char out[REASON_MAX + 1])
{
    if (body.n == 0)
        return protocol_error_text(PE_KICKED);
    memcpy(out, body.p, body.n);
    out[body.n] = '\0';
    return out;
}

int admin_act_kick(void *arg, const struct http_order *in, FILE *to)
{
    struct world_admin *a = arg;
    struct world *w = a->view.world;
    char reason[REASON_MAX + 1];
    struct session *s;
    struct act act;
    int status = begin(a, in, ADMIN_ASK_WHO, ADMIN_ASK_WHO, &act, to);

    if (status != 0)
        return status;
    if (!sessions_find(&w->sessions, act.who.session, &s))
        return world_admin_refuse(a, in, 400, "nobody is behind it who could be kicked", to);
    if (in->body.n > 0 && (in->body.n > REASON_MAX || !message_plain_ok(in->body)))
        return world_admin_refuse(
            a, in, 400, "the reason must be 1 to 128 bytes of UTF-8 without control characters",
            to);
    log_line(LOG_INFO, "kicked name=\"%.*s\" session=%s client=%s peer=%s", (int)s->name_len,
             s->name, SESSION_TEXT(w, s), s->peer, in->peer);
    inbox_session_remove(w, act.who.session, reason_of(in->body, reason), loop_now(a->loop));
    outbox_flush(&w->outbox);
    return done(to);
}

static const char *teleport_why(int err, int *status)
{
    *status = 400;
    switch (err) {
    case PE_MOVE_BOUNDS:
        return "the place is outside the scene";
    case PE_MOVE_BLOCKED:
        return "the place is on a blocked tile";
    default:
        *status = 404;
        return "it is not in the world";
    }
}

int admin_act_teleport(void *arg, const struct http_order *in, FILE *to)
{
    struct world_admin *a = arg;
    struct world *w = a->view.world;
    struct act act;
    uint32_t scene;
    int status = begin(a, in, ADMIN_ASK_WHO | ADMIN_ASK_SCENE | ADMIN_ASK_TO,
                       ADMIN_ASK_WHO | ADMIN_ASK_TO, &act, to);

    if (status != 0)
        return status;
    if (act.who.entity == EXPLAIN_NOBODY || (w->entities.flags[act.who.entity] & ENTITY_AWAY))
        return world_admin_refuse(a, in, 404, "it is not in the world, or asleep", to);
    if (entities_is_ghost(&w->entities, act.who.entity))
        return world_admin_refuse(a, in, 400, "it is another world's: ask there", to);
    scene = w->entities.scene[act.who.entity];
    if ((act.ask.has & ADMIN_ASK_SCENE) &&
        !scenes_find(&w->scenes, span_text(act.ask.scene), &scene))
        return world_admin_refuse(a, in, 404, "there is no such scene", to);
    uint32_t id = w->entities.id[act.who.entity];
    int err = teleport_entity(w, entities_ref(&w->entities, act.who.entity), scene, act.ask.to[0],
                              act.ask.to[1]);
    if (err != 0) {
        const char *why = teleport_why(err, &status);

        return world_admin_refuse(a, in, status, why, to);
    }
    outbox_flush(&w->outbox);
    log_line(LOG_INFO, "teleported id=%" PRIu32 " scene=%.*s x=%.2f y=%.2f peer=%s", id,
             (int)w->scenes.list[scene].name.n, (const char *)w->scenes.list[scene].name.p,
             act.ask.to[0], act.ask.to[1], in->peer);
    return done(to);
}

/* --- drain, log ------------------------------------------------------------------------------- */

int admin_act_drain(void *arg, const struct http_order *in, FILE *to)
{
    struct world_admin *a = arg;
    struct act act;
    int status = begin(a, in, 0, 0, &act, to);

    if (status != 0)
        return status;
    if (!a->view.drain)
        return world_admin_refuse(a, in, 503, "this world cannot be drained from here", to);
    log_line(LOG_INFO, "drain asked for peer=%s", in->peer);
    loop_timer_arm(a->drain, DRAIN_AFTER_NS);
    return done(to);
}

int admin_act_log(void *arg, const struct http_order *in, FILE *to)
{
    struct world_admin *a = arg;
    struct act act;
    int status = begin(a, in, ADMIN_ASK_LEVEL, ADMIN_ASK_LEVEL, &act, to);

    if (status != 0)
        return status;
    enum log_level before = log_least(), after = (enum log_level)act.ask.level;
    if (after < before)
        log_set_level(after); /* so that the line is written at whichever of the two writes more */
    log_line(LOG_WARN, "log level is changed from=%s to=%s peer=%s", log_level_name(before),
             log_level_name(after), in->peer);
    log_set_level(after);
    return done(to);
}

/* --- trace ------------------------------------------------------------------------------------ */

int admin_act_trace(void *arg, const struct http_order *in, FILE *to)
{
    struct world_admin *a = arg;
    const struct sessions *all = &a->view.world->sessions;
    struct session *s;
    struct act act;
    int status =
        begin(a, in, ADMIN_ASK_WHO | ADMIN_ASK_LINES | ADMIN_ASK_SECONDS, ADMIN_ASK_WHO, &act, to);

    if (status != 0)
        return status;
    if (!sessions_find(all, act.who.session, &s) || s->state == SESSION_WAITING)
        return world_admin_refuse(a, in, 400, "nobody is connected behind it", to);
    const char *text = session_text(all, s, (char[LOG_SESSION_MAX]){0});
    log_line(LOG_INFO, "trace asked for session=%s peer=%s", text, in->peer);
    world_link_trace(a->view.link, all, s, act.ask.lines, act.ask.seconds);
    fputs("{\"session\":", to);
    json_put_text(to, span_text(text));
    fputs("}\n", to);
    return 200;
}
