/* common/host.h: who is at the other end, as bytes, and ranges of such.
 * An IPv4 address is kept mapped into IPv6 (::ffff:a.b.c.d), so that both are one kind. May touch:
 * libc. Never: names; nothing is looked up. On trouble: E_ADDR.
 */
#pragma once

#include "common/span.h"

#define HOST_BYTES     16
#define HOST_TEXT_MAX  64 /* bytes of host:port as text, with its NUL */
#define HOST_IPV4_BITS 96 /* of a mapped address that are the same for all */

struct host {
    uint8_t bytes[HOST_BYTES];
};

/* Of "a.b.c.d:port" or "[ipv6]:port", as a listener tells it. */
int host_read(const char *peer, struct host *out) MUST_CHECK;
/* The other way round. */
void host_print(const struct host *h, uint16_t port, char out[HOST_TEXT_MAX]);
bool host_is_ipv4(const struct host *h);
/* Its first `bits` alone; the rest is 0. */
struct host host_cut(const struct host *h, uint32_t bits);

struct host_range {
    struct host base;
    uint32_t bits; /* of HOST_BYTES * 8 that count */
};

#define HOST_RANGES_MAX 64

struct host_ranges {
    uint32_t n;
    struct host_range list[HOST_RANGES_MAX];
};

/* "10.0.0.0/8,192.0.2.1,2001:db8::/32": addresses and networks between commas, no blanks. "" is
 * none. E_ADDR, E_FULL: `bad` is the one at fault, of this text. */
int host_ranges_read(const char *text, struct host_ranges *out, struct span *bad) MUST_CHECK;
bool host_ranges_have(const struct host_ranges *r, const struct host *h);
