/* bot/reach.c: a connection until it can be used; see the header. May touch: common, common/io. */
#include "bot/reach.h"

#include "common/err.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

static void on_shaken(void *owner, void *what, int fd, struct ssl_st *seal)
{
    struct reach *r = owner;

    (void)what;
    r->handshake = NULL;
    r->done(r->arg, fd, seal, "");
}

static void on_unshaken(void *owner, void *what, enum tls_fault fault, const char *text)
{
    struct reach *r = owner;
    char why[REACH_WHY_MAX];

    (void)what;
    r->handshake = NULL;
    if (fault == TLS_FAULT_ENDED) /* by reach_fini */
        return;
    snprintf(why, sizeof(why), "no TLS: %s", text);
    r->done(r->arg, -1, NULL, why);
}

static const struct handshake_ops reach_handshake_ops = {
    .done = on_shaken,
    .failed = on_unshaken,
};

static void on_dialed(void *arg, int fd, int err)
{
    struct reach *r = arg;
    char why[REACH_WHY_MAX];

    net_dialer_destroy(r->dialer);
    r->dialer = NULL;
    if (fd < 0) {
        snprintf(why, sizeof(why), "cannot connect: %s", strerror(err));
        r->done(r->arg, -1, NULL, why);
        return;
    }
    /* A kernel that refuses keeps its own choice, which is no harm. */
    if (r->rcvbuf > 0)
        (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &r->rcvbuf, sizeof(r->rcvbuf));
    if (!r->trust) {
        r->done(r->arg, fd, NULL, "");
        return;
    }
    const int rc = handshakes_take(r->handshakes, fd, r->to.host, r, NULL, &r->handshake);
    if (rc != 0)
        r->done(r->arg, -1, NULL, err_text(rc));
}

int reach_begin(struct reach *r, const char *addr, int64_t timeout_ns)
{
    const struct handshakes_config config = {
        .tls = r->trust, .client = true, .timeout_ns = timeout_ns, .ops = &reach_handshake_ops};
    const char *why;
    int rc = 0;

    ASSERT(!reach_under_way(r));
    if (r->trust)
        rc = addr_parse(addr, &r->to, &why);
    if (rc == 0 && r->trust && !r->handshakes)
        rc = handshakes_create(r->loop, &config, &r->handshakes);
    return rc != 0 ? rc : net_dial(r->loop, addr, timeout_ns, on_dialed, r, &r->dialer);
}

bool reach_under_way(const struct reach *r)
{
    return r->dialer || r->handshake;
}

void reach_cancel(struct reach *r)
{
    net_dialer_destroy(r->dialer);
    r->dialer = NULL;
    if (r->handshake)
        handshake_cancel(r->handshake);
    r->handshake = NULL;
}

void reach_fini(struct reach *r)
{
    reach_cancel(r);
    handshakes_destroy(r->handshakes);
    r->handshakes = NULL;
}
