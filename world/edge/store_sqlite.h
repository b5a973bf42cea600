/* world/edge/store_sqlite.h: characters in one file of SQLite.
 * Write-ahead log with synchronous=FULL: a group that is committed survives the end of the process
 * at any moment, and that of the machine too where its disk keeps what it says it has written. The
 * file carries our application id and the version of its schema; an older one is brought up to date
 * when it is opened, a newer one is refused. One process at a time has it as a store; others may
 * read it meanwhile.
 * May touch: common, sqlite3, files. On trouble at the start: one line; later see store_db.h.
 */
#pragma once

#include "world/edge/store_db.h"

#include <stdio.h>

#define STORE_SQLITE_ID      0x41454749 /* application_id: "AEGI" */
#define STORE_SQLITE_VERSION 3          /* user_version of the schema */

extern const struct store_db_ops store_sqlite_ops;

/* Opens, makes or migrates it. `why` gets the line, without newline: E_IO, E_NOMEM, E_MISSING (this
 * program is built without SQLite). */
int store_sqlite_open(const char *path, void **db, char *why, size_t why_cap) MUST_CHECK;

/* Verify a file, and say what it holds; changes nothing. 0, or an E_* and `why`. */
int store_sqlite_check(const char *path, FILE *to, char *why, size_t why_cap) MUST_CHECK;
