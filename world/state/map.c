/* world/state/map.c: see the header. */
#include "world/state/map.h"

#include <stdlib.h>
#include <string.h>

void map_fini(struct map *m)
{
    free(m->portals);
    free(m->points);
    free(m->npcs);
    free(m->spawns);
    ground_fini(&m->ground);
    memset(m, 0, sizeof(*m));
}

bool map_within(const struct map_area *a, double x, double y)
{
    return x >= a->x0 && x <= a->x1 && y >= a->y0 && y <= a->y1;
}
