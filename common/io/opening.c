/* common/io/opening.c: the first bytes of connections. May touch: libevent, sockets.
 * On trouble: see the header.
 */
#include "common/io/opening.h"

#include "common/err.h"
#include "common/io/net.h"

#include <errno.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

struct opening {
    struct openings *home;
    struct opening *prev, *next;
    struct event event;
    struct loop_timer *timer; /* NULL: no limit */
    struct loop_deferred bury;
    void *owner;
    int fd;
    size_t n; /* bytes in `got` */
    char peer[NET_TEXT_MAX];
    uint8_t got[OPENING_BYTES_MAX];
};

struct openings {
    struct loop *loop;
    const struct openings_ops *ops;
    void *arg;
    int64_t timeout_ns;
    uint32_t most, n;
    struct opening *first;
};

static void on_bury(void *arg)
{
    struct opening *g = arg;

    loop_timer_destroy(g->timer);
    free(g);
}

/* Out of the list; freed at the end of the turn. */
static void leave(struct opening *g)
{
    struct openings *o = g->home;

    event_del(&g->event);
    if (g->timer)
        loop_timer_cancel(g->timer);
    if (g->prev)
        g->prev->next = g->next;
    else
        o->first = g->next;
    if (g->next)
        g->next->prev = g->prev;
    o->n--;
    g->bury = (struct loop_deferred){.fn = on_bury, .arg = g};
    loop_defer(o->loop, &g->bury);
}

static void finish(struct opening *g, int err)
{
    leave(g);
    if (err != 0) {
        close(g->fd);
        g->fd = -1;
    }
    g->home->ops->done(g->home->arg, g->owner, g->fd, g->peer, span_of(g->got, g->n), err);
}

/* What is there, as far as it is wanted. 0: all is there; E_SHORT: not yet. */
static int read_some(struct opening *g)
{
    for (;;) {
        const size_t want = g->home->ops->want(span_of(g->got, g->n));

        ASSERT(want <= OPENING_BYTES_MAX);
        if (want == 0)
            return E_BAD;
        if (want <= g->n)
            return 0;
        const ssize_t r = recv(g->fd, g->got + g->n, want - g->n, 0);
        if (r > 0)
            g->n += (size_t)r;
        else if (r < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return E_SHORT;
        else if (r == 0 || errno != EINTR)
            return E_CLOSED;
    }
}

static void on_readable(evutil_socket_t fd, short what, void *arg)
{
    struct opening *g = arg;
    const int err = read_some(g);

    (void)fd;
    (void)what;
    if (err != E_SHORT)
        finish(g, err);
}

static void on_late(void *arg)
{
    finish(arg, E_TIMEOUT);
}

int openings_create(struct loop *l, uint32_t most, int64_t timeout_ns,
                    const struct openings_ops *ops, void *arg, struct openings **out)
{
    struct openings *o = calloc(1, sizeof(*o));

    if (!o)
        return E_NOMEM;
    *o = (struct openings){
        .loop = l, .ops = ops, .arg = arg, .timeout_ns = timeout_ns, .most = most};
    *out = o;
    return 0;
}

uint32_t openings_end(struct openings *o)
{
    const uint32_t n = o->n;

    while (o->first) {
        close(o->first->fd);
        leave(o->first);
    }
    return n;
}

void openings_destroy(struct openings *o)
{
    if (!o)
        return;
    (void)openings_end(o);
    free(o);
}

int openings_take(struct openings *o, int fd, const char *peer, void *owner)
{
    struct opening *g = o->n < o->most ? calloc(1, sizeof(*g)) : NULL;
    int err = o->n < o->most ? E_NOMEM : E_FULL;

    if (g && o->timeout_ns != 0 && loop_timer_create(o->loop, on_late, g, &g->timer) != 0)
        goto failed;
    if (!g ||
        event_assign(&g->event, loop_base(o->loop), fd, EV_READ | EV_PERSIST, on_readable, g) < 0 ||
        event_add(&g->event, NULL) < 0)
        goto failed;
    g->home = o;
    g->owner = owner;
    g->fd = fd;
    snprintf(g->peer, sizeof(g->peer), "%s", peer);
    g->next = o->first;
    if (g->next)
        g->next->prev = g;
    o->first = g;
    o->n++;
    if (g->timer)
        loop_timer_arm(g->timer, o->timeout_ns);
    return 0;

failed:
    if (g)
        loop_timer_destroy(g->timer);
    free(g);
    close(fd);
    return err;
}
