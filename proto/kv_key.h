/* proto/kv_key.h: the keys of a cluster's store of keys, as text.
 * Pure. May touch: common, proto/claim. On trouble: what is no such key is E_BAD.
 */
#pragma once

#include "common/span.h"
#include "proto/claim.h"

#define KV_BUCKET   "aegis" /* where they stand */
#define KV_TEXT_MAX 127     /* bytes of a key */

enum kv_room { KV_GENERATION, KV_WORLD, KV_ZONE, KV_IDS, KV_NAME, KV_ROOMS };

/* Every key but the generation's stands under its generation: a store that was wiped counts its
 * revisions anew, and none of them may fit to a key of before. */
struct kv_key {
    enum kv_room room;
    uint64_t generation;
    uint32_t number;        /* of a zone; of a name its place in names */
    struct claim_name name; /* of a name, of a world */
};

/* As text: "gen", "0123456789abcdef.zone.12", "….world.w1", "….name.QW5u". Returns its bytes. */
size_t kv_key_write(const struct kv_key *k, char out[KV_TEXT_MAX + 1]);
/* 0, or E_BAD: not a key of ours. Of a name only the name is filled in, not its number. */
int kv_key_read(struct span text, struct kv_key *out) MUST_CHECK;
