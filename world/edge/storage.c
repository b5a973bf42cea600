/* world/edge/storage.c: see the header. */
#include "world/edge/storage.h"

#include "common/err.h"
#include "world/command/inbox.h"
#include "world/command/keep.h"
#include "world/edge/store_none.h"
#include "world/edge/store_postgres.h"
#include "world/edge/store_sqlite.h"
#include "world/edge/store_worker.h"

#include <stdlib.h>
#include <string.h>

#define SQLITE_WORD "sqlite:"

#define FINISH_STEP_NS (5 * CLOCK_NS_PER_MS)
#define PENDING_LEAST  65536 /* names that may wait while the database is away */

struct storage {
    struct loop *loop;
    struct store_worker *worker; /* NULL: nothing is kept */
    struct world *world;
    struct loop_timer *step; /* of finishing */
    loop_fn *done;
    void *done_arg;
    bool handed_over;
};

static bool starts(const char *text, const char *word)
{
    return strncmp(text, word, strlen(word)) == 0;
}

/* The file of "sqlite:FILE"; NULL: it is another store. */
static const char *sqlite_file(const char *store)
{
    return starts(store, SQLITE_WORD) ? store + strlen(SQLITE_WORD) : NULL;
}

static bool is_postgres(const char *store)
{
    return starts(store, "postgres://") || starts(store, "postgresql://");
}

bool storage_is_file(const char *store)
{
    return sqlite_file(store) != NULL;
}

int storage_check_form(const char *store, char *why, size_t why_cap)
{
    const char *file = sqlite_file(store);

    if (strcmp(store, STORE_NONE) == 0 || (file && file[0] != '\0'))
        return 0;
    if (is_postgres(store))
        return store_postgres_form(store, why, why_cap);
    if (file)
        snprintf(why, why_cap, "lacks the name of a file: sqlite:FILE");
    else
        snprintf(why, why_cap, "must be none, sqlite:FILE or postgres://USER@HOST/DATABASE");
    return E_BAD;
}

void storage_show(const char *store, char out[STORAGE_SHOWN])
{
    const char *host = strstr(store, "://"), *at = strrchr(store, '@');
    int scheme = host ? (int)(host + 3 - store) : 0;

    if (!host) {
        snprintf(out, STORAGE_SHOWN, "%s", store);
        return;
    }
    host = at && at > host ? at + 1 : host + 3;
    snprintf(out, STORAGE_SHOWN, "%.*s%.*s", scheme, store, (int)strcspn(host, "?"), host);
}

int storage_verify(const char *store, FILE *to, char *why, size_t why_cap)
{
    const char *file = sqlite_file(store);

    if (file)
        return store_sqlite_check(file, to, why, why_cap);
    if (is_postgres(store))
        return store_postgres_check(store, to, why, why_cap);
    snprintf(why, why_cap, "there is nothing to check");
    return E_BAD;
}

static void on_answer(void *arg, const struct store_answer *a)
{
    struct storage *s = arg;

    ASSERT(s->world);
    inbox_loaded(s->world, a, loop_now(s->loop));
    outbox_flush(&s->world->outbox);
}

static void on_stored(void *arg, const struct store_settle *what)
{
    struct storage *s = arg;

    ASSERT(s->world);
    inbox_stored(s->world, what, loop_now(s->loop));
    outbox_flush(&s->world->outbox);
}

static int open_worker(struct storage *s, const struct storage_config *c, char *why, size_t why_cap)
{
    const char *file = sqlite_file(c->store);
    uint64_t entities = c->entities != 0 ? c->entities : WORLD_ENTITIES_MAX;
    struct store_worker_config wc = {
        .db = file ? &store_sqlite_ops : &store_postgres_ops,
        .pending_max = (uint32_t)(entities > PENDING_LEAST ? entities : PENDING_LEAST),
        .delay_ns = c->delay_ns,
        .answer = on_answer,
        .stored = on_stored,
        .arg = s,
    };
    enum store_postgres_way way = c->shared ? STORE_POSTGRES_SHARED : STORE_POSTGRES_ALONE;
    int err;

    if (file && c->shared) {
        snprintf(why, why_cap,
                 "a file is one world's: a cluster shares postgres://USER@HOST/DATABASE");
        return E_BAD;
    }
    err = file ? store_sqlite_open(file, &wc.db_arg, why, why_cap)
               : store_postgres_open(c->store, way, &wc.db_arg, why, why_cap);
    if (err != 0)
        return err;
    err = store_worker_create(s->loop, &wc, &s->worker);
    if (err != 0)
        snprintf(why, why_cap, "%s", err_text(err));
    return err;
}

int storage_open(struct loop *l, const struct storage_config *c, struct storage **out, char *why,
                 size_t why_cap)
{
    struct storage *s = calloc(1, sizeof(*s));
    int err = 0;

    *out = NULL;
    snprintf(why, why_cap, "%s", err_text(E_NOMEM));
    if (!s)
        return E_NOMEM;
    s->loop = l;
    if (strcmp(c->store, STORE_NONE) != 0)
        err = open_worker(s, c, why, why_cap);
    if (err != 0)
        storage_close(s);
    else
        *out = s;
    return err;
}

void storage_close(struct storage *s)
{
    if (!s)
        return;
    loop_timer_destroy(s->step);
    store_worker_destroy(s->worker);
    free(s);
}

struct store_door storage_door(struct storage *s)
{
    if (!s->worker)
        return store_none_door();
    return (struct store_door){&store_worker_ops, s->worker};
}

void storage_serve(struct storage *s, struct world *w)
{
    s->world = w;
}

void storage_hold(struct storage *s, bool held)
{
    if (s->worker)
        store_worker_hold(s->worker, held);
}

/* --- the end ---------------------------------------------------------------------------------- */

static void on_step(void *arg)
{
    struct storage *s = arg;

    if (!s->handed_over)
        s->handed_over = keep_finish(s->world);
    if (!s->worker || (s->handed_over && store_worker_settled(s->worker, NULL))) {
        s->done(s->done_arg);
        return;
    }
    loop_timer_arm(s->step, FINISH_STEP_NS);
}

void storage_finish(struct storage *s, loop_fn *done, void *arg)
{
    s->done = done;
    s->done_arg = arg;
    if (!s->worker) {
        done(arg);
        return;
    }
    store_worker_hurry(s->worker);
    s->handed_over = keep_finish(s->world);
    if (loop_timer_create(s->loop, on_step, s, &s->step) != 0) {
        done(arg); /* no memory for a timer: storage_left tells what is lost */
        return;
    }
    loop_timer_arm(s->step, FINISH_STEP_NS);
}

uint64_t storage_left(struct storage *s)
{
    uint64_t left = 0;

    if (s->worker)
        store_worker_settled(s->worker, &left);
    if (s->worker && !s->handed_over)
        left += keep_left(s->world);
    return left;
}

bool storage_trouble(struct storage *s, char why[STORE_WHY_MAX])
{
    return s->worker && store_worker_trouble(s->worker, why);
}

void storage_gauges(struct storage *s, struct edge_metrics *m)
{
    if (s->worker)
        store_worker_gauges(s->worker, m);
}
