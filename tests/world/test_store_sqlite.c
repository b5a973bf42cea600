/* tests/world/test_store_sqlite.c: the file of -store sqlite:FILE, whole, old, new, broken, locked,
 * full.
 * May touch: tests/world/store_set, world/edge/store_sqlite, world/edge/storage, sqlite3, files in
 * a folder of its own. On trouble: the test at hand fails.
 */
#include "tests/world/store_set.h"

#ifdef AEGIS_PART_SQLITE3

#include "common/err.h"
#include "tests/leak.h"
#include "world/edge/storage.h"
#include "world/edge/store_sqlite.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "/tmp/aegis-store-XXXXXX";
static char file[64];

static void make_folder(void)
{
    cr_assert_not_null(mkdtemp(folder));
    snprintf(file, sizeof(file), "%s/world.db", folder);
}

static void drop_folder(void)
{
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d));)
        unlinkat(dirfd(d), e->d_name, 0);
    if (d)
        closedir(d);
    rmdir(folder);
}

TestSuite(store_sqlite, .init = make_folder, .fini = drop_folder, .timeout = 60);

static void *must_open(void *arg)
{
    char why[256] = "";
    void *db;
    (void)arg;
    cr_assert_eq(store_sqlite_open(file, &db, why, sizeof(why)), 0, "%s", why);
    return db;
}

static const struct store_set set = {&store_sqlite_ops, must_open, NULL};

/* By hand, as an operator with the sqlite3 program. */
static void by_hand(const char *sql)
{
    sqlite3 *db;
    char *why = NULL;
    cr_assert_eq(sqlite3_open(file, &db), SQLITE_OK);
    cr_assert_eq(sqlite3_exec(db, sql, NULL, NULL, &why), SQLITE_OK, "%s: %s", sql, why);
    sqlite3_close(db);
}

static void must_refuse(const char *words)
{
    char why[256] = "";
    void *db;
    cr_assert_neq(store_sqlite_open(file, &db, why, sizeof(why)), 0, "it opened: %s", words);
    cr_assert_null(db);
    cr_assert(strstr(why, words), "\"%s\" lacks \"%s\"", why, words);
    cr_assert_not(strchr(why, '\n'));
}

/* Runs -store-check; 0 or its error. */
static int check(char *text, size_t cap, char *why, size_t why_cap)
{
    FILE *to = fmemopen(text, cap, "w");
    char store[96];
    snprintf(store, sizeof(store), "sqlite:%s", file);
    int err = storage_verify(store, to, why, why_cap);
    fclose(to);
    return err;
}

static void must_be_sound(const char *words)
{
    char text[4096] = "", why[256] = "";
    cr_assert_eq(check(text, sizeof(text), why, sizeof(why)), 0, "%s", why);
    cr_assert(strstr(text, words), "\"%s\" lacks \"%s\"", text, words);
}

static void must_be_unsound(const char *words)
{
    char text[4096] = "", why[256] = "";
    cr_assert_neq(check(text, sizeof(text), why, sizeof(why)), 0, "%s", text);
    cr_assert(strstr(why, words), "\"%s\" lacks \"%s\"", why, words);
}

static double stored_x(void *db, const char *name)
{
    static uint8_t data[STORE_DATA_MAX];
    struct store_character c;
    size_t n;
    int err = store_sqlite_ops.load(db, span_text(name), &c, data, &n);
    return err == 0 ? c.x : err == E_MISSING ? -1 : -2;
}

static int store_one(void *db, const char *name, double x)
{
    struct store_character c = store_character_of(name, x);
    struct store_refused refused;
    int err = store_sqlite_ops.begin(db);
    if (err == 0)
        err = store_sqlite_ops.save(db, &c);
    if (err == 0)
        err = store_sqlite_ops.commit(db, &refused);
    return err;
}

/* --- as any database ------------------------------------------------------------------------- */

Test(store_sqlite, keeps)
{
    store_set_keeps(&set);
    TEST_NO_LEAKS();
}

Test(store_sqlite, last_wins)
{
    store_set_last_wins(&set);
    TEST_NO_LEAKS();
}

Test(store_sqlite, load_behind)
{
    store_set_load_behind(&set);
    TEST_NO_LEAKS();
}

Test(store_sqlite, many)
{
    store_set_many(&set);
    TEST_NO_LEAKS();
}

Test(store_sqlite, names)
{
    store_set_names(&set);
    TEST_NO_LEAKS();
}

Test(store_sqlite, fence)
{
    store_set_fence(&set);
    TEST_NO_LEAKS();
}

Test(store_sqlite, stored)
{
    store_set_stored(&set);
    TEST_NO_LEAKS();
}

/* --- the file -------------------------------------------------------------------------------- */

Test(store_sqlite, a_new_file_is_ours_and_says_what_it_holds)
{
    void *db = must_open(NULL);
    cr_assert_eq(store_one(db, "alpha", 1), 0);
    must_be_sound("characters  1\n"); /* while the store has it open */
    store_sqlite_ops.close(db);
    must_be_sound("schema      3\n");
    must_be_sound("scene       1  open\n");
    must_be_sound("newest      1970-01-01 00:00:00 UTC  alpha\n");
    struct stat st;
    cr_assert_eq(stat(file, &st), 0);
    cr_assert_eq(st.st_mode & 0777, 0600, "nobody else's business");
    TEST_NO_LEAKS();
}

Test(store_sqlite, a_save_leaves_the_games_data_as_it_is)
{
    static uint8_t data[STORE_DATA_MAX];
    struct store_character c;
    size_t n = 0;
    store_sqlite_ops.close(must_open(NULL));
    by_hand("INSERT INTO character VALUES ('alpha', 'open', 1, 2, 0, 5, x'00ff10', 0, 0, 0)");
    void *db = must_open(NULL);
    cr_assert_eq(store_one(db, "alpha", 7), 0);
    cr_assert_eq(store_sqlite_ops.load(db, span_text("alpha"), &c, data, &n), 0);
    cr_assert_eq(c.x, 7);
    cr_assert_eq(n, 3);
    cr_assert_arr_eq(data, ((uint8_t[]){0, 0xff, 0x10}), 3);
    store_sqlite_ops.close(db);
    TEST_NO_LEAKS();
}

Test(store_sqlite, data_has_its_bound)
{
    sqlite3 *db;
    store_sqlite_ops.close(must_open(NULL));
    by_hand("INSERT INTO character VALUES ('a', 'open', 1, 2, 0, 5, zeroblob(65536), 0, 0, 0)");
    cr_assert_eq(sqlite3_open(file, &db), SQLITE_OK);
    cr_assert_eq(sqlite3_exec(db, "UPDATE character SET data = zeroblob(65537)", 0, 0, 0),
                 SQLITE_CONSTRAINT);
    sqlite3_close(db);
    TEST_NO_LEAKS();
}

/* As version 1 made it. */
static const char version_1[] =
    "PRAGMA application_id = 1095059273; PRAGMA user_version = 1;"
    "CREATE TABLE character (name TEXT NOT NULL PRIMARY KEY, scene TEXT NOT NULL, x REAL NOT NULL,"
    " y REAL NOT NULL, dir REAL NOT NULL, seen INTEGER NOT NULL) WITHOUT ROWID;"
    "INSERT INTO character VALUES ('old', 'open', 1.5, 2.5, 0.25, 1000000000),"
    " ('older', 'cave', -3, 4, 0, 900000000)";

Test(store_sqlite, a_file_of_version_1_is_brought_up_to_date_and_keeps_everybody)
{
    by_hand(version_1);
    must_be_sound("schema      1  (the next start brings it up to date)\n");
    must_be_sound("oldest      1998-07-09 16:00:00 UTC  older\n");
    void *db = must_open(NULL);
    cr_assert_eq(stored_x(db, "old"), 1.5);
    cr_assert_eq(stored_x(db, "older"), -3);
    cr_assert_eq(store_one(db, "old", 9), 0);
    store_sqlite_ops.close(db);
    must_be_sound("schema      3\n");
    must_be_sound("data        0 bytes\n");
    TEST_NO_LEAKS();
}

Test(store_sqlite, a_migration_that_fails_leaves_the_file_as_it_was)
{
    by_hand(version_1);
    by_hand("ALTER TABLE character ADD COLUMN data TEXT"); /* in the way */
    must_refuse("duplicate column");
    must_be_sound("schema      1");
    TEST_NO_LEAKS();
}

Test(store_sqlite, a_newer_version_and_a_strangers_file_are_refused_and_left_alone)
{
    by_hand(version_1);
    by_hand("PRAGMA user_version = 4");
    must_refuse("made by a newer Aegis (schema 4, this one knows 3)");
    must_be_unsound("newer");
    unlink(file);
    by_hand("CREATE TABLE notes (text)");
    must_refuse("not a store of Aegis");
    by_hand("INSERT INTO notes VALUES ('still here')");
    TEST_NO_LEAKS();
}

static void write_file(const void *bytes, size_t n, off_t at, bool cut)
{
    int fd = open(file, O_WRONLY | O_CREAT, 0600);
    cr_assert_geq(fd, 0);
    cr_assert_eq(pwrite(fd, bytes, n, at), (ssize_t)n);
    if (cut)
        cr_assert_eq(ftruncate(fd, at + (off_t)n), 0);
    close(fd);
}

Test(store_sqlite, no_database_at_all_is_refused)
{
    write_file("these are not the bytes of a database, but of a letter", 54, 0, true);
    must_refuse("not a database");
    must_be_unsound("not a database");
    TEST_NO_LEAKS();
}

static void fill(int n)
{
    struct store_run r;
    char name[16];
    store_run_begin(&r, &store_sqlite_ops, must_open(NULL), 0, 65536);
    for (int i = 0; i < n; i++) {
        snprintf(name, sizeof(name), "n%d", i);
        store_run_save(&r, name, i);
    }
    store_run_settle(&r);
    store_run_end(&r);
}

Test(store_sqlite, a_file_cut_short_is_refused)
{
    fill(2000);
    cr_assert_eq(truncate(file, 8192 + 100), 0);
    must_refuse("malformed");
    must_be_unsound("malformed");
    TEST_NO_LEAKS();
}

Test(store_sqlite, damage_inside_is_found_by_the_check_and_no_place_is_made_up)
{
    static uint8_t junk[4096];
    fill(2000);
    memset(junk, 0x5a, sizeof(junk));
    for (int page = 3; page < 20; page++)
        write_file(junk, sizeof(junk), page * 4096, false);
    must_be_unsound("");
    void *db = must_open(NULL); /* the schema is whole */
    int failed = 0;
    for (int i = 0; i < 2000; i += 50) {
        char name[16];
        snprintf(name, sizeof(name), "n%d", i);
        double x = stored_x(db, name);
        failed += x == -2;
        cr_assert(x == i || x == -2, "%s stands at %g", name, x);
    }
    cr_assert_gt(failed, 0);
    store_sqlite_ops.close(db);
    TEST_NO_LEAKS();
}

/* --- others, and the disk -------------------------------------------------------------------- */

Test(store_sqlite, two_worlds_cannot_have_one_file)
{
    void *db = must_open(NULL);
    must_refuse("another world has it");
    store_sqlite_ops.close(db);
    store_sqlite_ops.close(must_open(NULL));
    TEST_NO_LEAKS();
}

Test(store_sqlite, a_lock_of_another_process_is_waited_out)
{
    struct store_run r;
    struct edge_metrics m = {0};
    int go[2];
    char byte;
    store_sqlite_ops.close(must_open(NULL));
    cr_assert_eq(pipe(go), 0);
    pid_t pid = fork();
    if (pid == 0) { /* writes something and does not end it */
        sqlite3 *db;
        sqlite3_open(file, &db);
        int rc = sqlite3_exec(db, "BEGIN IMMEDIATE; DELETE FROM character", 0, 0, 0);
        if (rc != SQLITE_OK || write(go[1], "x", 1) != 1)
            _exit(1);
        pause();
        _exit(0);
    }
    cr_assert_eq(read(go[0], &byte, 1), 1);
    store_run_begin(&r, &store_sqlite_ops, must_open(NULL), 0, 65536);
    store_run_save(&r, "alpha", 1);
    do {
        cr_assert_eq(store_run_load(&r, "alpha")->character.x, 1, "loads go on");
        r.n = 0;
        store_worker_gauges(r.worker, &m);
    } while (m.store_failed_locked == 0);
    cr_assert_eq(m.store_failing, 1);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    store_run_settle(&r);
    store_run_end(&r);
    void *db = must_open(NULL);
    cr_assert_eq(stored_x(db, "alpha"), 1);
    store_sqlite_ops.close(db);
    TEST_NO_LEAKS();
}

/* A file may grow so far and no farther: to SQLite that is a disk that is full. */
static void limit_files(rlim_t bytes)
{
    struct rlimit limit;
    cr_assert_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes;
    signal(SIGXFSZ, SIG_IGN);
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

Test(store_sqlite, a_disk_that_is_full_keeps_what_it_has_and_takes_the_rest_when_there_is_room)
{
    struct store_run r;
    struct edge_metrics m = {0};
    char name[48];
    fill(100);
    limit_files(200 * 1024);
    store_run_begin(&r, &store_sqlite_ops, must_open(NULL), 0, 65536);
    store_worker_hurry(r.worker);
    for (int i = 0; i < 8000; i++) {
        snprintf(name, sizeof(name), "a long name for no %d", i);
        store_run_save(&r, name, i);
    }
    do {
        loop_turn(r.loop, 10 * CLOCK_NS_PER_MS);
        store_worker_gauges(r.worker, &m);
    } while (m.store_failing == 0);
    cr_assert_gt(m.store_failed_full + m.store_failed_io, 0);
    cr_assert_eq(store_run_load(&r, "n7")->character.x, 7);
    cr_assert_eq(store_run_load(&r, "a long name for no 7999")->character.x, 7999);
    limit_files(RLIM_INFINITY);
    store_run_settle(&r);
    store_run_end(&r);
    must_be_sound("characters  8100\n");
    TEST_NO_LEAKS();
}

Test(store_sqlite, a_file_that_was_removed_or_replaced_takes_no_save_in_silence)
{
    char why[STORE_WHY_MAX], aside[80];
    void *db = must_open(NULL);
    cr_assert_eq(store_one(db, "alpha", 1), 0);
    snprintf(aside, sizeof(aside), "%s.aside", file);
    cr_assert_eq(rename(file, aside), 0);
    cr_assert_eq(store_one(db, "alpha", 2), E_IO);
    cr_assert_eq(store_sqlite_ops.trouble(db, why), STORE_IO);
    cr_assert_str_eq(why, "the file was removed or replaced");
    write_file("another", 7, 0, true);
    cr_assert_eq(store_one(db, "alpha", 3), E_IO);
    cr_assert_eq(rename(aside, file), 0);
    cr_assert_eq(store_one(db, "alpha", 4), 0, "it is back");
    store_sqlite_ops.close(db);
    TEST_NO_LEAKS();
}

Test(store_sqlite, a_folder_that_cannot_be_written_is_refused_at_the_start)
{
    cr_assert_eq(chmod(folder, 0500), 0);
    if (geteuid() == 0 && (setegid(65534) != 0 || seteuid(65534) != 0))
        cr_skip_test("cannot be another user");
    must_refuse("ermission denied");
    if (getuid() == 0)
        cr_assert_eq(seteuid(0), 0);
    chmod(folder, 0700);
    TEST_NO_LEAKS();
}

/* Killed at any moment: whatever was committed is there, and the file opens. */
Test(store_sqlite, a_kill_in_the_middle_of_saving_loses_nothing_that_was_committed)
{
    for (int round = 0; round < 12; round++) {
        int pipes[2];
        int32_t last = -1, got;
        cr_assert_eq(pipe(pipes), 0);
        pid_t pid = fork();
        if (pid == 0) {
            char why[256];
            void *db;
            if (store_sqlite_open(file, &db, why, sizeof(why)) != 0)
                _exit(1);
            for (int32_t i = 0;; i++) {
                if (store_one(db, "alpha", i) != 0 || write(pipes[1], &i, 4) != 4)
                    _exit(1);
            }
        }
        close(pipes[1]);
        while (last < 20 * (round + 1) && read(pipes[0], &got, 4) == 4)
            last = got;
        kill(pid, SIGKILL);
        while (read(pipes[0], &got, 4) == 4)
            last = got;
        waitpid(pid, NULL, 0);
        close(pipes[0]);
        void *db = must_open(NULL);
        double x = stored_x(db, "alpha");
        cr_assert(x == last || x == last + 1, "committed %d, stands at %g", last, x);
        store_sqlite_ops.close(db);
    }
    must_be_sound("characters  1\n");
    TEST_NO_LEAKS();
}

#endif
