/* gateway/relay_bind.c: at which world a session is: opened, bound, handed on, lost.
 * May touch: common, proto/link, clients, uplink. On trouble: see relay.h.
 */
#include "gateway/relay_own.h"

#include "common/log.h"
#include "proto/protocol.h"

#include <stdio.h>

/* Is `a` the one to have the next session, of these two? */
static bool relay_better(const struct relay_link *a, const struct relay_link *b)
{
    if (a->spared != b->spared)
        return b->spared;
    if (a->pressed != b->pressed)
        return b->pressed;
    return a->sessions < b->sessions;
}

struct relay_link *relay_pick(struct relay *r, const struct relay_link *but)
{
    struct relay_link *best = NULL;

    for (uint32_t i = 0; i < r->n_links; i++) {
        struct relay_link *l = &r->links[i];

        if (!l->ready || (but && l == but))
            continue;
        if (!best || relay_better(l, best))
            best = l;
    }
    return best;
}

struct relay_link *relay_pick_for(struct relay *r, const struct client *c)
{
    const uint8_t shun = r->ways[c->slot].shun;
    struct relay_link *l = shun ? relay_pick(r, &r->links[shun - 1]) : NULL;

    return l ? l : relay_pick(r, NULL);
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
    if (r->ways[c->slot].shun)
        r->ways[c->slot].shun = 0;
    if (note->n > 0) {
        r->metrics->binds++;
        relay_set_asked(r, c, RELAY_BOUND);
        link_write_bind(w, relay_session(r, c), relay_peer(c), span_of(note->bytes, note->n));
    } else {
        link_write_open(w, relay_session(r, c), relay_peer(c));
    }
    return 1 + relay_tell_slow(r, c, w);
}

void relay_tell_loss(struct relay *r, struct client *c)
{
    r->metrics->told_unavailable++;
    client_send_error(c, PE_UNAVAILABLE, 0, 0);
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

void relay_attach(struct relay_link *to, struct client *c, uint32_t entity, uint32_t count)
{
    struct relay *r = to->relay;
    struct span_writer w = span_writer_of(r->scratch, r->scratch_cap);
    const struct relay_note *note = &r->notes[c->slot];
    uint32_t frames = 1;

    relay_take_session(to, c);
    relay_set_asked(r, c, entity == 0 ? RELAY_BOUND : RELAY_MORE);
    link_write_attach(&w, relay_session(r, c), relay_peer(c), span_of(note->bytes, note->n), entity,
                      count);
    frames += relay_tell_slow(r, c, &w);
    relay_write(to, &w, frames);
    if (c->parting)
        relay_part(r, c);
}

void relay_lose(struct relay *r, struct client *c)
{
    if (!c->logged_in) /* it does not know that it is */
        r->notes[c->slot].n = 0;
    relay_forget_session(r, c);
    relay_wait_end(r, c);
    client_parted(c);
}

/* The same, since its world is lost; when one is there it is bound anew. */
static void relay_bereave(struct relay *r, struct client *c)
{
    relay_lose(r, c);
    r->bind_at = 0;
    relay_tell_loss(r, c);
}

/* Bind those that are to be, from bind_at on; a batch of them is one write to one world. */
static void relay_bind_some(struct relay *r)
{
    struct span_writer w = span_writer_of(r->scratch, r->scratch_cap);
    struct relay_link *l = relay_pick(r, NULL);
    uint32_t frames = 0, binds = 0;

    while (l && r->bind_at < r->clients->slots.fresh && binds < RELAY_BINDS_AT_ONCE) {
        struct client *c = clients_find(r->clients, r->bind_at++);
        if (!c || c->session || c->waits || c->parting || r->notes[c->slot].n == 0)
            continue;
        frames += relay_open(l, c, &w);
        binds++;
        if (w.cap - w.len >= 2 * RELAY_NOTE_MAX)
            continue;
        relay_write(l, &w, frames);
        w.len = 0;
        frames = 0;
        l = relay_pick(r, NULL);
    }
    if (l)
        relay_write(l, &w, frames);
    if (r->bind_at >= r->clients->slots.fresh)
        r->bind_at = UINT32_MAX;
}

void relay_step(struct relay *r, uint32_t ms)
{
    r->now_ms += ms;
    relay_wait_step(r);
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
            r->clients->conn->read_pause(c->conn,
                                         c->waits || (c->session && relay_at(r, c)->pressed));
    }
}

void relay_ready(void *arg)
{
    struct relay_link *l = arg;
    struct relay *r = l->relay;

    snprintf(l->world, sizeof(l->world), "%s", l->uplink->world);
    relay_set_ready(l, true);
    relay_read(r);
    for (uint32_t slot = 0; slot < r->clients->slots.fresh; slot++) {
        struct client *c = clients_find(r->clients, slot);
        if (!c || c->session || c->waits)
            continue;
        if (r->notes[slot].n == 0)
            relay_tell_login(r, c);
        client_login_restart(c);
    }
    r->bind_at = 0;
    relay_bind_some(r);
}

/* It takes nothing more, and will say nothing more. */
static void relay_end(struct relay_link *l)
{
    struct relay *r = l->relay;

    l->pressed = false;
    relay_set_ready(l, false);
    relay_read(r);
    for (uint32_t slot = 0; slot < r->clients->slots.fresh; slot++) {
        struct client *c = clients_find(r->clients, slot);
        const bool here = c && c->session && relay_at(r, c) == l;

        if (c && (here || !r->clients->world_up))
            relay_bereave(r, c);
    }
    ASSERT(l->sessions == 0);
    if (!r->clients->world_up)
        r->bind_at = UINT32_MAX;
}

void relay_lost(void *arg, const char *reason)
{
    struct relay_link *l = arg;

    relay_send_run(l->relay);
    log_often(LOG_WARN, "link lost reason=\"%s\" clients=%u", reason, l->sessions);
    relay_end(l);
}

void relay_link_remove(struct relay_link *l)
{
    struct relay *r = l->relay;

    ASSERT(l->uplink);
    relay_send_run(r);
    if (l->ready)
        log_often(LOG_INFO, "world gone world=%s clients=%u", l->world, l->sessions);
    if (l->ready || l->sessions > 0)
        relay_end(l);
    l->uplink = NULL;
    l->spared = false;
    relay_step(r, 0);
}

void relay_pressure(void *arg, bool on)
{
    struct relay_link *l = arg;

    log_often(LOG_WARN, "link queue is %s: clients are %s", on ? "full" : "drained",
              on ? "not read" : "read again");
    l->pressed = on;
    relay_read(l->relay);
}
