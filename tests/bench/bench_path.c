/* tests/bench/bench_path.c: ways over a map of 1024 by 1024 tiles: searches a second, nodes, time.
 * Between random free tiles, each search to its end in one go; on tiles blocked at random, on
 * blocks of houses, on wide caves, and in rooms behind doors. What one search has at most is what a
 * tick's budget has to be held against. May touch: world/state, common.
 */
#include "common/clock.h"
#include "tests/bench/bench.h"
#include "tests/bench/ways.h"
#include "world/state/path.h"

#include <stdlib.h>
#include <string.h>

#define SIDE 1024

struct path_args {
    uint64_t n; /* searches */
    uint64_t seed, runs;
    const char *only;
    bool json;
};

/* --- maps --------------------------------------------------------------------------------------
 */

static bool scattered(struct rng *rng, uint32_t x, uint32_t y)
{
    (void)x;
    (void)y;
    return rng_below(rng, 100) < 20;
}

static bool houses(struct rng *rng, uint32_t x, uint32_t y)
{
    (void)rng;
    return x % 12 > 2 && y % 9 > 2 && (x / 12 * 7 + y / 9 * 3) % 5 > 0;
}

/* Cells of 16 tiles, of which two in five are rock, with ragged edges. */
static bool caves(struct rng *rng, uint32_t x, uint32_t y)
{
    uint32_t cell = ((x / 16) * 2654435761u) ^ ((y / 16) * 2246822519u);

    cell = (cell ^ cell >> 15) * 2654435761u;
    return (cell >> 16) % 5 < 2 ? rng_below(rng, 100) < 97 : rng_below(rng, 100) < 3;
}

static bool rooms(struct rng *rng, uint32_t x, uint32_t y)
{
    return (x % 32 == 0 || y % 32 == 0) && rng_below(rng, 100) < 95;
}

static const struct {
    const char *name;
    bool (*blocked)(struct rng *rng, uint32_t x, uint32_t y);
} maps[] = {{"scattered", scattered}, {"houses", houses}, {"caves", caves}, {"rooms", rooms}};

static bool draw(struct ground *g, struct lanes *l, size_t map, struct rng *rng)
{
    if (ground_init(g, 0, 0, 1, SIDE, SIDE) != 0)
        return false;
    for (uint32_t y = 0; y < SIDE; y++)
        for (uint32_t x = 0; x < SIDE; x++)
            ground_block(g, (int32_t)x, (int32_t)y, maps[map].blocked(rng, x, y));
    return lanes_init(l, g) == 0;
}

/* --- searches -----------------------------------------------------------------------------------
 */

static struct ground_tile some_tile(const struct ground *g, struct rng *rng)
{
    for (;;) {
        struct ground_tile t = {(int32_t)rng_below(rng, SIDE), (int32_t)rng_below(rng, SIDE)};

        if (!ground_blocked(g, t.x, t.y))
            return t;
    }
}

struct tally {
    double ns, worst_ns; /* of CPU time */
    uint64_t nodes, worst_nodes;
    double length; /* tiles, of all */
};

static void search(struct path *p, const struct ground *g, const struct lanes *l, struct rng *rng,
                   struct tally *t)
{
    struct ground_tile from = some_tile(g, rng), to = some_tile(g, rng);
    int64_t start = bench_cpu_ns();
    double took;

    path_begin(p, l, from, to);
    while (p->state == PATH_NEAR || p->state == PATH_WAY)
        path_run(p, UINT32_MAX);
    took = (double)(bench_cpu_ns() - start);
    t->ns += took;
    t->worst_ns = took > t->worst_ns ? took : t->worst_ns;
    t->nodes += p->expanded;
    t->worst_nodes = p->expanded > t->worst_nodes ? p->expanded : t->worst_nodes;
    if (p->state == PATH_FOUND)
        t->length += path_length(p);
}

static void report(const struct path_args *a, size_t map, const struct tally *t)
{
    double n = (double)(a->n * a->runs);
    const char *fmt =
        a->json ? "{\"bench\":\"path\",\"program\":\"%s\",\"n\":%llu,\"searches_per_s\":%.1f,"
                  "\"tiles\":%.1f,\"nodes\":%.1f,\"worst_nodes\":%llu,\"ns_per_node\":%.1f,"
                  "\"worst_ms\":%.3f,\"runs\":%llu}\n"
                : "path %-10s n=%-5llu %9.1f searches/s  %6.1f tiles  %8.1f nodes, worst %llu  "
                  "%6.1f ns/node  worst %.2f ms  runs %llu\n";

    printf(fmt, maps[map].name, (unsigned long long)a->n, n / (t->ns / 1e9), t->length / n,
           (double)t->nodes / n, (unsigned long long)t->worst_nodes,
           t->ns / (double)(t->nodes ? t->nodes : 1), t->worst_ns / 1e6,
           (unsigned long long)a->runs);
}

static int run(const struct path_args *a)
{
    struct path p;

    if (path_init(&p, SIDE, SIDE) != 0)
        return 1;
    for (size_t map = 0; map < ARRAY_LEN(maps); map++) {
        struct ground g;
        struct lanes l = {0};
        struct rng rng;
        struct tally t = {0};

        if (!strstr(maps[map].name, a->only))
            continue;
        rng_init(&rng, a->seed);
        if (!draw(&g, &l, map, &rng))
            return 1;
        for (uint64_t i = 0; i < a->n * a->runs; i++)
            search(&p, &g, &l, &rng, &t);
        report(a, map, &t);
        lanes_fini(&l);
        ground_fini(&g);
    }
    path_fini(&p);
    return 0;
}

int ways_path(int argc, char **argv)
{
    static const struct opt table[] = {
        {.name = "n",
         .type = OPT_UINT,
         .offset = offsetof(struct path_args, n),
         .def = "200",
         .unit = "",
         .min = 1,
         .max = 1e6,
         .help = "Searches of a run"},
        {.name = "seed",
         .type = OPT_UINT,
         .offset = offsetof(struct path_args, seed),
         .def = "1",
         .unit = "",
         .help = "Seed of the maps and the ways"},
        {.name = "runs",
         .type = OPT_UINT,
         .offset = offsetof(struct path_args, runs),
         .def = "1",
         .unit = "",
         .min = 1,
         .max = 1000,
         .help = "Runs, on the same maps, with other ways"},
        {.name = "only",
         .type = OPT_TEXT,
         .offset = offsetof(struct path_args, only),
         .def = "",
         .unit = "",
         .help = "Of the maps, those whose name has this in it"},
        {.name = "json",
         .type = OPT_BOOL,
         .offset = offsetof(struct path_args, json),
         .def = "false",
         .unit = "",
         .help = "One JSON object a row"},
    };
    struct path_args a;
    struct opts *o;
    int status;

    if (!bench_parse(table, ARRAY_LEN(table), &a, argc, argv, &o, &status))
        return status;
    status = run(&a);
    opts_destroy(o);
    return status;
}

int ways_short(void)
{
    static const struct path_args a = {.n = 60, .seed = 1, .runs = 1, .only = ""};
    char *npc[] = {"npc", "-ticks=40", NULL};
    char *cluster[] = {"cluster", "-players=2000", "-ticks=40", "-runs=1", "-budget=0", NULL};
    int status = run(&a);

    if (status == 0)
        status = ways_npc(2, npc);
    return status == 0 ? ways_cluster(5, cluster) : status;
}
