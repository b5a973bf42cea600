/* tests/world/test_store_postgres.c: -store postgres://…, with a PostgreSQL of its own: the set of
 * all databases, who may have it, and connections that end. May touch: tests/world/store_set,
 * tests/pg_server, world/edge/store_postgres, world/edge/pg_link. On trouble: the test at hand
 * fails.
 */
#include "tests/world/store_set.h"

#ifdef AEGIS_PART_LIBPQ

#include "common/err.h"
#include "common/log.h"
#include "tests/leak.h"
#include "tests/pg_server.h"
#include "world/edge/pg_link.h"
#include "world/edge/storage.h"
#include "world/edge/store_postgres.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TestSuite(store_postgres, .fini = process_end_all, .timeout = 120);

static struct pg_server server;

static void *must_open_as(enum store_postgres_way way)
{
    char why[256] = "";
    void *db;

    cr_assert_eq(store_postgres_open(server.url, way, &db, why, sizeof(why)), 0, "%s", why);
    return db;
}

static void *must_open(void *arg)
{
    (void)arg;
    return must_open_as(STORE_POSTGRES_ALONE);
}

static const struct store_set set = {&store_postgres_ops, must_open, NULL};

static void must_refuse(const char *url, enum store_postgres_way way, const char *words)
{
    char why[256] = "";
    void *db;

    cr_assert_neq(store_postgres_open(url, way, &db, why, sizeof(why)), 0, "it opened: %s", words);
    cr_assert_null(db);
    cr_assert(strstr(why, words), "\"%s\" lacks \"%s\"", why, words);
    cr_assert_null(strstr(why, PG_SERVER_SECRET), "%s", why);
    cr_assert_null(strchr(why, '\n'));
}

/* By hand, as an operator with psql; the first column of the first row. */
static const char *by_hand(const char *sql)
{
    static char text[256];
    struct pg_link l;
    PGresult *r;

    cr_assert_eq(pg_link_init(&l, server.url), 0);
    cr_assert_eq(pg_link_open(&l), 0, "%s", l.why);
    cr_assert_eq(pg_link_rows(&l, sql, &r), 0, "%s: %s", sql, l.why);
    snprintf(text, sizeof(text), "%s", PQntuples(r) > 0 ? PQgetvalue(r, 0, 0) : "");
    PQclear(r);
    pg_link_fini(&l);
    return text;
}

static void afresh(void)
{
    by_hand("DROP TABLE IF EXISTS aegis_character, aegis_store");
}

/* Everybody is cut off, but who asks. */
static void cut_all(void)
{
    by_hand("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE pid <>"
            " pg_backend_pid() AND application_name LIKE 'aegis-%'");
}

static int store_one(void *db, const char *name, double x)
{
    struct store_character c = store_character_of(name, x);
    struct store_refused refused;
    int err = store_postgres_ops.begin(db);

    if (err == 0)
        err = store_postgres_ops.save(db, &c);
    if (err == 0)
        err = store_postgres_ops.commit(db, &refused);
    if (err != 0)
        store_postgres_ops.rollback(db);
    return err == 0 && refused.count > 0 ? E_RANGE : err;
}

/* Until it is done; the pause between two tries passes. */
static void must_store_soon(void *db, const char *name, double x)
{
    struct mono until = process_deadline(PROCESS_PATIENCE_MS);

    while (store_one(db, name, x) != 0)
        process_rest(until, "it stores again");
}

/* It stores nothing, and in the end for this reason. */
static void must_fail_with(void *db, const char *words)
{
    struct mono until = process_deadline(PROCESS_PATIENCE_MS);
    char why[STORE_WHY_MAX] = "";

    while (!strstr(why, words)) {
        cr_assert_eq(store_one(db, "alpha", 4), E_IO);
        store_postgres_ops.trouble(db, why);
        process_rest(until, words);
    }
}

#define BEGIN()                          \
    log_init("test", LOG_OFF, LOG_TEXT); \
    if (!pg_server_begin(&server))       \
    return

#define END()               \
    pg_server_end(&server); \
    TEST_NO_LEAKS()

Test(store_postgres, the_set)
{
    BEGIN();
    store_set_keeps(&set);
    store_set_last_wins(&set);
    afresh();
    store_set_load_behind(&set);
    afresh();
    store_set_many(&set);
    store_set_names(&set);
    afresh();
    store_set_fence(&set);
    afresh();
    store_set_stored(&set);
    END();
}

Test(store_postgres, one_world_has_it_at_a_time)
{
    BEGIN();
    void *a = must_open(NULL), *b;
    must_refuse(server.url, STORE_POSTGRES_ALONE, "another world has it: aegis-");
    must_refuse(server.url, STORE_POSTGRES_SHARED, "another world has it: aegis-");
    cr_assert_eq(store_one(a, "alpha", 1), 0, "the first one is not harmed");
    store_postgres_ops.close(a);
    a = must_open_as(STORE_POSTGRES_SHARED);
    b = must_open_as(STORE_POSTGRES_SHARED);
    must_refuse(server.url, STORE_POSTGRES_ALONE, "another world has it: aegis-");
    cr_assert_eq(store_one(a, "alpha", 2), 0);
    cr_assert_eq(store_one(b, "beta", 2), 0);
    store_postgres_ops.close(a);
    store_postgres_ops.close(b);
    store_postgres_ops.close(must_open(NULL));
    END();
}

Test(store_postgres, a_lost_connection_is_made_again_unless_another_world_was_there)
{
    char why[STORE_WHY_MAX];

    BEGIN();
    void *a = must_open(NULL), *b;
    cr_assert_eq(store_one(a, "alpha", 1), 0);
    cut_all();
    cr_assert_eq(store_one(a, "alpha", 2), E_IO);
    must_store_soon(a, "alpha", 3);
    cr_assert_str_eq(by_hand("SELECT x FROM aegis_character"), "3");

    cut_all();
    b = must_open(NULL);
    must_fail_with(a, "another world has it: aegis-");
    cr_assert_eq(store_postgres_ops.trouble(a, why), STORE_LOCKED, "%s", why);
    cr_assert_eq(store_one(b, "alpha", 5), 0);
    store_postgres_ops.close(b);
    must_fail_with(a, "another world has had it since"); /* what waits there is older */
    cr_assert_str_eq(by_hand("SELECT x FROM aegis_character"), "5");
    store_postgres_ops.close(a);
    END();
}

static void begin_shared(struct store_run *r)
{
    store_run_begin(r, &store_postgres_ops, must_open_as(STORE_POSTGRES_SHARED), 0, 65536);
}

static void must_stand(struct store_run *r, const char *name, double x)
{
    const struct store_answer *a = store_run_load(r, name);

    cr_assert_eq(a->result, STORE_FOUND, "%s", name);
    cr_assert_eq(a->character.x, x, "%s stands at %g", name, a->character.x);
}

/* Saves, and is told that this is over, whatever came of it. Counts what was refused. */
static uint64_t save_through(struct store_run *r, const char *name, double x,
                             struct store_fence fence)
{
    struct edge_metrics before = {0}, after = {0};

    store_worker_gauges(r->worker, &before);
    store_run_save_as(r, name, x, fence);
    cr_assert_eq(store_run_ask_stored(r, r->n_told, name), 0);
    store_run_await_told(r, r->n_told + 1);
    store_run_settle(r);
    store_worker_gauges(r->worker, &after);
    return after.store_refused - before.store_refused;
}

Test(store_postgres, of_two_worlds_side_by_side_the_one_of_the_past_overwrites_nothing)
{
    struct store_run a, b;

    BEGIN();
    begin_shared(&a);
    begin_shared(&b);
    cr_assert_eq(save_through(&a, "alpha", 1, (struct store_fence){1, 10, 0}), 0);
    must_stand(&b, "alpha", 1);
    cr_assert_eq(save_through(&b, "alpha", 2, (struct store_fence){1, 11, 0}), 0);
    must_stand(&a, "alpha", 2);
    cr_assert_eq(save_through(&a, "alpha", 3, (struct store_fence){1, 10, 9}), 1, "it slept");
    must_stand(&a, "alpha", 2);
    cr_assert_eq(save_through(&a, "alpha", 4, (struct store_fence){2, 1, 0}), 0, "a wiped NATS");
    cr_assert_eq(save_through(&b, "alpha", 5, (struct store_fence){1, 99, 99}), 1);
    must_stand(&b, "alpha", 4);
    cr_assert_str_eq(by_hand("SELECT generation || ' ' || epoch || ' ' || count || ' ' || x"
                             " FROM aegis_character"),
                     "2 1 0 4");
    store_run_end(&a);
    cr_assert_eq(save_through(&b, "alpha", 6, (struct store_fence){2, 2, 0}), 0, "goes on alone");
    store_run_end(&b);
    END();
}

/* Both save the same names, in groups, in opposite orders, again and again. */
Test(store_postgres, two_worlds_that_save_the_same_names_do_not_lock_each_other_out)
{
    struct edge_metrics m = {0};
    struct store_run r[2];
    char name[16];

    BEGIN();
    begin_shared(&r[0]);
    begin_shared(&r[1]);
    for (uint32_t round = 0; round < 20; round++) {
        for (uint32_t i = 0; i < 1000; i++) {
            for (uint32_t k = 0; k < 2; k++) {
                snprintf(name, sizeof(name), "n%u", k == 0 ? i : 999 - i);
                store_run_save_as(&r[k], name, 10 * round + k, (struct store_fence){1, round, k});
            }
        }
        store_run_settle(&r[0]);
        store_run_settle(&r[1]);
    }
    for (uint32_t k = 0; k < 2; k++) {
        store_worker_gauges(r[k].worker, &m);
        cr_assert_eq(m.store_failed_locked + m.store_failed_io, 0);
        store_run_end(&r[k]);
    }
    cr_assert_str_eq(by_hand("SELECT count(*) FROM aegis_character WHERE x = 191"), "1000");
    END();
}

Test(store_postgres, what_another_locks_holds_a_save_up_for_the_statement_timeout_and_a_load_not)
{
    static uint8_t data[STORE_DATA_MAX];
    struct store_character c;
    char why[STORE_WHY_MAX] = "";
    struct pg_link other;
    size_t n = 0;

    BEGIN();
    void *db = must_open_as(STORE_POSTGRES_SHARED);
    cr_assert_eq(store_one(db, "alpha", 1), 0);
    cr_assert_eq(pg_link_init(&other, server.url), 0);
    cr_assert_eq(pg_link_open(&other), 0);
    cr_assert_eq(pg_link_exec(&other, "BEGIN; UPDATE aegis_character SET x = 7"), 0);
    cr_assert_eq(store_postgres_ops.load(db, span_text("alpha"), &c, data, &n), 0);
    cr_assert_eq(c.x, 1, "the newest that is committed");
    cr_assert_eq(store_one(db, "alpha", 2), E_IO);
    store_postgres_ops.trouble(db, why);
    cr_assert(strstr(why, "statement timeout"), "%s", why);
    cr_assert_eq(store_one(db, "beta", 2), 0, "over the same connection, at once");
    cr_assert_eq(pg_link_exec(&other, "COMMIT; BEGIN; LOCK TABLE aegis_character"), 0);
    cr_assert_eq(store_postgres_ops.load(db, span_text("alpha"), &c, data, &n), E_IO);
    store_postgres_ops.trouble(db, why);
    cr_assert(strstr(why, "statement timeout"), "%s", why);
    pg_link_fini(&other);
    cr_assert_eq(store_postgres_ops.load(db, span_text("alpha"), &c, data, &n), 0);
    cr_assert_eq(c.x, 7);
    store_postgres_ops.close(db);
    END();
}

Test(store_postgres, what_waits_while_the_server_is_dead_is_stored_and_told_when_it_is_back)
{
    struct mono until;
    struct edge_metrics m = {0};
    struct store_run r;
    char name[16];

    BEGIN();
    begin_shared(&r);
    cr_assert_eq(save_through(&r, "alpha", 1, (struct store_fence){1, 1, 0}), 0);
    pg_server_kill(&server);
    for (uint32_t i = 0; i < 200; i++) {
        snprintf(name, sizeof(name), "n%u", i % 100);
        store_run_save_as(&r, name, i, (struct store_fence){1, 2, 0});
        cr_assert_eq(store_run_ask_stored(&r, 1 + i, name), 0);
    }
    until = process_deadline(PROCESS_PATIENCE_MS);
    while (m.store_failed_io < 2) {
        loop_turn(r.loop, 10 * CLOCK_NS_PER_MS);
        store_worker_gauges(r.worker, &m);
        process_rest(until, "it fails, and is tried again");
    }
    cr_assert_eq(r.n_told, 1);
    cr_assert_eq(store_run_load(&r, "alpha")->result, STORE_FAILED, "nothing is assumed");
    pg_server_start(&server);
    store_run_await_told(&r, 201);
    for (uint32_t i = 0; i < 200; i++)
        cr_assert_eq(r.told[1 + i], 1);
    cr_assert_str_eq(by_hand("SELECT count(*) FROM aegis_character WHERE x >= 100"), "100");
    must_stand(&r, "alpha", 1);
    store_run_end(&r);
    END();
}

Test(store_postgres, what_is_not_ours_or_cannot_be_reached_is_refused_in_words_without_the_password)
{
    static uint8_t data[STORE_DATA_MAX];
    struct store_character c;
    char other[200], text[4096] = "", why[256] = "";
    size_t n = 0;

    BEGIN();
    store_postgres_ops.close(must_open(NULL));
    by_hand("INSERT INTO aegis_character (name, scene, x, y, dir, seen, generation, data) VALUES"
            " ('alpha', 'open', 1, 2, 0.5, 5, 9, '\\x00ff10')");
    void *db = must_open(NULL);
    cr_assert_str_eq(by_hand("SELECT generation FROM aegis_character"), "0",
                     "who is alone begins anew");
    cr_assert_eq(store_one(db, "alpha", 7), 0);
    cr_assert_eq(store_postgres_ops.load(db, span_text("alpha"), &c, data, &n), 0);
    cr_assert_eq(c.x, 7);
    cr_assert_eq(n, 3, "a save leaves the game's data as it is");
    cr_assert_arr_eq(data, ((uint8_t[]){0, 0xff, 0x10}), 3);

    FILE *to = fmemopen(text, sizeof(text), "w");
    cr_assert_eq(storage_verify(server.url, to, why, sizeof(why)), 0, "%s", why);
    fclose(to);
    cr_assert(
        strstr(text, "schema      1\ncharacters  1\ndata        3 bytes\nscene       1  open\n"),
        "%s", text);
    store_postgres_ops.close(db);

    by_hand("UPDATE aegis_store SET version = 9");
    must_refuse(server.url, STORE_POSTGRES_ALONE, "another version");
    by_hand(
        "CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'");
    snprintf(other, sizeof(other), "%.*s/latin", (int)(strrchr(server.url, '/') - server.url),
             server.url);
    must_refuse(other, STORE_POSTGRES_ALONE, "not in UTF8");
    strcpy(strrchr(other, '/'), "/none");
    must_refuse(other, STORE_POSTGRES_ALONE, "\'none\' does not exist");
    must_refuse("postgres://u:" PG_SERVER_SECRET "@127.0.0.1:1/x", STORE_POSTGRES_ALONE,
                "Connection refused");
    END();
}

Test(store_postgres, a_url_is_shown_without_its_secrets)
{
    static const char *const urls[][2] = {
        {"postgres://u:secret@host:5432/db", "postgres://host:5432/db"},
        {"postgresql://secret@host", "postgresql://host"},
        {"postgres://u:s@secret@host/db?sslmode=require", "postgres://host/db"},
        {"postgres://host/db?password=secret", "postgres://host/db"},
        {"postgres://u:secret/@host/db", "postgres://host/db"},
        {"misspelt://u:secret@host/db", "misspelt://host/db"},
        {"postgres://", "postgres://"},
        {"sqlite:/a@b", "sqlite:/a@b"},
    };
    char shown[STORAGE_SHOWN], why[256];

    for (size_t i = 0; i < ARRAY_LEN(urls); i++) {
        storage_show(urls[i][0], shown);
        cr_expect_str_eq(shown, urls[i][1]);
    }
    cr_expect_eq(storage_check_form("postgres://u:secret@host:5432/db", why, sizeof(why)), 0);
    cr_expect_eq(storage_check_form("postgresql://host/db?sslmode=require", why, sizeof(why)), 0);
    cr_expect_neq(storage_check_form("postgres://u:secret/@host/db", why, sizeof(why)), 0,
                  "secret would be the port");
    cr_expect_neq(storage_check_form("postgres://u:12/secret@host/db", why, sizeof(why)), 0);
    cr_expect_neq(storage_check_form("postgres://host/db?secret=1", why, sizeof(why)), 0);
    cr_expect_null(strstr(why, "secret"), "%s", why);
}

#endif
