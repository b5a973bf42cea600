/* tests/world/test_npcs.c: NPCs in the world: who comes, who is awake, what they do.
 * May touch: tests/world_rig, world/state/map. Looks into the world for who is awake.
 */
#include "tests/leak.h"
#include "tests/world_rig.h"
#include "world/state/map.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct world_config with_npcs(uint64_t n, double half)
{
    struct world_config c = rig_config();
    c.npcs = n;
    memcpy(c.bounds, (double[4]){-half, -half, half, half}, sizeof c.bounds);
    return c;
}

static const struct npc *nth(const struct rig *r, uint32_t i)
{
    cr_assert_lt(i, r->world->npcs.n);
    return &r->world->npcs.list[i];
}

/* Which of them walk or have walked: a sum of all places. */
static double places(const struct rig *r)
{
    const struct entities *e = &r->world->entities;
    double sum = 0;
    for (uint32_t i = 0; i < r->world->npcs.n; i++)
        sum = 3 * fmod(sum, 1000) + e->x[nth(r, i)->slot] + e->y[nth(r, i)->slot];
    return sum;
}

Test(npcs, they_are_entities_of_kind_1_that_players_see)
{
    struct world_config c = with_npcs(5, 10);
    struct rig *r = rig_create(&c);
    uint32_t s = rig_join(r, "npc-3"); /* names are sessions'; an NPC's is just what it is called */
    rig_tick(r, 1);
    const struct message *m = rig_next(r, s, CMD_AOI_ADD);
    cr_assert_not_null(m);
    cr_assert_eq(m->aoi_add.count, 5);
    for (uint32_t i = 0; i < 5; i++) {
        char name[16];
        snprintf(name, sizeof name, "npc-%u", i + 1);
        cr_assert_eq(m->aoi_add.entities[i].kind, 1);
        cr_assert(span_equal(m->aoi_add.entities[i].name, span_text(name)));
    }
    cr_assert_eq(r->sessions[s].id, 6, "they took the first ids");
    rig_balance(r);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(npcs, they_count_among_max_entities)
{
    struct world_config c = with_npcs(5, 20);
    struct world_ops ops = {0};
    struct world *w;
    char why[256];
    c.max_entities = 4;
    cr_assert_neq(world_create(&c, &ops, &w, why, sizeof why), 0);
    cr_assert(strstr(why, "-npcs: 5") && strstr(why, "-max-entities"), "%s", why);
    c.max_entities = 6;
    struct rig *r = rig_create(&c);
    (void)rig_join(r, "a");
    uint32_t b = rig_open(r, 0);
    rig_login(r, b, "b");
    rig_refused(r, b, rig_send_nil(r, b, CMD_ENTER_REQ), PE_UNAVAILABLE);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(npcs, without_players_they_sleep_and_stand)
{
    struct world_config c = with_npcs(100, 100);
    struct rig *r = rig_create(&c);
    rig_tick(r, 1);
    double before = places(r);
    rig_tick(r, 200);
    cr_assert_eq(r->world->npcs.n_awake, 0);
    cr_assert_eq(r->world->entities.dirty_count, 0);
    cr_assert(places(r) == before);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

/* All see whom they should (`lax`: with hysteresis of 3); whoever a player can see is awake;
 * whoever is three sights away from all of them is not. */
static void judge_awake(const struct rig *r, const uint32_t *s, uint32_t n, bool lax)
{
    const struct entities *e = &r->world->entities;
    for (uint32_t i = 0; i < r->world->npcs.n; i++) {
        const struct npc *p = nth(r, i);
        double nearest = INFINITY;
        for (uint32_t k = 0; k < n; k++)
            nearest = fmin(nearest, hypot(e->x[p->slot] - r->sessions[s[k]].x,
                                          e->y[p->slot] - r->sessions[s[k]].y));
        for (uint32_t k = 0; k < n; k++) {
            double d =
                hypot(e->x[p->slot] - r->sessions[s[k]].x, e->y[p->slot] - r->sessions[s[k]].y);
            bool knows = rig_view_find(&r->sessions[s[k]].view, e->id[p->slot]) != NULL;
            cr_assert(knows == (d <= 30) || (lax && knows && d <= 33), "%u at %g", e->id[p->slot],
                      d);
        }
        if (nearest <= 30)
            cr_assert(p->awake_at != 0, "a player sees it sleep");
        if (nearest > 3 * 33 * sqrt(2))
            cr_assert(p->awake_at == 0, "it is awake for nobody");
    }
}

static void come_and_go(double hysteresis)
{
    struct world_config c = with_npcs(400, 500);
    c.max_speed = 1e5;
    c.aoi_hysteresis = hysteresis;
    struct rig *r = rig_create(&c);
    struct rng rng;
    uint32_t s[3] = {rig_join(r, "a"), rig_join(r, "b"), rig_join(r, "c")};
    r->world->motion.max_speed = 1e9; /* players hop, NPCs keep their speed */
    for (uint32_t i = 0; i < r->world->npcs.n; i++)
        r->world->npcs.list[i].speed = 3;
    rng_init(&rng, 4);
    for (int round = 0; round < 150; round++) {
        for (int i = 0; i < 3; i++)
            if (rng_below(&rng, 3) == 0)
                rig_move(r, s[i], (rng_unit(&rng) - 0.5) * 1000, (rng_unit(&rng) - 0.5) * 1000);
        rig_tick(r, 1 + (uint32_t)rng_below(&rng, 3));
        judge_awake(r, s, 3, hysteresis > 0);
        rig_drop(r);
    }
    cr_assert_gt(r->world->npcs.n_awake, 0);
    rig_leave(r, s[0]);
    rig_close(r, s[1]);
    rig_leave(r, s[2]);
    rig_tick(r, 2);
    cr_assert_eq(r->world->npcs.n_awake, 0);
    cr_assert_eq(r->world->walkers.n, 0, "who sleeps does not walk");
    for (uint32_t i = 0; i < r->world->npcs.cells; i++)
        cr_assert_eq(r->world->npcs.near[i], 0);
    rig_enter(r, s[0]); /* and came and went between two ticks */
    rig_leave(r, s[0]);
    rig_tick(r, 2);
    for (uint32_t i = 0; i < r->world->npcs.cells; i++)
        cr_assert_eq(r->world->npcs.near[i], 0);
    rig_balance(r);
    rig_destroy(r);
}

Test(npcs, those_near_a_player_are_awake_and_seen_and_fall_asleep_when_it_goes)
{
    come_and_go(0);
    come_and_go(3);
    TEST_NO_LEAKS();
}

/* One whose batches wait goes away and comes back: the NPC slept and woke meanwhile. */
Test(npcs, one_that_slept_while_a_viewer_paused_is_the_same_one_to_it)
{
    struct world_config c = with_npcs(3, 400);
    c.max_speed = 1e5;
    struct rig *r = rig_create(&c);
    uint32_t s = rig_join(r, "a"), slot = nth(r, 0)->slot;
    double x = r->world->entities.x[slot], y = r->world->entities.y[slot];
    rig_tick(r, 1);
    rig_move(r, s, x, y);
    rig_tick(r, 1);
    cr_assert_not_null(rig_view_find(&r->sessions[s].view, r->world->entities.id[slot]));
    rig_congestion(r, s, true);
    for (int round = 0; round < 3; round++) {
        rig_tick(r, 20);
        rig_move(r, s, x > 0 ? -390 : 390, y > 0 ? -390 : 390);
        rig_tick(r, 3);
        cr_assert_eq(nth(r, 0)->awake_at, 0u);
        rig_tick(r, 20);
        rig_move(r, s, r->world->entities.x[slot], r->world->entities.y[slot]);
        rig_tick(r, 3);
        cr_assert_neq(nth(r, 0)->awake_at, 0u);
    }
    rig_congestion(r, s, false);
    rig_tick(r, 3);
    judge_awake(r, &s, 1, false);
    rig_balance(r);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(npcs, a_wanderer_walks_rests_and_walks_on_at_its_own_pace)
{
    struct world_config c = with_npcs(1, 25);
    struct rig *r = rig_create(&c);
    uint32_t slot = nth(r, 0)->slot, walks = 0, rests = 0;
    (void)rig_join(r, "a");
    for (int tick = 0; tick < 1200; tick++) {
        const struct entities *e = &r->world->entities;
        double x = e->x[slot], y = e->y[slot];
        rig_tick(r, 1);
        double d = hypot(e->x[slot] - x, e->y[slot] - y);
        cr_assert_leq(d, 3 * 0.05 + 1e-9);
        walks += d > 0;
        rests += d == 0;
        cr_assert(fabs(e->x[slot]) <= 25 && fabs(e->y[slot]) <= 25);
        rig_drop(r);
    }
    cr_assert(walks > 300 && rests > 300, "%u, %u", walks, rests);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(npcs, who_is_walked_there_by_the_world_wakes_them_too)
{
    struct world_config c = with_npcs(60, 500);
    c.max_speed = 400;
    struct rig *r = rig_create(&c);
    uint32_t s[1] = {rig_join(r, "a")};
    const struct entities *e = &r->world->entities;
    rig_tick(r, 2);
    for (int leg = 0; leg < 6; leg++) {
        rig_send_walk(r, s[0], leg % 2 ? 480 : -480, 480 - 160 * leg, false);
        for (int tick = 0; tick < 50; tick++) {
            rig_tick(r, 1);
            for (uint32_t slot = 0; slot < e->cap; slot++) {
                if (e->id[slot] == r->sessions[s[0]].id) {
                    r->sessions[s[0]].x = e->x[slot];
                    r->sessions[s[0]].y = e->y[slot];
                }
            }
            judge_awake(r, s, 1, false);
            rig_drop(r);
        }
    }
    rig_destroy(r);
    TEST_NO_LEAKS();
}

/* --- of maps -----------------------------------------------------------------------------------
 */

static const char *const ROWS[] = {
    "s...........",
    "....##......",
    "....##......",
    "............",
};

static void map_of(struct map *m, const struct map_npc *npcs, uint32_t n,
                   const struct map_place *points, uint32_t n_points)
{
    uint32_t nx = (uint32_t)strlen(ROWS[0]), ny = ARRAY_LEN(ROWS);
    *m = (struct map){.name = "yard", .n_npcs = n, .n_points = n_points, .n_spawns = 1};
    cr_assert_eq(ground_init(&m->ground, 0, 0, 1, nx, ny), 0);
    for (uint32_t y = 0; y < ny; y++)
        for (uint32_t x = 0; x < nx; x++)
            ground_block(&m->ground, (int32_t)x, (int32_t)y, ROWS[y][x] == '#');
    m->spawns = calloc(1, sizeof *m->spawns);
    m->spawns[0].area = (struct map_area){0.5, 0.5, 0.5, 0.5};
    m->npcs = malloc(n * sizeof *npcs);
    memcpy(m->npcs, npcs, n * sizeof *npcs);
    m->points = malloc((n_points + 1) * sizeof *points);
    if (n_points > 0)
        memcpy(m->points, points, n_points * sizeof *points);
}

/* The points that an NPC comes by, as letters, until `most` of them. */
static void follow(struct rig *r, uint32_t slot, const struct map_place *points, uint32_t n,
                   char *out, uint32_t most)
{
    const struct entities *e = &r->world->entities;
    const struct ground *g = &r->world->scenes.list[1].map->ground;
    uint32_t at = 0;
    for (int tick = 0; tick < 4000 && at < most; tick++) {
        for (uint32_t i = 0; i < n; i++)
            if (e->x[slot] == points[i].x && e->y[slot] == points[i].y &&
                (at == 0 || out[at - 1] != (char)('a' + i)))
                out[at++] = (char)('a' + i);
        rig_tick(r, 1);
        rig_drop(r);
        cr_assert(ground_free_at(g, e->x[slot], e->y[slot]));
    }
    out[at] = '\0';
}

Test(npcs, patrols_go_round_or_back_and_forth_by_either_gait)
{
    static const struct map_place points[] = {{1.5, 3.5}, {8.25, 3.5}, {8.25, 0.75}, {2.5, 0.5}};
    for (int gait = WALKERS_STRAIGHT; gait <= WALKERS_TILE; gait++) {
        struct map_npc npcs[2] = {
            {.name = "round", .at = {1.5, 3.5}, .n_route = 4, .closed = true, .speed = 6},
            {.name = "to and fro", .behaviour = "patrol", .at = {1.5, 3.5}, .n_route = 3},
        };
        struct world_config c = rig_config();
        struct map m;
        char went[16];
        c.scene = "yard";
        c.walk = gait;
        map_of(&m, npcs, 2, points, 4);
        struct rig *r = rig_create_maps(&c, &m, 1);
        (void)rig_join(r, "a");
        follow(r, nth(r, 0)->slot, points, 4, went, 10);
        cr_assert_str_eq(went, "abcdabcdab", "%d: %s", gait, went);
        rig_destroy(r);
        r = rig_create_maps(&c, &m, 1);
        (void)rig_join(r, "a");
        follow(r, nth(r, 1)->slot, points, 4, went, 10);
        cr_assert_str_eq(went, "abcbabcbab", "%d: %s", gait, went);
        rig_destroy(r);
        map_fini(&m);
    }
    TEST_NO_LEAKS();
}

Test(npcs, one_that_stands_stands_and_one_with_an_area_stays_in_it)
{
    struct map_npc npcs[2] = {
        {.name = "post", .at = {2.5, 2.5}, .area = {2.5, 2.5, 2.5, 2.5}},
        {.name = "hen", .at = {7, 1}, .area = {6, 0, 9, 3}},
    };
    struct world_config c = rig_config();
    struct map m;
    c.scene = "yard";
    map_of(&m, npcs, 2, NULL, 0);
    struct rig *r = rig_create_maps(&c, &m, 1);
    const struct entities *e = &r->world->entities;
    (void)rig_join(r, "a");
    double went = 0;
    for (int tick = 0; tick < 1500; tick++) {
        rig_tick(r, 1);
        rig_drop(r);
        double x = e->x[nth(r, 1)->slot], y = e->y[nth(r, 1)->slot];
        cr_assert(x >= 6 && x <= 9 && y >= 0 && y <= 3);
        went = fmax(went, hypot(x - 7, y - 1));
    }
    cr_assert_eq(r->world->npcs.n_awake, 2);
    cr_assert_gt(went, 1);
    cr_assert(e->x[nth(r, 0)->slot] == 2.5 && e->y[nth(r, 0)->slot] == 2.5);
    rig_destroy(r);
    map_fini(&m);
    TEST_NO_LEAKS();
}

Test(npcs, a_behaviour_that_there_is_not_ends_the_start_in_one_line)
{
    static const struct map_npc bad[] = {
        {.name = "bob", .behaviour = "dance", .at = {1.5, 0.5}},
        {.name = "bob", .behaviour = "patrol", .at = {1.5, 0.5}},
    };
    static const char *const want[] = {"no behaviour \"dance\"", "no route to \"patrol\""};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct world_config c = rig_config();
        struct map m;
        struct world *w;
        char why[256];
        map_of(&m, &bad[i], 1, NULL, 0);
        struct world_ops ops = {.maps = &m, .n_maps = 1};
        cr_assert_neq(world_create(&c, &ops, &w, why, sizeof why), 0);
        cr_assert(strstr(why, "-map: \"yard\": npc \"bob\" at (1.5, 0.5)") && strstr(why, want[i]),
                  "%s", why);
        map_fini(&m);
    }
    TEST_NO_LEAKS();
}

Test(npcs, those_at_random_stand_on_free_ground_and_are_the_same_each_time)
{
    struct world_config c = rig_config();
    struct map m;
    double sums[3];
    map_of(&m, &(struct map_npc){.at = {0.5, 0.5}}, 1, NULL, 0);
    for (int run = 0; run < 3; run++) {
        c.scene = "yard";
        c.npcs = 200;
        c.seed = run == 2 ? 8 : 7;
        struct rig *r = rig_create_maps(&c, &m, 1);
        const struct entities *e = &r->world->entities;
        (void)rig_join(r, "a");
        for (int tick = 0; tick < 100; tick++) {
            rig_tick(r, 1);
            rig_drop(r);
            for (uint32_t i = 0; i < r->world->npcs.n; i++)
                cr_assert(ground_free_at(&m.ground, e->x[nth(r, i)->slot], e->y[nth(r, i)->slot]));
        }
        sums[run] = places(r);
        rig_destroy(r);
    }
    cr_assert(sums[0] == sums[1] && sums[0] != sums[2]);
    map_fini(&m);
    TEST_NO_LEAKS();
}
