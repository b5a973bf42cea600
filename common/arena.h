/* common/arena.h: the tick's scratch; one block taken at start, handed out by bumping.
 * May touch: libc. On trouble: full is NULL, and counted in `refused`.
 */
#pragma once

#include "common/base.h"

struct arena {
    uint8_t *base; /* [cap] */
    size_t cap;    /* bytes */
    size_t used;   /* bytes */
    size_t peak;   /* most ever used */
    uint64_t refused;
};

/* Owns its block; pages are touched as they are used. E_NOMEM. */
int arena_init(struct arena *a, size_t cap) MUST_CHECK;
void arena_fini(struct arena *a);
/* `bytes`, aligned to 16, not zeroed; NULL where it does not fit. */
void *arena_take(struct arena *a, size_t bytes);
/* Give back everything taken since `mark` (an earlier value of `used`). */
void arena_rewind(struct arena *a, size_t mark);
