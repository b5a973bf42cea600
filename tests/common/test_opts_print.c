/* tests/common/test_opts_print.c: help, config file and README rows say what the table says. */
#include "tests/common/opts_rig.h"
#include "tests/leak.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

typedef void print_fn(const struct opt *table, size_t n, FILE *to);

static char *printed(print_fn *print)
{
    char *text = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);
    print(rig_opts, rig_opts_n, f);
    fclose(f);
    return text;
}

static void has(const char *text, const char *part)
{
    cr_assert_not_null(strstr(text, part), "no \"%s\" in:\n%s", part, text);
}

Test(opts_print, help_shows_every_flag_aligned_with_default_and_unit)
{
    char *text = printed(opts_print_help);
    has(text, "  -listen ADDR         where clients connect (default 127.0.0.1:19001)\n");
    has(text, "  -admin ADDR          where operators look (default not set)\n");
    has(text, "  -fast                hurry (default false)\n");
    has(text, "  -n N                 how many (default 10)\n");
    has(text, "  -tick TIME           time between ticks (default 50 ms)\n");
    has(text, "  -quantum X           the smallest step told (default 1/64 units)\n");
    has(text, "  -idle TIME           how long one may be silent before one is sent away (default "
              "60s; a bare\n"
              "                       number counts s; 0 is off)\n");
    has(text, "  -sndbuf BYTES        send buffer (default 128KiB; 0 is off)\n");
    has(text, "  -format text|json|json2|something-longer\n"
              "                       text | json: how a line is written (default text)\n");
    has(text, "  -map TEXT            where to read a map (default not set; may be repeated)\n");
    has(text, "  -config FILE         read flags from a file");
    has(text, "  -help                print this and exit\n");
    has(text, "  -version             print the version and exit\n");
    for (const char *line = text; *line; line = strchr(line, '\n') + 1)
        cr_assert_leq(strcspn(line, "\n"), 100, "%s", line);
    free(text);
    TEST_NO_LEAKS();
}

Test(opts_print, the_config_file_that_is_printed_parses_back_to_the_defaults)
{
    struct parsed p, plain;
    char *text = printed(opts_print_config);
    has(text, "# time between ticks\ntick = 50\n");
    has(text, "# where operators look\nadmin =\n");
    rig_parse_file(&p, text, strlen(text), NULL);
    cr_assert_eq(p.result, OPTS_OK, "%s", p.why);
    rig_parse(&plain, (const char *const[]){NULL});

    cr_assert_str_eq(p.config.store, plain.config.store);
    cr_assert_str_eq(p.config.listen, plain.config.listen);
    cr_assert_str_eq(p.config.admin, plain.config.admin);
    p.config.store = plain.config.store;
    p.config.listen = plain.config.listen;
    p.config.admin = plain.config.admin;
    /* Both were filled with the same bytes before, padding too. */
    cr_assert_eq(memcmp(&p.config, &plain.config, sizeof(p.config)), 0);
    opts_destroy(p.opts);
    opts_destroy(plain.opts);
    free(text);
    TEST_NO_LEAKS();
}

Test(opts_print, readme_rows_are_a_table_whose_cells_hold)
{
    char *text = printed(opts_print_markdown);
    cr_assert_eq(strncmp(text, "| flag | default | meaning |\n| --- | --- | --- |\n", 49), 0);
    has(text, "| `-tick` | 50 ms | time between ticks |\n");
    has(text, "| `-idle` | 60s | how long one may be silent before one is sent away; a bare number "
              "counts s; 0 is off |\n");
    has(text, "| `-admin` | not set | where operators look |\n");
    has(text, "| `-format` | text | text \\| json: how a line is written |\n");
    size_t lines = 0;
    for (const char *c = text; *c; c++)
        lines += *c == '\n';
    cr_assert_eq(lines, rig_opts_n + 2);
    free(text);
    TEST_NO_LEAKS();
}
