/* tests/http_ask.c: the other end of an HTTP connection, in the same thread as the server's loop.
 * May touch: common/io/loop, sockets, Criterion. On trouble: the test fails.
 */
#include "tests/http_ask.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PATIENCE_NS (20 * CLOCK_NS_PER_S)
#define TURN_NS     (20 * CLOCK_NS_PER_MS)

int http_ask_dial(const char *addr)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    to.sin_port = htons((uint16_t)atoi(strrchr(addr, ':') + 1));
    cr_assert_eq(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0, "%s: %s", addr,
                 strerror(errno));
    return fd;
}

void http_ask_say(int fd, const char *text)
{
    (void)!send(fd, text, strlen(text), MSG_NOSIGNAL);
}

void http_ask_hear(struct loop *l, int fd, char out[HTTP_ASK_MAX])
{
    struct mono until = clock_add(clock_mono(), PATIENCE_NS);
    size_t n = 0;

    for (;;) {
        cr_assert_lt(n, HTTP_ASK_MAX - 1, "the answer is longer than a test keeps");
        ssize_t got = recv(fd, out + n, HTTP_ASK_MAX - 1 - n, MSG_DONTWAIT);
        if (got > 0) {
            n += (size_t)got;
            continue;
        }
        if (got == 0 || errno == ECONNRESET)
            break;
        cr_assert_lt(clock_since(clock_mono(), until), 0, "the server does not close");
        loop_turn(l, TURN_NS);
    }
    close(fd);
    out[n] = '\0';
}

void http_ask(struct loop *l, const char *addr, const char *request, char out[HTTP_ASK_MAX])
{
    int fd = http_ask_dial(addr);

    http_ask_say(fd, request);
    http_ask_hear(l, fd, out);
}
