/* world/state/map.h: what a map says: its ground, and the objects that stand on it.
 * Plain data, made at the start by whoever reads a map file (world/edge/map_tiled) and borrowed by
 * the world for as long as it lives. All places are in world units and inside the ground.
 * Pure. May touch: common, proto/limits, world/state/ground.
 */
#pragma once

#include "proto/limits.h"
#include "world/state/ground.h"

#define MAP_OBJECTS_MAX 4096  /* spawns, NPCs and portals of one map together */
#define MAP_POINTS_MAX  65536 /* of all routes of one map together */
#define MAP_WORD_MAX    32    /* bytes of a behaviour's name */

struct map_place {
    double x, y;
};

/* Closed; a point where both corners are one. */
struct map_area {
    double x0, y0, x1, y1;
};

/* Where newcomers come in. At least one tile of it is free. */
struct map_spawn {
    char name[PROTO_NAME_MAX + 1];
    struct map_area area;
};

struct map_npc {
    char name[PROTO_NAME_MAX + 1];    /* "": not said */
    char behaviour[MAP_WORD_MAX + 1]; /* as the map has it, such as "patrol"; "": not said */
    struct map_place at;              /* where it starts: free; of a route its first point */
    struct map_area area;             /* where it belongs; a point but for a rectangle */
    uint32_t route;                   /* index in map.points of its first one */
    uint32_t n_route;                 /* points; 0: it has no route, else at least 2 */
    bool closed;                      /* from the last point it is a legal way to the first */
    double speed;                     /* units a second; 0: not said */
};

/* Who moves into the area goes to (x, y) of that scene. */
struct map_portal {
    char name[PROTO_NAME_MAX + 1];
    struct map_area area;
    char scene[PROTO_SCENE_MAX + 1];
    double x, y; /* units there; finite, not held against that scene's ground */
};

struct map {
    char name[PROTO_SCENE_MAX + 1];
    const char *path;     /* the file it was read from, for messages; borrowed; NULL: none */
    struct ground ground; /* its low corner is 0, 0; y points down, as in the editor */
    struct map_spawn *spawns;
    uint32_t n_spawns;
    struct map_npc *npcs;
    uint32_t n_npcs;
    struct map_place *points; /* of the routes; each leg is a legal way */
    uint32_t n_points;
    struct map_portal *portals;
    uint32_t n_portals;
};

/* Gives back what it owns; a zeroed one is fine. */
void map_fini(struct map *m);
/* Is the place in the area, rim included? */
bool map_within(const struct map_area *a, double x, double y);
