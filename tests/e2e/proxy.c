/* tests/e2e/proxy.c: a bad network between two ends.
 *
 *   who connected ══ client ◄── down [4096] ◄── server ══ the address
 *                         └──► up   [4096] ──►
 *
 * May touch: tests/raw_client, processes, sockets, shared memory. On trouble: see proxy.h.
 */
#include "tests/e2e/proxy.h"

#include "common/addr.h"
#include "tests/raw_client.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define PIPE_BYTES 4096
#define TURN_MS    5
#define FDS_MAX    65536

/* One way. */
struct pipe_way {
    int from, to;
    uint8_t bytes[PIPE_BYTES];
    size_t len;
    bool ended, told; /* the end came; it was passed on */
};

struct proxy_link {
    bool used;
    struct pipe_way up, down;
};

struct proxy_run {
    int listener;
    struct sockaddr_in to;
    struct proxy_control *control;
    double budget; /* bytes that may go down now */
    struct mono filled;
    struct proxy_link links[PROXY_LINKS_MAX];
};

static void refill(struct proxy_run *r)
{
    double rate = (double)atomic_load(&r->control->rate);
    struct mono now = clock_mono();

    r->budget += rate * (double)clock_since(now, r->filled) / (double)CLOCK_NS_PER_S;
    if (r->budget > rate / 20)
        r->budget = rate / 20;
    if (rate <= 0)
        r->budget = PIPE_BYTES;
    r->filled = now;
}

static void drop(struct proxy_link *l, bool hard)
{
    struct linger now = {.l_onoff = hard, .l_linger = 0};

    setsockopt(l->up.from, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
    setsockopt(l->up.to, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
    close(l->up.from);
    close(l->up.to);
    l->used = false;
}

static void take_link(struct proxy_run *r)
{
    int on = 1, small = PIPE_BYTES;
    struct proxy_link *l = NULL;

    for (size_t i = 0; i < PROXY_LINKS_MAX && !l; i++)
        l = r->links[i].used ? NULL : &r->links[i];
    int client = accept4(r->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (client < 0)
        return;
    int server = l ? socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0) : -1;
    if (server >= 0)
        setsockopt(server, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
    if (server < 0 || connect(server, (struct sockaddr *)&r->to, sizeof(r->to)) != 0) {
        close(client);
        close(server);
        return;
    }
    setsockopt(client, SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
    setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    setsockopt(server, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    *l = (struct proxy_link){
        .used = true, .up = {.from = client, .to = server}, .down = {.from = server, .to = client}};
}

/* False: the connection broke. */
static bool fill(struct pipe_way *w)
{
    if (w->ended || w->len == PIPE_BYTES)
        return true;
    ssize_t got = recv(w->from, w->bytes + w->len, PIPE_BYTES - w->len, MSG_DONTWAIT);
    if (got > 0)
        w->len += (size_t)got;
    w->ended = got == 0;
    return got >= 0 || errno == EAGAIN || errno == EINTR;
}

static bool empty_out(struct proxy_run *r, struct pipe_way *w, double *budget)
{
    size_t n = budget && *budget < (double)w->len ? (size_t)(*budget > 0 ? *budget : 0) : w->len;
    ssize_t sent = n > 0 ? send(w->to, w->bytes, n, MSG_DONTWAIT | MSG_NOSIGNAL) : 0;

    if (sent < 0)
        return errno == EAGAIN || errno == EINTR;
    memmove(w->bytes, w->bytes + sent, w->len - (size_t)sent);
    w->len -= (size_t)sent;
    if (budget)
        *budget -= (double)sent;
    atomic_fetch_add(&r->control->passed, (uint64_t)sent);
    if (w->ended && w->len == 0 && !w->told) {
        shutdown(w->to, SHUT_WR);
        w->told = true;
    }
    return true;
}

static void serve_link(struct proxy_run *r, struct proxy_link *l)
{
    bool well = fill(&l->up) && fill(&l->down) && empty_out(r, &l->up, NULL) &&
                empty_out(r, &l->down, &r->budget);

    if (!well || (l->up.told && l->down.told))
        drop(l, !well);
}

static void wait_for_something(const struct proxy_run *r)
{
    struct pollfd p[1 + 2 * PROXY_LINKS_MAX];
    nfds_t n = 1;

    p[0] = (struct pollfd){.fd = r->listener, .events = POLLIN};
    for (size_t i = 0; i < PROXY_LINKS_MAX; i++) {
        const struct proxy_link *l = &r->links[i];
        if (l->used && !l->up.ended && l->up.len < PIPE_BYTES)
            p[n++] = (struct pollfd){.fd = l->up.from, .events = POLLIN};
        if (l->used && !l->down.ended && l->down.len < PIPE_BYTES)
            p[n++] = (struct pollfd){.fd = l->down.from, .events = POLLIN};
    }
    poll(p, n, TURN_MS);
}

static _Noreturn void run(struct proxy_run *r)
{
    for (;;) {
        if (atomic_load(&r->control->cut)) {
            poll(NULL, 0, TURN_MS);
            continue;
        }
        wait_for_something(r);
        struct pollfd p = {.fd = r->listener, .events = POLLIN};
        if (poll(&p, 1, 0) == 1)
            take_link(r);
        refill(r);
        for (size_t i = 0; i < PROXY_LINKS_MAX; i++) {
            if (r->links[i].used)
                serve_link(r, &r->links[i]);
        }
    }
}

/* Without what belongs to the test: a descriptor that two hold is not closed by one of them. */
static _Noreturn void child(struct proxy_run *r, pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(126);
    for (int fd = 3; fd < FDS_MAX; fd++) {
        if (fd != r->listener)
            close(fd);
    }
    r->filled = clock_mono();
    run(r);
}

void proxy_start(struct proxy *p, const char *to, uint64_t rate)
{
    static struct proxy_run r;
    struct sockaddr_in in;
    socklen_t len = sizeof(in);
    struct addr a;
    const char *why;
    pid_t self = getpid();

    *p = (struct proxy){.control = mmap(NULL, sizeof(*p->control), PROT_READ | PROT_WRITE,
                                        MAP_SHARED | MAP_ANONYMOUS, -1, 0)};
    if (p->control == MAP_FAILED || addr_parse(to, &a, &why) != 0)
        process_fail("no proxy to %s", to);
    atomic_store(&p->control->rate, rate);
    r = (struct proxy_run){.listener = raw_listen(process_any_port()), .control = p->control};
    r.to = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(a.port)};
    inet_pton(AF_INET, a.host, &r.to.sin_addr);
    getsockname(r.listener, (struct sockaddr *)&in, &len);
    inet_ntop(AF_INET, &in.sin_addr, p->addr, sizeof(p->addr));
    snprintf(p->addr + strlen(p->addr), 8, ":%u", ntohs(in.sin_port));
    p->pid = fork();
    if (p->pid == 0)
        child(&r, self);
    if (p->pid < 0)
        process_fail("no fork: %s", strerror(errno));
    close(r.listener);
}

void proxy_cut(struct proxy *p, bool cut)
{
    atomic_store(&p->control->cut, cut);
}

uint64_t proxy_passed(const struct proxy *p)
{
    return atomic_load(&p->control->passed);
}

void proxy_end(struct proxy *p)
{
    kill(p->pid, SIGKILL);
    waitpid(p->pid, NULL, 0);
    munmap(p->control, sizeof(*p->control));
    *p = (struct proxy){0};
}
