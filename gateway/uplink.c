/* gateway/uplink.c: dial, hello, ping, backoff, and the frames between.
 * May touch: common, proto/frame, proto/link, conn. Never: clients.
 * On trouble: see uplink.h.
 */
#include "gateway/uplink.h"

#include "common/err.h"
#include "common/log.h"
#include "proto/frame.h"

#include <string.h>

#define UPLINK_PINGS_IN_SILENCE 3                  /* both sides ping so often in -link-timeout */
#define UPLINK_NOTE_MAX         (LINK_ID_MAX + 64) /* bytes of a hello, ping or pong */

static const char uplink_queue_full[] = "link queue full";

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
}

static void uplink_close(struct uplink *u)
{
    if (u->state == UPLINK_DIALLING)
        u->ops->dial_cancel(u->ops_arg);
    if (u->conn)
        u->conn_ops->destroy(u->conn);
    u->conn = NULL;
    u->broken = NULL;
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

void uplink_connected(struct uplink *u, struct stream *conn)
{
    uint8_t note[UPLINK_NOTE_MAX];
    struct span_writer w = span_writer_of(note, sizeof(note));

    ASSERT(u->state == UPLINK_DIALLING);
    u->state = UPLINK_HELLO;
    u->conn = conn;
    u->heard = u->now;
    u->pinged = u->now;
    link_write_hello(&w, u->id, (struct span){0});
    uplink_note(u, &w);
}

/* --- in ------------------------------------------------------------------------------------ */

static void uplink_hello(struct uplink *u, const struct link_frame *f)
{
    const size_t n = f->id.n < LINK_ID_MAX ? f->id.n : LINK_ID_MAX;

    if (n > 0)
        memcpy(u->world, f->id.p, n);
    u->world[n] = '\0';
    u->state = UPLINK_READY;
    u->ready_since = u->now;
    u->metrics->link_ups++;
    log_often(LOG_INFO, "link up world=%s upstream=%s attempts=%u", u->world, u->upstream,
              u->attempts);
    u->attempts = 0;
    u->told = NULL;
    u->user->ready(u->user_arg);
}

static void uplink_pong(struct uplink *u, uint64_t number)
{
    uint8_t note[UPLINK_NOTE_MAX];
    struct span_writer w = span_writer_of(note, sizeof(note));

    link_write_pong(&w, number);
    uplink_note(u, &w);
}

/* False: this is nothing that a world says here. */
static bool uplink_take(struct uplink *u, struct span body)
{
    struct link_frame f;

    if (link_read(body, &f) != 0)
        return false;
    if (u->state == UPLINK_HELLO) {
        if (f.kind != LINK_HELLO || f.version != LINK_VERSION)
            return false;
        uplink_hello(u, &f);
        return true;
    }
    switch (f.kind) {
    case LINK_DATA:
    case LINK_DATA_MANY:
    case LINK_CLOSE:
    case LINK_NOTE:
        u->user->frame(u->user_arg, &f);
        return true;
    case LINK_PING:
        uplink_pong(u, f.number);
        return true;
    case LINK_PONG:
        return true;
    case LINK_HELLO:
    case LINK_OPEN:
    case LINK_CONGESTION:
    case LINK_DRAIN:
    case LINK_BIND:
    case LINK_REDIRECT:
    case LINK_LEFT:
    case LINK_ATTACH:
        break;
    }
    return false;
}

static size_t uplink_data(void *arg, struct span bytes)
{
    struct uplink *u = arg;
    size_t used = 0;

    if (u->state != UPLINK_HELLO && u->state != UPLINK_READY)
        return bytes.n;
    u->heard = u->now;
    while (used < bytes.n) {
        struct span body;
        size_t n;
        const int r =
            frame_split(span_of(bytes.p + used, bytes.n - used), LINK_FRAME_MAX, &body, &n);
        if (r == E_SHORT)
            break;
        if (r != 0 || !uplink_take(u, body)) {
            uplink_drop(u, "not a link frame", &u->metrics->down_bad_frame);
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
    else if (u->state != UPLINK_HELLO && u->state != UPLINK_READY)
        return;
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
        uplink_drop(u, u->state == UPLINK_HELLO ? "no hello" : "silent", &u->metrics->down_silent);
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
