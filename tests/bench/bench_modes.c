/* tests/bench/bench_modes.c: what sight costs and sends in each of its modes, and a say in a crowd.
 * Two crowds that flood an exact world: `tiers` walks the hotspot, `crowd` a mass in which
 * everybody sees everybody. A round measures each mode in a world of its own, one after the other,
 * with the same walks; the table has medians over the rounds, and ratios to the exact mode of the
 * same radius, each taken within a round. Bytes are what clients get, frame heads included; looking
 * at them is taken off the time. May touch: the core, proto/link. On trouble: one line on standard
 * error and exit 1.
 */
#include "tests/bench/modes.h"

#include "common/clock.h"
#include "proto/frame.h"
#include "proto/link.h"
#include "tests/bench/bench.h"
#include "tests/bench/core_rig.h"
#include "world/command/inbox.h"

#include <stdlib.h>
#include <string.h>

#define RUNS_MAX   100
#define MODES_MAX  16
#define SAYS       100 /* of one round of talk */
#define TICK_GROUP 20  /* ticks after which each mode has done all it does */

struct modes_args {
    uint64_t n, ticks, seed, runs;
    double neighbours;
    const char *only;
    bool json;
};

struct mode {
    const char *name;
    double radius; /* units; of the exact modes, and where there are no tiers */
    const char *tiers;
    uint64_t refresh, max, bytes;
    uint32_t exact; /* index of the exact mode it is held against */
};

static const struct mode modes[] = {
    {"plain-30", 30, NULL, 1, 0, 0, 0},
    {"plain-240", 240, NULL, 1, 0, 0, 1},
    {"tiers", 30, "30:1,100:4,240:20", 1, 0, 0, 1},
    {"refresh-20", 30, NULL, 20, 0, 0, 0},
    {"max-50", 30, NULL, 1, 50, 0, 0},
    {"bytes-1200", 30, NULL, 1, 0, 1200, 0},
};

/* What one round found of a mode. */
struct found {
    double ms, worst_ms;              /* a tick */
    double bytes;                     /* a viewer and tick */
    double known;                     /* a viewer */
    double told;                      /* records, adds and removes a viewer and tick */
    double ns_known;                  /* a pair that is known */
    double age_p50, age_p99, age_max; /* ticks */
};

struct row {
    struct found round[RUNS_MAX];
    size_t n;
};

/* What clients got. */
struct ear {
    uint64_t bytes;
    int64_t ns; /* spent on looking */
};

/* --- one mode, one round ----------------------------------------------------------------------
 */

static void hear(void *arg, struct span frames)
{
    struct ear *ear = arg;
    const int64_t from = core_rig_cpu_ns();

    while (frames.n > 0) {
        struct link_frame f;
        struct span body;
        size_t used;

        if (frame_split(frames, LINK_FRAME_MAX, &body, &used) != 0 || link_read(body, &f) != 0) {
            fprintf(stderr, "bench: the world sent what is no link frame\n");
            exit(1);
        }
        for (uint32_t i = 0; i < f.n_bodies; i++)
            ear->bytes += (FRAME_HEAD + f.bodies[i].n) * (f.n_sessions > 0 ? f.n_sessions : 1);
        frames = span_of(frames.p + used, frames.n - used);
    }
    ear->ns += core_rig_cpu_ns() - from;
}

static void open_world(struct core_rig *rig, const struct mode *m, const struct modes_args *a,
                       double side)
{
    struct world_config c = core_rig_config((uint32_t)a->n, side, a->seed);

    c.aoi_radius = m->radius;
    c.aoi_tiers = m->tiers;
    c.aoi_refresh = m->refresh;
    c.aoi_max = m->max;
    c.viewer_bytes = m->bytes;
    core_rig_open(rig, &c);
    core_rig_populate(rig, (uint32_t)a->n);
}

/* All ages of the ticks that were measured, whatever their tiers. */
static void ages_since(const struct world *w, const struct hist before[AGES_TIERS],
                       struct found *out)
{
    static struct hist all, one;

    hist_clear(&all);
    for (uint32_t i = 0; i < world_tiers(w); i++) {
        hist_since(&w->ages.told[i], &before[i], &one);
        hist_merge(&all, &one);
    }
    out->age_p50 = (double)hist_quantile(&all, 0.5);
    out->age_p99 = (double)hist_quantile(&all, 0.99);
    out->age_max = (double)all.max;
}

static uint64_t told(const struct world *w)
{
    return w->metrics.aoi_adds + w->metrics.aoi_removes + w->metrics.aoi_moves;
}

static struct found measure(const struct mode *m, const struct modes_args *a,
                            enum workload_kind kind)
{
    static struct hist ages[AGES_TIERS];
    const uint32_t n = (uint32_t)a->n;
    const double all = (double)a->ticks * (double)n;
    struct found found = {0};
    struct workload load;
    struct core_rig rig;
    struct ear ear = {0};
    uint64_t bytes = 0, told_before = 0;
    int64_t sum = 0, worst = 0;

    workload_init(&load, kind, n, a->neighbours, a->seed);
    open_world(&rig, m, a, load.side);
    rig.look = hear;
    rig.look_arg = &ear;
    for (uint64_t t = 0; t < WORKLOAD_WARM_UP + a->ticks; t++) {
        int64_t from, took;

        if (t == WORKLOAD_WARM_UP) {
            bytes = ear.bytes;
            told_before = told(rig.world);
            memcpy(ages, rig.world->ages.told, sizeof(ages));
        }
        workload_step(&load, n);
        core_rig_place(&rig, &load, n);
        from = core_rig_cpu_ns() - ear.ns;
        core_rig_tick(&rig);
        took = core_rig_cpu_ns() - ear.ns - from;
        if (t < WORKLOAD_WARM_UP)
            continue;
        sum += took;
        worst = took > worst ? took : worst;
        found.known += (double)(world_known(rig.world)) / all;
    }
    found.ms = (double)sum / (double)a->ticks / 1e6;
    found.worst_ms = (double)worst / 1e6;
    found.bytes = (double)(ear.bytes - bytes) / all;
    found.told = (double)(told(rig.world) - told_before) / all;
    found.ns_known = found.known > 0 ? (double)sum / (found.known * all) : 0;
    ages_since(rig.world, ages, &found);
    core_rig_fini(&rig);
    workload_fini(&load);
    return found;
}

/* --- the table ---------------------------------------------------------------------------------
 */

typedef double pick_fn(const struct found *f);

static double pick_ms(const struct found *f)
{
    return f->ms;
}

static double pick_worst(const struct found *f)
{
    return f->worst_ms;
}

static double pick_bytes(const struct found *f)
{
    return f->bytes;
}

static double pick_known(const struct found *f)
{
    return f->known;
}

static double pick_told(const struct found *f)
{
    return f->told;
}

static double pick_ns(const struct found *f)
{
    return f->ns_known;
}

static double median_of(const struct row *r, pick_fn *pick)
{
    double values[RUNS_MAX];

    for (size_t i = 0; i < r->n; i++)
        values[i] = pick(&r->round[i]);
    return bench_median(values, r->n);
}

/* 0: the exact mode was left out. */
static double ratio_of(const struct row *r, const struct row *exact, pick_fn *pick)
{
    double values[RUNS_MAX];

    if (exact->n < r->n)
        return 0;
    for (size_t i = 0; i < r->n; i++)
        values[i] = pick(&exact->round[i]) > 0 ? pick(&r->round[i]) / pick(&exact->round[i]) : 0;
    return bench_median(values, r->n);
}

static void print_row(const char *bench, const struct modes_args *a, const struct mode *m,
                      const struct row *r, const struct row *exact)
{
    const struct found *last = &r->round[r->n - 1]; /* ages are the same in each round */
    const char *fmt =
        a->json
            ? "{\"bench\":\"%s\",\"program\":\"%s\",\"n\":%llu,\"ms_per_tick\":%.3f,"
              "\"ratio_ms\":%.3f,\"worst_ms\":%.3f,\"bytes_per_viewer\":%.1f,\"ratio_bytes\":%.4f,"
              "\"known_per_viewer\":%.1f,\"told_per_viewer\":%.2f,\"ns_per_known_pair\":%.2f,"
              "\"age_p50_ticks\":%.0f,\"age_p99_ticks\":%.0f,\"age_max_ticks\":%.0f,"
              "\"runs\":%zu}\n"
            : "%s %-11s n=%-6llu %8.2f ms %5.2f x  worst %8.2f  %9.1f B/viewer %6.3f x  knows "
              "%7.1f  told %8.2f  %6.2f ns/pair  age %2.0f %2.0f %2.0f  (%zu)\n";

    printf(fmt, bench, m->name, (unsigned long long)a->n, median_of(r, pick_ms),
           ratio_of(r, exact, pick_ms), median_of(r, pick_worst), median_of(r, pick_bytes),
           ratio_of(r, exact, pick_bytes), median_of(r, pick_known), median_of(r, pick_told),
           median_of(r, pick_ns), last->age_p50, last->age_p99, last->age_max, r->n);
    fflush(stdout);
}

static int run_modes(const char *bench, const struct modes_args *a, enum workload_kind kind)
{
    static struct row rows[MODES_MAX];

    memset(rows, 0, sizeof(rows));
    for (uint64_t run = 0; run < a->runs; run++) {
        for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
            if (strstr(modes[i].name, a->only))
                rows[i].round[rows[i].n++] = measure(&modes[i], a, kind);
        }
    }
    if (!a->json)
        printf("%s %s: ms a tick, bytes a viewer and tick, each beside plain of that radius; age "
               "p50, p99 and most, ticks; (runs)\n",
               bench, workload_kind_name(kind));
    for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
        if (rows[i].n > 0)
            print_row(bench, a, &modes[i], &rows[i], &rows[modes[i].exact]);
    }
    return 0;
}

/* --- a say --------------------------------------------------------------------------------------
 */

/* One says something to all of a mass, SAYS times. */
static void talk(const struct modes_args *a)
{
    const struct mode *plain = &modes[0];
    struct message say = {.cmd = CMD_SAY_REQ, .seq = 2};
    double ns[SAYS];
    struct workload load;
    struct core_rig rig;
    uint64_t heard, bytes;

    workload_init(&load, WORKLOAD_MASS, (uint32_t)a->n, a->neighbours, a->seed);
    open_world(&rig, plain, a, load.side);
    for (int t = 0; t < 2; t++) {
        core_rig_place(&rig, &load, (uint32_t)a->n);
        core_rig_tick(&rig);
    }
    heard = rig.world->metrics.say_notifies;
    bytes = rig.bytes;
    say.say_req.text = span_text("what a crowd");
    for (uint64_t i = 0; i < SAYS; i++) {
        const int64_t from = core_rig_cpu_ns();

        core_rig_request(&rig, 1 + i % a->n, &say);
        outbox_flush(&rig.world->outbox);
        ns[i] = (double)(core_rig_cpu_ns() - from);
    }
    heard = rig.world->metrics.say_notifies - heard;
    printf(a->json ? "{\"bench\":\"say\",\"program\":\"aegis\",\"n\":%llu,\"us_per_say\":%.2f,"
                     "\"ns_per_receiver\":%.2f,\"link_bytes_per_say\":%.0f,\"runs\":1}\n"
                   : "say n=%-6llu %8.2f us a say  %6.2f ns a receiver  %.0f B on the link\n",
           (unsigned long long)a->n, bench_median(ns, SAYS) / 1000,
           heard > 0 ? bench_median(ns, SAYS) * SAYS / (double)heard : 0,
           (double)(rig.bytes - bytes) / SAYS);
    core_rig_fini(&rig);
    workload_fini(&load);
}

/* --- doors --------------------------------------------------------------------------------------
 */

#define FIELD(f) offsetof(struct modes_args, f)

/* clang-format off */
#define MODES_OPTS(entities)                                                                       \
    {.name = "n", .type = OPT_UINT, .offset = FIELD(n), .def = entities, .unit = "", .min = 2,     \
     .max = 100000, .help = "Entities"},                                                           \
    {.name = "neighbours", .type = OPT_REAL, .offset = FIELD(neighbours), .def = "50",             \
     .unit = "", .min = 0.001, .max = 100000, .help = "Others within 30 units, on average"},       \
    {.name = "ticks", .type = OPT_UINT, .offset = FIELD(ticks), .def = "40", .unit = "",           \
     .min = TICK_GROUP, .max = 100000, .help = "Ticks that are measured; twenty times so many"},   \
    {.name = "seed", .type = OPT_UINT, .offset = FIELD(seed), .def = "1", .unit = "",              \
     .zero_off = true, .help = "Seed of the walks"},                                               \
    {.name = "runs", .type = OPT_UINT, .offset = FIELD(runs), .def = "3", .unit = "", .min = 1,    \
     .max = RUNS_MAX, .help = "Rounds; the medians count"},                                        \
    {.name = "only", .type = OPT_TEXT, .offset = FIELD(only), .def = "", .unit = "",               \
     .help = "Modes whose name has this in it"},                                                   \
    {.name = "json", .type = OPT_BOOL, .offset = FIELD(json), .def = "false", .unit = "",          \
     .help = "One JSON object a row"}
/* clang-format on */

static int parse_and_run(const struct opt *table, size_t n, const char *bench,
                         enum workload_kind kind, int argc, char **argv)
{
    struct modes_args a;
    struct opts *o;
    int status;

    if (!bench_parse(table, n, &a, argc, argv, &o, &status))
        return status;
    status = run_modes(bench, &a, kind);
    if (kind == WORKLOAD_MASS)
        talk(&a);
    opts_destroy(o);
    return status;
}

int modes_tiers(int argc, char **argv)
{
    static const struct opt table[] = {MODES_OPTS("10000")};

    return parse_and_run(table, ARRAY_LEN(table), "tiers", WORKLOAD_HOTSPOT, argc, argv);
}

int modes_crowd(int argc, char **argv)
{
    static const struct opt table[] = {MODES_OPTS("1000")};

    return parse_and_run(table, ARRAY_LEN(table), "crowd", WORKLOAD_MASS, argc, argv);
}

int modes_short(void)
{
    struct modes_args a = {
        .n = 2000, .ticks = TICK_GROUP, .seed = 1, .runs = 1, .neighbours = 50, .only = ""};
    int status = run_modes("tiers", &a, WORKLOAD_HOTSPOT);

    a.n = 300;
    if (status == 0)
        status = run_modes("crowd", &a, WORKLOAD_MASS);
    if (status == 0)
        talk(&a);
    return status;
}
