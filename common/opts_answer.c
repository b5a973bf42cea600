/* common/opts_answer.c: what a program says of itself instead of running: help, version, bad flags.
 * May touch: libc. On trouble: a bad flag is one line and OPTS_EXIT_FLAG.
 */
#include "common/opts.h"

#include <string.h>

#define OPTS_WHY_MAX 512

/* What stands behind -help=, NULL where it is not asked. */
static const char *help_form(int argc, char **argv)
{
    static const char ask[] = "help=";

    for (int i = 1; i < argc; i++) {
        const char *flag = argv[i] + (argv[i][0] == '-');
        if (flag == argv[i])
            continue;
        flag += flag[0] == '-';
        if (strncmp(flag, ask, sizeof(ask) - 1) == 0)
            return flag + sizeof(ask) - 1;
    }
    return NULL;
}

/* The forms of -help that are for something else than a terminal. False: not one of them. */
static bool print_form(const struct opts_program *p, const char *form)
{
    if (strcmp(form, "markdown") == 0)
        opts_print_markdown(p->table, p->n, stdout);
    else if (strcmp(form, "config") == 0)
        opts_print_config(p->table, p->n, stdout);
    else if (p->metrics && strcmp(form, "metrics") == 0)
        p->metrics(stdout);
    else
        return false;
    return true;
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
    const char *form = help_form(argc, argv);

    *out = NULL;
    *status = OPTS_EXIT_CLEAN;
    if (form && print_form(p, form))
        return false;
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
