/* proto/link_proof.c: a key, shown and not told. May touch: common, proto, libcrypto.
 * On trouble: see the header.
 */
#include "proto/link_proof.h"

#include "common/parts.h"
#include "proto/limits.h"

#ifdef AEGIS_PART_LIBCRYPTO

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#define WORDS_MAX (32 + 4 + 2 * LINK_NONCE_BYTES + 2 * (4 + LINK_ID_MAX))

bool link_proof_built(void)
{
    return true;
}

/* A length stands before what may have any, so that no two meetings have the same words. */
static void put_id(struct span_writer *w, struct span id)
{
    ASSERT(id.n <= LINK_ID_MAX);
    span_put_be32(w, (uint32_t)id.n);
    if (id.n > 0)
        span_put(w, id.p, id.n);
}

void link_proof(uint8_t out[LINK_PROOF_BYTES], struct span key, enum link_side side,
                const struct link_meeting *m)
{
    uint8_t words[WORDS_MAX];
    struct span_writer w = span_writer_of(words, sizeof(words));
    struct span label = span_text(side == LINK_SIDE_GATEWAY ? "aegis link gateway" //
                                                            : "aegis link world  ");
    unsigned n = 0;

    span_put(&w, label.p, label.n);
    span_put_be32(&w, LINK_VERSION);
    span_put(&w, m->gateway_nonce, LINK_NONCE_BYTES);
    span_put(&w, m->world_nonce, LINK_NONCE_BYTES);
    put_id(&w, m->gateway_id);
    put_id(&w, m->world_id);
    ASSERT(!w.full);
    const uint8_t *made = HMAC(EVP_sha256(), key.p, (int)key.n, words, w.len, out, &n);
    ASSERT(made);
    ASSERT(n == LINK_PROOF_BYTES);
}

bool link_proof_good(struct span said, struct span key, enum link_side side,
                     const struct link_meeting *m)
{
    uint8_t own[LINK_PROOF_BYTES];

    if (said.n != LINK_PROOF_BYTES)
        return false;
    link_proof(own, key, side, m);
    return CRYPTO_memcmp(said.p, own, LINK_PROOF_BYTES) == 0;
}

#else

bool link_proof_built(void)
{
    return false;
}

void link_proof(uint8_t out[LINK_PROOF_BYTES], struct span key, enum link_side side,
                const struct link_meeting *m)
{
    (void)key;
    (void)side;
    (void)m;
    ASSERT(!out); /* no flag brings anybody here */
}

bool link_proof_good(struct span said, struct span key, enum link_side side,
                     const struct link_meeting *m)
{
    (void)said;
    (void)key;
    (void)side;
    (void)m;
    return false;
}

#endif
