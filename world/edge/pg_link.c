/* world/edge/pg_link.c: see the header. */
#ifdef AEGIS_PART_LIBPQ

#include "world/edge/pg_link.h"

#include "common/err.h"
#include "common/rng.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* --- words ------------------------------------------------------------------------------------ */

/* The first line of what libpq or the server says. */
static void say(struct pg_link *l, const char *text)
{
    size_t n = strcspn(text, "\n");

    n = n < sizeof(l->why) ? n : sizeof(l->why) - 1;
    memcpy(l->why, text, n);
    l->why[n] = '\0';
    for (size_t i = 0; i < n; i++) {
        if ((unsigned char)l->why[i] < ' ' || l->why[i] == '"')
            l->why[i] = '\'';
    }
}

static int lost(struct pg_link *l, const char *text)
{
    l->state[0] = '\0';
    say(l, text);
    pg_link_drop(l);
    return E_IO;
}

/* An answer that is an error. */
static void note_error(struct pg_link *l, const PGresult *r)
{
    const char *state = PQresultErrorField(r, PG_DIAG_SQLSTATE);

    snprintf(l->state, sizeof(l->state), "%.5s", state ? state : "");
    say(l, PQresultErrorMessage(r));
}

/* A password with a bare / or @ in it would be taken for port and database, and told in errors. */
bool pg_link_url_ok(const char *url)
{
    PQconninfoOption *all = PQconninfoParse(url, NULL);
    bool good = all != NULL;

    for (const PQconninfoOption *o = all; good && o->keyword; o++) {
        if (o->val && strcmp(o->keyword, "port") == 0)
            good = o->val[strspn(o->val, "0123456789,")] == '\0';
        if (o->val && strcmp(o->keyword, "dbname") == 0)
            good = !strchr(o->val, '@');
    }
    PQconninfoFree(all);
    return good;
}

/* --- waiting ---------------------------------------------------------------------------------- */

/* Until the socket is ready for `events`; false: the time is over. */
static bool await(PGconn *conn, short events, struct mono until)
{
    struct pollfd p = {.fd = PQsocket(conn), .events = events};

    for (;;) {
        int64_t left_ms =
            (clock_since(until, clock_mono()) + CLOCK_NS_PER_MS - 1) / CLOCK_NS_PER_MS;
        int n = left_ms > 0 && p.fd >= 0 ? poll(&p, 1, (int)left_ms) : 0;

        if (n > 0 || (n < 0 && errno != EINTR))
            return n > 0;
        if (n == 0)
            return false;
    }
}

static struct mono deadline(void)
{
    return clock_add(clock_mono(), PG_ANSWER_NS);
}

/* Everything that was asked goes out. */
static bool flush(struct pg_link *l, struct mono until)
{
    for (;;) {
        int rc = PQflush(l->conn);

        if (rc <= 0)
            return rc == 0;
        if (!await(l->conn, POLLIN | POLLOUT, until))
            return false;
        if (PQconsumeInput(l->conn) == 0)
            return false;
    }
}

/* The last result of what was sent; NULL: the connection is lost, and let go of. */
static PGresult *receive(struct pg_link *l)
{
    struct mono until = deadline();
    PGresult *last = NULL, *r;
    bool flushed = flush(l, until);

    while (flushed) {
        if (PQconsumeInput(l->conn) == 0)
            break;
        if (PQisBusy(l->conn)) {
            if (!await(l->conn, POLLIN, until))
                break;
            continue;
        }
        r = PQgetResult(l->conn);
        if (!r)
            return last;
        if (last && PQresultStatus(last) == PGRES_FATAL_ERROR) {
            PQclear(r);
            continue;
        }
        PQclear(last);
        last = r;
    }
    PQclear(last);
    lost(l, clock_since(until, clock_mono()) > 0 ? PQerrorMessage(l->conn)
                                                 : "PostgreSQL does not answer");
    return NULL;
}

/* What was sent did so and so. 0 and the result, or E_IO. */
static int answer(struct pg_link *l, int sent, PGresult **out)
{
    PGresult *r = sent ? receive(l) : NULL;
    ExecStatusType what;

    *out = NULL;
    if (!sent)
        return lost(l, PQerrorMessage(l->conn));
    if (!r)
        return l->conn ? lost(l, "no answer") : E_IO;
    what = PQresultStatus(r);
    if (what == PGRES_COMMAND_OK || what == PGRES_TUPLES_OK) {
        *out = r;
        return 0;
    }
    note_error(l, r);
    PQclear(r);
    if (PQstatus(l->conn) != CONNECTION_OK)
        pg_link_drop(l);
    return E_IO;
}

/* --- the connection --------------------------------------------------------------------------- */

int pg_link_init(struct pg_link *l, const char *url)
{
    uint64_t id;

    *l = (struct pg_link){.url = strdup(url), .again = clock_mono(), .pause_ns = PG_PAUSE_MIN_NS};
    rng_secret(&id, sizeof(id));
    snprintf(l->name, sizeof(l->name), "aegis-%016" PRIx64, id);
    return l->url ? 0 : E_NOMEM;
}

void pg_link_fini(struct pg_link *l)
{
    PQfinish(l->conn); /* says good-bye, so that the server lets go of the lock at once */
    if (l->url)
        explicit_bzero(l->url, strlen(l->url));
    free(l->url);
    *l = (struct pg_link){0};
}

void pg_link_drop(struct pg_link *l)
{
    PQfinish(l->conn);
    l->conn = NULL;
    l->again = clock_add(clock_mono(), l->pause_ns);
    l->pause_ns = l->pause_ns * 2 < PG_PAUSE_MAX_NS ? l->pause_ns * 2 : PG_PAUSE_MAX_NS;
}

bool pg_link_may_try(const struct pg_link *l, struct mono now)
{
    return clock_since(now, l->again) >= 0;
}

int pg_link_open(struct pg_link *l)
{
    const char *const names[] = {"dbname", "application_name", "client_encoding", NULL};
    const char *const values[] = {l->url, l->name, "UTF8", NULL};
    struct mono until = deadline();
    PostgresPollingStatusType at = PGRES_POLLING_WRITING;

    ASSERT(!l->conn);
    l->conn = PQconnectStartParams(names, values, 1);
    if (!l->conn)
        return lost(l, "out of memory");
    while (PQstatus(l->conn) != CONNECTION_BAD && at != PGRES_POLLING_OK) {
        if (at == PGRES_POLLING_FAILED)
            break;
        if (!await(l->conn, at == PGRES_POLLING_READING ? POLLIN : POLLOUT, until))
            return lost(l, "PostgreSQL does not answer");
        at = PQconnectPoll(l->conn);
    }
    if (at != PGRES_POLLING_OK || PQsetnonblocking(l->conn, 1) != 0)
        return lost(l, PQerrorMessage(l->conn));
    return 0;
}

/* --- statements ------------------------------------------------------------------------------- */

static int clear(int err, PGresult *r)
{
    PQclear(r);
    return err;
}

int pg_link_exec(struct pg_link *l, const char *sql)
{
    PGresult *r = NULL;
    int err = answer(l, PQsendQuery(l->conn, sql), &r);

    return clear(err, r);
}

int pg_link_prepare(struct pg_link *l, const char *name, const char *sql)
{
    PGresult *r = NULL;
    int err = answer(l, PQsendPrepare(l->conn, name, sql, 0, NULL), &r);

    return clear(err, r);
}

int pg_link_run(struct pg_link *l, const char *name, const struct pg_values *v, PGresult **out)
{
    static const int binary[PG_VALUES_MAX] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};

    return answer(l, PQsendQueryPrepared(l->conn, name, v->count, v->p, v->n, binary, 1), out);
}

int pg_link_rows(struct pg_link *l, const char *sql, PGresult **out)
{
    return answer(l, PQsendQuery(l->conn, sql), out);
}

#endif
