/* gateway/client.c: what a client is sent, and the ways it ends.
 * May touch: common, proto, clients, rate, transport, conn. Never: uplink, relay.
 * On trouble: see client.h.
 */
#include "gateway/client_own.h"

#include "common/err.h"
#include "common/log.h"
#include "gateway/client_trace.h"
#include "gateway/clients.h"
#include "proto/message.h"

#include <string.h>

static const struct {
    size_t metric; /* offset in struct gateway_metrics */
    const char *text;
} client_end_row[] = {
#define CLIENT_END(NAME, field, text) \
    [CLIENT_END_##NAME] = {offsetof(struct gateway_metrics, field), text},
    CLIENT_ENDS(CLIENT_END)
#undef CLIENT_END
};

const char *client_end_text(enum client_end end)
{
    return client_end_row[end].text;
}

/* --- ends ---------------------------------------------------------------------------------- */

/* From OPEN to whatever follows. */
static void client_leave(struct client *c, enum client_end end)
{
    const bool gone = end == CLIENT_END_EOF || end == CLIENT_END_RESET;
    struct clients *all = c->home;

    ASSERT(c->state == CLIENT_OPEN);
    c->state = CLIENT_ENDING;
    clients_leave(all);
    wheel_clear(&all->wheel, c->slot);
    drains_forget(all, c);
    (*(uint64_t *)((char *)all->metrics + client_end_row[end].metric))++;
    log_often(gone ? LOG_DEBUG : LOG_INFO, "client %s reason=%s peer=%s session=%s",
              gone ? "gone" : "ended", client_end_text(end), c->peer, CLIENT_SESSION(c));
    client_trace_end(c, client_end_text(end));
    all->world->gone(all->world_arg, c);
}

/* Its connection is over: to be freed at the end of the turn. */
static void client_die(struct client *c)
{
    c->state = CLIENT_DEAD;
    c->conn = NULL;
    clients_bury(c->home, c);
}

/* Nothing more is sent or heard. */
static void client_finish(struct client *c)
{
    struct clients *all = c->home;

    if (all->paused)
        all->conn->read_pause(c->conn, false);
    all->conn->finish(c->conn, all->limits.linger_ns);
}

void client_goodbye(struct client *c, struct span bytes)
{
    client_leave(c, CLIENT_END_CLOSE);
    (void)c->home->conn->write(c->conn, bytes);
    client_finish(c);
}

/* Queue the Bye and finish; the client has left already. */
static void client_bye_write(struct client *c, uint32_t code, struct span reason)
{
    struct clients *all = c->home;
    const struct transport_ops *t = client_transport(c);
    uint8_t note[CLIENT_NOTE_MAX + TRANSPORT_TAIL_MAX], head[TRANSPORT_HEAD_MAX];
    struct span_writer w = span_writer_of(note, CLIENT_NOTE_MAX);
    struct message m = {.cmd = CMD_BYE};

    m.bye.code = code;
    m.bye.reason =
        reason.n > 0 && reason.n <= LINK_TEXT_MAX ? reason : span_text(protocol_error_text(code));
    message_write(&w, &m);
    ASSERT(!w.full);
    const size_t head_bytes = t->head(head, w.len);
    const size_t tail_bytes = t->tail ? t->tail(note + w.len, code) : 0;
    if (all->conn->write2(c->conn, span_of(head, head_bytes), span_of(note, w.len + tail_bytes)) ==
        0)
        all->metrics->byes_sent++;
    else
        all->metrics->byes_unsent++;
    client_finish(c);
}

void client_bye(struct client *c, uint32_t code, struct span reason, enum client_end end)
{
    if (c->state != CLIENT_OPEN)
        return;
    client_leave(c, end);
    client_bye_write(c, code, reason);
}

/* The same with the code's own sentence. */
static void client_bye_code(struct client *c, uint32_t code, enum client_end end)
{
    client_bye(c, code, (struct span){0}, end);
}

void client_part(struct client *c, uint32_t code, enum client_end end)
{
    struct clients *all = c->home;

    if (c->state != CLIENT_OPEN || c->parting)
        return;
    if (!c->session || !all->world_up) {
        client_bye_code(c, code, end);
        return;
    }
    c->parting = true;
    c->part.code = (uint16_t)code;
    c->part.end = (uint16_t)end;
    c->partial_ms = all->awake_ms;
    wheel_hasten(&all->wheel, c->slot, CLIENT_PART_MS);
    all->world->part(all->world_arg, c);
}

void client_parted(struct client *c)
{
    if (c->state == CLIENT_OPEN && c->parting)
        client_bye_code(c, c->part.code, (enum client_end)c->part.end);
}

void client_drop(struct client *c, enum client_end end)
{
    if (c->state != CLIENT_OPEN)
        return;
    client_leave(c, end);
    c->home->conn->destroy(c->conn);
    client_die(c);
}

static void client_closed(void *arg, enum stream_end why)
{
    struct client *c = arg;
    struct clients *all = c->home;

    if (c->state == CLIENT_DEAD)
        return;
    if (c->state == CLIENT_OPEN) {
        client_drop(c, why == STREAM_EOF ? CLIENT_END_EOF : CLIENT_END_RESET);
        return;
    }
    /* What the peer has not taken will never be read: no reason to let the kernel keep trying. */
    if (all->conn->unsent(c->conn) > 0) {
        all->metrics->byes_unread++;
        all->conn->abort(c->conn);
    } else {
        all->conn->destroy(c->conn);
    }
    client_die(c);
}

/* --- out ----------------------------------------------------------------------------------- */

/* What came of an attempt to write `frames` frames, `bytes` in all, behind `queued` bytes. */
static void client_wrote(struct client *c, int r, size_t queued, uint32_t frames, size_t bytes)
{
    struct clients *all = c->home;

    if (r == 0) {
        if (queued > 0 || c->watched)
            drains_wrote(all, c, queued, bytes);
        all->metrics->frames_out += frames;
        all->metrics->bytes_out += bytes;
    } else if (r == E_FULL) {
        client_bye_code(c, PE_SLOW, CLIENT_END_QUEUE);
    } else if (r != E_CLOSED) { /* where it is closed, its end is on the way */
        client_drop(c, CLIENT_END_MEMORY);
    }
}

void client_put(struct client *c, struct span a, struct span b, uint32_t frames)
{
    struct clients *all = c->home;
    const size_t queued = all->conn->queued(c->conn), hard = all->limits.queue_hard;
    int r = E_FULL;

    /* One frame always fits an empty queue, however large: nothing says yet that nobody reads. */
    if (queued == 0 || hard == 0 || queued + a.n + b.n <= hard)
        r = all->conn->write2(c->conn, a, b);
    client_wrote(c, r, queued, frames, a.n + b.n);
}

void client_send(struct client *c, struct span body)
{
    uint8_t head[TRANSPORT_HEAD_MAX];

    if (c->state != CLIENT_OPEN)
        return;
    if (c == c->home->traced)
        client_trace(c, "to_client", body);
    const size_t head_bytes = client_transport(c)->head(head, body.n);
    client_put(c, span_of(head, head_bytes), body, 1);
}

/* Frames that go out in one call. */
struct client_run {
    struct span pieces[2 * CLIENT_RUN_MAX];
    uint8_t heads[CLIENT_RUN_MAX][TRANSPORT_HEAD_MAX];
    uint32_t n_pieces, frames;
    size_t bytes;
};

static void client_run_send(struct client *c, struct client_run *run)
{
    struct clients *all = c->home;
    const size_t hard = all->limits.queue_hard;
    const size_t queued = all->conn->queued(c->conn);
    int r = E_FULL;

    if (queued == 0 || hard == 0 || queued + run->bytes <= hard)
        r = all->conn->send(c->conn, run->pieces, run->n_pieces);
    client_wrote(c, r, queued, run->frames, run->bytes);
    run->n_pieces = run->frames = 0;
    run->bytes = 0;
}

static void client_run_add(struct client_run *run, struct span body, size_t head_bytes)
{
    const uint8_t *head = run->heads[run->frames];

    if (head_bytes <= CLIENT_BEFORE && memcmp(body.p - head_bytes, head, head_bytes) == 0) {
        run->pieces[run->n_pieces++] = span_of(body.p - head_bytes, head_bytes + body.n);
    } else {
        run->pieces[run->n_pieces++] = span_of(head, head_bytes);
        run->pieces[run->n_pieces++] = body;
    }
    run->bytes += head_bytes + body.n;
    run->frames++;
}

void client_send_run(struct client *c, const struct span *bodies, uint32_t n)
{
    const struct transport_ops *t = client_transport(c);
    const size_t hard = c->home->limits.queue_hard;
    struct client_run run;

    ASSERT(n <= CLIENT_RUN_MAX);
    run.n_pieces = run.frames = 0;
    run.bytes = 0;
    for (uint32_t i = 0; i < n; i++) {
        /* What may not be queued together goes one after the other: the kernel may take it. */
        if (run.frames > 0 && hard != 0 && run.bytes + TRANSPORT_HEAD_MAX + bodies[i].n > hard)
            client_run_send(c, &run);
        if (c->state != CLIENT_OPEN)
            return;
        if (c == c->home->traced)
            client_trace(c, "to_client", bodies[i]);
        client_run_add(&run, bodies[i], t->head(run.heads[run.frames], bodies[i].n));
    }
    client_run_send(c, &run);
}

void client_send_error(struct client *c, uint32_t code, uint32_t seq, uint32_t cmd)
{
    uint8_t note[CLIENT_NOTE_MAX];
    struct span_writer w = span_writer_of(note, sizeof(note));
    struct message m = {.cmd = CMD_ERROR_NOTIFY, .seq = seq};

    m.error_notify.code = code;
    m.error_notify.error = span_text(protocol_error_text(code));
    m.error_notify.cmd = cmd;
    message_write(&w, &m);
    ASSERT(!w.full);
    client_send(c, span_written(&w));
}

/* --- what its connection says ------------------------------------------------------------------
 */

static void client_pressure(void *arg, bool on)
{
    struct client *c = arg;
    struct clients *all = c->home;

    if (c->state != CLIENT_OPEN || c->slow == on)
        return;
    c->slow = on;
    if (on) {
        all->metrics->congestion_on++;
        c->slow_ms = all->awake_ms;
        if (all->limits.slow_ms != 0)
            wheel_hasten(&all->wheel, c->slot, all->limits.slow_ms);
    } else {
        all->metrics->congestion_off++;
    }
    all->world->congestion(all->world_arg, c, on);
}

const struct stream_ops client_stream_ops = {
    .data = client_in,
    .pressure = client_pressure,
    .closed = client_closed,
};

/* --- deadlines ----------------------------------------------------------------------------- */

/* Is the wait of `limit_ms` (0: none) that began at `since_ms` over? If not, lowers `next_ms` to
 * what is left of it. A time noted is that of the step before it happened, so one step is added:
 * nobody is ended early. */
static bool client_overdue(const struct clients *all, uint32_t since_ms, uint32_t limit_ms,
                           uint32_t *next_ms)
{
    if (limit_ms == 0)
        return false;
    const uint32_t gone_ms = all->awake_ms - since_ms;
    if (gone_ms >= limit_ms + WHEEL_STEP_MS)
        return true;
    const uint32_t left_ms = limit_ms + WHEEL_STEP_MS - gone_ms;
    if (left_ms < *next_ms)
        *next_ms = left_ms;
    return false;
}

uint32_t client_look(struct client *c)
{
    const struct clients *all = c->home;
    const struct clients_limits *limits = &all->limits;
    /* Where the world is away nobody can log in: the wait begins anew when it is back. */
    const uint32_t login_ms = c->greeted || !all->world_up ? 0 : limits->login_ms;
    const uint32_t frame_ms = c->partial ? limits->frame_ms : 0;
    const uint32_t slow_ms = c->slow ? limits->slow_ms : 0;
    uint32_t next_ms = WHEEL_NONE;

    if (c->state != CLIENT_OPEN)
        return WHEEL_NONE;
    if (c->parting) {
        if (!client_overdue(all, c->partial_ms, CLIENT_PART_MS, &next_ms))
            return next_ms;
        client_parted(c);
        return WHEEL_NONE;
    }
    if (client_overdue(all, c->slow_ms, slow_ms, &next_ms))
        client_bye_code(c, PE_SLOW, CLIENT_END_SLOW);
    else if (client_overdue(all, c->partial_ms, frame_ms, &next_ms))
        client_bye_code(c, PE_IDLE, CLIENT_END_FRAME);
    else if (client_overdue(all, c->opened_ms, login_ms, &next_ms))
        client_bye_code(c, PE_IDLE, CLIENT_END_LOGIN);
    else if (client_overdue(all, c->heard_ms, limits->idle_ms, &next_ms))
        client_bye_code(c, PE_IDLE, CLIENT_END_IDLE);
    else
        return next_ms;
    return WHEEL_NONE;
}

void client_login_restart(struct client *c)
{
    const struct clients_limits *limits = &c->home->limits;

    if (c->state != CLIENT_OPEN || c->greeted || c->parting)
        return;
    c->opened_ms = c->home->awake_ms;
    if (limits->login_ms != 0)
        wheel_hasten(&c->home->wheel, c->slot, limits->login_ms);
}

void client_start(struct client *c, struct stream *s)
{
    struct clients *all = c->home;

    ASSERT(c->state == CLIENT_NEW);
    c->conn = s;
    if (!clients_enter(all)) {
        c->state = CLIENT_ENDING;
        all->metrics->refused_full++;
        log_often(LOG_WARN, "client refused reason=full clients=%u peer=%s", clients_open(all),
                  c->peer);
        client_bye_write(c, PE_UNAVAILABLE, span_text("the gateway is full: connections"));
        return;
    }
    c->state = CLIENT_OPEN;
    all->metrics->accepted++;
    c->heard_ms = all->awake_ms;
    c->opened_ms = all->awake_ms;
    rate_init(&c->rate, &all->limits.rate, all->ops->now_ms(all->ops_arg));
    if (all->paused)
        all->conn->read_pause(s, true);
    const uint32_t next_ms = client_look(c);
    if (next_ms != WHEEL_NONE)
        wheel_set(&all->wheel, c->slot, next_ms);
    log_often(LOG_DEBUG, "client connected peer=%s clients=%u", c->peer, clients_open(all));
}
