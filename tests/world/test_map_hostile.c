/* tests/world/test_map_hostile.c: maps that are broken, or lie: one clear line, and nothing kept.
 * Packed data that lie are in test_map_data.c. May touch: tests/world/map_rig.
 */
#include "common/err.h"
#include "common/rng.h"
#include "tests/leak.h"
#include "tests/mutate.h"
#include "tests/world/map_rig.h"
#include "world/edge/map_json.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef AEGIS_PART_JANSSON

/* Something of everything. */
static const char FULL[] = "{" MAP_RIG_HEAD(4, 3) MAP_RIG_SETS "'layers':[" MAP_RIG_TILES(
    "floor", 4, 3, "[1,1,1,1,1,3,1,1,1,1,1,1]") ",{'type':'group','name':'g','layers':["
                                                "{'type':'tilelayer','name':'blocked','width':4,'"
                                                "height':3,'encoding':'base64',"
                                                "'data':'"
                                                "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
                                                "AAAAAAAAABAAAA'}]},"
                                                "{'type':'objectgroup','name':'o','objects':["
                                                "{'id':1,'type':'spawn','point':true,'x':8,'y':4},"
                                                "{'id':2,'type':'npc','name':'n','x':8,'y':4,'"
                                                "polyline':[{'x':0,'y':0},{'x':32,'y':0}],"
                                                "'properties':[{'name':'behaviour','value':'patrol'"
                                                "},{'name':'speed','value':1.5}]},"
                                                "{'id':3,'type':'portal','x':48,'y':0,'width':16,'"
                                                "height':8,'properties':["
                                                "{'name':'scene','value':'w'},{'name':'x','value':"
                                                "1},{'name':'y','value':2}]}]}]}";

static char *full_text(void)
{
    char *text = strdup(FULL);
    for (char *c = text; *c; c++)
        *c = *c == '\'' ? '"' : *c;
    return text;
}

/* --- broken ----------------------------------------------------------------------------------- */

Test(map_hostile, a_map_that_is_cut_anywhere_is_refused)
{
    char *text = full_text();
    struct map m = map_rig_read(text, 1);
    cr_assert(m.n_spawns == 1 && m.n_npcs == 1 && m.n_portals == 1);
    cr_assert_str_eq(map_rig_shown(&m), "....\n.#..\n...#\n");
    map_fini(&m);
    for (size_t n = 0; n < strlen(text); n++) {
        uint8_t *cut = malloc(n > 0 ? n : 1); /* its end is the sanitizer's */
        memcpy(cut, text, n);
        map_rig_refused_bytes(span_of(cut, n), "line ");
        free(cut);
    }
    free(text);
    TEST_NO_LEAKS();
}

Test(map_hostile, damaged_maps_are_read_or_refused_and_nothing_else)
{
    char *text = full_text(), why[512];
    size_t n = strlen(text);
    uint8_t *bytes = malloc(2 * n);
    uint32_t good = 0;
    struct rng r;
    rng_init(&r, 11);
    for (int i = 0; i < 5000; i++) {
        struct map m;
        memcpy(bytes, text, n);
        size_t len = i % 2 ? mutate(&r, bytes, n, 2 * n) : n;
        if (i % 2 == 0) /* a digit becomes another, so that it stays JSON */
            for (size_t at = rng_below(&r, n); at < n; at++) {
                if (bytes[at] < '0' || bytes[at] > '9')
                    continue;
                bytes[at] = (uint8_t)('0' + rng_below(&r, 10));
                break;
            }
        good += map_tiled_parse("a.json", span_of(bytes, len), 1, &m, why, sizeof why) == 0;
        map_fini(&m);
    }
    cr_assert(good > 100, "%u are still maps", good);
    free(bytes);
    free(text);
    TEST_NO_LEAKS();
}

Test(map_hostile, what_is_no_map_is_refused)
{
    static const char *const bad[] = {"[]", "[1,2]", "{}", "{'type':'map'}",
                                      "{'orientation':'orthogonal'}"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        map_rig_refused(bad[i], "");
    map_rig_refused("", "line 1: ");
    map_rig_refused("7", "line 1: ");
    map_rig_refused("{} x", "line 1: end of file expected");
    map_rig_refused_bytes(span_of("{\0}", 3), "line 1: ");
    map_rig_refused("{" MAP_RIG_HEAD(3, 2) "'layers':5}", "layers: not a list");
    map_rig_refused("{" MAP_RIG_HEAD(3, 2) "'x':5}", "layers: missing");
    map_rig_refused("{" MAP_RIG_HEAD(3, 2) "'layers':[5]}", "layer 1: not a layer");
    map_rig_refused(MAP_RIG_OBJECTS("5"), "layer \"things\": object 0 \"\": not an object");
    TEST_NO_LEAKS();
}

Test(map_hostile, nesting_is_bounded)
{
    size_t n = 200000;
    uint8_t *deep = malloc(n);
    memset(deep, '[', n);
    map_rig_refused_bytes(span_of(deep, n), "maximum parsing depth reached");
    for (size_t i = 0; i + 5 <= n; i += 5)
        memcpy(deep + i, "{\"a\":", 5);
    map_rig_refused_bytes(span_of(deep, n), "maximum parsing depth reached");
    free(deep);
    TEST_NO_LEAKS();
}

static char *nested_groups(int n)
{
    static const char open[] = "{'type':'group','name':'g','layers':[";
    char *text = malloc(4096 + (size_t)n * sizeof open), *at = text;
    at = stpcpy(at, "{" MAP_RIG_HEAD(3, 2) "'layers':[");
    for (int i = 0; i < n; i++)
        at = stpcpy(at, open);
    for (int i = 0; i < n; i++)
        at = stpcpy(at, "]}");
    strcpy(at, "]}");
    return text;
}

Test(map_hostile, layers_are_bounded_with_their_groups)
{
    char *text = nested_groups(MAP_TILED_LAYERS_MAX);
    struct map m = map_rig_read(text, 1);
    map_fini(&m);
    free(text);
    text = nested_groups(MAP_TILED_LAYERS_MAX + 1);
    map_rig_refused(text, "layer 65: must be at most 64 layers");
    free(text);
    TEST_NO_LEAKS();
}

Test(map_hostile, doubled_names_of_fields_are_refused)
{
    map_rig_refused("{" MAP_RIG_HEAD(3, 2) "'width':4,'layers':[]}",
                    "line 1: duplicate object key");
    TEST_NO_LEAKS();
}

Test(map_hostile, bytes_that_are_no_text_are_refused)
{
    map_rig_refused(MAP_RIG_OBJECTS("{'type':'npc','name':'\xff\xfe'}"), "line 1: ");
    map_rig_refused(MAP_RIG_OBJECTS("{'type':'npc','name':'\xc0\x80'}"), "line 1: ");
    map_rig_refused(MAP_RIG_OBJECTS("{'type':'npc','name':'\xed\xa0\x80'}"), "line 1: ");
    map_rig_refused(MAP_RIG_OBJECTS("{'type':'npc','name':'\\ud800'}"), "line 1: ");
    map_rig_refused(MAP_RIG_OBJECTS("{'type':'npc','name':'a\nb'}"), "line ");
    TEST_NO_LEAKS();
}

Test(map_hostile, a_layers_name_cannot_forge_a_line)
{
    map_rig_refused("{" MAP_RIG_HEAD(3, 2) "'layers':[{'type':'tilelayer','name':"
                                           "'a\\nb\\u001b[31m\\u202e0123456789012345678901234567890"
                                           "1234567890123456789'}]}",
                    "layer \"a?b?[31m???012345678901234567890123456789012...\": width: missing");
    TEST_NO_LEAKS();
}

/* --- lies ------------------------------------------------------------------------------------- */

#define SIZED(w, h)                                                                        \
    "{'orientation':'orthogonal','tilewidth':16,'tileheight':16,'width':" w ",'height':" h \
    ",'layers':[]}"

Test(map_hostile, sizes_that_cannot_be_are_refused)
{
    static const char *const bad[] = {
        "0",   "-1",  "4097", "65536", "4294967296", "9223372036854775807",
        "2.0", "'3'", "null", "[]"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        char text[256];
        snprintf(text, sizeof text, SIZED("%s", "3"), bad[i]);
        map_rig_refused(text, "width: ");
        snprintf(text, sizeof text, SIZED("3", "%s"), bad[i]);
        map_rig_refused(text, "height: ");
    }
    map_rig_refused(SIZED("99999999999999999999", "3"), "line 1: too big integer");
    map_rig_refused(SIZED("65536", "65536"), "width: 65536: must be from 1 to 4096");
    map_rig_refused("{'orientation':'orthogonal','width':3,'height':2,'tilewidth':0,"
                    "'tileheight':16,'layers':[]}",
                    "tilewidth: 0: must be from 1 to 65536");
    TEST_NO_LEAKS();
}

#define SMALL(layer) "{" MAP_RIG_HEAD(3, 2) MAP_RIG_SETS "'layers':[" layer "]}"

Test(map_hostile, layers_that_lie_about_their_size_are_refused)
{
    map_rig_refused(SMALL(MAP_RIG_TILES("a", 4, 2, "[1,1,1,1,1,1]")),
                    "layer \"a\": width: 4: must be 3");
    map_rig_refused(SMALL(MAP_RIG_TILES("a", 3, 1, "[1,1,1,1,1,1]")),
                    "layer \"a\": height: 1: must be 2");
    map_rig_refused(SMALL(MAP_RIG_TILES("a", 2, 3, "[1,1,1,1,1,1]")), "layer \"a\": width");
    map_rig_refused(SMALL(MAP_RIG_TILES("a", 3, 2, "[1,1,1,1,1]")),
                    "layer \"a\": data: 5 tiles, and the layer has 6");
    map_rig_refused(SMALL(MAP_RIG_TILES("a", 3, 2, "[1,1,1,1,1,1,1]")),
                    "layer \"a\": data: 7 tiles, and the layer has 6");
    map_rig_refused(SMALL(MAP_RIG_TILES("a", 3, 2, "{}")), "layer \"a\": data: not a list");
    map_rig_refused(SMALL("{'type':'tilelayer','name':'a','width':3,'height':2}"),
                    "layer \"a\": data: missing");
    map_rig_refused(SMALL("{'type':'tilelayer','name':'a'}"), "layer \"a\": width: missing");
    TEST_NO_LEAKS();
}

Test(map_hostile, tile_numbers_beyond_the_tilesets_are_refused)
{
    map_rig_refused(SMALL(MAP_RIG_TILES("a", 3, 2, "[1,1,1,1,5,1]")),
                    "layer \"a\": tile 1, 1: number 5 is in no tileset");
    map_rig_refused(SMALL(MAP_RIG_TILES("blocked", 3, 2, "[0,0,0,0,0,1048576]")),
                    "tile 2, 1: number 1048576 is in no tileset");
    map_rig_refused(SMALL(MAP_RIG_TILES("a", 3, 2, "[0,4294967295,0,0,0,0]")),
                    "tile 1, 0: number 268435455 is in no tileset");
    map_rig_refused(
        "{" MAP_RIG_HEAD(3, 2) "'layers':[" MAP_RIG_TILES("a", 3, 2, "[0,0,0,1,0,0]") "]}",
        "tile 0, 1: number 1 is in no tileset");
    static const char *const bad[] = {"4294967296", "-1",  "1.5",  "1.0",
                                      "null",       "'1'", "true", "[1]"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        char text[1024];
        snprintf(text, sizeof text, SMALL(MAP_RIG_TILES("a", 3, 2, "[1,1,1,%s,1,1]")), bad[i]);
        map_rig_refused(text, "layer \"a\": data: tile 4 is not a whole number below 2^32");
    }
    TEST_NO_LEAKS();
}

#define SETS(sets) "{" MAP_RIG_HEAD(3, 2) "'tilesets':" sets ",'layers':[]}"

Test(map_hostile, tilesets_that_lie_are_refused)
{
    map_rig_refused(SETS("[{'firstgid':1,'tilecount':4294967296}]"),
                    "tileset 1: tilecount: 4294967296: must be from 0 to 1048575");
    map_rig_refused(SETS("[{'firstgid':0,'tilecount':1}]"), "tileset 1: firstgid: 0: must be");
    map_rig_refused(SETS("[{'firstgid':1048576,'tilecount':1}]"), "firstgid: 1048576: must be");
    map_rig_refused(SETS("[{'firstgid':1048575,'tilecount':2}]"), "tilecount: 2: must be");
    map_rig_refused(SETS("[{'firstgid':1,'tilecount':4},{'firstgid':4,'name':'b','tilecount':2}]"),
                    "tileset 2 \"b\": its tile number 4 is another tileset's too");
    map_rig_refused(SETS("[{'firstgid':1,'tilecount':1,'tiles':[{'id':1048575}]}]"), "id: 1048575");
    map_rig_refused(SETS("[{'firstgid':1,'tilecount':1,'tiles':[{'id':-1}]}]"), "id: -1");
    map_rig_refused(SETS("[{'firstgid':1,'tilecount':1,'tiles':{'0':{}}}]"), "tiles: not a list");
    map_rig_refused(SETS("[{'firstgid':1,'tilecount':1,'tiles':[{'id':0,'properties':"
                         "[{'name':'blocked','value':'yes'}]}]}]"),
                    "property blocked: must be true or false");
    map_rig_refused(SETS("[5]"), "tileset 1: firstgid: missing");
    map_rig_refused(SETS("7"), "tilesets: not a list");
    TEST_NO_LEAKS();
}

Test(map_hostile, tilesets_are_bounded)
{
    char *text = malloc(65536), *at = stpcpy(text, "{" MAP_RIG_HEAD(3, 2) "'tilesets':[");
    for (int i = 0; i < 257; i++)
        at += sprintf(at, "{'firstgid':%d,'tilecount':1},", i + 1);
    strcpy(at - 1, "],'layers':[]}");
    map_rig_refused(text, "tilesets: 257: must be at most 256");
    free(text);
    TEST_NO_LEAKS();
}

Test(map_hostile, numbers_that_are_not_finite_are_refused)
{
    static const char *const bad[] = {"NaN",  "nan", "Infinity", "-Infinity", "1e999", "-1e999",
                                      "0x10", "1e",  "+1",       ".5",        "01"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        char text[1024];
        snprintf(text, sizeof text, MAP_RIG_OBJECTS("{'type':'spawn','x':%s,'y':1}"), bad[i]);
        map_rig_refused(text, "line 1: ");
    }
    map_rig_refused(MAP_RIG_OBJECTS("{'type':'spawn','x':1e308,'y':1}"), "x: 1e+308: too large");
    map_rig_refused(MAP_RIG_OBJECTS("{'type':'spawn','x':1e9,'width':1e9}"), "is not inside");
    map_rig_refused(MAP_RIG_OBJECTS("{'type':'spawn','x':null,'y':1}"), "x: not a number");
    struct map m =
        map_rig_read(MAP_RIG_OBJECTS("{'type':'spawn','x':-0.0,'y':1e-300,'width':1e-320}"), 1);
    map_fini(&m);
    TEST_NO_LEAKS();
}

/* --- memory ----------------------------------------------------------------------------------- */

/* A list of `n` ones. */
static char *ones(size_t n)
{
    char *text = malloc(2 * n + 2);
    for (size_t i = 0; i < n; i++)
        memcpy(text + 2 * i, ",1", 2);
    text[0] = '[';
    strcpy(text + 2 * n, "]");
    return text;
}

Test(map_hostile, what_is_parsed_of_a_file_is_bounded_in_memory)
{
    size_t budget = (size_t)4 << 20;
    char why[512] = "";
    struct map_json j = {.file = "big.json", .why = why, .why_cap = sizeof why};
    char *text = ones(100000);
    json_t *root;
    cr_assert_eq(map_json_parse(&j, span_text(text), budget, &root), E_FULL, "%s", why);
    cr_assert_str_eq(why, "big.json: 6 MiB of memory may be needed to read it, at most 4 are "
                          "given; save its layers as base64, compressed");
    cr_assert_null(root);
    cr_assert_eq(map_json_parse(&j, span_text(text), 2 * budget, &root), 0, "%s", why);
    json_decref(root);
    free(text);
    TEST_NO_LEAKS();
}

Test(map_hostile, a_layer_of_the_largest_map_as_numbers_stays_below_the_bound)
{
    /* A comma and five digits for each tile. */
    cr_assert_leq((uint64_t)GROUND_SIDE_MAX * GROUND_SIDE_MAX * (56 + 4 * 6), MAP_JSON_MEMORY_MAX);
}

#endif
