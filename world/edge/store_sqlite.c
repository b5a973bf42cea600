/* world/edge/store_sqlite.c: see the header.
 * The schema stands here once for each version: what brings a file from one to the next. A table
 * without rowid: the name is where a row lies, so that a load is one descent of one tree.
 */
#include "world/edge/store_sqlite.h"

#include "common/err.h"

#ifdef AEGIS_PART_SQLITE3

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define BUSY_START_MS 2000 /* for another's lock, at the start */
#define BUSY_MS       200  /* later: logins wait behind it */
#define WAL_PAGES     256  /* written ahead before they go to their places: 1 MiB */

/* clang-format off */
static const char *const migrations[STORE_SQLITE_VERSION] = {
    /* to 1: places */
    "CREATE TABLE character ("
    " name TEXT NOT NULL PRIMARY KEY,"
    " scene TEXT NOT NULL,"
    " x REAL NOT NULL,"
    " y REAL NOT NULL,"
    " dir REAL NOT NULL,"
    " seen INTEGER NOT NULL"
    ") WITHOUT ROWID;",
    /* to 2: the game's own data */
    "ALTER TABLE character ADD COLUMN data BLOB NOT NULL DEFAULT x''"
    " CHECK (length(data) <= 65536);",
    /* to 3: who may save */
    "ALTER TABLE character ADD COLUMN generation INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE character ADD COLUMN epoch INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE character ADD COLUMN count INTEGER NOT NULL DEFAULT 0;",
};
/* clang-format on */
_Static_assert(STORE_DATA_MAX == 65536, "the schema has it too");

static const char load_sql[] = "SELECT scene, x, y, dir, seen, data, generation, epoch, count"
                               " FROM character WHERE name = ?1";
static const char save_sql[] =
    "INSERT INTO character (name, scene, x, y, dir, seen, generation, epoch, count)"
    " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)"
    " ON CONFLICT (name) DO UPDATE SET scene = excluded.scene, x = excluded.x, y = excluded.y,"
    " dir = excluded.dir, seen = excluded.seen, generation = excluded.generation,"
    " epoch = excluded.epoch, count = excluded.count"
    " WHERE (excluded.generation, excluded.epoch, excluded.count)"
    " >= (character.generation, character.epoch, character.count)";

struct store_sqlite {
    int fd; /* holds the lock that says: a world has this file */
    sqlite3 *db;
    sqlite3_stmt *load, *save, *begin, *commit;
    struct store_refused refused; /* since begin */
    bool full;                    /* the last failure was for want of room */
    bool gone; /* the last failure: nothing of ours is at the file's path any more */
};

static struct span column_span(sqlite3_stmt *s, int i)
{
    const void *p = sqlite3_column_blob(s, i);

    return span_of(p, (size_t)sqlite3_column_bytes(s, i));
}

/* --- while it runs ---------------------------------------------------------------------------- */

static bool copy_row(sqlite3_stmt *s, struct span name, struct store_character *c, uint8_t *data,
                     size_t *data_n)
{
    struct span scene = column_span(s, 0), own = column_span(s, 5);

    if (scene.n > sizeof(c->scene) || own.n > STORE_DATA_MAX)
        return false;
    *c = (struct store_character){
        .name_len = (uint8_t)name.n,
        .scene_len = (uint8_t)scene.n,
        .x = sqlite3_column_double(s, 1),
        .y = sqlite3_column_double(s, 2),
        .dir = sqlite3_column_double(s, 3),
        .seen_s = sqlite3_column_int64(s, 4),
        .fence = {(uint64_t)sqlite3_column_int64(s, 6), (uint64_t)sqlite3_column_int64(s, 7),
                  (uint64_t)sqlite3_column_int64(s, 8)},
    };
    memcpy(c->name, name.p, name.n);
    if (scene.n > 0)
        memcpy(c->scene, scene.p, scene.n);
    if (own.n > 0)
        memcpy(data, own.p, own.n);
    *data_n = own.n;
    return true;
}

static int load(void *arg, struct span name, struct store_character *out, uint8_t *data,
                size_t *data_n)
{
    struct store_sqlite *q = arg;
    int err = E_IO, rc;

    sqlite3_bind_text(q->load, 1, (const char *)name.p, (int)name.n, SQLITE_STATIC);
    rc = sqlite3_step(q->load);
    if (rc == SQLITE_ROW && copy_row(q->load, name, out, data, data_n))
        err = 0;
    else if (rc == SQLITE_DONE)
        err = E_MISSING;
    sqlite3_reset(q->load);
    return err;
}

static int step(struct store_sqlite *q, sqlite3_stmt *s)
{
    int rc = sqlite3_step(s);

    q->full = (rc & 0xff) == SQLITE_FULL;
    sqlite3_reset(s);
    return rc == SQLITE_DONE || rc == SQLITE_ROW ? 0 : E_IO;
}

/* Is the file that we write still the one at its path? One that was removed or replaced would take
 * every save, and show none of them to the next start. */
static bool is_there(const struct store_sqlite *q)
{
    struct stat ours, there;

    return fstat(q->fd, &ours) == 0 && stat(sqlite3_db_filename(q->db, NULL), &there) == 0 &&
           ours.st_ino == there.st_ino && ours.st_dev == there.st_dev;
}

static int begin(void *arg)
{
    struct store_sqlite *q = arg;

    q->gone = !is_there(q);
    q->refused = (struct store_refused){0};
    return q->gone ? E_IO : step(q, q->begin);
}

static int save(void *arg, const struct store_character *c)
{
    struct store_sqlite *q = arg;
    int err;

    sqlite3_bind_text(q->save, 1, c->name, c->name_len, SQLITE_STATIC);
    sqlite3_bind_text(q->save, 2, c->scene, c->scene_len, SQLITE_STATIC);
    sqlite3_bind_double(q->save, 3, c->x);
    sqlite3_bind_double(q->save, 4, c->y);
    sqlite3_bind_double(q->save, 5, c->dir);
    sqlite3_bind_int64(q->save, 6, c->seen_s);
    sqlite3_bind_int64(q->save, 7, (sqlite3_int64)c->fence.generation);
    sqlite3_bind_int64(q->save, 8, (sqlite3_int64)c->fence.epoch);
    sqlite3_bind_int64(q->save, 9, (sqlite3_int64)c->fence.count);
    err = step(q, q->save);
    if (err == 0 && sqlite3_changes(q->db) == 0)
        store_refused_add(&q->refused, c);
    return err;
}

static int commit(void *arg, struct store_refused *refused)
{
    struct store_sqlite *q = arg;

    *refused = q->refused;
    return step(q, q->commit);
}

static void rollback(void *arg)
{
    struct store_sqlite *q = arg;

    if (!sqlite3_get_autocommit(q->db))
        sqlite3_exec(q->db, "ROLLBACK", NULL, NULL, NULL);
    if (q->full) /* it may be the log that fills the disk */
        sqlite3_wal_checkpoint_v2(q->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
}

static enum store_trouble trouble_of(int code)
{
    switch (code & 0xff) {
    case SQLITE_FULL:
        return STORE_FULL;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return STORE_LOCKED;
    case SQLITE_READONLY:
    case SQLITE_PERM:
        return STORE_READ_ONLY;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return STORE_CORRUPT;
    default:
        return STORE_IO;
    }
}

static enum store_trouble trouble(void *arg, char why[STORE_WHY_MAX])
{
    struct store_sqlite *q = arg;

    if (q->gone) {
        snprintf(why, STORE_WHY_MAX, "the file was removed or replaced");
        return STORE_IO;
    }
    snprintf(why, STORE_WHY_MAX, "%s", sqlite3_errmsg(q->db));
    return trouble_of(sqlite3_errcode(q->db));
}

static void close_db(struct store_sqlite *q)
{
    sqlite3_finalize(q->load);
    sqlite3_finalize(q->save);
    sqlite3_finalize(q->begin);
    sqlite3_finalize(q->commit);
    sqlite3_close(q->db);
    *q = (struct store_sqlite){.fd = q->fd};
}

static void close_all(void *arg)
{
    struct store_sqlite *q = arg;

    close_db(q);
    if (q->fd >= 0)
        close(q->fd); /* last: it ends whatever locks this process has on the file */
    free(q);
}

const struct store_db_ops store_sqlite_ops = {
    .load = load,
    .begin = begin,
    .save = save,
    .commit = commit,
    .rollback = rollback,
    .trouble = trouble,
    .close = close_all,
};

/* --- the start -------------------------------------------------------------------------------- */

/* A statement's first column as a number. */
static int number(sqlite3 *db, const char *sql, int64_t *out)
{
    sqlite3_stmt *s = NULL;
    int rc = sqlite3_prepare_v2(db, sql, -1, &s, NULL);

    if (rc == SQLITE_OK)
        rc = sqlite3_step(s);
    if (rc == SQLITE_ROW)
        *out = sqlite3_column_int64(s, 0);
    sqlite3_finalize(s);
    return rc == SQLITE_ROW ? 0 : E_IO;
}

static int exec(sqlite3 *db, const char *sql)
{
    return sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : E_IO;
}

static int say(sqlite3 *db, char *why, size_t why_cap)
{
    snprintf(why, why_cap, "%s", sqlite3_errmsg(db));
    return E_IO;
}

/* Whose file is it, and how old? A file without a table is version 0. */
static int identify(sqlite3 *db, int64_t *version, char *why, size_t why_cap)
{
    int64_t id, tables;

    if (number(db, "PRAGMA application_id", &id) != 0 ||
        number(db, "PRAGMA user_version", version) != 0 ||
        number(db, "SELECT count(*) FROM sqlite_master", &tables) != 0)
        return say(db, why, why_cap);
    if (tables == 0 && id == 0 && *version == 0)
        return 0;
    if (id != STORE_SQLITE_ID || *version < 1) {
        snprintf(why, why_cap, "it is a database, but not a store of Aegis");
        return E_BAD;
    }
    if (*version > STORE_SQLITE_VERSION) {
        snprintf(why, why_cap, "made by a newer Aegis (schema %" PRId64 ", this one knows %d)",
                 *version, STORE_SQLITE_VERSION);
        return E_BAD;
    }
    return 0;
}

/* In one transaction: it is at the new version, or as it was. */
static int migrate(sqlite3 *db, char *why, size_t why_cap)
{
    int64_t version;
    char sql[128];
    int err;

    if (exec(db, "BEGIN IMMEDIATE") != 0)
        return say(db, why, why_cap);
    err = identify(db, &version, why, why_cap);
    if (err == 0 && version < STORE_SQLITE_VERSION) {
        for (int64_t v = version; err == 0 && v < STORE_SQLITE_VERSION; v++)
            err = exec(db, migrations[v]);
        snprintf(sql, sizeof(sql), "PRAGMA application_id = %d; PRAGMA user_version = %d",
                 STORE_SQLITE_ID, STORE_SQLITE_VERSION);
        if (err == 0)
            err = exec(db, sql);
        if (err != 0)
            err = say(db, why, why_cap);
    }
    if (err == 0 && exec(db, "COMMIT") != 0)
        err = say(db, why, why_cap);
    if (err != 0)
        exec(db, "ROLLBACK");
    return err;
}

static int prepare(struct store_sqlite *q)
{
    const struct {
        const char *sql;
        sqlite3_stmt **to;
    } all[] = {{load_sql, &q->load},
               {save_sql, &q->save},
               {"BEGIN IMMEDIATE", &q->begin},
               {"COMMIT", &q->commit}};

    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        if (sqlite3_prepare_v3(q->db, all[i].sql, -1, SQLITE_PREPARE_PERSISTENT, all[i].to, NULL) !=
            SQLITE_OK)
            return E_IO;
    }
    return 0;
}

/* With `alone` the log's index is in memory, so that a disk without room for it will do; nobody
 * else can read the file then. */
static int open_db(struct store_sqlite *q, const char *path, bool alone, char *why, size_t why_cap)
{
    int64_t version;
    char sql[128];
    int err;

    if (sqlite3_open_v2(path, &q->db,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE,
                        NULL) != SQLITE_OK)
        return say(q->db, why, why_cap);
    sqlite3_busy_timeout(q->db, BUSY_START_MS);
    snprintf(sql, sizeof(sql), "PRAGMA locking_mode = %s", alone ? "EXCLUSIVE" : "NORMAL");
    if (exec(q->db, sql) != 0)
        return say(q->db, why, why_cap);
    err = identify(q->db, &version, why, why_cap); /* a stranger's file stays as it is */
    if (err == 0 && version < STORE_SQLITE_VERSION)
        err = migrate(q->db, why, why_cap);
    if (err != 0)
        return err;
    snprintf(sql, sizeof(sql),
             "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
             "PRAGMA wal_autocheckpoint = %d",
             WAL_PAGES);
    /* The last is there so that the log is opened now, and not at the first login. */
    if (exec(q->db, sql) != 0 || prepare(q) != 0 ||
        number(q->db, "SELECT count(*) FROM sqlite_master", &version) != 0)
        return say(q->db, why, why_cap);
    sqlite3_busy_timeout(q->db, BUSY_MS);
    return 0;
}

static int lock_file(struct store_sqlite *q, const char *path, char *why, size_t why_cap)
{
    q->fd = -1;
    if (path[0] == ':') { /* SQLite has other things by such names */
        snprintf(why, why_cap, "not the name of a file");
        return E_BAD;
    }
    q->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (q->fd < 0) {
        snprintf(why, why_cap, "%s", strerror(errno));
        return E_IO;
    }
    if (flock(q->fd, LOCK_EX | LOCK_NB) != 0) {
        snprintf(why, why_cap, "%s",
                 errno == EWOULDBLOCK ? "another world has it" : strerror(errno));
        return E_IO;
    }
    return 0;
}

int store_sqlite_open(const char *path, void **db, char *why, size_t why_cap)
{
    struct store_sqlite *q = calloc(1, sizeof(*q));
    int err;

    *db = NULL;
    if (!q) {
        snprintf(why, why_cap, "%s", err_text(E_NOMEM));
        return E_NOMEM;
    }
    err = lock_file(q, path, why, why_cap);
    if (err == 0)
        err = open_db(q, path, false, why, why_cap);
    if (err == E_IO && q->db && trouble_of(sqlite3_errcode(q->db)) != STORE_CORRUPT) {
        close_db(q);
        err = open_db(q, path, true, why, why_cap);
    }
    if (err != 0)
        close_all(q);
    else
        *db = q;
    return err;
}

/* --- -store-check ----------------------------------------------------------------------------- */

/* The first line of trouble that SQLite finds. */
static int check_integrity(sqlite3 *db, char *why, size_t why_cap)
{
    sqlite3_stmt *s = NULL;
    int err = E_IO;

    if (sqlite3_prepare_v2(db, "PRAGMA integrity_check(1)", -1, &s, NULL) == SQLITE_OK &&
        sqlite3_step(s) == SQLITE_ROW) {
        const char *word = (const char *)sqlite3_column_text(s, 0);

        err = word && strcmp(word, "ok") == 0 ? 0 : E_BAD;
        snprintf(why, why_cap, "%s", word ? word : "");
    } else {
        say(db, why, why_cap);
    }
    sqlite3_finalize(s);
    return err;
}

/* Rows of `label: a b`, where the statement gives two columns. */
static int list(sqlite3 *db, const char *label, const char *sql, FILE *to)
{
    sqlite3_stmt *s = NULL;
    int rc = sqlite3_prepare_v2(db, sql, -1, &s, NULL);

    while (rc == SQLITE_OK || rc == SQLITE_ROW) {
        rc = sqlite3_step(s);
        if (rc == SQLITE_ROW)
            fprintf(to, "%-11s %s  %s\n", label, (const char *)sqlite3_column_text(s, 0),
                    (const char *)sqlite3_column_text(s, 1));
    }
    sqlite3_finalize(s);
    return rc == SQLITE_DONE ? 0 : E_IO;
}

static int tell(sqlite3 *db, int64_t version, FILE *to)
{
    int64_t n = 0, data = 0;

    fprintf(to, "%-11s %" PRId64 "%s\n", "schema", version,
            version < STORE_SQLITE_VERSION ? "  (the next start brings it up to date)" : "");
    if (version == 0)
        return 0;
    if (number(db, "SELECT count(*) FROM character", &n) != 0)
        return E_IO;
    fprintf(to, "%-11s %" PRId64 "\n", "characters", n);
    if (version >= 2) {
        if (number(db, "SELECT coalesce(sum(length(data)), 0) FROM character", &data) != 0)
            return E_IO;
        fprintf(to, "%-11s %" PRId64 " bytes\n", "data", data);
    }
    if (list(db, "scene",
             "SELECT count(*), scene FROM character GROUP BY scene ORDER BY 1 DESC"
             " LIMIT 64",
             to) != 0)
        return E_IO;
    if (list(db, "newest",
             "SELECT datetime(seen, 'unixepoch') || ' UTC', name FROM character"
             " ORDER BY seen DESC LIMIT 1",
             to) != 0)
        return E_IO;
    return list(db, "oldest",
                "SELECT datetime(seen, 'unixepoch') || ' UTC', name FROM character"
                " ORDER BY seen LIMIT 1",
                to);
}

int store_sqlite_check(const char *path, FILE *to, char *why, size_t why_cap)
{
    sqlite3 *db = NULL;
    int64_t version = 0;
    int err = 0;

    if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_EXRESCODE, NULL) != SQLITE_OK)
        err = say(db, why, why_cap);
    sqlite3_busy_timeout(db, BUSY_START_MS);
    if (err == 0)
        err = identify(db, &version, why, why_cap);
    if (err == 0)
        err = check_integrity(db, why, why_cap);
    if (err == 0 && tell(db, version, to) != 0)
        err = say(db, why, why_cap);
    sqlite3_close(db);
    return err;
}

#else

static int not_built_in(char *why, size_t why_cap)
{
    snprintf(why, why_cap, "this program is built without SQLite");
    return E_MISSING;
}

const struct store_db_ops store_sqlite_ops = {0};

int store_sqlite_open(const char *path, void **db, char *why, size_t why_cap)
{
    (void)path;
    *db = NULL;
    return not_built_in(why, why_cap);
}

int store_sqlite_check(const char *path, FILE *to, char *why, size_t why_cap)
{
    (void)path;
    (void)to;
    return not_built_in(why, why_cap);
}

#endif
