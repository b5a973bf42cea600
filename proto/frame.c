/* proto/frame.c: length framing. Pure. May touch: common. */
#include "proto/frame.h"

#include "common/err.h"

int frame_split(struct span in, uint32_t max, struct span *body, size_t *used)
{
    if (in.n < FRAME_HEAD)
        return E_SHORT;
    uint32_t n = span_be32(in.p);
    if (n == 0 || n > max)
        return E_BAD;
    if (in.n - FRAME_HEAD < n)
        return E_SHORT;
    *body = span_of(in.p + FRAME_HEAD, n);
    *used = (size_t)FRAME_HEAD + n;
    return 0;
}

void frame_head(uint8_t out[FRAME_HEAD], uint32_t body_bytes)
{
    out[0] = (uint8_t)(body_bytes >> 24);
    out[1] = (uint8_t)(body_bytes >> 16);
    out[2] = (uint8_t)(body_bytes >> 8);
    out[3] = (uint8_t)body_bytes;
}
