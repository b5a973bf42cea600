/* world/edge/link_guard.c: does whoever says hello have one of our keys? May touch: common,
 * proto/link_proof. On trouble: see the header.
 */
#include "world/edge/link_guard.h"

#include "common/rng.h"

struct span link_guard_nonce(struct link_pass *p, const struct keys *keys)
{
    if (!keys)
        return (struct span){0};
    rng_secret(p->world_nonce, LINK_NONCE_BYTES);
    return span_of(p->world_nonce, LINK_NONCE_BYTES);
}

const char *link_guard_hello(struct link_pass *p, const struct keys *keys, struct span nonce)
{
    if (!keys)
        return nonce.n == 0 ? NULL : "it has a -link-key, we have none";
    if (nonce.n != LINK_NONCE_BYTES)
        return "it has no -link-key";
    memcpy(p->gateway_nonce, nonce.p, LINK_NONCE_BYTES);
    p->proving = true;
    return NULL;
}

bool link_guard_proof(const struct link_pass *p, struct keys *keys, const char *gateway,
                      const char *world, struct span said, uint8_t ours[LINK_PROOF_BYTES])
{
    struct link_meeting m = {.gateway_id = span_text(gateway), .world_id = span_text(world)};
    struct key list[KEYS_MAX];
    const uint32_t n = keys_copy(keys, list);
    bool good = false;

    memcpy(m.gateway_nonce, p->gateway_nonce, LINK_NONCE_BYTES);
    memcpy(m.world_nonce, p->world_nonce, LINK_NONCE_BYTES);
    for (uint32_t i = 0; i < n && !good; i++) {
        const struct span key = span_of(list[i].bytes, list[i].n);
        good = link_proof_good(said, key, LINK_SIDE_GATEWAY, &m);
        if (good)
            link_proof(ours, key, LINK_SIDE_WORLD, &m);
    }
    keys_wipe(list, KEYS_MAX);
    return good;
}
