/* tests/common/test_keys.c: files of secrets: what is taken, what is refused and how that is said.
 */
#include "common/keys.h"

#include "common/err.h"
#include "common/log.h"
#include "tests/leak.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define SIXTEEN "0123456789abcdef"
#define EIGHT16 SIXTEEN SIXTEEN SIXTEEN SIXTEEN SIXTEEN SIXTEEN SIXTEEN SIXTEEN

static char path[64];

static void write_file(const char *text)
{
    snprintf(path, sizeof(path), "/tmp/keys-XXXXXX");
    const int fd = mkstemp(path);

    cr_assert_geq(fd, 0);
    cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

static int read_text(struct keys *k, const char *text, char *why, size_t why_cap)
{
    write_file(text);
    keys_init(k, path);
    const int err = keys_read(k, why, why_cap);
    unlink(path);
    return err;
}

Test(keys, one_a_line_without_blanks_at_its_end_comments_and_empty_lines)
{
    struct key list[KEYS_MAX];
    struct keys k;
    char why[256];

    cr_assert_eq(read_text(&k, "# old and new\n" SIXTEEN " \t\r\n\n" EIGHT16 EIGHT16, why, 256), 0);
    cr_assert_eq(keys_copy(&k, list), 2u);
    cr_assert(span_equal(span_of(list[0].bytes, list[0].n), span_text(SIXTEEN)));
    cr_assert(span_equal(span_of(list[1].bytes, list[1].n), span_text(EIGHT16 EIGHT16)));
    keys_wipe(list, KEYS_MAX);
    cr_assert_eq(list[0].n, 0u);
    keys_fini(&k);
    TEST_NO_LEAKS();
}

Test(keys, what_cannot_be_used_is_refused_without_a_word_of_the_secret)
{
    static const struct {
        const char *text, *why;
    } bad[] = {
        {"", "no key in it"},
        {"# nothing\n\n", "no key in it"},
        {"a-secret-secret\n", "line 1: a key has 16 to 256 bytes"},
        {"#" EIGHT16 EIGHT16 EIGHT16 SIXTEEN "\n", "line 1: a key has 16 to 256 bytes"},
        {SIXTEEN "\n\nsecret", "line 3: a key has 16 to 256 bytes"},
        {EIGHT16 EIGHT16 "secret\n", "line 1: a key has 16 to 256 bytes"},
        {EIGHT16 EIGHT16 EIGHT16 EIGHT16 "secret\n", "line 1: a key has 16 to 256 bytes"},
        {SIXTEEN "\n" SIXTEEN "\n" SIXTEEN "\n" SIXTEEN "\n" SIXTEEN "\n" SIXTEEN "\n" SIXTEEN
                 "\n" SIXTEEN "\n" SIXTEEN "\n",
         "line 9: at most 8 keys"},
    };
    struct keys k;
    char why[256];

    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        cr_expect_eq(read_text(&k, bad[i].text, why, sizeof(why)), E_RANGE, "%zu", i);
        cr_expect(strstr(why, bad[i].why), "%s", why);
        cr_expect(strstr(why, path), "%s", why);
        cr_expect_null(strstr(why, "secret"), "%s", why);
        keys_fini(&k);
    }
    TEST_NO_LEAKS();
}

Test(keys, a_file_that_is_not_there_is_named)
{
    struct keys k;
    char why[256];

    keys_init(&k, "/nowhere/link.key");
    cr_assert_eq(keys_read(&k, why, sizeof(why)), E_IO);
    cr_assert_str_eq(why, "\"/nowhere/link.key\": No such file or directory");
    keys_fini(&k);
}

Test(keys, a_file_that_went_bad_leaves_what_was_read_before)
{
    struct key list[KEYS_MAX];
    struct keys k;
    char why[256];

    write_file(SIXTEEN "\n");
    keys_init(&k, path);
    cr_assert_eq(keys_read(&k, why, sizeof(why)), 0);
    FILE *f = fopen(path, "w");
    fputs("short\n", f);
    fclose(f);
    cr_assert_eq(keys_read(&k, why, sizeof(why)), E_RANGE);
    cr_assert_eq(keys_copy(&k, list), 1u);
    cr_assert(span_equal(span_of(list[0].bytes, list[0].n), span_text(SIXTEEN)));
    unlink(path);
    keys_fini(&k);
    TEST_NO_LEAKS();
}
