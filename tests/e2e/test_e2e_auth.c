/* tests/e2e/test_e2e_auth.c: a pair whose world wants tokens, over real sockets.
 * May touch: tests/pair, tests/raw_client, tests/forge, tests/e2e/probe. On trouble: the test
 * fails.
 */
#include "common/clock.h"
#include "tests/e2e/probe.h"
#include "tests/forge.h"
#include "tests/leak.h"
#include "tests/pair.h"
#include "tests/raw_client.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

TestSuite(e2e_auth, .fini = process_end_all, .timeout = 120);

#if defined(AEGIS_PART_LIBJWT) && defined(AEGIS_PART_LIBCRYPTO)

#define BOT_MS 20000

struct gate {
    struct forge forge;
    struct pair pair;
};

static void gate_open(struct gate *g)
{
    forge_open(&g->forge);
    g->pair = pair_start(PROCESS_ARGS("-auth-key", g->forge.path, "-resume-window", "30s",
                                      "-max-speed", "60", PROBE_ADMIN),
                         PROCESS_ARGS("-rate", "0"));
}

/* No word of a token or a secret may stand in any log. */
static void gate_close(struct gate *g)
{
    const struct process *all[] = {g->pair.world, g->pair.gateway};

    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        struct span log = process_log(all[i]);
        cr_expect_null(memmem(log.p, log.n, "eyJ", 3), "a token is in a log");
        cr_expect_null(memmem(log.p, log.n, "0123456789abcdefg", 17), "a secret is in a log");
    }
    pair_end(&g->pair);
    forge_close(&g->forge);
    TEST_NO_LEAKS();
}

static const char *good(const struct gate *g, enum forge_hand hand, const char *name)
{
    static char token[FORGE_TEXT_MAX];

    forge_good(&g->forge, hand, name, clock_unix_s() + 600, token);
    return token;
}

static void come_in(const struct gate *g, struct raw_client *c, enum forge_hand hand,
                    const char *name)
{
    raw_connect(c, g->pair.gateway->addr);
    raw_must(c, raw_login_token(c, name, good(g, hand, name)), CMD_LOGIN_RESP);
    raw_must(c, raw_nil(c, CMD_ENTER_REQ), CMD_ENTER_RESP);
}

Test(e2e_auth, every_bad_token_is_refused_with_14_and_the_third_closes)
{
    static struct forged list[FORGE_MAX];
    struct gate g;
    struct raw_client c;

    gate_open(&g);
    uint32_t n = forge_bad(&g.forge, clock_unix_s(), list);
    cr_assert_geq(n, 30);
    n -= n % PROTO_AUTH_FAILURES;
    for (uint32_t i = 0; i < n; i++) {
        bool last = i % PROTO_AUTH_FAILURES == PROTO_AUTH_FAILURES - 1;
        if (i % PROTO_AUTH_FAILURES == 0)
            raw_connect(&c, g.pair.gateway->addr);
        const struct message *m = raw_answer(&c, raw_login_token(&c, "alpha", list[i].text));
        if (!m || m->cmd != CMD_ERROR_NOTIFY || m->error_notify.code != PE_AUTH_FAILED)
            process_fail("%s: not refused with 14", list[i].what);
        if (last)
            raw_must_bye(&c, PE_AUTH_FAILED);
    }
    uint64_t counted =
        probe_metric(g.pair.world, "aegis_world_requests_refused_total{reason=\"auth_failed\"}");
    cr_assert_eq(counted, n);
    come_in(&g, &c, FORGE_H, "alpha");
    raw_close(&c);
    gate_close(&g);
}

Test(e2e_auth, a_new_login_takes_over_and_the_older_connection_reads_bye_6)
{
    struct gate g;
    struct raw_client old, next, stranger;

    gate_open(&g);
    come_in(&g, &old, FORGE_H, "alpha");
    raw_connect(&stranger, g.pair.gateway->addr);
    raw_must_fail(&stranger, raw_login(&stranger, "alpha"), PE_AUTH_FAILED);
    raw_must(&old, raw_move(&old, 8.0625, 0), CMD_MOVE_RESP);
    come_in(&g, &next, FORGE_R, "alpha");
    raw_must_bye(&old, PE_NAME_IN_USE);
    raw_must(&next, raw_nil(&next, CMD_LEAVE_REQ), CMD_LEAVE_RESP);
    raw_close(&next);
    raw_close(&stranger);
    gate_close(&g);
}

Test(e2e_auth, sighup_changes_the_keys_and_drops_nobody)
{
    struct gate g;
    struct raw_client a, b, late;
    char token[FORGE_TEXT_MAX];

    gate_open(&g);
    come_in(&g, &a, FORGE_H, "alpha");
    come_in(&g, &b, FORGE_E, "beta");
    forge_rewrite(&g.forge, "broken\n");
    process_signal(g.pair.world, SIGHUP);
    process_await_log(g.pair.world,
                      "not read anew, what there was stays flag=-auth-key reason: ", 1);
    raw_connect(&late, g.pair.gateway->addr);
    strcpy(token, good(&g, FORGE_H, "gamma"));
    raw_must(&late, raw_login_token(&late, "gamma", token), CMD_LOGIN_RESP);
    raw_close(&late);

    forge_rewrite(&g.forge, "r RS256 file:r.pem\ne ES256 file:e.pem\n");
    process_signal(g.pair.world, SIGHUP);
    process_await_log(g.pair.world, " read anew flag=-auth-key", 1);
    raw_connect(&late, g.pair.gateway->addr);
    raw_must_fail(&late, raw_login_token(&late, "gamma", token), PE_AUTH_FAILED);
    strcpy(token, good(&g, FORGE_R, "gamma"));
    raw_must(&late, raw_login_token(&late, "gamma", token), CMD_LOGIN_RESP);
    raw_must(&a, raw_move(&a, 8.0625, 0), CMD_MOVE_RESP);
    raw_must(&b, raw_move(&b, 16.0625, 0), CMD_MOVE_RESP);
    raw_close(&a);
    raw_close(&b);
    raw_close(&late);
    gate_close(&g);
}

Test(e2e_auth, bots_that_have_the_keys_make_their_tokens)
{
    struct gate g;
    struct raw_client c;
    char token[TOKEN_MAX + 1];

    gate_open(&g);
    struct process *bot = process_start("bot", PROCESS_ARGS("-addr", g.pair.gateway->addr));
    process_await_exit(bot, BOT_MS, 1);
    struct span out = process_out(bot);
    cr_expect(memmem(out.p, out.n, "auth_failed (14)", 16), "%.*s", (int)out.n,
              (const char *)out.p);
    bot = process_start(
        "bot", PROCESS_ARGS("-addr", g.pair.gateway->addr, "-auth-key", g.forge.path, "-kid", "e"));
    process_await_exit(bot, BOT_MS, 0);
    bot = process_start("bot",
                        PROCESS_ARGS("-mode=load", "-n", "20", "-seconds", "2", "-drop", "0.1",
                                     "-addr", g.pair.gateway->addr, "-auth-key", g.forge.path));
    process_await_exit(bot, BOT_MS, 0);

    bot = process_start("bot",
                        PROCESS_ARGS("-mode=token", "-auth-key", g.forge.path, "-name", "alpha"));
    process_await_exit(bot, BOT_MS, 0);
    out = process_out(bot);
    cr_assert(out.n > 1 && out.n <= TOKEN_MAX && out.p[out.n - 1] == '\n');
    memcpy(token, out.p, out.n);
    token[out.n - 1] = '\0';
    raw_connect(&c, g.pair.gateway->addr);
    raw_must(&c, raw_login_token(&c, "alpha", token), CMD_LOGIN_RESP);
    raw_close(&c);
    gate_close(&g);
}

Test(e2e_auth, a_file_of_keys_that_is_none_ends_the_start_with_its_line)
{
    struct forge f;

    forge_open(&f);
    forge_rewrite(&f, "# keys\nh HS256 text:too-short\n");
    struct process *p = process_start("aegis", PROCESS_ARGS("-role=world", "-auth-key", f.path));
    process_await_exit(p, PROCESS_PATIENCE_MS, 1);
    struct span log = process_log(p);
    static const char words[] = "line 2: the secret of HS256 must have at least 32 bytes\n";
    cr_assert(memmem(log.p, log.n, words, sizeof(words) - 1), "%.*s", (int)log.n,
              (const char *)log.p);
    cr_assert(memmem(log.p, log.n, "-auth-key: ", 11));
    cr_assert_null(memmem(log.p, log.n, "too-short", 9));
    forge_close(&f);
    process_check_all();
    TEST_NO_LEAKS();
}

#else

Test(e2e_auth, a_build_without_the_libraries_says_so)
{
    static const char *const programs[] = {"aegis", "bot"};

    for (size_t i = 0; i < ARRAY_LEN(programs); i++) {
        struct process *p = process_start(
            programs[i], i == 0 ? PROCESS_ARGS("-role=world", "-auth-key", "/dev/null")
                                : PROCESS_ARGS("-auth-key", "/dev/null"));
        process_await_exit(p, PROCESS_PATIENCE_MS, 2);
        struct span log = process_log(p);
        static const char words[] = "-auth-key: \"/dev/null\": this program was built without";
        cr_assert(memmem(log.p, log.n, words, sizeof(words) - 1), "%.*s", (int)log.n,
                  (const char *)log.p);
    }
    process_check_all();
}

#endif
