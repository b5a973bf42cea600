/* tests/common/test_handshake.c: connections until a seal stands on them: what may come instead,
 * the deadline, the cap, and the slice. The peer is OpenSSL alone, or bytes.
 */
#include "common/io/handshake.h"

#include "common/parts.h"

#ifdef PARTS_TLS

#include "common/err.h"
#include "tests/common/stream_rig.h"
#include "tests/common/tls_rig.h"
#include "tests/leak.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define HELLO_MAX 2048

/* What a client says first. */
static size_t hello(uint8_t out[HELLO_MAX], int version)
{
    struct tls_peer p;
    int fd[2];

    cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fd), 0);
    tls_peer_client(&p, fd[0], version, NULL);
    cr_assert_eq(tls_peer_shake(&p), 0);
    const ssize_t n = recv(fd[1], out, HELLO_MAX, 0);
    cr_assert_gt(n, 100);
    tls_peer_end(&p);
    close(fd[1]);
    return (size_t)n;
}

static void say(int fd, const void *bytes, size_t n)
{
    cr_assert_eq(send(fd, bytes, n, MSG_NOSIGNAL), (ssize_t)n);
}

/* What becomes of a connection that says this, and then ends. */
static enum tls_fault told(struct tls_rig *r, const void *bytes, size_t n)
{
    const int fd = tls_rig_knock(r, NULL), before = r->n;

    if (n > 0)
        say(fd, bytes, n);
    shutdown(fd, SHUT_WR);
    tls_rig_until(r, before + 1);
    close(fd);
    cr_assert_null(r->outcomes[before].seal);
    cr_assert_str_neq(r->outcomes[before].text, "");
    r->n = before;
    return r->outcomes[before].fault;
}

Test(handshake, what_is_no_tls_is_told_from_its_first_byte)
{
    static const char *const texts[] = {"GET / HTTP/1.1\r\n\r\n", "\x80\x2e\x01", "hello",
                                        "\x17\x03\x03"};
    struct tls_rig r;
    tls_rig_make(&r, NULL);
    cr_assert_eq(told(&r, "\0\0\0\x04\x93\x0b\x01\xc0", 8), TLS_FAULT_PLAIN, "our own framing");
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        cr_assert_eq(told(&r, texts[i], strlen(texts[i])), TLS_FAULT_PLAIN, "%zu", i);
    cr_assert_eq(told(&r, "", 0), TLS_FAULT_GONE, "nothing at all");
    cr_assert_eq(handshakes_pending(r.handshakes), 0);
    tls_rig_end(&r);
    TEST_NO_LEAKS();
}

Test(handshake, a_first_record_that_is_cut_anywhere_is_an_end)
{
    uint8_t bytes[HELLO_MAX];
    struct tls_rig r;
    tls_rig_make(&r, NULL);
    const size_t n = hello(bytes, 0);
    for (size_t cut = 0; cut <= n; cut++)
        cr_assert_eq(told(&r, bytes, cut), TLS_FAULT_GONE, "after %zu of %zu bytes", cut, n);
    tls_rig_end(&r);
    TEST_NO_LEAKS();
}

/* Whatever one changed byte makes of it: it ends, and the next client is served. */
Test(handshake, a_first_record_with_any_byte_changed_comes_to_an_end)
{
    uint8_t bytes[HELLO_MAX];
    struct tls_rig r;
    struct tls_peer p;
    tls_rig_make(&r, NULL);
    const size_t n = hello(bytes, TLS_PEER_1_2);
    for (size_t i = 0; i < n; i++) {
        bytes[i] ^= 0xff;
        cr_assert_neq(told(&r, bytes, n), TLS_FAULT_NONE);
        bytes[i] ^= 0xff;
    }
    cr_assert_not_null(tls_rig_meet(&r, &p, 0, NULL)->seal);
    tls_peer_end(&p);
    tls_rig_end(&r);
    TEST_NO_LEAKS();
}

Test(handshake, noise_behind_the_first_byte_comes_to_an_end)
{
    struct tls_rig r;
    tls_rig_make(&r, NULL);
    for (uint64_t seed = 1; seed <= 200; seed++) {
        uint8_t *bytes = rig_noise(600, seed);
        bytes[0] = 22;
        cr_assert_neq(told(&r, bytes, 600), TLS_FAULT_NONE);
        free(bytes);
    }
    tls_rig_end(&r);
    TEST_NO_LEAKS();
}

Test(handshake, it_goes_byte_by_byte_too)
{
    struct tls_rig r;
    struct tls_peer p;
    uint8_t bytes[8192];
    int fd[2], done = 0;
    tls_rig_make(&r, NULL);
    cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fd), 0);
    tls_peer_client(&p, fd[0], 0, NULL);
    const int door = tls_rig_knock(&r, NULL);
    for (int i = 0; i < 100 && (r.n == 0 || done != 1); i++) {
        done = tls_peer_shake(&p);
        ssize_t n = recv(fd[1], bytes, sizeof(bytes), 0);
        for (ssize_t k = 0; k < n; k++) {
            say(door, bytes + k, 1);
            loop_turn(r.loop, 0);
            loop_turn(r.loop, 0);
        }
        tls_rig_pass(&r, CLOCK_NS_PER_MS);
        n = recv(door, bytes, sizeof(bytes), 0);
        if (n > 0)
            say(fd[1], bytes, (size_t)n);
    }
    cr_assert_eq(done, 1);
    cr_assert_not_null(r.outcomes[0].seal);
    close(door);
    close(fd[1]);
    tls_peer_end(&p);
    tls_rig_end(&r);
    TEST_NO_LEAKS();
}

Test(handshake, a_peer_that_refuses_our_certificate_is_told_apart)
{
    struct tls_rig r;
    uint8_t bytes[HELLO_MAX];
    tls_rig_make(&r, NULL);
    const size_t n = hello(bytes, TLS_PEER_1_2);
    const int fd = tls_rig_knock(&r, NULL);
    say(fd, bytes, n);
    tls_rig_pass(&r, 20 * CLOCK_NS_PER_MS);
    say(fd, "\x15\x03\x03\0\x02\x02\x30", 7); /* fatal, unknown_ca */
    tls_rig_until(&r, 1);
    cr_assert_eq(r.outcomes[0].fault, TLS_FAULT_REFUSED);
    cr_assert_not_null(strstr(r.outcomes[0].text, "unknown ca"), "%s", r.outcomes[0].text);
    close(fd);
    tls_rig_end(&r);
    TEST_NO_LEAKS();
}

/* --- limits ------------------------------------------------------------------------------------
 */

Test(handshake, the_deadline_is_for_each_from_its_beginning)
{
    const struct handshakes_config config = {.timeout_ns = 200 * CLOCK_NS_PER_MS};
    struct tls_rig r;
    struct tls_peer p;
    uint8_t bytes[HELLO_MAX];
    tls_rig_make(&r, &config);
    const size_t n = hello(bytes, 0);
    const int mute = tls_rig_knock(&r, &r), half = tls_rig_knock(&r, bytes);
    say(half, bytes, n);
    const struct mono began = loop_now(r.loop);
    tls_rig_pass(&r, 100 * CLOCK_NS_PER_MS);
    const int later = tls_rig_knock(&r, &p);
    tls_rig_until(&r, 2);
    cr_assert_geq(clock_since(loop_now(r.loop), began), config.timeout_ns);
    cr_assert_eq(r.outcomes[0].fault, TLS_FAULT_LATE, "it said nothing");
    cr_assert_eq(r.outcomes[0].what, &r);
    cr_assert_eq(r.outcomes[1].fault, TLS_FAULT_LATE, "it stopped half way");
    cr_assert_eq(handshakes_pending(r.handshakes), 1, "the third has its own time");
    tls_rig_until(&r, 3);
    cr_assert_eq(r.outcomes[2].what, &p);
    close(mute);
    close(half);
    close(later);
    tls_rig_end(&r);
    TEST_NO_LEAKS();
}

Test(handshake, for_one_too_many_the_longest_wait_goes_but_not_before_its_grace)
{
    const struct handshakes_config config = {.most = 3};
    struct handshake *h;
    struct tls_rig r;
    struct tls_peer p;
    int fd[3], spare[2];
    tls_rig_make(&r, &config);
    for (int i = 0; i < 3; i++) {
        cr_assert(handshakes_room(r.handshakes));
        fd[i] = tls_rig_knock(&r, &fd[i]);
    }
    cr_assert_not(handshakes_room(r.handshakes), "full, and all of them are new");
    cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, spare), 0);
    cr_assert_eq(handshakes_take(r.handshakes, spare[0], NULL, &r, NULL, &h), E_FULL);
    cr_assert_eq(r.n, 0, "nobody lost a place");

    tls_rig_pass(&r, HANDSHAKE_GRACE_NS);
    cr_assert(handshakes_room(r.handshakes));
    cr_assert_eq(r.n, 0, "for nobody nobody goes");
    cr_assert_not_null(tls_rig_meet(&r, &p, 0, NULL)->seal, "who came then is served");
    cr_assert_eq(r.n, 2);
    cr_assert_eq(r.outcomes[0].fault, TLS_FAULT_FULL);
    cr_assert_eq(r.outcomes[0].what, &fd[0], "the oldest");
    cr_assert_eq(handshakes_pending(r.handshakes), 2, "the others stay");
    close(spare[1]);
    for (int i = 0; i < 3; i++)
        close(fd[i]);
    tls_peer_end(&p);
    tls_rig_end(&r);
    TEST_NO_LEAKS();
}

Test(handshake, several_that_share_a_count_have_one_cap)
{
    _Atomic uint32_t pending = 0;
    const struct handshakes_config config = {.most = 2, .pending = &pending};
    struct tls_rig a, b;
    tls_rig_make(&a, &config);
    tls_rig_make(&b, &config);
    const int one = tls_rig_knock(&a, NULL), two = tls_rig_knock(&b, NULL);
    cr_assert_not(handshakes_room(a.handshakes));
    cr_assert_not(handshakes_room(b.handshakes));
    close(one);
    tls_rig_until(&a, 1);
    cr_assert(handshakes_room(b.handshakes));
    close(two);
    tls_rig_end(&a);
    tls_rig_end(&b);
    cr_assert_eq(pending, 0);
    TEST_NO_LEAKS();
}

/* A slice of nothing is one step a turn, and a rest behind it: other work has its turn between. */
Test(handshake, no_turn_does_more_than_its_slice)
{
    const struct handshakes_config config = {.slice_ns = 1};
    struct tls_rig r;
    int fd[8];
    tls_rig_make(&r, &config);
    for (int i = 0; i < 8; i++) {
        fd[i] = tls_rig_knock(&r, NULL);
        say(fd[i], "plain", 5);
    }
    int turns = 0;
    for (int before = 0; r.n < 8 && turns < 20000; turns++) {
        loop_turn(r.loop, CLOCK_NS_PER_MS);
        cr_assert_leq(r.n - before, 1, "in one turn");
        before = r.n;
    }
    cr_assert_eq(r.n, 8);
    cr_assert_geq(turns, 8);
    for (int i = 0; i < 8; i++)
        close(fd[i]);
    tls_rig_end(&r);
    TEST_NO_LEAKS();
}

Test(handshake, all_end_when_they_are_told_to_and_no_more_are_taken)
{
    struct tls_rig r;
    struct handshake *h;
    int spare[2];
    char byte;
    tls_rig_make(&r, NULL);
    const int fd = tls_rig_knock(&r, &r);
    handshakes_end(r.handshakes);
    cr_assert_eq(r.n, 1);
    cr_assert_eq(r.outcomes[0].fault, TLS_FAULT_ENDED);
    cr_assert_eq(recv(fd, &byte, 1, 0), 0, "closed");
    cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, spare), 0);
    cr_assert_eq(handshakes_take(r.handshakes, spare[0], NULL, &r, NULL, &h), E_FULL);
    cr_assert_eq(recv(spare[1], &byte, 1, 0), 0, "closed too");
    close(fd);
    close(spare[1]);
    tls_rig_end(&r);
    TEST_NO_LEAKS();
}

Test(handshake, one_that_is_cancelled_is_closed_and_nobody_hears_of_it)
{
    struct tls_rig r;
    struct handshake *h;
    int fd[2];
    char byte;
    tls_rig_make(&r, NULL);
    cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
    cr_assert_eq(handshakes_take(r.handshakes, fd[0], NULL, &r, NULL, &h), 0);
    say(fd[1], "x", 1);
    handshake_cancel(h);
    cr_assert_eq(recv(fd[1], &byte, 1, 0), -1, "reset, since a byte was not read");
    tls_rig_pass(&r, CLOCK_NS_PER_MS);
    cr_assert_eq(r.n, 0);
    close(fd[1]);
    tls_rig_end(&r);
    TEST_NO_LEAKS();
}

Test(handshake, one_that_said_nothing_costs_little)
{
    enum { N = 50 };
    struct tls_rig r;
    int fd[N];
    tls_rig_make(&r, NULL);
    const size_t before = rig_allocated();
    for (int i = 0; i < N; i++)
        fd[i] = tls_rig_knock(&r, NULL);
    cr_assert_leq((rig_allocated() - before) / N, 512, "bytes each");
    for (int i = 0; i < N; i++)
        close(fd[i]);
    tls_rig_end(&r);
    TEST_NO_LEAKS();
}

#endif
