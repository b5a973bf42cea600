/* tests/e2e/test_e2e_stopped.c: a process that stands still and goes on.
 * May touch: tests/pair, tests/raw_client, tests/e2e/stage. On trouble: the test fails.
 */
#include "tests/e2e/stage.h"
#include "tests/leak.h"
#include "tests/pair.h"
#include "tests/raw_client.h"

#include <criterion/criterion.h>
#include <signal.h>

TestSuite(e2e_stopped, .fini = process_end_all, .timeout = 60);

/* Everybody is born at the same place, whichever ids are free. */
#define TOGETHER "-spawn", "0,0,0"

/* Both are put into the world again, and see each other. */
static void come_back(struct player *a, struct player *b)
{
    STAGE_UNTIL(a->stage, a->got[CMD_ENTER_RESP] == 2 && b->got[CMD_ENTER_RESP] == 2);
    STAGE_UNTIL(a->stage, player_sees(a, b) && player_sees(b, a));
    cr_assert_eq(a->told[PE_NOT_LOGGED_IN] + b->told[PE_NOT_LOGGED_IN], 0u);
}

Test(e2e_stopped, a_world_that_stands_still_longer_than_the_link_timeout_counts_as_away)
{
    struct pair pair = pair_start(PROCESS_ARGS(TOGETHER), PROCESS_ARGS("-link-timeout", "1s"));
    struct stage stage;

    stage_init(&stage);
    struct player *a = stage_join(&stage, pair.gateway->addr, "a");
    struct player *b = stage_join(&stage, pair.gateway->addr, "b");
    STAGE_UNTIL(&stage, player_sees(a, b) && player_sees(b, a));
    process_signal(pair.world, SIGSTOP);
    STAGE_UNTIL(&stage, a->told[PE_UNAVAILABLE] == 1 && b->told[PE_UNAVAILABLE] == 1);
    cr_assert_eq(player_answer(a, bot_client_move(a->client, 0.1, 0)), (uint32_t)PE_UNAVAILABLE);
    player_ping(b);
    /* The kernel goes on taking connections for it; none of them gets a hello. */
    process_await_log(pair.gateway, "no hello", 1);
    stage_pass(&stage, 1500); /* more than one of them */
    process_signal(pair.world, SIGCONT);
    come_back(a, b);
    cr_assert_eq(a->told[PE_UNAVAILABLE], 1u, "one notice for one loss");
    stage_fini(&stage);
    pair_end(&pair);
    TEST_NO_LEAKS();
}

Test(e2e_stopped, a_short_stop_of_the_world_is_only_late)
{
    struct pair pair = pair_start(PROCESS_ARGS(TOGETHER), NULL);
    struct stage stage;

    stage_init(&stage);
    struct player *a = stage_join(&stage, pair.gateway->addr, "a");
    struct player *b = stage_join(&stage, pair.gateway->addr, "b");
    STAGE_UNTIL(&stage, player_sees(a, b) && player_sees(b, a));
    for (int i = 0; i < 3; i++) {
        uint32_t answers = a->answers;
        process_signal(pair.world, SIGSTOP);
        cr_assert_eq(bot_client_move(a->client, 0.125 * (i + 1), 0), 0);
        stage_pass(&stage, 500);
        cr_assert_eq(a->answers, answers);
        process_signal(pair.world, SIGCONT);
        STAGE_UNTIL(&stage, a->answers == answers + 1 && player_sees(b, a));
    }
    cr_assert_eq(a->got[CMD_ERROR_NOTIFY] + b->got[CMD_ERROR_NOTIFY], 0u);
    stage_fini(&stage);
    pair_end(&pair);
    TEST_NO_LEAKS();
}

Test(e2e_stopped, a_gateway_that_stands_still_counts_as_lost_and_finds_back)
{
    struct pair pair = pair_start(PROCESS_ARGS(TOGETHER, "-link-timeout", "1s"), NULL);
    struct process *second = pair_gateway(pair.world->addr, NULL);
    struct stage stage;

    pair_await_link(second, 1);
    stage_init(&stage);
    struct player *stays = stage_join(&stage, second->addr, "stays");
    struct player *a = stage_join(&stage, pair.gateway->addr, "a");
    struct player *b = stage_join(&stage, pair.gateway->addr, "b");
    STAGE_UNTIL(&stage, player_sees(stays, a) && player_sees(stays, b));
    process_signal(pair.gateway, SIGSTOP);
    STAGE_UNTIL(&stage, player_count(stays) == 0);
    process_await_log(pair.world, "reason=silent sessions=2", 1);
    player_ping(stays);
    process_signal(pair.gateway, SIGCONT);
    come_back(a, b);
    cr_assert(a->told[PE_UNAVAILABLE] == 1 && b->told[PE_UNAVAILABLE] == 1);
    STAGE_UNTIL(&stage, player_sees(stays, a) && player_sees(stays, b));
    cr_assert_not(stays->closed);
    pair_end_one(second);
    stage_fini(&stage);
    pair_end(&pair);
    TEST_NO_LEAKS();
}

/* Nobody could be heard meanwhile, so nobody was silent. */
Test(e2e_stopped, clients_of_a_stopped_gateway_are_not_idle)
{
    struct pair pair = pair_start(
        NULL, PROCESS_ARGS("-idle-timeout", "1s", "-login-timeout", "1s", "-link-timeout", "1s"));
    struct raw_client c;

    raw_join(&c, pair.gateway->addr, "alpha");
    process_signal(pair.gateway, SIGSTOP);
    raw_must_be_quiet(&c, 2000);
    process_signal(pair.gateway, SIGCONT);
    raw_must_serve(&c);
    raw_must(&c, raw_move(&c, 8, 0), CMD_MOVE_RESP);
    raw_close(&c);
    pair_end(&pair);
    TEST_NO_LEAKS();
}
