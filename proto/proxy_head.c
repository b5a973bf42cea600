/* proto/proxy_head.c: the header of PROXY protocol version 2. May touch: common.
 * On trouble: see the header.
 */
#include "proto/proxy_head.h"

#include "common/err.h"

static const uint8_t SIGNATURE[12] = {0x0d, 0x0a, 0x0d, 0x0a, 0x00, 0x0d,
                                      0x0a, 0x51, 0x55, 0x49, 0x54, 0x0a};

/* Of the thirteenth byte. */
#define VERSION_2     0x20
#define COMMAND_LOCAL 0
#define COMMAND_PROXY 1

/* Of the fourteenth. */
#define FAMILY_NONE      0x00
#define FAMILY_INET      0x10
#define FAMILY_INET6     0x20
#define FAMILY_UNIX      0x30
#define TRANSPORT_STREAM 0x01

#define INET_BYTES  12 /* two addresses, two ports */
#define INET6_BYTES 36
#define UNIX_BYTES  216

#define TYPE_CRC32C 0x03

static uint32_t be16(const uint8_t *p)
{
    return (uint32_t)p[0] << 8 | p[1];
}

size_t proxy_head_bytes(struct span got)
{
    const size_t n = got.n < sizeof(SIGNATURE) ? got.n : sizeof(SIGNATURE);

    if (n > 0 && memcmp(got.p, SIGNATURE, n) != 0)
        return 0;
    if (got.n < PROXY_START_BYTES)
        return PROXY_START_BYTES;
    const size_t rest = be16(got.p + 14);
    return rest <= PROXY_REST_MAX ? PROXY_START_BYTES + rest : 0;
}

/* CRC-32C, of the header with its own four bytes as zeros; a bit at a time, for few bytes seldom.
 */
static uint32_t checksum(struct span head, const uint8_t *own)
{
    uint32_t crc = UINT32_MAX;

    for (size_t i = 0; i < head.n; i++) {
        const uint8_t *p = head.p + i;
        crc ^= p >= own && p < own + 4 ? 0 : *p;
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
    }
    return ~crc;
}

/* What stands behind the addresses: whole, and where there is a checksum it is right. */
static int read_more(struct span head, struct span more)
{
    while (more.n > 0) {
        if (more.n < 3)
            return E_BAD;
        const size_t n = be16(more.p + 1);
        const uint8_t *value = more.p + 3;
        if (n > more.n - 3)
            return E_BAD;
        if (more.p[0] == TYPE_CRC32C && (n != 4 || span_be32(value) != checksum(head, value)))
            return E_BAD;
        more = span_of(value + n, more.n - 3 - n);
    }
    return 0;
}

static void name_inet(struct proxy_head *out, const uint8_t *p)
{
    memset(out->host, 0, 10);
    memset(out->host + 10, 0xff, 2);
    memcpy(out->host + 12, p, 4);
    out->port = (uint16_t)be16(p + 8);
    out->named = true;
}

static void name_inet6(struct proxy_head *out, const uint8_t *p)
{
    memcpy(out->host, p, 16);
    out->port = (uint16_t)be16(p + 32);
    out->named = true;
}

/* How many bytes of addresses this family has; SIZE_MAX: there is no such one for us. */
static size_t address_bytes(uint8_t family)
{
    switch (family) {
    case FAMILY_NONE:
        return 0;
    case FAMILY_INET | TRANSPORT_STREAM:
        return INET_BYTES;
    case FAMILY_INET6 | TRANSPORT_STREAM:
        return INET6_BYTES;
    case FAMILY_UNIX | TRANSPORT_STREAM:
        return UNIX_BYTES;
    default:
        return SIZE_MAX;
    }
}

int proxy_head_read(struct span head, struct proxy_head *out)
{
    if (head.n < PROXY_START_BYTES || proxy_head_bytes(head) != head.n)
        return E_BAD;
    const uint8_t command = head.p[12], family = head.p[13];
    struct span rest = span_of(head.p + PROXY_START_BYTES, head.n - PROXY_START_BYTES);
    const size_t addresses = address_bytes(family);

    *out = (struct proxy_head){0};
    if (command == (VERSION_2 | COMMAND_LOCAL)) /* what follows is to be passed over */
        return 0;
    if (command != (VERSION_2 | COMMAND_PROXY) || addresses > rest.n)
        return E_BAD;
    if (family == FAMILY_NONE) /* nobody says of what form the rest is */
        return 0;
    if (addresses == INET_BYTES)
        name_inet(out, rest.p);
    else if (addresses == INET6_BYTES)
        name_inet6(out, rest.p);
    return read_more(head, span_of(rest.p + addresses, rest.n - addresses));
}
