/* tests/common/stream_rig.h: one stream, its owner and its peer in one thread.
 * The owner writes down what it is told; the peer is a plain socket that never blocks.
 * May touch: common/io, sockets.
 */
#pragma once

#include "common/io/loop.h"
#include "common/io/stream.h"

#include <stdlib.h>

#define RIG_GOT_MAX (2u << 20)

/* What the owner does in its next call of a kind. */
enum rig_act { RIG_NOTHING, RIG_DESTROY, RIG_ABORT, RIG_FINISH, RIG_WRITE };

struct rig {
    struct loop *loop;
    struct stream *stream; /* NULL: destroyed */
    struct stream_ops ops;
    int peer; /* -1: closed */

    /* How the owner behaves. */
    size_t frame;         /* takes whole frames of this size; 0: everything */
    size_t frames_a_call; /* at most; 0: all */
    int pause_after;      /* pause, and stop taking, at this call of data; 0: never */
    enum rig_act in_data, in_pressure, in_closed;
    struct rig *victim; /* whose stream the acts hit; NULL: the own one */

    /* What it was told. */
    uint8_t *got; /* [RIG_GOT_MAX] */
    size_t got_n;
    size_t last_offer;
    int calls;
    char pressure[16]; /* '+' on, '-' off */
    int closed;
    enum stream_end why;
    bool guest;  /* the loop is another rig's */
    bool inside; /* a call of the test's into the stream is under way: no callback may come */
};

extern const struct stream_limits rig_roomy; /* nothing limited but input */

/* Over a socketpair, or over TCP on loopback. */
void rig_make(struct rig *r, const struct stream_limits *limits);
void rig_make_tcp(struct rig *r, const struct stream_limits *limits);
/* On the loop of another rig, which is ended last. */
void rig_make_beside(struct rig *r, struct rig *first, const struct stream_limits *limits);
/* Over a socket and its seal (NULL: plain), whose peer is the test's own; on that loop. */
void rig_make_of(struct rig *r, struct loop *l, int fd, struct ssl_st *seal,
                 const struct stream_limits *limits);
void rig_end(struct rig *r);

/* One turn without waiting; one that waits for something to come. */
void rig_turn(struct rig *r);
void rig_wait(struct rig *r);

struct span rig_got(const struct rig *r);

/* The peer's side. */
void rig_send(struct rig *r, const void *bytes, size_t n);
size_t rig_try_send(struct rig *r, const void *bytes, size_t n);
/* How many came, 0 where there is nothing now. */
size_t rig_recv(struct rig *r, void *bytes, size_t n);
/* True where the stream's side was shut and all is read. */
bool rig_at_end(struct rig *r);
size_t rig_peek(struct rig *r);
void rig_close_peer(struct rig *r, bool reset);

/* Write until the kernel takes no more; one byte is left queued. */
void rig_fill(struct rig *r);
/* Seeded bytes, to be freed. */
uint8_t *rig_noise(size_t n, uint64_t seed);
/* Bytes that malloc has given out in this process. */
size_t rig_allocated(void);
