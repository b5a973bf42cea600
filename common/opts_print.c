/* common/opts_print.c: help, config file and README rows from the table of flags.
 * May touch: libc. On trouble: none; what a stream does not take is lost.
 */
#include "common/opts.h"

#include <ctype.h>
#include <string.h>

#define HELP_COLUMNS 100
/* Where the meaning starts at most; a longer flag has a line of its own. */
#define HELP_FLAG_MAX 34
#define NOTE_MAX      256

/* What a value looks like, for help. */
static const char *shape_of(const struct opt *o)
{
    switch (o->type) {
    case OPT_BOOL:
        return "";
    case OPT_UINT:
        return "N";
    case OPT_REAL:
        return "X";
    case OPT_DURATION:
        return "TIME";
    case OPT_BYTES:
        return "BYTES";
    case OPT_ADDR:
        return "ADDR";
    case OPT_CHOICE:
        return o->choices;
    case OPT_RECT:
        return "X0,Y0,X1,Y1";
    case OPT_TEXT:
    case OPT_LIST:
        break;
    }
    return "TEXT";
}

/* "50 ms" for a bare number with a unit, else the default as one would type it. */
static void default_text(const struct opt *o, char out[NOTE_MAX])
{
    size_t n = strlen(o->def);
    bool bare = n > 0 && isdigit((unsigned char)o->def[n - 1]);
    const char *unit = bare && o->type != OPT_ADDR && o->type != OPT_RECT ? o->unit : "";
    snprintf(out, NOTE_MAX, "%s%s%s", n > 0 ? o->def : "not set", unit[0] ? " " : "", unit);
}

/* The unit of a bare number where the default does not show it, what 0 does where the help does not
 * say it, and that a flag adds to a list. */
static void note_text(const struct opt *o, char out[NOTE_MAX])
{
    size_t n = strlen(o->def);
    bool shown = n > 0 && isdigit((unsigned char)o->def[n - 1]);
    bool unit = o->unit[0] && !shown && o->type != OPT_BYTES;
    bool off = o->zero_off && !strstr(o->help, "0 is ");
    snprintf(out, NOTE_MAX, "%s%s%s%s", unit ? "; a bare number counts " : "", unit ? o->unit : "",
             off ? "; 0 is off" : "", o->type == OPT_LIST ? "; may be repeated" : "");
}

/* Print the words of `text` from column `at` on, with lines broken to start at `indent`. */
static void print_wrapped(const char *text, size_t indent, size_t at, FILE *to)
{
    bool first = true;
    while (*text) {
        size_t n = strcspn(text, " ");
        if (!first && at + 1 + n > HELP_COLUMNS) {
            fprintf(to, "\n%*s", (int)indent, "");
            at = indent;
        } else if (!first) {
            fputc(' ', to);
            at++;
        }
        fwrite(text, 1, n, to);
        first = false;
        at += n;
        text += n;
        text += strspn(text, " ");
    }
    fputc('\n', to);
}

static size_t flag_width(const char *name, const char *shape)
{
    return strlen("  -") + strlen(name) + (shape[0] ? 1 + strlen(shape) : 0) + 2;
}

static void print_flag(const char *name, const char *shape, const char *meaning, size_t indent,
                       FILE *to)
{
    size_t at = flag_width(name, shape);
    fprintf(to, "  -%s%s%s", name, shape[0] ? " " : "", shape);
    if (at > indent)
        fprintf(to, "\n%*s", (int)indent, "");
    else
        fprintf(to, "%*s", (int)(indent - at + 2), "");
    print_wrapped(meaning, indent, indent, to);
}

void opts_print_help(const struct opt *table, size_t n, FILE *to)
{
    size_t indent = flag_width("config", "FILE");
    for (size_t i = 0; i < n; i++) {
        size_t w = flag_width(table[i].name, shape_of(&table[i]));
        if (w > indent && w <= HELP_FLAG_MAX)
            indent = w;
    }
    for (size_t i = 0; i < n; i++) {
        const struct opt *o = &table[i];
        char def[NOTE_MAX], note[NOTE_MAX], meaning[1024];
        default_text(o, def);
        note_text(o, note);
        snprintf(meaning, sizeof(meaning), "%s (default %s%s)", o->help, def, note);
        print_flag(o->name, shape_of(o), meaning, indent, to);
    }
    print_flag("config", "FILE", "read flags from a file, one \"name = value\" a line; flags win",
               indent, to);
    print_flag("help", "", "print this and exit", indent, to);
    print_flag("version", "", "print the version and exit", indent, to);
}

void opts_print_config(const struct opt *table, size_t n, FILE *to)
{
    for (size_t i = 0; i < n; i++) {
        const struct opt *o = &table[i];
        char note[NOTE_MAX];
        note_text(o, note);
        fprintf(to, "%s# %s%s\n", i > 0 ? "\n" : "", o->help, note);
        fprintf(to, "%s =%s%s\n", o->name, o->def[0] ? " " : "", o->def);
    }
}

/* A | would end the cell. */
static void print_cell(const char *text, FILE *to)
{
    for (; *text; text++) {
        if (*text == '|')
            fputc('\\', to);
        fputc(*text, to);
    }
}

void opts_print_markdown(const struct opt *table, size_t n, FILE *to)
{
    fputs("| flag | default | meaning |\n| --- | --- | --- |\n", to);
    for (size_t i = 0; i < n; i++) {
        const struct opt *o = &table[i];
        char def[NOTE_MAX], note[NOTE_MAX];
        default_text(o, def);
        note_text(o, note);
        fprintf(to, "| `-%s` | ", o->name);
        print_cell(def, to);
        fputs(" | ", to);
        print_cell(o->help, to);
        print_cell(note, to);
        fputs(" |\n", to);
    }
}
