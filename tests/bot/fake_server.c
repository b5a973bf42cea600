/* tests/bot/fake_server.c: a server for the bot's tests, in the same loop as its clients. */
#include "tests/bot/fake_server.h"

#include "proto/frame.h"

#include <criterion/criterion.h>
#include <unistd.h>

static const struct stream_limits limits = {.keep_max = FRAME_HEAD + PROTO_FRAME_MAX};

void fake_server_send(struct fake_peer *p, const struct message *m)
{
    uint8_t frame[4096];
    struct span_writer w = span_writer_of(frame + FRAME_HEAD, sizeof(frame) - FRAME_HEAD);
    message_write(&w, m);
    cr_assert_not(w.full);
    frame_head(frame, (uint32_t)w.len);
    fake_server_raw(p, frame, FRAME_HEAD + w.len);
}

void fake_server_raw(struct fake_peer *p, const void *bytes, size_t n)
{
    cr_assert_not_null(p->stream);
    cr_assert_eq(stream_write(p->stream, span_of(bytes, n)), 0);
}

void fake_server_error(struct fake_peer *p, uint32_t code, uint32_t cmd, uint32_t seq)
{
    struct message m = {.cmd = CMD_ERROR_NOTIFY, .seq = seq};
    m.error_notify.code = code;
    m.error_notify.error = span_text(protocol_error_text(code));
    m.error_notify.cmd = cmd;
    m.error_notify.has_place = code >= PE_MOVE_SPEED && code <= PE_MOVE_BOUNDS;
    m.error_notify.x = p->x;
    m.error_notify.y = p->y;
    fake_server_send(p, &m);
}

void fake_server_close(struct fake_peer *p)
{
    stream_finish(p->stream, CLOCK_NS_PER_S);
}

static void answer(struct fake_peer *p, const struct message *m)
{
    struct message a = {.cmd = m->cmd + 1, .seq = m->seq};
    switch (m->cmd) {
    case CMD_LOGIN_REQ:
        a.login_resp.id = p->id;
        a.login_resp.name = m->login_req.name;
        a.login_resp.resume = span_text("");
        break;
    case CMD_ENTER_REQ:
        p->x = 8.0 * p->id;
        a.enter_resp.id = p->id;
        a.enter_resp.scene = span_text("default");
        a.enter_resp.x = p->x;
        a.enter_resp.tick_ms = 50;
        a.enter_resp.radius = 30;
        a.enter_resp.quantum = 1.0 / 64;
        a.enter_resp.max_speed = 12;
        break;
    case CMD_MOVE_REQ:
        p->x = m->move_req.x;
        p->y = m->move_req.y;
        a.move_resp.x = p->x;
        a.move_resp.y = p->y;
        break;
    case CMD_WALK_REQ:
        a.walk_resp.x = m->walk_req.x;
        a.walk_resp.y = m->walk_req.y;
        break;
    case CMD_PING_REQ:
        a.ping.payload = m->ping.payload;
        break;
    default:
        break;
    }
    fake_server_send(p, &a);
}

static size_t on_data(void *arg, struct span bytes)
{
    struct fake_peer *p = arg;
    struct span body;
    size_t used, taken = 0;
    struct message m;

    while (frame_split(span_of(bytes.p + taken, bytes.n - taken), PROTO_FRAME_MAX, &body, &used) ==
           0) {
        cr_assert_eq(message_read(p->server->reader, body, &m), 0);
        p->requests++;
        if (!p->server->answer || !p->server->answer(p, &m))
            answer(p, &m);
        taken += used;
    }
    return taken;
}

static void on_closed(void *arg, enum stream_end why)
{
    struct fake_peer *p = arg;
    (void)why;
    stream_destroy(p->stream);
    p->stream = NULL;
}

static const struct stream_ops ops = {.data = on_data, .closed = on_closed};

static void on_accepted(void *arg, int fd, const char *peer)
{
    struct fake_server *s = arg;
    struct fake_peer *p = &s->peer[s->peers];
    (void)peer;
    cr_assert(s->peers < FAKE_SERVER_PEERS);
    *p = (struct fake_peer){.server = s, .id = ++s->peers};
    cr_assert_eq(stream_create(s->loop, fd, &limits, &ops, p, &p->stream), 0);
}

static const struct net_listener_ops listener_ops = {.accepted = on_accepted};

void fake_server_start(struct fake_server *s, struct loop *l)
{
    char why[200];
    *s = (struct fake_server){.loop = l};
    cr_assert_eq(message_reader_create(PROTO_FRAME_MAX, &s->reader), 0);
    cr_assert_eq(net_listen(l, "127.0.0.1:0", &listener_ops, s, &s->listener, why, sizeof(why)), 0);
}

const char *fake_server_addr(const struct fake_server *s)
{
    return net_listener_addr(s->listener);
}

void fake_server_deaf(struct fake_server *s)
{
    net_listener_destroy(s->listener);
    s->listener = NULL;
}

void fake_server_stop(struct fake_server *s)
{
    fake_server_deaf(s);
    for (uint32_t i = 0; i < s->peers; i++)
        stream_destroy(s->peer[i].stream);
    message_reader_destroy(s->reader);
}
