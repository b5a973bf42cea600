/* common/io/ring.h: many sends handed to the kernel in one call (io_uring), where it has that.
 * Sends are put in, and all are done when ring_flush returns: each one's result is told from there,
 * in the order in which they were put. Not blocking: a send that would have to wait is told as
 * -EAGAIN. For stream_send.c only. May touch: liburing.
 * On trouble: a kernel that does not know it, or does not allow it, is no ring; one that stops
 * working is given up, and what it had not begun is told as RING_UNSENT, for the caller to send.
 */
#pragma once

#include "common/base.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/uio.h>

struct ring;

#define RING_SENDS  512         /* between two flushes */
#define RING_PIECES 2048        /* of those of more than one piece */
#define RING_UNSENT PTRDIFF_MIN /* a result: nothing was tried */

/* `owner` as it was put. `sent`: bytes, or minus errno, or RING_UNSENT. */
typedef void ring_done_fn(void *owner, struct iovec *pieces, uint32_t n, ptrdiff_t sent);

/* NULL: it cannot be had; *err is why, as errno says it (0: built without). */
struct ring *ring_create(ring_done_fn *done, int *err);
void ring_destroy(struct ring *r); /* NULL is fine; nothing is in it */
/* Send the pieces [n >= 1], whose bytes stay where they are until the next flush. False: no room
 * before a flush, or given up. */
bool ring_put(struct ring *r, int fd, const struct iovec *pieces, uint32_t n,
              void *owner) MUST_CHECK;
void ring_flush(struct ring *r);
