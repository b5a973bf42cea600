/* tests/gateway/test_gateway.c: a whole gateway on a loop, with real sockets on loopback. */
#include "gateway/gateway.h"

#include "common/clock.h"
#include "common/err.h"
#include "common/io/net.h"
#include "proto/frame.h"
#include "proto/link.h"
#include "tests/gateway/fake.h"
#include "tests/leak.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define TURN_NS   (20 * CLOCK_NS_PER_MS)
#define TURNS_MAX 500 /* 10 s: what has not happened by then does not happen */

static struct loop *loop;
static struct gateway *gateway;
static struct gateway_config config;
static struct opts *opts;
static int world_listener = -1;
static char upstream[64];

/* A socket that listens on a port of the kernel's choice, or is connected to `port`. */
static int tcp(uint16_t port)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port)};
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    cr_assert_geq(fd, 0);
    if (port == 0) {
        cr_assert_eq(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
        cr_assert_eq(listen(fd, 64), 0);
    } else {
        cr_assert_eq(connect(fd, (struct sockaddr *)&at, sizeof(at)), 0);
    }
    return fd;
}

static uint16_t port_of(const char *addr)
{
    return (uint16_t)strtoul(strrchr(addr, ':') + 1, NULL, 10);
}

static int connect_client(void)
{
    const int fd = tcp(port_of(gateway_addr(gateway)));
    fcntl(fd, F_SETFL, O_NONBLOCK);
    return fd;
}

static void start(const char *flag)
{
    struct sockaddr_in at;
    socklen_t at_bytes = sizeof(at);
    char why[256];
    char *argv[] = {(char *)"aegis", (char *)"-listen=127.0.0.1:0", upstream, (char *)flag, NULL};

    fake_quiet();
    world_listener = tcp(0);
    fcntl(world_listener, F_SETFL, O_NONBLOCK);
    getsockname(world_listener, (struct sockaddr *)&at, &at_bytes);
    snprintf(upstream, sizeof(upstream), "-upstream=127.0.0.1:%u", ntohs(at.sin_port));
    cr_assert_eq(opts_parse(gateway_opts, gateway_opts_n, &config, flag ? 4 : 3, argv, &opts, why,
                            sizeof(why)),
                 OPTS_OK, "%s", why);
    cr_assert_eq(loop_create(&loop), 0);
    cr_assert_eq(gateway_create(loop, &config, &gateway, why, sizeof(why)), 0, "%s", why);
}

static void stop(void)
{
    gateway_destroy(gateway);
    loop_turn(loop, 0);
    loop_destroy(loop);
    opts_destroy(opts);
    close(world_listener);
}

/* Turn until `fd` has `want` bytes or its end; returns how many it got. */
static size_t read_all(int fd, uint8_t *to, size_t want)
{
    size_t n = 0;

    for (int i = 0; i < TURNS_MAX && n < want; i++) {
        const ssize_t r = recv(fd, to + n, want - n, MSG_DONTWAIT);
        if (r == 0)
            break;
        if (r > 0)
            n += (size_t)r;
        else
            loop_turn(loop, TURN_NS);
    }
    return n;
}

/* The next body that came; its length, 0 at the end. */
static size_t read_body(int fd, uint8_t *to, size_t cap)
{
    uint8_t head[FRAME_HEAD];

    if (read_all(fd, head, FRAME_HEAD) < FRAME_HEAD)
        return 0;
    const size_t n = span_be32(head);
    cr_assert_leq(n, cap);
    cr_assert_eq(read_all(fd, to, n), n);
    return n;
}

static void expect_bye(int fd, uint32_t code)
{
    uint8_t body[512];
    struct message m;
    struct message_reader *r;

    cr_assert_eq(message_reader_create(sizeof(body), &r), 0);
    const size_t n = read_body(fd, body, sizeof(body));
    cr_assert_eq(message_read(r, span_of(body, n), &m), 0);
    cr_assert_eq(m.cmd, CMD_BYE);
    cr_assert_eq(m.bye.code, code);
    message_reader_destroy(r);
    cr_assert_eq(read_body(fd, body, sizeof(body)), 0, "the last frame");
}

/* The gateway's link, after both hellos. */
static int world_accept(void)
{
    uint8_t bytes[256];
    struct link_frame f;
    struct span_writer w = span_writer_of(bytes, sizeof(bytes));
    int fd = -1;

    for (int i = 0; i < TURNS_MAX && fd < 0; i++) {
        loop_turn(loop, TURN_NS);
        fd = accept(world_listener, NULL, NULL);
    }
    cr_assert_geq(fd, 0);
    cr_assert_eq(link_read(span_of(bytes, read_body(fd, bytes, sizeof(bytes))), &f), 0);
    cr_assert_eq(f.kind, LINK_HELLO);
    link_write_hello(&w, span_text("w"), (struct span){0});
    cr_assert_eq(send(fd, bytes, w.len, 0), (ssize_t)w.len);
    while (gateway_metrics_now(gateway)->link_ready == 0)
        loop_turn(loop, TURN_NS);
    return fd;
}

static void turn_until(const uint64_t *metric, uint64_t at_least)
{
    for (int i = 0; i < TURNS_MAX && *metric < at_least; i++) {
        loop_turn(loop, TURN_NS);
        gateway_metrics_now(gateway);
    }
    cr_assert_geq(*metric, at_least);
}

Test(gateway, a_request_goes_to_the_world_and_its_answer_comes_back)
{
    uint8_t frame[256], bytes[256];
    struct link_frame f;

    start(NULL);
    const int world = world_accept();
    const int client = connect_client();
    const size_t n = fake_request(frame, 0, sizeof(frame), CMD_LOGIN_REQ, 1);
    cr_assert_eq(send(client, frame, n, 0), (ssize_t)n);
    cr_assert_eq(link_read(span_of(bytes, read_body(world, bytes, sizeof(bytes))), &f), 0);
    cr_assert_eq(f.kind, LINK_OPEN);
    const uint64_t session = f.session;
    cr_assert_eq(link_read(span_of(bytes, read_body(world, bytes, sizeof(bytes))), &f), 0);
    cr_assert_eq(f.kind, LINK_DATA);
    cr_assert(span_equal(f.bodies[0], span_of(frame + FRAME_HEAD, n - FRAME_HEAD)));

    const struct span answer = span_text("\x93\x02\x01\x80");
    struct span_writer w = span_writer_of(bytes, sizeof(bytes));
    link_write_data(&w, session, &answer, 1);
    cr_assert_eq(send(world, bytes, w.len, 0), (ssize_t)w.len);
    cr_assert_eq(read_body(client, frame, sizeof(frame)), answer.n);
    cr_assert_eq(memcmp(frame, answer.p, answer.n), 0);

    close(client);
    cr_assert_eq(link_read(span_of(bytes, read_body(world, bytes, sizeof(bytes))), &f), 0);
    cr_assert_eq(f.kind, LINK_CLOSE);
    cr_assert_eq(f.session, session);
    close(world);
    stop();
    TEST_NO_LEAKS();
}

Test(gateway, a_bye_is_read_by_one_that_is_still_sending) /* PROTOCOL.md, Framing */
{
    uint8_t junk[65536];

    start(NULL);
    const int client = connect_client();
    memset(junk, 0xff, sizeof(junk));
    for (int i = 0; i < 32; i++) {
        if (send(client, junk, sizeof(junk), MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
            loop_turn(loop, TURN_NS);
    }
    expect_bye(client, PE_BAD_FRAME);
    close(client);
    stop();
}

Test(gateway, one_too_many_reads_its_bye)
{
    start("-max-clients=1");
    const int first = connect_client();
    turn_until(&gateway_metrics_now(gateway)->accepted, 1);
    const int second = connect_client();
    expect_bye(second, PE_UNAVAILABLE);
    cr_assert_eq(gateway_metrics_now(gateway)->refused_full, 1);
    cr_assert_eq(gateway_metrics_now(gateway)->clients, 1);
    close(first);
    close(second);
    stop();
}

Test(gateway, without_descriptors_accepting_pauses_and_goes_on_by_itself) /* CASES D05 */
{
    struct rlimit limit;
    int clients[8];

    start(NULL);
    for (int i = 0; i < 8; i++)
        clients[i] = connect_client();
    const int spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
    cr_assert_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    const rlim_t before = limit.rlim_cur;
    limit.rlim_cur = (rlim_t)spare + 3; /* room for two or three */
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    const struct gateway_metrics *m = gateway_metrics_now(gateway);
    turn_until(&m->accept_pauses, 1);
    cr_assert_lt(m->accepted, 8);

    limit.rlim_cur = before;
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    turn_until(&m->accepted, 8);
    close(spare);
    for (int i = 0; i < 8; i++)
        close(clients[i]);
    stop();
}

Test(gateway, a_drain_says_17_to_all_and_ends_the_link_last) /* CASES F01 */
{
    uint8_t frame[256], bytes[256];
    struct link_frame f;
    const int clients = 3;
    int fd[3];

    start(NULL);
    const int world = world_accept();
    for (int i = 0; i < clients; i++) {
        const size_t n = fake_request(frame, 0, sizeof(frame), CMD_LOGIN_REQ, 1);
        fd[i] = connect_client();
        cr_assert_eq(send(fd[i], frame, n, 0), (ssize_t)n);
    }
    turn_until(&gateway_metrics_now(gateway)->sessions, 3);
    gateway_drain(gateway);
    for (int i = 0; i < clients; i++) {
        expect_bye(fd[i], PE_SHUTTING_DOWN);
        close(fd[i]);
    }
    int closes = 0;
    for (size_t n; (n = read_body(world, bytes, sizeof(bytes))) > 0;) {
        cr_assert_eq(link_read(span_of(bytes, n), &f), 0);
        closes += f.kind == LINK_CLOSE;
    }
    cr_assert_eq(closes, 3, "the world hears of each end before the link's");
    close(world);
    for (int i = 0; i < TURNS_MAX && !loop_stopped(loop); i++)
        loop_turn(loop, TURN_NS);
    cr_assert(loop_stopped(loop));
    stop();
    TEST_NO_LEAKS();
}

Test(gateway, a_drain_ends_by_its_deadline_whoever_is_deaf)
{
    start("-drain-timeout=200ms");
    const int client = connect_client();
    turn_until(&gateway_metrics_now(gateway)->clients, 1);
    const struct mono from = clock_mono();
    gateway_drain(gateway);
    while (!loop_stopped(loop))
        loop_turn(loop, TURN_NS);
    cr_assert_lt(clock_since(clock_mono(), from), CLOCK_NS_PER_S);
    close(client);
    stop();
    TEST_NO_LEAKS();
}

Test(gateway, a_port_in_use_is_named_with_its_flag) /* CASES F02 */
{
    struct gateway *second = NULL;
    struct gateway_config same;
    char why[256];

    start(NULL);
    same = config;
    same.listen = gateway_addr(gateway);
    cr_assert_eq(gateway_create(loop, &same, &second, why, sizeof(why)), E_IO);
    cr_assert(strstr(why, "-listen: "), "%s", why);
    cr_assert(strstr(why, same.listen), "%s", why);
    stop();
    TEST_NO_LEAKS();
}
