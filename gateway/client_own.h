/* gateway/client_own.h: what the rooms of a client share, and nobody else sees.
 * client.c says how it ends and what it is sent, client_in.c what becomes of its bytes.
 */
#pragma once

#include "gateway/clients.h"

static inline const struct transport_ops *client_transport(const struct client *c)
{
    return c->ws ? &transport_ws : c->home->transport;
}

/* All that one read brought, and no more: then it is the next client's turn. Where the link fills
 * up under it, the rest of this read still goes up; the pause comes before the next one. */
size_t client_in(void *arg, struct span bytes);

/* End with a Bye that comes after the answers in flight. */
void client_part(struct client *c, uint32_t code, enum client_end end);
/* It has taken leave by itself: answer with `bytes`, and end. */
void client_goodbye(struct client *c, struct span bytes);
/* Queue two pieces that belong together, `frames` frames in all. */
void client_put(struct client *c, struct span a, struct span b, uint32_t frames);
