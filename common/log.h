/* common/log.h: the one log sink of a process.
 * A line holds UTC time, level and text; control bytes are written as \xNN, so no peer can forge
 * a line. The sink is the one hidden global besides the signal flag. It writes to standard error.
 * May touch: libc, the wall clock (for the time stamp) and the monotonic one (for rates).
 * On trouble: a line that cannot be written is dropped; logging never fails its caller.
 */
#pragma once

#include "common/base.h"
#include "common/span.h"

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR, LOG_OFF };
enum log_format { LOG_TEXT, LOG_JSON };

/* Lines a call site may write in one second through log_often; the rest is counted. */
#define LOG_SITE_RATE 10

/* One call site's budget; zeroed at start. */
struct log_site {
    int64_t window_s;    /* the second being counted */
    uint32_t written;    /* lines in it */
    uint64_t suppressed; /* lines not written since the last one that was */
};

/* `role` ("world", "gateway") stands in each line; borrowed for ever. */
void log_init(const char *role, enum log_level level, enum log_format format);

/* From now on; from any thread. */
void log_set_level(enum log_level level);
enum log_level log_least(void);
const char *log_level_name(enum log_level level);

/* -1: not a level's name. Names: debug, info, warn, error, off. */
int log_level_find(const char *name);

/* One event: text first, then key=value pairs, as the caller wrote them.
 *   log_line(LOG_INFO, "world #%u entered (%.1f, %.1f) session=%" PRIu64, id, x, y, sid); */
void log_line(enum log_level level, const char *fmt, ...) PRINTF_LIKE(2, 3);
void log_site_line(struct log_site *site, enum log_level level, const char *fmt, ...)
    PRINTF_LIKE(3, 4);

/* A session as the logs at both ends of a link have it, so that one word finds all of it: the id of
 * its gateway, a slash, and its number there in hex. A longer id is cut. Returns `out`. */
#define LOG_SESSION_MAX 82
const char *log_session(char out[LOG_SESSION_MAX], struct span gateway, uint64_t number);

/* For what a peer can cause often: at most LOG_SITE_RATE lines a second from this place, the
 * next line says how many were left out. */
#define log_often(level, ...)                              \
    do {                                                   \
        static struct log_site log_site_here;              \
        log_site_line(&log_site_here, level, __VA_ARGS__); \
    } while (0)
