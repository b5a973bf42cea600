/* tests/world/test_map_objects.c: spawns, NPCs and portals of a map.
 * The map of map_rig is 4 by 3 tiles of 16 by 8 pixels; tile 1, 1 is blocked.
 * May touch: tests/world/map_rig.
 */
#include "tests/leak.h"
#include "tests/world/map_rig.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef AEGIS_PART_JANSSON

static void is_area(const struct map_area *a, double x0, double y0, double x1, double y1)
{
    cr_assert(a->x0 == x0 && a->y0 == y0 && a->x1 == x1 && a->y1 == y1, "%g,%g to %g,%g", a->x0,
              a->y0, a->x1, a->y1);
}

/* --- spawns ----------------------------------------------------------------------------------- */

Test(map_objects, a_spawn_is_a_point_or_a_rectangle_by_class_or_type)
{
    struct map m = map_rig_read(
        MAP_RIG_OBJECTS("{'id':1,'name':'gate','type':'spawn','point':true,'x':8,'y':4},"
                        "{'id':2,'class':'spawn','x':32,'y':8,'width':32,'height':16},"
                        "{'id':3,'class':'','type':'spawn','name':'','x':0,'y':0},"
                        "{'id':4,'class':'tree','type':'','x':1e8,'y':0},{'id':5}"),
        2);
    cr_assert_eq(m.n_spawns, 3);
    cr_assert_str_eq(m.spawns[0].name, "gate");
    is_area(&m.spawns[0].area, 1, 1, 1, 1);
    cr_assert_str_eq(m.spawns[1].name, "");
    is_area(&m.spawns[1].area, 4, 2, 8, 6);
    cr_assert_eq(m.n_npcs + m.n_portals, 0);
    map_fini(&m);
    TEST_NO_LEAKS();
}

Test(map_objects, a_layers_offset_and_that_of_its_groups_moves_its_objects)
{
    struct map m = map_rig_read(
        "{" MAP_RIG_HEAD(4, 3) MAP_RIG_SETS
        "'layers':[{'type':'group','name':'g','offsetx':16,'layers':[{'type':'objectgroup',"
        "'name':'o','offsetx':-8,'offsety':2,'objects':[{'type':'spawn','x':0,'y':0}]}]}]}",
        1);
    is_area(&m.spawns[0].area, 0.5, 0.25, 0.5, 0.25);
    map_fini(&m);
    TEST_NO_LEAKS();
}

Test(map_objects, an_object_has_a_free_place_inside_the_map)
{
    map_rig_refused(MAP_RIG_OBJECTS("{'id':7,'name':'x','type':'spawn','x':24,'y':12}"),
                    "layer \"things\": object 7 \"x\": stands on blocked tiles, from 1, 1 to 1, 1");
    /* It ends on the line to the next tile, and does not reach into it. */
    map_rig_refused(MAP_RIG_OBJECTS("{'id':7,'type':'spawn','x':16,'y':8,'width':16,'height':8}"),
                    "stands on blocked tiles");
    map_rig_refused(MAP_RIG_OBJECTS("{'id':7,'type':'spawn','x':64.001,'y':0}"),
                    "(4.00006, 0) to (4.00006, 0) is not inside the map");
    map_rig_refused(MAP_RIG_OBJECTS("{'id':7,'type':'spawn','x':0,'y':-1e-9}"),
                    "is not inside the map");
    map_rig_refused(MAP_RIG_OBJECTS("{'id':7,'type':'spawn','x':0,'y':0,'width':65,'height':1}"),
                    "is not inside the map");
    struct map m =
        map_rig_read(MAP_RIG_OBJECTS("{'type':'spawn','x':64,'y':24},"
                                     "{'type':'spawn','x':16,'y':8,'width':16.01,'height':8}"),
                     1);
    is_area(&m.spawns[0].area, 4, 3, 4, 3);
    map_fini(&m);
    TEST_NO_LEAKS();
}

Test(map_objects, shapes_that_a_kind_cannot_have_are_refused)
{
    map_rig_refused(MAP_RIG_OBJECTS("{'type':'spawn','ellipse':true,'width':4,'height':4}"),
                    "a spawn must be a point or a rectangle");
    map_rig_refused(MAP_RIG_OBJECTS("{'type':'spawn','polygon':[{'x':0,'y':0}]}"),
                    "a spawn must be a point or a rectangle");
    map_rig_refused(MAP_RIG_OBJECTS("{'type':'spawn','gid':1}"),
                    "a spawn must be a point or a rectangle");
    map_rig_refused(MAP_RIG_OBJECTS("{'type':'npc','text':{}}"),
                    "an npc must be a point, a rectangle or a line");
    map_rig_refused(MAP_RIG_OBJECTS("{'type':'portal','x':1,'y':1}"),
                    "a portal must be a rectangle");
    map_rig_refused(MAP_RIG_OBJECTS("{'type':'portal','x':1,'y':1,'width':4}"),
                    "a portal must be a rectangle");
    map_rig_refused(MAP_RIG_OBJECTS("{'type':'spawn','rotation':45,'width':4,'height':4}"),
                    "rotation: 45: must be 0");
    map_rig_refused(MAP_RIG_OBJECTS("{'type':'spawn','width':-4,'height':4}"),
                    "width, height: must not be below 0");
    map_rig_refused(MAP_RIG_OBJECTS("{'template':'a.json'}"),
                    "template: not read; detach the object from it");
    TEST_NO_LEAKS();
}

Test(map_objects, names_are_as_the_protocol_wants_them)
{
    map_rig_refused(MAP_RIG_OBJECTS("{'type':'spawn','name':'123456789012345678901234567890123'}"),
                    "name: must have at most 32 bytes");
    map_rig_refused(MAP_RIG_OBJECTS("{'type':'npc','name':'a\\u0007b'}"),
                    "object 0 \"a?b\": name: must have at most 32 bytes and no control characters");
    map_rig_refused(MAP_RIG_OBJECTS("{'type':'npc','name':'\\u202eb'}"), "name: must have");
    map_rig_refused(MAP_RIG_OBJECTS("{'type':'npc','name':'a\\u0000b'}"), "line 1: ");
    map_rig_refused(MAP_RIG_OBJECTS("{'type':'npc','name':5}"), "name: not a text");
    struct map m = map_rig_read(
        MAP_RIG_OBJECTS("{'type':'npc','name':'\xc3\x9c\xc3\xa4'},{'type':'npc','name':'guard'},"
                        "{'type':'npc','name':'guard'}"),
        1);
    cr_assert_str_eq(m.npcs[0].name, "\xc3\x9c\xc3\xa4");
    cr_assert_eq(m.n_npcs, 3, "names need not be unique");
    map_fini(&m);
    TEST_NO_LEAKS();
}

/* --- NPCs ------------------------------------------------------------------------------------- */

Test(map_objects, an_npc_is_a_place_an_area_or_a_route)
{
    struct map m = map_rig_read(
        MAP_RIG_OBJECTS(
            "{'type':'npc','name':'a','point':true,'x':8,'y':4,'properties':["
            "{'name':'behaviour','value':'stand'},{'name':'speed','type':'float','value':1.5}]},"
            "{'type':'npc','x':32,'y':0,'width':32,'height':24},"
            "{'type':'npc','x':8,'y':4,'polyline':[{'x':0,'y':0},{'x':48,'y':0},{'x':48,'y':16}]},"
            "{'type':'npc','x':56,'y':20,'polygon':[{'x':0,'y':0},{'x':0,'y':-16}]}"),
        1);
    const struct map_npc *n = m.npcs;
    cr_assert_eq(m.n_npcs, 4);
    cr_assert(n[0].at.x == 0.5 && n[0].at.y == 0.5 && n[0].speed == 1.5 && n[0].n_route == 0);
    cr_assert_str_eq(n[0].behaviour, "stand");
    cr_assert(n[1].at.x == 3 && n[1].at.y == 1.5 && n[1].speed == 0);
    cr_assert_str_eq(n[1].behaviour, "");
    is_area(&n[1].area, 2, 0, 4, 3);
    cr_assert(n[2].route == 0 && n[2].n_route == 3 && !n[2].closed);
    cr_assert(n[3].route == 3 && n[3].n_route == 2 && n[3].closed);
    cr_assert(n[2].at.x == 0.5 && n[2].at.y == 0.5);
    cr_assert_eq(m.n_points, 5);
    cr_assert(m.points[2].x == 3.5 && m.points[2].y == 2.5);
    cr_assert(m.points[4].x == 3.5 && m.points[4].y == 0.5);
    map_fini(&m);
    TEST_NO_LEAKS();
}

Test(map_objects, an_npcs_place_in_an_area_is_free)
{
    struct map m =
        map_rig_read(MAP_RIG_OBJECTS("{'type':'npc','x':0,'y':0,'width':48,'height':24}"), 1);
    cr_assert(m.npcs[0].at.x == 1.5 && m.npcs[0].at.y == 0.5, "its middle is blocked");
    map_fini(&m);
    map_rig_refused(MAP_RIG_OBJECTS("{'type':'npc','x':17,'y':9,'width':16,'height':6}"),
                    "nobody can stand about its middle");
    TEST_NO_LEAKS();
}

Test(map_objects, a_route_that_cannot_be_walked_is_refused_with_the_leg)
{
#define ROUTE(kind, points) MAP_RIG_OBJECTS("{'id':3,'type':'npc','" kind "':[" points "]}")
    map_rig_refused(ROUTE("polyline", "{'x':8,'y':4},{'x':8,'y':12},{'x':40,'y':12}"),
                    "object 3 \"\": the way to its point 3 is blocked at tile 1, 1");
    map_rig_refused(ROUTE("polyline", "{'x':24,'y':12},{'x':8,'y':12}"),
                    "the way to its point 1 is blocked at tile 1, 1");
    map_rig_refused(ROUTE("polygon", "{'x':8,'y':4},{'x':40,'y':4},{'x':40,'y':20}"),
                    "the way to its point 1 is blocked at tile 1, 1");
    map_rig_refused(ROUTE("polyline", "{'x':8,'y':4},{'x':65,'y':4}"),
                    "point 2: (4.0625, 0.5) is not inside the map");
    map_rig_refused(ROUTE("polyline", "{'x':8,'y':4}"), "a route needs 2 points");
    map_rig_refused(ROUTE("polyline", ""), "a route needs 2 points");
    map_rig_refused(ROUTE("polyline", "{'x':8,'y':4},{'x':'8','y':4}"), "x: not a number");
    map_rig_refused(MAP_RIG_OBJECTS("{'type':'npc','polyline':{}}"), "polyline: not a list");
    TEST_NO_LEAKS();
}

Test(map_objects, an_npcs_properties_are_checked)
{
#define NPC(name, value) \
    MAP_RIG_OBJECTS("{'type':'npc','properties':[{'name':'" name "','value':" value "}]}")
    map_rig_refused(NPC("speed", "-1"), "property speed: must not be below 0");
    map_rig_refused(NPC("speed", "'1'"), "property speed: must be a number up to 1e9");
    map_rig_refused(NPC("speed", "1e10"), "property speed: must be a number up to 1e9");
    map_rig_refused(NPC("behaviour", "1"),
                    "property behaviour: must be a text of at most 32 bytes");
    map_rig_refused(MAP_RIG_OBJECTS("{'type':'npc','properties':[{'name':'speed'}]}"),
                    "property speed: no value");
    map_rig_refused(MAP_RIG_OBJECTS("{'type':'npc','properties':{'speed':1}}"),
                    "properties: not a list");
    map_rig_refused(MAP_RIG_OBJECTS("{'type':'npc','properties':[1]}"),
                    "properties: number 1 has no name");
    TEST_NO_LEAKS();
}

/* --- portals ---------------------------------------------------------------------------------- */

Test(map_objects, a_portal_leads_from_its_rectangle_to_a_tile_of_another_scene)
{
    struct map m = map_rig_read(
        MAP_RIG_OBJECTS("{'type':'portal','name':'to the wild','x':48,'y':0,'width':16,'height':8,"
                        "'properties':[{'name':'scene','value':'wild'},{'name':'x','value':3},"
                        "{'name':'y','value':0.5}]}"),
        2);
    cr_assert_eq(m.n_portals, 1);
    is_area(&m.portals[0].area, 6, 0, 8, 2);
    cr_assert_str_eq(m.portals[0].scene, "wild");
    cr_assert(m.portals[0].x == 6 && m.portals[0].y == 1, "in units");
    map_fini(&m);
    TEST_NO_LEAKS();
}

Test(map_objects, a_portal_says_where_it_leads)
{
#define PORTAL(properties) \
    MAP_RIG_OBJECTS("{'type':'portal','width':16,'height':8,'properties':[" properties "]}")
    static const char needs[] = "a portal needs the properties scene, x and y";
    map_rig_refused(PORTAL(""), needs);
    map_rig_refused(PORTAL("{'name':'scene','value':'a'},{'name':'x','value':1}"), needs);
    map_rig_refused(PORTAL("{'name':'y','value':1},{'name':'x','value':1}"), needs);
    map_rig_refused(PORTAL("{'name':'scene','value':''},{'name':'y','value':1},"
                           "{'name':'x','value':1}"),
                    needs);
    map_rig_refused(PORTAL("{'name':'scene','value':5}"),
                    "property scene: must be a text of at most 32 bytes");
    map_rig_refused(PORTAL("{'name':'scene','value':'a'},{'name':'x','value':true}"),
                    "property x: must be a number up to 1e9");
    TEST_NO_LEAKS();
}

/* --- limits ----------------------------------------------------------------------------------- */

Test(map_objects, more_objects_than_a_map_may_have_are_refused)
{
    static const char one[] = "{'type':'spawn','x':1,'y':1},";
    static const char end[] = "{'type':'other'}]}]}";
    char *text = malloc(4096 + (MAP_OBJECTS_MAX + 1) * sizeof one), *at;
    strcpy(text, MAP_RIG_OBJECTS(""));
    at = text + strlen(text) - 4; /* before ]}]} */
    for (int i = 0; i < MAP_OBJECTS_MAX; i++)
        at = stpcpy(at, one);
    strcpy(at, end);
    struct map m = map_rig_read(text, 1);
    cr_assert_eq(m.n_spawns, MAP_OBJECTS_MAX);
    map_fini(&m);
    strcpy(stpcpy(at, one), end);
    map_rig_refused(text, "more than 4096 spawns, npcs and portals");
    free(text);
    TEST_NO_LEAKS();
}

Test(map_objects, more_points_than_routes_may_have_are_refused)
{
    static const char one[] = "{'x':1,'y':1},";
    char *text = malloc(4096 + (MAP_POINTS_MAX + 1) * sizeof one), *at;
    strcpy(text, MAP_RIG_OBJECTS("{'type':'npc','polyline':["));
    at = strstr(text, "'polyline':[") + strlen("'polyline':[");
    for (int i = 0; i < MAP_POINTS_MAX; i++)
        at = stpcpy(at, one);
    strcpy(at - 1, "]}]}]}");
    struct map m = map_rig_read(text, 1);
    cr_assert_eq(m.n_points, MAP_POINTS_MAX);
    map_fini(&m);
    at[-1] = ',';
    strcpy(stpcpy(at, one) - 1, "]}]}]}");
    map_rig_refused(text, "a route needs 2 points, and a map may have 65536");
    free(text);
    TEST_NO_LEAKS();
}

#endif
