/* world/edge/world_link_own.h: what world_link.c and world_link_end.c share: connections, the links
 * among them, and the one way in which each ends. For those two only.
 */
#pragma once

#include "common/io/net.h"
#include "common/io/stream.h"
#include "proto/link.h"
#include "world/edge/link_guard.h"
#include "world/edge/link_trace.h"
#include "world/edge/world_link.h"

/*                name      counter, and the reason's text */
#define LINK_ENDS(X)              \
    X(END_EOF, eof)               \
    X(END_RESET, reset)           \
    X(END_SILENT, silent)         \
    X(END_BAD_FRAME, bad_frame)   \
    X(END_QUEUE_FULL, queue_full) \
    X(END_MEMORY, memory)         \
    X(END_REPLACED, replaced)     \
    X(END_NO_HELLO, no_hello)     \
    X(END_VERSION, version)       \
    X(END_KEY, key)               \
    X(END_FULL, full)             \
    X(END_CROWDED, crowded)       \
    X(END_DRAINING, draining)

#define END_ENUM(name, word) name,
enum link_end { LINK_ENDS(END_ENUM) END_COUNT };
#undef END_ENUM

struct connection {
    struct world_link *owner;
    struct connection *prev, *next;
    struct stream *stream;
    struct loop_timer *timer; /* the next ping or the end of our patience; NULL: no limit */
    struct loop_deferred ending;
    enum link_end end;   /* once `ends` or `finishing` */
    bool ends;           /* marked in a drain: over at the end of the turn */
    bool finishing;      /* polite end under way: nothing is read or written any more */
    bool pressed;        /* above the soft limit */
    struct link_ref ref; /* gen 0: no link yet */
    struct mono heard;   /* the last whole frame, or the start */
    struct mono ping_at; /* the next ping is due */
    struct mono wake_at; /* the timer is due */
    uint64_t pings;      /* sent */
    char id[LINK_ID_MAX + 1];
    char peer[NET_TEXT_MAX];
    struct link_pass pass;
};

struct world_link {
    struct loop *loop;
    const struct world_options *options;
    struct edge_metrics *metrics;
    struct keys *keys;   /* NULL: none */
    struct world *world; /* NULL: not listening yet */
    struct net_listener *listener;
    struct stream_limits limits;
    struct connection *first;
    uint32_t connections;
    struct connection *by_slot[SESSION_LINKS_MAX]; /* links by their ref's slot */
    loop_fn *done;                                 /* draining: to be called when none is left */
    void *done_arg;
    struct link_trace trace;
    world_link_may_fn *may; /* NULL: always */
    void *may_arg;
    bool still; /* nothing is read */
    char id[LINK_ID_MAX + 1];
};

/* It said hello, and showed its key where there is one. */
static inline bool is_up(const struct connection *c)
{
    return c->ref.gen != 0;
}

/* Sessions of this link; 0: it is none any more. */
uint32_t world_link_sessions(const struct world_link *k, struct link_ref ref);

/* The one end of a connection, which had so many sessions: `c` is gone afterwards. Not from inside
 * a drain. */
void world_link_end_with(struct connection *c, enum link_end why, uint32_t sessions);
void world_link_end(struct connection *c, enum link_end why);
/* End it at the end of the turn: there may be a core on the stack. */
void world_link_end_later(struct connection *c, enum link_end why);
/* End it politely: what is queued is sent, nothing more is read. */
void world_link_end_slowly(struct connection *c, enum link_end why, int64_t linger_ns);
/* What `ending` of a connection calls; the argument is the connection. */
loop_fn world_link_on_ending;
