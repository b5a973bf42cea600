/* tests/certs.c: certificates and keys in files of one test; see the header. */
#include "tests/certs.h"

#include "common/parts.h"

#ifdef PARTS_TLS

#include <criterion/criterion.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DAY_S 86400

static void extend(X509 *cert, int nid, const char *value)
{
    X509_EXTENSION *e = X509V3_EXT_conf_nid(NULL, NULL, nid, value);

    cr_assert_not_null(e);
    cr_assert_eq(X509_add_ext(cert, e, -1), 1);
    X509_EXTENSION_free(e);
}

/* Written beside and renamed, as a file that a program may read meanwhile must be. */
static void write_pem(const char *path, X509 *cert, EVP_PKEY *key, bool encrypt)
{
    char beside[CERTS_PATH + 8];
    FILE *f;
    int ok;

    snprintf(beside, sizeof(beside), "%s.new", path);
    f = fopen(beside, "we");
    cr_assert_not_null(f);
    if (cert)
        ok = PEM_write_X509(f, cert);
    else
        ok = PEM_write_PrivateKey(f, key, encrypt ? EVP_aes_128_cbc() : NULL, NULL, 0, NULL,
                                  encrypt ? (void *)(uintptr_t) "secret" : NULL);
    cr_assert_eq(ok, 1);
    cr_assert_eq(fclose(f), 0);
    cr_assert_eq(rename(beside, path), 0);
}

void certs_renew(const struct certs *c, const char *name, bool expired)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *cert = X509_new();

    cr_assert_not_null(key);
    cr_assert_not_null(cert);
    X509_set_version(cert, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(cert), 1);
    X509_gmtime_adj(X509_getm_notBefore(cert), -2 * DAY_S);
    X509_gmtime_adj(X509_getm_notAfter(cert), expired ? -DAY_S : 30 * DAY_S);
    X509_set_pubkey(cert, key);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(cert), "CN", MBSTRING_ASC,
                               (const unsigned char *)name, -1, -1, 0);
    X509_set_issuer_name(cert, X509_get_subject_name(cert));
    extend(cert, NID_basic_constraints, "critical,CA:TRUE");
    char names[128] = "DNS:localhost,IP:127.0.0.1,IP:::1";
    if (c->address[0] != '\0') {
        const size_t n = strlen(names);
        snprintf(names + n, sizeof(names) - n, ",IP:%s", c->address);
    }
    extend(cert, NID_subject_alt_name, names);
    cr_assert_gt(X509_sign(cert, key, EVP_sha256()), 0);
    write_pem(c->cert, cert, NULL, false);
    write_pem(c->key, NULL, key, false);
    X509_free(cert);
    EVP_PKEY_free(key);
}

void certs_make(struct certs *c, const char *name)
{
    certs_make_at(c, name, "");
}

void certs_make_at(struct certs *c, const char *name, const char *address)
{
    const char *tmp = getenv("TMPDIR");

    snprintf(c->address, sizeof(c->address), "%.*s", (int)strcspn(address, ":"), address);
    snprintf(c->dir, sizeof(c->dir), "%.200s/aegis-certs-XXXXXX", tmp ? tmp : "/tmp");
    cr_assert_not_null(mkdtemp(c->dir));
    snprintf(c->cert, sizeof(c->cert), "%.240s/cert.pem", c->dir);
    snprintf(c->key, sizeof(c->key), "%.240s/key.pem", c->dir);
    certs_renew(c, name, false);
}

void certs_encrypt(const struct certs *c)
{
    FILE *f = fopen(c->key, "re");
    EVP_PKEY *key = PEM_read_PrivateKey(f, NULL, NULL, NULL);

    cr_assert_not_null(key);
    fclose(f);
    write_pem(c->key, NULL, key, true);
    EVP_PKEY_free(key);
}

void certs_write(const char *path, const char *text)
{
    FILE *f = fopen(path, "we");

    cr_assert_not_null(f);
    cr_assert_geq(fputs(text, f), 0);
    cr_assert_eq(fclose(f), 0);
}

void certs_end(struct certs *c)
{
    unlink(c->cert);
    unlink(c->key);
    rmdir(c->dir);
}

#endif
