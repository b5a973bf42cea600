/* tests/tls_peer.c: the other side of a TLS connection, by OpenSSL alone; see the header. */
#include "tests/tls_peer.h"

#include "common/parts.h"

#ifdef PARTS_TLS

#include <criterion/criterion.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int on_session(SSL *seal, SSL_SESSION *session)
{
    struct tls_peer *p = SSL_CTX_get_app_data(SSL_get_SSL_CTX(seal));

    SSL_SESSION_free(p->ticket);
    p->ticket = session;
    return 1;
}

static void make(struct tls_peer *p, int fd, bool client)
{
    *p = (struct tls_peer){.fd = fd};
    p->ctx = SSL_CTX_new(client ? TLS_client_method() : TLS_server_method());
    cr_assert_not_null(p->ctx);
    SSL_CTX_set_app_data(p->ctx, p);
    SSL_CTX_set_mode(p->ctx, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_session_cache_mode(p->ctx, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    SSL_CTX_sess_set_new_cb(p->ctx, on_session);
    SSL_CTX_set_security_level(p->ctx, 0); /* so that old versions can be tried */
}

static void start(struct tls_peer *p)
{
    p->seal = SSL_new(p->ctx);
    cr_assert_not_null(p->seal);
    cr_assert_eq(SSL_set_fd(p->seal, p->fd), 1);
}

void tls_peer_client(struct tls_peer *p, int fd, int version, const struct tls_peer *older)
{
    make(p, fd, true);
    if (version) {
        cr_assert_eq(SSL_CTX_set_min_proto_version(p->ctx, version), 1);
        cr_assert_eq(SSL_CTX_set_max_proto_version(p->ctx, version), 1);
    }
    start(p);
    if (older)
        cr_assert_eq(SSL_set_session(p->seal, older->ticket), 1);
    SSL_set_connect_state(p->seal);
}

void tls_peer_server(struct tls_peer *p, int fd, const char *cert, const char *key)
{
    make(p, fd, false);
    cr_assert_eq(SSL_CTX_use_certificate_file(p->ctx, cert, SSL_FILETYPE_PEM), 1);
    cr_assert_eq(SSL_CTX_use_PrivateKey_file(p->ctx, key, SSL_FILETYPE_PEM), 1);
    start(p);
    SSL_set_accept_state(p->seal);
}

void tls_peer_close(struct tls_peer *p, bool reset)
{
    const struct linger now = {1, 0};

    if (p->fd < 0)
        return;
    if (reset)
        cr_assert_eq(setsockopt(p->fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now)), 0);
    close(p->fd);
    p->fd = -1;
}

void tls_peer_end(struct tls_peer *p)
{
    tls_peer_close(p, false);
    SSL_SESSION_free(p->ticket);
    SSL_free(p->seal);
    SSL_CTX_free(p->ctx);
    *p = (struct tls_peer){.fd = -1};
}

/* What a call came to, where it did not do well. */
static void note(struct tls_peer *p, int r)
{
    switch (SSL_get_error(p->seal, r)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
        break;
    case SSL_ERROR_ZERO_RETURN:
        p->ended = true;
        break;
    default:
        p->broken = true;
    }
}

int tls_peer_shake(struct tls_peer *p)
{
    ERR_clear_error();
    const int r = SSL_do_handshake(p->seal);
    if (r == 1)
        return 1;
    note(p, r);
    return p->broken || p->ended ? -1 : 0;
}

size_t tls_peer_send(struct tls_peer *p, const void *bytes, size_t n)
{
    size_t sent = 0;

    while (sent < n) {
        size_t took;
        ERR_clear_error();
        const int r = SSL_write_ex(p->seal, (const uint8_t *)bytes + sent, n - sent, &took);
        if (r != 1) {
            note(p, r);
            break;
        }
        sent += took;
    }
    return sent;
}

size_t tls_peer_recv(struct tls_peer *p, void *bytes, size_t n)
{
    size_t got = 0;

    while (got < n && !p->ended && !p->broken) {
        size_t more;
        ERR_clear_error();
        const int r = SSL_read_ex(p->seal, (uint8_t *)bytes + got, n - got, &more);
        if (r != 1) {
            note(p, r);
            break;
        }
        got += more;
    }
    return got;
}

void tls_peer_goodbye(struct tls_peer *p)
{
    cr_assert_geq(SSL_shutdown(p->seal), 0);
}

void tls_peer_rekey(struct tls_peer *p)
{
    cr_assert_eq(SSL_key_update(p->seal, SSL_KEY_UPDATE_REQUESTED), 1);
}

bool tls_peer_renegotiate_refused(struct tls_peer *p)
{
    char byte;

    ERR_clear_error();
    if (SSL_renegotiate(p->seal) == 1)
        (void)SSL_do_handshake(p->seal);
    (void)SSL_read(p->seal, &byte, 1);
    for (unsigned long e; (e = ERR_get_error()) != 0;) {
        if (ERR_GET_REASON(e) == SSL_R_NO_RENEGOTIATION)
            return true;
    }
    return false;
}

bool tls_peer_resumed(const struct tls_peer *p)
{
    return SSL_session_reused(p->seal) == 1;
}

int tls_peer_version(const struct tls_peer *p)
{
    return SSL_version(p->seal);
}

bool tls_peer_sees(const struct tls_peer *p, const char *name)
{
    X509 *cert = SSL_get0_peer_certificate(p->seal);
    char at[64] = "";

    cr_assert_not_null(cert);
    X509_NAME_get_text_by_NID(X509_get_subject_name(cert), NID_commonName, at, sizeof(at));
    return strcmp(at, name) == 0;
}

bool tls_peer_compresses(const struct tls_peer *p)
{
    return SSL_get_current_compression(p->seal) != NULL;
}

#endif
