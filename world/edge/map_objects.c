/* world/edge/map_objects.c: see the header.
 * An object's place is in pixels; its class stands in `class` or `type`, as the editor's versions
 * have it. Each kind says which shapes it may have.
 */
#include "world/edge/map_objects.h"

#ifdef AEGIS_PART_JANSSON

#include "common/err.h"
#include "proto/message.h"

#include <math.h>
#include <stdlib.h>

enum shape { SHAPE_POINT, SHAPE_AREA, SHAPE_LINE, SHAPE_RING, SHAPE_OTHER };

/* An object, in units. */
struct object {
    const json_t *json;
    const char *name;
    enum shape shape;
    double px, py; /* pixels, with what its layer is moved by */
    struct map_area area;
    const json_t *points; /* SHAPE_LINE, SHAPE_RING */
};

static double unit_x(const struct map_objects *o, double pixels)
{
    return pixels / o->tile_width * o->map->ground.size;
}

static double unit_y(const struct map_objects *o, double pixels)
{
    return pixels / o->tile_height * o->map->ground.size;
}

/* --- any object ------------------------------------------------------------------------------- */

static int read_shape(struct map_json *j, struct object *b)
{
    const json_t *line, *ring;
    int err = map_json_list(j, b->json, "polyline", &line);

    if (err == 0)
        err = map_json_list(j, b->json, "polygon", &ring);
    if (err != 0)
        return err;
    b->points = line ? line : ring;
    if (json_object_get(b->json, "gid") || json_object_get(b->json, "text") ||
        json_is_true(json_object_get(b->json, "ellipse")))
        b->shape = SHAPE_OTHER;
    else if (b->points)
        b->shape = line ? SHAPE_LINE : SHAPE_RING;
    else if (b->area.x1 > b->area.x0 || b->area.y1 > b->area.y0)
        b->shape = SHAPE_AREA;
    else
        b->shape = SHAPE_POINT;
    return 0;
}

static int read_area(struct map_json *j, const struct map_objects *o, double dx, double dy,
                     struct object *b)
{
    double x, y, width, height, turned;
    int err = map_json_real(j, b->json, "x", 0, &x);

    if (err == 0)
        err = map_json_real(j, b->json, "y", 0, &y);
    if (err == 0)
        err = map_json_real(j, b->json, "width", 0, &width);
    if (err == 0)
        err = map_json_real(j, b->json, "height", 0, &height);
    if (err == 0)
        err = map_json_real(j, b->json, "rotation", 0, &turned);
    if (err != 0)
        return err;
    if (turned != 0)
        return map_json_fail(j, E_BAD, "rotation: %g: must be 0", turned);
    if (width < 0 || height < 0)
        return map_json_fail(j, E_BAD, "width, height: must not be below 0");
    b->px = x + dx;
    b->py = y + dy;
    b->area = (struct map_area){unit_x(o, b->px), unit_y(o, b->py), unit_x(o, b->px + width),
                                unit_y(o, b->py + height)};
    return read_shape(j, b);
}

static int check_inside(struct map_json *j, const struct ground *g, const struct map_area *a)
{
    if (!ground_inside(g, a->x0, a->y0) || !ground_inside(g, a->x1, a->y1))
        return map_json_fail(j, E_RANGE, "(%g, %g) to (%g, %g) is not inside the map", a->x0, a->y0,
                             a->x1, a->y1);
    return 0;
}

static int check_free(struct map_json *j, const struct ground *g, const struct map_area *a)
{
    struct ground_tile low = ground_at(g, a->x0, a->y0), high = ground_at(g, a->x1, a->y1);
    int err = check_inside(j, g, a);

    if (err != 0)
        return err;
    /* What ends on the line between two tiles does not reach into the second. */
    if (high.x > low.x && ground_at(g, nextafter(a->x1, 0), a->y1).x < high.x)
        high.x--;
    if (high.y > low.y && ground_at(g, a->x1, nextafter(a->y1, 0)).y < high.y)
        high.y--;
    if (!ground_any_free(g, low, high))
        return map_json_fail(j, E_BAD, "stands on blocked tiles, from %d, %d to %d, %d", low.x,
                             low.y, high.x, high.y);
    return 0;
}

/* A name as others may be shown it, or none. */
static int copy_name(struct map_json *j, const struct object *b, char out[PROTO_NAME_MAX + 1])
{
    if (b->name[0] != '\0' && !message_name_ok(span_text(b->name)))
        return map_json_fail(j, E_BAD, "name: must have at most %d bytes and no control characters",
                             PROTO_NAME_MAX);
    strcpy(out, b->name);
    return 0;
}

/* A property that is a text, or "". */
static int text_property(struct map_json *j, const struct object *b, const char *name, char *out,
                         size_t max)
{
    const json_t *v;
    const char *text;
    int err = map_json_property(j, b->json, name, &v);

    out[0] = '\0';
    if (err != 0 || !v)
        return err;
    text = json_string_value(v);
    if (!text || strlen(text) > max || (text[0] != '\0' && !message_name_ok(span_text(text))))
        return map_json_fail(j, E_BAD, "property %s: must be a text of at most %zu bytes", name,
                             max < PROTO_NAME_MAX ? max : PROTO_NAME_MAX);
    strcpy(out, text);
    return 0;
}

/* A property that is a number; E_MISSING, without a line, where it is not there. */
static int number_property(struct map_json *j, const struct object *b, const char *name,
                           double *out)
{
    const json_t *v;
    int err = map_json_property(j, b->json, name, &v);

    if (err != 0)
        return err;
    if (!v)
        return E_MISSING;
    if (!json_is_number(v) || !(fabs(json_number_value(v)) <= 1e9))
        return map_json_fail(j, E_BAD, "property %s: must be a number up to 1e9", name);
    *out = json_number_value(v);
    return 0;
}

/* Room for `more` behind the `n` of a list; NULL: there is none. */
static void *grow(void *list, uint32_t n, uint32_t more, size_t size)
{
    return realloc(list, ((size_t)n + more) * size);
}

static int no_memory(struct map_json *j)
{
    return map_json_fail(j, E_NOMEM, "%s", err_text(E_NOMEM));
}

/* --- each kind -------------------------------------------------------------------------------- */

static int add_spawn(struct map_json *j, struct map_objects *o, const struct object *b)
{
    struct map *m = o->map;
    struct map_spawn spawn = {.area = b->area};
    int err;

    if (b->shape != SHAPE_POINT && b->shape != SHAPE_AREA)
        return map_json_fail(j, E_BAD, "a spawn must be a point or a rectangle");
    err = copy_name(j, b, spawn.name);
    if (err == 0)
        err = check_free(j, &m->ground, &spawn.area);
    if (err != 0)
        return err;
    struct map_spawn *list = grow(m->spawns, m->n_spawns, 1, sizeof(*list));
    if (!list)
        return no_memory(j);
    m->spawns = list;
    list[m->n_spawns++] = spawn;
    return 0;
}

static int add_portal(struct map_json *j, struct map_objects *o, const struct object *b)
{
    struct map *m = o->map;
    struct map_portal portal = {.area = b->area};
    double tx = 0, ty = 0;
    int err;

    if (b->shape != SHAPE_AREA || b->area.x0 == b->area.x1 || b->area.y0 == b->area.y1)
        return map_json_fail(j, E_BAD, "a portal must be a rectangle");
    err = copy_name(j, b, portal.name);
    if (err == 0)
        err = text_property(j, b, "scene", portal.scene, PROTO_SCENE_MAX);
    if (err == 0)
        err = number_property(j, b, "x", &tx);
    if (err == 0)
        err = number_property(j, b, "y", &ty);
    if (err == E_MISSING || (err == 0 && portal.scene[0] == '\0'))
        return map_json_fail(j, E_BAD, "a portal needs the properties scene, x and y");
    if (err == 0)
        err = check_free(j, &m->ground, &portal.area);
    if (err != 0)
        return err;
    portal.x = tx * m->ground.size;
    portal.y = ty * m->ground.size;
    struct map_portal *list = grow(m->portals, m->n_portals, 1, sizeof(*list));
    if (!list)
        return no_memory(j);
    m->portals = list;
    list[m->n_portals++] = portal;
    return 0;
}

/* The point number `i` of a line, in units. */
static int read_point(struct map_json *j, const struct map_objects *o, const struct object *b,
                      size_t i, struct map_place *out)
{
    const json_t *p = json_array_get(b->points, i);
    double x, y;
    int err = map_json_real(j, p, "x", 0, &x);

    if (err == 0)
        err = map_json_real(j, p, "y", 0, &y);
    if (err != 0)
        return err;
    *out = (struct map_place){unit_x(o, b->px + x), unit_y(o, b->py + y)};
    return 0;
}

static int check_leg(struct map_json *j, const struct ground *g, const struct map_place *from,
                     const struct map_place *to, size_t number)
{
    struct ground_tile hit;

    if (!ground_inside(g, to->x, to->y))
        return map_json_fail(j, E_RANGE, "point %zu: (%g, %g) is not inside the map", number, to->x,
                             to->y);
    if (!ground_way(g, from->x, from->y, to->x, to->y, &hit))
        return map_json_fail(j, E_BAD, "the way to its point %zu is blocked at tile %d, %d", number,
                             hit.x, hit.y);
    return 0;
}

/* Add a route's points; each way from one to the next must be legal. */
static int read_route(struct map_json *j, struct map_objects *o, const struct object *b,
                      struct map_npc *npc)
{
    struct map *m = o->map;
    size_t n = json_array_size(b->points);
    int err = 0;

    if (n < 2 || n > MAP_POINTS_MAX - m->n_points)
        return map_json_fail(j, E_RANGE, "a route needs 2 points, and a map may have %d",
                             MAP_POINTS_MAX);
    struct map_place *list = grow(m->points, m->n_points, (uint32_t)n, sizeof(*list));
    if (!list)
        return no_memory(j);
    m->points = list;
    list += m->n_points;
    for (size_t i = 0; err == 0 && i < n; i++) {
        err = read_point(j, o, b, i, &list[i]);
        if (err == 0)
            err = check_leg(j, &m->ground, &list[i > 0 ? i - 1 : 0], &list[i], i + 1);
    }
    npc->closed = b->shape == SHAPE_RING;
    if (err == 0 && npc->closed)
        err = check_leg(j, &m->ground, &list[n - 1], &list[0], 1);
    if (err != 0)
        return err;
    npc->route = m->n_points;
    npc->n_route = (uint32_t)n;
    m->n_points += (uint32_t)n;
    npc->at = list[0];
    npc->area = (struct map_area){npc->at.x, npc->at.y, npc->at.x, npc->at.y};
    return 0;
}

/* In the middle of its area, or else as near to it as one may stand. */
static int place_npc(struct map_json *j, const struct ground *g, struct map_npc *npc)
{
    struct map_area *a = &npc->area;
    double x = (a->x0 + a->x1) / 2, y = (a->y0 + a->y1) / 2;
    int err = check_free(j, g, a);

    if (err == 0 &&
        (!ground_near(g, x, y, &npc->at.x, &npc->at.y) || !map_within(a, npc->at.x, npc->at.y)))
        return map_json_fail(j, E_BAD, "nobody can stand about its middle");
    return err;
}

static int add_npc(struct map_json *j, struct map_objects *o, const struct object *b)
{
    struct map *m = o->map;
    struct map_npc npc = {.area = b->area};
    int err;

    if (b->shape == SHAPE_OTHER)
        return map_json_fail(j, E_BAD, "an npc must be a point, a rectangle or a line");
    err = copy_name(j, b, npc.name);
    if (err == 0)
        err = text_property(j, b, "behaviour", npc.behaviour, MAP_WORD_MAX);
    if (err == 0)
        err = number_property(j, b, "speed", &npc.speed);
    if (err == E_MISSING)
        err = 0;
    if (err == 0 && npc.speed < 0)
        return map_json_fail(j, E_BAD, "property speed: must not be below 0");
    if (err == 0)
        err = b->points ? read_route(j, o, b, &npc) : place_npc(j, &m->ground, &npc);
    if (err != 0)
        return err;
    struct map_npc *list = grow(m->npcs, m->n_npcs, 1, sizeof(*list));
    if (!list)
        return no_memory(j);
    m->npcs = list;
    list[m->n_npcs++] = npc;
    return 0;
}

/* --- layers ----------------------------------------------------------------------------------- */

typedef int add_fn(struct map_json *j, struct map_objects *o, const struct object *b);

static add_fn *kind_of(const char *class)
{
    return strcmp(class, "spawn") == 0    ? add_spawn
           : strcmp(class, "npc") == 0    ? add_npc
           : strcmp(class, "portal") == 0 ? add_portal
                                          : NULL;
}

static int read_object(struct map_json *j, const json_t *json, double dx, double dy,
                       struct map_objects *o)
{
    struct object b = {.json = json};
    const char *class, *type;
    add_fn *add;
    int err;

    if (!json_is_object(json))
        return map_json_fail(j, E_BAD, "not an object");
    err = map_json_text(j, json, "class", &class);
    if (err == 0)
        err = map_json_text(j, json, "type", &type);
    if (err == 0)
        err = map_json_text(j, json, "name", &b.name);
    if (err != 0)
        return err;
    if (class[0] == '\0')
        class = type;
    if (class[0] == '\0' && json_object_get(json, "template"))
        return map_json_fail(j, E_BAD, "template: not read; detach the object from it");
    add = kind_of(class);
    if (!add) {
        o->ignored++;
        return 0;
    }
    if (o->map->n_spawns + o->map->n_npcs + o->map->n_portals == MAP_OBJECTS_MAX)
        return map_json_fail(j, E_FULL, "more than %d spawns, npcs and portals", MAP_OBJECTS_MAX);
    err = read_area(j, o, dx, dy, &b);
    return err == 0 ? add(j, o, &b) : err;
}

int map_objects_read(struct map_json *j, const json_t *layer, const char *name, double dx,
                     double dy, struct map_objects *o)
{
    char in[MAP_JSON_NAME_MAX], shown[MAP_JSON_NAME_MAX];
    const json_t *list;
    int err;

    map_json_at(j, "layer \"%s\"", map_json_shown(name, in));
    err = map_json_list(j, layer, "objects", &list);
    for (size_t i = 0; err == 0 && i < json_array_size(list); i++) {
        const json_t *json = json_array_get(list, i);
        const char *its = json_string_value(json_object_get(json, "name"));

        map_json_at(j, "layer \"%s\": object %lld \"%s\"", in,
                    (long long)json_integer_value(json_object_get(json, "id")),
                    map_json_shown(its ? its : "", shown));
        err = read_object(j, json, dx, dy, o);
    }
    return err;
}

#endif
