/* common/base64.h: bytes from base64, by either of RFC 4648's alphabets.
 * May touch: common. On trouble: what is not exactly base64 is false.
 */
#pragma once

#include "common/span.h"

/* `+/` and `-_` count alike; the padding may be there, whole, or not. False: no base64, bits left
 * over that no byte has, or more than `cap` bytes. */
bool base64_read(struct span text, uint8_t *out, size_t cap, size_t *n) MUST_CHECK;
