/* tests/common/test_stream.c: a socket with limits both ways: reading, keeping, writing, pressure.
 * How it ends is in test_stream_end.c. The peer is the other end of a socketpair, in the same
 * thread, so each turn's outcome is certain.
 */
#include "tests/common/stream_rig.h"

#include "common/err.h"
#include "common/rng.h"
#include "tests/leak.h"

#include <criterion/criterion.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* --- reading ---------------------------------------------------------------------------------- */

Test(stream, bytes_that_came_are_handed_up_once)
{
    struct rig r;
    rig_make(&r, &rig_roomy);
    rig_send(&r, "hello", 5);
    rig_turn(&r);
    rig_turn(&r);
    cr_assert_eq(r.calls, 1);
    cr_assert(span_equal(rig_got(&r), span_text("hello")));
    cr_assert_eq(stream_counted(r.stream).bytes_in, 5);
    rig_end(&r);
    TEST_NO_LEAKS();
}

Test(stream, what_is_not_taken_comes_again_with_more_behind_it)
{
    struct rig r;
    rig_make(&r, &rig_roomy);
    r.frame = 4;
    rig_send(&r, "abcdef", 6);
    rig_turn(&r);
    cr_assert(span_equal(rig_got(&r), span_text("abcd")));
    cr_assert_eq(r.last_offer, 6);
    rig_turn(&r);
    cr_assert_eq(r.calls, 1, "nothing new, no call");
    rig_send(&r, "g", 1);
    rig_turn(&r);
    cr_assert_eq(r.last_offer, 3);
    rig_send(&r, "h", 1);
    rig_turn(&r);
    cr_assert_eq(r.last_offer, 4);
    cr_assert(span_equal(rig_got(&r), span_text("abcdefgh")));
    rig_end(&r);
    TEST_NO_LEAKS();
}

Test(stream, frames_of_any_size_survive_any_cut)
{
    struct rig r;
    struct rng rng;
    static const size_t frames[] = {1, 3, 1000, 16384, 20000, 65536, 200000};
    rng_init(&rng, 8);
    for (size_t f = 0; f < ARRAY_LEN(frames); f++) {
        struct stream_limits limits = {.keep_max = frames[f]};
        rig_make(&r, &limits);
        r.frame = frames[f];
        size_t total = frames[f] * 5 + 50000 - 50000 % frames[f];
        uint8_t *sent = rig_noise(total, f);
        for (size_t at = 0; at < total;) {
            size_t n = 1 + rng_below(&rng, f % 2 ? 90000 : 7000);
            n = n < total - at ? n : total - at;
            at += rig_try_send(&r, sent + at, n);
            rig_turn(&r);
        }
        for (int i = 0; i < 100 && rig_got(&r).n < total; i++)
            rig_turn(&r);
        cr_assert(span_equal(rig_got(&r), span_of(sent, total)), "frames of %zu", frames[f]);
        cr_assert_eq(r.closed, 0);
        free(sent);
        rig_end(&r);
    }
    TEST_NO_LEAKS();
}

Test(stream, one_read_a_turn_so_that_a_flood_starves_nobody)
{
    struct stream_limits limits = {.keep_max = 64, .read_max = 65536};
    struct rig r;
    rig_make(&r, &limits);
    uint8_t *bytes = rig_noise(limits.read_max * 2, 1);
    size_t sent = rig_try_send(&r, bytes, limits.read_max * 2);
    cr_assert_gt(sent, limits.read_max);
    rig_turn(&r);
    cr_assert_eq(r.calls, 1);
    cr_assert_leq(rig_got(&r).n, limits.read_max);
    rig_turn(&r);
    cr_assert_eq(r.calls, 2);
    cr_assert(span_equal(rig_got(&r), span_of(bytes, rig_got(&r).n)));
    free(bytes);
    rig_end(&r);
    TEST_NO_LEAKS();
}

Test(stream, an_owner_that_takes_portions_is_asked_again)
{
    struct stream_limits limits = {.keep_max = 8};
    struct rig r;
    rig_make(&r, &limits);
    r.frame = 4;
    r.frames_a_call = 1;
    rig_send(&r, "aaaabbbbccccddddee", 18);
    rig_turn(&r);
    cr_assert_geq(rig_got(&r).n, 12, "never more than keep_max is left");
    rig_send(&r, "ee", 2);
    rig_turn(&r);
    rig_send(&r, "ffff", 4);
    rig_turn(&r);
    cr_assert_eq(r.closed, 0);
    cr_assert(span_equal(rig_got(&r), span_of("aaaabbbbccccddddeeeeffff", rig_got(&r).n)));
    rig_end(&r);
    TEST_NO_LEAKS();
}

Test(stream, more_than_the_largest_frame_and_none_in_it_ends_the_connection)
{
    struct stream_limits limits = {.keep_max = 16};
    struct rig r;
    rig_make(&r, &limits);
    r.frame = 1000;
    rig_send(&r, "0123456789abcdef", 16);
    rig_turn(&r);
    cr_assert_eq(r.closed, 0, "keep_max itself may be kept");
    rig_send(&r, "!", 1);
    rig_turn(&r);
    cr_assert_eq(r.closed, 1);
    cr_assert_eq(r.why, STREAM_RESET);
    rig_end(&r);
    TEST_NO_LEAKS();
}

Test(stream, a_silent_overrun_of_a_long_keep_ends_the_connection_too)
{
    struct stream_limits limits = {.keep_max = 100000};
    struct rig r;
    rig_make(&r, &limits);
    r.frame = 1000000;
    uint8_t *bytes = rig_noise(100001, 1);
    for (size_t at = 0; at < 100000;) {
        at += rig_try_send(&r, bytes + at, 100000 - at);
        rig_turn(&r);
        rig_turn(&r);
        rig_turn(&r);
    }
    rig_turn(&r);
    cr_assert_eq(r.closed, 0);
    cr_assert_eq(r.last_offer, 100000);
    rig_send(&r, bytes, 1);
    rig_turn(&r);
    cr_assert_eq(r.closed, 1);
    cr_assert_eq(r.why, STREAM_RESET);
    free(bytes);
    rig_end(&r);
    TEST_NO_LEAKS();
}

/* --- pausing ---------------------------------------------------------------------------------- */

Test(stream, a_paused_stream_leaves_the_bytes_in_the_kernel)
{
    struct rig r;
    rig_make(&r, &rig_roomy);
    stream_read_pause(r.stream, true);
    rig_send(&r, "later", 5);
    rig_turn(&r);
    cr_assert_eq(r.calls, 0);
    cr_assert_eq(stream_counted(r.stream).bytes_in, 0);
    stream_read_pause(r.stream, false);
    rig_turn(&r);
    rig_turn(&r);
    cr_assert(span_equal(rig_got(&r), span_text("later")));
    rig_end(&r);
    TEST_NO_LEAKS();
}

Test(stream, what_was_left_when_pausing_comes_without_waiting_for_the_socket)
{
    struct stream_limits limits = {.keep_max = 8};
    struct rig r;
    rig_make(&r, &limits);
    r.frame = 4;
    r.pause_after = 1;
    rig_send(&r, "aaaabbbbccccddddeeeeffff", 24);
    rig_turn(&r);
    cr_assert(span_equal(rig_got(&r), span_text("aaaa")));
    rig_turn(&r);
    cr_assert_eq(r.calls, 1);
    cr_assert_eq(r.closed, 0, "more than keep_max may be kept of a paused owner");

    r.pause_after = 0;
    stream_read_pause(r.stream, false);
    rig_turn(&r);
    cr_assert_eq(r.calls, 2);
    cr_assert(span_equal(rig_got(&r), span_text("aaaabbbbccccddddeeeeffff")));
    rig_end(&r);
    TEST_NO_LEAKS();
}

Test(stream, pausing_and_going_on_in_one_turn_loses_and_doubles_nothing)
{
    struct rig r;
    rig_make(&r, &rig_roomy);
    r.frame = 4;
    for (int i = 0; i < 50; i++) {
        rig_send(&r, "abc", 3);
        stream_read_pause(r.stream, true);
        stream_read_pause(r.stream, i % 3 == 0);
        rig_turn(&r);
        stream_read_pause(r.stream, false);
        rig_turn(&r);
    }
    rig_turn(&r);
    cr_assert_eq(rig_got(&r).n, 148);
    for (size_t i = 0; i < 148; i++)
        cr_assert_eq(rig_got(&r).p[i], "abc"[i % 3]);
    rig_end(&r);
    TEST_NO_LEAKS();
}

/* --- writing ---------------------------------------------------------------------------------- */

Test(stream, a_turns_writes_leave_together_at_its_end)
{
    struct rig r;
    char buf[16];
    rig_make(&r, &rig_roomy);
    cr_assert_eq(stream_write(r.stream, span_text("ab")), 0);
    cr_assert_eq(stream_write2(r.stream, span_text("cd"), span_text("ef")), 0);
    cr_assert_eq(stream_queued(r.stream), 6);
    cr_assert_eq(rig_peek(&r), 0, "nothing before the end of the turn");
    rig_turn(&r);
    cr_assert_eq(stream_queued(r.stream), 0);
    cr_assert_eq(rig_recv(&r, buf, sizeof(buf)), 6);
    cr_assert_eq(memcmp(buf, "abcdef", 6), 0);
    cr_assert_eq(stream_counted(r.stream).bytes_out, 6);
    rig_end(&r);
    TEST_NO_LEAKS();
}

Test(stream, a_flush_sends_at_once)
{
    struct rig r;
    rig_make(&r, &rig_roomy);
    cr_assert_eq(stream_write(r.stream, span_text("now")), 0);
    stream_flush(r.stream);
    cr_assert_eq(rig_peek(&r), 3);
    stream_flush(r.stream);
    rig_end(&r);
    TEST_NO_LEAKS();
}

Test(stream, writing_nothing_is_nothing)
{
    struct rig r;
    rig_make(&r, &rig_roomy);
    cr_assert_eq(stream_write(r.stream, (struct span){0}), 0);
    rig_turn(&r);
    cr_assert_eq(rig_peek(&r), 0);
    rig_end(&r);
    TEST_NO_LEAKS();
}

Test(stream, short_writes_deliver_every_byte_in_order)
{
    struct stream_limits limits = {.keep_max = 64, .sndbuf = 1, .counted = true};
    struct rig r;
    struct rng rng;
    rng_init(&rng, 3);
    rig_make(&r, &limits);
    enum { TOTAL = 600000 };
    uint8_t *sent = rig_noise(TOTAL, 2), *got = malloc(TOTAL);
    size_t out = 0, in = 0, blocked = 0;
    while (in < TOTAL) {
        size_t n = rng_below(&rng, 20000);
        n = n < TOTAL - out ? n : TOTAL - out;
        cr_assert_eq(stream_write(r.stream, span_of(sent + out, n)), 0);
        out += n;
        rig_turn(&r);
        blocked += stream_queued(r.stream) > 0;
        in += rig_recv(&r, got + in, 1 + rng_below(&rng, 16000));
    }
    cr_assert_gt(blocked, 10, "the kernel's buffer was really too small");
    cr_assert_eq(memcmp(sent, got, TOTAL), 0);
    cr_assert_eq(stream_queued(r.stream), 0);
    cr_assert_eq(stream_counted(r.stream).bytes_out, TOTAL);
    free(sent);
    free(got);
    rig_end(&r);
    TEST_NO_LEAKS();
}

Test(stream, past_the_hard_limit_nothing_at_all_is_queued)
{
    struct stream_limits limits = {.keep_max = 64, .queue_hard = 10};
    struct rig r;
    char buf[16];
    rig_make(&r, &limits);
    cr_assert_eq(stream_write(r.stream, span_text("12345678901")), E_FULL);
    cr_assert_eq(stream_write(r.stream, span_text("123456")), 0);
    cr_assert_eq(stream_write2(r.stream, span_text("abc"), span_text("de")), E_FULL);
    cr_assert_eq(stream_queued(r.stream), 6);
    cr_assert_eq(stream_write2(r.stream, span_text("ab"), span_text("cd")), 0);
    cr_assert_eq(stream_write(r.stream, span_text("x")), E_FULL);
    cr_assert_eq(stream_write(r.stream, (struct span){0}), 0);
    rig_turn(&r);
    cr_assert_eq(rig_recv(&r, buf, sizeof(buf)), 10);
    cr_assert_eq(memcmp(buf, "123456abcd", 10), 0);
    cr_assert_eq(stream_write(r.stream, span_text("1234567890")), 0, "the queue is empty again");
    rig_end(&r);
    TEST_NO_LEAKS();
}

Test(stream, writing_while_full_and_draining_keeps_order_at_the_hard_limit)
{
    struct stream_limits limits = {.keep_max = 64, .queue_hard = 50000, .sndbuf = 1};
    struct rig r;
    struct rng rng;
    rng_init(&rng, 4);
    rig_make(&r, &limits);
    uint8_t next_out = 0, next_in = 0, piece[3000], got[3000];
    size_t refused = 0;
    for (int i = 0; i < 3000; i++) {
        size_t n = 1 + rng_below(&rng, sizeof(piece));
        for (size_t k = 0; k < n; k++)
            piece[k] = (uint8_t)(next_out + k);
        int err = stream_write(r.stream, span_of(piece, n));
        cr_assert(err == 0 || err == E_FULL);
        cr_assert_leq(stream_queued(r.stream), 50000);
        refused += err != 0;
        if (!err)
            next_out = (uint8_t)(next_out + n);
        rig_turn(&r);
        n = rig_recv(&r, got, 1 + rng_below(&rng, 2500));
        for (size_t k = 0; k < n; k++)
            cr_assert_eq(got[k], next_in++);
    }
    cr_assert_gt(refused, 10);
    rig_end(&r);
    TEST_NO_LEAKS();
}

/* --- pressure --------------------------------------------------------------------------------- */

Test(stream, pressure_is_told_at_its_edges_only_and_never_from_within_a_write)
{
    struct stream_limits limits = {.keep_max = 64, .queue_soft = 10000, .sndbuf = 1};
    struct rig r;
    static uint8_t bytes[20000], got[20000];
    rig_make(&r, &limits);
    rig_fill(&r);
    cr_assert_eq(stream_queued(r.stream), 1);
    cr_assert_eq(stream_write(r.stream, span_of(bytes, 9999)), 0);
    rig_turn(&r);
    cr_assert_str_eq(r.pressure, "", "the soft limit itself is no pressure");
    cr_assert_eq(stream_write(r.stream, span_of(bytes, 1)), 0);
    cr_assert_str_eq(r.pressure, "", "not from within the write");
    rig_turn(&r);
    cr_assert_str_eq(r.pressure, "+");
    cr_assert_eq(stream_write(r.stream, span_of(bytes, 5000)), 0);
    rig_turn(&r);
    cr_assert_str_eq(r.pressure, "+", "told once");

    bool off_above_half = false;
    while (stream_queued(r.stream) > 0) {
        rig_recv(&r, got, 1000);
        rig_turn(&r);
        if (r.pressure[1] && stream_queued(r.stream) > 5000)
            off_above_half = true;
        if (stream_queued(r.stream) > 5000)
            cr_assert_str_eq(r.pressure, "+");
    }
    cr_assert_not(off_above_half);
    cr_assert_str_eq(r.pressure, "+-");
    rig_end(&r);
    TEST_NO_LEAKS();
}

Test(stream, a_burst_above_soft_that_the_kernel_takes_is_no_pressure)
{
    struct stream_limits limits = {.keep_max = 64, .queue_soft = 100};
    struct rig r;
    static uint8_t bytes[5000];
    rig_make(&r, &limits);
    cr_assert_eq(stream_write(r.stream, span_of(bytes, sizeof(bytes))), 0);
    rig_turn(&r);
    cr_assert_eq(stream_queued(r.stream), 0);
    cr_assert_str_eq(r.pressure, "");
    rig_end(&r);
    TEST_NO_LEAKS();
}

Test(stream, an_owner_without_interest_in_pressure_is_spared)
{
    struct stream_limits limits = {.keep_max = 64, .queue_soft = 10, .sndbuf = 1};
    struct rig r;
    rig_make(&r, &limits);
    r.ops.pressure = NULL;
    rig_fill(&r);
    cr_assert_eq(stream_write(r.stream, span_text("0123456789abcdef")), 0);
    rig_turn(&r);
    rig_end(&r);
    TEST_NO_LEAKS();
}

Test(stream, a_flush_by_hand_tells_pressure_at_the_end_of_the_turn)
{
    struct stream_limits limits = {.keep_max = 64, .queue_soft = 10, .sndbuf = 1};
    struct rig r;
    rig_make(&r, &limits);
    rig_fill(&r);
    cr_assert_eq(stream_write(r.stream, span_text("0123456789abcdef")), 0);
    stream_flush(r.stream);
    cr_assert_str_eq(r.pressure, "");
    rig_turn(&r);
    cr_assert_str_eq(r.pressure, "+");
    rig_end(&r);
    TEST_NO_LEAKS();
}

/* --- memory ----------------------------------------------------------------------------------- */

Test(stream, an_idle_stream_holds_no_buffer)
{
    struct rig r;
    uint8_t *bytes = rig_noise(30000, 1);
    static uint8_t got[30000];
    rig_make(&r, &rig_roomy);
    rig_send(&r, "x", 1);
    rig_turn(&r);
    rig_recv(&r, got, sizeof(got));
    size_t idle = rig_allocated();

    r.frame = 30000;
    rig_try_send(&r, bytes, 20000);
    cr_assert_eq(stream_write(r.stream, span_of(bytes, 30000)), 0);
    rig_turn(&r);
    size_t busy = rig_allocated();
    rig_try_send(&r, bytes + 20000, 10000);
    for (int i = 0; i < 4; i++)
        rig_turn(&r);
    for (size_t n = 0; n < 30000;) {
        n += rig_recv(&r, got, sizeof(got));
        rig_turn(&r);
    }
    cr_assert_eq(rig_got(&r).n, 30001);
    cr_assert_gt(busy, idle + 15000);
    cr_assert_eq(rig_allocated(), idle);
    free(bytes);
    rig_end(&r);
    TEST_NO_LEAKS();
}

Test(stream, bytes_are_counted_only_where_the_limits_ask_for_it)
{
    static const struct stream_limits plain = {.keep_max = 64};
    struct rig r;
    rig_make(&r, &plain);
    rig_send(&r, "hello", 5);
    rig_turn(&r);
    cr_assert_eq(rig_got(&r).n, 5);
    cr_assert_eq(stream_counted(r.stream).bytes_in, 0);
    rig_end(&r);
    TEST_NO_LEAKS();
}

/* Its event's place in libevent among it. */
Test(stream, an_idle_one_costs_less_than_240_bytes_with_its_event)
{
    enum { STREAMS = 500 };
    static struct stream *s[STREAMS];
    static const struct stream_limits limits = {.keep_max = 64};
    struct rig r;
    rig_make(&r, &rig_roomy);
    size_t before = rig_allocated();
    for (int i = 0; i < STREAMS; i++) {
        int fd[2];
        cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fd), 0);
        cr_assert_eq(stream_create(r.loop, fd[0], &limits, &r.ops, &r, &s[i]), 0);
        close(fd[1]);
    }
    cr_assert_lt((rig_allocated() - before) / STREAMS, 240);
    for (int i = 0; i < STREAMS; i++)
        stream_destroy(s[i]);
    rig_turn(&r);
    rig_end(&r);
    TEST_NO_LEAKS();
}

Test(stream, a_peer_that_does_not_read_costs_no_more_than_the_hard_limit)
{
    struct stream_limits limits = {.keep_max = 64, .queue_hard = 100000, .sndbuf = 1};
    struct rig r;
    static uint8_t bytes[700], got[3000];
    rig_make(&r, &limits);
    rig_fill(&r);
    size_t before = rig_allocated();
    for (int i = 0; i < 2000; i++) {
        int err = stream_write(r.stream, span_of(bytes, sizeof(bytes)));
        cr_assert(err == 0 || err == E_FULL);
        rig_turn(&r);
        /* Now and then a little is read, so that the queue's front moves. */
        if (i % 10 == 0)
            rig_recv(&r, got, sizeof(got));
        /* What malloc itself keeps of the queue's first sizes counts as given out. */
        cr_assert_leq(rig_allocated(), before + 100000 + 4096);
    }
    cr_assert_geq(stream_queued(r.stream), 100000 - sizeof(bytes));
    rig_end(&r);
    TEST_NO_LEAKS();
}
