/* world/command/walks.h: walks in the world at hand: begun, ended, carried on each tick.
 * Knows which ground an entity stands on, has ways found for those who asked for one, and tells
 * the owner of a walk that ends short of its goal (MoveFail).
 * May touch: the whole core, proto. Source: PROTOCOL.md, "Commands".
 */
#pragma once

#include "world/world.h"

/* Who asks for a way: of the line of those who wait, the world's own may fill a half. */
enum walks_for { WALKS_PLAYER, WALKS_NPC };

/* Walk an entity to (x, y) inside its scene: straight, or by a way where `path` is set and there is
 * ground. A walk that it was on is over. 0, or E_FULL: too many wait for a way; nothing changed. */
int walks_go(struct world *w, uint32_t slot, double x, double y, bool path, enum walks_for whose,
             struct mono now) MUST_CHECK;
/* Its walk, if any, is over, without a word. Returns whether it walked. */
bool walks_end(struct world *w, uint32_t slot);
/* A phase of the tick: ways are found, as the budget allows, and every walker takes its step. */
void walks_tick(struct world *w, struct mono now);

/* What there is to stand on around an entity; NULL: open ground. */
const struct ground *walks_ground(const struct world *w, uint32_t slot);
