/* world/edge/world_link.h: gateways in, outbox out.
 * Listens, says hello, hands link frames to the inbox and what the outbox drains to the gateways'
 * sockets. Knows which gateway is there; knows no session and no body. The core is never called
 * while it is draining: what a drain breaks is ended at the end of the turn.
 * May touch: common, common/io, proto/frame, proto/link, the core's doors (inbox, outbox).
 * On trouble: the one link ends, with its reason logged and counted; the others notice nothing.
 */
#pragma once

#include "common/io/loop.h"
#include "world/edge/edge_metrics.h"
#include "world/world.h"
#include "world/world_opts.h"

/* Connections at once: every link that the core has a place for, and as many on their way. For one
 * more the one that has waited longest without being up is closed. */
#define WORLD_LINK_CONNECTIONS (2 * SESSION_LINKS_MAX)

struct keys;
struct world_link;

/* Nothing listens yet. Borrows all but `out`. E_NOMEM. */
int world_link_create(struct loop *l, const struct world_options *o, struct edge_metrics *m,
                      struct world_link **out) MUST_CHECK;
/* Gateways must show that they have one of these keys, and are shown that we have it. Before
 * world_link_listen. Borrows. */
void world_link_guard(struct world_link *k, struct keys *keys);
/* Before anything that came is looked at, `may` is asked. */
typedef bool world_link_may_fn(void *arg);
void world_link_gate(struct world_link *k, world_link_may_fn *may, void *arg);
/* Stand still: nothing is read, nobody counts as silent, and pings still go out. Or go on. */
void world_link_still(struct world_link *k, bool still);
/* Listen for gateways of `w`, whose drain is world_link_drain. `why` gets one line without newline
 * that names the address: E_ADDR, E_IO, E_NOMEM. */
int world_link_listen(struct world_link *k, struct world *w, char *why, size_t why_cap) MUST_CHECK;
/* Where it listens; listening. */
const char *world_link_addr(const struct world_link *k);
/* May gateways connect: between world_link_listen and world_link_finish. */
bool world_link_listening(const struct world_link *k);
/* The outbox's way out; `arg` is the struct world_link. */
outbox_drain_fn world_link_drain;
/* Stop listening, send what is queued, and end all links politely, within `linger_ns`. `done` is
 * called once none is left, now or later. The core is not called any more. */
void world_link_finish(struct world_link *k, int64_t linger_ns, loop_fn *done, void *arg);
/* Trace a session that has a link, see world/edge/link_trace. */
void world_link_trace(struct world_link *k, const struct sessions *all, const struct session *s,
                      uint32_t lines, uint32_t seconds);
/* Bring the gauges up to date before they are read. */
void world_link_gauges(struct world_link *k);
/* Ends what is left at once. The core is not called. NULL is fine. */
void world_link_destroy(struct world_link *k);
