/* tests/pg_server.h: a PostgreSQL of this test's own, to be stopped and killed.
 * By tests/pg.sh, in a folder under /tmp, on a socket there. May touch: tests/process, /proc,
 * files. On trouble: the test at hand fails; where it is not installed, a line says that it is
 * skipped.
 */
#pragma once

#include "tests/process.h"

struct pg_server {
    char folder[64];
    char url[160]; /* with a password that nobody asks for: PG_SERVER_SECRET */
    struct process *process;
};

#define PG_SERVER_SECRET "sesame-open-up"

/* Made and started. False: there is no PostgreSQL here, or this program has no libpq. */
bool pg_server_begin(struct pg_server *s);
/* Start it again, after it was killed. */
void pg_server_start(struct pg_server *s);
/* To it and to all its children. */
void pg_server_signal(const struct pg_server *s, int signo);
void pg_server_kill(struct pg_server *s);
/* Kill it and remove its folder. */
void pg_server_end(struct pg_server *s);
