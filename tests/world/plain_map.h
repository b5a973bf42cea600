/* tests/world/plain_map.h: maps made by hand.
 * May touch: world/state/map. On trouble: the test at hand fails.
 */
#pragma once

#include "world/state/map.h"

/* A map from rows of tiles, as many columns as the first row has: '#' is blocked. One tile is one
 * unit; its low corner is 0, 0. */
struct map plain_map(const char *name, const char *const *rows, uint32_t n_rows);
/* Free ground of so many tiles of `size` units from a low corner. */
struct map plain_map_open(const char *name, double x0, double y0, double size, uint32_t nx,
                          uint32_t ny);
/* Another portal: its area, then where it leads. */
void plain_map_portal(struct map *m, const double area[4], const char *scene, double x, double y);
/* Another spawn area. */
void plain_map_spawn(struct map *m, const double area[4]);
