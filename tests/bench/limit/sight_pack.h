/* tests/bench/limit/sight_pack.h: the records of a list whose bits are set, side by side.
 * May touch: libc.
 */
#pragma once

#include "tests/bench/limit/sight_rival.h"

/* list [64 * words], 64-byte aligned; up to SIGHT_RIVAL_SPARE records after the last one may be
 * overwritten. Returns where the next one goes. */
typedef struct sight_record *sight_pack_fn(const struct sight_record *list, const uint64_t *bits,
                                           uint32_t words, struct sight_record *out);

/* The best one for this processor. */
sight_pack_fn *sight_pack_choose(void);
