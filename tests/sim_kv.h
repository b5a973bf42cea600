/* tests/sim_kv.h: a store of compare-and-set, as JetStream's key-value buckets do it.
 * One revision counts all writes; a deleted key leaves a mark, over which it can be created again.
 * Keys and values are the texts that really go over the wire. May touch: world/cluster/kv.
 */
#pragma once

#include "world/cluster/kv.h"

#define SIM_KEYS 512

struct sim_entry {
    char key[KV_TEXT_MAX + 1];
    char value[CLAIM_BYTES_MAX];
    size_t key_len, value_len;
    uint64_t revision;
    bool deleted;
};

struct sim_kv {
    struct sim_entry entries[SIM_KEYS];
    uint32_t n;
    uint64_t revision;
};

void sim_kv_wipe(struct sim_kv *kv);
/* Do it; `blind`: whatever the revision. `changed` gets what was written; NULL: nothing was. */
struct kv_result sim_kv_do(struct sim_kv *kv, const struct kv_command *c, bool blind,
                           const struct sim_entry **changed);
/* As a follower is told of it. */
struct kv_entry sim_kv_entry(const struct sim_entry *e);
