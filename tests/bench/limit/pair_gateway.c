/* tests/bench/limit/pair_gateway.c: the least a gateway can do: what a client sends goes to the
 * world with its number in front, what the world sends goes to its client straight from the read
 * buffer. One write a frame; EPOLLOUT only while the kernel took less than all. May touch: sockets,
 * epoll. On trouble: see limit_pair.h.
 */
#include "tests/bench/limit/limit_pair.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define EVENTS    512
#define READ_MAX  (1 << 20)
#define TAKE_MAX  1024 /* bytes of one client at once */
#define LINK_ID   UINT32_MAX
#define LISTEN_ID (UINT32_MAX - 1)

static struct {
    int epoll, listener, link;
    uint32_t n;
    struct {
        int fd;
        uint8_t *rest; /* what the kernel did not take */
        size_t rest_len;
    } client[PAIR_CLIENTS_MAX];
    uint8_t in[READ_MAX];
    size_t in_len;
    uint8_t out[EVENTS * (sizeof(struct pair_head) + TAKE_MAX)];
    size_t out_len;
} g;

static void watch(int op, int fd, uint32_t id, uint32_t events)
{
    struct epoll_event e = {.events = events, .data.u32 = id};
    epoll_ctl(g.epoll, op, fd, &e);
}

static void accept_all(void)
{
    int fd, on = 1;

    while (g.n < PAIR_CLIENTS_MAX &&
           (fd = accept4(g.listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
        g.client[g.n].fd = fd;
        watch(EPOLL_CTL_ADD, fd, g.n++, EPOLLIN);
    }
}

static void take_client(uint32_t id)
{
    struct pair_head h = {id, 0};
    uint8_t *at = g.out + g.out_len;
    ssize_t n = recv(g.client[id].fd, at + sizeof(h), TAKE_MAX, 0);

    if (n < 0 && errno == EAGAIN)
        return;
    if (n <= 0) {
        watch(EPOLL_CTL_DEL, g.client[id].fd, id, 0);
        close(g.client[id].fd);
        g.client[id].fd = -1;
        return;
    }
    h.bytes = (uint32_t)n;
    memcpy(at, &h, sizeof(h));
    g.out_len += sizeof(h) + h.bytes;
}

static void give_client(uint32_t id, const uint8_t *bytes, size_t n)
{
    ssize_t sent = 0;

    if (id >= g.n || g.client[id].fd < 0)
        return;
    if (g.client[id].rest_len == 0)
        sent = send(g.client[id].fd, bytes, n, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0)
        sent = 0;
    if ((size_t)sent == n)
        return;
    n -= (size_t)sent;
    g.client[id].rest = realloc(g.client[id].rest, g.client[id].rest_len + n);
    memcpy(g.client[id].rest + g.client[id].rest_len, bytes + sent, n);
    if (g.client[id].rest_len == 0)
        watch(EPOLL_CTL_MOD, g.client[id].fd, id, EPOLLIN | EPOLLOUT);
    g.client[id].rest_len += n;
}

static void give_rest(uint32_t id)
{
    uint8_t *rest = g.client[id].rest;
    size_t n = g.client[id].rest_len;

    if (g.client[id].fd < 0)
        return;
    g.client[id].rest = NULL;
    g.client[id].rest_len = 0;
    watch(EPOLL_CTL_MOD, g.client[id].fd, id, EPOLLIN);
    give_client(id, rest, n);
    free(rest);
}

static void take_link(void)
{
    ssize_t n = recv(g.link, g.in + g.in_len, sizeof(g.in) - g.in_len, 0);
    size_t at = 0;
    struct pair_head h;

    if (n <= 0)
        exit(0);
    g.in_len += (size_t)n;
    while (g.in_len - at >= sizeof(h)) {
        memcpy(&h, g.in + at, sizeof(h));
        if (g.in_len - at - sizeof(h) < h.bytes)
            break;
        give_client(h.client, g.in + at + sizeof(h), h.bytes);
        at += sizeof(h) + h.bytes;
    }
    memmove(g.in, g.in + at, g.in_len - at);
    g.in_len -= at;
}

static void give_link(void)
{
    for (size_t done = 0; done < g.out_len;) {
        ssize_t n = send(g.link, g.out + done, g.out_len - done, MSG_NOSIGNAL);
        if (n <= 0)
            exit(0);
        done += (size_t)n;
    }
    g.out_len = 0;
}

int pair_gateway_main(const char *world)
{
    static struct epoll_event events[EVENTS];
    struct rlimit files;

    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    g.epoll = epoll_create1(EPOLL_CLOEXEC);
    g.link = pair_dial(world);
    g.listener = pair_listen();
    watch(EPOLL_CTL_ADD, g.link, LINK_ID, EPOLLIN);
    watch(EPOLL_CTL_ADD, g.listener, LISTEN_ID, EPOLLIN);
    fcntl(g.listener, F_SETFL, O_NONBLOCK);
    for (;;) {
        int n = epoll_wait(g.epoll, events, EVENTS, -1);
        for (int i = 0; i < n; i++) {
            uint32_t id = events[i].data.u32;
            if (id == LINK_ID) {
                take_link();
            } else if (id == LISTEN_ID) {
                accept_all();
            } else {
                if (events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR))
                    take_client(id);
                if (events[i].events & EPOLLOUT)
                    give_rest(id);
            }
        }
        if (g.out_len > 0)
            give_link();
    }
}
