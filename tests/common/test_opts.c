/* tests/common/test_opts.c: arguments and config files as a whole; values are in
 * test_opts_value.c.
 */
#include "tests/common/opts_rig.h"
#include "tests/leak.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define ONE_MIB ((size_t)1 << 20)

static void fails(const char *want, const char *const args[])
{
    struct parsed p;
    rig_parse(&p, args);
    cr_assert_eq(p.result, OPTS_ERROR);
    cr_assert_str_eq(p.why, want);
}

#define FAILS(want, ...) fails(want, (const char *const[]){__VA_ARGS__, NULL})

static void file_fails(const char *text, const char *want)
{
    struct parsed p;
    rig_parse_file(&p, text, strlen(text), NULL);
    cr_assert_eq(p.result, OPTS_ERROR, "%s", text);
    cr_assert_str_eq(p.why, want);
}

/* --- arguments -------------------------------------------------------------------------------- */

Test(opts, without_arguments_everything_is_its_default)
{
    struct parsed p;
    rig_parse(&p, (const char *const[]){NULL});
    cr_assert_eq(p.result, OPTS_OK);
    cr_assert_str_eq(p.why, "");
    cr_assert_str_eq(p.config.store, "none");
    cr_assert_str_eq(p.config.listen, "127.0.0.1:19001");
    cr_assert_str_eq(p.config.admin, "", "not set is empty, never NULL");
    cr_assert_not(p.config.fast);
    cr_assert_eq(p.config.n, 10);
    cr_assert_eq(p.config.sndbuf, 131072);
    cr_assert_eq(p.config.radius, 30);
    cr_assert_eq(p.config.quantum, 1.0 / 64);
    cr_assert_eq(p.config.tick_ns, 50000000);
    cr_assert_eq(p.config.idle_ns, 60000000000);
    cr_assert_eq(p.config.window_ns, 60000000000);
    cr_assert_eq(p.config.format, 0);
    cr_assert_eq(p.config.bounds[0], -16384);
    cr_assert_eq(p.config.bounds[3], 16384);
    cr_assert_eq(p.config.area[0] + p.config.area[1] + p.config.area[2] + p.config.area[3], 0);
    opts_destroy(p.opts);
    TEST_NO_LEAKS();
}

Test(opts, a_flag_has_one_or_two_dashes_and_its_value_behind_a_blank_or_an_equals_sign)
{
    struct parsed p;
    RIG_PARSE(&p, "-n", "1", "--radius", "2", "-tick=3", "--store=a=b", "-listen", "[::1]:0");
    cr_assert_eq(p.result, OPTS_OK, "%s", p.why);
    cr_assert_eq(p.config.n, 1);
    cr_assert_eq(p.config.radius, 2);
    cr_assert_eq(p.config.tick_ns, 3000000);
    cr_assert_str_eq(p.config.store, "a=b");
    cr_assert_str_eq(p.config.listen, "[::1]:0");
    opts_destroy(p.opts);
    TEST_NO_LEAKS();
}

Test(opts, a_switch_takes_no_value_behind_a_blank)
{
    struct parsed p;
    RIG_PARSE(&p, "-fast", "-n", "2");
    cr_assert_eq(p.result, OPTS_OK);
    cr_assert(p.config.fast);
    cr_assert_eq(p.config.n, 2);
    opts_destroy(p.opts);
    RIG_PARSE(&p, "-fast=true", "--fast=false");
    cr_assert_not(p.config.fast);
    opts_destroy(p.opts);
    FAILS("\"true\": not a flag", "-fast", "true");
    FAILS("-fast: \"yes\": must be true or false", "-fast=yes");
    TEST_NO_LEAKS();
}

Test(opts, of_a_flag_given_twice_the_last_counts)
{
    struct parsed p;
    RIG_PARSE(&p, "-n=1", "-n", "2", "--n=3");
    cr_assert_eq(p.result, OPTS_OK);
    cr_assert_eq(p.config.n, 3);
    opts_destroy(p.opts);
    FAILS("-n: \"0\": must be at least 1", "-n=0", "-n=3");
    TEST_NO_LEAKS();
}

Test(opts, a_value_may_begin_with_a_dash)
{
    struct parsed p;
    RIG_PARSE(&p, "-bounds", "-1,-2,3,4");
    cr_assert_eq(p.result, OPTS_OK, "%s", p.why);
    cr_assert_eq(p.config.bounds[1], -2);
    opts_destroy(p.opts);
    TEST_NO_LEAKS();
}

Test(opts, F02_an_unknown_flag_is_named)
{
    FAILS("-foo: unknown flag", "-foo");
    FAILS("-foo: unknown flag", "-foo=1");
    FAILS("-foo: unknown flag", "--foo", "1");
    FAILS("-tic: unknown flag", "-tic", "50");
    FAILS("-tickk: unknown flag", "-tickk=50");
    FAILS("-N: unknown flag", "-N=50");
    TEST_NO_LEAKS();
}

Test(opts, what_is_no_flag_is_an_error)
{
    FAILS("\"run\": not a flag", "run");
    FAILS("\"run\": not a flag", "-n", "1", "run");
    FAILS("\"\": not a flag", "");
    FAILS("\"-\": not a flag", "-");
    FAILS("\"--\": not a flag", "--");
    FAILS("\"-=1\": not a flag", "-=1");
    FAILS("--n: unknown flag", "---n=1");
    TEST_NO_LEAKS();
}

Test(opts, a_missing_value_is_an_error)
{
    FAILS("-n: needs a value", "-n");
    FAILS("-listen: needs a value", "-n", "1", "--listen");
    FAILS("-config: needs a value", "-config");
    FAILS("-n: \"\": not a whole number", "-n=");
    FAILS("-n: \"\": not a whole number", "-n", "");
    FAILS("-listen: \"-tick\": not of the form host:port", "-listen", "-tick");
    TEST_NO_LEAKS();
}

Test(opts, F02_a_bad_value_is_named_with_its_flag)
{
    FAILS("-listen: \"127.0.0.1:65536\": port must be 0..65535", "-listen", "127.0.0.1:65536");
    FAILS("-radius: \"nan\": not a finite number", "-radius=nan");
    FAILS("-radius: \"1e9\": must be at most 256 units", "-radius=1e9");
    FAILS("-tick: \"0\": must be at least 1 ms", "-tick=0");
    TEST_NO_LEAKS();
}

Test(opts, an_errors_line_stays_one_line_and_short)
{
    struct parsed p;
    char arg[3000] = "-n=";
    FAILS("-n: \"1?2?\": not a whole number", "-n=1\n2\x7f");
    memset(arg + 3, 'x', sizeof(arg) - 4);
    RIG_PARSE(&p, arg);
    cr_assert_eq(p.result, OPTS_ERROR);
    cr_assert_not_null(strstr(p.why, "xxx...\": not a whole number"));
    memset(arg + 1, 'y', sizeof(arg) - 2);
    RIG_PARSE(&p, arg);
    cr_assert_not_null(strstr(p.why, "yyy...: unknown flag"));
    TEST_NO_LEAKS();
}

Test(opts, help_and_version_are_built_in_and_come_before_bad_values)
{
    struct parsed p;
    RIG_PARSE(&p, "-n=0", "-help");
    cr_assert_eq(p.result, OPTS_HELP);
    RIG_PARSE(&p, "--version");
    cr_assert_eq(p.result, OPTS_VERSION);
    RIG_PARSE(&p, "-config", "/nonexistent", "-help");
    cr_assert_eq(p.result, OPTS_HELP);
    RIG_PARSE(&p, "-store", "-help");
    cr_assert_eq(p.result, OPTS_OK, "here it is a value");
    opts_destroy(p.opts);
    FAILS("-help: takes no value", "-help=true");
    TEST_NO_LEAKS();
}

/* --- config file ------------------------------------------------------------------------------ */

Test(opts, a_config_file_has_the_same_names_and_values)
{
    struct parsed p;
    static const char text[] = "# a comment\n"
                               "\n"
                               "n = 7\n"
                               "  radius=2.5 # units\r\n"
                               "\tstore\t=\tpostgres://u:p#w@h/a b  \n"
                               "fast = true\n"
                               "admin = \n"
                               "bounds = -1,-2,3,4";
    rig_parse_file(&p, text, strlen(text), NULL);
    cr_assert_eq(p.result, OPTS_OK, "%s", p.why);
    cr_assert_eq(p.config.n, 7);
    cr_assert_eq(p.config.radius, 2.5);
    cr_assert_str_eq(p.config.store, "postgres://u:p#w@h/a b");
    cr_assert(p.config.fast);
    cr_assert_str_eq(p.config.admin, "");
    cr_assert_eq(p.config.bounds[3], 4);
    cr_assert_eq(p.config.tick_ns, 50000000, "not in the file: the default");
    opts_destroy(p.opts);
    TEST_NO_LEAKS();
}

Test(opts, flags_win_over_the_file_wherever_they_stand)
{
    struct parsed p;
    static const char text[] = "n = 7\nradius = 8\nn = 9\n";
    rig_parse_file(&p, text, strlen(text), (const char *const[]){"-radius=3", NULL});
    cr_assert_eq(p.result, OPTS_OK, "%s", p.why);
    cr_assert_eq(p.config.n, 9, "of a name given twice the last counts");
    cr_assert_eq(p.config.radius, 3);
    opts_destroy(p.opts);
    TEST_NO_LEAKS();
}

Test(opts, what_is_wrong_in_a_file_is_named_with_its_line)
{
    file_fails("n = 1\n\nfoo = 1\n", "FILE:3: foo: unknown flag");
    file_fails("tick = 0\n", "FILE:1: tick: \"0\": must be at least 1 ms");
    file_fails("n = 1\nn\n", "FILE:2: \"n\": not of the form name = value");
    file_fails("fast\n", "FILE:1: \"fast\": not of the form name = value");
    file_fails("= 5", "FILE:1: : unknown flag");
    file_fails("n =", "FILE:1: n: \"\": not a whole number");
    file_fails("n = # five", "FILE:1: n: \"\": not a whole number");
    file_fails("-n = 5", "FILE:1: -n: unknown flag");
    file_fails("config = other", "FILE:1: config: unknown flag");
    file_fails("help = true", "FILE:1: help: unknown flag");
    file_fails("listen = \n", "FILE:1: listen: \"\": not of the form host:port");
    TEST_NO_LEAKS();
}

Test(opts, a_file_that_cannot_be_read_is_an_error)
{
    FAILS("-config: \"/nonexistent/aegis.conf\": No such file or directory", "-config",
          "/nonexistent/aegis.conf");
    FAILS("-config: \"/tmp\": Is a directory", "-config=/tmp");
    FAILS("-config: \"\": No such file or directory", "-config=");
    TEST_NO_LEAKS();
}

Test(opts, an_empty_file_changes_nothing)
{
    struct parsed p;
    rig_parse_file(&p, "", 0, NULL);
    cr_assert_eq(p.result, OPTS_OK);
    cr_assert_eq(p.config.n, 10);
    opts_destroy(p.opts);
    TEST_NO_LEAKS();
}

Test(opts, a_file_is_text_and_of_bounded_size)
{
    struct parsed p;
    rig_parse_file(&p, "n = 1\0n = 2", 11, NULL);
    cr_assert_eq(p.result, OPTS_ERROR);
    cr_assert_str_eq(p.why, "-config: \"FILE\": not a text");

    char *big = malloc(ONE_MIB + 1);
    memset(big, '\n', ONE_MIB + 1);
    memcpy(big, "n = 3\n", 6);
    rig_parse_file(&p, big, ONE_MIB, NULL);
    cr_assert_eq(p.result, OPTS_OK, "%s", p.why);
    cr_assert_eq(p.config.n, 3);
    opts_destroy(p.opts);
    rig_parse_file(&p, big, ONE_MIB + 1, NULL);
    cr_assert_eq(p.result, OPTS_ERROR);
    cr_assert_str_eq(p.why, "-config: \"FILE\": larger than 1 MiB");
    free(big);
    TEST_NO_LEAKS();
}

Test(opts, bytes_of_a_file_never_break_an_errors_line)
{
    file_fails("\x1b[2J = 1\n", "FILE:1: ?[2J: unknown flag");
    file_fails("n = 1\x01\n", "FILE:1: n: \"1?\": not a whole number");
    TEST_NO_LEAKS();
}

/* --- lists ------------------------------------------------------------------------------------ */

static void has_maps(const struct parsed *p, const char *const want[])
{
    uint64_t n = 0;
    cr_assert_eq(p->result, OPTS_OK, "%s", p->why);
    for (; want[n]; n++) {
        cr_assert_lt(n, p->config.maps.n);
        cr_assert_str_eq(p->config.maps.text[n], want[n]);
    }
    cr_assert_eq(p->config.maps.n, n);
    opts_destroy(p->opts);
}

#define HAS_MAPS(p, ...) has_maps(p, (const char *const[]){__VA_ARGS__, NULL})

Test(opts, a_list_takes_its_flag_each_time_in_order)
{
    struct parsed p;
    RIG_PARSE(&p, "-map=town=a.json", "-n=3", "--map", "b.json", "-map=a.json");
    HAS_MAPS(&p, "town=a.json", "b.json", "a.json");
    RIG_PARSE(&p, "-n=3");
    HAS_MAPS(&p, NULL);
    RIG_PARSE(&p, "-map=a", "-map=", "-map=b");
    HAS_MAPS(&p, "b");
    TEST_NO_LEAKS();
}

Test(opts, a_list_of_the_file_counts_where_the_arguments_have_none)
{
    static const char text[] = "map = a.json\n\nmap = town=b.json # the other\n";
    struct parsed p;
    rig_parse_file(&p, text, sizeof(text) - 1, NULL);
    HAS_MAPS(&p, "a.json", "town=b.json");
    rig_parse_file(&p, text, sizeof(text) - 1, (const char *const[]){"-map=c", "-map=d", NULL});
    HAS_MAPS(&p, "c", "d");
    rig_parse_file(&p, text, sizeof(text) - 1, (const char *const[]){"-map=", NULL});
    HAS_MAPS(&p, NULL);
    TEST_NO_LEAKS();
}

Test(opts, a_list_is_bounded)
{
    char text[OPT_LIST_MAX * 8 + 16] = "";
    struct parsed p;
    for (int i = 0; i < OPT_LIST_MAX; i++)
        strcat(text, "map = a\n");
    rig_parse_file(&p, text, strlen(text), NULL);
    cr_assert_eq(p.result, OPTS_OK);
    cr_assert_eq(p.config.maps.n, OPT_LIST_MAX);
    opts_destroy(p.opts);
    strcat(text, "map = b\n");
    file_fails(text, "FILE:65: map: \"b\": given more than 64 times");
    TEST_NO_LEAKS();
}

Test(opts, destroying_nothing_is_fine)
{
    opts_destroy(NULL);
}
