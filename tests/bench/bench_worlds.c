/* tests/bench/bench_worlds.c: the same players at one world, and at two of a cluster, as processes:
 * `bin/bench worlds`.
 * A world alone behind a gateway; then nats-server, two worlds of one zone each, and a gateway that
 * finds them there. Players come in all over a square that is as crowded however many they are, and
 * walk about where they came in, ten moves a second each. What counts is processor time: that of a
 * world has all in it, the thread that speaks with NATS too. The first world is on a core of its
 * own, everything else on the other.
 * May touch: tests/bench/child, load_ticks, files under TMPDIR. On trouble: one line on standard
 * error and exit 1, also where the contract was broken; where nats-server is not installed, a word,
 * and only the first row.
 */
#include "tests/bench/bench.h"
#include "tests/bench/child.h"
#include "tests/bench/load_ticks.h"
#include "tests/bench/ways.h"

#include "common/clock.h"
#include "common/io/net.h"

#include <ftw.h>
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RADIUS     30.0 /* units, the worlds' -aoi-radius */
#define LOOK_MS    20
#define PATIENCE_S 120
#define LOG_MAX    (1 << 20)
#define RUNS_MAX   100

struct worlds_args {
    uint64_t players, runs, seed;
    double neighbours, seconds;
    bool json;
};

enum { NATS, WORLD, OTHER, GATEWAY, BOTS, CHILDREN };

struct stage {
    struct child child[CHILDREN];
    char admin[2][128]; /* of the worlds */
    uint32_t worlds;
    char folder[256]; /* of nats-server; "": none */
    char *log;        /* [LOG_MAX] of the bots */
};

/* What is known at one moment. */
struct mark {
    int64_t at_ns, cpu_ns[CHILDREN];
    struct load_ticks ticks[2];
};

struct figures {
    double world, other, nats, gateway; /* shares of a core */
    double ghosts;                      /* a world, at the end */
    double handed, border_bytes;        /* a second, of both */
    double moves;                       /* a second, of all players */
    double us_per_move;                 /* of the worlds */
    double breaches;
};

/* --- starting --------------------------------------------------------------------------------- */

static int drop(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st;
    (void)kind;
    (void)at;
    return remove(path);
}

static void stage_end(struct stage *s)
{
    for (int i = CHILDREN; i-- > 0;)
        child_end(&s->child[i]);
    if (s->folder[0] != '\0')
        nftw(s->folder, drop, 16, FTW_DEPTH | FTW_PHYS);
    free(s->log);
}

static bool start_nats(struct stage *s, const char *path, int core)
{
    const char *tmp = getenv("TMPDIR");
    struct child *c = &s->child[NATS];

    snprintf(s->folder, sizeof(s->folder), "%s/bench-nats-XXXXXX", tmp ? tmp : "/tmp");
    if (!mkdtemp(s->folder)) {
        s->folder[0] = '\0';
        return false;
    }
    return child_start(c,
                       (const char *const[]){path, "-a", "127.0.0.1", "-p", "-1", "-js", "-sd",
                                             s->folder, NULL},
                       core) &&
           child_await_addr(c, "Listening for client connections on");
}

static bool start_world(struct stage *s, uint32_t i, const char *side, const char *url, int core)
{
    struct child *c = &s->child[WORLD + i];
    char aegis[1024], bounds[80], id[16];

    child_beside("aegis", aegis, sizeof(aegis));
    snprintf(bounds, sizeof(bounds), "0,0,%s,%s", side, side);
    snprintf(id, sizeof(id), "world-%u", i);
    const char *const argv[] = {aegis,
                                "-role=world",
                                "-listen",
                                "127.0.0.1:0",
                                "-admin",
                                "127.0.0.1:0",
                                "-bounds",
                                bounds,
                                "-spawn",
                                "uniform",
                                url ? "-cluster" : NULL,
                                url,
                                "-world-id",
                                id,
                                "-zones",
                                "2x1",
                                NULL};
    if (!child_start(c, argv, core) || !child_await_addr(c, "admin on"))
        return false;
    _Static_assert(sizeof(s->admin[i]) == sizeof(c->addr), "copied as it is");
    memcpy(s->admin[i], c->addr, sizeof(c->addr));
    return child_await_addr(c, "listening on");
}

/* Until each has its zone. */
static bool await_zones(struct stage *s)
{
    const struct mono end = clock_add(clock_mono(), PATIENCE_S * CLOCK_NS_PER_S);
    struct load_ticks t[2];

    do {
        poll(NULL, 0, LOOK_MS);
        if (load_ticks_read(s->admin[0], &t[0]) && load_ticks_read(s->admin[1], &t[1]) &&
            t[0].zones > 0 && t[1].zones > 0 && t[0].zones + t[1].zones == 2)
            return true;
    } while (clock_since(end, clock_mono()) > 0);
    fprintf(stderr, "bench: the worlds did not take a zone each\n");
    child_show_log(&s->child[WORLD]);
    child_show_log(&s->child[OTHER]);
    return false;
}

static bool start_servers(struct stage *s, const struct worlds_args *a, const char *nats)
{
    struct child_cores cores = child_cores();
    double side = sqrt((double)a->players * 3.14159265358979 * RADIUS * RADIUS / a->neighbours);
    char aegis[1024], text[32], url[160], most[32];

    snprintf(text, sizeof(text), "%.0f", side);
    snprintf(most, sizeof(most), "%llu", (unsigned long long)a->players + 1000);
    child_beside("aegis", aegis, sizeof(aegis));
    if (nats && !start_nats(s, nats, cores.others))
        return false;
    snprintf(url, sizeof(url), "nats://%s", s->child[NATS].addr);
    if (!start_world(s, 0, text, nats ? url : NULL, cores.measured))
        return false;
    if (nats && (!start_world(s, 1, text, url, cores.others) || !await_zones(s)))
        return false;
    const char *const argv[] = {aegis,
                                "-role=gateway",
                                "-listen",
                                "127.0.0.1:0",
                                "-max-clients",
                                most,
                                nats ? "-cluster" : "-upstream",
                                nats ? url : s->child[WORLD].addr,
                                NULL};
    return child_start(&s->child[GATEWAY], argv, cores.others) &&
           child_await_addr(&s->child[GATEWAY], "listening on");
}

static bool start_bots(struct stage *s, const struct worlds_args *a)
{
    char bot[1024], n[32], seconds[32], seed[32];

    child_beside("bot", bot, sizeof(bot));
    snprintf(n, sizeof(n), "%llu", (unsigned long long)a->players);
    snprintf(seconds, sizeof(seconds), "%g", a->seconds);
    snprintf(seed, sizeof(seed), "%llu", (unsigned long long)a->seed);
    const char *const argv[] = {
        bot,     "-mode=load", "-addr", s->child[GATEWAY].addr, "-n",   n,   "-seconds", seconds,
        "-seed", seed,         "-json", "-login-rate",          "1000", NULL};
    return child_start(&s->child[BOTS], argv, child_cores().others);
}

/* --- measuring -------------------------------------------------------------------------------- */

static bool await_word(struct stage *s, const char *word)
{
    const struct mono end = clock_add(clock_mono(), (PATIENCE_S * CLOCK_NS_PER_S));
    struct child *c = &s->child[BOTS];

    for (;;) {
        bool alive = child_alive(c);
        ssize_t n = pread(c->log, s->log, LOG_MAX - 1, 0);

        s->log[n > 0 ? n : 0] = '\0';
        if (strstr(s->log, word))
            return true;
        if (!alive || clock_since(end, clock_mono()) <= 0) {
            fprintf(stderr, "bench: the bots never came to \"%s\"\n", word);
            for (int i = 0; i < CHILDREN; i++)
                if (s->child[i].pid != 0)
                    child_show_log(&s->child[i]);
            return false;
        }
        poll(NULL, 0, LOOK_MS);
    }
}

static bool take_mark(const struct stage *s, struct mark *m)
{
    for (int i = 0; i < CHILDREN; i++)
        m->cpu_ns[i] = s->child[i].pid != 0 ? child_cpu_ns(&s->child[i]) : 0;
    m->at_ns = clock_mono().ns;
    for (uint32_t i = 0; i < s->worlds; i++)
        if (!load_ticks_read(s->admin[i], &m->ticks[i]))
            return false;
    return true;
}

static double share(const struct mark *from, const struct mark *to, int child)
{
    return (double)(to->cpu_ns[child] - from->cpu_ns[child]) / (double)(to->at_ns - from->at_ns);
}

/* A number of the bots' result. */
static double result(const struct stage *s, const char *key)
{
    const char *all = strstr(s->log, "\n{"), *at = all ? strstr(all, key) : NULL;

    return at ? atof(at + strlen(key)) : 0;
}

static void fill(const struct stage *s, const struct mark *from, const struct mark *to,
                 struct figures *out)
{
    double seconds = (double)(to->at_ns - from->at_ns) / 1e9;

    *out = (struct figures){.world = share(from, to, WORLD),
                            .other = share(from, to, OTHER),
                            .nats = share(from, to, NATS),
                            .gateway = share(from, to, GATEWAY)};
    for (uint32_t i = 0; i < s->worlds; i++) {
        out->ghosts += to->ticks[i].ghosts / s->worlds;
        out->handed += (to->ticks[i].handed - from->ticks[i].handed) / seconds;
        out->border_bytes += (to->ticks[i].border_bytes - from->ticks[i].border_bytes) / seconds;
    }
    out->moves = result(s, "\"moves\":") / seconds;
    out->us_per_move = (out->world + out->other) / out->moves * 1e6;
    out->breaches = result(s, "\"breaches\":");
}

static bool run_one(const struct worlds_args *a, const char *nats, struct figures *out)
{
    struct stage s = {.worlds = nats ? 2 : 1, .log = malloc(LOG_MAX)};
    static struct mark from, to;
    bool ok;

    ok = s.log && start_servers(&s, a, nats) && start_bots(&s, a);
    child_pin(child_cores().others);
    ok = ok && await_word(&s, "phase=walking") && take_mark(&s, &from) &&
         await_word(&s, "phase=walked") && take_mark(&s, &to) && await_word(&s, "\"breaches\":");
    if (ok)
        fill(&s, &from, &to, out);
    stage_end(&s);
    return ok;
}

static double median_of(const struct figures *list, uint64_t n, size_t offset)
{
    double values[RUNS_MAX];

    for (uint64_t i = 0; i < n; i++)
        memcpy(&values[i], (const char *)&list[i] + offset, sizeof(values[i]));
    return bench_median(values, n);
}

static void report(const struct worlds_args *a, uint32_t worlds, const struct figures *list)
{
#define MEDIAN(field) median_of(list, a->runs, offsetof(struct figures, field))
    const char *fmt =
        a->json ? "{\"bench\":\"worlds\",\"program\":\"worlds-%u\",\"players\":%llu,"
                  "\"world_cpu\":%.4f,\"other_world_cpu\":%.4f,\"nats_cpu\":%.4f,"
                  "\"gateway_cpu\":%.4f,\"ghosts\":%.0f,\"handovers_s\":%.1f,"
                  "\"border_bytes_s\":%.0f,\"moves_s\":%.0f,\"us_per_move\":%.3f,\"breaches\":%.0f,"
                  "\"runs\":%llu}\n"
                : "worlds-%u %llu players: world %.3f of a core, the other %.3f, nats-server %.3f, "
                  "gateway %.3f; %.0f ghosts, %.1f hand-overs and %.0f bytes of borders a second, "
                  "%.0f moves a second, %.2f us of the worlds each, %.0f breaches  runs %llu\n";

    printf(fmt, worlds, (unsigned long long)a->players, MEDIAN(world), MEDIAN(other), MEDIAN(nats),
           MEDIAN(gateway), MEDIAN(ghosts), MEDIAN(handed), MEDIAN(border_bytes), MEDIAN(moves),
           MEDIAN(us_per_move), MEDIAN(breaches), (unsigned long long)a->runs);
#undef MEDIAN
}

static int run(const struct worlds_args *a)
{
    static struct figures list[2][RUNS_MAX];
    char nats[1024];
    bool broken = false, two = child_find("nats-server", nats, sizeof(nats));

#ifndef AEGIS_PART_LIBNATS
    two = false;
#endif
    if (!two)
        fprintf(stderr, "bench: nats-server: not installed, or built without nats.c\n");
    net_raise_descriptors();
    for (uint64_t r = 0; r < a->runs; r++) {
        if (!run_one(a, NULL, &list[0][r]) || (two && !run_one(a, nats, &list[1][r])))
            return 1;
        broken |= list[0][r].breaches > 0 || list[1][r].breaches > 0;
    }
    report(a, 1, list[0]);
    if (two)
        report(a, 2, list[1]);
    return broken ? 1 : 0;
}

int ways_worlds(int argc, char **argv)
{
    static const struct opt table[] = {
        {.name = "players",
         .type = OPT_UINT,
         .offset = offsetof(struct worlds_args, players),
         .def = "2000",
         .unit = "",
         .min = 2,
         .max = 20000,
         .help = "Players"},
        {.name = "neighbours",
         .type = OPT_REAL,
         .offset = offsetof(struct worlds_args, neighbours),
         .def = "20",
         .unit = "",
         .min = 0.01,
         .max = 1000,
         .help = "Others within the radius, on average"},
        {.name = "seconds",
         .type = OPT_REAL,
         .offset = offsetof(struct worlds_args, seconds),
         .def = "10",
         .unit = "s",
         .min = 1,
         .max = 3600,
         .help = "How long they walk"},
        {.name = "runs",
         .type = OPT_UINT,
         .offset = offsetof(struct worlds_args, runs),
         .def = "3",
         .unit = "",
         .min = 1,
         .max = RUNS_MAX,
         .help = "Runs of each, by turns; the median counts"},
        {.name = "seed",
         .type = OPT_UINT,
         .offset = offsetof(struct worlds_args, seed),
         .def = "7",
         .unit = "",
         .help = "Seed of the walks"},
        {.name = "json",
         .type = OPT_BOOL,
         .offset = offsetof(struct worlds_args, json),
         .def = "false",
         .unit = "",
         .help = "One JSON object a row"},
    };
    struct worlds_args a;
    struct opts *o;
    int status;

    if (!bench_parse(table, ARRAY_LEN(table), &a, argc, argv, &o, &status))
        return status;
    status = run(&a);
    opts_destroy(o);
    return status;
}
