/* tests/bench/core_rig.h: a world with its sessions, driven as the edge drives it, but for places:
 * they are set in the entity arrays, since requests are not what is measured.
 * The outbox is drained to nowhere. May touch: the core, world/edge/storage.
 * On trouble: one line on standard error and exit 1.
 */
#pragma once

#include "tests/bench/workload.h"
#include "world/edge/storage.h"
#include "world/world.h"

struct core_rig {
    struct world *world;
    struct link_ref link;
    struct map maps[SCENES_MAX - 1]; /* [n_maps] the world borrows them */
    uint32_t n_maps;
    struct mono now;         /* a tick's length later each tick */
    struct loop *loop;       /* the store answers in it; NULL: there is none */
    struct storage *storage; /* NULL: there is none */
    uint64_t bytes;          /* drained so far */
    /* Looks at what is drained, whole link frames; may be NULL. */
    void (*look)(void *arg, struct span frames);
    void *look_arg;
};

/* The defaults of a world's flags on such a square. */
struct world_config core_rig_config(uint32_t entities, double side, uint64_t seed);
/* Nobody is in it yet; `r` stays where it is. */
void core_rig_init(struct core_rig *r, uint32_t entities, double side, uint64_t seed);
void core_rig_open(struct core_rig *r, const struct world_config *c);
/* The same with a store, as -store says it, and so many scenes, all with the same free ground. */
void core_rig_keep(struct core_rig *r, const struct world_config *c, const char *store,
                   uint32_t scenes);
void core_rig_fini(struct core_rig *r);
/* `n` sessions log in and enter. */
void core_rig_populate(struct core_rig *r, uint32_t n);
/* A request of the session `sid`, 1 to n. */
void core_rig_request(struct core_rig *r, uint64_t sid, const struct message *m);
/* The first `movers` go where the workload has them, each in the scene whose turn it is. */
void core_rig_place(struct core_rig *r, const struct workload *load, uint32_t movers);
/* A tick, and what it brought is drained. */
void core_rig_tick(struct core_rig *r);
/* The thread's own time: what others do on the machine is not counted. The phases take it too. */
int64_t core_rig_cpu_ns(void);
