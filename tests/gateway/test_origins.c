/* tests/gateway/test_origins.c: the list of -ws-origins. */
#include "gateway/origins.h"

#include "common/err.h"

#include <criterion/criterion.h>

#define NOWHERE span_of(NULL, 0)

Test(origins, a_list_holds_what_stands_in_it_byte_for_byte)
{
    const char *list = "https://play.example.com,http://localhost:8080,http://[::1]:80";
    static const char *const in[] = {"https://play.example.com", "http://localhost:8080",
                                     "http://[::1]:80"};
    static const char *const out[] = {"",
                                      "null",
                                      "http://play.example.com",
                                      "https://play.example.com:443",
                                      "https://play.example.com.evil.org",
                                      "https://play.example.co",
                                      "https://xplay.example.com",
                                      "HTTPS://play.example.com",
                                      "http://localhost",
                                      "http://localhost:80801",
                                      "https://play.example.com,http://localhost:8080",
                                      "*"};
    struct span bad;

    cr_assert_eq(origins_check(list, &bad), 0);
    for (size_t i = 0; i < ARRAY_LEN(in); i++)
        cr_assert(origins_have(list, span_text(in[i]), NOWHERE), "%s", in[i]);
    for (size_t i = 0; i < ARRAY_LEN(out); i++)
        cr_assert_not(origins_have(list, span_text(out[i]), NOWHERE), "%s", out[i]);
}

Test(origins, an_empty_list_holds_nobody_and_a_star_all)
{
    struct span bad;

    cr_assert_eq(origins_check("", &bad), 0);
    cr_assert_not(origins_have("", span_text(""), NOWHERE));
    cr_assert_not(origins_have("", span_text("http://a"), NOWHERE));
    cr_assert_eq(origins_check("*", &bad), 0);
    cr_assert(origins_have("*", span_text("null"), NOWHERE));
    cr_assert_eq(origins_check("http://a,*", &bad), 0);
    cr_assert(origins_have("http://a,*", span_text("https://b:1"), NOWHERE));
}

Test(origins, self_is_the_page_that_the_request_calls_its_host)
{
    static const struct {
        const char *origin, *host;
        bool good;
    } rows[] = {
        {"http://127.0.0.1:19080", "127.0.0.1:19080", true},
        {"https://play.example.com", "play.example.com", true},
        {"http://[::1]:80", "[::1]:80", true},
        {"http://127.0.0.1:19081", "127.0.0.1:19080", false},
        {"http://127.0.0.1", "127.0.0.1:19080", false},
        {"ftp://play.example.com", "play.example.com", false},
        {"http://", "", false},
        {"", "", false},
        {"null", "null", false},
        {"http://play.example.com.evil.org", "play.example.com", false},
        {"http://evil.org", "play.example.com", false},
    };
    struct span bad;

    cr_assert_eq(origins_check("self", &bad), 0);
    cr_assert_eq(origins_check("http://a,self", &bad), 0);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct span origin = span_text(rows[i].origin), host = span_text(rows[i].host);
        cr_assert_eq(origins_have("self", origin, host), rows[i].good, "%s", rows[i].origin);
        cr_assert_eq(origins_have("http://a,self", origin, host), rows[i].good);
        cr_assert_not(origins_have("http://a", origin, host), "%s", rows[i].origin);
    }
}

Test(origins, what_no_browser_sends_is_refused_with_its_entry)
{
    static const char *const bad[] = {
        "a.example.com", "http:/a",   "http://",     "://a",
        "http://a/",     "http://a:", "http://a:x",  "http://a:123456",
        "http://A",      "Http://a",  "http://*.a",  "**",
        "http://a b",    " *",        "http://[::1", "http://[]",
        "http://u@a",    ",",         "selfish",     "Self",
    };
    struct span entry;

    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        cr_assert_eq(origins_check(bad[i], &entry), E_RANGE, "%s", bad[i]);
    cr_assert_eq(origins_check("http://a,b,http://c", &entry), E_RANGE);
    cr_assert(span_equal(entry, span_text("b")));
    cr_assert_eq(origins_check("http://a,", &entry), E_RANGE);
    cr_assert_eq(entry.n, 0);
}
