/* world/cluster_door.h: what the core asks of the outside where it is one world of a cluster.
 * What carries messages between worlds, and knows who owns which zone, is the edge's; it brings
 * messages and owners in by world/command/courier, and is asked here to send. The core never waits:
 * a message may be lost, doubled or late, and whatever matters is said again until it is answered.
 *
 *   tick, handlers ─► send, publish, tell ─► … ─► courier_message of another world
 *   leases of zones ─► courier_zone
 *   name_claim, _take, … ─► keys of the cluster ─► courier_name
 *
 * May touch: common. On trouble: a message that cannot be sent now is dropped by who carries it.
 */
#pragma once

#include "common/span.h"

/* Called inside of ticks and requests: no malloc, no wait. Messages are borrowed for the call. */
struct cluster_door_ops {
    /* To the world of this id. */
    void (*send)(void *arg, struct span world, struct span message);
    /* To all worlds that have a zone beside this one. */
    void (*publish)(void *arg, uint32_t zone, struct span message);
    /* To all other worlds. */
    void (*tell)(void *arg, struct span message);

    /* Names, by their places in world/cluster/registry. Each but forget is answered by
     * courier_name, later; where all that this world holds becomes void it is not answered at all.
     */
    void (*name_claim)(void *arg, uint32_t place, struct span name);
    /* From the world that held it under this token. */
    void (*name_take)(void *arg, uint32_t place, struct span name, uint64_t token);
    /* It was offered to another, and shall stay ours. */
    void (*name_take_back)(void *arg, uint32_t place);
    void (*name_release)(void *arg, uint32_t place);
    /* It is another's now. */
    void (*name_forget)(void *arg, uint32_t place);
};

/* How many places there are, for so many sessions. */
#define CLUSTER_DOOR_NAMES(sessions) ((sessions) + 4096)

/* What the core is given. `ops` NULL: it is alone, and nothing of all this runs. */
struct cluster_door {
    const struct cluster_door_ops *ops;
    void *arg;
    struct span world; /* its own id: 1 to LINK_WORLD_MAX bytes */
    uint32_t nx, ny;   /* zones of each scene: columns, rows */
    uint32_t ids;      /* of a block of them, each of one world; 0: they come otherwise */
    double margin;     /* units past a border where an entity is handed over; > 0 */
};
