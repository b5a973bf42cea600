/* gateway/client.c: from a client's bytes to requests, and the ways it ends.
 * May touch: common, proto, clients, rate, transport, conn. Never: uplink, relay.
 * On trouble: see client.h.
 */
#include "gateway/client.h"

#include "common/err.h"
#include "common/log.h"
#include "gateway/client_trace.h"
#include "gateway/clients.h"
#include "proto/link.h"
#include "proto/message.h"
#include "proto/walk.h"

#include <string.h>

/* Requests of one read, on their way up. */
struct client_batch {
    struct span bodies[LINK_BODIES_MAX];
    uint32_t n;
    size_t bytes;
};

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

/* What a framing's fault ends a client by. */
static const enum client_end client_fault_end[] = {
    [TRANSPORT_SOUND] = CLIENT_END_LENGTH, [TRANSPORT_LENGTH] = CLIENT_END_LENGTH,
    [TRANSPORT_TEXT] = CLIENT_END_TEXT,    [TRANSPORT_PROTOCOL] = CLIENT_END_WS,
    [TRANSPORT_DATA] = CLIENT_END_WS_DATA,
};

static const struct transport_ops *client_transport(const struct client *c)
{
    return c->ws ? &transport_ws : c->home->transport;
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

/* End with a Bye that comes after the answers in flight. */
static void client_part(struct client *c, uint32_t code, enum client_end end)
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

/* Queue two pieces that belong together, `frames` frames in all. */
static void client_put(struct client *c, struct span a, struct span b, uint32_t frames)
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

static void client_send_pong(struct client *c, const struct walk_head *ping)
{
    struct clients *all = c->home;
    struct span_writer w = span_writer_of(all->scratch, all->scratch_cap);
    struct message m = {.cmd = CMD_PING_RESP, .seq = ping->seq};

    m.ping.payload = ping->payload;
    message_write(&w, &m);
    ASSERT(!w.full);
    all->metrics->pings++;
    client_send(c, span_written(&w));
}

/* --- in ------------------------------------------------------------------------------------ */

static void client_batch_flush(struct client *c, struct client_batch *b)
{
    if (b->n > 0 && c->state == CLIENT_OPEN)
        c->home->world->forward(c->home->world_arg, c, b->bodies, b->n);
    b->n = 0;
    b->bytes = 0;
}

/* It asks too often. */
static void client_refuse_rate(struct client *c, const struct walk_head *head, uint32_t now_ms,
                               struct client_batch *b)
{
    if (rate_refused(&c->refusals, now_ms)) {
        client_batch_flush(c, b);
        client_part(c, PE_RATE_LIMITED, CLIENT_END_RATE);
    } else {
        client_send_error(c, PE_RATE_LIMITED, head->seq, head->cmd);
    }
}

/* One whole body. The order of the checks is the contract's: 1, 12, Ping, 13. */
static void client_body(struct client *c, struct span body, uint32_t now_ms, struct client_batch *b)
{
    struct clients *all = c->home;
    struct walk_head head;

    if (c == all->traced)
        client_trace(c, "from_client", body);
    if (walk_body(body, &head) != 0) {
        client_batch_flush(c, b);
        client_part(c, PE_BAD_FRAME, CLIENT_END_BAD_FRAME);
        return;
    }
    if (!rate_take(&c->rate, &all->limits.rate, now_ms)) {
        all->metrics->refused_rate++;
        client_refuse_rate(c, &head, now_ms, b);
        return;
    }
    if (head.cmd == CMD_LOGIN_REQ && !clients_may_login(all, c, now_ms)) {
        all->metrics->refused_logins++;
        client_refuse_rate(c, &head, now_ms, b);
        return;
    }
    if (head.cmd == CMD_PING_REQ) {
        client_send_pong(c, &head);
        return;
    }
    if (!all->world_up) {
        all->metrics->refused_unavailable++;
        client_send_error(c, PE_UNAVAILABLE, head.seq, head.cmd);
        return;
    }
    if (b->n == LINK_BODIES_MAX || (b->n > 0 && b->bytes + body.n > CLIENT_BATCH_BYTES))
        client_batch_flush(c, b);
    b->bodies[b->n++] = body;
    b->bytes += body.n;
}

/* What the framing says for itself. It costs as a request does, but nothing is said of it: one that
 * is too much gets no answer. */
static void client_control(struct client *c, const struct transport_piece *piece, uint32_t now_ms)
{
    struct clients *all = c->home;

    if (piece->kind == TRANSPORT_GOODBYE) {
        client_leave(c, CLIENT_END_CLOSE);
        (void)all->conn->write(c->conn, piece->bytes);
        client_finish(c);
        return;
    }
    all->metrics->ws_controls++;
    if (!rate_take(&c->rate, &all->limits.rate, now_ms)) {
        all->metrics->refused_rate++;
        if (rate_refused(&c->refusals, now_ms))
            client_part(c, PE_RATE_LIMITED, CLIENT_END_RATE);
        return;
    }
    if (piece->kind == TRANSPORT_ANSWER)
        client_put(c, piece->bytes, (struct span){0}, 0);
}

/* After a read: `whole` frames were taken, `rest` bytes are the start of another. */
static void client_note_partial(struct client *c, bool whole, size_t rest)
{
    struct clients *all = c->home;

    if (rest > 0 && (whole || !c->partial)) {
        c->partial_ms = all->awake_ms;
        if (all->limits.frame_ms != 0)
            wheel_hasten(&all->wheel, c->slot, all->limits.frame_ms);
    }
    c->partial = rest > 0;
}

/* One read, as far as it is done. */
struct client_read {
    const struct transport_ops *transport;
    struct transport_state state;
    struct client_batch batch;
    uint32_t now_ms;
    uint64_t frames;
    size_t used;
};

/* What is no piece: false where the read ends here. */
static bool client_no_piece(struct client *c, struct client_read *read, int r,
                            enum transport_fault fault)
{
    if (r == E_SHORT)
        return false;
    client_batch_flush(c, &read->batch);
    if (r == E_FULL)
        r = read->transport->settle(&read->state);
    if (r == E_BAD)
        client_part(c, PE_BAD_FRAME, client_fault_end[fault]);
    else if (r != 0)
        client_drop(c, CLIENT_END_MEMORY);
    return r == 0;
}

/* The next piece of what came; false: no more of it, or of the client. */
static bool client_piece(struct client *c, struct client_read *read, struct span rest)
{
    struct transport_piece piece = {.fault = TRANSPORT_SOUND};
    const int r = read->transport->split(&read->state, rest, c->home->limits.frame_max, &piece);

    if (r != 0)
        return client_no_piece(c, read, r, piece.fault);
    read->used += piece.used;
    if (piece.kind == TRANSPORT_BODY) {
        read->frames++;
        client_body(c, piece.bytes, read->now_ms, &read->batch);
    } else if (piece.kind != TRANSPORT_NOTHING) {
        client_batch_flush(c, &read->batch);
        client_control(c, &piece, read->now_ms);
    }
    return true;
}

/* All that one read brought, and no more: then it is the next client's turn. Where the link fills
 * up under it, the rest of this read still goes up; the pause comes before the next one. */
static size_t client_data(void *arg, struct span bytes)
{
    struct client *c = arg;
    struct clients *all = c->home;
    struct client_read read;

    if (c->parting)
        return bytes.n;
    read.transport = client_transport(c);
    read.state.reader = all->ws;
    read.state.part = all->parts ? &all->parts[c->slot] : NULL;
    read.batch.n = 0;
    read.batch.bytes = 0;
    read.now_ms = all->ops->now_ms(all->ops_arg);
    read.frames = 0;
    read.used = 0;
    while (read.used < bytes.n && c->state == CLIENT_OPEN && !c->parting) {
        if (!client_piece(c, &read, span_of(bytes.p + read.used, bytes.n - read.used)))
            break;
    }
    client_batch_flush(c, &read.batch);
    if (c->ws && read.transport->settle(&read.state) != 0)
        client_drop(c, CLIENT_END_MEMORY);

    all->metrics->frames_in += read.frames;
    all->metrics->bytes_in += read.used;
    if (c->state != CLIENT_OPEN || c->parting)
        return bytes.n;
    if (read.frames > 0)
        c->heard_ms = all->awake_ms;
    const bool part = c->ws && *read.state.part;
    client_note_partial(c, read.frames > 0, bytes.n - read.used + part);
    return read.used;
}

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
    .data = client_data,
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
