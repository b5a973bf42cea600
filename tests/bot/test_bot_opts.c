/* tests/bot/test_bot_opts.c: the bot's flags. */
#include "bot/bot_opts.h"

#include "common/err.h"
#include "common/log.h"
#include "tests/leak.h"

#include <criterion/criterion.h>
#include <string.h>

static enum opts_result parse(int argc, char **argv, struct bot_config *config, char *why,
                              size_t cap)
{
    struct opts *o = NULL;
    enum opts_result r = opts_parse(bot_opts, bot_opts_n, config, argc, argv, &o, why, cap);
    opts_destroy(o);
    return r;
}

Test(bot_opts, the_defaults_play_the_smoke_scenario_against_the_usual_gateway)
{
    struct bot_config c;
    char why[200];
    char *argv[] = {"bot"};
    cr_assert_eq(parse(1, argv, &c, why, sizeof(why)), OPTS_OK);
    cr_assert_eq(c.mode, BOT_SMOKE);
    cr_assert_str_eq(c.addr, "127.0.0.1:19001");
    cr_assert_eq(c.n, 30);
    cr_assert_eq(c.seconds_ns, 0);
    cr_assert_eq(c.rate, 10);
    cr_assert_eq(c.spread, BOT_SPREAD_HOME);
    cr_assert_eq(c.neighbours, 20);
    cr_assert_eq(c.deaf + c.drip + c.churn, 0);
    cr_assert_not(c.json);
    cr_assert_not(c.enter);
    cr_assert_eq(c.timeout_ns, 30 * 1000000000LL);
    cr_assert_eq(c.log_level, LOG_INFO);
    TEST_NO_LEAKS();
}

Test(bot_opts, flags_are_taken_in_both_forms)
{
    struct bot_config c;
    char why[200];
    char *argv[] = {"bot", "-mode=wander", "--n", "7", "-seconds", "90", "-rate=2.5"};
    cr_assert_eq(parse(7, argv, &c, why, sizeof(why)), OPTS_OK);
    cr_assert_eq(c.mode, BOT_WANDER);
    cr_assert_eq(c.n, 7);
    cr_assert_eq(c.seconds_ns, 90 * 1000000000LL);
    cr_assert_eq(c.rate, 2.5);
    TEST_NO_LEAKS();
}

Test(bot_opts, bots_take_turns_among_the_gateways)
{
    struct bot_config c;
    char why[200];
    char *argv[] = {"bot", "-also", "localhost:1", "-also=[::1]:2"}, *bad[] = {"bot", "-also=here"};
    cr_assert_eq(parse(4, argv, &c, why, sizeof(why)), OPTS_OK);
    cr_assert_eq(bot_opts_check(&c, why, sizeof(why)), 0);
    cr_assert_str_eq(bot_opts_gateway(c.addr, &c.also, 0), "127.0.0.1:19001");
    cr_assert_str_eq(bot_opts_gateway(c.addr, &c.also, 1), "localhost:1");
    cr_assert_str_eq(bot_opts_gateway(c.addr, &c.also, 2), "[::1]:2");
    cr_assert_str_eq(bot_opts_gateway(c.addr, &c.also, 3), "127.0.0.1:19001");
    cr_assert_eq(parse(2, bad, &c, why, sizeof(why)), OPTS_OK);
    cr_assert_eq(bot_opts_check(&c, why, sizeof(why)), E_RANGE);
    cr_assert_not_null(strstr(why, "-also: \"here\""));
    TEST_NO_LEAKS();
}

Test(bot_opts, the_place_to_meet_at_is_two_numbers)
{
    struct bot_config c;
    char why[200];
    char *good[] = {"bot", "-at=-3,40.5"}, *bad[] = {"bot", "-at", "3"};
    cr_assert_eq(parse(2, good, &c, why, sizeof(why)), OPTS_OK);
    cr_assert_eq(bot_opts_check(&c, why, sizeof(why)), 0);
    cr_assert_eq(parse(3, bad, &c, why, sizeof(why)), OPTS_OK);
    cr_assert_eq(bot_opts_check(&c, why, sizeof(why)), E_RANGE);
    cr_assert_not_null(strstr(why, "-at: \"3\""));
    TEST_NO_LEAKS();
}

Test(bot_opts, a_bad_flag_is_named_in_one_line) /* CASES F02 */
{
    struct bot_config c;
    char why[200];
    char *unknown[] = {"bot", "-foo"}, *mode[] = {"bot", "-mode=fly"}, *none[] = {"bot", "-n=0"};
    cr_assert_eq(parse(2, unknown, &c, why, sizeof(why)), OPTS_ERROR);
    cr_assert_str_eq(why, "-foo: unknown flag");
    cr_assert_eq(parse(2, mode, &c, why, sizeof(why)), OPTS_ERROR);
    cr_assert_not_null(strstr(why, "fly"));
    cr_assert_eq(parse(2, none, &c, why, sizeof(why)), OPTS_ERROR);
    cr_assert_not_null(strstr(why, "-n"));
    TEST_NO_LEAKS();
}
