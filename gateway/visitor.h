/* gateway/visitor.h: connections on the WebSocket port until they are clients, or are answered.
 * Each brings one HTTP head, bounded in length and time: GET /ws becomes a client framed by
 * transport_ws, another GET is answered with a file, all else refused; then the connection closes.
 * A visitor has a place among the clients' connections, and is counted among them.
 * May touch: common, proto/ws_request, clients, web_files, web_page, origins. Never: relay, uplink.
 * On trouble: a status for the visitor, a counter by status, and nothing kept.
 *
 *   listener ─► visitor: head ─► GET /ws ─► 101 ─► client_start
 *                  │       └──► file, or refusal ─► closes
 *                  └── too late: 408 ──────────────────┘
 */
#pragma once

#include "common/io/stream.h"
#include "gateway/clients.h"
#include "gateway/web_files.h"

#define VISITORS_MAX \
    1024 /* at once, in all threads; for one more the one that waits longest goes */
#define VISITORS_QUEUED_MAX 67108864 /* bytes of answers under way in one thread; past it 503 */

struct visitor;

struct visitors {
    struct loop *loop; /* borrowed, as all below */
    struct clients *clients;
    const struct stream_limits *limits; /* of a connection once it is a client's */
    const struct web_files *files;
    const char *origins;          /* of -ws-origins */
    int64_t head_ns;              /* a head must be there by then; 0: off */
    struct visitor *first, *last; /* oldest first */
    size_t queued;                /* bytes of answers under way */
};

/* A new connection: takes `c`, which has not started, `fd` and its seal (NULL: plain). */
void visitors_take(struct visitors *v, struct client *c, int fd, struct ssl_st *seal);
/* All are shut, whatever they wait for. */
void visitors_end(struct visitors *v);
