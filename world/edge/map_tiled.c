/* world/edge/map_tiled.c: see the header.
 *
 *   file ─► JSON ─► head ─► tilesets ─► layers in one list ─► tile layers ─► ground
 *                                                         └─► object layers ─► spawns, NPCs,
 * portals
 *
 * Objects come after all tiles, since they are held against the ground.
 */
#include "world/edge/map_tiled.h"

#include "common/err.h"
#include "common/log.h"
#include "proto/message.h"
#include "world/edge/map_data.h"
#include "world/edge/map_objects.h"
#include "world/edge/map_sets.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- names ------------------------------------------------------------------------------------ */

/* Split -map's value: the scene's name into `name`, the path is given back; NULL: `why` has it. */
static const char *split(const char *spec, char name[PROTO_SCENE_MAX + 1], char *why,
                         size_t why_cap)
{
    size_t n = strcspn(spec, "=/");
    const char *path = spec, *from = spec;

    if (spec[n] == '=') {
        path = spec + n + 1;
    } else {
        const char *slash = strrchr(spec, '/'), *dot;
        from = slash ? slash + 1 : spec;
        dot = strrchr(from, '.');
        n = dot && dot > from ? (size_t)(dot - from) : strlen(from);
    }
    if (!message_name_ok(span_of(from, n)) || path[0] == '\0') {
        snprintf(why, why_cap,
                 "\"%.80s\": must be FILE or NAME=FILE, with a name of 1 to %d bytes and no "
                 "control characters",
                 spec, PROTO_NAME_MAX);
        for (char *c = why; *c; c++)
            *c = (unsigned char)*c < 0x20 || *c == 0x7f ? '?' : *c;
        return NULL;
    }
    memcpy(name, from, n);
    name[n] = '\0';
    return path;
}

#ifdef AEGIS_PART_JANSSON

/* The high bits of a tile number say how it is turned. */
#define GID_MASK        0x0fffffffu
#define TILE_PIXELS_MAX 65536

struct layer {
    const json_t *json;
    const char *name, *type;
    double dx, dy; /* pixels that it is moved by, its groups included */
};

struct reading {
    struct map_json json;
    const json_t *root;
    struct map_sets sets;
    struct map_objects objects;
    struct map *map;
    struct layer layers[MAP_TILED_LAYERS_MAX]; /* groups opened, in the file's order */
    size_t n_layers;
    size_t n_met;    /* layers and groups */
    uint32_t *tiles; /* [nx * ny] of the layer at hand */
};

/* --- head ------------------------------------------------------------------------------------- */

static int read_head(struct reading *r, double tile_size)
{
    struct map_json *j = &r->json;
    const char *orientation, *type;
    int64_t nx, ny, width, height;
    int err;

    if (!json_is_object(r->root))
        return map_json_fail(j, E_BAD, "not a map");
    err = map_json_text(j, r->root, "type", &type);
    if (err == 0)
        err = map_json_text(j, r->root, "orientation", &orientation);
    if (err != 0)
        return err;
    if (type[0] != '\0' && strcmp(type, "map") != 0)
        return map_json_fail(j, E_BAD, "type: not a map");
    if (strcmp(orientation, "orthogonal") != 0)
        return map_json_fail(j, E_BAD, "orientation: must be orthogonal");
    if (json_is_true(json_object_get(r->root, "infinite")))
        return map_json_fail(j, E_BAD,
                             "infinite: must be false; give the map a fixed size (Map, Map "
                             "Properties, Infinite)");
    err = map_json_int(j, r->root, "width", 1, GROUND_SIDE_MAX, &nx);
    if (err == 0)
        err = map_json_int(j, r->root, "height", 1, GROUND_SIDE_MAX, &ny);
    if (err == 0)
        err = map_json_int(j, r->root, "tilewidth", 1, TILE_PIXELS_MAX, &width);
    if (err == 0)
        err = map_json_int(j, r->root, "tileheight", 1, TILE_PIXELS_MAX, &height);
    if (err != 0)
        return err;
    r->objects = (struct map_objects){r->map, (double)width, (double)height, 0};
    r->tiles = malloc((size_t)(nx * ny) * sizeof(*r->tiles));
    err = r->tiles ? ground_init(&r->map->ground, 0, 0, tile_size, (uint32_t)nx, (uint32_t)ny)
                   : E_NOMEM;
    return err == 0 ? 0 : map_json_fail(j, err, "%s", err_text(err));
}

/* --- layers ----------------------------------------------------------------------------------- */

/* Put a list of layers, and those in its groups, behind those that are known. */
static int collect(struct reading *r, const json_t *list, double dx, double dy)
{
    struct map_json *j = &r->json;

    for (size_t i = 0; i < json_array_size(list); i++) {
        struct layer l = {.json = json_array_get(list, i)};
        char shown[MAP_JSON_NAME_MAX];
        const json_t *inner;
        int err;

        map_json_at(j, "layer %zu", r->n_met + 1);
        if (r->n_met++ == MAP_TILED_LAYERS_MAX)
            return map_json_fail(j, E_FULL, "must be at most %d layers", MAP_TILED_LAYERS_MAX);
        if (!json_is_object(l.json))
            return map_json_fail(j, E_BAD, "not a layer");
        err = map_json_text(j, l.json, "name", &l.name);
        if (err == 0)
            map_json_at(j, "layer \"%s\"", map_json_shown(l.name, shown));
        if (err == 0)
            err = map_json_text(j, l.json, "type", &l.type);
        if (err == 0)
            err = map_json_real(j, l.json, "offsetx", 0, &l.dx);
        if (err == 0)
            err = map_json_real(j, l.json, "offsety", 0, &l.dy);
        if (err == 0)
            err = map_json_list(j, l.json, "layers", &inner);
        if (err != 0)
            return err;
        l.dx += dx;
        l.dy += dy;
        if (strcmp(l.type, "group") == 0)
            err = collect(r, inner, l.dx, l.dy);
        else
            r->layers[r->n_layers++] = l;
        if (err != 0)
            return err;
    }
    return 0;
}

/* A layer's tiles as a list of numbers. */
static int read_numbers(struct map_json *j, const json_t *data, uint32_t *tiles, size_t n)
{
    if (!json_is_array(data))
        return map_json_fail(j, E_BAD, "data: %s", data ? "not a list" : "missing");
    if (json_array_size(data) != n)
        return map_json_fail(j, E_BAD, "data: %zu tiles, and the layer has %zu",
                             json_array_size(data), n);
    for (size_t i = 0; i < n; i++) {
        const json_t *v = json_array_get(data, i);
        json_int_t gid = json_integer_value(v);

        if (!json_is_integer(v) || gid < 0 || gid > UINT32_MAX)
            return map_json_fail(j, E_BAD, "data: tile %zu is not a whole number below 2^32",
                                 i + 1);
        tiles[i] = (uint32_t)gid;
    }
    return 0;
}

/* A layer's tiles, whatever form they are in. */
static int read_data(struct map_json *j, const json_t *layer, uint32_t *tiles, size_t n)
{
    const json_t *data = json_object_get(layer, "data");
    char reason[MAP_DATA_REASON_MAX];
    const char *encoding, *compression;
    int err = map_json_text(j, layer, "encoding", &encoding);

    if (err == 0)
        err = map_json_text(j, layer, "compression", &compression);
    if (err != 0)
        return err;
    if (strcmp(encoding, "base64") != 0) {
        if (encoding[0] != '\0' && strcmp(encoding, "csv") != 0)
            return map_json_fail(j, E_BAD, "encoding: must be csv or base64");
        return read_numbers(j, data, tiles, n);
    }
    if (!json_is_string(data))
        return map_json_fail(j, E_BAD, "data: %s", data ? "not a text" : "missing");
    err = map_data_unpack(json_string_value(data), compression, tiles, n, reason);
    return err == 0 ? 0 : map_json_fail(j, err, "%s", reason);
}

/* Which of a layer's tiles block. */
enum blocks { BLOCKS_SOME, BLOCKS_NONE, BLOCKS_ALL };

static int read_blocks(struct map_json *j, const struct layer *l, enum blocks *out)
{
    int said;
    int err = map_json_switch(j, l->json, "blocked", &said);

    *out = said == 1                         ? BLOCKS_ALL
           : said == 0                       ? BLOCKS_NONE
           : strcmp(l->name, "blocked") == 0 ? BLOCKS_ALL
                                             : BLOCKS_SOME;
    return err;
}

/* Put a layer's tiles on the ground. */
static int lay(struct reading *r, const struct layer *l, enum blocks blocks)
{
    struct ground *g = &r->map->ground;
    const uint32_t *at = r->tiles;

    for (int32_t y = 0; y < g->ny; y++) {
        for (int32_t x = 0; x < g->nx; x++, at++) {
            uint32_t gid = *at & GID_MASK;

            if (gid == 0)
                continue;
            if (!map_sets_known(&r->sets, gid))
                return map_json_fail(&r->json, E_RANGE, "tile %d, %d: number %u is in no tileset",
                                     x, y, gid);
            if (blocks == BLOCKS_NONE ||
                (blocks == BLOCKS_SOME && !map_sets_blocked(&r->sets, gid)))
                continue;
            if (l->dx != 0 || l->dy != 0)
                return map_json_fail(&r->json, E_BAD,
                                     "tile %d, %d blocks, and the layer is moved by %g, %g pixels",
                                     x, y, l->dx, l->dy);
            ground_block(g, x, y, true);
        }
    }
    return 0;
}

static int read_tiles(struct reading *r, const struct layer *l)
{
    struct map_json *j = &r->json;
    int32_t nx = r->map->ground.nx, ny = r->map->ground.ny;
    enum blocks blocks;
    int64_t width, height;
    int err;

    if (json_object_get(l->json, "chunks"))
        return map_json_fail(j, E_BAD, "chunks: only infinite maps have them, which are not read");
    err = map_json_int(j, l->json, "width", nx, nx, &width);
    if (err == 0)
        err = map_json_int(j, l->json, "height", ny, ny, &height);
    if (err == 0)
        err = read_blocks(j, l, &blocks);
    if (err == 0)
        err = read_data(j, l->json, r->tiles, (size_t)nx * (size_t)ny);
    return err == 0 ? lay(r, l, blocks) : err;
}

static int read_layers(struct reading *r, const char *type)
{
    bool tiles = strcmp(type, "tilelayer") == 0;
    char shown[MAP_JSON_NAME_MAX];
    int err = 0;

    for (size_t i = 0; err == 0 && i < r->n_layers; i++) {
        const struct layer *l = &r->layers[i];

        map_json_at(&r->json, "layer \"%s\"", map_json_shown(l->name, shown));
        if (strcmp(l->type, type) == 0)
            err = tiles ? read_tiles(r, l)
                        : map_objects_read(&r->json, l->json, l->name, l->dx, l->dy, &r->objects);
    }
    return err;
}

/* --- the whole -------------------------------------------------------------------------------- */

static int read_map(struct reading *r, double tile_size)
{
    struct map_json *j = &r->json;
    const json_t *layers;
    double x, y;
    int err = read_head(r, tile_size);

    if (err == 0)
        err = map_sets_read(j, r->root, &r->sets);
    map_json_at(j, "%s", "");
    if (err == 0)
        err = map_json_list(j, r->root, "layers", &layers);
    if (err == 0 && !layers)
        return map_json_fail(j, E_BAD, "layers: missing");
    if (err == 0)
        err = collect(r, layers, 0, 0);
    if (err == 0)
        err = read_layers(r, "tilelayer");
    map_json_at(j, "%s", "");
    if (err == 0 && !ground_near(&r->map->ground, 0, 0, &x, &y))
        return map_json_fail(j, E_BAD, "every tile is blocked");
    return err == 0 ? read_layers(r, "objectgroup") : err;
}

/* Of a root that is parsed. `ignored` gets how many objects were of other classes. */
static int read_root(const char *path, const json_t *root, double tile_size, struct map *out,
                     uint32_t *ignored, char *why, size_t why_cap)
{
    struct reading r = {
        .json = {.file = path, .why = why, .why_cap = why_cap}, .root = root, .map = out};
    int err = read_map(&r, tile_size);

    *ignored = r.objects.ignored;
    if (err != 0)
        map_fini(out);
    map_sets_fini(&r.sets);
    free(r.tiles);
    return err;
}

int map_tiled_load(const char *spec, double tile_size, struct map *out, char *why, size_t why_cap)
{
    uint32_t ignored;
    json_t *root;
    int err;

    memset(out, 0, sizeof(*out));
    const char *path = split(spec, out->name, why, why_cap);
    if (!path)
        return E_BAD;
    struct map_json j = {.file = path, .why = why, .why_cap = why_cap};
    err = map_json_read(&j, path, &root);
    if (err == 0)
        err = read_root(path, root, tile_size, out, &ignored, why, why_cap);
    json_decref(root);
    if (err == 0) {
        out->path = path;
        log_line(LOG_INFO,
                 "map read scene=%s file=%s tiles=%dx%d blocked=%u spawns=%u npcs=%u portals=%u "
                 "ignored=%u",
                 out->name, path, out->ground.nx, out->ground.ny, ground_count(&out->ground),
                 out->n_spawns, out->n_npcs, out->n_portals, ignored);
    }
    return err;
}

int map_tiled_parse(const char *path, struct span text, double tile_size, struct map *out,
                    char *why, size_t why_cap)
{
    struct map_json j = {.file = path, .why = why, .why_cap = why_cap};
    uint32_t ignored;
    json_t *root;
    int err;

    memset(out, 0, sizeof(*out));
    err = map_json_parse(&j, text, MAP_JSON_MEMORY_MAX, &root);
    if (err == 0)
        err = read_root(path, root, tile_size, out, &ignored, why, why_cap);
    json_decref(root);
    return err;
}

#else

static int not_built_in(const char *path, struct map *out, char *why, size_t why_cap)
{
    memset(out, 0, sizeof(*out));
    snprintf(why, why_cap, "%.200s: this build cannot read maps: it was made without jansson",
             path);
    return E_MISSING;
}

int map_tiled_load(const char *spec, double tile_size, struct map *out, char *why, size_t why_cap)
{
    char name[PROTO_SCENE_MAX + 1];
    const char *path = split(spec, name, why, why_cap);

    (void)tile_size;
    memset(out, 0, sizeof(*out));
    return path ? not_built_in(path, out, why, why_cap) : E_BAD;
}

int map_tiled_parse(const char *path, struct span text, double tile_size, struct map *out,
                    char *why, size_t why_cap)
{
    (void)text;
    (void)tile_size;
    return not_built_in(path, out, why, why_cap);
}

#endif
