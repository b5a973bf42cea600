/* tests/world/test_walk_same.c: walkers and NPCs are the same everywhere, and ask for no memory.
 * A seeded run of players who walk and NPCs who wander on a map has one hash over all places, which
 * stands here: the same in release and sanitizer builds, with every compiler and processor.
 * May touch: tests/world_rig, tests/world/alloc_count, world/state/map.
 */
#include "tests/leak.h"
#include "tests/world/alloc_count.h"
#include "tests/world_rig.h"
#include "world/state/map.h"

#include "common/rng.h"

#include <stdio.h>
#include <stdlib.h>

#define PEOPLE 60
#define NPCS   200

#define PINNED_STRAIGHT 0x14a1a93b84676424u
#define PINNED_TILE     0x8c1027f96b058141u

#define FNV_START 14695981039346656037u
#define FNV_PRIME 1099511628211u

static uint64_t fold(uint64_t h, const void *bytes, size_t n)
{
    const uint8_t *p = bytes;
    for (size_t i = 0; i < n; i++)
        h = (h ^ p[i]) * FNV_PRIME;
    return h;
}

/* Streets between houses, and yards with a gate or none. */
static void town(struct map *m)
{
    static const struct map_place route[] = {{0.5, 0.5}, {100.5, 0.5}, {100.5, 70.5}};
    *m = (struct map){.name = "town", .n_spawns = 1, .n_npcs = 1, .n_points = ARRAY_LEN(route)};
    cr_assert_eq(ground_init(&m->ground, 0, 0, 1, 120, 80), 0);
    for (int32_t y = 0; y < 80; y++) {
        for (int32_t x = 0; x < 120; x++) {
            int32_t hx = x % 10, hy = y % 10;
            bool wall =
                hx > 1 && hy > 1 && (hx == 2 || hx == 8 || hy == 2 || hy == 8) && hx < 9 && hy < 9;
            ground_block(&m->ground, x, y, wall && !(hx == 5 && (x / 10 + y / 10) % 3 > 0));
        }
    }
    m->spawns = calloc(1, sizeof *m->spawns);
    m->spawns[0].area = (struct map_area){0, 0, 120, 80};
    m->npcs = calloc(1, sizeof *m->npcs);
    m->npcs[0] = (struct map_npc){.name = "watch", .at = route[0], .n_route = ARRAY_LEN(route)};
    m->points = malloc(sizeof route);
    memcpy(m->points, route, sizeof route);
}

static struct rig *town_rig(const struct map *m, int gait)
{
    struct world_config c = rig_config();
    c.scene = "town";
    c.walk = gait;
    c.npcs = NPCS;
    c.path_budget = 60;
    c.seed = 5;
    return rig_create_maps(&c, m, 1);
}

static void act(struct rig *r, uint32_t s, struct rng *rng)
{
    double x = rng_unit(rng) * 130 - 5, y = rng_unit(rng) * 90 - 5;
    uint64_t what = rng_below(rng, 100);
    if (what < 2) {
        rig_send_nil(r, s, CMD_LEAVE_REQ);
        rig_send_nil(r, s, CMD_ENTER_REQ);
    } else if (what < 5) {
        rig_send_walk(r, s, x, y, true);
    } else if (what < 7) {
        rig_send_walk(r, s, x, y, false);
    } else if (what < 8) { /* refused: outside */
        rig_send_move(r, s, x - 1e4, y);
    }
}

static uint64_t state_of(const struct rig *r, uint64_t h)
{
    const struct entities *e = &r->world->entities;
    for (uint32_t i = 0; i < e->alive_count; i++) {
        uint32_t slot = e->alive[i];
        h = fold(h, &e->id[slot], sizeof e->id[slot]);
        h = fold(h, &e->x[slot], sizeof e->x[slot]);
        h = fold(h, &e->y[slot], sizeof e->y[slot]);
        h = fold(h, &e->dir[slot], sizeof e->dir[slot]);
        h = fold(h, &e->speed[slot], sizeof e->speed[slot]);
    }
    return h;
}

static void join_all(struct rig *r, uint32_t *s)
{
    char name[16];
    for (uint32_t i = 0; i < PEOPLE; i++) {
        snprintf(name, sizeof name, "p%u", i);
        s[i] = rig_open(r, 0);
        rig_send_login(r, s[i], name);
        rig_send_nil(r, s[i], CMD_ENTER_REQ);
    }
}

/* The hash of all places in all ticks; `sent` gets that of all bytes. */
static uint64_t run(int gait, uint64_t *sent)
{
    uint32_t s[PEOPLE];
    struct map m;
    struct rng rng;
    uint64_t h = FNV_START;
    town(&m);
    struct rig *r = town_rig(&m, gait);
    r->deaf = true;
    rng_init(&rng, 77);
    join_all(r, s);
    for (int tick = 0; tick < 800; tick++) {
        for (uint32_t i = 0; i < PEOPLE; i++)
            act(r, s[i], &rng);
        rig_tick(r, 1);
        h = state_of(r, h);
    }
    cr_assert_gt(r->world->metrics.walks_there, 100);
    cr_assert_gt(r->world->metrics.walks_blocked, 10);
    cr_assert_gt(r->world->metrics.paths_found, 100);
    cr_assert_gt(r->world->npcs.n_awake, 10);
    *sent = rig_hash(r);
    rig_balance(r);
    rig_destroy(r);
    map_fini(&m);
    return h;
}

static void pinned(int gait, uint64_t want)
{
    uint64_t sent, again;
    uint64_t h = run(gait, &sent);
    cr_assert_eq(run(gait, &again), h, "two runs differ");
    cr_assert_eq(again, sent, "two runs send other bytes");
    cr_assert_eq(h, want, "0x%016llxu", (unsigned long long)h);
    TEST_NO_LEAKS();
}

Test(walk_same, straight_walks_and_npcs_have_the_hash_that_stands_here, .timeout = 120)
{
    pinned(WALKERS_STRAIGHT, PINNED_STRAIGHT);
}

Test(walk_same, walks_by_tiles_have_the_hash_that_stands_here, .timeout = 120)
{
    pinned(WALKERS_TILE, PINNED_TILE);
}

struct tally {
    uint64_t calls;
};

static void core(void *arg, bool inside)
{
    struct tally *t = arg;
    if (inside)
        alloc_count_begin();
    else
        t->calls += alloc_count_end();
}

Test(walk_same, neither_walks_nor_searches_nor_npcs_ask_for_memory, .timeout = 120)
{
    for (int gait = WALKERS_STRAIGHT; gait <= WALKERS_TILE; gait++) {
        uint32_t s[PEOPLE];
        struct map m;
        struct rng rng;
        struct tally t = {0};
        town(&m);
        struct rig *r = town_rig(&m, gait);
        r->deaf = true;
        rng_init(&rng, 78);
        join_all(r, s);
        r->core = core;
        r->arg = &t;
        for (int tick = 0; tick < 300; tick++) {
            for (uint32_t i = 0; i < PEOPLE; i++)
                act(r, s[i], &rng);
            rig_tick(r, 1);
        }
        cr_assert_eq(t.calls, 0);
        cr_assert_gt(r->world->metrics.paths_found, 20);
        rig_destroy(r);
        map_fini(&m);
    }
    TEST_NO_LEAKS();
}
