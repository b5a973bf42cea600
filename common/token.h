/* common/token.h: signed tokens (JWT) that say who somebody is, and until when.
 * The algorithm is the key's, never the token's: a token that names another is refused before its
 * signature is looked at. Whether its times and its name will do is for who asks.
 * May touch: common, libjwt, which this room alone includes. On trouble: a flaw, which is a normal
 * answer. A build without libjwt or libcrypto reads and signs none.
 */
#pragma once

#include "common/keyring.h"

#define TOKEN_MAX           4096 /* bytes of a token */
#define TOKEN_SUB_MAX       255  /* bytes of its subject */
#define TOKEN_SIGNATURE_MAX 1024 /* bytes: of RSA with 8192 bits */

/* What may be wrong with a token itself, in the order in which it is looked at. */
enum token_flaw {
    TOKEN_SOUND,
    TOKEN_MALFORMED,   /* not a token, or with claims of the wrong kind */
    TOKEN_NO_KEY,      /* its kid is not known, or missing where there are several keys */
    TOKEN_OTHER_ALG,   /* it names another algorithm than its key has */
    TOKEN_NOT_ITS_KEY, /* the signature is not the key's */
    TOKEN_NO_MEMORY
};

struct token_claims {
    bool has_sub, has_exp, has_nbf;
    char sub[TOKEN_SUB_MAX + 1];
    size_t sub_n;         /* bytes */
    int64_t exp_s, nbf_s; /* unix seconds */
};

/* Can this build read and sign them? */
bool token_possible(void);

/* Has it a token's form: three parts of base64 for URLs, between two dots, not too long? Costs next
 * to nothing. Pure. */
bool token_form_ok(struct span token);
/* Read and check it against the keys. `out` counts where it is TOKEN_SOUND. */
enum token_flaw token_read(const struct keyring *keys, struct span token,
                           struct token_claims *out) MUST_CHECK;

/* Sign one: NUL-terminated. 0; E_BAD: the key cannot sign; E_RANGE: longer than TOKEN_MAX;
 * E_NOMEM. */
int token_sign(const struct keyring_key *key, const char *sub, int64_t now_s, int64_t exp_s,
               char out[TOKEN_MAX + 1]) MUST_CHECK;
