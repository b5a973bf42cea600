/* tests/fuzz/fuzz_ws.c: the bytes of a WebSocket: a request's head, frames, messages in parts.
 * The bytes as they are; as edits (place, byte) of a good handshake; and as steps of a good client,
 * whose frames they say, so that what is behind a head is reached too. May touch: common, proto.
 * What must hold: how the bytes are cut into reads changes neither what is taken nor what is
 * refused; what a good client sends is taken as it was sent.
 */
#include "tests/fuzz/fuzz_target.h"

#include "common/err.h"
#include "proto/ws_frame.h"
#include "proto/ws_request.h"
#include "tests/ws_bytes.h"

#ifdef PARTS_WEBSOCKET

#define ROOM  700
#define BYTES 65536

static const char GOOD[] = "GET /ws?a HTTP/1.1\r\nHost: a:1\r\nUpgrade: websocket\r\n"
                           "Connection: keep-alive, Upgrade\r\nOrigin: http://a\r\n"
                           "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
                           "Sec-WebSocket-Version: 13\r\n\r\n";

/* What came of a run of frames: their number, an end and a sum of all that they said. */
struct outcome {
    uint32_t frames, sum;
    int end;
    enum ws_fault fault;
};

static void add(struct outcome *o, struct span bytes, uint32_t more)
{
    for (size_t i = 0; i < bytes.n; i++)
        o->sum = (o->sum ^ bytes.p[i]) * 16777619u;
    o->sum = (o->sum ^ more) * 16777619u;
}

/* Take all frames, in reads of `step` bytes; what is not taken comes again with more behind it. */
static struct outcome take(struct ws_reader *r, struct span in, size_t step)
{
    struct outcome o = {.end = E_SHORT};
    size_t used = 0, there = 0;
    bool inside = false;

    while (there < in.n) {
        there = in.n - there < step ? in.n : there + step;
        for (;;) {
            struct ws_frame f;
            const struct span rest = span_of(in.p + used, there - used);
            o.end = ws_reader_next(r, rest, inside, ROOM, &f, &o.fault);
            if (o.end == E_FULL && ws_reader_settle(r) == 0)
                continue;
            if (o.end != 0)
                break;
            fuzz_target_must(f.used > rest.n ? "a frame longer than its bytes" : NULL);
            add(&o, ws_reader_hold(r, f.payload), f.opcode | (uint32_t)f.fin << 8);
            o.frames++;
            used += f.used;
            if (f.opcode < WS_CLOSE)
                inside = !f.fin;
        }
        fuzz_target_must(ws_reader_settle(r) == 0 ? NULL : "no memory");
        if (o.end != E_SHORT)
            break;
    }
    if (o.end != E_BAD)
        o.fault = WS_FAULT_NONE;
    return o;
}

static const char *same(const struct outcome *a, const struct outcome *b)
{
    return a->frames == b->frames && a->sum == b->sum && a->end == b->end && a->fault == b->fault
               ? NULL
               : "how the bytes are cut changes what they say";
}

static void check_frames(struct ws_reader *r, struct span in)
{
    const struct outcome whole = take(r, in, in.n > 0 ? in.n : 1);
    const size_t step = in.n > 0 ? 1 + in.p[in.n - 1] % 40 : 1;
    const struct outcome cut = take(r, in, step);

    fuzz_target_must(same(&whole, &cut));
}

/* Frames of a good client: two bytes say a frame's kind and length. */
static void check_client(struct ws_reader *r, struct span in)
{
    static uint8_t bytes[BYTES];
    struct span_writer w = span_writer_of(bytes, sizeof(bytes));
    struct outcome wanted = {.end = E_SHORT};
    bool inside = false;

    for (size_t i = 0; i + 1 < in.n; i += 2) {
        const uint8_t how = in.p[i];
        size_t n = (size_t)in.p[i + 1] * (how & 0x20 ? 4 : 1) % (ROOM + 1);
        uint8_t opcode = inside ? WS_CONTINUATION : WS_BINARY;
        bool fin = (how & 0x10) != 0;
        if ((how & 7) < 2) {
            opcode = how & 1 ? WS_PING : WS_PONG;
            fin = true;
            n %= WS_CONTROL_MAX + 1;
        }
        if (n > in.n || w.cap - w.len < n + WS_BYTES_HEAD)
            continue;
        ws_bytes_frame(&w, (uint8_t)((fin ? 0x80 : 0) | opcode), in.p, n);
        add(&wanted, span_of(in.p, n), opcode | (uint32_t)fin << 8);
        wanted.frames++;
        if (opcode < WS_CLOSE)
            inside = !fin;
    }
    const struct outcome got = take(r, span_written(&w), 1 + in.n % 300);
    fuzz_target_must(w.len == 0 ? NULL : same(&wanted, &got));
}

static void check_request(struct span in)
{
    struct ws_request q;
    char accept[WS_ACCEPT_MAX];
    size_t used = 0;
    const int r = ws_request_read(in, &q, &used);

    if (r != 0)
        return;
    fuzz_target_must(used > in.n || used > WS_REQUEST_MAX ? "a head longer than its bytes" : NULL);
    fuzz_target_must(q.path.p < in.p || q.path.p + q.path.n > in.p + used ? "a path outside"
                                                                          : NULL);
    if (ws_request_refusal(&q) == 0)
        ws_request_accept(q.key, accept);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct ws_reader *reader;
    uint8_t edited[sizeof(GOOD) - 1];
    const struct span in = span_of(data, size);

    if (!reader && ws_reader_create(4 * ROOM, &reader) != 0)
        abort();
    check_frames(reader, in);
    check_client(reader, in);
    if (size > 0)
        (void)ws_close_check(in);
    check_request(in);
    memcpy(edited, GOOD, sizeof(edited));
    for (size_t i = 0; i + 1 < size && i < 64; i += 2) {
        edited[data[i] % sizeof(edited)] = data[i + 1];
        check_request(span_of(edited, sizeof(edited)));
    }
    return 0;
}

#else

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    (void)data;
    (void)size;
    return 0;
}

#endif
