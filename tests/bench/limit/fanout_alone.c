/* tests/bench/limit/fanout_alone.c: the least that sends one frame to each of many clients.
 *
 *   fanout_alone CLIENTS BYTES
 *
 * Its frames lie ready, one for each client; a byte on standard input is a tick: one write a
 * client. A frame is its length (32 bits, big-endian, of what follows), the client's number, the
 * rest 'x'. May touch: sockets, epoll. On trouble: one line on standard error and exit 1.
 */
#include "tests/bench/limit/limit.h"

#include <arpa/inet.h>
#include <string.h>
#include <sys/epoll.h>

enum { LISTENER, TICK };

#define CLIENTS_MAX 1000000
#define FRAME_MAX   65536

static uint8_t *make_frames(uint32_t n, uint32_t bytes)
{
    uint8_t *frames = limit_memory((size_t)n * bytes);

    memset(frames, 'x', (size_t)n * bytes);
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t head[2] = {htonl(bytes - 4), htonl(i)};
        memcpy(frames + (size_t)i * bytes, head, sizeof(head));
    }
    return frames;
}

int main(int argc, char **argv)
{
    const uint32_t cap = limit_number(argc > 1 ? argv[1] : NULL, CLIENTS_MAX);
    const uint32_t bytes = limit_number(argc > 2 ? argv[2] : NULL, FRAME_MAX);
    const uint8_t *frames = make_frames(cap, bytes < 8 ? 8 : bytes);
    int *fds = limit_memory(cap * sizeof(*fds));
    int listener = limit_listen(), epoll = limit_epoll();
    uint32_t n = 0;

    limit_watch(epoll, listener, LISTENER);
    limit_watch(epoll, 0, TICK);
    for (;;) {
        struct epoll_event events[2];
        int got = epoll_wait(epoll, events, 2, -1);

        for (int k = 0; k < got; k++) {
            uint8_t tick;

            if (events[k].data.u64 == LISTENER) {
                while (n < cap && (fds[n] = limit_accept(listener)) >= 0)
                    n++;
                continue;
            }
            limit_read(0, &tick, 1);
            for (uint32_t i = 0; i < n; i++)
                limit_write(fds[i], frames + (size_t)i * bytes, bytes);
        }
    }
}
