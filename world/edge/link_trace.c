/* world/edge/link_trace.c: see the header. */
#include "world/edge/link_trace.h"

#include "proto/frame.h"
#include "proto/link.h"
#include "proto/protocol.h"
#include "proto/walk.h"

void link_trace_begin(struct link_trace *t, const struct sessions *all, const struct session *s,
                      uint32_t lines, uint32_t seconds)
{
    t->link = s->link;
    t->sid = s->sid;
    trace_begin(&t->trace, session_text(all, s, (char[LOG_SESSION_MAX]){0}), lines, seconds);
}

static bool is_for(const struct link_trace *t, const struct link_frame *f)
{
    struct span rest = f->sessions;
    uint64_t session;

    if (f->kind != LINK_DATA_MANY)
        return f->session == t->sid;
    while (link_session_take(&rest, &session) == 0) {
        if (session == t->sid)
            return true;
    }
    return false;
}

static void take_body(struct link_trace *t, const char *way, struct span body)
{
    struct trace_frame line = {.way = way, .bytes = body.n};
    struct walk_head head;

    if (walk_body(body, &head) == 0) {
        line.cmd = head.cmd;
        line.seq = head.seq;
        line.name = protocol_cmd_name(head.cmd);
    }
    trace_frame(&t->trace, &line);
}

static void take_frame(struct link_trace *t, const char *way, struct span body)
{
    struct link_frame f;

    if (link_read(body, &f) != 0)
        return;
    if (f.kind == LINK_DATA || f.kind == LINK_DATA_MANY) {
        for (uint32_t i = 0; i < f.n_bodies && trace_on(&t->trace) && is_for(t, &f); i++)
            take_body(t, way, f.bodies[i]);
    } else if ((f.kind == LINK_CLOSE || f.kind == LINK_REDIRECT) && f.session == t->sid) {
        trace_end(&t->trace, "closed");
    }
}

void link_trace_in(struct link_trace *t, struct link_ref link, struct span body)
{
    if (link_ref_equal(link, t->link))
        take_frame(t, "to_world", body);
}

void link_trace_out(struct link_trace *t, struct link_ref link, struct span frames)
{
    struct span body;
    size_t used;

    while (link_ref_equal(link, t->link) && trace_on(&t->trace) &&
           frame_split(frames, LINK_FRAME_MAX, &body, &used) == 0) {
        take_frame(t, "from_world", body);
        frames = span_of(frames.p + used, frames.n - used);
    }
}
