/* tests/common/test_stream_end.c: how a connection ends, from either side, and in any callback. */
#include "tests/common/stream_rig.h"

#include "common/err.h"
#include "tests/leak.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define LONG_WAIT (3600 * CLOCK_NS_PER_S)

/* --- the peer ends it ------------------------------------------------------------------------- */

Test(stream_end, the_last_bytes_come_before_the_end)
{
    struct rig r;
    rig_make(&r, &rig_roomy);
    rig_send(&r, "bye", 3);
    rig_close_peer(&r, false);
    rig_turn(&r);
    rig_turn(&r);
    cr_assert(span_equal(rig_got(&r), span_text("bye")));
    cr_assert_eq(r.closed, 1);
    cr_assert_eq(r.why, STREAM_EOF);
    rig_turn(&r);
    cr_assert_eq(r.closed, 1, "told once");
    cr_assert_eq(stream_write(r.stream, span_text("x")), E_CLOSED);
    rig_end(&r);
    TEST_NO_LEAKS();
}

Test(stream_end, a_peer_that_only_shut_its_side_is_an_end_even_with_output_queued)
{
    struct stream_limits limits = {.keep_max = 64, .sndbuf = 1};
    struct rig r;
    rig_make(&r, &limits);
    rig_fill(&r);
    shutdown(r.peer, SHUT_WR);
    rig_turn(&r);
    cr_assert_eq(r.closed, 1);
    cr_assert_eq(r.why, STREAM_EOF);
    cr_assert_eq(stream_queued(r.stream), 1, "the owner can see what was not sent");
    rig_end(&r);
    TEST_NO_LEAKS();
}

Test(stream_end, what_the_peer_has_not_taken_is_seen)
{
    struct rig r;
    char got[16];
    rig_make_tcp(&r, &rig_roomy);
    cr_assert_eq(stream_unsent(r.stream), 0);
    cr_assert_eq(stream_write(r.stream, span_text("hello")), 0);
    cr_assert_eq(stream_unsent(r.stream), 5, "queued");
    rig_turn(&r);
    cr_assert_eq(stream_unsent(r.stream), 0, "the peer's kernel has it");
    rig_recv(&r, got, sizeof(got));
    rig_end(&r);

    struct stream_limits limits = {.keep_max = 64, .sndbuf = 1};
    rig_make(&r, &limits);
    rig_fill(&r);
    cr_assert_gt(stream_unsent(r.stream), stream_queued(r.stream), "and on its way");
    rig_end(&r);
    TEST_NO_LEAKS();
}

Test(stream_end, a_reset_is_told_as_one)
{
    struct rig r;
    rig_make_tcp(&r, &rig_roomy);
    rig_close_peer(&r, true);
    rig_wait(&r);
    cr_assert_eq(r.closed, 1);
    cr_assert_eq(r.why, STREAM_RESET);
    rig_end(&r);
    TEST_NO_LEAKS();
}

Test(stream_end, a_reset_in_the_middle_of_a_frame_is_told_once)
{
    struct rig r;
    rig_make_tcp(&r, &rig_roomy);
    r.frame = 100;
    rig_send(&r, "half a frame", 12);
    rig_wait(&r);
    rig_close_peer(&r, true);
    rig_wait(&r);
    rig_turn(&r);
    cr_assert_eq(rig_got(&r).n, 0);
    cr_assert_eq(r.closed, 1);
    cr_assert_eq(r.why, STREAM_RESET);
    rig_end(&r);
    TEST_NO_LEAKS();
}

Test(stream_end, who_leaves_a_stream_has_its_socket_and_the_peer_notices_nothing)
{
    struct rig r;
    char byte;
    rig_make_tcp(&r, &rig_roomy);
    int fd = stream_leave(r.stream);
    r.stream = NULL;
    cr_assert_geq(fd, 0);
    rig_turn(&r);
    cr_assert_eq(r.closed, 0);
    cr_assert_eq(recv(r.peer, &byte, 1, MSG_DONTWAIT), -1);
    cr_assert_eq(errno, EAGAIN, "no end of file");
    cr_assert_eq(send(fd, "x", 1, MSG_NOSIGNAL), 1);
    cr_assert_eq(recv(r.peer, &byte, 1, 0), 1);
    close(fd);
    cr_assert_eq(recv(r.peer, &byte, 1, 0), 0);
    rig_end(&r);
    TEST_NO_LEAKS();
}

Test(stream_end, writing_to_who_is_gone_is_told_at_the_end_of_the_turn_not_in_the_write)
{
    struct rig r;
    rig_make(&r, &rig_roomy);
    stream_read_pause(r.stream, true);
    rig_close_peer(&r, false);
    cr_assert_eq(stream_write(r.stream, span_text("anybody?")), 0);
    stream_flush(r.stream);
    cr_assert_eq(r.closed, 0);
    cr_assert_eq(stream_write(r.stream, span_text("still?")), E_CLOSED);
    rig_turn(&r);
    cr_assert_eq(r.closed, 1);
    cr_assert_eq(r.why, STREAM_RESET);
    rig_end(&r);
    TEST_NO_LEAKS();
}

Test(stream_end, a_send_that_fails_at_the_end_of_the_turn_is_told_once)
{
    struct rig r;
    rig_make(&r, &rig_roomy);
    stream_read_pause(r.stream, true);
    rig_close_peer(&r, false);
    cr_assert_eq(stream_write(r.stream, span_text("anybody?")), 0);
    rig_turn(&r);
    rig_turn(&r);
    cr_assert_eq(r.closed, 1);
    cr_assert_eq(r.why, STREAM_RESET);
    rig_end(&r);
    TEST_NO_LEAKS();
}

Test(stream_end, a_reset_while_a_write_waits_is_noticed_though_reading_is_paused)
{
    struct stream_limits limits = {.keep_max = 64, .sndbuf = 1};
    struct rig r;
    rig_make_tcp(&r, &limits);
    static uint8_t bytes[8 << 20];
    stream_read_pause(r.stream, true);
    cr_assert_eq(stream_write(r.stream, span_of(bytes, sizeof(bytes))), 0);
    rig_turn(&r);
    cr_assert_gt(stream_queued(r.stream), 0);
    rig_close_peer(&r, true);
    rig_wait(&r);
    cr_assert_eq(r.closed, 1);
    cr_assert_eq(r.why, STREAM_RESET);
    rig_end(&r);
    TEST_NO_LEAKS();
}

/* --- finishing -------------------------------------------------------------------------------- */

Test(stream_end, finishing_lets_the_peer_read_all_while_it_is_still_sending)
{
    struct stream_limits limits = {.keep_max = 64, .sndbuf = 1};
    struct rig r;
    enum { TOTAL = 200000 };
    uint8_t *sent = rig_noise(TOTAL, 6), *got = malloc(TOTAL);
    rig_make(&r, &limits);
    cr_assert_eq(stream_write(r.stream, span_of(sent, TOTAL)), 0);
    stream_finish(r.stream, LONG_WAIT);
    cr_assert_eq(stream_write(r.stream, span_text("more")), E_CLOSED);
    size_t in = 0;
    while (in < TOTAL) {
        rig_try_send(&r, "still talking", 13);
        rig_turn(&r);
        in += rig_recv(&r, got + in, 5000);
        cr_assert_eq(r.closed, 0);
    }
    rig_turn(&r);
    cr_assert_eq(memcmp(sent, got, TOTAL), 0);
    cr_assert(rig_at_end(&r), "the sending side is shut behind the last byte");
    cr_assert_eq(r.calls, 0, "what comes while finishing is dropped");
    rig_close_peer(&r, false);
    rig_turn(&r);
    rig_turn(&r);
    cr_assert_eq(r.closed, 1);
    cr_assert_eq(r.why, STREAM_LINGERED);
    free(sent);
    free(got);
    rig_end(&r);
    TEST_NO_LEAKS();
}

Test(stream_end, finishing_over_tcp_leaves_no_reset_though_input_was_never_read)
{
    struct rig r;
    char buf[16];
    rig_make_tcp(&r, &rig_roomy);
    stream_read_pause(r.stream, true);
    rig_send(&r, "unread", 6);
    cr_assert_eq(stream_write(r.stream, span_text("Bye")), 0);
    stream_finish(r.stream, LONG_WAIT);
    rig_turn(&r);
    rig_turn(&r);
    cr_assert_eq(rig_recv(&r, buf, sizeof(buf)), 3);
    cr_assert(rig_at_end(&r));
    rig_close_peer(&r, false);
    for (int i = 0; i < 10 && !r.closed; i++)
        rig_wait(&r);
    cr_assert_eq(r.closed, 1, "though reading was paused");
    cr_assert_eq(r.why, STREAM_LINGERED);
    rig_end(&r);
    TEST_NO_LEAKS();
}

Test(stream_end, finishing_ends_when_the_time_is_up_for_a_peer_that_never_closes)
{
    struct rig r;
    rig_make(&r, &rig_roomy);
    stream_finish(r.stream, CLOCK_NS_PER_MS);
    rig_turn(&r);
    cr_assert(rig_at_end(&r));
    for (int i = 0; i < 10 && !r.closed; i++)
        rig_wait(&r);
    cr_assert_eq(r.closed, 1);
    cr_assert_eq(r.why, STREAM_LINGERED);
    rig_end(&r);
    TEST_NO_LEAKS();
}

Test(stream_end, finishing_ends_when_the_time_is_up_for_a_peer_that_never_reads)
{
    struct stream_limits limits = {.keep_max = 64, .sndbuf = 1};
    struct rig r;
    rig_make(&r, &limits);
    rig_fill(&r);
    stream_finish(r.stream, CLOCK_NS_PER_MS);
    for (int i = 0; i < 10 && !r.closed; i++)
        rig_wait(&r);
    cr_assert_eq(r.closed, 1);
    cr_assert_eq(r.why, STREAM_LINGERED);
    cr_assert_not(rig_at_end(&r));
    rig_end(&r);
    TEST_NO_LEAKS();
}

Test(stream_end, a_peer_that_breaks_off_while_we_finish_has_lingered_enough)
{
    struct rig r;
    rig_make_tcp(&r, &rig_roomy);
    stream_finish(r.stream, LONG_WAIT);
    rig_turn(&r);
    rig_close_peer(&r, true);
    for (int i = 0; i < 10 && !r.closed; i++)
        rig_wait(&r);
    cr_assert_eq(r.closed, 1);
    cr_assert_eq(r.why, STREAM_LINGERED);
    rig_end(&r);
    TEST_NO_LEAKS();
}

Test(stream_end, finishing_twice_or_after_the_end_changes_nothing)
{
    struct rig r;
    rig_make(&r, &rig_roomy);
    stream_finish(r.stream, LONG_WAIT);
    stream_finish(r.stream, 0);
    rig_turn(&r);
    cr_assert_eq(r.closed, 0);
    rig_close_peer(&r, false);
    rig_turn(&r);
    cr_assert_eq(r.closed, 1);
    stream_finish(r.stream, 0);
    rig_turn(&r);
    cr_assert_eq(r.closed, 1);
    rig_end(&r);
    TEST_NO_LEAKS();
}

Test(stream_end, finishing_with_a_frame_half_kept_forgets_it)
{
    struct rig r;
    rig_make(&r, &rig_roomy);
    r.frame = 10;
    rig_send(&r, "half", 4);
    rig_turn(&r);
    stream_finish(r.stream, LONG_WAIT);
    rig_send(&r, "a frame", 6);
    rig_turn(&r);
    rig_turn(&r);
    cr_assert_eq(rig_got(&r).n, 0);
    rig_end(&r);
    TEST_NO_LEAKS();
}

/* --- we end it -------------------------------------------------------------------------------- */

Test(stream_end, destroying_closes_at_once_and_calls_nobody)
{
    struct rig r;
    rig_make(&r, &rig_roomy);
    rig_send(&r, "unseen", 6);
    stream_destroy(r.stream);
    r.stream = NULL;
    rig_turn(&r);
    cr_assert_eq(r.calls + r.closed, 0);
    char c;
    ssize_t n = recv(r.peer, &c, 1, 0);
    cr_assert(n == 0 || (n < 0 && errno == ECONNRESET));
    rig_end(&r);
    TEST_NO_LEAKS();
}

Test(stream_end, an_abort_is_a_reset_for_the_peer_and_a_destroy_is_not)
{
    for (int abort_it = 0; abort_it < 2; abort_it++) {
        struct rig r;
        char c;
        rig_make_tcp(&r, &rig_roomy);
        if (abort_it)
            stream_abort(r.stream);
        else
            stream_destroy(r.stream);
        r.stream = NULL;
        rig_turn(&r);
        ssize_t n = recv(r.peer, &c, 1, 0);
        cr_assert_eq(n, abort_it ? -1 : 0);
        if (abort_it)
            cr_assert_eq(errno, ECONNRESET);
        rig_end(&r);
    }
    TEST_NO_LEAKS();
}

Test(stream_end, destroying_nothing_is_fine)
{
    stream_destroy(NULL);
    stream_abort(NULL);
}

/* --- in the owner's own calls ----------------------------------------------------------------- */

static const enum rig_act endings[] = {RIG_DESTROY, RIG_ABORT, RIG_FINISH};

Test(stream_end, the_owner_may_end_it_while_it_is_handed_bytes)
{
    for (size_t i = 0; i < ARRAY_LEN(endings); i++) {
        struct rig r;
        rig_make(&r, &rig_roomy);
        r.frame = 4;
        r.in_data = endings[i];
        rig_send(&r, "abcdef", 6);
        rig_turn(&r);
        rig_turn(&r);
        cr_assert_eq(r.calls, 1);
        cr_assert_eq(r.closed, 0);
        rig_end(&r);
    }
    TEST_NO_LEAKS();
}

Test(stream_end, the_owner_may_end_it_while_it_is_handed_what_was_kept_long)
{
    for (size_t i = 0; i < ARRAY_LEN(endings); i++) {
        struct stream_limits limits = {.keep_max = 100000};
        struct rig r;
        uint8_t *bytes = rig_noise(60000, 1);
        rig_make(&r, &limits);
        r.frame = 60000;
        rig_send(&r, bytes, 40000);
        rig_turn(&r);
        r.in_data = endings[i];
        rig_send(&r, bytes, 20000);
        rig_turn(&r);
        rig_turn(&r);
        cr_assert_eq(r.calls, 2);
        free(bytes);
        rig_end(&r);
    }
    TEST_NO_LEAKS();
}

Test(stream_end, the_owner_may_end_it_while_it_is_handed_bytes_after_a_pause)
{
    for (size_t i = 0; i < ARRAY_LEN(endings); i++) {
        struct rig r;
        rig_make(&r, &rig_roomy);
        r.frame = 2;
        r.pause_after = 1;
        rig_send(&r, "abcdef", 6);
        rig_turn(&r);
        r.in_data = endings[i];
        stream_read_pause(r.stream, false);
        rig_turn(&r);
        rig_turn(&r);
        cr_assert_eq(r.calls, 2);
        rig_end(&r);
    }
    TEST_NO_LEAKS();
}

Test(stream_end, the_owner_may_end_it_when_told_of_pressure)
{
    for (size_t i = 0; i < ARRAY_LEN(endings); i++) {
        struct stream_limits limits = {.keep_max = 64, .queue_soft = 10, .sndbuf = 1};
        struct rig r;
        rig_make(&r, &limits);
        rig_fill(&r);
        r.in_pressure = endings[i];
        cr_assert_eq(stream_write(r.stream, span_text("0123456789abcdef")), 0);
        rig_turn(&r);
        rig_turn(&r);
        cr_assert_str_eq(r.pressure, "+");
        rig_end(&r);
    }
    TEST_NO_LEAKS();
}

Test(stream_end, the_owner_may_end_it_when_told_that_it_is_over)
{
    for (size_t i = 0; i < ARRAY_LEN(endings); i++) {
        struct rig r;
        rig_make(&r, &rig_roomy);
        r.in_closed = endings[i];
        rig_close_peer(&r, false);
        rig_turn(&r);
        rig_turn(&r);
        cr_assert_eq(r.closed, 1);
        rig_end(&r);
    }
    TEST_NO_LEAKS();
}

Test(stream_end, the_owner_may_end_another_stream_of_the_same_turn)
{
    for (size_t i = 0; i < ARRAY_LEN(endings); i++) {
        struct rig a, b;
        rig_make(&a, &rig_roomy);
        rig_make_beside(&b, &a, &rig_roomy);
        /* Both are readable, both have output; whoever is first ends the other. */
        a.victim = &b;
        b.victim = &a;
        a.in_data = b.in_data = endings[i];
        rig_send(&a, "a", 1);
        rig_send(&b, "b", 1);
        cr_assert_eq(stream_write(a.stream, span_text("x")), 0);
        cr_assert_eq(stream_write(b.stream, span_text("y")), 0);
        b.inside = false;
        rig_turn(&a);
        rig_turn(&a);
        cr_assert_eq(a.calls + b.calls, 1);
        stream_destroy(b.stream);
        rig_close_peer(&b, false);
        free(b.got);
        rig_end(&a);
    }
    TEST_NO_LEAKS();
}

Test(stream_end, the_owner_may_answer_in_its_calls)
{
    struct rig r;
    char buf[32];
    rig_make(&r, &rig_roomy);
    r.in_data = RIG_WRITE;
    rig_send(&r, "ask", 3);
    rig_turn(&r);
    cr_assert_eq(rig_recv(&r, buf, sizeof(buf)), 6, "in the same turn");
    r.frame = 4;
    r.in_data = RIG_NOTHING;
    r.pause_after = 1;
    rig_send(&r, "ask twice", 8);
    rig_turn(&r);
    r.in_data = RIG_WRITE;
    stream_read_pause(r.stream, false);
    rig_turn(&r);
    cr_assert_eq(rig_recv(&r, buf, sizeof(buf)), 6, "after a pause too");
    rig_end(&r);
    TEST_NO_LEAKS();
}

Test(stream_end, a_descriptor_that_is_no_socket_is_refused_and_closed)
{
    struct loop *l;
    struct stream *s;
    struct stream_ops ops = {0};
    cr_assert_eq(loop_create(&l), 0);
    FILE *f = tmpfile();
    int fd = dup(fileno(f));
    cr_assert_eq(stream_create(l, fd, &rig_roomy, &ops, NULL, &s), E_IO);
    cr_assert_eq(fcntl(fd, F_GETFD), -1);
    fclose(f);
    loop_destroy(l);
    TEST_NO_LEAKS();
}
