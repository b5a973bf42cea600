/* world/edge/map_sets.c: see the header. */
#include "world/edge/map_sets.h"

#ifdef AEGIS_PART_JANSSON

#include "common/err.h"

#include <stdio.h>
#include <stdlib.h>

#define PATH_BYTES 4096

static void set_bit(uint64_t *bits, uint32_t i)
{
    bits[i / 64] |= (uint64_t)1 << i % 64;
}

/* The tiles of a set that say something of themselves. A set of single pictures may have numbers
 * beyond its count, so their largest counts too. */
static int read_tiles(struct map_json *j, const json_t *set, uint32_t first, int64_t *count,
                      struct map_sets *s)
{
    const json_t *tiles;
    int err = map_json_list(j, set, "tiles", &tiles);

    for (size_t i = 0; err == 0 && i < json_array_size(tiles); i++) {
        const json_t *tile = json_array_get(tiles, i);
        int64_t id;
        int blocked;

        err = map_json_int(j, tile, "id", 0, MAP_SETS_GIDS_MAX - 1 - first, &id);
        if (err == 0)
            err = map_json_switch(j, tile, "blocked", &blocked);
        if (err != 0)
            break;
        if (id >= *count)
            *count = id + 1;
        if (blocked == 1)
            set_bit(s->blocked, first + (uint32_t)id);
    }
    return err;
}

/* A tileset's own part, wherever it stands. */
static int read_set(struct map_json *j, const json_t *set, uint32_t first, struct map_sets *s)
{
    int64_t count;
    int err = map_json_int(j, set, "tilecount", 0, MAP_SETS_GIDS_MAX - first, &count);

    if (err == 0)
        err = read_tiles(j, set, first, &count, s);
    for (uint32_t gid = first; err == 0 && gid < first + (uint32_t)count; gid++) {
        if (map_sets_known(s, gid))
            return map_json_fail(j, E_BAD, "its tile number %u is another tileset's too", gid);
        set_bit(s->known, gid);
    }
    return err;
}

static bool ends_in(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

/* A tileset in a file beside the map. */
static int read_source(struct map_json *j, const char *source, uint32_t first, struct map_sets *s)
{
    char path[PATH_BYTES], shown[MAP_JSON_NAME_MAX];
    const char *slash = strrchr(j->file, '/');
    int folder = source[0] != '/' && slash ? (int)(slash - j->file) + 1 : 0;
    struct map_json inner = {.file = path, .why = j->why, .why_cap = j->why_cap};
    json_t *set;
    int err;

    if (ends_in(source, ".tsx") || ends_in(source, ".xml"))
        return map_json_fail(j, E_BAD,
                             "source: \"%s\" is XML, which is not read; embed the tileset in the "
                             "map, or export it as JSON",
                             map_json_shown(source, shown));
    if (snprintf(path, sizeof(path), "%.*s%s", folder, j->file, source) >= (int)sizeof(path))
        return map_json_fail(j, E_BAD, "source: longer than a path can be");
    err = map_json_read(&inner, path, &set);
    if (err == 0)
        err = read_set(&inner, set, first, s);
    json_decref(set);
    return err;
}

static int read_one(struct map_json *j, const json_t *set, size_t number, struct map_sets *s)
{
    char shown[MAP_JSON_NAME_MAX];
    const char *name, *source;
    int64_t first;
    int err;

    map_json_at(j, "tileset %zu", number);
    err = map_json_text(j, set, "name", &name);
    if (err == 0 && name[0] != '\0')
        map_json_at(j, "tileset %zu \"%s\"", number, map_json_shown(name, shown));
    if (err == 0)
        err = map_json_int(j, set, "firstgid", 1, MAP_SETS_GIDS_MAX - 1, &first);
    if (err == 0)
        err = map_json_text(j, set, "source", &source);
    if (err != 0)
        return err;
    return source[0] != '\0' ? read_source(j, source, (uint32_t)first, s)
                             : read_set(j, set, (uint32_t)first, s);
}

int map_sets_read(struct map_json *j, const json_t *map, struct map_sets *s)
{
    const json_t *sets;
    int err;

    s->known = calloc(MAP_SETS_GIDS_MAX / 64, sizeof(*s->known));
    s->blocked = calloc(MAP_SETS_GIDS_MAX / 64, sizeof(*s->blocked));
    map_json_at(j, "%s", "");
    if (!s->known || !s->blocked)
        return map_json_fail(j, E_NOMEM, "%s", err_text(E_NOMEM));
    err = map_json_list(j, map, "tilesets", &sets);
    if (err == 0 && json_array_size(sets) > MAP_SETS_MAX)
        return map_json_fail(j, E_FULL, "tilesets: %zu: must be at most %d", json_array_size(sets),
                             MAP_SETS_MAX);
    for (size_t i = 0; err == 0 && i < json_array_size(sets); i++)
        err = read_one(j, json_array_get(sets, i), i + 1, s);
    return err;
}

void map_sets_fini(struct map_sets *s)
{
    free(s->known);
    free(s->blocked);
    *s = (struct map_sets){0};
}

#endif
