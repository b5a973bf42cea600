/* common/trace.h: one session's frames, written to the log for a while because an operator asked.
 * What and how large and when, never what a frame says. Bounded in lines and in time; while nobody
 * is traced it costs the look at `left`. May touch: common/log, the monotonic clock.
 * On trouble: it ends, and says so in the log.
 */
#pragma once

#include "common/base.h"
#include "common/clock.h"
#include "common/log.h"

#define TRACE_LINES     200 /* where it is not said */
#define TRACE_LINES_MAX 10000
#define TRACE_S         60
#define TRACE_S_MAX     600

struct trace {
    uint32_t left; /* lines that it may still have; 0: nobody is traced */
    struct mono start, until;
    uint64_t lines; /* of all traces */
    char session[LOG_SESSION_MAX];
};

struct trace_frame {
    const char *way;  /* static text: who tells whom */
    const char *name; /* of the command; NULL: none has that number */
    uint32_t cmd, seq;
    size_t bytes; /* of the body */
};

static inline bool trace_on(const struct trace *t)
{
    return t->left > 0;
}

/* A whole number from 1 to `max`. */
bool trace_count(const char *text, uint32_t max, uint32_t *out) MUST_CHECK;

/* `session` as logs have it; it is called so to the end. Whatever was traced before is no more. */
void trace_begin(struct trace *t, const char *session, uint32_t lines, uint32_t seconds);
/* It is on. A line, if its time is not over. */
void trace_frame(struct trace *t, const struct trace_frame *f);
/* Nothing where it is not on. `why`: static text. */
void trace_end(struct trace *t, const char *why);
