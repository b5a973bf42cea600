/* proto/proxy_head.h: who it really is that a proxy brings: the header of PROXY protocol version 2.
 * It stands before everything else of a connection, TLS and HTTP too:
 *
 *   [ signature 12 ][ version 4 bits | command 4 bits ][ family 4 | transport 4 ][ length 2, BE ]
 *   [ addresses and ports, as the family says ][ more, each: type 1, length 2, value ]
 *
 * Bounded: what is behind the length is PROXY_REST_MAX bytes at most. Version 1, which is text, is
 * not taken. May touch: common. On trouble: E_BAD for whatever is not exactly such a header.
 * Source: haproxy.org, proxy-protocol.txt, section 2.2.
 */
#pragma once

#include "common/span.h"

#define PROXY_START_BYTES 16  /* up to the length */
#define PROXY_REST_MAX    536 /* addresses, and what the proxy adds */
#define PROXY_HEAD_MAX    (PROXY_START_BYTES + PROXY_REST_MAX)

struct proxy_head {
    bool named;       /* false: the proxy for itself (LOCAL), or for one without an address */
    uint8_t host[16]; /* where named: the source; an IPv4 one mapped into IPv6 */
    uint16_t port;
};

/* How many bytes the header that starts so has, as far as that can be known: PROXY_START_BYTES
 * until so many are there. 0: no header starts so. */
size_t proxy_head_bytes(struct span got);
/* Read a whole header: `head` is as long as proxy_head_bytes says. 0 or E_BAD. */
int proxy_head_read(struct span head, struct proxy_head *out) MUST_CHECK;
