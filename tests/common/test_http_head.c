/* tests/common/test_http_head.c: the head of an HTTP request: what is one, and what is not.
 * Source: RFC 9112, read strictly.
 */
#include "common/http_head.h"

#include "common/err.h"
#include "common/rng.h"

#include <criterion/criterion.h>
#include <stdlib.h>

static const char WHOLE[] = "GET /metrics?job=a?b HTTP/1.1\r\n"
                            "Host: localhost:9100\r\n"
                            "X-Two:\t two words \t\r\n"
                            "x-empty:\r\n"
                            "HOST: second\r\n"
                            "\r\n";

static int read_text(const char *text, struct http_head *h, size_t *used)
{
    return http_head_read(span_text(text), h, used);
}

static bool is(struct span s, const char *text)
{
    return span_equal(s, span_text(text));
}

Test(http_head, a_request_is_taken_apart)
{
    struct http_head h;
    struct span value;
    size_t used = 0;

    cr_assert_eq(read_text(WHOLE, &h, &used), 0);
    cr_expect_eq(used, strlen(WHOLE));
    cr_expect(is(h.method, "GET"));
    cr_expect(is(h.path, "/metrics"));
    cr_expect(is(h.query, "job=a?b"));
    cr_expect_eq(h.minor, 1);
    cr_assert(http_head_find(&h, "host", &value));
    cr_expect(is(value, "localhost:9100"), "the first of two counts");
    cr_assert(http_head_find(&h, "x-two", &value));
    cr_expect(is(value, "two words"));
    cr_assert(http_head_find(&h, "x-empty", &value));
    cr_expect(is(value, ""));
    cr_expect(!http_head_find(&h, "x", &value));
}

Test(http_head, a_request_without_fields_is_whole)
{
    struct http_head h;
    struct span value;
    size_t used;

    cr_assert_eq(read_text("HEAD / HTTP/1.0\r\n\r\nrest", &h, &used), 0);
    cr_expect_eq(used, 19);
    cr_expect(is(h.method, "HEAD"));
    cr_expect(is(h.path, "/"));
    cr_expect(is(h.query, ""));
    cr_expect_eq(h.minor, 0);
    cr_expect(!http_head_find(&h, "host", &value));
}

Test(http_head, every_truncation_needs_more)
{
    struct http_head h;
    size_t used;

    for (size_t n = 0; n < strlen(WHOLE); n++) {
        /* In memory of its own, so that a read past the end is seen. */
        uint8_t *copy = malloc(n > 0 ? n : 1);
        memcpy(copy, WHOLE, n);
        cr_assert_eq(http_head_read(span_of(copy, n), &h, &used), E_SHORT, "%zu bytes", n);
        free(copy);
    }
}

Test(http_head, what_is_not_exactly_a_head_is_refused)
{
    static const char *const bad[] = {
        "\r\n\r\n",
        " / HTTP/1.1\r\n\r\n",
        "GET\r\n\r\n",
        "GET /\r\n\r\n",
        "GET / \r\n\r\n",
        "GET  / HTTP/1.1\r\n\r\n",
        "GET /  HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1 \r\n\r\n",
        "GET / HTTP/1.2\r\n\r\n",
        "GET / HTTP/2.0\r\n\r\n",
        "GET / http/1.1\r\n\r\n",
        "GET x HTTP/1.1\r\n\r\n",
        "GET http://a/ HTTP/1.1\r\n\r\n",
        "GET * HTTP/1.1\r\n\r\n",
        "G(T / HTTP/1.1\r\n\r\n",
        "GET /\x7f HTTP/1.1\r\n\r\n",
        "GET /\xc3\xa4 HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nno colon\r\n\r\n",
        "GET / HTTP/1.1\r\n: no name\r\n\r\n",
        "GET / HTTP/1.1\r\nspace : before\r\n\r\n",
        "GET / HTTP/1.1\r\n folded: line\r\n\r\n",
        "GET / HTTP/1.1\r\nX: 1\r\n and more\r\n\r\n",
        "GET / HTTP/1.1\r\nX: 1\nY: 2\r\n\r\n",
        "GET / HTTP/1.1\nX: 1\r\n\r\n",
        "GET / HTTP/1.1\r\nX: a\rb\r\n\r\n",
        "GET / HTTP/1.1\r\nX: \x01\r\n\r\n",
    };
    struct http_head h;
    size_t used;

    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        cr_expect_eq(read_text(bad[i], &h, &used), E_BAD, "case %zu", i);
    cr_expect_eq(http_head_read(span_of("GET /\0 HTTP/1.1\r\n\r\n", 19), &h, &used), E_BAD);
    cr_expect_eq(http_head_read(span_of("GET / HTTP/1.1\r\nX\0: 1\r\n\r\n", 25), &h, &used), E_BAD);
}

/* Whatever comes: no read outside the bytes, and every span inside them. */
Test(http_head, damaged_heads_are_read_within_their_bytes)
{
    struct rng r;

    rng_init(&r, 20);
    for (int round = 0; round < 20000; round++) {
        size_t n = strlen(WHOLE), used;
        struct http_head h;
        uint8_t *copy = malloc(n);

        memcpy(copy, WHOLE, n);
        for (uint64_t hits = 1 + rng_below(&r, 4); hits > 0; hits--) {
            static const char telling[] = "\r\n: ?/H\t\0\x7f\xff";
            copy[rng_below(&r, n)] = (uint8_t)telling[rng_below(&r, sizeof(telling))];
        }
        if (http_head_read(span_of(copy, n), &h, &used) == 0) {
            struct span parts[] = {h.method, h.path, h.query, h.fields};
            struct span value;
            cr_assert_leq(used, n);
            for (size_t i = 0; i < ARRAY_LEN(parts); i++)
                cr_assert(parts[i].p >= copy && parts[i].p + parts[i].n <= copy + used);
            (void)http_head_find(&h, "host", &value);
        }
        free(copy);
    }
}
