/* tests/world/test_walk_random.c: what holds of walks whatever is asked, on random maps.
 * Nobody ever stands in a blocked tile or outside the scene, comes past a goal, cuts a corner or
 * gains distance by mixing requests; every walk ends on its goal or with a MoveFail.
 * AEGIS_WALK_ACTS says how many moves and walks are asked for (100,000; a fifth of that with
 * sanitizers). May touch: tests/world_rig, world/state/map.
 */
#include "tests/leak.h"
#include "tests/world_rig.h"
#include "world/state/map.h"

#include "common/rng.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define PEOPLE 16

#ifdef __SANITIZE_ADDRESS__
#define ACTS 20000
#else
#define ACTS 100000
#endif

struct person {
    uint32_t s, slot;
    bool walks, straight; /* as its requests have it; without path */
    double gx, gy;        /* its goal */
    double x, y;          /* at the last tick */
    double went;          /* since it came in, from tick to tick */
    struct mono came;
};

struct land {
    struct rig *r;
    struct map map;
    struct world_config config;
    struct rng rng;
    struct person people[PEOPLE];
    bool chords; /* the line from tick to tick is legal, since a tick turns no corner */
    uint64_t acts, fails, arrivals;
};

static double any(struct land *l, double lo, double hi)
{
    return lo + rng_unit(&l->rng) * (hi - lo);
}

static void make_map(struct land *l)
{
    struct ground *g = &l->map.ground;
    uint32_t nx = 2 + (uint32_t)rng_below(&l->rng, 60), ny = 2 + (uint32_t)rng_below(&l->rng, 40);
    static const double sizes[] = {1, 1, 1, 0.75, 2.3};
    double share = any(l, 0, 0.45), size = sizes[rng_below(&l->rng, ARRAY_LEN(sizes))];
    bool houses = rng_below(&l->rng, 2);
    l->map = (struct map){.name = "land"};
    cr_assert_eq(ground_init(g, 0, 0, size, nx, ny), 0);
    for (uint32_t y = 0; y < ny; y++)
        for (uint32_t x = 0; x < nx; x++)
            ground_block(g, (int32_t)x, (int32_t)y,
                         houses ? x % 6 > 1 && y % 5 > 1 && rng_unit(&l->rng) > share / 2
                                : rng_unit(&l->rng) < share);
    ground_block(g, 0, 0, false);
    l->map.spawns = calloc(1, sizeof *l->map.spawns);
    l->map.n_spawns = 1;
    l->map.spawns[0].area = (struct map_area){0, 0, nx * size, ny * size};
}

static void place(struct land *l, struct person *p)
{
    const struct entities *e = &l->r->world->entities;
    p->slot = 0;
    while (e->id[p->slot] != l->r->sessions[p->s].id)
        p->slot++;
    p->x = e->x[p->slot];
    p->y = e->y[p->slot];
    p->went = 0;
    p->walks = false;
    p->came = l->r->now;
}

/* A goal: anywhere, near, a tile's middle or corner, on the rim, far outside. */
static void some_goal(struct land *l, const struct person *p, double *x, double *y)
{
    const struct ground *g = &l->map.ground;
    double w = g->nx * g->size, h = g->ny * g->size;
    switch (rng_below(&l->rng, 6)) {
    case 0:
        *x = p->x + any(l, -2, 2);
        *y = p->y + any(l, -2, 2);
        break;
    case 1:
        *x = ((double)rng_below(&l->rng, (uint64_t)g->nx) + 0.5) * g->size;
        *y = ((double)rng_below(&l->rng, (uint64_t)g->ny) + 0.5) * g->size;
        break;
    case 2:
        *x = (double)rng_below(&l->rng, (uint64_t)g->nx + 1) * g->size;
        *y = (double)rng_below(&l->rng, (uint64_t)g->ny + 1) * g->size;
        break;
    case 3:
        *x = rng_below(&l->rng, 2) ? 0 : w;
        *y = any(l, 0, h);
        break;
    case 4:
        *x = any(l, -3 * w, 3 * w);
        *y = any(l, -1e6, 1e6);
        break;
    default:
        *x = any(l, 0, w);
        *y = any(l, 0, h);
    }
}

static void act(struct land *l, struct person *p)
{
    uint64_t what = rng_below(&l->rng, 100);
    double x, y;
    if (what < 3) {
        rig_leave(l->r, p->s);
        (void)rig_enter(l->r, p->s);
        place(l, p);
        return;
    }
    some_goal(l, p, &x, &y);
    l->acts++;
    if (what < 45) {
        bool near = what < 35;
        const struct message *m =
            rig_answer(l->r, p->s,
                       rig_send_move(l->r, p->s, near ? p->x + any(l, -0.4, 0.4) : x,
                                     near ? p->y + any(l, -0.4, 0.4) : y));
        if (m->cmd == CMD_MOVE_RESP)
            p->walks = false;
        return;
    }
    const struct message *m = rig_answer(l->r, p->s, rig_send_walk(l->r, p->s, x, y, what % 2));
    if (m->cmd != CMD_WALK_RESP) {
        cr_assert_eq(m->error_notify.code, (uint32_t)PE_UNAVAILABLE);
        return;
    }
    p->walks = true;
    p->straight = what % 2 == 0;
    p->gx = m->walk_resp.x;
    p->gy = m->walk_resp.y;
}

/* `v` is not beyond `goal`, seen from where it was. */
static bool not_past(double was, double v, double goal)
{
    return was <= goal ? v >= was && v <= goal : v <= was && v >= goal;
}

static void read_mail(struct land *l, struct person *p, double x, double y)
{
    const struct message *m;
    while ((m = rig_take(l->r, p->s))) {
        if (m->cmd != CMD_MOVE_FAIL)
            continue;
        cr_assert(p->walks, "a MoveFail without a walk");
        cr_assert(m->move_fail.x == x && m->move_fail.y == y);
        p->walks = false;
        l->fails++;
    }
}

static void judge(struct land *l, struct person *p, double from_x, double from_y)
{
    const struct world *w = l->r->world;
    const struct ground *g = &l->map.ground;
    double x = w->entities.x[p->slot], y = w->entities.y[p->slot];
    double seconds = (double)(l->r->now.ns - p->came.ns) / 1e9;
    cr_assert(ground_free_at(g, x, y), "(%.17g, %.17g) is blocked or outside", x, y);
    if (l->chords)
        cr_assert(ground_way(g, from_x, from_y, x, y, NULL), "a corner was cut");
    if (p->walks && p->straight)
        cr_assert(not_past(from_x, x, p->gx) && not_past(from_y, y, p->gy), "past the goal");
    p->went += hypot(x - p->x, y - p->y);
    cr_assert_leq(p->went, 12 * (seconds + 0.04) * (1 + 1e-6), "%g units in %g s", p->went,
                  seconds);
    p->x = x;
    p->y = y;
    read_mail(l, p, x, y);
    if (p->walks && !walkers_has(&w->walkers, p->slot)) {
        cr_assert(x == p->gx && y == p->gy, "it ended elsewhere, and nobody was told");
        p->walks = false;
        l->arrivals++;
    }
    if (!walkers_has(&w->walkers, p->slot))
        cr_assert_eq(w->entities.speed[p->slot], 0);
}

static void tick(struct land *l)
{
    double x[PEOPLE], y[PEOPLE];
    for (uint32_t i = 0; i < PEOPLE; i++) {
        x[i] = l->r->world->entities.x[l->people[i].slot];
        y[i] = l->r->world->entities.y[l->people[i].slot];
    }
    if (rng_below(&l->rng, 50) == 0)
        rig_pass(l->r, (int64_t)rng_below(&l->rng, 3000) * CLOCK_NS_PER_MS);
    rig_tick(l->r, 1);
    for (uint32_t i = 0; i < PEOPLE; i++)
        judge(l, &l->people[i], x[i], y[i]);
    rig_drop(l->r);
}

static void live(struct land *l, uint64_t acts)
{
    char name[16];
    struct world_config c = rig_config();
    make_map(l);
    c.scene = "land";
    c.walk = (int)rng_below(&l->rng, 2);
    c.walk_max_tiles = 1 + rng_below(&l->rng, 2);
    c.tick_ns = rng_below(&l->rng, 4) ? 50 * CLOCK_NS_PER_MS : 20 * CLOCK_NS_PER_MS;
    c.path_budget = rng_below(&l->rng, 3) ? 5000 : 20;
    c.path_queue = rng_below(&l->rng, 3) ? 1024 : 6;
    c.update_interval = 1;
    l->r = rig_create_maps(&c, &l->map, 1);
    l->chords = c.walk == WALKERS_TILE && c.walk_max_tiles == 1;
    for (uint32_t i = 0; i < PEOPLE; i++) {
        snprintf(name, sizeof name, "p%u", i);
        l->people[i].s = rig_join(l->r, name);
        place(l, &l->people[i]);
    }
    for (uint64_t end = l->acts + acts; l->acts < end;) {
        for (uint32_t i = 0; i < PEOPLE; i++)
            if (rng_below(&l->rng, 8) == 0)
                act(l, &l->people[i]);
        tick(l);
    }
    for (int i = 0; i < 3000 && l->r->world->walkers.n > 0; i++)
        tick(l);
    cr_assert_eq(l->r->world->walkers.n, 0, "a walk that does not end");
    for (uint32_t i = 0; i < PEOPLE; i++)
        cr_assert(!l->people[i].walks);
    cr_assert_eq(l->r->world->finder.n, 0);
    rig_balance(l->r);
    rig_destroy(l->r);
    map_fini(&l->map);
}

Test(walk_random, on_random_maps_what_must_hold_of_walks_and_moves_holds, .timeout = 900)
{
    const char *asked = getenv("AEGIS_WALK_ACTS");
    uint64_t acts = asked ? strtoull(asked, NULL, 10) : ACTS;
    struct land l = {0};
    rng_init(&l.rng, 20);
    while (l.acts < acts)
        live(&l, 1000);
    cr_log_info("%llu acts: %llu arrivals, %llu MoveFails", (unsigned long long)l.acts,
                (unsigned long long)l.arrivals, (unsigned long long)l.fails);
    cr_assert_gt(l.arrivals, acts / 20);
    cr_assert_gt(l.fails, acts / 20);
    TEST_NO_LEAKS();
}
