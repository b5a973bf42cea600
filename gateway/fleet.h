/* gateway/fleet.h: the links to all worlds that this gateway knows: dialled and watched.
 * Puts sockets under uplinks and hands each to the relay. Knows its worlds by address, or keeps to
 * a roster. May touch: common, common/io, relay, roster, uplink. Never: clients, bodies. On
 * trouble: each link is by itself; what ends one leaves the others alone.
 */
#pragma once

#include "common/io/loop.h"
#include "common/io/net.h"
#include "gateway/relay.h"
#include "gateway/roster.h"

#define FLEET_MAX RELAY_LINKS_MAX /* worlds at one time */

struct fleet_link;

struct fleet {
    /* Filled in by the owner; borrowed. */
    struct loop *loop;
    struct relay *relay;
    struct gateway_metrics *metrics;
    const struct stream_limits *limits;
    struct span id;    /* of this gateway */
    struct keys *keys; /* NULL: none */
    int64_t silence_ns;

    struct fleet_link *links[FLEET_MAX];
    uint32_t n;
    bool finishing;
};

/* A world at this address, whoever it is; dialled at the next step. 0; E_FULL; E_NOMEM. */
int fleet_add(struct fleet *f, const char *addr) MUST_CHECK;
/* Links to these worlds and no others: those that went, moved or began anew are let go of, and
 * their sessions bound elsewhere at once. E_NOMEM: some are missing until the next time. */
int fleet_keep(struct fleet *f, const struct roster *r) MUST_CHECK;
void fleet_step(struct fleet *f, struct mono now);
/* Is one of them there? How many are? */
bool fleet_ready(const struct fleet *f);
uint32_t fleet_up(const struct fleet *f);
/* Bytes that wait for worlds. */
uint64_t fleet_queued(const struct fleet *f);
/* End all politely; fleet_over tells when that is done. Again is fine. */
void fleet_finish(struct fleet *f, int64_t linger_ns);
bool fleet_over(const struct fleet *f);
/* Ends all at once. All zero is fine. */
void fleet_fini(struct fleet *f);
