/* tests/bench/limit/limit_pair.c: the door to the limit programs, and their sockets.
 * May touch: sockets. On trouble: see limit_pair.h.
 */
#include "tests/bench/limit/limit_pair.h"

#include "common/clock.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define BACKLOG 4096

int64_t pair_now_ns(void)
{
    return clock_mono().ns;
}

void pair_fail(const char *what)
{
    perror(what);
    exit(1);
}

int pair_listen(void)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(a);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof(a)) != 0 || listen(fd, BACKLOG) != 0 ||
        getsockname(fd, (struct sockaddr *)&a, &len) != 0)
        pair_fail("listen");
    printf("listening on 127.0.0.1:%u\n", ntohs(a.sin_port));
    fflush(stdout);
    return fd;
}

int pair_dial(const char *addr)
{
    const char *colon = strrchr(addr, ':');
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

    a.sin_port = htons((uint16_t)atoi(colon ? colon + 1 : addr));
    if (fd < 0 || connect(fd, (struct sockaddr *)&a, sizeof(a)) != 0)
        pair_fail("connect");
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    return fd;
}

int pair_main(int argc, char **argv)
{
    if (strcmp(argv[1], "pair-world") == 0)
        return pair_world_main(argc > 2);
    if (strcmp(argv[1], "pair-gateway") == 0 && argc > 2)
        return pair_gateway_main(argv[2]);
    if (strcmp(argv[1], "pair-clients") == 0 && argc > 8) {
        struct pair_job job = {argv[2],
                               (uint32_t)atoi(argv[3]),
                               atof(argv[4]),
                               atof(argv[5]),
                               atof(argv[6]),
                               (uint64_t)atoll(argv[7]),
                               strcmp(argv[8], "square") == 0};
        return pair_clients_main(&job);
    }
    fprintf(stderr,
            "bench: pair-world, pair-gateway WORLD, or pair-clients with seven more words\n");
    return 2;
}
