/* tests/world/store_set.h: what every database behind the store's thread must do.
 * A set of checks over an opener, so that each kind of database runs the same.
 * May touch: world/edge/store_worker, common/io/loop. On trouble: the test at hand fails.
 */
#pragma once

#include "world/edge/store_worker.h"

/* Opens the database of this test, anew each time: what was stored before is there. */
struct store_set {
    const struct store_db_ops *db;
    void *(*open)(void *arg);
    void *arg;
};

#define STORE_RUN_PLACES 4096

/* A loop, a worker, and the answers that came. */
struct store_run {
    struct loop *loop;
    struct store_worker *worker;
    struct store_answer answers[64]; /* the first of them; data is not kept */
    size_t data_n[64];
    uint32_t n;
    uint32_t told[STORE_RUN_PLACES]; /* settles that came back of each place; all of them: */
    uint32_t n_told;
};

/* `db_arg` is taken. */
void store_run_begin(struct store_run *r, const struct store_db_ops *db, void *db_arg,
                     int64_t delay_ns, uint32_t pending_max);
void store_run_end(struct store_run *r);
void store_run_save(struct store_run *r, const char *name, double x);
void store_run_save_as(struct store_run *r, const char *name, double x, struct store_fence fence);
/* Asks, and turns the loop until the answer is there. NULL: it came, and was not kept. */
const struct store_answer *store_run_load(struct store_run *r, const char *name);
/* Until all that was taken is stored. */
void store_run_settle(struct store_run *r);
/* Ask to be told of a name. 0 or E_FULL. */
int store_run_ask_stored(struct store_run *r, uint32_t place, const char *name);
/* Until so many were told of, all in all. */
void store_run_await_told(struct store_run *r, uint32_t n);
struct store_character store_character_of(const char *name, double x);

void store_set_keeps(const struct store_set *s);       /* what was stored is there after a reopen */
void store_set_last_wins(const struct store_set *s);   /* many saves of a name, one of others */
void store_set_load_behind(const struct store_set *s); /* a load behind a save brings it */
void store_set_many(const struct store_set *s);        /* more than one group */
void store_set_names(const struct store_set *s);       /* any bytes that a name may have */
void store_set_fence(const struct store_set *s);       /* who is of the past overwrites nothing */
void store_set_stored(const struct store_set *s);      /* what is told to be stored is */
