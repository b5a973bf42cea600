/* proto/link.h: the envelope between gateway and world (internal; its version is in the hello).
 * A link frame is proto/frame's head with a MessagePack array behind it, [kind, ...]. Client
 * bodies travel in it untouched, as bin. May touch: common, proto. msgpack-c in link.c only.
 * On trouble: E_BAD for whatever is not exactly a link frame.
 *
 *   hello       [0, version, id, key]            both ways, first; the world answers with its own
 *   open        [1, session, peer]               gateway to world
 *   data        [2, session, body, body, ...]    both ways; many bodies are one write
 *   data many   [3, [session, ...], body]        world to gateway
 *   close       [4, session, code, reason]       both ways, see below
 *   congestion  [5, session, on]                 gateway to world
 *   ping        [6, number], pong [7, number]    both ways
 *   drain       [8, session, bytes a second]     gateway to world, see below
 *   bind        [9, session, peer, note]         gateway to world, in place of an open
 *   note        [10, session, note]              world to gateway
 *   redirect    [11, session, world id, entity, count]     world to gateway, see below
 *   left        [12, session]                    gateway to world
 *   attach      [13, session, peer, note, entity, count]   gateway to world
 *   proof       [14, key]                        both ways, see proto/link_proof.h
 *
 * A close from the world says Bye with its code; with code 0 that the session has ended or never
 * was. A close from the gateway says that the client is gone; with a code that it wants a close of
 * code 0 back, behind the answers to what the session asked before.
 *
 * A drain says what a client took in a time in which its queue was never empty: that is all it
 * takes. 0 says that its queue is empty again. At most one a second and client, and none of clients
 * that keep up.
 *
 * A note is the world's, opaque to the gateway: what the world needs to know a session again. The
 * gateway keeps the last one, an empty one is none, and hands it back in a bind when the link was
 * lost and is there again.
 *
 * A redirect says that another world has the session, with its entity, from now on; it is the last
 * word of this world for it. The gateway sends `left` behind the last frame that it sent here for
 * the session, and attach to the other world before the first one there; then congestion, if the
 * client does not drain. `entity` and `count` are the redirect's.
 * The old world forwards what came between, so nothing is lost, and nothing asked twice. Where the
 * other world is away the gateway waits for it, a bounded time, and then does as below.
 *
 * A redirect with entity 0 and count 0 hands over no entity: the other world is to know the session
 * by its note, and takes the attach as a bind. One with an empty world id says that this world has
 * nothing of the session any more: the gateway binds it at any other world, by its note, where it
 * has one; what was asked here and not answered is lost.
 */
#pragma once

#include "common/err.h"
#include "common/span.h"
#include "proto/limits.h"

#include <endian.h>

enum link_kind {
    LINK_HELLO,
    LINK_OPEN,
    LINK_DATA,
    LINK_DATA_MANY,
    LINK_CLOSE,
    LINK_CONGESTION,
    LINK_PING,
    LINK_PONG,
    LINK_DRAIN,
    LINK_BIND,
    LINK_NOTE,
    LINK_REDIRECT,
    LINK_LEFT,
    LINK_ATTACH,
    LINK_PROOF
};

#define LINK_BODIES_MAX 16 /* bodies in one data frame */

struct link_frame {
    enum link_kind kind;
    uint64_t session;     /* all but hello, data many, ping, pong and proof */
    uint32_t version;     /* hello */
    struct span id, key;  /* hello, proof: at most LINK_KEY_MAX; a hello's is its nonce, or empty */
    struct span text;     /* open, bind, attach: peer; close: reason */
    struct span note;     /* bind, note, attach: at most LINK_NOTE_MAX */
    struct span world;    /* redirect: at most LINK_WORLD_MAX bytes; empty: any other */
    uint32_t entity;      /* redirect, attach: its id */
    uint32_t count;       /* redirect, attach: of its hand-overs */
    uint32_t code;        /* close */
    bool on;              /* congestion */
    uint64_t number;      /* ping, pong; drain: bytes a second */
    uint32_t n_bodies;    /* data: 1..LINK_BODIES_MAX; data many: 1 */
    uint32_t n_sessions;  /* data many: 1..LINK_MANY_MAX */
    struct span sessions; /* data many: raw msgpack integers; take with link_session_take */
    struct span bodies[LINK_BODIES_MAX]; /* [n_bodies]; what is behind them is nothing */
};

/* Decode a link frame's body (without the 4-byte head). Spans lie inside it. 0 or E_BAD. */
int link_read(struct span body, struct link_frame *out) MUST_CHECK;

/* The next session id of a data-many frame; E_SHORT at the end. */
int link_session_take(struct span *rest, uint64_t *session) MUST_CHECK;

/* Append a whole frame, head included; w->full where it did not fit. */
void link_write_hello(struct span_writer *w, struct span id, struct span key);
void link_write_open(struct span_writer *w, uint64_t session, struct span peer);
void link_write_data(struct span_writer *w, uint64_t session, const struct span *bodies,
                     uint32_t n);
void link_write_data_many(struct span_writer *w, const uint64_t *sessions, uint32_t n,
                          struct span body);
void link_write_close(struct span_writer *w, uint64_t session, uint32_t code, struct span reason);
void link_write_congestion(struct span_writer *w, uint64_t session, bool on);
void link_write_drain(struct span_writer *w, uint64_t session, uint64_t bytes_per_s);
void link_write_bind(struct span_writer *w, uint64_t session, struct span peer, struct span note);
void link_write_note(struct span_writer *w, uint64_t session, struct span note);
void link_write_redirect(struct span_writer *w, uint64_t session, struct span world,
                         uint32_t entity, uint32_t count);
void link_write_left(struct span_writer *w, uint64_t session);
void link_write_attach(struct span_writer *w, uint64_t session, struct span peer, struct span note,
                       uint32_t entity, uint32_t count);
void link_write_proof(struct span_writer *w, struct span key);
void link_write_ping(struct span_writer *w, uint64_t number);
void link_write_pong(struct span_writer *w, uint64_t number);

/* Bytes that a data frame needs around its bodies, at most. */
#define LINK_DATA_OVERHEAD (FRAME_HEAD_BYTES + 3 + 1 + 9 + 5 * LINK_BODIES_MAX)
#define FRAME_HEAD_BYTES   4

/* A data frame laid piece by piece where its bodies are made in place. The heads have a fixed size,
 * so that they can be written when what follows is known:
 *
 *   [ data head LINK_DATA_HEAD ][ body head LINK_BODY_HEAD ][ body ][ body head ][ body ] ...
 */
#define LINK_DATA_HEAD  (FRAME_HEAD_BYTES + 1 + 1 + 9)
#define LINK_BODY_HEAD  5
#define LINK_PLACED_MAX 13 /* bodies in such a frame */

/* `frame_bytes`: all of the frame, heads included; n is 1..LINK_PLACED_MAX. */
static inline void link_data_head(uint8_t out[LINK_DATA_HEAD], uint64_t session, uint32_t n,
                                  size_t frame_bytes)
{
    uint32_t length = htobe32((uint32_t)(frame_bytes - FRAME_HEAD_BYTES));
    uint64_t id = htobe64(session);

    ASSERT(n >= 1);
    ASSERT(n <= LINK_PLACED_MAX);
    ASSERT(frame_bytes <= LINK_FRAME_MAX + FRAME_HEAD_BYTES);
    memcpy(out, &length, sizeof(length));
    out[4] = (uint8_t)(0x90 + 2 + n); /* array */
    out[5] = LINK_DATA;
    out[6] = 0xcf; /* uint64 */
    memcpy(out + 7, &id, sizeof(id));
}

static inline void link_body_head(uint8_t out[LINK_BODY_HEAD], size_t body_bytes)
{
    uint32_t length = htobe32((uint32_t)body_bytes);

    ASSERT(body_bytes >= 1);
    ASSERT(body_bytes <= PROTO_BATCH_MAX);
    out[0] = 0xc6; /* bin32 */
    memcpy(out + 1, &length, sizeof(length));
}
