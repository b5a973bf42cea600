/* proto/ws_frame.h: WebSocket frames, as a server takes and writes them (RFC 6455, 5).
 * wslay reads the frames; this holds them to what a server may take: masked, no reserved bits,
 * known opcodes, in an order that makes messages, and no longer than there is room. Heads and
 * closes are written here. Pure bytes. May touch: common, wslay, proto/walk (UTF-8).
 *
 * A reader belongs to nobody: it reads whole frames out of the bytes that one read of one
 * connection brought, and is then there for the next. A part of a frame is told E_SHORT and read
 * anew when more is there, so a connection that is silent keeps nothing here.
 *
 * On trouble: a fault, as early as it can be known: once the head and its mask are there.
 */
#pragma once

#include "common/parts.h"
#include "common/span.h"

#define WS_HEAD_MAX    10  /* bytes of a server's head */
#define WS_FRAME_HEAD  14  /* bytes of a client's head at most: with its mask */
#define WS_CONTROL_MAX 125 /* bytes that a ping, pong or close may carry */

enum ws_opcode {
    WS_CONTINUATION = 0,
    WS_TEXT = 1,
    WS_BINARY = 2,
    WS_CLOSE = 8,
    WS_PING = 9,
    WS_PONG = 10
};

/* Codes of a close, below the 4000 that are ours (RFC 6455, 7.4.1). */
#define WS_CODE_NORMAL 1000
#define WS_CODE_BYE    4000 /* and the Bye's code (PROTOCOL.md, Framing) */

enum ws_fault {
    WS_FAULT_NONE,
    WS_FAULT_PROTOCOL, /* not RFC 6455 */
    WS_FAULT_DATA,     /* a close whose reason is no UTF-8 */
    WS_FAULT_TEXT,     /* a text message: allowed there, not here */
    WS_FAULT_LENGTH    /* longer than there is room */
};

struct ws_frame {
    bool fin;
    uint8_t opcode;      /* enum ws_opcode */
    struct span payload; /* unmasked, in the reader; until the next call for it */
    size_t used;         /* bytes of the frame, its head included */
};

struct ws_reader;

/* `most`: bytes of all payloads held at once (ws_reader_hold), at least WS_CONTROL_MAX. E_NOMEM. */
int ws_reader_create(size_t most, struct ws_reader **out) MUST_CHECK;
void ws_reader_destroy(struct ws_reader *r); /* NULL is fine */

/* Take the first frame of `in`: the bytes of one read, or what is left of them after the last
 * frame. inside   a message has begun and not ended room     bytes that a data frame may have 0;
 * E_SHORT: more bytes are needed; E_BAD: `fault` says why; E_FULL: too much is held; E_NOMEM. */
int ws_reader_next(struct ws_reader *r, struct span in, bool inside, uint32_t room,
                   struct ws_frame *out, enum ws_fault *fault) MUST_CHECK;
/* Bytes that can still be held. */
size_t ws_reader_room(const struct ws_reader *r);
/* These bytes (the payload just read, or some of one's own) stay valid until ws_reader_settle;
 * returns where. */
struct span ws_reader_hold(struct ws_reader *r, struct span bytes);
/* The bytes of this read are through: whatever comes next is another's, and nothing is held. */
int ws_reader_settle(struct ws_reader *r) MUST_CHECK;

/* Is this close's payload sound? */
enum ws_fault ws_close_check(struct span payload);

/* Write the head of a whole frame; returns its length. */
size_t ws_head(uint8_t out[WS_HEAD_MAX], enum ws_opcode opcode, size_t payload_bytes);
/* Write a whole control frame; returns its length. */
size_t ws_control(uint8_t out[2 + WS_CONTROL_MAX], enum ws_opcode opcode, struct span payload);
/* Write a close with this code and without a reason; returns its length. */
size_t ws_close(uint8_t out[2 + WS_CONTROL_MAX], uint32_t code);
