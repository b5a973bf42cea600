/* tests/world/test_world_link.c: gateways at the world's edge, over real sockets in one loop.
 * A fake gateway says what a test wants; the world behind the edge is the real one.
 * Source: PROTOCOL.md, "Between gateway and world".
 */
#include "world/edge/world_link.h"

#include "common/err.h"
#include "common/io/net.h"
#include "common/io/stream.h"
#include "common/log.h"
#include "proto/frame.h"
#include "proto/link.h"
#include "tests/leak.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define PATIENCE_NS (20 * CLOCK_NS_PER_S) /* a test that waits longer has failed */
#define TURN_NS     (20 * CLOCK_NS_PER_MS)
#define KEPT_BYTES  65536
#define SENT_MAX    4096

struct rig {
    struct loop *loop;
    struct opts *texts;
    struct world_options options;
    struct edge_metrics metrics;
    struct world_link *link;
    struct world *world;
    bool drained;
};

/* A fake gateway. */
struct gate {
    struct rig *rig;
    struct net_dialer *dialer;
    struct stream *stream;
    bool over; /* the world closed */
    uint8_t kept[KEPT_BYTES];
    size_t n_kept;
    uint8_t frame[KEPT_BYTES]; /* the last frame that was waited for */
};

static const struct stream_limits gate_limits = {.keep_max = KEPT_BYTES};

/* --- the world ---------------------------------------------------------------------------------
 */

static void rig_init(struct rig *r, const char *link_timeout)
{
    char timeout[64];
    char *argv[] = {"aegis",
                    "-listen=127.0.0.1:0",
                    "-max-entities=64",
                    "-max-pairs=65536",
                    "-link-queue-soft=1MiB",
                    "-link-queue-hard=16MiB",
                    timeout};
    char why[256];
    int argc = ARRAY_LEN(argv);

    *r = (struct rig){0};
    log_init("test", LOG_OFF, LOG_TEXT);
    snprintf(timeout, sizeof(timeout), "-link-timeout=%s", link_timeout);
    cr_assert_eq(opts_parse(world_opts_table, world_opts_count, &r->options, argc, argv, &r->texts,
                            why, sizeof(why)),
                 OPTS_OK, "%s", why);
    cr_assert_eq(world_opts_check(&r->options, why, sizeof(why)), 0, "%s", why);
    cr_assert_eq(loop_create(&r->loop), 0);
    cr_assert_eq(world_link_create(r->loop, &r->options, &r->metrics, &r->link), 0);
    struct world_ops ops = {.drain = world_link_drain, .arg = r->link};
    cr_assert_eq(world_create(&r->options.core, &ops, &r->world, why, sizeof(why)), 0, "%s", why);
    cr_assert_eq(world_link_listen(r->link, r->world, why, sizeof(why)), 0, "%s", why);
}

static void rig_fini(struct rig *r)
{
    world_link_destroy(r->link);
    world_destroy(r->world);
    loop_destroy(r->loop);
    opts_destroy(r->texts);
}

/* Turn until `counter` is `value`. */
static void turn_until(struct rig *r, const uint64_t *counter, uint64_t value)
{
    struct mono until = clock_add(clock_mono(), PATIENCE_NS);

    while (*counter != value) {
        cr_assert_lt(clock_since(clock_mono(), until), 0, "waited too long for a counter: %lu",
                     (unsigned long)*counter);
        loop_turn(r->loop, TURN_NS);
    }
}

static void turn_until_true(struct rig *r, const bool *flag)
{
    struct mono until = clock_add(clock_mono(), PATIENCE_NS);

    while (!*flag) {
        cr_assert_lt(clock_since(clock_mono(), until), 0, "waited too long");
        loop_turn(r->loop, TURN_NS);
    }
}

/* --- a fake gateway ----------------------------------------------------------------------------
 */

static size_t gate_data(void *arg, struct span bytes)
{
    struct gate *g = arg;

    cr_assert_leq(bytes.n, sizeof(g->kept) - g->n_kept, "the gate keeps no more");
    memcpy(g->kept + g->n_kept, bytes.p, bytes.n);
    g->n_kept += bytes.n;
    return bytes.n;
}

static void gate_closed(void *arg, enum stream_end why)
{
    struct gate *g = arg;
    (void)why;
    g->over = true;
}

static const struct stream_ops gate_ops = {.data = gate_data, .closed = gate_closed};

static void gate_dialed(void *arg, int fd, int err)
{
    struct gate *g = arg;

    cr_assert_geq(fd, 0, "%s", strerror(err));
    cr_assert_eq(stream_create(g->rig->loop, fd, &gate_limits, &gate_ops, g, &g->stream), 0);
}

static struct gate *gate_create(struct rig *r)
{
    struct gate *g = calloc(1, sizeof(*g));
    struct mono until = clock_add(clock_mono(), PATIENCE_NS);

    g->rig = r;
    cr_assert_eq(
        net_dial(r->loop, world_link_addr(r->link), PATIENCE_NS, gate_dialed, g, &g->dialer), 0);
    while (!g->stream) {
        cr_assert_lt(clock_since(clock_mono(), until), 0, "no connection");
        loop_turn(r->loop, TURN_NS);
    }
    return g;
}

static void gate_destroy(struct gate *g)
{
    net_dialer_destroy(g->dialer);
    stream_destroy(g->stream);
    free(g);
}

static void gate_write(struct gate *g, const void *bytes, size_t n)
{
    cr_assert_eq(stream_write(g->stream, span_of(bytes, n)), 0);
}

static void gate_say_hello(struct gate *g, const char *id)
{
    uint8_t bytes[SENT_MAX];
    struct span_writer w = span_writer_of(bytes, sizeof(bytes));

    link_write_hello(&w, span_text(id), span_text(""));
    gate_write(g, w.p, w.len);
}

/* Open a session and send one body in it. */
static void gate_request(struct gate *g, uint64_t session, const struct message *m)
{
    uint8_t body[SENT_MAX], bytes[SENT_MAX];
    struct span_writer b = span_writer_of(body, sizeof(body));
    struct span_writer w = span_writer_of(bytes, sizeof(bytes));
    struct span written;

    message_write(&b, m);
    written = span_written(&b);
    link_write_open(&w, session, span_text("192.0.2.1:5"));
    link_write_data(&w, session, &written, 1);
    gate_write(g, w.p, w.len);
}

/* The next frame of this kind; others before it are dropped. */
static void gate_wait(struct gate *g, enum link_kind kind, struct link_frame *f)
{
    struct mono until = clock_add(clock_mono(), PATIENCE_NS);

    for (;;) {
        struct span body;
        size_t used;
        int err = frame_split(span_of(g->kept, g->n_kept), LINK_FRAME_MAX, &body, &used);

        if (err == 0) {
            memcpy(g->frame, body.p, body.n);
            body.p = g->frame;
            memmove(g->kept, g->kept + used, g->n_kept - used);
            g->n_kept -= used;
            cr_assert_eq(link_read(body, f), 0);
            if (f->kind == kind)
                return;
            continue;
        }
        cr_assert_eq(err, E_SHORT);
        cr_assert(!g->over, "closed before frame kind %d", (int)kind);
        cr_assert_lt(clock_since(clock_mono(), until), 0, "no frame of kind %d", (int)kind);
        loop_turn(g->rig->loop, TURN_NS);
    }
}

static struct gate *gate_up(struct rig *r, const char *id)
{
    struct gate *g = gate_create(r);
    struct link_frame f;

    gate_say_hello(g, id);
    gate_wait(g, LINK_HELLO, &f);
    return g;
}

static bool id_is(struct span id, const char *start)
{
    return id.n >= strlen(start) && memcmp(id.p, start, strlen(start)) == 0;
}

/* --- coming up ---------------------------------------------------------------------------------
 */

Test(world_link, a_hello_is_answered_with_the_worlds_own)
{
    struct rig r;
    struct link_frame f;

    rig_init(&r, "30s");
    struct gate *g = gate_create(&r);
    gate_say_hello(g, "gate-1");
    gate_wait(g, LINK_HELLO, &f);
    cr_expect_eq(f.version, LINK_VERSION);
    cr_expect(id_is(f.id, "world-"));
    cr_expect_eq(r.metrics.ups, 1);
    cr_expect_eq(r.metrics.connections, 1);
    cr_expect_eq(r.world->sessions.links_slots.live, 1);
    gate_destroy(g);
    turn_until(&r, &r.metrics.ended_eof, 1);
    cr_expect_eq(r.metrics.connections, 0);
    cr_expect_eq(r.world->sessions.links_slots.live, 0);
    rig_fini(&r);
    TEST_NO_LEAKS();
}

Test(world_link, frames_may_come_in_any_pieces)
{
    struct rig r;
    struct link_frame f;
    uint8_t bytes[SENT_MAX];
    struct span_writer w = span_writer_of(bytes, sizeof(bytes));

    rig_init(&r, "30s");
    struct gate *g = gate_create(&r);
    link_write_hello(&w, span_text("gate-1"), span_text(""));
    link_write_ping(&w, 1);
    link_write_ping(&w, UINT64_MAX);
    for (size_t i = 0; i < w.len; i++) {
        gate_write(g, bytes + i, 1);
        loop_turn(r.loop, 0);
    }
    gate_wait(g, LINK_PONG, &f);
    cr_expect_eq(f.number, 1);
    gate_wait(g, LINK_PONG, &f);
    cr_expect_eq(f.number, UINT64_MAX);
    cr_expect_eq(r.metrics.link_frames_in, 3);
    cr_expect_eq(r.metrics.link_bytes_in, w.len);
    gate_destroy(g);
    rig_fini(&r);
    TEST_NO_LEAKS();
}

Test(world_link, whoever_cannot_say_hello_is_closed)
{
    static const struct {
        const char *bytes;
        size_t n;
    } strangers[] = {
        {"GET / HTTP/1.1\r\n\r\n", 18},
        {"\0\0\0\0", 4},
        {"\0\0\0\1\xc0", 5},
        {"\0\0\0\3\x92\6\1", 7},
        {"\x7f\xff\xff\xff", 4},
        {"\0\0\0\5\x94\0\1\xa0\xc4", 9},
        {"\0\0\0\6\x94\0\1\xa0\xc4\0", 10}, /* no id */
    };
    struct rig r;

    rig_init(&r, "30s");
    for (size_t i = 0; i < ARRAY_LEN(strangers); i++) {
        struct gate *g = gate_create(&r);
        gate_write(g, strangers[i].bytes, strangers[i].n);
        turn_until(&r, &r.metrics.ended_no_hello, i + 1);
        turn_until_true(&r, &g->over);
        cr_expect_eq(g->n_kept, 0);
        gate_destroy(g);
    }
    cr_expect_eq(r.metrics.ups, 0);
    rig_fini(&r);
    TEST_NO_LEAKS();
}

Test(world_link, whoever_says_nothing_is_closed_after_the_link_timeout)
{
    struct rig r;

    rig_init(&r, "50ms");
    struct gate *g = gate_create(&r);
    turn_until(&r, &r.metrics.ended_no_hello, 1);
    turn_until_true(&r, &g->over);
    gate_destroy(g);
    rig_fini(&r);
    TEST_NO_LEAKS();
}

Test(world_link, another_version_is_told_ours_and_closed)
{
    /* [0, 2, "g", bin 0] */
    static const uint8_t hello2[] = {0, 0, 0, 7, 0x94, 0, 2, 0xa1, 'g', 0xc4, 0};
    struct rig r;
    struct link_frame f;

    rig_init(&r, "30s");
    struct gate *g = gate_create(&r);
    gate_write(g, hello2, sizeof(hello2));
    gate_wait(g, LINK_HELLO, &f);
    cr_expect_eq(f.version, LINK_VERSION);
    turn_until_true(&r, &g->over);
    gate_destroy(g);
    turn_until(&r, &r.metrics.ended_version, 1);
    cr_expect_eq(r.metrics.ups, 0);
    rig_fini(&r);
    TEST_NO_LEAKS();
}

Test(world_link, a_new_life_of_a_gateway_replaces_the_old_one)
{
    struct rig r;
    struct link_frame f;
    uint8_t bytes[64];
    struct span_writer w = span_writer_of(bytes, sizeof(bytes));

    rig_init(&r, "30s");
    struct gate *old = gate_up(&r, "gate-1");
    struct gate *new = gate_up(&r, "gate-1");
    turn_until_true(&r, &old->over);
    cr_expect_eq(r.metrics.ended_replaced, 1);
    cr_expect_eq(r.metrics.connections, 1);
    cr_expect_eq(r.world->sessions.links_slots.live, 1);
    link_write_ping(&w, 5);
    gate_write(new, w.p, w.len);
    gate_wait(new, LINK_PONG, &f);
    gate_destroy(old);
    gate_destroy(new);
    rig_fini(&r);
    TEST_NO_LEAKS();
}

/* --- being up ----------------------------------------------------------------------------------
 */

Test(world_link, a_request_is_answered_at_once_without_a_tick)
{
    struct rig r;
    struct link_frame f;
    struct message login = {.cmd = CMD_LOGIN_REQ, .seq = 7};

    rig_init(&r, "30s");
    struct gate *g = gate_up(&r, "gate-1");
    login.login_req.name = span_text("alpha");
    login.login_req.version = PROTO_VERSION;
    gate_request(g, 11, &login);
    gate_wait(g, LINK_DATA, &f);
    cr_expect_eq(f.session, 11);
    cr_expect_eq(f.n_bodies, 1);
    cr_expect_eq(r.world->metrics.logins, 1);
    cr_expect_eq(r.world->tick, 0);
    gate_destroy(g);
    turn_until(&r, &r.metrics.ended_eof, 1);
    world_gauges(r.world);
    cr_expect_eq(r.world->metrics.sessions, 0, "a lost gateway's sessions end");
    rig_fini(&r);
    TEST_NO_LEAKS();
}

Test(world_link, a_silent_gateway_is_pinged_and_then_counts_as_away)
{
    struct rig r;
    struct link_frame f;

    rig_init(&r, "150ms");
    struct gate *g = gate_up(&r, "gate-1");
    gate_wait(g, LINK_PING, &f);
    gate_wait(g, LINK_PING, &f);
    turn_until(&r, &r.metrics.ended_silent, 1);
    turn_until_true(&r, &g->over);
    cr_expect_eq(r.world->sessions.links_slots.live, 0);
    gate_destroy(g);
    rig_fini(&r);
    TEST_NO_LEAKS();
}

Test(world_link, a_gateway_that_answers_pings_stays)
{
    struct rig r;
    struct link_frame f;

    rig_init(&r, "150ms");
    struct gate *g = gate_up(&r, "gate-1");
    for (int i = 0; i < 6; i++) {
        uint8_t bytes[64];
        struct span_writer w = span_writer_of(bytes, sizeof(bytes));
        gate_wait(g, LINK_PING, &f);
        link_write_pong(&w, f.number);
        gate_write(g, w.p, w.len);
    }
    cr_expect_eq(r.metrics.ended_silent, 0);
    cr_expect(!g->over);
    gate_destroy(g);
    rig_fini(&r);
    TEST_NO_LEAKS();
}

Test(world_link, a_frame_that_is_none_ends_the_link_and_no_other)
{
    static const struct {
        const char *bytes;
        size_t n;
    } lies[] = {
        {"\0\0\0\0", 4},                     /* an empty frame */
        {"\x7f\xff\xff\xff", 4},             /* too long a frame */
        {"\0\0\0\1\xc0", 5},                 /* nil */
        {"\0\0\0\3\x92\6\xc0", 7},           /* a ping without a number */
        {"\0\0\0\7\x94\0\1\xa1g\xc4\0", 11}, /* a second hello */
        {"\0\0\0\6\x93\3\x91\1\xc4\0", 10},  /* data to many, from a gateway */
    };
    struct rig r;
    struct link_frame f;
    uint8_t bytes[64];
    struct span_writer w = span_writer_of(bytes, sizeof(bytes));

    rig_init(&r, "30s");
    struct gate *other = gate_up(&r, "gate-2");
    for (size_t i = 0; i < ARRAY_LEN(lies); i++) {
        struct gate *g = gate_up(&r, "gate-1");
        gate_write(g, lies[i].bytes, lies[i].n);
        turn_until(&r, &r.metrics.ended_bad_frame, i + 1);
        turn_until_true(&r, &g->over);
        gate_destroy(g);
    }
    link_write_ping(&w, 1);
    gate_write(other, w.p, w.len);
    gate_wait(other, LINK_PONG, &f);
    gate_destroy(other);
    rig_fini(&r);
    TEST_NO_LEAKS();
}

/* --- limits and the end ------------------------------------------------------------------------
 */

Test(world_link, a_gateway_that_does_not_read_is_pressed_and_then_closed_alone)
{
    struct rig r;
    struct link_frame f;
    size_t n = 1u << 20;
    uint8_t *bytes = calloc(1, n);
    uint8_t ping[64];
    struct span_writer w = span_writer_of(ping, sizeof(ping));

    rig_init(&r, "30s");
    struct gate *deaf = gate_up(&r, "gate-1");
    struct link_ref ref = {0};
    cr_assert(sessions_link_named(&r.world->sessions, span_text("gate-1"), &ref));
    struct gate *other = gate_up(&r, "gate-2");
    stream_read_pause(deaf->stream, true);
    loop_turn(r.loop, 0);
    /* More than the kernel takes on top of the hard limit. */
    for (int i = 0; i < 64 && r.metrics.link_bytes_lost == 0; i++) {
        world_link_drain(r.link, ref, span_of(bytes, n));
        cr_assert_eq(r.metrics.ended_queue_full, 0, "nothing ends inside a drain");
        if (i % 8 == 7)
            loop_turn(r.loop, 0);
    }
    cr_expect_eq(r.metrics.link_presses, 1);
    cr_expect_eq(r.metrics.links_pressed, 1);
    world_link_gauges(r.link);
    cr_expect_gt(r.metrics.link_queue_bytes, r.options.link_queue_soft);
    cr_expect_leq(r.metrics.link_queue_most, r.options.link_queue_hard);
    turn_until(&r, &r.metrics.ended_queue_full, 1);
    cr_expect_eq(r.metrics.links_pressed, 0);
    /* What the core still makes for it is dropped, and counted. */
    uint64_t lost = r.metrics.link_bytes_lost;
    world_link_drain(r.link, ref, span_of(bytes, 10));
    cr_expect_eq(r.metrics.link_bytes_lost, lost + 10);

    link_write_ping(&w, 1);
    gate_write(other, w.p, w.len);
    gate_wait(other, LINK_PONG, &f);
    gate_destroy(deaf);
    gate_destroy(other);
    rig_fini(&r);
    free(bytes);
    TEST_NO_LEAKS();
}

static void on_drained(void *arg)
{
    struct rig *r = arg;
    cr_assert(!r->drained, "told once");
    r->drained = true;
}

Test(world_link, at_the_end_links_are_closed_after_what_is_queued)
{
    struct rig r;
    struct link_frame f;
    uint8_t bytes[64];
    struct span_writer w = span_writer_of(bytes, sizeof(bytes));
    struct link_ref ref = {0};

    rig_init(&r, "30s");
    struct gate *g = gate_up(&r, "gate-1");
    struct gate *stranger = gate_create(&r);
    turn_until(&r, &r.metrics.connections, 2);
    cr_assert(sessions_link_named(&r.world->sessions, span_text("gate-1"), &ref));
    link_write_close(&w, 3, 0, span_text("last words"));
    world_link_drain(r.link, ref, span_written(&w));
    world_link_finish(r.link, PATIENCE_NS, on_drained, &r);
    gate_wait(g, LINK_CLOSE, &f);
    turn_until_true(&r, &g->over);
    turn_until_true(&r, &stranger->over);
    cr_expect(!r.drained, "the gateway has not closed yet");
    gate_destroy(g);
    turn_until_true(&r, &r.drained);
    cr_expect_eq(r.metrics.ended_draining, 2);
    gate_destroy(stranger);
    rig_fini(&r);
    TEST_NO_LEAKS();
}

Test(world_link, the_end_without_links_is_told_at_once)
{
    struct rig r;

    rig_init(&r, "30s");
    world_link_finish(r.link, PATIENCE_NS, on_drained, &r);
    cr_expect(r.drained);
    rig_fini(&r);
    TEST_NO_LEAKS();
}

Test(world_link, a_port_in_use_is_named)
{
    struct rig r, second;
    char why[256];

    rig_init(&r, "30s");
    second = (struct rig){.options = r.options, .loop = r.loop};
    second.options.listen = world_link_addr(r.link);
    cr_assert_eq(world_link_create(r.loop, &second.options, &second.metrics, &second.link), 0);
    cr_assert_eq(world_link_listen(second.link, r.world, why, sizeof(why)), E_IO);
    cr_expect(strstr(why, second.options.listen), "%s", why);
    world_link_destroy(second.link);
    rig_fini(&r);
    TEST_NO_LEAKS();
}
