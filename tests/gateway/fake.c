/* tests/gateway/fake.c: connections, clients and requests for the gateway's tests. */
#include "tests/gateway/fake.h"

#include "common/err.h"
#include "common/log.h"
#include "proto/frame.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

void fake_quiet(void)
{
    log_init("gateway", LOG_OFF, LOG_TEXT);
}

/* --- connections --------------------------------------------------------------------------- */

static int fake_write2(struct stream *s, struct span a, struct span b)
{
    const size_t n = a.n + b.n;

    cr_assert(!s->destroyed, "a write after the end");
    if (s->finished)
        return E_CLOSED;
    if (s->refuse != 0)
        return s->refuse;
    if (s->hard != 0 && s->queued + n > s->hard)
        return E_FULL;
    if (s->len + n > s->cap) {
        s->cap = (s->len + n) * 2;
        s->out = realloc(s->out, s->cap);
    }
    memcpy(s->out + s->len, a.p, a.n);
    if (b.n > 0)
        memcpy(s->out + s->len + a.n, b.p, b.n);
    s->len += n;
    s->queued += n;
    s->writes++;
    return 0;
}

static int fake_write(struct stream *s, struct span bytes)
{
    return fake_write2(s, bytes, (struct span){0});
}

static int fake_send(struct stream *s, const struct span *pieces, uint32_t n)
{
    static uint8_t flat[4 * PROTO_BATCH_MAX];
    size_t len = 0;

    for (uint32_t i = 0; i < n; i++) {
        memcpy(flat + len, pieces[i].p, pieces[i].n);
        len += pieces[i].n;
    }
    return fake_write(s, span_of(flat, len));
}

static void fake_pause(struct stream *s, bool paused)
{
    s->paused = paused;
}

static void fake_finish(struct stream *s, int64_t linger_ns)
{
    cr_assert(!s->destroyed);
    s->finished = true;
    s->linger_ns = linger_ns;
}

static void fake_destroy(struct stream *s)
{
    cr_assert(!s->destroyed);
    s->destroyed = true;
}

static void fake_abort(struct stream *s)
{
    fake_destroy(s);
    s->aborted = true;
}

static size_t fake_queued(const struct stream *s)
{
    return s->queued;
}

const struct conn_ops fake_conn_ops = {
    .write = fake_write,
    .write2 = fake_write2,
    .send = fake_send,
    .read_pause = fake_pause,
    .finish = fake_finish,
    .destroy = fake_destroy,
    .abort = fake_abort,
    .queued = fake_queued,
    .unsent = fake_queued,
};

void fake_conn_fini(struct stream *s)
{
    free(s->out);
    *s = (struct stream){0};
}

/* --- what was written ---------------------------------------------------------------------- */

static bool fake_next_body(struct stream *s, struct span *body)
{
    size_t used;
    const int r =
        frame_split(span_of(s->out + s->read, s->len - s->read), LINK_FRAME_MAX, body, &used);
    if (r == E_SHORT)
        return false;
    cr_assert_eq(r, 0, "what was written is no frame");
    s->read += used;
    return true;
}

bool fake_told(struct stream *s, struct message *out)
{
    static struct message_reader *reader; /* one a test process: its content lives until the next */
    struct span body;

    if (!fake_next_body(s, &body))
        return false;
    message_reader_destroy(reader);
    reader = NULL;
    cr_assert_eq(message_reader_create(PROTO_BATCH_MAX, &reader), 0);
    cr_assert_eq(message_read(reader, body, out), 0);
    return true;
}

bool fake_told_error(struct stream *s, uint32_t code, uint32_t seq, uint32_t cmd)
{
    struct message m;

    return fake_told(s, &m) && m.cmd == CMD_ERROR_NOTIFY && m.error_notify.code == code &&
           m.seq == seq && m.error_notify.cmd == cmd &&
           span_equal(m.error_notify.error, span_text(protocol_error_text(code)));
}

bool fake_told_bye(struct stream *s, uint32_t code)
{
    struct message m;

    return fake_told(s, &m) && m.cmd == CMD_BYE && m.bye.code == code && m.seq == 0 && s->finished;
}

bool fake_told_nothing(struct stream *s)
{
    return s->read == s->len;
}

bool fake_link_told(struct stream *s, struct link_frame *out)
{
    struct span body;

    if (!fake_next_body(s, &body))
        return false;
    cr_assert_eq(link_read(body, out), 0);
    return true;
}

/* --- what is sent -------------------------------------------------------------------------- */

size_t fake_frame(uint8_t *to, size_t len, size_t cap, const struct message *m)
{
    struct span_writer w = span_writer_of(to + len + FRAME_HEAD, cap - len - FRAME_HEAD);

    message_write(&w, m);
    cr_assert(!w.full);
    frame_head(to + len, (uint32_t)w.len);
    return len + FRAME_HEAD + w.len;
}

size_t fake_request(uint8_t *to, size_t len, size_t cap, uint32_t cmd, uint32_t seq)
{
    static const uint8_t nil = 0xc0;
    struct message m = {.cmd = cmd, .seq = seq};

    if (cmd == CMD_PING_REQ)
        m.ping.payload = span_of(&nil, 1);
    if (cmd == CMD_LOGIN_REQ) {
        m.login_req.name = span_text("alpha");
        m.login_req.version = 1;
    }
    return fake_frame(to, len, cap, &m);
}

/* --- clients ------------------------------------------------------------------------------- */

static uint32_t fake_now_ms(void *arg)
{
    const struct fake_crowd *f = arg;
    return f->now_ms;
}

static void fake_reap_soon(void *arg)
{
    struct fake_crowd *f = arg;
    f->reaps++;
}

static const struct clients_ops fake_clients_ops = {
    .now_ms = fake_now_ms,
    .reap_soon = fake_reap_soon,
};

static void fake_forward(void *arg, struct client *c, const struct span *bodies, uint32_t n)
{
    struct fake_crowd *f = arg;

    cr_assert_eq(c->state, CLIENT_OPEN);
    f->forwards++;
    f->bodies += n;
    f->last_n = n;
    f->last_bytes = bodies[n - 1].n;
    if (f->last_bytes <= sizeof(f->last))
        memcpy(f->last, bodies[n - 1].p, f->last_bytes);
}

static void fake_congestion(void *arg, struct client *c, bool on)
{
    struct fake_crowd *f = arg;
    (void)c;
    if (on)
        f->congested++;
    else
        f->drained++;
}

static void fake_drained(void *arg, struct client *c, uint64_t bytes_per_s)
{
    struct fake_crowd *f = arg;
    f->drains++;
    f->drain_slot = c->slot;
    f->drain_rate = bytes_per_s;
}

static void fake_gone(void *arg, struct client *c)
{
    struct fake_crowd *f = arg;
    (void)c;
    f->gone++;
}

static const struct clients_world fake_world = {
    .forward = fake_forward,
    .congestion = fake_congestion,
    .drained = fake_drained,
    .gone = fake_gone,
};

void fake_crowd_defaults(struct fake_crowd *f)
{
    fake_quiet();
    *f = (struct fake_crowd){.now_ms = 5000000};
    f->all.limits = (struct clients_limits){
        .clients_max = FAKE_CLIENTS,
        .frame_max = PROTO_FRAME_MAX,
        .queue_hard = 1 << 20,
        .rate = {60, 120},
        .idle_ms = 60000,
        .login_ms = 30000,
        .frame_ms = 10000,
        .slow_ms = 30000,
        .linger_ns = 2 * CLOCK_NS_PER_S,
    };
}

void fake_crowd_init(struct fake_crowd *f)
{
    f->all.transport = &transport_len;
    f->all.conn = &fake_conn_ops;
    f->all.ops = &fake_clients_ops;
    f->all.ops_arg = f;
    f->all.world = &fake_world;
    f->all.world_arg = f;
    f->all.metrics = &f->metrics;
    f->all.world_up = true;
    cr_assert_eq(clients_init(&f->all), 0);
}

void fake_crowd_fini(struct fake_crowd *f)
{
    clients_fini(&f->all);
    for (uint32_t i = 0; i < FAKE_CLIENTS; i++)
        fake_conn_fini(&f->conns[i]);
}

struct client *fake_connect(struct fake_crowd *f, uint32_t i)
{
    struct client *c;

    /* Whoever had this connection before is gone by now. */
    for (uint32_t slot = 0; slot < f->all.slots.fresh; slot++) {
        struct client *before = f->all.by_slot[slot];
        if (before && before->conn == &f->conns[i]) {
            client_stream_ops.closed(before, STREAM_LINGERED);
            clients_reap(&f->all);
        }
    }
    fake_conn_fini(&f->conns[i]);
    cr_assert_eq(clients_add(&f->all, "127.0.0.1:50000", &c), 0);
    client_start(c, &f->conns[i]);
    return c;
}

size_t fake_feed(struct client *c, const void *bytes, size_t n)
{
    return client_stream_ops.data(c, span_of(bytes, n));
}

void fake_feed_request(struct client *c, uint32_t cmd, uint32_t seq)
{
    uint8_t frame[128];
    const size_t n = fake_request(frame, 0, sizeof(frame), cmd, seq);

    cr_assert_eq(fake_feed(c, frame, n), n);
}

void fake_pass(struct fake_crowd *f, uint32_t ms)
{
    for (uint32_t passed = 0; passed < ms; passed += WHEEL_STEP_MS) {
        const uint32_t step = ms - passed < WHEEL_STEP_MS ? ms - passed : WHEEL_STEP_MS;
        f->now_ms += step;
        clients_step(&f->all, step);
        clients_reap(&f->all);
    }
}
