/* proto/frame.h: length framing: 4 bytes big-endian N, then a body of N bytes.
 * Pure. May touch: common. On trouble: E_BAD for a length of 0 or above the limit, told as soon as
 * the four bytes are there.
 *
 *   0      4            4+N
 *   [ N   ][ body ...   ]
 */
#pragma once

#include "common/span.h"

#define FRAME_HEAD 4 /* bytes */

/* Take the first frame of `in`.
 *   max    largest body allowed, bytes
 *   body   the body, inside `in`
 *   used   FRAME_HEAD + N
 * 0; E_SHORT: more bytes are needed; E_BAD: the length is not allowed. */
int frame_split(struct span in, uint32_t max, struct span *body, size_t *used) MUST_CHECK;

void frame_head(uint8_t out[FRAME_HEAD], uint32_t body_bytes);
