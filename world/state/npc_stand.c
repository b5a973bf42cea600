/* world/state/npc_stand.c: an NPC that stands where it is.
 * Pure. May touch: common, world/state.
 */
#include "common/clock.h"
#include "world/state/npc.h"

static struct npc_order think(struct npc *n, const struct npc_view *v)
{
    (void)n;
    (void)v;
    return (struct npc_order){.wait_ns = 3600 * CLOCK_NS_PER_S};
}

const struct npc_kind npc_stand = {.name = "stand", .think = think};
