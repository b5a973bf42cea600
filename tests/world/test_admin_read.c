/* tests/world/test_admin_read.c: what operators ask of a world, read back as JSON.
 */
#include "tests/leak.h"
#include "tests/world/admin_rig.h"

#include <criterion/criterion.h>
#include <jansson.h>
#include <string.h>

/* The answer's body; the status must be this. */
static json_t *ask(struct admin_rig *r, const char *path, const char *status)
{
    const char *body = strstr(admin_rig_get(r, path), "\r\n\r\n");
    json_t *v;

    cr_assert(body, "%s", path);
    cr_assert(admin_rig_says(r, status, "\r\nContent-Type: application/json\r\n"), "%s: %s", path,
              r->reply);
    v = json_loads(body, 0, NULL);
    cr_assert(v, "%s: %s", path, body);
    return v;
}

static const char *text_at(const json_t *v, const char *key)
{
    const char *text = json_string_value(json_object_get(v, key));

    return text ? text : "";
}

static json_int_t number_at(const json_t *v, const char *key)
{
    return json_integer_value(json_object_get(v, key));
}

/* The names of a page, with blanks. */
static void expect_names(struct admin_rig *r, const char *path, const char *names)
{
    json_t *v = ask(r, path, "200 "), *list = json_object_get(v, "entities");
    char found[512] = "";

    for (size_t i = 0; i < json_array_size(list); i++) {
        strcat(found, i > 0 ? " " : "");
        strcat(found, text_at(json_array_get(list, i), "name"));
    }
    cr_expect_str_eq(found, names, "%s", path);
    json_decref(v);
}

Test(admin_read, rows_are_filtered_and_come_in_pages_ascending_by_id)
{
    struct admin_rig r;
    char path[128];
    json_t *v;

    admin_rig_init(&r, NULL);
    admin_rig_join(&r, "ann", 0, 0);
    admin_rig_join(&r, "bob", 10, 0);
    uint32_t third = admin_rig_join(&r, "bobby", 100, 0);
    admin_rig_join(&r, "cay", 100, 50);
    admin_rig_tick(&r, 1);
    expect_names(&r, "/api/entities", "ann bob bobby cay");
    expect_names(&r, "/api/entities?prefix=bob", "bob bobby");
    expect_names(&r, "/api/entities?box=5,-1,100,50", "bob bobby cay");
    expect_names(&r, "/api/entities?kind=npc", "");
    expect_names(&r, "/api/entities?scene=open&kind=player&prefix=c", "cay");
    expect_names(&r, "/api/entities?limit=3", "ann bob bobby");
    v = ask(&r, "/api/entities?limit=3", "200 ");
    cr_expect_eq(number_at(v, "matched"), 4);
    cr_expect_eq(number_at(v, "next"), third);
    json_decref(v);
    snprintf(path, sizeof(path), "/api/entities?limit=3&after=%u", third);
    v = ask(&r, path, "200 ");
    cr_expect(json_is_null(json_object_get(v, "next")));
    json_decref(v);
    expect_names(&r, path, "cay");
    json_decref(ask(&r, "/api/entities?scene=none", "404 "));
    json_decref(ask(&r, "/api/entities?name=x", "400 "));
    json_decref(ask(&r, "/api/entities?limit=1001", "400 "));
    admin_rig_fini(&r);
    TEST_NO_LEAKS();
}

Test(admin_read, one_is_told_in_full_by_id_or_by_name)
{
    struct admin_rig r;
    char path[64];
    json_t *v, *s;

    admin_rig_init(&r, NULL);
    uint32_t ann = admin_rig_join(&r, "ann", 0, 0), bob = admin_rig_join(&r, "b\"<ob>", 10, 0);
    admin_rig_tick(&r, 1);
    snprintf(path, sizeof(path), "/api/entity?who=%u", bob);
    v = ask(&r, path, "200 ");
    cr_expect_str_eq(text_at(v, "name"), "b\"<ob>");
    cr_expect_null(strstr(r.reply, "<ob>"), "markup is escaped");
    cr_expect_str_eq(text_at(v, "kind"), "player");
    cr_expect_str_eq(text_at(v, "state"), "inside");
    cr_expect_eq(json_real_value(json_object_get(v, "x")) +
                     (double)json_integer_value(json_object_get(v, "x")),
                 10);
    cr_expect_eq(number_at(json_object_get(v, "sees"), "n"), 1);
    cr_expect_eq(json_integer_value(
                     json_array_get(json_object_get(json_object_get(v, "seen_by"), "ids"), 0)),
                 ann);
    s = json_object_get(v, "session");
    cr_expect_str_eq(text_at(s, "peer"), "192.0.2.1:5");
    cr_expect_str_eq(text_at(s, "gateway"), "gate");
    json_decref(v);
    v = ask(&r, "/api/entity?who=@ann", "200 ");
    cr_expect_eq(number_at(v, "id"), ann);
    json_decref(v);
    json_decref(ask(&r, "/api/entity?who=@nobody", "404 "));
    json_decref(ask(&r, "/api/entity?who=999", "404 "));
    json_decref(ask(&r, "/api/entity", "400 "));
    admin_rig_fini(&r);
    TEST_NO_LEAKS();
}

static void login(struct admin_rig *r, const char *name)
{
    struct message m = {.cmd = CMD_LOGIN_REQ, .seq = 1};
    struct link_frame f;

    m.login_req.name = span_text(name);
    m.login_req.version = PROTO_VERSION;
    gate_request(r->gate, ++r->sessions, &m);
    gate_wait(r->gate, LINK_DATA, &f);
}

Test(admin_read, one_who_has_not_entered_is_a_session_and_that_is_the_reason)
{
    struct admin_rig r;
    json_t *v;

    admin_rig_init(&r, NULL);
    admin_rig_join(&r, "ann", 0, 0);
    login(&r, "out");
    v = ask(&r, "/api/entity?who=@out", "200 ");
    cr_expect(json_is_null(json_object_get(v, "id")));
    cr_expect_str_eq(text_at(json_object_get(v, "session"), "state"), "logged in");
    json_decref(v);
    v = ask(&r, "/api/explain?viewer=@ann&subject=@out", "200 ");
    cr_expect_str_eq(text_at(json_object_get(v, "sight"), "why"), "subject_not_entered");
    cr_expect_str_eq(text_at(json_object_get(v, "back"), "why"), "viewer_not_entered");
    json_decref(v);
    admin_rig_fini(&r);
    TEST_NO_LEAKS();
}

Test(admin_read, why_is_told_for_both_directions)
{
    struct admin_rig r;
    json_t *v, *way;

    admin_rig_init(&r, NULL);
    admin_rig_join(&r, "ann", 0, 0);
    admin_rig_join(&r, "bob", 10, 0);
    admin_rig_join(&r, "far", 0, 47);
    admin_rig_tick(&r, 1);
    v = ask(&r, "/api/explain?viewer=@ann&subject=@bob", "200 ");
    way = json_object_get(v, "sight");
    cr_expect(json_is_true(json_object_get(way, "sees")));
    cr_expect_str_eq(text_at(way, "text"), "seen: 10.00 units away, within the radius of 30");
    cr_expect(json_is_true(json_object_get(json_object_get(v, "back"), "sees")));
    json_decref(v);
    v = ask(&r, "/api/explain?viewer=@far&subject=@ann", "200 ");
    way = json_object_get(v, "back");
    cr_expect(json_is_false(json_object_get(way, "sees")));
    cr_expect_str_eq(text_at(way, "why"), "too_far");
    cr_expect_str_eq(text_at(way, "text"), "not seen: 47.00 units away, the radius is 30");
    json_decref(v);
    json_decref(ask(&r, "/api/explain?viewer=@ann", "400 "));
    json_decref(ask(&r, "/api/explain?viewer=@ann&subject=@nobody", "404 "));
    admin_rig_fini(&r);
    TEST_NO_LEAKS();
}

Test(admin_read, the_world_its_numbers_and_no_ground_where_there_is_none)
{
    struct admin_rig r;
    json_t *v, *scene;

    admin_rig_init(&r, NULL);
    admin_rig_join(&r, "ann", 0, 0);
    admin_rig_tick(&r, 3);
    v = ask(&r, "/zones", "404 ");
    cr_expect(strstr(text_at(v, "error"), "-cluster"));
    json_decref(v);
    v = ask(&r, "/api/world", "200 ");
    cr_expect_str_eq(text_at(v, "first"), "open");
    cr_expect(json_is_true(json_object_get(v, "acts")));
    scene = json_array_get(json_object_get(v, "scenes"), 0);
    cr_expect_eq(number_at(scene, "entities"), 1);
    cr_expect_eq(json_array_size(json_object_get(scene, "bounds")), 4);
    json_decref(v);
    v = ask(&r, "/api/stats", "200 ");
    cr_expect_eq(number_at(v, "tick"), 3);
    cr_expect_eq(number_at(v, "players"), 1);
    cr_expect_eq(number_at(v, "window"), 3);
    cr_expect_eq(json_array_size(json_object_get(json_object_get(v, "phases"), "tick")), 3);
    json_decref(v);
    json_decref(ask(&r, "/api/ground?scene=open", "404 "));
    json_decref(ask(&r, "/api/ground?scene=none", "404 "));
    json_decref(ask(&r, "/api/ground", "400 "));
    admin_rig_fini(&r);
    TEST_NO_LEAKS();
}

Test(admin_read, those_whose_clients_are_slow_are_listed)
{
    struct admin_rig r;
    uint8_t bytes[64];
    struct span_writer w = span_writer_of(bytes, sizeof(bytes));
    json_t *v, *list;

    admin_rig_init(&r, NULL);
    admin_rig_join(&r, "ann", 0, 0);
    link_write_congestion(&w, 1, true);
    gate_write(r.gate, w.p, w.len);
    edge_until(&r.edge, &r.edge.world->metrics.pauses, 1);
    v = ask(&r, "/api/stats", "200 ");
    list = json_object_get(v, "slow");
    cr_assert_eq(json_array_size(list), 1);
    cr_expect_str_eq(text_at(json_array_get(list, 0), "name"), "ann");
    cr_expect_str_eq(text_at(json_array_get(list, 0), "why"), "client");
    json_decref(v);
    admin_rig_fini(&r);
    TEST_NO_LEAKS();
}
