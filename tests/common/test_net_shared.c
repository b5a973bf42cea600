/* tests/common/test_net_shared.c: one port, several listeners. */
#include "common/io/net.h"

#include "common/err.h"
#include "tests/leak.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define DOORS   3
#define CALLERS 60

struct door {
    struct net_listener *listener;
    int taken;
};

static void on_accepted(void *arg, int fd, const char *peer)
{
    struct door *d = arg;
    (void)peer;
    d->taken++;
    close(fd);
}

static void on_paused(void *arg, bool on, int err)
{
    (void)arg;
    (void)on;
    (void)err;
}

static const struct net_listener_ops ops = {.accepted = on_accepted, .paused = on_paused};

static int connected(const char *addr)
{
    struct sockaddr_in at = {.sin_family = AF_INET};
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    at.sin_port = htons((uint16_t)strtoul(strrchr(addr, ':') + 1, NULL, 10));
    cr_assert_eq(connect(fd, (struct sockaddr *)&at, sizeof(at)), 0);
    return fd;
}

Test(net_shared, connections_are_spread_over_the_listeners_and_none_is_lost)
{
    struct door d[DOORS] = {0};
    struct loop *l;
    char why[128] = "";
    int fd[CALLERS], taken = 0;

    cr_assert_eq(loop_create(&l), 0);
    for (int i = 0; i < DOORS; i++) {
        const char *addr = i == 0 ? "127.0.0.1:0" : net_listener_addr(d[0].listener);
        cr_assert_eq(
            net_listen_shared(l, addr, i == 0, &ops, &d[i], &d[i].listener, why, sizeof(why)), 0,
            "%s", why);
        cr_assert_str_eq(net_listener_addr(d[i].listener), net_listener_addr(d[0].listener));
    }
    for (int i = 0; i < CALLERS; i++)
        fd[i] = connected(net_listener_addr(d[0].listener));
    for (int turn = 0; turn < 100 && taken < CALLERS; turn++) {
        loop_turn(l, CLOCK_NS_PER_S / 10);
        taken = 0;
        for (int i = 0; i < DOORS; i++)
            taken += d[i].taken;
    }
    cr_assert_eq(taken, CALLERS);
    /* The kernel's choice is by ports: that one gets none has a chance of one in 10^10. */
    for (int i = 0; i < DOORS; i++) {
        cr_assert_gt(d[i].taken, 0);
        net_listener_destroy(d[i].listener);
    }
    for (int i = 0; i < CALLERS; i++)
        close(fd[i]);
    loop_destroy(l);
    TEST_NO_LEAKS();
}

Test(net_shared, the_first_is_refused_a_port_that_somebody_else_has_even_shared) /* CASES F02 */
{
    struct door d = {0};
    struct net_listener *other = NULL;
    struct loop *l;
    char why[128] = "", want[128];

    cr_assert_eq(loop_create(&l), 0);
    cr_assert_eq(net_listen_shared(l, "127.0.0.1:0", true, &ops, &d, &d.listener, why, sizeof(why)),
                 0);
    const char *addr = net_listener_addr(d.listener);
    snprintf(want, sizeof(want), "%s: Address already in use", addr);
    cr_assert_eq(net_listen_shared(l, addr, true, &ops, &d, &other, why, sizeof(why)), E_IO);
    cr_assert_str_eq(why, want);
    cr_assert_eq(net_listen(l, addr, &ops, &d, &other, why, sizeof(why)), E_IO);
    net_listener_destroy(d.listener);
    cr_assert_eq(net_listen(l, "127.0.0.1:0", &ops, &d, &d.listener, why, sizeof(why)), 0);
    cr_assert_eq(net_listen_shared(l, net_listener_addr(d.listener), false, &ops, &d, &other, why,
                                   sizeof(why)),
                 E_IO, "one that is alone stays alone");
    net_listener_destroy(d.listener);
    loop_destroy(l);
    TEST_NO_LEAKS();
}
