/* tests/bench/bench_load.c: `bin/bench load`: world, gateway and bots, beside the least that could.
 * May touch: common/opts, load_run. On trouble: one line on standard error and exit status 1.
 */
#include "tests/bench/bench_load.h"

#include "common/opts.h"
#include "tests/bench/bench.h"
#include "tests/bench/load_run.h"

#include <stdlib.h>
#include <string.h>

#define RUNS_MAX 100

#define FIELD(f) offsetof(struct load_args, f)

/* clang-format off */
static const struct opt load_opts[] = {
    {.name = "players", .type = OPT_TEXT, .offset = FIELD(players), .def = "1000,2500,5000",
     .unit = "", .help = "how many, one run each"},
    {.name = "spread", .type = OPT_CHOICE, .offset = FIELD(spread), .def = "groups", .unit = "",
     .choices = "groups|square", .help = "many squares, or one for all"},
    {.name = "in-sight", .type = OPT_REAL, .offset = FIELD(in_sight), .def = "20", .unit = "players",
     .min = 0.1, .max = 100000, .help = "how many others each should see in its square"},
    {.name = "rate", .type = OPT_REAL, .offset = FIELD(rate), .def = "10", .unit = "moves/s",
     .min = 0.01, .max = 1000, .help = "moves a second of each"},
    {.name = "seconds", .type = OPT_REAL, .offset = FIELD(seconds), .def = "10", .unit = "s",
     .min = 1, .max = 86400, .help = "how long they walk"},
    {.name = "login-rate", .type = OPT_REAL, .offset = FIELD(login_rate), .def = "1500",
     .unit = "logins/s", .min = 1, .max = 1e6, .help = "how fast they come in"},
    {.name = "runs", .type = OPT_UINT, .offset = FIELD(runs), .def = "1", .unit = "", .min = 1,
     .max = RUNS_MAX, .help = "runs of each, interleaved; medians are shown"},
    {.name = "answers", .type = OPT_BOOL, .offset = FIELD(answers), .def = "false", .unit = "",
     .help = "also a limit that answers each move at once, as the protocol asks"},
    {.name = "bin", .type = OPT_TEXT, .offset = FIELD(bin), .def = "", .unit = "",
     .help = "folder of the aegis and bot to measure; by default those beside this program"},
    {.name = "seed", .type = OPT_UINT, .offset = FIELD(seed), .def = "7", .unit = "", .min = 1,
     .max = 1e9, .help = "of the walks"},
    {.name = "json", .type = OPT_BOOL, .offset = FIELD(json), .def = "false", .unit = "",
     .help = "one JSON object a row"},
};
/* clang-format on */

static const struct {
    const char *name, *unit;
    size_t offset;
} figures[] = {
#define FIGURE(name, unit) {#name, unit, offsetof(struct load_figures, name)},
    LOAD_FIGURES(FIGURE)
#undef FIGURE
};

/* The limit's world has no metrics, and its clients compare nothing. */
static bool is_known(int kind, size_t figure)
{
    return kind == LOAD_AEGIS ||
           figures[figure].offset < offsetof(struct load_figures, tick_p50_us);
}

static bool is_asked(int kind, const struct load_args *a)
{
    return kind != LOAD_LIMIT_ANSWERS || a->answers;
}

struct spread {
    double median, least, most;
};

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Sorts them; n > 0. */
static struct spread spread_of_values(double *v, uint64_t n)
{
    qsort(v, n, sizeof(*v), compare);
    return (struct spread){n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2, v[0], v[n - 1]};
}

static struct spread spread_of(const struct load_figures *runs, uint64_t n, size_t figure)
{
    double v[RUNS_MAX];

    for (uint64_t r = 0; r < n; r++)
        memcpy(&v[r], (const char *)&runs[r] + figures[figure].offset, sizeof(v[r]));
    return spread_of_values(v, n);
}

static struct load_figures runs_of[LOAD_KINDS][RUNS_MAX];

/* Of the rounds' own ratios: what disturbs one program disturbs the next too. */
static struct spread ratio_to(enum load_kind kind, const struct load_args *a)
{
    double v[RUNS_MAX];

    for (uint64_t r = 0; r < a->runs; r++)
        v[r] = runs_of[kind][r].ns_per_update / runs_of[LOAD_LIMIT][r].ns_per_update;
    return spread_of_values(v, a->runs);
}

static void print_json(const struct load_args *a, uint64_t players)
{
    for (int k = 0; k < LOAD_KINDS; k++) {
        if (!is_asked(k, a))
            continue;
        struct spread ratio = ratio_to((enum load_kind)k, a);
        printf("{\"bench\":\"load\",\"program\":\"%s\",\"players\":%llu,\"runs\":%llu",
               load_kind_names[k], (unsigned long long)players, (unsigned long long)a->runs);
        for (size_t f = 0; f < ARRAY_LEN(figures); f++) {
            struct spread s = spread_of(runs_of[k], a->runs, f);
            if (!is_known(k, f))
                continue;
            printf(",\"%s\":%.4g,\"%s_spread\":[%.4g,%.4g]", figures[f].name, s.median,
                   figures[f].name, s.least, s.most);
        }
        printf(",\"ratio_to_limit\":%.3f,\"ratio_spread\":[%.3f,%.3f]}\n", ratio.median,
               ratio.least, ratio.most);
    }
}

static void print_table(const struct load_args *a, uint64_t players)
{
    printf("load %llu players, %llu run(s) of %g s: median (least to most)\n",
           (unsigned long long)players, (unsigned long long)a->runs, a->seconds);
    printf("  %-20s", "");
    for (int k = 0; k < LOAD_KINDS; k++) {
        if (is_asked(k, a))
            printf(" %31s", load_kind_names[k]);
    }
    printf("\n");
    for (size_t f = 0; f < ARRAY_LEN(figures); f++) {
        printf("  %-20s", figures[f].name);
        for (int k = 0; k < LOAD_KINDS; k++) {
            struct spread s = spread_of(runs_of[k], a->runs, f);
            if (is_asked(k, a) && is_known(k, f))
                printf(" %9.4g (%8.4g to %8.4g)", s.median, s.least, s.most);
            else if (is_asked(k, a))
                printf(" %31s", "");
        }
        printf("  %s\n", figures[f].unit);
    }
    for (int k = 0; k < LOAD_KINDS; k++) {
        struct spread ratio = ratio_to((enum load_kind)k, a);
        if (k != LOAD_LIMIT && is_asked(k, a))
            printf("  %s: %.2f x the limit's ns_per_update (%.2f to %.2f)\n", load_kind_names[k],
                   ratio.median, ratio.least, ratio.most);
    }
}

static bool measure(const struct load_args *a, uint64_t players)
{
    for (uint64_t r = 0; r < a->runs; r++) {
        for (int i = 0; i < LOAD_KINDS; i++) {
            /* Who comes first changes each time. */
            int k = r % 2 ? LOAD_KINDS - 1 - i : i;
            if (!is_asked(k, a))
                continue;
            if (!load_run((enum load_kind)k, a, players, &runs_of[k][r]))
                return false;
        }
    }
    if (a->json)
        print_json(a, players);
    else
        print_table(a, players);
    fflush(stdout);
    return true;
}

static int measure_all(const struct load_args *a)
{
    bool broken = false;

    for (const char *at = a->players; *at != '\0';) {
        char *end;
        uint64_t players = strtoull(at, &end, 10);
        if (end == at || players == 0 || (*end != ',' && *end != '\0')) {
            fprintf(stderr, "bench: -players: \"%s\": must be numbers with commas between\n",
                    a->players);
            return 2;
        }
        if (!measure(a, players))
            return 1;
        for (uint64_t r = 0; r < a->runs; r++)
            broken |= runs_of[LOAD_AEGIS][r].breaches > 0;
        at = *end == ',' ? end + 1 : end;
    }
    return broken ? 1 : 0;
}

int bench_load(int argc, char **argv)
{
    struct load_args a;
    struct opts *o;
    int status;

    if (bench_parse(load_opts, ARRAY_LEN(load_opts), &a, argc, argv, &o, &status)) {
        status = measure_all(&a);
        opts_destroy(o);
    }
    return status;
}
