/* gateway/transport_len.c: framing by length, as TCP clients speak it.
 * May touch: proto/frame.
 */
#include "gateway/transport.h"

#include "proto/frame.h"

_Static_assert(FRAME_HEAD <= TRANSPORT_HEAD_MAX, "a head has its room");

static int transport_len_split(struct transport_state *s, struct span in, uint32_t max,
                               struct transport_piece *out)
{
    (void)s;
    out->kind = TRANSPORT_BODY;
    out->fault = TRANSPORT_LENGTH;
    return frame_split(in, max, &out->bytes, &out->used);
}

static size_t transport_len_head(uint8_t out[TRANSPORT_HEAD_MAX], size_t body_bytes)
{
    ASSERT(body_bytes <= UINT32_MAX);
    frame_head(out, (uint32_t)body_bytes);
    return FRAME_HEAD;
}

const struct transport_ops transport_len = {
    .split = transport_len_split,
    .head = transport_len_head,
};
