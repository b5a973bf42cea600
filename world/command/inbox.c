/* world/command/inbox.c: see the header. */
#include "world/command/inbox.h"

#include "common/err.h"
#include "common/log.h"
#include "proto/link.h"
#include "world/command/courier.h"
#include "world/command/give.h"
#include "world/command/receive.h"
#include "world/command/keep.h"
#include "world/command/naming.h"
#include "world/command/router.h"
#include "world/interest/drain.h"
#include "world/interest/pause.h"

int inbox_link_up(struct world *w, struct span id, struct mono now, struct link_ref *out,
                  struct link_ref *replaced)
{
    struct link_ref older;
    int err;

    w->now = now;
    *replaced = (struct link_ref){0};
    if (sessions_link_named(&w->sessions, id, &older)) {
        inbox_link_down(w, older, now);
        *replaced = older;
    }
    err = sessions_link_open(&w->sessions, id, out);
    if (err != 0)
        w->metrics.links_full++;
    return err;
}

void inbox_link_down(struct world *w, struct link_ref link, struct mono now)
{
    struct session_link *l;

    w->now = now;
    if (!sessions_link_find(&w->sessions, link, &l))
        return;
    while (l->first != SLOTS_NONE) {
        uint32_t slot = l->first;

        inbox_session_lost(w, (struct session_ref){slot, w->sessions.slots.gen[slot]}, now);
    }
    sessions_link_close(&w->sessions, link);
}

void inbox_session_end(struct world *w, struct session_ref who, struct mono now)
{
    struct session *s;

    if (!sessions_find(&w->sessions, who, &s))
        return;
    if (s->hold == SESSION_MOVES || s->hold == SESSION_HANDED)
        give_lost(w, s);
    cmd_enter_undo(w, s, now);
    keep_end(w, who);
    naming_end(w, who);
    ASSERT(w->backlog.chains[who.slot].bodies == 0);
    if (s->next_id != 0)
        courier_id_return(w, s->next_id);
    pause_end(w, s);
    sessions_end(&w->sessions, who);
    w->metrics.sessions_ended++;
}

void inbox_session_lost(struct world *w, struct session_ref who, struct mono now)
{
    struct session *s;

    if (!sessions_find(&w->sessions, who, &s))
        return;
    if (s->state == SESSION_INSIDE && w->config.resume_window_ns != 0)
        cmd_resume_wait(w, who, now);
    else
        inbox_session_end(w, who, now);
}

void inbox_wait_ends(struct world *w, struct mono now)
{
    struct session_ref who;

    w->now = now;
    for (uint32_t i = 0; i < INBOX_ENDS_MAX && resume_due(&w->sessions, now, &who); i++) {
        w->metrics.waits_over++;
        inbox_session_end(w, who, now);
    }
}

static void end_with(struct world *w, struct session_ref who, uint32_t code, const char *reason,
                     struct mono now)
{
    struct session *s;

    if (!sessions_find(&w->sessions, who, &s))
        return;
    log_often(LOG_INFO, "session kicked: %s session=%s peer=%s", protocol_error_name(code),
              SESSION_TEXT(w, s), s->peer);
    if (s->state != SESSION_WAITING)
        outbox_close(&w->outbox, s->link, s->sid, code, reason);
    if (code == PE_SLOW)
        inbox_session_lost(w, who, now);
    else
        inbox_session_end(w, who, now);
}

void inbox_session_kick(struct world *w, struct session_ref who, uint32_t code, struct mono now)
{
    end_with(w, who, code, protocol_error_text(code), now);
}

void inbox_session_remove(struct world *w, struct session_ref who, const char *reason,
                          struct mono now)
{
    w->now = now;
    w->metrics.kicks_operator++;
    end_with(w, who, PE_KICKED, reason, now);
}

/* Batches wait while the client or its link does not drain. */
static int pause_update(struct world *w, struct session *s)
{
    if (s->congested || w->sessions.links[s->link.slot].congested)
        return pause_begin(w, s);
    pause_end(w, s);
    return 0;
}

void inbox_link_congestion(struct world *w, struct link_ref link, bool on, struct mono now)
{
    struct session_link *l;

    w->now = now;
    if (!sessions_link_find(&w->sessions, link, &l) || l->congested == on)
        return;
    l->congested = on;
    for (uint32_t slot = l->first; slot != SLOTS_NONE; slot = w->sessions.list[slot].next) {
        if (pause_update(w, &w->sessions.list[slot]) != 0)
            w->metrics.link_pauses_refused++;
    }
}

static void take_open(struct world *w, struct link_ref link, const struct link_frame *f,
                      struct mono now)
{
    struct session_ref who;
    int err = sessions_open(&w->sessions, link, f->session, f->text, &who);

    if (err == 0) {
        w->metrics.sessions_opened++;
        err = pause_update(w, &w->sessions.list[who.slot]);
        ASSERT(err == 0); /* it knows nobody yet, which takes no room */
    } else if (err == E_FULL) {
        w->metrics.sessions_full++;
        outbox_close(&w->outbox, link, f->session, PE_UNAVAILABLE, "the world is full: sessions");
    } else { /* it is open: whichever of the two is meant, neither is known for sure */
        w->metrics.sessions_doubled++;
        if (sessions_by_sid(&w->sessions, link, f->session, &who))
            inbox_session_lost(w, who, now);
        outbox_close(&w->outbox, link, f->session, 0, "session was open");
    }
}

/* Like an open, but for whom there is no room is not told Bye: its client logs in again. True: it
 * is open. */
static bool take_known(struct world *w, struct link_ref link, const struct link_frame *f,
                       struct session_ref *who, struct mono now)
{
    if (w->sessions.slots.live == w->sessions.slots.cap) {
        w->metrics.sessions_full++;
        w->metrics.binds_refused++;
        outbox_close(&w->outbox, link, f->session, 0, "the world is full: sessions");
        return false;
    }
    take_open(w, link, f, now);
    return sessions_by_sid(&w->sessions, link, f->session, who);
}

static int take_data(struct world *w, struct link_ref link, const struct link_frame *f,
                     struct mono now)
{
    struct session_ref who;

    if (!sessions_by_sid(&w->sessions, link, f->session, &who)) {
        w->metrics.sessions_unknown++;
        outbox_close(&w->outbox, link, f->session, 0, "no such session");
        return 0;
    }
    for (uint32_t i = 0; i < f->n_bodies; i++) {
        int err = router_dispatch(w, who, f->bodies[i], now);

        if (err != 0) {
            w->metrics.bodies_bad++;
            return err;
        }
    }
    return 0;
}

static void take_congestion(struct world *w, struct link_ref link, const struct link_frame *f,
                            struct mono now)
{
    struct session_ref who;
    struct session *s;

    if (!sessions_by_sid(&w->sessions, link, f->session, &who) ||
        !sessions_find(&w->sessions, who, &s)) {
        w->metrics.sessions_unknown++;
        return;
    }
    s->congested = f->on;
    if (pause_update(w, s) != 0) {
        w->metrics.pauses_refused++;
        inbox_session_kick(w, who, PE_SLOW, now);
    }
}

int inbox_frame(struct world *w, struct link_ref link, struct span body, struct mono now)
{
    struct link_frame f;
    struct session_ref who;
    struct session_link *l;
    int err = link_read(body, &f);

    w->now = now;
    if (err != 0)
        return err;
    if (!sessions_link_find(&w->sessions, link, &l))
        return E_BAD;
    switch (f.kind) {
    case LINK_OPEN:
        take_open(w, link, &f, now);
        return 0;
    case LINK_BIND:
        if (take_known(w, link, &f, &who, now))
            cmd_bind(w, who, f.note, now);
        return 0;
    case LINK_DATA:
        return take_data(w, link, &f, now);
    case LINK_CLOSE:
        if (sessions_by_sid(&w->sessions, link, f.session, &who))
            inbox_session_lost(w, who, now);
        if (f.code != 0) /* it waits for what was asked before */
            outbox_close(&w->outbox, link, f.session, 0, "");
        return 0;
    case LINK_CONGESTION:
        take_congestion(w, link, &f, now);
        return 0;
    case LINK_ATTACH:
        if (!w->cluster)
            return E_BAD;
        if (take_known(w, link, &f, &who, now))
            receive_attach(w, who, &f, now);
        return 0;
    case LINK_LEFT:
        if (!w->cluster)
            return E_BAD;
        if (sessions_by_sid(&w->sessions, link, f.session, &who))
            give_left(w, who, now);
        return 0;
    case LINK_DRAIN:
        if (sessions_by_sid(&w->sessions, link, f.session, &who))
            drain_told(w, who, f.number);
        else
            w->metrics.sessions_unknown++;
        return 0;
    default:
        return E_BAD; /* hello, ping and pong end at the edge; the rest is the world's to send */
    }
}

uint32_t inbox_announce(struct world *w, const struct notice_area *to, struct span text,
                        struct mono now)
{
    uint8_t bytes[NOTICE_TEXT_MAX];
    uint32_t told;

    w->now = now;
    told = notice_tell(w, to, notice_text(bytes, 0, text));
    w->metrics.announces++;
    w->metrics.announces_told += told;
    return told;
}
