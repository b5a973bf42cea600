/* proto/message_name.c: which names the contract lets through, and which announcements.
 * Pure. May touch: common, proto. Source: PROTOCOL.md, Framing.
 */
#include "proto/message.h"

#include "proto/walk.h"

/* Control characters, and those that turn the direction of the text around them. */
static bool refused(uint32_t c)
{
    return c <= 0x1f || (c >= 0x7f && c <= 0x9f) || (c >= 0x2028 && c <= 0x202e) ||
           (c >= 0x2066 && c <= 0x2069);
}

/* The character at `p`, which begins a well-formed sequence, and its length. */
static uint32_t character(const uint8_t *p, size_t *n)
{
    if (p[0] < 0x80) {
        *n = 1;
        return p[0];
    }
    *n = p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
    uint32_t c = p[0] & (0xffu >> (*n + 1));
    for (size_t i = 1; i < *n; i++)
        c = c << 6 | (p[i] & 0x3fu);
    return c;
}

static bool is_plain(struct span text)
{
    size_t n;
    for (size_t i = 0; i < text.n; i += n) {
        if (refused(character(text.p + i, &n)))
            return false;
    }
    return true;
}

bool message_name_ok(struct span name)
{
    return name.n > 0 && name.n <= PROTO_NAME_MAX && walk_utf8(name) && is_plain(name);
}

bool message_plain_ok(struct span text)
{
    return text.n > 0 && text.n <= PROTO_SAY_MAX && walk_utf8(text) && is_plain(text);
}
