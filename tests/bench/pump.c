/* tests/bench/pump.c: the benchmark's own event loop. May touch: epoll. On trouble: see pump.h. */
#include "tests/bench/pump.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define EVENTS_A_TURN 512

void pump_fail(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    fputs("bench: ", stderr);
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
    va_end(ap);
    fflush(stdout);
    _exit(1); /* children die with us */
}

void pump_init(struct pump *p)
{
    *p = (struct pump){.epoll = epoll_create1(EPOLL_CLOEXEC)};
    if (p->epoll < 0)
        pump_fail("epoll: %s", strerror(errno));
}

void pump_fini(struct pump *p)
{
    close(p->epoll);
}

void pump_kind(struct pump *p, uint32_t kind, pump_fn *fn, void *arg)
{
    p->kinds[kind].fn = fn;
    p->kinds[kind].arg = arg;
}

static void control(struct pump *p, int op, int fd, uint64_t data, uint32_t events)
{
    struct epoll_event e = {.events = events, .data.u64 = data};

    if (epoll_ctl(p->epoll, op, fd, &e) != 0)
        pump_fail("epoll: %s", strerror(errno));
}

void pump_add(struct pump *p, int fd, uint32_t kind, uint32_t index, uint32_t events)
{
    control(p, EPOLL_CTL_ADD, fd, (uint64_t)kind << 32 | index, events);
}

void pump_change(struct pump *p, int fd, uint32_t kind, uint32_t index, uint32_t events)
{
    control(p, EPOLL_CTL_MOD, fd, (uint64_t)kind << 32 | index, events);
}

void pump_turn(struct pump *p, int ms)
{
    struct epoll_event events[EVENTS_A_TURN];
    int n = epoll_wait(p->epoll, events, EVENTS_A_TURN, ms);

    for (int i = 0; i < n; i++) {
        uint32_t kind = (uint32_t)(events[i].data.u64 >> 32);
        p->kinds[kind].fn(p->kinds[kind].arg, (uint32_t)events[i].data.u64, events[i].events);
    }
}
