/* tests/gateway/test_uplink_key.c: a link with a key, seen from the gateway; a fake world. */
#include "common/parts.h"
#include "gateway/uplink.h"
#include "tests/gateway/fake.h"

#include <criterion/criterion.h>
#include <string.h>

#ifdef AEGIS_PART_LIBCRYPTO

#define KEY   "0123456789abcdef"
#define OTHER "fedcba9876543210"

struct keyed {
    struct uplink u;
    struct keys keys;
    struct gateway_metrics metrics;
    struct stream conn;
    struct link_meeting meeting; /* as the fake world sees it */
    struct mono now;
    uint32_t ready, lost;
    uint8_t random; /* the next "random" byte */
};

static struct keyed k;

static int on_dial(void *arg)
{
    (void)arg;
    return 0;
}

static void on_cancel(void *arg)
{
    (void)arg;
}

static void on_secret(void *out, size_t n)
{
    memset(out, ++k.random, n);
}

static void on_ready(void *arg)
{
    (void)arg;
    k.ready++;
}

static void on_lost(void *arg, const char *reason)
{
    (void)arg;
    (void)reason;
    k.lost++;
}

static void on_frame(void *arg, const struct link_frame *f)
{
    (void)arg;
    cr_assert_fail("a frame of kind %d came through", (int)f->kind);
}

static void on_settle(void *arg)
{
    (void)arg;
}

static const struct uplink_ops OPS = {
    .dial = on_dial, .dial_cancel = on_cancel, .secret = on_secret};
static const struct uplink_user USER = {
    .ready = on_ready, .lost = on_lost, .frame = on_frame, .settle = on_settle};

static void setup(void)
{
    fake_quiet();
    memset(&k, 0, sizeof(k));
    k.now = (struct mono){1000 * CLOCK_NS_PER_S};
    keys_init(&k.keys, "test");
    memcpy(k.keys.list[0].bytes, KEY, strlen(KEY));
    k.keys.list[0].n = strlen(KEY);
    memcpy(k.keys.list[1].bytes, OTHER, strlen(OTHER));
    k.keys.list[1].n = strlen(OTHER);
    k.keys.n = 2;
    k.u.upstream = "127.0.0.1:19002";
    k.u.id = span_text("gw");
    k.u.keys = &k.keys;
    k.u.silence_ns = 3 * CLOCK_NS_PER_S;
    k.u.conn_ops = &fake_conn_ops;
    k.u.ops = &OPS;
    k.u.user = &USER;
    k.u.metrics = &k.metrics;
    uplink_init(&k.u, 7);
}

static void teardown(void)
{
    uplink_fini(&k.u);
    fake_conn_fini(&k.conn);
    keys_fini(&k.keys);
}

TestSuite(uplink_key, .init = setup, .fini = teardown);

static void feed(const struct span_writer *w)
{
    (void)uplink_stream_ops.data(&k.u, span_written(w));
}

static void feed_hello(struct span nonce)
{
    uint8_t buf[256];
    struct span_writer w = span_writer_of(buf, sizeof(buf));

    link_write_hello(&w, span_text("world"), nonce);
    feed(&w);
}

static void feed_proof(const char *key, enum link_side side)
{
    uint8_t buf[256], proof[LINK_PROOF_BYTES];
    struct span_writer w = span_writer_of(buf, sizeof(buf));

    link_proof(proof, span_text(key), side, &k.meeting);
    link_write_proof(&w, span_of(proof, sizeof(proof)));
    feed(&w);
}

/* Dialled; its hello is read. */
static void meet(void)
{
    struct link_frame f;

    while (k.u.state != UPLINK_DIALLING) {
        k.now = clock_add(k.now, 100 * CLOCK_NS_PER_MS);
        uplink_step(&k.u, k.now);
    }
    fake_conn_fini(&k.conn);
    uplink_connected(&k.u, &k.conn);
    cr_assert(fake_link_told(&k.conn, &f));
    cr_assert_eq(f.kind, LINK_HELLO);
    if (f.key.n == LINK_NONCE_BYTES)
        memcpy(k.meeting.gateway_nonce, f.key.p, LINK_NONCE_BYTES);
    memset(k.meeting.world_nonce, 0x77, LINK_NONCE_BYTES);
    k.meeting.gateway_id = span_text("gw");
    k.meeting.world_id = span_text("world");
}

/* And it has shown its key. */
static void meet_and_be_shown(void)
{
    struct link_frame f;

    meet();
    feed_hello(span_of(k.meeting.world_nonce, LINK_NONCE_BYTES));
    cr_assert(fake_link_told(&k.conn, &f));
    cr_assert_eq(f.kind, LINK_PROOF);
    cr_assert(link_proof_good(f.key, span_text(KEY), LINK_SIDE_GATEWAY, &k.meeting),
              "by the first of its keys");
    cr_assert_eq(k.metrics.link_ups, k.lost);
    cr_assert_not(uplink_ready(&k.u));
}

static void must_be_refused(void)
{
    cr_assert_eq(k.u.state, UPLINK_IDLE);
    cr_assert_eq(k.metrics.down_key, 1);
    cr_assert_eq(k.metrics.down_bad_frame, 0);
    cr_assert_eq(k.ready + k.lost, 0);
    cr_assert_eq(k.u.key.n, 0, "no secret is left behind");
}

Test(uplink_key, both_show_that_they_have_it_and_only_then_the_link_is_up)
{
    meet_and_be_shown();
    feed_proof(KEY, LINK_SIDE_WORLD);
    cr_assert(uplink_ready(&k.u));
    cr_assert_eq(k.ready, 1);
    cr_assert_eq(k.u.key.n, 0);
}

Test(uplink_key, each_meeting_has_a_nonce_of_its_own_so_that_an_old_proof_is_worth_nothing)
{
    const struct link_meeting first = (meet_and_be_shown(), k.meeting);

    feed_proof(KEY, LINK_SIDE_WORLD);
    uplink_stream_ops.closed(&k.u, STREAM_RESET);
    meet_and_be_shown();
    cr_assert_neq(memcmp(first.gateway_nonce, k.meeting.gateway_nonce, LINK_NONCE_BYTES), 0);
    k.meeting = first;
    feed_proof(KEY, LINK_SIDE_WORLD);
    cr_assert_eq(k.u.state, UPLINK_IDLE);
    cr_assert_eq(k.metrics.down_key, 1);
}

Test(uplink_key, a_world_that_has_another_key_is_left)
{
    meet_and_be_shown();
    feed_proof(OTHER, LINK_SIDE_WORLD);
    must_be_refused();
}

Test(uplink_key, a_world_that_says_our_own_proof_back_is_left)
{
    meet_and_be_shown();
    feed_proof(KEY, LINK_SIDE_GATEWAY);
    must_be_refused();
}

Test(uplink_key, a_world_without_a_key_is_left)
{
    meet();
    feed_hello((struct span){0});
    must_be_refused();
}

Test(uplink_key, a_nonce_of_another_length_is_none)
{
    meet();
    feed_hello(span_of(k.meeting.world_nonce, LINK_NONCE_BYTES - 1));
    must_be_refused();
}

Test(uplink_key, a_world_that_wants_one_of_a_gateway_without_is_left)
{
    k.u.keys = NULL;
    meet();
    feed_hello(span_of(k.meeting.world_nonce, LINK_NONCE_BYTES));
    must_be_refused();
}

Test(uplink_key, a_world_that_closes_at_our_proof_has_refused_it)
{
    meet_and_be_shown();
    uplink_stream_ops.closed(&k.u, STREAM_EOF);
    must_be_refused();
}

Test(uplink_key, nothing_goes_before_the_proof)
{
    uint8_t buf[64];
    struct span_writer w = span_writer_of(buf, sizeof(buf));

    meet_and_be_shown();
    link_write_ping(&w, 1);
    feed(&w);
    cr_assert_eq(k.u.state, UPLINK_IDLE);
    cr_assert_eq(k.metrics.down_bad_frame, 1);
}

Test(uplink_key, a_world_that_never_proves_is_away_after_the_link_timeout)
{
    meet_and_be_shown();
    for (int i = 0; i < 31; i++) {
        k.now = clock_add(k.now, 100 * CLOCK_NS_PER_MS);
        if (k.u.state == UPLINK_PROOF)
            uplink_step(&k.u, k.now);
    }
    cr_assert_eq(k.u.state, UPLINK_IDLE);
    cr_assert_eq(k.metrics.down_silent, 1);
}

#endif
