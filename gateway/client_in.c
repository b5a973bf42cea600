/* gateway/client_in.c: from a client's bytes to requests.
 * Splits what came into frames, walks and counts each, answers what the gateway answers by itself
 * and gathers the rest for the world. May touch: common, proto, clients, rate, transport, conn.
 * Never: uplink, relay. On trouble: see client.h.
 */
#include "gateway/client_own.h"

#include "common/err.h"
#include "gateway/client_trace.h"
#include "gateway/clients.h"
#include "proto/link.h"
#include "proto/message.h"
#include "proto/walk.h"

/* Requests of one read, on their way up. */
struct client_batch {
    struct span bodies[LINK_BODIES_MAX];
    uint32_t n;
    size_t bytes;
};

/* What a framing's fault ends a client by. */
static const enum client_end client_fault_end[] = {
    [TRANSPORT_SOUND] = CLIENT_END_LENGTH, [TRANSPORT_LENGTH] = CLIENT_END_LENGTH,
    [TRANSPORT_TEXT] = CLIENT_END_TEXT,    [TRANSPORT_PROTOCOL] = CLIENT_END_WS,
    [TRANSPORT_DATA] = CLIENT_END_WS_DATA,
};

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
        client_goodbye(c, piece->bytes);
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

size_t client_in(void *arg, struct span bytes)
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
