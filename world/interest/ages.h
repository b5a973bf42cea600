/* world/interest/ages.h: how old a change is when a viewer is told of it, in ticks, by tier.
 * Counted in small arrays, which a tick ends by adding to histograms. Without tiers all is tier 0,
 * counted once for each mover that is told; with them once for each record.
 * Pure. May touch: common. On trouble: what is older than AGES_MAX counts as that.
 */
#pragma once

#include "common/hist.h"

#define AGES_TIERS 8
#define AGES_MAX   1023 /* ticks */

struct ages {
    uint32_t n[AGES_TIERS][AGES_MAX + 1]; /* of this tick */
    uint32_t top[AGES_TIERS];             /* the oldest of this tick + 1; 0: none */
    struct hist told[AGES_TIERS];         /* ticks, since the start */
};

static inline void ages_add(struct ages *a, uint32_t tier, uint32_t age, uint32_t times)
{
    age = age < AGES_MAX ? age : AGES_MAX;
    a->n[tier][age] += times;
    a->top[tier] = a->top[tier] > age ? a->top[tier] : age + 1;
}

/* The tick is over. */
void ages_fold(struct ages *a);
