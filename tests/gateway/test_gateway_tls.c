/* tests/gateway/test_gateway_tls.c: clients under TLS on both ports, and whoever does not get so
 * far. The client is OpenSSL alone.
 */
#include "common/parts.h"

#ifdef PARTS_TLS

#include "common/io/handshake.h"
#include "proto/protocol.h"
#include "tests/certs.h"
#include "tests/gateway/gateway_rig.h"
#include "tests/leak.h"
#include "tests/tls_peer.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PING      "\0\0\0\x04\x93\x0b\x01\xc0"
#define PONG      "\0\0\0\x04\x93\x0c\x01\xc0"
#define PING_SIZE 8
#define TURNS_MAX 10000 /* of a millisecond */

static struct certs certs;

/* The gateway, with a certificate and these flags more. */
static void start(const char *one, const char *two)
{
    static char cert[CERTS_PATH + 16], key[CERTS_PATH + 16];

    certs_make(&certs, "first");
    snprintf(cert, sizeof(cert), "-tls-cert=%s", certs.cert);
    snprintf(key, sizeof(key), "-tls-key=%s", certs.key);
    rig_start(cert, key, one, two, NULL);
}

static void stop(void)
{
    rig_stop();
    certs_end(&certs);
    TEST_NO_LEAKS();
}

static void shake(struct tls_peer *p, int fd, int version, const struct tls_peer *older)
{
    int done = 0;

    tls_peer_client(p, fd, version, older);
    for (int i = 0; i < TURNS_MAX && done == 0; i++) {
        done = tls_peer_shake(p);
        loop_turn(rig.loop, CLOCK_NS_PER_MS);
    }
    cr_assert_eq(done, 1);
}

/* Turn until so many bytes came or the connection ended; how many. */
static size_t read_some(struct tls_peer *p, void *to, size_t want)
{
    size_t n = 0;

    for (int i = 0; i < TURNS_MAX && n < want && !p->ended && !p->broken; i++) {
        n += tls_peer_recv(p, (uint8_t *)to + n, want - n);
        loop_turn(rig.loop, CLOCK_NS_PER_MS);
    }
    return n;
}

static void must_serve(struct tls_peer *p)
{
    uint8_t got[PING_SIZE];

    cr_assert_eq(tls_peer_send(p, PING, PING_SIZE), PING_SIZE);
    cr_assert_eq(read_some(p, got, PING_SIZE), PING_SIZE);
    cr_assert_eq(memcmp(got, PONG, PING_SIZE), 0);
}

/* What comes to the end is one frame, a Bye with this code, and then a goodbye. */
static void expect_bye(struct tls_peer *p, uint8_t code)
{
    uint8_t got[512];
    const size_t n = read_some(p, got, sizeof(got));
    const uint8_t start[] = {0x93, CMD_BYE, 0x00, 0x82, 0xa4, 'c', 'o', 'd', 'e', code};

    cr_assert_gt(n, 4 + sizeof(start));
    cr_assert_eq(span_be32(got), n - 4);
    cr_assert_eq(memcmp(got + 4, start, sizeof(start)), 0);
    cr_assert(p->ended, "a goodbye, not only an end");
}

/* The connection is closed without a word. */
static void expect_closed(int fd)
{
    uint8_t byte;

    for (int i = 0; i < RIG_TURNS_MAX; i++) {
        const ssize_t n = recv(fd, &byte, 1, MSG_DONTWAIT);
        if (n == 0 || (n < 0 && errno != EAGAIN)) {
            close(fd);
            return;
        }
        cr_assert_lt(n, 0, "nothing is said");
        loop_turn(rig.loop, RIG_TURN_NS);
    }
    cr_assert_fail("it stays open");
}

Test(gateway_tls, a_client_is_served_under_tls)
{
    struct tls_peer p;
    start(NULL, NULL);
    for (int version = TLS_PEER_1_2; version <= TLS_PEER_1_3; version++) {
        shake(&p, rig_connect(), version, NULL);
        must_serve(&p);
        cr_assert(tls_peer_sees(&p, "first"));
        tls_peer_goodbye(&p);
        rig_until(&rig_metrics()->closed_eof, (uint64_t)(version - TLS_PEER_1_2) + 1);
        tls_peer_end(&p);
    }
    cr_assert_eq(rig_metrics()->tls_new, 2);
    cr_assert_eq(rig_metrics()->accepted, 2);
    cr_assert_eq(rig_metrics()->tls_pending, 0);
    stop();
}

#ifdef PARTS_WEBSOCKET
Test(gateway_tls, so_is_one_of_websocket)
{
    static const char hello[] = "GET /ws HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\n"
                                "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                                "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
                                "\x82\x84\0\0\0\0\x93\x0b\x01\xc0";
    static const char pong[] = "\x82\x04\x93\x0c\x01\xc0";
    struct sockaddr_in at = {.sin_family = AF_INET};
    struct tls_peer p;
    char got[512];
    start("-ws-listen=127.0.0.1:0", NULL);
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    at.sin_port = htons((uint16_t)strtoul(strrchr(crew_ws_addr(rig.crew), ':') + 1, NULL, 10));
    cr_assert_eq(connect(fd, (struct sockaddr *)&at, sizeof(at)), 0);
    fcntl(fd, F_SETFL, O_NONBLOCK);
    shake(&p, fd, 0, NULL);
    cr_assert_eq(tls_peer_send(&p, hello, sizeof(hello) - 1), sizeof(hello) - 1);
    const size_t answer = strlen("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
                                 "Connection: Upgrade\r\n"
                                 "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n");
    cr_assert_eq(read_some(&p, got, answer + sizeof(pong) - 1), answer + sizeof(pong) - 1);
    cr_assert_eq(memcmp(got, "HTTP/1.1 101 ", 13), 0);
    cr_assert_eq(memcmp(got + answer, pong, sizeof(pong) - 1), 0);
    tls_peer_end(&p);
    stop();
}
#endif

Test(gateway_tls, a_ticket_is_counted_apart)
{
    struct tls_peer first, second;
    start("-threads=2", NULL);
    cr_assert_eq(crew_start(rig.crew), 0);
    shake(&first, rig_connect(), 0, NULL);
    must_serve(&first);
    for (int i = 0; i < 4; i++) {
        /* In whichever thread. */
        shake(&second, rig_connect(), 0, &first);
        must_serve(&second);
        cr_assert(tls_peer_resumed(&second), "the %dth", i + 1);
        tls_peer_goodbye(&second); /* who parts without one may not come back by its ticket */
        tls_peer_end(&first);
        first = (struct tls_peer){.fd = -1, .ticket = second.ticket};
        second.ticket = NULL;
        tls_peer_end(&second);
    }
    rig_until(&rig_metrics()->tls_resumed, 4);
    cr_assert_eq(rig_metrics()->tls_new, 1);
    tls_peer_end(&first);
    crew_stop(rig.crew);
    stop();
}

Test(gateway_tls, a_plain_client_is_closed_and_counted)
{
    start(NULL, NULL);
    const int fd = rig_connect();
    rig_send(fd, PING, PING_SIZE);
    expect_closed(fd);
    cr_assert_eq(rig_metrics()->tls_plain, 1);
    cr_assert_eq(rig_metrics()->accepted, 0, "it never was a client");
    stop();
}

Test(gateway_tls, an_old_client_is_refused_and_counted)
{
    struct tls_peer p;
    int done = 0;
    start(NULL, NULL);
    tls_peer_client(&p, rig_connect(), TLS_PEER_1_1, NULL);
    for (int i = 0; i < TURNS_MAX && done == 0; i++) {
        done = tls_peer_shake(&p);
        loop_turn(rig.loop, CLOCK_NS_PER_MS);
    }
    cr_assert_eq(done, -1);
    rig_until(&rig_metrics()->tls_version, 1);
    tls_peer_end(&p);
    stop();
}

/* PROTOCOL.md, Framing: the first bytes of TLS are a length above any limit. */
Test(gateway_tls, at_a_plain_port_tls_is_a_bad_frame)
{
    struct tls_peer p;
    rig_start("-rate=60", NULL);
    tls_peer_client(&p, rig_connect(), 0, NULL);
    cr_assert_eq(tls_peer_shake(&p), 0);
    rig_until(&rig_metrics()->closed_length, 1);
    rig_until(&rig_metrics()->byes_sent, 1);
    tls_peer_end(&p);
    rig_stop();
    TEST_NO_LEAKS();
}

Test(gateway_tls, a_handshake_has_its_time)
{
    start("-handshake-timeout=0.1", NULL);
    const int mute = rig_connect(), half = rig_connect();
    rig_send(half, "\x16\x03\x01", 3);
    rig_until(&rig_metrics()->tls_pending, 2);
    expect_closed(mute);
    expect_closed(half);
    cr_assert_eq(rig_metrics()->tls_late, 2);
    cr_assert_eq(rig_metrics()->tls_pending, 0);
    stop();
}

Test(gateway_tls, for_a_handshake_too_many_accepting_pauses_and_then_the_longest_wait_goes)
{
    struct tls_peer p;
    start("-max-handshakes=2", "-handshake-timeout=0");
    const int first = rig_connect(), second = rig_connect();
    rig_until(&rig_metrics()->tls_pending, 2);
    const struct mono began = clock_mono();
    shake(&p, rig_connect(), 0, NULL);
    must_serve(&p);
    cr_assert_geq(clock_since(clock_mono(), began), HANDSHAKE_GRACE_NS / 2, "not at once");
    cr_assert_eq(rig_metrics()->tls_full, 1);
    cr_assert_geq(rig_metrics()->tls_pauses, 1);
    cr_assert_eq(rig_metrics()->accept_pauses, rig_metrics()->tls_pauses);
    expect_closed(first);
    cr_assert_eq(rig_metrics()->tls_pending, 1, "the other stays");
    close(second);
    tls_peer_end(&p);
    stop();
}

Test(gateway_tls, while_it_pauses_it_is_not_ready_and_says_why)
{
    start("-max-handshakes=1", NULL);
    const int first = rig_connect();
    rig_until(&rig_metrics()->tls_pending, 1);
    const int second = rig_connect();
    rig_until(&rig_metrics()->tls_pauses, 1);
    cr_assert_str_eq(crew_unready(rig.crew), "full of handshakes");
    close(first);
    close(second);
    stop();
}

Test(gateway_tls, a_client_too_many_reads_its_bye_under_tls)
{
    struct tls_peer p, q;
    start("-max-clients=1", NULL);
    shake(&p, rig_connect(), 0, NULL);
    must_serve(&p);
    shake(&q, rig_connect(), 0, NULL);
    expect_bye(&q, PE_UNAVAILABLE);
    must_serve(&p);
    tls_peer_end(&p);
    tls_peer_end(&q);
    stop();
}

Test(gateway_tls, a_drain_says_bye_and_ends_handshakes)
{
    struct tls_peer p;
    start(NULL, NULL);
    shake(&p, rig_connect(), 0, NULL);
    must_serve(&p);
    const int pending = rig_connect();
    rig_until(&rig_metrics()->tls_pending, 1);
    crew_drain(rig.crew);
    expect_bye(&p, PE_SHUTTING_DOWN);
    expect_closed(pending);
    cr_assert_eq(rig_metrics()->tls_ended, 1);
    tls_peer_end(&p);
    stop();
}

Test(gateway_tls, a_certificate_read_anew_is_for_those_who_come_then)
{
    struct tls_peer before, after;
    char why[256];
    start(NULL, NULL);
    shake(&before, rig_connect(), 0, NULL);
    const uint64_t expires_s = rig_metrics()->tls_expires_s;
    cr_assert_gt(expires_s, 1700000000);
    certs_renew(&certs, "second", false);
    cr_assert_eq(crew_read_tls(rig.crew, why, sizeof(why)), 0);
    shake(&after, rig_connect(), 0, NULL);
    cr_assert(tls_peer_sees(&after, "second"));
    must_serve(&before);
    must_serve(&after);
    certs_write(certs.key, "nothing");
    cr_assert_lt(crew_read_tls(rig.crew, why, sizeof(why)), 0);
    cr_assert_not_null(strstr(why, certs.key), "%s", why);
    must_serve(&before);
    cr_assert_eq(rig_metrics()->tls_reloads, 1);
    cr_assert_eq(rig_metrics()->tls_reloads_failed, 1);
    tls_peer_end(&before);
    tls_peer_end(&after);
    stop();
}

#endif
