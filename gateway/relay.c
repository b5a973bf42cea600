/* gateway/relay.c: which sessions there are, and what their clients say.
 * May touch: common, proto/link, clients, uplink.
 * On trouble: see relay.h.
 */
#include "gateway/relay_own.h"

#include "common/err.h"

#include <stdlib.h>

void relay_take_session(struct relay_link *l, struct client *c)
{
    struct relay *r = l->relay;

    c->session = true;
    r->at[c->slot] = (uint8_t)(l - r->links);
    r->sessions++;
    l->sessions++;
    if (l->pressed)
        r->clients->conn->read_pause(c->conn, true);
}

void relay_forget_session(struct relay *r, struct client *c)
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

void relay_set_ready(struct relay_link *l, bool ready)
{
    struct relay *r = l->relay;
    bool any = false;

    l->ready = ready;
    for (uint32_t i = 0; i < r->n_links; i++)
        any = any || r->links[i].ready;
    r->clients->world_up = any;
}

void relay_write(struct relay_link *l, const struct span_writer *w, uint32_t frames)
{
    ASSERT(!w->full);
    if (w->len > 0 && uplink_write(l->uplink, span_written(w), frames) != 0)
        relay_set_ready(l, false);
}

void relay_write_close(struct relay_link *l, uint64_t session, uint32_t code)
{
    uint8_t note[RELAY_NOTE_MAX];
    struct span_writer w = span_writer_of(note, sizeof(note));

    link_write_close(&w, session, code, (struct span){0});
    relay_write(l, &w, 1);
}

/* --- from clients -------------------------------------------------------------------------- */

static void relay_forward(void *arg, struct client *c, const struct span *bodies, uint32_t n)
{
    struct relay *r = arg;
    struct span_writer w = span_writer_of(r->scratch, r->scratch_cap);
    struct relay_link *l = c->session ? relay_at(r, c) : relay_pick_for(r, c);
    uint32_t frames = 1;

    relay_wait_end(r, c); /* it is read no longer while it waits: nothing comes here then */

    if (!l)
        return; /* a link that just broke was the last: all are told in a moment */
    if (!c->session)
        frames += relay_open(l, c, &w);
    if (relay_asked(r, c) != RELAY_MORE)
        relay_set_asked(r, c,
                        n == 1 && relay_asked(r, c) == RELAY_NOTHING ? RELAY_ONE : RELAY_MORE);
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
    relay_wait_end(r, c);
    relay_way_forget(r, c);
    if (!c->session)
        return;
    relay_write_close(relay_at(r, c), relay_session(r, c), 0);
    relay_forget_session(r, c);
}

void relay_part(void *arg, struct client *c)
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

/* --- links ---------------------------------------------------------------------------------- */

static bool relay_vacant(const struct relay_link *l)
{
    return !l->uplink && l->waits == 0;
}

struct relay_link *relay_place(struct relay *r, struct span world)
{
    struct relay_link *spare = NULL;

    ASSERT(world.n <= LINK_WORLD_MAX);
    for (uint32_t i = 0; i < r->n_links; i++) {
        struct relay_link *l = &r->links[i];

        if (relay_vacant(l))
            spare = spare ? spare : l;
        else if (world.n > 0 && span_equal(span_text(l->world), world))
            return l;
    }
    if (!spare && r->n_links == RELAY_LINKS_MAX)
        return NULL;
    if (!spare)
        spare = &r->links[r->n_links++];
    *spare = (struct relay_link){.relay = r};
    if (world.n > 0)
        memcpy(spare->world, world.p, world.n);
    return spare;
}

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
    r->waits = calloc(clients->slots.cap, sizeof(*r->waits));
    r->ways = calloc(clients->slots.cap, sizeof(*r->ways));
    r->now_ms = 1;
    if (!r->scratch || !r->gen || !r->notes || !r->at || !r->waits || !r->ways) {
        relay_fini(r);
        return E_NOMEM;
    }
    clients->world = &relay_world;
    clients->gen = r->gen;
    clients->world_arg = r;
    return 0;
}

int relay_link_add(struct relay *r, struct uplink *u, struct span world, struct relay_link **out)
{
    struct relay_link *l = relay_place(r, world);

    if (!l)
        return E_FULL;
    ASSERT(!l->uplink);
    l->uplink = u;
    *out = l;
    return 0;
}

void relay_fini(struct relay *r)
{
    free(r->scratch);
    free(r->gen);
    free(r->notes);
    free(r->at);
    free(r->waits);
    free(r->ways);
    r->waits = NULL;
    r->ways = NULL;
    r->at = NULL;
    r->notes = NULL;
    r->scratch = NULL;
    r->gen = NULL;
}
