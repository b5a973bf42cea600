/* common/opts.c: flags and config file against one table.
 *
 *   argv, first pass: is every argument a flag that we know; -help, -version, where is -config
 *   defaults ─► config file ─► argv, second pass ─► the config struct
 *
 * May touch: libc, the config file. Never: what a flag means.
 * On trouble: the first thing wrong, in one line.
 */
#include "common/opts.h"

#include "common/opts_value.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of a config file at most. */
#define OPTS_FILE_MAX ((size_t)1 << 20)
/* Bytes of a value that an error repeats. */
#define OPTS_QUOTE_MAX  80
#define OPTS_REASON_MAX 160

struct opts {
    char *file; /* the config file's text; values point into it. NULL: there was none */
};

struct parse {
    const struct opt *table;
    size_t n;
    void *config;
    char *why;
    size_t why_cap;
};

/* What one argument is. */
enum arg_kind { ARG_FLAG, ARG_CONFIG, ARG_HELP, ARG_VERSION, ARG_WRONG };

struct arg {
    const struct opt *opt; /* ARG_FLAG */
    const char *value;
};

static PRINTF_LIKE(2, 3) bool fail(struct parse *p, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(p->why, p->why_cap, fmt, ap);
    va_end(ap);
    return false;
}

/* A value as it may stand in an error's one line. */
static const char *quote(const char *value, size_t n, char out[OPTS_QUOTE_MAX + 4])
{
    size_t len = n < OPTS_QUOTE_MAX ? n : OPTS_QUOTE_MAX;
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)value[i];
        out[i] = c < 0x20 || c == 0x7f ? '?' : (char)c;
    }
    strcpy(out + len, len < n ? "..." : "");
    return out;
}

static const char *quote_text(const char *value, char out[OPTS_QUOTE_MAX + 4])
{
    return quote(value, strlen(value), out);
}

static const struct opt *find(const struct parse *p, const char *name, size_t n)
{
    for (size_t i = 0; i < p->n; i++)
        if (strncmp(p->table[i].name, name, n) == 0 && p->table[i].name[n] == '\0')
            return &p->table[i];
    return NULL;
}

static bool is(const char *name, size_t n, const char *other)
{
    return strlen(other) == n && memcmp(name, other, n) == 0;
}

/* --- arguments -------------------------------------------------------------------------------- */

/* What stands at argv[*at]; moves `*at` behind it. */
static enum arg_kind next_arg(struct parse *p, int argc, char **argv, int *at, struct arg *out)
{
    char quoted[OPTS_QUOTE_MAX + 4];
    const char *text = argv[(*at)++];
    const char *name = text + (text[0] == '-') + (text[0] == '-' && text[1] == '-');
    size_t n = strcspn(name, "=");
    if (name == text || n == 0) {
        fail(p, "\"%s\": not a flag", quote_text(text, quoted));
        return ARG_WRONG;
    }

    enum arg_kind kind = is(name, n, "help")      ? ARG_HELP
                         : is(name, n, "version") ? ARG_VERSION
                         : is(name, n, "config")  ? ARG_CONFIG
                                                  : ARG_FLAG;
    out->opt = kind == ARG_FLAG ? find(p, name, n) : NULL;
    if (kind == ARG_FLAG && !out->opt) {
        fail(p, "-%s: unknown flag", quote(name, n, quoted));
        return ARG_WRONG;
    }

    bool bare = kind == ARG_HELP || kind == ARG_VERSION;
    if (name[n] == '=')
        out->value = name + n + 1;
    else if (bare || (out->opt && out->opt->type == OPT_BOOL))
        out->value = "true";
    else if (*at < argc)
        out->value = argv[(*at)++];
    else {
        fail(p, "-%s: needs a value", quote(name, n, quoted));
        return ARG_WRONG;
    }
    if (bare && name[n] == '=') {
        fail(p, "-%s: takes no value", quote(name, n, quoted));
        return ARG_WRONG;
    }
    return kind;
}

/* The first pass. */
static enum opts_result scan(struct parse *p, int argc, char **argv, const char **config_path)
{
    *config_path = NULL;
    for (int at = 1; at < argc;) {
        struct arg a;
        switch (next_arg(p, argc, argv, &at, &a)) {
        case ARG_HELP:
            return OPTS_HELP;
        case ARG_VERSION:
            return OPTS_VERSION;
        case ARG_CONFIG:
            *config_path = a.value;
            break;
        case ARG_FLAG:
            break;
        case ARG_WRONG:
            return OPTS_ERROR;
        }
    }
    return OPTS_OK;
}

/* Lists among the arguments win over those of the file, rather than being added to them. */
static void forget_lists(struct parse *p, int argc, char **argv)
{
    for (int at = 1; at < argc;) {
        struct arg a;
        if (next_arg(p, argc, argv, &at, &a) == ARG_FLAG && a.opt->type == OPT_LIST)
            ((struct opt_list *)(void *)((char *)p->config + a.opt->offset))->n = 0;
    }
}

/* The second pass. */
static bool set_from_args(struct parse *p, int argc, char **argv)
{
    forget_lists(p, argc, argv);
    for (int at = 1; at < argc;) {
        struct arg a;
        char reason[OPTS_REASON_MAX];
        char quoted[OPTS_QUOTE_MAX + 4];
        if (next_arg(p, argc, argv, &at, &a) != ARG_FLAG)
            continue;
        if (!opts_value_set(a.opt, a.value, p->config, reason, sizeof(reason)))
            return fail(p, "-%s: \"%s\": %s", a.opt->name, quote_text(a.value, quoted), reason);
    }
    return true;
}

/* --- config file ------------------------------------------------------------------------------ */

/* The whole file with a NUL behind it. */
static char *read_file(struct parse *p, const char *path)
{
    char quoted[OPTS_QUOTE_MAX + 4];
    quote_text(path, quoted);
    FILE *f = fopen(path, "re");
    if (!f) {
        fail(p, "-config: \"%s\": %s", quoted, strerror(errno));
        return NULL;
    }
    char *text = malloc(OPTS_FILE_MAX + 2);
    size_t n = text ? fread(text, 1, OPTS_FILE_MAX + 1, f) : 0;
    bool broken = ferror(f) != 0;
    int err = errno;
    fclose(f);

    if (!text)
        fail(p, "-config: \"%s\": out of memory", quoted);
    else if (broken)
        fail(p, "-config: \"%s\": %s", quoted, strerror(err));
    else if (n > OPTS_FILE_MAX)
        fail(p, "-config: \"%s\": larger than 1 MiB", quoted);
    else if (memchr(text, '\0', n))
        fail(p, "-config: \"%s\": not a text", quoted);
    else {
        text[n] = '\0';
        /* What was reserved for the largest file is given back. */
        char *fitting = realloc(text, n + 1);
        return fitting ? fitting : text;
    }
    free(text);
    return NULL;
}

/* End the line at its comment: a # at the start or after a blank. One within a word is part of it,
 * as in a password. */
static void cut_comment(char *line)
{
    for (char *c = line; (c = strchr(c, '#')) != NULL; c++) {
        if (c == line || c[-1] == ' ' || c[-1] == '\t') {
            *c = '\0';
            return;
        }
    }
}

static char *trim(char *text)
{
    text += strspn(text, " \t\r");
    size_t n = strlen(text);
    while (n > 0 && strchr(" \t\r", text[n - 1]))
        n--;
    text[n] = '\0';
    return text;
}

/* One line, NUL-terminated, which stays for as long as the opts do. */
static bool set_from_line(struct parse *p, char *line, char *reason, size_t reason_cap)
{
    char quoted[OPTS_QUOTE_MAX + 4];
    cut_comment(line);
    line = trim(line);
    if (*line == '\0')
        return true;
    char *eq = strchr(line, '=');
    if (!eq) {
        snprintf(reason, reason_cap, "\"%s\": not of the form name = value",
                 quote_text(line, quoted));
        return false;
    }
    *eq = '\0';
    char *name = trim(line);
    char *value = trim(eq + 1);
    const struct opt *o = find(p, name, strlen(name));
    if (!o) {
        snprintf(reason, reason_cap, "%s: unknown flag", quote_text(name, quoted));
        return false;
    }
    char inner[OPTS_REASON_MAX];
    if (opts_value_set(o, value, p->config, inner, sizeof(inner)))
        return true;
    snprintf(reason, reason_cap, "%s: \"%s\": %s", o->name, quote_text(value, quoted), inner);
    return false;
}

static bool set_from_file(struct parse *p, const char *path, char *text)
{
    char quoted[OPTS_QUOTE_MAX + 4];
    char reason[2 * OPTS_REASON_MAX];
    int number = 1;
    for (char *line = text; line; number++) {
        char *end = strchr(line, '\n');
        if (end)
            *end = '\0';
        if (!set_from_line(p, line, reason, sizeof(reason)))
            return fail(p, "%s:%d: %s", quote_text(path, quoted), number, reason);
        line = end ? end + 1 : NULL;
    }
    return true;
}

/* --- the whole -------------------------------------------------------------------------------- */

static void set_defaults(struct parse *p)
{
    for (size_t i = 0; i < p->n; i++) {
        char reason[OPTS_REASON_MAX];
        bool good =
            opts_value_set(&p->table[i], p->table[i].def, p->config, reason, sizeof(reason));
        ASSERT(good);
    }
}

enum opts_result opts_parse(const struct opt *table, size_t n, void *config, int argc, char **argv,
                            struct opts **out, char *why, size_t why_cap)
{
    struct parse p = {table, n, config, why, why_cap};
    *out = NULL;
    if (why_cap > 0)
        why[0] = '\0';
    set_defaults(&p);

    const char *path;
    enum opts_result result = scan(&p, argc, argv, &path);
    if (result != OPTS_OK)
        return result;

    struct opts *o = calloc(1, sizeof(*o));
    if (!o) {
        fail(&p, "out of memory");
        return OPTS_ERROR;
    }
    bool good = true;
    if (path) {
        o->file = read_file(&p, path);
        good = o->file && set_from_file(&p, path, o->file);
    }
    if (!good || !set_from_args(&p, argc, argv)) {
        opts_destroy(o);
        return OPTS_ERROR;
    }
    *out = o;
    return OPTS_OK;
}

void opts_destroy(struct opts *o)
{
    if (!o)
        return;
    free(o->file);
    free(o);
}
