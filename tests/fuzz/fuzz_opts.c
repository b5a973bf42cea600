/* tests/fuzz/fuzz_opts.c: flags and config files of any bytes.
 * The first byte says how the rest is meant: as text or as picks from the words below, and as a
 * config file or as arguments, one a line. May touch: common, a file in memory.
 */
#include "tests/fuzz/fuzz_target.h"

#include "common/opts.h"
#include "common/span.h"

#include <math.h>
#include <sys/mman.h>
#include <unistd.h>

#define TEXT_MAX 8192
#define ARGS_MAX 64
#define WHY_MAX  256

#define MODE_WORDS  1
#define MODE_CONFIG 6 /* both bits: a file costs far more than arguments */

struct config {
    const char *text, *addr, *empty_addr;
    bool on;
    uint64_t count, bytes;
    double real, around;
    int64_t time, late;
    int choice;
    double rect[4];
    struct opt_list list;
};

#define AT(field) offsetof(struct config, field)
static const struct opt TABLE[] = {
    {"text", OPT_TEXT, AT(text), "", "", 0, 0, false, NULL, "any text"},
    {"addr", OPT_ADDR, AT(addr), "127.0.0.1:1", "", 0, 0, false, NULL, "an address"},
    {"admin", OPT_ADDR, AT(empty_addr), "", "", 0, 0, false, NULL, "an address or none"},
    {"on", OPT_BOOL, AT(on), "false", "", 0, 0, false, NULL, "a switch"},
    {"count", OPT_UINT, AT(count), "5", "", 1, 1000, true, NULL, "a count"},
    {"bytes", OPT_BYTES, AT(bytes), "64KiB", "", 1, 1 << 30, false, NULL, "a size"},
    {"real", OPT_REAL, AT(real), "1/64", "", 0, 0, false, NULL, "a number"},
    {"around", OPT_REAL, AT(around), "0", "", -5, 5, false, NULL, "a number about zero"},
    {"time", OPT_DURATION, AT(time), "50ms", "ms", 1, 60000, false, NULL, "a time"},
    {"late", OPT_DURATION, AT(late), "0", "s", 1, 3600, true, NULL, "a time that can be off"},
    {"format", OPT_CHOICE, AT(choice), "text", "", 0, 0, false, "text|json", "a choice"},
    {"rect", OPT_RECT, AT(rect), "-1,-1,1,1", "", 0, 0, false, NULL, "a rectangle"},
    {"list", OPT_LIST, AT(list), "", "", 0, 0, false, NULL, "texts"},
};
#undef AT

static const char *const WORDS[] = {
    "-",
    "--",
    "=",
    " = ",
    "\n",
    "text",
    "addr",
    "admin",
    "on",
    "count",
    "bytes",
    "real",
    "around",
    "time",
    "late",
    "format",
    "rect",
    "list",
    "help",
    "config",
    "version",
    "true",
    "false",
    "json",
    "127.0.0.1",
    ":",
    "[::1]",
    "65536",
    "65535",
    "0",
    "-1",
    "1",
    "1/64",
    "/",
    ",",
    "nan",
    "inf",
    "1e308",
    "1e999",
    "5e-324",
    "-0",
    "ms",
    "s",
    "m",
    "KiB",
    "MiB",
    "GiB",
    "k",
    "g",
    "#",
    " ",
    "\t",
    "\r",
    "0x10",
    "1.",
    ".5",
    "18446744073709551615",
    "18446744073709551616",
    "9223372036854775808",
    "-1,-1,1,1",
    "localhost",
    "/proc/self/mem",
    "\x7f",
};

/* Bytes below 128 pick a word, others stand for themselves. Text without NUL. */
static size_t make_text(bool words, const uint8_t *data, size_t size, char out[TEXT_MAX + 1])
{
    size_t n = 0;
    for (size_t i = 0; i < size && n < TEXT_MAX; i++) {
        if (words && data[i] < 128) {
            const char *w = WORDS[data[i] % ARRAY_LEN(WORDS)];
            size_t len = strlen(w) < TEXT_MAX - n ? strlen(w) : TEXT_MAX - n;
            memcpy(out + n, w, len);
            n += len;
        } else if (data[i] != 0) {
            out[n++] = (char)data[i];
        }
    }
    out[n] = 0;
    return n;
}

static int split(char *text, char *argv[ARGS_MAX + 1])
{
    int argc = 0;
    argv[argc++] = "fuzz";
    for (char *line = text; line != NULL && argc < ARGS_MAX;) {
        char *end = strchr(line, '\n');
        if (end != NULL)
            *end++ = 0;
        argv[argc++] = line;
        line = end;
    }
    argv[argc] = NULL;
    return argc;
}

/* `text` as a file; the path of the one file there is. */
static const char *config_file(const char *text, size_t n)
{
    static int fd = -1;
    static char path[64];
    if (fd < 0) {
        fd = memfd_create("config", MFD_CLOEXEC);
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    }
    if (fd < 0 || ftruncate(fd, 0) != 0 || pwrite(fd, text, n, 0) != (ssize_t)n)
        abort();
    return path;
}

static bool addr_like(const char *addr)
{
    const char *colon = strrchr(addr, ':');
    return colon != NULL && colon[1] >= '0' && colon[1] <= '9';
}

static const char *check_values(const struct config *c)
{
    if (c->text == NULL || c->addr == NULL || c->empty_addr == NULL)
        return "a text is never NULL";
    if (!addr_like(c->addr) || (c->empty_addr[0] != 0 && !addr_like(c->empty_addr)))
        return "an address has a port";
    if (c->count > 1000 || c->bytes < 1 || c->bytes > 1 << 30)
        return "whole numbers are in range";
    if (!isfinite(c->real) || c->real < 0 || !(c->around >= -5 && c->around <= 5))
        return "numbers are finite and in range";
    if (c->time < 1000000 || c->time > 60000000000)
        return "a time is in range";
    if (c->late != 0 && (c->late < 1000000000 || c->late > 3600000000000))
        return "a time that can be off is off or in range";
    if (c->choice < 0 || c->choice > 1)
        return "a choice is one of its words";
    for (int i = 0; i < 4; i++) {
        if (!isfinite(c->rect[i]))
            return "a rectangle is finite";
    }
    if (c->list.n > OPT_LIST_MAX)
        return "a list is bounded";
    for (uint64_t i = 0; i < c->list.n; i++) {
        if (c->list.text[i] == NULL || c->list.text[i][0] == 0)
            return "a list has no empty texts";
    }
    return c->rect[0] < c->rect[2] && c->rect[1] < c->rect[3] ? NULL : "a rectangle has an area";
}

/* One line for a person, and only where there is something to say. */
static const char *check_why(enum opts_result got, const char why[WHY_MAX])
{
    if (memchr(why, 0, WHY_MAX) == NULL)
        return "the reason ends";
    if ((got == OPTS_ERROR) != (why[0] != 0))
        return "an error has a reason, and nothing else has";
    for (const char *c = why; *c != 0; c++) {
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            return "a reason is one line without control bytes";
    }
    return NULL;
}

static bool same(const struct config *a, const struct config *b)
{
    return strcmp(a->text, b->text) == 0 && strcmp(a->addr, b->addr) == 0 &&
           strcmp(a->empty_addr, b->empty_addr) == 0 && a->on == b->on && a->count == b->count &&
           a->bytes == b->bytes && a->real == b->real && a->around == b->around &&
           a->time == b->time && a->late == b->late && a->choice == b->choice &&
           memcmp(a->rect, b->rect, sizeof a->rect) == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char text[TEXT_MAX + 1];
    char *argv[ARGS_MAX + 1] = {"fuzz", "-config", NULL, NULL};
    int argc = 3;
    if (size == 0)
        return 0;
    size_t n = make_text(data[0] & MODE_WORDS, data + 1, size - 1, text);
    if ((data[0] & MODE_CONFIG) == MODE_CONFIG)
        argv[2] = (char *)config_file(text, n);
    else
        argc = split(text, argv);

    struct config a = {0}, b = {0};
    struct opts *oa = NULL, *ob = NULL;
    char why[WHY_MAX], again[WHY_MAX];
    enum opts_result got = opts_parse(TABLE, ARRAY_LEN(TABLE), &a, argc, argv, &oa, why, WHY_MAX);
    fuzz_target_must(check_why(got, why));
    if (got == OPTS_OK)
        fuzz_target_must(check_values(&a));
    if (opts_parse(TABLE, ARRAY_LEN(TABLE), &b, argc, argv, &ob, again, WHY_MAX) != got)
        fuzz_target_must("the same arguments give the same result");
    if (strcmp(why, again) != 0 || (got == OPTS_OK && !same(&a, &b)))
        fuzz_target_must("the same arguments give the same values");
    opts_destroy(oa);
    opts_destroy(ob);
    return 0;
}
