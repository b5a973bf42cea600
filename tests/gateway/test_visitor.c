/* tests/gateway/test_visitor.c: the WebSocket port from its first byte on: handshakes, files, and
 * who is refused. PROTOCOL.md, Framing; RFC 6455, 4.2.
 */
#include "gateway/visitor.h"

#include "common/parts.h"

#ifdef PARTS_WEBSOCKET

#include "proto/ws_request.h"
#include "tests/gateway/gateway_rig.h"
#include "tests/leak.h"
#include "tests/ws_bytes.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define FIELDS                                                                              \
    "Host: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n" \
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
#define HANDSHAKE "GET /ws HTTP/1.1\r\n" FIELDS "\r\n"
#define ACCEPTED                                                                        \
    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" \
    "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n"
#define PORT "-ws-listen=127.0.0.1:0"

static int knock(void)
{
    const char *port = strrchr(crew_ws_addr(rig.crew), ':') + 1;
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)strtoul(port, NULL, 10))};
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    cr_assert_geq(fd, 0);
    cr_assert_eq(connect(fd, (struct sockaddr *)&at, sizeof(at)), 0);
    fcntl(fd, F_SETFL, O_NONBLOCK);
    return fd;
}

/* Exactly this comes. */
static void expect(int fd, const char *text)
{
    static char got[4096];
    const size_t n = rig_read(fd, (uint8_t *)got, strlen(text));

    cr_assert_eq(n, strlen(text), "%zu of %zu bytes came: %.*s", n, strlen(text), (int)n, got);
    cr_assert_eq(memcmp(got, text, n), 0, "%.*s", (int)n, got);
}

/* The whole answer to this, to the end of the connection; lives until the next call. */
static const char *ask(const char *request)
{
    static char got[16384];
    const int fd = knock();

    rig_send(fd, request, strlen(request));
    got[rig_read(fd, (uint8_t *)got, sizeof(got) - 1)] = '\0';
    close(fd);
    return got;
}

static bool starts(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static void put_ping(struct span_writer *w, uint8_t seq)
{
    const uint8_t body[] = {0x93, CMD_PING_REQ, seq, 0xc0};
    ws_bytes_frame(w, 0x82, body, sizeof(body));
}

static void expect_pong(int fd, uint8_t seq)
{
    const uint8_t wanted[] = {0x82, 4, 0x93, CMD_PING_RESP, seq, 0xc0};
    uint8_t got[sizeof(wanted)];

    cr_assert_eq(rig_read(fd, got, sizeof(got)), sizeof(got));
    cr_assert_eq(memcmp(got, wanted, sizeof(got)), 0);
}

/* Bye and a close of 4000 + its code, then the end. */
static void expect_bye(int fd, uint32_t code)
{
    static struct message_reader *reader;
    uint8_t bytes[256], first;
    struct span in = span_of(bytes, rig_read(fd, bytes, sizeof(bytes))), payload;
    struct message m;

    cr_assert(ws_bytes_take(&in, &first, &payload));
    message_reader_destroy(reader);
    cr_assert_eq(message_reader_create(sizeof(bytes), &reader), 0);
    cr_assert_eq(message_read(reader, payload, &m), 0);
    cr_assert_eq(m.cmd, CMD_BYE);
    cr_assert_eq(m.bye.code, code);
    cr_assert(ws_bytes_take(&in, &first, &payload));
    cr_assert_eq(first, 0x88);
    cr_assert_eq((uint32_t)payload.p[0] << 8 | payload.p[1], 4000 + code);
    cr_assert_eq(in.n, 0);
    close(fd);
}

TestSuite(visitor, .timeout = 60);

Test(visitor, a_handshake_makes_a_client_whose_messages_are_bodies)
{
    rig_start(PORT, NULL);
    uint8_t bytes[64];
    struct span_writer w = span_writer_of(bytes, sizeof(bytes));
    const int fd = knock();

    rig_send(fd, HANDSHAKE, strlen(HANDSHAKE));
    expect(fd, ACCEPTED);
    put_ping(&w, 1);
    rig_send(fd, bytes, w.len);
    expect_pong(fd, 1);
    cr_assert_eq(rig_metrics()->clients, 1);
    cr_assert_eq(rig_metrics()->web_clients, 1);
    close(fd);
    rig_until(&rig_metrics()->closed_eof, 1);
    rig_stop();
    TEST_NO_LEAKS();
}

Test(visitor, what_comes_behind_a_handshake_in_one_piece_is_the_clients)
{
    rig_start(PORT, NULL);
    uint8_t bytes[1024];
    struct span_writer w = span_writer_of(bytes, sizeof(bytes));
    const int fd = knock();

    span_put(&w, HANDSHAKE, strlen(HANDSHAKE));
    put_ping(&w, 1);
    put_ping(&w, 2);
    rig_send(fd, bytes, w.len - 3);
    expect(fd, ACCEPTED);
    expect_pong(fd, 1);
    rig_send(fd, bytes + w.len - 3, 3);
    expect_pong(fd, 2);
    close(fd);
    rig_stop();
    TEST_NO_LEAKS();
}

Test(visitor, a_handshake_may_come_byte_by_byte_and_may_end_anywhere)
{
    rig_start(PORT, NULL);
    const size_t n = strlen(HANDSHAKE);
    const int slow = knock();

    for (size_t i = 0; i < n; i++) {
        const int fd = knock();
        rig_send(fd, HANDSHAKE, i);
        shutdown(fd, SHUT_WR);
        rig_send(slow, &HANDSHAKE[i], 1);
        loop_turn(rig.loop, 0);
        uint8_t byte;
        cr_assert_eq(rig_read(fd, &byte, 1), 0, "after %zu bytes", i);
        close(fd);
    }
    cr_assert_eq(rig_metrics()->web_gone, n);
    expect(slow, ACCEPTED);
    cr_assert_eq(rig_metrics()->clients, 1);
    close(slow);
    rig_stop();
    TEST_NO_LEAKS();
}

Test(visitor, a_page_must_be_on_the_list_and_one_that_is_no_page_need_not)
{
    rig_start(PORT, "-ws-origins=https://a.example,http://b.example:8080", NULL);
    static const struct {
        const char *origin;
        bool good;
    } rows[] = {
        {"https://a.example", true},
        {"http://b.example:8080", true},
        {"http://a.example", false},
        {"https://a.example.evil.org", false},
        {"null", false},
        {"", false},
        {"http://b.example", false},
        {"https://A.example", false},
        {"https://a.example:443", false},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char request[512];
        snprintf(request, sizeof(request), "GET /ws HTTP/1.1\r\n" FIELDS "Origin: %s\r\n\r\n",
                 rows[i].origin);
        if (rows[i].good) {
            const int fd = knock();
            rig_send(fd, request, strlen(request));
            expect(fd, ACCEPTED);
            close(fd);
        } else {
            cr_assert(starts(ask(request), "HTTP/1.1 403 "), "%s", rows[i].origin);
        }
    }
    cr_assert_eq(rig_metrics()->web_origin, 7);
    rig_stop();
    TEST_NO_LEAKS();
}

#define FROM(origin) "GET /ws HTTP/1.1\r\n" FIELDS "Origin: " origin "\r\n\r\n"

Test(visitor, without_a_list_only_the_ports_own_page_connects)
{
    rig_start(PORT, NULL);
    cr_assert(starts(ask(FROM("http://b")), "HTTP/1.1 403 "));
    cr_assert(starts(ask(FROM("http://a:80")), "HTTP/1.1 403 "));
    const int fd = knock();
    rig_send(fd, FROM("http://a"), strlen(FROM("http://a")));
    expect(fd, ACCEPTED);
    close(fd);
    rig_stop();
    TEST_NO_LEAKS();
}

Test(visitor, with_an_empty_list_no_page_connects)
{
    rig_start(PORT, "-ws-origins=", NULL);
    cr_assert(starts(ask(FROM("http://a")), "HTTP/1.1 403 "));
    rig_stop();
    TEST_NO_LEAKS();
}

Test(visitor, a_refusal_has_its_status_and_is_counted)
{
    rig_start(PORT, NULL);
    static char long_one[WS_REQUEST_MAX + 1] = "GET / HTTP/1.1\r\nHost: a\r\nX: ";
    memset(long_one + strlen(long_one), 'x', sizeof(long_one) - strlen(long_one) - 1);

    cr_assert(starts(ask("hello\r\n\r\n"), "HTTP/1.1 400 Bad Request\r\n"));
    cr_assert(starts(ask("GET /none HTTP/1.1\r\nHost: a\r\n\r\n"), "HTTP/1.1 404 Not Found\r\n"));
    cr_assert(starts(ask("GET /../etc/passwd HTTP/1.1\r\nHost: a\r\n\r\n"), "HTTP/1.1 404 "));
    cr_assert(starts(ask("GET /%2e%2e/etc/passwd HTTP/1.1\r\nHost: a\r\n\r\n"), "HTTP/1.1 404 "));
    cr_assert(strstr(ask("POST / HTTP/1.1\r\nHost: a\r\n\r\n"), "\r\nAllow: GET, HEAD\r\n"));
    cr_assert(starts(ask("DELETE /ws HTTP/1.1\r\nHost: a\r\n\r\n"), "HTTP/1.1 405 "));
    cr_assert(starts(ask(long_one), "HTTP/1.1 431 "));
    const char *told = ask("GET /ws HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\n"
                           "Connection: Upgrade\r\nSec-WebSocket-Version: 8\r\n"
                           "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n");
    cr_assert(starts(told, "HTTP/1.1 426 Upgrade Required\r\n"));
    cr_assert(strstr(told, "\r\nSec-WebSocket-Version: 13\r\n"));
    const struct gateway_metrics *m = rig_metrics();
    cr_assert_eq(m->web_bad, 1);
    cr_assert_eq(m->web_missing, 3);
    cr_assert_eq(m->web_method, 2);
    cr_assert_eq(m->web_long, 1);
    cr_assert_eq(m->web_upgrade, 1);
    cr_assert_eq(m->accepted, 0, "none of them was a client");
    rig_stop();
    TEST_NO_LEAKS();
}

Test(visitor, a_file_is_served_with_strict_fields_and_the_connection_closes)
{
    rig_start(PORT, NULL);
    const char *page = ask("GET /?x HTTP/1.1\r\nHost: a\r\nConnection: keep-alive\r\n\r\n");

    cr_assert(starts(page, "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n"));
    cr_assert(strstr(page, "\r\nCache-Control: no-cache\r\n"));
    cr_assert(strstr(page, "\r\nContent-Security-Policy: default-src 'none'; "));
    cr_assert_not(strstr(page, "unsafe"), "nothing inline, no eval");
    cr_assert(strstr(page, "\r\nX-Content-Type-Options: nosniff\r\n"));
    cr_assert(strstr(page, "\r\nConnection: close\r\n"));
    cr_assert(strstr(page, "</html>\n"));
    const char *head = ask("HEAD / HTTP/1.0\r\n\r\n");
    cr_assert(starts(head, "HTTP/1.1 200 OK\r\n"));
    cr_assert_str_eq(strstr(head, "\r\n\r\n"), "\r\n\r\n", "a head has no body");
    cr_assert_eq(rig_metrics()->web_files, 2);
    rig_stop();
    TEST_NO_LEAKS();
}

Test(visitor, a_head_that_does_not_come_in_time_is_refused)
{
    rig_start(PORT, "-frame-timeout=100ms", NULL);
    cr_assert(starts(ask("GET / HTTP/1.1\r\n"), "HTTP/1.1 408 Request Timeout\r\n"));
    cr_assert_eq(rig_metrics()->web_late, 1);
    rig_stop();
    TEST_NO_LEAKS();
}

Test(visitor, one_client_too_many_gets_bye_13_here_too)
{
    rig_start(PORT, "-max-clients=1", NULL);
    const int first = knock(), second = knock();

    rig_send(first, HANDSHAKE, strlen(HANDSHAKE));
    expect(first, ACCEPTED);
    rig_send(second, HANDSHAKE, strlen(HANDSHAKE));
    expect(second, ACCEPTED);
    expect_bye(second, PE_UNAVAILABLE);
    cr_assert_eq(rig_metrics()->refused_full, 1);
    close(first);
    rig_stop();
    TEST_NO_LEAKS();
}

Test(visitor, past_the_limit_who_waits_longest_goes_and_clients_keep_their_places)
{
    static int fds[VISITORS_MAX];
    uint8_t byte;

    rig_start(PORT, "-max-clients=2", NULL);
    for (uint32_t i = 0; i < VISITORS_MAX; i++) {
        fds[i] = knock();
        loop_turn(rig.loop, 0);
    }
    const int more = knock();
    cr_assert_eq(rig_read(fds[0], &byte, 1), 0, "it is closed without a word");
    cr_assert_eq(rig_metrics()->web_full, 1);
    const int plain = rig_connect();
    rig_send_request(plain, CMD_PING_REQ, 1);
    cr_assert_eq(rig_read_message(plain, CMD_PING_RESP)->seq, 1);
    rig_send(more, HANDSHAKE, strlen(HANDSHAKE));
    expect(more, ACCEPTED);
    for (uint32_t i = 0; i < VISITORS_MAX; i++)
        close(fds[i]);
    close(more);
    close(plain);
    rig_stop();
    TEST_NO_LEAKS();
}

/* A folder with one file of the largest size; removed by the second call. */
static const char *large_folder(bool there)
{
    static char flag[256] = "-web=", *dir = flag + 5;
    static char path[512];
    const char *tmp = getenv("TMPDIR");

    if (there) {
        snprintf(dir, sizeof(flag) - 5, "%s/aegis-web-XXXXXX", tmp ? tmp : "/tmp");
        cr_assert_not_null(mkdtemp(dir));
        snprintf(path, sizeof(path), "%s/a.bin", dir);
        const int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        cr_assert_eq(ftruncate(fd, WEB_FILE_MAX), 0);
        close(fd);
    } else {
        unlink(path);
        rmdir(dir);
    }
    return flag;
}

Test(visitor, answers_that_nobody_reads_have_a_limit)
{
    static const char request[] = "GET /a.bin HTTP/1.1\r\nHost: a\r\n\r\n";
    enum { FIT = VISITORS_QUEUED_MAX / WEB_FILE_MAX };
    int fds[FIT];

    rig_start(PORT, large_folder(true), NULL);
    for (int i = 0; i < FIT; i++) {
        fds[i] = knock();
        rig_send(fds[i], request, sizeof(request) - 1);
        rig_until(&rig_metrics()->web_files, (uint64_t)i + 1);
    }
    cr_assert(starts(ask(request), "HTTP/1.1 503 Service Unavailable\r\n"));
    cr_assert_eq(rig_metrics()->web_busy, 1);
    close(fds[0]);
    for (int i = 0; i < 5; i++)
        loop_turn(rig.loop, RIG_TURN_NS);
    cr_assert(starts(ask(request), "HTTP/1.1 200 OK\r\n"), "what is over does not count");
    for (int i = 1; i < FIT; i++)
        close(fds[i]);
    rig_stop();
    large_folder(false);
    TEST_NO_LEAKS();
}

Test(visitor, a_drain_ends_visitors_at_once_and_clients_with_bye_17)
{
    rig_start(PORT, NULL);
    const int client = knock(), visitor = knock();
    uint8_t byte;

    rig_send(client, HANDSHAKE, strlen(HANDSHAKE));
    expect(client, ACCEPTED);
    rig_send(visitor, "GET /", 5);
    loop_turn(rig.loop, 0);
    crew_drain(rig.crew);
    cr_assert_eq(rig_read(visitor, &byte, 1), 0);
    expect_bye(client, PE_SHUTTING_DOWN);
    for (int i = 0; i < RIG_TURNS_MAX && !loop_stopped(rig.loop); i++)
        loop_turn(rig.loop, RIG_TURN_NS);
    cr_assert(loop_stopped(rig.loop), "nobody is waited for");
    close(visitor);
    rig_stop();
    TEST_NO_LEAKS();
}

#endif
