/* tests/proto/test_proxy_head.c: headers of PROXY protocol version 2: what they say, and what is
 * none. */
#include "proto/proxy_head.h"

#include "common/err.h"
#include "tests/leak.h"

#include <criterion/criterion.h>
#include <stdlib.h>

#define SIG "\r\n\r\n\0\r\nQUIT\n"
#define V4       \
    "\xc0\0\2\1" \
    "\x7f\0\0\1" \
    "\xdf\x6e\x01\xbb"
#define V6                                     \
    "\x20\1\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\7"   \
    "\x20\1\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x08" \
    "\x30\x39\1\xbb"
/* A header made by another hand: CRC-32C over all of it with four zeros in its place. */
#define CRC_HEAD SIG "\x21\x11\0\x13" V4 "\3\0\4"
#define CRC \
    "\x28"  \
    "\x1d"  \
    "\xd6"  \
    "\x8d"

struct row {
    const char *bytes;
    size_t n;
};
#define ROW(text)                \
    {                            \
        (text), sizeof(text) - 1 \
    }

static const struct row named[] = {
    ROW(SIG "\x21\x11\0\x0c" V4),
    ROW(SIG "\x21\x11\0\x13" V4 "\4\0\4abcd"),     /* something added */
    ROW(SIG "\x21\x11\0\x12" V4 "\4\0\0\x20\0\0"), /* two things of no length */
    ROW(CRC_HEAD CRC),
};

Test(proxy_head, an_ipv4_source_is_named)
{
    static const uint8_t host[16] = {[10] = 0xff, 0xff, 192, 0, 2, 1};
    struct proxy_head h;

    for (size_t i = 0; i < ARRAY_LEN(named); i++) {
        const struct span s = span_of(named[i].bytes, named[i].n);
        cr_assert_eq(proxy_head_bytes(s), s.n, "%zu", i);
        cr_assert_eq(proxy_head_read(s, &h), 0, "%zu", i);
        cr_assert(h.named);
        cr_assert_arr_eq(h.host, host, 16);
        cr_assert_eq(h.port, 57198);
    }
}

Test(proxy_head, an_ipv6_source_is_named)
{
    static const char bytes[] = SIG "\x21\x21\0\x24" V6;
    struct proxy_head h;

    cr_assert_eq(proxy_head_read(span_of(bytes, sizeof(bytes) - 1), &h), 0);
    cr_assert(h.named);
    cr_assert_arr_eq(h.host, V6, 16);
    cr_assert_eq(h.port, 12345);
}

Test(proxy_head, who_comes_for_itself_or_has_no_address_is_taken_without_a_name)
{
    static const char unix_head[PROXY_START_BYTES + 216] = SIG "\x21\x31\0\xd8/run/sock";
    static const struct row rows[] = {
        ROW(SIG "\x20\x00\0\0"),      /* LOCAL */
        ROW(SIG "\x20\x11\0\x0c" V4), /* whose addresses do not count */
        ROW(SIG "\x20\xff\0\3abc"),   /* nor its family */
        ROW(SIG "\x21\x00\0\0"),      /* UNSPEC */
        ROW(SIG "\x21\x00\0\5what?"), /* and something of unknown form */
        {unix_head, sizeof(unix_head)},
    };
    struct proxy_head h;

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        cr_assert_eq(proxy_head_read(span_of(rows[i].bytes, rows[i].n), &h), 0, "%zu", i);
        cr_assert_not(h.named, "%zu", i);
    }
}

Test(proxy_head, what_is_no_such_header_is_bad)
{
    static const struct row rows[] = {
        ROW(SIG "\x11\x11\0\x0c" V4), /* version 1 in binary */
        ROW(SIG "\x31\x11\0\x0c" V4), /* version 3 */
        ROW(SIG "\x22\x11\0\x0c" V4), /* no such command */
        ROW(SIG "\x21\x12\0\x0c" V4), /* datagrams */
        ROW(SIG "\x21\x10\0\x0c" V4), /* IPv4 over nothing */
        ROW(SIG "\x21\x41\0\x0c" V4), /* no such family */
        ROW(SIG "\x21\x01\0\x0c" V4), /* a transport without a family */
        ROW(SIG "\x21\x11\0\x0b"
                "\xc0\0\2\1\x7f\0\0\1\xdf\x6e\x01"), /* addresses cut off */
        ROW(SIG "\x21\x21\0\x0c" V4),                /* IPv6 in the length of IPv4 */
        ROW(SIG "\x21\x31\0\x0c" V4),                /* a path in the length of IPv4 */
        ROW(SIG "\x21\x11\0\x0e" V4 "\4\0"),         /* what was added is cut off */
        ROW(SIG "\x21\x11\0\x0f" V4 "\4\0\1"),       /* and longer than there is */
        ROW(CRC_HEAD "\0\0\0\0"),                    /* another checksum */
        ROW(SIG "\x21\x11\0\x12" V4 "\3\0\3\0\0\0"), /* of another length */
    };
    struct proxy_head h;

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        cr_expect_eq(proxy_head_read(span_of(rows[i].bytes, rows[i].n), &h), E_BAD, "%zu", i);
}

Test(proxy_head, what_cannot_become_one_is_known_at_its_first_wrong_byte)
{
    static const char good[] = SIG "\x21\x11\0\x0c";
    char bytes[PROXY_START_BYTES];

    for (size_t i = 0; i < 12; i++) {
        memcpy(bytes, good, sizeof(bytes));
        bytes[i] ^= 1;
        for (size_t n = 0; n <= sizeof(bytes); n++)
            cr_assert_eq(proxy_head_bytes(span_of(bytes, n)), n <= i ? PROXY_START_BYTES : 0);
    }
    cr_assert_eq(proxy_head_bytes(span_text("PROXY TCP4 192.0.2.1 127.0.0.1 57198 443\r\n")), 0);
    cr_assert_eq(proxy_head_bytes(span_text("GET / HTTP/1.1\r\n")), 0);
}

Test(proxy_head, one_that_is_too_long_is_known_by_its_length)
{
    char bytes[PROXY_START_BYTES] = SIG "\x21\x11";

    for (uint32_t rest = 0; rest <= 65535; rest += 67) {
        bytes[14] = (char)(rest >> 8);
        bytes[15] = (char)rest;
        cr_assert_eq(proxy_head_bytes(span_of(bytes, sizeof(bytes))),
                     rest <= PROXY_REST_MAX ? PROXY_START_BYTES + rest : 0);
    }
}

Test(proxy_head, every_truncation_wants_more_and_is_no_whole_one)
{
    struct proxy_head h;

    for (size_t i = 0; i < ARRAY_LEN(named); i++) {
        for (size_t n = 0; n < named[i].n; n++) {
            char *cut = malloc(n + 1);
            memcpy(cut, named[i].bytes, n);
            const struct span s = span_of(cut, n);
            cr_assert_eq(proxy_head_bytes(s),
                         n < PROXY_START_BYTES ? PROXY_START_BYTES : named[i].n);
            cr_assert_eq(proxy_head_read(s, &h), E_BAD);
            free(cut);
        }
    }
    TEST_NO_LEAKS();
}
