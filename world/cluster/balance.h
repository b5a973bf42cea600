/* world/cluster/balance.h: which zone should be whose.
 * Every world asks this of what it sees and does its own part; where they see the same they come to
 * the same, and where they do not the store decides. Zones of nobody are dealt out so that each
 * world comes to an even share, in runs of neighbours; owned ones move one at a time, from who has
 * most to who has least, and away from who drains.
 * Pure. May touch: common.
 */
#pragma once

#include "common/base.h"

#include <stdbool.h>

#define BALANCE_NOBODY UINT32_MAX
#define BALANCE_BUSY   (UINT32_MAX - 1) /* on its way; of somebody, and not to be touched */

struct balance {
    uint32_t n_worlds, n_zones;
    const bool *drains;    /* [n_worlds] takes no more, and gives all away */
    const uint32_t *owner; /* [n_zones] number of a world, or one of the above */
    uint32_t *count;       /* [n_worlds] scratch */
};

/* To whom each zone of nobody should go: `to` [n_zones], BALANCE_NOBODY for the others and where
 * nobody takes any. */
void balance_fill(const struct balance *b, uint32_t *to);

struct balance_move {
    uint32_t zone, from, to;
};

/* The one move that should be made now; false: none, or zones are still on their way. */
bool balance_next(const struct balance *b, struct balance_move *out);
