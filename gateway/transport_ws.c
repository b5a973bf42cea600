/* gateway/transport_ws.c: a binary message of WebSocket is a body.
 * Puts fragments together, answers pings and closes; a text is no body. A message in one frame, as
 * every client sends it that does not stream, keeps nothing between two reads.
 * May touch: common, proto/ws_frame. On trouble: see transport.h. Source: PROTOCOL.md, Framing.
 */
#include "gateway/transport.h"

#include "common/parts.h"

#ifdef PARTS_WEBSOCKET

#include "common/err.h"
#include "proto/ws_frame.h"

#include <stdlib.h>

#define PART_MIN  512   /* bytes of the first piece of memory for a message in parts */
#define BATCH_MIN 32768 /* bytes of bodies that one batch holds at least */

_Static_assert(WS_HEAD_MAX <= TRANSPORT_HEAD_MAX, "a head has its room");
_Static_assert(2 + WS_CONTROL_MAX <= TRANSPORT_TAIL_MAX, "so has a close");

/* --- messages in parts --------------------------------------------------------------------------
 */

static void part_drop(struct transport_state *s)
{
    free(*s->part);
    *s->part = NULL;
}

/* Put `more` behind what has come; it was held against the room. */
static int part_add(struct transport_state *s, struct span more)
{
    struct transport_part *p = *s->part;
    const size_t len = p ? p->len : 0;
    size_t cap = p ? p->cap : PART_MIN;

    while (cap < len + more.n)
        cap *= 2;
    if (!p || cap > p->cap) {
        p = realloc(p, sizeof(*p) + cap);
        if (!p)
            return E_NOMEM;
        p->len = (uint32_t)len;
        p->cap = (uint32_t)cap;
        *s->part = p;
    }
    if (more.n > 0)
        memcpy(p->bytes + len, more.p, more.n);
    p->len += (uint32_t)more.n;
    return 0;
}

/* A fragment with nothing in it gets a message no nearer to its end, and is held to the rate. */
static int take_data(struct transport_state *s, const struct ws_frame *f,
                     struct transport_piece *out)
{
    struct span body = f->payload;

    out->kind = f->payload.n > 0 ? TRANSPORT_NOTHING : TRANSPORT_CONTROL;
    if (!f->fin || *s->part) {
        const int r = part_add(s, f->payload);
        if (r != 0 || !f->fin)
            return r;
        body = span_of((*s->part)->bytes, (*s->part)->len);
    }
    out->kind = TRANSPORT_BODY;
    out->fault = TRANSPORT_LENGTH;
    out->bytes = ws_reader_hold(s->reader, body);
    if (*s->part)
        part_drop(s);
    return out->bytes.n > 0 ? 0 : E_BAD;
}

/* --- what the framing says for itself -----------------------------------------------------------
 */

static enum transport_fault fault_of(enum ws_fault fault)
{
    switch (fault) {
    case WS_FAULT_DATA:
        return TRANSPORT_DATA;
    case WS_FAULT_TEXT:
        return TRANSPORT_TEXT;
    case WS_FAULT_LENGTH:
        return TRANSPORT_LENGTH;
    case WS_FAULT_NONE:
    case WS_FAULT_PROTOCOL:
        break;
    }
    return TRANSPORT_PROTOCOL;
}

/* Answers are written where the payload was: they are no longer needed than it. */
static void answer(struct transport_state *s, enum ws_opcode opcode, struct span payload,
                   struct transport_piece *out)
{
    uint8_t frame[2 + WS_CONTROL_MAX];
    const size_t n = ws_control(frame, opcode, payload);

    out->bytes = ws_reader_hold(s->reader, span_of(frame, n));
}

/* The code comes back, as the standard has it, and the reason does not. */
static int take_close(struct transport_state *s, const struct ws_frame *f,
                      struct transport_piece *out)
{
    const enum ws_fault fault = ws_close_check(f->payload);

    if (fault != WS_FAULT_NONE) {
        out->fault = fault_of(fault);
        return E_BAD;
    }
    const size_t code_bytes = f->payload.n < 2 ? 0 : 2;
    out->kind = TRANSPORT_GOODBYE;
    answer(s, WS_CLOSE, span_of(f->payload.p, code_bytes), out);
    return 0;
}

/* What one piece may take of the reader. */
static size_t piece_most(uint32_t max)
{
    return (size_t)max + 2 + WS_CONTROL_MAX;
}

static int transport_ws_split(struct transport_state *s, struct span in, uint32_t max,
                              struct transport_piece *out)
{
    const struct transport_part *part = *s->part;
    enum ws_fault fault = WS_FAULT_PROTOCOL;
    struct ws_frame f;

    if (ws_reader_room(s->reader) < piece_most(max))
        return E_FULL;
    const int r =
        ws_reader_next(s->reader, in, part != NULL, max - (part ? part->len : 0), &f, &fault);
    if (r != 0) {
        out->fault = fault_of(fault);
        return r;
    }
    out->used = f.used;
    switch (f.opcode) {
    case WS_CLOSE:
        return take_close(s, &f, out);
    case WS_PING:
        out->kind = TRANSPORT_ANSWER;
        answer(s, WS_PONG, f.payload, out);
        return 0;
    case WS_PONG:
        out->kind = TRANSPORT_CONTROL;
        return 0;
    default:
        return take_data(s, &f, out);
    }
}

static int transport_ws_settle(struct transport_state *s)
{
    return ws_reader_settle(s->reader);
}

static size_t transport_ws_head(uint8_t out[TRANSPORT_HEAD_MAX], size_t body_bytes)
{
    return ws_head(out, WS_BINARY, body_bytes);
}

static size_t transport_ws_tail(uint8_t out[TRANSPORT_TAIL_MAX], uint32_t code)
{
    return ws_close(out, WS_CODE_BYE + code);
}

int transport_ws_reader(uint32_t max, struct ws_reader **out)
{
    return ws_reader_create(piece_most(max) + (max > BATCH_MIN ? max : BATCH_MIN), out);
}

void transport_ws_reader_end(struct ws_reader *r)
{
    ws_reader_destroy(r);
}

const struct transport_ops transport_ws = {
    .split = transport_ws_split,
    .settle = transport_ws_settle,
    .head = transport_ws_head,
    .tail = transport_ws_tail,
};

#else

#include "common/err.h"

const struct transport_ops transport_ws;

int transport_ws_reader(uint32_t max, struct ws_reader **out)
{
    (void)max;
    *out = NULL;
    return E_MISSING;
}

void transport_ws_reader_end(struct ws_reader *r)
{
    ASSERT(!r);
}

#endif
