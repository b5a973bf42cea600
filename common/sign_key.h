/* common/sign_key.h: one key, of one algorithm, that checks signatures.
 *   HS256   a secret that both sides have
 *   RS256   RSA with PKCS #1 v1.5, from PEM; at least 2048 bits
 *   ES256   the curve P-256, from PEM
 * A private key serves as its public one. PEM is read once: that costs ten times what a check does.
 * May touch: common, libcrypto. On trouble: false, or why not. A build without libcrypto has no
 * keys but secrets, and checks nothing.
 */
#pragma once

#include "common/span.h"

#define SIGN_KEY_SECRET_MIN 32   /* bytes: as many as the hash has */
#define SIGN_KEY_RSA_MIN    2048 /* bits */

enum sign_alg { SIGN_HS256, SIGN_RS256, SIGN_ES256, SIGN_COUNT };

struct evp_pkey_st; /* libcrypto's */

struct sign_key {
    enum sign_alg alg;
    struct evp_pkey_st *pkey; /* owned; but HS256 */
    struct span own;          /* owned: the secret, or a private key's PEM; n 0: it cannot sign */
};

/* Of "HS256", "RS256", "ES256". False: none of the three. */
bool sign_alg_find(struct span text, enum sign_alg *out);

/* Copies what it is given. NULL, or what is wrong with it; then `out` is empty. */
const char *sign_key_of_secret(struct span secret, struct sign_key *out) MUST_CHECK;
const char *sign_key_of_pem(struct span pem, enum sign_alg alg, struct sign_key *out) MUST_CHECK;
/* Leaves nothing of the secret in memory. */
void sign_key_fini(struct sign_key *k);

/* Is this the key's signature of `data`, as JWS writes it (RFC 7518)? */
bool sign_key_check(const struct sign_key *k, struct span data, struct span signature) MUST_CHECK;
