/* common/io/loop.h: one thread's event loop: timers, signals, the end of a turn.
 * Wraps libevent, which no room outside common/io sees. A turn is: wait, run what is ready, then
 * what was deferred. `loop_now` is read once a turn. May touch: libevent, the clock.
 */
#pragma once

#include "common/base.h"
#include "common/clock.h"

#include <stdbool.h>
#include <sys/time.h>

struct loop;
struct event_base;

typedef void loop_fn(void *arg);
typedef void loop_signal_fn(void *arg, int signo);

/* The version of libevent that runs, for -version. */
const char *loop_library(void);

int loop_create(struct loop **out) MUST_CHECK;
/* Everything made on it must be gone before. */
void loop_destroy(struct loop *l);

/* Turn until loop_stop. */
void loop_run(struct loop *l);
/* One turn, waiting at most `max_wait_ns` (0: not at all). */
void loop_turn(struct loop *l, int64_t max_wait_ns);
void loop_stop(struct loop *l);
bool loop_stopped(const struct loop *l);

/* Monotonic time at the start of this turn's callbacks. */
struct mono loop_now(const struct loop *l);

/* Call `fn` once at the end of this turn, after all callbacks; in the order of the calls. What is
 * deferred by a deferred call runs in the same end of turn. E_NOMEM is asserted away: the entry is
 * the caller's. */
struct loop_deferred {
    struct loop_deferred *next; /* NULL and not queued, or queued */
    bool queued;
    loop_fn *fn;
    void *arg;
};
/* Queues `d` unless it is queued already. `d` must live until it ran or was cancelled. */
void loop_defer(struct loop *l, struct loop_deferred *d);
void loop_defer_cancel(struct loop *l, struct loop_deferred *d);

/* A timer is created stopped; it fires once for each arming. */
struct loop_timer;
int loop_timer_create(struct loop *l, loop_fn *fn, void *arg, struct loop_timer **out) MUST_CHECK;
void loop_timer_destroy(struct loop_timer *t); /* NULL is fine */
void loop_timer_arm(struct loop_timer *t, int64_t delay_ns);
void loop_timer_cancel(struct loop_timer *t);
bool loop_timer_armed(const struct loop_timer *t);

struct loop_signal;
int loop_signal_create(struct loop *l, int signo, loop_signal_fn *fn, void *arg,
                       struct loop_signal **out) MUST_CHECK;
void loop_signal_destroy(struct loop_signal *s); /* NULL is fine */

/* A bell wakes this loop from another thread: after each ring `fn` is called once or more, in the
 * loop's own thread. loop_bell_ring is all of a loop that another thread may call, from bell's
 * creation until its destruction; what was written before it is seen by `fn`. */
struct loop_bell;
int loop_bell_create(struct loop *l, loop_fn *fn, void *arg, struct loop_bell **out) MUST_CHECK;
void loop_bell_ring(struct loop_bell *b);
void loop_bell_destroy(struct loop_bell *b); /* NULL is fine */

/* For the rest of common/io only. */
struct event_base *loop_base(struct loop *l);
/* A buffer of LOOP_READ_BYTES that one callback may use at a time. */
#define LOOP_READ_BYTES 262144
uint8_t *loop_read_buffer(struct loop *l);
/* Rounded up to a microsecond; below 0 is 0. */
struct timeval loop_timeval(int64_t ns);
/* What all streams of a loop share, so that each of many thousand is small: those that have
 * something to do at the end of this turn, with one deferred call for all, and their kinds. Belongs
 * to stream.c. */
struct stream;
struct stream_kind;
struct ring;
struct loop_crowd {
    struct stream_kind *kinds;
    struct stream *first, *last;
    struct loop_deferred deferred;

    struct ring *ring; /* NULL: none, or not asked for yet */
    bool ring_asked;
    const uint8_t *batch, *batch_end; /* bytes whose sends leave together; NULL: not now */
    uint64_t batched;                 /* sends that did, since the start */
};
struct loop_crowd *loop_streams(struct loop *l);
