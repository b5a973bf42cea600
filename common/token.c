/* common/token.c: see the header.
 * libjwt takes a token apart and puts one together. The signature is checked by the key itself:
 * libjwt 1.10 reads a key's PEM anew for each token, 740 us of RS256 where the check takes 27, and
 * takes a token of HS256 whose secret is a public key's text. What else it lets pass and must not
 * be taken (letters that are no base64, claims of another type) is looked at here.
 */
#include "common/token.h"

#include "common/base64.h"

#include <string.h>

/* --- the form --------------------------------------------------------------------------------- */

static bool is_url64(uint8_t c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_';
}

bool token_form_ok(struct span token)
{
    size_t part = 0;
    int dots = 0;

    if (token.n > TOKEN_MAX)
        return false;
    for (size_t i = 0; i < token.n; i++) {
        if (token.p[i] != '.' && !is_url64(token.p[i]))
            return false;
        part++;
        if (token.p[i] != '.')
            continue;
        dots++;
        if (part == 1 || part % 4 == 2) /* itself counted: nothing, or a digit too many */
            return false;
        part = 0;
    }
    return dots == 2 && part > 0 && part % 4 != 1;
}

#if defined(AEGIS_PART_LIBJWT) && defined(AEGIS_PART_LIBCRYPTO)

#include <errno.h>
#include <jwt.h>
#include <stdlib.h>

bool token_possible(void)
{
    return true;
}

/* --- reading ---------------------------------------------------------------------------------- */

static bool has_header(jwt_t *j, const char *name)
{
    char *json = jwt_get_headers_json(j, name);
    bool has = json != NULL;

    free(json);
    return has;
}

/* The key that the header asks for. */
static enum token_flaw find_key(jwt_t *j, const struct keyring *keys, const struct sign_key **out)
{
    const char *kid = jwt_get_header(j, "kid"), *alg = jwt_get_header(j, "alg");
    const struct keyring_key *found;
    enum sign_alg named;

    /* What is critical for its maker is unknown here. */
    if (has_header(j, "crit") || (!kid && has_header(j, "kid")) || (kid && kid[0] == '\0'))
        return TOKEN_MALFORMED;
    found = keyring_find(keys, kid ? span_text(kid) : span_of(NULL, 0));
    if (!found)
        return TOKEN_NO_KEY;
    *out = &found->key;
    if (!alg || !sign_alg_find(span_text(alg), &named) || named != found->key.alg)
        return TOKEN_OTHER_ALG;
    return TOKEN_SOUND;
}

/* `token` has its form. */
static enum token_flaw check_signature(const struct sign_key *key, struct span token)
{
    uint8_t signature[TOKEN_SIGNATURE_MAX];
    size_t n, dot = token.n;
    struct span text;

    while (token.p[dot - 1] != '.')
        dot--;
    text = span_of(token.p + dot, token.n - dot);
    if (!base64_read(text, signature, sizeof(signature), &n))
        return TOKEN_MALFORMED;
    return sign_key_check(key, span_of(token.p, dot - 1), span_of(signature, n))
               ? TOKEN_SOUND
               : TOKEN_NOT_ITS_KEY;
}

/* A claim that is a whole number. False: it is there, and is none. */
static bool take_number(jwt_t *j, const char *name, bool *has, int64_t *out)
{
    char *json = jwt_get_grants_json(j, name), *end;
    bool good = true;

    *has = json != NULL;
    if (json) {
        errno = 0;
        *out = strtoll(json, &end, 10);
        good = errno == 0 && *end == '\0' && end != json;
    }
    free(json);
    return good;
}

static bool take_sub(jwt_t *j, struct token_claims *out)
{
    const char *sub = jwt_get_grant(j, "sub");

    out->has_sub = sub != NULL;
    out->sub_n = sub ? strlen(sub) : 0;
    if (out->sub_n > TOKEN_SUB_MAX)
        return false;
    if (sub)
        memcpy(out->sub, sub, out->sub_n + 1);
    return true;
}

enum token_flaw token_read(const struct keyring *keys, struct span token, struct token_claims *out)
{
    const struct sign_key *key = NULL;
    enum token_flaw flaw;
    char text[TOKEN_MAX + 1];
    jwt_t *j = NULL;
    int err;

    *out = (struct token_claims){0};
    if (!token_form_ok(token))
        return TOKEN_MALFORMED;
    memcpy(text, token.p, token.n);
    text[token.n] = '\0';
    err = jwt_decode(&j, text, NULL, 0);
    if (err != 0)
        return err == ENOMEM ? TOKEN_NO_MEMORY : TOKEN_MALFORMED;
    flaw = find_key(j, keys, &key);
    if (flaw == TOKEN_SOUND)
        flaw = check_signature(key, token);
    if (flaw == TOKEN_SOUND &&
        (!take_sub(j, out) || !take_number(j, "exp", &out->has_exp, &out->exp_s) ||
         !take_number(j, "nbf", &out->has_nbf, &out->nbf_s)))
        flaw = TOKEN_MALFORMED;
    jwt_free(j);
    return flaw;
}

/* --- signing ---------------------------------------------------------------------------------- */

static jwt_alg_t alg_of(const struct sign_key *key)
{
    switch (key->alg) {
    case SIGN_HS256:
        return JWT_ALG_HS256;
    case SIGN_RS256:
        return JWT_ALG_RS256;
    case SIGN_ES256:
        return JWT_ALG_ES256;
    case SIGN_COUNT:
        break;
    }
    return JWT_ALG_INVAL;
}

static int sign(jwt_t *j, const struct keyring_key *key, const char *sub, int64_t now_s,
                int64_t exp_s, char out[TOKEN_MAX + 1])
{
    char *text;
    size_t n;

    if (jwt_add_header(j, "kid", key->kid) != 0 || jwt_add_grant(j, "sub", sub) != 0 ||
        jwt_add_grant_int(j, "iat", now_s) != 0 || jwt_add_grant_int(j, "exp", exp_s) != 0 ||
        jwt_set_alg(j, alg_of(&key->key), key->key.own.p, (int)key->key.own.n) != 0)
        return E_NOMEM;
    text = jwt_encode_str(j);
    if (!text)
        return E_BAD;
    n = strlen(text);
    if (n <= TOKEN_MAX)
        memcpy(out, text, n + 1);
    free(text);
    return n <= TOKEN_MAX ? 0 : E_RANGE;
}

int token_sign(const struct keyring_key *key, const char *sub, int64_t now_s, int64_t exp_s,
               char out[TOKEN_MAX + 1])
{
    jwt_t *j = NULL;
    int err;

    if (key->key.own.n == 0)
        return E_BAD;
    if (jwt_new(&j) != 0)
        return E_NOMEM;
    err = sign(j, key, sub, now_s, exp_s, out);
    jwt_free(j);
    return err;
}

#else

bool token_possible(void)
{
    return false;
}

enum token_flaw token_read(const struct keyring *keys, struct span token, struct token_claims *out)
{
    (void)keys, (void)token;
    *out = (struct token_claims){0};
    return TOKEN_NO_KEY;
}

int token_sign(const struct keyring_key *key, const char *sub, int64_t now_s, int64_t exp_s,
               char out[TOKEN_MAX + 1])
{
    (void)key, (void)sub, (void)now_s, (void)exp_s;
    out[0] = '\0';
    return E_BAD;
}

#endif
