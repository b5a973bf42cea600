/* tests/common/test_opts_answer.c: help, version and bad flags, as a program answers them. */
#include "common/err.h"
#include "tests/common/opts_rig.h"
#include "tests/leak.h"

#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <string.h>

/* Set where a test's program counts something. */
static void (*metrics)(FILE *to);

static const struct opts_part parts[] = {{"libone", "1.0"}, {"libtwo", "2.2-rc1"}};

static int check(const void *config, char *why, size_t why_cap)
{
    const struct rig_config *c = config;
    if (c->n != 13)
        return 0;
    snprintf(why, why_cap, "-n: 13 is not to be had");
    return E_RANGE;
}

static void print_metrics(FILE *to)
{
    fputs("| what is counted |\n", to);
}

/* Did it say run? What it says stands in the redirected outputs. */
static bool answers(struct parsed *p, int *status, const char *a, const char *b)
{
    const struct opts_program program = {
        .name = "rig",
        .usage = "rig [flags]",
        .version = "7.8.9",
        .parts = parts,
        .n_parts = ARRAY_LEN(parts),
        .table = rig_opts,
        .n = rig_opts_n,
        .check = check,
        .metrics = metrics,
    };
    char *argv[] = {"rig", (char *)a, (char *)b, NULL};
    int argc = a ? b ? 3 : 2 : 1;
    bool run = opts_answer(&program, &p->config, argc, argv, &p->opts, status);

    fflush(stdout);
    return run;
}

/* What one call prints on each of the two, and how it ends. */
static void says(const char *a, const char *b, int want_status, const char *out, const char *err)
{
    struct parsed p;
    int status = -1;

    cr_redirect_stdout();
    cr_redirect_stderr();
    cr_assert_not(answers(&p, &status, a, b));
    cr_assert_eq(status, want_status);
    cr_assert_null(p.opts);
    cr_assert_stdout_eq_str(out);
    cr_assert_stderr_eq_str(err);
}

Test(opts_answer, good_flags_are_a_run)
{
    struct parsed p;
    int status = -1;

    cr_assert(answers(&p, &status, NULL, NULL));
    cr_assert_eq(p.config.n, 10);
    opts_destroy(p.opts);
    cr_assert(answers(&p, &status, "-n=12", "-fast"));
    cr_assert_eq(p.config.n, 12);
    opts_destroy(p.opts);
    TEST_NO_LEAKS();
}

Test(opts_answer, the_version_has_a_line_for_each_part)
{
    says("-fast", "-version", OPTS_EXIT_CLEAN, "rig 7.8.9\nlibone 1.0\nlibtwo 2.2-rc1\n", "");
}

Test(opts_answer, a_bad_flag_is_one_line_with_the_programs_name)
{
    says("-n=x", NULL, OPTS_EXIT_FLAG, "", "rig: -n: \"x\": not a whole number\n");
}

Test(opts_answer, values_that_clash_are_refused_as_a_bad_flag_is)
{
    says("-n", "13", OPTS_EXIT_FLAG, "", "rig: -n: 13 is not to be had\n");
}

Test(opts_answer, what_only_looks_like_a_form_of_the_help_is_a_bad_flag)
{
    says("help=markdown", NULL, OPTS_EXIT_FLAG, "", "rig: \"help=markdown\": not a flag\n");
}

/* The output's beginning; criterion compares whole outputs only. */
static void begins(const char *flag, const char *want)
{
    struct parsed p;
    int status = -1;
    char got[128] = "";

    cr_redirect_stdout();
    cr_assert_not(answers(&p, &status, flag, NULL));
    cr_assert_eq(status, OPTS_EXIT_CLEAN);
    FILE *f = cr_get_redirected_stdout();
    cr_assert_eq(fread(got, 1, strlen(want), f), strlen(want));
    cr_assert_str_eq(got, want);
}

Test(opts_answer, help_begins_with_how_it_is_called)
{
    begins("--help", "usage: rig [flags]\n\n  -");
}

Test(opts_answer, help_comes_as_rows_for_a_paper)
{
    begins("--help=markdown", "| flag | default | meaning |\n");
}

Test(opts_answer, help_comes_as_a_config_file)
{
    begins("-help=config", "# ");
}

Test(opts_answer, a_program_that_counts_says_what)
{
    metrics = print_metrics;
    says("--help=metrics", NULL, OPTS_EXIT_CLEAN, "| what is counted |\n", "");
}

Test(opts_answer, a_form_of_the_help_that_is_not_there_is_a_bad_flag)
{
    says("-help=metrics", NULL, OPTS_EXIT_FLAG, "", "rig: -help: takes no value\n");
}

Test(opts_answer, an_unknown_form_of_the_help_is_a_bad_flag)
{
    says("-help=html", NULL, OPTS_EXIT_FLAG, "", "rig: -help: takes no value\n");
}
