/* world/edge/cluster_terms.h: what all worlds of a cluster must agree on, as one line of text.
 * Whatever a client could tell two worlds apart by, or two worlds could not both be right about:
 * zones, sight, ticks, grain of places, and as one sum the rules of moving, the scenes and what
 * stands on their maps. Not how a world does its work, such as -aoi-index or -max-entities.
 * Pure. May touch: common, world/world_opts, world/state/map. On trouble: none.
 *
 *   zones=4x2,radius=30,hysteresis=0,margin=5,tick=50,quantum=0.015625,rules=8b1f03c2
 */
#pragma once

#include "proto/claim.h"
#include "world/world_opts.h"

/* Of options that were checked, and [n_maps] maps as they were loaded. Returns its bytes. */
size_t cluster_terms_write(const struct world_options *o, const struct map *maps, uint32_t n_maps,
                           char out[CLAIM_TEXT_MAX + 1]);
