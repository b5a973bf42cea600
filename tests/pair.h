/* tests/pair.h: a world and a gateway as real processes, on ports that the kernel picks.
 * Several gateways to one world, too. May touch: tests/process.
 * On trouble: the test at hand fails.
 */
#pragma once

#include "tests/process.h"

struct pair {
    struct process *world, *gateway;
};

/* Flags beside -role, -listen and -upstream: NULL-terminated, or NULL for none. Each listens when
 * it is returned. A world whose flags say nothing of it has no -resume-window: who is gone is gone
 * at the next tick. */
struct process *pair_world(const char *const *flags);
struct process *pair_gateway(const char *upstream, const char *const *flags);
/* One to the worlds of a cluster. */
struct process *pair_cluster_gateway(const char *url, const char *const *flags);

/* Both, and the link between them is up. */
struct pair pair_start(const char *const *world_flags, const char *const *gateway_flags);
/* Wait until this gateway's link to its world came up for the `times`th time since its start. */
void pair_await_link(struct process *gateway, unsigned times);
/* SIGTERM; it must end with status 0, which a leak would spoil. */
void pair_end_one(struct process *p);
/* Gateway, then world, then process_check_all. What was ended before is left alone. */
void pair_end(const struct pair *p);
