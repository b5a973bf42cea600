/* tests/e2e/test_e2e_drain.c: SIGTERM, SIGINT and a terminal that closes, once and twice, case F01.
 * May touch: tests/pair, tests/raw_client, tests/e2e/stage. On trouble: the test fails.
 */
#include "proto/frame.h"
#include "tests/e2e/stage.h"
#include "tests/leak.h"
#include "tests/pair.h"
#include "tests/raw_client.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

TestSuite(e2e_drain, .fini = process_end_all, .timeout = 60);

/* "At once", for a process that has to be scheduled beside others. */
#define AT_ONCE_MS (process_sanitized() ? 3000 : 1000)

/* --- the gateway ------------------------------------------------------------------------------ */

/* Goes on sending pings until it has read Bye 17 and the end of the connection. */
static void must_read_bye_while_sending(struct raw_client *c)
{
    static const uint8_t ping[] = "\0\0\0\4\x93\x0b\x01\xc0";
    struct mono deadline = process_deadline(PROCESS_PATIENCE_MS);
    bool bye = false;

    while (!c->ended && !c->reset) {
        cr_assert_gt(clock_since(deadline, clock_mono()), 0);
        raw_send_some(c, span_of(ping, 8));
        struct span body = raw_body_within(c, 1);
        if (body.p)
            bye = body.p[1] == CMD_BYE;
    }
    cr_assert(bye, "Bye is the last frame");
    cr_assert_not(c->reset);
    raw_close(c);
}

Test(e2e_drain, f01_every_client_of_a_gateway_reads_bye_17_and_nobody_new_gets_in)
{
    struct pair pair = pair_start(NULL, PROCESS_ARGS("-rate", "0"));
    struct raw_client inside, stranger, sender, half;

    raw_join(&inside, pair.gateway->addr, "inside");
    raw_connect(&stranger, pair.gateway->addr);
    raw_join(&sender, pair.gateway->addr, "sender");
    raw_connect(&half, pair.gateway->addr);
    raw_send(&half, span_of("\0\0\0\4\x93", 5)); /* in the middle of a frame */
    raw_must_serve(&stranger);
    process_signal(pair.gateway, SIGTERM);
    must_read_bye_while_sending(&sender);
    cr_assert_not(raw_can_connect(pair.gateway->addr), "the listener was closed first");
    raw_must_bye(&inside, PE_SHUTTING_DOWN);
    raw_must_bye(&stranger, PE_SHUTTING_DOWN);
    raw_must_bye(&half, PE_SHUTTING_DOWN);
    process_await_exit(pair.gateway, AT_ONCE_MS + 1000, 0);
    process_await_log(pair.world, "\"inside\" left", 1);
    pair_end(&pair);
    TEST_NO_LEAKS();
}

Test(e2e_drain, f01_sigint_drains_as_sigterm_does_with_many_players)
{
    struct pair pair = pair_start(PROCESS_ARGS("-spawn", "0,0,10"), NULL);
    struct stage stage;
    static char names[50][8];

    stage_init(&stage);
    for (uint32_t i = 0; i < ARRAY_LEN(names); i++) {
        snprintf(names[i], sizeof(names[i]), "p%u", i);
        stage_join(&stage, pair.gateway->addr, names[i]);
    }
    STAGE_UNTIL(&stage, player_count(&stage.players[0]) == ARRAY_LEN(names) - 1);
    process_signal(pair.gateway, SIGINT);
    for (uint32_t i = 0; i < ARRAY_LEN(names); i++) {
        STAGE_UNTIL(&stage, stage.players[i].closed);
        cr_assert_eq(stage.players[i].facts->bye_code, (uint32_t)PE_SHUTTING_DOWN);
    }
    process_await_exit(pair.gateway, AT_ONCE_MS + 1000, 0);
    process_signal(pair.world, SIGINT);
    process_await_exit(pair.world, AT_ONCE_MS, 0);
    stage_fini(&stage);
    pair_end(&pair);
    TEST_NO_LEAKS();
}

/* Asks for more than all buffers on the way to it hold, less than the hard limit, and reads none
 * of it. */
static void connect_deaf(struct raw_client *c, const char *addr)
{
    static uint8_t body[PROTO_FRAME_MAX];
    size_t n = raw_bytes("93 0b 01 c5 3ffa", body, sizeof(body));

    memset(body + n, 0, sizeof(body) - n);
    raw_connect_narrow(c, addr, 4096);
    for (int i = 0; i < 40; i++)
        raw_send_body(c, span_of(body, sizeof(body)));
}

Test(e2e_drain, f01_a_client_that_does_not_read_holds_the_drain_up_until_its_deadline_only)
{
    struct pair pair =
        pair_start(NULL, PROCESS_ARGS("-rate", "0", "-linger", "60s", "-drain-timeout", "1500ms"));
    struct raw_client deaf, honest;

    connect_deaf(&deaf, pair.gateway->addr);
    raw_join(&honest, pair.gateway->addr, "honest");
    struct mono start = clock_mono();
    process_signal(pair.gateway, SIGTERM);
    raw_must_bye(&honest, PE_SHUTTING_DOWN);
    process_await_exit(pair.gateway, 1500 + AT_ONCE_MS, 0);
    cr_assert_geq(clock_since(clock_mono(), start), 1400 * CLOCK_NS_PER_MS, "it was waited for");
    raw_close(&deaf);
    pair_end(&pair);
    TEST_NO_LEAKS();
}

Test(e2e_drain, a_client_that_does_not_read_its_bye_is_waited_for_as_long_as_linger_says)
{
    struct pair pair =
        pair_start(NULL, PROCESS_ARGS("-rate", "0", "-linger", "300ms", "-drain-timeout", "60s"));
    struct raw_client deaf;

    connect_deaf(&deaf, pair.gateway->addr);
    struct raw_client honest;
    raw_join(&honest, pair.gateway->addr, "honest");
    process_signal(pair.gateway, SIGTERM);
    raw_must_bye(&honest, PE_SHUTTING_DOWN);
    process_await_exit(pair.gateway, 300 + AT_ONCE_MS, 0);
    raw_close(&deaf);
    pair_end(&pair);
    TEST_NO_LEAKS();
}

static void must_end_at_once(struct process *p)
{
    if (!process_ended(p, AT_ONCE_MS))
        process_fail("the second signal did not end it at once");
    /* By itself, and with nothing left: a leak would give another status. */
    cr_assert(WIFEXITED(p->status));
    cr_assert_eq(WEXITSTATUS(p->status), 1);
}

Test(e2e_drain, f01_a_second_signal_ends_a_gateway_at_once)
{
    struct pair pair =
        pair_start(NULL, PROCESS_ARGS("-rate", "0", "-linger", "60s", "-drain-timeout", "60s"));
    struct raw_client deaf;

    connect_deaf(&deaf, pair.gateway->addr);
    process_signal(pair.gateway, SIGTERM);
    process_await_log(pair.gateway, "draining", 1);
    cr_assert_not(process_ended(pair.gateway, 300));
    process_signal(pair.gateway, SIGTERM);
    must_end_at_once(pair.gateway);
    raw_close(&deaf);
    pair_end(&pair);
    TEST_NO_LEAKS();
}

/* The world is away: nothing is left to wait for. */
Test(e2e_drain, a_gateway_without_a_world_drains_too)
{
    struct pair pair = {.gateway = pair_gateway(process_free_port(), NULL)};
    struct raw_client c;

    raw_connect(&c, pair.gateway->addr);
    raw_must_serve(&c);
    process_signal(pair.gateway, SIGTERM);
    raw_must_bye(&c, PE_SHUTTING_DOWN);
    process_await_exit(pair.gateway, AT_ONCE_MS + 1000, 0);
    pair_end(&pair);
    TEST_NO_LEAKS();
}

/* --- the world -------------------------------------------------------------------------------- */

Test(e2e_drain, f01_a_world_drains_and_its_gateways_keep_their_clients)
{
    struct pair pair = pair_start(NULL, NULL);
    struct raw_client c;

    raw_join(&c, pair.gateway->addr, "alpha");
    process_signal(pair.world, SIGTERM);
    raw_must_be_told(&c, PE_UNAVAILABLE);
    cr_assert_not(raw_can_connect(pair.world->addr));
    process_await_exit(pair.world, AT_ONCE_MS + 1000, 0);
    raw_must_serve(&c);
    raw_close(&c);
    pair_end(&pair);
    TEST_NO_LEAKS();
}

/* Its gateway stands still and does not close the link. */
Test(e2e_drain, f01_a_world_ends_by_its_deadline_whatever_its_gateways_do)
{
    struct pair pair = pair_start(PROCESS_ARGS("-drain-timeout", "1s"), NULL);

    process_signal(pair.gateway, SIGSTOP);
    process_signal(pair.world, SIGTERM);
    process_await_exit(pair.world, 1000 + AT_ONCE_MS, 0);
    process_signal(pair.gateway, SIGCONT);
    pair_end(&pair);
    TEST_NO_LEAKS();
}

Test(e2e_drain, f01_a_second_signal_ends_a_world_at_once)
{
    struct pair pair = pair_start(PROCESS_ARGS("-drain-timeout", "60s"), NULL);

    process_signal(pair.gateway, SIGSTOP);
    process_signal(pair.world, SIGTERM);
    process_await_log(pair.world, "draining", 1);
    cr_assert_not(process_ended(pair.world, 300));
    process_signal(pair.world, SIGINT);
    must_end_at_once(pair.world);
    process_signal(pair.gateway, SIGCONT);
    pair_end(&pair);
    TEST_NO_LEAKS();
}

/* --- from a shell ----------------------------------------------------------------------------- */

/* A shell starts its background jobs with SIGINT ignored. The second job ends the first one where
 * the test goes away without a word; its input ends then. */
static const char in_background[] = "exec 3<&0; \"$0\" \"$@\" 3<&- & pid=$!; "
                                    "{ read -r line <&3; kill -9 $pid; } 2>/dev/null & "
                                    "echo $pid; wait $pid";

static void must_end_in_a_shell(const char *role, const char *flag, const char *value)
{
    char path[512];

    snprintf(path, sizeof(path), "%s", process_path("aegis"));
    struct process *sh =
        process_start("/bin/sh", PROCESS_ARGS("-c", in_background, path, role, "-listen",
                                              process_any_port(), flag, value));
    process_await_addr(sh);
    struct mono deadline = process_deadline(PROCESS_PATIENCE_MS);
    while (process_out(sh).n == 0)
        process_rest(deadline, "the job's id");
    pid_t job = (pid_t)strtol((const char *)process_out(sh).p, NULL, 10);
    cr_assert_gt(job, 1);
    cr_assert_eq(kill(job, SIGINT), 0);
    process_await_exit(sh, AT_ONCE_MS + 1000, 0);
    process_check_all();
}

Test(e2e_drain, f01_sigint_ends_a_world_that_a_shell_started_in_the_background)
{
    must_end_in_a_shell("-role=world", "-tick", "50");
    TEST_NO_LEAKS();
}

Test(e2e_drain, f01_sigint_ends_a_gateway_that_a_shell_started_in_the_background)
{
    must_end_in_a_shell("-role=gateway", "-upstream", "127.0.0.1:1");
    TEST_NO_LEAKS();
}

/* --- the terminal ----------------------------------------------------------------------------- */

Test(e2e_drain, a_terminal_that_closes_is_an_end_too)
{
    struct pair pair = pair_start(NULL, NULL);
    struct raw_client c;

    raw_join(&c, pair.gateway->addr, "c");
    process_signal(pair.world, SIGHUP);
    process_signal(pair.gateway, SIGHUP);
    raw_must_bye(&c, PE_SHUTTING_DOWN);
    process_await_exit(pair.gateway, PROCESS_PATIENCE_MS, 0);
    process_await_exit(pair.world, PROCESS_PATIENCE_MS, 0);
    process_check_all();
    TEST_NO_LEAKS();
}
