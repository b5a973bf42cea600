/* world/state/npc_stand.c: an NPC that stands where it is.
 * It has nothing to think of, so it never wakes. Pure. May touch: world/state.
 */
#include "world/state/npc.h"

const struct npc_kind npc_stand = {.name = "stand"};
