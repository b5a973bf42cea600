/* gateway/transport.h: how a body is framed on a client's connection.
 * One table for each kind of framing, over whatever carries the bytes. May touch: common.
 */
#pragma once

#include "common/span.h"

#define TRANSPORT_HEAD_MAX 16 /* bytes in front of a body, at most */

struct transport_ops {
    /* Take the first body of `in`; `max` is the largest allowed, bytes. 0: `body` lies inside `in`
     * and `used` bytes are done with. E_SHORT: more bytes are needed. E_BAD: not allowed, told as
     * early as it can be known. */
    int (*split)(struct span in, uint32_t max, struct span *body, size_t *used);
    /* Write what stands in front of a body of `body_bytes`; returns its length. */
    size_t (*head)(uint8_t out[TRANSPORT_HEAD_MAX], size_t body_bytes);
};

/* PROTOCOL.md, Framing: four bytes of length. */
extern const struct transport_ops transport_len;
