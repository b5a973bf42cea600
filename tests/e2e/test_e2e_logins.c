/* tests/e2e/test_e2e_logins.c: bots that log in and go, again and again, against real processes.
 * May touch: tests/pair, tests/e2e/probe. On trouble: the test fails.
 */
#include "tests/e2e/probe.h"
#include "tests/leak.h"
#include "tests/pair.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdlib.h>

TestSuite(e2e_logins, .fini = process_end_all, .timeout = 60);

#define BOT_MS 20000

static struct process *bots_start(const char *addr, const char *rate, const char *seconds,
                                  const char *enter)
{
    return process_start("bot", PROCESS_ARGS("-mode=logins", "-addr", addr, "-json", "-n", "8",
                                             "-login-rate", rate, "-seconds", seconds, enter));
}

/* Of the one JSON object that they printed. */
static uint64_t said(const struct process *bots, const char *key)
{
    struct span out = process_out(bots);
    const char *at = memmem(out.p, out.n, key, strlen(key));

    if (!at)
        process_fail("the bots do not say %s: %.*s", key, (int)out.n, (const char *)out.p);
    return strtoull(at + strlen(key), NULL, 10);
}

Test(e2e_logins, each_login_is_one_of_the_world_and_none_stays)
{
    struct pair pair = pair_start(PROCESS_ARGS(PROBE_ADMIN), NULL);
    struct process *bots = bots_start(pair.gateway->addr, "100", "2", "-enter=false");

    process_await_exit(bots, BOT_MS, 0);
    cr_assert_gt(said(bots, "\"logins\":"), 20u);
    cr_assert_eq(said(bots, "\"refused\":"), 0u);
    cr_assert_eq(said(bots, "\"lost\":"), 0u);
    cr_assert_eq(said(bots, "\"breaches\":"), 0u);
    cr_assert_geq(probe_metric(pair.world, "aegis_world_logins_total"), said(bots, "\"logins\":"));
    probe_await_most(pair.world, "aegis_world_sessions", 0, PROCESS_PATIENCE_MS);
    pair_end(&pair);
    TEST_NO_LEAKS();
}

Test(e2e_logins, each_may_enter_the_world_too)
{
    struct pair pair = pair_start(PROCESS_ARGS(PROBE_ADMIN), NULL);
    struct process *bots = bots_start(pair.gateway->addr, "50", "2", "-enter");

    process_await_exit(bots, BOT_MS, 0);
    cr_assert_gt(said(bots, "\"logins\":"), 10u);
    cr_assert_eq(said(bots, "\"breaches\":"), 0u);
    probe_await_most(pair.world, "aegis_world_entities", 0, PROCESS_PATIENCE_MS);
    pair_end(&pair);
    TEST_NO_LEAKS();
}

Test(e2e_logins, who_is_refused_is_counted)
{
    struct pair pair = pair_start(PROCESS_ARGS("-max-sessions", "1", PROBE_ADMIN), NULL);
    struct process *only = process_start(
        "bot", PROCESS_ARGS("-mode=wander", "-addr", pair.gateway->addr, "-n", "1", "-rate", "0"));

    probe_await_least(pair.world, "aegis_world_entities", 1, PROCESS_PATIENCE_MS);
    struct process *bots = bots_start(pair.gateway->addr, "50", "1", "-enter=false");
    process_await_exit(bots, BOT_MS, 1);
    cr_assert_eq(said(bots, "\"logins\":"), 0u);
    cr_assert_gt(said(bots, "\"refused\":"), 0u);
    cr_assert_eq(said(bots, "\"breaches\":"), 0u);
    cr_assert_gt(probe_metric(pair.world, "aegis_world_sessions_full_total"), 0u);
    process_signal(only, SIGTERM);
    process_await_exit(only, BOT_MS, 0);
    pair_end(&pair);
    TEST_NO_LEAKS();
}

Test(e2e_logins, where_nobody_listens_nobody_logs_in)
{
    const char *nowhere = process_free_port();
    struct process *bots = bots_start(nowhere, "50", "0.5", "-enter=false");

    process_await_exit(bots, BOT_MS, 1);
    cr_assert_eq(said(bots, "\"logins\":"), 0u);
    cr_assert_gt(said(bots, "\"lost\":"), 0u);
    process_check_all();
    TEST_NO_LEAKS();
}
