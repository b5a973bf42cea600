/* tests/bench/limit/fanout_link.c: the least that passes frames from a link on to many clients.
 *
 *   fanout_link UPSTREAM CLIENTS
 *
 *   the link:  [ client u32 ][ bytes u32 ][ frame ] ...      in this machine's byte order
 *
 * Each frame goes out by one write, straight from what was read.
 * May touch: sockets, epoll. On trouble: one line on standard error and exit 1.
 */
#include "tests/bench/limit/limit.h"

#include <string.h>
#include <sys/epoll.h>

enum { LISTENER, LINK, LIFE };

#define CLIENTS_MAX 1000000
#define READ_BYTES  262144
#define HEAD        8

/* Pass on what is whole; returns the bytes that this was. */
static size_t pass(const uint8_t *bytes, size_t have, const int *fds, uint32_t n)
{
    size_t used = 0;

    while (have - used >= HEAD) {
        uint32_t head[2];

        memcpy(head, bytes + used, HEAD);
        if (head[0] >= n || head[1] > READ_BYTES - HEAD)
            limit_fail("a frame for nobody");
        if (have - used < HEAD + head[1])
            break;
        limit_write(fds[head[0]], bytes + used + HEAD, head[1]);
        used += HEAD + head[1];
    }
    return used;
}

int main(int argc, char **argv)
{
    int upstream = limit_dial(argc > 1 ? argv[1] : "");
    const uint32_t cap = limit_number(argc > 2 ? argv[2] : NULL, CLIENTS_MAX);
    int *fds = limit_memory(cap * sizeof(*fds));
    uint8_t *bytes = limit_memory(READ_BYTES);
    int listener = limit_listen(), epoll = limit_epoll();
    uint32_t n = 0;
    size_t have = 0;

    limit_watch(epoll, listener, LISTENER);
    limit_watch(epoll, upstream, LINK);
    limit_watch(epoll, 0, LIFE);
    for (;;) {
        struct epoll_event events[3];
        int got = epoll_wait(epoll, events, 3, -1);

        for (int k = 0; k < got; k++) {
            if (events[k].data.u64 == LISTENER) {
                while (n < cap && (fds[n] = limit_accept(listener)) >= 0)
                    n++;
            } else if (events[k].data.u64 == LIFE) {
                uint8_t byte;
                limit_read(0, &byte, 1); /* the end */
            } else {
                have += limit_read(upstream, bytes + have, READ_BYTES - have);
                size_t used = pass(bytes, have, fds, n);
                memmove(bytes, bytes + used, have - used);
                have -= used;
            }
        }
    }
}
