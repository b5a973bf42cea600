/* tests/e2e/test_e2e_store.c: places that outlive processes, and disks that do not do as they
 * should. Case F01 with a store.
 * May touch: tests/e2e/shop, tests/e2e/probe. On trouble: the test fails.
 */
#include "tests/e2e/probe.h"
#include "tests/e2e/shop.h"
#include "tests/leak.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

TestSuite(e2e_store, .fini = process_end_all, .timeout = 120);

#define MANY 200

static void must_stand(struct shop_place at, double x, double y)
{
    if (at.x != x || at.y != y)
        process_fail("it stands at (%.17g, %.17g), not at (%g, %g)", at.x, at.y, x, y);
}

#define OPEN_SHOP(s, small)       \
    do {                          \
        if (!shop_open(s, small)) \
            return;               \
    } while (0)

Test(e2e_store, a_place_survives_a_restart_and_a_clean_end_leaves_one_file)
{
    struct shop s;
    struct raw_client a, b;
    char path[96];

    OPEN_SHOP(&s, false);
    struct pair pair = pair_start(PROCESS_ARGS("-store", s.store), NULL);
    must_stand(shop_join(&a, pair.gateway->addr, "alpha"), 8, 0);
    must_stand(shop_join(&b, pair.gateway->addr, "beta"), 16, 0);
    shop_move(&a, 8.125, 0.0625);
    shop_move(&b, 16, -0.2);
    process_signal(pair.world, SIGTERM);
    process_await_exit(pair.world, PROCESS_PATIENCE_MS, 0);
    snprintf(path, sizeof(path), "%s/world.db-wal", s.folder);
    cr_assert_neq(access(path, F_OK), 0, "the log was taken into the file");
    cr_assert_eq(shop_check(&s), 2);
    raw_close(&a);
    raw_close(&b);
    process_restart(pair.world);
    pair_await_link(pair.gateway, 2);
    must_stand(shop_join(&b, pair.gateway->addr, "beta"), 16, -0.2);
    must_stand(shop_join(&a, pair.gateway->addr, "alpha"), 8.125, 0.0625);
    raw_close(&a);
    raw_close(&b);
    pair_end(&pair);
    shop_close(&s);
    TEST_NO_LEAKS();
}

Test(e2e_store, a_login_right_after_a_lost_connection_gets_the_newest_place_however_slow_the_store)
{
    struct shop s;
    struct raw_client c;

    OPEN_SHOP(&s, false);
    struct pair pair = pair_start(
        PROCESS_ARGS("-store", s.store, "-store-delay", "150ms", "-save-every", "100ms"), NULL);
    struct shop_place at = shop_join(&c, pair.gateway->addr, "alpha");
    for (int i = 0; i < 8; i++) {
        for (int step = 0; step < 4; step++) {
            at.x += 0.0625;
            process_rest(process_deadline(1000), "time");
            shop_move(&c, at.x, at.y);
        }
        if (i % 2 == 0)
            raw_reset(&c);
        else
            raw_close(&c);
        must_stand(shop_join(&c, pair.gateway->addr, "alpha"), at.x, at.y);
    }
    raw_close(&c);
    pair_end(&pair);
    shop_close(&s);
    TEST_NO_LEAKS();
}

Test(e2e_store, f01_sigterm_with_many_players_a_slow_store_and_a_client_that_never_reads)
{
    static struct raw_client c[MANY];
    struct raw_client deaf;
    struct shop s;
    char name[16];

    OPEN_SHOP(&s, false);
    struct pair pair = pair_start(PROCESS_ARGS("-store", s.store, "-store-delay", "100ms",
                                               "-drain-timeout", "5s", "-spawn", "0,0,20"),
                                  PROCESS_ARGS("-rate", "0"));
    for (int i = 0; i < MANY; i++) { /* all at once: loads go together too */
        struct message m = {.cmd = CMD_LOGIN_REQ};
        snprintf(name, sizeof(name), "p%d", i);
        m.login_req.name = span_text(name);
        m.login_req.version = PROTO_VERSION;
        raw_connect(&c[i], pair.gateway->addr);
        raw_request(&c[i], &m);
        raw_nil(&c[i], CMD_ENTER_REQ);
    }
    static struct shop_place at[MANY];
    for (int i = 0; i < MANY; i++) {
        const struct message *m = raw_await(&c[i], CMD_ENTER_RESP);
        at[i] = (struct shop_place){m->enter_resp.x, m->enter_resp.y};
    }
    raw_connect_narrow(&deaf, pair.gateway->addr, 4096);
    raw_login(&deaf, "deaf");
    raw_nil(&deaf, CMD_ENTER_REQ);
    for (int i = 0; i < MANY; i++) {
        at[i].x += i % 2 ? 0.125 : -0.125;
        raw_move(&c[i], at[i].x, at[i].y);
    }
    for (int i = 0; i < MANY; i++)
        raw_await(&c[i], CMD_MOVE_RESP);
    struct mono start = clock_mono();
    process_signal(pair.world, SIGTERM);
    process_await_exit(pair.world, 5000, 0);
    cr_assert_lt(clock_since(clock_mono(), start), 5 * CLOCK_NS_PER_S);
    cr_assert_geq(shop_check(&s), MANY);
    for (int i = 0; i < MANY; i++)
        raw_close(&c[i]);
    raw_close(&deaf);
    process_restart(pair.world);
    pair_await_link(pair.gateway, 2);
    for (int i = 0; i < MANY; i += 20) {
        snprintf(name, sizeof(name), "p%d", i);
        must_stand(shop_join(&c[i], pair.gateway->addr, name), at[i].x, at[i].y);
        raw_close(&c[i]);
    }
    pair_end(&pair);
    shop_close(&s);
    TEST_NO_LEAKS();
}

Test(e2e_store, f01_a_store_that_is_too_slow_for_the_deadline_shows_in_the_exit_status)
{
    struct shop s;
    struct raw_client c;

    OPEN_SHOP(&s, false);
    struct pair pair = pair_start(
        PROCESS_ARGS("-store", s.store, "-store-delay", "1500ms", "-drain-timeout", "500ms"), NULL);
    shop_join(&c, pair.gateway->addr, "alpha");
    process_signal(pair.world, SIGTERM);
    process_await_exit(pair.world, 500 + PROCESS_PATIENCE_MS, 1);
    cr_assert_eq(process_logged(pair.world, "places not stored n=1"), 1u);
    raw_close(&c);
    pair_end(&pair);
    shop_close(&s);
    TEST_NO_LEAKS();
}

Test(e2e_store, a_full_disk_stops_nobody_is_told_and_is_made_up_for)
{
    struct shop s;
    struct raw_client c;

    OPEN_SHOP(&s, true);
    if (!s.small) {
        shop_close(&s);
        return;
    }
    struct pair pair =
        pair_start(PROCESS_ARGS("-store", s.store, "-save-every", "100ms", PROBE_ADMIN), NULL);
    struct shop_place at = shop_join(&c, pair.gateway->addr, "alpha");
    probe_await_least(pair.world, "aegis_world_store_groups_total", 1, PROCESS_PATIENCE_MS);
    cr_assert(strstr(probe_get(pair.world, "/readyz"), " 200 "));
    shop_fill(&s, 0);
    struct mono deadline = process_deadline(30000);
    while (probe_metric(pair.world, "aegis_world_store_failing") == 0) {
        at.x += 0.0625;
        shop_move(&c, at.x, at.y);
        process_rest(deadline, "a save that fails");
    }
    const char *ready = probe_get(pair.world, "/readyz");
    cr_assert(strstr(ready, " 503 "));
    cr_assert(strstr(ready, "places are not saved: "));
    at.x += 0.0625;
    shop_move(&c, at.x, at.y);
    shop_free(&s);
    probe_await_most(pair.world, "aegis_world_store_failing", 0, PROCESS_PATIENCE_MS);
    cr_assert(strstr(probe_get(pair.world, "/readyz"), " 200 "));
    cr_assert_eq(process_logged(pair.world, "store fails"), 1u, "once");
    cr_assert_eq(process_logged(pair.world, "store saves again"), 1u);
    process_kill(pair.world); /* nothing is left to chance at the end */
    raw_close(&c);
    process_restart(pair.world);
    pair_await_link(pair.gateway, 2);
    must_stand(shop_join(&c, pair.gateway->addr, "alpha"), at.x, at.y);
    raw_close(&c);
    pair_end(&pair);
    shop_close(&s);
    TEST_NO_LEAKS();
}

Test(e2e_store, f01_an_end_on_a_full_disk_comes_by_its_deadline_and_shows_in_the_exit_status)
{
    struct shop s;
    struct raw_client c;

    OPEN_SHOP(&s, true);
    if (!s.small) {
        shop_close(&s);
        return;
    }
    shop_fill(&s, 200); /* enough for a file with nobody in it */
    struct pair pair = pair_start(
        PROCESS_ARGS("-store", s.store, "-save-every", "0", "-drain-timeout", "1s"), NULL);
    shop_join(&c, pair.gateway->addr, "alpha");
    shop_free(&s);
    shop_fill(&s, 0);
    process_signal(pair.world, SIGTERM);
    process_await_exit(pair.world, 1000 + PROCESS_PATIENCE_MS, 1);
    cr_assert_eq(process_logged(pair.world, "places not stored n=1"), 1u);
    shop_free(&s);
    raw_close(&c);
    process_restart(pair.world);
    pair_await_link(pair.gateway, 2);
    must_stand(shop_join(&c, pair.gateway->addr, "alpha"), 8, 0);
    raw_close(&c);
    pair_end(&pair);
    shop_close(&s);
    TEST_NO_LEAKS();
}

Test(e2e_store, a_bad_store_ends_the_start_with_one_line_that_names_it)
{
    static const struct {
        const char *store, *words;
        int status;
    } rows[] = {
#ifdef AEGIS_PART_LIBPQ
        {"postgres://127.0.0.1:1/aegis", "-store: postgres://127.0.0.1:1/aegis: connection to", 1},
#else
        {"postgres://127.0.0.1:1/aegis", "-store: \"postgres://127.0.0.1:1/aegis\": this program",
         2},
#endif
        {"sqlite:", "-store: \"sqlite:\": lacks the name of a file", 2},
        {"redis", "-store: \"redis\": must be none, sqlite:FILE or postgres://", 2},
        {"sqlite:/no/such/folder/w.db", "-store: sqlite:/no/such/folder/w.db: No such file", 1},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct shop s;
        if (rows[i].status == 1)
            OPEN_SHOP(&s, false);
        struct process *p =
            process_start("aegis", PROCESS_ARGS("-role=world", "-listen", process_any_port(),
                                                "-store", rows[i].store));
        process_await_exit(p, PROCESS_PATIENCE_MS, rows[i].status);
        cr_assert_eq(process_logged(p, rows[i].words), 1u, "%.*s", (int)process_log(p).n,
                     (const char *)process_log(p).p);
        if (rows[i].status == 1)
            shop_close(&s);
    }
    process_check_all();
    TEST_NO_LEAKS();
}

Test(e2e_store, a_check_of_what_is_no_store_ends_with_status_1_and_one_line)
{
    struct shop s;
    char path[96];

    OPEN_SHOP(&s, false);
    snprintf(path, sizeof(path), "%s/world.db", s.folder);
    FILE *f = fopen(path, "w");
    cr_assert_not_null(f);
    fputs("these are not the bytes of a database, but those of a letter\n", f);
    fclose(f);
    struct process *p =
        process_start("aegis", PROCESS_ARGS("-role=world", "-store", s.store, "-store-check"));
    process_await_exit(p, PROCESS_PATIENCE_MS, 1);
    struct span log = process_log(p);
    cr_assert_eq(process_logged(p, "-store-check: sqlite:"), 1u);
    cr_assert_eq(memchr(log.p, '\n', log.n), log.p + log.n - 1);
    process_check_all();
    shop_close(&s);
    TEST_NO_LEAKS();
}

Test(e2e_store, login_rate_paces_a_stampede_and_loses_nobody)
{
    static struct raw_client c[60];
    char name[16];
    struct pair pair = pair_start(PROCESS_ARGS("-login-rate", "40", PROBE_ADMIN), NULL);

    for (size_t i = 0; i < ARRAY_LEN(c); i++) {
        struct message m = {.cmd = CMD_LOGIN_REQ};
        snprintf(name, sizeof(name), "p%zu", i);
        m.login_req.name = span_text(name);
        m.login_req.version = PROTO_VERSION;
        raw_connect(&c[i], pair.gateway->addr);
        raw_request(&c[i], &m);
        raw_nil(&c[i], CMD_ENTER_REQ);
    }
    for (size_t i = 0; i < ARRAY_LEN(c); i++)
        raw_await(&c[i], CMD_ENTER_RESP);
    cr_assert_geq(probe_metric(pair.world, "aegis_world_logins_waited_total"), 20u);
    cr_assert_eq(probe_metric(pair.world, "aegis_world_logins_total"), ARRAY_LEN(c));
    for (size_t i = 0; i < ARRAY_LEN(c); i++)
        raw_close(&c[i]);
    pair_end(&pair);
    TEST_NO_LEAKS();
}
