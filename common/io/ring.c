/* common/io/ring.c: see the header.
 *
 *   ring_put ─► sends [RING_SENDS], one entry of the submission queue each
 *   ring_flush ─► one io_uring_enter: the kernel tries each at once ─► completions ─► done
 */
#include "common/io/ring.h"

#ifdef AEGIS_PART_LIBURING

#include "common/err.h"

#include <errno.h>
#include <liburing.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

struct ring_send {
    void *owner;
    uint32_t first, n; /* pieces */
    struct msghdr message;
    ptrdiff_t sent;
};

struct ring {
    struct io_uring uring;
    ring_done_fn *done;
    bool broken; /* given up */
    uint32_t n, n_pieces;
    struct ring_send sends[RING_SENDS];
    struct iovec pieces[RING_PIECES];
};

struct ring *ring_create(ring_done_fn *done, int *err)
{
    struct ring *r = calloc(1, sizeof(*r));
    struct io_uring_params params = {.flags =
                                         IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_COOP_TASKRUN};

    if (!r) {
        *err = ENOMEM;
        return NULL;
    }
    *err = -io_uring_queue_init_params(RING_SENDS, &r->uring, &params);
    if (*err == EINVAL) { /* a kernel before 6.0 has no such flags */
        params = (struct io_uring_params){0};
        *err = -io_uring_queue_init_params(RING_SENDS, &r->uring, &params);
    }
    if (*err != 0) {
        free(r);
        return NULL;
    }
    r->done = done;
    return r;
}

void ring_destroy(struct ring *r)
{
    if (!r)
        return;
    ASSERT(r->n == 0);
    io_uring_queue_exit(&r->uring);
    free(r);
}

bool ring_put(struct ring *r, int fd, const struct iovec *pieces, uint32_t n, void *owner)
{
    const int flags = MSG_NOSIGNAL | MSG_DONTWAIT;
    struct ring_send *send = &r->sends[r->n];
    struct io_uring_sqe *e;

    if (r->broken || r->n == RING_SENDS || n > RING_PIECES - r->n_pieces)
        return false;
    e = io_uring_get_sqe(&r->uring);
    ASSERT(e); /* there is one for each send */
    *send = (struct ring_send){.owner = owner, .first = r->n_pieces, .n = n, .sent = RING_UNSENT};
    memcpy(r->pieces + r->n_pieces, pieces, n * sizeof(*pieces));
    r->n_pieces += n;
    if (n == 1) {
        io_uring_prep_send(e, fd, pieces->iov_base, pieces->iov_len, flags);
    } else {
        send->message.msg_iov = r->pieces + send->first;
        send->message.msg_iovlen = n;
        io_uring_prep_sendmsg(e, fd, &send->message, (unsigned)flags);
    }
    io_uring_sqe_set_data64(e, r->n++);
    return true;
}

/* Hand them over until all are done, or, where that fails, those that the kernel began. */
static void submit(struct ring *r)
{
    uint32_t begun = 0, ended = 0;

    while (ended < r->n) {
        struct io_uring_cqe *c;
        unsigned head, seen = 0;
        int n = io_uring_submit_and_wait(&r->uring, begun < r->n ? r->n - ended : 1);

        if (n == -EINTR || n == -EAGAIN)
            n = 0;
        if (n < 0)
            r->broken = true; /* what it began before is waited for below */
        begun += n > 0 ? (uint32_t)n : 0;
        io_uring_for_each_cqe(&r->uring, head, c)
        {
            r->sends[io_uring_cqe_get_data64(c)].sent = c->res;
            seen++;
        }
        io_uring_cq_advance(&r->uring, seen);
        ended += seen;
        if (r->broken && ended >= begun)
            break;
    }
}

void ring_flush(struct ring *r)
{
    uint32_t n = r->n;

    if (n == 0)
        return;
    submit(r);
    r->n = r->n_pieces = 0; /* `done` puts nothing in */
    for (uint32_t i = 0; i < n; i++) {
        const struct ring_send *send = &r->sends[i];

        r->done(send->owner, r->pieces + send->first, send->n, send->sent);
    }
}

#else

struct ring *ring_create(ring_done_fn *done, int *err)
{
    (void)done;
    *err = 0;
    return NULL;
}

void ring_destroy(struct ring *r)
{
    (void)r;
}

bool ring_put(struct ring *r, int fd, const struct iovec *pieces, uint32_t n, void *owner)
{
    (void)r;
    (void)fd;
    (void)pieces;
    (void)n;
    (void)owner;
    return false;
}

void ring_flush(struct ring *r)
{
    (void)r;
}

#endif
