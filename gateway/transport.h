/* gateway/transport.h: how a body is framed on a client's connection.
 * One table for each kind of framing, over whatever carries the bytes, plain or TLS. May touch:
 * common, proto.
 */
#pragma once

#include "common/span.h"

#define TRANSPORT_HEAD_MAX 16  /* bytes in front of a body, at most */
#define TRANSPORT_TAIL_MAX 128 /* bytes behind a Bye, at most */

/* What was found in the bytes of a client. */
enum transport_kind {
    TRANSPORT_BODY,    /* `bytes`: a body */
    TRANSPORT_NOTHING, /* a part of a body, put aside; or what needs no answer */
    TRANSPORT_CONTROL, /* nothing for us, but it costs: of the framing itself */
    TRANSPORT_ANSWER,  /* the same, and `bytes` go back as they are */
    TRANSPORT_GOODBYE  /* the peer ends; `bytes` go back as they are, nothing after them */
};

/* Why it is not allowed. */
enum transport_fault {
    TRANSPORT_SOUND,    /* it is */
    TRANSPORT_LENGTH,   /* none, or longer than allowed */
    TRANSPORT_TEXT,     /* not a body: a text message */
    TRANSPORT_PROTOCOL, /* the framing's own rules are broken */
    TRANSPORT_DATA      /* the framing's own texts are no UTF-8 */
};

struct transport_piece {
    enum transport_kind kind;
    enum transport_fault fault; /* with E_BAD */
    struct span bytes;          /* until `settle` */
    size_t used;                /* bytes of the input that are done with */
};

/* A message that came in parts so far; one block of malloc's. */
struct transport_part {
    uint32_t len, cap; /* bytes */
    uint8_t bytes[];   /* [cap] */
};

struct ws_reader;

/* What a framing keeps, where it keeps anything. */
struct transport_state {
    struct ws_reader *reader;     /* the thread's; borrowed */
    struct transport_part **part; /* the client's; NULL: no message has begun */
};

struct transport_ops {
    /* Take the first piece of `in`; `max` is the largest body allowed, bytes. 0; E_SHORT: more
     * bytes are needed; E_BAD: not allowed, told as early as it can be known; E_FULL: be done with
     * the bodies taken so far, settle, and call again; E_NOMEM. */
    int (*split)(struct transport_state *s, struct span in, uint32_t max,
                 struct transport_piece *out);
    /* The bytes of this read are through, and so are the bodies taken from them. May be NULL. */
    int (*settle)(struct transport_state *s);
    /* Write what stands in front of a body of `body_bytes`; returns its length. */
    size_t (*head)(uint8_t out[TRANSPORT_HEAD_MAX], size_t body_bytes);
    /* Write what stands behind a Bye of this code, for this fault. May be NULL. */
    size_t (*tail)(uint8_t out[TRANSPORT_TAIL_MAX], uint32_t code);
};

/* PROTOCOL.md, Framing: four bytes of length; keeps nothing. */
extern const struct transport_ops transport_len;
/* A binary message each; keeps both. Its functions are there only where the build has WebSocket. */
extern const struct transport_ops transport_ws;

/* Is transport_ws built in, and the reader that it needs for bodies of `max` bytes? 0; E_MISSING;
 * E_NOMEM. */
int transport_ws_reader(uint32_t max, struct ws_reader **out) MUST_CHECK;
void transport_ws_reader_end(struct ws_reader *r); /* NULL is fine */
