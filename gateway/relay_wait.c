/* gateway/relay_wait.c: sessions on their way from one world to another.
 * Who is to go to a world whose link is not ready waits for it, for a bounded time, and is not read
 * meanwhile, so that what its client sends stays in order and where it is bounded already. Who is
 * to go anywhere, and who waited in vain, is bound by its note at another world. May touch: common,
 * proto/link, clients, uplink. On trouble: nothing can be full; there is a place for each client.
 */
#include "gateway/relay_own.h"

#include "common/log.h"
#include "proto/protocol.h"

static bool relay_due(const struct relay *r, uint32_t at_ms)
{
    return (int32_t)(r->now_ms - at_ms) >= 0;
}

void relay_way_forget(struct relay *r, const struct client *c)
{
    struct relay_way *way = &r->ways[c->slot];

    if (way->bound_ms != 0 || way->shun != 0) /* else its memory is not touched */
        *way = (struct relay_way){0};
}

/* When it may be bound because a world wants it so: now, unless that was just done. */
static uint32_t relay_bind_due(const struct relay *r, const struct client *c)
{
    const uint32_t bound_ms = r->ways[c->slot].bound_ms;

    return bound_ms != 0 && r->now_ms - bound_ms < RELAY_PACE_MS ? bound_ms + RELAY_PACE_MS
                                                                 : r->now_ms;
}

static void relay_note_bind(struct relay *r, const struct client *c)
{
    r->ways[c->slot].bound_ms = r->now_ms != 0 ? r->now_ms : 1;
}

/* --- the list ------------------------------------------------------------------------------ */

static void relay_wait_begin(struct relay *r, const struct relay_wait *w)
{
    struct client *c = w->client;

    ASSERT(!c->waits);
    ASSERT(!c->session);
    r->ways[c->slot].wait = r->n_waits;
    r->waits[r->n_waits++] = *w;
    c->waits = true;
    if (w->link != RELAY_ANY)
        r->links[w->link].waits++;
    r->clients->conn->read_pause(c->conn, true);
}

void relay_wait_end(struct relay *r, struct client *c)
{
    struct relay_wait *w;
    uint32_t at;

    if (!c->waits)
        return;
    at = r->ways[c->slot].wait;
    w = &r->waits[at];
    if (w->link != RELAY_ANY)
        r->links[w->link].waits--;
    *w = r->waits[--r->n_waits];
    r->ways[w->client->slot].wait = at;
    c->waits = false;
    if (!r->clients->paused)
        r->clients->conn->read_pause(c->conn, false);
}

/* --- where they go ------------------------------------------------------------------------- */

/* To any world, by its note. False: not yet. */
static bool relay_try_any(struct relay *r, struct client *c, bool over)
{
    struct span_writer w = span_writer_of(r->scratch, r->scratch_cap);
    const uint8_t shun = r->ways[c->slot].shun;
    struct relay_link *to = relay_pick(r, shun ? &r->links[shun - 1] : NULL);
    uint32_t frames;

    if (!to && !over)
        return false;
    to = to ? to : relay_pick(r, NULL);
    relay_wait_end(r, c);
    if (!to) { /* the next one that comes */
        r->bind_at = 0;
        return true;
    }
    r->metrics->binds_elsewhere++;
    relay_note_bind(r, c);
    frames = relay_open(to, c, &w);
    relay_write(to, &w, frames);
    return true;
}

/* What it asked last gets no answer; it is to be bound at another world. */
static void relay_send_away(struct relay *r, struct client *c)
{
    relay_lose(r, c);
    if (c->state != CLIENT_OPEN)
        return;
    relay_tell_loss(r, c);
    if (c->state == CLIENT_OPEN && r->notes[c->slot].n == 0)
        relay_tell_login(r, c);
    if (c->state != CLIENT_OPEN || r->notes[c->slot].n == 0)
        return; /* it is opened at its next request */
    const uint32_t from_ms = relay_bind_due(r, c);
    if (from_ms == r->now_ms && relay_try_any(r, c, false))
        return;
    relay_wait_begin(r, &(struct relay_wait){.client = c,
                                             .link = RELAY_ANY,
                                             .from_ms = from_ms,
                                             .until_ms = from_ms + RELAY_WAIT_MS});
}

/* It goes on there. */
static void relay_go(struct relay_link *to, struct client *c, uint32_t entity, uint32_t count)
{
    if (entity == 0)
        relay_note_bind(to->relay, c);
    relay_attach(to, c, entity, count);
}

/* To the world that it waits for. False: not yet. */
static bool relay_try_one(struct relay *r, const struct relay_wait *w, bool over)
{
    struct relay_link *to = &r->links[w->link];
    struct client *c = w->client;
    const uint32_t entity = w->entity, count = w->count;

    if (!to->ready && !over)
        return false;
    relay_wait_end(r, c);
    if (to->ready) {
        r->metrics->redirects_waited++;
        relay_go(to, c, entity, count);
        return true;
    }
    r->metrics->redirects_lost++;
    log_often(LOG_WARN, "redirect to a world that is away world=%s peer=%s", to->world, c->peer);
    relay_send_away(r, c);
    return true;
}

static bool relay_try(struct relay *r, uint32_t at)
{
    const struct relay_wait *w = &r->waits[at];
    const bool over = relay_due(r, w->until_ms);

    if (!relay_due(r, w->from_ms))
        return false;
    return w->link == RELAY_ANY ? relay_try_any(r, w->client, over) : relay_try_one(r, w, over);
}

void relay_wait_step(struct relay *r)
{
    uint32_t done = 0;

    for (uint32_t i = 0; i < r->n_waits && done < RELAY_BINDS_AT_ONCE;) {
        if (relay_try(r, i))
            done++; /* the last one stands here now */
        else
            i++;
    }
}

/* To the world of this id, now or when its link is ready. */
static void relay_send_to(struct relay *r, struct client *c, const struct link_frame *f)
{
    struct relay_link *to = relay_place(r, f->world);
    const uint32_t from_ms = f->entity == 0 ? relay_bind_due(r, c) : r->now_ms;

    if (!to) {
        r->metrics->redirects_lost++;
        log_often(LOG_WARN, "redirect to a world for which there is no room world=%.*s peer=%s",
                  (int)f->world.n, (const char *)f->world.p, c->peer);
        relay_send_away(r, c);
        return;
    }
    if (to->ready && from_ms == r->now_ms) {
        r->metrics->redirects++;
        relay_go(to, c, f->entity, f->count);
        return;
    }
    relay_wait_begin(r, &(struct relay_wait){.client = c,
                                             .link = (uint8_t)(to - r->links),
                                             .entity = f->entity,
                                             .count = f->count,
                                             .from_ms = from_ms,
                                             .until_ms = from_ms + RELAY_WAIT_MS});
    client_parted(c); /* nobody is there whose answers it could wait for */
}

void relay_redirect(struct relay_link *l, const struct link_frame *f)
{
    struct relay *r = l->relay;
    struct client *c = relay_find(l, f->session);
    struct span_writer w = span_writer_of(r->scratch, r->scratch_cap);

    link_write_left(&w, f->session);
    relay_write(l, &w, 1);
    if (!c) {
        r->metrics->stale_data++;
        return;
    }
    const enum relay_asked asked = relay_asked(r, c);
    relay_forget_session(r, c);
    /* Nobody forwards what comes where no entity is handed over. One request that was all is the
     * login that led to this, and answered. */
    if (f->world.n > 0 && f->entity == 0 && asked == RELAY_MORE)
        relay_tell_loss(r, c);
    if (c->state != CLIENT_OPEN)
        return;
    if (f->world.n > 0) {
        relay_send_to(r, c, f);
        return;
    }
    r->metrics->redirects_away++;
    r->ways[c->slot].shun = (uint8_t)(1 + (l - r->links));
    relay_send_away(r, c);
}
