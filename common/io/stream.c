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
 * Under a seal (TLS) only the last step to and from the socket is another: tls_read for recv,
 * tls_send for send. What is queued is what the owner wrote, not what the seal makes of it.
 *
 * May touch: libevent, sockets. Never: what the bytes mean.
 * On trouble: the connection is over and the owner is told at the end of the turn.
 */
#include "common/err.h"
#include "common/io/stream_own.h"
#include "common/io/tls.h"

#include <errno.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

/* Up to here, what is kept is put before the next read in the loop's buffer; above, the copying
 * would cost more than a buffer of its own to read into. */
#define STREAM_SHORT_KEEP (LOOP_READ_BYTES / 4)

static void at_turn_end(void *arg);

void stream_own_list(struct stream *s)
{
    if (s->listed)
        return;
    struct loop *l = stream_own_kind(s)->loop;
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
void stream_own_end(struct stream *s, enum stream_end why)
{
    if (s->over)
        return;
    s->over = true;
    s->end = (uint8_t)(s->finishing ? STREAM_LINGERED : why);
    if (s->watched)
        event_del(&s->event);
    s->watched = 0;
    stream_own_list(s);
}

static void on_socket(evutil_socket_t fd, short what, void *arg);

/* Wait for what this state needs. Rarely more than once in a connection's life: a write that the
 * kernel takes whole changes nothing here. */
void stream_own_watch(struct stream *s)
{
    short want = 0;
    if (!s->over && !s->dead) {
        if (!s->paused || s->finishing)
            want |= EV_READ;
        if (s->blocked || (s->in_by_out && !s->paused))
            want |= EV_WRITE;
    }
    if (want == (short)s->watched)
        return;
    if (s->watched)
        event_del(&s->event);
    s->watched = (uint8_t)want;
    if (!want)
        return;
    struct stream_kind *kind = stream_own_kind(s);
    event_assign(&s->event, loop_base(kind->loop), s->fd, (short)(want | EV_PERSIST), on_socket,
                 kind);
    if (event_add(&s->event, NULL) < 0) {
        s->watched = 0;
        stream_own_end(s, STREAM_RESET);
    }
}

static void tell_pressure(struct stream *s)
{
    size_t soft = stream_own_kind(s)->limits->queue_soft;
    if (!soft || s->over || s->finishing)
        return;
    size_t have = stream_queued(s);
    bool on = s->pressed ? have > soft / 2 : have > soft;
    if (on == s->pressed)
        return;
    s->pressed = on;
    if (stream_own_kind(s)->ops->pressure)
        stream_own_kind(s)->ops->pressure(s->arg, on);
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
        const struct stream_kind *kind = stream_own_kind(s);
        struct loop *l = kind->loop; /* the kind may go with another owner */
        struct span rest = span_of(bytes.p + taken, bytes.n - taken);
        if (kind->limits->batch)
            stream_own_batch_begin(l, rest);
        size_t n = kind->ops->data(s->arg, rest);
        stream_own_batch_end(l);
        ASSERT(n <= rest.n);
        taken += n;
        size_t left = bytes.n - taken;
        if (s->paused || left <= stream_own_kind(s)->limits->keep_max)
            break;
        if (n == 0) {
            /* More than the largest frame, and no frame in it. */
            stream_own_end(s, STREAM_RESET);
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
        stream_own_end(s, STREAM_EOF);
    else if (errno != EAGAIN && errno != EWOULDBLOCK)
        stream_own_end(s, STREAM_RESET);
    return 0;
}

/* The same through its seal. An end that comes behind bytes waits until those are handed up. */
static size_t receive_sealed(struct stream *s, uint8_t *at, size_t room)
{
    enum tls_state state;
    const size_t got = tls_read(*stream_own_seal(s), at, room, &state);

    if (s->counted)
        s->count->bytes_in += got;
    s->in_by_out = state == TLS_OUT;
    stream_own_watch(s);
    if (state != TLS_ENDED && state != TLS_BROKEN)
        return got;
    const enum stream_end why = state == TLS_ENDED ? STREAM_EOF : STREAM_RESET;
    if (got == 0) {
        stream_own_end(s, why);
        return 0;
    }
    s->last_in = true;
    s->end = (uint8_t)why;
    s->again = true;
    stream_own_list(s);
    return got;
}

/* Into the loop's buffer, behind a copy of the little that is kept. */
static void read_short(struct stream *s)
{
    uint8_t *buf = loop_read_buffer(stream_own_kind(s)->loop);
    size_t have = s->kept ? s->kept->len : 0;
    size_t most = stream_own_kind(s)->limits->read_max;
    if (s->sealed && most && most < TLS_READ_MIN)
        most = TLS_READ_MIN;
    if (!most || most > LOOP_READ_BYTES - have)
        most = LOOP_READ_BYTES - have;
    size_t got = s->sealed ? receive_sealed(s, buf + have, most) : receive(s, buf + have, most);
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
        stream_own_end(s, STREAM_RESET);
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
    size_t most = stream_own_kind(s)->limits->keep_max + 1;
    size_t len = s->kept->len;
    size_t cap = len * 2 < most ? len * 2 : most;
    if (!piece_room(&s->kept, cap - len, cap)) {
        stream_own_end(s, STREAM_RESET);
        return;
    }
    struct piece *k = s->kept;
    size_t got = receive(s, k->bytes + k->off + len, k->cap - k->off - len);
    if (got == 0)
        return;
    k->len += got;
    hand_up_kept(s);
}

/* The same under a seal, which needs more room than that buffer may have. */
static void read_long_sealed(struct stream *s)
{
    uint8_t *buf = loop_read_buffer(stream_own_kind(s)->loop);
    size_t got = receive_sealed(s, buf, LOOP_READ_BYTES);

    if (got == 0)
        return;
    if (!piece_room(&s->kept, got, (s->kept->len + got) * 2)) {
        stream_own_end(s, STREAM_RESET);
        return;
    }
    piece_append(s->kept, span_of(buf, got));
    hand_up_kept(s);
}

static void on_socket(evutil_socket_t fd, short what, void *arg)
{
    const struct stream_kind *kind = arg;
    struct stream *s = (struct stream *)event_base_get_running_event(loop_base(kind->loop));
    (void)fd;
    const bool in = (what & EV_READ) || ((what & EV_WRITE) && s->in_by_out && !s->paused);
    if ((what & EV_WRITE) && s->blocked) {
        s->blocked = false;
        stream_own_send_queued(s);
        stream_own_list(s);
    }
    if (!in || s->over)
        return;
    if (s->finishing)
        receive(s, loop_read_buffer(kind->loop), LOOP_READ_BYTES); /* and drop it, sealed or not */
    else if (s->last_in)
        return;
    else if (!s->kept || s->kept->len <= STREAM_SHORT_KEEP)
        read_short(s);
    else if (s->sealed)
        read_long_sealed(s);
    else
        read_long(s);
}

void stream_read_pause(struct stream *s, bool paused)
{
    if (s->paused == paused || s->dead)
        return;
    s->paused = paused;
    if (!paused) {
        s->again = true;
        stream_own_list(s);
    }
    stream_own_watch(s);
}

int stream_hand(struct stream *s, const struct stream_limits *limits, const struct stream_ops *ops,
                void *arg)
{
    ASSERT(limits->keep_max >= 1);
    ASSERT(limits->counted == s->counted);
    ASSERT(!deaf(s));
    struct stream_kind *before = stream_own_kind(s);
    struct loop *l = before->loop;
    struct stream_kind *kind = stream_kind_join(l, limits, ops);
    if (!kind)
        return E_NOMEM;
    if (s->watched)
        event_del(&s->event);
    s->watched = 0;
    event_assign(&s->event, loop_base(l), s->fd, EV_READ | EV_PERSIST, on_socket, kind);
    stream_kind_leave(before);
    s->arg = arg;
    s->again = true;
    stream_own_list(s);
    stream_own_watch(s);
    return 0;
}

/* --- ending ----------------------------------------------------------------------------------- */

static void on_linger_over(void *arg)
{
    struct stream *s = arg;
    stream_own_end(s, STREAM_LINGERED);
}

void stream_finish(struct stream *s, int64_t linger_ns)
{
    if (deaf(s))
        return;
    stream_own_land(s);
    piece_drop(&s->kept);
    s->finishing = true;
    s->in_by_out = false;
    stream_own_list(s);
    if (loop_timer_create(stream_own_kind(s)->loop, on_linger_over, s, &s->linger) != 0) {
        stream_own_end(s, STREAM_LINGERED);
        return;
    }
    loop_timer_arm(s->linger, linger_ns);
    stream_own_watch(s);
}

/* The peer is told nothing, of the end, or of a fault. */
enum farewell { FAREWELL_NONE, FAREWELL_END, FAREWELL_RESET };

static void destroy(struct stream *s, enum farewell farewell)
{
    if (!s || s->dead)
        return;
    stream_own_land(s);
    if (s->sealed) {
        if (farewell == FAREWELL_END && !s->shut && !(s->over && s->end == STREAM_RESET))
            (void)tls_shut(*stream_own_seal(s)); /* where the kernel has no room, the end says it */
        tls_seal_free(*stream_own_seal(s));
    }
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
    if (farewell == FAREWELL_RESET)
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
    close(fd);
    stream_own_list(s);
}

void stream_destroy(struct stream *s)
{
    destroy(s, FAREWELL_END);
}

void stream_abort(struct stream *s)
{
    destroy(s, FAREWELL_RESET);
}

int stream_leave(struct stream *s)
{
    int fd = fcntl(s->fd, F_DUPFD_CLOEXEC, 0);

    destroy(s, FAREWELL_NONE);
    return fd;
}

static void finish_on(struct stream *s)
{
    if (stream_queued(s) > 0 || s->shut)
        return;
    s->blocked = s->sealed && !tls_shut(*stream_own_seal(s));
    stream_own_watch(s);
    if (s->blocked)
        return;
    s->shut = true;
    shutdown(s->fd, SHUT_WR);
}

/* Everything that a stream may have to do at the end of a turn. The owner may do anything in the
 * calls; `dead` is looked at after each. */
static void end_turn(struct stream *s)
{
    if (!s->over && !s->blocked)
        stream_own_send_queued(s);
    if (s->over) {
        if (!s->told) {
            s->told = true;
            stream_own_kind(s)->ops->closed(s->arg, (enum stream_end)s->end);
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
        if (s->last_in && !s->paused && !deaf(s))
            stream_own_end(s, (enum stream_end)s->end);
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
            stream_kind_leave(stream_own_kind(s));
            free(s);
        } else {
            end_turn(s);
        }
    }
}

int stream_create_sealed(struct loop *l, int fd, struct ssl_st *seal,
                         const struct stream_limits *limits, const struct stream_ops *ops,
                         void *arg, struct stream **out)
{
    ASSERT(fd >= 0);
    ASSERT(limits->keep_max >= 1);
    struct stream *s = calloc(1, sizeof(*s) + (limits->counted ? sizeof(struct stream_count) : 0) +
                                     (seal ? sizeof(seal) : 0));
    struct stream_kind *kind = s ? stream_kind_join(l, limits, ops) : NULL;
    if (!kind) {
        free(s);
        tls_seal_free(seal);
        close(fd);
        return E_NOMEM;
    }
    s->arg = arg;
    s->fd = fd;
    s->counted = limits->counted;
    s->sealed = seal != NULL;
    if (seal)
        *stream_own_seal(s) = seal;

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
        tls_seal_free(seal);
        close(fd);
        return E_IO;
    }
    *out = s;
    return 0;
}

int stream_create(struct loop *l, int fd, const struct stream_limits *limits,
                  const struct stream_ops *ops, void *arg, struct stream **out)
{
    return stream_create_sealed(l, fd, NULL, limits, ops, arg, out);
}
