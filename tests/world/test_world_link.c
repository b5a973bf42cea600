/* tests/world/test_world_link.c: gateways at the world's edge, over real sockets in one loop.
 * A fake gateway says what a test wants; the world behind the edge is the real one. Its limits are
 * in test_world_link_limits.c. Source: PROTOCOL.md, "Between gateway and world".
 */
#include "common/err.h"
#include "tests/leak.h"
#include "tests/world/edge_rig.h"

#include <criterion/criterion.h>
#include <string.h>

static bool id_is(struct span id, const char *start)
{
    return id.n >= strlen(start) && memcmp(id.p, start, strlen(start)) == 0;
}

/* --- coming up ---------------------------------------------------------------------------------
 */

Test(world_link, a_hello_is_answered_with_the_worlds_own)
{
    struct edge r;
    struct link_frame f;

    edge_init(&r, "30s");
    struct gate *g = gate_create(&r);
    gate_say_hello(g, "gate-1");
    gate_wait(g, LINK_HELLO, &f);
    cr_expect_eq(f.version, LINK_VERSION);
    cr_expect(id_is(f.id, "world-"));
    cr_expect_eq(r.metrics.ups, 1);
    cr_expect_eq(r.metrics.connections, 1);
    cr_expect_eq(r.world->sessions.links_slots.live, 1);
    gate_destroy(g);
    edge_until(&r, &r.metrics.ended_eof, 1);
    cr_expect_eq(r.metrics.connections, 0);
    cr_expect_eq(r.world->sessions.links_slots.live, 0);
    edge_fini(&r);
    TEST_NO_LEAKS();
}

Test(world_link, frames_may_come_in_any_pieces)
{
    struct edge r;
    struct link_frame f;
    uint8_t bytes[GATE_SENT_MAX];
    struct span_writer w = span_writer_of(bytes, sizeof(bytes));

    edge_init(&r, "30s");
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
    edge_fini(&r);
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
    struct edge r;

    edge_init(&r, "30s");
    for (size_t i = 0; i < ARRAY_LEN(strangers); i++) {
        struct gate *g = gate_create(&r);
        gate_write(g, strangers[i].bytes, strangers[i].n);
        edge_until(&r, &r.metrics.ended_no_hello, i + 1);
        edge_until_true(&r, &g->over);
        cr_expect_eq(g->n_kept, 0);
        gate_destroy(g);
    }
    cr_expect_eq(r.metrics.ups, 0);
    edge_fini(&r);
    TEST_NO_LEAKS();
}

Test(world_link, whoever_says_nothing_is_closed_after_the_link_timeout)
{
    struct edge r;

    edge_init(&r, "50ms");
    struct gate *g = gate_create(&r);
    edge_until(&r, &r.metrics.ended_no_hello, 1);
    edge_until_true(&r, &g->over);
    gate_destroy(g);
    edge_fini(&r);
    TEST_NO_LEAKS();
}

Test(world_link, another_version_is_told_ours_and_closed)
{
    /* [0, the next version, "g", bin 0] */
    static const uint8_t next[] = {0, 0, 0, 7, 0x94, 0, LINK_VERSION + 1, 0xa1, 'g', 0xc4, 0};
    struct edge r;
    struct link_frame f;

    edge_init(&r, "30s");
    struct gate *g = gate_create(&r);
    gate_write(g, next, sizeof(next));
    gate_wait(g, LINK_HELLO, &f);
    cr_expect_eq(f.version, LINK_VERSION);
    edge_until_true(&r, &g->over);
    gate_destroy(g);
    edge_until(&r, &r.metrics.ended_version, 1);
    cr_expect_eq(r.metrics.ups, 0);
    edge_fini(&r);
    TEST_NO_LEAKS();
}

Test(world_link, a_new_life_of_a_gateway_replaces_the_old_one)
{
    struct edge r;
    struct link_frame f;
    uint8_t bytes[64];
    struct span_writer w = span_writer_of(bytes, sizeof(bytes));

    edge_init(&r, "30s");
    struct gate *old = gate_up(&r, "gate-1");
    struct gate *new = gate_up(&r, "gate-1");
    edge_until_true(&r, &old->over);
    cr_expect_eq(r.metrics.ended_replaced, 1);
    cr_expect_eq(r.metrics.connections, 1);
    cr_expect_eq(r.world->sessions.links_slots.live, 1);
    link_write_ping(&w, 5);
    gate_write(new, w.p, w.len);
    gate_wait(new, LINK_PONG, &f);
    gate_destroy(old);
    gate_destroy(new);
    edge_fini(&r);
    TEST_NO_LEAKS();
}

/* --- being up ----------------------------------------------------------------------------------
 */

Test(world_link, a_request_is_answered_at_once_without_a_tick)
{
    struct edge r;
    struct link_frame f;
    struct message login = {.cmd = CMD_LOGIN_REQ, .seq = 7};

    edge_init(&r, "30s");
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
    edge_until(&r, &r.metrics.ended_eof, 1);
    world_gauges(r.world);
    cr_expect_eq(r.world->metrics.sessions, 0, "a lost gateway's sessions end");
    edge_fini(&r);
    TEST_NO_LEAKS();
}

Test(world_link, a_silent_gateway_is_pinged_and_then_counts_as_away)
{
    struct edge r;
    struct link_frame f;

    edge_init(&r, "150ms");
    struct gate *g = gate_up(&r, "gate-1");
    gate_wait(g, LINK_PING, &f);
    gate_wait(g, LINK_PING, &f);
    edge_until(&r, &r.metrics.ended_silent, 1);
    edge_until_true(&r, &g->over);
    cr_expect_eq(r.world->sessions.links_slots.live, 0);
    gate_destroy(g);
    edge_fini(&r);
    TEST_NO_LEAKS();
}

static bool says(void *arg)
{
    return *(bool *)arg;
}

Test(world_link, a_world_that_stands_still_reads_nothing_keeps_its_gateways_and_tells_them_so)
{
    struct edge r;
    struct link_frame f;
    struct message login = {.cmd = CMD_LOGIN_REQ, .seq = 1, .login_req.name = span_text("anna")};
    bool may = true;
    uint64_t frames;

    login.login_req.version = PROTO_VERSION;
    edge_init(&r, "150ms");
    world_link_gate(r.link, says, &may);
    struct gate *g = gate_up(&r, "gate-1");
    may = false; /* from now on, though nobody has told the link to stand still */
    frames = r.metrics.link_frames_in;
    gate_request(g, 1, &login);
    for (int i = 0; i < 10; i++)
        loop_turn(r.loop, EDGE_TURN_NS);
    cr_expect_eq(r.metrics.link_frames_in, frames);
    world_link_still(r.link, true);
    for (int i = 0; i < 6; i++) /* twice its timeout, in which it says nothing that is heard */
        gate_wait(g, LINK_PING, &f);
    struct gate *late = gate_create(&r); /* it comes meanwhile */
    gate_say_hello(late, "gate-2");
    for (int i = 0; i < 20; i++)
        loop_turn(r.loop, EDGE_TURN_NS);
    cr_expect_eq(r.metrics.link_frames_in, frames);
    cr_expect_eq(r.metrics.ended_silent + r.metrics.ended_no_hello, 0);
    cr_expect_eq(r.world->sessions.slots.live, 0);
    may = true;
    world_link_still(r.link, false);
    gate_wait(late, LINK_HELLO, &f);
    gate_wait(g, LINK_DATA, &f);
    cr_expect_eq(f.session, 1);
    cr_expect_eq(r.world->sessions.logged, 1);
    gate_destroy(late);
    gate_destroy(g);
    edge_fini(&r);
    TEST_NO_LEAKS();
}

Test(world_link, a_gateway_that_answers_pings_stays)
{
    struct edge r;
    struct link_frame f;

    edge_init(&r, "150ms");
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
    edge_fini(&r);
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
    struct edge r;
    struct link_frame f;
    uint8_t bytes[64];
    struct span_writer w = span_writer_of(bytes, sizeof(bytes));

    edge_init(&r, "30s");
    struct gate *other = gate_up(&r, "gate-2");
    for (size_t i = 0; i < ARRAY_LEN(lies); i++) {
        struct gate *g = gate_up(&r, "gate-1");
        gate_write(g, lies[i].bytes, lies[i].n);
        edge_until(&r, &r.metrics.ended_bad_frame, i + 1);
        edge_until_true(&r, &g->over);
        gate_destroy(g);
    }
    link_write_ping(&w, 1);
    gate_write(other, w.p, w.len);
    gate_wait(other, LINK_PONG, &f);
    gate_destroy(other);
    edge_fini(&r);
    TEST_NO_LEAKS();
}

/* --- the end -----------------------------------------------------------------------------------
 */

static void on_drained(void *arg)
{
    struct edge *r = arg;
    cr_assert(!r->drained, "told once");
    r->drained = true;
}

Test(world_link, at_the_end_links_are_closed_after_what_is_queued)
{
    struct edge r;
    struct link_frame f;
    uint8_t bytes[64];
    struct span_writer w = span_writer_of(bytes, sizeof(bytes));
    struct link_ref ref = {0};

    edge_init(&r, "30s");
    struct gate *g = gate_up(&r, "gate-1");
    struct gate *stranger = gate_create(&r);
    edge_until(&r, &r.metrics.connections, 2);
    cr_assert(sessions_link_named(&r.world->sessions, span_text("gate-1"), &ref));
    link_write_close(&w, 3, 0, span_text("last words"));
    world_link_drain(r.link, ref, span_written(&w));
    world_link_finish(r.link, EDGE_PATIENCE_NS, on_drained, &r);
    gate_wait(g, LINK_CLOSE, &f);
    edge_until_true(&r, &g->over);
    edge_until_true(&r, &stranger->over);
    cr_expect(!r.drained, "the gateway has not closed yet");
    gate_destroy(g);
    edge_until_true(&r, &r.drained);
    cr_expect_eq(r.metrics.ended_draining, 2);
    gate_destroy(stranger);
    edge_fini(&r);
    TEST_NO_LEAKS();
}

Test(world_link, the_end_without_links_is_told_at_once)
{
    struct edge r;

    edge_init(&r, "30s");
    world_link_finish(r.link, EDGE_PATIENCE_NS, on_drained, &r);
    cr_expect(r.drained);
    edge_fini(&r);
    TEST_NO_LEAKS();
}

Test(world_link, a_port_in_use_is_named)
{
    struct edge r, second;
    char why[256];

    edge_init(&r, "30s");
    second = (struct edge){.options = r.options, .loop = r.loop};
    second.options.listen = world_link_addr(r.link);
    cr_assert_eq(world_link_create(r.loop, &second.options, &second.metrics, &second.link), 0);
    cr_assert_eq(world_link_listen(second.link, r.world, why, sizeof(why)), E_IO);
    cr_expect(strstr(why, second.options.listen), "%s", why);
    world_link_destroy(second.link);
    edge_fini(&r);
    TEST_NO_LEAKS();
}
