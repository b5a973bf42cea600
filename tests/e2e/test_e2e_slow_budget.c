/* tests/e2e/test_e2e_slow_budget.c: a client on a line of 20 KiB a second amid a crowd that makes
 * more than that, in a world with -viewer-bytes: it is told less, and neither paused nor closed;
 * and when all rest it knows exactly what one on a good line knows. May touch: tests/pair,
 * tests/e2e, tests/raw_client. On trouble: the test fails.
 */
#include "tests/e2e/probe.h"
#include "tests/e2e/proxy.h"
#include "tests/e2e/stage.h"
#include "tests/leak.h"
#include "tests/pair.h"
#include "tests/raw_client.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

TestSuite(e2e_slow_budget, .fini = process_end_all, .timeout = 120);

#define LINE     20480 /* bytes a second */
#define NARROW   4096  /* bytes of a receive buffer: what is not read soon reaches the gateway */
#define CROWD    120
#define WATCH_MS 12000
#define REST_MS  20000
#define PAUSES   "aegis_world_viewer_pauses_total"
#define REPORTS  "aegis_gateway_drain_reports_total"

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

static void pass_forgetting(struct stage *s, int64_t ms)
{
    for (; ms > 0; ms -= 50) {
        stage_pass(s, 50);
        for (uint32_t i = 0; i < s->n; i++)
            s->players[i].n_events = 0;
    }
}

/* Do the two know the same, each without itself? */
static bool same_views(const struct player *good, const struct player *bad)
{
    const struct view *g = bot_client_view(good->client);

    if (player_count(good) != player_count(bad))
        return false;
    for (uint32_t i = 0; i < g->count; i++) {
        const struct view_entity *a = &g->known[i];
        const struct view_entity *b = view_find(bot_client_view(bad->client), a->id);

        if (a->id == bad->facts->id)
            continue;
        if (!b || a->qx != b->qx || a->qy != b->qy || a->dir != b->dir || a->speed != b->speed)
            return false;
    }
    return true;
}

static struct process *bots_start(const char *addr)
{
    char crowd[16];

    snprintf(crowd, sizeof(crowd), "%d", CROWD);
    return process_start("bot", PROCESS_ARGS("-mode=load", "-addr", addr, "-json", "-seed", "1",
                                             "-n", crowd, "-rate", "40", "-seconds", "300",
                                             "-spread", "square", "-neighbours", crowd));
}

Test(e2e_slow_budget, one_that_reads_20_kib_a_second_is_told_less_and_never_paused)
{
    struct pair pair = pair_start(PROCESS_ARGS("-spawn", "0,0,0", "-max-speed", "20", "-tick",
                                               "20ms", "-viewer-bytes", "2000", PROBE_ADMIN),
                                  PROCESS_ARGS("-rate", "0", "-sndbuf", "4096", PROBE_ADMIN));
    struct proxy proxy;
    struct stage stage;

    proxy_start(&proxy, pair.gateway->addr, LINE);
    stage_init(&stage);
    struct player *good = stage_join(&stage, pair.gateway->addr, "good");
    struct player *bad = stage_connect(&stage, pair.gateway->addr);
    bot_client_close(bad->client, false);
    cr_assert_eq(bot_client_adopt(bad->client, narrow_socket(proxy.addr)), 0);
    player_login(bad, "bad");
    player_enter(bad);

    struct process *bots = bots_start(pair.gateway->addr);
    probe_await_least(pair.world, "aegis_world_entities", CROWD + 2, 30000);
    uint64_t most = 0, before = bad->got[CMD_AOI_MOVE];
    for (int64_t ms = 0; ms < WATCH_MS; ms += 500) {
        pass_forgetting(&stage, 500);
        uint64_t queued = probe_metric(pair.gateway, "aegis_gateway_queue_most_bytes");
        most = queued > most ? queued : most;
    }
    cr_assert_gt(player_count(bad), CROWD / 2u);
    cr_assert_gt(bad->got[CMD_AOI_MOVE], before, "it goes on being told");
    fprintf(stderr,
            "slow line: %u in sight, %llu bytes passed, %llu queued at most, %llu reports\n",
            player_count(bad), (unsigned long long)proxy_passed(&proxy), (unsigned long long)most,
            (unsigned long long)probe_metric(pair.gateway, REPORTS));
    cr_assert_gt(probe_metric(pair.gateway, REPORTS), 0u, "the line was never too slow");
    cr_assert_eq(probe_metric(pair.world, PAUSES), 0u);

    process_signal(bots, SIGSTOP); /* all rest */
    struct mono deadline = process_deadline(REST_MS);
    while (!same_views(good, bad))
        stage_turn(&stage, deadline, "both know the same");
    stage_pass(&stage, 500);
    cr_assert(same_views(good, bad));
    cr_assert_eq(probe_metric(pair.world, PAUSES), 0u);
    cr_assert_not(bad->closed, "%s", bad->why);

    process_signal(bots, SIGCONT);
    process_kill(bots);
    stage_fini(&stage);
    proxy_end(&proxy);
    pair_end(&pair);
    TEST_NO_LEAKS();
}
