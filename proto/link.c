/* proto/link.c: the envelope between gateway and world.
 * Read by hand, so that reading needs no memory and every span lies in the frame; written with
 * msgpack-c's packer for what stands around the bodies, the bodies as they are.
 * May touch: common, proto, msgpack-c. On trouble: reading says E_BAD, writing sets `full`.
 *
 *   id, peer, world and reason are str; keys, note and bodies are bin; on is bool; the rest are
 * integers.
 */
#include "proto/link.h"

#include "common/err.h"
#include "proto/frame.h"
#include "proto/take.h"
#include "proto/walk.h"

#include <msgpack.h>

_Static_assert(FRAME_HEAD_BYTES == FRAME_HEAD, "a link frame has proto/frame's head");

#define SESSION_MAX 9 /* bytes of one, at most */
#define BIN_HEAD    5 /* bytes of a bin's, at most */

/* --- reading -----------------------------------------------------------------------------------
 */

/* A client's body: not empty, and no longer than the longest that goes to a client. */
static int take_body(struct span *rest, struct span *out)
{
    int err = take_bin(rest, PROTO_BATCH_MAX, out);
    if (err != 0)
        return err;
    return out->n > 0 ? 0 : E_BAD;
}

static int read_hello(struct span *rest, struct link_frame *f)
{
    int err = take_u32(rest, &f->version);
    if (err == 0)
        err = take_text(rest, LINK_ID_MAX, &f->id);
    if (err == 0)
        err = take_bin(rest, LINK_KEY_MAX, &f->key);
    return err;
}

static int read_data(struct span *rest, uint64_t elements, struct link_frame *f)
{
    int err = walk_uint(rest, UINT64_MAX, &f->session);
    f->n_bodies = (uint32_t)(elements - 2);
    for (uint32_t i = 0; err == 0 && i < f->n_bodies; i++)
        err = take_body(rest, &f->bodies[i]);
    return err;
}

static int read_data_many(struct span *rest, struct link_frame *f)
{
    uint64_t n, session;
    int err = take_array(rest, &n);
    if (err != 0)
        return err;
    if (n == 0 || n > LINK_MANY_MAX)
        return E_BAD;
    f->n_sessions = (uint32_t)n;
    const uint8_t *from = rest->p;
    for (uint64_t i = 0; i < n; i++) {
        err = walk_uint(rest, UINT64_MAX, &session);
        if (err != 0)
            return err;
    }
    f->sessions = span_of(from, (size_t)(rest->p - from));
    f->n_bodies = 1;
    return take_body(rest, &f->bodies[0]);
}

static int read_close(struct span *rest, struct link_frame *f)
{
    int err = walk_uint(rest, UINT64_MAX, &f->session);
    if (err == 0)
        err = take_u32(rest, &f->code);
    if (err == 0)
        err = take_text(rest, LINK_TEXT_MAX, &f->text);
    return err;
}

static int read_redirect(struct span *rest, struct link_frame *f)
{
    int err = walk_uint(rest, UINT64_MAX, &f->session);
    if (err == 0)
        err = take_text(rest, LINK_WORLD_MAX, &f->world);
    if (err == 0)
        err = take_u32(rest, &f->entity);
    if (err == 0)
        err = take_u32(rest, &f->count);
    if (err == 0 && f->world.n == 0 && (f->entity != 0 || f->count != 0))
        err = E_BAD;
    return err;
}

static int read_bind(struct span *rest, struct link_frame *f)
{
    int err = walk_uint(rest, UINT64_MAX, &f->session);
    if (err == 0)
        err = take_text(rest, LINK_TEXT_MAX, &f->text);
    return err == 0 ? take_bin(rest, LINK_NOTE_MAX, &f->note) : err;
}

static int read_attach(struct span *rest, struct link_frame *f)
{
    int err = read_bind(rest, f);
    if (err == 0)
        err = take_u32(rest, &f->entity);
    return err == 0 ? take_u32(rest, &f->count) : err;
}

/* How many elements the array of this kind has. */
static bool elements_ok(enum link_kind kind, uint64_t elements)
{
    switch (kind) {
    case LINK_ATTACH:
        return elements == 6;
    case LINK_REDIRECT:
        return elements == 5;
    case LINK_HELLO:
    case LINK_CLOSE:
    case LINK_BIND:
        return elements == 4;
    case LINK_OPEN:
    case LINK_NOTE:
    case LINK_DATA_MANY:
    case LINK_CONGESTION:
    case LINK_DRAIN:
        return elements == 3;
    case LINK_DATA:
        return elements >= 3 && elements <= 2 + LINK_BODIES_MAX;
    case LINK_LEFT:
    case LINK_PING:
    case LINK_PONG:
    case LINK_PROOF:
        return elements == 2;
    }
    return false;
}

static int read_rest(struct span *rest, uint64_t elements, struct link_frame *f)
{
    int err = E_BAD;
    switch (f->kind) {
    case LINK_HELLO:
        return read_hello(rest, f);
    case LINK_OPEN:
        err = walk_uint(rest, UINT64_MAX, &f->session);
        return err == 0 ? take_text(rest, LINK_TEXT_MAX, &f->text) : err;
    case LINK_DATA:
        return read_data(rest, elements, f);
    case LINK_DATA_MANY:
        return read_data_many(rest, f);
    case LINK_CLOSE:
        return read_close(rest, f);
    case LINK_CONGESTION:
        err = walk_uint(rest, UINT64_MAX, &f->session);
        return err == 0 ? take_bool(rest, &f->on) : err;
    case LINK_DRAIN:
        err = walk_uint(rest, UINT64_MAX, &f->session);
        return err == 0 ? walk_uint(rest, UINT64_MAX, &f->number) : err;
    case LINK_BIND:
        return read_bind(rest, f);
    case LINK_REDIRECT:
        return read_redirect(rest, f);
    case LINK_LEFT:
        return walk_uint(rest, UINT64_MAX, &f->session);
    case LINK_ATTACH:
        return read_attach(rest, f);
    case LINK_NOTE:
        err = walk_uint(rest, UINT64_MAX, &f->session);
        return err == 0 ? take_bin(rest, LINK_NOTE_MAX, &f->note) : err;
    case LINK_PING:
    case LINK_PONG:
        return walk_uint(rest, UINT64_MAX, &f->number);
    case LINK_PROOF:
        return take_bin(rest, LINK_KEY_MAX, &f->key);
    }
    return err;
}

/* The bodies of a data frame as we write them: each in its shortest form. False: another form, or
 * not sound; then the long way tells. */
static bool read_plain_bodies(struct span rest, uint32_t n, struct link_frame *out)
{
    for (uint32_t i = 0; i < n; i++) {
        size_t head, bytes;

        if (rest.n < BIN_HEAD)
            return false; /* short ones too: no body of a client is that short */
        if (rest.p[0] == 0xc4) {
            head = 2;
            bytes = rest.p[1];
        } else if (rest.p[0] == 0xc5) {
            head = 3;
            bytes = (size_t)rest.p[1] << 8 | rest.p[2];
        } else {
            return false;
        }
        if (bytes == 0 || bytes > rest.n - head)
            return false;
        out->bodies[i] = span_of(rest.p + head, bytes);
        rest.p += head + bytes;
        rest.n -= head + bytes;
    }
    return rest.n == 0;
}

/* A data frame as we write it for a session as gateways number them: nearly all frames are such. */
static bool read_plain_data(struct span body, struct link_frame *out)
{
    uint64_t session;
    uint32_t n;

    if (body.n < 11 || body.p[0] < 0x93 || body.p[0] > 0x9f || body.p[1] != LINK_DATA ||
        body.p[2] != 0xcf)
        return false;
    n = body.p[0] - 0x92u;
    if (!read_plain_bodies(span_of(body.p + 11, body.n - 11), n, out))
        return false;
    memset(out, 0, offsetof(struct link_frame, bodies));
    memcpy(&session, body.p + 3, sizeof(session));
    out->kind = LINK_DATA;
    out->session = be64toh(session);
    out->n_bodies = n;
    return true;
}

int link_read(struct span body, struct link_frame *out)
{
    if (read_plain_data(body, out))
        return 0;
    struct span rest = body;
    uint64_t elements, kind;
    int err = take_array(&rest, &elements);
    if (err == 0)
        err = walk_uint(&rest, LINK_PROOF, &kind);
    if (err != 0)
        return err;
    if (!elements_ok((enum link_kind)kind, elements))
        return E_BAD;
    /* Not the bodies: they are many, and n_bodies says which of them are there. */
    memset(out, 0, offsetof(struct link_frame, bodies));
    out->kind = (enum link_kind)kind;
    err = read_rest(&rest, elements, out);
    if (err != 0)
        return err;
    return rest.n == 0 ? 0 : E_BAD;
}

int link_session_take(struct span *rest, uint64_t *session)
{
    if (rest->n == 0)
        return E_SHORT;
    return walk_uint(rest, UINT64_MAX, session);
}

/* --- writing -----------------------------------------------------------------------------------
 */

static int put(void *w, const char *bytes, size_t n)
{
    span_put(w, bytes, n);
    return 0;
}

/* A frame that is being written: where its head stands, and the packer behind it. */
struct frame_out {
    msgpack_packer pk;
    struct span_writer *w;
    size_t at;
};

static struct frame_out begin(struct span_writer *w, size_t elements, enum link_kind kind)
{
    static const uint8_t room[FRAME_HEAD];
    struct frame_out f = {.w = w, .at = w->len};
    msgpack_packer_init(&f.pk, w, put);
    span_put(w, room, sizeof room);
    msgpack_pack_array(&f.pk, elements);
    msgpack_pack_uint8(&f.pk, (uint8_t)kind);
    return f;
}

static void end(struct frame_out *f)
{
    struct span_writer *w = f->w;
    if (w->full)
        return;
    size_t n = w->len - f->at - FRAME_HEAD;
    if (n > LINK_FRAME_MAX) {
        w->full = true;
        return;
    }
    frame_head(w->p + f->at, (uint32_t)n);
}

static void put_text(struct frame_out *f, struct span text)
{
    msgpack_pack_str(&f->pk, text.n);
    if (text.n > 0)
        span_put(f->w, text.p, text.n);
}

static void put_bin(struct frame_out *f, struct span bytes)
{
    msgpack_pack_bin(&f->pk, bytes.n);
    if (bytes.n > 0)
        span_put(f->w, bytes.p, bytes.n);
}

void link_write_hello(struct span_writer *w, struct span id, struct span key)
{
    ASSERT(id.n <= LINK_ID_MAX);
    ASSERT(key.n <= LINK_KEY_MAX);
    struct frame_out f = begin(w, 4, LINK_HELLO);
    msgpack_pack_uint32(&f.pk, LINK_VERSION);
    put_text(&f, id);
    put_bin(&f, key);
    end(&f);
}

void link_write_open(struct span_writer *w, uint64_t session, struct span peer)
{
    ASSERT(peer.n <= LINK_TEXT_MAX);
    struct frame_out f = begin(w, 3, LINK_OPEN);
    msgpack_pack_uint64(&f.pk, session);
    put_text(&f, peer);
    end(&f);
}

/* One session in its shortest form, by hand, since there may be thousands. Returns its bytes. */
static inline size_t put_session(uint8_t *out, uint64_t session)
{
    uint64_t wide = htobe64(session);
    uint32_t half = htobe32((uint32_t)session);

    if (session > UINT32_MAX) { /* as all of a gateway's are */
        out[0] = 0xcf;
        memcpy(out + 1, &wide, sizeof(wide));
        return 9;
    }
    if (session < 0x80) {
        out[0] = (uint8_t)session;
        return 1;
    }
    if (session < 0x100) {
        out[0] = 0xcc;
        out[1] = (uint8_t)session;
        return 2;
    }
    if (session < 0x10000) {
        out[0] = 0xcd;
        out[1] = (uint8_t)(session >> 8);
        out[2] = (uint8_t)session;
        return 3;
    }
    out[0] = 0xce;
    memcpy(out + 1, &half, sizeof(half));
    return 5;
}

/* By hand, in msgpack's shortest forms, since a tick writes thousands:
 *
 *   [ length ][ 93 ][ kind ][ array of n ][ session ] ... [ bin ][ body ] */
#define MANY_HEAD (FRAME_HEAD + 2 + 3)

_Static_assert(LINK_MANY_MAX < 0x10000, "put_array_head knows no longer one");

static size_t put_array_head(uint8_t *out, uint32_t n)
{
    if (n < 16) {
        out[0] = (uint8_t)(0x90 + n);
        return 1;
    }
    out[0] = 0xdc;
    out[1] = (uint8_t)(n >> 8);
    out[2] = (uint8_t)n;
    return 3;
}

static size_t put_bin_head(uint8_t *out, size_t n)
{
    uint32_t wide = htobe32((uint32_t)n);

    if (n < 0x100) {
        out[0] = 0xc4;
        out[1] = (uint8_t)n;
        return 2;
    }
    if (n < 0x10000) {
        out[0] = 0xc5;
        out[1] = (uint8_t)(n >> 8);
        out[2] = (uint8_t)n;
        return 3;
    }
    out[0] = 0xc6;
    memcpy(out + 1, &wide, sizeof(wide));
    return 5;
}

/* A body behind its head; returns the bytes of both. */
static size_t lay_bin(uint8_t *out, struct span body)
{
    size_t head = put_bin_head(out, body.n);

    memcpy(out + head, body.p, body.n);
    return head + body.n;
}

/* By hand too, since each request of a client is one:
 *
 *   [ length ][ array of 2 + n ][ kind ][ session ] ([ bin ][ body ]) ... */
void link_write_data(struct span_writer *w, uint64_t session, const struct span *bodies, uint32_t n)
{
    size_t bytes = FRAME_HEAD, room = w->cap - w->len;
    uint8_t head[FRAME_HEAD + 3 + 1 + SESSION_MAX], bin[BIN_HEAD], *at;

    ASSERT(n > 0);
    ASSERT(n <= LINK_BODIES_MAX);
    bytes += put_array_head(head + bytes, 2 + n);
    head[bytes++] = LINK_DATA;
    bytes += put_session(head + bytes, session);
    const size_t head_bytes = bytes;
    for (uint32_t i = 0; i < n; i++) {
        ASSERT(bodies[i].n > 0);
        ASSERT(bodies[i].n <= PROTO_BATCH_MAX);
        bytes += put_bin_head(bin, bodies[i].n) + bodies[i].n;
    }
    if (w->full || bytes > room || bytes - FRAME_HEAD > LINK_FRAME_MAX) {
        w->full = true;
        return;
    }
    frame_head(head, (uint32_t)(bytes - FRAME_HEAD));
    at = w->p + w->len;
    memcpy(at, head, head_bytes);
    at += head_bytes;
    for (uint32_t i = 0; i < n; i++)
        at += lay_bin(at, bodies[i]);
    w->len += bytes;
}

/* Does it fit? At its longest, or else exactly. */
static bool many_fits(const struct span_writer *w, const uint64_t *sessions, uint32_t n,
                      size_t body_bytes)
{
    size_t room = w->cap - w->len, bytes = FRAME_HEAD + 2 + body_bytes;
    uint8_t one[SESSION_MAX];

    if (w->full)
        return false;
    if (MANY_HEAD + (size_t)n * SESSION_MAX + BIN_HEAD + body_bytes <= room)
        return true;
    bytes += put_array_head(one, n) + put_bin_head(one, body_bytes);
    for (uint32_t i = 0; i < n; i++)
        bytes += put_session(one, sessions[i]);
    return bytes <= room;
}

void link_write_data_many(struct span_writer *w, const uint64_t *sessions, uint32_t n,
                          struct span body)
{
    uint8_t *start, *at;

    ASSERT(n > 0);
    ASSERT(n <= LINK_MANY_MAX);
    ASSERT(body.n > 0);
    ASSERT(body.n <= PROTO_BATCH_MAX);
    if (!many_fits(w, sessions, n, body.n)) {
        w->full = true;
        return;
    }
    start = w->p + w->len;
    at = start + FRAME_HEAD;
    *at++ = 0x93;
    *at++ = LINK_DATA_MANY;
    at += put_array_head(at, n);
    for (uint32_t i = 0; i < n; i++)
        at += put_session(at, sessions[i]);
    at += lay_bin(at, body);
    frame_head(start, (uint32_t)(at - start - FRAME_HEAD));
    w->len += (size_t)(at - start);
}

void link_write_close(struct span_writer *w, uint64_t session, uint32_t code, struct span reason)
{
    ASSERT(reason.n <= LINK_TEXT_MAX);
    struct frame_out f = begin(w, 4, LINK_CLOSE);
    msgpack_pack_uint64(&f.pk, session);
    msgpack_pack_uint32(&f.pk, code);
    put_text(&f, reason);
    end(&f);
}

void link_write_congestion(struct span_writer *w, uint64_t session, bool on)
{
    struct frame_out f = begin(w, 3, LINK_CONGESTION);
    msgpack_pack_uint64(&f.pk, session);
    if (on)
        msgpack_pack_true(&f.pk);
    else
        msgpack_pack_false(&f.pk);
    end(&f);
}

void link_write_drain(struct span_writer *w, uint64_t session, uint64_t bytes_per_s)
{
    struct frame_out f = begin(w, 3, LINK_DRAIN);
    msgpack_pack_uint64(&f.pk, session);
    msgpack_pack_uint64(&f.pk, bytes_per_s);
    end(&f);
}

void link_write_bind(struct span_writer *w, uint64_t session, struct span peer, struct span note)
{
    ASSERT(peer.n <= LINK_TEXT_MAX);
    ASSERT(note.n <= LINK_NOTE_MAX);
    struct frame_out f = begin(w, 4, LINK_BIND);
    msgpack_pack_uint64(&f.pk, session);
    put_text(&f, peer);
    put_bin(&f, note);
    end(&f);
}

void link_write_note(struct span_writer *w, uint64_t session, struct span note)
{
    ASSERT(note.n <= LINK_NOTE_MAX);
    struct frame_out f = begin(w, 3, LINK_NOTE);
    msgpack_pack_uint64(&f.pk, session);
    put_bin(&f, note);
    end(&f);
}

void link_write_proof(struct span_writer *w, struct span key)
{
    ASSERT(key.n <= LINK_KEY_MAX);
    struct frame_out f = begin(w, 2, LINK_PROOF);
    put_bin(&f, key);
    end(&f);
}

static void write_number(struct span_writer *w, enum link_kind kind, uint64_t number)
{
    struct frame_out f = begin(w, 2, kind);
    msgpack_pack_uint64(&f.pk, number);
    end(&f);
}

void link_write_redirect(struct span_writer *w, uint64_t session, struct span world,
                         uint32_t entity, uint32_t count)
{
    ASSERT(world.n <= LINK_WORLD_MAX);
    ASSERT(world.n > 0 || (entity == 0 && count == 0));
    struct frame_out f = begin(w, 5, LINK_REDIRECT);
    msgpack_pack_uint64(&f.pk, session);
    put_text(&f, world);
    msgpack_pack_uint32(&f.pk, entity);
    msgpack_pack_uint32(&f.pk, count);
    end(&f);
}

void link_write_left(struct span_writer *w, uint64_t session)
{
    struct frame_out f = begin(w, 2, LINK_LEFT);
    msgpack_pack_uint64(&f.pk, session);
    end(&f);
}

void link_write_attach(struct span_writer *w, uint64_t session, struct span peer, struct span note,
                       uint32_t entity, uint32_t count)
{
    ASSERT(peer.n <= LINK_TEXT_MAX);
    ASSERT(note.n <= LINK_NOTE_MAX);
    struct frame_out f = begin(w, 6, LINK_ATTACH);
    msgpack_pack_uint64(&f.pk, session);
    put_text(&f, peer);
    put_bin(&f, note);
    msgpack_pack_uint32(&f.pk, entity);
    msgpack_pack_uint32(&f.pk, count);
    end(&f);
}

void link_write_ping(struct span_writer *w, uint64_t number)
{
    write_number(w, LINK_PING, number);
}

void link_write_pong(struct span_writer *w, uint64_t number)
{
    write_number(w, LINK_PONG, number);
}
