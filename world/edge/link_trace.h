/* world/edge/link_trace.h: a session's frames on their way through the world's links, into the log,
 * where an operator asked for them (common/trace). While nobody is traced nothing of it runs. May
 * touch: common, proto. On trouble: what cannot be read is passed over; it is not ours to judge.
 */
#pragma once

#include "common/trace.h"
#include "world/session/session.h"

struct link_trace {
    struct trace trace;
    struct link_ref link;
    uint64_t sid;
};

/* The session has a link. */
void link_trace_begin(struct link_trace *t, const struct sessions *all, const struct session *s,
                      uint32_t lines, uint32_t seconds);
/* It is on: a link frame's body came by that link. */
void link_trace_in(struct link_trace *t, struct link_ref link, struct span body);
/* It is on: whole link frames go out by that link. */
void link_trace_out(struct link_trace *t, struct link_ref link, struct span frames);
