/* tests/common/test_nats_url.c: where NATS is, as text. */
#include "common/nats_url.h"

#include "common/err.h"

#include <criterion/criterion.h>
#include <string.h>

Test(nats_url, servers_have_a_scheme_and_a_host_and_may_have_a_port_and_a_user)
{
    static const char *const good[] = {
        "nats://127.0.0.1:4222",     "nats://nats",
        "tls://nats.example.org:1",  "nats://[::1]",
        "nats://[2001:db8::7]:4222", "nats://user@host:1",
        "nats://u:p@ss@host:65535",  "nats://a:1,nats://b:2,nats://u:p@c",
    };
    const char *why;

    for (size_t i = 0; i < ARRAY_LEN(good); i++)
        cr_expect_eq(nats_url_check(good[i], &why), 0, "%s: %s", good[i], why);
}

Test(nats_url, what_is_no_such_list_is_refused_with_a_reason)
{
    static const char *const bad[] = {
        "",          "nats",           "nats:/host",        "http://host", "host:4222",
        "nats://",   "nats://:4222",   "nats://host:",      "nats://h:0",  "nats://h:65536",
        "nats://u@", "nats://h o",     "nats://256.0.0.1",  "nats://::1",  "nats://h/path",
        "nats://a,", ",nats://a",      "nats://a,b",        "nats://[::1", "nats://h:-1",
        "NATS://h",  "nats://h:4222x", "nats://a,,nats://b"};
    char text[NATS_URL_MAX + 2];
    const char *why;

    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        why = NULL;
        cr_expect_eq(nats_url_check(bad[i], &why), E_BAD, "\"%s\" was taken", bad[i]);
        cr_expect_not_null(why);
    }
    memset(text, 'a', sizeof(text));
    memcpy(text, "nats://", 7);
    text[sizeof(text) - 1] = '\0';
    cr_expect_eq(nats_url_check(text, &why), E_BAD);
    text[7 + 300] = '\0'; /* one host that is too long */
    cr_expect_eq(nats_url_check(text, &why), E_BAD);
}

static void expect_shown(const char *url, const char *shown)
{
    char out[NATS_URL_SHOWN];

    nats_url_show(url, out);
    cr_expect_str_eq(out, shown);
}

Test(nats_url, neither_user_nor_password_is_ever_shown)
{
    char url[4 * NATS_URL_SHOWN], out[NATS_URL_SHOWN];

    expect_shown("nats://user:secret@host:1", "nats://host:1");
    expect_shown("nats://secret@host", "nats://host");
    expect_shown("nats://u:a@secret@host", "nats://host");
    expect_shown("nats://a:1,tls://u:secret@b", "nats://a:1,tls://b");
    expect_shown("http://u:secret@h", "h");
    expect_shown("u:secret@", "");
    expect_shown("", "");
    strcpy(url, "nats://");
    for (int i = 0; i < 60; i++)
        strcat(url, "u:secret@h,");
    nats_url_show(url, out);
    cr_expect_null(strstr(out, "secret"));
    cr_expect_lt(strlen(out), NATS_URL_SHOWN);
}

Test(nats_url, copies_are_kept_where_one_server_may_be_lost)
{
    cr_assert_eq(nats_url_replicas("nats://a"), 1);
    cr_assert_eq(nats_url_replicas("nats://a,nats://b"), 1);
    cr_assert_eq(nats_url_replicas("nats://a:1,nats://u:p@b,nats://[::1]:3"), 3);
    cr_assert_eq(nats_url_replicas("nats://a,nats://b,nats://c,nats://d"), 3);
}
