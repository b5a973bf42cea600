/* tests/world/map_rig.h: map texts as they are written here, read or refused.
 * In a text ' stands for ". May touch: world/edge/map_tiled.
 */
#pragma once

#include "world/edge/map_tiled.h"

#define MAP_RIG_PATH "maps/some.json"

/* The members of a map of w by h tiles of 16 by 8 pixels, with a comma behind. */
#define MAP_RIG_HEAD(w, h)                                                     \
    "'type':'map','orientation':'orthogonal','infinite':false,'tilewidth':16," \
    "'tileheight':8,'width':" #w ",'height':" #h ","
/* Tiles 1 to 4; the third blocks. */
#define MAP_RIG_SETS                                                         \
    "'tilesets':[{'firstgid':1,'name':'t','tilecount':4,'tiles':[{'id':2,"   \
    "'properties':[{'name':'blocked','type':'bool','value':true}]},{'id':0," \
    "'properties':[{'name':'blocked','type':'bool','value':false}]}]}],"
#define MAP_RIG_TILES(name, w, h, data) \
    "{'type':'tilelayer','name':'" name "','width':" #w ",'height':" #h ",'data':" data "}"
#define MAP_RIG_LAYERS(...) "{" __VA_ARGS__ "]}"

/* A map of 4 by 3 free tiles with these objects in one layer. */
#define MAP_RIG_OBJECTS(objects)                                                                 \
    "{" MAP_RIG_HEAD(4, 3) MAP_RIG_SETS "'layers':[" MAP_RIG_TILES(                              \
        "floor", 4, 3, "[1,1,1,1, 1,3,1,1, 1,1,1,1]") ",{'type':'objectgroup','name':'things','" \
                                                      "objects':[" objects "]}]}"

/* It must be read; the caller gives it back with map_fini. */
struct map map_rig_read(const char *text, double tile_size);
/* It must be refused, in one line that begins with the file's path and has `want` in it. */
void map_rig_refused(const char *text, const char *want);
void map_rig_refused_bytes(struct span text, const char *want);
/* The ground as rows of '.' and '#' with a newline behind each; a static buffer. */
const char *map_rig_shown(const struct map *m);
