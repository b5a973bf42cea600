/* tests/common/test_opts_value.c: one value of each type, read whole or not at all. */
#include "tests/common/opts_rig.h"
#include "tests/leak.h"

#include <criterion/criterion.h>
#include <string.h>

static struct rig_config good(const char *flag, const char *value)
{
    struct parsed p;
    rig_parse_one(&p, flag, value);
    cr_assert_eq(p.result, OPTS_OK, "%s", p.why);
    opts_destroy(p.opts);
    return p.config;
}

static void bad(const char *flag, const char *value, const char *reason)
{
    struct parsed p;
    char want[256];
    rig_parse_one(&p, flag, value);
    cr_assert_eq(p.result, OPTS_ERROR, "-%s=%s was taken", flag, value);
    snprintf(want, sizeof(want), "-%s: \"%s\": %s", flag, value, reason);
    cr_assert_str_eq(p.why, want);
}

Test(opts_value, whole_numbers_are_bare_digits)
{
    cr_assert_eq(good("n", "1").n, 1);
    cr_assert_eq(good("n", "1000").n, 1000);
    cr_assert_eq(good("n", "007").n, 7);
    cr_assert_eq(good("seed", "18446744073709551615").seed, UINT64_MAX);
    static const char *const none[] = {"+1", "-1", "1e3", "1.0",   "0x10", " 1",
                                       "1 ", "1k", "one", "1_000", "1/1"};
    for (size_t i = 0; i < ARRAY_LEN(none); i++)
        bad("seed", none[i], "not a whole number");
    bad("seed", "18446744073709551616", "too large");
    bad("seed", "99999999999999999999999999", "too large");
    bad("n", "0", "must be at least 1");
    bad("n", "1001", "must be at most 1000");
    TEST_NO_LEAKS();
}

Test(opts_value, reals_are_decimal_finite_and_in_range)
{
    cr_assert_eq(good("radius", "30").radius, 30);
    cr_assert_eq(good("radius", "0.5").radius, 0.5);
    cr_assert_eq(good("radius", ".5").radius, 0.5);
    cr_assert_eq(good("radius", "2.56e2").radius, 256);
    cr_assert_eq(good("radius", "+7").radius, 7);
    cr_assert_eq(good("gap", "1e308").gap, 1e308);
    static const char *const infinite[] = {"nan",  "NaN",       "-nan",  "inf",
                                           "-inf", "+Infinity", "1e999", "-1e999"};
    for (size_t i = 0; i < ARRAY_LEN(infinite); i++)
        bad("radius", infinite[i], "not a finite number");
    static const char *const none[] = {"",   "abc",     "0x1p3",  "1,5",  "1.5.2", "e5",
                                       "1e", " 1",      "1 ",     "--1",  "1f",    ".",
                                       "-",  "30units", "nan(1)", "infx", "1e5e5"};
    for (size_t i = 0; i < ARRAY_LEN(none); i++)
        bad("radius", none[i], "not a number");
    bad("radius", "0", "must be at least 0.5 units");
    bad("radius", "-1", "must be at least 0.5 units");
    bad("radius", "256.001", "must be at most 256 units");
    bad("gap", "-1", "must be at least 0");
    TEST_NO_LEAKS();
}

Test(opts_value, reals_may_be_fractions)
{
    cr_assert_eq(good("quantum", "1/64").quantum, 1.0 / 64);
    cr_assert_eq(good("quantum", "0.5/2").quantum, 0.25);
    cr_assert_eq(good("radius", "90/3").radius, 30);
    bad("quantum", "1/0", "not a finite number");
    bad("quantum", "0/0", "not a finite number");
    bad("quantum", "1/inf", "not a finite number");
    bad("quantum", "1/", "not a number");
    bad("quantum", "/2", "not a number");
    bad("quantum", "1/2/3", "not a number");
    bad("quantum", "1 / 2", "not a number");
    bad("quantum", "64/1", "must be at most 1 units");
    bad("quantum", "-1/64", "must be at least 0.0001 units");
    bad("quantum", "000000000000000000000000000000000000000000000000000000000000000000001/64",
        "not a number");
    TEST_NO_LEAKS();
}

Test(opts_value, times_have_a_suffix_or_the_tables_unit)
{
    cr_assert_eq(good("tick", "50").tick_ns, 50000000);
    cr_assert_eq(good("tick", "50ms").tick_ns, 50000000);
    cr_assert_eq(good("tick", "0.5s").tick_ns, 500000000);
    cr_assert_eq(good("tick", "0.001s").tick_ns, 1000000);
    cr_assert_eq(good("tick", "1.5").tick_ns, 1500000);
    cr_assert_eq(good("idle", "5").idle_ns, 5000000000);
    cr_assert_eq(good("idle", "100ms").idle_ns, 100000000);
    cr_assert_eq(good("idle", "2m").idle_ns, 120000000000);
    cr_assert_eq(good("window", "2").window_ns, 120000000000);
    cr_assert_eq(good("window", "1e2s").window_ns, 100000000000);
    static const char *const none[] = {"",    "s",   "ms",   "5h",  "5 ms", "5sec", "5mss",
                                       "5us", "abc", "5m5s", "0x5", "1/2",  "5ns"};
    for (size_t i = 0; i < ARRAY_LEN(none); i++)
        bad("tick", none[i], "not a time such as 50ms, 0.5s or 2m");
    bad("tick", "nan", "not a finite number");
    bad("tick", "infs", "not a finite number");
    bad("tick", "0", "must be at least 1 ms");
    bad("tick", "0s", "must be at least 1 ms");
    bad("tick", "-5", "must be at least 1 ms");
    bad("tick", "0.999ms", "must be at least 1 ms");
    bad("tick", "10001", "must be at most 10000 ms");
    bad("tick", "1m", "must be at most 10000 ms");
    TEST_NO_LEAKS();
}

Test(opts_value, a_time_that_cannot_be_held_is_refused)
{
    cr_assert_eq(good("window", "150000000m").window_ns, 9000000000000000000);
    bad("window", "160000000m", "too large");
    bad("window", "1e300s", "too large");
    bad("window", "1e308m", "too large");
    bad("window", "0.0000001ms", "too small");
    bad("window", "-1s", "must be at least 0 m");
    cr_assert_eq(good("window", "0").window_ns, 0);
    TEST_NO_LEAKS();
}

Test(opts_value, zero_turns_a_limit_off_only_where_the_table_says_so)
{
    cr_assert_eq(good("idle", "0").idle_ns, 0);
    cr_assert_eq(good("idle", "0ms").idle_ns, 0);
    cr_assert_eq(good("sndbuf", "0").sndbuf, 0);
    bad("idle", "0.05", "must be 0 or at least 0.1 s");
    bad("idle", "-1", "must be 0 or at least 0.1 s");
    bad("sndbuf", "1", "must be 0 or at least 4096 bytes");
    bad("tick", "0", "must be at least 1 ms");
    bad("n", "0", "must be at least 1");
    /* A time so short that it would round to off is not off. */
    bad("idle", "0.0000000001", "too small");
    TEST_NO_LEAKS();
}

Test(opts_value, sizes_are_bytes_or_binary_multiples)
{
    cr_assert_eq(good("sndbuf", "4096").sndbuf, 4096);
    cr_assert_eq(good("sndbuf", "64KiB").sndbuf, 65536);
    cr_assert_eq(good("sndbuf", "64k").sndbuf, 65536);
    cr_assert_eq(good("sndbuf", "64K").sndbuf, 65536);
    cr_assert_eq(good("sndbuf", "1MiB").sndbuf, 1048576);
    cr_assert_eq(good("sndbuf", "1m").sndbuf, 1048576);
    cr_assert_eq(good("sndbuf", "1GiB").sndbuf, 1073741824);
    cr_assert_eq(good("sndbuf", "1g").sndbuf, 1073741824);
    static const char *const none[] = {"",      "KiB",    "-1",  "+4096",  "64 KiB", "64KB",
                                       "64TiB", "1.5MiB", "1e5", "64KiBx", "nan"};
    for (size_t i = 0; i < ARRAY_LEN(none); i++)
        bad("sndbuf", none[i], "not a size such as 4096, 64KiB or 1MiB");
    bad("sndbuf", "2g", "must be at most 1073741824 bytes");
    bad("sndbuf", "17179869184GiB", "too large");
    bad("sndbuf", "18446744073709551616", "too large");
    TEST_NO_LEAKS();
}

Test(opts_value, addresses_are_checked_for_form)
{
    good("listen", "0.0.0.0:0");
    good("listen", "[::]:65535");
    good("listen", "localhost:1");
    bad("listen", "", "not of the form host:port");
    bad("listen", "19001", "not of the form host:port");
    bad("listen", ":19001", "the host is missing");
    bad("listen", "127.0.0.1:", "port must be 0..65535");
    bad("listen", "127.0.0.1:abc", "port must be 0..65535");
    bad("listen", "127.0.0.1:3001x", "port must be 0..65535");
    bad("listen", "127.0.0.1:-1", "port must be 0..65535");
    bad("listen", "127.0.0.1:65536", "port must be 0..65535");
    bad("listen", "127.0.0.1:4294974296", "port must be 0..65535");
    bad("listen", "::1:80", "an IPv6 address stands in brackets, [::1]:port");
    bad("admin", "x", "not of the form host:port");
    good("admin", "");
    TEST_NO_LEAKS();
}

Test(opts_value, choices_are_whole_words)
{
    cr_assert_eq(good("format", "text").format, 0);
    cr_assert_eq(good("format", "json").format, 1);
    cr_assert_eq(good("format", "json2").format, 2);
    static const char *const none[] = {"", "JSON", "jso", "json3", "text|json", "|", "2"};
    for (size_t i = 0; i < ARRAY_LEN(none); i++)
        bad("format", none[i], "must be one of text|json|json2|something-longer");
    cr_assert_eq(good("level", "only").level, 0);
    bad("level", "other", "must be only");
    TEST_NO_LEAKS();
}

Test(opts_value, rectangles_are_four_finite_numbers_in_order)
{
    struct rig_config c = good("bounds", "-1.5,0,1e3,.25");
    cr_assert_eq(c.bounds[0], -1.5);
    cr_assert_eq(c.bounds[1], 0);
    cr_assert_eq(c.bounds[2], 1000);
    cr_assert_eq(c.bounds[3], 0.25);
    bad("bounds", "1,2,3", "not of the form x0,y0,x1,y1");
    bad("bounds", "1,2,3,4,5", "not of the form x0,y0,x1,y1");
    bad("bounds", "", "not of the form x0,y0,x1,y1");
    bad("bounds", "0,0,1,", "not a number");
    bad("bounds", "0,,1,1", "not a number");
    bad("bounds", "0, 0, 1, 1", "not a number");
    bad("bounds", "0,0,nan,1", "not a finite number");
    bad("bounds", "0,0,1,inf", "not a finite number");
    bad("bounds", "1,0,1,1", "x0 must be below x1, and y0 below y1");
    bad("bounds", "0,2,1,1", "x0 must be below x1, and y0 below y1");
    c = good("area", "");
    cr_assert_eq(c.area[2], 0);
    TEST_NO_LEAKS();
}

Test(opts_value, texts_are_taken_as_they_are)
{
    struct parsed p;
    RIG_PARSE(&p, "-store", " sqlite:a b.db ");
    cr_assert_str_eq(p.config.store, " sqlite:a b.db ");
    opts_destroy(p.opts);
    RIG_PARSE(&p, "-store=");
    cr_assert_str_eq(p.config.store, "");
    opts_destroy(p.opts);
    TEST_NO_LEAKS();
}
