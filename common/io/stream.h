/* common/io/stream.h: a connected socket with limits both ways.
 * Reading: one read a turn into the loop's buffer, handed up; what the owner does not take is kept
 * here and handed up again, with more, next time. An idle stream holds no buffer.
 * Writing: bytes are queued and sent at the end of the turn in one call, or sent at once from where
 * they lie; write interest is armed only after a short write. An own queue, counted, with a soft
 * and a hard limit, since the kernel of a loopback takes megabytes before it says no. May touch:
 * libevent, sockets. Never: what the bytes mean.
 *
 *   stream_write ─► queue (hard limit: E_FULL) ─► send at the end of the turn ─► kernel (-sndbuf)
 *   stream_send ───────────────────────────────────────── send now ────────────┘ rest ─► queue
 *                     │ above soft: pressure(on)      at most half of soft: pressure(off)
 *
 * On trouble: `closed` is called once, never from inside another call of the owner's into the
 * stream; the stream is freed at the end of the turn in which stream_destroy was called.
 */
#pragma once

#include "common/base.h"
#include "common/io/loop.h"
#include "common/span.h"

struct stream;

enum stream_end {
    STREAM_EOF,     /* the peer shut its side in an orderly way, or under a seal said goodbye */
    STREAM_RESET,   /* the connection broke */
    STREAM_LINGERED /* after stream_finish: the peer closed, or the time was up */
};

struct stream_ops {
    /* Bytes that came, oldest first. Returns how many were taken (0..n); what is left is handed
     * up again with more behind it. The callee may call stream_destroy or stream_finish. */
    size_t (*data)(void *arg, struct span bytes);
    /* The queue went above the soft limit (on), or is down at half of it again (off). May be
     * NULL. */
    void (*pressure)(void *arg, bool on);
    /* The connection is over. The owner calls stream_destroy, now or later. */
    void (*closed)(void *arg, enum stream_end why);
};

struct stream_limits {
    size_t queue_soft; /* bytes; 0: off */
    size_t queue_hard; /* bytes; 0: off */
    size_t queue_keep; /* a drained queue keeps a buffer of so many bytes; 0: it holds none */
    size_t keep_max;   /* unconsumed input at most, bytes: the largest frame with its head */
    size_t read_max;   /* bytes of one read, about; 0: LOOP_READ_BYTES */
    int sndbuf;        /* bytes asked of the kernel; 0: leave as it is */
    bool counted;      /* keep stream_counted: 16 bytes a stream */
    bool batch;        /* what its owner sends on from the bytes of one `data` call to other
                        * streams leaves together, in one call to a kernel that has io_uring */
};

struct stream_count {
    uint64_t bytes_in, bytes_out; /* since the start; 0 unless the limits say `counted` */
};

/* Takes `fd`. TCP_NODELAY is set. `limits` and `ops` are borrowed for the stream's life; they are
 * usually one struct for all streams of a kind. E_NOMEM, E_IO (the fd is closed then). */
int stream_create(struct loop *l, int fd, const struct stream_limits *limits,
                  const struct stream_ops *ops, void *arg, struct stream **out) MUST_CHECK;

/* The same under a seal whose handshake is done (common/io/tls.h); takes both. All is as over a
 * plain one: limits and counts are of the owner's bytes. Sends of it leave alone, not in a batch.
 */
struct ssl_st;
int stream_create_sealed(struct loop *l, int fd, struct ssl_st *seal,
                         const struct stream_limits *limits, const struct stream_ops *ops,
                         void *arg, struct stream **out) MUST_CHECK;

/* Another owner takes it over, from within `data` too: what came and was not taken is handed to it
 * at the end of the turn. `limits` say `counted` as those before did. E_NOMEM: all is as it was. */
int stream_hand(struct stream *s, const struct stream_limits *limits, const struct stream_ops *ops,
                void *arg) MUST_CHECK;

/* Queue bytes (copied). 0, E_FULL (hard limit: nothing queued), E_CLOSED (over or finishing),
 * E_NOMEM. Sent at the end of the turn. */
int stream_write(struct stream *s, struct span bytes) MUST_CHECK;
/* The same for two pieces that belong together: both or none. */
int stream_write2(struct stream *s, struct span a, struct span b) MUST_CHECK;
/* Pieces that belong together, sent now from where they lie if nothing is queued; what the kernel
 * does not take, or all behind what is queued already, is queued (copied). n is at most
 * STREAM_PIECES_MAX. 0; E_FULL: all of it would pass the hard limit, nothing was sent; E_CLOSED:
 * over or finishing, or it broke just now; E_NOMEM. */
#define STREAM_PIECES_MAX 64
int stream_send(struct stream *s, const struct span *pieces, uint32_t n) MUST_CHECK;
/* How many sends of the loop's streams left together, since the start. */
uint64_t stream_batched(struct loop *l);
/* Send now what is queued instead of at the end of the turn. */
void stream_flush(struct stream *s);

/* Bytes queued here and not yet taken by the kernel. */
size_t stream_queued(const struct stream *s);
/* Bytes that the peer's side has not taken: those queued here, and those on their way. Asks the
 * system, so not for every write; stays true in `closed`. */
size_t stream_unsent(const struct stream *s);
struct stream_count stream_counted(const struct stream *s);

/* Stop and go on reading; while paused the kernel's buffer pushes back on the peer. */
void stream_read_pause(struct stream *s, bool paused);

/* Destroy the stream, but not its connection: returns a socket of it, which nobody reads or writes
 * and the caller closes; -1 where the system has no descriptor for that. */
int stream_leave(struct stream *s);

/* End politely: send what is queued, shut the sending side, read and drop what still comes until
 * the peer closes or `linger_ns` is over; then `closed` (STREAM_LINGERED). No `data` after this.
 * Further writes are E_CLOSED. */
void stream_finish(struct stream *s, int64_t linger_ns);

/* End at once. No callback after this. Freed at the end of the turn. NULL is fine. */
void stream_destroy(struct stream *s);
/* As stream_destroy, with an RST instead of a FIN. */
void stream_abort(struct stream *s);
