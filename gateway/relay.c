/* gateway/relay.c: sessions and routes. May touch: common, proto/link, clients, uplink.
 * On trouble: see relay.h.
 */
#include "gateway/relay.h"

#include "common/err.h"
#include "common/log.h"
#include "proto/protocol.h"

#include <stdlib.h>

/* Open, bind, congestion, drain, close: a head, a session, a peer or reason, a note. */
#define RELAY_NOTE_MAX (LINK_TEXT_MAX + LINK_NOTE_MAX + 64)

static uint64_t relay_session(const struct relay *r, const struct client *c)
{
    return (uint64_t)r->gen[c->slot] << 32 | c->slot;
}

/* The client of an open session; NULL: stale. */
static struct client *relay_find(const struct relay *r, uint64_t session)
{
    const uint32_t slot = (uint32_t)session;
    struct client *c = clients_find(r->clients, slot);
    return c && c->session && r->gen[slot] == session >> 32 ? c : NULL;
}

static void relay_forget_session(struct relay *r, struct client *c)
{
    if (!c->session)
        return;
    c->session = false;
    r->sessions--;
}

/* The link takes no more: requests are refused until it is ready again. */
static void relay_write(struct relay *r, const struct span_writer *w, uint32_t frames)
{
    ASSERT(!w->full);
    if (w->len > 0 && uplink_write(r->uplink, span_written(w), frames) != 0)
        r->clients->world_up = false;
}

/* `code` 0: no answer is wanted. */
static void relay_write_close(struct relay *r, uint64_t session, uint32_t code)
{
    uint8_t note[RELAY_NOTE_MAX];
    struct span_writer w = span_writer_of(note, sizeof(note));

    link_write_close(&w, session, code, (struct span){0});
    relay_write(r, &w, 1);
}

/* --- from clients -------------------------------------------------------------------------- */

/* A session for a client that has none: bound where the world has said what it is to know it by.
 * How many frames are written. */
static uint32_t relay_open(struct relay *r, struct client *c, struct span_writer *w)
{
    const struct relay_note *note = &r->notes[c->slot];
    const size_t peer_bytes = strlen(c->peer);
    const struct span peer =
        span_of(c->peer, peer_bytes > LINK_TEXT_MAX ? LINK_TEXT_MAX : peer_bytes);

    if (++r->gen[c->slot] == 0)
        r->gen[c->slot] = 1;
    c->session = true;
    r->sessions++;
    if (note->n > 0) {
        r->metrics->binds++;
        link_write_bind(w, relay_session(r, c), peer, span_of(note->bytes, note->n));
    } else {
        link_write_open(w, relay_session(r, c), peer);
    }
    drains_afresh(r->clients, c);
    if (!c->slow)
        return 1;
    link_write_congestion(w, relay_session(r, c), true);
    return 2;
}

static void relay_forward(void *arg, struct client *c, const struct span *bodies, uint32_t n)
{
    struct relay *r = arg;
    struct span_writer w = span_writer_of(r->scratch, r->scratch_cap);
    uint32_t frames = 1;

    if (!c->session)
        frames += relay_open(r, c, &w);
    link_write_data(&w, relay_session(r, c), bodies, n);
    relay_write(r, &w, frames);
}

static void relay_congestion(void *arg, struct client *c, bool on)
{
    struct relay *r = arg;
    uint8_t note[RELAY_NOTE_MAX];
    struct span_writer w = span_writer_of(note, sizeof(note));

    if (!c->session)
        return;
    link_write_congestion(&w, relay_session(r, c), on);
    relay_write(r, &w, 1);
}

static void relay_drained(void *arg, struct client *c, uint64_t bytes_per_s)
{
    struct relay *r = arg;
    uint8_t note[RELAY_NOTE_MAX];
    struct span_writer w = span_writer_of(note, sizeof(note));

    if (!c->session)
        return;
    link_write_drain(&w, relay_session(r, c), bytes_per_s);
    relay_write(r, &w, 1);
}

static void relay_gone(void *arg, struct client *c)
{
    struct relay *r = arg;

    r->notes[c->slot].n = 0;
    if (!c->session)
        return;
    relay_write_close(r, relay_session(r, c), 0);
    relay_forget_session(r, c);
}

/* The world answers the close of a session behind its answers. */
static void relay_part(void *arg, struct client *c)
{
    struct relay *r = arg;

    relay_write_close(r, relay_session(r, c), c->part.code);
}

static const struct clients_world relay_world = {
    .forward = relay_forward,
    .congestion = relay_congestion,
    .drained = relay_drained,
    .part = relay_part,
    .gone = relay_gone,
};

/* --- from the world ------------------------------------------------------------------------ */

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

static void relay_stale(struct relay *r, uint64_t session)
{
    r->metrics->stale_data++;
    relay_write_close(r, session, 0);
}

static void relay_note_login(struct client *c, struct span body)
{
    if (!c->logged_in && relay_body_is(body, CMD_LOGIN_RESP)) {
        c->logged_in = true;
        c->greeted = true;
    }
}

/* Send what was gathered. */
static void relay_settle(void *arg)
{
    struct relay *r = arg;

    if (r->n_run > 0)
        client_send_run(r->to, r->run, r->n_run);
    r->to = NULL;
    r->n_run = 0;
}

static void relay_gather(struct relay *r, struct client *c, struct span body)
{
    if (r->to != c || r->n_run == CLIENT_RUN_MAX)
        relay_settle(r);
    r->to = c;
    r->run[r->n_run++] = body;
}

static void relay_data(struct relay *r, const struct link_frame *f)
{
    struct client *c = relay_find(r, f->session);

    if (!c) {
        relay_stale(r, f->session);
        return;
    }
    for (uint32_t i = 0; i < f->n_bodies; i++) {
        relay_note_login(c, f->bodies[i]);
        relay_gather(r, c, f->bodies[i]);
    }
}

/* Not at once: in a crowd that talks, many of these come for each client, and one send at the end
 * of the turn takes them all. */
static void relay_data_many(struct relay *r, const struct link_frame *f)
{
    struct span rest = f->sessions;
    uint64_t session;

    while (link_session_take(&rest, &session) == 0) {
        struct client *c = relay_find(r, session);
        if (c)
            client_send(c, f->bodies[0]);
        else
            relay_stale(r, session);
    }
}

static void relay_note(struct relay *r, const struct link_frame *f)
{
    const struct client *c = relay_find(r, f->session);
    struct relay_note *note;

    if (!c) {
        relay_stale(r, f->session);
        return;
    }
    note = &r->notes[c->slot];
    note->n = (uint8_t)f->note.n;
    if (f->note.n > 0)
        memcpy(note->bytes, f->note.p, f->note.n);
}

static void relay_tell_login(struct relay *r, struct client *c)
{
    r->notes[c->slot].n = 0;
    if (!c->logged_in)
        return;
    c->logged_in = false;
    r->metrics->told_login++;
    client_send_error(c, PE_NOT_LOGGED_IN, 0, 0);
}

/* The world has ended a session, or does not know it (code 0). No answer: it has none to forget. */
static void relay_close(struct relay *r, const struct link_frame *f)
{
    struct client *c = relay_find(r, f->session);

    if (!c) {
        r->metrics->stale_close++;
        return;
    }
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
    log_often(LOG_WARN, "session unknown to the world session=%llu peer=%s",
              (unsigned long long)f->session, c->peer);
    relay_tell_login(r, c);
}

static void relay_frame(void *arg, const struct link_frame *f)
{
    struct relay *r = arg;

    if (f->kind == LINK_DATA) {
        relay_data(r, f);
        return;
    }
    relay_settle(r);
    if (f->kind == LINK_DATA_MANY)
        relay_data_many(r, f);
    else if (f->kind == LINK_CLOSE)
        relay_close(r, f);
    else if (f->kind == LINK_NOTE)
        relay_note(r, f);
}

/* Bind those that are to be, from bind_at on; a batch of them is one write. */
static void relay_bind_some(struct relay *r)
{
    struct span_writer w = span_writer_of(r->scratch, r->scratch_cap);
    uint32_t frames = 0, binds = 0;

    while (r->bind_at < r->clients->slots.fresh && binds < RELAY_BINDS_AT_ONCE) {
        struct client *c = clients_find(r->clients, r->bind_at++);
        if (!c || c->session || c->parting || r->notes[c->slot].n == 0)
            continue;
        frames += relay_open(r, c, &w);
        binds++;
        if (w.cap - w.len >= 2 * RELAY_NOTE_MAX)
            continue;
        relay_write(r, &w, frames);
        w.len = 0;
        frames = 0;
    }
    relay_write(r, &w, frames);
    if (r->bind_at >= r->clients->slots.fresh)
        r->bind_at = UINT32_MAX;
}

void relay_step(struct relay *r)
{
    if (r->bind_at != UINT32_MAX && r->clients->world_up)
        relay_bind_some(r);
}

static void relay_ready(void *arg)
{
    struct relay *r = arg;

    r->clients->world_up = true;
    for (uint32_t slot = 0; slot < r->clients->slots.fresh; slot++) {
        struct client *c = clients_find(r->clients, slot);
        if (!c)
            continue;
        if (r->notes[slot].n == 0)
            relay_tell_login(r, c);
        client_login_restart(c);
    }
    r->bind_at = 0;
    relay_bind_some(r);
}

static void relay_lost(void *arg, const char *reason)
{
    struct relay *r = arg;

    relay_settle(r);
    log_often(LOG_WARN, "link lost reason=\"%s\" clients=%u", reason, r->clients->open);
    r->clients->world_up = false;
    r->bind_at = UINT32_MAX;
    clients_pause(r->clients, false);
    for (uint32_t slot = 0; slot < r->clients->slots.fresh; slot++) {
        struct client *c = clients_find(r->clients, slot);
        if (!c)
            continue;
        if (!c->logged_in) /* it does not know that it is */
            r->notes[slot].n = 0;
        relay_forget_session(r, c);
        client_parted(c);
    }
    ASSERT(r->sessions == 0);
    r->metrics->told_unavailable += clients_tell(r->clients, PE_UNAVAILABLE);
}

static void relay_pressure(void *arg, bool on)
{
    struct relay *r = arg;

    log_often(LOG_WARN, "link queue is %s: clients are %s", on ? "full" : "drained",
              on ? "not read" : "read again");
    clients_pause(r->clients, on);
}

const struct uplink_user relay_uplink_user = {
    .ready = relay_ready,
    .lost = relay_lost,
    .frame = relay_frame,
    .settle = relay_settle,
    .pressure = relay_pressure,
};

/* --- life ---------------------------------------------------------------------------------- */

int relay_init(struct relay *r, struct clients *clients, struct uplink *uplink,
               struct gateway_metrics *metrics)
{
    const size_t bodies = clients->limits.frame_max > CLIENT_BATCH_BYTES ? clients->limits.frame_max
                                                                         : CLIENT_BATCH_BYTES;

    *r = (struct relay){
        .clients = clients, .uplink = uplink, .metrics = metrics, .bind_at = UINT32_MAX};
    r->scratch_cap = 2 * RELAY_NOTE_MAX + LINK_DATA_OVERHEAD + bodies;
    r->scratch = malloc(r->scratch_cap);
    r->gen = calloc(clients->slots.cap, sizeof(*r->gen));
    r->notes = calloc(clients->slots.cap, sizeof(*r->notes));
    if (!r->scratch || !r->gen || !r->notes) {
        relay_fini(r);
        return E_NOMEM;
    }
    clients->world = &relay_world;
    clients->world_arg = r;
    return 0;
}

void relay_fini(struct relay *r)
{
    free(r->scratch);
    free(r->gen);
    free(r->notes);
    r->notes = NULL;
    r->scratch = NULL;
    r->gen = NULL;
}
