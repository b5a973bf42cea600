/* gateway/relay.h: between clients and the links: sessions and routes.
 * The only one that knows both. A session is opened at a client's first request, so that a
 * connection which only pings costs the world nothing. Of a body it reads cmd, and only to learn
 * who has been logged in. May touch: common, proto/link, clients, uplink. Never: sockets, payloads.
 *
 *   session = generation << 32 | slot      the slot finds the client, the generation says whether
 *                                          it is still the one that was meant
 *
 * There is a link to each world, and a session belongs to one of them: to the one that had fewest
 * when it was opened, until that world redirects it. What another world says of it is stale. Links
 * come and go while clients stay.
 *
 *   redirect to a world ─► its link is ready? attach ─── else its client is not read, and it waits
 *   redirect to none, or a wait that is over ─► bound by its note at any other world
 *
 * Of each session it keeps the world's last note, whose meaning is the world's. When a link that
 * was lost is there again, those with a note are bound to the world with it, some at a time, and
 * each at its first request at the latest.
 *
 * On trouble: a frame for a session that is not there is counted and dropped; the world is told to
 * forget it. A lost world is told to those who had a session there, and to every client where none
 * is left (13); they are bound at another world, or when one is there again, and who is not kept is
 * told to log in again (4). Who is redirected to a world that is away, and does not come in time,
 * is bound like that too. A session is not bound twice within RELAY_PACE_MS, whatever worlds say.
 */
#pragma once

#include "gateway/clients.h"
#include "gateway/uplink.h"

/* Sessions bound at one step, and when the link is ready: a tick of the world takes no more of them
 * than it has time for. */
#define RELAY_BINDS_AT_ONCE 500

/* Worlds that one gateway knows at one time. */
#define RELAY_LINKS_MAX 64

struct relay;

/* How long a session waits for the world that it was redirected to, ms. */
#define RELAY_WAIT_MS 2000
/* Between two binds of one session that worlds asked for, ms. */
#define RELAY_PACE_MS 500

/* What an uplink of the relay's has as its user's argument. */
struct relay_link {
    struct relay *relay;
    struct uplink *uplink;          /* borrowed; NULL: there is no link, or not yet */
    char world[LINK_WORLD_MAX + 1]; /* its id; "": its hello has not said it yet */
    uint32_t sessions;              /* open here */
    uint32_t waits;                 /* sessions that wait for it */
    bool ready;                     /* takes frames */
    bool pressed;                   /* its queue is full: its clients are not read */
    bool spared;                    /* gets new sessions only where no other does */
};

#define RELAY_ANY UINT8_MAX

/* What was asked in a session, as far as it matters for what may be lost of it. */
enum relay_asked {
    RELAY_NOTHING, /* since it was opened */
    RELAY_ONE,     /* request, since then */
    RELAY_BOUND,   /* nothing since it was bound */
    RELAY_MORE     /* than that */
};

#define RELAY_AT_BITS 6
_Static_assert(RELAY_LINKS_MAX <= 1 << RELAY_AT_BITS, "a link's number has room beside that");

/* A session that is at no world, and on its way to one. */
struct relay_wait {
    struct client *client;
    uint8_t link;           /* of the world that it waits for; RELAY_ANY: any but that shunned */
    uint32_t entity, count; /* of its redirect */
    uint32_t from_ms, until_ms; /* of relay->now_ms */
};

/* How a session has been sent about. */
struct relay_way {
    uint32_t bound_ms; /* when it was bound last because a world wanted it so; 0: never */
    uint32_t wait;     /* where it waits, in relay->waits */
    uint8_t shun;      /* 1 + the link that it was sent away from; 0: none */
};

struct relay_note {
    uint8_t n; /* 0: none */
    uint8_t bytes[LINK_NOTE_MAX];
};

struct relay {
    struct clients *clients; /* borrowed */
    struct relay_link links[RELAY_LINKS_MAX];
    uint32_t n_links;
    struct gateway_metrics *metrics;
    uint32_t *gen;            /* [clients->slots.cap] the last generation that was given, by slot */
    struct relay_note *notes; /* [clients->slots.cap] by slot */
    uint8_t *at;              /* [clients->slots.cap] where a slot's session is, if it has one:
                               * enum relay_asked << RELAY_AT_BITS | link */
    uint32_t bind_at;         /* slots from here on may have to be bound; UINT32_MAX: none */
    uint8_t *scratch;         /* [scratch_cap] frames on their way to the link */
    size_t scratch_cap;
    uint32_t sessions;        /* open on all links */
    uint32_t now_ms;          /* grows with each step */
    struct relay_wait *waits; /* [n_waits], room for all slots; in no order */
    uint32_t n_waits;
    struct relay_way *ways; /* [clients->slots.cap] by slot; touched where one was redirected */

    /* Bodies for one client that came one behind the other: they go out in one call. They lie in
     * the link's buffer, so that is settled before the uplink's call returns. */
    struct client *to; /* NULL: none */
    struct span run[CLIENT_RUN_MAX];
    uint32_t n_run;
};

/* Borrows both. Makes itself the clients' world; there is no link yet. E_NOMEM. */
int relay_init(struct relay *r, struct clients *clients,
               struct gateway_metrics *metrics) MUST_CHECK;
/* One more link, to the world of that id (empty: its hello will say), of which there is none yet.
 * Its uplink has `out` as its user's argument, before its first step. Borrows it. 0, or E_FULL. */
int relay_link_add(struct relay *r, struct uplink *u, struct span world,
                   struct relay_link **out) MUST_CHECK;
/* That world is no more: its sessions are bound elsewhere at once. Its uplink is let go of. */
void relay_link_remove(struct relay_link *l);
void relay_fini(struct relay *r);
/* So much time has passed: bind some more, and look at those that wait. Called every 100 ms or so.
 */
void relay_step(struct relay *r, uint32_t ms);

/* What an uplink tells a relay; the argument is its struct relay_link. */
extern const struct uplink_user relay_uplink_user;

/* Does this body say cmd `cmd`? Nothing else of it is looked at. */
bool relay_body_is(struct span body, uint32_t cmd);
