/* tests/bench/bench_tick.c: the whole tick of the core, by phase.
 * May touch: the core.
 */
#include "tests/bench/bench.h"

#include "tests/bench/core_rig.h"

#include <stdlib.h>
#include <time.h>

static void report(const struct bench_args *a, const struct world *w, double ns, uint64_t bytes,
                   uint64_t moves, uint64_t moved)
{
    double ticks = (double)a->ticks, n = (double)moved, staying = (double)moves / ticks;
    double sight = (double)w->phase_ns[PHASE_SIGHT].sum / ticks;
    double grid = (double)w->phase_ns[PHASE_GRID].sum / ticks;
    double events = (double)w->phase_ns[PHASE_EVENTS].sum / ticks;
    double fanout = (double)w->phase_ns[PHASE_FANOUT].sum / ticks;
    const char *fmt =
        a->json ? "{\"bench\":\"tick\",\"workload\":\"%s\",\"n\":%llu,\"neighbours\":%g,"
                  "\"ns_per_moved_entity\":%.1f,\"ns_per_staying_pair\":%.2f,\"grid_ns\":%.1f,"
                  "\"sight_ns\":%.1f,\"events_ns\":%.1f,\"fanout_ns\":%.1f,\"bytes_per_viewer\":%."
                  "1f,\"saves\":%llu,\"scenes\":%llu}\n"
                : "tick %-8s n=%-6llu K=%-4g %8.1f ns/moved %6.2f ns/pair  (grid %.0f sight %.0f "
                  "events %.0f fanout %.0f) %7.1f bytes/viewer %llu saves, %llu scenes\n";

    printf(fmt, a->workload, (unsigned long long)a->n, a->neighbours, ns / n,
           staying > 0 ? ns / staying : 0, grid / n, sight / n, events / n, fanout / n,
           (double)bytes / ticks / (double)a->n, (unsigned long long)w->metrics.saves,
           (unsigned long long)a->scenes);
}

int bench_tick(const struct bench_args *a)
{
    uint64_t from = 0, moves = 0;
    uint32_t n = (uint32_t)a->n, movers = (uint32_t)((double)a->n * a->move_share);
    double *ns = calloc(a->ticks, sizeof(*ns));
    enum workload_kind kind;
    struct workload load;
    struct world_config c;
    struct core_rig rig;
    struct world *w;

    if (!ns || !workload_kind_find(a->workload, &kind)) {
        fprintf(stderr, "bench: -workload: \"%s\": must be uniform, hotspot or mass\n",
                a->workload);
        return 2;
    }
    workload_init(&load, kind, n, a->neighbours * (double)a->scenes, a->seed);
    c = core_rig_config(n, load.side, a->seed);
    c.save_every_ns = a->save_every_ns;
    core_rig_keep(&rig, &c, a->store, (uint32_t)a->scenes);
    core_rig_populate(&rig, n);
    w = rig.world;
    for (uint64_t t = 0; t < WORKLOAD_WARM_UP + a->ticks; t++) {
        int64_t start;

        if (t == WORKLOAD_WARM_UP) {
            outbox_flush(&w->outbox);
            from = rig.bytes;
            moves = w->metrics.aoi_moves;
            for (int i = 0; i < PHASE_COUNT; i++)
                hist_clear(&w->phase_ns[i]);
        }
        workload_step(&load, t == 0 ? n : movers);
        core_rig_place(&rig, &load, t == 0 ? n : movers);
        start = core_rig_cpu_ns();
        core_rig_tick(&rig);
        if (t >= WORKLOAD_WARM_UP)
            ns[t - WORKLOAD_WARM_UP] = (double)(core_rig_cpu_ns() - start);
    }
    report(a, w, bench_median(ns, a->ticks), rig.bytes - from, w->metrics.aoi_moves - moves,
           movers > 0 ? movers : 1);
    free(ns);
    core_rig_fini(&rig);
    workload_fini(&load);
    return 0;
}
