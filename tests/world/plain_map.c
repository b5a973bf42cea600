/* tests/world/plain_map.c: see the header. */
#include "tests/world/plain_map.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct map plain_map_open(const char *name, double x0, double y0, double size, uint32_t nx,
                          uint32_t ny)
{
    struct map m = {0};
    snprintf(m.name, sizeof m.name, "%s", name);
    cr_assert_eq(ground_init(&m.ground, x0, y0, size, nx, ny), 0);
    return m;
}

struct map plain_map(const char *name, const char *const *rows, uint32_t n_rows)
{
    uint32_t nx = (uint32_t)strlen(rows[0]);
    struct map m = plain_map_open(name, 0, 0, 1, nx, n_rows);
    for (uint32_t y = 0; y < n_rows; y++)
        for (uint32_t x = 0; x < nx; x++)
            ground_block(&m.ground, (int32_t)x, (int32_t)y, rows[y][x] == '#');
    return m;
}

static struct map_area area_of(const double area[4])
{
    return (struct map_area){area[0], area[1], area[2], area[3]};
}

void plain_map_portal(struct map *m, const double area[4], const char *scene, double x, double y)
{
    struct map_portal p = {.area = area_of(area), .x = x, .y = y};
    snprintf(p.name, sizeof p.name, "gate-%u", m->n_portals);
    snprintf(p.scene, sizeof p.scene, "%s", scene);
    m->portals = realloc(m->portals, (m->n_portals + 1) * sizeof *m->portals);
    m->portals[m->n_portals++] = p;
}

void plain_map_spawn(struct map *m, const double area[4])
{
    m->spawns = realloc(m->spawns, (m->n_spawns + 1) * sizeof *m->spawns);
    m->spawns[m->n_spawns++] = (struct map_spawn){.area = area_of(area)};
}
