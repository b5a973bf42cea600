/* bot/bot_client.c: a client of the protocol, for the bots and for the tests that use real sockets.
 * Callbacks may destroy the client: while one runs `depth` is not 0, and the memory goes when the
 * outermost one returned. May touch: common, proto, bot/view.
 * On trouble: see bot_client.h.
 */
#include "bot/bot_client.h"

#include "bot/reach.h"
#include "common/clock.h"
#include "common/err.h"
#include "proto/frame.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define BOT_TURN 6.283185307179586 /* 2π */

/* Bytes held back at most, for clients that drip. */
#define BOT_HELD_MAX 1024

/* How long bot_client_run_until waits in one turn at most, so that a predicate on time is looked
 * at. */
#define BOT_TURN_MAX_NS (10 * CLOCK_NS_PER_MS)

struct bot_client {
    struct loop *loop;
    struct message_reader *reader; /* borrowed */
    const struct bot_client_ops *ops;
    void *arg;
    const struct signer *signer; /* borrowed; NULL: logins have no token */
    struct reach reach;          /* while connecting */
    struct stream *stream;       /* while connected */
    int ghost;                   /* the socket of a connection that was abandoned; -1: none */
    uint32_t connection;         /* counts connections, so that a callback's new one is noticed */
    unsigned depth;              /* callbacks under way */
    bool doomed;                 /* destroyed inside one of them */
    bool deaf, hold;
    struct bot_client_facts facts;
    struct view view;
    struct pending pending;
    uint8_t held[BOT_HELD_MAX];
};

static const struct stream_limits bot_limits = {
    .queue_hard = PROTO_BATCH_MAX,
    .keep_max = PROTO_BATCH_MAX + FRAME_HEAD,
    .counted = true,
};

static reach_done_fn on_reached;

int bot_client_create(struct loop *l, struct message_reader *reader,
                      const struct bot_client_ops *ops, void *arg, struct bot_client **out)
{
    struct bot_client *c = calloc(1, sizeof(*c));
    if (!c)
        return E_NOMEM;
    c->loop = l;
    c->reader = reader;
    c->ops = ops;
    c->arg = arg;
    c->ghost = -1;
    c->reach = (struct reach){.loop = l, .done = on_reached, .arg = c};
    view_init(&c->view, NULL, NULL);
    *out = c;
    return 0;
}

void bot_client_sign(struct bot_client *c, const struct signer *signer)
{
    c->signer = signer;
}

void bot_client_secure(struct bot_client *c, struct tls *trust)
{
    c->reach.trust = trust;
}

const struct signer *bot_client_signer(const struct bot_client *c)
{
    return c->signer;
}

static void dispose(struct bot_client *c)
{
    reach_fini(&c->reach);
    view_fini(&c->view);
    free(c);
}

/* A callback is over; false where the client is gone with it. */
static bool call_end(struct bot_client *c)
{
    ASSERT(c->depth > 0);
    if (--c->depth > 0 || !c->doomed)
        return !c->doomed;
    dispose(c);
    return false;
}

/* What belongs to a connection starts anew. */
static void reset_session(struct bot_client *c)
{
    char key[BOT_KEY_MAX];

    memcpy(key, c->facts.key, sizeof(key));
    c->facts = (struct bot_client_facts){
        .breaches = c->facts.breaches,
        .frames_in = c->facts.frames_in,
        .bytes = c->facts.bytes,
    };
    memcpy(c->facts.key, key, sizeof(key));
    view_forget(&c->view);
}

/* It has no connection any more. Returns the stream that it had; NULL: none. */
static struct stream *let_go(struct bot_client *c)
{
    struct stream *s = c->stream;

    reach_cancel(&c->reach);
    if (s) {
        struct stream_count n = stream_counted(s);
        c->facts.bytes.bytes_in += n.bytes_in;
        c->facts.bytes.bytes_out += n.bytes_out;
    }
    c->stream = NULL;
    c->facts.connected = false;
    c->facts.logged_in = false;
    c->facts.in_world = false;
    c->pending.count = 0;
    c->facts.pending = 0;
    c->connection++;
    return s;
}

void bot_client_close(struct bot_client *c, bool abort)
{
    struct stream *s = let_go(c);

    if (s && abort)
        stream_abort(s);
    else
        stream_destroy(s);
}

void bot_client_bury(struct bot_client *c)
{
    if (c->ghost >= 0)
        close(c->ghost);
    c->ghost = -1;
}

void bot_client_abandon(struct bot_client *c)
{
    struct stream *s = let_go(c);

    bot_client_bury(c);
    if (s)
        c->ghost = stream_leave(s);
}

void bot_client_destroy(struct bot_client *c)
{
    if (!c)
        return;
    bot_client_close(c, false);
    bot_client_bury(c);
    c->doomed = true;
    if (c->depth == 0)
        dispose(c);
}

static void tell_breach(struct bot_client *c, const char *fmt, ...) PRINTF_LIKE(2, 3);

static void tell_breach(struct bot_client *c, const char *fmt, ...)
{
    char text[VIEW_BREACH_MAX];
    va_list ap;

    c->facts.breaches++;
    if (!c->ops->breach || c->doomed)
        return;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    c->ops->breach(c->arg, text);
}

/* The connection is over: tell it. The caller holds `depth`. */
static void end(struct bot_client *c, const char *why)
{
    bot_client_close(c, false);
    if (c->ops->closed)
        c->ops->closed(c->arg, why);
}

static void note_login(struct bot_client_facts *f, const struct message *m)
{
    f->logged_in = true;
    f->id = m->login_resp.id;
    size_t n = m->login_resp.name.n < PROTO_NAME_MAX ? m->login_resp.name.n : PROTO_NAME_MAX;
    memcpy(f->name, m->login_resp.name.p, n);
    f->name[n] = '\0';
    f->resumed = m->login_resp.resumed;
    n = m->login_resp.resume.n < BOT_KEY_MAX ? m->login_resp.resume.n : 0;
    if (n > 0)
        memcpy(f->key, m->login_resp.resume.p, n);
    f->key[n] = '\0';
}

static void note_enter(struct bot_client_facts *f, const struct message *m)
{
    f->in_world = true;
    f->id = m->enter_resp.id;
    size_t n = m->enter_resp.scene.n < PROTO_SCENE_MAX ? m->enter_resp.scene.n : PROTO_SCENE_MAX;
    memcpy(f->scene, m->enter_resp.scene.p, n);
    f->scene[n] = '\0';
    f->x = m->enter_resp.x;
    f->y = m->enter_resp.y;
    if (m->seq != 0) { /* who is put elsewhere goes on as it did */
        f->dir = f->speed = 0;
        f->walked = false;
    }
    f->tick_ms = m->enter_resp.tick_ms;
    f->radius = m->enter_resp.radius;
    f->quantum = m->enter_resp.quantum;
    f->max_speed = m->enter_resp.max_speed;
}

static void note_move(struct bot_client_facts *f, const struct message *m,
                      const struct pending_request *asked)
{
    f->x = m->move_resp.x;
    f->y = m->move_resp.y;
    if (asked && asked->has_dir) {
        f->walked = false;
        f->dir = fmod(asked->dir, BOT_TURN);
        if (f->dir < 0)
            f->dir += BOT_TURN;
    }
    if (asked && asked->has_speed)
        f->speed = asked->speed < f->max_speed ? asked->speed : f->max_speed;
}

static void note_error(struct bot_client_facts *f, const struct message *m)
{
    f->error_code = m->error_notify.code;
    f->error_cmd = m->error_notify.cmd;
    if (m->error_notify.has_place) {
        f->x = m->error_notify.x;
        f->y = m->error_notify.y;
    }
    if (f->error_cmd == CMD_LOGIN_REQ && f->error_code == PE_AUTH_FAILED)
        f->key[0] = '\0';
    if (m->seq == 0 && f->error_code == PE_NOT_LOGGED_IN) {
        f->logged_in = false;
        f->in_world = false;
    }
}

static void note(struct bot_client *c, const struct message *m, const struct pending_request *asked)
{
    struct bot_client_facts *f = &c->facts;

    switch (m->cmd) {
    case CMD_LOGIN_RESP:
        note_login(f, m);
        break;
    case CMD_ENTER_RESP:
        note_enter(f, m);
        break;
    case CMD_LEAVE_RESP:
        f->in_world = false;
        break;
    case CMD_MOVE_RESP:
        note_move(f, m, asked);
        break;
    case CMD_WALK_RESP:
        f->x = m->walk_resp.x;
        f->y = m->walk_resp.y;
        f->speed = 0; /* once it is there */
        f->walked = true;
        break;
    case CMD_MOVE_FAIL:
        f->x = m->move_fail.x;
        f->y = m->move_fail.y;
        break;
    case CMD_ERROR_NOTIFY:
        note_error(f, m);
        break;
    case CMD_BYE:
        f->bye_code = m->bye.code;
        break;
    default:
        break;
    }
}

/* Take in one body, unless a callback ends the connection in the middle of it. */
static void take_body(struct bot_client *c, struct span body)
{
    uint32_t connection = c->connection;
    struct message m = {0};
    struct pending_request asked;
    bool found;

    c->facts.frames_in++;
    int rc = message_read(c->reader, body, &m);
    if (c->facts.bye_code)
        tell_breach(c, "a frame after Bye");
    if (rc != 0) {
        tell_breach(c, "a body of %zu bytes, cmd %u, cannot be read: %s", body.n, m.cmd,
                    rc > 0 ? protocol_error_text((uint32_t)rc) : err_text(rc));
        return;
    }
    if (protocol_is_request(m.cmd)) {
        tell_breach(c, "%s from the server", protocol_cmd_name(m.cmd));
        return;
    }
    const char *out_of_turn = pending_take(&c->pending, &m, &asked, &found);
    const char *untrue = view_apply(&c->view, &m, body.n);
    c->facts.pending = c->pending.count;
    note(c, &m, found ? &asked : NULL);
    if (out_of_turn)
        tell_breach(c, "%s", out_of_turn);
    if (untrue && c->connection == connection)
        tell_breach(c, "%s", untrue);
    if (c->ops->message && c->connection == connection)
        c->ops->message(c->arg, &m, found ? &asked : NULL);
}

static size_t on_data(void *arg, struct span bytes)
{
    struct bot_client *c = arg;
    uint32_t connection = c->connection;
    size_t taken = 0;

    c->depth++;
    c->facts.heard = clock_mono();
    while (c->connection == connection) {
        struct span body;
        size_t used;
        int rc =
            frame_split(span_of(bytes.p + taken, bytes.n - taken), PROTO_BATCH_MAX, &body, &used);
        if (rc == E_SHORT)
            break;
        if (rc != 0) {
            tell_breach(c, "a frame of a length that is not allowed");
            if (c->connection == connection)
                end(c, "the server's framing is broken");
            taken = bytes.n;
            break;
        }
        take_body(c, body);
        taken += used;
    }
    call_end(c);
    return taken;
}

static void on_closed(void *arg, enum stream_end why)
{
    struct bot_client *c = arg;
    char text[BOT_WHY_MAX];

    c->depth++;
    if (c->facts.bye_code)
        snprintf(text, sizeof(text), "Bye %u %s: %s", c->facts.bye_code,
                 protocol_error_name(c->facts.bye_code), protocol_error_text(c->facts.bye_code));
    else
        snprintf(text, sizeof(text), "%s",
                 why == STREAM_EOF ? "the server closed the connection" : "the connection broke");
    end(c, text);
    call_end(c);
}

static const struct stream_ops bot_stream_ops = {.data = on_data, .closed = on_closed};

static int adopt(struct bot_client *c, int fd, struct ssl_st *seal)
{
    ASSERT(!c->stream);
    ASSERT(!reach_under_way(&c->reach));
    reset_session(c);
    int rc = stream_create_sealed(c->loop, fd, seal, &bot_limits, &bot_stream_ops, c, &c->stream);
    if (rc != 0) {
        c->stream = NULL;
        return rc;
    }
    c->facts.connected = true;
    if (c->deaf)
        stream_read_pause(c->stream, true);
    c->depth++;
    if (c->ops->connected)
        c->ops->connected(c->arg);
    call_end(c);
    return 0;
}

int bot_client_adopt(struct bot_client *c, int fd)
{
    return adopt(c, fd, NULL);
}

static void on_reached(void *arg, int fd, struct ssl_st *seal, const char *why)
{
    struct bot_client *c = arg;

    c->depth++;
    if (fd < 0)
        end(c, why);
    else if (adopt(c, fd, seal) != 0)
        end(c, "cannot use the connection: the system refused it");
    call_end(c);
}

int bot_client_connect(struct bot_client *c, const char *addr, int64_t timeout_ns)
{
    ASSERT(!c->stream);
    reset_session(c);
    return reach_begin(&c->reach, addr, timeout_ns);
}

/* Queue a whole frame, or hold it back to be dripped. */
static int put_frame(struct bot_client *c, struct span frame)
{
    if (!c->hold && c->facts.held == 0)
        return stream_write(c->stream, frame);
    if (frame.n > BOT_HELD_MAX - c->facts.held)
        return E_FULL;
    memcpy(c->held + c->facts.held, frame.p, frame.n);
    c->facts.held += (uint32_t)frame.n;
    return 0;
}

int bot_client_send(struct bot_client *c, const struct message *m)
{
    uint8_t frame[FRAME_HEAD + PROTO_FRAME_MAX];
    struct span_writer w = span_writer_of(frame + FRAME_HEAD, PROTO_FRAME_MAX);
    struct message copy = *m;

    if (!c->stream)
        return E_CLOSED;
    copy.seq = c->facts.seq + 1;
    message_write(&w, &copy);
    if (w.full)
        return E_RANGE;
    frame_head(frame, (uint32_t)w.len);
    int rc = pending_add(&c->pending, &copy, clock_mono());
    if (rc != 0)
        return rc;
    rc = put_frame(c, span_of(frame, FRAME_HEAD + w.len));
    if (rc != 0) {
        c->pending.count--;
        return rc;
    }
    c->facts.seq++;
    c->facts.pending = c->pending.count;
    return 0;
}

void bot_client_deaf(struct bot_client *c, bool on)
{
    c->deaf = on;
    if (c->stream)
        stream_read_pause(c->stream, on);
}

void bot_client_rcvbuf(struct bot_client *c, int bytes)
{
    c->reach.rcvbuf = bytes;
}

void bot_client_hold(struct bot_client *c, bool on)
{
    c->hold = on;
}

void bot_client_drip(struct bot_client *c, size_t bytes)
{
    size_t n = bytes < c->facts.held ? bytes : c->facts.held;

    if (!c->stream || n == 0 || stream_write(c->stream, span_of(c->held, n)) != 0)
        return;
    c->facts.held -= (uint32_t)n;
    memmove(c->held, c->held + n, c->facts.held);
}

const struct bot_client_facts *bot_client_facts(const struct bot_client *c)
{
    return &c->facts;
}

struct view *bot_client_view(struct bot_client *c)
{
    return &c->view;
}

struct stream_count bot_client_bytes(const struct bot_client *c)
{
    struct stream_count n = c->facts.bytes;

    if (c->stream) {
        struct stream_count now = stream_counted(c->stream);
        n.bytes_in += now.bytes_in;
        n.bytes_out += now.bytes_out;
    }
    return n;
}

void bot_client_error_text(const struct message *m, char *out, size_t cap)
{
    uint32_t code = m->error_notify.code;
    const char *cmd = protocol_cmd_name(m->error_notify.cmd);

    snprintf(out, cap, "%s refused: %s (%u), %s", cmd ? cmd : "a request",
             protocol_error_name(code), code, protocol_error_text(code));
}

bool bot_client_run_until(struct loop *l, bot_client_pred_fn *pred, void *arg, struct mono deadline)
{
    for (;;) {
        if (pred && pred(arg))
            return true;
        int64_t left = clock_since(deadline, clock_mono());
        if (left <= 0)
            return false;
        loop_turn(l, left < BOT_TURN_MAX_NS ? left : BOT_TURN_MAX_NS);
    }
}

bool bot_client_answered(void *client)
{
    const struct bot_client *c = client;

    return c->pending.count == 0;
}
