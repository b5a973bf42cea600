/* common/opts.h: flags from one table; help, config file and README come from the same table.
 * Takes `-flag=value` and `-flag value`, one or two dashes; a config file (`-config`) of the same
 * names, one `name = value` a line, `#` at the start or after a blank starts a comment; flags win
 * over the file; of a flag given twice the last counts, but for lists, to which each adds.
 * May touch: libc, the config file. Never: what a flag means.
 * On trouble: one line that names the flag and the value, and nothing of the table is trusted.
 */
#pragma once

#include "common/base.h"

#include <stdbool.h>
#include <stdio.h>

enum opt_type {
    OPT_TEXT,     /* const char *: borrowed from argv or owned by the opts */
    OPT_BOOL,     /* bool: `-flag`, `-flag=true|false` */
    OPT_UINT,     /* uint64_t */
    OPT_REAL,     /* double, finite; also a fraction such as 1/64 */
    OPT_DURATION, /* int64_t nanoseconds; `ms`, `s`, `m`; a bare number has the table's unit */
    OPT_BYTES,    /* uint64_t bytes; `KiB`, `MiB`, `GiB` (and k, m, g) */
    OPT_ADDR,     /* const char *: host:port or [ipv6]:port, port 0..65535, checked for form */
    OPT_CHOICE,   /* int: index into `choices`, words split by '|' */
    OPT_RECT,     /* double[4]: x0,y0,x1,y1, finite, x0 < x1, y0 < y1 */
    OPT_LIST      /* struct opt_list: texts, one each time that the flag is given. Those of the
                     config file count only where there are none among the arguments; an empty
                     text drops what came before it. The default is empty */
};

#define OPT_LIST_MAX 64

struct opt_list {
    uint64_t n;
    const char *text[OPT_LIST_MAX]; /* [n] as OPT_TEXT's */
};

struct opt {
    const char *name; /* without dash */
    enum opt_type type;
    size_t offset;       /* of the field in the config struct */
    const char *def;     /* the default, as one would type it; "": not set, which reads as an empty
                            text (never NULL) or zero */
    const char *unit;    /* of a bare number: "ms", "s", "units", …; "" where there is none */
    double min, max;     /* of a number, in `unit`; both 0: unbounded (but never negative) */
    bool zero_off;       /* 0 is allowed, below min too: the limit is off */
    const char *choices; /* OPT_CHOICE: "text|json" */
    const char *help;    /* one sentence without a full stop */
};

struct opts; /* owns the texts that a config file brought */

/* What opts_parse found. */
enum opts_result {
    OPTS_OK,
    OPTS_HELP,    /* -help was asked */
    OPTS_VERSION, /* -version was asked */
    OPTS_ERROR    /* `why` holds the one line */
};

/* Fill `config` from the defaults, then the file named by -config, then argv[1..].
 * -config, -help and -version are built in; every table has them without listing them.
 *   why   [why_cap] gets the error's line without newline */
enum opts_result opts_parse(const struct opt *table, size_t n, void *config, int argc, char **argv,
                            struct opts **out, char *why, size_t why_cap) MUST_CHECK;
void opts_destroy(struct opts *o);

/* A library, or an optional part, that a program was built with. */
struct opts_part {
    const char *name, *version;
};

/* A program as its flags present it; all borrowed. */
struct opts_program {
    const char *name;    /* stands before an error's line, and in -version */
    const char *usage;   /* "aegis -role=world [flags]" */
    const char *version; /* its own */
    const struct opts_part *parts;
    size_t n_parts;
    const struct opt *table;
    size_t n;
    /* What no single row can say: how the values of a whole config stand to each other. 0, or
     * `why` has the line, which names the flag. NULL: nothing. */
    int (*check)(const void *config, char *why, size_t why_cap);
    /* What -help=metrics prints: README's rows of what the program counts. NULL: it counts nothing,
     * and that is a bad flag. */
    void (*metrics)(FILE *to);
};

enum opts_exit { OPTS_EXIT_CLEAN = 0, OPTS_EXIT_FLAG = 2 };

/* opts_parse, with everything answered that is no run: -help (also -help=markdown and -help=config,
 * the two texts below, and -help=metrics) and -version on standard output, a bad flag on standard
 * error. True: run with `config`. False: end with `*status`. `*out` is for opts_destroy either way.
 */
bool opts_answer(const struct opts_program *p, void *config, int argc, char **argv,
                 struct opts **out, int *status) MUST_CHECK;

/* The three texts from the table: help for a terminal, a commented config file with the defaults,
 * README's rows. */
void opts_print_help(const struct opt *table, size_t n, FILE *to);
void opts_print_config(const struct opt *table, size_t n, FILE *to);
void opts_print_markdown(const struct opt *table, size_t n, FILE *to);
