/* common/io/mailbox.h: records of bytes from any thread to one other, in order.
 * Two buffers of one size, taken at the start: writers append to one of them under a lock, and the
 * reader, who has walked the other, changes them over. Nothing is allocated later.
 *
 *   writers ──► [ filling ]  ⇄  [ being read ] ──► the reader
 *
 * May touch: common, a lock. On trouble: what does not fit is E_FULL and not taken; or, where the
 * writer may wait, it waits until the reader changes buffers.
 */
#pragma once

#include "common/span.h"

struct mailbox;

/* `bytes` for each of the two buffers; a record costs MAILBOX_HEAD more than it has. E_NOMEM. */
#define MAILBOX_HEAD 8
int mailbox_create(size_t bytes, struct mailbox **out) MUST_CHECK;
void mailbox_destroy(struct mailbox *m); /* NULL is fine; nobody uses it any more */

/* Append one record: `kind` and the pieces one behind the other. `first` (may be NULL) tells
 * whether the reader had nothing to read before: it has to be woken. 0 or E_FULL. */
int mailbox_put(struct mailbox *m, uint32_t kind, const struct span *pieces, uint32_t n,
                bool *first) MUST_CHECK;
/* The same, but waits for room. 0; E_CLOSED; E_FULL: it would never fit. */
int mailbox_put_wait(struct mailbox *m, uint32_t kind, const struct span *pieces, uint32_t n,
                     bool *first) MUST_CHECK;
/* No more waiting: who waits gets E_CLOSED, now and later. The reader is woken too. */
void mailbox_close(struct mailbox *m);
bool mailbox_closed(struct mailbox *m);

/* The reader's: the next record; its bytes stay until the next call. False: none is left. */
bool mailbox_take(struct mailbox *m, uint32_t *kind, struct span *bytes) MUST_CHECK;
/* Wait for a record, at most `wait_ns`, or for the close. */
void mailbox_wait(struct mailbox *m, int64_t wait_ns);
