/* world/command/leave.h: the way out of a world that gives all it has to the other worlds.
 * Zones are given away by world/cluster/holdings, and whoever stands in them is handed over; here
 * those who are in no zone go: clients that are not inside, whom their gateways bind elsewhere.
 * May touch: the whole core. On trouble: who waits for something goes when that has come.
 */
#pragma once

#include "world/world.h"

#define LEAVE_TICK_MAX 256 /* sessions that are sent away in a tick */

/* A tick's share, while it leaves. */
void leave_tick(struct world *w, struct mono now);
/* Is nobody here any more, nor on the way? */
bool leave_is_over(const struct world *w);
