/* tests/bench/bench.c: `bin/bench NAME [flags]`: one benchmark, or all of them, short.
 * May touch: common/opts, the benchmarks.
 */
#include "tests/bench/bench.h"

#include "common/clock.h"
#include "common/log.h"
#include "common/opts.h"
#include "tests/bench/bench_load.h"
#include "tests/bench/gate.h"
#include "tests/bench/limit/limit_pair.h"
#include "tests/bench/modes.h"
#include "tests/bench/ways.h"
#include "world/ids.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static const struct opt bench_opts[] = {
    {.name = "n",
     .type = OPT_UINT,
     .offset = offsetof(struct bench_args, n),
     .def = "10000",
     .unit = "",
     .min = 1,
     .max = 1000000,
     .help = "Entities"},
    {.name = "neighbours",
     .type = OPT_REAL,
     .offset = offsetof(struct bench_args, neighbours),
     .def = "50",
     .unit = "",
     .min = 0.001,
     .max = 100000,
     .help = "Others within the radius, on average"},
    {.name = "ticks",
     .type = OPT_UINT,
     .offset = offsetof(struct bench_args, ticks),
     .def = "100",
     .unit = "",
     .min = 1,
     .max = 1000000,
     .help = "Ticks that are measured"},
    {.name = "scenes",
     .type = OPT_UINT,
     .offset = offsetof(struct bench_args, scenes),
     .def = "1",
     .unit = "",
     .min = 1,
     .max = SCENES_MAX,
     .help = "tick: scenes of one world that all are spread over, each as crowded"},
    {.name = "moving",
     .type = OPT_REAL,
     .offset = offsetof(struct bench_args, move_share),
     .def = "1",
     .unit = "",
     .min = 0,
     .max = 1,
     .zero_off = true,
     .help = "Share of all that move"},
    {.name = "workload",
     .type = OPT_TEXT,
     .offset = offsetof(struct bench_args, workload),
     .def = "uniform",
     .unit = "",
     .help = "uniform, hotspot or mass"},
    {.name = "store",
     .type = OPT_TEXT,
     .offset = offsetof(struct bench_args, store),
     .def = "none",
     .unit = "",
     .help = "tick: where the world keeps characters, none or sqlite:FILE"},
    {.name = "save-every",
     .type = OPT_DURATION,
     .offset = offsetof(struct bench_args, save_every_ns),
     .def = "30s",
     .unit = "s",
     .min = 0.001,
     .max = 86400,
     .zero_off = true,
     .help = "tick: with a store, each character that moved is saved so often"},
    {.name = "seed",
     .type = OPT_UINT,
     .offset = offsetof(struct bench_args, seed),
     .def = "1",
     .unit = "",
     .zero_off = true,
     .help = "Seed of the walks"},
    {.name = "runs",
     .type = OPT_UINT,
     .offset = offsetof(struct bench_args, runs),
     .def = "5",
     .unit = "",
     .min = 1,
     .max = 1000,
     .help = "Runs of each program, interleaved; the median counts"},
    {.name = "only",
     .type = OPT_TEXT,
     .offset = offsetof(struct bench_args, only),
     .def = "",
     .unit = "",
     .help = "Of the other programs, those whose name has this in it"},
    {.name = "json",
     .type = OPT_BOOL,
     .offset = offsetof(struct bench_args, json),
     .def = "false",
     .unit = "",
     .help = "One JSON object a row"},
};

static const struct {
    const char *name;
    bench_fn *run;
    const char *help;
} benches[] = {
    {"tick", bench_tick, "the whole tick of the core, by phase"},
    {"wire", bench_wire, "bytes to a player who stands among others that move ten times a second"},
    {"memory", bench_memory, "what a world keeps for each entity with its session"},
    {"sight", bench_sight, "who sees whom, beside other programs and the least that could"},
    {"codec", bench_codec, "hot frames written and read, beside msgpack-c alone"},
    {"map", bench_map, "what a live map costs a tick: its copy, its frame"},
};

/* Those with flags of their own. */
static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *help;
} doors[] = {
    {"tiers", modes_tiers, "sight's modes in a hotspot: time, bytes, ages"},
    {"crowd", modes_crowd, "the same where all see all; a say there"},
    {"path", ways_path, "ways over a map of 1024 by 1024 tiles"},
    {"npc", ways_npc, "what NPCs cost a tick, asleep and awake"},
    {"cluster", ways_cluster, "players of one world, and of two that share a map"},
    {"worlds", ways_worlds, "the same as processes, with NATS: processor time of each"},
    {"fanout", gate_fanout, "the gateway: a frame to each client, every tick"},
    {"forward", gate_forward, "the gateway: requests up, replies down"},
    {"idle", gate_idle, "the gateway: memory of a client that says nothing"},
    {"load", bench_load, "world, gateway and bots, beside the least that could"},
};

int64_t bench_cpu_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * CLOCK_NS_PER_S + t.tv_nsec;
}

bool bench_parse(const struct opt *table, size_t n, void *args, int argc, char **argv,
                 struct opts **o, int *status)
{
    char why[256];

    switch (opts_parse(table, n, args, argc, argv, o, why, sizeof(why))) {
    case OPTS_OK:
        return true;
    case OPTS_ERROR:
        fprintf(stderr, "bench: %s\n", why);
        *status = 2;
        return false;
    default:
        opts_print_help(table, n, stdout);
        *status = 0;
        return false;
    }
}

int64_t bench_now_ns(void)
{
    return clock_mono().ns;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

double bench_median(double *values, size_t n)
{
    qsort(values, n, sizeof(*values), compare);
    return n == 0 ? 0 : values[n / 2];
}

/* The same people, as crowded, in several scenes of one world. */
static int scenes_short(void)
{
    struct bench_args a = {.n = 10000,
                           .neighbours = 50,
                           .scenes = 8,
                           .ticks = 60,
                           .move_share = 1,
                           .workload = "uniform",
                           .store = "none",
                           .save_every_ns = 30 * CLOCK_NS_PER_S,
                           .seed = 1};

    return bench_tick(&a);
}

/* The short list that `make bench` runs. */
static int run_all(void)
{
    static const struct {
        bench_fn *run;
        uint64_t n;
        double neighbours;
        const char *workload;
        uint64_t ticks;
    } rows[] = {
        {bench_sight, 10000, 10, "uniform", 40},  {bench_sight, 10000, 50, "uniform", 40},
        {bench_sight, 10000, 200, "uniform", 20}, {bench_sight, 50000, 50, "uniform", 10},
        {bench_sight, 10000, 50, "hotspot", 20},  {bench_sight, 1000, 50, "mass", 60},
        {bench_tick, 1000, 10, "uniform", 60},    {bench_tick, 10000, 10, "uniform", 60},
        {bench_tick, 10000, 50, "uniform", 60},   {bench_tick, 10000, 200, "uniform", 60},
        {bench_tick, 10000, 50, "hotspot", 60},   {bench_tick, 1000, 50, "mass", 60},
        {bench_codec, 1, 50, "uniform", 1},       {bench_map, 5000, 50, "uniform", 60},
    };
    int status = 0;

    for (size_t i = 0; i < ARRAY_LEN(rows) && status == 0; i++) {
        struct bench_args a = {.n = rows[i].n,
                               .neighbours = rows[i].neighbours,
                               .scenes = 1,
                               .ticks = rows[i].ticks,
                               .move_share = 1,
                               .workload = rows[i].workload,
                               .store = "none",
                               .save_every_ns = 30 * CLOCK_NS_PER_S,
                               .seed = 1,
                               .only = "",
                               .runs = 1};

        status = rows[i].run(&a);
    }
    if (status == 0)
        status = scenes_short();
    if (status == 0)
        status = modes_short();
    if (status == 0)
        status = ways_short();
    return status == 0 ? gate_short() : status;
}

int main(int argc, char **argv)
{
    struct bench_args a;
    struct opts *o;
    int status;

    log_init("bench", LOG_WARN, LOG_TEXT);
    if (argc < 2)
        return run_all();
    if (strncmp(argv[1], "pair-", 5) == 0)
        return pair_main(argc, argv);
    for (size_t i = 0; i < ARRAY_LEN(doors); i++) {
        if (strcmp(argv[1], doors[i].name) == 0)
            return doors[i].run(argc - 1, argv + 1);
    }
    for (size_t i = 0; i < ARRAY_LEN(benches); i++) {
        if (strcmp(argv[1], benches[i].name) != 0)
            continue;
        if (bench_parse(bench_opts, ARRAY_LEN(bench_opts), &a, argc - 1, argv + 1, &o, &status)) {
            status = benches[i].run(&a);
            opts_destroy(o);
        }
        return status;
    }
    fprintf(stderr, "usage: bench [NAME [flags]]\n");
    for (size_t i = 0; i < ARRAY_LEN(benches); i++)
        fprintf(stderr, "  %-8s %s\n", benches[i].name, benches[i].help);
    for (size_t i = 0; i < ARRAY_LEN(doors); i++)
        fprintf(stderr, "  %-8s %s\n", doors[i].name, doors[i].help);
    return 2;
}
