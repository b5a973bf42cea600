/* tests/common/test_stream_batch.c: what is sent on from bytes that came leaves together, and
 * nobody sees a difference. Where the kernel has no io_uring the same holds one by one. May touch:
 * common/io, sockets.
 */
#include "tests/common/stream_rig.h"

#include "common/err.h"
#include "tests/leak.h"

#include <criterion/criterion.h>
#include <string.h>
#include <sys/resource.h>

#define PEERS 600 /* more than the kernel is handed at once */

static const struct stream_limits batching = {.keep_max = 1 << 20, .batch = true};

/* A source whose bytes go on to others. */
struct relay {
    struct rig source; /* first */
    struct rig *to;    /* [n] */
    uint32_t n;
    void (*act)(struct relay *r, struct span bytes);
};

static size_t on_data(void *arg, struct span bytes)
{
    struct relay *r = arg;
    r->act(r, bytes);
    return bytes.n;
}

static struct relay *relay_make(uint32_t n, const struct stream_limits *limits,
                                void (*act)(struct relay *r, struct span bytes))
{
    struct relay *r = calloc(1, sizeof(*r));
    cr_assert(r);
    rig_make(&r->source, &batching);
    r->source.ops.data = on_data;
    r->to = calloc(n, sizeof(*r->to));
    cr_assert(r->to);
    r->n = n;
    r->act = act;
    for (uint32_t i = 0; i < n; i++)
        rig_make_beside(&r->to[i], &r->source, limits);
    return r;
}

static void relay_end(struct relay *r)
{
    for (uint32_t i = 0; i < r->n; i++)
        rig_end(&r->to[i]);
    rig_end(&r->source);
    free(r->to);
    free(r);
    TEST_NO_LEAKS();
}

static void relay_feed(struct relay *r, const char *text)
{
    rig_send(&r->source, text, strlen(text));
    rig_wait(&r->source);
}

static void expect(struct rig *r, const char *all)
{
    char got[64] = "";
    size_t n = rig_recv(r, got, sizeof(got));
    cr_assert_eq(n, strlen(all), "%zu bytes: %s", n, got);
    cr_assert_eq(memcmp(got, all, n), 0);
}

static void to_all(struct relay *r, struct span bytes)
{
    for (uint32_t i = 0; i < r->n; i++) {
        const struct span pieces[] = {span_of(bytes.p, 2), span_of(bytes.p + 3, bytes.n - 3)};
        cr_assert_eq(stream_send(r->to[i].stream, pieces, 1 + i % 2), 0);
    }
}

Test(stream_batch, each_gets_its_own_by_the_end_of_the_call)
{
    const struct rlimit two_each = {.rlim_cur = 2 * PEERS + 64, .rlim_max = 2 * PEERS + 64};
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &two_each), 0);
    struct relay *r = relay_make(PEERS, &rig_roomy, to_all);
    relay_feed(r, "ab-cdef");
    for (uint32_t i = 0; i < PEERS; i++) {
        expect(&r->to[i], i % 2 ? "abcdef" : "ab");
        cr_assert_eq(stream_counted(r->to[i].stream).bytes_out, i % 2 ? 6 : 2);
        cr_assert_eq(stream_queued(r->to[i].stream), 0);
    }
    cr_assert(stream_batched(r->source.loop) == PEERS || stream_batched(r->source.loop) == 0);
    relay_end(r);
}

static void in_order(struct relay *r, struct span bytes)
{
    const struct span a = span_of(bytes.p, 1), b = span_of(bytes.p + 1, 1);
    struct stream *s = r->to[0].stream;
    uint8_t own[] = "x"; /* gone when the call returns */
    cr_assert_eq(stream_send(s, &a, 1), 0);
    cr_assert_eq(stream_send(s, &b, 1), 0);
    cr_assert_eq(stream_send(s, &(struct span){own, 1}, 1), 0);
    own[0] = '?';
    cr_assert_eq(stream_send(s, &a, 1), 0);
    cr_assert_eq(stream_write(s, b), 0);
    cr_assert_eq(stream_send(s, &a, 1), 0);
}

Test(stream_batch, a_stream_s_own_bytes_keep_their_order)
{
    struct relay *r = relay_make(1, &rig_roomy, in_order);
    relay_feed(r, "ab");
    rig_turn(&r->source);
    expect(&r->to[0], "abxaba");
    relay_end(r);
}

#define LARGE 300000
static void large_to_all(struct relay *r, struct span bytes)
{
    for (uint32_t i = 0; i < r->n; i++)
        cr_assert_eq(stream_send(r->to[i].stream, &bytes, 1), 0);
}

Test(stream_batch, what_the_kernel_does_not_take_follows)
{
    static const struct stream_limits tight = {.keep_max = 64, .sndbuf = 1};
    struct relay *r = relay_make(3, &tight, large_to_all);
    uint8_t *noise = rig_noise(LARGE, 5), *got = malloc(2 * LARGE);
    size_t fed = 0, n[3] = {0};
    cr_assert(got);
    for (int round = 0; round < 10000 && (fed < LARGE || n[0] + n[1] + n[2] < 3 * LARGE); round++) {
        if (fed < LARGE)
            fed += rig_try_send(&r->source, noise + fed, LARGE - fed);
        rig_turn(&r->source);
        for (int i = 0; i < 3; i++) {
            size_t came = rig_recv(&r->to[i], got, LARGE);
            cr_assert_leq(n[i] + came, LARGE);
            cr_assert_eq(memcmp(got, noise + n[i], came), 0);
            n[i] += came;
        }
    }
    for (int i = 0; i < 3; i++) {
        cr_assert_eq(n[i], LARGE);
        cr_assert_eq(stream_queued(r->to[i].stream), 0);
    }
    free(noise);
    free(got);
    relay_end(r);
}

static void send_and_end(struct relay *r, struct span bytes)
{
    for (uint32_t i = 0; i < r->n; i++)
        cr_assert_eq(stream_send(r->to[i].stream, &bytes, 1), 0);
    stream_destroy(r->to[0].stream);
    r->to[0].stream = NULL;
    stream_finish(r->to[1].stream, 1);
    cr_assert_eq(stream_send(r->to[1].stream, &bytes, 1), E_CLOSED);
    stream_abort(r->to[2].stream);
    r->to[2].stream = NULL;
}

Test(stream_batch, a_stream_that_ends_has_sent_what_came_before)
{
    struct relay *r = relay_make(4, &rig_roomy, send_and_end);
    relay_feed(r, "last");
    rig_turn(&r->source);
    expect(&r->to[0], "last");
    cr_assert(rig_at_end(&r->to[0]));
    expect(&r->to[1], "last");
    cr_assert(rig_at_end(&r->to[1]));
    expect(&r->to[3], "last");
    relay_end(r);
}

static void try_all(struct relay *r, struct span bytes)
{
    for (uint32_t i = 0; i < r->n; i++) {
        int err = stream_send(r->to[i].stream, &bytes, 1);
        cr_assert(err == 0 || (i == 1 && err == E_CLOSED));
    }
}

Test(stream_batch, a_peer_that_is_gone_ends_its_stream_alone)
{
    struct relay *r = relay_make(3, &rig_roomy, try_all);
    rig_close_peer(&r->to[1], true);
    relay_feed(r, "hello");
    rig_turn(&r->source);
    cr_assert_eq(r->to[1].closed, 1);
    expect(&r->to[0], "hello");
    expect(&r->to[2], "hello");
    relay_end(r);
}
