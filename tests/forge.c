/* tests/forge.c: see the header. */
#include "tests/forge.h"

#if defined(AEGIS_PART_LIBJWT) && defined(AEGIS_PART_LIBCRYPTO)

#include "common/err.h"
#include "tests/process.h"

#include <dirent.h>
#include <inttypes.h>
#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECRET       "0123456789abcdefghijklmnopqrstuv"
#define OTHER_SECRET "0123456789abcdefghijklmnopqrstuw"
#define DEEP         1500

static const char KEYS[] = "# the keys of a test\n"
                           "h HS256 text:" SECRET "\n"
                           "r RS256 file:r.pem\n"
                           "\n"
                           "e\tES256\tfile:e.pem\n";

static void must(bool good, const char *what)
{
    if (!good)
        process_fail("forge: %s", what);
}

/* --- keys ------------------------------------------------------------------------------------- */

static void write_text(const char *path, const void *text, size_t n)
{
    FILE *to = fopen(path, "w");

    must(to && fwrite(text, 1, n, to) == n && fclose(to) == 0, path);
}

static void write_key(const struct forge *f, const char *name, EVP_PKEY *pkey, bool own)
{
    BIO *b = BIO_new(BIO_s_mem());
    char path[96], *text;

    must(own ? PEM_write_bio_PrivateKey(b, pkey, NULL, NULL, 0, NULL, NULL) == 1
             : PEM_write_bio_PUBKEY(b, pkey) == 1,
         "a key cannot be written");
    snprintf(path, sizeof(path), "%s/%s", f->folder, name);
    long n = BIO_get_mem_data(b, &text);
    write_text(path, text, (size_t)n);
    BIO_free(b);
}

void forge_open(struct forge *f)
{
    *f = (struct forge){.folder = "/tmp/aegis-forge-XXXXXX"};
    must(mkdtemp(f->folder) != NULL, "no folder");
    snprintf(f->path, sizeof(f->path), "%s/keys", f->folder);
    f->rsa = EVP_RSA_gen(2048);
    f->other = EVP_RSA_gen(2048);
    f->ec = EVP_EC_gen("P-256");
    must(f->rsa && f->other && f->ec, "no keys");
    write_key(f, "r.pem", f->rsa, false);
    write_key(f, "e.pem", f->ec, true);
    forge_rewrite(f, KEYS);
}

void forge_close(struct forge *f)
{
    DIR *d = opendir(f->folder);

    for (struct dirent *e; d && (e = readdir(d));)
        unlinkat(dirfd(d), e->d_name, 0);
    if (d)
        closedir(d);
    rmdir(f->folder);
    EVP_PKEY_free(f->rsa);
    EVP_PKEY_free(f->other);
    EVP_PKEY_free(f->ec);
}

void forge_rewrite(const struct forge *f, const char *text)
{
    write_text(f->path, text, strlen(text));
}

static void put_pem(BIO *b, EVP_PKEY *pkey, const char *phrase)
{
    must(PEM_write_bio_PrivateKey(b, pkey, phrase ? EVP_aes_128_cbc() : NULL,
                                  (const unsigned char *)phrase, phrase ? (int)strlen(phrase) : 0,
                                  NULL, NULL) == 1,
         "a key cannot be written");
}

void forge_pem(const struct forge *f, const char *name, enum forge_pem what)
{
    EVP_PKEY *pkey = what == FORGE_PEM_SHORT   ? EVP_RSA_gen(1024)
                     : what == FORGE_PEM_CURVE ? EVP_EC_gen("P-384")
                                               : EVP_EC_gen("P-256");
    BIO *b = BIO_new(BIO_s_mem());
    char path[96], *text;

    put_pem(b, pkey, what == FORGE_PEM_LOCKED ? "phrase" : NULL);
    if (what == FORGE_PEM_TWO)
        put_pem(b, pkey, NULL);
    snprintf(path, sizeof(path), "%s/%s", f->folder, name);
    long n = BIO_get_mem_data(b, &text);
    write_text(path, text, (size_t)n);
    BIO_free(b);
    EVP_PKEY_free(pkey);
}

/* --- tokens ----------------------------------------------------------------------------------- */

/* Appends base64 for URLs, without padding; returns the end. */
static char *put64(char *to, const void *bytes, size_t n)
{
    uint8_t text[FORGE_TEXT_MAX];
    int len = EVP_EncodeBlock(text, bytes, (int)n);

    while (len > 0 && text[len - 1] == '=')
        len--;
    for (int i = 0; i < len; i++)
        *to++ = text[i] == '+' ? '-' : text[i] == '/' ? '_' : (char)text[i];
    *to = '\0';
    return to;
}

static size_t sign_pkey(EVP_PKEY *pkey, struct span data, uint8_t *out, size_t cap)
{
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();

    must(EVP_DigestSignInit(ctx, NULL, EVP_sha256(), NULL, pkey) == 1 &&
             EVP_DigestSign(ctx, out, &cap, data.p, data.n) == 1,
         "a signature");
    EVP_MD_CTX_free(ctx);
    return cap;
}

static size_t sign_es(EVP_PKEY *pkey, struct span data, uint8_t *out)
{
    uint8_t der[256];
    const uint8_t *at = der;
    size_t n = sign_pkey(pkey, data, der, sizeof(der));
    ECDSA_SIG *sig = d2i_ECDSA_SIG(NULL, &at, (long)n);

    BN_bn2binpad(ECDSA_SIG_get0_r(sig), out, 32);
    BN_bn2binpad(ECDSA_SIG_get0_s(sig), out + 32, 32);
    ECDSA_SIG_free(sig);
    return 64;
}

static size_t sign_hs(const void *secret, size_t n, struct span data, uint8_t *out)
{
    unsigned len = 0;

    HMAC(EVP_sha256(), secret, (int)n, data.p, data.n, out, &len);
    return len;
}

static size_t sign_public(const struct forge *f, struct span data, uint8_t *out)
{
    BIO *b = BIO_new(BIO_s_mem());
    char *text;

    PEM_write_bio_PUBKEY(b, f->rsa);
    long n = BIO_get_mem_data(b, &text);
    size_t len = sign_hs(text, (size_t)n, data, out);
    BIO_free(b);
    return len;
}

static size_t sign(const struct forge *f, enum forge_hand hand, struct span data, uint8_t *out,
                   size_t cap)
{
    switch (hand) {
    case FORGE_H:
        return sign_hs(SECRET, strlen(SECRET), data, out);
    case FORGE_OTHER_H:
        return sign_hs(OTHER_SECRET, strlen(OTHER_SECRET), data, out);
    case FORGE_R:
        return sign_pkey(f->rsa, data, out, cap);
    case FORGE_OTHER_R:
        return sign_pkey(f->other, data, out, cap);
    case FORGE_E:
        return sign_es(f->ec, data, out);
    case FORGE_PUBLIC:
        return sign_public(f, data, out);
    case FORGE_DER:
        return sign_pkey(f->ec, data, out, cap);
    case FORGE_NOBODY:
        break;
    }
    return 0;
}

void forge_token(const struct forge *f, enum forge_hand hand, const char *header,
                 const char *claims, char out[FORGE_TEXT_MAX])
{
    uint8_t signature[512];
    char *at = put64(out, header, strlen(header));

    must(strlen(header) + strlen(claims) < FORGE_TEXT_MAX / 2, "too long a token");
    *at++ = '.';
    at = put64(at, claims, strlen(claims));
    size_t n = sign(f, hand, span_of(out, (size_t)(at - out)), signature, sizeof(signature));
    *at++ = '.';
    put64(at, signature, n);
}

void forge_good(const struct forge *f, enum forge_hand hand, const char *sub, int64_t exp_s,
                char out[FORGE_TEXT_MAX])
{
    static const char *const headers[] = {
        [FORGE_H] = "{\"alg\":\"HS256\",\"typ\":\"JWT\",\"kid\":\"h\"}",
        [FORGE_R] = "{\"alg\":\"RS256\",\"kid\":\"r\"}",
        [FORGE_E] = "{\"kid\":\"e\",\"alg\":\"ES256\",\"typ\":\"JWT\"}",
    };
    char claims[128];

    snprintf(claims, sizeof(claims), "{\"sub\":\"%s\",\"exp\":%" PRId64 "}", sub, exp_s);
    forge_token(f, hand, headers[hand], claims, out);
}

/* --- bad ones --------------------------------------------------------------------------------- */

#define HS(more) "{\"alg\":\"HS256\",\"kid\":\"h\"" more "}"
#define SUB      "\"sub\":\"alpha\""
#define LIVE     "\"exp\":@+600"
#define GOOD     "{" SUB "," LIVE "}"

/* One of the list; in its claims `@` is followed by seconds from now. */
struct recipe {
    const char *what;
    enum auth_verdict verdict;
    enum forge_hand hand;
    const char *header, *claims;
};

static const struct recipe recipes[] = {
    {"the header is no JSON", AUTH_MALFORMED, FORGE_H, "alg", GOOD},
    {"the header is a list", AUTH_MALFORMED, FORGE_H, "[\"HS256\"]", GOOD},
    {"the claims are no JSON", AUTH_MALFORMED, FORGE_H, HS(""), "sub=alpha"},
    {"the claims are a list", AUTH_MALFORMED, FORGE_H, HS(""), "[" SUB "]"},
    {"the claims are not UTF-8", AUTH_MALFORMED, FORGE_H, HS(""),
     "{\"sub\":\"alpha\xff\"," LIVE "}"},
    {"something behind the claims", AUTH_MALFORMED, FORGE_H, HS(""), GOOD "{}"},
    {"alg none, and no signature", AUTH_MALFORMED, FORGE_NOBODY, "{\"alg\":\"none\"}", GOOD},
    {"alg none, with a kid, signed", AUTH_OTHER_ALG, FORGE_H, "{\"alg\":\"none\",\"kid\":\"h\"}",
     GOOD},
    {"alg NonE", AUTH_OTHER_ALG, FORGE_H, "{\"alg\":\"NonE\",\"kid\":\"h\"}", GOOD},
    {"no alg", AUTH_MALFORMED, FORGE_H, "{\"kid\":\"h\"}", GOOD},
    {"alg is a number", AUTH_MALFORMED, FORGE_H, "{\"alg\":256,\"kid\":\"h\"}", GOOD},
    {"an algorithm that nobody knows", AUTH_MALFORMED, FORGE_H, "{\"alg\":\"XS256\",\"kid\":\"h\"}",
     GOOD},
    {"HS512 of a key of HS256", AUTH_OTHER_ALG, FORGE_H, "{\"alg\":\"HS512\",\"kid\":\"h\"}", GOOD},
    {"alg in small letters", AUTH_OTHER_ALG, FORGE_H, "{\"alg\":\"hs256\",\"kid\":\"h\"}", GOOD},
    {"HS256 with the public key's text as secret", AUTH_OTHER_ALG, FORGE_PUBLIC,
     "{\"alg\":\"HS256\",\"kid\":\"r\"}", GOOD},
    {"the same, called RS256", AUTH_NOT_ITS_KEY, FORGE_PUBLIC, "{\"alg\":\"RS256\",\"kid\":\"r\"}",
     GOOD},
    {"ES256 with the kid of RS256", AUTH_OTHER_ALG, FORGE_E, "{\"alg\":\"ES256\",\"kid\":\"r\"}",
     GOOD},
    {"RS256 that says ES256", AUTH_NOT_ITS_KEY, FORGE_R, "{\"alg\":\"ES256\",\"kid\":\"e\"}", GOOD},
    {"no kid, of several keys", AUTH_NO_KEY, FORGE_H, "{\"alg\":\"HS256\"}", GOOD},
    {"a kid that is not known", AUTH_NO_KEY, FORGE_H, "{\"alg\":\"HS256\",\"kid\":\"x\"}", GOOD},
    {"a kid in the other case", AUTH_NO_KEY, FORGE_H, "{\"alg\":\"HS256\",\"kid\":\"H\"}", GOOD},
    {"a kid that is a number", AUTH_MALFORMED, FORGE_H, "{\"alg\":\"HS256\",\"kid\":1}", GOOD},
    {"an empty kid", AUTH_MALFORMED, FORGE_H, "{\"alg\":\"HS256\",\"kid\":\"\"}", GOOD},
    {"crit", AUTH_MALFORMED, FORGE_H, HS(",\"crit\":[\"b64\"],\"b64\":false"), GOOD},
    {"a type that is none of ours", AUTH_MALFORMED, FORGE_H, HS(",\"typ\":\"JWE\""), GOOD},
    {"another secret", AUTH_NOT_ITS_KEY, FORGE_OTHER_H, HS(""), GOOD},
    {"another key of RSA", AUTH_NOT_ITS_KEY, FORGE_OTHER_R, "{\"alg\":\"RS256\",\"kid\":\"r\"}",
     GOOD},
    {"ES256 with a signature in DER", AUTH_NOT_ITS_KEY, FORGE_DER,
     "{\"alg\":\"ES256\",\"kid\":\"e\"}", GOOD},
    {"no sub", AUTH_NO_NAME, FORGE_H, HS(""), "{" LIVE "}"},
    {"sub is a number", AUTH_NO_NAME, FORGE_H, HS(""), "{\"sub\":7," LIVE "}"},
    {"sub is empty", AUTH_NO_NAME, FORGE_H, HS(""), "{\"sub\":\"\"," LIVE "}"},
    {"sub has a NUL", AUTH_MALFORMED, FORGE_H, HS(""), "{\"sub\":\"alpha\\u0000b\"," LIVE "}"},
    {"sub is somebody else", AUTH_OTHER_NAME, FORGE_H, HS(""), "{\"sub\":\"beta\"," LIVE "}"},
    {"sub in the other case", AUTH_OTHER_NAME, FORGE_E, "{\"alg\":\"ES256\",\"kid\":\"e\"}",
     "{\"sub\":\"Alpha\"," LIVE "}"},
    {"sub with a blank behind it", AUTH_OTHER_NAME, FORGE_R, "{\"alg\":\"RS256\",\"kid\":\"r\"}",
     "{\"sub\":\"alpha \"," LIVE "}"},
    {"no exp", AUTH_NO_EXPIRY, FORGE_H, HS(""), "{" SUB "}"},
    {"exp is a text", AUTH_MALFORMED, FORGE_H, HS(""), "{" SUB ",\"exp\":\"@+600\"}"},
    {"exp is a fraction", AUTH_MALFORMED, FORGE_H, HS(""), "{" SUB ",\"exp\":@+600.5}"},
    {"exp is null", AUTH_MALFORMED, FORGE_H, HS(""), "{" SUB ",\"exp\":null}"},
    {"exp is true", AUTH_MALFORMED, FORGE_H, HS(""), "{" SUB ",\"exp\":true}"},
    {"exp is larger than any", AUTH_MALFORMED, FORGE_H, HS(""),
     "{" SUB ",\"exp\":99999999999999999999}"},
    {"expired", AUTH_EXPIRED, FORGE_H, HS(""), "{" SUB ",\"exp\":@-60}"},
    {"expired, of RS256", AUTH_EXPIRED, FORGE_R, "{\"alg\":\"RS256\",\"kid\":\"r\"}",
     "{" SUB ",\"exp\":@-60}"},
    {"exp before all time", AUTH_EXPIRED, FORGE_H, HS(""), "{" SUB ",\"exp\":-1}"},
    {"exp is 0", AUTH_EXPIRED, FORGE_H, HS(""), "{" SUB ",\"exp\":0}"},
    {"not valid yet", AUTH_EARLY, FORGE_H, HS(""), "{" SUB "," LIVE ",\"nbf\":@+300}"},
    {"nbf is a text", AUTH_MALFORMED, FORGE_H, HS(""), "{" SUB "," LIVE ",\"nbf\":\"soon\"}"},
};

/* Around a good one, or alone. */
static const struct {
    const char *what;
    enum auth_verdict verdict;
    bool alone;
    const char *before, *behind;
} shapes[] = {
    {"none", AUTH_MISSING, true, "", ""},
    {"no token at all", AUTH_MALFORMED, true, "hello", ""},
    {"two parts", AUTH_MALFORMED, true, "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbHBoYSJ9", ""},
    {"only dots", AUTH_MALFORMED, true, "..", ""},
    {"a part too many", AUTH_MALFORMED, false, "", ".AAAA"},
    {"a blank before it", AUTH_MALFORMED, false, " ", ""},
    {"padding", AUTH_MALFORMED, false, "", "="},
    {"base64 that is not for URLs", AUTH_MALFORMED, false, "+/+/", ""},
    {"a digit that no byte has", AUTH_MALFORMED, false, "A", ""},
    {"a signature that is longer", AUTH_NOT_ITS_KEY, false, "", "AAAA"},
};

/* `@+600` and the like become numbers. */
static void fill(const char *claims, int64_t now_s, char out[256])
{
    const char *at = strchr(claims, '@');
    char *rest;
    int n;

    if (!at) {
        snprintf(out, 256, "%s", claims);
        return;
    }
    int64_t when = now_s + strtoll(at + 1, &rest, 10);
    n = snprintf(out, 256, "%.*s%" PRId64, (int)(at - claims), claims, when);
    fill(rest, now_s, out + n);
}

static void add(struct forged *list, uint32_t *n, const char *what, enum auth_verdict verdict)
{
    must(*n < FORGE_MAX, "more tokens than FORGE_MAX");
    list[*n].what = what;
    list[*n].verdict = verdict;
    (*n)++;
}

/* Those that no row can say. */
static void add_odd(const struct forge *f, const char *good, int64_t now_s, struct forged *list,
                    uint32_t *n)
{
    char claims[FORGE_TEXT_MAX / 2] = "", deep[DEEP + 1];

    add(list, n, "longer than any", AUTH_MALFORMED);
    int len = snprintf(list[*n - 1].text, FORGE_TEXT_MAX, "%s", good);
    memset(list[*n - 1].text + len, 'A', FORGE_TEXT_MAX - 1 - (size_t)len);
    list[*n - 1].text[FORGE_TEXT_MAX - 1] = '\0';

    add(list, n, "another claim than was signed", AUTH_NOT_ITS_KEY);
    memcpy(list[*n - 1].text, good, strlen(good) + 1);
    char *dot = strchr(list[*n - 1].text, '.');
    memcpy(dot + 1, "eyJzdWIiOiJhbHBoYSIsImV4cCI6", 28); /* {"sub":"alpha","exp": */
    dot[29] = dot[29] == 'M' ? 'N' : 'M';

    add(list, n, "claims that are nested deep", AUTH_MALFORMED);
    memset(deep, '[', DEEP);
    deep[DEEP] = '\0';
    snprintf(claims, sizeof(claims), "{\"sub\":%s", deep);
    forge_token(f, FORGE_H, HS(""), claims, list[*n - 1].text);

    add(list, n, "a sub longer than any", AUTH_MALFORMED);
    memset(deep, 'a', 300);
    snprintf(claims, sizeof(claims), "{\"sub\":\"%.300s\",\"exp\":%" PRId64 "}", deep, now_s + 600);
    forge_token(f, FORGE_H, HS(""), claims, list[*n - 1].text);
}

uint32_t forge_bad(const struct forge *f, int64_t now_s, struct forged *list)
{
    char good[FORGE_TEXT_MAX], claims[256];
    uint32_t n = 0;

    forge_good(f, FORGE_H, "alpha", now_s + 600, good);
    for (size_t i = 0; i < ARRAY_LEN(recipes); i++) {
        fill(recipes[i].claims, now_s, claims);
        add(list, &n, recipes[i].what, recipes[i].verdict);
        forge_token(f, recipes[i].hand, recipes[i].header, claims, list[n - 1].text);
    }
    for (size_t i = 0; i < ARRAY_LEN(shapes); i++) {
        add(list, &n, shapes[i].what, shapes[i].verdict);
        size_t len = strlen(shapes[i].before), room = FORGE_TEXT_MAX - len;
        memcpy(list[n - 1].text, shapes[i].before, len);
        must(snprintf(list[n - 1].text + len, room, "%s%s", shapes[i].alone ? "" : good,
                      shapes[i].behind) < (int)room,
             "too long a token");
    }
    add_odd(f, good, now_s, list, &n);
    return n;
}

#else

int forge_nothing(void);
int forge_nothing(void)
{
    return 0;
}

#endif
