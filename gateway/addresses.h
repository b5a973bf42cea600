/* gateway/addresses.h: how many connections an address has, and how often it asks.
 * One table for all threads of a process: connections at once, new ones a second, and LoginReqs a
 * minute, by address; of IPv6 the first 64 bits are one address, since that is what one gets. May
 * touch: common, threads. Never: sockets.
 * On trouble: who is above a limit is refused. A table that is full of addresses which have
 * connections refuses further ones; else the one unheard of for longest is forgotten.
 */
#pragma once

#include "common/host.h"

#define ADDRESSES_IPV6_BITS 64
#define ADDRESSES_NONE      UINT32_MAX

struct addresses;

struct addresses_limits {
    uint32_t most;        /* addresses that are known at once; >= 1 */
    uint32_t connections; /* of one address at once; 0: off */
    uint32_t connects;    /* of one address, a second, and twice so many at once; 0: off */
    uint32_t logins;      /* of one address, a minute, and as many at once; 0: off */
};

/* What becomes of a connection. */
enum addresses_verdict {
    ADDRESSES_IN,
    ADDRESSES_MANY, /* its address has so many already */
    ADDRESSES_FAST, /* and comes too often */
    ADDRESSES_FULL  /* no address more can be watched */
};

/* `*out` is NULL where no limit is on, which all of the below accept. E_NOMEM. */
int addresses_create(const struct addresses_limits *limits, uint64_t seed,
                     struct addresses **out) MUST_CHECK;
void addresses_destroy(struct addresses *a);

/* A connection from there. ADDRESSES_IN: `slot` is the address's until addresses_leave, for each
 * connection once; ADDRESSES_NONE where nothing is watched. */
enum addresses_verdict addresses_enter(struct addresses *a, const struct host *from,
                                       uint32_t now_ms, uint32_t *slot);
void addresses_leave(struct addresses *a, uint32_t slot, uint32_t now_ms);
/* May it log in now? */
bool addresses_login(struct addresses *a, uint32_t slot, uint32_t now_ms);
/* Forget who is due. */
void addresses_step(struct addresses *a, uint32_t now_ms);

/* How many are known, and how many were forgotten for want of room. */
struct addresses_sum {
    uint64_t known, forgotten;
};
struct addresses_sum addresses_summed(struct addresses *a);
