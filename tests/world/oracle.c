/* tests/world/oracle.c: brute force against the world's sight: its rounds.
 * May touch: tests/world_rig, common/rng. Never: world/interest.
 *
 * The truth is the last place that each player was granted. Who knows whom is one square of pairs,
 * viewer by subject, which remembers under which id, since when a difference on the wire is not
 * told, and the exact place at the time of the last telling.
 */
#include "tests/world/oracle.h"
#include "world/interest/soft.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define ROUNDS_DEFAULT   10000
#define ORACLE_TESTS     18 /* that share the rounds, the crowds apart */
#define ROUNDS_PER_WORLD 20

static void everybody_rests(struct oracle *o)
{
    for (uint32_t i = 0; i < o->n; i++) {
        if (o->players[i].waiting)
            oracle_resume(o, &o->players[i]);
        if (o->players[i].paused && o->players[i].open)
            oracle_pause(o, &o->players[i]);
    }
    for (uint64_t i = 0; i <= oracle_soft_rest(o) + o->rules.update_interval; i++)
        oracle_judge(o);
    oracle_judge_rest(o);
    rig_balance(o->rig);
}

static void everybody_goes(struct oracle *o)
{
    for (uint32_t i = 0; i < o->n; i++) {
        struct oracle_player *p = &o->players[i];
        if (p->inside && oracle_chance(o, 50))
            oracle_leave(o, p);
        if (p->open && oracle_chance(o, p->inside ? 100 : 50))
            oracle_lose(o, p);
    }
    oracle_judge(o);
    rig_balance(o->rig);
    if (oracle_chance(o, 50))
        rig_pass(o->rig, PROTO_ID_REST_S * CLOCK_NS_PER_S);
}

static void play_round(struct oracle *o)
{
    /* who is still logged in from the round before takes part */
    uint32_t n = o->rules.n_min + (uint32_t)rng_below(&o->rng, o->rules.n_max - o->rules.n_min + 1);
    for (uint32_t i = n; i < o->n; i++)
        if (o->players[i].open)
            oracle_lose(o, &o->players[i]);
    o->n = n;
    memset(o->pairs, 0, (size_t)n * n * sizeof *o->pairs);
    oracle_soft_begin(o);
    for (uint32_t i = 0; i < n; i++)
        if (oracle_chance(o, 80))
            oracle_come(o, &o->players[i]);
    for (uint32_t t = 0; t < o->rules.ticks; t++) {
        oracle_judge(o);
        oracle_act(o);
    }
    everybody_rests(o);
    everybody_goes(o);
}

struct oracle_rules oracle_rules(void)
{
    return (struct oracle_rules){
        .radius = 30,
        .quantum = 1.0 / 64,
        .move_epsilon = 0.05,
        .dir_epsilon = 1,
        .update_interval = 2,
        .max_speed = ORACLE_FAST,
        .bounds = {-1000, -1000, 1000, 1000},
        .area = 60,
        .n_min = 2,
        .n_max = 60,
        .ticks = 15,
        .turns = 3,
        .links = 1,
        .weight =
            {
                [ORACLE_STAY] = 30,
                [ORACLE_STEP] = 40,
                [ORACLE_TINY] = 15,
                [ORACLE_FACE] = 5,
                [ORACLE_JUMP] = 5,
                [ORACLE_EDGE] = 5,
                [ORACLE_BORDER] = 2,
                [ORACLE_RIM] = 1,
                [ORACLE_JOINT] = 2,
                [ORACLE_BACK] = 2,
                [ORACLE_SAY] = 2,
                [ORACLE_REFUSED] = 2,
                [ORACLE_LEAVE] = 1,
                [ORACLE_CLOSE] = 1,
            },
    };
}

/* --- scenes ----------------------------------------------------------------------------------- */

/* A portal around the scene's middle, to the middle of another. */
static void add_portal(struct oracle *o, uint32_t from, uint32_t to, double half)
{
    const double *a = o->bounds[from], *b = o->bounds[to];
    double x = (a[0] + a[2]) / 2, y = (a[1] + a[3]) / 2;
    double area[4] = {fmax(x - half, a[0]), fmax(y - half, a[1]), fmin(x + half, a[2]),
                      fmin(y + half, a[3])};
    plain_map_portal(&o->maps[from - 1], area, to == 0 ? SCENE_OPEN : o->maps[to - 1].name,
                     (b[0] + b[2]) / 2, (b[1] + b[3]) / 2);
}

/* One that lies over the open ground, one elsewhere, one smaller than the radius. */
static void make_maps(struct oracle *o)
{
    const struct oracle_rules *r = &o->rules;
    const double *b = r->bounds;
    double w = b[2] - b[0], h = b[3] - b[1], tile = (w > h ? w : h) / 4;
    memcpy(o->bounds[0], b, sizeof o->bounds[0]);
    o->maps[0] = plain_map_open("over", b[0], b[1], tile, (uint32_t)ceil(w / tile),
                                (uint32_t)ceil(h / tile));
    o->maps[1] = plain_map_open("beside", 0, 0, r->radius * 1.5, 7, 5);
    o->maps[2] = plain_map_open("small", -3, -4, r->radius / 2, 1, 1);
    for (uint32_t i = 0; i < ORACLE_SCENES_MAX - 1; i++)
        ground_bounds(&o->maps[i].ground, o->bounds[i + 1]);
    for (uint32_t i = 1; i <= r->maps; i++)
        add_portal(o, i, (i + 1) % (r->maps + 1), r->radius / 3);
}

static double pick(struct rng *rng, const double *list, uint32_t n)
{
    return list[rng_below(rng, n)];
}

struct oracle_rules oracle_random_rules(struct rng *rng)
{
    static const double radii[] = {0.5, 3, 7, 30, 32, 41.7};
    static const double quanta[] = {1.0 / 256, 1.0 / 64, 1.0 / 50, 1.0 / 16, 1};
    static const double parts[] = {0, 0, 0.01, 0.2, 1};
    static const double epsilons[] = {0, 0.01, 0.05, 0.5, 3};
    static const double speeds[] = {ORACLE_FAST, ORACLE_FAST, 300, 12, 0.2};
    static const double sides[] = {5, 100, 777.77, 3000, 16384};
    struct oracle_rules r = oracle_rules();
    r.quantum = pick(rng, quanta, ARRAY_LEN(quanta));
    r.radius = pick(rng, radii, ARRAY_LEN(radii));
    r.hysteresis = r.radius * pick(rng, parts, ARRAY_LEN(parts));
    if (r.radius + r.hysteresis >= PROTO_RADIUS_QUANTA * r.quantum)
        r.hysteresis = 0;
    r.move_epsilon = pick(rng, epsilons, ARRAY_LEN(epsilons));
    r.dir_epsilon = 20 * pick(rng, epsilons, ARRAY_LEN(epsilons));
    r.update_interval = rng_below(rng, 6);
    double x = (rng_unit(rng) - 0.5) * 1e4, y = (rng_unit(rng) - 0.5) * 1e4;
    double w = pick(rng, sides, ARRAY_LEN(sides)), h = pick(rng, sides, ARRAY_LEN(sides));
    memcpy(r.bounds, (double[4]){x, y, x + w, y + h}, sizeof r.bounds);
    r.area = r.radius * (0.3 + 5 * rng_unit(rng));
    r.max_speed = pick(rng, speeds, ARRAY_LEN(speeds));
    if (r.max_speed < ORACLE_FAST) { /* they meet where they come in, or never */
        r.bounds[2] = x + r.radius * (1 + 4 * rng_unit(rng));
        r.bounds[3] = y + r.radius * (1 + 4 * rng_unit(rng));
    }
    r.lattice = rng_below(rng, 3) == 0 ? 1.0 / 64 : 0;
    r.links = 1 + (uint32_t)rng_below(rng, 4);
    r.turns = 1 + (uint32_t)rng_below(rng, 4);
    for (int i = ORACLE_STEP; i < ORACLE_PAUSE; i++)
        r.weight[i] = (uint8_t)(rng_below(rng, 3) == 0 ? rng_below(rng, 40) : 2);
    r.weight[ORACLE_PAUSE] = rng_below(rng, 3) == 0 ? 10 : 0;
    r.maps = (uint32_t)rng_below(rng, 2) * (uint32_t)rng_below(rng, ORACLE_SCENES_MAX);
    r.weight[ORACLE_HOP] = r.maps > 0 ? (uint8_t)rng_below(rng, 12) : 0;
    r.tight = r.hysteresis == 0 && r.weight[ORACLE_PAUSE] + r.weight[ORACLE_HOP] == 0 &&
              rng_below(rng, 4) == 0;
    return r;
}

/* Each world looks sight up in another way: every index, every kind of code, viewer by viewer,
 * mover by mover, or now one and now the other. */
static struct rig *world_of(const struct oracle *o, uint64_t seed, uint32_t way)
{
    const struct oracle_rules *rules = &o->rules;
    struct world_config c = rig_config();
    c.aoi_radius = rules->radius;
    c.aoi_hysteresis = rules->hysteresis;
    c.quantum = rules->quantum;
    c.move_epsilon = rules->move_epsilon;
    c.dir_epsilon = rules->dir_epsilon;
    c.update_interval = rules->update_interval;
    memcpy(c.bounds, rules->bounds, sizeof c.bounds);
    c.max_speed = rules->max_speed;
    c.spawn = "uniform";
    c.seed = seed;
    c.resume_window_ns = rules->window * c.tick_ns;
    c.aoi_index = (int)(way % 3);
    if (rules->soft.n_tiers > 0) {
        c.aoi_tiers = rules->soft.tiers;
        c.aoi_refresh = rules->soft.refresh;
        c.aoi_max = rules->soft.max;
        c.viewer_bytes = rules->soft.viewer_bytes;
    }
    struct rig *r = rig_create_maps(&c, o->maps, rules->maps);
    rig_code(r, way % 4, way / 4 % 4);
    if (rules->soft.searched && r->world->sight.soft && r->world->sight.soft->bits)
        r->world->sight.soft->bits_slots = 64;
    if (rules->tight)
        r->world->scratch.cap = 2 * (size_t)r->world->entities.cap * SIGHT_SPARE + 2048;
    char id[16];
    for (uint32_t i = 1; i < rules->links; i++) {
        snprintf(id, sizeof id, "gw-%u", i);
        rig_link_up(r, id);
    }
    return r;
}

uint32_t oracle_rounds(uint32_t weight)
{
    const char *text = getenv("AEGIS_ORACLE_ROUNDS");
    unsigned long total = text ? strtoul(text, NULL, 10) : ROUNDS_DEFAULT;
    unsigned long share = (total + ORACLE_TESTS - 1) / ORACLE_TESTS / weight;
    return share > 0 ? (uint32_t)share : 1;
}

/* Rounds in worlds of the same rules, or of random ones. */
static void run(struct oracle *o, const struct oracle_rules *rules, uint32_t rounds, uint32_t each)
{
    size_t square = (size_t)ORACLE_PLAYERS_MAX * ORACLE_PLAYERS_MAX;
    o->players = calloc(ORACLE_PLAYERS_MAX, sizeof *o->players);
    o->pairs = calloc(square, sizeof *o->pairs);
    rng_init(&o->rng, o->seed);
    while (rounds > 0) {
        o->rules = rules       ? *rules
                   : each == 1 ? oracle_soft_rules(&o->rng)
                               : oracle_random_rules(&o->rng);
        make_maps(o);
        o->rig = world_of(o, rng_next(&o->rng), o->worlds++);
        o->n = 0;
        memset(o->players, 0, ORACLE_PLAYERS_MAX * sizeof *o->players);
        for (uint32_t i = 0; i < ORACLE_PLAYERS_MAX; i++)
            snprintf(o->players[i].name, sizeof o->players[i].name, "p%u", i);
        for (uint32_t i = 0; i < each && rounds > 0; i++, rounds--) {
            o->round++;
            play_round(o);
        }
        rig_destroy(o->rig);
        for (uint32_t i = 0; i < ORACLE_SCENES_MAX - 1; i++)
            map_fini(&o->maps[i]);
    }
    oracle_soft_end(o);
    free(o->players);
    free(o->pairs);
}

void oracle_run(const struct oracle_rules *rules, uint64_t seed, uint32_t rounds)
{
    struct oracle o = {.seed = seed};
    run(&o, rules, rounds, ROUNDS_PER_WORLD);
}

void oracle_soft_run(uint64_t seed, uint32_t worlds)
{
    struct oracle o = {.seed = seed};
    run(&o, NULL, worlds, 1);
}
