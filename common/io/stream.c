/* common/io/stream.c: a connected socket with limits both ways.
 *
 *   socket ─► loop's buffer, or `kept` while it holds a long piece ─► data() ─┐
 *                  ▲                                                          │ not taken
 *                  └── kept (at most keep_max; none while all is taken) ◄─────┘
 *
 *   stream_write ─► queued (at most queue_hard) ─► send, once at the end of the turn ─► kernel
 *   stream_send ──► kernel at once, from where the bytes lie; queued only what it does not take
 *
 * Two rules keep callbacks simple. The owner is called from two places only, the reading of a
 * socket (data) and the end of the turn (pressure, closed, data again after a pause); and a stream
 * is freed at the end of the turn only. So nothing the owner does in a callback pulls the ground
 * away from under us.
 *
 * Its size counts, with one of these for each idle client: one event, no buffers, a flag a bit, and
 * nothing that only some need or that several share.
 * May touch: libevent, sockets. Never: what the bytes mean.
 * On trouble: the connection is over and the owner is told at the end of the turn.
 */
#include "common/io/stream.h"

#include "common/err.h"
#include "common/io/piece.h"
#include "common/io/stream_kind.h"

#include <errno.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

/* Up to here, what is kept is put before the next read in the loop's buffer; above, the copying
 * would cost more than a buffer of its own to read into. */
#define STREAM_SHORT_KEEP (LOOP_READ_BYTES / 4)

/* The first size of a queue; it doubles. */
#define STREAM_QUEUE_MIN 512

struct stream {
    struct event event;  /* the one event of the socket; first */
    void *arg;           /* the owner's */
    struct stream *next; /* among those with work at the end of the turn */
    union {
        struct piece *kept;        /* input not taken yet; NULL: none */
        struct loop_timer *linger; /* once finishing; NULL: none */
    };
    struct piece *queued;        /* output not sent yet; NULL or empty: none */
    int fd;                      /* the event's, without asking libevent */
    uint8_t watched;             /* EV_READ, EV_WRITE: what the event waits for */
    uint8_t end;                 /* enum stream_end, once over */
    bool counted : 1;            /* has a `count` */
    bool listed : 1;             /* has work at the end of the turn */
    bool paused : 1;             /* the owner does not want to read */
    bool again : 1;              /* hand up what is kept without waiting for the socket */
    bool blocked : 1;            /* a short write: wait until the kernel takes more */
    bool pressed : 1;            /* the owner was told pressure(on) last */
    bool finishing : 1;          /* stream_finish was called */
    bool shut : 1;               /* the sending side is shut */
    bool over : 1;               /* nothing goes either way any more */
    bool told : 1;               /* closed() was called */
    bool dead : 1;               /* stream_destroy was called */
    struct stream_count count[]; /* [1] where the limits ask for it, else [0] */
};

_Static_assert(sizeof(struct stream) <= 168, "an idle client stays small");
_Static_assert(offsetof(struct stream, event) == 0, "an event's address is its stream's");

/* The argument of its event. */
static struct stream_kind *kind_of(const struct stream *s)
{
    return event_get_callback_arg(&s->event);
}

static void at_turn_end(void *arg);

static void list(struct stream *s)
{
    if (s->listed)
        return;
    struct loop *l = kind_of(s)->loop;
    struct loop_crowd *crowd = loop_streams(l);
    s->listed = true;
    s->next = NULL;
    if (crowd->last)
        crowd->last->next = s;
    else
        crowd->first = s;
    crowd->last = s;
    crowd->deferred.fn = at_turn_end;
    crowd->deferred.arg = l;
    loop_defer(l, &crowd->deferred);
}

/* The connection is over; closed() follows at the end of the turn. */
static void end(struct stream *s, enum stream_end why)
{
    if (s->over)
        return;
    s->over = true;
    s->end = (uint8_t)(s->finishing ? STREAM_LINGERED : why);
    if (s->watched)
        event_del(&s->event);
    s->watched = 0;
    list(s);
}

static void on_socket(evutil_socket_t fd, short what, void *arg);

/* Wait for what this state needs. Rarely more than once in a connection's life: a write that the
 * kernel takes whole changes nothing here. */
static void watch(struct stream *s)
{
    short want = 0;
    if (!s->over && !s->dead) {
        if (!s->paused || s->finishing)
            want |= EV_READ;
        if (s->blocked)
            want |= EV_WRITE;
    }
    if (want == (short)s->watched)
        return;
    if (s->watched)
        event_del(&s->event);
    s->watched = (uint8_t)want;
    if (!want)
        return;
    struct stream_kind *kind = kind_of(s);
    event_assign(&s->event, loop_base(kind->loop), s->fd, (short)(want | EV_PERSIST), on_socket,
                 kind);
    if (event_add(&s->event, NULL) < 0) {
        s->watched = 0;
        end(s, STREAM_RESET);
    }
}

/* --- writing ---------------------------------------------------------------------------------- */

/* What the kernel took of the pieces, bytes; where the connection broke, its end is noted. */
static size_t transmit(struct stream *s, struct iovec *pieces, size_t n)
{
    struct msghdr m = {.msg_iov = pieces, .msg_iovlen = n};
    const int flags = MSG_NOSIGNAL | MSG_DONTWAIT;
    ssize_t sent;
    do {
        sent = n == 1 ? send(s->fd, pieces->iov_base, pieces->iov_len, flags)
                      : sendmsg(s->fd, &m, flags);
    } while (sent < 0 && errno == EINTR);

    if (sent >= 0) {
        if (s->counted)
            s->count->bytes_out += (uint64_t)sent;
        return (size_t)sent;
    }
    /* ENOBUFS: the kernel is short of memory just now; that ends like a full buffer. */
    if (errno != EAGAIN && errno != EWOULDBLOCK && errno != ENOBUFS)
        end(s, STREAM_RESET);
    return 0;
}

static void send_queued(struct stream *s)
{
    if (stream_queued(s) == 0 || s->over)
        return;
    struct piece *q = s->queued;
    struct iovec all = {.iov_base = q->bytes + q->off, .iov_len = q->len};
    size_t sent = transmit(s, &all, 1);
    if (s->over)
        return;
    piece_consume(&s->queued, sent, kind_of(s)->limits->queue_keep);
    s->blocked = stream_queued(s) > 0;
    watch(s);
}

/* May `n` bytes more be queued? If so, there is room for them. */
static int reserve(struct stream *s, size_t n)
{
    size_t hard = kind_of(s)->limits->queue_hard;
    size_t have = stream_queued(s);
    if (hard && (have > hard || n > hard - have))
        return E_FULL;
    size_t cap = s->queued ? s->queued->cap * 2 : STREAM_QUEUE_MIN;
    if (hard && cap > hard)
        cap = hard;
    return piece_room(&s->queued, n, cap) ? 0 : E_NOMEM;
}

int stream_write2(struct stream *s, struct span a, struct span b)
{
    if (s->over || s->finishing || s->dead)
        return E_CLOSED;
    if (a.n + b.n == 0)
        return 0;
    int err = reserve(s, a.n + b.n);
    if (err)
        return err;
    piece_append(s->queued, a);
    piece_append(s->queued, b);
    list(s);
    return 0;
}

int stream_write(struct stream *s, struct span bytes)
{
    return stream_write2(s, bytes, (struct span){0});
}

/* Queue what is behind the first `skip` bytes of the pieces. */
static int queue_rest(struct stream *s, const struct iovec *pieces, uint32_t n, size_t skip,
                      size_t bytes)
{
    int err = reserve(s, bytes - skip);
    if (err)
        return err;
    for (uint32_t i = 0; i < n; i++) {
        size_t gone = skip < pieces[i].iov_len ? skip : pieces[i].iov_len;
        skip -= gone;
        piece_append(s->queued,
                     span_of((const uint8_t *)pieces[i].iov_base + gone, pieces[i].iov_len - gone));
    }
    list(s);
    return 0;
}

int stream_send(struct stream *s, const struct span *pieces, uint32_t n)
{
    struct iovec at[STREAM_PIECES_MAX];
    size_t bytes = 0, sent = 0;

    ASSERT(n <= STREAM_PIECES_MAX);
    if (s->over || s->finishing || s->dead)
        return E_CLOSED;
    for (uint32_t i = 0; i < n; i++) {
        at[i] = (struct iovec){.iov_base = (void *)(uintptr_t)pieces[i].p, .iov_len = pieces[i].n};
        bytes += pieces[i].n;
    }
    if (bytes == 0)
        return 0;
    if (stream_queued(s) > 0)
        return queue_rest(s, at, n, 0, bytes);
    size_t hard = kind_of(s)->limits->queue_hard;
    if (hard && bytes > hard)
        return E_FULL;
    sent = transmit(s, at, n);
    if (sent == bytes)
        return 0;
    if (s->over)
        return E_CLOSED;
    int err = queue_rest(s, at, n, sent, bytes);
    if (err) {
        /* A part of a frame is out: nothing can follow it. */
        end(s, STREAM_RESET);
        return err;
    }
    s->blocked = true;
    watch(s);
    return 0;
}

void stream_flush(struct stream *s)
{
    if (s->blocked || s->dead)
        return;
    send_queued(s);
    /* The limits are looked at where the owner may be called. */
    list(s);
}

size_t stream_queued(const struct stream *s)
{
    return s->queued ? s->queued->len : 0;
}

size_t stream_unsent(const struct stream *s)
{
    int n = 0;
    bool known = !s->dead && ioctl(s->fd, SIOCOUTQ, &n) == 0;
    return stream_queued(s) + (known ? (size_t)n : 0);
}

struct stream_count stream_counted(const struct stream *s)
{
    return s->counted ? *s->count : (struct stream_count){0};
}

static void tell_pressure(struct stream *s)
{
    size_t soft = kind_of(s)->limits->queue_soft;
    if (!soft || s->over || s->finishing)
        return;
    size_t have = stream_queued(s);
    bool on = s->pressed ? have > soft / 2 : have > soft;
    if (on == s->pressed)
        return;
    s->pressed = on;
    if (kind_of(s)->ops->pressure)
        kind_of(s)->ops->pressure(s->arg, on);
}

/* --- reading ---------------------------------------------------------------------------------- */

static bool deaf(const struct stream *s)
{
    return s->over || s->dead || s->finishing;
}

/* Hand up until the owner takes no more; how much it took. One call is the rule; the others are
 * for an owner that takes its frames in portions and leaves more than one behind. */
static size_t hand_up(struct stream *s, struct span bytes)
{
    size_t taken = 0;
    while (bytes.n - taken > 0 && !deaf(s)) {
        size_t n = kind_of(s)->ops->data(s->arg, span_of(bytes.p + taken, bytes.n - taken));
        ASSERT(n <= bytes.n - taken);
        taken += n;
        size_t left = bytes.n - taken;
        if (s->paused || left <= kind_of(s)->limits->keep_max)
            break;
        if (n == 0) {
            /* More than the largest frame, and no frame in it. */
            end(s, STREAM_RESET);
            break;
        }
    }
    return taken;
}

/* recv into `at`; 0 where nothing came, and the end is noted where it is one. */
static size_t receive(struct stream *s, uint8_t *at, size_t room)
{
    ssize_t n;
    do {
        n = recv(s->fd, at, room, MSG_DONTWAIT);
    } while (n < 0 && errno == EINTR);
    if (n > 0) {
        if (s->counted)
            s->count->bytes_in += (uint64_t)n;
        return (size_t)n;
    }
    if (n == 0)
        end(s, STREAM_EOF);
    else if (errno != EAGAIN && errno != EWOULDBLOCK)
        end(s, STREAM_RESET);
    return 0;
}

/* Into the loop's buffer, behind a copy of the little that is kept. */
static void read_short(struct stream *s)
{
    uint8_t *buf = loop_read_buffer(kind_of(s)->loop);
    size_t have = s->kept ? s->kept->len : 0;
    size_t most = kind_of(s)->limits->read_max;
    if (!most || most > LOOP_READ_BYTES - have)
        most = LOOP_READ_BYTES - have;
    size_t got = receive(s, buf + have, most);
    if (got == 0)
        return;
    if (have > 0)
        memcpy(buf, s->kept->bytes + s->kept->off, have);

    size_t taken = hand_up(s, span_of(buf, have + got));
    size_t left = have + got - taken;
    if (deaf(s)) /* what is kept went, or goes, with the stream */
        return;
    if (left == 0) {
        piece_drop(&s->kept);
        return;
    }
    if (s->kept) {
        s->kept->off = 0;
        s->kept->len = 0;
    }
    if (!piece_room(&s->kept, left, left)) {
        end(s, STREAM_RESET);
        return;
    }
    piece_append(s->kept, span_of(buf + taken, left));
}

/* Hand up what is kept, where it lies. */
static void hand_up_kept(struct stream *s)
{
    struct piece *k = s->kept;
    s->kept = NULL; /* the owner looks at it, and may finish the stream meanwhile */
    size_t taken = hand_up(s, piece_span(k));
    if (deaf(s)) {
        free(k);
        return;
    }
    piece_consume(&k, taken, 0);
    s->kept = k;
}

/* Straight behind what is kept, in its own buffer. */
static void read_long(struct stream *s)
{
    /* One byte more than may be kept, so that there is room to read and an overrun shows. */
    size_t most = kind_of(s)->limits->keep_max + 1;
    size_t len = s->kept->len;
    size_t cap = len * 2 < most ? len * 2 : most;
    if (!piece_room(&s->kept, cap - len, cap)) {
        end(s, STREAM_RESET);
        return;
    }
    struct piece *k = s->kept;
    size_t got = receive(s, k->bytes + k->off + len, k->cap - k->off - len);
    if (got == 0)
        return;
    k->len += got;
    hand_up_kept(s);
}

static void on_socket(evutil_socket_t fd, short what, void *arg)
{
    const struct stream_kind *kind = arg;
    struct stream *s = (struct stream *)event_base_get_running_event(loop_base(kind->loop));
    (void)fd;
    if ((what & EV_WRITE) && s->blocked) {
        s->blocked = false;
        send_queued(s);
        list(s);
    }
    if (!(what & EV_READ) || s->over)
        return;
    if (s->finishing)
        receive(s, loop_read_buffer(kind->loop), LOOP_READ_BYTES); /* and drop it */
    else if (s->kept && s->kept->len > STREAM_SHORT_KEEP)
        read_long(s);
    else
        read_short(s);
}

void stream_read_pause(struct stream *s, bool paused)
{
    if (s->paused == paused || s->dead)
        return;
    s->paused = paused;
    if (!paused) {
        s->again = true;
        list(s);
    }
    watch(s);
}

/* --- ending ----------------------------------------------------------------------------------- */

static void on_linger_over(void *arg)
{
    struct stream *s = arg;
    end(s, STREAM_LINGERED);
}

void stream_finish(struct stream *s, int64_t linger_ns)
{
    if (deaf(s))
        return;
    piece_drop(&s->kept);
    s->finishing = true;
    list(s);
    if (loop_timer_create(kind_of(s)->loop, on_linger_over, s, &s->linger) != 0) {
        end(s, STREAM_LINGERED);
        return;
    }
    loop_timer_arm(s->linger, linger_ns);
    watch(s);
}

static void destroy(struct stream *s, bool reset)
{
    if (!s || s->dead)
        return;
    s->dead = true;
    if (s->watched)
        event_del(&s->event);
    s->watched = 0;
    if (s->finishing) {
        loop_timer_destroy(s->linger);
        s->linger = NULL;
    }
    int fd = s->fd;
    struct linger now = {.l_onoff = 1, .l_linger = 0};
    if (reset)
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
    close(fd);
    list(s);
}

void stream_destroy(struct stream *s)
{
    destroy(s, false);
}

void stream_abort(struct stream *s)
{
    destroy(s, true);
}

static void finish_on(struct stream *s)
{
    if (stream_queued(s) == 0 && !s->shut) {
        s->shut = true;
        shutdown(s->fd, SHUT_WR);
    }
}

/* Everything that a stream may have to do at the end of a turn. The owner may do anything in the
 * calls; `dead` is looked at after each. */
static void end_turn(struct stream *s)
{
    if (!s->over && !s->blocked)
        send_queued(s);
    if (s->over) {
        if (!s->told) {
            s->told = true;
            kind_of(s)->ops->closed(s->arg, (enum stream_end)s->end);
        }
        return;
    }
    if (s->finishing) {
        finish_on(s);
        return;
    }
    tell_pressure(s);
    if (s->again && !s->paused) {
        s->again = false;
        if (s->kept)
            hand_up_kept(s);
    }
}

static void at_turn_end(void *arg)
{
    struct loop_crowd *crowd = loop_streams(arg);
    while (crowd->first) {
        struct stream *s = crowd->first;
        crowd->first = s->next;
        if (!crowd->first)
            crowd->last = NULL;
        s->listed = false;
        if (s->dead) {
            if (!s->finishing)
                piece_drop(&s->kept);
            piece_drop(&s->queued);
            stream_kind_leave(kind_of(s));
            free(s);
        } else {
            end_turn(s);
        }
    }
}

int stream_create(struct loop *l, int fd, const struct stream_limits *limits,
                  const struct stream_ops *ops, void *arg, struct stream **out)
{
    ASSERT(fd >= 0);
    ASSERT(limits->keep_max >= 1);
    struct stream *s = calloc(1, sizeof(*s) + (limits->counted ? sizeof(struct stream_count) : 0));
    struct stream_kind *kind = s ? stream_kind_join(l, limits, ops) : NULL;
    if (!kind) {
        free(s);
        close(fd);
        return E_NOMEM;
    }
    s->arg = arg;
    s->fd = fd;
    s->counted = limits->counted;

    int on = 1;
    /* Refused by sockets that are not TCP, which have no delay either. */
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    if (limits->sndbuf > 0)
        setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &limits->sndbuf, sizeof(limits->sndbuf));

    s->watched = EV_READ;
    if (event_assign(&s->event, loop_base(l), fd, EV_READ | EV_PERSIST, on_socket, kind) < 0 ||
        event_add(&s->event, NULL) < 0) {
        stream_kind_leave(kind);
        free(s);
        close(fd);
        return E_IO;
    }
    *out = s;
    return 0;
}
