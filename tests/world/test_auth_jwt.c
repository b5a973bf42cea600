/* tests/world/test_auth_jwt.c: -auth-key at the world's edge: tokens that are good, a table of
 * those that are not, and other keys while it runs. May touch: world/edge/auth_jwt, tests/forge.
 */
#include "world/edge/auth_jwt.h"

#include "tests/forge.h"
#include "tests/leak.h"

#include <criterion/criterion.h>
#include <string.h>

#if defined(AEGIS_PART_LIBJWT) && defined(AEGIS_PART_LIBCRYPTO)

#define NOW 1800000000

static int64_t clock_s = NOW;

static int64_t unix_s(void)
{
    return clock_s;
}

struct desk {
    struct forge forge;
    struct auth_jwt *auth;
    struct auth_door door;
};

static void desk_open(struct desk *d, int64_t leeway_s)
{
    char why[512] = "";

    forge_open(&d->forge);
    struct auth_jwt_config c = {d->forge.path, leeway_s, unix_s};
    cr_assert_eq(auth_jwt_create(&c, &d->auth, why, sizeof(why)), 0, "%s", why);
    d->door = auth_jwt_door(d->auth);
}

static void desk_close(struct desk *d)
{
    auth_jwt_destroy(d->auth);
    forge_close(&d->forge);
    TEST_NO_LEAKS();
}

static enum auth_verdict check(const struct desk *d, const char *token, const char *name)
{
    return d->door.ops->check(d->door.arg, span_text(token), span_text(name));
}

Test(auth_jwt, good_tokens_of_each_algorithm_let_in_whom_they_name)
{
    char token[FORGE_TEXT_MAX];
    struct desk d;

    desk_open(&d, 5);
    for (enum forge_hand hand = FORGE_H; hand <= FORGE_E; hand++) {
        forge_good(&d.forge, hand, "alpha", NOW + 60, token);
        cr_expect_eq(check(&d, token, "alpha"), AUTH_GOOD, "%s", token);
        cr_expect_eq(check(&d, token, "beta"), AUTH_OTHER_NAME);
    }
    cr_expect_eq(auth_jwt_keys(d.auth), 3);
    desk_close(&d);
}

Test(auth_jwt, bad_tokens_are_refused_each_for_its_reason)
{
    static struct forged list[FORGE_MAX];
    struct desk d;

    desk_open(&d, 5);
    uint32_t n = forge_bad(&d.forge, NOW, list);
    cr_assert_geq(n, 30);
    for (uint32_t i = 0; i < n; i++) {
        enum auth_verdict v = check(&d, list[i].text, "alpha");
        if (list[i].verdict == AUTH_MISSING) /* the core tells that by itself */
            cr_expect_neq(v, AUTH_GOOD);
        else
            cr_expect_eq(v, list[i].verdict, "%s: verdict %d, not %d", list[i].what, v,
                         list[i].verdict);
    }
    desk_close(&d);
}

Test(auth_jwt, every_truncation_and_every_changed_digit_is_refused)
{
    char token[FORGE_TEXT_MAX];
    struct desk d;

    desk_open(&d, 5);
    forge_good(&d.forge, FORGE_H, "alpha", NOW + 60, token);
    size_t n = strlen(token);
    for (size_t i = 0; i < n; i++) {
        cr_expect_neq(d.door.ops->check(d.door.arg, span_of(token, i), span_text("alpha")),
                      AUTH_GOOD, "%zu bytes", i);
        char was = token[i];
        token[i] = was == 'x' ? 'y' : 'x';
        cr_expect_neq(check(&d, token, "alpha"), AUTH_GOOD, "digit %zu", i);
        token[i] = was;
    }
    cr_expect_eq(check(&d, token, "alpha"), AUTH_GOOD);
    desk_close(&d);
}

Test(auth_jwt, its_times_are_held_against_the_clock_it_was_given)
{
    char token[FORGE_TEXT_MAX];
    struct desk d;

    desk_open(&d, 5);
    forge_good(&d.forge, FORGE_E, "alpha", NOW + 60, token);
    clock_s = NOW + 64;
    cr_expect_eq(check(&d, token, "alpha"), AUTH_GOOD, "within the leeway");
    clock_s = NOW + 65;
    cr_expect_eq(check(&d, token, "alpha"), AUTH_EXPIRED);
    desk_close(&d);
}

Test(auth_jwt, keys_that_are_read_anew_replace_all_and_a_bad_file_none)
{
    char h[FORGE_TEXT_MAX], e[FORGE_TEXT_MAX], why[512] = "";
    struct desk d;

    desk_open(&d, 5);
    forge_good(&d.forge, FORGE_H, "alpha", NOW + 60, h);
    forge_good(&d.forge, FORGE_E, "alpha", NOW + 60, e);
    forge_rewrite(&d.forge, "e ES256 file:e.pem\n");
    cr_assert_eq(auth_jwt_reload(d.auth, why, sizeof(why)), 0, "%s", why);
    cr_expect_eq(check(&d, h, "alpha"), AUTH_NO_KEY);
    cr_expect_eq(check(&d, e, "alpha"), AUTH_GOOD);
    forge_rewrite(&d.forge, "e ES256 file:e.pem\ne ES256\n");
    cr_assert_neq(auth_jwt_reload(d.auth, why, sizeof(why)), 0);
    cr_expect(strstr(why, "line 2: "), "%s", why);
    cr_expect_eq(check(&d, e, "alpha"), AUTH_GOOD, "the old keys stay");
    forge_rewrite(&d.forge, "h HS256 text:a-secret-that-nobody-has-heard-of-yet\n");
    cr_assert_eq(auth_jwt_reload(d.auth, why, sizeof(why)), 0, "%s", why);
    cr_expect_eq(check(&d, h, "alpha"), AUTH_NOT_ITS_KEY, "one kid, another secret");
    desk_close(&d);
}

Test(auth_jwt, of_one_key_a_token_without_kid_will_do)
{
    char token[FORGE_TEXT_MAX], why[512] = "";
    struct desk d;

    desk_open(&d, 5);
    forge_token(&d.forge, FORGE_E, "{\"alg\":\"ES256\"}", "{\"sub\":\"alpha\",\"exp\":1900000000}",
                token);
    cr_expect_eq(check(&d, token, "alpha"), AUTH_NO_KEY);
    forge_rewrite(&d.forge, "e ES256 file:e.pem\n");
    cr_assert_eq(auth_jwt_reload(d.auth, why, sizeof(why)), 0, "%s", why);
    cr_expect_eq(check(&d, token, "alpha"), AUTH_GOOD);
    desk_close(&d);
}

Test(auth_jwt, a_file_without_keys_does_not_start)
{
    struct auth_jwt_config c = {"no/such/file", 0, unix_s};
    struct auth_jwt *a;
    char why[512] = "";

    cr_assert_neq(auth_jwt_create(&c, &a, why, sizeof(why)), 0);
    cr_expect_null(a);
    cr_expect(strstr(why, "no/such/file"), "%s", why);
    TEST_NO_LEAKS();
}

#endif
