/* common/io/piece.h: bytes on their way, in one buffer that grows: what a stream keeps or queues.
 * A pointer to none is an empty one. May touch: memory. On trouble: false, nothing changed.
 *
 *   bytes   [ gone | len that count | room ]
 *           0      off             off+len  cap
 */
#pragma once

#include "common/base.h"
#include "common/span.h"

#include <stdbool.h>

struct piece {
    size_t cap; /* bytes */
    size_t off; /* of the first byte that counts */
    size_t len; /* bytes that count */
    uint8_t bytes[];
};

/* Make room for `n` bytes behind what counts; where the buffer has to grow, to `cap`. */
bool piece_room(struct piece **p, size_t n, size_t cap) MUST_CHECK;
/* There is room for them. */
void piece_append(struct piece *p, struct span bytes);
/* The first `n` no longer count. An empty buffer is freed, unless its cap is at most `keep`. */
void piece_consume(struct piece **p, size_t n, size_t keep);
void piece_drop(struct piece **p);
/* What counts. */
struct span piece_span(const struct piece *p);
