/* tests/e2e/test_e2e_postgres.c: a world whose characters are in PostgreSQL, which is killed and
 * stopped under it. May touch: tests/pg_server, tests/e2e/shop's clients, tests/e2e/probe.
 * On trouble: the test fails.
 */
#include "tests/e2e/probe.h"
#include "tests/e2e/shop.h"
#include "tests/leak.h"
#include "tests/pg_server.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

TestSuite(e2e_postgres, .fini = process_end_all, .timeout = 180);

#define SAVES "aegis_world_store_saves_total{result=\"stored\"}"

static void must_stand(struct shop_place at, double x, double y)
{
    if (at.x != x || at.y != y)
        process_fail("it stands at (%.17g, %.17g), not at (%g, %g)", at.x, at.y, x, y);
}

static struct pair start(const struct pg_server *s)
{
    return pair_start(PROCESS_ARGS("-store", s->url, "-save-every", "200ms", "-login-wait", "2s",
                                   "-drain-timeout", "10s", PROBE_ADMIN),
                      PROCESS_ARGS("-rate", "0"));
}

static void end(struct pair *pair, struct pg_server *s)
{
    struct span log = process_log(pair->world);

    cr_assert_null(memmem(log.p, log.n, PG_SERVER_SECRET, strlen(PG_SERVER_SECRET)),
                   "the password is in the log");
    pair_end_one(pair->gateway);
    pair_end_one(pair->world);
    pg_server_end(s);
    process_check_all();
    TEST_NO_LEAKS();
}

/* A login that cannot be answered for now. */
static void must_be_13(const char *addr, const char *name)
{
    struct raw_client c;

    raw_connect(&c, addr);
    raw_must_fail(&c, raw_login(&c, name), PE_UNAVAILABLE);
    raw_close(&c);
}

Test(e2e_postgres, players_go_on_while_it_is_killed_and_nothing_is_lost_when_it_is_back)
{
    struct pg_server s;
    struct raw_client a, b;

    if (!pg_server_begin(&s))
        return;
    struct pair pair = start(&s);
    must_stand(shop_join(&a, pair.gateway->addr, "alpha"), 8, 0);
    must_stand(shop_join(&b, pair.gateway->addr, "beta"), 16, 0);
    shop_move(&a, 8.125, 0);
    raw_close(&b); /* its place is stored as it goes */
    probe_await_least(pair.world, SAVES, 2, PROCESS_PATIENCE_MS);

    pg_server_kill(&s);
    shop_move(&a, 8.25, 0.125);
    must_be_13(pair.gateway->addr, "beta");
    process_await_log(pair.world, "store connection lost", 1);
    probe_await_least(pair.world, "aegis_world_store_failing", 1, PROCESS_PATIENCE_MS);
    shop_move(&a, 8.375, 0.25);

    pg_server_start(&s);
    process_await_log(pair.world, "store connected again", 1);
    probe_await_most(pair.world, "aegis_world_store_failing", 0, PROCESS_PATIENCE_MS);
    must_stand(shop_join(&b, pair.gateway->addr, "beta"), 16, 0);
    raw_close(&b);
    process_signal(pair.world, SIGTERM);
    process_await_exit(pair.world, PROCESS_PATIENCE_MS, 0);
    raw_close(&a);
    process_restart(pair.world);
    pair_await_link(pair.gateway, 2);
    must_stand(shop_join(&a, pair.gateway->addr, "alpha"), 8.375, 0.25);
    raw_close(&a);
    end(&pair, &s);
}

Test(e2e_postgres, while_it_is_stopped_logins_wait_and_are_13_and_it_is_back_by_itself)
{
    struct pg_server s;
    struct raw_client a, b;

    if (!pg_server_begin(&s))
        return;
    struct pair pair = start(&s);
    shop_join(&a, pair.gateway->addr, "alpha");
    pg_server_signal(&s, SIGSTOP);
    raw_connect(&b, pair.gateway->addr);
    uint32_t seq = raw_login(&b, "beta");
    shop_move(&a, 8.125, 0);
    raw_must_be_quiet(&b, 300);
    pg_server_signal(&s, SIGCONT); /* soon enough: nobody notices */
    raw_must(&b, seq, CMD_LOGIN_RESP);
    raw_close(&b);

    pg_server_signal(&s, SIGSTOP);
    shop_move(&a, 8.25, 0);
    must_be_13(pair.gateway->addr, "gamma"); /* after -login-wait */
    process_await_log(pair.world, "PostgreSQL does not answer", 1);
    shop_move(&a, 8.375, 0.125);
    pg_server_signal(&s, SIGCONT);
    process_await_log(pair.world, "store connected again", 1);
    probe_await_most(pair.world, "aegis_world_store_failing", 0, PROCESS_PATIENCE_MS);
    probe_await_most(pair.world, "aegis_world_store_pending", 0, PROCESS_PATIENCE_MS);
    process_kill(pair.world);
    raw_close(&a);
    process_restart(pair.world);
    pair_await_link(pair.gateway, 2);
    must_stand(shop_join(&a, pair.gateway->addr, "alpha"), 8.375, 0.125);
    raw_close(&a);
    end(&pair, &s);
}

Test(e2e_postgres, a_second_world_on_one_database_does_not_start_and_says_why)
{
    static const char words[] = "another world has it: aegis-";
    struct pg_server s;
    struct raw_client a;

    if (!pg_server_begin(&s))
        return;
    struct pair pair = start(&s);
    shop_join(&a, pair.gateway->addr, "alpha");
    struct process *second = process_start(
        "aegis", PROCESS_ARGS("-role=world", "-listen", process_any_port(), "-store", s.url));
    process_await_exit(second, PROCESS_PATIENCE_MS, 1);
    struct span log = process_log(second);
    if (!memmem(log.p, log.n, words, sizeof(words) - 1) ||
        memmem(log.p, log.n, PG_SERVER_SECRET, strlen(PG_SERVER_SECRET)))
        process_fail("not the words: %.*s", (int)log.n, (const char *)log.p);
    shop_move(&a, 8.125, 0);
    raw_close(&a);
    end(&pair, &s);
}
