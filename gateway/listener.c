/* gateway/listener.c: accept and place. May touch: common/io, clients, visitor. On trouble:
 * listener.h. */
#include "gateway/listener.h"

#include "common/err.h"
#include "common/log.h"

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

/* Of whoever it is that comes. */
void listener_admit(void *arg, int fd, const char *peer, bool itself)
{
    struct listener *l = arg;
    struct clients *all = l->clients;
    struct client *c;
    struct stream *s;
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
    if (l->visitors) {
        visitors_take(l->visitors, c, fd);
        return;
    }
    r = stream_create(l->loop, fd, &l->limits, &client_stream_ops, c, &s);
    if (r != 0) {
        clients_drop(all, c);
        all->metrics->refused_error++;
        log_often(LOG_WARN, "client refused reason=error error=\"%s\" peer=%s", err_text(r), peer);
        return;
    }
    client_start(c, s);
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
    if (!on) {
        log_often(LOG_INFO, "accepting again clients=%u", clients_open(l->clients));
        return;
    }
    l->clients->metrics->accept_pauses++;
    log_often(LOG_WARN, "accepting paused error=\"%s\" clients=%u", strerror(err),
              clients_open(l->clients));
}

static bool listener_room(void *arg)
{
    const struct listener *l = arg;
    return l->clients->total->live < l->connections_max;
}

static const struct net_listener_ops listener_ops = {
    .accepted = listener_accepted,
    .room = listener_room,
    .paused = listener_paused,
};

int listener_init(struct listener *l, struct loop *loop, struct clients *clients, const char *addr,
                  enum listener_port port, const struct stream_limits *limits,
                  uint64_t connections_max, struct proxied *proxied, struct visitors *visitors,
                  char *why, size_t why_cap)
{
    *l = (struct listener){
        .loop = loop,
        .clients = clients,
        .limits = *limits,
        .connections_max = connections_max,
        .proxied = proxied,
        .visitors = visitors,
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
