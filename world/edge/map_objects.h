/* world/edge/map_objects.h: what stands on a map: spawns, NPCs and portals, from its object layers.
 * Objects of other classes are somebody else's and counted only. The ground must be there before.
 * May touch: jansson, world/state/map, proto's rule for names. On trouble: one line with the place.
 */
#pragma once

#ifdef AEGIS_PART_JANSSON

#include "world/edge/map_json.h"
#include "world/state/map.h"

struct map_objects {
    struct map *map;                /* what is filled */
    double tile_width, tile_height; /* pixels */
    uint32_t ignored;               /* objects of other classes */
};

/* Add the objects of one layer, which is moved by dx, dy pixels. `layer` is its name for errors.
 * What was added before an error stays the map's. E_*. */
int map_objects_read(struct map_json *j, const json_t *layer, const char *name, double dx,
                     double dy, struct map_objects *o) MUST_CHECK;

#endif
