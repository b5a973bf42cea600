/* common/io/stream_send.c: a stream's way out; see stream.c.
 * While the owner of a stream looks at what came (and asked for it, `batch`), what it sends from
 * those very bytes to other streams is put into the loop's ring, and handed to the kernel in one
 * call when it is through. A stream with a send in the ring is flying; whatever else is asked of it
 * lands it first, so nobody sees the difference. Without a ring each send is a call.
 * May touch: libevent, sockets. On trouble: as stream.c.
 */
#include "common/io/stream.h"

#include "common/err.h"
#include "common/io/ring.h"
#include "common/io/stream_own.h"
#include "common/io/tls.h"
#include "common/log.h"

#include <errno.h>
#include <linux/sockios.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>

/* The first size of a queue; it doubles. */
#define STREAM_QUEUE_MIN 512

/* What a call or the ring said of a send: bytes that the kernel took. Where the connection broke,
 * its end is noted. */
static size_t sent_of(struct stream *s, ptrdiff_t sent)
{
    if (sent >= 0) {
        if (s->counted)
            s->count->bytes_out += (uint64_t)sent;
        return (size_t)sent;
    }
    /* ENOBUFS: the kernel is short of memory just now; that ends like a full buffer. */
    if (sent != -EAGAIN && sent != -EWOULDBLOCK && sent != -ENOBUFS && sent != -EINTR)
        stream_own_end(s, STREAM_RESET);
    return 0;
}

/* What the kernel took of the pieces, bytes. */
static size_t transmit(struct stream *s, struct iovec *pieces, size_t n)
{
    struct msghdr m = {.msg_iov = pieces, .msg_iovlen = n};
    const int flags = MSG_NOSIGNAL | MSG_DONTWAIT;
    ssize_t sent;
    if (s->sealed)
        return sent_of(s, tls_send(*stream_own_seal(s), pieces, n));
    do {
        sent = n == 1 ? send(s->fd, pieces->iov_base, pieces->iov_len, flags)
                      : sendmsg(s->fd, &m, flags);
    } while (sent < 0 && errno == EINTR);
    return sent_of(s, sent >= 0 ? sent : -errno);
}

void stream_own_send_queued(struct stream *s)
{
    if (stream_queued(s) == 0 || s->over)
        return;
    struct piece *q = s->queued;
    struct iovec all = {.iov_base = q->bytes + q->off, .iov_len = q->len};
    size_t sent = transmit(s, &all, 1);
    if (s->over)
        return;
    piece_consume(&s->queued, sent, stream_own_kind(s)->limits->queue_keep);
    s->blocked = stream_queued(s) > 0;
    stream_own_watch(s);
}

/* May `n` bytes more be queued? If so, there is room for them. */
static int reserve(struct stream *s, size_t n)
{
    size_t hard = stream_own_kind(s)->limits->queue_hard;
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
    stream_own_land(s);
    if (s->over || s->finishing || s->dead)
        return E_CLOSED;
    if (a.n + b.n == 0)
        return 0;
    int err = reserve(s, a.n + b.n);
    if (err)
        return err;
    piece_append(s->queued, a);
    piece_append(s->queued, b);
    stream_own_list(s);
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
    stream_own_list(s);
    return 0;
}

/* `sent` of the pieces' bytes are out, and nothing is queued: the rest is. */
static int send_rest(struct stream *s, const struct iovec *pieces, uint32_t n, size_t sent,
                     size_t bytes)
{
    if (sent == bytes)
        return 0;
    if (s->over)
        return E_CLOSED;
    int err = queue_rest(s, pieces, n, sent, bytes);
    if (err) {
        /* A part of a frame is out: nothing can follow it. */
        stream_own_end(s, STREAM_RESET);
        return err;
    }
    s->blocked = true;
    stream_own_watch(s);
    return 0;
}

/* --- sends that leave together ------------------------------------------------------------------
 */

static size_t bytes_of(const struct iovec *pieces, uint32_t n)
{
    size_t bytes = 0;
    for (uint32_t i = 0; i < n; i++)
        bytes += pieces[i].iov_len;
    return bytes;
}

static void on_sent(void *owner, struct iovec *pieces, uint32_t n, ptrdiff_t sent)
{
    struct stream *s = owner;
    s->flying = false;
    size_t took = sent == RING_UNSENT ? transmit(s, pieces, n) : sent_of(s, sent);
    /* No memory ends the stream, of which the owner hears at the end of the turn. */
    (void)send_rest(s, pieces, n, took, bytes_of(pieces, n));
}

/* Put into the ring what lies in the bytes of the batch. */
static bool fly(struct stream *s, const struct iovec *pieces, uint32_t n)
{
    struct loop_crowd *crowd = loop_streams(stream_own_kind(s)->loop);
    if (!crowd->batch || s->sealed)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        const uint8_t *p = pieces[i].iov_base;
        if (p < crowd->batch || p + pieces[i].iov_len > crowd->batch_end)
            return false;
    }
    if (!ring_put(crowd->ring, s->fd, pieces, n, s)) {
        ring_flush(crowd->ring);
        if (!ring_put(crowd->ring, s->fd, pieces, n, s))
            return false;
    }
    s->flying = true;
    crowd->batched++;
    return true;
}

void stream_own_land(struct stream *s)
{
    if (s->flying)
        ring_flush(loop_streams(stream_own_kind(s)->loop)->ring);
}

void stream_own_batch_begin(struct loop *l, struct span bytes)
{
    struct loop_crowd *crowd = loop_streams(l);
    int err;
    if (!crowd->ring_asked) {
        crowd->ring_asked = true;
        crowd->ring = ring_create(on_sent, &err);
        if (!crowd->ring)
            log_line(LOG_INFO, "io_uring is not used reason=\"%s\"",
                     err ? strerror(err) : "not built in");
    }
    if (!crowd->ring)
        return;
    crowd->batch = bytes.p;
    crowd->batch_end = bytes.p + bytes.n;
}

void stream_own_batch_end(struct loop *l)
{
    struct loop_crowd *crowd = loop_streams(l);
    if (!crowd->batch)
        return;
    ring_flush(crowd->ring);
    crowd->batch = NULL;
}

uint64_t stream_batched(struct loop *l)
{
    return loop_streams(l)->batched;
}

/* --- sending -------------------------------------------------------------------------------------
 */

int stream_send(struct stream *s, const struct span *pieces, uint32_t n)
{
    struct iovec at[STREAM_PIECES_MAX];
    size_t bytes = 0;

    ASSERT(n <= STREAM_PIECES_MAX);
    stream_own_land(s);
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
    size_t hard = stream_own_kind(s)->limits->queue_hard;
    if (hard && bytes > hard)
        return E_FULL;
    if (fly(s, at, n))
        return 0;
    return send_rest(s, at, n, transmit(s, at, n), bytes);
}

void stream_flush(struct stream *s)
{
    stream_own_land(s);
    if (s->blocked || s->dead)
        return;
    stream_own_send_queued(s);
    /* The limits are looked at where the owner may be called. */
    stream_own_list(s);
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
