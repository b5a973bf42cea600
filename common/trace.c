/* common/trace.c: see the header. */
#include "common/trace.h"

#include "common/http_query.h"

#include <stdio.h>

bool trace_count(const char *text, uint32_t max, uint32_t *out)
{
    uint64_t n;

    if (!http_query_count(text, max, &n) || n == 0)
        return false;
    *out = (uint32_t)n;
    return true;
}

void trace_begin(struct trace *t, const char *session, uint32_t lines, uint32_t seconds)
{
    ASSERT(lines > 0);
    trace_end(t, "another");
    snprintf(t->session, sizeof(t->session), "%s", session);
    t->left = lines;
    t->start = clock_mono();
    t->until = clock_add(t->start, seconds * CLOCK_NS_PER_S);
    log_line(LOG_INFO, "trace begins session=%s lines=%u seconds=%u", session, lines, seconds);
}

void trace_frame(struct trace *t, const struct trace_frame *f)
{
    const struct mono now = clock_mono();

    ASSERT(trace_on(t));
    if (clock_since(now, t->until) > 0) {
        trace_end(t, "time");
        return;
    }
    t->lines++;
    log_line(LOG_INFO, "trace session=%s way=%s cmd=%u name=%s seq=%u bytes=%zu us=%lld",
             t->session, f->way, f->cmd, f->name ? f->name : "-", f->seq, f->bytes,
             (long long)(clock_since(now, t->start) / 1000));
    if (t->left == 1)
        trace_end(t, "lines");
    else
        t->left--;
}

void trace_end(struct trace *t, const char *why)
{
    if (!trace_on(t))
        return;
    t->left = 0;
    log_line(LOG_INFO, "trace ends session=%s reason=%s", t->session, why);
}
