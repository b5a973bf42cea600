/* tests/bench/limit/idle_bare.c: the least that keeps clients who say nothing.
 *
 *   idle_bare CLIENTS
 *
 * May touch: sockets, epoll. On trouble: one line on standard error and exit 1.
 */
#include "tests/bench/limit/limit.h"

#include <sys/epoll.h>

#define CLIENTS_MAX 1000000
#define LISTENER    UINT64_MAX
#define LIFE        (UINT64_MAX - 1)

/* What a server must know of a client at the very least, roughly. */
struct idle_client {
    uint64_t heard_ns;
    uint64_t bytes_in, bytes_out;
    uint32_t session, tokens;
    int fd;
    uint32_t state;
};

_Static_assert(sizeof(struct idle_client) == 40, "this is what is measured");

int main(int argc, char **argv)
{
    const uint32_t cap = limit_number(argc > 1 ? argv[1] : NULL, CLIENTS_MAX);
    struct idle_client *clients = limit_memory(cap * sizeof(*clients));
    int listener = limit_listen(), epoll = limit_epoll();
    uint32_t n = 0;

    limit_watch(epoll, listener, LISTENER);
    limit_watch(epoll, 0, LIFE);
    for (;;) {
        struct epoll_event events[LIMIT_EVENTS];
        int got = epoll_wait(epoll, events, LIMIT_EVENTS, -1);

        for (int k = 0; k < got; k++) {
            uint8_t bytes[4096];
            int fd;

            if (events[k].data.u64 == LISTENER) {
                while (n < cap && (fd = limit_accept(listener)) >= 0) {
                    clients[n] = (struct idle_client){.fd = fd, .state = 1};
                    limit_watch(epoll, fd, n++);
                }
            } else if (events[k].data.u64 == LIFE) {
                limit_read(0, bytes, 1); /* the end */
            } else {
                struct idle_client *c = &clients[events[k].data.u64];
                c->bytes_in += limit_read(c->fd, bytes, sizeof(bytes));
            }
        }
    }
}
