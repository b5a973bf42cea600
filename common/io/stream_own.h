/* common/io/stream_own.h: what stream.c and stream_send.c share: a stream, and its turn.
 * Its size counts, with one of these for each idle client: one event, no buffers, a flag a bit, and
 * nothing that only some need or that several share. May touch: libevent. For those two only.
 */
#pragma once

#include "common/io/piece.h"
#include "common/io/stream.h"
#include "common/io/stream_kind.h"

#include <event2/event.h>
#include <event2/event_struct.h>
#include <stddef.h>

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
    bool flying : 1;             /* a send of it is in the loop's ring */
    bool sealed : 1;             /* TLS: has a seal */
    bool in_by_out : 1;          /* TLS must send before it can read on */
    bool last_in : 1;            /* `end` comes when what came before it was handed up */
    struct stream_count count[]; /* [1] where the limits ask for it, else [0]; behind it, where
                                  * sealed, a struct ssl_st * */
};

_Static_assert(sizeof(struct stream) <= 168, "an idle client stays small");
_Static_assert(offsetof(struct stream, event) == 0, "an event's address is its stream's");

/* The argument of its event. */
static inline struct stream_kind *stream_own_kind(const struct stream *s)
{
    return event_get_callback_arg(&s->event);
}

/* Where its seal is kept. */
static inline struct ssl_st **stream_own_seal(const struct stream *s)
{
    return (struct ssl_st **)(uintptr_t)(s->count + s->counted);
}

/* It has work at the end of this turn. */
void stream_own_list(struct stream *s);
/* The connection is over; closed() follows at the end of the turn. */
void stream_own_end(struct stream *s, enum stream_end why);
/* Wait for what this state needs. Rarely more than once in a connection's life: a write that the
 * kernel takes whole changes nothing here. */
void stream_own_watch(struct stream *s);
/* Send what is queued, as far as the kernel takes it. */
void stream_own_send_queued(struct stream *s);
/* What is sent while the owner looks at these bytes, and lies in them, may leave together: put off
 * until stream_own_batch_end. */
void stream_own_batch_begin(struct loop *l, struct span bytes);
void stream_own_batch_end(struct loop *l);
/* Have a send of it that is in the ring done. */
void stream_own_land(struct stream *s);
