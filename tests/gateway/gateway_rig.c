/* tests/gateway/gateway_rig.c: see the header. */
#include "tests/gateway/gateway_rig.h"

#include "proto/frame.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define ARGS_MAX     16
#define MESSAGE_MAX  65536
#define UPSTREAM_MAX 64

struct gateway_rig rig;

/* A socket that listens on a port of the kernel's choice, or is connected to `port`. */
static int tcp(uint16_t port, int rcvbuf)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port)};
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    cr_assert_geq(fd, 0);
    if (rcvbuf != 0)
        cr_assert_eq(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &rcvbuf, sizeof(rcvbuf)), 0);
    if (port == 0) {
        cr_assert_eq(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
        cr_assert_eq(listen(fd, 64), 0);
    } else {
        cr_assert_eq(connect(fd, (struct sockaddr *)&at, sizeof(at)), 0);
    }
    return fd;
}

void rig_start(const char *flag, ...)
{
    static char upstream[UPSTREAM_MAX];
    char *argv[ARGS_MAX] = {(char *)"aegis", (char *)"-listen=127.0.0.1:0", upstream};
    int argc = 3;
    struct sockaddr_in at;
    socklen_t at_bytes = sizeof(at);
    char why[256];
    va_list flags;

    va_start(flags, flag);
    for (; flag; flag = va_arg(flags, const char *)) {
        cr_assert_lt(argc, ARGS_MAX - 1);
        argv[argc++] = (char *)flag;
    }
    va_end(flags);
    fake_quiet();
    rig.world_listener = tcp(0, 0);
    fcntl(rig.world_listener, F_SETFL, O_NONBLOCK);
    getsockname(rig.world_listener, (struct sockaddr *)&at, &at_bytes);
    snprintf(upstream, sizeof(upstream), "-upstream=127.0.0.1:%u", ntohs(at.sin_port));
    cr_assert_eq(opts_parse(gateway_opts, gateway_opts_n, &rig.config, argc, argv, &rig.opts, why,
                            sizeof(why)),
                 OPTS_OK, "%s", why);
    cr_assert_eq(gateway_opts_check(&rig.config, why, sizeof(why)), 0, "%s", why);
    cr_assert_eq(loop_create(&rig.loop), 0);
    cr_assert_eq(crew_create(rig.loop, &rig.config, &rig.crew, why, sizeof(why)), 0, "%s", why);
}

void rig_stop(void)
{
    crew_destroy(rig.crew);
    loop_turn(rig.loop, 0);
    loop_destroy(rig.loop);
    opts_destroy(rig.opts);
    close(rig.world_listener);
}

const struct gateway_metrics *rig_metrics(void)
{
    return crew_metrics(rig.crew);
}

void rig_until(const uint64_t *metric, uint64_t at_least)
{
    for (int i = 0; i < RIG_TURNS_MAX && *metric < at_least; i++) {
        loop_turn(rig.loop, RIG_TURN_NS);
        (void)rig_metrics();
    }
    cr_assert_geq(*metric, at_least);
}

/* --- clients ------------------------------------------------------------------------------- */

int rig_connect_narrow(int rcvbuf)
{
    const char *port = strrchr(crew_addr(rig.crew), ':') + 1;
    const int fd = tcp((uint16_t)strtoul(port, NULL, 10), rcvbuf);

    fcntl(fd, F_SETFL, O_NONBLOCK);
    return fd;
}

int rig_connect(void)
{
    return rig_connect_narrow(0);
}

void rig_send(int fd, const void *bytes, size_t n)
{
    cr_assert_eq(send(fd, bytes, n, MSG_NOSIGNAL), (ssize_t)n);
}

void rig_send_request(int fd, uint32_t cmd, uint32_t seq)
{
    uint8_t frame[256];

    rig_send(fd, frame, fake_request(frame, 0, sizeof(frame), cmd, seq));
}

size_t rig_read(int fd, uint8_t *to, size_t want)
{
    size_t n = 0;

    for (int i = 0; i < RIG_TURNS_MAX && n < want; i++) {
        const ssize_t r = recv(fd, to + n, want - n, MSG_DONTWAIT);
        if (r == 0)
            break;
        if (r > 0)
            n += (size_t)r;
        else
            loop_turn(rig.loop, RIG_TURN_NS);
    }
    return n;
}

size_t rig_read_body(int fd, uint8_t *to, size_t cap)
{
    uint8_t head[FRAME_HEAD];

    if (rig_read(fd, head, FRAME_HEAD) < FRAME_HEAD)
        return 0;
    const size_t n = span_be32(head);
    cr_assert_leq(n, cap);
    cr_assert_eq(rig_read(fd, to, n), n);
    return n;
}

const struct message *rig_read_message(int fd, uint32_t cmd)
{
    static uint8_t body[MESSAGE_MAX];
    static struct message m;
    static struct message_reader *reader;

    for (;;) {
        const size_t n = rig_read_body(fd, body, sizeof(body));
        cr_assert_gt(n, 0, "closed before a message of command %u", cmd);
        message_reader_destroy(reader);
        reader = NULL;
        cr_assert_eq(message_reader_create(sizeof(body), &reader), 0);
        cr_assert_eq(message_read(reader, span_of(body, n), &m), 0);
        if (m.cmd == cmd)
            return &m;
    }
}

void rig_expect_bye(int fd, uint32_t code)
{
    uint8_t body[512];
    struct message m;
    struct message_reader *r;

    cr_assert_eq(message_reader_create(sizeof(body), &r), 0);
    const size_t n = rig_read_body(fd, body, sizeof(body));
    cr_assert_eq(message_read(r, span_of(body, n), &m), 0);
    cr_assert_eq(m.cmd, CMD_BYE);
    cr_assert_eq(m.bye.code, code);
    message_reader_destroy(r);
    cr_assert_eq(rig_read_body(fd, body, sizeof(body)), 0, "the last frame");
}

/* --- the world's end ------------------------------------------------------------------------- */

void rig_world_read(int world, uint8_t *bytes, size_t cap, struct link_frame *f)
{
    const size_t n = rig_read_body(world, bytes, cap);

    cr_assert_gt(n, 0, "the link ended");
    cr_assert_eq(link_read(span_of(bytes, n), f), 0);
}

int rig_world_accept(void)
{
    uint8_t bytes[256];
    struct link_frame f;
    struct span_writer w = span_writer_of(bytes, sizeof(bytes));
    const uint64_t ups = rig_metrics()->link_ups;
    int fd = -1;

    for (int i = 0; i < RIG_TURNS_MAX && fd < 0; i++) {
        loop_turn(rig.loop, RIG_TURN_NS);
        fd = accept(rig.world_listener, NULL, NULL);
    }
    cr_assert_geq(fd, 0);
    rig_world_read(fd, bytes, sizeof(bytes), &f);
    cr_assert_eq(f.kind, LINK_HELLO);
    link_write_hello(&w, span_text("w"), (struct span){0});
    rig_send(fd, bytes, w.len);
    rig_until(&rig_metrics()->link_ups, ups + 1);
    return fd;
}
