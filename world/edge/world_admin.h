/* world/edge/world_admin.h: what operators see and may do, on a listener of their own.
 *   GET /metrics     Prometheus text
 *   GET /healthz     200 while the loop turns
 *   GET /readyz      200 while gateways may connect, the world may act and places are saved, else
 * 503
 *   GET /map         a live map, a page made of /map/...; fed by /map/feed?scene=
 * (world/edge/watch)
 *
 *   GET /api/world     the rules and the scenes      GET /api/entities  a page of rows, filtered
 *   GET /api/stats     times, counts, slow clients   GET /api/entity    one, with all that is known
 *   GET /api/ground    a map's blocked tiles         GET /api/explain   why one sees another, or
 * not
 *
 *   GET /zones         the cluster: worlds, and whose each zone is (world/edge/admin_zones)
 *
 *   POST /announce   a text to players (world/edge/announce); answers {"told":N}
 *   POST /api/kick, /api/teleport, /api/drain, /api/log      answer {"done":true}
 *   POST /api/trace            a session's frames into the log; answers {"session":"..."}
 *
 * Parameters are world/edge/admin_ask's. Reads the world between ticks. What changes something
 * needs the token of -admin-token, and is refused where there is none. May touch: common,
 * common/io/http, the core's state, counters and inbox, world_link.
 */
#pragma once

#include "common/io/loop.h"
#include "common/admin_token.h"
#include "world/edge/cluster_part.h"
#include "world/edge/edge_metrics.h"
#include "world/edge/storage.h"
#include "world/edge/watch.h"
#include "world/edge/world_link.h"
#include "world/world.h"

/* What the pages are made of; borrowed. */
struct world_admin_view {
    struct world *world;
    struct world_link *link;
    struct edge_metrics *metrics;
    const struct hist *tick_ns; /* tick and hand-over to the links */
    const struct admin_token *token;
    struct storage *storage;      /* NULL: nothing is kept */
    struct cluster_part *cluster; /* NULL: none */
    struct watch_rules maps;      /* live ones */
    loop_fn *drain; /* begin to end the world politely; NULL: it cannot be asked for */
    void *drain_arg;
};

struct world_admin;

/* `addr` as http_addr_read takes it. `why` gets one line without newline: E_ADDR, E_IO, E_NOMEM. */
int world_admin_create(struct loop *l, const char *addr, const struct world_admin_view *v,
                       struct world_admin **out, char *why, size_t why_cap) MUST_CHECK;
/* A tick has ended; with the hand-over to the links it took so long. */
void world_admin_tick(struct world_admin *a, struct mono now, uint64_t took_ns);
/* Where it listens, with the port that the kernel chose. */
const char *world_admin_addr(const struct world_admin *a);
void world_admin_destroy(struct world_admin *a); /* NULL is fine */

/* README's rows of all that /metrics has. */
void world_admin_print_metrics(FILE *to);
