/* common/log.c: the one log sink.
 * A line is put together in a buffer on the stack and leaves in one write, so that lines of
 * several processes on one terminal or journal never mix.
 * May touch: libc, the wall clock (for the time stamp) and the monotonic one (for rates).
 * On trouble: a line that cannot be written is dropped.
 */
#include "common/log.h"

#include "common/clock.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

/* Bytes of a line with its newline; a longer one is cut and ends in "...". */
#define LOG_LINE_MAX 2048
#define LOG_CUT      "..."
/* Bytes that one input character becomes at most: four invalid ones are taken one by one. */
#define LOG_UNIT_MAX 16

static struct {
    const char *role;
    _Atomic enum log_level level;
    enum log_format format;
} sink = {"aegis", LOG_INFO, LOG_TEXT};

/* Threads share the sites of the code they run, and a place in the file they write to: not every
 * file moves on from one write to the next by itself when two write at once. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static const char *const level_names[] = {"debug", "info", "warn", "error", "off"};

struct line {
    char text[LOG_LINE_MAX];
    size_t len;
};

void log_init(const char *role, enum log_level level, enum log_format format)
{
    ASSERT(role);
    sink.role = role;
    sink.level = level;
    sink.format = format;
}

void log_set_level(enum log_level level)
{
    sink.level = level;
}

enum log_level log_least(void)
{
    return sink.level;
}

const char *log_level_name(enum log_level level)
{
    return level_names[level];
}

int log_level_find(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(level_names); i++)
        if (strcmp(name, level_names[i]) == 0)
            return (int)i;
    return -1;
}

/* For what we write ourselves and know to fit. */
static void line_put(struct line *l, const char *text)
{
    size_t n = strlen(text);
    ASSERT(n <= sizeof(l->text) - l->len);
    memcpy(l->text + l->len, text, n);
    l->len += n;
}

/* Bytes of the well-formed UTF-8 character at `p`, or 0. */
static size_t utf8_length(const uint8_t *p, size_t n)
{
    uint8_t lead = p[0];
    size_t len = lead < 0x80 ? 1 : lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    if (len == 0 || lead > 0xf4 || len > n)
        return 0;
    for (size_t i = 1; i < len; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    /* Overlong forms, surrogates, and what lies above U+10FFFF. */
    if ((lead == 0xe0 && p[1] < 0xa0) || (lead == 0xed && p[1] > 0x9f) ||
        (lead == 0xf0 && p[1] < 0x90) || (lead == 0xf4 && p[1] > 0x8f))
        return 0;
    return len;
}

/* Write the character at `p` as it may stand in a line; how much of the input it was. */
static size_t escape_unit(const uint8_t *p, size_t n, char *out, size_t *out_len)
{
    bool json = sink.format == LOG_JSON;
    size_t len = utf8_length(p, n);
    bool control = *p < 0x20 || *p == 0x7f;
    /* C1 controls (U+0080 to U+009F) drive some terminals as ESC does. */
    bool c1 = len == 2 && p[0] == 0xc2 && p[1] < 0xa0;
    int wrote;

    if (json && (control || c1)) {
        wrote = snprintf(out, LOG_UNIT_MAX, "\\u%04x", (unsigned)(c1 ? p[1] : *p));
    } else if (c1) {
        wrote = snprintf(out, LOG_UNIT_MAX, "\\x%02x\\x%02x", (unsigned)p[0], (unsigned)p[1]);
    } else if (control || len == 0) {
        /* JSON has no escape for a byte: the reader sees the same \xNN as in text. */
        wrote = snprintf(out, LOG_UNIT_MAX, json ? "\\\\x%02x" : "\\x%02x", (unsigned)*p);
        len = 1;
    } else if (json && (*p == '"' || *p == '\\')) {
        wrote = snprintf(out, LOG_UNIT_MAX, "\\%c", *p);
    } else {
        memcpy(out, p, len);
        wrote = (int)len;
    }
    *out_len = (size_t)wrote;
    return len;
}

/* Append the text, escaped; where it would pass `limit`, cut it between characters. */
static void line_put_escaped(struct line *l, const char *text, size_t limit)
{
    size_t n = strlen(text);
    size_t cut_at = l->len;
    for (size_t i = 0; i < n;) {
        char unit[LOG_UNIT_MAX];
        size_t unit_len;
        i += escape_unit((const uint8_t *)text + i, n - i, unit, &unit_len);
        if (l->len + unit_len > limit) {
            l->len = cut_at;
            line_put(l, LOG_CUT);
            return;
        }
        memcpy(l->text + l->len, unit, unit_len);
        l->len += unit_len;
        if (l->len + strlen(LOG_CUT) <= limit)
            cut_at = l->len;
    }
}

static void line_put_time(struct line *l)
{
    struct timespec ts = {0};
    struct tm tm = {0};
    char text[64];
    clock_gettime(CLOCK_REALTIME, &ts);
    gmtime_r(&ts.tv_sec, &tm);
    snprintf(text, sizeof(text), "%04d-%02d-%02dT%02d:%02d:%02d.%03ldZ", tm.tm_year + 1900,
             tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec, ts.tv_nsec / 1000000);
    line_put(l, text);
}

/* `after` is ours and stands behind the text even where that is cut. */
static void write_line(enum log_level level, const char *after, const char *fmt, va_list ap)
{
    /* Escaping never shortens, so what does not fit here would not fit in the line either. */
    char raw[LOG_LINE_MAX];
    if (vsnprintf(raw, sizeof(raw), fmt, ap) < 0)
        return;

    bool json = sink.format == LOG_JSON;
    const char *tail = json ? "\"}\n" : "\n";
    size_t limit = LOG_LINE_MAX - strlen(tail) - strlen(after);
    struct line l;
    l.len = 0;
    line_put(&l, json ? "{\"time\":\"" : "");
    line_put_time(&l);
    line_put(&l, json ? "\",\"level\":\"" : " ");
    line_put(&l, level_names[level]);
    line_put(&l, json ? "\",\"role\":\"" : " ");
    line_put_escaped(&l, sink.role, LOG_LINE_MAX / 4);
    line_put(&l, json ? "\",\"msg\":\"" : " ");
    line_put_escaped(&l, raw, limit);
    line_put(&l, after);
    line_put(&l, tail);

    ssize_t wrote;
    pthread_mutex_lock(&lock);
    do {
        wrote = write(STDERR_FILENO, l.text, l.len);
    } while (wrote < 0 && errno == EINTR);
    pthread_mutex_unlock(&lock);
}

const char *log_session(char out[LOG_SESSION_MAX], struct span gateway, uint64_t number)
{
    const int room = LOG_SESSION_MAX - 2 - 16;

    snprintf(out, LOG_SESSION_MAX, "%.*s/%" PRIx64,
             gateway.n < (size_t)room ? (int)gateway.n : room, (const char *)gateway.p, number);
    return out;
}

void log_line(enum log_level level, const char *fmt, ...)
{
    ASSERT(level < LOG_OFF);
    if (level < sink.level)
        return;
    va_list ap;
    va_start(ap, fmt);
    write_line(level, "", fmt, ap);
    va_end(ap);
}

/* May this site write one more line now? If so, `after` says how many it could not write before. */
static bool site_admits(struct log_site *site, char *after, size_t after_cap)
{
    int64_t second = clock_mono().ns / CLOCK_NS_PER_S;
    bool admitted;

    pthread_mutex_lock(&lock);
    if (second != site->window_s) {
        site->window_s = second;
        site->written = 0;
    }
    admitted = site->written < LOG_SITE_RATE;
    if (admitted) {
        site->written++;
        if (site->suppressed > 0)
            snprintf(after, after_cap, " suppressed=%" PRIu64, site->suppressed);
        site->suppressed = 0;
    } else {
        site->suppressed++;
    }
    pthread_mutex_unlock(&lock);
    return admitted;
}

void log_site_line(struct log_site *site, enum log_level level, const char *fmt, ...)
{
    ASSERT(level < LOG_OFF);
    if (level < sink.level)
        return;
    char after[40] = "";
    if (!site_admits(site, after, sizeof(after)))
        return;
    va_list ap;
    va_start(ap, fmt);
    write_line(level, after, fmt, ap);
    va_end(ap);
}
