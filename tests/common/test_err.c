/* tests/common/test_err.c: every error has its text. */
#include "common/err.h"

#include <criterion/criterion.h>
#include <string.h>

Test(err, every_row_has_a_text_and_is_negative)
{
#define CHECK(name, value, text) \
    cr_assert_lt(name, 0);       \
    cr_assert_str_eq(err_text(name), text);
    ERR_TABLE(CHECK)
#undef CHECK
}

Test(err, any_other_number_has_a_text_too)
{
    cr_assert_str_eq(err_text(0), "unknown error");
    cr_assert_str_eq(err_text(1), "unknown error");
    cr_assert_str_eq(err_text(-1000000), "unknown error");
}
