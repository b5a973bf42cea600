/* tests/world/test_crier.c: an operator's words, in all worlds of a cluster. */
#include "world/command/crier.h"

#include "common/err.h"
#include "tests/cluster_rig.h"
#include "tests/leak.h"

#include <criterion/criterion.h>

static struct world *world(const struct crig *r, uint32_t i)
{
    return r->worlds[i].world;
}

/* Announced by the first world; how many it told, and how many the second did. */
static void announce(struct crig *r, const struct crier_area *area, uint64_t here, uint64_t there)
{
    uint64_t before = world(r, 1)->metrics.announces_told;

    cr_expect_eq(crier_announce(world(r, 0), area, span_text("Tea!"), r->now), here);
    outbox_flush(&world(r, 0)->outbox);
    crig_tick(r, 2);
    cr_expect_eq(world(r, 1)->metrics.announces_told - before, there);
}

Test(crier, each_world_tells_its_own_and_nobody_hears_it_twice)
{
    struct world_config config = crig_config();
    struct crig *r = crig_create(&config, 2, 1, 4);
    const struct crier_area everybody = {.reach = NOTICE_EVERYBODY},
                            scene = {.reach = NOTICE_SCENE},
                            zone = {.reach = NOTICE_ZONE, .place = {-12, -20, 12, 20}},
                            other = {.reach = NOTICE_ZONE, .place = {90, -20, 110, 20}},
                            cell = {.reach = NOTICE_CELL, .place = {100, 0, 100, 0}};

    crig_join_at(r, 0, "west", -10, 0); /* each a ghost in the other's world */
    crig_join_at(r, 1, "east", 10, 0);
    crig_join_at(r, 1, "far", 100, 0);
    crig_login(r, 1, "outside");
    crig_tick(r, 5);
    cr_assert_geq(world(r, 0)->entities.ghost_count, 1);
    announce(r, &everybody, 1, 3);
    announce(r, &scene, 1, 2);
    announce(r, &zone, 1, 1);
    announce(r, &other, 0, 1);
    announce(r, &cell, 0, 1);
    cr_expect_eq(world(r, 0)->metrics.announces, 5);
    cr_expect_eq(world(r, 1)->metrics.announces, 5);
    crig_destroy(r);
    TEST_NO_LEAKS();
}

Test(crier, a_scene_that_is_not_there_is_no_message_of_ours)
{
    struct world_config config = crig_config();
    struct crig *r = crig_create(&config, 2, 1, 4);
    struct cluster_message m = {
        .kind = CLUSTER_ANNOUNCE, .reach = NOTICE_SCENE, .scene = 1, .text = span_text("Tea!")};

    cr_expect_eq(crier_heard(world(r, 0), &m, r->now), E_BAD);
    cr_expect_eq(world(r, 0)->metrics.announces, 0);
    crig_destroy(r);
    TEST_NO_LEAKS();
}
