/* tests/e2e/test_e2e_smoke.c: the smoke scenario of bin/bot against real processes.
 * May touch: tests/pair. On trouble: the test fails.
 */
#include "tests/leak.h"
#include "tests/pair.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BOT_MS 20000 /* for one scenario, walking included */

/* The scenario's lines; "#" stands for a number. %u, %u, %u are the ids. */
static const char story[] = "[alpha] login reply {\"ok\":true,\"id\":%u,\"name\":\"alpha\"}\n"
                            "[beta] login reply {\"ok\":true,\"id\":%u,\"name\":\"beta\"}\n"
                            "[gamma] login reply {\"ok\":true,\"id\":%u,\"name\":\"gamma\"}\n"
                            "[alpha] entered world (x=%u.0)\n"
                            "[beta] entered world (x=%u.0)\n"
                            "[gamma] entered world (x=%u.0)\n"
                            "[alpha] sees 2 neighbours: [beta gamma]\n"
                            "[beta] sees 2 neighbours: [alpha gamma]\n"
                            "[gamma] sees 2 neighbours: [alpha beta]\n"
                            "[alpha] legal move -> MoveResp\n"
                            "[gamma] far move to x=# -> out of sight of [alpha beta]\n"
                            "[gamma] back at x=# -> in sight of [alpha beta]\n"
                            "[alpha] teleport to x=9999 -> rejected (ErrorNotify)\n"
                            "smoke OK\n";

/* Is `text` what `pattern` says, "#" being a number with one decimal? */
static bool matches(struct span text, const char *pattern)
{
    size_t at = 0;

    for (; *pattern; pattern++) {
        if (*pattern != '#') {
            if (at == text.n || text.p[at++] != (uint8_t)*pattern)
                return false;
            continue;
        }
        size_t from = at;
        while (at < text.n && strchr("-0123456789.", text.p[at]))
            at++;
        if (at - from < 3 || text.p[at - 2] != '.')
            return false;
    }
    return at == text.n;
}

/* The ids follow each other, since the lowest free one is given first and an old one rests. */
static void must_tell_the_story(struct process *bot, unsigned first_id)
{
    char want[sizeof(story) + 64];
    struct span out;
    unsigned i = first_id;

    process_await_exit(bot, BOT_MS, 0);
    out = process_out(bot);
    snprintf(want, sizeof(want), story, i, i + 1, i + 2, 8 * i, 8 * i + 8, 8 * i + 16);
    if (!matches(out, want))
        process_fail("the bot printed:\n%.*s\nand not:\n%s", (int)out.n, (const char *)out.p, want);
    cr_assert_eq(process_log(bot).n, 0, "nothing on standard error");
}

TestSuite(e2e_smoke, .fini = process_end_all, .timeout = 60);

/* Fast walkers, so that five stories take no longer than one. */
Test(e2e_smoke, the_story_is_told_five_times_in_a_row_against_one_pair)
{
    struct pair pair = pair_start(PROCESS_ARGS("-max-speed", "60"), NULL);

    for (unsigned i = 0; i < 5; i++) {
        struct process *bot =
            process_start("bot", PROCESS_ARGS("-mode=smoke", "-addr", pair.gateway->addr));
        must_tell_the_story(bot, 1 + 3 * i);
    }
    pair_end(&pair);
    TEST_NO_LEAKS();
}

/* Twice round the place: the first way from where they enter, the second from where they were. */
Test(e2e_smoke, the_three_meet_round_a_place_and_go_on_from_quarter_to_quarter_through_two_gateways)
{
    struct pair pair = pair_start(PROCESS_ARGS("-max-speed", "60"), NULL);
    struct process *other =
        process_start("aegis", PROCESS_ARGS("-role=gateway", "-listen", process_any_port(),
                                            "-upstream", pair.world->addr));
    const char *const told[] = {
        "[alpha] went round (40.5, -20) to (49.5, -29.0) -> in sight of the others all the way\n",
        "[beta] went round (40.5, -20) to (49.5, -11.0) -> in sight of the others all the way\n",
        "[gamma] went round (40.5, -20) to (31.5, -11.0) -> in sight of the others all the way\n",
        "[gamma] far move to x=", "smoke OK\n"};

    process_await_addr(other);
    for (int i = 0; i < 2; i++) {
        struct process *bot =
            process_start("bot", PROCESS_ARGS("-mode=smoke", "-addr", pair.gateway->addr, "-also",
                                              other->addr, "-at", "40.5,-20"));
        process_await_exit(bot, BOT_MS, 0);
        struct span out = process_out(bot);
        const char *at = (const char *)out.p;
        for (size_t k = 0; at && k < sizeof(told) / sizeof(told[0]); k++)
            at = memmem(at, out.n - (size_t)(at - (const char *)out.p), told[k], strlen(told[k]));
        if (!at)
            process_fail("the bot printed:\n%.*s", (int)out.n, (const char *)out.p);
    }
    process_signal(other, SIGTERM);
    process_await_exit(other, PROCESS_PATIENCE_MS, 0);
    pair_end(&pair);
    TEST_NO_LEAKS();
}

Test(e2e_smoke, the_gateway_may_start_before_the_world_and_the_bot_before_both)
{
    char world_addr[PROCESS_ADDR_MAX], gateway_addr[PROCESS_ADDR_MAX];
    struct pair pair;

    strcpy(world_addr, process_free_port());
    strcpy(gateway_addr, process_free_port());
    struct process *bot =
        process_start("bot", PROCESS_ARGS("-mode", "smoke", "-addr", gateway_addr));
    pair.gateway = process_start(
        "aegis", PROCESS_ARGS("-role=gateway", "-listen", gateway_addr, "-upstream", world_addr));
    process_await_addr(pair.gateway);
    process_await_log(pair.gateway, "world away", 1);
    pair.world = process_start("aegis", PROCESS_ARGS("-role=world", "-listen", world_addr));
    process_await_addr(pair.world);
    must_tell_the_story(bot, 1);
    pair_end(&pair);
    TEST_NO_LEAKS();
}

Test(e2e_smoke, a_server_that_is_not_there_is_a_failure_in_one_line_within_the_timeout)
{
    struct process *bot = process_start(
        "bot", PROCESS_ARGS("-mode=smoke", "-addr", process_free_port(), "-timeout", "500ms"));

    process_await_exit(bot, PROCESS_PATIENCE_MS, 1);
    struct span out = process_out(bot);
    cr_assert(out.n > 14 && memcmp(out.p, "smoke FAILED: ", 14) == 0);
    cr_assert_eq(memchr(out.p, '\n', out.n), out.p + out.n - 1, "one line");
    process_check_all();
    TEST_NO_LEAKS();
}
