/* tests/bench/gate.c: flags and rounds of the gateway's benchmarks.
 * May touch: common/opts, rival, tally. On trouble: see gate.h.
 */
#include "tests/bench/gate.h"

#include "common/io/net.h"
#include "common/opts.h"
#include "tests/bench/bench.h"

#include <stdlib.h>

#define SHORT_FILES 2000 /* descriptors with which the short run has all its clients */

#define FIELD(f) offsetof(struct gate_args, f)

/* clang-format off */
static const struct opt gate_opts[] = {
    {.name = "n", .type = OPT_UINT, .offset = FIELD(n), .def = "0", .unit = "", .min = 1,
     .max = 1000000, .zero_off = true,
     .help = "clients; 0 is 5000 for fanout and idle, 1000 for forward"},
    {.name = "ticks", .type = OPT_UINT, .offset = FIELD(ticks), .def = "40", .unit = "", .min = 1,
     .max = 1000000, .help = "fanout: ticks of 50 ms that are measured in a round"},
    {.name = "seconds", .type = OPT_REAL, .offset = FIELD(seconds), .def = "2", .unit = "s",
     .min = 0.01, .max = 3600, .help = "forward: how long a round measures"},
    {.name = "pipeline", .type = OPT_UINT, .offset = FIELD(pipeline), .def = "0", .unit = "",
     .min = 1, .max = 64, .zero_off = true,
     .help = "forward: requests of one client under way; 0 is 1, then 8"},
    {.name = "runs", .type = OPT_UINT, .offset = FIELD(runs), .def = "5", .unit = "", .min = 1,
     .max = TALLY_ROUNDS_MAX, .help = "rounds, in each of which every program has its turn"},
    {.name = "only", .type = OPT_TEXT, .offset = FIELD(only), .def = "", .unit = "",
     .help = "measure these programs alone, split by commas"},
    {.name = "other", .type = OPT_TEXT, .offset = FIELD(other), .def = "", .unit = "",
     .help = "path of another aegis, measured too"},
    {.name = "flags", .type = OPT_TEXT, .offset = FIELD(flags), .def = "", .unit = "",
     .help = "more flags for the gateway, split at blanks"},
    {.name = "json", .type = OPT_BOOL, .offset = FIELD(json), .def = "false", .unit = "",
     .help = "one JSON object a row"},
};
/* clang-format on */

static int run(int (*bench)(const struct gate_args *), int argc, char **argv)
{
    struct gate_args a;
    struct opts *o;
    int status;

    if (bench_parse(gate_opts, ARRAY_LEN(gate_opts), &a, argc, argv, &o, &status)) {
        status = bench(&a);
        opts_destroy(o);
    }
    return status;
}

int gate_fanout(int argc, char **argv)
{
    return run(bench_fanout, argc, argv);
}

int gate_forward(int argc, char **argv)
{
    return run(bench_forward, argc, argv);
}

int gate_idle(int argc, char **argv)
{
    return run(bench_idle, argc, argv);
}

int gate_short(void)
{
    const struct gate_args a = {.n = net_raise_descriptors() < SHORT_FILES ? 100 : 500,
                                .ticks = 10,
                                .seconds = 0.4,
                                .runs = 1,
                                .only = "",
                                .other = "",
                                .flags = ""};
    int status = bench_fanout(&a);

    if (status == 0)
        status = bench_forward(&a);
    return status == 0 ? bench_idle(&a) : status;
}

/* --- rounds ------------------------------------------------------------------------------------
 */

#define SPARE_FILES 64 /* listeners, pipes, logs */

/* Is it asked for? The limit always is. */
static bool wanted(const struct rival *rival, const struct gate_args *a)
{
    const char *at = a->only;
    size_t n = strlen(rival->name);

    if (rival == &rival_other && a->other[0] == '\0')
        return false;
    if (a->only[0] == '\0')
        return true;
    for (; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        if (strncmp(at, rival->name, n) == 0 && (at[n] == '\0' || at[n] == ','))
            return true;
    }
    return false;
}

static bool enough_files(const struct gate_job *job, bool *together)
{
    const uint64_t have = net_raise_descriptors();

    *together = !job->alone && have >= 2 * job->files + SPARE_FILES;
    if (have >= job->files + SPARE_FILES)
        return true;
    fprintf(stderr,
            "bench: %s: needs %llu descriptors, and %llu is the most here (ulimit -Hn): "
            "ask for fewer clients with -n\n",
            job->bench, (unsigned long long)(job->files + SPARE_FILES), (unsigned long long)have);
    return false;
}

/* One round of one program beside the limit; `values`: of the limit, of the program. */
static void measure_pair(const struct gate_job *job, const struct rival *limit,
                         const struct rival *rival, bool together, double values[2])
{
    const struct rival *const pair[2] = {limit, rival};

    for (unsigned s = 0; s < 2; s++) {
        job->open(job->arg, s, pair[s]);
        for (uint64_t k = 0; !together && k < job->slices; k++)
            job->slice(job->arg, s, k);
        if (!together)
            values[s] = job->close(job->arg, s);
    }
    if (!together)
        return;
    /* Who comes first changes each time. */
    for (uint64_t k = 0; k < job->slices; k++) {
        job->slice(job->arg, k & 1, k);
        job->slice(job->arg, !(k & 1), k);
    }
    for (unsigned s = 0; s < 2; s++)
        values[s] = job->close(job->arg, s);
}

/* Is it here, and of use? Says so where not. */
static bool is_there(const struct rival *rival, const struct gate_args *a)
{
    char path[1024];

    if (!rival_find(rival, a, path, sizeof(path))) {
        fprintf(stderr, "bench: %s: %s\n", rival->name, rival->missing);
        return false;
    }
    if (rival_foreign(rival) && !rig_try(rival, a)) {
        fprintf(stderr, "bench: %s: does not start here, left out\n", rival->name);
        return false;
    }
    return true;
}

bool gate_measure(const struct gate_args *a, const struct gate_job *job,
                  const struct rival *const *rivals, size_t n, struct tally *rows)
{
    bool there[16] = {false}, together;

    ASSERT(n <= ARRAY_LEN(there));
    if (!enough_files(job, &together))
        return false;
    child_pin(child_cores().others);
    for (size_t i = 0; i < n; i++) {
        rows[i] = (struct tally){.program = rivals[i]->name};
        there[i] = (i == 0 || wanted(rivals[i], a)) && is_there(rivals[i], a);
    }
    if (!there[0])
        return false;
    for (uint64_t r = 0; r < a->runs; r++) {
        bool any = false;
        double values[2];

        for (size_t i = 1; i < n; i++) {
            if (!there[i])
                continue;
            measure_pair(job, rivals[0], rivals[i], together, values);
            tally_add(&rows[0], values[0], values[0]);
            tally_add(&rows[i], values[1], values[0]);
            any = true;
        }
        if (any)
            continue;
        measure_pair(job, rivals[0], rivals[0], together, values);
        tally_add(&rows[0], values[1], values[0]);
    }
    return true;
}
