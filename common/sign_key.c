/* common/sign_key.c: see the header. */
#include "common/sign_key.h"

#include <stdlib.h>
#include <string.h>

#ifdef AEGIS_PART_LIBCRYPTO
#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#endif

#define NO_MEMORY "no memory for it"

static const char PEM_BEGIN[] = "-----BEGIN ";

static const char *const alg_texts[SIGN_COUNT] = {
    [SIGN_HS256] = "HS256", [SIGN_RS256] = "RS256", [SIGN_ES256] = "ES256"};

bool sign_alg_find(struct span text, enum sign_alg *out)
{
    for (size_t i = 0; i < SIGN_COUNT; i++) {
        if (span_equal(text, span_text(alg_texts[i]))) {
            *out = (enum sign_alg)i;
            return true;
        }
    }
    return false;
}

/* False: no memory. */
static bool own(struct sign_key *k, struct span bytes)
{
    uint8_t *to = malloc(bytes.n);

    if (!to)
        return false;
    memcpy(to, bytes.p, bytes.n);
    k->own = span_of(to, bytes.n);
    return true;
}

const char *sign_key_of_secret(struct span secret, struct sign_key *out)
{
    *out = (struct sign_key){.alg = SIGN_HS256};
    if (secret.n < SIGN_KEY_SECRET_MIN)
        return "the secret of HS256 must have at least 32 bytes";
    /* Whoever knows the public key could sign with its text. */
    if (memmem(secret.p, secret.n, PEM_BEGIN, strlen(PEM_BEGIN)))
        return "a key in PEM is no secret";
    return own(out, secret) ? NULL : NO_MEMORY;
}

#ifdef AEGIS_PART_LIBCRYPTO

/* --- PEM -------------------------------------------------------------------------------------- */

static int count_begins(struct span pem)
{
    const size_t mark = strlen(PEM_BEGIN);
    int n = 0;

    for (const uint8_t *at; (at = memmem(pem.p, pem.n, PEM_BEGIN, mark)); n++)
        pem = span_of(at + mark, pem.n - (size_t)(at + mark - pem.p));
    return n;
}

/* Nobody is there to type one. */
static int no_passphrase(char *buf, int size, int writing, void *arg)
{
    (void)buf, (void)size, (void)writing, (void)arg;
    return -1;
}

typedef EVP_PKEY *read_fn(BIO *b, EVP_PKEY **x, pem_password_cb *cb, void *arg);

static EVP_PKEY *read_as(struct span pem, read_fn *read)
{
    BIO *b = BIO_new_mem_buf(pem.p, (int)pem.n);
    EVP_PKEY *pkey = b ? read(b, NULL, no_passphrase, NULL) : NULL;

    BIO_free(b);
    return pkey;
}

static const char *fits(const EVP_PKEY *pkey, enum sign_alg alg)
{
    char curve[32] = "";

    if (alg == SIGN_RS256) {
        if (EVP_PKEY_get_base_id(pkey) != EVP_PKEY_RSA)
            return "not a key of RSA, which RS256 needs";
        return EVP_PKEY_get_bits(pkey) < SIGN_KEY_RSA_MIN ? "a key of RSA must have 2048 bits"
                                                          : NULL;
    }
    if (EVP_PKEY_get_base_id(pkey) != EVP_PKEY_EC ||
        !EVP_PKEY_get_group_name(pkey, curve, sizeof(curve), NULL) ||
        strcmp(curve, "prime256v1") != 0)
        return "not a key of the curve P-256, which ES256 needs";
    return NULL;
}

const char *sign_key_of_pem(struct span pem, enum sign_alg alg, struct sign_key *out)
{
    const char *why = NULL;
    bool is_private;

    ASSERT(alg != SIGN_HS256);
    *out = (struct sign_key){.alg = alg};
    if (count_begins(pem) != 1)
        return "must hold one key in PEM, and nothing else";
    out->pkey = read_as(pem, PEM_read_bio_PUBKEY);
    is_private = !out->pkey;
    if (is_private)
        out->pkey = read_as(pem, PEM_read_bio_PrivateKey);
    if (!out->pkey)
        return "holds no key that can be read without a passphrase";
    why = fits(out->pkey, alg);
    if (!why && is_private && !own(out, pem))
        why = NO_MEMORY;
    if (why)
        sign_key_fini(out);
    return why;
}

/* --- checking --------------------------------------------------------------------------------- */

#define ES256_HALF 32 /* bytes of each of the two numbers */

/* The two numbers one behind the other, as the structure that libcrypto wants. False: not that. */
static bool as_der(struct span raw, uint8_t **der, size_t *n)
{
    ECDSA_SIG *sig = ECDSA_SIG_new();
    int bytes = -1;

    *der = NULL;
    if (sig && raw.n == (size_t)2 * ES256_HALF) {
        BIGNUM *r = BN_bin2bn(raw.p, ES256_HALF, NULL);
        BIGNUM *s = BN_bin2bn(raw.p + ES256_HALF, ES256_HALF, NULL);

        if (r && s && ECDSA_SIG_set0(sig, r, s)) {
            bytes = i2d_ECDSA_SIG(sig, der);
        } else {
            BN_free(r);
            BN_free(s);
        }
    }
    ECDSA_SIG_free(sig);
    *n = bytes > 0 ? (size_t)bytes : 0;
    return bytes > 0;
}

static bool check_hmac(const struct sign_key *k, struct span data, struct span signature)
{
    uint8_t right[EVP_MAX_MD_SIZE];
    unsigned n = 0;

    return HMAC(EVP_sha256(), k->own.p, (int)k->own.n, data.p, data.n, right, &n) &&
           signature.n == n && CRYPTO_memcmp(signature.p, right, n) == 0;
}

static bool check_pkey(const struct sign_key *k, struct span data, struct span signature)
{
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    bool good = ctx && EVP_DigestVerifyInit(ctx, NULL, EVP_sha256(), NULL, k->pkey) == 1 &&
                EVP_DigestVerify(ctx, signature.p, signature.n, data.p, data.n) == 1;

    EVP_MD_CTX_free(ctx);
    return good;
}

bool sign_key_check(const struct sign_key *k, struct span data, struct span signature)
{
    uint8_t *der;
    size_t n;
    bool good;

    if (k->alg == SIGN_HS256)
        return check_hmac(k, data, signature);
    if (k->alg == SIGN_RS256)
        return check_pkey(k, data, signature);
    good = as_der(signature, &der, &n) && check_pkey(k, data, span_of(der, n));
    OPENSSL_free(der);
    return good;
}

static void free_pkey(struct sign_key *k)
{
    EVP_PKEY_free(k->pkey);
}

#else

const char *sign_key_of_pem(struct span pem, enum sign_alg alg, struct sign_key *out)
{
    (void)pem;
    *out = (struct sign_key){.alg = alg};
    return "this build cannot read PEM: it has no libcrypto";
}

bool sign_key_check(const struct sign_key *k, struct span data, struct span signature)
{
    (void)k, (void)data, (void)signature;
    return false;
}

static void free_pkey(struct sign_key *k)
{
    (void)k;
}

#endif

void sign_key_fini(struct sign_key *k)
{
    if (k->own.p)
        explicit_bzero((void *)k->own.p, k->own.n);
    free((void *)k->own.p);
    free_pkey(k);
    *k = (struct sign_key){0};
}
