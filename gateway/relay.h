/* gateway/relay.h: between clients and the link: sessions and routes.
 * The only one that knows both. A session is opened at a client's first request, so that a
 * connection which only pings costs the world nothing. Of a body it reads cmd, and only to learn
 * who has been logged in. May touch: common, proto/link, clients, uplink. Never: sockets, payloads.
 *
 *   session = generation << 32 | slot      the slot finds the client, the generation says whether
 *                                          it is still the one that was meant
 *
 * On trouble: a frame for a session that is not there is counted and dropped; the world is told to
 * forget it. A lost world is told to every client (13), a world that came back to those who had
 * been logged in (4).
 */
#pragma once

#include "gateway/clients.h"
#include "gateway/uplink.h"

struct relay {
    struct clients *clients; /* borrowed */
    struct uplink *uplink;   /* borrowed */
    struct gateway_metrics *metrics;
    uint32_t *gen;    /* [clients->slots.cap] the last generation that was given, by slot */
    uint8_t *scratch; /* [scratch_cap] frames on their way to the link */
    size_t scratch_cap;
    uint32_t sessions; /* open on the link */

    /* Bodies for one client that came one behind the other: they go out in one call. They lie in
     * the link's buffer, so that is settled before the uplink's call returns. */
    struct client *to; /* NULL: none */
    struct span run[CLIENT_RUN_MAX];
    uint32_t n_run;
};

/* Borrows all three. Makes itself the clients' world. E_NOMEM. */
int relay_init(struct relay *r, struct clients *clients, struct uplink *uplink,
               struct gateway_metrics *metrics) MUST_CHECK;
void relay_fini(struct relay *r);

/* What an uplink tells a relay; the argument is the struct relay. */
extern const struct uplink_user relay_uplink_user;

/* Does this body say cmd `cmd`? Nothing else of it is looked at. */
bool relay_body_is(struct span body, uint32_t cmd);
