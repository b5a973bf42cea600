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
    uint32_t refused = 0;
    int err = store_postgres_ops.begin(db);

    if (err == 0)
        err = store_postgres_ops.save(db, &c);
    if (err == 0)
        err = store_postgres_ops.commit(db, &refused);
    if (err != 0)
        store_postgres_ops.rollback(db);
    return err == 0 && refused > 0 ? E_RANGE : err;
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
