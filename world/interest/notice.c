/* world/interest/notice.c: see the header. */
#include "world/interest/notice.h"

struct span notice_text(uint8_t out[NOTICE_TEXT_MAX], uint32_t id, struct span text)
{
    struct span_writer w = span_writer_of(out, NOTICE_TEXT_MAX);
    struct message m = {.cmd = CMD_SAY_NOTIFY};

    ASSERT(text.n >= 1);
    ASSERT(text.n <= PROTO_SAY_MAX);
    m.say_notify.id = id;
    m.say_notify.text = text;
    message_write(&w, &m);
    ASSERT(!w.full);
    return span_written(&w);
}

/* One more receiver, if somebody's session is behind this entity, and does not wait. */
static void receive(struct world *w, uint32_t slot)
{
    struct session *s;

    if (sessions_find(&w->sessions, w->entities.cold[slot].session, &s) &&
        s->state != SESSION_WAITING)
        alike_add(&w->fan.alike, s->link, s->sid);
}

/* Send to all who were noted. */
static uint32_t send(struct world *w, struct span body)
{
    uint32_t n = w->fan.alike.n + w->fan.alike.n_others;

    alike_tell(&w->fan.alike, body, &w->outbox);
    return n;
}

static bool is_in(const struct world *w, const struct notice_area *to, uint32_t slot)
{
    double x = w->entities.x[slot], y = w->entities.y[slot];
    uint32_t scene = w->entities.scene[slot];

    switch (to->reach) {
    case NOTICE_ZONE:
        return scene == to->scene && x >= to->rect[0] && y >= to->rect[1] && x <= to->rect[2] &&
               y <= to->rect[3];
    case NOTICE_CELL:
        return grid_cell(&w->scenes.grid, scene, x, y) == to->cell;
    default:
        return scene == to->scene;
    }
}

static uint32_t tell_entities(struct world *w, const struct notice_area *to, struct span body)
{
    const struct entities *e = &w->entities;

    for (uint32_t i = 0; i < e->alive_count; i++) {
        if (is_in(w, to, e->alive[i]))
            receive(w, e->alive[i]);
    }
    return send(w, body);
}

/* All who are logged in at one gateway. */
static uint32_t tell_link(struct world *w, uint32_t link_slot, struct span body)
{
    struct link_ref link = {link_slot, w->sessions.links_slots.gen[link_slot]};
    uint64_t *sids = w->fan.alike.sids;
    uint32_t told = 0, n = 0;

    for (uint32_t at = w->sessions.links[link_slot].first; at != SLOTS_NONE;
         at = w->sessions.list[at].next) {
        const struct session *s = &w->sessions.list[at];

        if (s->state == SESSION_NEW)
            continue;
        sids[n++] = s->sid;
        if (n == LINK_MANY_MAX) {
            outbox_data_many(&w->outbox, link, sids, n, body);
            told += n;
            n = 0;
        }
    }
    if (n > 0)
        outbox_data_many(&w->outbox, link, sids, n, body);
    return told + n;
}

static uint32_t tell_everybody(struct world *w, struct span body)
{
    uint32_t told = 0;

    for (uint32_t link = 0; link < w->sessions.links_slots.fresh; link++) {
        if (w->sessions.links_slots.gen[link] & 1)
            told += tell_link(w, link, body);
    }
    return told;
}

uint32_t notice_tell(struct world *w, const struct notice_area *to, struct span body)
{
    ASSERT(w->fan.alike.n == 0); /* outside a tick */
    if (to->reach == NOTICE_EVERYBODY)
        return tell_everybody(w, body);
    return tell_entities(w, to, body);
}

uint32_t notice_tell_knowing(struct world *w, uint32_t slot, struct span body)
{
    uint32_t *viewers = arena_take(&w->scratch, w->entities.cap * sizeof(*viewers)), n;

    ASSERT(viewers); /* the scratch is empty outside a tick, and larger than this */
    ASSERT(w->fan.alike.n == 0);
    n = sight_knowers(&w->sight, &w->entities, slot, viewers);
    for (uint32_t i = 0; i < n; i++)
        receive(w, viewers[i]);
    arena_rewind(&w->scratch, 0);
    return send(w, body);
}

uint32_t notice_count_knowing(struct world *w, uint32_t slot)
{
    uint32_t *viewers = arena_take(&w->scratch, w->entities.cap * sizeof(*viewers)), n;

    ASSERT(viewers); /* as above */
    n = sight_knowers(&w->sight, &w->entities, slot, viewers);
    arena_rewind(&w->scratch, 0);
    return n;
}
