/* world/edge/map_sets.h: a map's tilesets: which tile numbers there are, and which of them block.
 * A tileset is within the map or in a JSON file beside it. Never: pictures.
 * May touch: files, jansson. On trouble: one line with the file and the place in it.
 */
#pragma once

#ifdef AEGIS_PART_JANSSON

#include "world/edge/map_json.h"

#define MAP_SETS_MAX      256        /* tilesets */
#define MAP_SETS_GIDS_MAX (1u << 20) /* tile numbers of all tilesets end below this */

/* A tile number (gid) is an index; 0 is no tile. */
struct map_sets {
    uint64_t *known;   /* [MAP_SETS_GIDS_MAX / 64] a bit a number: there is such a tile */
    uint64_t *blocked; /* [MAP_SETS_GIDS_MAX / 64] it has the property `blocked` */
};

/* Read all tilesets of a map, whose file is j->file. Owns its blocks, also where it fails. E_*. */
int map_sets_read(struct map_json *j, const json_t *map, struct map_sets *s) MUST_CHECK;
void map_sets_fini(struct map_sets *s);

static inline bool map_sets_known(const struct map_sets *s, uint32_t gid)
{
    return gid < MAP_SETS_GIDS_MAX && (s->known[gid / 64] >> gid % 64 & 1);
}

/* `gid` is known. */
static inline bool map_sets_blocked(const struct map_sets *s, uint32_t gid)
{
    return s->blocked[gid / 64] >> gid % 64 & 1;
}

#endif
