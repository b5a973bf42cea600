/* tests/e2e/test_e2e_hostile_slow.c: those who read slowly, seldom or never, amid those who read.
 * HOSTILE_LONG=1: as large as the cases have it, for a machine that does nothing else.
 * May touch: tests/pair, tests/e2e. On trouble: the test fails.
 */
#include "tests/e2e/probe.h"
#include "tests/e2e/proxy.h"
#include "tests/e2e/stage.h"
#include "tests/leak.h"
#include "tests/pair.h"
#include "tests/raw_client.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

TestSuite(e2e_hostile_slow, .fini = process_end_all, .timeout = 400);

#define CLOSED(reason) "aegis_gateway_clients_closed_total{reason=\"" reason "\"}"
#define KIB            ((uint64_t)1024)
#define NARROW         4096 /* bytes of a receive buffer: what is not read soon reaches the server */
#define STEP           4.0  /* units */
#define STEP_MS        240
#define DRAIN_MS       30000 /* for what still stands in the buffers of a slow line */
#define FAR            52.0  /* from the crowd: out of sight of all of them */
#define LATE_MS        1500 /* how late a tick may come on a machine that is busy with other tests */

static bool is_long(void)
{
    return getenv("HOSTILE_LONG") != NULL;
}

static struct process *bots_start(const char *addr, const char *const *more)
{
    const char *args[PROCESS_ARGS_MAX] = {"-mode=load", "-addr", addr, "-json", "-seed", "1"};
    size_t n = 6;

    for (size_t i = 0; more[i]; i++)
        args[n++] = more[i];
    return process_start("bot", args);
}

/* Of the one JSON object that it printed. */
static uint64_t bots_said(const struct process *bots, const char *key)
{
    struct span out = process_out(bots);
    const char *at = memmem(out.p, out.n, key, strlen(key));
    if (!at)
        process_fail("the bots do not say %s: %.*s", key, (int)out.n, (const char *)out.p);
    return strtoull(at + strlen(key), NULL, 10);
}

/* --- D04: who never reads --------------------------------------------------------------------- */

/* The most memory that the gateway had until the bots ended. */
static uint64_t watch_memory(const struct process *gateway, struct process *bots, int64_t ms)
{
    struct mono deadline = process_deadline(ms);
    uint64_t most = 0;

    while (!process_ended(bots, 50)) {
        uint64_t now = process_memory(gateway);
        most = now > most ? now : most;
        process_rest(deadline, "the end of the bots");
    }
    return most;
}

Test(e2e_hostile_slow, d04_who_never_reads_is_cut_and_costs_nobody_anything)
{
    const char *const deaf = is_long() ? "200" : "10";
    const uint64_t n_deaf = strtoull(deaf, NULL, 10), hard = 256 * KIB;

    process_measure_memory();
    struct pair pair = pair_start(PROCESS_ARGS("-spawn", "0,0,5", "-tick", "15ms", PROBE_ADMIN),
                                  PROCESS_ARGS("-rate", "0", "-sndbuf", "4096", "-queue-soft",
                                               "2KiB", "-queue-hard", "256KiB", "-slow-timeout",
                                               is_long() ? "10s" : "2s", PROBE_ADMIN));
    uint64_t before = process_memory(pair.gateway);
    struct process *bots =
        bots_start(pair.gateway->addr,
                   PROCESS_ARGS("-n", "20", "-deaf", deaf, "-rate", is_long() ? "30" : "60",
                                "-seconds", is_long() ? "120" : "10"));
    uint64_t most = watch_memory(pair.gateway, bots, is_long() ? 200000 : 40000);
    process_await_exit(bots, 0, 0);
    cr_assert_eq(bots_said(bots, "\"breaches\":"), 0u);
    cr_assert_eq(bots_said(bots, "\"wrong\":"), 0u);
    cr_assert_gt(bots_said(bots, "\"views\":"), 0u);
    cr_assert_eq(bots_said(bots, "\"cut\":"), n_deaf);
    cr_assert_eq(probe_metric(pair.gateway, CLOSED("slow_soft")) +
                     probe_metric(pair.gateway, CLOSED("slow_hard")),
                 n_deaf);
    cr_assert_geq(probe_metric(pair.world, "aegis_world_viewer_pauses_total"), n_deaf);
    probe_await_most(pair.gateway, "aegis_gateway_clients", 0, PROCESS_PATIENCE_MS);
    cr_assert_eq(probe_metric(pair.gateway, "aegis_gateway_queue_bytes"), 0u);
    cr_assert_eq(probe_metric(pair.world, "aegis_world_viewers_paused"), 0u);
    fprintf(stderr,
            "deaf: notices of honest ones p99 %llu ms; the gateway grew by %llu KiB at most, %llu "
            "KiB at the end\n",
            (unsigned long long)bots_said(bots, "\"p99\":"),
            (unsigned long long)(most - before) / 1024,
            (unsigned long long)(process_memory(pair.gateway) - before) / 1024);
    cr_assert_lt(most, before + n_deaf * hard + 16 * 1024 * KIB);
    pair_end(&pair);
    TEST_NO_LEAKS();
}

/* --- honest ones that cannot keep up ------------------------------------------------------------
 */

/* A reader with a bad line and one with a good line at the same place, before a crowd of bots. */
struct watch {
    struct pair pair;
    struct proxy proxy;
    struct stage stage;
    struct player *good, *bad;
    struct process *bots;
};

/* Connected, and narrow from its first byte on: a window that was offered is not taken back. */
static int narrow_socket(const char *addr)
{
    struct raw_client c;

    raw_connect_narrow(&c, addr, NARROW);
    int fd = fcntl(c.fd, F_DUPFD_CLOEXEC, 0);
    raw_close(&c);
    cr_assert_geq(fd, 0);
    cr_assert_eq(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
    return fd;
}

/* `rate`: of the bad line, bytes a second; 0: it is good, only its reader may stop. */
static void watch_start(struct watch *w, uint64_t rate, const char *soft)
{
    *w = (struct watch){.pair =
                            pair_start(PROCESS_ARGS("-spawn", "0,0,0", "-max-speed", "20", "-tick",
                                                    is_long() ? "50ms" : "20ms", PROBE_ADMIN),
                                       PROCESS_ARGS("-rate", "0", "-queue-soft", soft, "-sndbuf",
                                                    "4096", PROBE_ADMIN))};
    if (rate > 0)
        proxy_start(&w->proxy, w->pair.gateway->addr, rate);
    stage_init(&w->stage);
    w->good = stage_join(&w->stage, w->pair.gateway->addr, "good");
    w->bad = stage_connect(&w->stage, w->pair.gateway->addr);
    bot_client_close(w->bad->client, false);
    cr_assert_eq(bot_client_adopt(w->bad->client,
                                  narrow_socket(rate > 0 ? w->proxy.addr : w->pair.gateway->addr)),
                 0);
    player_login(w->bad, "bad");
    player_enter(w->bad);
}

static void watch_end(struct watch *w)
{
    process_signal(w->bots, SIGCONT);
    process_kill(w->bots);
    /* All of the crowd leave both views. */
    STAGE_UNTIL(&w->stage, player_count(w->good) == 1 && player_count(w->bad) == 1);
    cr_assert_not(w->bad->closed, "%s", w->bad->why);
    stage_fini(&w->stage);
    if (w->proxy.pid)
        proxy_end(&w->proxy);
    pair_end(&w->pair);
}

static void forget_events(struct watch *w)
{
    w->good->n_events = w->bad->n_events = 0;
}

static void pass_forgetting(struct watch *w, int64_t ms)
{
    for (; ms > 0; ms -= 50) {
        stage_pass(&w->stage, 50);
        forget_events(w);
    }
}

/* Both walk up or down to y at 17 units a second, without waiting for the answers. */
static void walk_to(struct watch *w, double y, int64_t ms)
{
    struct player *both[] = {w->good, w->bad};
    double at[] = {w->good->facts->y, w->bad->facts->y};
    struct mono deadline = process_deadline(ms);

    while (at[0] != y || at[1] != y) {
        for (int i = 0; i < 2; i++) {
            at[i] = fabs(y - at[i]) <= STEP ? y : at[i] + (y > at[i] ? STEP : -STEP);
            cr_assert_eq(bot_client_move(both[i]->client, 0, at[i]), 0);
        }
        pass_forgetting(w, STEP_MS);
    }
    while (w->good->facts->y != y || w->bad->facts->y != y) {
        forget_events(w);
        stage_turn(&w->stage, deadline, "both are there");
    }
}

/* Where the two views differ, each without itself; "": nowhere. Lives until the next call. */
static const char *difference(const struct watch *w)
{
    static char text[256];
    const struct view *g = bot_client_view(w->good->client);

    text[0] = '\0';
    if (player_count(w->good) != player_count(w->bad))
        snprintf(text, sizeof(text), "%u and %u in sight", player_count(w->good),
                 player_count(w->bad));
    else if (!player_sees(w->bad, w->good) || !player_sees(w->good, w->bad))
        snprintf(text, sizeof(text), "one of the two does not see the other");
    for (uint32_t i = 0; i < g->count && !text[0]; i++) {
        const struct view_entity *a = &g->known[i];
        const struct view_entity *b = view_find(bot_client_view(w->bad->client), a->id);
        if (a->id == w->bad->facts->id)
            continue;
        if (!b)
            snprintf(text, sizeof(text), "#%u is known to one only", a->id);
        else if (a->qx != b->qx || a->qy != b->qy || a->dir != b->dir || a->speed != b->speed)
            snprintf(text, sizeof(text),
                     "#%u at (%.3f, %.3f) dir %u speed %u for one, (%.3f, %.3f) dir %u speed %u "
                     "for the other, told in %u and %u",
                     a->id, a->x, a->y, a->dir, a->speed, b->x, b->y, b->dir, b->speed, a->told,
                     b->told);
    }
    return text;
}

static bool same_views(const struct watch *w)
{
    return difference(w)[0] == '\0';
}

Test(e2e_hostile_slow, d04_an_honest_reader_on_a_slow_line_walks_into_a_crowd)
{
    /* The sanitizers are too slow for a thousand. */
    const char *const crowd = !is_long() ? "60" : process_sanitized() ? "200" : "1000";
    const uint64_t n = strtoull(crowd, NULL, 10);
    struct watch w;

    watch_start(&w, is_long() ? 250000 : 3000, is_long() ? "64KiB" : "1KiB");
    walk_to(&w, FAR, 10000);
    w.bots = bots_start(w.pair.gateway->addr,
                        PROCESS_ARGS("-n", crowd, "-rate", is_long() ? "2" : "20", "-seconds",
                                     "300", "-spread", "square", "-neighbours", crowd));
    probe_await_least(w.pair.world, "aegis_world_entities", n + 2, is_long() ? 60000 : 20000);
    pass_forgetting(&w, 1500);
    walk_to(&w, 0, is_long() ? 60000 : 30000);
    pass_forgetting(&w, is_long() ? 10000 : 2000);
    cr_assert_gt(player_count(w.good), (uint32_t)n / 2);
    process_signal(w.bots, SIGSTOP);
    struct mono deadline = process_deadline(DRAIN_MS);
    while (!same_views(&w))
        stage_turn(&w.stage, deadline, "both know the same");
    stage_pass(&w.stage, 300);
    cr_assert(same_views(&w), "%s", difference(&w));
    fprintf(stderr, "slow line: %u in sight, %llu bytes, paused %llu times\n", player_count(w.bad),
            (unsigned long long)proxy_passed(&w.proxy),
            (unsigned long long)probe_metric(w.pair.world, "aegis_world_viewer_pauses_total"));
    cr_assert_gt(proxy_passed(&w.proxy), 30 * n, "so many were added");
    if (!is_long()) /* 2 Mbit/s are enough but for the moment of entering */
        cr_assert_gt(probe_metric(w.pair.world, "aegis_world_viewer_pauses_total"), 0u,
                     "the line was never too slow");
    watch_end(&w);
    TEST_NO_LEAKS();
}

/* The last tick that it was told of; 0: of none. */
static uint32_t last_tick(const struct player *p)
{
    return p->n_events > 0 ? p->events[p->n_events - 1].tick : 0;
}

Test(e2e_hostile_slow, who_pauses_amid_churn_is_exact_two_ticks_after_it_drained)
{
    struct watch w;

    watch_start(&w, 0, "1KiB");
    w.bots = bots_start(w.pair.gateway->addr,
                        PROCESS_ARGS("-n", "30", "-churn", "10", "-rate", "10", "-seconds", "300"));
    probe_await_least(w.pair.world, "aegis_world_entities", 32, 20000);
    pass_forgetting(&w, 1000);
    uint64_t pauses = probe_metric(w.pair.world, "aegis_world_viewer_pauses_total");
    bot_client_deaf(w.bad->client, true);
    STAGE_UNTIL(&w.stage, probe_metric(w.pair.world, "aegis_world_viewer_pauses_total") > pauses);
    pass_forgetting(&w, is_long() ? 5000 : 2000);
    cr_assert_geq(probe_metric(w.pair.world, "aegis_world_viewers_paused"), 1u);
    /* The crowd rests, so that there is one truth to come back to. */
    process_signal(w.bots, SIGSTOP);
    stage_pass(&w.stage, 500);
    forget_events(&w);
    cr_assert_not(same_views(&w), "it heard nothing meanwhile");
    uint64_t tick = probe_metric(w.pair.world, "aegis_world_ticks_total");
    bot_client_deaf(w.bad->client, false);
    STAGE_UNTIL(&w.stage, probe_metric(w.pair.world, "aegis_world_viewers_paused") == 0);
    uint64_t drained = probe_metric(w.pair.world, "aegis_world_ticks_total");
    stage_pass_ticks(w.bad, 2);
    if (!same_views(&w))
        stage_pass(&w.stage, LATE_MS);
    cr_assert(same_views(&w), "%s", difference(&w));
    /* What made it exact was sent in one tick: not before it drained, and at most two after. */
    cr_assert_gt(last_tick(w.bad), (uint32_t)tick);
    cr_assert_leq(last_tick(w.bad), (uint32_t)drained + 2);
    watch_end(&w);
    TEST_NO_LEAKS();
}
