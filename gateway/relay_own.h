/* gateway/relay_own.h: what the rooms of the relay share, and nobody else sees.
 * relay.c keeps the sessions and brings up what clients say, relay_hear.c what worlds say,
 * relay_bind.c says at which world a session is, and relay_wait.c has those that are on their way.
 */
#pragma once

#include "gateway/relay.h"

/* Open, bind, congestion, drain, close: a head, a session, a peer or reason, a note. */
#define RELAY_NOTE_MAX (LINK_TEXT_MAX + LINK_NOTE_MAX + 64)

static inline uint64_t relay_session(const struct relay *r, const struct client *c)
{
    return (uint64_t)r->gen[c->slot] << 32 | c->slot;
}

/* Where the client's session is; it has one. */
static inline struct relay_link *relay_at(struct relay *r, const struct client *c)
{
    ASSERT(c->session);
    return &r->links[r->at[c->slot] & ((1u << RELAY_AT_BITS) - 1)];
}

static inline enum relay_asked relay_asked(const struct relay *r, const struct client *c)
{
    return (enum relay_asked)(r->at[c->slot] >> RELAY_AT_BITS);
}

static inline void relay_set_asked(struct relay *r, const struct client *c, enum relay_asked asked)
{
    const uint8_t link = r->at[c->slot] & ((1u << RELAY_AT_BITS) - 1);

    r->at[c->slot] = (uint8_t)(asked << RELAY_AT_BITS | link);
}

/* The client of a session that is open on this link; NULL: stale. */
static inline struct client *relay_find(const struct relay_link *l, uint64_t session)
{
    struct relay *r = l->relay;
    const uint32_t slot = (uint32_t)session;
    struct client *c = clients_find(r->clients, slot);

    return c && c->session && r->gen[slot] == session >> 32 && relay_at(r, c) == l ? c : NULL;
}

/* --- relay.c */
/* Where the world of this id is, or will be. Of an empty id, and of one that is nowhere yet, a new
 * place, which is free again unless something is put there. NULL: full. */
struct relay_link *relay_place(struct relay *r, struct span world);
void relay_take_session(struct relay_link *l, struct client *c);
void relay_forget_session(struct relay *r, struct client *c);
void relay_set_ready(struct relay_link *l, bool ready);
/* The link takes no more: requests are refused until it is ready again. */
void relay_write(struct relay_link *l, const struct span_writer *w, uint32_t frames);
/* `code` 0: no answer is wanted. */
void relay_write_close(struct relay_link *l, uint64_t session, uint32_t code);
/* The world answers the close of a session behind its answers. */
void relay_part(void *arg, struct client *c);

/* --- relay_bind.c */
/* The world that has fewest sessions, of those that take them, `but` apart; NULL: none is there. */
struct relay_link *relay_pick(struct relay *r, const struct relay_link *but);
/* The same for a client, not where it was sent away from unless there is no other. */
struct relay_link *relay_pick_for(struct relay *r, const struct client *c);
/* A session for a client that has none: bound where a world has said what it is to know it by. How
 * many frames are written. */
uint32_t relay_open(struct relay_link *l, struct client *c, struct span_writer *w);
/* What it asked and what was not answered may be lost. */
void relay_tell_loss(struct relay *r, struct client *c);
/* It has to log in again, and is told so where it believes to be. */
void relay_tell_login(struct relay *r, struct client *c);
/* Its session goes on at this world, as that of a hand-over, or by its note where entity is 0. */
void relay_attach(struct relay_link *to, struct client *c, uint32_t entity, uint32_t count);
/* It has a session no more, and what it asked last gets no answer. */
void relay_lose(struct relay *r, struct client *c);
void relay_ready(void *arg);
void relay_lost(void *arg, const char *reason);
void relay_pressure(void *arg, bool on);

/* --- relay_wait.c */
/* Another world has it from now on. */
void relay_redirect(struct relay_link *l, const struct link_frame *f);
/* It waits no longer. Nothing where it does not. */
void relay_wait_end(struct relay *r, struct client *c);
void relay_wait_step(struct relay *r);
/* This one's way begins anew. */
void relay_way_forget(struct relay *r, const struct client *c);

/* --- relay_hear.c */
/* Send what was gathered. */
void relay_send_run(struct relay *r);
