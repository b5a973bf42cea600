/* tests/world/test_world.c: what a world is made from, and that nothing of it stays behind.
 * May touch: tests/world_rig, world/world.
 */
#include "world/world.h"

#include "common/err.h"
#include "tests/leak.h"
#include "tests/world_rig.h"
#include "world/tick.h"

#include <string.h>

static void refused(const struct world_config *c, const char *flag)
{
    char why[256] = "";
    struct world *w = NULL;
    struct world_ops ops = {0};
    cr_assert_eq(world_check(c, why, sizeof why), E_RANGE, "%s", flag);
    cr_assert(strstr(why, flag), "\"%s\" names %s", why, flag);
    cr_assert_not(strchr(why, '\n'));
    cr_assert_eq(world_create(c, &ops, &w, why, sizeof why), E_RANGE);
    cr_assert_null(w);
}

static void accepted(const struct world_config *c)
{
    char why[256] = "";
    cr_assert_eq(world_check(c, why, sizeof why), 0, "%s", why);
}

Test(world, radius_and_hysteresis_stay_below_what_a_wrapped_place_can_say)
{
    struct world_config c = rig_config();
    c.aoi_radius = 255.99;
    accepted(&c);
    c.aoi_radius = 256;
    refused(&c, "-aoi-radius");
    c.aoi_radius = 200;
    c.aoi_hysteresis = 56;
    refused(&c, "-aoi-radius");
    c.quantum = 1.0 / 32;
    accepted(&c);
    c.aoi_radius = 30;
    c.aoi_hysteresis = 0;
    c.quantum = 30.0 / PROTO_RADIUS_QUANTA;
    refused(&c, "-aoi-radius");
    TEST_NO_LEAKS();
}

Test(world, bounds_that_quanta_cannot_say_are_refused)
{
    struct world_config c = rig_config();
    memcpy(c.bounds, (double[4]){-1e9, -1e9, 1e9, 1e9}, sizeof c.bounds);
    refused(&c, "-bounds");
    memcpy(c.bounds, (double[4]){0, 0, 10, 1e9}, sizeof c.bounds);
    refused(&c, "-bounds");
    memcpy(c.bounds, (double[4]){-1e6, -1e6, 1e6, 1e6}, sizeof c.bounds);
    accepted(&c);
}

Test(world, spawns_and_sizes_are_checked)
{
    struct world_config c = rig_config();
    c.spawn = "somewhere";
    refused(&c, "-spawn");
    c.spawn = "1,2,-3";
    refused(&c, "-spawn");
    c.spawn = "uniform";
    accepted(&c);
    c.max_entities = WORLD_ENTITIES_MAX + 1ull;
    refused(&c, "-max-entities");
    c.max_entities = UINT64_MAX;
    refused(&c, "-max-entities");
    c.max_entities = 10;
    c.max_sessions = UINT64_MAX;
    refused(&c, "-max-sessions");
}

Test(world, it_is_made_and_taken_apart_without_a_trace)
{
    struct world_config c = rig_config();
    for (int i = 0; i < 3; i++) {
        struct rig *r = rig_create(&c);
        rig_balance(r);
        rig_destroy(r);
    }
    world_destroy(NULL);
    TEST_NO_LEAKS();
}

Test(world, no_limit_on_entities_is_a_million)
{
    struct world_config c = rig_config();
    c.max_entities = 0;
    c.max_pairs = 1024;
    struct rig *r = rig_create(&c);
    cr_assert_eq(r->world->entities.max, WORLD_ENTITIES_MAX);
    cr_assert_eq(r->world->sessions.slots.cap, 2 * WORLD_ENTITIES_MAX);
    (void)rig_join(r, "a");
    rig_tick(r, 1);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

/* A clock that goes on by itself. */
static int64_t ticking(void *arg)
{
    return *(int64_t *)arg += 1000;
}

static void drop(void *arg, struct link_ref link, struct span frames)
{
    (void)arg;
    (void)link;
    (void)frames;
}

Test(world, with_a_clock_each_phase_is_timed)
{
    struct world_config c = rig_config();
    int64_t clock = 0;
    struct world_ops ops = {.drain = drop, .clock_ns = ticking, .arg = &clock};
    struct world *w;
    char why[256];
    cr_assert_eq(world_create(&c, &ops, &w, why, sizeof why), 0);
    for (int i = 1; i <= 100; i++)
        tick_run(w, (struct mono){i * c.tick_ns});
    cr_assert_eq(w->tick_ns.count, 100);
    for (int i = 0; i < PHASE_COUNT; i++) {
        cr_assert_eq(w->phase_ns[i].count, 100);
        cr_assert_gt(w->phase_ns[i].sum, 0);
    }
    cr_assert_geq(w->tick_ns.sum, 4 * 100 * 1000ull);
    world_destroy(w);
    TEST_NO_LEAKS();
}
