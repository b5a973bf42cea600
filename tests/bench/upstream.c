/* tests/bench/upstream.c: what stands behind a program that is measured.
 * May touch: sockets, pump, proto. On trouble: see upstream.h.
 */
#include "tests/bench/upstream.h"

#include "common/err.h"
#include "proto/frame.h"
#include "proto/link.h"
#include "proto/message.h"
#include "proto/walk.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define IN_BYTES  (1u << 20) /* one read */
#define OUT_BYTES (8u << 20) /* answers to one read: each is at most 8 times what it answers */
#define FIRST_ID  1000000u   /* so that all ids are equally long */

static void *memory(size_t n)
{
    void *p = calloc(1, n);
    if (!p)
        pump_fail("out of memory");
    return p;
}

/* --- connections ------------------------------------------------------------------------------ */

void upstream_send(struct upstream *u, uint32_t i, struct span bytes)
{
    struct upstream_conn *c = &u->conns[i];
    ssize_t n = c->n > 0 ? 0 : send(c->fd, bytes.p, bytes.n, MSG_NOSIGNAL);

    if (n < 0 && errno == EAGAIN)
        n = 0;
    if (n < 0)
        pump_fail("the measured program closed its upstream: %s", strerror(errno));
    if ((size_t)n == bytes.n)
        return;
    bytes.p += n;
    bytes.n -= (size_t)n;
    if (c->at + c->n + bytes.n > c->cap) {
        c->cap = (c->at + c->n + bytes.n) * 2;
        c->pending = realloc(c->pending, c->cap);
        if (!c->pending)
            pump_fail("out of memory");
    }
    memcpy(c->pending + c->at + c->n, bytes.p, bytes.n);
    if (c->n == 0)
        pump_change(u->pump, c->fd, u->conn_kind, i, EPOLLIN | EPOLLOUT);
    c->n += bytes.n;
}

bool upstream_sent(const struct upstream *u, uint32_t i)
{
    return u->conns[i].n == 0;
}

static void flush(struct upstream *u, uint32_t i)
{
    struct upstream_conn *c = &u->conns[i];
    ssize_t n = send(c->fd, c->pending + c->at, c->n, MSG_NOSIGNAL);

    if (n < 0 && errno == EAGAIN)
        return;
    if (n < 0)
        pump_fail("the measured program closed its upstream: %s", strerror(errno));
    c->at += (size_t)n;
    c->n -= (size_t)n;
    if (c->n > 0)
        return;
    c->at = 0;
    pump_change(u->pump, c->fd, u->conn_kind, i, EPOLLIN);
}

uint32_t upstream_adopt(struct upstream *u, int fd)
{
    if (u->n == u->cap)
        pump_fail("more than %u upstream connections", u->cap);
    u->conns[u->n] = (struct upstream_conn){.fd = fd};
    if (u->kind == UPSTREAM_WORLD)
        u->conns[u->n].in = memory(IN_BYTES);
    pump_add(u->pump, fd, u->conn_kind, u->n, EPOLLIN);
    return u->n++;
}

static void accepted(void *arg, uint32_t index, uint32_t events)
{
    struct upstream *u = arg;
    int fd = accept4(u->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    int one = 1;
    (void)index, (void)events;

    if (fd < 0)
        return;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    upstream_adopt(u, fd);
}

/* --- the world -------------------------------------------------------------------------------- */

static void put_login(struct span_writer *w, uint32_t number)
{
    struct message m = {.cmd = CMD_LOGIN_RESP, .seq = FIRST_ID + number};

    m.login_resp.id = FIRST_ID + number;
    m.login_resp.name = span_text("somebody");
    m.login_resp.resume = span_text("0123456789abcdef0123456789abcdef");
    message_write(w, &m);
}

size_t upstream_login_bytes(void)
{
    uint8_t body[256];
    struct span_writer w = span_writer_of(body, sizeof(body));

    put_login(&w, 0);
    return FRAME_HEAD + w.len;
}

static void answer(struct upstream *u, uint32_t conn, struct span_writer *w, uint64_t session,
                   struct span body)
{
    uint8_t bytes[512];
    struct span_writer b = span_writer_of(bytes, sizeof(bytes));
    struct walk_head head;

    if (walk_body(body, &head) != 0 || body.n > sizeof(bytes))
        pump_fail("the gateway passed on what is no body");
    if (head.cmd == CMD_LOGIN_REQ) {
        if (head.seq < 1 || head.seq > u->clients)
            pump_fail("client %u is none of ours", head.seq);
        u->sessions[head.seq - 1] = (struct upstream_session){conn, session};
        put_login(&b, head.seq);
    } else if (head.cmd == CMD_SAY_REQ) {
        span_put(&b, body.p, body.n);
        b.p[1] = CMD_SAY_RESP;
    } else {
        pump_fail("the gateway passed on a command %u", head.cmd);
    }
    struct span whole = span_written(&b);
    link_write_data(w, session, &whole, 1);
}

static void take(struct upstream *u, uint32_t conn, struct span_writer *w, struct span body)
{
    struct link_frame f;

    if (link_read(body, &f) != 0)
        pump_fail("the gateway sent what is no link frame");
    switch (f.kind) {
    case LINK_HELLO:
        link_write_hello(w, span_text("bench"), (struct span){0});
        break;
    case LINK_PING:
        link_write_pong(w, f.number);
        break;
    case LINK_DATA:
        for (uint32_t k = 0; k < f.n_bodies; k++)
            answer(u, conn, w, f.session, f.bodies[k]);
        break;
    case LINK_CONGESTION:
    case LINK_DRAIN:
        pump_fail("the gateway reports a client that does not read");
    case LINK_CLOSE:
        pump_fail("the gateway lost a client");
    case LINK_OPEN:
    case LINK_PONG:
    case LINK_DATA_MANY:
    case LINK_BIND:
    case LINK_REDIRECT:
    case LINK_LEFT:
    case LINK_ATTACH:
    case LINK_NOTE:
    case LINK_PROOF:
        break;
    }
}

/* Bytes used of what has come. */
static size_t world_data(struct upstream *u, uint32_t conn, struct span_writer *w,
                         struct span bytes)
{
    size_t used = 0, n;
    struct span body;
    int r;

    while ((r = frame_split(span_of(bytes.p + used, bytes.n - used), LINK_FRAME_MAX, &body, &n)) ==
           0) {
        take(u, conn, w, body);
        used += n;
    }
    if (r != E_SHORT)
        pump_fail("the gateway sent what is no frame");
    if (w->full)
        pump_fail("no room for the answers");
    return used;
}

/* `n` more bytes came. */
static void world_read(struct upstream *u, uint32_t i, size_t n)
{
    struct span_writer w = span_writer_of(u->out, OUT_BYTES);
    struct upstream_conn *c = &u->conns[i];

    c->in_n += n;
    size_t used = world_data(u, i, &w, span_of(c->in, c->in_n));
    memmove(c->in, c->in + used, c->in_n - used);
    c->in_n -= used;
    if (w.len > 0)
        upstream_send(u, i, span_written(&w));
}

static void ready(void *arg, uint32_t i, uint32_t events)
{
    struct upstream *u = arg;
    struct upstream_conn *c = &u->conns[i];
    uint8_t *into = c->in ? c->in + c->in_n : u->read;

    if (events & EPOLLOUT)
        flush(u, i);
    if (!(events & ~(uint32_t)EPOLLOUT))
        return;
    ssize_t n = recv(c->fd, into, IN_BYTES - c->in_n, 0);
    if (n < 0 && errno == EAGAIN)
        return;
    if (n <= 0 && u->kind == UPSTREAM_WORLD)
        pump_fail("the gateway closed its link: %s", n == 0 ? "end of file" : strerror(errno));
    if (n <= 0) {
        close(c->fd); /* its client is gone too, and misses it where it matters */
        c->fd = -1;
        return;
    }
    if (u->kind == UPSTREAM_ECHO)
        upstream_send(u, i, span_of(u->read, (size_t)n));
    if (u->kind == UPSTREAM_WORLD)
        world_read(u, i, (size_t)n);
}

/* --- life ------------------------------------------------------------------------------------- */

void upstream_init(struct upstream *u, struct pump *pump, enum upstream_kind kind,
                   uint32_t listen_kind, uint32_t conn_kind, uint32_t cap, uint32_t clients)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(in);

    *u = (struct upstream){.pump = pump,
                           .kind = kind,
                           .listen_kind = listen_kind,
                           .conn_kind = conn_kind,
                           .cap = cap,
                           .clients = clients};
    u->conns = memory(cap * sizeof(*u->conns));
    u->sessions = memory(clients * sizeof(*u->sessions));
    u->read = memory(IN_BYTES);
    u->out = memory(OUT_BYTES);
    u->listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (u->listener < 0 || bind(u->listener, (struct sockaddr *)&in, sizeof(in)) != 0 ||
        listen(u->listener, SOMAXCONN) != 0 ||
        getsockname(u->listener, (struct sockaddr *)&in, &len) != 0)
        pump_fail("cannot listen: %s", strerror(errno));
    snprintf(u->addr, sizeof(u->addr), "127.0.0.1:%u", ntohs(in.sin_port));
    pump_kind(pump, listen_kind, accepted, u);
    pump_kind(pump, conn_kind, ready, u);
    pump_add(pump, u->listener, listen_kind, 0, EPOLLIN);
}

void upstream_fini(struct upstream *u)
{
    const struct linger reset = {.l_onoff = 1, .l_linger = 0};

    for (uint32_t i = 0; i < u->n; i++) {
        free(u->conns[i].pending);
        free(u->conns[i].in);
        if (u->conns[i].fd < 0)
            continue;
        setsockopt(u->conns[i].fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
        close(u->conns[i].fd);
    }
    close(u->listener);
    free(u->conns);
    free(u->sessions);
    free(u->read);
    free(u->out);
}
