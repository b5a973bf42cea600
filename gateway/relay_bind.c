/* gateway/relay_bind.c: at which world a session is: opened, bound, handed on, lost.
 * May touch: common, proto/link, clients, uplink. On trouble: see relay.h.
 */
#include "gateway/relay_own.h"

#include "common/log.h"
#include "proto/protocol.h"

struct relay_link *relay_pick(struct relay *r)
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

uint32_t relay_open(struct relay_link *l, struct client *c, struct span_writer *w)
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

void relay_tell_login(struct relay *r, struct client *c)
{
    r->notes[c->slot].n = 0;
    if (!c->logged_in)
        return;
    c->logged_in = false;
    r->metrics->told_login++;
    client_send_error(c, PE_NOT_LOGGED_IN, 0, 0);
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

void relay_redirect(struct relay_link *l, const struct link_frame *f)
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

void relay_ready(void *arg)
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

void relay_lost(void *arg, const char *reason)
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

void relay_pressure(void *arg, bool on)
{
    struct relay_link *l = arg;

    log_often(LOG_WARN, "link queue is %s: clients are %s", on ? "full" : "drained",
              on ? "not read" : "read again");
    l->pressed = on;
    relay_read(l->relay);
}
