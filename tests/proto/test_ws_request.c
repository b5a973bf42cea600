/* tests/proto/test_ws_request.c: the one HTTP head of a WebSocket. RFC 6455, 4.2; RFC 9112. */
#include "proto/ws_request.h"

#ifdef PARTS_WEBSOCKET

#include "common/err.h"

#include <criterion/criterion.h>
#include <stdio.h>

/* The standard's own handshake. */
#define KEY "dGhlIHNhbXBsZSBub25jZQ=="
#define FIELDS(key, version)                                                    \
    "Host: server.example.com\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" \
    "Sec-WebSocket-Key: " key "\r\nSec-WebSocket-Version: " version "\r\n"
#define HANDSHAKE "GET /ws HTTP/1.1\r\n" FIELDS(KEY, "13") "Origin: http://example.com\r\n\r\n"

static int reads(const char *text, struct ws_request *q)
{
    size_t used = 0;
    const int r = ws_request_read(span_text(text), q, &used);
    if (r == 0)
        cr_assert_eq(used, strlen(text));
    return r;
}

Test(ws_request, the_standards_own_handshake_is_answered_with_its_key)
{
    struct ws_request q;
    char accept[WS_ACCEPT_MAX];

    cr_assert_eq(reads(HANDSHAKE, &q), 0);
    cr_assert_eq(ws_request_refusal(&q), 0);
    cr_assert(span_equal(q.path, span_text("/ws")));
    cr_assert(q.from);
    cr_assert(span_equal(q.origin, span_text("http://example.com")));
    ws_request_accept(q.key, accept);
    cr_assert_str_eq(accept, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
}

Test(ws_request, a_head_is_there_at_its_last_byte_and_not_before)
{
    struct ws_request q;
    size_t used;
    const size_t n = strlen(HANDSHAKE);

    for (size_t i = 0; i < n; i++)
        cr_assert_eq(ws_request_read(span_of(HANDSHAKE, i), &q, &used), E_SHORT, "%zu bytes", i);
    cr_assert_eq(ws_request_read(span_of(HANDSHAKE "\x82\x80", n + 2), &q, &used), 0);
    cr_assert_eq(used, n, "what comes behind it is not the head's");
}

Test(ws_request, every_damaged_byte_is_refused_or_read)
{
    struct ws_request q;
    char head[sizeof(HANDSHAKE)];
    size_t used;

    for (size_t i = 0; i < sizeof(HANDSHAKE) - 1; i++) {
        for (int byte = 0; byte < 256; byte++) {
            memcpy(head, HANDSHAKE, sizeof(HANDSHAKE));
            head[i] = (char)byte;
            const int r = ws_request_read(span_of(head, sizeof(head) - 1), &q, &used);
            cr_assert(r == 0 || r == E_SHORT || r == E_BAD);
            if (byte < ' ' && byte != '\t' && byte != '\r' && byte != '\n')
                cr_assert_neq(r, 0, "byte %d at %zu", byte, i);
        }
    }
}

Test(ws_request, names_and_tokens_match_in_either_case_and_among_others)
{
    struct ws_request q;

    cr_assert_eq(reads("GET /ws?x=1 HTTP/1.1\r\nhOST: a\r\nUPGRADE: h2c , WebSocket\r\n"
                       "connection: keep-alive,  UPGRADE\t\r\nSEC-WEBSOCKET-KEY:  " KEY " \r\n"
                       "sec-websocket-VERSION:13\r\nSec-WebSocket-Protocol: chat\r\n"
                       "Sec-WebSocket-Extensions: permessage-deflate\r\n\r\n",
                       &q),
                 0);
    cr_assert_eq(ws_request_refusal(&q), 0);
    cr_assert(span_equal(q.path, span_text("/ws")));
    cr_assert(!q.from);
}

Test(ws_request, what_is_no_head_of_ours_is_bad)
{
    static const char *const bad[] = {
        "\x16\x03\x01\x02",
        "hello\r\n\r\n",
        "GET\r\n\r\n",
        "GET / HTTP/2.0\r\nHost: a\r\n\r\n",
        "GET / HTTP/1.2\r\nHost: a\r\n\r\n",
        "GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n",
        "CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n",
        "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET / HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\nX: y\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\rX: y\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\n X: y\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nX: y\r\n z\r\n\r\n",
        "GET / HTTP/1.1\r\nHost : a\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nX Y: a\r\n\r\n",
        "GET / HTPT/1.1\r\nHost: a\r\n\r\n",
        "GET /\t HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nOrigin: x\r\nOrigin: x\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nSec-WebSocket-Key: x\r\nSec-WebSocket-Key: x\r\n\r\n",
        "GET / HTTP/1.0\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Version: 13\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nContent-Length: 0\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n",
        "GET /\x01 HTTP/1.1\r\nHost: a\r\n\r\n",
    };
    struct ws_request q;

    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        cr_assert_eq(reads(bad[i], &q), E_BAD, "%s", bad[i]);
}

Test(ws_request, a_head_without_end_is_full_at_its_limit)
{
    static char text[WS_REQUEST_MAX + 64] = "GET / HTTP/1.1\r\nHost: a\r\nX: ";
    struct ws_request q;
    size_t used;

    memset(text + strlen(text), 'x', sizeof(text) - strlen(text) - 1);
    cr_assert_eq(ws_request_read(span_of(text, WS_REQUEST_MAX - 1), &q, &used), E_SHORT);
    cr_assert_eq(ws_request_read(span_of(text, WS_REQUEST_MAX), &q, &used), E_FULL);
    memcpy(text + WS_REQUEST_MAX - 4, "\r\n\r\n", 4);
    cr_assert_eq(ws_request_read(span_of(text, WS_REQUEST_MAX + 10), &q, &used), 0);
    cr_assert_eq(used, WS_REQUEST_MAX);
    text[WS_REQUEST_MAX - 4] = 'x';
    memcpy(text + WS_REQUEST_MAX - 3, "\r\n\r\n", 4);
    cr_assert_eq(ws_request_read(span_of(text, WS_REQUEST_MAX + 10), &q, &used), E_FULL);
}

Test(ws_request, what_may_not_become_a_websocket_is_refused_with_its_status)
{
    static const struct {
        const char *head;
        int status;
    } heads[] = {
        {"POST /ws HTTP/1.1\r\n" FIELDS(KEY, "13") "\r\n", 405},
        {"HEAD /ws HTTP/1.1\r\n" FIELDS(KEY, "13") "\r\n", 405},
        {"GET /ws HTTP/1.0\r\n" FIELDS(KEY, "13") "\r\n", 400},
        {"GET /ws HTTP/1.1\r\nHost: a\r\n\r\n", 426},
        {"GET /ws HTTP/1.1\r\n" FIELDS(KEY, "8") "\r\n", 426},
        {"GET /ws HTTP/1.1\r\n" FIELDS(KEY, "013") "\r\n", 426},
        {"GET /ws HTTP/1.1\r\n" FIELDS(KEY, "") "\r\n", 426},
        {"GET /ws HTTP/1.1\r\n" FIELDS("", "13") "\r\n", 400},
        {"GET /ws HTTP/1.1\r\n" FIELDS("dGhlIHNhbXBsZSBub25jZQ=", "13") "\r\n", 400},
        {"GET /ws HTTP/1.1\r\n" FIELDS("dGhlIHNhbXBsZSBub25jZQ", "13") "\r\n", 400},
        {"GET /ws HTTP/1.1\r\n" FIELDS("dGhlIHNhbXBsZSBub25jZSE=", "13") "\r\n", 400},
        {"GET /ws HTTP/1.1\r\n" FIELDS("dGhlIHNhbXBs*SBub25jZQ==", "13") "\r\n", 400},
        {"GET /ws HTTP/1.1\r\n" FIELDS("dGhlIHNhbXBsZSBub25j====", "13") "\r\n", 400},
        {"GET /ws HTTP/1.1\r\n" FIELDS("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAA==", "13") "\r\n", 400},
        {"GET /ws HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\n"
         "Sec-WebSocket-Key: " KEY "\r\nSec-WebSocket-Version: 13\r\n\r\n",
         426},
        {"GET /ws HTTP/1.1\r\nHost: a\r\nUpgrade: websockets\r\nConnection: upgrade\r\n"
         "Sec-WebSocket-Key: " KEY "\r\nSec-WebSocket-Version: 13\r\n\r\n",
         426},
    };
    struct ws_request q;

    for (size_t i = 0; i < ARRAY_LEN(heads); i++) {
        cr_assert_eq(reads(heads[i].head, &q), 0, "%s", heads[i].head);
        cr_assert_eq(ws_request_refusal(&q), heads[i].status, "%s", heads[i].head);
    }
}

#endif
