/* tests/common/stream_rig.c: one stream, its owner and its peer in one thread. */
#include "tests/common/stream_rig.h"

#include "common/rng.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#define RIG_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define RIG_ASAN 1
#endif
#endif
#ifdef RIG_ASAN
/* GCC comes without the header that declares it. */
size_t __sanitizer_get_current_allocated_bytes(void);
#endif

const struct stream_limits rig_roomy = {.keep_max = 65536, .counted = true};

static void act(struct rig *r, enum rig_act what)
{
    struct rig *on = r->victim ? r->victim : r;
    switch (what) {
    case RIG_NOTHING:
        break;
    case RIG_DESTROY:
        stream_destroy(on->stream);
        on->stream = NULL;
        break;
    case RIG_ABORT:
        stream_abort(on->stream);
        on->stream = NULL;
        break;
    case RIG_FINISH:
        stream_finish(on->stream, CLOCK_NS_PER_S);
        break;
    case RIG_WRITE:
        cr_assert_eq(stream_write(on->stream, span_text("answer")), 0);
        break;
    }
}

static size_t on_data(void *arg, struct span bytes)
{
    struct rig *r = arg;
    cr_assert_not(r->inside);
    cr_assert_eq(r->closed, 0, "no data after the end");
    cr_assert_gt(bytes.n, 0);
    r->calls++;
    r->last_offer = bytes.n;

    size_t frame = r->frame ? r->frame : bytes.n;
    size_t frames = bytes.n / frame;
    bool pause = r->pause_after > 0 && r->calls >= r->pause_after;
    if (r->frames_a_call > 0 && frames > r->frames_a_call)
        frames = r->frames_a_call;
    if (pause && frames > 1)
        frames = 1;
    size_t n = frames * frame;
    cr_assert_leq(r->got_n + n, RIG_GOT_MAX);
    memcpy(r->got + r->got_n, bytes.p, n);
    r->got_n += n;
    if (pause)
        stream_read_pause(r->stream, true);
    act(r, r->in_data);
    return n;
}

static void on_pressure(void *arg, bool on)
{
    struct rig *r = arg;
    cr_assert_not(r->inside);
    size_t n = strlen(r->pressure);
    cr_assert_lt(n, sizeof(r->pressure) - 1);
    r->pressure[n] = on ? '+' : '-';
    act(r, r->in_pressure);
}

static void on_closed(void *arg, enum stream_end why)
{
    struct rig *r = arg;
    cr_assert_not(r->inside);
    r->closed++;
    r->why = why;
    act(r, r->in_closed);
}

static void make(struct rig *r, struct loop *l, int fd, struct ssl_st *seal, int peer,
                 const struct stream_limits *limits)
{
    *r = (struct rig){.loop = l, .peer = peer};
    r->got = malloc(RIG_GOT_MAX);
    cr_assert_not_null(r->got);
    r->ops = (struct stream_ops){on_data, on_pressure, on_closed};
    cr_assert_eq(stream_create_sealed(l, fd, seal, limits, &r->ops, r, &r->stream), 0);
}

void rig_make_of(struct rig *r, struct loop *l, int fd, struct ssl_st *seal,
                 const struct stream_limits *limits)
{
    make(r, l, fd, seal, -1, limits);
    r->guest = true;
}

static void make_pair(struct rig *r, struct loop *l, const struct stream_limits *limits)
{
    int fd[2];
    cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fd), 0);
    cr_assert_eq(fcntl(fd[1], F_SETFL, O_NONBLOCK), 0);
    make(r, l, fd[0], NULL, fd[1], limits);
}

void rig_make(struct rig *r, const struct stream_limits *limits)
{
    struct loop *l;
    cr_assert_eq(loop_create(&l), 0);
    make_pair(r, l, limits);
}

void rig_make_beside(struct rig *r, struct rig *first, const struct stream_limits *limits)
{
    make_pair(r, first->loop, limits);
    r->guest = true;
}

void rig_make_tcp(struct rig *r, const struct stream_limits *limits)
{
    struct loop *l;
    cr_assert_eq(loop_create(&l), 0);
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t len = sizeof(in);
    int door = socket(AF_INET, SOCK_STREAM, 0), peer = socket(AF_INET, SOCK_STREAM, 0);
    cr_assert_eq(bind(door, (struct sockaddr *)&in, len), 0);
    cr_assert_eq(listen(door, 1), 0);
    cr_assert_eq(getsockname(door, (struct sockaddr *)&in, &len), 0);
    cr_assert_eq(connect(peer, (struct sockaddr *)&in, len), 0);
    int fd = accept(door, NULL, NULL);
    cr_assert_geq(fd, 0);
    close(door);
    cr_assert_eq(fcntl(peer, F_SETFL, O_NONBLOCK), 0);
    make(r, l, fd, NULL, peer, limits);
}

void rig_end(struct rig *r)
{
    stream_destroy(r->stream);
    rig_turn(r);
    rig_close_peer(r, false);
    free(r->got);
    if (!r->guest)
        loop_destroy(r->loop);
    *r = (struct rig){.peer = -1};
}

void rig_turn(struct rig *r)
{
    r->inside = false;
    loop_turn(r->loop, 0);
    /* Between turns only the test calls into the stream. */
    r->inside = true;
}

void rig_wait(struct rig *r)
{
    r->inside = false;
    loop_turn(r->loop, 5 * CLOCK_NS_PER_S);
    r->inside = true;
}

struct span rig_got(const struct rig *r)
{
    return span_of(r->got, r->got_n);
}

size_t rig_try_send(struct rig *r, const void *bytes, size_t n)
{
    ssize_t sent = send(r->peer, bytes, n, MSG_NOSIGNAL);
    cr_assert(sent >= 0 || errno == EAGAIN, "%s", strerror(errno));
    return sent < 0 ? 0 : (size_t)sent;
}

void rig_send(struct rig *r, const void *bytes, size_t n)
{
    cr_assert_eq(rig_try_send(r, bytes, n), n);
}

size_t rig_recv(struct rig *r, void *bytes, size_t n)
{
    ssize_t got = recv(r->peer, bytes, n, 0);
    cr_assert(got >= 0 || errno == EAGAIN, "%s", strerror(errno));
    return got < 0 ? 0 : (size_t)got;
}

bool rig_at_end(struct rig *r)
{
    char c;
    return recv(r->peer, &c, 1, MSG_PEEK) == 0;
}

size_t rig_peek(struct rig *r)
{
    int n = 0;
    cr_assert_eq(ioctl(r->peer, FIONREAD, &n), 0);
    return (size_t)n;
}

void rig_close_peer(struct rig *r, bool reset)
{
    struct linger now = {1, 0};
    if (r->peer < 0)
        return;
    if (reset)
        cr_assert_eq(setsockopt(r->peer, SOL_SOCKET, SO_LINGER, &now, sizeof(now)), 0);
    close(r->peer);
    r->peer = -1;
}

void rig_fill(struct rig *r)
{
    for (int i = 0; i < 100000 && stream_queued(r->stream) == 0; i++) {
        cr_assert_eq(stream_write(r->stream, span_text("x")), 0);
        rig_turn(r);
    }
    cr_assert_eq(stream_queued(r->stream), 1);
}

uint8_t *rig_noise(size_t n, uint64_t seed)
{
    struct rng rng;
    uint8_t *bytes = malloc(n);
    cr_assert_not_null(bytes);
    rng_init(&rng, seed);
    for (size_t i = 0; i < n; i++)
        bytes[i] = (uint8_t)rng_next(&rng);
    return bytes;
}

size_t rig_allocated(void)
{
#ifdef RIG_ASAN
    return __sanitizer_get_current_allocated_bytes();
#else
    struct mallinfo2 m = mallinfo2();
    return m.uordblks + m.hblkhd;
#endif
}
