/* tests/world/member_rig.h: a few worlds' machines and a store of keys that answers at once.
 * May touch: world/cluster, tests/sim_kv.
 */
#pragma once

#include "tests/sim_kv.h"
#include "world/cluster/member.h"

#include <criterion/criterion.h>

#define RIG_WORLDS 4
#define RIG_ZONES  8
#define RIG_MS     CLOCK_NS_PER_MS
#define RIG_LEASE  (1000 * RIG_MS)
#define RIG_GUARD  (100 * RIG_MS)

struct member_rig {
    struct sim_kv kv;
    struct member m[RIG_WORLDS];
    bool up[RIG_WORLDS];
    bool away[RIG_WORLDS];  /* what it asks is not answered, and nothing is told to it */
    bool still[RIG_WORLDS]; /* it does not run, and hears nothing */
    struct mono now;
    uint64_t asked; /* commands that reached the store */
};

void member_rig_init(struct member_rig *r);
void member_rig_fini(struct member_rig *r);
/* A world of this id, in a place that is free; `terms` NULL: those of all. */
void member_rig_start(struct member_rig *r, uint32_t at, const char *id, const char *terms);
/* It is killed: nothing of it is told to anybody. */
void member_rig_kill(struct member_rig *r, uint32_t at);
/* Followed anew, as after a lost connection. */
void member_rig_follow(struct member_rig *r, uint32_t at);
/* So much time passes, in turns of 10 ms. */
void member_rig_run(struct member_rig *r, int64_t ms);
/* How many zones are its, and may it act for them? */
uint32_t member_rig_zones(const struct member_rig *r, uint32_t at);
