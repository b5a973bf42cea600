/* tests/bench/bench_npc.c: what NPCs cost a tick: none, 10,000 asleep, 5,000 awake beside players.
 * 1,000 players walk in a square; the sleepers lie in the land around it, those awake in the square
 * itself, where every player sees some fifty of them move. May touch: the core, common.
 */
#include "tests/bench/bench.h"
#include "tests/bench/core_rig.h"
#include "tests/bench/ways.h"
#include "world/tick.h"

#include <stdlib.h>
#include <string.h>

#define NEIGHBOURS 10    /* players that a player sees */
#define LAND       24000 /* units: side of the land that sleepers lie in */

struct npc_args {
    uint64_t players, asleep, awake, ticks, seed, runs;
    const char *only;
    bool json;
};

/* The players, by slot: NPCs are entities too. */
static uint32_t *players_of(const struct world *w, uint32_t n)
{
    const struct entities *e = &w->entities;
    uint32_t *out = calloc(n, sizeof(*out)), found = 0;

    for (uint32_t i = 0; out && i < e->alive_count && found < n; i++)
        if (e->cold[e->alive[i]].kind == 0)
            out[found++] = e->alive[i];
    return out;
}

static void place(struct world *w, const struct workload *load, const uint32_t *players)
{
    struct entities *e = &w->entities;

    for (uint32_t i = 0; i < load->n; i++) {
        e->x[players[i]] = load->x[i];
        e->y[players[i]] = load->y[i];
        entities_mark(e, players[i], ENTITY_MOVED);
    }
}

static void report(const struct npc_args *a, const char *name, const struct world *w, double *ns,
                   double *walk_ns)
{
    double tick = bench_median(ns, a->ticks), walk = bench_median(walk_ns, a->ticks);
    const char *fmt =
        a->json ? "{\"bench\":\"npc\",\"program\":\"%s\",\"players\":%llu,\"npcs\":%u,"
                  "\"awake\":%u,\"tick_us\":%.1f,\"worst_tick_us\":%.1f,\"walk_us\":%.2f,"
                  "\"runs\":%llu}\n"
                : "npc %-7s %llu players, %u NPCs, %u awake: %8.1f us a tick, worst %.1f, of it "
                  "%.2f for walks  runs %llu\n";

    printf(fmt, name, (unsigned long long)a->players, w->npcs.n, w->npcs.n_awake, tick / 1e3,
           ns[a->ticks - 1] / 1e3, walk / 1e3, (unsigned long long)a->runs); /* sorted by now */
}

static int one(const struct npc_args *a, const char *name, uint64_t npcs, double side)
{
    double *ns = calloc(a->ticks, sizeof(*ns)), *walk_ns = calloc(a->ticks, sizeof(*walk_ns));
    uint32_t n = (uint32_t)a->players, *players;
    struct world_config c;
    struct workload load;
    struct core_rig rig;
    struct mono now = {0};

    workload_init(&load, WORKLOAD_UNIFORM, n, NEIGHBOURS, a->seed);
    c = core_rig_config(n + (uint32_t)npcs, side > 0 ? side : load.side, a->seed);
    c.npcs = npcs;
    core_rig_open(&rig, &c);
    core_rig_populate(&rig, n);
    players = players_of(rig.world, n);
    if (getenv("FEW"))
        rig.world->sight.few_share = (uint32_t)atoi(getenv("FEW"));
    if (!ns || !walk_ns || !players)
        return 1;
    for (uint64_t t = 0; t < WORKLOAD_WARM_UP + a->ticks; t++) {
        uint64_t walk = rig.world->phase_ns[PHASE_WALK].sum;
        int64_t start;

        workload_step(&load, n);
        place(rig.world, &load, players);
        now = clock_add(now, c.tick_ns);
        start = core_rig_cpu_ns();
        tick_run(rig.world, now);
        outbox_flush(&rig.world->outbox);
        if (t >= WORKLOAD_WARM_UP) {
            ns[t - WORKLOAD_WARM_UP] = (double)(core_rig_cpu_ns() - start);
            walk_ns[t - WORKLOAD_WARM_UP] = (double)(rig.world->phase_ns[PHASE_WALK].sum - walk);
        }
    }
    if (getenv("BENCH_PHASES"))
        for (int i = 0; i < PHASE_COUNT; i++)
            printf("  phase %d %.1f us\n", i,
                   (double)rig.world->phase_ns[i].sum / (double)(a->ticks + WORKLOAD_WARM_UP) /
                       1e3);
    report(a, name, rig.world, ns, walk_ns);
    free(players);
    free(walk_ns);
    free(ns);
    core_rig_fini(&rig);
    workload_fini(&load);
    return 0;
}

static int run(const struct npc_args *a)
{
    const struct {
        const char *name;
        uint64_t npcs;
        double side; /* 0: the players' square */
    } rows[] = {{"none", 0, LAND}, {"asleep", a->asleep, LAND}, {"awake", a->awake, 0}};
    int status = 0;

    for (uint64_t r = 0; r < a->runs && status == 0; r++) {
        for (size_t i = 0; i < ARRAY_LEN(rows) && status == 0; i++)
            if (strstr(rows[i].name, a->only))
                status = one(a, rows[i].name, rows[i].npcs, rows[i].side);
    }
    return status;
}

int ways_npc(int argc, char **argv)
{
    static const struct opt table[] = {
        {.name = "players",
         .type = OPT_UINT,
         .offset = offsetof(struct npc_args, players),
         .def = "1000",
         .unit = "",
         .min = 2,
         .max = 1e5,
         .help = "Players, who walk all the time"},
        {.name = "asleep",
         .type = OPT_UINT,
         .offset = offsetof(struct npc_args, asleep),
         .def = "10000",
         .unit = "",
         .max = 5e5,
         .help = "NPCs of the row with sleepers"},
        {.name = "awake",
         .type = OPT_UINT,
         .offset = offsetof(struct npc_args, awake),
         .def = "5000",
         .unit = "",
         .max = 5e5,
         .help = "NPCs of the row with those awake"},
        {.name = "ticks",
         .type = OPT_UINT,
         .offset = offsetof(struct npc_args, ticks),
         .def = "200",
         .unit = "",
         .min = 1,
         .max = 1e6,
         .help = "Measured ticks"},
        {.name = "seed",
         .type = OPT_UINT,
         .offset = offsetof(struct npc_args, seed),
         .def = "1",
         .unit = "",
         .help = "Seed of the walks"},
        {.name = "runs",
         .type = OPT_UINT,
         .offset = offsetof(struct npc_args, runs),
         .def = "1",
         .unit = "",
         .min = 1,
         .max = 1000,
         .help = "Runs of each row, interleaved"},
        {.name = "only",
         .type = OPT_TEXT,
         .offset = offsetof(struct npc_args, only),
         .def = "",
         .unit = "",
         .help = "Of the rows, those whose name has this in it"},
        {.name = "json",
         .type = OPT_BOOL,
         .offset = offsetof(struct npc_args, json),
         .def = "false",
         .unit = "",
         .help = "One JSON object a row"},
    };
    struct npc_args a;
    struct opts *o;
    int status;

    if (!bench_parse(table, ARRAY_LEN(table), &a, argc, argv, &o, &status))
        return status;
    status = run(&a);
    opts_destroy(o);
    return status;
}
