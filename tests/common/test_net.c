/* tests/common/test_net.c: listen and dial, on loopback and kernel-chosen ports. */
#include "common/io/net.h"

#include "common/err.h"
#include "tests/leak.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define FDS_MAX   256
#define LONG_WAIT (10 * CLOCK_NS_PER_S)

struct door {
    struct loop *loop;
    struct net_listener *listener;
    int fd[FDS_MAX];
    int n;
    char peer[NET_TEXT_MAX];
    char paused[16]; /* '+' on, '-' off */
    int err;
    bool destroy_in_accepted;
    int places; /* connections that there is room for; 0: any number */
};

/* Descriptors that this process has open. */
static int descriptors(void)
{
    int n = 0;
    for (int fd = 0; fd < 1024; fd++)
        n += fcntl(fd, F_GETFD) != -1;
    return n;
}

struct call {
    struct net_dialer *dialer;
    int fd, err, times;
    bool destroy_in_done;
};

static void on_accepted(void *arg, int fd, const char *peer)
{
    struct door *d = arg;
    cr_assert_lt(d->n, FDS_MAX);
    d->fd[d->n++] = fd;
    snprintf(d->peer, sizeof(d->peer), "%s", peer);
    if (d->destroy_in_accepted) {
        net_listener_destroy(d->listener);
        d->listener = NULL;
    }
}

static void on_paused(void *arg, bool on, int err)
{
    struct door *d = arg;
    size_t n = strlen(d->paused);
    cr_assert_lt(n, sizeof(d->paused) - 1);
    d->paused[n] = on ? '+' : '-';
    if (on)
        d->err = err;
}

static int has_room(void *arg)
{
    const struct door *d = arg;
    return d->places == 0 || d->n < d->places ? 0 : EBUSY;
}

static const struct net_listener_ops door_ops = {
    .accepted = on_accepted,
    .paused = on_paused,
    .room = has_room,
};

static void open_door(struct door *d, const char *addr)
{
    char why[128] = "";
    *d = (struct door){0};
    cr_assert_eq(loop_create(&d->loop), 0);
    cr_assert_eq(net_listen(d->loop, addr, &door_ops, d, &d->listener, why, sizeof(why)), 0, "%s",
                 why);
}

static void close_door(struct door *d)
{
    net_listener_destroy(d->listener);
    for (int i = 0; i < d->n; i++)
        close(d->fd[i]);
    loop_destroy(d->loop);
}

static void on_dialed(void *arg, int fd, int err)
{
    struct call *c = arg;
    c->fd = fd;
    c->err = err;
    c->times++;
    if (c->destroy_in_done) {
        net_dialer_destroy(c->dialer);
        c->dialer = NULL;
    }
}

static void dial(struct call *c, struct loop *l, const char *addr, int64_t timeout_ns)
{
    *c = (struct call){.fd = -1, .destroy_in_done = true};
    cr_assert_eq(net_dial(l, addr, timeout_ns, on_dialed, c, &c->dialer), 0);
    cr_assert_eq(c->times, 0, "never from within net_dial");
}

static void wait_for(struct loop *l, const int *count, int want)
{
    for (int i = 0; i < 1000 && *count < want; i++)
        loop_turn(l, LONG_WAIT);
    cr_assert_eq(*count, want);
}

/* --- listening and dialling ------------------------------------------------------------------- */

static void meet(const char *listen_on, const char *prefix)
{
    struct door d;
    struct call c;
    open_door(&d, listen_on);
    const char *addr = net_listener_addr(d.listener);
    cr_assert_eq(strncmp(addr, prefix, strlen(prefix)), 0, "%s", addr);
    cr_assert_neq(addr[strlen(prefix)], '0', "the kernel chose a port");
    dial(&c, d.loop, addr, LONG_WAIT);
    wait_for(d.loop, &c.times, 1);
    wait_for(d.loop, &d.n, 1);
    cr_assert_geq(c.fd, 0);
    cr_assert_eq(c.err, 0);
    cr_assert_eq(strncmp(d.peer, prefix, strlen(prefix)), 0, "%s", d.peer);

    cr_assert(fcntl(c.fd, F_GETFL) & O_NONBLOCK);
    cr_assert(fcntl(c.fd, F_GETFD) & FD_CLOEXEC);
    cr_assert(fcntl(d.fd[0], F_GETFL) & O_NONBLOCK);
    cr_assert(fcntl(d.fd[0], F_GETFD) & FD_CLOEXEC);
    cr_assert_eq(send(c.fd, "hi", 2, 0), 2);
    char buf[4];
    cr_assert_eq(recv(d.fd[0], buf, sizeof(buf), 0), 2);
    close(c.fd);
    close_door(&d);
}

Test(net, a_dialled_connection_is_accepted)
{
    meet("127.0.0.1:0", "127.0.0.1:");
    TEST_NO_LEAKS();
}

Test(net, ipv6_works_where_the_machine_has_it)
{
    int probe = socket(AF_INET6, SOCK_STREAM, 0);
    if (probe < 0)
        cr_skip_test("no IPv6 here");
    close(probe);
    meet("[::1]:0", "[::1]:");
    TEST_NO_LEAKS();
}

Test(net, a_name_can_be_listened_on_and_dialled)
{
    struct door d;
    struct call c;
    open_door(&d, "localhost:0");
    char addr[NET_TEXT_MAX];
    snprintf(addr, sizeof(addr), "localhost%s", strrchr(net_listener_addr(d.listener), ':'));
    dial(&c, d.loop, addr, LONG_WAIT);
    wait_for(d.loop, &c.times, 1);
    cr_assert_eq(c.err, 0, "%s", strerror(c.err));
    close(c.fd);
    close_door(&d);
    TEST_NO_LEAKS();
}

Test(net, F02_addresses_that_are_none_are_refused_by_name)
{
    static const char *const bad[] = {"127.0.0.1:abc", "127.0.0.1:",      "127.0.0.1:3001x",
                                      "127.0.0.1:-1",  "127.0.0.1:65536", "127.0.0.1:4294974296"};
    struct loop *l;
    struct net_listener *n;
    struct net_dialer *d;
    cr_assert_eq(loop_create(&l), 0);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        char why[128], want[128];
        cr_assert_eq(net_listen(l, bad[i], &door_ops, NULL, &n, why, sizeof(why)), E_ADDR);
        snprintf(want, sizeof(want), "%s: port must be 0..65535", bad[i]);
        cr_assert_str_eq(why, want);
        cr_assert_eq(net_dial(l, bad[i], LONG_WAIT, on_dialed, NULL, &d), E_ADDR);
    }
    cr_assert_eq(net_dial(l, "127.0.0.1:0", LONG_WAIT, on_dialed, NULL, &d), E_ADDR);
    loop_destroy(l);
    TEST_NO_LEAKS();
}

Test(net, F02_a_port_in_use_is_named)
{
    struct door d;
    struct net_listener *n;
    char why[128], want[128];
    open_door(&d, "127.0.0.1:0");
    const char *addr = net_listener_addr(d.listener);
    cr_assert_eq(net_listen(d.loop, addr, &door_ops, NULL, &n, why, sizeof(why)), E_IO);
    snprintf(want, sizeof(want), "%s: Address already in use", addr);
    cr_assert_str_eq(why, want);
    close_door(&d);
    TEST_NO_LEAKS();
}

Test(net, a_port_is_free_again_as_soon_as_its_listener_is_gone)
{
    struct door d, again;
    struct call c;
    char addr[NET_TEXT_MAX];
    open_door(&d, "127.0.0.1:0");
    snprintf(addr, sizeof(addr), "%s", net_listener_addr(d.listener));
    dial(&c, d.loop, addr, LONG_WAIT);
    wait_for(d.loop, &d.n, 1);
    close_door(&d); /* our side closes first, and its port is in TIME_WAIT */
    open_door(&again, addr);
    close_door(&again);
    if (c.fd >= 0)
        close(c.fd);
    TEST_NO_LEAKS();
}

Test(net, a_listener_destroyed_in_its_call_accepts_no_more)
{
    struct door d;
    struct call c[3];
    open_door(&d, "127.0.0.1:0");
    for (int i = 0; i < 3; i++)
        dial(&c[i], d.loop, net_listener_addr(d.listener), LONG_WAIT);
    d.destroy_in_accepted = true;
    for (int i = 0; i < 3; i++)
        wait_for(d.loop, &c[i].times, 1);
    loop_turn(d.loop, 0);
    cr_assert_eq(d.n, 1);
    for (int i = 0; i < 3; i++)
        if (c[i].fd >= 0)
            close(c[i].fd);
    close_door(&d);
    net_listener_destroy(NULL);
    TEST_NO_LEAKS();
}

Test(net, a_flood_is_taken_in_portions)
{
    enum { N = NET_ACCEPTS_A_TURN + 20 };
    static struct call c[N];
    struct door d;
    struct loop *dialing;
    open_door(&d, "127.0.0.1:0");
    cr_assert_eq(loop_create(&dialing), 0);
    for (int i = 0; i < N; i++)
        dial(&c[i], dialing, net_listener_addr(d.listener), LONG_WAIT);
    for (int i = 0; i < N; i++)
        wait_for(dialing, &c[i].times, 1);
    loop_turn(d.loop, 0);
    cr_assert_eq(d.n, NET_ACCEPTS_A_TURN);
    loop_turn(d.loop, 0);
    cr_assert_eq(d.n, N);
    for (int i = 0; i < N; i++)
        close(c[i].fd);
    loop_destroy(dialing);
    close_door(&d);
    TEST_NO_LEAKS();
}

/* --- out of descriptors ----------------------------------------------------------------------- */

Test(net, D05_out_of_descriptors_pauses_reports_once_and_recovers)
{
    struct door d;
    struct call c;
    open_door(&d, "127.0.0.1:0");
    dial(&c, d.loop, net_listener_addr(d.listener), LONG_WAIT);
    /* Connected, and in the listener's queue. */
    while (c.times == 0 && d.n == 0)
        loop_turn(d.loop, LONG_WAIT);
    wait_for(d.loop, &c.times, 1);
    wait_for(d.loop, &d.n, 1);

    int second = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_storage ss;
    socklen_t len = sizeof(ss);
    cr_assert_eq(getpeername(c.fd, (struct sockaddr *)&ss, &len), 0);
    cr_assert_eq(connect(second, (struct sockaddr *)&ss, len), 0);

    struct rlimit was, none;
    cr_assert_eq(getrlimit(RLIMIT_NOFILE, &was), 0);
    none = was;
    none.rlim_cur = (rlim_t)second; /* every number below is taken */
    int filler[FDS_MAX], fillers = 0;
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
    while (fillers < FDS_MAX && (filler[fillers] = dup(0)) >= 0)
        fillers++;
    cr_assert_eq(errno, EMFILE);

    struct mono before = clock_mono();
    int turns = 0;
    while (clock_since(clock_mono(), before) < 3 * NET_ACCEPT_PAUSE_MS * CLOCK_NS_PER_MS) {
        loop_turn(d.loop, 3 * NET_ACCEPT_PAUSE_MS * CLOCK_NS_PER_MS);
        turns++;
    }
    cr_assert_lt(turns, 10, "a rest, not a spin");
    cr_assert_str_eq(d.paused, "+", "reported once");
    cr_assert_eq(d.err, EMFILE);
    cr_assert_eq(d.n, 1);

    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &was), 0);
    before = clock_mono();
    wait_for(d.loop, &d.n, 2);
    cr_assert_lt(clock_since(clock_mono(), before), CLOCK_NS_PER_S);
    cr_assert_str_eq(d.paused, "+-");
    for (int i = 0; i < fillers; i++)
        close(filler[i]);
    close(second);
    close(c.fd);
    close_door(&d);
    TEST_NO_LEAKS();
}

Test(net, where_there_is_no_room_connections_wait_until_there_is)
{
    struct door d;
    struct call c[3];
    open_door(&d, "127.0.0.1:0");
    d.places = 2;
    for (int i = 0; i < 3; i++) {
        dial(&c[i], d.loop, net_listener_addr(d.listener), LONG_WAIT);
        wait_for(d.loop, &c[i].times, 1);
        cr_assert_geq(c[i].fd, 0, "the kernel keeps it");
    }
    wait_for(d.loop, &d.n, 2);
    while (d.paused[0] == '\0')
        loop_turn(d.loop, LONG_WAIT);
    struct mono before = clock_mono();
    int turns = 0;
    while (clock_since(clock_mono(), before) < 2 * NET_ACCEPT_PAUSE_MS * CLOCK_NS_PER_MS) {
        loop_turn(d.loop, NET_ACCEPT_PAUSE_MS * CLOCK_NS_PER_MS);
        turns++;
    }
    cr_assert_lt(turns, 10, "a rest, not a spin");
    cr_assert_eq(d.n, 2);
    cr_assert_str_eq(d.paused, "+");
    cr_assert_eq(d.err, EBUSY, "as the owner said");

    d.places = 0;
    wait_for(d.loop, &d.n, 3);
    cr_assert_str_eq(d.paused, "+-");
    for (int i = 0; i < 3; i++)
        close(c[i].fd);
    close_door(&d);
    TEST_NO_LEAKS();
}

Test(net, a_listener_may_be_destroyed_while_it_rests)
{
    struct door d;
    struct rlimit was, none;
    open_door(&d, "127.0.0.1:0");
    int peer = socket(AF_INET, SOCK_STREAM, 0);
    struct call c;
    dial(&c, d.loop, net_listener_addr(d.listener), LONG_WAIT);
    cr_assert_eq(getrlimit(RLIMIT_NOFILE, &was), 0);
    none = was;
    none.rlim_cur = 3;
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
    for (int i = 0; i < 100 && d.paused[0] == '\0'; i++)
        loop_turn(d.loop, LONG_WAIT);
    cr_assert_str_eq(d.paused, "+");
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &was), 0);
    net_listener_destroy(d.listener);
    d.listener = NULL;
    loop_turn(d.loop, 2 * NET_ACCEPT_PAUSE_MS * CLOCK_NS_PER_MS);
    cr_assert_str_eq(d.paused, "+");
    net_dialer_destroy(c.dialer);
    if (c.fd >= 0)
        close(c.fd);
    close(peer);
    close_door(&d);
    TEST_NO_LEAKS();
}

Test(net, the_descriptor_limit_is_raised_as_far_as_it_goes)
{
    struct rlimit lim;
    cr_assert_eq(getrlimit(RLIMIT_NOFILE, &lim), 0);
    lim.rlim_cur = lim.rlim_max / 2;
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &lim), 0);
    cr_assert_eq(net_raise_descriptors(), lim.rlim_max);
    cr_assert_eq(getrlimit(RLIMIT_NOFILE, &lim), 0);
    cr_assert_eq(lim.rlim_cur, lim.rlim_max);
}

/* --- dialling that fails ---------------------------------------------------------------------- */

Test(net, nobody_there_is_refused)
{
    struct door d;
    struct call c;
    char addr[NET_TEXT_MAX];
    open_door(&d, "127.0.0.1:0");
    snprintf(addr, sizeof(addr), "%s", net_listener_addr(d.listener));
    net_listener_destroy(d.listener);
    d.listener = NULL;
    dial(&c, d.loop, addr, LONG_WAIT);
    wait_for(d.loop, &c.times, 1);
    cr_assert_eq(c.fd, -1);
    cr_assert_eq(c.err, ECONNREFUSED);
    close_door(&d);
    TEST_NO_LEAKS();
}

Test(net, a_silent_host_is_given_up_in_time)
{
    /* A full backlog answers no SYN, which is what silence looks like on loopback. */
    int door = socket(AF_INET, SOCK_STREAM, 0), filler[3];
    struct sockaddr_in ss = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t len = sizeof(ss);
    cr_assert_eq(bind(door, (struct sockaddr *)&ss, len), 0);
    cr_assert_eq(listen(door, 0), 0);
    cr_assert_eq(getsockname(door, (struct sockaddr *)&ss, &len), 0);
    for (int i = 0; i < 3; i++) {
        filler[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        cr_assert(connect(filler[i], (struct sockaddr *)&ss, len) == 0 || errno == EINPROGRESS);
    }
    struct loop *l;
    struct call c;
    char addr[NET_TEXT_MAX];
    snprintf(addr, sizeof(addr), "127.0.0.1:%u", ntohs(ss.sin_port));
    cr_assert_eq(loop_create(&l), 0);
    struct mono before = clock_mono();
    int open = descriptors();
    dial(&c, l, addr, 20 * CLOCK_NS_PER_MS);
    wait_for(l, &c.times, 1);
    cr_assert_eq(descriptors(), open);
    cr_assert_eq(c.err, ETIMEDOUT);
    cr_assert_eq(c.fd, -1);
    cr_assert_geq(clock_since(clock_mono(), before), 20 * CLOCK_NS_PER_MS);
    for (int i = 0; i < 3; i++)
        close(filler[i]);
    close(door);
    loop_destroy(l);
    TEST_NO_LEAKS();
}

Test(net, a_dialer_destroyed_early_calls_nobody)
{
    struct door d;
    struct call c;
    open_door(&d, "127.0.0.1:0");
    for (int turns = 0; turns < 2; turns++) {
        dial(&c, d.loop, net_listener_addr(d.listener), LONG_WAIT);
        net_dialer_destroy(c.dialer);
        loop_turn(d.loop, 0);
        cr_assert_eq(c.times, 0);
    }
    /* Refused at once by the kernel, so the call is due already. */
    dial(&c, d.loop, "255.255.255.255:1", LONG_WAIT);
    net_dialer_destroy(c.dialer);
    loop_turn(d.loop, 0);
    cr_assert_eq(c.times, 0);
    net_dialer_destroy(NULL);
    close_door(&d);
    TEST_NO_LEAKS();
}

Test(net, what_the_kernel_refuses_at_once_is_told_at_the_end_of_the_turn)
{
    struct loop *l;
    struct call c;
    cr_assert_eq(loop_create(&l), 0);
    int open = descriptors();
    dial(&c, l, "255.255.255.255:1", LONG_WAIT);
    loop_turn(l, 0);
    cr_assert_eq(c.times, 1);
    cr_assert_eq(c.fd, -1);
    cr_assert_neq(c.err, 0);
    cr_assert_eq(descriptors(), open);
    loop_destroy(l);
    TEST_NO_LEAKS();
}

Test(net, a_dialer_kept_after_its_call_owns_no_connection_any_more)
{
    struct door d;
    struct call c;
    open_door(&d, "127.0.0.1:0");
    dial(&c, d.loop, net_listener_addr(d.listener), LONG_WAIT);
    c.destroy_in_done = false;
    wait_for(d.loop, &c.times, 1);
    net_dialer_destroy(c.dialer);
    cr_assert_neq(fcntl(c.fd, F_GETFD), -1, "the callee has it");
    close(c.fd);
    close_door(&d);
    TEST_NO_LEAKS();
}

Test(net, a_name_that_nobody_knows_is_unreachable_or_takes_too_long)
{
    struct loop *l;
    struct call c;
    cr_assert_eq(loop_create(&l), 0);
    dial(&c, l, "no-such-host.invalid:80", 200 * CLOCK_NS_PER_MS);
    wait_for(l, &c.times, 1);
    cr_assert(c.err == EHOSTUNREACH || c.err == ETIMEDOUT, "%s", strerror(c.err));
    loop_destroy(l);
    TEST_NO_LEAKS();
}

Test(net, a_dialer_destroyed_while_its_name_is_looked_up_leaves_nothing)
{
    struct loop *l;
    struct call c;
    cr_assert_eq(loop_create(&l), 0);
    dial(&c, l, "no-such-host.invalid:80", LONG_WAIT);
    net_dialer_destroy(c.dialer);
    loop_turn(l, 0);
    dial(&c, l, "no-such-host.invalid:80", LONG_WAIT);
    loop_turn(l, 0);
    if (c.dialer)
        net_dialer_destroy(c.dialer);
    loop_destroy(l);
    TEST_NO_LEAKS();
}
