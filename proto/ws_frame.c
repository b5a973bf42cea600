/* proto/ws_frame.c: frames in by wslay, heads out.
 *
 *   in ─► feed ─► wslay's own buffer, unmasked there ─► held ─► payload
 *
 * wslay has a buffer of 4 KiB in each context, too much for each of ten thousand who are silent.
 * So one context serves a whole thread, and must be at the start of a frame whenever another's
 * bytes come: where a read ended inside a frame it is made anew, and the frame is read again with
 * its rest. May touch: common, wslay, proto/walk. On trouble: see the header.
 */
#include "proto/ws_frame.h"

#ifdef PARTS_WEBSOCKET

#include "common/err.h"
#include "proto/walk.h"

#include <stdlib.h>
#include <wslay/wslay.h>

struct ws_reader {
    wslay_frame_context_ptr frames; /* NULL: there was no memory for it */
    struct span feed;               /* not given to wslay yet */
    bool feeding;                   /* wslay holds what was in front of `feed` */
    bool padded;                    /* ... and a byte that never came */
    size_t len, cap;                /* of `held`: what is to stay; bytes */
    uint8_t held[];                 /* [cap] */
};

/* wslay tells a head only with a byte of its payload. One that we make up brings out what the head
 * says as soon as it is there; nothing that was read behind it is used. */
static ssize_t on_recv(uint8_t *to, size_t n, int flags, void *user_data)
{
    struct ws_reader *r = user_data;

    (void)flags;
    if (r->feed.n == 0) {
        if (r->padded)
            return -1;
        r->padded = true;
        to[0] = 0;
        return 1;
    }
    if (n > r->feed.n)
        n = r->feed.n;
    memcpy(to, r->feed.p, n);
    r->feed = span_of(r->feed.p + n, r->feed.n - n);
    return (ssize_t)n;
}

static int renew(struct ws_reader *r)
{
    static const struct wslay_frame_callbacks callbacks = {.recv_callback = on_recv};

    if (r->frames)
        wslay_frame_context_free(r->frames);
    r->feeding = false;
    r->padded = false;
    if (wslay_frame_context_init(&r->frames, &callbacks, r) == 0)
        return 0;
    r->frames = NULL;
    return E_NOMEM;
}

int ws_reader_create(size_t most, struct ws_reader **out)
{
    ASSERT(most >= WS_CONTROL_MAX);
    struct ws_reader *r = malloc(sizeof(*r) + most);
    if (!r)
        return E_NOMEM;
    *r = (struct ws_reader){.cap = most};
    if (renew(r) != 0) {
        free(r);
        return E_NOMEM;
    }
    *out = r;
    return 0;
}

void ws_reader_destroy(struct ws_reader *r)
{
    if (!r)
        return;
    if (r->frames)
        wslay_frame_context_free(r->frames);
    free(r);
}

int ws_reader_settle(struct ws_reader *r)
{
    r->len = 0;
    return r->feeding || !r->frames ? renew(r) : 0;
}

size_t ws_reader_room(const struct ws_reader *r)
{
    return r->cap - r->len;
}

struct span ws_reader_hold(struct ws_reader *r, struct span bytes)
{
    ASSERT(bytes.n <= r->cap - r->len);
    uint8_t *at = r->held + r->len;
    if (bytes.n > 0 && bytes.p != at)
        memcpy(at, bytes.p, bytes.n);
    r->len += bytes.n;
    return span_of(at, bytes.n);
}

/* --- in -----------------------------------------------------------------------------------------
 */

static size_t client_head(const struct wslay_frame_iocb *f)
{
    const size_t length = f->payload_length < 126 ? 0 : f->payload_length <= UINT16_MAX ? 2 : 8;
    return 2 + length + (f->mask ? 4 : 0);
}

/* What a head alone can be held to. */
static enum ws_fault head_fault(const struct wslay_frame_iocb *f, bool inside, uint32_t room)
{
    if (f->rsv != 0 || !f->mask)
        return WS_FAULT_PROTOCOL;
    switch (f->opcode) {
    case WS_CLOSE:
    case WS_PING:
    case WS_PONG:
        return WS_FAULT_NONE;
    case WS_CONTINUATION:
        if (!inside)
            return WS_FAULT_PROTOCOL;
        break;
    case WS_TEXT:
    case WS_BINARY:
        if (inside)
            return WS_FAULT_PROTOCOL;
        if (f->opcode == WS_TEXT)
            return WS_FAULT_TEXT;
        break;
    default:
        return WS_FAULT_PROTOCOL;
    }
    return f->payload_length > room ? WS_FAULT_LENGTH : WS_FAULT_NONE;
}

/* Start over at the next call. */
static int give_up(struct ws_reader *r, int err)
{
    return renew(r) == 0 ? err : E_NOMEM;
}

static void begin(struct ws_reader *r, struct span in)
{
    if (r->feeding)
        return;
    r->feed = in;
    r->feeding = true;
}

/* The payload of a frame that is there whole. */
static void take_payload(struct ws_reader *r, struct wslay_frame_iocb *f, uint8_t *to)
{
    size_t got = f->data_length;

    if (got > 0)
        memcpy(to, f->data, got);
    while (got < f->payload_length) {
        const ssize_t n = wslay_frame_recv(r->frames, f);
        ASSERT(n > 0);
        memcpy(to + got, f->data, (size_t)n);
        got += (size_t)n;
    }
}

int ws_reader_next(struct ws_reader *r, struct span in, bool inside, uint32_t room,
                   struct ws_frame *out, enum ws_fault *fault)
{
    struct wslay_frame_iocb f = {0};
    const size_t most = room > WS_CONTROL_MAX ? room : WS_CONTROL_MAX;

    if (r->cap - r->len < most)
        return E_FULL;
    if (in.n == 0)
        return E_SHORT;
    if (!r->frames && renew(r) != 0)
        return E_NOMEM;
    begin(r, in);
    *fault = WS_FAULT_PROTOCOL;
    const ssize_t n = wslay_frame_recv(r->frames, &f);
    if (n < 0) /* with a byte that we made up it has judged what is not there yet */
        return give_up(r, n == WSLAY_ERR_WANT_READ || r->padded ? E_SHORT : E_BAD);
    const size_t head = client_head(&f);
    if (head > in.n)
        return give_up(r, E_SHORT);
    *fault = head_fault(&f, inside, room);
    if (*fault != WS_FAULT_NONE)
        return give_up(r, E_BAD);
    if (f.payload_length > in.n - head)
        return give_up(r, E_SHORT);
    uint8_t *to = r->held + r->len;
    take_payload(r, &f, to);
    *out = (struct ws_frame){
        .fin = f.fin,
        .opcode = f.opcode,
        .payload = span_of(to, (size_t)f.payload_length),
        .used = head + (size_t)f.payload_length,
    };
    if (out->used == in.n) /* wslay has nothing left either */
        r->feeding = false;
    return 0;
}

/* May a peer close with this code? Those that say something about a connection without a close may
 * not be sent, nor those that nobody has given a meaning (RFC 6455, 7.4). */
static bool code_good(uint32_t code)
{
    if (code >= 3000 && code <= 4999)
        return true;
    return code >= 1000 && code <= 1014 && !(code >= 1004 && code <= 1006);
}

enum ws_fault ws_close_check(struct span payload)
{
    if (payload.n == 0)
        return WS_FAULT_NONE;
    if (payload.n == 1 || !code_good((uint32_t)payload.p[0] << 8 | payload.p[1]))
        return WS_FAULT_PROTOCOL;
    return walk_utf8(span_of(payload.p + 2, payload.n - 2)) ? WS_FAULT_NONE : WS_FAULT_DATA;
}

/* --- out ----------------------------------------------------------------------------------------
 */

size_t ws_head(uint8_t out[WS_HEAD_MAX], enum ws_opcode opcode, size_t payload_bytes)
{
    const uint64_t n = payload_bytes;

    out[0] = (uint8_t)(0x80 | opcode);
    if (n < 126) {
        out[1] = (uint8_t)n;
        return 2;
    }
    const size_t wide = n <= UINT16_MAX ? 2 : 8;
    out[1] = wide == 2 ? 126 : 127;
    for (size_t i = 0; i < wide; i++)
        out[2 + i] = (uint8_t)(n >> (8 * (wide - 1 - i)));
    return 2 + wide;
}

size_t ws_control(uint8_t out[2 + WS_CONTROL_MAX], enum ws_opcode opcode, struct span payload)
{
    ASSERT(payload.n <= WS_CONTROL_MAX);
    const size_t head = ws_head(out, opcode, payload.n);
    if (payload.n > 0)
        memcpy(out + head, payload.p, payload.n);
    return head + payload.n;
}

size_t ws_close(uint8_t out[2 + WS_CONTROL_MAX], uint32_t code)
{
    const uint8_t payload[2] = {(uint8_t)(code >> 8), (uint8_t)code};
    return ws_control(out, WS_CLOSE, span_of(payload, sizeof(payload)));
}

#endif
