/* tests/common/test_http_query.c: queries, taken apart strictly.
 */
#include "common/http_query.h"

#include "common/err.h"

#include <criterion/criterion.h>

static int next(const char *text, struct span *rest, struct http_query *q)
{
    if (text)
        *rest = span_text(text);
    return http_query_next(rest, q);
}

Test(http_query, parameters_come_one_by_one_with_percent_signs_taken_out)
{
    struct span rest;
    struct http_query q;

    cr_assert_eq(next("a=1&b=%41%20c&d=", &rest, &q), 0);
    cr_expect(span_equal(q.name, span_text("a")));
    cr_expect_str_eq(q.value, "1");
    cr_assert_eq(next(NULL, &rest, &q), 0);
    cr_expect_str_eq(q.value, "A c");
    cr_assert_eq(next(NULL, &rest, &q), 0);
    cr_expect(span_equal(q.name, span_text("d")));
    cr_expect_str_eq(q.value, "");
    cr_expect_eq(rest.n, 0);
}

Test(http_query, whatever_is_not_exactly_a_parameter_is_refused_with_a_reason)
{
    static const char *const bad[] = {"a", "&", "a=1&", "a&b=1", "a=%", "a=%4", "a=%zz", "a=%00"};
    struct span rest;
    struct http_query q;

    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        cr_expect_eq(next(bad[i], &rest, &q), E_BAD, "%s", bad[i]);
        cr_expect(q.why && q.why[0], "%s", bad[i]);
    }
}

Test(http_query, a_value_has_a_longest_length)
{
    char text[HTTP_QUERY_VALUE_MAX + 4] = "a=";
    struct span rest;
    struct http_query q;

    memset(text + 2, 'x', HTTP_QUERY_VALUE_MAX);
    cr_expect_eq(next(text, &rest, &q), 0);
    cr_expect_eq(strlen(q.value), HTTP_QUERY_VALUE_MAX);
    text[2 + HTTP_QUERY_VALUE_MAX] = 'x';
    cr_expect_eq(next(text, &rest, &q), E_BAD);
}

Test(http_query, numbers_are_finite_decimals_and_as_many_as_asked_for)
{
    static const char *const bad[] = {"",      "1",     "1,",    ",1",      "1,2,3", "1 ,2",
                                      "0x1,2", "nan,1", "1,inf", "1e999,1", "1,2x"};
    double v[2];

    cr_assert(http_query_numbers("-1.5,2e3", v, 2));
    cr_expect_eq(v[0], -1.5);
    cr_expect_eq(v[1], 2000);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        cr_expect(!http_query_numbers(bad[i], v, 2), "%s", bad[i]);
}

Test(http_query, a_count_is_digits_and_at_most_what_is_said)
{
    static const char *const bad[] = {"",    "-1", "+1", "1 ",
                                      "1.0", "6",  "60", "18446744073709551616"};
    uint64_t v;

    cr_assert(http_query_count("5", 5, &v));
    cr_expect_eq(v, 5);
    cr_assert(http_query_count("18446744073709551615", UINT64_MAX, &v));
    cr_expect_eq(v, UINT64_MAX);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        cr_expect(!http_query_count(bad[i], 5, &v), "%s", bad[i]);
}
