/* common/host.c: who is at the other end, as bytes. May touch: libc. On trouble: E_ADDR. */
#include "common/host.h"

#include "common/addr.h"
#include "common/err.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>

#define RANGE_TEXT_MAX 64

static const uint8_t MAPPED[HOST_IPV4_BITS / 8] = {[10] = 0xff, [11] = 0xff};

/* Of an address alone. */
static int read_alone(const char *text, struct host *out)
{
    if (inet_pton(AF_INET6, text, out->bytes) == 1)
        return 0;
    memcpy(out->bytes, MAPPED, sizeof(MAPPED));
    return inet_pton(AF_INET, text, out->bytes + sizeof(MAPPED)) == 1 ? 0 : E_ADDR;
}

int host_read(const char *peer, struct host *out)
{
    struct addr a;
    const char *why;

    *out = (struct host){0};
    if (addr_parse(peer, &a, &why) != 0 || a.is_name)
        return E_ADDR;
    return read_alone(a.host, out);
}

bool host_is_ipv4(const struct host *h)
{
    return memcmp(h->bytes, MAPPED, sizeof(MAPPED)) == 0;
}

void host_print(const struct host *h, uint16_t port, char out[HOST_TEXT_MAX])
{
    char text[INET6_ADDRSTRLEN] = "?";

    if (host_is_ipv4(h)) {
        inet_ntop(AF_INET, h->bytes + sizeof(MAPPED), text, sizeof(text));
        snprintf(out, HOST_TEXT_MAX, "%s:%u", text, port);
    } else {
        inet_ntop(AF_INET6, h->bytes, text, sizeof(text));
        snprintf(out, HOST_TEXT_MAX, "[%s]:%u", text, port);
    }
}

struct host host_cut(const struct host *h, uint32_t bits)
{
    struct host cut = {0};

    ASSERT(bits <= 8 * HOST_BYTES);
    memcpy(cut.bytes, h->bytes, bits / 8);
    if (bits % 8 != 0)
        cut.bytes[bits / 8] = h->bytes[bits / 8] & (uint8_t)(0xff00 >> bits % 8);
    return cut;
}

/* Up to the next comma or the end. */
static int read_range(struct span text, struct host_range *out)
{
    char copy[RANGE_TEXT_MAX];

    if (text.n == 0 || text.n >= sizeof(copy))
        return E_ADDR;
    memcpy(copy, text.p, text.n);
    copy[text.n] = '\0';
    char *slash = strchr(copy, '/');
    if (slash)
        *slash++ = '\0';
    if (read_alone(copy, &out->base) != 0)
        return E_ADDR;
    const uint32_t first = strchr(copy, ':') ? 0 : HOST_IPV4_BITS;
    out->bits = 8 * HOST_BYTES;
    if (!slash)
        return 0;
    if (slash[0] == '\0' || strlen(slash) > 3 || slash[strspn(slash, "0123456789")] != '\0')
        return E_ADDR;
    out->bits = first + (uint32_t)strtoul(slash, NULL, 10);
    if (out->bits > 8 * HOST_BYTES)
        return E_ADDR;
    const struct host cut = host_cut(&out->base, out->bits); /* 10.0.0.1/8 is a slip of the hand */
    return memcmp(&cut, &out->base, sizeof(cut)) == 0 ? 0 : E_ADDR;
}

int host_ranges_read(const char *text, struct host_ranges *out, struct span *bad)
{
    *out = (struct host_ranges){0};
    for (const char *at = text; text[0] != '\0';) {
        const size_t n = strcspn(at, ",");

        *bad = span_of(at, n);
        if (out->n == HOST_RANGES_MAX)
            return E_FULL;
        if (read_range(*bad, &out->list[out->n]) != 0)
            return E_ADDR;
        out->n++;
        if (at[n] == '\0')
            break;
        at += n + 1;
    }
    return 0;
}

bool host_ranges_have(const struct host_ranges *r, const struct host *h)
{
    for (uint32_t i = 0; i < r->n; i++) {
        const struct host cut = host_cut(h, r->list[i].bits);
        if (memcmp(&cut, &r->list[i].base, sizeof(cut)) == 0)
            return true;
    }
    return false;
}
