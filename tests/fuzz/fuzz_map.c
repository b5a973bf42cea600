/* tests/fuzz/fuzz_map.c: map files of any bytes.
 * The first byte says how the rest is meant: as a text, or as edits of one of the maps below, three
 * bytes each: a place, and what is put there, a byte or a word. So every seed is near a map.
 * May touch: world/edge/map_tiled. Tilesets are looked for in a folder that is not there.
 */
#include "tests/fuzz/fuzz_target.h"

#include "common/base.h"
#include "common/err.h"
#include "world/edge/map_tiled.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#define TEXT_MAX  8192
#define EDITS_MAX 32
#define WHY_MAX   512
#define PATH      "/nowhere/at/all/map.json"

#define HEAD                                                                                     \
    "{'type':'map','orientation':'orthogonal','infinite':false,'tilewidth':16,'tileheight':16,'" \
    "width':4,'height':3,'tilesets':[{'firstgid':1,'name':'t','tilecount':4,'tiles':[{'id':2,"   \
    "'properties':[{'name':'blocked','type':'bool','value':true}]}]}],'layers':["
#define LAYER "{'type':'tilelayer','name':'floor','width':4,'height':3,"

static const char *const MAPS[] = {
    HEAD LAYER "'data':[1,1,1,1,1,3,1,1,1,1,1,1]},{'type':'objectgroup','name':'o','objects':["
               "{'id':1,'type':'spawn','point':true,'x':8,'y':4},{'id':2,'class':'npc','name':'n',"
               "'x':8,'y':4,'polyline':[{'x':0,'y':0},{'x':32,'y':0}],'properties':[{'name':"
               "'behaviour','value':'patrol'},{'name':'speed','value':1.5}]},{'id':3,'type':"
               "'portal','x':48,'y':0,'width':16,'height':8,'properties':[{'name':'scene','value':"
               "'w'},{'name':'x','value':1},{'name':'y','value':2}]},{'type':'npc','x':1,'y':1,"
               "'polygon':[{'x':0,'y':0},{'x':9,'y':0},{'x':0,'y':9}]},{'type':'npc','width':60,"
               "'height':40}]}]}",
    HEAD "{'type':'group','name':'g','offsetx':0,'layers':[" LAYER
         "'encoding':'base64','data':'AQAAAAEAAAABAAAAAQAAAAEAAAADAACAAQAAAAEAAAABAAAAAQAAAAEAAAAB"
         "AAAA'}]}]}",
    HEAD LAYER "'encoding':'base64','compression':'zlib','properties':[{'name':'blocked','value':"
               "true}],'data':'eNpjZEAFjEDMDKVhGFkOAAEUAAo='}]}",
    HEAD LAYER "'encoding':'base64','compression':'zstd','data':"
               "'KLUv/SQwxQAAYAEAAQAAAAMBAQAAAAQAgADIdyXTMsACTWfodg=='}]}",
};

static const char *const WORDS[] = {
    "4294967296", "-1",      "null",   "[]",         "{}",          "1e999",   "1e308",
    "4096",       "4097",    "0",      "0.5",        "true",        "blocked", "spawn",
    "npc",        "portal",  "group",  "tilelayer",  "objectgroup", "gzip",    "zlib",
    "zstd",       "base64",  "csv",    "polyline",   "polygon",     "source",  "template",
    "rotation",   "offsetx", "chunks", "properties", "width",       "height",  "x",
    "y",          "'",       ",",      "\\u0000",    "\xff",        "==",      "[[[[",
};

static size_t make_text(const uint8_t *data, size_t size, char out[TEXT_MAX])
{
    size_t n, edits = 0;
    if (data[0] % 5 == 4) {
        n = size - 1 < TEXT_MAX ? size - 1 : TEXT_MAX;
        memcpy(out, data + 1, n);
        return n;
    }
    n = strlen(MAPS[data[0] % 5]);
    memcpy(out, MAPS[data[0] % 5], n);
    for (size_t i = 1; i + 3 <= size && edits < EDITS_MAX; i += 3, edits++) {
        const char *word = WORDS[data[i + 2] % ARRAY_LEN(WORDS)];
        size_t at = (size_t)(data[i] << 4 | data[i + 1] >> 4) % n;
        if (data[i + 1] & 1)
            out[at] = (char)data[i + 2];
        else if (at + strlen(word) <= n)
            memcpy(out + at, word, strlen(word));
    }
    for (size_t i = 0; i < n; i++)
        out[i] = out[i] == '\'' ? '"' : out[i];
    return n;
}

static bool free_inside(const struct ground *g, const struct map_area *a)
{
    return ground_inside(g, a->x0, a->y0) && ground_inside(g, a->x1, a->y1) && a->x0 <= a->x1 &&
           a->y0 <= a->y1 &&
           ground_any_free(g, ground_at(g, a->x0, a->y0), ground_at(g, a->x1, a->y1));
}

static const char *check_map(const struct map *m)
{
    const struct ground *g = &m->ground;
    if (g->nx < 1 || g->nx > GROUND_SIDE_MAX || g->ny < 1 || g->ny > GROUND_SIDE_MAX)
        return "a ground is of a size that may be";
    if (m->n_spawns + m->n_npcs + m->n_portals > MAP_OBJECTS_MAX || m->n_points > MAP_POINTS_MAX)
        return "objects and points are bounded";
    for (uint32_t i = 0; i < m->n_spawns; i++)
        if (!free_inside(g, &m->spawns[i].area))
            return "a spawn is free and inside";
    for (uint32_t i = 0; i < m->n_portals; i++)
        if (!free_inside(g, &m->portals[i].area) || m->portals[i].scene[0] == 0 ||
            !isfinite(m->portals[i].x) || !isfinite(m->portals[i].y))
            return "a portal is free and inside, and leads somewhere";
    for (uint32_t i = 0; i < m->n_npcs; i++) {
        const struct map_npc *n = &m->npcs[i];
        if (!ground_free_at(g, n->at.x, n->at.y) || !(n->speed >= 0))
            return "an npc stands on free ground";
        if (n->n_route == 1 || n->route + n->n_route > m->n_points)
            return "a route has its points";
        for (uint32_t k = 1; k < n->n_route; k++) {
            const struct map_place *p = &m->points[n->route + k];
            if (!ground_way(g, p[-1].x, p[-1].y, p->x, p->y, NULL))
                return "a route can be walked";
        }
    }
    return NULL;
}

/* One line, and nothing kept. */
static const char *check_refusal(const struct map *m, const char why[WHY_MAX])
{
    static const struct map zero;
    if (memcmp(m, &zero, sizeof zero) != 0)
        return "nothing is kept of what is refused";
    if (why[0] == 0 || memchr(why, 0, WHY_MAX) == NULL)
        return "a refusal has its reason";
    for (const char *c = why; *c != 0; c++) {
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            return "a reason is one line without control bytes";
    }
    return NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char text[TEXT_MAX];
    char why[WHY_MAX] = "";
    struct map m;
    if (size == 0)
        return 0;
    size_t n = make_text(data, size, text);
    char *exact = malloc(n > 0 ? n : 1); /* its end is the sanitizer's */
    if (exact == NULL)
        abort();
    memcpy(exact, text, n);
    int err = map_tiled_parse(PATH, span_of(exact, n), 1, &m, why, sizeof why);
    free(exact);
    if (size == 1 && data[0] < ARRAY_LEN(MAPS) && err != 0 && err != E_MISSING)
        fuzz_target_must("a map without edits is read");
    fuzz_target_must(err == 0 ? check_map(&m) : check_refusal(&m, why));
    map_fini(&m);
    return 0;
}
