/* tests/common/test_host.c: addresses as bytes, and ranges of them. */
#include "common/host.h"

#include "common/err.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

static struct host of(const char *peer)
{
    struct host h;
    cr_assert_eq(host_read(peer, &h), 0, "%s", peer);
    return h;
}

Test(host, what_a_listener_tells_is_read_and_printed_again)
{
    static const char *const peers[] = {"192.0.2.1:1", "0.0.0.0:65535", "[2001:db8::7]:80",
                                        "[::1]:0"};
    char out[HOST_TEXT_MAX];

    for (size_t i = 0; i < ARRAY_LEN(peers); i++) {
        const struct host h = of(peers[i]);
        host_print(&h, (uint16_t)atoi(strrchr(peers[i], ':') + 1), out);
        cr_assert_str_eq(out, peers[i]);
    }
    const struct host mapped = of("[::ffff:192.0.2.1]:5");
    host_print(&mapped, 5, out);
    cr_assert_str_eq(out, "192.0.2.1:5", "one kind for both");
    cr_assert(host_is_ipv4(&mapped));
}

Test(host, a_name_or_nonsense_is_none)
{
    static const char *const bad[] = {"localhost:1", "unknown", "", "1.2.3:4", "[::1]"};
    struct host h;

    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        cr_assert_eq(host_read(bad[i], &h), E_ADDR, "%s", bad[i]);
}

Test(host, a_range_has_what_begins_as_it_does)
{
    static const struct {
        const char *ranges, *peer;
        bool has;
    } rows[] = {
        {"", "127.0.0.1:1", false},
        {"127.0.0.1", "127.0.0.1:1", true},
        {"127.0.0.1", "127.0.0.2:1", false},
        {"127.0.0.1", "[::ffff:127.0.0.1]:1", true},
        {"10.0.0.0/8,192.0.2.0/25", "10.255.0.1:1", true},
        {"10.0.0.0/8,192.0.2.0/25", "192.0.2.127:1", true},
        {"10.0.0.0/8,192.0.2.0/25", "192.0.2.128:1", false},
        {"0.0.0.0/0", "203.0.113.9:1", true},
        {"0.0.0.0/0", "[2001:db8::1]:1", false},
        {"::/0", "203.0.113.9:1", true},
        {"2001:db8::/33", "[2001:db8:7fff::1]:1", true},
        {"2001:db8::/33", "[2001:db8:8000::1]:1", false},
        {"::1/128", "[::1]:1", true},
    };
    struct host_ranges r;
    struct span bad;

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct host h = of(rows[i].peer);
        cr_assert_eq(host_ranges_read(rows[i].ranges, &r, &bad), 0, "%s", rows[i].ranges);
        cr_expect_eq(host_ranges_have(&r, &h), rows[i].has, "%zu", i);
    }
}

Test(host, a_list_that_is_wrong_names_the_one_at_fault)
{
    static const struct {
        const char *text, *bad;
    } rows[] = {
        {"10.0.0.1/8", "10.0.0.1/8"},
        {"10.0.0.0/33", "10.0.0.0/33"},
        {"::/129", "::/129"},
        {"10.0.0.0/", "10.0.0.0/"},
        {"10.0.0.0/+8", "10.0.0.0/+8"},
        {"127.0.0.1, 10.0.0.1", " 10.0.0.1"},
        {"127.0.0.1,,::1", ""},
        {"127.0.0.1,", ""},
        {"proxy", "proxy"},
        {"127.0.0.1:80", "127.0.0.1:80"},
        {"[::1]", "[::1]"},
    };
    struct host_ranges r;
    struct span bad;

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        cr_expect_eq(host_ranges_read(rows[i].text, &r, &bad), E_ADDR, "%s", rows[i].text);
        cr_expect(span_equal(bad, span_text(rows[i].bad)), "%s", rows[i].text);
    }
}

Test(host, more_ranges_than_there_is_room_for_are_refused)
{
    char text[16 * HOST_RANGES_MAX] = "";
    struct host_ranges r;
    struct span bad;

    for (int i = 0; i < HOST_RANGES_MAX; i++)
        sprintf(text + strlen(text), "%s10.0.0.%d", i ? "," : "", i);
    cr_assert_eq(host_ranges_read(text, &r, &bad), 0);
    cr_assert_eq(r.n, (uint32_t)HOST_RANGES_MAX);
    strcat(text, ",::1");
    cr_assert_eq(host_ranges_read(text, &r, &bad), E_FULL);
}
