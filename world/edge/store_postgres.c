/* world/edge/store_postgres.c: see the header.
 *
 *   start      connect, tables, lock, owner ── no: the start ends with a line
 *   later      lost ─► pause ─► connect, tables, lock, still the owner? ── no: lost again
 *
 * The lock is an advisory one of the session, so it goes with the connection, and with the process
 * that dies. Between two connections another world may have come and gone, whose saves are newer
 * than what waits here: so each that takes the lock at its start leaves its name, and who comes
 * back and finds another's never saves again.
 *
 * A group is one statement over arrays, a value for each column, in binary:
 *
 *   [dimensions 1][nulls 0][type][n][lower bound 1] then n times [bytes][value]
 */
#include "world/edge/store_postgres.h"

#include "common/err.h"

#ifdef AEGIS_PART_LIBPQ

#include "common/log.h"
#include "world/edge/pg_link.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define LOCK_CLASS   "1095059273"         /* "AEGI" */
#define LOCK_WAIT_NS (2 * CLOCK_NS_PER_S) /* for the one of a world that has just ended */
#define STATEMENT_MS "4000" /* the server gives up, and says so, before PG_ANSWER_NS is over */
#define COLUMNS      9
#define ARRAY_HEAD   20 /* bytes before the first value */

#define OID_INT8   20
#define OID_TEXT   25
#define OID_FLOAT8 701

static const char schema_sql[] =
    "SELECT pg_advisory_xact_lock(" LOCK_CLASS ", 0);"
    "CREATE TABLE IF NOT EXISTS aegis_store ("
    " version integer NOT NULL, owner text NOT NULL DEFAULT '');"
    "INSERT INTO aegis_store (version) SELECT 1 WHERE NOT EXISTS (SELECT FROM aegis_store);"
    "CREATE TABLE IF NOT EXISTS aegis_character ("
    " name text COLLATE \"C\" PRIMARY KEY,"
    " scene text NOT NULL,"
    " x double precision NOT NULL,"
    " y double precision NOT NULL,"
    " dir double precision NOT NULL,"
    " seen bigint NOT NULL,"
    " generation bigint NOT NULL DEFAULT 0,"
    " epoch bigint NOT NULL DEFAULT 0,"
    " count bigint NOT NULL DEFAULT 0,"
    " data bytea NOT NULL DEFAULT '' CHECK (length(data) <= 65536))";
_Static_assert(PG_ANSWER_NS > 4 * CLOCK_NS_PER_S, "STATEMENT_MS is below it");
_Static_assert(STORE_DATA_MAX == 65536 && STORE_POSTGRES_VERSION == 1, "the schema has them too");

static const char load_sql[] =
    "SELECT scene, x, y, dir, seen, generation, epoch, count, data FROM aegis_character"
    " WHERE name = $1::text";
static const char save_sql[] =
    "INSERT INTO aegis_character AS c (name, scene, x, y, dir, seen, generation, epoch, count)"
    " SELECT * FROM unnest($1::text[], $2::text[], $3::float8[], $4::float8[], $5::float8[],"
    " $6::int8[], $7::int8[], $8::int8[], $9::int8[]) ORDER BY 1"
    " ON CONFLICT (name) DO UPDATE SET scene = excluded.scene, x = excluded.x, y = excluded.y,"
    " dir = excluded.dir, seen = excluded.seen, generation = excluded.generation,"
    " epoch = excluded.epoch, count = excluded.count"
    " WHERE (excluded.generation, excluded.epoch, excluded.count)"
    " >= (c.generation, c.epoch, c.count) RETURNING name";

struct store_postgres {
    struct pg_link link;
    enum store_postgres_way way;
    bool away;                           /* that it is lost was said */
    struct span_writer columns[COLUMNS]; /* owned; of the group at hand */
    struct store_character saves[STORE_GROUP];
    uint32_t n; /* saves in it */
};

/* --- bytes ------------------------------------------------------------------------------------ */

static void put_be64(struct span_writer *w, uint64_t v)
{
    span_put_be32(w, (uint32_t)(v >> 32));
    span_put_be32(w, (uint32_t)v);
}

static void put_int(struct span_writer *w, uint64_t v)
{
    span_put_be32(w, 8);
    put_be64(w, v);
}

static void put_real(struct span_writer *w, double v)
{
    uint64_t bits;

    memcpy(&bits, &v, sizeof(bits));
    put_int(w, bits);
}

static void put_text(struct span_writer *w, const char *p, size_t n)
{
    span_put_be32(w, (uint32_t)n);
    span_put(w, p, n);
}

static uint64_t get_int(const PGresult *r, int row, int column)
{
    const uint8_t *p = (const uint8_t *)PQgetvalue(r, row, column);

    return (uint64_t)span_be32(p) << 32 | span_be32(p + 4);
}

static double get_real(const PGresult *r, int row, int column)
{
    uint64_t bits = get_int(r, row, column);
    double v;

    memcpy(&v, &bits, sizeof(v));
    return v;
}

/* --- connecting ------------------------------------------------------------------------------- */

/* The one text of the one row that this gives, into `out`. */
static int one_text(struct pg_link *l, const char *sql, char *out, size_t cap)
{
    PGresult *r;
    int err = pg_link_rows(l, sql, &r);

    out[0] = '\0';
    if (err == 0 && PQntuples(r) > 0)
        snprintf(out, cap, "%s", PQgetvalue(r, 0, 0));
    PQclear(r);
    return err;
}

/* It is ours to refuse: the server has nothing against it. */
static int refuse(struct pg_link *l, const char *state, const char *why)
{
    snprintf(l->state, sizeof(l->state), "%s", state);
    snprintf(l->why, sizeof(l->why), "%s", why);
    return E_BAD;
}

static int make_tables(struct pg_link *l)
{
    char text[64];
    int err = pg_link_exec(l, "SET statement_timeout = " STATEMENT_MS
                              "; SET client_min_messages = warning");

    if (err == 0)
        err = one_text(l, "SHOW server_encoding", text, sizeof(text));
    if (err == 0 && strcmp(text, "UTF8") != 0)
        return refuse(l, "", "the database is not in UTF8");
    if (err == 0)
        err = one_text(l, "SELECT to_regclass('aegis_character')", text, sizeof(text));
    if (err == 0 && text[0] == '\0')
        err = pg_link_exec(l, schema_sql);
    if (err == 0)
        err = one_text(l, "SELECT version FROM aegis_store", text, sizeof(text));
    if (err == 0 && atoi(text) != STORE_POSTGRES_VERSION)
        return refuse(l, "", "made by another Aegis: the schema has another version");
    return err;
}

/* Who has the lock, for a person. */
static int say_holder(struct store_postgres *q)
{
    char who[96], why[STORE_WHY_MAX];
    int err =
        one_text(&q->link,
                 "SELECT application_name || ' at ' || coalesce(host(client_addr), 'a socket')"
                 " FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE granted AND"
                 " locktype = 'advisory' AND classid = " LOCK_CLASS
                 " AND objid = 'aegis_store'::regclass LIMIT 1",
                 who, sizeof(who));

    if (err != 0)
        return err;
    snprintf(why, sizeof(why), "another world has it%s%.80s", who[0] != '\0' ? ": " : "", who);
    return refuse(&q->link, "55P03", why);
}

/* The lock, now; what an older connection of this process still holds is ended. */
static int try_lock(struct store_postgres *q, bool *got)
{
    char sql[256], text[8];
    int err;

    snprintf(sql, sizeof(sql),
             "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
             " WHERE application_name = '%s' AND pid <> pg_backend_pid()",
             q->link.name);
    err = pg_link_exec(&q->link, sql);
    snprintf(sql, sizeof(sql),
             "SELECT pg_try_advisory_lock%s(" LOCK_CLASS ", 'aegis_store'::regclass::oid::int)",
             q->way == STORE_POSTGRES_SHARED ? "_shared" : "");
    if (err == 0)
        err = one_text(&q->link, sql, text, sizeof(text));
    *got = err == 0 && text[0] == 't';
    return err;
}

/* Is it still ours, or has another world had it meanwhile? */
static int check_owner(struct store_postgres *q)
{
    char owner[64];
    int err;

    if (q->way == STORE_POSTGRES_SHARED)
        return 0;
    err = one_text(&q->link, "SELECT owner FROM aegis_store", owner, sizeof(owner));
    if (err == 0 && strcmp(owner, q->link.name) != 0)
        err = refuse(&q->link, "55P03", "another world has had it since: this one must start anew");
    return err;
}

static int prepare(struct store_postgres *q)
{
    int err = pg_link_prepare(&q->link, "load", load_sql);

    return err == 0 ? pg_link_prepare(&q->link, "save", save_sql) : err;
}

/* After the start: connect again, if it is time. */
static int reconnect(struct store_postgres *q)
{
    bool got = false;
    int err = E_IO;

    if (!pg_link_may_try(&q->link, clock_mono()))
        return E_IO;
    err = pg_link_open(&q->link);
    if (err == 0)
        err = make_tables(&q->link);
    if (err == 0)
        err = try_lock(q, &got);
    if (err == 0 && !got)
        err = say_holder(q);
    if (err == 0)
        err = check_owner(q);
    if (err == 0)
        err = prepare(q);
    if (err != 0) {
        pg_link_drop(&q->link);
        return E_IO;
    }
    if (q->away)
        log_line(LOG_INFO, "store connected again");
    q->away = false;
    q->link.pause_ns = PG_PAUSE_MIN_NS;
    return 0;
}

/* Is it there? What is lost is said once. */
static int reach(struct store_postgres *q)
{
    if (!q->link.conn && !q->away) {
        q->away = true;
        log_line(LOG_WARN, "store connection lost why=\"%s\"", q->link.why);
    }
    return q->link.conn ? 0 : reconnect(q);
}

/* --- while it runs ---------------------------------------------------------------------------- */

static int copy_row(const PGresult *r, struct span name, struct store_character *c, uint8_t *data,
                    size_t *data_n)
{
    size_t scene_n = (size_t)PQgetlength(r, 0, 0), n = (size_t)PQgetlength(r, 0, 8);

    if (scene_n > sizeof(c->scene) || n > STORE_DATA_MAX)
        return E_IO;
    *c = (struct store_character){
        .name_len = (uint8_t)name.n,
        .scene_len = (uint8_t)scene_n,
        .x = get_real(r, 0, 1),
        .y = get_real(r, 0, 2),
        .dir = get_real(r, 0, 3),
        .seen_s = (int64_t)get_int(r, 0, 4),
        .fence = {get_int(r, 0, 5), get_int(r, 0, 6), get_int(r, 0, 7)},
    };
    memcpy(c->name, name.p, name.n);
    memcpy(c->scene, PQgetvalue(r, 0, 0), scene_n);
    memcpy(data, PQgetvalue(r, 0, 8), n);
    *data_n = n;
    return 0;
}

static int load(void *arg, struct span name, struct store_character *out, uint8_t *data,
                size_t *data_n)
{
    struct store_postgres *q = arg;
    struct pg_values v = {.p = {(const char *)name.p}, .n = {(int)name.n}, .count = 1};
    PGresult *r = NULL;
    int err = reach(q);

    if (err == 0)
        err = pg_link_run(&q->link, "load", &v, &r);
    if (err == 0)
        err = PQntuples(r) > 0 ? copy_row(r, name, out, data, data_n) : E_MISSING;
    PQclear(r);
    return err;
}

static int begin(void *arg)
{
    struct store_postgres *q = arg;

    q->n = 0;
    for (int i = 0; i < COLUMNS; i++) {
        q->columns[i].len = ARRAY_HEAD;
        q->columns[i].full = false;
    }
    return reach(q);
}

static int save(void *arg, const struct store_character *c)
{
    struct store_postgres *q = arg;
    struct span_writer *w = q->columns;

    ASSERT(q->n < STORE_GROUP);
    put_text(&w[0], c->name, c->name_len);
    put_text(&w[1], c->scene, c->scene_len);
    put_real(&w[2], c->x);
    put_real(&w[3], c->y);
    put_real(&w[4], c->dir);
    put_int(&w[5], (uint64_t)c->seen_s);
    put_int(&w[6], c->fence.generation);
    put_int(&w[7], c->fence.epoch);
    put_int(&w[8], c->fence.count);
    q->saves[q->n++] = *c;
    return 0;
}

/* Who is not among the names that came back. They come in the statement's order, which is no order
 * of ours; it is rare that any lacks. */
static void find_refused(const struct store_postgres *q, const PGresult *r,
                         struct store_refused *refused)
{
    int kept = PQntuples(r);

    for (uint32_t i = 0; (uint32_t)kept < q->n && i < q->n; i++) {
        struct span name = span_of(q->saves[i].name, q->saves[i].name_len);
        int k = 0;

        while (k < kept &&
               !span_equal(span_of(PQgetvalue(r, k, 0), (size_t)PQgetlength(r, k, 0)), name))
            k++;
        if (k == kept)
            store_refused_add(refused, &q->saves[i]);
    }
}

static int commit(void *arg, struct store_refused *refused)
{
    static const uint32_t types[COLUMNS] = {OID_TEXT, OID_TEXT, OID_FLOAT8, OID_FLOAT8, OID_FLOAT8,
                                            OID_INT8, OID_INT8, OID_INT8,   OID_INT8};
    struct store_postgres *q = arg;
    struct pg_values v = {.count = COLUMNS};
    PGresult *r = NULL;
    int err;

    for (int i = 0; i < COLUMNS; i++) {
        struct span_writer head = span_writer_of(q->columns[i].p, ARRAY_HEAD);

        ASSERT(!q->columns[i].full);
        span_put_be32(&head, 1);
        span_put_be32(&head, 0);
        span_put_be32(&head, types[i]);
        span_put_be32(&head, q->n);
        span_put_be32(&head, 1);
        v.p[i] = (const char *)q->columns[i].p;
        v.n[i] = (int)q->columns[i].len;
    }
    err = pg_link_run(&q->link, "save", &v, &r);
    *refused = (struct store_refused){0};
    if (err == 0)
        find_refused(q, r, refused);
    PQclear(r);
    return err;
}

/* A statement that failed has undone itself. */
static void rollback(void *arg)
{
    (void)arg;
}

static enum store_trouble trouble(void *arg, char why[STORE_WHY_MAX])
{
    static const struct {
        const char *state; /* its beginning */
        enum store_trouble what;
    } known[] = {{"53100", STORE_FULL},      {"55P03", STORE_LOCKED},    {"40", STORE_LOCKED},
                 {"25006", STORE_READ_ONLY}, {"42501", STORE_READ_ONLY}, {"XX00", STORE_CORRUPT}};
    struct store_postgres *q = arg;

    memcpy(why, q->link.why, STORE_WHY_MAX);
    for (size_t i = 0; i < ARRAY_LEN(known); i++) {
        if (strncmp(q->link.state, known[i].state, strlen(known[i].state)) == 0)
            return known[i].what;
    }
    return STORE_IO;
}

static void close_all(void *arg)
{
    struct store_postgres *q = arg;

    pg_link_fini(&q->link);
    for (int i = 0; i < COLUMNS; i++)
        free(q->columns[i].p);
    free(q);
}

const struct store_db_ops store_postgres_ops = {
    .load = load,
    .begin = begin,
    .save = save,
    .commit = commit,
    .rollback = rollback,
    .trouble = trouble,
    .close = close_all,
};

/* --- the start -------------------------------------------------------------------------------- */

int store_postgres_form(const char *url, char *why, size_t why_cap)
{
    if (pg_link_url_ok(url))
        return 0;
    snprintf(why, why_cap, "not a URL as libpq reads it: postgres://USER@HOST/DATABASE");
    return E_BAD;
}

static int take_memory(struct store_postgres *q, const char *url)
{
    const size_t text = STORE_GROUP * (4 + PROTO_SCENE_MAX), number = STORE_GROUP * 12;

    _Static_assert(PROTO_NAME_MAX <= PROTO_SCENE_MAX, "a name fits where a scene does");
    for (int i = 0; i < COLUMNS; i++) {
        size_t cap = ARRAY_HEAD + (i < 2 ? text : number);
        void *p = malloc(cap);

        if (!p)
            return E_NOMEM;
        q->columns[i] = span_writer_of(p, cap);
    }
    return pg_link_init(&q->link, url);
}

/* A world that has just ended may still be going. */
static int take_lock(struct store_postgres *q)
{
    struct mono until = clock_add(clock_mono(), LOCK_WAIT_NS);
    bool got = false;
    int err = try_lock(q, &got);

    while (err == 0 && !got && clock_since(until, clock_mono()) > 0) {
        err = pg_link_exec(&q->link, "SELECT pg_sleep(0.05)");
        if (err == 0)
            err = try_lock(q, &got);
    }
    return err == 0 && !got ? say_holder(q) : err;
}

/* From here on it is ours. */
static int take_over(struct store_postgres *q)
{
    char sql[128];
    int err;

    if (q->way == STORE_POSTGRES_SHARED)
        return 0;
    snprintf(sql, sizeof(sql), "UPDATE aegis_store SET owner = '%s'", q->link.name);
    err = pg_link_exec(&q->link, sql);
    if (err == 0)
        err =
            pg_link_exec(&q->link, "UPDATE aegis_character SET generation = 0, epoch = 0, count = 0"
                                   " WHERE generation > 0 OR epoch > 0 OR count > 0");
    return err;
}

int store_postgres_open(const char *url, enum store_postgres_way way, void **db, char *why,
                        size_t why_cap)
{
    struct store_postgres *q = calloc(1, sizeof(*q));
    int err = q ? take_memory(q, url) : E_NOMEM;

    *db = NULL;
    snprintf(why, why_cap, "%s", err_text(E_NOMEM));
    if (!q)
        return err;
    q->way = way;
    if (err == 0)
        err = pg_link_open(&q->link);
    if (err == 0)
        err = make_tables(&q->link);
    if (err == 0)
        err = take_lock(q);
    if (err == 0)
        err = take_over(q);
    if (err == 0)
        err = prepare(q);
    if (err != 0) {
        if (err != E_NOMEM)
            snprintf(why, why_cap, "%s", q->link.why);
        close_all(q);
        return err;
    }
    *db = q;
    return 0;
}

/* --- -store-check ----------------------------------------------------------------------------- */

static const struct {
    const char *label, *sql;
} lines[] = {
    {"schema", "SELECT version FROM aegis_store"},
    {"characters", "SELECT count(*) FROM aegis_character"},
    {"data", "SELECT coalesce(sum(length(data)), 0) || ' bytes' FROM aegis_character"},
    {"scene", "SELECT count(*) || '  ' || scene FROM aegis_character GROUP BY scene"
              " ORDER BY count(*) DESC LIMIT 64"},
    {"newest", "SELECT to_timestamp(seen) AT TIME ZONE 'UTC' || ' UTC  ' || name FROM"
               " aegis_character ORDER BY seen DESC LIMIT 1"},
    {"oldest", "SELECT to_timestamp(seen) AT TIME ZONE 'UTC' || ' UTC  ' || name FROM"
               " aegis_character ORDER BY seen LIMIT 1"},
};

static int list(struct pg_link *l, FILE *to)
{
    int err = 0;

    for (size_t i = 0; err == 0 && i < ARRAY_LEN(lines); i++) {
        PGresult *r;

        err = pg_link_rows(l, lines[i].sql, &r);
        for (int k = 0; err == 0 && k < PQntuples(r); k++)
            fprintf(to, "%-11s %s\n", lines[i].label, PQgetvalue(r, k, 0));
        PQclear(r);
    }
    return err;
}

int store_postgres_check(const char *url, FILE *to, char *why, size_t why_cap)
{
    struct pg_link l;
    int err = pg_link_init(&l, url);

    snprintf(l.why, sizeof(l.why), "%s", err_text(err));
    if (err == 0)
        err = pg_link_open(&l);
    if (err == 0)
        err = list(&l, to);
    snprintf(why, why_cap, "%s", l.why);
    pg_link_fini(&l);
    return err;
}

#else

static int not_built_in(char *why, size_t why_cap)
{
    snprintf(why, why_cap, "this program was built without libpq");
    return E_MISSING;
}

const struct store_db_ops store_postgres_ops = {0};

int store_postgres_form(const char *url, char *why, size_t why_cap)
{
    (void)url;
    return not_built_in(why, why_cap);
}

int store_postgres_open(const char *url, enum store_postgres_way way, void **db, char *why,
                        size_t why_cap)
{
    (void)url, (void)way;
    *db = NULL;
    return not_built_in(why, why_cap);
}

int store_postgres_check(const char *url, FILE *to, char *why, size_t why_cap)
{
    (void)url, (void)to;
    return not_built_in(why, why_cap);
}

#endif
