/* world/edge/store_db.h: what a store's thread asks of a database.
 * One table for each kind of database; everything is called by the one thread that owns it, and may
 * take its time. Queues, order, groups and tries again are the thread's (world/edge/store_worker).
 * May touch: common, world/store. On trouble: E_IO, and `trouble` says what.
 */
#pragma once

#include "world/store.h"

#include <string.h>

/* What a database may suffer from; also the labels of what is counted. */
#define STORE_TROUBLES(X)         \
    X(STORE_FULL, full)           \
    X(STORE_LOCKED, locked)       \
    X(STORE_READ_ONLY, read_only) \
    X(STORE_CORRUPT, corrupt)     \
    X(STORE_IO, io)

#define STORE_TROUBLE_ENUM(name, word) name,
enum store_trouble { STORE_TROUBLES(STORE_TROUBLE_ENUM) STORE_TROUBLE_COUNT };
#undef STORE_TROUBLE_ENUM

#define STORE_WHY_MAX 128
#define STORE_GROUP   1024 /* saves between a begin and its commit */

/* Saves of a group whose fence was below that of what is there. */
struct store_refused {
    uint32_t count;
    uint8_t name_len;
    char name[PROTO_NAME_MAX]; /* of one of them, where there is one */
};

struct store_db_ops {
    /* 0: `out` is the character, `data` [STORE_DATA_MAX] its data. E_MISSING: there is none.
     * E_IO. */
    int (*load)(void *db, struct span name, struct store_character *out, uint8_t *data,
                size_t *data_n);
    /* A group of saves, of another name each, becomes one, or none of it. Each 0 or E_IO; after an
     * E_IO rollback follows. A save whose fence is below that of what is there changes nothing, and
     * is told as refused, whoever else saves there at that moment. */
    int (*begin)(void *db);
    int (*save)(void *db, const struct store_character *c);
    int (*commit)(void *db, struct store_refused *refused);
    void (*rollback)(void *db);
    /* Of the last E_IO; `why` gets a few words. */
    enum store_trouble (*trouble)(void *db, char why[STORE_WHY_MAX]);
    void (*close)(void *db);
};

static inline void store_refused_add(struct store_refused *r, const struct store_character *c)
{
    r->count++;
    r->name_len = c->name_len;
    memcpy(r->name, c->name, c->name_len);
}
