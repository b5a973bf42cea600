/* tests/common/test_stream_sealed.c: a stream under TLS is held to what one over a plain socket is.
 * The peer is OpenSSL alone.
 */
#include "common/io/stream.h"

#include "common/parts.h"

#ifdef PARTS_TLS

#include "common/err.h"
#include "tests/common/stream_rig.h"
#include "tests/common/tls_rig.h"
#include "tests/leak.h"

#include <criterion/criterion.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define LONG_WAIT (3600 * CLOCK_NS_PER_S)

/* A handshake that is done, and the stream over it. */
struct sealed {
    struct tls_rig tls;
    struct tls_peer peer;
    struct rig r;
};

static void make(struct sealed *s, const struct stream_limits *limits, int version)
{
    tls_rig_make(&s->tls, NULL);
    struct tls_outcome *o = tls_rig_meet(&s->tls, &s->peer, version, NULL);
    struct ssl_st *seal = o->seal;
    cr_assert_not_null(seal, "%s", o->text);
    o->seal = NULL;
    rig_make_of(&s->r, s->tls.loop, o->fd, seal, limits);
}

static void end(struct sealed *s)
{
    rig_end(&s->r);
    tls_peer_end(&s->peer);
    tls_rig_end(&s->tls);
    TEST_NO_LEAKS();
}

static void expect_got(const struct sealed *s, const char *text)
{
    cr_assert(span_equal(rig_got(&s->r), span_text(text)), "%.*s", (int)s->r.got_n,
              (const char *)s->r.got);
}

static void expect_peer(struct sealed *s, const char *text)
{
    char got[256];
    const size_t n = tls_peer_recv(&s->peer, got, sizeof(got));
    cr_assert(span_equal(span_of(got, n), span_text(text)), "%.*s", (int)n, got);
}

static void send_all(struct sealed *s, const char *text)
{
    cr_assert_eq(tls_peer_send(&s->peer, text, strlen(text)), strlen(text));
}

/* --- both ways ---------------------------------------------------------------------------------
 */

Test(stream_sealed, bytes_go_both_ways_and_are_counted_as_the_owner_sees_them)
{
    struct sealed s;
    const struct span pieces[] = {span_text("one"), span_text(""), span_text("two")};
    for (int version = TLS_PEER_1_2; version <= TLS_PEER_1_3; version++) {
        make(&s, &rig_roomy, version);
        send_all(&s, "hello");
        rig_turn(&s.r);
        expect_got(&s, "hello");
        cr_assert_eq(stream_send(s.r.stream, pieces, 3), 0);
        expect_peer(&s, "onetwo");
        cr_assert_eq(stream_write(s.r.stream, span_text("three")), 0);
        cr_assert_eq(stream_queued(s.r.stream), 5);
        rig_turn(&s.r);
        expect_peer(&s, "three");
        cr_assert_eq(stream_queued(s.r.stream), 0);
        cr_assert_eq(stream_counted(s.r.stream).bytes_in, 5);
        cr_assert_eq(stream_counted(s.r.stream).bytes_out, 11);
        end(&s);
    }
}

Test(stream_sealed, sends_never_overtake_what_is_queued)
{
    struct sealed s;
    const struct span pieces[] = {span_text("c"), span_text("d")};
    make(&s, &rig_roomy, 0);
    cr_assert_eq(stream_write(s.r.stream, span_text("ab")), 0);
    cr_assert_eq(stream_send(s.r.stream, pieces, 2), 0);
    cr_assert_eq(stream_queued(s.r.stream), 4);
    rig_turn(&s.r);
    expect_peer(&s, "abcd");
    end(&s);
}

/* However the kernel cuts records, and whichever call they began in. */
Test(stream_sealed, what_the_kernel_does_not_take_follows_in_order)
{
    enum { PIECES = 7 };
    const struct stream_limits limits = {.keep_max = 64, .sndbuf = 1};
    const size_t total = 600000;
    struct span pieces[PIECES];
    struct sealed s;
    size_t got_n = 0;
    make(&s, &limits, 0);
    uint8_t *bytes = rig_noise(total, 3), *got = calloc(1, total);
    for (size_t i = 0; i < PIECES; i++) {
        const size_t from = total * i / PIECES, to = total * (i + 1) / PIECES;
        pieces[i] = span_of(bytes + from, to - from);
    }
    cr_assert_eq(stream_send(s.r.stream, pieces, PIECES - 1), 0);
    cr_assert_gt(stream_queued(s.r.stream), 0, "more than the kernel takes");
    cr_assert_eq(stream_write(s.r.stream, pieces[PIECES - 1]), 0);
    for (int i = 0; i < 5000 && got_n < total; i++) {
        /* Little by little, so that records are cut anywhere. */
        const size_t want = total - got_n < 5000 ? total - got_n : 5000;
        got_n += tls_peer_recv(&s.peer, got + got_n, want);
        rig_turn(&s.r);
    }
    cr_assert(span_equal(span_of(got, got_n), span_of(bytes, total)), "%zu bytes came", got_n);
    cr_assert_eq(stream_queued(s.r.stream), 0);
    free(bytes);
    free(got);
    end(&s);
}

Test(stream_sealed, the_hard_limit_is_held_to_the_byte)
{
    const struct stream_limits limits = {.keep_max = 64, .queue_hard = 1000, .sndbuf = 1};
    uint8_t *bytes = rig_noise(2000, 1);
    struct sealed s;
    make(&s, &limits, 0);
    rig_fill(&s.r);
    cr_assert_eq(stream_write(s.r.stream, span_of(bytes, 1000)), E_FULL);
    cr_assert_eq(stream_write(s.r.stream, span_of(bytes, 999)), 0);
    cr_assert_eq(stream_queued(s.r.stream), 1000);
    cr_assert_eq(stream_write(s.r.stream, span_of(bytes, 1)), E_FULL);
    const struct span more = span_of(bytes, 1);
    cr_assert_eq(stream_send(s.r.stream, &more, 1), E_FULL);
    cr_assert_eq(stream_queued(s.r.stream), 1000, "nothing was queued");
    free(bytes);
    end(&s);
}

Test(stream_sealed, pressure_comes_above_the_soft_limit_and_goes_at_half_of_it)
{
    const struct stream_limits limits = {.keep_max = 64, .queue_soft = 4000, .sndbuf = 1};
    uint8_t *bytes = rig_noise(4000, 1), *got = malloc(1 << 20);
    struct sealed s;
    make(&s, &limits, 0);
    rig_fill(&s.r);
    cr_assert_eq(stream_write(s.r.stream, span_of(bytes, 3999)), 0);
    rig_turn(&s.r);
    cr_assert_str_eq(s.r.pressure, "", "at the limit");
    cr_assert_eq(stream_write(s.r.stream, span_of(bytes, 1)), 0);
    rig_turn(&s.r);
    cr_assert_str_eq(s.r.pressure, "+");
    for (int i = 0; i < 1000 && stream_queued(s.r.stream) > 0; i++) {
        tls_peer_recv(&s.peer, got, 1 << 20);
        rig_turn(&s.r);
    }
    cr_assert_str_eq(s.r.pressure, "+-");
    free(bytes);
    free(got);
    end(&s);
}

/* --- in ----------------------------------------------------------------------------------------
 */

/* A read-ahead may hold many records: all are handed up, though no socket tells of them. */
Test(stream_sealed, many_small_records_come_in_one_turn)
{
    struct sealed s;
    make(&s, &rig_roomy, 0);
    for (int i = 0; i < 60; i++)
        send_all(&s, "0123456789");
    for (int i = 0; i < 3; i++)
        rig_turn(&s.r);
    cr_assert_eq(s.r.got_n, 600);
    cr_assert_leq(s.r.calls, 2, "few calls of the owner's");
    end(&s);
}

Test(stream_sealed, much_comes_whole_however_it_is_taken)
{
    const struct stream_limits limits = {.keep_max = 1 << 20, .read_max = 16384};
    const size_t total = 1500000;
    static const size_t frames[] = {0, 1000, 100000, 700000};
    uint8_t *bytes = rig_noise(total, 9);
    for (size_t k = 0; k < ARRAY_LEN(frames); k++) {
        struct sealed s;
        size_t sent = 0;
        make(&s, &limits, 0);
        s.r.frame = frames[k];
        for (int i = 0; i < 20000 && s.r.got_n < total - total % (frames[k] ? frames[k] : 1); i++) {
            sent += tls_peer_send(&s.peer, bytes + sent, total - sent);
            rig_turn(&s.r);
        }
        cr_assert_eq(sent, total);
        cr_assert(span_equal(rig_got(&s.r), span_of(bytes, s.r.got_n)));
        cr_assert_eq(s.r.closed, 0);
        cr_assert_geq(s.r.got_n, total - (frames[k] ? frames[k] - 1 : 0));
        end(&s);
    }
    free(bytes);
}

Test(stream_sealed, a_paused_stream_hands_up_nothing_and_goes_on_where_it_was)
{
    struct sealed s;
    uint8_t *bytes = rig_noise(300000, 5);
    size_t sent = 0;
    make(&s, &rig_roomy, 0);
    stream_read_pause(s.r.stream, true);
    for (int i = 0; i < 20; i++) {
        sent += tls_peer_send(&s.peer, bytes + sent, 300000 - sent);
        rig_turn(&s.r);
    }
    cr_assert_eq(s.r.got_n, 0);
    cr_assert_lt(sent, 300000, "the kernel pushes back");
    stream_read_pause(s.r.stream, false);
    for (int i = 0; i < 1000 && s.r.got_n < 300000; i++) {
        sent += tls_peer_send(&s.peer, bytes + sent, 300000 - sent);
        rig_turn(&s.r);
    }
    cr_assert(span_equal(rig_got(&s.r), span_of(bytes, 300000)));
    free(bytes);
    end(&s);
}

Test(stream_sealed, a_pause_from_within_keeps_the_rest_for_later)
{
    const struct stream_limits limits = {.keep_max = 65536};
    struct sealed s;
    make(&s, &limits, 0);
    s.r.frame = 10;
    s.r.pause_after = 1;
    for (int i = 0; i < 5; i++)
        send_all(&s, "0123456789");
    rig_turn(&s.r);
    rig_turn(&s.r);
    expect_got(&s, "0123456789");
    s.r.pause_after = 0;
    stream_read_pause(s.r.stream, false);
    rig_turn(&s.r);
    cr_assert_eq(s.r.got_n, 50);
    end(&s);
}

Test(stream_sealed, other_keys_in_the_middle_change_nothing)
{
    struct sealed s;
    make(&s, &rig_roomy, TLS_PEER_1_3);
    for (int i = 0; i < 5; i++) {
        tls_peer_rekey(&s.peer);
        send_all(&s, "a");
        rig_turn(&s.r);
        cr_assert_eq(stream_write(s.r.stream, span_text("b")), 0);
        rig_turn(&s.r);
        expect_peer(&s, "b");
    }
    expect_got(&s, "aaaaa");
    end(&s);
}

Test(stream_sealed, a_handshake_anew_is_refused)
{
    struct sealed s;
    make(&s, &rig_roomy, TLS_PEER_1_2);
    bool refused = tls_peer_renegotiate_refused(&s.peer);
    for (int i = 0; i < 10 && !refused; i++) {
        rig_turn(&s.r);
        refused = tls_peer_renegotiate_refused(&s.peer);
    }
    cr_assert(refused);
    end(&s);
}

/* --- the end -----------------------------------------------------------------------------------
 */

Test(stream_sealed, the_last_bytes_come_before_the_goodbye)
{
    struct sealed s;
    make(&s, &rig_roomy, 0);
    send_all(&s, "bye");
    tls_peer_goodbye(&s.peer);
    rig_turn(&s.r);
    rig_turn(&s.r);
    expect_got(&s, "bye");
    cr_assert_eq(s.r.closed, 1);
    cr_assert_eq(s.r.why, STREAM_EOF);
    end(&s);
}

Test(stream_sealed, a_goodbye_waits_for_an_owner_that_paused)
{
    struct sealed s;
    make(&s, &rig_roomy, 0);
    s.r.frame = 3;
    s.r.pause_after = 1;
    send_all(&s, "onetwo");
    tls_peer_goodbye(&s.peer);
    for (int i = 0; i < 3; i++)
        rig_turn(&s.r);
    expect_got(&s, "one");
    cr_assert_eq(s.r.closed, 0);
    s.r.pause_after = 0;
    stream_read_pause(s.r.stream, false);
    rig_turn(&s.r);
    expect_got(&s, "onetwo");
    cr_assert_eq(s.r.closed, 1);
    end(&s);
}

Test(stream_sealed, an_end_without_a_goodbye_is_an_end_too)
{
    struct sealed s;
    char byte;
    make(&s, &rig_roomy, 0);
    send_all(&s, "bye");
    cr_assert_eq(tls_peer_recv(&s.peer, &byte, 1), 0, "a ticket that is not read would reset");
    tls_peer_close(&s.peer, false);
    for (int i = 0; i < 3; i++)
        rig_turn(&s.r);
    expect_got(&s, "bye");
    cr_assert_eq(s.r.closed, 1);
    cr_assert_eq(s.r.why, STREAM_EOF);
    end(&s);
}

Test(stream_sealed, what_does_not_open_ends_it_behind_what_came_before)
{
    struct sealed s;
    make(&s, &rig_roomy, 0);
    send_all(&s, "good");
    cr_assert_eq(send(s.peer.fd,
                      "\x17\x03\x03\0\x1e"
                      "123456789012345678901234567890",
                      35, 0),
                 35);
    for (int i = 0; i < 3; i++)
        rig_turn(&s.r);
    expect_got(&s, "good");
    cr_assert_eq(s.r.closed, 1);
    cr_assert_eq(s.r.why, STREAM_RESET);
    end(&s);
}

Test(stream_sealed, a_record_that_is_cut_is_an_end)
{
    struct sealed s;
    make(&s, &rig_roomy, 0);
    cr_assert_eq(send(s.peer.fd,
                      "\x17\x03\x03\0\x1e"
                      "12345",
                      10, 0),
                 10);
    rig_turn(&s.r);
    cr_assert_eq(s.r.closed, 0, "more may come");
    tls_peer_close(&s.peer, false);
    for (int i = 0; i < 3; i++)
        rig_turn(&s.r);
    cr_assert_eq(s.r.closed, 1);
    cr_assert_eq(s.r.got_n, 0);
    end(&s);
}

Test(stream_sealed, a_finish_sends_what_is_queued_then_goodbye_then_the_end)
{
    const struct stream_limits limits = {.keep_max = 64, .sndbuf = 1};
    struct sealed s;
    uint8_t *bytes = rig_noise(200000, 2), *got = calloc(1, 1 << 20);
    size_t got_n = 0;
    char byte;
    make(&s, &limits, 0);
    cr_assert_eq(stream_write(s.r.stream, span_of(bytes, 200000)), 0);
    stream_finish(s.r.stream, LONG_WAIT);
    cr_assert_eq(stream_write(s.r.stream, span_text("x")), E_CLOSED);
    for (int i = 0; i < 5000 && !s.peer.ended; i++) {
        send_all(&s, "still talking");
        got_n += tls_peer_recv(&s.peer, got + got_n, (1 << 20) - got_n);
        rig_turn(&s.r);
    }
    cr_assert(s.peer.ended, "goodbye");
    cr_assert_eq(recv(s.peer.fd, &byte, 1, 0), 0, "and the end of the socket's side");
    cr_assert(span_equal(span_of(got, got_n), span_of(bytes, 200000)));
    cr_assert_eq(s.r.got_n, 0, "what comes then is dropped");
    cr_assert_eq(s.r.closed, 0, "it lingers");
    tls_peer_close(&s.peer, false);
    rig_turn(&s.r);
    cr_assert_eq(s.r.closed, 1);
    cr_assert_eq(s.r.why, STREAM_LINGERED);
    free(bytes);
    free(got);
    end(&s);
}

Test(stream_sealed, a_finish_after_the_peers_goodbye_ends_with_its_socket)
{
    struct sealed s;
    make(&s, &rig_roomy, 0);
    s.r.in_data = RIG_FINISH;
    send_all(&s, "bye");
    tls_peer_goodbye(&s.peer);
    for (int i = 0; i < 3; i++)
        rig_turn(&s.r);
    cr_assert_eq(s.r.closed, 0, "its side of the socket is open");
    tls_peer_close(&s.peer, false);
    for (int i = 0; i < 3; i++)
        rig_turn(&s.r);
    cr_assert_eq(s.r.closed, 1);
    cr_assert_eq(s.r.why, STREAM_LINGERED);
    end(&s);
}

Test(stream_sealed, a_destroyed_one_says_goodbye_and_an_aborted_one_does_not)
{
    struct sealed s;
    char byte;
    for (int abort = 0; abort < 2; abort++) {
        make(&s, &rig_roomy, 0);
        if (abort)
            stream_abort(s.r.stream);
        else
            stream_destroy(s.r.stream);
        s.r.stream = NULL;
        rig_turn(&s.r);
        cr_assert_eq(tls_peer_recv(&s.peer, &byte, 1), 0);
        cr_assert_eq(s.peer.ended, !abort);
        cr_assert_eq(s.peer.broken, abort);
        end(&s);
    }
}

Test(stream_sealed, the_owner_may_destroy_it_in_any_call)
{
    struct sealed s;
    make(&s, &rig_roomy, 0);
    s.r.in_data = RIG_DESTROY;
    send_all(&s, "x");
    rig_turn(&s.r);
    cr_assert_null(s.r.stream);
    end(&s);
    make(&s, &rig_roomy, 0);
    s.r.in_closed = RIG_DESTROY;
    send_all(&s, "x");
    tls_peer_goodbye(&s.peer);
    rig_turn(&s.r);
    rig_turn(&s.r);
    cr_assert_null(s.r.stream);
    end(&s);
}

Test(stream_sealed, one_that_is_left_is_not_ended)
{
    struct sealed s;
    char byte;
    make(&s, &rig_roomy, 0);
    const int fd = stream_leave(s.r.stream);
    s.r.stream = NULL;
    rig_turn(&s.r);
    cr_assert_geq(fd, 0);
    cr_assert_eq(tls_peer_recv(&s.peer, &byte, 1), 0);
    cr_assert_not(s.peer.ended);
    cr_assert_not(s.peer.broken);
    close(fd);
    end(&s);
}

/* --- memory ------------------------------------------------------------------------------------
 */

Test(stream_sealed, an_idle_one_holds_no_buffers)
{
    struct sealed s;
    uint8_t *bytes = rig_noise(100000, 1), *got = malloc(200000);
    make(&s, &rig_roomy, 0);
    send_all(&s, "x");
    rig_turn(&s.r);
    cr_assert_eq(stream_write(s.r.stream, span_text("x")), 0);
    rig_turn(&s.r);
    const size_t before = rig_allocated();
    for (size_t sent = 0; s.r.got_n < 100001;) {
        sent += tls_peer_send(&s.peer, bytes + sent, 100000 - sent);
        rig_turn(&s.r);
    }
    cr_assert_eq(stream_write(s.r.stream, span_of(bytes, 100000)), 0);
    for (size_t got_n = 0; got_n < 100001;) {
        got_n += tls_peer_recv(&s.peer, got + got_n, 200000 - got_n);
        rig_turn(&s.r);
    }
    /* The peer's own buffers are in it, and those are two at most. */
    cr_assert_leq(rig_allocated(), before + 2 * 17408);
    free(bytes);
    free(got);
    end(&s);
}

#endif
