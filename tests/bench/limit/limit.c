/* tests/bench/limit/limit.c: what the limit programs share.
 * May touch: sockets, epoll. On trouble: see limit.h.
 */
#include "tests/bench/limit/limit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

void limit_fail(const char *what)
{
    perror(what);
    exit(1);
}

static void set_nodelay(int fd)
{
    int one = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

int limit_listen(void)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(in);
    struct rlimit files;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    if (fd < 0 || bind(fd, (struct sockaddr *)&in, sizeof(in)) != 0 || listen(fd, SOMAXCONN) != 0 ||
        getsockname(fd, (struct sockaddr *)&in, &len) != 0)
        limit_fail("listen");
    fprintf(stderr, "listening on 127.0.0.1:%u\n", ntohs(in.sin_port));
    return fd;
}

int limit_dial(const char *addr)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    unsigned port;
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    if (sscanf(addr, "127.0.0.1:%u", &port) != 1)
        limit_fail(addr);
    in.sin_port = htons((uint16_t)port);
    if (fd < 0 || connect(fd, (struct sockaddr *)&in, sizeof(in)) != 0)
        limit_fail("dial");
    set_nodelay(fd);
    return fd;
}

int limit_accept(int listener)
{
    int fd = accept(listener, NULL, NULL);

    if (fd < 0 && errno == EAGAIN)
        return -1;
    if (fd < 0)
        limit_fail("accept");
    set_nodelay(fd);
    limit_write(fd, "!", 1);
    return fd;
}

int limit_epoll(void)
{
    int epoll = epoll_create1(0);
    if (epoll < 0)
        limit_fail("epoll");
    return epoll;
}

void limit_watch(int epoll, int fd, uint64_t index)
{
    struct epoll_event e = {.events = EPOLLIN, .data.u64 = index};
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &e) != 0)
        limit_fail("epoll");
}

void limit_write(int fd, const void *bytes, size_t n)
{
    const uint8_t *p = bytes;

    while (n > 0) {
        ssize_t w = write(fd, p, n);
        if (w <= 0)
            limit_fail("write");
        p += w;
        n -= (size_t)w;
    }
}

size_t limit_read(int fd, void *bytes, size_t n)
{
    ssize_t r = read(fd, bytes, n);
    if (r < 0)
        limit_fail("read");
    if (r == 0)
        exit(0);
    return (size_t)r;
}

uint32_t limit_number(const char *arg, uint32_t most)
{
    char *end;
    unsigned long v = arg ? strtoul(arg, &end, 10) : 0;
    if (!arg || *end != '\0' || v == 0 || v > most) {
        errno = EINVAL;
        limit_fail("argument");
    }
    return (uint32_t)v;
}

void *limit_memory(size_t n)
{
    void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        limit_fail("memory");
    return p;
}
