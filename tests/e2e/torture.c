/* tests/e2e/torture.c: a child process that sends damaged frames.
 *
 *   connect ─► [login, enter] ─► damaged frame, ping ─► the ping's answer: again
 *                                       │               the end: it was fatal; connect anew
 *                                       └─► neither in time: it claims more than came; RST
 *
 * Each damaged frame is followed by a ping whose payload is a number: its answer says that the
 * frame was judged and forgiven. May touch: see torture.h. On trouble: see torture.h.
 */
#include "tests/e2e/torture.h"

#include "common/addr.h"
#include "common/err.h"
#include "proto/frame.h"
#include "proto/protocol.h"
#include "tests/mutate.h"
#include "tests/raw_client.h"

#include <arpa/inet.h>
#include <errno.h>
#include <jansson.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define CONNECTIONS 48
#define SEEDS_MAX   4096
#define BODY_MAX    2048
#define PATIENCE_NS (300 * CLOCK_NS_PER_MS)
#define FDS_MAX     65536

struct seed_bodies {
    struct span items[SEEDS_MAX]; /* each owned */
    size_t n;
};

struct victim {
    int fd;           /* -1: none */
    bool waits, half; /* for a verdict; we sent our FIN */
    uint32_t asked;   /* the number in the ping that was sent last */
    struct mono since;
    uint8_t tail[8]; /* the last bytes that came */
};

struct torture_run {
    struct rng rng;
    struct seed_bodies seeds;
    struct sockaddr_in to;
    struct torture_count *count;
    uint64_t frames;
    uint32_t numbers; /* pings sent and names given */
    struct victim victims[CONNECTIONS];
};

/* --- seeds ------------------------------------------------------------------------------------ */

/* A body; where there is a frame's head before it, without that. */
static void add_hex(struct seed_bodies *s, const char *hex)
{
    uint8_t *bytes = malloc(strlen(hex) / 2 + 1);
    if (!bytes)
        process_fail("%s", err_text(E_NOMEM));
    size_t n = raw_bytes(hex, bytes, strlen(hex) / 2 + 1);
    if (n > FRAME_HEAD && span_be32(bytes) == n - FRAME_HEAD) {
        n -= FRAME_HEAD;
        memmove(bytes, bytes + FRAME_HEAD, n);
    }
    if (s->n == SEEDS_MAX || n == 0 || n > BODY_MAX)
        free(bytes);
    else
        s->items[s->n++] = span_of(bytes, n);
}

/* Every "hex" in there, however deep. */
static void add_all(struct seed_bodies *s, const json_t *value)
{
    const char *key;
    json_t *inner;
    size_t i;

    if (json_is_array(value)) {
        json_array_foreach((json_t *)value, i, inner) add_all(s, inner);
    } else if (json_is_object(value)) {
        json_object_foreach((json_t *)value, key, inner)
        {
            if (strcmp(key, "hex") == 0 && json_is_string(inner))
                add_hex(s, json_string_value(inner));
            else
                add_all(s, inner);
        }
    }
}

static void load_seeds(struct seed_bodies *s)
{
    static const char *const files[] = {
        "tests/vectors/messages.json", "tests/vectors/bad_payloads.json",
        "tests/vectors/bad_frames.json", "tests/vectors/aoi_move.json", "tests/vectors/link.json"};

    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        json_t *all = json_load_file(files[i], JSON_ALLOW_NUL, NULL);
        if (!all)
            process_fail("%s cannot be read", files[i]);
        add_all(s, all);
        json_decref(all);
    }
}

/* --- what is sent ----------------------------------------------------------------------------- */

static bool push(const struct victim *v, const void *bytes, size_t n)
{
    return send(v->fd, bytes, n, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)n;
}

static void put_frame(struct span_writer *w, const void *body, size_t n)
{
    span_put_be32(w, (uint32_t)n);
    span_put(w, body, n);
}

/* A valid life up to the world, by a name that nobody had. */
static void put_entry(struct torture_run *r, struct span_writer *w)
{
    uint8_t body[64] = {0x93, CMD_LOGIN_REQ, 1, 0x81, 0xa4, 'n', 'a', 'm', 'e', 0xa9};
    static const uint8_t enter[] = {0x93, CMD_ENTER_REQ, 2, 0xc0};
    char name[16];

    snprintf(name, sizeof(name), "t%08x", r->numbers++);
    memcpy(body + 10, name, 9);
    put_frame(w, body, 19);
    put_frame(w, enter, sizeof(enter));
    atomic_fetch_add(&r->count->entered, 1);
}

/* A ping that says `number`: [11, 3, uint32]. */
static void put_ping(struct span_writer *w, uint32_t number)
{
    uint8_t body[8] = {0x93, CMD_PING_REQ, 3, 0xce};

    for (int i = 0; i < 4; i++)
        body[4 + i] = (uint8_t)(number >> (24 - 8 * i));
    put_frame(w, body, sizeof(body));
}

/* Half of the time one that a client may send. */
static struct span some_seed(struct torture_run *r)
{
    struct span seed = r->seeds.items[rng_below(&r->rng, r->seeds.n)];

    for (int i = 0; i < 64 && rng_below(&r->rng, 2); i++) {
        if (seed.n > 3 && seed.p[0] == 0x93 && seed.p[1] <= CMD_SAY_REQ)
            break;
        seed = r->seeds.items[rng_below(&r->rng, r->seeds.n)];
    }
    return seed;
}

/* Damage the `n` bytes at `p`; a third of the time so little that it may pass as a request. */
static size_t damage(struct torture_run *r, uint8_t *p, size_t n, size_t cap)
{
    if (n < 4 || rng_below(&r->rng, 3) > 0)
        return mutate(&r->rng, p, n, cap);
    p[3 + rng_below(&r->rng, n - 3)] ^= (uint8_t)(1u << rng_below(&r->rng, 8));
    return n;
}

static void put_damaged(struct torture_run *r, struct span_writer *w)
{
    uint8_t bytes[FRAME_HEAD + BODY_MAX];
    struct span seed = some_seed(r);
    size_t n;

    memcpy(bytes + FRAME_HEAD, seed.p, seed.n);
    if (rng_below(&r->rng, 16) > 0) { /* the length says what is there */
        n = damage(r, bytes + FRAME_HEAD, seed.n, BODY_MAX);
        frame_head(bytes, (uint32_t)n);
        span_put(w, bytes, FRAME_HEAD + n);
    } else { /* the length is damaged too */
        frame_head(bytes, (uint32_t)seed.n);
        n = damage(r, bytes, FRAME_HEAD + seed.n, sizeof(bytes));
        span_put(w, bytes, n);
    }
}

static void let_go(struct victim *v, bool reset)
{
    struct linger now = {.l_onoff = reset, .l_linger = 0};

    setsockopt(v->fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
    close(v->fd);
    *v = (struct victim){.fd = -1};
}

static bool arrive(struct torture_run *r, struct victim *v)
{
    *v = (struct victim){.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    if (connect(v->fd, (const struct sockaddr *)&r->to, sizeof(r->to)) != 0) {
        let_go(v, true);
        return false;
    }
    atomic_fetch_add(&r->count->connects, 1);
    return true;
}

/* What is no frame at all, and ends that come in the midst of one. */
static void misbehave(struct torture_run *r, struct victim *v)
{
    uint8_t bytes[512];

    switch (rng_below(&r->rng, 3)) {
    case 0:
        for (size_t i = 0; i < sizeof(bytes); i++)
            bytes[i] = (uint8_t)rng_next(&r->rng);
        push(v, bytes, 1 + rng_below(&r->rng, sizeof(bytes)));
        atomic_fetch_add(&r->count->garbage, 1);
        let_go(v, rng_below(&r->rng, 2));
        break;
    case 1:
        frame_head(bytes, 200);
        push(v, bytes, 1 + rng_below(&r->rng, 150));
        atomic_fetch_add(&r->count->resets, 1);
        let_go(v, true);
        break;
    default:
        push(v, "\0\0\0\4\x93", rng_below(&r->rng, 6));
        shutdown(v->fd, SHUT_WR);
        atomic_fetch_add(&r->count->halves, 1);
        v->half = v->waits = true;
        v->since = clock_mono();
    }
}

static void strike(struct torture_run *r, struct victim *v)
{
    uint8_t bytes[2 * BODY_MAX];
    struct span_writer w = span_writer_of(bytes, sizeof(bytes));

    if (v->fd < 0) {
        if (!arrive(r, v))
            return;
        if (rng_below(&r->rng, 4) > 0)
            put_entry(r, &w);
    }
    if (rng_below(&r->rng, 64) == 0) {
        misbehave(r, v);
        return;
    }
    put_damaged(r, &w);
    v->asked = r->numbers++;
    put_ping(&w, v->asked);
    v->waits = true;
    v->since = clock_mono();
    if (!push(v, bytes, w.len) && errno != ECONNRESET && errno != EPIPE)
        let_go(v, true);
}

/* --- what comes back -------------------------------------------------------------------------- */

static void remember(struct victim *v, const uint8_t *bytes, size_t n)
{
    size_t keep = n < sizeof(v->tail) ? sizeof(v->tail) - n : 0;

    memmove(v->tail, v->tail + sizeof(v->tail) - keep, keep);
    memcpy(v->tail + keep, bytes + n - (sizeof(v->tail) - keep), sizeof(v->tail) - keep);
}

/* Does the answer to the last ping stand in these bytes, or across their beginning? */
static bool holds_answer(const struct victim *v, const uint8_t *bytes, size_t n)
{
    uint8_t mark[8] = {0x93, CMD_PING_RESP, 3, 0xce}, seam[16];
    size_t more = n < 8 ? n : 8;

    for (int i = 0; i < 4; i++)
        mark[4 + i] = (uint8_t)(v->asked >> (24 - 8 * i));
    memcpy(seam, v->tail, 8);
    memcpy(seam + 8, bytes, more);
    return memmem(seam, 8 + more, mark, 8) || memmem(bytes, n, mark, 8);
}

static void listen_to(struct torture_run *r, struct victim *v)
{
    static uint8_t bytes[65536];

    ssize_t n = recv(v->fd, bytes, sizeof(bytes), MSG_DONTWAIT);
    if (n > 0) {
        if (!v->half && holds_answer(v, bytes, (size_t)n)) {
            v->waits = false;
            atomic_fetch_add(&r->count->frames, 1);
        }
        remember(v, bytes, (size_t)n);
    } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
        if (!v->half) {
            atomic_fetch_add(&r->count->frames, 1);
            atomic_fetch_add(&r->count->fatal, 1);
        }
        let_go(v, rng_below(&r->rng, 8) > 0);
    } else if (clock_since(clock_mono(), v->since) > PATIENCE_NS) {
        if (!v->half)
            atomic_fetch_add(&r->count->unjudged, 1);
        let_go(v, true);
    }
}

static void play(struct torture_run *r)
{
    struct pollfd p[CONNECTIONS];

    while (atomic_load(&r->count->frames) < r->frames) {
        for (size_t i = 0; i < CONNECTIONS; i++) {
            if (!r->victims[i].waits)
                strike(r, &r->victims[i]);
            p[i] = (struct pollfd){.fd = r->victims[i].fd, .events = POLLIN};
        }
        poll(p, CONNECTIONS, 5);
        for (size_t i = 0; i < CONNECTIONS; i++) {
            if (r->victims[i].fd >= 0)
                listen_to(r, &r->victims[i]);
        }
    }
}

static _Noreturn void child(struct torture_run *r, pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(126);
    for (int fd = 3; fd < FDS_MAX; fd++)
        close(fd);
    for (size_t i = 0; i < CONNECTIONS; i++)
        r->victims[i].fd = -1;
    play(r);
    atomic_store(&r->count->done, true);
    for (size_t i = 0; i < CONNECTIONS; i++) {
        if (r->victims[i].fd >= 0)
            let_go(&r->victims[i], true);
    }
    _exit(0);
}

void torture_start(struct torture *t, const char *addr, uint64_t seed, uint64_t frames)
{
    static struct torture_run r;
    struct addr a;
    const char *why;
    pid_t self = getpid();

    *t = (struct torture){.count = mmap(NULL, sizeof(*t->count), PROT_READ | PROT_WRITE,
                                        MAP_SHARED | MAP_ANONYMOUS, -1, 0)};
    if (t->count == MAP_FAILED || addr_parse(addr, &a, &why) != 0)
        process_fail("no torture of %s", addr);
    r = (struct torture_run){.count = t->count, .frames = frames};
    r.to = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(a.port)};
    inet_pton(AF_INET, a.host, &r.to.sin_addr);
    rng_init(&r.rng, seed);
    load_seeds(&r.seeds);
    t->pid = fork();
    if (t->pid == 0)
        child(&r, self);
    if (t->pid < 0)
        process_fail("no fork: %s", strerror(errno));
    for (size_t i = 0; i < r.seeds.n; i++)
        free((void *)r.seeds.items[i].p);
}

bool torture_done(const struct torture *t)
{
    return atomic_load(&t->count->done);
}

void torture_end(struct torture *t)
{
    int status = 0;

    if (!torture_done(t))
        kill(t->pid, SIGKILL);
    waitpid(t->pid, &status, 0);
    if (torture_done(t) && status != 0)
        process_fail("the torture ended with status %d", status);
    munmap(t->count, sizeof(*t->count));
    *t = (struct torture){0};
}
