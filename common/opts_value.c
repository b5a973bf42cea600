/* common/opts_value.c: numbers, durations, sizes, addresses and the like, read strictly.
 * A value is read whole or not at all: nothing wraps, nothing is cut, nothing trails.
 * May touch: libc. On trouble: a reason for a person; the config is as it was.
 */
#include "common/opts_value.h"

#include "common/addr.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct reason {
    char *text;
    size_t cap;
};

static PRINTF_LIKE(2, 3) bool refuse(struct reason why, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(why.text, why.cap, fmt, ap);
    va_end(ap);
    return false;
}

static bool only_of(const char *text, const char *allowed)
{
    return text[strspn(text, allowed)] == '\0';
}

/* --- ranges ----------------------------------------------------------------------------------- */

static bool has_max(const struct opt *o)
{
    return o->max > o->min;
}

/* `value` counts in `scale`ths of the table's unit, as min and max do once they are scaled. */
static bool in_range(const struct opt *o, double value, double scale, struct reason why)
{
    const char *gap = o->unit[0] ? " " : "";
    if (o->zero_off && value == 0)
        return true;
    if (value < o->min * scale)
        return refuse(why, "must be %sat least %.15g%s%s", o->zero_off ? "0 or " : "", o->min, gap,
                      o->unit);
    if (has_max(o) && value > o->max * scale)
        return refuse(why, "must be at most %.15g%s%s", o->max, gap, o->unit);
    return true;
}

/* --- numbers ---------------------------------------------------------------------------------- */

#define A_NUMBER "a number"
#define A_TIME   "a time such as 50ms, 0.5s or 2m"
#define A_SIZE   "a size such as 4096, 64KiB or 1MiB"

/* A decimal number and nothing else; strtod alone would take hex, "inf" and blanks. `what` says
 * what was wanted. */
static bool read_real(const char *text, const char *what, double *out, struct reason why)
{
    const char *digits = text + (text[0] == '-' || text[0] == '+');
    if (strcasecmp(digits, "nan") == 0 || strcasecmp(digits, "inf") == 0 ||
        strcasecmp(digits, "infinity") == 0)
        return refuse(why, "not a finite number");
    char *end;
    double v = strtod(text, &end);
    if (!only_of(text, "0123456789.eE+-") || end == text || *end)
        return refuse(why, "not %s", what);
    if (!isfinite(v))
        return refuse(why, "not a finite number");
    *out = v;
    return true;
}

/* A number or a fraction of two. */
static bool read_fraction(const char *text, double *out, struct reason why)
{
    char above[64];
    const char *slash = strchr(text, '/');
    if (!slash)
        return read_real(text, A_NUMBER, out, why);
    size_t n = (size_t)(slash - text);
    if (n >= sizeof(above))
        return refuse(why, "not %s", A_NUMBER);
    memcpy(above, text, n);
    above[n] = '\0';

    double a, b;
    if (!read_real(above, A_NUMBER, &a, why) || !read_real(slash + 1, A_NUMBER, &b, why))
        return false;
    if (!isfinite(a / b))
        return refuse(why, "not a finite number");
    *out = a / b;
    return true;
}

static bool read_uint(const char *text, size_t n, uint64_t *out, struct reason why)
{
    uint64_t v = 0;
    if (n == 0)
        return refuse(why, "not a whole number");
    for (size_t i = 0; i < n; i++) {
        if (text[i] < '0' || text[i] > '9')
            return refuse(why, "not a whole number");
        if (__builtin_mul_overflow(v, 10, &v) ||
            __builtin_add_overflow(v, (uint64_t)(text[i] - '0'), &v))
            return refuse(why, "too large");
    }
    *out = v;
    return true;
}

static bool set_uint(const struct opt *o, const char *text, uint64_t *out, struct reason why)
{
    uint64_t v;
    if (!read_uint(text, strlen(text), &v, why) || !in_range(o, (double)v, 1, why))
        return false;
    *out = v;
    return true;
}

static bool set_real(const struct opt *o, const char *text, double *out, struct reason why)
{
    double v;
    if (!read_fraction(text, &v, why) || !in_range(o, v, 1, why))
        return false;
    *out = v;
    return true;
}

/* --- numbers with a suffix -------------------------------------------------------------------- */

struct suffix {
    const char *name;
    uint64_t factor;
};

static const struct suffix durations[] = {{"ms", 1000000}, {"s", 1000000000}, {"m", 60000000000}};

static const struct suffix sizes[] = {
    {"KiB", 1u << 10}, {"MiB", 1u << 20}, {"GiB", 1u << 30},
    {"k", 1u << 10},   {"m", 1u << 20},   {"g", 1u << 30},
};

/* 0: no such suffix. */
static uint64_t factor_of(const struct suffix *list, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcasecmp(list[i].name, name) == 0)
            return list[i].factor;
    return 0;
}

static bool set_duration(const struct opt *o, const char *text, int64_t *out, struct reason why)
{
    uint64_t unit = factor_of(durations, ARRAY_LEN(durations), o->unit);
    ASSERT(unit);
    char number[64];
    size_t n = strcspn(text, "msMS");
    uint64_t factor = text[n] ? factor_of(durations, ARRAY_LEN(durations), text + n) : unit;
    if (n == 0 || n >= sizeof(number) || factor == 0)
        return refuse(why, "not %s", A_TIME);
    memcpy(number, text, n);
    number[n] = '\0';

    double v;
    if (!read_real(number, A_TIME, &v, why))
        return false;
    double ns = round(v * (double)factor);
    if (ns == 0 && v != 0)
        return refuse(why, "too small");
    if (!in_range(o, ns, (double)unit, why))
        return false;
    if (ns >= (double)INT64_MAX)
        return refuse(why, "too large");
    *out = (int64_t)ns;
    return true;
}

static bool set_bytes(const struct opt *o, const char *text, uint64_t *out, struct reason why)
{
    uint64_t unit = factor_of(sizes, ARRAY_LEN(sizes), o->unit);
    if (unit == 0)
        unit = 1;
    size_t n = strspn(text, "0123456789");
    uint64_t factor = text[n] ? factor_of(sizes, ARRAY_LEN(sizes), text + n) : unit;
    uint64_t v;
    if (n == 0 || factor == 0)
        return refuse(why, "not %s", A_SIZE);
    if (!read_uint(text, n, &v, why))
        return false;
    if (__builtin_mul_overflow(v, factor, &v))
        return refuse(why, "too large");
    if (!in_range(o, (double)v, (double)unit, why))
        return false;
    *out = v;
    return true;
}

/* --- words and places ------------------------------------------------------------------------- */

static bool set_bool(const char *text, bool *out, struct reason why)
{
    bool yes = strcmp(text, "true") == 0;
    if (!yes && strcmp(text, "false") != 0)
        return refuse(why, "must be true or false");
    *out = yes;
    return true;
}

static bool set_addr(const char *text, const char **out, struct reason why)
{
    struct addr a;
    const char *reason;
    if (addr_parse(text, &a, &reason) != 0)
        return refuse(why, "%s", reason);
    *out = text;
    return true;
}

static bool set_choice(const struct opt *o, const char *text, int *out, struct reason why)
{
    int at = 0;
    for (const char *word = o->choices;; word++, at++) {
        size_t n = strcspn(word, "|");
        if (n == strlen(text) && memcmp(word, text, n) == 0) {
            *out = at;
            return true;
        }
        word += n;
        if (!*word)
            return refuse(why, "must be %s%s", strchr(o->choices, '|') ? "one of " : "",
                          o->choices);
    }
}

static bool set_rect(const char *text, double out[4], struct reason why)
{
    double v[4];
    for (size_t i = 0; i < 4; i++) {
        char number[64];
        size_t n = strcspn(text, ",");
        bool last = i == 3;
        if (n >= sizeof(number) || (text[n] == ',') == last)
            return refuse(why, "not of the form x0,y0,x1,y1");
        memcpy(number, text, n);
        number[n] = '\0';
        if (!read_real(number, A_NUMBER, &v[i], why))
            return false;
        text += n + !last;
    }
    if (!(v[0] < v[2] && v[1] < v[3]))
        return refuse(why, "x0 must be below x1, and y0 below y1");
    memcpy(out, v, sizeof(v));
    return true;
}

static bool set_list(const char *text, struct opt_list *out, struct reason why)
{
    if (out->n == OPT_LIST_MAX)
        return refuse(why, "given more than %d times", OPT_LIST_MAX);
    out->text[out->n++] = text;
    return true;
}

/* --- by type ---------------------------------------------------------------------------------- */

static void set_empty(const struct opt *o, void *field)
{
    static const size_t sizes_of[] = {
        [OPT_BOOL] = sizeof(bool),      [OPT_UINT] = sizeof(uint64_t),
        [OPT_REAL] = sizeof(double),    [OPT_DURATION] = sizeof(int64_t),
        [OPT_BYTES] = sizeof(uint64_t), [OPT_CHOICE] = sizeof(int),
        [OPT_RECT] = sizeof(double[4]), [OPT_LIST] = sizeof(struct opt_list),
    };
    if (o->type == OPT_TEXT || o->type == OPT_ADDR)
        *(const char **)field = "";
    else
        memset(field, 0, sizes_of[o->type]);
}

bool opts_value_set(const struct opt *o, const char *text, void *config, char *why, size_t why_cap)
{
    struct reason reason = {why, why_cap};
    void *field = (char *)config + o->offset;
    if (text[0] == '\0' && o->def[0] == '\0') {
        set_empty(o, field);
        return true;
    }
    switch (o->type) {
    case OPT_TEXT:
        *(const char **)field = text;
        return true;
    case OPT_BOOL:
        return set_bool(text, field, reason);
    case OPT_UINT:
        return set_uint(o, text, field, reason);
    case OPT_REAL:
        return set_real(o, text, field, reason);
    case OPT_DURATION:
        return set_duration(o, text, field, reason);
    case OPT_BYTES:
        return set_bytes(o, text, field, reason);
    case OPT_ADDR:
        return set_addr(text, field, reason);
    case OPT_CHOICE:
        return set_choice(o, text, field, reason);
    case OPT_RECT:
        return set_rect(text, field, reason);
    case OPT_LIST:
        return set_list(text, field, reason);
    }
    ASSERT(o->type <= OPT_LIST);
    return false;
}
