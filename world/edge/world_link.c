/* world/edge/world_link.c: gateways in, outbox out.
 *
 *   listener ─► connection ──hello, proof──► link (has a place in by_slot, a ref of the core's)
 *                                      │ frames              ▲ pings, and what the outbox drains
 *                                      ▼                     │
 *                                    inbox ─► core ─► outbox ┘ (flushed after each piece of input)
 *
 * How a connection ends is in world_link_end.c.
 * May touch: common, common/io, proto/frame, proto/link, link_guard, the core's doors. On trouble:
 * see header.
 */
#include "world/edge/world_link_own.h"

#include "common/err.h"
#include "common/log.h"
#include "proto/frame.h"
#include "world/command/inbox.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A hello's or a proof's body at most. Before it is a link a connection is a stranger, who gets no
 * large buffer. */
#define HELLO_MAX (LINK_ID_MAX + LINK_KEY_MAX + 32)
/* Hello, proof, ping and pong with their heads. */
#define OWN_FRAME_MAX (HELLO_MAX + FRAME_HEAD)
/* Frames of so many bytes, queued or drained in one run, are sent at once: a big tick does not pile
 * up here, and the gateway is at its first clients while the last are still worked out. */
#define SEND_BYTES 65536
/* A drained queue keeps a buffer of so many bytes: several ticks' answers. */
#define QUEUE_KEEP 524288
/* Pings in one link-timeout. */
#define PINGS 3
/* A gateway that is refused may take so long to read what we said. */
#define REFUSED_LINGER_NS CLOCK_NS_PER_S

/* --- out -------------------------------------------------------------------------------------- */

static void write_frames(struct connection *c, struct span frames)
{
    int err = E_CLOSED;

    if (!c->ends && !c->finishing)
        err = frames.n >= SEND_BYTES ? stream_send(c->stream, &frames, 1)
                                     : stream_write(c->stream, frames);
    if (err == 0) {
        if (stream_queued(c->stream) > SEND_BYTES)
            stream_flush(c->stream);
        return;
    }
    c->owner->metrics->link_bytes_lost += frames.n;
    /* E_CLOSED: it ends anyway, or `closed` is on its way. */
    if (err != E_CLOSED)
        world_link_end_later(c, err == E_FULL ? END_QUEUE_FULL : END_MEMORY);
}

void world_link_drain(void *arg, struct link_ref link, struct span frames)
{
    struct world_link *k = arg;
    ASSERT(link.slot < SESSION_LINKS_MAX);
    struct connection *c = k->by_slot[link.slot];

    if (trace_on(&k->trace.trace))
        link_trace_out(&k->trace, link, frames);
    if (c && link_ref_equal(c->ref, link))
        write_frames(c, frames);
    else
        k->metrics->link_bytes_lost += frames.n;
}

void world_link_trace(struct world_link *k, const struct sessions *all, const struct session *s,
                      uint32_t lines, uint32_t seconds)
{
    link_trace_begin(&k->trace, all, s, lines, seconds);
}

/* With a nonce where there are keys. */
static void say_hello(struct connection *c)
{
    uint8_t bytes[OWN_FRAME_MAX];
    struct span_writer w = span_writer_of(bytes, sizeof(bytes));

    link_write_hello(&w, span_text(c->owner->id), link_guard_nonce(&c->pass, c->owner->keys));
    ASSERT(!w.full);
    write_frames(c, span_written(&w));
}

static void say_number(struct connection *c, enum link_kind kind, uint64_t number)
{
    uint8_t bytes[OWN_FRAME_MAX];
    struct span_writer w = span_writer_of(bytes, sizeof(bytes));

    if (kind == LINK_PING)
        link_write_ping(&w, number);
    else
        link_write_pong(&w, number);
    ASSERT(!w.full);
    write_frames(c, span_written(&w));
}

/* Wake when the next ping is due, or our patience ends. */
static void arm(struct connection *c, struct mono now)
{
    struct mono at = clock_add(c->heard, c->owner->options->link_timeout_ns);

    if (!c->timer)
        return;
    if (is_up(c) && clock_since(c->ping_at, at) < 0)
        at = c->ping_at;
    c->wake_at = at;
    loop_timer_arm(c->timer, clock_since(at, now));
}

/* --- in: false where the connection is over and must not be touched any more --------------------
 */

/* Its hello, or its proof, was good. */
static bool come_up(struct connection *c, struct mono now)
{
    struct world_link *k = c->owner;
    struct link_ref named = {0}, replaced = {0}, ref;
    struct span id = span_text(c->id);
    uint32_t sessions = 0;

    if (sessions_link_named(&k->world->sessions, id, &named))
        sessions = world_link_sessions(k, named);
    if (inbox_link_up(k->world, id, now, &ref, &replaced) != 0) {
        world_link_end(c, END_FULL);
        return false;
    }
    /* Before the new one takes its place: the core may have given it the old one's slot. */
    struct connection *old = replaced.gen != 0 ? k->by_slot[replaced.slot] : NULL;
    if (old && link_ref_equal(old->ref, replaced))
        world_link_end_with(old, END_REPLACED, sessions);
    c->ref = ref;
    c->heard = now;
    c->ping_at = clock_add(now, k->options->link_timeout_ns / PINGS);
    k->by_slot[ref.slot] = c;
    k->metrics->ups++;
    log_often(LOG_INFO, "gateway up id=%s peer=%s links=%" PRIu32, c->id, c->peer,
              k->world->sessions.links_slots.live);
    return true;
}

static bool refuse_key(struct connection *c, const char *why)
{
    log_often(LOG_WARN, "gateway refused id=%s peer=%s reason=key detail=\"%s\"", c->id, c->peer,
              why);
    world_link_end_slowly(c, END_KEY, REFUSED_LINGER_NS);
    return false;
}

/* Its hello is sound; ours says what we have. */
static bool take_nonce(struct connection *c, struct span nonce, struct mono now)
{
    const char *why = link_guard_hello(&c->pass, c->owner->keys, nonce);
    bool proves = c->pass.proving;

    if (!why && !proves && !come_up(c, now))
        return false;
    say_hello(c);
    if (why)
        return refuse_key(c, why);
    if (!proves)
        arm(c, now);
    return true;
}

static bool take_proof(struct connection *c, struct span body, struct mono now)
{
    const struct world_link *k = c->owner;
    uint8_t bytes[OWN_FRAME_MAX], ours[LINK_PROOF_BYTES];
    struct span_writer w = span_writer_of(bytes, sizeof(bytes));
    struct link_frame f;

    if (link_read(body, &f) != 0 || f.kind != LINK_PROOF ||
        !link_guard_proof(&c->pass, k->keys, c->id, k->id, f.key, ours))
        return refuse_key(c, "its -link-key is none of ours");
    c->pass.proving = false;
    if (!come_up(c, now))
        return false;
    link_write_proof(&w, span_of(ours, sizeof(ours)));
    ASSERT(!w.full);
    write_frames(c, span_written(&w));
    arm(c, now);
    return true;
}

static bool take_hello(struct connection *c, struct span body, struct mono now)
{
    struct link_frame f;

    if (c->pass.proving)
        return take_proof(c, body, now);
    if (link_read(body, &f) != 0 || f.kind != LINK_HELLO || f.id.n == 0) {
        world_link_end(c, END_NO_HELLO);
        return false;
    }
    memcpy(c->id, f.id.p, f.id.n);
    c->id[f.id.n] = '\0';
    if (f.version != LINK_VERSION) {
        log_often(LOG_WARN, "gateway refused id=%s peer=%s version=%" PRIu32 " ours=%d", c->id,
                  c->peer, f.version, LINK_VERSION);
        say_hello(c);
        world_link_end_slowly(c, END_VERSION, REFUSED_LINGER_NS);
        return false;
    }
    return take_nonce(c, f.key, now);
}

/* Ping and pong are the edge's; everything else is the core's to read. Both have one short form,
 * in which our writer puts them. */
static bool is_liveness(struct span body)
{
    return body.n >= 2 && body.p[0] == 0x92 && (body.p[1] == LINK_PING || body.p[1] == LINK_PONG);
}

static int take_liveness(struct connection *c, struct span body)
{
    struct link_frame f;
    int err = link_read(body, &f);

    if (err == 0 && f.kind == LINK_PING) {
        c->owner->metrics->pings++;
        say_number(c, LINK_PONG, f.number);
    }
    return err;
}

static bool take_frame(struct connection *c, struct span body)
{
    struct world_link *k = c->owner;
    struct mono now = loop_now(k->loop);
    int err;

    k->metrics->link_frames_in++;
    k->metrics->link_bytes_in += FRAME_HEAD + body.n;
    if (!is_up(c))
        return take_hello(c, body, now);
    c->heard = now;
    if (is_liveness(body))
        err = take_liveness(c, body);
    else {
        if (trace_on(&k->trace.trace))
            link_trace_in(&k->trace, c->ref, body);
        err = inbox_frame(k->world, c->ref, body, now);
    }
    if (err != 0)
        world_link_end(c, END_BAD_FRAME);
    return err == 0;
}

static size_t on_data(void *arg, struct span bytes)
{
    struct connection *c = arg;
    struct world_link *k = c->owner;
    size_t taken = 0;
    bool more = !c->ends && !(k->may && !k->may(k->may_arg));

    while (more) {
        struct span body;
        size_t used;
        uint32_t max = is_up(c) ? LINK_FRAME_MAX : HELLO_MAX;
        int err = frame_split(span_of(bytes.p + taken, bytes.n - taken), max, &body, &used);
        if (err == E_SHORT)
            break;
        if (err != 0) {
            world_link_end(c, is_up(c) ? END_BAD_FRAME : END_NO_HELLO);
            break;
        }
        taken += used;
        more = take_frame(c, body) && !c->ends;
    }
    /* Requests are answered now, not at the tick. */
    outbox_flush(&k->world->outbox);
    return taken;
}

static void on_pressure(void *arg, bool on)
{
    struct connection *c = arg;
    struct world_link *k = c->owner;

    c->pressed = on;
    k->metrics->links_pressed += on ? 1 : -(uint64_t)1;
    k->metrics->link_presses += on;
    if (is_up(c))
        inbox_link_congestion(k->world, c->ref, on, loop_now(k->loop));
    log_often(on ? LOG_WARN : LOG_INFO, "gateway %s id=%s queued=%zu", on ? "slow" : "drained",
              c->id, stream_queued(c->stream));
}

static void on_closed(void *arg, enum stream_end why)
{
    struct connection *c = arg;

    if (c->finishing)
        world_link_end(c, c->end);
    else
        world_link_end(c, why == STREAM_EOF ? END_EOF : END_RESET);
}

static const struct stream_ops link_stream_ops = {
    .data = on_data,
    .pressure = on_pressure,
    .closed = on_closed,
};

/* --- time ------------------------------------------------------------------------------------- */

static void on_timer(void *arg)
{
    struct connection *c = arg;
    int64_t timeout_ns = c->owner->options->link_timeout_ns;
    struct mono now = loop_now(c->owner->loop);
    int64_t late_ns = clock_since(now, c->wake_at);

    /* While we stood still (stopped, or short of a processor) nobody could be heard. */
    if (late_ns > timeout_ns / PINGS)
        c->heard = clock_add(c->heard, late_ns);
    if (c->owner->still)
        c->heard = now;
    if (clock_since(now, c->heard) >= timeout_ns) {
        world_link_end(c, is_up(c) ? END_SILENT : END_NO_HELLO);
        return;
    }
    if (is_up(c) && clock_since(now, c->ping_at) >= 0) {
        say_number(c, LINK_PING, ++c->pings);
        c->ping_at = clock_add(now, timeout_ns / PINGS);
    }
    arm(c, now);
}

/* --- connections ------------------------------------------------------------------------------ */

static int connection_create(struct world_link *k, int fd, const char *peer)
{
    struct mono now = loop_now(k->loop);
    struct connection *c = calloc(1, sizeof(*c));

    if (!c) {
        close(fd);
        return E_NOMEM;
    }
    c->owner = k;
    c->heard = now;
    c->ending = (struct loop_deferred){.fn = world_link_on_ending, .arg = c};
    snprintf(c->peer, sizeof(c->peer), "%s", peer);
    int err = stream_create(k->loop, fd, &k->limits, &link_stream_ops, c, &c->stream);
    if (err == 0 && k->options->link_timeout_ns != 0)
        err = loop_timer_create(k->loop, on_timer, c, &c->timer);
    if (err != 0) {
        stream_destroy(c->stream);
        free(c);
        return err;
    }
    arm(c, now);
    stream_read_pause(c->stream, k->still);
    c->next = k->first;
    if (c->next)
        c->next->prev = c;
    k->first = c;
    k->connections++;
    return 0;
}

/* A place for one more: of who has waited longest without being up, so that a crowd of strangers
 * holds up no gateway. */
static void make_place(struct world_link *k)
{
    struct connection *oldest = k->first;

    for (struct connection *c = k->first; c; c = c->next)
        oldest = is_up(c) ? oldest : c;
    ASSERT(!is_up(oldest)); /* there are more places than links */
    world_link_end(oldest, oldest->finishing ? oldest->end : END_CROWDED);
}

static void on_accepted(void *arg, int fd, const char *peer)
{
    struct world_link *k = arg;

    if (k->connections == WORLD_LINK_CONNECTIONS)
        make_place(k);
    int err = connection_create(k, fd, peer);
    if (err != 0) {
        k->metrics->refused_error++;
        log_often(LOG_WARN, "connection refused peer=%s reason=%s", peer, err_text(err));
        return;
    }
    k->metrics->accepted++;
    k->metrics->connections = k->connections;
}

static void on_accept_paused(void *arg, bool on, int err)
{
    struct world_link *k = arg;

    k->metrics->accept_pauses += on;
    if (on)
        log_often(LOG_WARN, "accepting paused reason=%s", strerror(err));
    else
        log_often(LOG_INFO, "accepting again");
}

static const struct net_listener_ops listener_ops = {
    .accepted = on_accepted,
    .paused = on_accept_paused,
};

/* --- the whole -------------------------------------------------------------------------------- */

int world_link_create(struct loop *l, const struct world_options *o, struct edge_metrics *m,
                      struct world_link **out)
{
    struct world_link *k = calloc(1, sizeof(*k));
    uint64_t random;

    if (!k)
        return E_NOMEM;
    k->loop = l;
    k->options = o;
    k->metrics = m;
    k->limits = (struct stream_limits){
        .queue_soft = o->link_queue_soft,
        .queue_hard = o->link_queue_hard,
        .queue_keep = QUEUE_KEEP,
        .keep_max = FRAME_HEAD + LINK_FRAME_MAX,
    };
    rng_secret(&random, sizeof(random));
    snprintf(k->id, sizeof(k->id), "world-%016" PRIx64, random);
    if (o->world_id[0] != '\0') /* as the others and the gateways know it */
        snprintf(k->id, sizeof(k->id), "%s", o->world_id);
    *out = k;
    return 0;
}

void world_link_guard(struct world_link *k, struct keys *keys)
{
    ASSERT(!k->world);
    k->keys = keys;
}

void world_link_gate(struct world_link *k, world_link_may_fn *may, void *arg)
{
    k->may = may;
    k->may_arg = arg;
}

void world_link_still(struct world_link *k, bool still)
{
    struct mono now = loop_now(k->loop);

    k->still = still;
    for (struct connection *c = k->first; c; c = c->next) {
        if (c->finishing)
            continue;
        c->heard = now;
        stream_read_pause(c->stream, still);
    }
}

int world_link_listen(struct world_link *k, struct world *w, char *why, size_t why_cap)
{
    ASSERT(!k->world);
    k->world = w;
    return net_listen(k->loop, k->options->listen, &listener_ops, k, &k->listener, why, why_cap);
}

const char *world_link_addr(const struct world_link *k)
{
    return net_listener_addr(k->listener);
}

bool world_link_listening(const struct world_link *k)
{
    return k->listener != NULL;
}

void world_link_finish(struct world_link *k, int64_t linger_ns, loop_fn *done, void *arg)
{
    bool none = !k->first;

    ASSERT(!k->done);
    net_listener_destroy(k->listener);
    k->listener = NULL;
    outbox_flush(&k->world->outbox);
    k->done = done;
    k->done_arg = arg;
    for (struct connection *c = k->first, *next; c; c = next) {
        next = c->next;
        if (!is_up(c))
            world_link_end(c, END_DRAINING);
        else if (!c->finishing && !c->ends)
            world_link_end_slowly(c, END_DRAINING, linger_ns);
    }
    if (none)
        done(arg);
}

void world_link_gauges(struct world_link *k)
{
    struct edge_metrics *m = k->metrics;

    m->trace_lines = k->trace.trace.lines;
    m->link_queue_bytes = 0;
    m->link_queue_most = 0;
    for (const struct connection *c = k->first; c; c = c->next) {
        size_t queued = stream_queued(c->stream);
        m->link_queue_bytes += queued;
        if (queued > m->link_queue_most)
            m->link_queue_most = queued;
    }
}

void world_link_destroy(struct world_link *k)
{
    if (!k)
        return;
    net_listener_destroy(k->listener);
    for (struct connection *c = k->first, *next; c; c = next) {
        next = c->next;
        loop_defer_cancel(k->loop, &c->ending);
        loop_timer_destroy(c->timer);
        stream_destroy(c->stream);
        free(c);
    }
    free(k);
}
