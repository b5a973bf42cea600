/* tests/bench/bench_memory.c: what a world keeps for each entity with its session.
 * Resident memory before anybody came, once all are in, and after ticks in which all moved. What
 * the benchmark itself keeps for the walks is there before. May touch: the core, /proc. On trouble:
 * one line on standard error and exit status 1.
 */
#include "tests/bench/bench.h"
#include "tests/bench/core_rig.h"

#include <unistd.h>

/* Ours, bytes; 0: not known. */
static double resident(void)
{
    unsigned long long all, here = 0;
    FILE *f = fopen("/proc/self/statm", "re");

    if (!f)
        return 0;
    if (fscanf(f, "%llu %llu", &all, &here) != 2)
        here = 0;
    fclose(f);
    return (double)here * (double)sysconf(_SC_PAGESIZE);
}

int bench_memory(const struct bench_args *a)
{
    uint32_t n = (uint32_t)a->n;
    enum workload_kind kind;
    struct workload load;
    struct core_rig rig;

    if (!workload_kind_find(a->workload, &kind)) {
        fprintf(stderr, "bench: -workload: \"%s\": must be uniform, hotspot or mass\n",
                a->workload);
        return 2;
    }
    workload_init(&load, kind, n, a->neighbours, a->seed);
    double none = resident();
    core_rig_init(&rig, n, load.side, a->seed);
    double empty = resident();
    core_rig_populate(&rig, n);
    double entered = resident();
    for (uint64_t t = 0; t < a->ticks; t++) {
        workload_step(&load, n);
        core_rig_place(&rig, &load, n);
        core_rig_tick(&rig);
    }
    double ticked = resident();
    printf(a->json ? "{\"bench\":\"memory\",\"workload\":\"%s\",\"n\":%llu,\"neighbours\":%g,"
                     "\"ticks\":%llu,\"empty_mib\":%.1f,\"bytes_per_entity\":%.0f,"
                     "\"bytes_per_entity_after_ticks\":%.0f}\n"
                   : "memory %-8s n=%-6llu K=%-4g %llu ticks: empty %.1f MiB; an entity with its "
                     "session %.0f bytes, after the ticks %.0f\n",
           a->workload, (unsigned long long)a->n, a->neighbours, (unsigned long long)a->ticks,
           (empty - none) / 1048576, (entered - empty) / n, (ticked - empty) / n);
    core_rig_fini(&rig);
    workload_fini(&load);
    return none > 0 ? 0 : 1;
}
