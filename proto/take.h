/* proto/take.h: MessagePack taken by hand from the front of bytes, for messages of our own.
 * Needs no memory; what is taken lies in the bytes. Any of msgpack's forms of a kind will do.
 * May touch: common, proto/walk. On trouble: E_BAD, and `rest` is of no use any more.
 */
#pragma once

#include "common/span.h"

int take_bytes(struct span *rest, uint64_t n, struct span *out) MUST_CHECK;
/* The head of an array; its elements come next. */
int take_array(struct span *rest, uint64_t *n) MUST_CHECK;
/* A str of at most `max` bytes, valid UTF-8. */
int take_text(struct span *rest, uint64_t max, struct span *out) MUST_CHECK;
int take_bin(struct span *rest, uint64_t max, struct span *out) MUST_CHECK;
int take_u32(struct span *rest, uint32_t *out) MUST_CHECK;
int take_bool(struct span *rest, bool *out) MUST_CHECK;
/* A float64, finite. */
int take_real(struct span *rest, double *out) MUST_CHECK;
