/* common/io/tls_files.c: the PEM files that a TLS context is made of; see the header.
 * Files are opened here and not by OpenSSL, so that what the system says of them can be told. May
 * touch: OpenSSL, the files named.
 */
#include "common/io/tls_files.h"

#include "common/parts.h"

#ifdef PARTS_TLS

#include "common/err.h"
#include "common/file.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define FILE_MAX  1048576 /* bytes; a long chain is far below */
#define CHAIN_MAX 16      /* certificates behind the first */
#define DAY_S     86400

static int blame(struct tls_why *why, int err, const char *file, const char *what)
{
    snprintf(why->text, sizeof(why->text), "%s: %s", file, what);
    return err;
}

/* The whole file as a BIO that reads from memory; NULL: `why` says it. */
static BIO *open_file(const char *file, struct tls_why *why)
{
    FILE *f = file_open(file);
    struct stat st;
    BIO *b = NULL;

    if (!f || fstat(fileno(f), &st) != 0)
        blame(why, E_IO, file, strerror(errno));
    else if (S_ISDIR(st.st_mode))
        blame(why, E_IO, file, strerror(EISDIR));
    else if (!S_ISREG(st.st_mode))
        blame(why, E_IO, file, "no regular file");
    else if (st.st_size > FILE_MAX)
        blame(why, E_IO, file, "too large");
    else if (!(b = BIO_new(BIO_s_mem())))
        blame(why, E_IO, file, err_text(E_NOMEM));
    for (size_t n = 1; b && n > 0;) {
        char bytes[4096];
        n = fread(bytes, 1, sizeof(bytes), f);
        if (ferror(f) || (n > 0 && BIO_write(b, bytes, (int)n) != (int)n)) {
            blame(why, E_IO, file, strerror(EIO));
            BIO_free(b);
            b = NULL;
        }
    }
    if (f)
        fclose(f);
    return b;
}

/* Nobody is there to type one. */
static int on_passphrase(char *at, int room, int writing, void *arg)
{
    bool *asked = arg;
    (void)at, (void)room, (void)writing;
    *asked = true;
    return -1;
}

static struct tls_facts facts_of(X509 *cert)
{
    struct tls_facts facts = {0};
    const ASN1_TIME *last = X509_get0_notAfter(cert);
    ASN1_TIME *epoch = ASN1_TIME_set(NULL, 0);
    int days = 0, seconds = 0;

    X509_NAME_oneline(X509_get_subject_name(cert), facts.subject, sizeof(facts.subject));
    if (epoch && ASN1_TIME_diff(&days, &seconds, epoch, last))
        facts.expires_s = (int64_t)days * DAY_S + seconds;
    facts.expired = X509_cmp_current_time(last) < 0;
    ASN1_TIME_free(epoch);
    return facts;
}

static int load_cert(SSL_CTX *ctx, const char *file, struct tls_facts *facts, struct tls_why *why)
{
    BIO *b = open_file(file, why);
    if (!b)
        return E_IO;
    int r = 0;
    X509 *cert = PEM_read_bio_X509_AUX(b, NULL, NULL, NULL);
    if (!cert)
        r = blame(why, E_BAD, file, "holds no certificate in PEM");
    else if (SSL_CTX_use_certificate(ctx, cert) != 1)
        r = blame(why, E_BAD, file, ERR_reason_error_string(ERR_peek_last_error()));
    else
        *facts = facts_of(cert);
    X509_free(cert);
    /* Those that lead to its root. */
    for (int n = 0; r == 0 && (cert = PEM_read_bio_X509(b, NULL, NULL, NULL)); n++) {
        if (n == CHAIN_MAX || SSL_CTX_add0_chain_cert(ctx, cert) != 1) {
            X509_free(cert);
            r = blame(why, E_BAD, file, "holds a chain that cannot be used");
        }
    }
    BIO_free(b);
    return r;
}

static int load_key(SSL_CTX *ctx, const char *file, const char *cert, struct tls_why *why)
{
    bool asked = false;
    BIO *b = open_file(file, why);
    if (!b)
        return E_IO;
    int r = 0;
    EVP_PKEY *key = PEM_read_bio_PrivateKey(b, NULL, on_passphrase, &asked);
    BIO_free(b);
    if (!key && asked)
        return blame(why, E_BAD, file, "is encrypted: a key without a passphrase is needed");
    if (!key)
        return blame(why, E_BAD, file, "holds no private key in PEM");
    if (SSL_CTX_use_PrivateKey(ctx, key) != 1 || SSL_CTX_check_private_key(ctx) != 1) {
        r = blame(why, E_BAD, file, "does not belong to the certificate in ");
        const size_t n = strlen(why->text);
        snprintf(why->text + n, sizeof(why->text) - n, "%s", cert);
    }
    EVP_PKEY_free(key);
    return r;
}

int tls_files_load(struct ssl_ctx_st *ctx, const char *cert, const char *key,
                   struct tls_facts *facts, struct tls_why *why)
{
    ERR_clear_error();
    int r = load_cert(ctx, cert, facts, why);
    ERR_clear_error();
    if (r != 0)
        return r;
    why->key = true;
    r = load_key(ctx, key, cert, why);
    ERR_clear_error();
    return r;
}

int tls_files_trust(struct ssl_ctx_st *ctx, const char *file, struct tls_why *why)
{
    ERR_clear_error();
    if (file[0] == '\0') {
        SSL_CTX_set_default_verify_paths(ctx);
        return 0;
    }
    BIO *b = open_file(file, why);
    X509_STORE *store = SSL_CTX_get_cert_store(ctx);
    X509 *cert;
    int n = 0;

    if (!b)
        return E_IO;
    while ((cert = PEM_read_bio_X509(b, NULL, NULL, NULL))) {
        n += X509_STORE_add_cert(store, cert) == 1;
        X509_free(cert);
    }
    BIO_free(b);
    ERR_clear_error();
    return n > 0 ? 0 : blame(why, E_BAD, file, "holds no certificate in PEM");
}

#endif
