/* common/io/net.c: listen and dial.
 *
 *   net_dial ─► numeric: try it ───────────────┐
 *           └─► name: ask the resolver ─► try each address in turn ─► done (end of a turn)
 *
 * May touch: libevent, sockets, the resolver. Never: bytes of a connection.
 * On trouble: a listener out of descriptors rests and tries again; a dialer says errno.
 */
#include "common/io/net.h"

#include "common/addr.h"
#include "common/err.h"

#include <arpa/inet.h>
#include <errno.h>
#include <event2/dns.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <event2/util.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

struct net_listener {
    struct event event;
    struct loop *loop;
    struct loop_timer *rest; /* armed while accepting is paused */
    struct loop_deferred bury;
    const struct net_listener_ops *ops; /* borrowed */
    void *arg;
    int fd;
    bool paused; /* as the owner was told last */
    bool dead;   /* freed at the end of the turn */
    char addr[NET_TEXT_MAX];
};

static void addr_text(const struct sockaddr_storage *ss, char *out)
{
    char host[INET6_ADDRSTRLEN] = "?";
    if (ss->ss_family == AF_INET) {
        const struct sockaddr_in *in = (const struct sockaddr_in *)ss;
        inet_ntop(AF_INET, &in->sin_addr, host, sizeof(host));
        snprintf(out, NET_TEXT_MAX, "%s:%u", host, ntohs(in->sin_port));
    } else if (ss->ss_family == AF_INET6) {
        const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)ss;
        inet_ntop(AF_INET6, &in6->sin6_addr, host, sizeof(host));
        snprintf(out, NET_TEXT_MAX, "[%s]:%u", host, ntohs(in6->sin6_port));
    } else {
        snprintf(out, NET_TEXT_MAX, "unknown");
    }
}

/* --- listening -------------------------------------------------------------------------------- */

static void tell_paused(struct net_listener *n, bool on, int err)
{
    if (n->paused == on)
        return;
    n->paused = on;
    n->ops->paused(n->arg, on, err);
}

/* The connection went away before it was taken; the next one may be fine. */
static bool accept_goes_on(int err)
{
    switch (err) {
    case EINTR:
    case ECONNABORTED:
    case EPROTO:
    case ENETDOWN:
    case ENOPROTOOPT:
    case EHOSTDOWN:
    case ENONET:
    case EHOSTUNREACH:
    case EOPNOTSUPP:
    case ENETUNREACH:
    case EPERM:
        return true;
    default:
        return false;
    }
}

/* Descriptors or memory. A listener that stays ready would spin the loop. */
static void rest(struct net_listener *n, int err)
{
    event_del(&n->event);
    loop_timer_arm(n->rest, NET_ACCEPT_PAUSE_MS * CLOCK_NS_PER_MS);
    tell_paused(n, true, err);
}

static void accept_some(struct net_listener *n)
{
    for (int i = 0; i < NET_ACCEPTS_A_TURN; i++) {
        const int full = n->ops->room ? n->ops->room(n->arg) : 0;
        if (full) {
            rest(n, full);
            return;
        }
        struct sockaddr_storage ss = {0};
        socklen_t len = sizeof(ss);
        int fd = accept4(n->fd, (struct sockaddr *)&ss, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
        int err = fd < 0 ? errno : 0;
        if (err && accept_goes_on(err))
            continue;
        if (err && err != EAGAIN && err != EWOULDBLOCK) {
            rest(n, err);
            return;
        }
        /* Even "nothing there" says that a descriptor could be had. */
        tell_paused(n, false, 0);
        if (n->dead) {
            if (!err)
                close(fd);
            return;
        }
        if (err)
            return;
        char peer[NET_TEXT_MAX];
        addr_text(&ss, peer);
        n->ops->accepted(n->arg, fd, peer);
        if (n->dead)
            return;
    }
}

static void on_listener(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    accept_some(arg);
}

static void on_rested(void *arg)
{
    struct net_listener *n = arg;
    if (event_add(&n->event, NULL) < 0) {
        loop_timer_arm(n->rest, NET_ACCEPT_PAUSE_MS * CLOCK_NS_PER_MS);
        return;
    }
    accept_some(n);
}

static void bury_listener(void *arg)
{
    free(arg);
}

static int say(char *why, size_t cap, int err, const char *addr, const char *reason)
{
    snprintf(why, cap, "%s: %s", addr, reason);
    return err;
}

/* How a port is taken: by one listener, by the first of several, by another of them. */
enum sharing { ALONE, SHARED_FIRST, SHARED_MORE };

/* Bound; -1 with errno. */
static int bound_socket(const struct addrinfo *ai, bool shared)
{
    int fd = socket(ai->ai_family, ai->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    int on = 1;
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
        (shared && setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)) < 0) ||
        bind(fd, ai->ai_addr, ai->ai_addrlen) < 0) {
        int err = errno;
        close(fd);
        errno = err;
        return -1;
    }
    return fd;
}

/* Bound and listening; -1 with errno. */
static int listening_socket(const struct addrinfo *ai, enum sharing sharing)
{
    if (sharing == SHARED_FIRST) {
        /* A port that another process shares would be ours as well, and half its connections. One
         * that does not ask to share is told. */
        int probe = bound_socket(ai, false);
        if (probe < 0)
            return -1;
        close(probe);
    }
    int fd = bound_socket(ai, sharing != ALONE);
    if (fd >= 0 && listen(fd, SOMAXCONN) < 0) {
        int err = errno;
        close(fd);
        errno = err;
        return -1;
    }
    return fd;
}

/* A name is looked up by waiting: at the start there is nobody to keep waiting. */
static int open_listener(const char *addr, enum sharing sharing, int *fd, char *why, size_t why_cap)
{
    struct addr a;
    const char *reason;
    if (addr_parse(addr, &a, &reason) != 0)
        return say(why, why_cap, E_ADDR, addr, reason);

    char port[8];
    snprintf(port, sizeof(port), "%u", a.port);
    struct addrinfo hints = {
        .ai_family = AF_UNSPEC,
        .ai_socktype = SOCK_STREAM,
        .ai_flags = AI_PASSIVE | AI_NUMERICSERV | (a.is_name ? 0 : AI_NUMERICHOST),
    };
    struct addrinfo *found = NULL;
    int err = getaddrinfo(a.host, port, &hints, &found);
    if (err)
        return say(why, why_cap, E_ADDR, addr, gai_strerror(err));
    *fd = listening_socket(found, sharing);
    err = *fd < 0 ? say(why, why_cap, E_IO, addr, strerror(errno)) : 0;
    freeaddrinfo(found);
    return err;
}

/* Takes `fd`, which listens. */
static int start_listener(struct loop *l, int fd, const struct net_listener_ops *ops, void *arg,
                          struct net_listener **out)
{
    struct net_listener *n = calloc(1, sizeof(*n));
    if (!n || loop_timer_create(l, on_rested, n, &n->rest) != 0)
        goto no_memory;
    n->loop = l;
    n->ops = ops;
    n->arg = arg;
    n->fd = fd;
    n->bury = (struct loop_deferred){.fn = bury_listener, .arg = n};
    if (event_assign(&n->event, loop_base(l), fd, EV_READ | EV_PERSIST, on_listener, n) < 0 ||
        event_add(&n->event, NULL) < 0)
        goto no_memory;

    struct sockaddr_storage ss = {0};
    socklen_t len = sizeof(ss);
    getsockname(fd, (struct sockaddr *)&ss, &len);
    addr_text(&ss, n->addr);
    *out = n;
    return 0;

no_memory:
    if (n)
        loop_timer_destroy(n->rest);
    free(n);
    close(fd);
    return E_NOMEM;
}

static int listen_as(struct loop *l, const char *addr, enum sharing sharing,
                     const struct net_listener_ops *ops, void *arg, struct net_listener **out,
                     char *why, size_t why_cap)
{
    int fd = -1;
    int err = open_listener(addr, sharing, &fd, why, why_cap);
    if (err)
        return err;
    err = start_listener(l, fd, ops, arg, out);
    return err ? say(why, why_cap, err, addr, err_text(err)) : 0;
}

int net_listen(struct loop *l, const char *addr, const struct net_listener_ops *ops, void *arg,
               struct net_listener **out, char *why, size_t why_cap)
{
    return listen_as(l, addr, ALONE, ops, arg, out, why, why_cap);
}

int net_listen_shared(struct loop *l, const char *addr, bool first,
                      const struct net_listener_ops *ops, void *arg, struct net_listener **out,
                      char *why, size_t why_cap)
{
    return listen_as(l, addr, first ? SHARED_FIRST : SHARED_MORE, ops, arg, out, why, why_cap);
}

const char *net_listener_addr(const struct net_listener *n)
{
    return n->addr;
}

void net_listener_destroy(struct net_listener *n)
{
    if (!n || n->dead)
        return;
    n->dead = true;
    event_del(&n->event);
    loop_timer_destroy(n->rest);
    n->rest = NULL;
    close(n->fd);
    /* accept_some may be on the stack. */
    loop_defer(n->loop, &n->bury);
}

/* --- dialling --------------------------------------------------------------------------------- */

/* A question to the resolver; outlives its dialer where that is destroyed first, since libevent
 * answers even a cancelled one, later. */
struct lookup {
    struct loop *loop;
    struct net_dialer *dialer; /* NULL: nobody wants to know any more */
    struct evdns_base *dns;
    struct evdns_getaddrinfo_request *request; /* NULL: answered */
    struct loop_deferred bury;
};

struct net_dialer {
    struct event event; /* of the attempt that is under way */
    struct loop *loop;
    struct loop_timer *timeout;
    struct lookup *lookup;
    struct evutil_addrinfo *addresses, *next; /* owned; the next to try */
    struct loop_deferred finish;
    net_dialed_fn *done;
    void *arg;
    int fd;        /* -1: no attempt under way */
    int err;       /* of the last attempt */
    bool finished; /* on_finish is or was called */
};

static void finish(struct net_dialer *d, int err)
{
    loop_timer_cancel(d->timeout);
    d->err = err;
    d->finished = true;
    loop_defer(d->loop, &d->finish);
}

static void on_finish(void *arg)
{
    struct net_dialer *d = arg;
    int fd = d->err ? -1 : d->fd;
    d->fd = -1;
    /* Last: the callee may destroy the dialer. */
    d->done(d->arg, fd, d->err);
}

static void end_attempt(struct net_dialer *d)
{
    if (d->fd < 0)
        return;
    event_del(&d->event);
    close(d->fd);
    d->fd = -1;
}

/* Dialling a free port of our own machine from the range that the kernel also takes our side's port
 * from can, by chance, connect a socket to itself. */
static bool met_itself(int fd)
{
    struct sockaddr_storage here = {0}, there = {0};
    socklen_t here_len = sizeof(here), there_len = sizeof(there);
    if (getsockname(fd, (struct sockaddr *)&here, &here_len) < 0 ||
        getpeername(fd, (struct sockaddr *)&there, &there_len) < 0)
        return false;
    return here_len == there_len && memcmp(&here, &there, here_len) == 0;
}

static void on_attempt(evutil_socket_t fd, short what, void *arg);

/* Try the addresses from `next` on until one is under way, connected, or none is left. */
static void attempt(struct net_dialer *d)
{
    for (; d->next; d->next = d->next->ai_next) {
        const struct evutil_addrinfo *ai = d->next;
        d->fd = socket(ai->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        if (d->fd < 0) {
            d->err = errno;
            continue;
        }
        event_assign(&d->event, loop_base(d->loop), d->fd, EV_WRITE, on_attempt, d);
        if (connect(d->fd, ai->ai_addr, ai->ai_addrlen) < 0 && errno != EINPROGRESS) {
            d->err = errno;
        } else if (event_add(&d->event, NULL) < 0) {
            d->err = ENOMEM;
        } else {
            d->next = ai->ai_next;
            return;
        }
        end_attempt(d);
    }
    finish(d, d->err ? d->err : EHOSTUNREACH);
}

static void on_attempt(evutil_socket_t fd, short what, void *arg)
{
    struct net_dialer *d = arg;
    int err = 0;
    socklen_t len = sizeof(err);
    (void)what;
    if (getsockopt((int)fd, SOL_SOCKET, SO_ERROR, &err, &len) < 0)
        err = errno;
    if (!err && met_itself((int)fd))
        err = ECONNREFUSED;
    if (!err) {
        finish(d, 0);
        return;
    }
    d->err = err;
    end_attempt(d);
    attempt(d);
}

static void on_dial_timeout(void *arg)
{
    struct net_dialer *d = arg;
    end_attempt(d);
    d->next = NULL;
    finish(d, ETIMEDOUT);
}

static void bury_lookup(void *arg)
{
    struct lookup *u = arg;
    evdns_base_free(u->dns, 0);
    free(u);
}

static void on_looked_up(int result, struct evutil_addrinfo *res, void *arg)
{
    struct lookup *u = arg;
    struct net_dialer *d = u->dialer;
    u->request = NULL;
    if (!d) {
        if (res)
            evutil_freeaddrinfo(res);
        loop_defer(u->loop, &u->bury);
        return;
    }
    d->addresses = res;
    d->next = res;
    if (d->finished)
        return; /* after the timeout */
    if (result == 0)
        attempt(d);
    else
        finish(d, result == EVUTIL_EAI_MEMORY ? ENOMEM : EHOSTUNREACH);
}

static int start_lookup(struct net_dialer *d, const char *host, const char *port,
                        const struct evutil_addrinfo *hints)
{
    struct lookup *u = calloc(1, sizeof(*u));
    if (!u)
        return E_NOMEM;
    /* One for each question, so that a changed resolv.conf or hosts file counts at once. */
    u->dns = evdns_base_new(loop_base(d->loop), EVDNS_BASE_DISABLE_WHEN_INACTIVE);
    if (!u->dns) {
        free(u);
        return E_NOMEM;
    }
    /* Without the file there is still the local machine's resolver. */
    evdns_base_resolv_conf_parse(u->dns, DNS_OPTIONS_ALL, "/etc/resolv.conf");
    u->loop = d->loop;
    u->dialer = d;
    u->bury = (struct loop_deferred){.fn = bury_lookup, .arg = u};
    d->lookup = u;
    u->request = evdns_getaddrinfo(u->dns, host, port, hints, on_looked_up, u);
    return 0;
}

static int start_dial(struct net_dialer *d, const struct addr *a)
{
    char port[8];
    snprintf(port, sizeof(port), "%u", a->port);
    struct evutil_addrinfo hints = {
        .ai_family = AF_UNSPEC,
        .ai_socktype = SOCK_STREAM,
        .ai_protocol = IPPROTO_TCP,
        .ai_flags = EVUTIL_AI_NUMERICSERV | (a->is_name ? 0 : EVUTIL_AI_NUMERICHOST),
    };
    if (a->is_name)
        return start_lookup(d, a->host, port, &hints);
    if (evutil_getaddrinfo(a->host, port, &hints, &d->addresses) != 0)
        return E_NOMEM;
    d->next = d->addresses;
    attempt(d);
    return 0;
}

int net_dial(struct loop *l, const char *addr, int64_t timeout_ns, net_dialed_fn *done, void *arg,
             struct net_dialer **out)
{
    struct addr a;
    const char *why;
    if (addr_parse(addr, &a, &why) != 0 || a.port == 0)
        return E_ADDR;

    struct net_dialer *d = calloc(1, sizeof(*d));
    if (!d)
        return E_NOMEM;
    d->loop = l;
    d->done = done;
    d->arg = arg;
    d->fd = -1;
    d->finish = (struct loop_deferred){.fn = on_finish, .arg = d};
    int err = loop_timer_create(l, on_dial_timeout, d, &d->timeout);
    if (!err) {
        loop_timer_arm(d->timeout, timeout_ns);
        err = start_dial(d, &a);
    }
    if (err) {
        net_dialer_destroy(d);
        return err;
    }
    *out = d;
    return 0;
}

void net_dialer_destroy(struct net_dialer *d)
{
    if (!d)
        return;
    end_attempt(d);
    loop_timer_destroy(d->timeout);
    loop_defer_cancel(d->loop, &d->finish);
    if (d->addresses)
        evutil_freeaddrinfo(d->addresses);
    struct lookup *u = d->lookup;
    if (u) {
        u->dialer = NULL;
        if (u->request)
            evdns_getaddrinfo_cancel(u->request);
        else
            loop_defer(u->loop, &u->bury);
    }
    free(d);
}

uint64_t net_raise_descriptors(void)
{
    struct rlimit lim;
    if (getrlimit(RLIMIT_NOFILE, &lim) < 0)
        return 0;
    rlim_t was = lim.rlim_cur;
    lim.rlim_cur = lim.rlim_max;
    return setrlimit(RLIMIT_NOFILE, &lim) == 0 ? lim.rlim_max : was;
}
