/* world/command/cmd_say.c: SayReq: a line to everyone who knows the speaker.
 * The body is written once for each gateway, with a list of its sessions.
 * May touch: the whole core, proto.
 */
#include "world/command/router.h"

/* Who is to be told, gathered by link. */
struct say {
    struct world *w;
    uint32_t speaker; /* slot */
    uint32_t *to;     /* [n] session slots, in the scratch */
    uint32_t n;
    uint32_t per_link[SESSION_LINKS_MAX];
};

/* Note the viewer in this slot, if it knows the speaker. */
static void say_consider(struct say *y, uint32_t viewer)
{
    const struct world *w = y->w;
    struct session_ref who = w->entities.cold[viewer].session;
    struct session *s;

    if (!sight_knows(&w->sight, &w->entities, viewer, y->speaker) ||
        !sessions_find(&w->sessions, who, &s))
        return;
    y->to[y->n++] = who.slot;
    y->per_link[s->link.slot]++;
}

/* Sight is symmetric, so those who know the speaker are among those it knows; but not while
 * somebody's batches wait. */
static void say_gather(struct say *y)
{
    struct world *w = y->w;
    const uint64_t *keys;
    uint32_t n;

    if (!sight_symmetric(&w->sight)) {
        for (uint32_t i = 0; i < w->entities.alive_count; i++)
            say_consider(y, w->entities.alive[i]);
        return;
    }
    n = sight_list(&w->sight, &w->entities, y->speaker, &keys);
    for (uint32_t i = 0; i < n; i++)
        say_consider(y, known_slot(keys[i]));
}

/* Send `body` to all that were gathered of one link. */
static void say_link(struct say *y, uint32_t link_slot, struct span body)
{
    struct world *w = y->w;
    struct link_ref link = {link_slot, w->sessions.links_slots.gen[link_slot]};
    uint64_t sids[LINK_MANY_MAX];
    uint32_t n = 0;

    for (uint32_t i = 0; i < y->n; i++) {
        const struct session *s = &w->sessions.list[y->to[i]];

        if (s->link.slot != link_slot)
            continue;
        sids[n++] = s->sid;
        if (n == LINK_MANY_MAX) {
            outbox_data_many(&w->outbox, link, sids, n, body);
            n = 0;
        }
    }
    if (n > 0)
        outbox_data_many(&w->outbox, link, sids, n, body);
}

static void say_tell(struct say *y, const struct message *notify)
{
    uint8_t bytes[PROTO_SAY_MAX + 64];
    struct span_writer out = span_writer_of(bytes, sizeof(bytes));

    message_write(&out, notify);
    ASSERT(!out.full);
    for (uint32_t link = 0; link < SESSION_LINKS_MAX; link++) {
        if (y->per_link[link] > 0)
            say_link(y, link, span_written(&out));
    }
}

int cmd_say(struct world *w, struct session_ref who, const struct message *m, struct mono now)
{
    struct session *s = &w->sessions.list[who.slot];
    struct message answer = {.cmd = CMD_SAY_RESP, .seq = m->seq};
    struct message notify = {.cmd = CMD_SAY_NOTIFY};
    struct say y = {.w = w, .speaker = s->entity.slot};

    (void)now;
    y.to = arena_take(&w->scratch, (w->entities.alive_count + 1) * sizeof(*y.to));
    ASSERT(y.to); /* the scratch is empty outside a tick, and larger than this */
    router_answer(w, s, &answer);
    notify.say_notify.id = w->entities.id[y.speaker];
    notify.say_notify.text = m->say_req.text;
    say_gather(&y);
    say_tell(&y, &notify);
    arena_rewind(&w->scratch, 0);
    w->metrics.says++;
    w->metrics.say_notifies += y.n;
    return 0;
}
