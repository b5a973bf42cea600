/* tests/e2e/test_e2e_proxy_head.c: connections that a proxy brings, and those that only say so.
 * May touch: tests/pair, tests/raw_client. On trouble: the test fails.
 */
#include "common/parts.h"
#include "tests/certs.h"
#include "tests/leak.h"
#include "tests/pair.h"
#include "tests/raw_client.h"
#include "tests/tls_peer.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

TestSuite(e2e_proxy_head, .fini = process_end_all, .timeout = 60);

#define SIGNATURE "0d0a0d0a 000d0a51 5549540a"
/* From 192.0.2.1:57198, and from [2001:db8::7]:12345. */
#define FOUR SIGNATURE "2111000c c0000201 7f000001 df6e01bb"
#define SIX                                               \
    SIGNATURE "21210024 20010db8000000000000000000000007" \
              "20010db8000000000000000000000008 303901bb"
#define ITSELF  SIGNATURE "20000000"
#define ANYBODY "127.0.0.0/8,::1"

static void send_text(struct raw_client *c, const char *notation)
{
    uint8_t bytes[1024];
    raw_send(c, span_of(bytes, raw_bytes(notation, bytes, sizeof(bytes))));
}

/* The gateway closes without a word. */
static void must_be_shut(struct raw_client *c)
{
    cr_assert_null(raw_body_within(c, PROCESS_PATIENCE_MS).p);
    cr_assert(c->ended || c->reset, "it is still open");
    raw_close(c);
}

Test(e2e_proxy_head, who_the_header_names_is_the_peer_in_the_logs_of_both)
{
    struct pair pair = pair_start(
        NULL, PROCESS_ARGS("-proxy-protocol", ANYBODY, "-log-level", "debug", "-threads", "2"));
    struct raw_client a, b;
    uint8_t bytes[1024];

    pair_await_link(pair.gateway, 2);
    raw_connect(&a, pair.gateway->addr);
    const size_t n = raw_bytes(FOUR, bytes, sizeof(bytes));
    for (size_t i = 0; i < n; i++)
        raw_send(&a, span_of(bytes + i, 1));
    raw_must(&a, raw_login(&a, "alpha"), CMD_LOGIN_RESP);
    raw_connect(&b, pair.gateway->addr); /* what follows comes with it */
    send_text(&b, SIX "0000000b 93 01 01 81 a4'name' a1'b'");
    cr_assert_eq(raw_next(&b)->cmd, (uint32_t)CMD_LOGIN_RESP);
    process_await_log(pair.world, "\"alpha\" logged in", 1);
    process_await_log(pair.world, "peer=192.0.2.1:57198", 1);
    process_await_log(pair.gateway, "client connected peer=192.0.2.1:57198", 1);
    process_await_log(pair.gateway, "client connected peer=[2001:db8::7]:12345", 1);
    raw_close(&a);
    raw_close(&b);
    pair_end(&pair);
    TEST_NO_LEAKS();
}

Test(e2e_proxy_head, a_proxy_that_comes_for_itself_is_served_as_who_it_is)
{
    struct pair pair = pair_start(NULL, PROCESS_ARGS("-proxy-protocol", ANYBODY));
    struct raw_client c;

    raw_connect(&c, pair.gateway->addr);
    send_text(&c, ITSELF);
    raw_must(&c, raw_login(&c, "alpha"), CMD_LOGIN_RESP);
    process_await_log(pair.world, "peer=127.", 1);
    raw_close(&c);
    pair_end(&pair);
    TEST_NO_LEAKS();
}

Test(e2e_proxy_head, from_an_address_that_is_not_listed_a_header_is_a_bad_frame)
{
    static const char *const listed[] = {"", "192.0.2.0/24,2001:db8::/32"};

    for (size_t i = 0; i < ARRAY_LEN(listed); i++) {
        struct pair pair = pair_start(NULL, PROCESS_ARGS("-proxy-protocol", listed[i]));
        struct raw_client c;

        raw_connect(&c, pair.gateway->addr);
        send_text(&c, FOUR);
        raw_must_bye(&c, PE_BAD_FRAME);
        process_await_log(pair.gateway, "client ended reason=frame_length peer=127.", 1);
        raw_connect(&c, pair.gateway->addr);
        raw_must(&c, raw_login(&c, "alpha"), CMD_LOGIN_RESP);
        raw_close(&c);
        pair_end(&pair);
    }
    TEST_NO_LEAKS();
}

/* What is no header; the last ones are too long, and known by their first 16 bytes. */
static const char *const no_heads[] = {
    "'PROXY TCP4 192.0.2.1 127.0.0.1 57198 443' 0d0a",
    "00000009 93 01 01 81 a4'name' a1'x'", /* a client who came past the proxy */
    "160301 0200 01 0001fc0303 000000000000000000000000",
    "'GET /ws HTTP/1.1' 0d0a 0d0a",
    SIGNATURE "3111000c c0000201 7f000001 df6e01bb",
    SIGNATURE "2211000c c0000201 7f000001 df6e01bb",
    SIGNATURE "2111000b c0000201 7f000001 df6e01",
    SIGNATURE "21120000",
    SIGNATURE "21110013 c0000201 7f000001 df6e01bb 030004 deadbeef", /* a false checksum */
    SIGNATURE "21110219",
    SIGNATURE "2111ffff",
};

Test(e2e_proxy_head, spoofed_and_oversized_headers_are_refused_and_others_play_on)
{
    struct pair pair = pair_start(NULL, PROCESS_ARGS("-proxy-protocol", ANYBODY));
    struct raw_client honest, c;

    raw_connect(&honest, pair.gateway->addr);
    send_text(&honest, FOUR);
    raw_must(&honest, raw_login(&honest, "honest"), CMD_LOGIN_RESP);
    for (size_t i = 0; i < ARRAY_LEN(no_heads); i++) {
        raw_connect(&c, pair.gateway->addr);
        send_text(&c, no_heads[i]);
        must_be_shut(&c);
        raw_must_serve(&honest);
    }
    process_await_log(pair.gateway, "proxy header refused reason=bad", 1);
    raw_close(&honest);
    pair_end(&pair);
    TEST_NO_LEAKS();
}

Test(e2e_proxy_head, a_truncated_header_is_refused_at_its_end_or_by_the_deadline)
{
    struct pair pair =
        pair_start(NULL, PROCESS_ARGS("-proxy-protocol", ANYBODY, "-frame-timeout", "300ms"));
    struct raw_client c;

    raw_connect(&c, pair.gateway->addr);
    send_text(&c, SIGNATURE "2111");
    must_be_shut(&c);
    process_await_log(pair.gateway, "proxy header refused reason=late", 1);
    raw_connect(&c, pair.gateway->addr);
    send_text(&c, SIGNATURE "2111000c c000");
    raw_close(&c);
    process_await_log(pair.gateway, "proxy header refused reason=gone", 1);
    raw_connect(&c, pair.gateway->addr); /* the end of the gateway finds one under way */
    send_text(&c, SIGNATURE);
    pair_end(&pair);
    raw_close(&c);
    TEST_NO_LEAKS();
}

#ifdef PARTS_WEBSOCKET

Test(e2e_proxy_head, it_stands_before_http_too)
{
    struct pair pair = pair_start(
        NULL, PROCESS_ARGS("-proxy-protocol", ANYBODY, "-ws-listen", process_any_port()));
    struct raw_client c;
    char addr[PROCESS_ADDR_MAX] = "";

    process_await_log(pair.gateway, "websocket on ", 1);
    const struct span log = process_log(pair.gateway);
    const char *at = memmem(log.p, log.n, "websocket on ", 13);
    sscanf(at, "websocket on %63[^\n]", addr);
    raw_connect(&c, addr);
    send_text(&c, FOUR "'GET / HTTP/1.1' 0d0a 'Host: a' 0d0a0d0a");
    char got[16] = "";
    cr_assert_eq(recv(c.fd, got, 15, MSG_WAITALL), 15);
    cr_assert_str_eq(got, "HTTP/1.1 200 OK");
    raw_close(&c);
    pair_end(&pair);
    TEST_NO_LEAKS();
}

#endif

#ifdef PARTS_TLS

Test(e2e_proxy_head, under_tls_the_header_comes_before_the_handshake)
{
    static const uint8_t ping[] = {0, 0, 0, 4, 0x93, 11, 7, 0xc0};
    static const uint8_t pong[] = {0, 0, 0, 4, 0x93, 12, 7, 0xc0};
    const struct mono deadline = process_deadline(PROCESS_PATIENCE_MS);
    struct certs certs;
    struct raw_client raw;
    struct tls_peer peer;
    uint8_t got[sizeof(pong)];
    size_t n = 0;
    int shaken;

    certs_make(&certs, "localhost");
    struct pair pair =
        pair_start(NULL, PROCESS_ARGS("-proxy-protocol", ANYBODY, "-log-level", "debug",
                                      "-tls-cert", certs.cert, "-tls-key", certs.key));
    raw_connect(&raw, pair.gateway->addr);
    send_text(&raw, FOUR);
    tls_peer_client(&peer, dup(raw.fd), 0, NULL);
    while ((shaken = tls_peer_shake(&peer)) == 0)
        process_rest(deadline, "a handshake");
    cr_assert_eq(shaken, 1);
    while (tls_peer_send(&peer, ping, sizeof(ping)) == 0)
        process_rest(deadline, "room for a ping");
    while (n < sizeof(pong)) {
        n += tls_peer_recv(&peer, got + n, sizeof(got) - n);
        process_rest(deadline, "its answer");
    }
    cr_assert_arr_eq(got, pong, sizeof(pong));
    process_await_log(pair.gateway, "client connected peer=192.0.2.1:57198", 1);
    tls_peer_end(&peer);
    raw_close(&raw);
    pair_end(&pair);
    certs_end(&certs);
    TEST_NO_LEAKS();
}

#endif
