/* world/edge/pg_link.h: one connection to PostgreSQL that nothing makes wait for ever.
 * libpq's own blocking calls know no deadline, so each step is sent, and waited for by poll. A
 * server that does not answer in time is let go of; who asks next connects again, not more often
 * than the pause allows, which doubles up to its bound. Of one thread.
 * May touch: common, libpq, sockets through it. On trouble: E_IO, and `why` in a few words, without
 * the password.
 */
#pragma once

#include "common/clock.h"
#include "common/span.h"
#include "world/edge/store_db.h"

#include <libpq-fe.h>

#define PG_ANSWER_NS    (5 * CLOCK_NS_PER_S)    /* for connecting, and for each statement */
#define PG_PAUSE_MIN_NS (100 * CLOCK_NS_PER_MS) /* before connecting again */
#define PG_PAUSE_MAX_NS (5 * CLOCK_NS_PER_S)
#define PG_VALUES_MAX   12 /* of a statement */
#define PG_STATE_BYTES  6  /* SQLSTATE, with its NUL */

struct pg_link {
    PGconn *conn;      /* NULL: away */
    char *url;         /* owned; a secret may be in it */
    char name[32];     /* this process as the server shows it; no other has it */
    struct mono again; /* connect not before this */
    int64_t pause_ns;  /* the next one; the owner makes it PG_PAUSE_MIN_NS when all is well */
    char state[PG_STATE_BYTES]; /* of the last E_IO; "": it was no word of the server's */
    char why[STORE_WHY_MAX];
};

/* A value in binary; p NULL: null. */
struct pg_values {
    const char *p[PG_VALUES_MAX];
    int n[PG_VALUES_MAX];
    int count;
};

/* Copies the URL. E_NOMEM. */
int pg_link_init(struct pg_link *l, const char *url) MUST_CHECK;
void pg_link_fini(struct pg_link *l);
/* Is this a URL that libpq takes, and that is clear? */
bool pg_link_url_ok(const char *url);

/* Connect, whatever the pause says. */
int pg_link_open(struct pg_link *l) MUST_CHECK;
/* Let go of it, without a word to the server. */
void pg_link_drop(struct pg_link *l);
/* May it be tried again? */
bool pg_link_may_try(const struct pg_link *l, struct mono now);

/* Run SQL without values, which may be several statements. */
int pg_link_exec(struct pg_link *l, const char *sql) MUST_CHECK;
int pg_link_prepare(struct pg_link *l, const char *name, const char *sql) MUST_CHECK;
/* Run what was prepared. `*out` is the caller's to clear. */
int pg_link_run(struct pg_link *l, const char *name, const struct pg_values *v,
                PGresult **out) MUST_CHECK;
/* Run SQL for its rows, as text. `*out` as above. */
int pg_link_rows(struct pg_link *l, const char *sql, PGresult **out) MUST_CHECK;
