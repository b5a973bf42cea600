/* world/edge/storage.h: the store that -store names, from the start to the end.
 *   none           nothing is kept; nothing runs
 *   sqlite:FILE    world/edge/store_sqlite, behind a thread of its own (world/edge/store_worker)
 *   postgres://…   world/edge/store_postgres, behind the same
 * The core gets its door; what the store answers goes into the core and out to the links.
 * May touch: common, common/io/loop, the core's doors. On trouble: one line at the start; later the
 * world goes on, and storage_trouble tells.
 */
#pragma once

#include "common/io/loop.h"
#include "world/edge/edge_metrics.h"
#include "world/edge/store_db.h"
#include "world/world.h"

struct storage;

/* Has `store` a form that this program knows? 0, or E_BAD: `why` has the reason. */
int storage_check_form(const char *store, char *why, size_t why_cap) MUST_CHECK;
/* Is it a file, which one world alone can have? */
bool storage_is_file(const char *store);
/* As it may be shown: of a URL neither user nor password, nor what stands behind a `?`. */
#define STORAGE_SHOWN 256
void storage_show(const char *store, char out[STORAGE_SHOWN]);
/* -store-check: verify it and say what it holds. 0, or an E_* and `why`. */
int storage_verify(const char *store, FILE *to, char *why, size_t why_cap) MUST_CHECK;

/* Which one, and how. */
struct storage_config {
    const char *store; /* of a form that was checked */
    bool shared;       /* with the other worlds of a cluster */
    int64_t delay_ns;  /* -store-delay */
    uint64_t entities; /* -max-entities */
};

/* `why` as above. E_BAD: a file is one world's, and cannot be shared. */
int storage_open(struct loop *l, const struct storage_config *c, struct storage **out, char *why,
                 size_t why_cap) MUST_CHECK;
/* Closes it; what is not stored by then is lost. NULL is fine. */
void storage_close(struct storage *s);

/* For world_ops. */
struct store_door storage_door(struct storage *s);
/* Answers go to this world from here on; before, nothing is asked. */
void storage_serve(struct storage *s, struct world *w);

/* While held, answers wait in the worker's queue. */
void storage_hold(struct storage *s, bool held);

/* The end: hand over where everybody stands, store it all, then call `done`, once. No tick runs any
 * more. */
void storage_finish(struct storage *s, loop_fn *done, void *arg);
/* How many places the store did not take to the end; 0 after `done`. */
uint64_t storage_left(struct storage *s);

/* Does saving fail at present? `why` gets a few words. */
bool storage_trouble(struct storage *s, char why[STORE_WHY_MAX]);
void storage_gauges(struct storage *s, struct edge_metrics *m);
