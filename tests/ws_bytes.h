/* tests/ws_bytes.h: WebSocket as a client writes it, byte by byte, for tests and fuzz targets.
 * Written from RFC 6455 alone: nothing here is the server's own. May touch: common/span.
 */
#pragma once

#include "common/span.h"

#define WS_BYTES_HEAD 14 /* a client's head at most */

/* Append a masked frame: `first` is its first byte (fin, reserved bits, opcode). */
static inline void ws_bytes_frame(struct span_writer *w, uint8_t first, const void *payload,
                                  size_t n)
{
    static const uint8_t mask[4] = {0x37, 0xfa, 0x21, 0x3d};
    const uint8_t *p = payload;

    span_put_u8(w, first);
    if (n < 126) {
        span_put_u8(w, (uint8_t)(0x80 | n));
    } else if (n < 65536) {
        span_put_u8(w, 0x80 | 126);
        span_put_u8(w, (uint8_t)(n >> 8));
        span_put_u8(w, (uint8_t)n);
    } else {
        span_put_u8(w, 0x80 | 127);
        span_put_be32(w, 0);
        span_put_be32(w, (uint32_t)n);
    }
    span_put(w, mask, sizeof(mask));
    for (size_t i = 0; i < n; i++)
        span_put_u8(w, p[i] ^ mask[i % 4]);
}

/* Take the first frame of a server off the front: whole, unmasked, in the shortest form. False
 * where it is not. */
static inline bool ws_bytes_take(struct span *in, uint8_t *first, struct span *payload)
{
    if (in->n < 2 || in->p[1] > 127)
        return false;
    size_t head = 2;
    uint64_t n = in->p[1];
    if (n >= 126) {
        const size_t wide = n == 126 ? 2 : 8;
        if (in->n < 2 + wide)
            return false;
        n = 0;
        for (size_t i = 0; i < wide; i++)
            n = n << 8 | in->p[2 + i];
        if (n < (wide == 2 ? 126u : 65536u))
            return false;
        head += wide;
    }
    if (in->n - head < n)
        return false;
    *first = in->p[0];
    *payload = span_of(in->p + head, (size_t)n);
    *in = span_of(in->p + head + n, in->n - head - (size_t)n);
    return true;
}
