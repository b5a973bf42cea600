/* common/slots.h: generation slots; an index that knows when it is stale.
 * Hands out the indices 0..cap-1, each with a generation that is odd while alive. A slot whose
 * generations are spent is retired. May touch: libc. On trouble: full is E_FULL, stale is a normal
 * answer.
 */
#pragma once

#include "common/base.h"

#include <stdbool.h>

struct slots {
    uint32_t *gen;  /* [cap] odd: alive */
    uint32_t *next; /* [cap] free list */
    uint32_t cap;   /* slots */
    uint32_t fresh; /* slots from here on were never given */
    uint32_t free;  /* head of the free list; SLOTS_NONE: empty */
    uint32_t live;  /* alive now */
};

#define SLOTS_NONE UINT32_MAX

/* Owns its arrays. cap >= 1. E_NOMEM. */
int slots_init(struct slots *s, uint32_t cap) MUST_CHECK;
void slots_fini(struct slots *s);
/* 0, or E_FULL. Last freed first. */
int slots_take(struct slots *s, uint32_t *slot, uint32_t *gen) MUST_CHECK;
/* The pair must be alive (asserted). */
void slots_give(struct slots *s, uint32_t slot, uint32_t gen);

static inline bool slots_alive(const struct slots *s, uint32_t slot, uint32_t gen)
{
    return (gen & 1) != 0 && slot < s->cap && s->gen[slot] == gen;
}
