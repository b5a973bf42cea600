/* world/edge/store_postgres.h: characters in a database of PostgreSQL: -store postgres://…
 * Two tables, made on first use: aegis_store (the schema's version, and who has it) and
 * aegis_character. A group of saves is one statement. One world has them at a time, by a lock that
 * goes with its connection; the worlds of a cluster share them, and the fence of each save says who
 * is of the past. A connection that is lost is made again by itself.
 * May touch: common, world/edge/pg_link, libpq. On trouble: E_IO and a few words, without the
 * password.
 */
#pragma once

#include "world/edge/store_db.h"

#include <stdio.h>

#define STORE_POSTGRES_VERSION 1

/* What the lock is for. */
enum store_postgres_way {
    STORE_POSTGRES_ALONE, /* nobody else may have it; fences begin anew */
    STORE_POSTGRES_SHARED /* with the other worlds of a cluster */
};

extern const struct store_db_ops store_postgres_ops;

/* Is this a URL that can be used? Else `why` says why not, and shows nothing of it. 0, E_BAD,
 * E_MISSING (this program is built without libpq). */
int store_postgres_form(const char *url, char *why, size_t why_cap) MUST_CHECK;
/* Connects, makes the tables, takes the lock. `why` gets the line, without newline: E_IO, E_BAD
 * (they are another's, or newer), E_NOMEM, E_MISSING. */
int store_postgres_open(const char *url, enum store_postgres_way way, void **db, char *why,
                        size_t why_cap) MUST_CHECK;
/* Say what it holds; changes nothing, and needs no lock. 0, or an E_* and `why`. */
int store_postgres_check(const char *url, FILE *to, char *why, size_t why_cap) MUST_CHECK;
