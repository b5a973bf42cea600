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

/* Where the client's session is; it has one. */
static struct relay_link *relay_at(struct relay *r, const struct client *c)
{
    ASSERT(c->session);
    return &r->links[r->at[c->slot]];
}

/* The client of a session that is open on this link; NULL: stale. */
static struct client *relay_find(const struct relay_link *l, uint64_t session)
{
    struct relay *r = l->relay;
    const uint32_t slot = (uint32_t)session;
    struct client *c = clients_find(r->clients, slot);

    return c && c->session && r->gen[slot] == session >> 32 && relay_at(r, c) == l ? c : NULL;
}

static void relay_take_session(struct relay_link *l, struct client *c)
{
    struct relay *r = l->relay;

    c->session = true;
    r->at[c->slot] = (uint8_t)(l - r->links);
    r->sessions++;
    l->sessions++;
    if (l->pressed)
        r->clients->conn->read_pause(c->conn, true);
}

static void relay_forget_session(struct relay *r, struct client *c)
{
    struct relay_link *l;

    if (!c->session)
        return;
    l = relay_at(r, c);
    c->session = false;
    r->sessions--;
    l->sessions--;
    if (l->pressed && !r->clients->paused)
        r->clients->conn->read_pause(c->conn, false);
}

static void relay_set_ready(struct relay_link *l, bool ready)
{
    struct relay *r = l->relay;
    bool any = false;

    l->ready = ready;
    for (uint32_t i = 0; i < r->n_links; i++)
        any = any || r->links[i].ready;
    r->clients->world_up = any;
}

/* The link takes no more: requests are refused until it is ready again. */
static void relay_write(struct relay_link *l, const struct span_writer *w, uint32_t frames)
{
    ASSERT(!w->full);
    if (w->len > 0 && uplink_write(l->uplink, span_written(w), frames) != 0)
        relay_set_ready(l, false);
}

/* `code` 0: no answer is wanted. */
static void relay_write_close(struct relay_link *l, uint64_t session, uint32_t code)
{
    uint8_t note[RELAY_NOTE_MAX];
    struct span_writer w = span_writer_of(note, sizeof(note));

    link_write_close(&w, session, code, (struct span){0});
    relay_write(l, &w, 1);
}

/* --- from clients -------------------------------------------------------------------------- */

/* The world that has fewest sessions, of those that take them; NULL: none is there. */
static struct relay_link *relay_pick(struct relay *r)
{
    struct relay_link *best = NULL;

    for (uint32_t i = 0; i < r->n_links; i++) {
        struct relay_link *l = &r->links[i];

        if (!l->ready)
            continue;
        if (!best || l->pressed < best->pressed ||
            (l->pressed == best->pressed && l->sessions < best->sessions))
            best = l;
    }
    return best;
}

static struct span relay_peer(const struct client *c)
{
    const size_t n = strlen(c->peer);

    return span_of(c->peer, n > LINK_TEXT_MAX ? LINK_TEXT_MAX : n);
}

/* What the world is to know of a client's queue, on a link that does not know it yet. Frames. */
static uint32_t relay_tell_slow(struct relay *r, struct client *c, struct span_writer *w)
{
    drains_afresh(r->clients, c);
    if (!c->slow)
        return 0;
    link_write_congestion(w, relay_session(r, c), true);
    return 1;
}

/* A session for a client that has none: bound where a world has said what it is to know it by. How
 * many frames are written. */
static uint32_t relay_open(struct relay_link *l, struct client *c, struct span_writer *w)
{
    struct relay *r = l->relay;
    const struct relay_note *note = &r->notes[c->slot];

    if (++r->gen[c->slot] == 0)
        r->gen[c->slot] = 1;
    relay_take_session(l, c);
    if (note->n > 0) {
        r->metrics->binds++;
        link_write_bind(w, relay_session(r, c), relay_peer(c), span_of(note->bytes, note->n));
    } else {
        link_write_open(w, relay_session(r, c), relay_peer(c));
    }
    return 1 + relay_tell_slow(r, c, w);
}

static void relay_forward(void *arg, struct client *c, const struct span *bodies, uint32_t n)
{
    struct relay *r = arg;
    struct span_writer w = span_writer_of(r->scratch, r->scratch_cap);
    struct relay_link *l = c->session ? relay_at(r, c) : relay_pick(r);
    uint32_t frames = 1;

    if (!l)
        return; /* a link that just broke was the last: all are told in a moment */
    if (!c->session)
        frames += relay_open(l, c, &w);
    link_write_data(&w, relay_session(r, c), bodies, n);
    relay_write(l, &w, frames);
}

static void relay_congestion(void *arg, struct client *c, bool on)
{
    struct relay *r = arg;
    uint8_t note[RELAY_NOTE_MAX];
    struct span_writer w = span_writer_of(note, sizeof(note));

    if (!c->session)
        return;
    link_write_congestion(&w, relay_session(r, c), on);
    relay_write(relay_at(r, c), &w, 1);
}

static void relay_drained(void *arg, struct client *c, uint64_t bytes_per_s)
{
    struct relay *r = arg;
    uint8_t note[RELAY_NOTE_MAX];
    struct span_writer w = span_writer_of(note, sizeof(note));

    if (!c->session)
        return;
    link_write_drain(&w, relay_session(r, c), bytes_per_s);
    relay_write(relay_at(r, c), &w, 1);
}

static void relay_gone(void *arg, struct client *c)
{
    struct relay *r = arg;

    r->notes[c->slot].n = 0;
    if (!c->session)
        return;
    relay_write_close(relay_at(r, c), relay_session(r, c), 0);
    relay_forget_session(r, c);
}

/* The world answers the close of a session behind its answers. */
static void relay_part(void *arg, struct client *c)
{
    struct relay *r = arg;

    relay_write_close(relay_at(r, c), relay_session(r, c), c->part.code);
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

/* Send what was gathered. */
static void relay_send_run(struct relay *r)
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
static void relay_close(struct relay_link *l, const struct link_frame *f)
{
    struct relay *r = l->relay;
    struct client *c = relay_find(l, f->session);

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
    log_often(LOG_WARN, "session unknown to the world session=%s peer=%s",
              log_session((char[LOG_SESSION_MAX]){0}, r->clients->id, f->session), c->peer);
    relay_tell_login(r, c);
}

static struct relay_link *relay_of_world(struct relay *r, struct span world)
{
    for (uint32_t i = 0; i < r->n_links; i++) {
        struct relay_link *l = &r->links[i];

        if (l->ready && span_equal(span_text(l->uplink->world), world))
            return l;
    }
    return NULL;
}

/* It has a session no more; when a world is there it is bound anew. */
static void relay_lose(struct relay *r, struct client *c)
{
    if (!c->logged_in) /* it does not know that it is */
        r->notes[c->slot].n = 0;
    relay_forget_session(r, c);
    client_parted(c);
    r->bind_at = 0;
}

/* Another world has it from now on. */
static void relay_redirect(struct relay_link *l, const struct link_frame *f)
{
    struct relay *r = l->relay;
    struct client *c = relay_find(l, f->session);
    struct relay_link *to = relay_of_world(r, f->world);
    struct span_writer w = span_writer_of(r->scratch, r->scratch_cap);
    const struct relay_note *note;
    uint32_t frames = 1;

    link_write_left(&w, f->session);
    relay_write(l, &w, 1);
    if (!c) {
        r->metrics->stale_data++;
        return;
    }
    if (!to) {
        r->metrics->redirects_lost++;
        log_often(LOG_WARN, "redirect to a world that is away world=%.*s peer=%s", (int)f->world.n,
                  (const char *)f->world.p, c->peer);
        relay_lose(r, c);
        r->metrics->told_unavailable++;
        client_send_error(c, PE_UNAVAILABLE, 0, 0);
        return;
    }
    r->metrics->redirects++;
    relay_forget_session(r, c);
    relay_take_session(to, c);
    note = &r->notes[c->slot];
    w.len = 0;
    link_write_attach(&w, f->session, relay_peer(c), span_of(note->bytes, note->n), f->entity,
                      f->count);
    frames += relay_tell_slow(r, c, &w);
    relay_write(to, &w, frames);
    if (c->parting)
        relay_part(r, c);
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

/* Bind those that are to be, from bind_at on; a batch of them is one write to one world. */
static void relay_bind_some(struct relay *r)
{
    struct span_writer w = span_writer_of(r->scratch, r->scratch_cap);
    struct relay_link *l = relay_pick(r);
    uint32_t frames = 0, binds = 0;

    while (l && r->bind_at < r->clients->slots.fresh && binds < RELAY_BINDS_AT_ONCE) {
        struct client *c = clients_find(r->clients, r->bind_at++);
        if (!c || c->session || c->parting || r->notes[c->slot].n == 0)
            continue;
        frames += relay_open(l, c, &w);
        binds++;
        if (w.cap - w.len >= 2 * RELAY_NOTE_MAX)
            continue;
        relay_write(l, &w, frames);
        w.len = 0;
        frames = 0;
        l = relay_pick(r);
    }
    if (l)
        relay_write(l, &w, frames);
    if (r->bind_at >= r->clients->slots.fresh)
        r->bind_at = UINT32_MAX;
}

void relay_step(struct relay *r)
{
    if (r->bind_at != UINT32_MAX && r->clients->world_up)
        relay_bind_some(r);
}

/* Read all but those whose link is full; nobody, where all links are: who has no session yet would
 * open one. */
static void relay_read(struct relay *r)
{
    bool any = false, all = true;

    for (uint32_t i = 0; i < r->n_links; i++) {
        any = any || r->links[i].ready;
        all = all && (!r->links[i].ready || r->links[i].pressed);
    }
    clients_pause(r->clients, any && all);
    for (uint32_t slot = 0; !r->clients->paused && slot < r->clients->slots.fresh; slot++) {
        struct client *c = clients_find(r->clients, slot);
        if (c)
            r->clients->conn->read_pause(c->conn, c->session && relay_at(r, c)->pressed);
    }
}

static void relay_ready(void *arg)
{
    struct relay_link *l = arg;
    struct relay *r = l->relay;

    relay_set_ready(l, true);
    relay_read(r);
    for (uint32_t slot = 0; slot < r->clients->slots.fresh; slot++) {
        struct client *c = clients_find(r->clients, slot);
        if (!c || c->session)
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
    struct relay_link *l = arg;
    struct relay *r = l->relay;

    relay_send_run(r);
    log_often(LOG_WARN, "link lost reason=\"%s\" clients=%u", reason, l->sessions);
    l->pressed = false;
    relay_set_ready(l, false);
    relay_read(r);
    for (uint32_t slot = 0; slot < r->clients->slots.fresh; slot++) {
        struct client *c = clients_find(r->clients, slot);
        const bool here = c && c->session && relay_at(r, c) == l;

        if (!c || (!here && r->clients->world_up))
            continue;
        relay_lose(r, c);
        r->metrics->told_unavailable++;
        client_send_error(c, PE_UNAVAILABLE, 0, 0);
    }
    ASSERT(l->sessions == 0);
    if (!r->clients->world_up)
        r->bind_at = UINT32_MAX;
}

static void relay_pressure(void *arg, bool on)
{
    struct relay_link *l = arg;

    log_often(LOG_WARN, "link queue is %s: clients are %s", on ? "full" : "drained",
              on ? "not read" : "read again");
    l->pressed = on;
    relay_read(l->relay);
}

const struct uplink_user relay_uplink_user = {
    .ready = relay_ready,
    .lost = relay_lost,
    .frame = relay_frame,
    .settle = relay_settle,
    .pressure = relay_pressure,
};

/* --- life ---------------------------------------------------------------------------------- */

int relay_init(struct relay *r, struct clients *clients, struct gateway_metrics *metrics)
{
    const size_t bodies = clients->limits.frame_max > CLIENT_BATCH_BYTES ? clients->limits.frame_max
                                                                         : CLIENT_BATCH_BYTES;

    *r = (struct relay){.clients = clients, .metrics = metrics, .bind_at = UINT32_MAX};
    r->scratch_cap = 2 * RELAY_NOTE_MAX + LINK_DATA_OVERHEAD + bodies;
    r->scratch = malloc(r->scratch_cap);
    r->gen = calloc(clients->slots.cap, sizeof(*r->gen));
    r->notes = calloc(clients->slots.cap, sizeof(*r->notes));
    r->at = calloc(clients->slots.cap, sizeof(*r->at));
    if (!r->scratch || !r->gen || !r->notes || !r->at) {
        relay_fini(r);
        return E_NOMEM;
    }
    clients->world = &relay_world;
    clients->gen = r->gen;
    clients->world_arg = r;
    return 0;
}

int relay_link_add(struct relay *r, struct uplink *u, struct relay_link **out)
{
    if (r->n_links == RELAY_LINKS_MAX)
        return E_FULL;
    *out = &r->links[r->n_links++];
    **out = (struct relay_link){.relay = r, .uplink = u};
    return 0;
}

void relay_fini(struct relay *r)
{
    free(r->scratch);
    free(r->gen);
    free(r->notes);
    free(r->at);
    r->at = NULL;
    r->notes = NULL;
    r->scratch = NULL;
    r->gen = NULL;
}
