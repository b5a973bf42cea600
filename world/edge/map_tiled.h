/* world/edge/map_tiled.h: reads a map that the editor Tiled saved as JSON.
 * Orthogonal maps of one fixed size, up to GROUND_SIDE_MAX tiles along a side: tile layers (also in
 * groups) as lists of numbers or as base64, plain or packed by gzip, zlib or zstd; tilesets within
 * the map or in JSON files beside it; objects of class spawn, npc and portal. README, "Maps", says
 * what a map needs.
 * May touch: files, jansson, zlib, zstd, world/state/map. Never: what a scene does with it.
 * On trouble: one line that names the file and the place in it; nothing is kept.
 */
#pragma once

#include "common/span.h"
#include "world/state/map.h"

#define MAP_TILED_LAYERS_MAX 64 /* of all kinds, those in groups and the groups too */

/* Read a map.
 *   spec        as -map has it: FILE, whose scene has the file's name without what follows its last
 *               dot, or NAME=FILE
 *   tile_size   units; > 0, finite
 *   out         borrows `spec`; its owner gives it back with map_fini, here zeroed where there is
 * trouble why         one line without newline E_BAD, E_RANGE: what is in the file; E_IO: it cannot
 * be read; E_MISSING: this build cannot read it; E_NOMEM. */
int map_tiled_load(const char *spec, double tile_size, struct map *out, char *why,
                   size_t why_cap) MUST_CHECK;
/* The same for a text that is in memory already. `path` stands in errors, and tilesets are looked
 * for beside it; the map has no name. */
int map_tiled_parse(const char *path, struct span text, double tile_size, struct map *out,
                    char *why, size_t why_cap) MUST_CHECK;
