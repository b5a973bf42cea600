/* tests/world/test_json_put.c: JSON piece by piece, read back by another reader.
 */
#include "world/edge/json_put.h"

#include <criterion/criterion.h>
#include <jansson.h>
#include <stdlib.h>

static char *text_of(struct span in)
{
    char *out = NULL;
    size_t n = 0;
    FILE *to = open_memstream(&out, &n);

    json_put_text(to, in);
    cr_assert_eq(fclose(to), 0);
    return out;
}

Test(json_put, every_byte_and_every_pair_of_bytes_is_a_string_that_can_be_read)
{
    for (uint32_t i = 0; i < 65536; i++) {
        const uint8_t bytes[2] = {(uint8_t)(i >> 8), (uint8_t)i};
        char *out = text_of(span_of(bytes, 2));
        json_t *v = json_loads(out, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);

        cr_assert(json_is_string(v), "%04x: %s", i, out);
        json_decref(v);
        free(out);
    }
}

Test(json_put, texts_are_kept_and_markup_is_escaped)
{
    static const char good[] = "a\"b\\c</script>&\x7f\xc3\xa4\xf0\x9f\x8d\x80\n";
    char *out = text_of(span_of(good, sizeof(good) - 1));
    json_t *v = json_loads(out, JSON_DECODE_ANY, NULL);

    cr_expect_null(strchr(out, '<'));
    cr_expect_null(strchr(out, '&'));
    cr_expect_str_eq(json_string_value(v), good);
    json_decref(v);
    free(out);
}

Test(json_put, what_is_no_utf8_becomes_a_replacement)
{
    static const char *const bad[] = {"\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xff",
                                      "\xe2\x82"};

    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        char *out = text_of(span_text(bad[i]));

        cr_expect(strncmp(out, "\"\\ufffd", 7) == 0, "%s", out);
        free(out);
    }
}

Test(json_put, base64_as_the_standard_has_it)
{
    static const struct {
        const char *in, *out;
    } cases[] = {{"", ""}, {"f", "Zg=="}, {"fo", "Zm8="}, {"foo", "Zm9v"}, {"foobar", "Zm9vYmFy"}};
    char out[16];

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        size_t n = json_put_base64((const uint8_t *)cases[i].in, strlen(cases[i].in), out);

        cr_expect_eq(n, JSON_PUT_BASE64(strlen(cases[i].in)));
        cr_expect(span_equal(span_of(out, n), span_text(cases[i].out)), "%s", cases[i].in);
    }
}
