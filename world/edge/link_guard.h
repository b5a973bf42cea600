/* world/edge/link_guard.h: does whoever says hello have one of our keys?
 * One pass for each connection: what was said of nonces, and what is still to be shown. Knows no
 * connection. May touch: common, proto/link_proof, the system's random bytes. On trouble: a wrong
 * key is a normal answer.
 */
#pragma once

#include "common/keys.h"
#include "proto/link_proof.h"

struct link_pass {
    bool proving; /* its proof is awaited */
    uint8_t gateway_nonce[LINK_NONCE_BYTES], world_nonce[LINK_NONCE_BYTES];
};

/* What our hello has in place of a key: a fresh nonce, empty where `keys` is NULL. */
struct span link_guard_nonce(struct link_pass *p, const struct keys *keys);

/* A hello with this nonce came; our own nonce is made. NULL: it may go on, and where `p->proving`
 * is set its proof comes next. Else why not, in a few words. */
const char *link_guard_hello(struct link_pass *p, const struct keys *keys, struct span nonce);

/* Is this by one of our keys? Then `ours` is our own proof, by the same one. The ids are the
 * gateway's and the world's. */
bool link_guard_proof(const struct link_pass *p, struct keys *keys, const char *gateway,
                      const char *world, struct span said, uint8_t ours[LINK_PROOF_BYTES]);
