/* common/opts_answer.c: what a program says of itself instead of running: help, version, bad flags.
 * May touch: libc. On trouble: a bad flag is one line and OPTS_EXIT_FLAG.
 */
#include "common/opts.h"

#include <string.h>

#define OPTS_WHY_MAX 512

typedef void print_fn(const struct opt *table, size_t n, FILE *to);

/* The forms of -help that print the table for something else than a terminal. NULL: not asked. */
static print_fn *help_form(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const char *flag = argv[i] + (argv[i][0] == '-');
        if (flag == argv[i])
            continue;
        flag += flag[0] == '-';
        if (strcmp(flag, "help=markdown") == 0)
            return opts_print_markdown;
        if (strcmp(flag, "help=config") == 0)
            return opts_print_config;
    }
    return NULL;
}

static void print_version(const struct opts_program *p)
{
    printf("%s %s\n", p->name, p->version);
    for (size_t i = 0; i < p->n_parts; i++)
        printf("%s %s\n", p->parts[i].name, p->parts[i].version);
}

static bool complain(const struct opts_program *p, const char *why, int *status)
{
    fprintf(stderr, "%s: %s\n", p->name, why);
    *status = OPTS_EXIT_FLAG;
    return false;
}

bool opts_answer(const struct opts_program *p, void *config, int argc, char **argv,
                 struct opts **out, int *status)
{
    char why[OPTS_WHY_MAX];
    print_fn *form = help_form(argc, argv);

    *out = NULL;
    *status = OPTS_EXIT_CLEAN;
    if (form) {
        form(p->table, p->n, stdout);
        return false;
    }
    switch (opts_parse(p->table, p->n, config, argc, argv, out, why, sizeof(why))) {
    case OPTS_OK:
        if (!p->check || p->check(config, why, sizeof(why)) == 0)
            return true;
        opts_destroy(*out);
        *out = NULL;
        return complain(p, why, status);
    case OPTS_HELP:
        printf("usage: %s\n\n", p->usage);
        opts_print_help(p->table, p->n, stdout);
        return false;
    case OPTS_VERSION:
        print_version(p);
        return false;
    case OPTS_ERROR:
        break;
    }
    return complain(p, why, status);
}
