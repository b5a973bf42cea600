/* tests/common/test_keyring.c: the file of keys, line by line, and what is refused with file and
 * line. May touch: common/keyring, tests/forge.
 */
#include "common/keyring.h"

#include "tests/forge.h"
#include "tests/leak.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECRET "0123456789abcdef0123456789abcdef"

/* --- lines ------------------------------------------------------------------------------------ */

static int read_line(const char *text, struct keyring_line *out, const char **why)
{
    return keyring_line_read(span_text(text), out, why);
}

Test(keyring, a_line_is_kid_algorithm_and_key)
{
    struct keyring_line l;
    const char *why;

    cr_assert_eq(read_line(" a \tHS256  text:" SECRET " \r", &l, &why), 0, "%s", why);
    cr_expect(span_equal(l.kid, span_text("a")));
    cr_expect_eq(l.alg, SIGN_HS256);
    cr_expect(span_equal(span_of(l.secret, l.secret_n), span_text(SECRET)));
    cr_assert_eq(read_line("a HS256 base64:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=", &l, &why),
                 0);
    cr_assert_eq(l.secret_n, 32);
    for (uint8_t i = 0; i < 32; i++)
        cr_expect_eq(l.secret[i], i);
    cr_assert_eq(read_line("b RS256 file:/etc/keys/b.pem", &l, &why), 0);
    cr_expect_eq(l.alg, SIGN_RS256);
    cr_expect(span_equal(l.file, span_text("/etc/keys/b.pem")));
    cr_assert_eq(read_line("# a HS256 text:" SECRET, &l, &why), E_MISSING);
    cr_assert_eq(read_line(" \t\r", &l, &why), E_MISSING);
    cr_assert_eq(read_line("", &l, &why), E_MISSING);
}

static const struct {
    const char *line, *words;
} bad_lines[] = {
    {"a", "KID ALGORITHM KEY"},
    {"a HS256", "KID ALGORITHM KEY"},
    {"a HS256 text:" SECRET " more", "KID ALGORITHM KEY"},
    {"a HS512 text:" SECRET, "HS256, RS256 or ES256"},
    {"a none text:" SECRET, "HS256, RS256 or ES256"},
    {"a hs256 text:" SECRET, "HS256, RS256 or ES256"},
    {"a HS256 " SECRET, "text:SECRET or base64:SECRET"},
    {"a HS256 file:key", "text:SECRET or base64:SECRET"},
    {"a HS256 base64:" SECRET "=", "not base64"},
    {"a RS256 text:" SECRET, "file:PATH"},
    {"a ES256 file:", "file:PATH"},
    {"a\x01 HS256 text:" SECRET, "visible ASCII"},
    {"\xc3\xa4 HS256 text:" SECRET, "visible ASCII"},
    {"a HS256 text:" SECRET "\x7f", "visible ASCII"},
    {"a123456789012345678901234567890123456789012345678901234567890123456789 HS256 text:" SECRET,
     "longer than 64"},
};

Test(keyring, what_is_no_line_is_refused_in_words_that_show_nothing_of_it)
{
    char line[700] = "a HS256 text:";
    struct keyring_line l;
    const char *why;

    for (size_t i = 0; i < ARRAY_LEN(bad_lines); i++) {
        cr_assert_eq(read_line(bad_lines[i].line, &l, &why), E_BAD, "%s", bad_lines[i].line);
        cr_expect(strstr(why, bad_lines[i].words), "\"%s\": \"%s\"", bad_lines[i].line, why);
        cr_expect_null(strstr(why, "0123"));
    }
    memset(line + strlen(line), 'x', KEYRING_SECRET_MAX);
    cr_assert_eq(read_line(line, &l, &why), 0, "%s", why);
    strcat(line, "x");
    cr_assert_eq(read_line(line, &l, &why), E_BAD);
    cr_expect(strstr(why, "too long"), "%s", why);
}

/* --- the file --------------------------------------------------------------------------------- */

static char path[64];

static void write_file(const void *text, size_t n)
{
    snprintf(path, sizeof(path), "/tmp/aegis-test-keys-XXXXXX");
    int fd = mkstemp(path);
    cr_assert_geq(fd, 0);
    cr_assert_eq(write(fd, text, n), (ssize_t)n);
    close(fd);
}

static int read_text(const char *text, struct keyring *k, char why[512])
{
    write_file(text, strlen(text));
    int err = keyring_read(path, k, why, 512);
    unlink(path);
    return err;
}

static void must_refuse(const char *text, const char *words)
{
    struct keyring k;
    char why[512] = "";

    cr_assert_eq(read_text(text, &k, why), E_BAD, "%s", text);
    cr_expect(strstr(why, path) && strstr(why, words), "\"%s\" lacks \"%s\"", why, words);
    cr_expect_null(strstr(why, "0123"), "%s", why);
    cr_expect_null(strchr(why, '\n'));
    cr_expect_eq(k.n, 0);
}

Test(keyring, keys_are_found_by_their_kid)
{
    struct keyring k;
    char why[512] = "";

    cr_assert_eq(read_text("# two\na HS256 text:" SECRET "\n\nb HS256 text:x" SECRET, &k, why), 0,
                 "%s", why);
    cr_assert_eq(k.n, 2);
    cr_expect_eq(keyring_find(&k, span_text("a")), &k.keys[0]);
    cr_expect_eq(keyring_find(&k, span_text("b")), &k.keys[1]);
    cr_expect_null(keyring_find(&k, span_text("c")));
    cr_expect_null(keyring_find(&k, span_text("")), "of several none is meant");
    keyring_fini(&k);
    cr_assert_eq(read_text("a HS256 text:" SECRET "\n", &k, why), 0);
    cr_expect_eq(keyring_find(&k, span_text("")), &k.keys[0], "of one it is");
    cr_expect_null(keyring_find(&k, span_text("b")));
    keyring_fini(&k);
    TEST_NO_LEAKS();
}

Test(keyring, trouble_names_file_and_line)
{
    must_refuse("# keys\n\na HS256 text:0123\n",
                "line 3: the secret of HS256 must have at least 32");
    must_refuse("a HS256 text:" SECRET "\na HS256 text:" SECRET "\n",
                "line 2: the kid \"a\" stands");
    must_refuse("a HS256 base64:LS0tLS1CRUdJTiBQVUJMSUMgS0VZLS0tLS0wMTIzNDU2Nzg5\n",
                "line 1: a key in PEM is no secret");
    must_refuse("# nothing\n", "there is no key in it");
    TEST_NO_LEAKS();
}

Test(keyring, as_many_keys_as_there_may_be_and_one_more)
{
    char text[4096] = "", why[512] = "";
    struct keyring k;

    for (int i = 0; i < KEYRING_MAX; i++)
        snprintf(text + strlen(text), 64, "k%d HS256 text:" SECRET "\n", i);
    cr_assert_eq(read_text(text, &k, why), 0, "%s", why);
    cr_expect_eq(k.n, KEYRING_MAX);
    keyring_fini(&k);
    strcat(text, "last HS256 text:" SECRET "\n");
    must_refuse(text, "line 17: more than 16 keys");
    TEST_NO_LEAKS();
}

Test(keyring, a_file_that_is_not_there_or_too_large)
{
    struct keyring k;
    char why[512] = "", *large = malloc(KEYRING_FILE_MAX + 1);

    cr_expect_eq(keyring_read("no/such/file", &k, why, sizeof(why)), E_IO);
    cr_expect(strstr(why, "no/such/file"), "%s", why);
    memset(large, '#', KEYRING_FILE_MAX + 1);
    write_file(large, KEYRING_FILE_MAX + 1);
    cr_expect_eq(keyring_read(path, &k, why, sizeof(why)), E_IO);
    unlink(path);
    write_file("", 0);
    cr_expect_eq(keyring_read(path, &k, why, sizeof(why)), E_IO, "an empty one");
    unlink(path);
    free(large);
    TEST_NO_LEAKS();
}

#ifdef AEGIS_PART_LIBCRYPTO

/* Of these, in a folder with the keys of tests/forge. */
static void must_refuse_pem(struct forge *f, const char *text, const char *words)
{
    struct keyring k;
    char why[512] = "";

    forge_rewrite(f, text);
    cr_assert_neq(keyring_read(f->path, &k, why, sizeof(why)), 0, "%s", text);
    cr_expect(strstr(why, "line 1: ") && strstr(why, words), "\"%s\" lacks \"%s\"", why, words);
    cr_expect_null(strchr(why, '\n'));
}

Test(keyring, pem_files_lie_beside_it_and_must_fit_their_algorithm)
{
    struct forge f;
    struct keyring k;
    char why[512] = "";

    forge_open(&f);
    cr_assert_eq(keyring_read(f.path, &k, why, sizeof(why)), 0, "%s", why);
    cr_assert_eq(k.n, 3);
    cr_expect_gt(k.keys[0].key.own.n, 0, "a secret signs");
    cr_expect_eq(k.keys[1].key.own.n, 0, "a public key does not");
    cr_expect_gt(k.keys[2].key.own.n, 0, "a private one does");
    keyring_fini(&k);
    must_refuse_pem(&f, "r RS256 file:e.pem\n", "not a key of RSA");
    must_refuse_pem(&f, "e ES256 file:r.pem\n", "not a key of the curve P-256");
    must_refuse_pem(&f, "e ES256 file:keys\n", "must hold one key in PEM");
    must_refuse_pem(&f, "e ES256 file:none.pem\n", "none.pem");
    must_refuse_pem(&f, "e ES256 file:../none/none.pem\n", "none.pem");
    forge_pem(&f, "short.pem", FORGE_PEM_SHORT);
    must_refuse_pem(&f, "r RS256 file:short.pem\n", "must have 2048 bits");
    forge_pem(&f, "curve.pem", FORGE_PEM_CURVE);
    must_refuse_pem(&f, "r ES256 file:curve.pem\n", "not a key of the curve P-256");
    forge_pem(&f, "two.pem", FORGE_PEM_TWO);
    must_refuse_pem(&f, "r ES256 file:two.pem\n", "must hold one key in PEM");
    forge_pem(&f, "locked.pem", FORGE_PEM_LOCKED);
    must_refuse_pem(&f, "r ES256 file:locked.pem\n", "without a passphrase");
    forge_close(&f);
    TEST_NO_LEAKS();
}

#endif
