/* tests/world/test_limits.c: each limit of the core, driven full, and the metric that tells of it.
 * What the limits mean to a client is with its command; here it is what an operator sees.
 * May touch: tests/world_rig, the world's metrics.
 */
#include "common/err.h"
#include "tests/leak.h"
#include "tests/world_rig.h"
#include "world/command/inbox.h"
#include "world/state/map.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The number behind `row` in what an operator gets to see. */
static uint64_t seen(const struct rig *r, const char *row)
{
    char *text = NULL, line[160];
    size_t n = 0;
    FILE *to = open_memstream(&text, &n);

    world_gauges(r->world);
    metrics_write(world_metrics_table, world_metrics_count, &r->world->metrics, to);
    fclose(to);
    snprintf(line, sizeof line, "\n%s ", row);
    const char *at = strstr(text, line);
    cr_assert_not_null(at, "no row %s", row);
    uint64_t value = strtoull(at + strlen(line), NULL, 10);
    free(text);
    return value;
}

static struct rig *world_of(uint64_t entities, uint64_t sessions, uint64_t requests)
{
    struct world_config c = rig_config();

    c.max_entities = entities;
    c.max_sessions = sessions;
    c.session_requests = requests;
    return rig_create(&c);
}

#define REFUSED(reason) "aegis_world_requests_refused_total{reason=\"" reason "\"}"

Test(limits, max_entities)
{
    struct rig *r = world_of(2, 8, 0);
    (void)rig_join(r, "a");
    (void)rig_join(r, "b");
    uint32_t c = rig_open(r, 0);
    rig_login(r, c, "c");
    (void)rig_refused(r, c, rig_send_nil(r, c, CMD_ENTER_REQ), PE_UNAVAILABLE);
    cr_expect_eq(seen(r, "aegis_world_entities_full_total"), 1);
    cr_expect_eq(seen(r, "aegis_world_entities"), 2);
    cr_expect_eq(seen(r, REFUSED("unavailable")), 1);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(limits, max_sessions)
{
    struct rig *r = world_of(2, 3, 0);
    for (int i = 0; i < 5; i++)
        (void)rig_open(r, 0);
    cr_expect_eq(seen(r, "aegis_world_sessions_full_total"), 2);
    cr_expect_eq(seen(r, "aegis_world_sessions"), 3);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(limits, session_requests)
{
    struct rig *r = world_of(8, 8, 20);
    uint32_t a = rig_join(r, "a"), b = rig_join(r, "b");
    rig_tick(r, 1);
    for (int i = 0; i < 20; i++)
        rig_say(r, a, "hi");
    for (int i = 0; i < 7; i++)
        (void)rig_refused(r, a, rig_send_say(r, a, "hi"), PE_RATE_LIMITED);
    rig_say(r, b, "the others' requests are their own");
    cr_expect_eq(seen(r, "aegis_world_requests_limited_total"), 7);
    cr_expect_eq(seen(r, REFUSED("rate_limited")), 7);
    rig_tick(r, 1);
    rig_say(r, a, "and the next tick is another");
    cr_expect_eq(seen(r, "aegis_world_requests_limited_total"), 7);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

/* Viewers with lists need room for what they know; here they have some of it. */
Test(limits, max_pairs)
{
    struct world_config c = rig_config();
    char name[16];

    c.aoi_hysteresis = 2;
    c.max_pairs = 1024;
    struct rig *r = rig_create(&c);
    for (int i = 0; i < 60; i++) {
        snprintf(name, sizeof name, "p%d", i);
        (void)rig_join_at(r, name, 8, i % 7);
    }
    rig_tick(r, 3);
    cr_expect_gt(seen(r, "aegis_world_sight_deferred_total"), 0);
    cr_expect_leq(seen(r, "aegis_world_aoi_known"), 1024);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(limits, max_pairs_for_those_who_pause)
{
    struct world_config c = rig_config();
    char name[16];

    c.max_pairs = 1024;
    struct rig *r = rig_create(&c);
    for (int i = 0; i < 30; i++) {
        snprintf(name, sizeof name, "p%d", i);
        (void)rig_join_at(r, name, 8, i % 7);
    }
    rig_tick(r, 1);
    inbox_link_congestion(r->world, r->links[0].ref, true, r->now);
    cr_expect_gt(seen(r, "aegis_world_viewer_pauses_refused_total{slow=\"link\"}"), 0);
    cr_expect_gt(seen(r, "aegis_world_viewers_paused"), 0);
    inbox_link_congestion(r->world, r->links[0].ref, false, r->now);
    for (uint32_t s = 0; s < 30; s++)
        rig_congestion(r, s, true);
    cr_expect_gt(seen(r, "aegis_world_viewer_pauses_refused_total{slow=\"client\"}"), 0);
    cr_expect_gt(seen(r, "aegis_world_viewer_pauses_total"), 0);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(limits, links)
{
    struct rig *r = world_of(8, 8, 0);
    struct link_ref ref, replaced;
    char id[16];

    for (int i = 1; i < SESSION_LINKS_MAX; i++) {
        snprintf(id, sizeof id, "gw-%d", i);
        cr_assert_eq(inbox_link_up(r->world, span_text(id), r->now, &ref, &replaced), 0);
    }
    cr_assert_eq(inbox_link_up(r->world, span_text("late"), r->now, &ref, &replaced), E_FULL);
    cr_expect_eq(seen(r, "aegis_world_links_full_total"), 1);
    cr_expect_eq(seen(r, "aegis_world_links"), SESSION_LINKS_MAX);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

/* -max-entities of them out, and as many resting as may. */
Test(limits, ids)
{
    struct rig *r = world_of(2, 8, 0);
    uint32_t id, s = rig_open(r, 0);

    while (id_pool_take(&r->world->ids, r->now, &id) == 0)
        continue;
    (void)rig_refused(r, s, rig_send_login(r, s, "late"), PE_UNAVAILABLE);
    cr_expect_eq(seen(r, "aegis_world_ids_full_total"), 1);
    id_pool_return(&r->world->ids, id);
    rig_login(r, s, "late");
    cr_expect_eq(seen(r, "aegis_world_ids_full_total"), 1);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

/* Those who wait for a way, on a map of free tiles. */
Test(limits, path_queue)
{
    struct world_config c = rig_config();
    struct map_spawn spawn = {.area = {0, 0, 8, 8}};
    struct map m = {.name = "yard", .spawns = &spawn, .n_spawns = 1};

    cr_assert_eq(ground_init(&m.ground, 0, 0, 1, 8, 8), 0);
    c.scene = "yard";
    c.path_queue = 2;
    struct rig *r = rig_create_maps(&c, &m, 1);
    uint32_t s[3] = {rig_join(r, "a"), rig_join(r, "b"), rig_join(r, "c")};
    rig_walk(r, s[0], 1, 2, true);
    rig_walk(r, s[1], 1, 2, true);
    (void)rig_refused(r, s[2], rig_send_walk(r, s[2], 1, 2, true), PE_UNAVAILABLE);
    cr_expect_eq(seen(r, "aegis_world_paths_refused_total"), 1);
    cr_expect_eq(seen(r, "aegis_world_paths_waiting"), 2);
    rig_tick(r, 1);
    cr_expect_eq(seen(r, "aegis_world_paths_waiting"), 0);
    cr_expect_eq(seen(r, "aegis_world_paths_total{result=\"found\"}"), 2);
    rig_destroy(r);
    ground_fini(&m.ground);
    TEST_NO_LEAKS();
}

Test(limits, failed_logins)
{
    struct rig *r = world_of(8, 8, 0);
    struct message m = {.cmd = CMD_LOGIN_REQ};
    uint32_t s = rig_open(r, 0);

    m.login_req.name = span_text("a");
    m.login_req.resume = span_text("no such key");
    m.login_req.version = PROTO_VERSION;
    for (int i = 0; i < PROTO_AUTH_FAILURES; i++)
        (void)rig_send(r, s, &m);
    cr_expect(r->sessions[s].closed);
    cr_expect_eq(seen(r, "aegis_world_kicks_total{reason=\"auth_failed\"}"), 1);
    cr_expect_eq(seen(r, REFUSED("auth_failed")), PROTO_AUTH_FAILURES);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

/* Not only what is full: each refusal has its reason. */
Test(limits, every_refusal_is_counted_by_its_reason)
{
    struct rig *r = world_of(8, 8, 0);
    uint32_t s = rig_open(r, 0);

    (void)rig_refused(r, s, rig_send_nil(r, s, 99), PE_UNKNOWN_CMD);
    (void)rig_refused(r, s, rig_send_nil(r, s, CMD_ENTER_REQ), PE_NOT_LOGGED_IN);
    rig_login(r, s, "a");
    (void)rig_refused(r, s, rig_send_nil(r, s, CMD_MOVE_REQ), PE_BAD_PAYLOAD);
    (void)rig_refused(r, s, rig_send_nil(r, s, CMD_LEAVE_REQ), PE_NOT_IN_WORLD);
    rig_enter(r, s);
    (void)rig_refused(r, s, rig_send_move(r, s, 900, 0), PE_MOVE_SPEED);
    (void)rig_refused(r, s, rig_send_move(r, s, 9000, 0), PE_MOVE_BOUNDS);
    (void)rig_refused(r, s, rig_send_move(r, s, 9000, 0), PE_MOVE_BOUNDS);
    cr_expect_eq(seen(r, REFUSED("unknown_cmd")), 1);
    cr_expect_eq(seen(r, REFUSED("not_logged_in")), 1);
    cr_expect_eq(seen(r, REFUSED("bad_payload")), 1);
    cr_expect_eq(seen(r, REFUSED("not_in_world")), 1);
    cr_expect_eq(seen(r, REFUSED("move_speed")), 1);
    cr_expect_eq(seen(r, REFUSED("move_bounds")), 2);
    cr_expect_eq(seen(r, "aegis_world_moves_total{result=\"speed\"}"), 1);
    cr_expect_eq(seen(r, "aegis_world_moves_total{result=\"bounds\"}"), 2);
    rig_destroy(r);
    TEST_NO_LEAKS();
}
