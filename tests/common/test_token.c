/* tests/common/test_token.c: tokens: their form, a vector of RFC 7515, what is signed can be read,
 * and every truncation cannot. Tokens that are bad on purpose: tests/world/test_auth_jwt.c.
 * May touch: common/token, tests/forge.
 */
#include "common/token.h"

#include "tests/forge.h"
#include "tests/leak.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <unistd.h>

Test(token, the_form_is_three_parts_of_base64_for_urls)
{
    static const char *const good[] = {"AA.AA.AA", "AAAA.AAA.AA", "-_09.azAZ.zz"};
    static const char *const bad[] = {
        "",          ".",         "..",       "AA.AA",      "AA.AA.",      "AA..AA",
        ".AA.AA",    "AA.AA.AA.", "AA.AA.A",  "A.AA.AA",    "AA.AAAAA.AA", "AA.AA.A=",
        "AA.AA. AA", "A+.AA.AA",  "AA.A/.AA", "AA.AA.AA\n", "AA.AA.AA.AA"};
    char longest[TOKEN_MAX + 2];

    for (size_t i = 0; i < ARRAY_LEN(good); i++)
        cr_expect(token_form_ok(span_text(good[i])), "%s", good[i]);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        cr_expect_not(token_form_ok(span_text(bad[i])), "%s", bad[i]);
    cr_expect_not(token_form_ok(span_of("AA.AA\0.AA", 9)));
    memset(longest, 'A', sizeof(longest));
    longest[4] = longest[9] = '.';
    cr_expect(token_form_ok(span_of(longest, TOKEN_MAX)) == ((TOKEN_MAX - 10) % 4 != 1));
    cr_expect_not(token_form_ok(span_of(longest, TOKEN_MAX + 1)));
}

#if defined(AEGIS_PART_LIBJWT) && defined(AEGIS_PART_LIBCRYPTO)

/* RFC 7515, A.1; it names no kid. */
#define RFC_KEY \
    "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow"
#define RFC_TOKEN                                                                                 \
    "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9."                                                   \
    "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnV" \
    "lfQ.dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"

Test(token, the_vector_of_rfc_7515)
{
    struct token_claims c;
    struct keyring k;
    struct forge f;
    char why[512] = "";

    forge_open(&f);
    forge_rewrite(&f, "rfc HS256 base64:" RFC_KEY "\n");
    cr_assert_eq(keyring_read(f.path, &k, why, sizeof(why)), 0, "%s", why);
    cr_assert_eq(token_read(&k, span_text(RFC_TOKEN), &c), TOKEN_SOUND);
    cr_expect(c.has_exp);
    cr_expect_eq(c.exp_s, 1300819380);
    cr_expect_not(c.has_sub);
    cr_expect_not(c.has_nbf);
    for (size_t n = 0; n < strlen(RFC_TOKEN); n++)
        cr_expect_neq(token_read(&k, span_of(RFC_TOKEN, n), &c), TOKEN_SOUND, "%zu bytes of it", n);
    keyring_fini(&k);
    forge_close(&f);
    TEST_NO_LEAKS();
}

Test(token, what_is_signed_with_each_algorithm_can_be_read_with_its_key)
{
    static const enum forge_hand hands[] = {FORGE_H, FORGE_R, FORGE_E};
    char text[FORGE_TEXT_MAX], why[512] = "", own[TOKEN_MAX + 1];
    struct token_claims c;
    struct keyring k;
    struct forge f;

    forge_open(&f);
    cr_assert_eq(keyring_read(f.path, &k, why, sizeof(why)), 0, "%s", why);
    for (size_t i = 0; i < ARRAY_LEN(hands); i++) {
        forge_good(&f, hands[i], "alpha", 2000000000, text);
        cr_assert_eq(token_read(&k, span_text(text), &c), TOKEN_SOUND, "%s", text);
        cr_expect_str_eq(c.sub, "alpha");
        cr_expect_eq(c.exp_s, 2000000000);
        text[strlen(text) - 3] ^= 1; /* within the alphabet: A and B differ so */
        if (token_form_ok(span_text(text)))
            cr_expect_eq(token_read(&k, span_text(text), &c), TOKEN_NOT_ITS_KEY);
    }
    for (uint32_t i = 0; i < k.n; i += 2) { /* those that can sign */
        cr_assert_eq(token_sign(&k.keys[i], "be ta", 1000, 4000000000, own), 0);
        cr_assert_eq(token_read(&k, span_text(own), &c), TOKEN_SOUND, "%s", own);
        cr_expect_str_eq(c.sub, "be ta");
        cr_expect_eq(c.exp_s, 4000000000);
    }
    cr_expect_eq(token_sign(&k.keys[1], "alpha", 0, 1, own), E_BAD, "a public key signs nothing");
    keyring_fini(&k);
    forge_close(&f);
    TEST_NO_LEAKS();
}

#else

Test(token, a_build_without_the_libraries_reads_none)
{
    static const struct keyring none;
    struct token_claims c;

    cr_expect_not(token_possible());
    cr_expect_neq(token_read(&none, span_text("AA.AA.AA"), &c), TOKEN_SOUND);
}

#endif
