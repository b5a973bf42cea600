/* common/io/handshake.c: connections until a seal stands on them; see the header.
 * May touch: libevent, sockets, tls, the clock, to measure a slice. On trouble: see the header.
 */
#include "common/io/handshake.h"

#include "common/err.h"

#include <errno.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

#define HANDSHAKE_TEXT 160
#define LATE_NS        (10 * CLOCK_NS_PER_MS) /* between two looks at who is late, at least */
#define HANDSHAKE_TYPE 22 /* the first byte of a record that holds one: RFC 8446, 5.1 */

struct handshake {
    struct event event; /* waits for the peer, unless queued */
    struct handshakes *home;
    TAILQ_ENTRY(handshake) by_age, in_queue;
    void *owner, *what;
    struct ssl_st *seal; /* NULL: nothing has come yet */
    struct mono since;   /* its beginning; later by as long as it waited for us */
    struct mono ready;   /* where queued: since when */
    int fd;
    bool queued;
};

TAILQ_HEAD(handshake_list, handshake);

struct handshakes {
    struct loop *loop;
    struct handshakes_config config;
    struct handshake_list all;   /* oldest first */
    struct handshake_list queue; /* those that can go on, in the order that they could */
    struct loop_timer *late;     /* armed for the oldest */
    struct loop_timer *work;     /* armed while any is queued */
    struct mono rest;            /* nothing is worked off before */
    struct loop_deferred bury;
    uint32_t pending;
    _Atomic uint32_t own;
    bool ended;
};

/* Out of everything, its descriptor and seal left to the caller. */
static void forget(struct handshake *s)
{
    struct handshakes *h = s->home;

    event_del(&s->event);
    TAILQ_REMOVE(&h->all, s, by_age);
    if (s->queued)
        TAILQ_REMOVE(&h->queue, s, in_queue);
    h->pending--;
    atomic_fetch_sub_explicit(h->config.pending, 1, memory_order_relaxed);
    free(s);
}

static void fail(struct handshake *s, enum tls_fault fault)
{
    const struct handshake_ops *ops = s->home->config.ops;
    void *owner = s->owner, *what = s->what;
    char text[HANDSHAKE_TEXT];

    snprintf(text, sizeof(text), "%s", tls_fault_text(fault));
    if (s->seal && fault != TLS_FAULT_LATE && fault != TLS_FAULT_FULL && fault != TLS_FAULT_ENDED)
        tls_shake_text(s->seal, text, sizeof(text));
    handshake_cancel(s);
    ops->failed(owner, what, fault, text);
}

void handshake_cancel(struct handshake *s)
{
    tls_seal_free(s->seal);
    close(s->fd);
    forget(s);
}

/* --- steps --------------------------------------------------------------------------------------
 */

static void queue_up(struct handshake *s)
{
    struct handshakes *h = s->home;
    const int64_t rest_ns = clock_since(h->rest, loop_now(h->loop));

    if (s->queued)
        return;
    s->queued = true;
    s->ready = loop_now(h->loop);
    TAILQ_INSERT_TAIL(&h->queue, s, in_queue);
    if (!loop_timer_armed(h->work))
        loop_timer_arm(h->work, rest_ns > 0 ? rest_ns : 0);
}

static void on_peer(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what;
    queue_up(arg);
}

static bool wait_for(struct handshake *s, short what)
{
    event_del(&s->event);
    return event_assign(&s->event, loop_base(s->home->loop), s->fd, what, on_peer, s) == 0 &&
           event_add(&s->event, NULL) == 0;
}

/* Look at what came first, and make the seal, which is there where it does well: not where nothing
 * came after all. */
static enum tls_fault begin(struct handshake *s)
{
    uint8_t first;
    const ssize_t n = recv(s->fd, &first, 1, MSG_PEEK | MSG_DONTWAIT);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return TLS_FAULT_NONE;
    if (n <= 0)
        return TLS_FAULT_GONE;
    if (first != HANDSHAKE_TYPE)
        return TLS_FAULT_PLAIN;
    s->seal = tls_seal(s->home->config.tls, s->fd, NULL, loop_now(s->home->loop));
    return s->seal ? TLS_FAULT_NONE : TLS_FAULT_MEMORY;
}

static void step(struct handshake *s)
{
    struct handshakes *h = s->home;
    enum tls_fault fault = s->seal ? TLS_FAULT_NONE : begin(s);

    if (fault != TLS_FAULT_NONE) {
        fail(s, fault);
        return;
    }
    switch (s->seal ? tls_shake(s->seal, &fault) : TLS_STEP_IN) {
    case TLS_STEP_IN:
        if (!wait_for(s, EV_READ))
            fail(s, TLS_FAULT_MEMORY);
        break;
    case TLS_STEP_OUT:
        if (!wait_for(s, EV_WRITE))
            fail(s, TLS_FAULT_MEMORY);
        break;
    case TLS_STEP_FAILED:
        fail(s, fault);
        break;
    case TLS_STEP_DONE: {
        void *owner = s->owner, *what = s->what;
        struct ssl_st *seal = s->seal;
        const int fd = s->fd;
        forget(s);
        h->config.ops->done(owner, what, fd, seal);
        break;
    }
    }
}

static void on_work(void *arg)
{
    struct handshakes *h = arg;
    const int64_t slice_ns = h->config.slice_ns;
    const struct mono start = clock_mono();
    int64_t spent_ns = 0;

    while (!TAILQ_EMPTY(&h->queue) && (slice_ns == 0 || spent_ns < slice_ns)) {
        struct handshake *s = TAILQ_FIRST(&h->queue);
        TAILQ_REMOVE(&h->queue, s, in_queue);
        s->queued = false;
        s->since = clock_add(s->since, clock_since(loop_now(h->loop), s->ready));
        step(s);
        spent_ns = clock_since(clock_mono(), start);
    }
    if (slice_ns == 0 || spent_ns < slice_ns)
        return;
    /* A slice that took much longer was one in which others had the processor. */
    const int64_t rest_ns = spent_ns < 2 * slice_ns ? spent_ns : 2 * slice_ns;
    h->rest = clock_add(start, spent_ns + rest_ns);
    if (!TAILQ_EMPTY(&h->queue))
        loop_timer_arm(h->work, rest_ns);
}

static void on_late(void *arg)
{
    struct handshakes *h = arg;
    int64_t next_ns = h->config.timeout_ns;
    struct handshake *s = TAILQ_FIRST(&h->all), *after;

    for (; s && !h->ended; s = after) {
        const int64_t left_ns = h->config.timeout_ns - clock_since(loop_now(h->loop), s->since);
        after = TAILQ_NEXT(s, by_age);
        if (left_ns <= 0 && !s->queued)
            fail(s, TLS_FAULT_LATE);
        else if (left_ns > 0 && left_ns < next_ns)
            next_ns = left_ns;
    }
    if (!TAILQ_EMPTY(&h->all)) /* nor ended by any of them */
        loop_timer_arm(h->late, next_ns > LATE_NS ? next_ns : LATE_NS);
}

/* --- life ---------------------------------------------------------------------------------------
 */

static void bury(void *arg)
{
    free(arg);
}

int handshakes_create(struct loop *l, const struct handshakes_config *c, struct handshakes **out)
{
    struct handshakes *h = calloc(1, sizeof(*h));

    if (!h)
        return E_NOMEM;
    h->loop = l;
    h->config = *c;
    h->bury = (struct loop_deferred){.fn = bury, .arg = h};
    if (!h->config.pending)
        h->config.pending = &h->own;
    TAILQ_INIT(&h->all);
    TAILQ_INIT(&h->queue);
    int r = loop_timer_create(l, on_late, h, &h->late);
    if (r == 0)
        r = loop_timer_create(l, on_work, h, &h->work);
    if (r != 0) {
        handshakes_destroy(h);
        return r;
    }
    *out = h;
    return 0;
}

void handshakes_end(struct handshakes *h)
{
    h->ended = true;
    while (!TAILQ_EMPTY(&h->all))
        fail(TAILQ_FIRST(&h->all), TLS_FAULT_ENDED);
}

void handshakes_destroy(struct handshakes *h)
{
    if (!h)
        return;
    handshakes_end(h);
    loop_timer_destroy(h->work);
    loop_timer_destroy(h->late);
    /* on_work or on_late may be on the stack. */
    loop_defer(h->loop, &h->bury);
}

/* The one that has waited longest for its peer, beyond its grace; NULL: none has. */
static struct handshake *overdue(const struct handshakes *h)
{
    struct handshake *s = TAILQ_FIRST(&h->all);

    while (s && s->queued)
        s = TAILQ_NEXT(s, by_age);
    return s && clock_since(loop_now(h->loop), s->since) >= HANDSHAKE_GRACE_NS ? s : NULL;
}

static bool full(const struct handshakes *h)
{
    return h->config.most != 0 &&
           atomic_load_explicit(h->config.pending, memory_order_relaxed) >= h->config.most;
}

bool handshakes_room(const struct handshakes *h)
{
    return !full(h) || overdue(h);
}

uint32_t handshakes_pending(const struct handshakes *h)
{
    return h->pending;
}

/* One more, unless there are as many as may be: exact, however many threads count. */
static bool count(struct handshakes *h)
{
    const uint32_t most = h->config.most ? h->config.most : UINT32_MAX;
    uint32_t n = atomic_load_explicit(h->config.pending, memory_order_relaxed);

    while (n < most) {
        if (atomic_compare_exchange_weak_explicit(h->config.pending, &n, n + 1,
                                                  memory_order_relaxed, memory_order_relaxed))
            return true;
    }
    return false;
}

int handshakes_take(struct handshakes *h, int fd, const char *host, void *owner, void *what,
                    struct handshake **out)
{
    struct handshake *victim = full(h) ? overdue(h) : NULL;
    if (victim)
        fail(victim, TLS_FAULT_FULL);
    const bool room = !h->ended && count(h);
    struct handshake *s = room ? calloc(1, sizeof(*s)) : NULL;

    if (!s) {
        if (room)
            atomic_fetch_sub_explicit(h->config.pending, 1, memory_order_relaxed);
        close(fd);
        return room ? E_NOMEM : E_FULL;
    }
    s->home = h;
    s->owner = owner;
    s->what = what;
    s->fd = fd;
    s->since = loop_now(h->loop);
    /* Refused by sockets that are not TCP. */
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    TAILQ_INSERT_TAIL(&h->all, s, by_age);
    h->pending++;
    event_assign(&s->event, loop_base(h->loop), fd, EV_READ, on_peer, s);
    if (h->config.client)
        s->seal = tls_seal(h->config.tls, fd, host, s->since);
    if (h->config.client ? !s->seal : event_add(&s->event, NULL) < 0) {
        handshake_cancel(s);
        return E_NOMEM;
    }
    if (h->config.client)
        queue_up(s);
    if (h->config.timeout_ns != 0 && !loop_timer_armed(h->late))
        loop_timer_arm(h->late, h->config.timeout_ns);
    *out = s;
    return 0;
}
