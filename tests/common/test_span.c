/* tests/common/test_span.c: bytes read and bytes written. */
#include "common/span.h"

#include <criterion/criterion.h>

Test(span, spans_are_equal_by_their_bytes_not_by_their_place)
{
    uint8_t a[] = {1, 2, 3}, b[] = {1, 2, 3, 4};
    cr_assert(span_equal(span_of(a, 3), span_of(b, 3)));
    cr_assert_not(span_equal(span_of(a, 3), span_of(b, 4)));
    cr_assert_not(span_equal(span_of(a, 3), span_of(b + 1, 3)));
}

Test(span, empty_spans_are_equal_with_and_without_a_place)
{
    cr_assert(span_equal((struct span){0}, span_text("")));
    cr_assert(span_equal((struct span){0}, (struct span){0}));
    cr_assert_not(span_equal((struct span){0}, span_text("a")));
}

Test(span, a_writer_appends_big_endian_and_bytes)
{
    uint8_t buf[9];
    struct span_writer w = span_writer_of(buf, sizeof(buf));
    span_put_be32(&w, 0x01020304);
    span_put_u8(&w, 0xff);
    span_put(&w, "abcd", 4);
    cr_assert_not(w.full);
    cr_assert(span_equal(span_written(&w), span_of("\x01\x02\x03\x04\xff"
                                                   "abcd",
                                                   9)));
    cr_assert_eq(span_be32(buf), 0x01020304);
}

Test(span, a_full_writer_keeps_what_it_had_and_takes_nothing_more)
{
    uint8_t buf[5] = {0};
    struct span_writer w = span_writer_of(buf, 4);
    span_put(&w, "abc", 3);
    span_put_be32(&w, 1);
    cr_assert(w.full);
    cr_assert_eq(w.len, 3);
    /* One byte would fit, but would stand behind a hole. */
    span_put_u8(&w, 'd');
    cr_assert_eq(w.len, 3);
    cr_assert_eq(buf[3], 0);
    cr_assert_eq(buf[4], 0);
}

Test(span, a_writer_of_nothing_takes_nothing)
{
    struct span_writer w = span_writer_of(NULL, 0);
    span_put(&w, NULL, 0);
    cr_assert_not(w.full);
    span_put_u8(&w, 1);
    cr_assert(w.full);
}

Test(span, a_number_is_read_back_at_its_ends)
{
    uint32_t values[] = {0, 1, 0x7fffffff, 0x80000000, UINT32_MAX};
    for (size_t i = 0; i < ARRAY_LEN(values); i++) {
        uint8_t buf[4];
        struct span_writer w = span_writer_of(buf, 4);
        span_put_be32(&w, values[i]);
        cr_assert_eq(span_be32(buf), values[i]);
    }
}
