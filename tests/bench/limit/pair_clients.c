/* tests/bench/limit/pair_clients.c: clients of the limit pair: they walk as the load bots do, and
 * read all they are told. May touch: sockets, epoll, bot/walker, bot/spread. On trouble: see
 * limit_pair.h.
 */
#include "tests/bench/limit/limit_pair.h"

#include "bot/spread.h"
#include "bot/walker.h"
#include "common/hist.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define EVENTS     512
#define READ_MAX   65536
#define SENT       8 /* moves remembered of each, to find out how long the news took */
#define STEP_NS    2000000
#define OWED_S     0.2
#define MAX_SPEED  12.0
#define WARM_UP_NS 2000000000
#define SPAWNS     2000   /* the world's line: 8 units apart, then over again */
#define LINGER_US  300000 /* for whoever asks what it used */

struct client {
    int fd;
    struct walker walker;
    struct {
        uint16_t x, y;
        int64_t at_ns; /* 0: none */
    } sent[SENT];
    unsigned next;
    uint8_t rest[READ_MAX / 16]; /* the beginning of a frame */
    size_t rest_len;
};

static struct {
    struct client *clients;
    uint32_t n, next, stride;
    int epoll;
    double owed;
    uint64_t moves, late, updates, frames, bytes, answers;
    struct hist latency;
} c;

static struct mono at(int64_t ns)
{
    return (struct mono){ns};
}

/* Squares as bot/load gives them; everybody starts inside. */
static void place_all(const struct pair_job *job)
{
    struct spread_bot *bots = calloc(job->n, sizeof(*bots));

    for (uint32_t i = 0; i < job->n; i++)
        bots[i] = (struct spread_bot){.x = 8.0 * (1 + i % SPAWNS), .index = i};
    spread_groups(bots, job->n, job->square ? job->n : (uint32_t)(SPREAD_GROUP * job->in_sight) + 1,
                  job->in_sight, PAIR_RADIUS);
    for (uint32_t i = 0; i < job->n; i++) {
        struct walker *w = &c.clients[bots[i].index].walker;
        struct walker_area a = bots[i].area;
        walker_init(w, job->seed + bots[i].index);
        walker_place(w, a.x0 + rng_unit(&w->rng) * (a.x1 - a.x0),
                     a.y0 + rng_unit(&w->rng) * (a.y1 - a.y0), MAX_SPEED, at(pair_now_ns()));
        walker_area(w, a);
    }
    free(bots);
}

static void move(struct client *k)
{
    walker_wander(&k->walker, at(pair_now_ns()));
    struct pair_move m = {(int32_t)floor(k->walker.x / PAIR_QUANTUM + 0.5),
                          (int32_t)floor(k->walker.y / PAIR_QUANTUM + 0.5)};
    unsigned i = k->next++ % SENT;

    k->sent[i].x = (uint16_t)m.x;
    k->sent[i].y = (uint16_t)m.y;
    k->sent[i].at_ns = pair_now_ns();
    if (send(k->fd, &m, sizeof(m), MSG_NOSIGNAL | MSG_DONTWAIT) == sizeof(m))
        c.moves++;
    else
        c.late++;
}

static void take_record(const uint8_t *p, int64_t heard_ns)
{
    uint16_t v[3]; /* number, x, y */

    memcpy(v, p, sizeof(v));
    if (v[0] >= c.n)
        pair_fail("pair-clients: a number that is nobody's");
    const struct client *mover = &c.clients[v[0]];
    for (unsigned i = 1; i <= SENT; i++) {
        unsigned j = (mover->next - i) % SENT;
        if (mover->sent[j].at_ns == 0)
            return;
        if (mover->sent[j].x == v[1] && mover->sent[j].y == v[2]) {
            hist_add(&c.latency, (uint64_t)(heard_ns - mover->sent[j].at_ns));
            return;
        }
    }
}

/* Returns the bytes of whole frames. */
static size_t take_frames(const uint8_t *p, size_t n, int64_t heard_ns)
{
    struct pair_frame f;
    size_t used = 0;

    while (n - used >= sizeof(f)) {
        memcpy(&f, p + used, sizeof(f));
        size_t whole = sizeof(f.bytes) + f.bytes;
        if (n - used < whole)
            break;
        for (size_t i = sizeof(f); i + PAIR_RECORD <= whole; i += PAIR_RECORD) {
            take_record(p + used + i, heard_ns);
            c.updates++;
        }
        c.frames += f.tick != 0;
        c.answers += f.tick == 0;
        used += whole;
    }
    return used;
}

static void take(struct client *k)
{
    static uint8_t in[READ_MAX];

    memcpy(in, k->rest, k->rest_len);
    ssize_t n = recv(k->fd, in + k->rest_len, sizeof(in) - k->rest_len, MSG_DONTWAIT);
    if (n <= 0) {
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        pair_fail("pair-clients: the gateway is gone");
    }
    c.bytes += (uint64_t)n;
    size_t have = k->rest_len + (size_t)n, used = take_frames(in, have, pair_now_ns());
    if (have - used > sizeof(k->rest))
        pair_fail("pair-clients: too long a frame");
    memcpy(k->rest, in + used, have - used);
    k->rest_len = have - used;
}

/* Deal out the moves that are due, and read, until then. */
static void run(const struct pair_job *job, int64_t until_ns)
{
    static struct epoll_event events[EVENTS];
    int64_t stepped = pair_now_ns();

    for (int64_t now = stepped; now < until_ns; now = pair_now_ns()) {
        int64_t left = stepped + STEP_NS - now;
        int n = epoll_wait(c.epoll, events, EVENTS, left > 0 ? (int)(left / 1000000) + 1 : 0);
        for (int i = 0; i < n; i++)
            take(&c.clients[events[i].data.u32]);
        now = pair_now_ns();
        if (now - stepped < STEP_NS)
            continue;
        double each_second = job->rate * c.n;
        c.owed += each_second * (double)(now - stepped) / 1e9;
        if (c.owed > each_second * OWED_S) {
            c.late += (uint64_t)(c.owed - each_second * OWED_S);
            c.owed = each_second * OWED_S;
        }
        stepped = now;
        for (; c.owed >= 1; c.owed -= 1) {
            move(&c.clients[c.next]);
            c.next = (uint32_t)(((uint64_t)c.next + c.stride) % c.n);
        }
    }
}

static void connect_all(const struct pair_job *job)
{
    struct rlimit files;

    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    c.epoll = epoll_create1(EPOLL_CLOEXEC);
    for (uint32_t i = 0; i < job->n; i++) {
        struct epoll_event e = {.events = EPOLLIN, .data.u32 = i};
        c.clients[i].fd = pair_dial(job->addr);
        if (epoll_ctl(c.epoll, EPOLL_CTL_ADD, c.clients[i].fd, &e) != 0)
            pair_fail("epoll_ctl");
    }
}

static double quantile_ms(double q)
{
    return (double)hist_quantile(&c.latency, q) / 1e6;
}

int pair_clients_main(const struct pair_job *job)
{
    c.n = job->n;
    c.stride = spread_stride(c.n);
    c.clients = calloc(c.n, sizeof(*c.clients));
    if (!c.clients || c.n > PAIR_CLIENTS_MAX)
        pair_fail("pair-clients");
    place_all(job);
    connect_all(job);
    run(job, pair_now_ns() + WARM_UP_NS);
    hist_clear(&c.latency);
    c.moves = c.late = c.updates = c.frames = c.bytes = c.answers = 0;
    fprintf(stderr, "phase=walking\n");
    int64_t began = pair_now_ns();
    run(job, began + (int64_t)(job->seconds * 1e9));
    double seconds = (double)(pair_now_ns() - began) / 1e9;
    fprintf(stderr, "phase=walked\n");
    usleep(LINGER_US);
    printf("{\"seconds\":%.3f,\"moves\":%" PRIu64 ",\"moves_left_out\":%" PRIu64
           ",\"updates\":%" PRIu64 ",\"frames_in\":%" PRIu64 ",\"answers\":%" PRIu64
           ",\"bytes_in\":%" PRIu64 ",\"bytes_per_player_s\":%.1f,",
           seconds, c.moves, c.late, c.updates, c.frames, c.answers, c.bytes,
           (double)c.bytes / seconds / c.n);
    printf(
        "\"latency_ms\":{\"p50\":%.1f,\"p99\":%.1f,\"p99_9\":%.1f,\"max\":%.1f,\"notices\":%" PRIu64
        "},\"breaches\":0}\n",
        quantile_ms(0.5), quantile_ms(0.99), quantile_ms(0.999), (double)c.latency.max / 1e6,
        c.latency.count);
    return 0;
}
