/* gateway/listener.c: accept and place. May touch: common/io, clients, visitor. On trouble:
 * listener.h. */
#include "gateway/listener.h"

#include "common/err.h"
#include "common/log.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* False: its address has too many already, or comes too often. Those of whom nobody knows where
 * they come from, as a proxy itself, are not watched. */
static bool listener_lets(struct listener *l, const char *peer, bool itself, uint32_t *address)
{
    static const char *const reasons[] = {
        [ADDRESSES_MANY] = "address_many",
        [ADDRESSES_FAST] = "address_fast",
        [ADDRESSES_FULL] = "address_full",
    };
    struct clients *all = l->clients;
    struct gateway_metrics *m = all->metrics;
    struct host from;

    *address = ADDRESSES_NONE;
    if (!all->addresses || itself || host_read(peer, &from) != 0)
        return true;
    const enum addresses_verdict v =
        addresses_enter(all->addresses, &from, all->ops->now_ms(all->ops_arg), address);
    if (v == ADDRESSES_IN)
        return true;
    uint64_t *metric = v == ADDRESSES_MANY   ? &m->refused_address_many
                       : v == ADDRESSES_FAST ? &m->refused_address_fast
                                             : &m->refused_address_full;
    (*metric)++;
    log_often(LOG_WARN, "client refused reason=%s peer=%s", reasons[v], peer);
    return false;
}

static void listener_refused_error(struct listener *l, struct client *c, int r)
{
    l->clients->metrics->refused_error++;
    log_often(LOG_WARN, "client refused reason=error error=\"%s\" peer=%s", err_text(r), c->peer);
    clients_drop(l->clients, c);
}

/* Its connection is what it will be; takes `fd` and `seal` (NULL: plain). */
static void listener_place(struct listener *l, struct client *c, int fd, struct ssl_st *seal)
{
    struct stream *s;

    if (l->visitors) {
        visitors_take(l->visitors, c, fd, seal);
        return;
    }
    const int r = stream_create_sealed(l->loop, fd, seal, &l->limits, &client_stream_ops, c, &s);
    if (r != 0)
        listener_refused_error(l, c, r);
    else
        client_start(c, s);
}

/* --- TLS ---------------------------------------------------------------------------------------
 */

static void listener_shaken(void *owner, void *what, int fd, struct ssl_st *seal)
{
    struct listener *l = owner;
    struct gateway_metrics *m = l->clients->metrics;

    if (tls_resumed(seal))
        m->tls_resumed++;
    else
        m->tls_new++;
    listener_place(l, what, fd, seal);
}

static void listener_unshaken(void *owner, void *what, enum tls_fault fault, const char *text)
{
    static const size_t metrics[] = {
        [TLS_FAULT_GONE] = offsetof(struct gateway_metrics, tls_gone),
        [TLS_FAULT_PLAIN] = offsetof(struct gateway_metrics, tls_plain),
        [TLS_FAULT_VERSION] = offsetof(struct gateway_metrics, tls_version),
        [TLS_FAULT_REFUSED] = offsetof(struct gateway_metrics, tls_refused),
        [TLS_FAULT_TRUST] = offsetof(struct gateway_metrics, tls_protocol),
        [TLS_FAULT_PROTOCOL] = offsetof(struct gateway_metrics, tls_protocol),
        [TLS_FAULT_LATE] = offsetof(struct gateway_metrics, tls_late),
        [TLS_FAULT_FULL] = offsetof(struct gateway_metrics, tls_full),
        [TLS_FAULT_ENDED] = offsetof(struct gateway_metrics, tls_ended),
        [TLS_FAULT_MEMORY] = offsetof(struct gateway_metrics, refused_error),
    };
    struct listener *l = owner;
    struct client *c = what;

    ASSERT(fault > TLS_FAULT_NONE);
    ASSERT(fault < ARRAY_LEN(metrics));
    (*(uint64_t *)((char *)l->clients->metrics + metrics[fault]))++;
    if (fault != TLS_FAULT_ENDED)
        log_often(LOG_INFO, "handshake failed reason=%s error=\"%s\" peer=%s",
                  tls_fault_text(fault), text, c->peer);
    clients_drop(l->clients, c);
}

const struct handshake_ops listener_handshake_ops = {
    .done = listener_shaken,
    .failed = listener_unshaken,
};

/* --- accepting ---------------------------------------------------------------------------------
 */

/* Of whoever it is that comes. */
void listener_admit(void *arg, int fd, const char *peer, bool itself)
{
    struct listener *l = arg;
    struct clients *all = l->clients;
    struct handshake *h;
    struct client *c;
    uint32_t address;

    if (!listener_lets(l, peer, itself, &address)) {
        close(fd);
        return;
    }
    int r = clients_add(all, peer, &c);
    if (r != 0) {
        addresses_leave(all->addresses, address, all->ops->now_ms(all->ops_arg));
        close(fd);
        all->metrics->refused_busy++;
        log_often(LOG_WARN, "client refused reason=busy error=\"%s\" peer=%s", err_text(r), peer);
        return;
    }
    clients_came_from(all, c, address);
    if (!l->handshakes) {
        listener_place(l, c, fd, NULL);
        return;
    }
    r = handshakes_take(l->handshakes, fd, NULL, l, c, &h);
    if (r == E_FULL) /* by the others, since it was accepted */
        listener_unshaken(l, c, TLS_FAULT_FULL, tls_fault_text(TLS_FAULT_FULL));
    else if (r != 0)
        listener_refused_error(l, c, r);
}

static void listener_accepted(void *arg, int fd, const char *peer)
{
    struct listener *l = arg;

    if (!proxied_take(l->proxied, fd, peer, l))
        listener_admit(l, fd, peer, false);
}

static void listener_paused(void *arg, bool on, int err)
{
    struct listener *l = arg;

    l->paused = on;
    l->full = on && err == EBUSY;
    if (!on) {
        log_often(LOG_INFO, "accepting again clients=%u", clients_open(l->clients));
        return;
    }
    l->clients->metrics->accept_pauses++;
    if (l->full) {
        l->clients->metrics->tls_pauses++;
        log_often(LOG_WARN, "accepting paused reason=handshakes pending=%u",
                  handshakes_pending(l->handshakes));
        return;
    }
    log_often(LOG_WARN, "accepting paused error=\"%s\" clients=%u", strerror(err),
              clients_open(l->clients));
}

static int listener_room(void *arg)
{
    const struct listener *l = arg;

    if (l->clients->total->live >= l->connections_max)
        return EMFILE;
    return l->handshakes && !handshakes_room(l->handshakes) ? EBUSY : 0;
}

static const struct net_listener_ops listener_ops = {
    .accepted = listener_accepted,
    .room = listener_room,
    .paused = listener_paused,
};

int listener_init(struct listener *l, struct loop *loop, struct clients *clients, const char *addr,
                  enum listener_port port, const struct stream_limits *limits,
                  uint64_t connections_max, struct proxied *proxied, struct visitors *visitors,
                  struct handshakes *handshakes, char *why, size_t why_cap)
{
    *l = (struct listener){
        .loop = loop,
        .clients = clients,
        .limits = *limits,
        .connections_max = connections_max,
        .proxied = proxied,
        .visitors = visitors,
        .handshakes = handshakes,
    };
    if (port == LISTENER_ALONE)
        return net_listen(loop, addr, &listener_ops, l, &l->net, why, why_cap);
    return net_listen_shared(loop, addr, port == LISTENER_FIRST, &listener_ops, l, &l->net, why,
                             why_cap);
}

bool listener_accepting(const struct listener *l)
{
    return l->net && !l->paused;
}

void listener_stop(struct listener *l)
{
    net_listener_destroy(l->net);
    l->net = NULL;
}
