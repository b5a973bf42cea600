/* tests/bench/limit/forward_mux.c: the least that passes requests up and replies down.
 *
 *   forward_mux UPSTREAM CLIENTS
 *
 *   up and down:  [ client u32 ][ bytes u32 ][ bytes ] ...      in this machine's byte order
 *
 * One connection upwards for all clients. What all clients sent in one turn of the loop goes up by
 * one write; what came down for a client goes out by one write, straight from what was read.
 * May touch: sockets, epoll. On trouble: one line on standard error and exit 1.
 */
#include "tests/bench/limit/limit.h"

#include <string.h>
#include <sys/epoll.h>

#define CLIENTS_MAX 1000000
#define LISTENER    UINT64_MAX
#define LINK        (UINT64_MAX - 1)
#define LIFE        (UINT64_MAX - 2)

#define HEAD       8
#define PIECE      4096 /* bytes of one client in one turn */
#define UP_BYTES   (LIMIT_EVENTS * (PIECE + HEAD))
#define DOWN_BYTES 262144

static uint8_t up[UP_BYTES];
static uint8_t down[DOWN_BYTES];
static size_t up_n, down_n;
static int *fds;
static uint32_t n_fds;

static void from_client(uint32_t i)
{
    uint32_t head[2] = {i, (uint32_t)limit_read(fds[i], up + up_n + HEAD, PIECE)};

    memcpy(up + up_n, head, HEAD);
    up_n += HEAD + head[1];
}

static void from_upstream(int upstream)
{
    size_t used = 0;

    down_n += limit_read(upstream, down + down_n, DOWN_BYTES - down_n);
    while (down_n - used >= HEAD) {
        uint32_t head[2];

        memcpy(head, down + used, HEAD);
        if (head[0] >= n_fds || head[1] > PIECE)
            limit_fail("a reply for nobody");
        if (down_n - used < HEAD + head[1])
            break;
        limit_write(fds[head[0]], down + used + HEAD, head[1]);
        used += HEAD + head[1];
    }
    memmove(down, down + used, down_n - used);
    down_n -= used;
}

int main(int argc, char **argv)
{
    int upstream = limit_dial(argc > 1 ? argv[1] : "");
    const uint32_t cap = limit_number(argc > 2 ? argv[2] : NULL, CLIENTS_MAX);
    int listener = limit_listen(), epoll = limit_epoll();

    fds = limit_memory(cap * sizeof(*fds));
    limit_watch(epoll, listener, LISTENER);
    limit_watch(epoll, upstream, LINK);
    limit_watch(epoll, 0, LIFE);
    for (;;) {
        struct epoll_event events[LIMIT_EVENTS];
        int got = epoll_wait(epoll, events, LIMIT_EVENTS, -1);

        for (int k = 0; k < got; k++) {
            uint8_t byte;

            if (events[k].data.u64 == LISTENER) {
                while (n_fds < cap && (fds[n_fds] = limit_accept(listener)) >= 0)
                    limit_watch(epoll, fds[n_fds], n_fds), n_fds++;
            } else if (events[k].data.u64 == LINK) {
                from_upstream(upstream);
            } else if (events[k].data.u64 == LIFE) {
                limit_read(0, &byte, 1); /* the end */
            } else {
                from_client((uint32_t)events[k].data.u64);
            }
        }
        if (up_n > 0)
            limit_write(upstream, up, up_n);
        up_n = 0;
    }
}
