/* proto/link_proof.h: both ends of a link show that they have the same key, and never the key.
 * Where a link has a key, each hello carries a nonce, and two frames more go by before anything
 * else:
 *
 *   gateway                                            world
 *   hello: version, id, nonce           ─────────────►
 *                                       ◄─────────────  hello: version, id, nonce
 *   proof: HMAC(key, gateway's words)   ─────────────►  by one of its keys?
 *                                       ◄─────────────  proof: HMAC(that key, world's words)
 *
 * A side's words are its label, the version, both nonces and both ids, so that a proof is good for
 * this one meeting, for that side alone. The gateway goes first: a stranger who dials a world gets
 * nothing to try keys on. HMAC-SHA256; what is compared takes the same time whatever differs.
 * May touch: common, proto, libcrypto. On trouble: a build without libcrypto proves nothing.
 */
#pragma once

#include "common/span.h"

#define LINK_NONCE_BYTES 32
#define LINK_PROOF_BYTES 32

/* Can this build prove anything? */
bool link_proof_built(void);

struct link_meeting {
    uint8_t gateway_nonce[LINK_NONCE_BYTES], world_nonce[LINK_NONCE_BYTES];
    struct span gateway_id, world_id; /* at most LINK_ID_MAX; borrowed */
};

enum link_side { LINK_SIDE_GATEWAY, LINK_SIDE_WORLD };

/* What this side says where it has `key`. */
void link_proof(uint8_t out[LINK_PROOF_BYTES], struct span key, enum link_side side,
                const struct link_meeting *m);
/* Did that side say so? */
bool link_proof_good(struct span said, struct span key, enum link_side side,
                     const struct link_meeting *m);
