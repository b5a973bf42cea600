/* tests/common/test_base64.c: RFC 4648, section 10, by both alphabets; what is none.
 * May touch: common/base64.
 */
#include "common/base64.h"

#include <criterion/criterion.h>

static void must_read(const char *text, const char *bytes, size_t n)
{
    uint8_t out[16];
    size_t got = 99;

    cr_assert(base64_read(span_text(text), out, sizeof(out), &got), "%s", text);
    cr_assert_eq(got, n, "%s", text);
    cr_assert_eq(memcmp(out, bytes, n), 0, "%s", text);
}

Test(base64, the_vectors_of_the_rfc_with_and_without_padding)
{
    must_read("", "", 0);
    must_read("Zg==", "f", 1);
    must_read("Zg", "f", 1);
    must_read("Zm8=", "fo", 2);
    must_read("Zm8", "fo", 2);
    must_read("Zm9v", "foo", 3);
    must_read("Zm9vYmFy", "foobar", 6);
}

Test(base64, both_alphabets_mean_the_same)
{
    must_read("+/+/", "\xfb\xff\xbf", 3);
    must_read("-_-_", "\xfb\xff\xbf", 3);
}

Test(base64, what_is_none_is_refused)
{
    static const char *const bad[] = {"Z",      "Zm9vZ", "Zg=",   "Zg===", "=",   "==",   "Zm9v=",
                                      "Zm9v==", "Zm 9v", "Zm9\n", "Zh",    "Zm9", "*m9v", "Zg=A"};
    uint8_t out[16];
    size_t n;

    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        cr_expect_not(base64_read(span_text(bad[i]), out, sizeof(out), &n), "%s", bad[i]);
}

Test(base64, no_byte_is_written_past_the_room)
{
    uint8_t out[4] = {0, 0, 0, 77};
    size_t n;

    cr_expect(base64_read(span_text("Zm9v"), out, 3, &n));
    cr_expect_not(base64_read(span_text("Zm9vYg"), out, 3, &n));
    cr_expect_eq(out[3], 77);
}
