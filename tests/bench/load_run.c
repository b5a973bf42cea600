/* tests/bench/load_run.c: one run of the whole.
 * The clients print phase=walking and phase=walked, and one JSON object at the end.
 * May touch: child, sockets. On trouble: see load_run.h.
 */
#include "tests/bench/load_run.h"

#include "common/clock.h"
#include "common/io/net.h"
#include "tests/bench/child.h"
#include "tests/bench/load_ticks.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LOG_MAX     (8 << 20)
#define LOOK_MS     5
#define PATIENCE_S  240 /* to come in and spread out, and to leave */
#define LISTENING   "listening on"
#define ADMIN       "admin on"
#define STATUS_TICK " tick_max_us="

const char *const load_kind_names[LOAD_KINDS] = {"aegis", "limit", "limit, answering"};

enum { WORLD, GATEWAY, CLIENTS, CHILDREN };

struct trio {
    enum load_kind kind;
    struct child child[CHILDREN];
    char admin[128]; /* of the world */
    char *log;       /* of the clients, once they ended; LOG_MAX */
};

/* What is known at one moment. */
struct mark {
    int64_t at_ns, cpu_ns[CHILDREN];
    struct load_ticks ticks;
    size_t world_log; /* bytes */
};

/* --- logs ------------------------------------------------------------------------------------- */

static size_t read_log(const struct child *c, size_t from, char *out)
{
    ssize_t n = pread(c->log, out, LOG_MAX - 1, (off_t)from);

    out[n > 0 ? n : 0] = '\0';
    return n > 0 ? (size_t)n : 0;
}

/* The last number behind `"key":` in the clients' result. */
static double figure(const struct trio *t, const char *key)
{
    char quoted[64];
    const char *result = strstr(t->log, "\n{"), *at;

    snprintf(quoted, sizeof(quoted), "\"%s\":", key);
    at = result ? strstr(result, quoted) : NULL;
    return at ? atof(at + strlen(quoted)) : 0;
}

static bool wait_for_text(struct trio *t, const char *text, double seconds)
{
    const struct mono end = clock_add(clock_mono(), (int64_t)(seconds * (double)CLOCK_NS_PER_S));

    for (;;) {
        bool alive = child_alive(&t->child[CLIENTS]);
        read_log(&t->child[CLIENTS], 0, t->log);
        if (strstr(t->log, text))
            return true;
        if (!alive || clock_since(end, clock_mono()) <= 0) {
            fprintf(stderr, "bench: the clients of \"%s\" never came to \"%s\"\n",
                    load_kind_names[t->kind], text);
            for (int i = 0; i < CHILDREN; i++)
                child_show_log(&t->child[i]);
            return false;
        }
        poll(NULL, 0, LOOK_MS);
    }
}

/* The worst tick in the status lines from `from` on, us. */
static double worst_tick_us(const struct trio *t, size_t from)
{
    double worst = 0;

    read_log(&t->child[WORLD], from, t->log);
    for (const char *at = t->log; (at = strstr(at, STATUS_TICK)) != NULL;) {
        at += strlen(STATUS_TICK);
        worst = atof(at) > worst ? atof(at) : worst;
    }
    return worst;
}

/* --- starting --------------------------------------------------------------------------------- */

static void program(const struct load_args *a, const char *name, char *out, size_t cap)
{
    if (a->bin[0] != '\0')
        snprintf(out, cap, "%s/%s", a->bin, name);
    else
        child_beside(name, out, cap);
}

static bool start_pair(struct trio *t, const struct load_args *a, uint64_t players, int core)
{
    struct child *world = &t->child[WORLD], *gateway = &t->child[GATEWAY];
    char aegis[1024], self[1024], most[32];

    program(a, "aegis", aegis, sizeof(aegis));
    child_beside("bench", self, sizeof(self));
    snprintf(most, sizeof(most), "%llu", (unsigned long long)players + 1000);
    const char *const world_argv[] = {aegis, "-role=world", "-listen", "127.0.0.1:0", "-admin",
                                      "127.0.0.1:0", "-status=1s",
                                      /* To one square the way is long from a line. */
                                      "-spawn", a->spread ? "0,0,10" : "line", NULL};
    const char *const limit_world[] = {self, "pair-world",
                                       t->kind == LOAD_LIMIT_ANSWERS ? "answer" : NULL, NULL};
    if (!child_start(world, t->kind == LOAD_AEGIS ? world_argv : limit_world, core))
        return false;
    if (t->kind == LOAD_AEGIS) {
        if (!child_await_addr(world, ADMIN))
            return false;
        snprintf(t->admin, sizeof(t->admin), "%s", world->addr);
    }
    if (!child_await_addr(world, LISTENING))
        return false;
    const char *const gateway_argv[] = {aegis,       "-role=gateway", "-listen",      "127.0.0.1:0",
                                        "-upstream", world->addr,     "-max-clients", most,
                                        NULL};
    const char *const limit_gateway[] = {self, "pair-gateway", world->addr, NULL};
    return child_start(gateway, t->kind == LOAD_AEGIS ? gateway_argv : limit_gateway, core) &&
           child_await_addr(gateway, LISTENING);
}

static bool start_clients(struct trio *t, const struct load_args *a, uint64_t players, int core)
{
    char bot[1024], self[1024], n[32], seconds[32], in_sight[32], rate[32], seed[32], login[32];
    const char *gateway = t->child[GATEWAY].addr, *spread = a->spread ? "square" : "groups";

    program(a, "bot", bot, sizeof(bot));
    child_beside("bench", self, sizeof(self));
    snprintf(n, sizeof(n), "%llu", (unsigned long long)players);
    snprintf(seconds, sizeof(seconds), "%g", a->seconds);
    snprintf(in_sight, sizeof(in_sight), "%g", a->in_sight);
    snprintf(rate, sizeof(rate), "%g", a->rate);
    snprintf(login, sizeof(login), "%g", a->login_rate);
    snprintf(seed, sizeof(seed), "%llu", (unsigned long long)a->seed);
    const char *const bots[] = {bot,       "-mode=load", "-addr",       gateway,  "-n",
                                n,         "-seconds",   seconds,       "-rate",  rate,
                                "-spread", spread,       "-neighbours", in_sight, "-seed",
                                seed,      "-json",      "-login-rate", login,    NULL};
    const char *const limit[] = {self,     "pair-clients", gateway, n,      seconds,
                                 in_sight, rate,           seed,    spread, NULL};
    return child_start(&t->child[CLIENTS], t->kind == LOAD_AEGIS ? bots : limit, core);
}

/* --- measuring -------------------------------------------------------------------------------- */

static bool take_mark(struct trio *t, struct mark *m)
{
    for (int i = 0; i < CHILDREN; i++)
        m->cpu_ns[i] = child_cpu_ns(&t->child[i]);
    m->at_ns = clock_mono().ns;
    m->world_log = (size_t)lseek(t->child[WORLD].log, 0, SEEK_END);
    return t->kind != LOAD_AEGIS || load_ticks_read(t->admin, &m->ticks);
}

static void fill_ticks(struct trio *t, const struct mark *from, const struct mark *to,
                       struct load_figures *out)
{
    if (t->kind != LOAD_AEGIS)
        return;
    out->tick_p50_us = load_ticks_quantile(&from->ticks, &to->ticks, 0.50) * 1e6;
    out->tick_p99_us = load_ticks_quantile(&from->ticks, &to->ticks, 0.99) * 1e6;
    out->tick_overruns = to->ticks.overruns - from->ticks.overruns;
    out->ticks_skipped = to->ticks.skipped - from->ticks.skipped;
    out->tick_max_us = worst_tick_us(t, from->world_log);
}

static void fill(struct trio *t, const struct mark *from, const struct mark *to,
                 struct load_figures *out)
{
    double ns = (double)(to->at_ns - from->at_ns), cpu[CHILDREN];
    double answers = t->kind == LOAD_AEGIS ? figure(t, "moves") : 0;

    for (int i = 0; i < CHILDREN; i++)
        cpu[i] = (double)(to->cpu_ns[i] - from->cpu_ns[i]);
    double updates = figure(t, "updates"), frames = figure(t, "frames_in") - answers;
    out->world_cpu = cpu[WORLD] / ns;
    out->gateway_cpu = cpu[GATEWAY] / ns;
    out->clients_cpu = cpu[CLIENTS] / ns;
    out->ns_per_update = (cpu[WORLD] + cpu[GATEWAY]) / updates;
    out->us_per_frame = (cpu[WORLD] + cpu[GATEWAY]) / frames / 1000;
    out->updates_per_s = updates * 1e9 / ns;
    out->moves_per_s = figure(t, "moves") * 1e9 / ns;
    out->moves_left_out = figure(t, "moves_left_out");
    out->bytes_per_player_s = figure(t, "bytes_per_player_s");
    out->notice_p50_ms = figure(t, "p50");
    out->notice_p99_ms = figure(t, "p99");
    out->notice_p999_ms = figure(t, "p99_9");
    out->in_sight = figure(t, "neighbours");
    out->errors = figure(t, "errors_all");
    out->lost = figure(t, "lost");
    out->breaches = figure(t, "breaches");
}

static bool play(struct trio *t, const struct load_args *a, uint64_t players,
                 struct load_figures *out)
{
    struct child_cores cores = child_cores();
    static struct mark from, to;

    if (!start_pair(t, a, players, cores.measured) || !start_clients(t, a, players, cores.others))
        return false;
    child_pin(cores.others);
    if (!wait_for_text(t, "phase=walking", PATIENCE_S) || !take_mark(t, &from) ||
        !wait_for_text(t, "phase=walked", a->seconds + PATIENCE_S) || !take_mark(t, &to) ||
        !wait_for_text(t, "\"breaches\":", PATIENCE_S))
        return false;
    fill(t, &from, &to, out);
    fill_ticks(t, &from, &to, out);
    return true;
}

bool load_run(enum load_kind kind, const struct load_args *a, uint64_t players,
              struct load_figures *out)
{
    struct trio t = {.kind = kind, .log = malloc(LOG_MAX)};
    bool ok = t.log != NULL;

    net_raise_descriptors();
    *out = (struct load_figures){0};
    ok = ok && play(&t, a, players, out);
    for (int i = CHILDREN; i-- > 0;)
        child_end(&t.child[i]);
    free(t.log);
    return ok;
}
