/* common/io/loop.c: the event loop of one thread.
 *
 *   loop_turn:  wait ─► sockets, timers, signals ─► deferred calls, until none is left
 *                       (libevent, in its order)    (first deferred, first called)
 *
 * May touch: libevent, the clock. On trouble: E_NOMEM at creation; later a loop cannot fail.
 */
#include "common/io/loop.h"

#include "common/err.h"
#include "common/io/ring.h"
#include "common/log.h"

#include <event2/event.h>
#include <event2/event_struct.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* Deferred calls in one end of turn; more means that two of them defer each other for ever. */
#define LOOP_DEFERRED_MAX (1u << 24)

struct loop {
    struct event_base *base;
    struct event wake; /* ends the wait of loop_turn */
    struct loop_deferred *first, *last;
    struct mono now;
    bool now_known; /* `now` was read in this turn */
    bool turning;
    bool stopped;
    struct loop_crowd streams;
    uint8_t *read_buffer; /* [LOOP_READ_BYTES] */
};

struct loop_timer {
    struct event event;
    loop_fn *fn;
    void *arg;
};

struct loop_signal {
    struct event event;
    loop_signal_fn *fn;
    void *arg;
};

struct loop_bell {
    struct event event;
    loop_fn *fn;
    void *arg;
};

static void on_wake(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    (void)arg;
}

/* What libevent has to say belongs into the log like everything else. */
static void on_libevent_log(int severity, const char *text)
{
    if (severity >= EVENT_LOG_WARN)
        log_often(severity == EVENT_LOG_WARN ? LOG_WARN : LOG_ERROR, "libevent: %s", text);
}

static struct event_base *new_base(void)
{
    struct event_config *cfg = event_config_new();
    if (!cfg)
        return NULL;
    struct event_base *base = NULL;
    /* Precise: the coarse clock is up to 4 ms late, which is much of a tick. */
    if (event_config_set_flag(cfg, EVENT_BASE_FLAG_NOLOCK) == 0 &&
        event_config_set_flag(cfg, EVENT_BASE_FLAG_PRECISE_TIMER) == 0)
        base = event_base_new_with_config(cfg);
    event_config_free(cfg);
    return base;
}

const char *loop_library(void)
{
    return event_get_version();
}

int loop_create(struct loop **out)
{
    /* A peer that goes away must be an error of one write, not the end of the process. */
    signal(SIGPIPE, SIG_IGN);
    event_set_log_callback(on_libevent_log);

    struct loop *l = calloc(1, sizeof(*l));
    if (!l)
        return E_NOMEM;
    l->read_buffer = malloc(LOOP_READ_BYTES);
    l->base = new_base();
    if (!l->read_buffer || !l->base || event_assign(&l->wake, l->base, -1, 0, on_wake, NULL) < 0) {
        if (l->base)
            event_base_free(l->base);
        free(l->read_buffer);
        free(l);
        return E_NOMEM;
    }
    *out = l;
    return 0;
}

static void run_deferred(struct loop *l)
{
    uint32_t ran = 0;
    while (l->first) {
        struct loop_deferred *d = l->first;
        l->first = d->next;
        if (!l->first)
            l->last = NULL;
        d->next = NULL;
        d->queued = false;
        d->fn(d->arg);
        ran++;
        ASSERT(ran < LOOP_DEFERRED_MAX);
    }
}

void loop_destroy(struct loop *l)
{
    if (!l)
        return;
    ASSERT(!l->turning);
    /* What was destroyed since the last turn is freed only now; libevent defers such things too. */
    loop_turn(l, 0);
    event_del(&l->wake);
    event_base_free(l->base);
    ring_destroy(l->streams.ring);
    free(l->read_buffer);
    free(l);
}

static void turn(struct loop *l, int flags)
{
    ASSERT(!l->turning);
    l->turning = true;
    l->now_known = false;
    /* Deferred between turns: it is due at the end of this one, which must not wait for a peer. */
    if (l->first)
        flags |= EVLOOP_NONBLOCK;
    event_base_loop(l->base, flags | EVLOOP_ONCE);
    run_deferred(l);
    l->turning = false;
}

void loop_run(struct loop *l)
{
    while (!l->stopped)
        turn(l, EVLOOP_NO_EXIT_ON_EMPTY);
}

void loop_turn(struct loop *l, int64_t max_wait_ns)
{
    ASSERT(max_wait_ns >= 0);
    if (max_wait_ns == 0) {
        turn(l, EVLOOP_NONBLOCK);
        return;
    }
    struct timeval wait = loop_timeval(max_wait_ns);
    event_add(&l->wake, &wait);
    turn(l, 0);
    event_del(&l->wake);
}

void loop_stop(struct loop *l)
{
    l->stopped = true;
}

bool loop_stopped(const struct loop *l)
{
    return l->stopped;
}

struct mono loop_now(const struct loop *l)
{
    /* Read when first asked for after the wait: libevent tells nobody that the wait is over. Every
     * loop was made by loop_create, so the cache behind the const may be written. */
    struct loop *cache = (struct loop *)l;
    if (!l->now_known) {
        cache->now = clock_mono();
        cache->now_known = true;
    }
    return l->now;
}

void loop_defer(struct loop *l, struct loop_deferred *d)
{
    ASSERT(d->fn);
    if (d->queued)
        return;
    d->queued = true;
    d->next = NULL;
    if (l->last)
        l->last->next = d;
    else
        l->first = d;
    l->last = d;
}

void loop_defer_cancel(struct loop *l, struct loop_deferred *d)
{
    if (!d->queued)
        return;
    struct loop_deferred *before = NULL;
    for (struct loop_deferred *at = l->first; at != d; at = at->next)
        before = at;
    if (before)
        before->next = d->next;
    else
        l->first = d->next;
    if (l->last == d)
        l->last = before;
    d->next = NULL;
    d->queued = false;
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
    struct loop_timer *t = arg;
    (void)fd;
    (void)what;
    /* Last: the callee may destroy the timer. */
    t->fn(t->arg);
}

int loop_timer_create(struct loop *l, loop_fn *fn, void *arg, struct loop_timer **out)
{
    struct loop_timer *t = calloc(1, sizeof(*t));
    if (!t)
        return E_NOMEM;
    t->fn = fn;
    t->arg = arg;
    int failed = event_assign(&t->event, l->base, -1, 0, on_timer, t);
    ASSERT(!failed);
    *out = t;
    return 0;
}

void loop_timer_destroy(struct loop_timer *t)
{
    if (!t)
        return;
    event_del(&t->event);
    free(t);
}

struct timeval loop_timeval(int64_t ns)
{
    if (ns < 0)
        ns = 0;
    /* Rounded up: a timer is never early. */
    int64_t us = ns / 1000 + (ns % 1000 != 0);
    return (struct timeval){.tv_sec = us / 1000000, .tv_usec = us % 1000000};
}

void loop_timer_arm(struct loop_timer *t, int64_t delay_ns)
{
    struct timeval delay = loop_timeval(delay_ns);
    /* Fails only where libevent's heap of timers cannot grow: by 8 bytes a timer. */
    int failed = event_add(&t->event, &delay);
    ASSERT(!failed);
}

void loop_timer_cancel(struct loop_timer *t)
{
    event_del(&t->event);
}

bool loop_timer_armed(const struct loop_timer *t)
{
    return event_pending(&t->event, EV_TIMEOUT, NULL) != 0;
}

static void on_signal(evutil_socket_t signo, short what, void *arg)
{
    struct loop_signal *s = arg;
    (void)what;
    s->fn(s->arg, (int)signo);
}

int loop_signal_create(struct loop *l, int signo, loop_signal_fn *fn, void *arg,
                       struct loop_signal **out)
{
    struct loop_signal *s = calloc(1, sizeof(*s));
    if (!s)
        return E_NOMEM;
    s->fn = fn;
    s->arg = arg;
    if (event_assign(&s->event, l->base, signo, EV_SIGNAL | EV_PERSIST, on_signal, s) < 0 ||
        event_add(&s->event, NULL) < 0) {
        free(s);
        return E_IO;
    }
    *out = s;
    return 0;
}

void loop_signal_destroy(struct loop_signal *s)
{
    if (!s)
        return;
    event_del(&s->event);
    free(s);
}

static void on_bell(evutil_socket_t fd, short what, void *arg)
{
    struct loop_bell *b = arg;
    uint64_t rings;
    (void)what;
    /* Read before the call: a ring that comes during it is another call. */
    ssize_t n = read(fd, &rings, sizeof(rings));
    if (n == (ssize_t)sizeof(rings))
        b->fn(b->arg);
}

int loop_bell_create(struct loop *l, loop_fn *fn, void *arg, struct loop_bell **out)
{
    struct loop_bell *b = calloc(1, sizeof(*b));
    if (!b)
        return E_NOMEM;
    int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    b->fn = fn;
    b->arg = arg;
    if (fd < 0 || event_assign(&b->event, l->base, fd, EV_READ | EV_PERSIST, on_bell, b) < 0 ||
        event_add(&b->event, NULL) < 0) {
        if (fd >= 0)
            close(fd);
        free(b);
        return E_IO;
    }
    *out = b;
    return 0;
}

void loop_bell_ring(struct loop_bell *b)
{
    const uint64_t one = 1;
    /* Fails only where it has been rung 2^64 - 2 times and not heard. */
    ssize_t n = write(event_get_fd(&b->event), &one, sizeof(one));
    (void)n;
}

void loop_bell_destroy(struct loop_bell *b)
{
    if (!b)
        return;
    event_del(&b->event);
    close(event_get_fd(&b->event));
    free(b);
}

struct event_base *loop_base(struct loop *l)
{
    return l->base;
}

uint8_t *loop_read_buffer(struct loop *l)
{
    return l->read_buffer;
}

struct loop_crowd *loop_streams(struct loop *l)
{
    return &l->streams;
}
