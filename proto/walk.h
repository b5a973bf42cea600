/* proto/walk.h: the bounded walk over a MessagePack body, before anything decodes it.
 * Needs no memory and no recursion beyond PROTO_DEPTH_MAX counters; never reads past the span.
 * Checks: nesting, every declared length held by the body, every str valid UTF-8 (no overlong
 * forms, no surrogates), the byte 0xc1 nowhere, nothing behind the value.
 * May touch: common, proto/limits. Source: PROTOCOL.md, Framing.
 */
#pragma once

#include "common/span.h"

struct walk_head {
    uint32_t cmd;
    uint32_t seq;
    struct span payload; /* one whole value, inside the body */
};

/* Walk one value at the start of `in`; `depth` levels are open around it already.
 * 0 and its length in `used`, or E_BAD. */
int walk_value(struct span in, unsigned depth, size_t *used) MUST_CHECK;

/* Walk a whole body and read cmd and seq: exactly [uint32, uint32, value] and nothing behind.
 * Any of msgpack's integer forms, not negative, at most 2^32-1. 0, or E_BAD. */
int walk_body(struct span body, struct walk_head *head) MUST_CHECK;

/* Take one integer from the front of `rest`: any of msgpack's integer forms, 0 to `max`.
 * 0, or E_BAD with `rest` as it was. */
int walk_uint(struct span *rest, uint64_t max, uint64_t *out) MUST_CHECK;

/* Is it well-formed UTF-8? An empty text is. */
bool walk_utf8(struct span text);
