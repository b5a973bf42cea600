/* tests/common/test_stream_send.c: bytes that go out at once, from where they lie. */
#include "tests/common/stream_rig.h"

#include "common/err.h"
#include "tests/leak.h"

#include <criterion/criterion.h>
#include <string.h>

static struct span text(const char *s)
{
    return span_text(s);
}

/* What the peer has got by now. */
static void expect_peer(struct rig *r, const char *all)
{
    char got[64] = "";
    size_t n = rig_recv(r, got, sizeof(got));
    cr_assert_eq(n, strlen(all), "%zu bytes", n);
    cr_assert_eq(memcmp(got, all, n), 0);
}

Test(stream_send, pieces_are_there_before_the_turn_ends_and_nothing_is_queued)
{
    struct rig r;
    rig_make(&r, &rig_roomy);
    const struct span pieces[] = {text("one"), text(""), text("two"), text("three")};
    cr_assert_eq(stream_send(r.stream, pieces, 4), 0);
    expect_peer(&r, "onetwothree");
    cr_assert_eq(stream_send(r.stream, pieces, 1), 0);
    expect_peer(&r, "one");
    cr_assert_eq(stream_queued(r.stream), 0);
    cr_assert_eq(stream_counted(r.stream).bytes_out, 14);
    cr_assert_eq(stream_send(r.stream, pieces, 0), 0, "nothing is fine");
    rig_end(&r);
    TEST_NO_LEAKS();
}

Test(stream_send, it_never_overtakes_what_is_queued)
{
    struct rig r;
    rig_make(&r, &rig_roomy);
    const struct span pieces[] = {text("c"), text("d")};
    cr_assert_eq(stream_write(r.stream, text("ab")), 0);
    cr_assert_eq(stream_send(r.stream, pieces, 2), 0);
    cr_assert_eq(stream_write(r.stream, text("ef")), 0);
    cr_assert_eq(stream_queued(r.stream), 6);
    rig_turn(&r);
    expect_peer(&r, "abcdef");
    rig_end(&r);
    TEST_NO_LEAKS();
}

Test(stream_send, what_the_kernel_does_not_take_follows_in_order_however_it_is_cut)
{
    enum { PIECES = 7 };
    struct stream_limits limits = {.keep_max = 64, .sndbuf = 1};
    struct rig r;
    rig_make(&r, &limits);
    size_t total = 400000, got_n = 0;
    uint8_t *bytes = rig_noise(total, 3), *got = calloc(1, total);
    struct span pieces[PIECES];
    for (size_t i = 0; i < PIECES; i++) {
        size_t from = total * i / PIECES, to = total * (i + 1) / PIECES;
        pieces[i] = span_of(bytes + from, to - from);
    }
    cr_assert_eq(stream_send(r.stream, pieces, PIECES), 0);
    cr_assert_gt(stream_queued(r.stream), 0, "more than the kernel takes");
    cr_assert_lt(stream_queued(r.stream), total, "some went at once");
    for (int i = 0; i < 1000 && got_n < total; i++) {
        got_n += rig_recv(&r, got + got_n, total - got_n);
        rig_turn(&r);
    }
    cr_assert(span_equal(span_of(got, got_n), span_of(bytes, total)));
    cr_assert_eq(stream_queued(r.stream), 0);
    free(bytes);
    free(got);
    rig_end(&r);
    TEST_NO_LEAKS();
}

Test(stream_send, above_the_hard_limit_nothing_is_sent)
{
    struct stream_limits limits = {.keep_max = 64, .queue_hard = 10, .sndbuf = 1};
    struct rig r;
    rig_make(&r, &limits);
    const struct span six[] = {text("012"), text("345")}, eleven[] = {text("01234567890")};
    cr_assert_eq(stream_send(r.stream, eleven, 1), E_FULL);
    cr_assert_eq(stream_unsent(r.stream), 0);
    rig_fill(&r);
    cr_assert_eq(stream_send(r.stream, six, 2), 0);
    cr_assert_eq(stream_queued(r.stream), 7, "behind the byte that waits");
    cr_assert_eq(stream_send(r.stream, six, 2), E_FULL);
    cr_assert_eq(stream_queued(r.stream), 7);
    rig_end(&r);
    TEST_NO_LEAKS();
}

Test(stream_send, pressure_is_told_at_the_end_of_the_turn)
{
    struct stream_limits limits = {.keep_max = 64, .queue_soft = 1000, .sndbuf = 1};
    struct rig r;
    rig_make(&r, &limits);
    uint8_t *bytes = rig_noise(300000, 5);
    struct span all = span_of(bytes, 300000);
    cr_assert_eq(stream_send(r.stream, &all, 1), 0);
    cr_assert_gt(stream_queued(r.stream), 1000);
    cr_assert_str_empty(r.pressure);
    rig_turn(&r);
    cr_assert_str_eq(r.pressure, "+");
    for (int i = 0; i < 1000 && stream_queued(r.stream) > 0; i++) {
        static uint8_t sink[65536];
        rig_recv(&r, sink, sizeof(sink));
        rig_turn(&r);
    }
    cr_assert_str_eq(r.pressure, "+-");
    free(bytes);
    rig_end(&r);
    TEST_NO_LEAKS();
}

Test(stream_send, a_connection_that_broke_is_told_at_the_end_of_the_turn)
{
    struct rig r;
    rig_make(&r, &rig_roomy);
    const struct span piece = text("x");
    rig_close_peer(&r, true);
    cr_assert_eq(stream_send(r.stream, &piece, 1), E_CLOSED);
    cr_assert_eq(r.closed, 0);
    rig_turn(&r);
    cr_assert_eq(r.closed, 1);
    cr_assert_eq(stream_send(r.stream, &piece, 1), E_CLOSED);
    rig_end(&r);
    TEST_NO_LEAKS();
}

Test(stream_send, after_finish_nothing_is_sent)
{
    struct rig r;
    rig_make(&r, &rig_roomy);
    const struct span piece = text("x");
    stream_finish(r.stream, CLOCK_NS_PER_S);
    cr_assert_eq(stream_send(r.stream, &piece, 1), E_CLOSED);
    rig_turn(&r);
    cr_assert(rig_at_end(&r));
    rig_end(&r);
    TEST_NO_LEAKS();
}

Test(stream_send, a_drained_queue_keeps_its_buffer_where_the_limits_say_so)
{
    struct stream_limits limits = {.keep_max = 64, .queue_keep = 4096};
    struct rig r;
    rig_make(&r, &limits);
    rig_turn(&r);
    size_t before = rig_allocated();
    cr_assert_eq(stream_write(r.stream, text("ab")), 0);
    rig_turn(&r);
    cr_assert_eq(stream_queued(r.stream), 0);
    cr_assert_gt(rig_allocated(), before);
    size_t kept = rig_allocated();
    for (int i = 0; i < 100; i++) {
        cr_assert_eq(stream_write(r.stream, text("cd")), 0);
        rig_turn(&r);
    }
    cr_assert_eq(rig_allocated(), kept, "the same one again and again");
    stream_finish(r.stream, CLOCK_NS_PER_S);
    rig_turn(&r);
    static char got[300];
    cr_assert_eq(rig_recv(&r, got, sizeof(got)), 202);
    cr_assert(rig_at_end(&r), "an empty queue that is kept does not hold up the end");
    rig_end(&r);
    TEST_NO_LEAKS();
}
