/* common/io/tls.c: TLS by OpenSSL; see the header.
 * A socket's reads and writes go through a BIO of our own, since OpenSSL's would raise SIGPIPE and
 * wait where a socket is not told not to. May touch: OpenSSL, sockets, the files named.
 * On trouble: OpenSSL keeps its errors in a queue of the thread, which is emptied before each call.
 */
#include "common/io/tls.h"

#include "common/parts.h"

const char *tls_fault_text(enum tls_fault fault)
{
    static const char *const texts[] = {
#define TLS_FAULT(NAME, text) [TLS_FAULT_##NAME] = text,
        TLS_FAULTS(TLS_FAULT)
#undef TLS_FAULT
    };
    return texts[fault];
}

#ifdef PARTS_TLS

#include "common/err.h"
#include "common/io/tls_files.h"
#include "common/io/tls_tickets.h"

#include <arpa/inet.h>
#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define TLS_CIPHERS "ECDHE+AESGCM:ECDHE+CHACHA20" /* of TLS 1.2; of 1.3 all are of this kind */

#define TLS_RECORD       16384            /* bytes of a record's text at most */
#define TLS_READ_AHEAD   (4 * TLS_RECORD) /* with less room nothing is read ahead */
#define TLS_GATHER       TLS_RECORD       /* pieces together, in one record */
#define TLS_SESSION_NAME "aegis"          /* tickets of other services are not ours */

_Static_assert(TLS_READ_MIN >= TLS_READ_AHEAD, "a read that begins has room to come to its end");

struct tls {
    bool server;
    char *cert, *key;     /* the server's files; owned */
    pthread_mutex_t lock; /* of what follows */
    SSL_CTX *ctx;         /* of new seals */
    struct tls_facts facts;
    struct tls_tickets tickets;
};

const char *tls_library(void)
{
    return OpenSSL_version(OPENSSL_VERSION_STRING);
}

/* --- the socket ---------------------------------------------------------------------------------
 */

static int bio_fd(BIO *b)
{
    return (int)(intptr_t)BIO_get_data(b);
}

static bool bio_again(void)
{
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR || errno == ENOBUFS;
}

static int bio_read(BIO *b, char *at, int room)
{
    BIO_clear_retry_flags(b);
    const ssize_t n = recv(bio_fd(b), at, (size_t)room, MSG_DONTWAIT);
    if (n < 0 && bio_again())
        BIO_set_retry_read(b);
    if (n == 0)
        BIO_set_flags(b, BIO_FLAGS_IN_EOF);
    return (int)n;
}

static int bio_write(BIO *b, const char *at, int n)
{
    BIO_clear_retry_flags(b);
    const ssize_t sent = send(bio_fd(b), at, (size_t)n, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && bio_again())
        BIO_set_retry_write(b);
    return (int)sent;
}

static long bio_ctrl(BIO *b, int cmd, long n, void *p)
{
    (void)n, (void)p;
    if (cmd == BIO_CTRL_EOF)
        return BIO_test_flags(b, BIO_FLAGS_IN_EOF) != 0;
    return cmd == BIO_CTRL_FLUSH || cmd == BIO_CTRL_PUSH || cmd == BIO_CTRL_POP;
}

static BIO_METHOD *bio_method;
static pthread_once_t bio_once = PTHREAD_ONCE_INIT;

/* Lives as long as the process. */
static void bio_make(void)
{
    BIO_METHOD *m = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "stream");

    if (m && BIO_meth_set_read(m, bio_read) && BIO_meth_set_write(m, bio_write) &&
        BIO_meth_set_ctrl(m, bio_ctrl))
        bio_method = m;
    else
        BIO_meth_free(m);
}

static BIO *bio_of(int fd)
{
    pthread_once(&bio_once, bio_make);
    BIO *b = bio_method ? BIO_new(bio_method) : NULL;
    if (b) {
        BIO_set_data(b, (void *)(intptr_t)fd);
        BIO_set_init(b, 1);
    }
    return b;
}

/* --- contexts -----------------------------------------------------------------------------------
 */

static int on_ticket(SSL *seal, unsigned char *name, unsigned char *iv, EVP_CIPHER_CTX *cipher,
                     EVP_MAC_CTX *mac, int give)
{
    struct tls *t = SSL_CTX_get_app_data(SSL_get_SSL_CTX(seal));

    pthread_mutex_lock(&t->lock);
    const int r = give ? tls_tickets_give(&t->tickets, name, iv, cipher, mac)
                       : tls_tickets_take(&t->tickets, name, iv, cipher, mac);
    pthread_mutex_unlock(&t->lock);
    /* Those of TLS 1.3 serve once, so each brings the next. */
    return r == 1 && !give && SSL_version(seal) >= TLS1_3_VERSION ? 2 : r;
}

/* What both sides have in common. NULL: no memory. */
static SSL_CTX *context_of(struct tls *t)
{
    SSL_CTX *ctx = SSL_CTX_new(t->server ? TLS_server_method() : TLS_client_method());

    if (!ctx)
        return NULL;
    SSL_CTX_set_app_data(ctx, t);
    SSL_CTX_set_mode(ctx, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                              SSL_MODE_RELEASE_BUFFERS);
    /* A frame says where it ends: one that is cut off is seen without the peer's goodbye. */
    SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                 SSL_OP_IGNORE_UNEXPECTED_EOF | SSL_OP_PRIORITIZE_CHACHA |
                                 SSL_OP_CIPHER_SERVER_PREFERENCE);
    SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
    if (SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION) &&
        SSL_CTX_set_cipher_list(ctx, TLS_CIPHERS))
        return ctx;
    SSL_CTX_free(ctx);
    return NULL;
}

/* From the server's files. */
static int server_context(struct tls *t, SSL_CTX **out, struct tls_facts *facts,
                          struct tls_why *why)
{
    SSL_CTX *ctx = context_of(t);
    int r = ctx ? tls_files_load(ctx, t->cert, t->key, facts, why) : E_NOMEM;

    if (r == 0 && (!SSL_CTX_set_tlsext_ticket_key_evp_cb(ctx, on_ticket) ||
                   !SSL_CTX_set_session_id_context(ctx, (const unsigned char *)TLS_SESSION_NAME,
                                                   sizeof(TLS_SESSION_NAME) - 1) ||
                   !SSL_CTX_set_num_tickets(ctx, 1)))
        r = E_NOMEM;
    if (r == 0) {
        SSL_CTX_set_timeout(ctx, TLS_TICKET_NS / CLOCK_NS_PER_S);
        *out = ctx;
        return 0;
    }
    SSL_CTX_free(ctx);
    if (r == E_NOMEM)
        snprintf(why->text, sizeof(why->text), "%s", err_text(r));
    ERR_clear_error();
    return r;
}

static struct tls *tls_new(bool server, struct tls_why *why)
{
    struct tls *t = calloc(1, sizeof(*t));

    *why = (struct tls_why){0};
    if (!t) {
        snprintf(why->text, sizeof(why->text), "%s", err_text(E_NOMEM));
        return NULL;
    }
    t->server = server;
    pthread_mutex_init(&t->lock, NULL);
    return t;
}

int tls_server_create(const char *cert, const char *key, struct tls **out, struct tls_why *why)
{
    struct tls *t = tls_new(true, why);

    if (!t)
        return E_NOMEM;
    t->cert = strdup(cert);
    t->key = strdup(key);
    const int r = t->cert && t->key ? server_context(t, &t->ctx, &t->facts, why) : E_NOMEM;
    if (r != 0) {
        tls_destroy(t);
        return r;
    }
    *out = t;
    return 0;
}

int tls_client_create(const char *trust, bool insecure, struct tls **out, struct tls_why *why)
{
    struct tls *t = tls_new(false, why);
    int r = 0;

    if (!t)
        return E_NOMEM;
    t->ctx = context_of(t);
    if (!t->ctx)
        r = E_NOMEM;
    else if (!insecure)
        r = tls_files_trust(t->ctx, trust, why);
    if (r != 0) {
        tls_destroy(t);
        return r;
    }
    SSL_CTX_set_verify(t->ctx, insecure ? SSL_VERIFY_NONE : SSL_VERIFY_PEER, NULL);
    *out = t;
    return 0;
}

void tls_destroy(struct tls *t)
{
    if (!t)
        return;
    SSL_CTX_free(t->ctx);
    tls_tickets_wipe(&t->tickets);
    pthread_mutex_destroy(&t->lock);
    free(t->cert);
    free(t->key);
    free(t);
}

int tls_reload(struct tls *t, struct tls_why *why)
{
    struct tls_facts facts;
    SSL_CTX *ctx;

    ASSERT(t->server);
    *why = (struct tls_why){0};
    const int r = server_context(t, &ctx, &facts, why);
    if (r != 0)
        return r;
    pthread_mutex_lock(&t->lock);
    SSL_CTX *old = t->ctx;
    t->ctx = ctx;
    t->facts = facts;
    pthread_mutex_unlock(&t->lock);
    SSL_CTX_free(old);
    return 0;
}

struct tls_facts tls_facts_now(struct tls *t)
{
    pthread_mutex_lock(&t->lock);
    const struct tls_facts facts = t->facts;
    pthread_mutex_unlock(&t->lock);
    return facts;
}

/* --- a seal -------------------------------------------------------------------------------------
 */

/* Hold the certificate against whom we mean to reach. */
static bool expect_host(SSL *seal, const char *host)
{
    struct in6_addr numeric;

    if (inet_pton(AF_INET, host, &numeric) == 1 || inet_pton(AF_INET6, host, &numeric) == 1)
        return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(seal), host) == 1;
    return SSL_set1_host(seal, host) == 1 && SSL_set_tlsext_host_name(seal, host) == 1;
}

struct ssl_st *tls_seal(struct tls *t, int fd, const char *host, struct mono now)
{
    ERR_clear_error();
    pthread_mutex_lock(&t->lock);
    if (t->server && !tls_tickets_step(&t->tickets, now)) {
        pthread_mutex_unlock(&t->lock);
        return NULL;
    }
    SSL *seal = SSL_new(t->ctx);
    pthread_mutex_unlock(&t->lock);
    BIO *bio = seal ? bio_of(fd) : NULL;
    if (!bio || (host && !expect_host(seal, host))) {
        BIO_free(bio);
        SSL_free(seal);
        return NULL;
    }
    SSL_set_bio(seal, bio, bio);
    if (t->server)
        SSL_set_accept_state(seal);
    else
        SSL_set_connect_state(seal);
    return seal;
}

void tls_seal_free(struct ssl_st *seal)
{
    SSL_free(seal);
}

static enum tls_fault fault_of(SSL *seal, int error)
{
    const unsigned long e = ERR_peek_error();
    const int reason = ERR_GET_REASON(e);

    if (error == SSL_ERROR_SYSCALL || error == SSL_ERROR_ZERO_RETURN)
        return TLS_FAULT_GONE;
    if (ERR_GET_LIB(e) != ERR_LIB_SSL)
        return TLS_FAULT_PROTOCOL;
    if (reason >= SSL_AD_REASON_OFFSET)
        return TLS_FAULT_REFUSED;
    switch (reason) {
    case SSL_R_UNEXPECTED_EOF_WHILE_READING:
        return TLS_FAULT_GONE;
    case SSL_R_WRONG_VERSION_NUMBER:
    case SSL_R_HTTP_REQUEST:
    case SSL_R_HTTPS_PROXY_REQUEST:
        return TLS_FAULT_PLAIN;
    case SSL_R_UNSUPPORTED_PROTOCOL:
    case SSL_R_VERSION_TOO_LOW:
    case SSL_R_NO_SHARED_CIPHER:
    case SSL_R_NO_SHARED_GROUPS:
    case SSL_R_NO_SUITABLE_KEY_SHARE:
    case SSL_R_NO_SUITABLE_SIGNATURE_ALGORITHM:
        return TLS_FAULT_VERSION;
    case SSL_R_CERTIFICATE_VERIFY_FAILED:
        return TLS_FAULT_TRUST;
    default:
        (void)seal;
        return TLS_FAULT_PROTOCOL;
    }
}

enum tls_step tls_shake(struct ssl_st *seal, enum tls_fault *fault)
{
    ERR_clear_error();
    const int r = SSL_do_handshake(seal);
    if (r == 1)
        return TLS_STEP_DONE;
    const int error = SSL_get_error(seal, r);
    if (error == SSL_ERROR_WANT_READ)
        return TLS_STEP_IN;
    if (error == SSL_ERROR_WANT_WRITE)
        return TLS_STEP_OUT;
    *fault = fault_of(seal, error);
    return TLS_STEP_FAILED;
}

bool tls_resumed(const struct ssl_st *seal)
{
    return SSL_session_reused(seal) == 1;
}

void tls_shake_text(struct ssl_st *seal, char *out, size_t cap)
{
    const unsigned long e = ERR_peek_error();
    const long verdict = SSL_get_verify_result(seal);
    const char *reason = e ? ERR_reason_error_string(e) : NULL;

    if (e && ERR_GET_REASON(e) == SSL_R_CERTIFICATE_VERIFY_FAILED && verdict != X509_V_OK)
        reason = X509_verify_cert_error_string(verdict);
    snprintf(out, cap, "%s", reason ? reason : "the connection ended");
}

/* What SSL_read came to. */
static enum tls_state state_of(SSL *seal, int r)
{
    switch (SSL_get_error(seal, r)) {
    case SSL_ERROR_WANT_READ:
        return TLS_OPEN;
    case SSL_ERROR_WANT_WRITE:
        return TLS_OUT;
    case SSL_ERROR_ZERO_RETURN:
        return TLS_ENDED;
    default:
        return TLS_BROKEN;
    }
}

/* Reading ahead saves two calls in three. But what is read ahead lies in the seal, where no
 * readable socket tells of it: so all of it is taken out, and so that this comes to an end however
 * fast the peer sends, the last of the room is filled without reading ahead. */
size_t tls_read(struct ssl_st *seal, uint8_t *at, size_t room, enum tls_state *state)
{
    size_t got = 0;

    ASSERT(room >= TLS_READ_MIN);
    SSL_set_read_ahead(seal, 1);
    *state = TLS_OPEN;
    ERR_clear_error();
    for (;;) {
        const size_t left = room - got;
        const int r = left < TLS_RECORD ? 0 : SSL_read(seal, at + got, TLS_RECORD);
        if (left < TLS_RECORD)
            break;
        if (r <= 0) {
            *state = state_of(seal, r);
            break;
        }
        got += (size_t)r;
        if (!SSL_has_pending(seal))
            break;
        if (room - got < TLS_READ_AHEAD)
            SSL_set_read_ahead(seal, 0);
    }
    return got;
}

/* One run of bytes. Bytes taken; negative errno where none. */
static ptrdiff_t send_run(SSL *seal, const uint8_t *at, size_t n)
{
    size_t sent = 0;

    while (sent < n) {
        size_t took = 0;
        ERR_clear_error();
        const int r = SSL_write_ex(seal, at + sent, n - sent, &took);
        sent += took;
        if (r == 1)
            continue;
        if (SSL_get_error(seal, r) == SSL_ERROR_WANT_WRITE)
            return (ptrdiff_t)sent;
        return -EPIPE;
    }
    return (ptrdiff_t)sent;
}

ptrdiff_t tls_send(struct ssl_st *seal, const struct iovec *pieces, size_t n)
{
    uint8_t gathered[TLS_GATHER];
    ptrdiff_t sent = 0;

    if (n == 1)
        return send_run(seal, pieces->iov_base, pieces->iov_len);
    for (size_t i = 0, at = 0; i < n;) {
        size_t len = 0;
        /* As many bytes as one record holds. */
        while (i < n && len < sizeof(gathered)) {
            const size_t left = pieces[i].iov_len - at, room = sizeof(gathered) - len;
            const size_t take = left < room ? left : room;
            memcpy(gathered + len, (const uint8_t *)pieces[i].iov_base + at, take);
            len += take;
            at += take;
            if (at == pieces[i].iov_len) {
                at = 0;
                i++;
            }
        }
        const ptrdiff_t took = send_run(seal, gathered, len);
        if (took < 0)
            return took;
        sent += took;
        if ((size_t)took < len)
            break;
    }
    return sent;
}

bool tls_shut(struct ssl_st *seal)
{
    ERR_clear_error();
    const int r = SSL_shutdown(seal);
    return r >= 0 || SSL_get_error(seal, r) != SSL_ERROR_WANT_WRITE;
}

#else

#include "common/err.h"

/* No context, so nobody ever has a seal. */

const char *tls_library(void)
{
    return NULL;
}

static int missing(struct tls_why *why)
{
    *why = (struct tls_why){0};
    snprintf(why->text, sizeof(why->text), "TLS is not built in");
    return E_MISSING;
}

int tls_server_create(const char *cert, const char *key, struct tls **out, struct tls_why *why)
{
    (void)cert, (void)key, (void)out;
    return missing(why);
}

int tls_client_create(const char *trust, bool insecure, struct tls **out, struct tls_why *why)
{
    (void)trust, (void)insecure, (void)out;
    return missing(why);
}

void tls_destroy(struct tls *t)
{
    ASSERT(!t);
}

int tls_reload(struct tls *t, struct tls_why *why)
{
    (void)t;
    return missing(why);
}

struct tls_facts tls_facts_now(struct tls *t)
{
    ASSERT(!t);
    return (struct tls_facts){0};
}

struct ssl_st *tls_seal(struct tls *t, int fd, const char *host, struct mono now)
{
    (void)fd, (void)host, (void)now;
    ASSERT(!t);
    return NULL;
}

void tls_seal_free(struct ssl_st *seal)
{
    ASSERT(!seal);
}

enum tls_step tls_shake(struct ssl_st *seal, enum tls_fault *fault)
{
    ASSERT(!seal);
    *fault = TLS_FAULT_MEMORY;
    return TLS_STEP_FAILED;
}

bool tls_resumed(const struct ssl_st *seal)
{
    ASSERT(!seal);
    return false;
}

void tls_shake_text(struct ssl_st *seal, char *out, size_t cap)
{
    ASSERT(!seal);
    snprintf(out, cap, "TLS is not built in");
}

size_t tls_read(struct ssl_st *seal, uint8_t *at, size_t room, enum tls_state *state)
{
    (void)at, (void)room;
    ASSERT(!seal);
    *state = TLS_BROKEN;
    return 0;
}

ptrdiff_t tls_send(struct ssl_st *seal, const struct iovec *pieces, size_t n)
{
    (void)pieces, (void)n;
    ASSERT(!seal);
    return 0;
}

bool tls_shut(struct ssl_st *seal)
{
    ASSERT(!seal);
    return true;
}

#endif
