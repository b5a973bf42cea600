/* gateway/uplink.c: dial, hello, ping, backoff, and the frames between.
 * May touch: common, proto/frame, proto/link, proto/link_proof, conn. Never: clients.
 * On trouble: see uplink.h.
 */
#include "gateway/uplink.h"

#include "common/err.h"
#include "common/log.h"
#include "proto/frame.h"

#include <string.h>

#define UPLINK_PINGS_IN_SILENCE 3                  /* both sides ping so often in -link-timeout */
#define UPLINK_NOTE_MAX         (LINK_ID_MAX + 96) /* bytes of a hello, proof, ping or pong */

static const char uplink_queue_full[] = "link queue full";
static const char uplink_no_frame[] = "not a link frame";
static const char uplink_no_key[] = "the world has no -link-key";
static const char uplink_wants_key[] = "the world wants a -link-key";
static const char uplink_refused_key[] = "closed by the world at our -link-key";
static const char uplink_other_key[] = "the world does not have our -link-key";
static const char uplink_other_world[] = "another world is there";

void uplink_init(struct uplink *u, uint64_t seed)
{
    u->state = UPLINK_IDLE;
    u->conn = NULL;
    rng_init(&u->rng, seed);
    u->now = u->heard = u->pinged = u->ready_since = u->summary = (struct mono){0};
    u->next_dial = (struct mono){0};
    u->backoff_ns = UPLINK_BACKOFF_MIN_NS;
    u->ping = 0;
    u->attempts = 0;
    u->broken = NULL;
    u->told = NULL;
    u->world[0] = '\0';
    u->key.n = 0;
}

static void uplink_close(struct uplink *u)
{
    if (u->state == UPLINK_DIALLING)
        u->ops->dial_cancel(u->ops_arg);
    if (u->conn)
        u->conn_ops->destroy(u->conn);
    u->conn = NULL;
    u->broken = NULL;
    keys_wipe(&u->key, 1);
}

void uplink_fini(struct uplink *u)
{
    uplink_close(u);
    u->state = UPLINK_OVER;
}

/* The next attempt: somewhere in the second half of the backoff, so that many gateways do not
 * come back as one. */
static void uplink_plan(struct uplink *u)
{
    const double part = 0.5 + 0.5 * rng_unit(&u->rng);
    u->next_dial = clock_add(u->now, (int64_t)(part * (double)u->backoff_ns));
    u->backoff_ns *= 2;
    if (u->backoff_ns > UPLINK_BACKOFF_MAX_NS)
        u->backoff_ns = UPLINK_BACKOFF_MAX_NS;
}

/* This attempt or link is over. */
static void uplink_drop(struct uplink *u, const char *why, uint64_t *metric)
{
    const bool was_ready = u->state == UPLINK_READY;

    if (was_ready && clock_since(u->now, u->ready_since) >= UPLINK_STEADY_NS)
        u->backoff_ns = UPLINK_BACKOFF_MIN_NS;
    uplink_close(u);
    u->state = UPLINK_IDLE;
    uplink_plan(u);
    (*metric)++;
    if (was_ready) {
        u->metrics->link_losses++;
        u->told = why; /* its user tells of the loss */
        u->summary = u->now;
        u->user->lost(u->user_arg, why);
    } else if (!u->told || strcmp(u->told, why) != 0) {
        u->told = why;
        u->summary = u->now;
        log_often(LOG_WARN, "world away upstream=%s reason=\"%s\" attempts=%u", u->upstream, why,
                  u->attempts);
    }
}

static void uplink_dial(struct uplink *u)
{
    u->attempts++;
    u->metrics->dials++;
    u->state = UPLINK_DIALLING;
    const int r = u->ops->dial(u->ops_arg);
    if (r != 0)
        uplink_failed(u, err_text(r));
}

void uplink_failed(struct uplink *u, const char *why)
{
    ASSERT(u->state == UPLINK_DIALLING);
    u->state = UPLINK_IDLE; /* the dial is over: nothing to cancel */
    uplink_drop(u, why, &u->metrics->down_dial);
}

/* Frames of ours outside uplink_write: before the link is ready, and pings. */
static void uplink_note(struct uplink *u, const struct span_writer *w)
{
    ASSERT(!w->full);
    if (u->conn_ops->write(u->conn, span_written(w)) != 0) {
        u->broken = uplink_queue_full;
        return;
    }
    u->metrics->link_frames_out++;
    u->metrics->link_bytes_out += w->len;
}

/* The key of the link that begins, and the nonce of its hello: empty where there is none. */
static struct span uplink_nonce(struct uplink *u)
{
    struct key list[KEYS_MAX];

    if (!u->keys || keys_copy(u->keys, list) == 0)
        return (struct span){0};
    u->key = list[0];
    keys_wipe(list, KEYS_MAX);
    u->ops->secret(u->meeting.gateway_nonce, LINK_NONCE_BYTES);
    return span_of(u->meeting.gateway_nonce, LINK_NONCE_BYTES);
}

void uplink_connected(struct uplink *u, struct stream *conn)
{
    uint8_t note[UPLINK_NOTE_MAX];
    struct span_writer w = span_writer_of(note, sizeof(note));

    ASSERT(u->state == UPLINK_DIALLING);
    u->state = UPLINK_HELLO;
    u->conn = conn;
    u->heard = u->now;
    u->pinged = u->now;
    link_write_hello(&w, u->id, uplink_nonce(u));
    uplink_note(u, &w);
}

/* --- in ------------------------------------------------------------------------------------ */

static void uplink_up(struct uplink *u)
{
    keys_wipe(&u->key, 1);
    u->state = UPLINK_READY;
    u->ready_since = u->now;
    u->metrics->link_ups++;
    log_often(LOG_INFO, "link up world=%s upstream=%s attempts=%u", u->world, u->upstream,
              u->attempts);
    u->attempts = 0;
    u->told = NULL;
    u->user->ready(u->user_arg);
}

/* NULL, or why there is no going on with this world. */
static const char *uplink_hello(struct uplink *u, const struct link_frame *f)
{
    const size_t n = f->id.n < LINK_ID_MAX ? f->id.n : LINK_ID_MAX;
    uint8_t note[UPLINK_NOTE_MAX], proof[LINK_PROOF_BYTES];
    struct span_writer w = span_writer_of(note, sizeof(note));

    if (n > 0)
        memcpy(u->world, f->id.p, n);
    u->world[n] = '\0';
    if (u->expect.n > 0 && !span_equal(u->expect, f->id))
        return uplink_other_world;
    if (u->key.n == 0 && f->key.n == 0) {
        uplink_up(u);
        return NULL;
    }
    if (u->key.n == 0)
        return uplink_wants_key;
    if (f->key.n != LINK_NONCE_BYTES)
        return uplink_no_key;
    memcpy(u->meeting.world_nonce, f->key.p, LINK_NONCE_BYTES);
    u->meeting.gateway_id = u->id;
    u->meeting.world_id = span_of(u->world, n);
    link_proof(proof, span_of(u->key.bytes, u->key.n), LINK_SIDE_GATEWAY, &u->meeting);
    link_write_proof(&w, span_of(proof, sizeof(proof)));
    u->state = UPLINK_PROOF;
    uplink_note(u, &w);
    return NULL;
}

static const char *uplink_proof(struct uplink *u, const struct link_frame *f)
{
    if (!link_proof_good(f->key, span_of(u->key.bytes, u->key.n), LINK_SIDE_WORLD, &u->meeting))
        return uplink_other_key;
    uplink_up(u);
    return NULL;
}

static void uplink_pong(struct uplink *u, uint64_t number)
{
    uint8_t note[UPLINK_NOTE_MAX];
    struct span_writer w = span_writer_of(note, sizeof(note));

    link_write_pong(&w, number);
    uplink_note(u, &w);
}

/* NULL, or why the link ends: this is nothing that a world says here, or not the right key. */
static const char *uplink_take(struct uplink *u, struct span body)
{
    struct link_frame f;

    if (link_read(body, &f) != 0)
        return uplink_no_frame;
    if (u->state == UPLINK_HELLO)
        return f.kind == LINK_HELLO && f.version == LINK_VERSION ? uplink_hello(u, &f)
                                                                 : uplink_no_frame;
    if (u->state == UPLINK_PROOF)
        return f.kind == LINK_PROOF ? uplink_proof(u, &f) : uplink_no_frame;
    switch (f.kind) {
    case LINK_DATA:
    case LINK_DATA_MANY:
    case LINK_CLOSE:
    case LINK_NOTE:
    case LINK_REDIRECT:
        u->user->frame(u->user_arg, &f);
        return NULL;
    case LINK_PING:
        uplink_pong(u, f.number);
        return NULL;
    case LINK_PONG:
        return NULL;
    case LINK_HELLO:
    case LINK_OPEN:
    case LINK_CONGESTION:
    case LINK_DRAIN:
    case LINK_BIND:
    case LINK_LEFT:
    case LINK_ATTACH:
    case LINK_PROOF:
        break;
    }
    return uplink_no_frame;
}

/* Does anybody speak on the other side? */
static bool uplink_talks(const struct uplink *u)
{
    return u->state == UPLINK_HELLO || u->state == UPLINK_PROOF || u->state == UPLINK_READY;
}

/* Where this end is counted. */
static uint64_t *uplink_fault(const struct uplink *u, const char *why)
{
    if (why == uplink_no_frame)
        return &u->metrics->down_bad_frame;
    return why == uplink_other_world ? &u->metrics->down_world : &u->metrics->down_key;
}

static size_t uplink_data(void *arg, struct span bytes)
{
    struct uplink *u = arg;
    size_t used = 0;

    if (!uplink_talks(u))
        return bytes.n;
    u->heard = u->now;
    while (used < bytes.n) {
        struct span body;
        size_t n;
        const int r =
            frame_split(span_of(bytes.p + used, bytes.n - used), LINK_FRAME_MAX, &body, &n);
        if (r == E_SHORT)
            break;
        const char *why = r == 0 ? uplink_take(u, body) : uplink_no_frame;
        if (why) {
            uplink_drop(u, why, uplink_fault(u, why));
            return bytes.n;
        }
        u->metrics->link_frames_in++;
        u->metrics->link_bytes_in += n;
        used += n;
    }
    u->user->settle(u->user_arg);
    return used;
}

static void uplink_pressure(void *arg, bool on)
{
    struct uplink *u = arg;

    if (u->state != UPLINK_READY)
        return;
    if (on)
        u->metrics->link_pauses++;
    u->user->pressure(u->user_arg, on);
}

static void uplink_closed(void *arg, enum stream_end why)
{
    struct uplink *u = arg;

    if (u->state == UPLINK_ENDING)
        uplink_fini(u);
    else if (!uplink_talks(u))
        return;
    else if (u->state == UPLINK_PROOF)
        uplink_drop(u, uplink_refused_key, &u->metrics->down_key);
    else if (why == STREAM_EOF)
        uplink_drop(u, "closed by the world", &u->metrics->down_eof);
    else
        uplink_drop(u, "connection reset", &u->metrics->down_reset);
}

const struct stream_ops uplink_stream_ops = {
    .data = uplink_data,
    .pressure = uplink_pressure,
    .closed = uplink_closed,
};

/* --- out ----------------------------------------------------------------------------------- */

bool uplink_ready(const struct uplink *u)
{
    return u->state == UPLINK_READY && !u->broken;
}

int uplink_write(struct uplink *u, struct span bytes, uint32_t frames)
{
    if (!uplink_ready(u))
        return E_CLOSED;
    if (u->conn_ops->write(u->conn, bytes) != 0) {
        /* It ends at the next step, not here: the caller may stand inside a client's callback,
         * and the loss concerns all clients. */
        u->broken = uplink_queue_full;
        return E_CLOSED;
    }
    u->metrics->link_frames_out += frames;
    u->metrics->link_bytes_out += bytes.n;
    return 0;
}

void uplink_finish(struct uplink *u, int64_t linger_ns)
{
    if (u->state != UPLINK_READY || u->broken) {
        uplink_fini(u);
        return;
    }
    u->state = UPLINK_ENDING;
    u->conn_ops->finish(u->conn, linger_ns);
}

bool uplink_over(const struct uplink *u)
{
    return u->state == UPLINK_OVER;
}

/* --- time ---------------------------------------------------------------------------------- */

static void uplink_step_connected(struct uplink *u)
{
    if (u->broken) {
        uplink_drop(u, u->broken, &u->metrics->down_queue);
        return;
    }
    if (u->silence_ns == 0)
        return;
    if (clock_since(u->now, u->heard) >= u->silence_ns) {
        uplink_drop(u,
                    u->state == UPLINK_HELLO   ? "no hello"
                    : u->state == UPLINK_PROOF ? "no proof"
                                               : "silent",
                    &u->metrics->down_silent);
        return;
    }
    if (u->state == UPLINK_READY &&
        clock_since(u->now, u->pinged) >= u->silence_ns / UPLINK_PINGS_IN_SILENCE) {
        uint8_t note[UPLINK_NOTE_MAX];
        struct span_writer w = span_writer_of(note, sizeof(note));

        u->pinged = u->now;
        link_write_ping(&w, ++u->ping);
        uplink_note(u, &w);
    }
}

void uplink_step(struct uplink *u, struct mono now)
{
    u->now = now;
    switch (u->state) {
    case UPLINK_IDLE:
        if (clock_since(now, u->next_dial) >= 0)
            uplink_dial(u);
        break;
    case UPLINK_HELLO:
    case UPLINK_PROOF:
    case UPLINK_READY:
        uplink_step_connected(u);
        break;
    case UPLINK_DIALLING:
    case UPLINK_ENDING:
    case UPLINK_OVER:
        return;
    }
    if (u->told && clock_since(now, u->summary) >= UPLINK_SUMMARY_NS) {
        u->summary = now;
        log_line(LOG_WARN, "world still away upstream=%s reason=\"%s\" attempts=%u", u->upstream,
                 u->told, u->attempts);
    }
}
