/* gateway/relay_hear.c: what worlds say: to one client, to many, and of sessions.
 * May touch: common, proto/link, clients, uplink. On trouble: see relay.h.
 */
#include "gateway/relay_own.h"

#include "common/log.h"
#include "proto/protocol.h"

bool relay_body_is(struct span body, uint32_t cmd)
{
    uint64_t v;

    /* An array of three, in its short form as everybody writes it, then an unsigned integer. */
    if (body.n < 2 || body.p[0] != 0x93)
        return false;
    const uint8_t *p = body.p + 1;
    const size_t n = body.n - 1;
    if (p[0] <= 0x7f)
        v = p[0];
    else if (p[0] == 0xcc && n >= 2)
        v = p[1];
    else if (p[0] == 0xcd && n >= 3)
        v = (uint64_t)p[1] << 8 | p[2];
    else if (p[0] == 0xce && n >= 5)
        v = span_be32(p + 1);
    else
        return false;
    return v == cmd;
}

static void relay_stale(struct relay_link *l, uint64_t session)
{
    l->relay->metrics->stale_data++;
    relay_write_close(l, session, 0);
}

static void relay_note_login(struct client *c, struct span body)
{
    if (!c->logged_in && relay_body_is(body, CMD_LOGIN_RESP)) {
        c->logged_in = true;
        c->greeted = true;
    }
}

void relay_send_run(struct relay *r)
{
    if (r->n_run > 0)
        client_send_run(r->to, r->run, r->n_run);
    r->to = NULL;
    r->n_run = 0;
}

static void relay_settle(void *arg)
{
    struct relay_link *l = arg;

    relay_send_run(l->relay);
}

static void relay_gather(struct relay *r, struct client *c, struct span body)
{
    if (r->to != c || r->n_run == CLIENT_RUN_MAX)
        relay_send_run(r);
    r->to = c;
    r->run[r->n_run++] = body;
}

static void relay_data(struct relay_link *l, const struct link_frame *f)
{
    struct client *c = relay_find(l, f->session);

    if (!c) {
        relay_stale(l, f->session);
        return;
    }
    for (uint32_t i = 0; i < f->n_bodies; i++) {
        relay_note_login(c, f->bodies[i]);
        relay_gather(l->relay, c, f->bodies[i]);
    }
}

/* Not at once: in a crowd that talks, many of these come for each client, and one send at the end
 * of the turn takes them all. */
static void relay_data_many(struct relay_link *l, const struct link_frame *f)
{
    struct span rest = f->sessions;
    uint64_t session;

    while (link_session_take(&rest, &session) == 0) {
        struct client *c = relay_find(l, session);
        if (c)
            client_send(c, f->bodies[0]);
        else
            relay_stale(l, session);
    }
}

static void relay_note(struct relay_link *l, const struct link_frame *f)
{
    const struct client *c = relay_find(l, f->session);
    struct relay_note *note;

    if (!c) {
        relay_stale(l, f->session);
        return;
    }
    note = &l->relay->notes[c->slot];
    note->n = (uint8_t)f->note.n;
    if (f->note.n > 0)
        memcpy(note->bytes, f->note.p, f->note.n);
}

/* The world has ended a session, or does not know it (code 0). No answer: it has none to forget. */
static void relay_close(struct relay_link *l, const struct link_frame *f)
{
    struct relay *r = l->relay;
    struct client *c = relay_find(l, f->session);

    if (!c) {
        r->metrics->stale_close++;
        return;
    }
    const enum relay_asked asked = relay_asked(r, c);
    relay_forget_session(r, c);
    if (c->parting) {
        client_parted(c);
        return;
    }
    if (f->code != 0) {
        client_bye(c, f->code, f->text, CLIENT_END_WORLD);
        return;
    }
    r->metrics->unknown_sessions++;
    log_often(LOG_WARN, "session unknown to the world session=%s peer=%s",
              log_session((char[LOG_SESSION_MAX]){0}, r->clients->id, f->session), c->peer);
    if (asked == RELAY_ONE || asked == RELAY_MORE)
        relay_tell_loss(r, c);
    if (c->state == CLIENT_OPEN)
        relay_tell_login(r, c);
}

static void relay_frame(void *arg, const struct link_frame *f)
{
    struct relay_link *l = arg;

    if (f->kind == LINK_DATA) {
        relay_data(l, f);
        return;
    }
    relay_send_run(l->relay);
    if (f->kind == LINK_DATA_MANY)
        relay_data_many(l, f);
    else if (f->kind == LINK_CLOSE)
        relay_close(l, f);
    else if (f->kind == LINK_NOTE)
        relay_note(l, f);
    else if (f->kind == LINK_REDIRECT)
        relay_redirect(l, f);
}

const struct uplink_user relay_uplink_user = {
    .ready = relay_ready,
    .lost = relay_lost,
    .frame = relay_frame,
    .settle = relay_settle,
    .pressure = relay_pressure,
};
