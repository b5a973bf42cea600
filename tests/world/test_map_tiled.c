/* tests/world/test_map_tiled.c: maps as the editor saves them: tiles, tilesets, layers.
 * Objects are in test_map_objects.c, packed data in test_map_data.c, lies in test_map_hostile.c.
 * May touch: tests/world/map_rig, world/edge/map_tiled, files under TMPDIR.
 */
#include "common/err.h"
#include "tests/leak.h"
#include "tests/world/map_rig.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef AEGIS_PART_JANSSON

static void shows(const char *text, const char *rows)
{
    struct map m = map_rig_read(text, 1);
    cr_assert_str_eq(map_rig_shown(&m), rows);
    map_fini(&m);
}

/* A map of 3 by 2 tiles with these layers. */
#define SMALL(layers) "{" MAP_RIG_HEAD(3, 2) MAP_RIG_SETS "'layers':[" layers "]}"
#define ROOF          "{'type':'tilelayer','name':'roof','width':3,'height':2,'data':[3,3,3,3,3,3],"

/* --- what blocks ------------------------------------------------------------------------------ */

Test(map_tiled, a_tile_with_the_property_blocks_in_any_layer)
{
    shows(SMALL(MAP_RIG_TILES("floor", 3, 2, "[1,2,3,4,1,0]")), "..#\n...\n");
    shows(SMALL(MAP_RIG_TILES("a", 3, 2, "[1,2,3,4,1,0]") "," MAP_RIG_TILES("b", 3, 2,
                                                                            "[0,0,0,3,0,0]")),
          "..#\n#..\n");
    TEST_NO_LEAKS();
}

Test(map_tiled, any_tile_of_a_layer_named_blocked_blocks)
{
    shows(SMALL(MAP_RIG_TILES("blocked", 3, 2, "[1,0,0,0,2,4]")), "#..\n.##\n");
    shows(SMALL(MAP_RIG_TILES("Blocked", 3, 2, "[1,0,0,0,2,4]")), "...\n...\n");
    TEST_NO_LEAKS();
}

Test(map_tiled, a_layers_property_says_more_than_its_name_and_its_tiles)
{
    shows(SMALL(MAP_RIG_TILES(
              "floor", 3, 2,
              "[1,1,1,1,1,1]") "," ROOF
                               "'properties':[{'name':'blocked','type':'bool','value':false}]}"),
          "...\n...\n");
    shows(SMALL("{'type':'tilelayer','name':'walls','width':3,'height':2,'data':[1,0,0,2,0,0],"
                "'properties':[{'name':'height','value':7},"
                "{'name':'blocked','type':'bool','value':true}]}"),
          "#..\n#..\n");
    TEST_NO_LEAKS();
}

Test(map_tiled, hidden_layers_count_and_other_kinds_of_layers_do_not)
{
    shows(SMALL("{'type':'tilelayer','name':'blocked','visible':false,'width':3,'height':2,"
                "'data':[1,0,0,0,0,0]},{'type':'imagelayer','name':'sky','image':'a.png'}"),
          "#..\n...\n");
    TEST_NO_LEAKS();
}

Test(map_tiled, layers_in_groups_count)
{
    shows(SMALL("{'type':'group','name':'a','layers':[" MAP_RIG_TILES(
              "floor", 3, 2, "[3,0,0,0,0,0]") ",{'type':'group','name':'b','layers':"
                                              "[" MAP_RIG_TILES("blocked", 3, 2,
                                                                "[0,0,0,0,0,1]") "]}]}"),
          "#..\n..#\n");
    TEST_NO_LEAKS();
}

Test(map_tiled, bits_that_turn_a_tile_are_not_its_number)
{
    /* 3 with each of the four high bits, and with all; 2147483649 is 1, turned. */
    shows(SMALL(MAP_RIG_TILES("floor", 3, 2,
                              "[2147483651,1073741827,536870915,268435459,4026531843,2147483649]")),
          "###\n##.\n");
    TEST_NO_LEAKS();
}

Test(map_tiled, a_set_of_single_pictures_may_have_numbers_beyond_its_count)
{
    shows("{" MAP_RIG_HEAD(3, 2) "'tilesets':[{'firstgid':1,'tilecount':2,'tiles':[{'id':3},"
                                 "{'id':7,'properties':[{'name':'blocked','value':true}]}]}],"
                                 "'layers':[" MAP_RIG_TILES("a", 3, 2, "[4,8,1,0,0,0]") "]}",
          ".#.\n...\n");
    TEST_NO_LEAKS();
}

Test(map_tiled, a_layer_that_blocks_must_not_be_moved)
{
    map_rig_refused(SMALL("{'type':'tilelayer','name':'blocked','width':3,'height':2,'offsetx':4,"
                          "'data':[0,1,0,0,0,0]}"),
                    "layer \"blocked\": tile 1, 0 blocks, and the layer is moved by 4, 0 pixels");
    map_rig_refused(SMALL("{'type':'group','name':'g','offsety':-2.5,'layers':[" MAP_RIG_TILES(
                        "floor", 3, 2, "[0,0,0,0,3,0]") "]}"),
                    "layer \"floor\": tile 1, 1 blocks, and the layer is moved by 0, -2.5 pixels");
    shows(SMALL("{'type':'tilelayer','name':'shadow','width':3,'height':2,'offsetx':4,"
                "'data':[0,1,0,0,0,0]}"),
          "...\n...\n");
    TEST_NO_LEAKS();
}

Test(map_tiled, the_ground_is_as_large_as_tiles_and_tile_size_say)
{
    struct map m = map_rig_read(SMALL(MAP_RIG_TILES("floor", 3, 2, "[1,1,1,1,1,3]")), 2.5);
    double b[4];
    ground_bounds(&m.ground, b);
    cr_assert(b[0] == 0 && b[1] == 0 && b[2] == 7.5 && b[3] == 5);
    cr_assert(ground_free_at(&m.ground, 4.9, 5) && !ground_free_at(&m.ground, 5, 2.5));
    map_fini(&m);
    TEST_NO_LEAKS();
}

Test(map_tiled, a_map_on_which_nobody_can_stand_is_refused)
{
    map_rig_refused(SMALL(MAP_RIG_TILES("blocked", 3, 2, "[1,1,1,1,1,1]")),
                    "every tile is blocked");
    TEST_NO_LEAKS();
}

Test(map_tiled, the_largest_map_is_read)
{
    static const char head[] = "{" MAP_RIG_HEAD(4096, 4096) MAP_RIG_SETS "'layers':[]}";
    struct map m = map_rig_read(head, 1);
    cr_assert_eq(m.ground.nx, GROUND_SIDE_MAX);
    map_fini(&m);
    map_rig_refused("{" MAP_RIG_HEAD(4097, 1) "'layers':[]}",
                    "width: 4097: must be from 1 to 4096");
    map_rig_refused("{" MAP_RIG_HEAD(1, 4097) "'layers':[]}",
                    "height: 4097: must be from 1 to 4096");
    TEST_NO_LEAKS();
}

/* --- what is refused with a word for it ------------------------------------------------------- */

Test(map_tiled, infinite_maps_and_other_orientations_are_refused)
{
    map_rig_refused("{'orientation':'orthogonal','infinite':true,'width':3,'height':2}",
                    "infinite: must be false");
    map_rig_refused("{'orientation':'isometric','width':3,'height':2}",
                    "orientation: must be orthogonal");
    map_rig_refused("{'width':3,'height':2}", "orientation: must be orthogonal");
    map_rig_refused("{'type':'tileset','name':'t'}", "type: not a map");
    map_rig_refused(SMALL("{'type':'tilelayer','name':'a','width':3,'height':2,'chunks':[]}"),
                    "layer \"a\": chunks: only infinite maps have them");
    TEST_NO_LEAKS();
}

/* --- files ------------------------------------------------------------------------------------ */

static char folder[64];

static void make_folder(void)
{
    strcpy(folder, "/tmp/aegis-test-map-XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
}

static void remove_folder(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", folder);
    cr_assert_eq(system(command), 0);
}

/* The path, in a buffer of its own. */
static const char *put_file(char path[128], const char *name, const char *text)
{
    snprintf(path, 128, "%s/%s", folder, name);
    FILE *f = fopen(path, "we");
    cr_assert_not_null(f);
    for (; *text; text++)
        fputc(*text == '\'' ? '"' : *text, f);
    fclose(f);
    return path;
}

TestSuite(map_file, .init = make_folder, .fini = remove_folder);

#define PLAIN SMALL(MAP_RIG_TILES("floor", 3, 2, "[1,1,3,1,1,1]"))

static void loads_as(const char *spec, const char *name)
{
    struct map m;
    char why[512] = "";
    cr_assert_eq(map_tiled_load(spec, 1, &m, why, sizeof why), 0, "%s", why);
    cr_assert_str_eq(m.name, name);
    map_fini(&m);
}

static void load_fails(const char *spec, int want, const char *line)
{
    struct map m;
    char why[512] = "";
    cr_assert_eq(map_tiled_load(spec, 1, &m, why, sizeof why), want, "%s", why);
    cr_assert_str_eq(why, line);
}

Test(map_file, a_scene_has_the_name_that_is_given_or_that_of_its_file)
{
    char path[128], spec[160];
    put_file(path, "old.town.json", PLAIN);
    loads_as(path, "old.town");
    snprintf(spec, sizeof spec, "here=%s", path);
    loads_as(spec, "here");
    put_file(path, "a=b", PLAIN);
    loads_as(path, "a=b");
    snprintf(spec, sizeof spec, "c=%s", path);
    loads_as(spec, "c");
    TEST_NO_LEAKS();
}

Test(map_file, a_name_that_is_none_is_refused)
{
    static const char *const bad[] = {
        "=a.json", "a=", "", "/", "dir/", "a\nb=c", "012345678901234567890123456789012=a.json"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct map m;
        char why[512] = "";
        cr_assert_eq(map_tiled_load(bad[i], 1, &m, why, sizeof why), E_BAD, "%s", bad[i]);
        cr_assert_not_null(strstr(why, "must be FILE or NAME=FILE"));
        cr_assert_null(strchr(why, '\n'));
    }
}

Test(map_file, what_is_no_ordinary_file_is_refused_without_waiting)
{
    char path[128], line[256];
    load_fails("/nowhere/town.json", E_IO, "/nowhere/town.json: No such file or directory");
    load_fails("a=/dev/zero", E_IO, "/dev/zero: not an ordinary file");
    snprintf(path, sizeof path, "%s/pipe.json", folder);
    cr_assert_eq(mkfifo(path, 0600), 0);
    snprintf(line, sizeof line, "%s: not an ordinary file", path);
    load_fails(path, E_IO, line);
    snprintf(line, sizeof line, "%s: not an ordinary file", folder);
    load_fails(folder, E_IO, line);
    TEST_NO_LEAKS();
}

Test(map_file, a_file_is_bounded)
{
    char path[128], line[256];
    put_file(path, "sparse.json", "{}");
    cr_assert_eq(truncate(path, ((off_t)256 << 20) + 1), 0);
    snprintf(line, sizeof line, "%s: larger than 256 MiB", path);
    load_fails(path, E_FULL, line);
    TEST_NO_LEAKS();
}

#define WITH_SOURCE(source)                                              \
    "{" MAP_RIG_HEAD(3, 2) "'tilesets':[{'firstgid':5,'source':'" source \
                           "'}],'layers':[" MAP_RIG_TILES("floor", 3, 2, "[5,6,7,0,0,0]") "]}"

Test(map_file, a_tileset_may_be_in_a_json_file_beside_the_map)
{
    char path[128], set[128], line[512];
    struct map m;
    put_file(path, "town.json", WITH_SOURCE("set.json"));
    put_file(set, "set.json",
             "{'type':'tileset','name':'t','tilecount':3,'tiles':[{'id':1,'properties':"
             "[{'name':'blocked','value':true}]}]}");
    cr_assert_eq(map_tiled_load(path, 1, &m, line, sizeof line), 0, "%s", line);
    cr_assert_str_eq(map_rig_shown(&m), ".#.\n...\n");
    map_fini(&m);
    put_file(set, "set.json", "{'tilecount':2}");
    snprintf(line, sizeof line, "%s: layer \"floor\": tile 2, 0: number 7 is in no tileset", path);
    load_fails(path, E_RANGE, line);
    put_file(set, "set.json", "{'name':'t'}");
    snprintf(line, sizeof line, "%s: tilecount: missing", set);
    load_fails(path, E_BAD, line);
    unlink(set);
    snprintf(line, sizeof line, "%s: No such file or directory", set);
    load_fails(path, E_IO, line);
    put_file(path, "town.json", WITH_SOURCE("set.tsx"));
    snprintf(line, sizeof line,
             "%s: tileset 1: source: \"set.tsx\" is XML, which is not read; embed the tileset in "
             "the map, or export it as JSON",
             path);
    load_fails(path, E_BAD, line);
    TEST_NO_LEAKS();
}

Test(map_file, a_tilesets_path_begins_at_the_maps_folder)
{
    char path[128], set[128], line[512];
    snprintf(path, sizeof path, "%s/sub", folder);
    cr_assert_eq(mkdir(path, 0700), 0);
    put_file(path, "sub/town.json", WITH_SOURCE("../set.json"));
    put_file(set, "set.json", "{'tilecount':3}");
    loads_as(path, "town");
    snprintf(line, sizeof line,
             "{" MAP_RIG_HEAD(3, 2) "'tilesets':[{'firstgid':5,'source':'%s'}],'layers':[]}", set);
    put_file(path, "sub/town.json", line);
    loads_as(path, "town");
    TEST_NO_LEAKS();
}

#else

Test(map_file, a_build_without_jansson_says_so_in_one_line)
{
    struct map m;
    char why[512] = "";
    cr_assert_eq(map_tiled_load("town=a.json", 1, &m, why, sizeof why), E_MISSING);
    cr_assert_str_eq(why, "a.json: this build cannot read maps: it was made without jansson");
}

#endif
