/* tests/e2e/test_e2e_threads.c: a gateway of several threads does what one of a single one does.
 * May touch: tests/pair, tests/raw_client, tests/e2e/stage, probe. On trouble: the test fails.
 */
#include "tests/e2e/probe.h"
#include "tests/e2e/stage.h"
#include "tests/leak.h"
#include "tests/pair.h"
#include "tests/raw_client.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

TestSuite(e2e_threads, .fini = process_end_all, .timeout = 60);

#define THREADS 3
#define PLAYERS 16 /* that one thread gets none has a chance of one in 200 */

/* A gateway of THREADS links, all up, and a world that puts everybody at one place. */
static struct pair threads_start(void)
{
    struct pair p = pair_start(PROCESS_ARGS("-spawn", "0,0,0", "-max-speed", "60"),
                               PROCESS_ARGS("-threads", "3", PROBE_ADMIN));

    pair_await_link(p.gateway, THREADS);
    return p;
}

static void name_of(char out[16], int i)
{
    snprintf(out, 16, "p%d", i);
}

Test(e2e_threads, the_smoke_story_is_told)
{
    struct pair pair = pair_start(PROCESS_ARGS("-max-speed", "60"), PROCESS_ARGS("-threads", "3"));

    pair_await_link(pair.gateway, THREADS);
    for (int i = 0; i < 3; i++) {
        struct process *bot =
            process_start("bot", PROCESS_ARGS("-mode=smoke", "-addr", pair.gateway->addr));
        process_await_exit(bot, 20000, 0);
        struct span out = process_out(bot);
        cr_assert_gt(out.n, 9);
        cr_assert_eq(memcmp(out.p + out.n - 9, "smoke OK\n", 9), 0);
    }
    pair_end(&pair);
    TEST_NO_LEAKS();
}

Test(e2e_threads, players_of_all_threads_share_one_world_held_to_the_contract)
{
    static char names[PLAYERS][16];
    struct pair pair = threads_start();
    struct player *p[PLAYERS];
    struct stage s;

    stage_init(&s);
    for (int i = 0; i < PLAYERS; i++) {
        name_of(names[i], i);
        p[i] = stage_join(&s, pair.gateway->addr, names[i]);
    }
    for (int i = 0; i < PLAYERS; i++)
        STAGE_UNTIL(&s, player_count(p[i]) == PLAYERS - 1);
    for (int i = 0; i < PLAYERS; i++)
        player_move(p[i], 0.05 * i, -0.05 * i);
    for (int i = 0; i < PLAYERS; i++) {
        for (int k = 0; k < PLAYERS; k++)
            STAGE_UNTIL(&s, i == k || player_sees(p[i], p[k]));
    }
    player_say(p[3], "to all threads");
    for (int i = 0; i < PLAYERS; i++)
        STAGE_UNTIL(&s, i == 3 || strcmp(p[i]->said, "to all threads") == 0);
    player_leave(p[0]);
    for (int i = 1; i < PLAYERS; i++)
        STAGE_UNTIL(&s, player_count(p[i]) == PLAYERS - 2);
    cr_assert_eq(process_logged(pair.world, "gateway up"), THREADS);
    stage_fini(&s);
    pair_end(&pair);
    TEST_NO_LEAKS();
}

Test(e2e_threads, what_operators_see_is_the_sum)
{
    struct pair pair = threads_start();
    struct raw_client c[PLAYERS];
    char name[16];

    for (int i = 0; i < PLAYERS; i++) {
        name_of(name, i);
        raw_join(&c[i], pair.gateway->addr, name);
        raw_must_serve(&c[i]);
    }
    probe_await_least(pair.gateway, "aegis_gateway_pings_total", PLAYERS, PROCESS_PATIENCE_MS);
    cr_assert_eq(probe_metric(pair.gateway, "aegis_gateway_pings_total"), PLAYERS);
    cr_assert_eq(probe_metric(pair.gateway, "aegis_gateway_threads"), THREADS);
    cr_assert_eq(probe_metric(pair.gateway, "aegis_gateway_clients"), PLAYERS);
    cr_assert_eq(probe_metric(pair.gateway, "aegis_gateway_sessions"), PLAYERS);
    cr_assert_eq(probe_metric(pair.gateway, "aegis_gateway_accepts_total{result=\"client\"}"),
                 PLAYERS);
    cr_assert_eq(probe_metric(pair.gateway, "aegis_gateway_link_ups_total"), THREADS);
    cr_assert_eq(probe_metric(pair.gateway, "aegis_gateway_link_ready"), 1);
    for (int i = 0; i < PLAYERS; i++)
        raw_close(&c[i]);
    probe_await_most(pair.gateway, "aegis_gateway_clients", 0, PROCESS_PATIENCE_MS);
    pair_end(&pair);
    TEST_NO_LEAKS();
}

Test(e2e_threads, the_limit_of_clients_holds_over_all_of_them)
{
    struct pair pair =
        pair_start(NULL, PROCESS_ARGS("-threads", "3", "-max-clients", "5", PROBE_ADMIN));
    struct raw_client in[5], one_more;
    char name[16];

    pair_await_link(pair.gateway, THREADS);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 5; i++) {
            name_of(name, 5 * round + i);
            raw_join(&in[i], pair.gateway->addr, name);
        }
        for (int i = 0; i < 10; i++) {
            raw_connect(&one_more, pair.gateway->addr);
            raw_must_bye(&one_more, PE_UNAVAILABLE);
        }
        for (int i = 0; i < 5; i++) {
            raw_must(&in[i], raw_nil(&in[i], CMD_LEAVE_REQ), CMD_LEAVE_RESP);
            raw_close(&in[i]);
        }
        probe_await_least(pair.gateway, "aegis_gateway_clients_closed_total{reason=\"eof\"}",
                          5u * (unsigned)(round + 1), PROCESS_PATIENCE_MS);
    }
    pair_end(&pair);
    TEST_NO_LEAKS();
}

Test(e2e_threads, sigterm_says_bye_17_to_the_clients_of_each) /* CASES F01 */
{
    struct pair pair = threads_start();
    struct raw_client c[PLAYERS];
    char name[16];

    for (int i = 0; i < PLAYERS; i++) {
        name_of(name, i);
        raw_join(&c[i], pair.gateway->addr, name);
    }
    process_signal(pair.gateway, SIGTERM);
    for (int i = 0; i < PLAYERS; i++)
        raw_must_bye(&c[i], PE_SHUTTING_DOWN);
    process_await_exit(pair.gateway, PROCESS_PATIENCE_MS, 0);
    cr_assert_eq(process_logged(pair.gateway, "draining clients=16"), 1);
    cr_assert_eq(process_logged(pair.gateway, "ended accepted=16"), 1);
    pair_end(&pair);
    TEST_NO_LEAKS();
}

Test(e2e_threads, a_second_sigterm_ends_all_at_once)
{
    struct pair pair =
        pair_start(NULL, PROCESS_ARGS("-threads", "3", "-drain-timeout", "0", "-linger", "0"));
    struct raw_client c;

    raw_connect(&c, pair.gateway->addr);
    raw_must_serve(&c);
    process_signal(pair.gateway, SIGTERM);
    process_await_log(pair.gateway, "draining", 1);
    process_signal(pair.gateway, SIGTERM);
    process_await_exit(pair.gateway, PROCESS_PATIENCE_MS, 1);
    raw_close(&c);
    pair_end(&pair);
    TEST_NO_LEAKS();
}

Test(e2e_threads, a_world_that_is_killed_and_comes_back_costs_nobody_the_connection)
{
    struct pair pair = threads_start();
    struct raw_client c[PLAYERS];
    char name[16];

    for (int i = 0; i < PLAYERS; i++) {
        name_of(name, i);
        raw_join(&c[i], pair.gateway->addr, name);
    }
    process_kill(pair.world);
    for (int i = 0; i < PLAYERS; i++) {
        raw_must_be_told(&c[i], PE_UNAVAILABLE);
        raw_must_fail(&c[i], raw_move(&c[i], 8, 0), PE_UNAVAILABLE);
    }
    process_restart(pair.world);
    pair_await_link(pair.gateway, 2 * THREADS);
    for (int i = 0; i < PLAYERS; i++) {
        cr_assert_eq(raw_await(&c[i], CMD_ENTER_RESP)->seq, 0u, "it is put there again");
        for (uint32_t seen = 0; seen < PLAYERS - 1;)
            seen += raw_await(&c[i], CMD_AOI_ADD)->aoi_add.count;
        raw_close(&c[i]);
    }
    pair_end(&pair);
    TEST_NO_LEAKS();
}
