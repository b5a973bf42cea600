/* tests/common/test_admin_token.c: the secret of operators: its file, and what is shown of it.
 */
#include "common/admin_token.h"

#include "tests/leak.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Read a file that holds these bytes. */
static int read_file(const void *bytes, size_t n, struct admin_token *out, char why[256])
{
    char path[] = "/tmp/aegis-test-token-XXXXXX";
    int fd = mkstemp(path), err;

    *out = (struct admin_token){0};
    cr_assert_geq(fd, 0);
    cr_assert_eq(write(fd, bytes, n), (ssize_t)n);
    close(fd);
    err = admin_token_read(path, out, why, 256);
    unlink(path);
    return err;
}

static int read_text(const char *text, struct admin_token *out, char why[256])
{
    return read_file(text, strlen(text), out, why);
}

Test(admin_token, the_first_line_of_the_file_is_the_token)
{
    static const char *const good[] = {"0123456789abcdef", "0123456789abcdef\n",
                                       "0123456789abcdef\r\nand more\n"};
    struct admin_token t;
    char why[256], longest[ADMIN_TOKEN_MAX + 2];

    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        cr_assert_eq(read_text(good[i], &t, why), 0, "%s", why);
        cr_expect_eq(t.n, 16);
        cr_expect_eq(memcmp(t.text, good[0], 16), 0);
    }
    memset(longest, '~', ADMIN_TOKEN_MAX);
    longest[ADMIN_TOKEN_MAX] = '\n';
    cr_assert_eq(read_file(longest, ADMIN_TOKEN_MAX + 1, &t, why), 0, "%s", why);
    cr_expect_eq(t.n, ADMIN_TOKEN_MAX);
    cr_assert_eq(read_file(longest, ADMIN_TOKEN_MAX, &t, why), 0, "%s", why);
    TEST_NO_LEAKS();
}

Test(admin_token, a_file_without_one_is_refused_with_a_line_that_does_not_show_it)
{
    static const char *const bad[] = {"",
                                      "\n0123456789abcdef",
                                      "0123456789abcde",
                                      "0123456789 abcdef",
                                      "0123456789abcd\xc3\xa4",
                                      "0123456789abcdef\t\n"};
    struct admin_token t;
    char why[256], long_one[ADMIN_TOKEN_MAX + 1];

    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        cr_expect_eq(read_text(bad[i], &t, why), E_RANGE, "case %zu", i);
        cr_expect_null(strstr(why, "0123"), "%s", why);
        cr_expect_null(strchr(why, '\n'), "%s", why);
        cr_expect_eq(t.n, 0);
    }
    memset(long_one, 'x', sizeof(long_one));
    cr_expect_eq(read_file(long_one, sizeof(long_one), &t, why), E_RANGE);
    cr_expect_eq(read_file("0123456789abcdef\0", 17, &t, why), E_RANGE, "a NUL is not visible");
    cr_expect_eq(admin_token_read("no/such/file", &t, why, sizeof(why)), E_IO);
    cr_expect(strstr(why, "no/such/file"), "%s", why);
    TEST_NO_LEAKS();
}

Test(admin_token, only_the_whole_token_behind_its_scheme_is_good)
{
    static const struct {
        const char *field;
        enum admin_token_says says;
    } cases[] = {
        {"Bearer 0123456789abcdef", ADMIN_TOKEN_GOOD},
        {"bearer 0123456789abcdef", ADMIN_TOKEN_GOOD},
        {"Bearer 0123456789abcdeF", ADMIN_TOKEN_WRONG},
        {"Bearer x123456789abcdef", ADMIN_TOKEN_WRONG},
        {"Bearer 0123456789abcde", ADMIN_TOKEN_WRONG},
        {"Bearer 0123456789abcdef0123456789abcdef", ADMIN_TOKEN_WRONG},
        {"Bearer  0123456789abcdef", ADMIN_TOKEN_WRONG},
        {"Bearer ", ADMIN_TOKEN_MISSING},
        {"Basic 0123456789abcdef", ADMIN_TOKEN_MISSING},
        {"0123456789abcdef", ADMIN_TOKEN_MISSING},
        {"", ADMIN_TOKEN_MISSING},
    };
    struct admin_token t = {.text = "0123456789abcdef", .n = 16}, none = {.n = 0};

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        cr_expect_eq(admin_token_check(&t, span_text(cases[i].field)), cases[i].says, "%s",
                     cases[i].field);
        cr_expect_eq(admin_token_check(&none, span_text(cases[i].field)), ADMIN_TOKEN_OFF);
    }
    cr_expect_eq(admin_token_check(&t, span_of(NULL, 0)), ADMIN_TOKEN_MISSING);
}
