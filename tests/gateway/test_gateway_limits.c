/* tests/gateway/test_gateway_limits.c: each limit of a whole gateway, driven full over real
 * sockets, and the metric that tells of it. PROTOCOL.md, Errors; DESIGN.md, "Limits that really
 * fire".
 */
#include "common/io/loop.h"
#include "common/log.h"
#include "proto/frame.h"
#include "tests/gateway/gateway_rig.h"
#include "tests/leak.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define BODY_BYTES 1000
#define NARROW     4096 /* a receive buffer */
#define FLOOD_STEP 65536

static void stop(void)
{
    rig_stop();
    TEST_NO_LEAKS();
}

/* --- requests ------------------------------------------------------------------------------ */

static void send_pings(int fd, uint32_t n)
{
    uint8_t frames[8192];
    size_t len = 0;

    for (uint32_t i = 1; i <= n; i++)
        len = fake_request(frames, len, sizeof(frames), CMD_PING_REQ, i);
    rig_send(fd, frames, len);
}

Test(gateway_limits, rate)
{
    rig_start("-rate=1", "-rate-burst=5", NULL);
    const int fd = rig_connect();
    send_pings(fd, 10);
    rig_until(&rig_metrics()->refused_rate, 4); /* a token may have come meanwhile */
    cr_assert_leq(rig_metrics()->pings, 6);
    cr_assert_eq(rig_read_message(fd, CMD_ERROR_NOTIFY)->error_notify.code, PE_RATE_LIMITED);
    close(fd);
    stop();
}

Test(gateway_limits, refusals_in_ten_seconds)
{
    rig_start("-rate=1", "-rate-burst=1", NULL);
    const int fd = rig_connect();
    send_pings(fd, 300);
    rig_until(&rig_metrics()->closed_rate, 1);
    cr_assert_leq(rig_metrics()->refused_rate, 201);
    cr_assert_eq(rig_read_message(fd, CMD_BYE)->bye.code, PE_RATE_LIMITED);
    close(fd);
    stop();
}

Test(gateway_limits, max_frame)
{
    const uint8_t head[FRAME_HEAD] = {0, 0, 0, 65};

    rig_start("-max-frame=64", NULL);
    const int fd = rig_connect();
    rig_send(fd, head, sizeof(head));
    rig_expect_bye(fd, PE_BAD_FRAME);
    cr_assert_eq(rig_metrics()->closed_length, 1);
    close(fd);
    stop();
}

/* --- deadlines ----------------------------------------------------------------------------- */

Test(gateway_limits, idle_timeout)
{
    rig_start("-idle-timeout=100ms", "-login-timeout=0", NULL);
    const int fd = rig_connect();
    rig_expect_bye(fd, PE_IDLE);
    cr_assert_eq(rig_metrics()->closed_idle, 1);
    close(fd);
    stop();
}

Test(gateway_limits, login_timeout)
{
    rig_start("-login-timeout=100ms", NULL);
    const int world = rig_world_accept();
    const int fd = rig_connect();
    rig_expect_bye(fd, PE_IDLE);
    cr_assert_eq(rig_metrics()->closed_login, 1);
    close(fd);
    close(world);
    stop();
}

Test(gateway_limits, frame_timeout)
{
    rig_start("-frame-timeout=100ms", NULL);
    const int fd = rig_connect();
    rig_send(fd, "\0\0\0", 3);
    rig_expect_bye(fd, PE_IDLE);
    cr_assert_eq(rig_metrics()->closed_frame, 1);
    close(fd);
    stop();
}

/* --- connections --------------------------------------------------------------------------- */

Test(gateway_limits, max_clients_and_those_refused)
{
    static int fd[1 + CLIENTS_REFUSED_MAX + 1];
    uint8_t byte;

    rig_start("-max-clients=1", "-linger=60s", NULL);
    for (size_t i = 0; i < ARRAY_LEN(fd); i++) {
        fd[i] = rig_connect();
        loop_turn(rig.loop, 0);
    }
    rig_until(&rig_metrics()->refused_busy, 1);
    cr_assert_eq(rig_metrics()->accepted, 1);
    cr_assert_eq(rig_metrics()->refused_full, CLIENTS_REFUSED_MAX);
    rig_expect_bye(fd[1], PE_UNAVAILABLE);
    cr_assert(span_equal(rig_read_message(fd[2], CMD_BYE)->bye.reason,
                         span_text("the gateway is full: connections")));
    cr_assert_eq(rig_read(fd[ARRAY_LEN(fd) - 1], &byte, 1), 0, "closed without a word");
    rig_send_request(fd[0], CMD_PING_REQ, 1);
    cr_assert_eq(rig_read_message(fd[0], CMD_PING_RESP)->seq, 1, "nobody else notices");
    for (size_t i = 0; i < ARRAY_LEN(fd); i++)
        close(fd[i]);
    stop();
}

/* Another process that connects so many clients and holds them until its pipe is closed, so that
 * this one's descriptors are the gateway's alone. */
struct holder {
    int pipe;
    pid_t pid;
};

static void hold(int pipe, int clients)
{
    char addr[64] = "";

    if (read(pipe, addr, sizeof(addr) - 1) <= 0)
        _exit(1);
    for (int i = 0; i < clients; i++) {
        struct sockaddr_in at = {.sin_family = AF_INET};
        const int fd = socket(AF_INET, SOCK_STREAM, 0);
        at.sin_port = htons((uint16_t)strtoul(strrchr(addr, ':') + 1, NULL, 10));
        at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        if (fd < 0 || connect(fd, (struct sockaddr *)&at, sizeof(at)) != 0)
            _exit(1);
    }
    _exit(read(pipe, addr, 1) != 0);
}

static struct holder holder_start(int clients)
{
    int ends[2];

    cr_assert_eq(pipe(ends), 0);
    const struct holder h = {.pipe = ends[1], .pid = fork()};
    cr_assert_geq(h.pid, 0);
    if (h.pid == 0) {
        close(ends[1]);
        hold(ends[0], clients);
    }
    close(ends[0]);
    return h;
}

static void holder_end(struct holder *h)
{
    int status;

    close(h->pipe);
    cr_assert_eq(waitpid(h->pid, &status, 0), h->pid);
    cr_assert_eq(status, 0);
}

Test(gateway_limits, descriptors) /* CASES D05 */
{
    struct holder h = holder_start(150);
    const struct rlimit few = {.rlim_cur = 64, .rlim_max = 128};
    uint8_t bytes[512];
    struct link_frame f;

    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
    rig_start("-link-timeout=1s", NULL);
    cr_assert_eq(rig_metrics()->descriptors_max, 128, "raised as far as it goes");
    int world = rig_world_accept();
    const int first = rig_connect();
    rig_until(&rig_metrics()->accepted, 1);
    cr_assert_gt(write(h.pipe, crew_addr(rig.crew), strlen(crew_addr(rig.crew))), 0);
    rig_until(&rig_metrics()->accept_pauses, 1);
    cr_assert_eq(rig_metrics()->accepting, 0);
    cr_assert_eq(rig_metrics()->accepted, 96, "the rest is for link and operators");
    cr_assert_str_eq(crew_unready(rig.crew), "out of descriptors");

    rig_send_request(first, CMD_PING_REQ, 1);
    cr_assert_eq(rig_read_message(first, CMD_PING_RESP)->seq, 1, "who is there is served");
    close(world);
    rig_until(&rig_metrics()->link_losses, 1);
    world = rig_world_accept(); /* the link comes back among all of them */
    rig_send_request(first, CMD_LOGIN_REQ, 2);
    rig_world_read(world, bytes, sizeof(bytes), &f);
    cr_assert_eq(f.kind, LINK_OPEN);

    holder_end(&h);
    rig_until(&rig_metrics()->accepted, 151);
    rig_until(&rig_metrics()->accepting, 1);
    close(first);
    close(world);
    stop();
}

/* --- queues -------------------------------------------------------------------------------- */

struct deaf {
    int world, fd;
    uint64_t session;
    uint64_t sent; /* bytes of bodies to the client */
};

/* A client that has asked once and reads nothing, and its session. */
static void deaf_connect(struct deaf *d)
{
    uint8_t bytes[512];
    struct link_frame f;

    *d = (struct deaf){.world = rig_world_accept(), .fd = rig_connect_narrow(NARROW)};
    rig_send_request(d->fd, CMD_LOGIN_REQ, 1);
    rig_world_read(d->world, bytes, sizeof(bytes), &f);
    cr_assert_eq(f.kind, LINK_OPEN);
    d->session = f.session;
    rig_world_read(d->world, bytes, sizeof(bytes), &f);
    cr_assert_eq(f.kind, LINK_DATA);
}

/* Send to it until the counter rises. */
static void deaf_fill(struct deaf *d, const uint64_t *metric)
{
    static const uint8_t body[BODY_BYTES] = {
        0x93, CMD_PING_RESP, 1, 0xc5, (BODY_BYTES - 6) >> 8, (BODY_BYTES - 6) & 0xff,
    };
    static uint8_t bytes[BODY_BYTES + LINK_DATA_OVERHEAD];
    const struct span one = span_of(body, sizeof(body));

    while (*metric == 0) {
        struct span_writer w = span_writer_of(bytes, sizeof(bytes));
        link_write_data(&w, d->session, &one, 1);
        rig_send(d->world, bytes, w.len);
        d->sent += sizeof(body);
        cr_assert_lt(d->sent, 64u << 20, "no limit fires");
        loop_turn(rig.loop, 0);
        (void)rig_metrics();
    }
}

static void deaf_close(struct deaf *d)
{
    close(d->fd);
    close(d->world);
    stop();
}

static void expect_congestion(struct deaf *d, bool on)
{
    uint8_t bytes[512];
    struct link_frame f;

    rig_world_read(d->world, bytes, sizeof(bytes), &f);
    cr_assert_eq(f.kind, LINK_CONGESTION);
    cr_assert_eq(f.session, d->session);
    cr_assert_eq(f.on, on);
}

Test(gateway_limits, queue_soft)
{
    struct deaf d;
    uint8_t byte;

    rig_start("-queue-soft=8KiB", "-sndbuf=8KiB", NULL);
    deaf_connect(&d);
    deaf_fill(&d, &rig_metrics()->congestion_on);
    expect_congestion(&d, true);
    cr_assert_eq(rig_metrics()->clients_slow, 1);
    cr_assert_gt(rig_metrics()->queue_bytes, 8192);
    cr_assert_eq(rig_metrics()->queue_bytes, rig_metrics()->queue_most_bytes);
    while (rig_metrics()->congestion_off == 0)
        cr_assert_eq(rig_read(d.fd, &byte, 1), 1);
    expect_congestion(&d, false);
    cr_assert_eq(rig_metrics()->clients_slow, 0);
    deaf_close(&d);
}

/* Without it the kernel would take megabytes before the first short write. */
Test(gateway_limits, sndbuf)
{
    struct deaf d;

    rig_start("-queue-soft=8KiB", "-sndbuf=8KiB", NULL);
    deaf_connect(&d);
    deaf_fill(&d, &rig_metrics()->congestion_on);
    cr_assert_lt(d.sent, 128u << 10);
    deaf_close(&d);
}

Test(gateway_limits, queue_hard)
{
    struct deaf d;

    rig_start("-queue-soft=8KiB", "-queue-hard=64KiB", "-sndbuf=8KiB", "-linger=10s", NULL);
    deaf_connect(&d);
    deaf_fill(&d, &rig_metrics()->closed_queue);
    cr_assert_eq(rig_metrics()->byes_sent, 1);
    cr_assert_leq(rig_metrics()->queue_bytes, (64u << 10) + 1024);
    cr_assert_eq(rig_metrics()->sessions, 0);
    cr_assert_eq(rig_read_message(d.fd, CMD_BYE)->bye.code, PE_SLOW);
    deaf_close(&d);
}

Test(gateway_limits, slow_timeout)
{
    struct deaf d;

    rig_start("-queue-soft=8KiB", "-slow-timeout=100ms", "-sndbuf=8KiB", NULL);
    deaf_connect(&d);
    deaf_fill(&d, &rig_metrics()->congestion_on);
    rig_until(&rig_metrics()->closed_slow, 1);
    cr_assert_eq(rig_metrics()->closed_queue, 0);
    deaf_close(&d);
}

Test(gateway_limits, linger)
{
    struct deaf d;

    rig_start("-queue-soft=8KiB", "-queue-hard=64KiB", "-sndbuf=8KiB", "-linger=50ms", NULL);
    deaf_connect(&d);
    deaf_fill(&d, &rig_metrics()->closed_queue);
    rig_until(&rig_metrics()->byes_unread, 1);
    loop_turn(rig.loop, 0);
    cr_assert_eq(rig_metrics()->queue_bytes, 0, "nothing is kept for it");
    deaf_close(&d);
}

/* --- fair reading -------------------------------------------------------------------------- */

/* As much as the kernel takes of frames without end. Returns bytes. */
static size_t flood(int fd, size_t *at)
{
    static uint8_t frames[FLOOD_STEP];
    static size_t len;
    size_t sent = 0;

    while (len + 64 < sizeof(frames))
        len = fake_request(frames, len, sizeof(frames), CMD_PING_REQ, 1);
    for (;;) {
        const ssize_t n = send(fd, frames + *at, len - *at, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n < 0)
            return sent;
        sent += (size_t)n;
        *at = (*at + (size_t)n) % len;
    }
}

/* The flood's answers must go, or it is its queue that ends it. */
static void drop_answers(int fd)
{
    static uint8_t trash[1 << 20];

    while (recv(fd, trash, sizeof(trash), MSG_DONTWAIT) > 0)
        continue;
}

Test(gateway_limits, a_client_that_sends_without_end_starves_nobody)
{
    size_t at = 0;
    uint8_t pong[64];

    rig_start("-rate=0", NULL);
    const int loud = rig_connect(), quiet = rig_connect();
    rig_until(&rig_metrics()->clients, 2);
    for (uint32_t i = 1; i <= 50; i++) {
        const uint64_t before = rig_metrics()->bytes_in;
        (void)flood(loud, &at);
        drop_answers(loud);
        rig_send_request(quiet, CMD_PING_REQ, i);
        loop_turn(rig.loop, RIG_TURN_NS);
        cr_assert_leq(rig_metrics()->bytes_in - before, 65536u + 64u, "one read a turn");
        const ssize_t n = recv(quiet, pong, sizeof(pong), MSG_DONTWAIT);
        cr_assert_gt(n, 0, "answered in the turn that it was heard in");
    }
    cr_assert_gt(rig_metrics()->bytes_in, 1u << 20, "the other is served too");
    close(loud);
    close(quiet);
    stop();
}

Test(gateway_limits, a_flood_past_the_rate_is_over_with_its_first_read)
{
    size_t at = 0;

    rig_start(NULL);
    const int loud = rig_connect();
    rig_until(&rig_metrics()->clients, 1);
    (void)flood(loud, &at);
    loop_turn(rig.loop, RIG_TURN_NS);
    cr_assert_eq(rig_metrics()->closed_rate, 1);
    cr_assert_leq(rig_metrics()->frames_in, 400);
    cr_assert_leq(rig_metrics()->frames_out, 400);
    close(loud);
    stop();
}

/* --- the link ------------------------------------------------------------------------------ */

/* Large requests from `fd` until the counter rises; returns how many were sent whole. */
static uint64_t fill_link(int fd, const uint64_t *metric)
{
    static uint8_t frame[FRAME_HEAD + 16384];
    static const uint8_t head[] = {0x93, CMD_SAY_REQ, 1, 0xc5, 0x3f, 0xfa};
    uint64_t frames = 0;
    size_t at = 0;

    frame_head(frame, 16384);
    memcpy(frame + FRAME_HEAD, head, sizeof(head));
    while (*metric == 0 || at > 0) {
        const ssize_t n = send(fd, frame + at, sizeof(frame) - at, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n > 0)
            at += (size_t)n;
        if (n < 0 && *metric > 0)
            break;
        if (at == sizeof(frame)) {
            at = 0;
            frames++;
        }
        cr_assert_lt(frames, 8192, "no limit fires");
        loop_turn(rig.loop, 0);
        (void)rig_metrics();
    }
    return frames;
}

Test(gateway_limits, link_queue_soft)
{
    const int narrow = NARROW;
    static uint8_t bytes[LINK_FRAME_MAX];

    rig_start("-rate=0", "-link-queue-soft=64KiB", NULL);
    setsockopt(rig.world_listener, SOL_SOCKET, SO_RCVBUF, &narrow, sizeof(narrow));
    const int world = rig_world_accept();
    const int fd = rig_connect();
    const uint64_t sent = fill_link(fd, &rig_metrics()->link_pauses);
    cr_assert_eq(rig_metrics()->reading_paused, 1);
    cr_assert_leq(rig_metrics()->link_queue_bytes, (64u << 10) + 2u * FLOOD_STEP);
    const uint64_t read = rig_metrics()->frames_in;
    for (int i = 0; i < 10; i++)
        loop_turn(rig.loop, 0);
    cr_assert_eq(rig_metrics()->frames_in, read, "nobody is read");

    uint64_t bodies = 0;
    while (bodies < sent) {
        struct link_frame f;
        rig_world_read(world, bytes, sizeof(bytes), &f);
        bodies += f.kind == LINK_DATA ? f.n_bodies : 0;
    }
    cr_assert_eq(rig_metrics()->reading_paused, 0);
    cr_assert_eq(rig_metrics()->down_queue, 0);
    close(fd);
    close(world);
    stop();
}

Test(gateway_limits, link_queue_hard)
{
    const int narrow = NARROW;
    int fd[8];
    size_t at[8] = {0};

    rig_start("-rate=0", "-link-queue-soft=64KiB", "-link-queue-hard=64KiB", NULL);
    setsockopt(rig.world_listener, SOL_SOCKET, SO_RCVBUF, &narrow, sizeof(narrow));
    const int world = rig_world_accept();
    for (size_t i = 0; i < ARRAY_LEN(fd); i++)
        fd[i] = rig_connect();
    rig_until(&rig_metrics()->clients, ARRAY_LEN(fd));
    /* Several at once pass the limit within one turn, before reading can pause. */
    static uint8_t frame[FRAME_HEAD + 16384];
    static const uint8_t head[] = {0x93, CMD_SAY_REQ, 1, 0xc5, 0x3f, 0xfa};
    frame_head(frame, 16384);
    memcpy(frame + FRAME_HEAD, head, sizeof(head));
    for (int turn = 0; turn < 4096 && rig_metrics()->down_queue == 0; turn++) {
        for (size_t i = 0; i < ARRAY_LEN(fd); i++) {
            ssize_t n;
            while ((n = send(fd[i], frame + at[i], sizeof(frame) - at[i],
                             MSG_DONTWAIT | MSG_NOSIGNAL)) > 0)
                at[i] = (at[i] + (size_t)n) % sizeof(frame);
        }
        loop_turn(rig.loop, RIG_TURN_NS);
    }
    cr_assert_eq(rig_metrics()->down_queue, 1);
    cr_assert_eq(rig_metrics()->link_losses, 1);
    const struct message *m = rig_read_message(fd[0], CMD_ERROR_NOTIFY);
    cr_assert_eq(m->error_notify.code, PE_UNAVAILABLE);
    for (size_t i = 0; i < ARRAY_LEN(fd); i++)
        close(fd[i]);
    close(world);
    stop();
}

Test(gateway_limits, link_timeout)
{
    rig_start("-link-timeout=100ms", NULL);
    const int world = rig_world_accept();
    const int fd = rig_connect();
    rig_until(&rig_metrics()->down_silent, 1);
    cr_assert_eq(rig_metrics()->link_losses, 1);
    cr_assert_eq(rig_metrics()->link_ready, 0);
    const struct message *m = rig_read_message(fd, CMD_ERROR_NOTIFY);
    cr_assert_eq(m->seq, 0);
    cr_assert_eq(m->error_notify.code, PE_UNAVAILABLE);
    cr_assert_geq(rig_metrics()->told_unavailable, 1);
    close(fd);
    close(world);
    stop();
}

/* --- the log ------------------------------------------------------------------------------- */

#define LINES_BYTES (1 << 20)

/* What the log gets meanwhile; `before` is the descriptor that it went to. */
static int log_capture(int *before)
{
    const int fd = memfd_create("log", MFD_CLOEXEC);

    *before = dup(STDERR_FILENO);
    cr_assert_geq(fd, 0);
    cr_assert_eq(dup2(fd, STDERR_FILENO), STDERR_FILENO);
    log_init("gateway", LOG_DEBUG, LOG_JSON);
    return fd;
}

static size_t log_release(int fd, int before, char *text, size_t cap)
{
    fake_quiet();
    dup2(before, STDERR_FILENO);
    close(before);
    const ssize_t n = pread(fd, text, cap, 0);
    close(fd);
    cr_assert_gt(n, 0);
    return (size_t)n;
}

Test(gateway_limits, lines_about_a_flood_are_few_and_whole)
{
    static char text[LINES_BYTES];
    int before;

    rig_start(NULL);
    const int log = log_capture(&before);
    for (uint32_t i = 1; i <= 200; i++) {
        const int fd = rig_connect();
        rig_send(fd, "\0\0\0\0", 4);
        rig_until(&rig_metrics()->closed_length, i);
        close(fd);
    }
    const size_t n = log_release(log, before, text, sizeof(text));
    uint32_t lines = 0;
    for (size_t at = 0; at < n; lines++) {
        const char *end = memchr(text + at, '\n', n - at);
        cr_assert_not_null(end);
        cr_assert_eq(text[at], '{');
        cr_assert_eq(end[-1], '}');
        for (const char *c = text + at; c < end; c++)
            cr_assert_geq((unsigned char)*c, 0x20u);
        at = (size_t)(end - text) + 1;
    }
    cr_assert_gt(lines, 10);
    cr_assert_lt(lines, 200, "of 400 events");
    stop();
}
