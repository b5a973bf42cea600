/* tests/common/test_addr.c: host:port as text. */
#include "common/addr.h"

#include "common/err.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static const char *refused(const char *text)
{
    struct addr a;
    const char *why = NULL;
    cr_assert_eq(addr_parse(text, &a, &why), E_ADDR, "%s was taken", text);
    cr_assert_not_null(why);
    return why;
}

Test(addr, numeric_addresses_and_names_are_taken_apart)
{
    static const struct {
        const char *text, *host;
        uint16_t port;
        bool is_name;
    } rows[] = {
        {"127.0.0.1:19001", "127.0.0.1", 19001, false},
        {"0.0.0.0:0", "0.0.0.0", 0, false},
        {"[::1]:65535", "::1", 65535, false},
        {"[2001:db8::7]:1", "2001:db8::7", 1, false},
        {"[::ffff:127.0.0.1]:80", "::ffff:127.0.0.1", 80, false},
        {"localhost:00080", "localhost", 80, true},
        {"world-1.example_net.org:7", "world-1.example_net.org", 7, true},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct addr a;
        const char *why;
        cr_assert_eq(addr_parse(rows[i].text, &a, &why), 0, "%s: %s", rows[i].text, why);
        cr_assert_str_eq(a.host, rows[i].host);
        cr_assert_eq(a.port, rows[i].port);
        cr_assert_eq(a.is_name, rows[i].is_name);
    }
}

Test(addr, F02_ports_that_are_none_are_refused)
{
    static const char *const ports[] = {
        "abc",  "",       "3001x", "-1",         "+1",
        " 1",   "1 ",     "65536", "4294974296", "18446744073709570617",
        "0x50", "000080", "1e3"};
    for (size_t i = 0; i < ARRAY_LEN(ports); i++) {
        char text[64];
        snprintf(text, sizeof(text), "127.0.0.1:%s", ports[i]);
        cr_assert_str_eq(refused(text), "port must be 0..65535", "%s", text);
        snprintf(text, sizeof(text), "[::1]:%s", ports[i]);
        cr_assert_str_eq(refused(text), "port must be 0..65535", "%s", text);
    }
}

Test(addr, what_is_no_host_is_refused)
{
    static const char *const texts[] = {
        ":80",   "256.0.0.1:80", "1.2.3:80", "1.2.3.4.5:80", "::1:80", "[::1:80", "[127.0.0.1]:80",
        "[]:80", "[::g]:80",     "a b:80",   "a/b:80",       "",       "80",      "localhost",
        "[::1]", "[::1]80",      "a\n:80",   "http://a:80",
    };
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        refused(texts[i]);
}

Test(addr, a_host_longer_than_any_name_is_refused)
{
    char text[ADDR_HOST_MAX + 16];
    memset(text, 'a', sizeof(text));
    strcpy(text + ADDR_HOST_MAX - 1, ":80");
    struct addr a;
    const char *why;
    cr_assert_eq(addr_parse(text, &a, &why), 0);
    strcpy(text + ADDR_HOST_MAX, ":80");
    text[ADDR_HOST_MAX - 1] = 'a';
    cr_assert_str_eq(refused(text), "the host is too long");
}

Test(addr, only_the_loopback_is_reached_by_this_machine_alone)
{
    static const struct {
        const char *text;
        bool is;
    } rows[] = {
        {"127.0.0.1:1", true},
        {"127.8.9.10:1", true},
        {"[::1]:1", true},
        {"localhost:1", true},
        {"LocalHost:1", true},
        {"[::ffff:127.0.0.1]:1", true},
        {"0.0.0.0:1", false},
        {"[::]:1", false},
        {"128.0.0.1:1", false},
        {"10.0.0.1:1", false},
        {"[::ffff:10.0.0.1]:1", false},
        {"[fe80::1]:1", false},
        {"localhost.com:1", false},
        {"world:1", false},
        {"126.255.255.255:1", false},
    };
    struct addr a;
    const char *why;

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        cr_assert_eq(addr_parse(rows[i].text, &a, &why), 0);
        cr_expect_eq(addr_is_loopback(&a), rows[i].is, "%s", rows[i].text);
    }
}

Test(addr, all_addresses_of_a_machine_are_told_from_one_that_can_be_connected_to)
{
    static const struct {
        const char *text;
        bool is;
    } rows[] = {
        {"0.0.0.0:1", true},    {"[::]:1", true},       {"[::ffff:0.0.0.0]:1", true},
        {"127.0.0.1:1", false}, {"0.0.0.1:1", false},   {"[::1]:1", false},
        {"any:1", false},       {"localhost:1", false}, {"[::ffff:0.0.0.1]:1", false},
    };
    struct addr a;
    const char *why;

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        cr_assert_eq(addr_parse(rows[i].text, &a, &why), 0);
        cr_expect_eq(addr_is_any(&a), rows[i].is, "%s", rows[i].text);
    }
}
