/* tests/bench/crowd.c: many clients of the program that is measured.
 * May touch: sockets, pump. On trouble: see crowd.h.
 */
#include "tests/bench/crowd.h"

#include "common/clock.h"
#include "common/io/tls.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define GROUP       64    /* clients that connect together */
#define PATIENCE_MS 10000 /* for a group to be greeted */
#define READ_BYTES  TLS_READ_MIN

struct crowd_group {
    uint32_t from, n, greeted;
    uint8_t stash[GROUP][CROWD_STASH];
    size_t len[GROUP];
    bool done[GROUP];
    crowd_greeted_fn *check;
    void *arg;
};

int crowd_dial(const char *addr)
{
    struct sockaddr_in in = {.sin_family = AF_INET};
    char host[64];
    unsigned port;
    int one = 1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (sscanf(addr, "%63[^:]:%u", host, &port) != 2)
        pump_fail("%s: no address", addr);
    in.sin_port = htons((uint16_t)port);
    if (inet_pton(AF_INET, host, &in.sin_addr) != 1)
        pump_fail("%s: no address", addr);
    if (fd < 0)
        pump_fail("a socket: %s", strerror(errno));
    if (connect(fd, (struct sockaddr *)&in, sizeof(in)) != 0) {
        close(fd);
        return -1;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    fcntl(fd, F_SETFL, O_NONBLOCK);
    return fd;
}

/* A part of a greeting. */
static void greet(struct crowd *c, uint32_t i, struct span bytes)
{
    struct crowd_group *g = c->group;
    uint32_t k = i - g->from;

    if (g->len[k] + bytes.n > CROWD_STASH)
        pump_fail("client %u: a greeting of more than %d bytes", i, CROWD_STASH);
    memcpy(g->stash[k] + g->len[k], bytes.p, bytes.n);
    g->len[k] += bytes.n;
    g->done[k] = g->check(g->arg, i, span_of(g->stash[k], g->len[k]));
    g->greeted += g->done[k];
}

/* As recv. */
static ssize_t receive(struct crowd *c, uint32_t i)
{
    enum tls_state state;

    if (!c->seal)
        return recv(c->fd[i], c->scratch, READ_BYTES, 0);
    const size_t n = tls_read(c->seal[i], c->scratch, READ_BYTES, &state);
    if (n > 0 || state == TLS_ENDED)
        return (ssize_t)n;
    errno = state == TLS_BROKEN ? ECONNRESET : EAGAIN;
    return -1;
}

static void readable(void *arg, uint32_t i, uint32_t events)
{
    struct crowd *c = arg;
    ssize_t n = receive(c, i);
    (void)events;

    if (n < 0 && errno == EAGAIN)
        return;
    if (n <= 0)
        pump_fail("client %u lost its connection: %s", i, n == 0 ? "closed" : strerror(errno));
    struct span bytes = span_of(c->scratch, (size_t)n);
    if (c->group && i >= c->group->from && !c->group->done[i - c->group->from]) {
        greet(c, i, bytes);
        return;
    }
    c->bytes[i] += bytes.n;
    c->total += bytes.n;
    if (c->data)
        c->data(c->arg, i, bytes);
}

void crowd_init(struct crowd *c, struct pump *pump, uint32_t kind, uint32_t cap,
                crowd_data_fn *data, void *arg)
{
    *c = (struct crowd){.pump = pump, .kind = kind, .cap = cap, .data = data, .arg = arg};
    c->fd = calloc(cap, sizeof(*c->fd));
    c->bytes = calloc(cap, sizeof(*c->bytes));
    c->scratch = malloc(READ_BYTES);
    if (!c->fd || !c->bytes || !c->scratch)
        pump_fail("out of memory");
    pump_kind(pump, kind, readable, c);
}

void crowd_fini(struct crowd *c)
{
    const struct linger reset = {.l_onoff = 1, .l_linger = 0};

    for (uint32_t i = 0; i < c->n; i++) {
        if (c->seal)
            tls_seal_free(c->seal[i]);
        setsockopt(c->fd[i], SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
        close(c->fd[i]);
    }
    tls_destroy(c->tls);
    free(c->seal);
    free(c->fd);
    free(c->bytes);
    free(c->scratch);
}

void crowd_reset(struct crowd *c)
{
    memset(c->bytes, 0, c->n * sizeof(*c->bytes));
    c->total = 0;
}

void crowd_send(struct crowd *c, uint32_t i, struct span bytes)
{
    const struct iovec all = {(void *)(uintptr_t)bytes.p, bytes.n};
    ssize_t n =
        c->seal ? tls_send(c->seal[i], &all, 1) : send(c->fd[i], bytes.p, bytes.n, MSG_NOSIGNAL);

    if (n != (ssize_t)bytes.n)
        pump_fail("client %u cannot send: %s", i, n < 0 ? strerror(errno) : "no room");
}

void crowd_secure(struct crowd *c)
{
    struct tls_why why;

    c->seal = calloc(c->cap, sizeof(struct ssl_st *));
    if (!c->seal || tls_client_create("", true, &c->tls, &why) != 0)
        pump_fail("no TLS for a crowd");
}

/* Shake hands, one after the other: the gateway is another process. */
static bool secure(struct crowd *c, uint32_t i)
{
    const struct mono end = clock_add(clock_mono(), PATIENCE_MS * CLOCK_NS_PER_MS);
    enum tls_fault fault;
    enum tls_step step;

    c->seal[i] = tls_seal(c->tls, c->fd[i], NULL, clock_mono());
    if (!c->seal[i])
        return false;
    while ((step = tls_shake(c->seal[i], &fault)) != TLS_STEP_DONE) {
        struct pollfd wait = {c->fd[i], step == TLS_STEP_OUT ? POLLOUT : POLLIN, 0};
        if (step == TLS_STEP_FAILED || clock_since(end, clock_mono()) <= 0)
            return false;
        poll(&wait, 1, 100);
    }
    return true;
}

static bool connect_group(struct crowd *c, const char *addr, struct crowd_group *g,
                          crowd_hello_fn *hello)
{
    const struct mono end = clock_add(clock_mono(), PATIENCE_MS * CLOCK_NS_PER_MS);

    for (uint32_t k = 0; k < g->n; k++) {
        uint32_t i = g->from + k;
        uint8_t out[CROWD_HELLO_MAX];

        c->fd[i] = crowd_dial(addr);
        if (c->fd[i] < 0)
            return false;
        c->n++;
        if (c->seal && !secure(c, i))
            return false;
        pump_add(c->pump, c->fd[i], c->kind, i, EPOLLIN);
        size_t n = hello(g->arg, i, out);
        if (n > 0)
            crowd_send(c, i, span_of(out, n));
    }
    while (g->greeted < g->n && clock_since(end, clock_mono()) > 0)
        pump_turn(c->pump, 100);
    return g->greeted == g->n;
}

bool crowd_connect(struct crowd *c, const char *addr, uint32_t n, crowd_hello_fn *hello,
                   crowd_greeted_fn *greeted, void *arg)
{
    bool ok = true;

    if (n > c->cap - c->n)
        pump_fail("a crowd of more than %u", c->cap);
    while (ok && n > 0) {
        struct crowd_group *g = calloc(1, sizeof(*g));
        if (!g)
            pump_fail("out of memory");
        g->from = c->n;
        g->n = n < GROUP ? n : GROUP;
        g->check = greeted;
        g->arg = arg;
        c->group = g;
        ok = connect_group(c, addr, g, hello);
        c->group = NULL;
        n -= g->n;
        free(g);
    }
    return ok;
}
