/* gateway/client_trace.c: see the header. */
#include "gateway/client_trace.h"

#include "common/err.h"
#include "proto/protocol.h"
#include "proto/walk.h"

const char *client_session(const struct client *c, char out[LOG_SESSION_MAX])
{
    const struct clients *all = c->home;

    if (!c->session || !all->gen)
        return "-";
    return log_session(out, all->id, (uint64_t)all->gen[c->slot] << 32 | c->slot);
}

int client_trace_begin(struct clients *all, uint64_t session, uint32_t lines, uint32_t seconds)
{
    const uint32_t slot = (uint32_t)session;
    struct client *c = clients_find(all, slot);

    if (!c || !c->session || all->gen[slot] != session >> 32)
        return E_BAD;
    all->traced = c;
    trace_begin(&all->trace, CLIENT_SESSION(c), lines, seconds);
    return 0;
}

void client_trace(struct client *c, const char *way, struct span body)
{
    struct clients *all = c->home;
    struct walk_head head;
    struct trace_frame f = {.way = way, .bytes = body.n};

    ASSERT(c == all->traced);
    if (walk_body(body, &head) == 0) {
        f.cmd = head.cmd;
        f.seq = head.seq;
        f.name = protocol_cmd_name(head.cmd);
    }
    trace_frame(&all->trace, &f);
    if (!trace_on(&all->trace))
        all->traced = NULL;
}

void client_trace_end(struct client *c, const char *why)
{
    struct clients *all = c->home;

    if (c != all->traced)
        return;
    trace_end(&all->trace, why);
    all->traced = NULL;
}
