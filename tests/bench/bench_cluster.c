/* tests/bench/bench_cluster.c: what two worlds carry that one does not: `bin/bench cluster`.
 * The same players on the same map, as crowded however many: all at one world that knows of no
 * cluster, or half of them at each of two that share the map. Each player moves ten times a second,
 * through its gateway. Timed is all that a world's core does for a tick: requests, messages of the
 * other world, the tick itself; each world by its own thread's time, and of two the busier counts.
 * What carries messages between worlds (NATS, and the thread that speaks with it) and what sends to
 * gateways is not in it.
 * May touch: tests/bench/mesh. On trouble: one line on standard error and exit 1, also where a
 * player is lost or a move is not taken.
 */
#include "tests/bench/bench.h"
#include "tests/bench/mesh.h"
#include "tests/bench/ways.h"

#include <stdlib.h>
#include <string.h>

#define SETTLE_TICKS 40 /* in which nobody moves, and what is under way arrives */
#define SIZES_MAX    16
#define RUNS_MAX     100
#define SEARCH_FIRST 500
#define SEARCH_LAST  100000
#define SEARCH_NEAR  50 /* found to a part of this size */

struct cluster_args {
    const char *players;
    double neighbours;
    uint64_t ticks, runs, seed;
    int64_t budget_ns;
    bool json;
};

/* Of one run, or medians of some. */
struct figures {
    double p50_ms, p99_ms; /* of the busier world */
    double heard_ms;       /* of it for the other world, on average */
    double ghosts;         /* that a world shows, at the end */
    double handed;         /* a second */
    double border_bytes;   /* a second, of all worlds */
};

static struct figures figures_of(const struct cluster_args *a, const struct mesh *m, double *ns,
                                 const struct mesh_counts *from)
{
    struct mesh_counts to = mesh_counts(m);
    double seconds = (double)a->ticks * WORKLOAD_TICK_S;
    struct figures f = {.handed = (double)(to.handed - from->handed) / seconds,
                        .border_bytes = (double)(to.border_bytes - from->border_bytes) / seconds};

    for (uint32_t i = 0; i < m->n_worlds; i++) {
        double p50 = bench_median(ns + i * a->ticks, a->ticks) / 1e6; /* sorts them */
        double p99 = ns[i * a->ticks + a->ticks * 99 / 100] / 1e6;

        f.p50_ms = p50 > f.p50_ms ? p50 : f.p50_ms;
        f.p99_ms = p99 > f.p99_ms ? p99 : f.p99_ms;
        f.ghosts += (double)mesh_ghosts(m, i) / m->n_worlds;
    }
    return f;
}

static struct figures run_one(const struct cluster_args *a, uint32_t worlds, uint32_t n)
{
    double *ns = calloc(worlds * a->ticks, sizeof(*ns));
    struct mesh_counts from;
    int64_t heard_ns = 0;
    struct figures f;
    struct mesh m;

    if (!ns)
        exit(1);
    mesh_init(&m, worlds, n, a->neighbours, a->seed);
    for (uint32_t t = 0; t < WORKLOAD_WARM_UP; t++)
        mesh_step(&m, true);
    from = mesh_counts(&m);
    for (uint64_t t = 0; t < a->ticks; t++) {
        mesh_step(&m, true);
        for (uint32_t i = 0; i < worlds; i++) {
            ns[i * a->ticks + t] = (double)m.worlds[i].spent_ns;
            heard_ns += m.worlds[i].heard_ns;
        }
    }
    f = figures_of(a, &m, ns, &from);
    f.heard_ms = (double)heard_ns / (double)(worlds * a->ticks) / 1e6;
    for (uint32_t t = 0; t < SETTLE_TICKS; t++)
        mesh_step(&m, false);
    if (!mesh_whole(&m))
        exit(1);
    mesh_fini(&m);
    free(ns);
    return f;
}

struct spread {
    double median, least, most;
};

static struct spread spread_of(const struct figures *list, uint64_t n, size_t offset)
{
    double values[RUNS_MAX], median;

    for (uint64_t i = 0; i < n; i++)
        memcpy(&values[i], (const char *)&list[i] + offset, sizeof(values[i]));
    median = bench_median(values, n); /* sorts them */
    return (struct spread){median, values[0], values[n - 1]};
}

#define SPREAD(list, runs, field) spread_of((list), (runs), offsetof(struct figures, field))

static void report(const struct cluster_args *a, uint32_t worlds, uint32_t n,
                   const struct figures *list)
{
    struct spread p50 = SPREAD(list, a->runs, p50_ms), p99 = SPREAD(list, a->runs, p99_ms);
    double heard = SPREAD(list, a->runs, heard_ms).median;
    double ghosts = SPREAD(list, a->runs, ghosts).median;
    double handed = SPREAD(list, a->runs, handed).median;
    double border = SPREAD(list, a->runs, border_bytes).median;
    const char *fmt =
        a->json ? "{\"bench\":\"cluster\",\"program\":\"worlds-%u\",\"players\":%u,"
                  "\"neighbours\":%g,\"tick_ms\":%.3f,\"tick_spread\":[%.3f,%.3f],"
                  "\"p99_ms\":%.3f,\"p99_spread\":[%.3f,%.3f],\"heard_ms\":%.3f,"
                  "\"ghosts\":%.0f,\"ghost_share\":%.4f,\"handovers_s\":%.1f,"
                  "\"border_bytes_s\":%.0f,\"runs\":%llu}\n"
                : "cluster worlds-%u %6u players K=%g: %.2f ms a tick (%.2f to %.2f), p99 %.2f "
                  "(%.2f to %.2f), %.3f of it for the other world; a world shows %.0f ghosts, %.3f "
                  "of its own; %.1f hand-overs and %.0f bytes of borders a second  runs %llu\n";

    printf(fmt, worlds, n, a->neighbours, p50.median, p50.least, p50.most, p99.median, p99.least,
           p99.most, heard, ghosts, ghosts * worlds / n, handed, border,
           (unsigned long long)a->runs);
    fflush(stdout);
}

static void rows(const struct cluster_args *a, const uint32_t *sizes, size_t n_sizes)
{
    struct figures list[MESH_WORLDS_MAX][RUNS_MAX];

    for (size_t i = 0; i < n_sizes; i++) {
        for (uint64_t r = 0; r < a->runs; r++)
            for (uint32_t worlds = 1; worlds <= MESH_WORLDS_MAX; worlds++)
                list[worlds - 1][r] = run_one(a, worlds, sizes[i]);
        for (uint32_t worlds = 1; worlds <= MESH_WORLDS_MAX; worlds++)
            report(a, worlds, sizes[i], list[worlds - 1]);
    }
}

static bool fits(const struct cluster_args *a, uint32_t worlds, uint32_t n)
{
    struct figures list[RUNS_MAX];

    for (uint64_t r = 0; r < a->runs; r++)
        list[r] = run_one(a, worlds, n);
    return SPREAD(list, a->runs, p50_ms).median * 1e6 <= (double)a->budget_ns;
}

/* The most players whose median tick stays within the budget: the worst ones are of whoever else
 * uses the machine. 0: not even the fewest. */
static uint32_t most(const struct cluster_args *a, uint32_t worlds)
{
    uint32_t low = 0, high = SEARCH_FIRST;

    while (high < SEARCH_LAST && fits(a, worlds, high)) {
        low = high;
        high *= 2;
    }
    while (low > 0 && high - low > low / SEARCH_NEAR) {
        uint32_t middle = low + (high - low) / 2;

        if (fits(a, worlds, middle))
            low = middle;
        else
            high = middle;
    }
    return low;
}

static void search(const struct cluster_args *a)
{
    uint32_t one = most(a, 1), two = most(a, 2);
    const char *fmt =
        a->json ? "{\"bench\":\"cluster\",\"program\":\"most\",\"neighbours\":%g,"
                  "\"budget_ms\":%g,\"worlds_1\":%u,\"worlds_2\":%u,\"ratio\":%.3f,\"runs\":%llu}\n"
                : "cluster most players K=%g whose tick takes at most %g ms, median: one world "
                  "%u, two %u, ratio %.2f  runs %llu\n";

    printf(fmt, a->neighbours, (double)a->budget_ns / 1e6, one, two,
           one > 0 ? (double)two / one : 0, (unsigned long long)a->runs);
}

/* "1000,2000": their number; 0: it is no such list. */
static size_t sizes_parse(const char *text, uint32_t out[SIZES_MAX])
{
    size_t n = 0;

    while (n < SIZES_MAX) {
        char *end;
        unsigned long v = strtoul(text, &end, 10);

        if (end == text || v < 2 || v > SEARCH_LAST)
            return 0;
        out[n++] = (uint32_t)v;
        if (*end == '\0')
            return n;
        if (*end != ',')
            return 0;
        text = end + 1;
    }
    return 0;
}

static const struct opt table[] = {
    {.name = "players",
     .type = OPT_TEXT,
     .offset = offsetof(struct cluster_args, players),
     .def = "1000,2000,4000,8000",
     .unit = "",
     .help = "Players of each pair of rows"},
    {.name = "neighbours",
     .type = OPT_REAL,
     .offset = offsetof(struct cluster_args, neighbours),
     .def = "50",
     .unit = "",
     .min = 0.001,
     .max = 1000,
     .help = "Others within the radius, on average"},
    {.name = "ticks",
     .type = OPT_UINT,
     .offset = offsetof(struct cluster_args, ticks),
     .def = "200",
     .unit = "",
     .min = 1,
     .max = 1e6,
     .help = "Ticks that are measured"},
    {.name = "budget",
     .type = OPT_DURATION,
     .offset = offsetof(struct cluster_args, budget_ns),
     .def = "5ms",
     .unit = "ms",
     .min = 0.01,
     .max = 1000,
     .zero_off = true,
     .help = "Look for the most players whose median tick takes no longer"},
    {.name = "runs",
     .type = OPT_UINT,
     .offset = offsetof(struct cluster_args, runs),
     .def = "3",
     .unit = "",
     .min = 1,
     .max = RUNS_MAX,
     .help = "Runs of each, one world and two by turns; the median counts"},
    {.name = "seed",
     .type = OPT_UINT,
     .offset = offsetof(struct cluster_args, seed),
     .def = "1",
     .unit = "",
     .help = "Seed of the walks"},
    {.name = "json",
     .type = OPT_BOOL,
     .offset = offsetof(struct cluster_args, json),
     .def = "false",
     .unit = "",
     .help = "One JSON object a row"},
};

int ways_cluster(int argc, char **argv)
{
    uint32_t sizes[SIZES_MAX];
    struct cluster_args a;
    struct opts *o;
    size_t n_sizes;
    int status = 0;

    if (!bench_parse(table, ARRAY_LEN(table), &a, argc, argv, &o, &status))
        return status;
    n_sizes = sizes_parse(a.players, sizes);
    if (n_sizes == 0) {
        fprintf(stderr, "bench: -players: \"%s\": must be numbers from 2 to %d with commas\n",
                a.players, SEARCH_LAST);
        status = 2;
    } else {
        rows(&a, sizes, n_sizes);
        if (a.budget_ns != 0)
            search(&a);
    }
    opts_destroy(o);
    return status;
}
