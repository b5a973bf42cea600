/* world/edge/store_worker_thread.c: the thread that owns a database: takes requests in their order,
 * stores in groups, answers loads, and tells who waits for what is stored.
 * May touch: world/edge/store_worker_own, the database's table, clocks. On trouble: what cannot be
 * stored stays and is tried again; one line of log for a failure that lasts.
 */
#include "world/edge/store_worker_own.h"

#include "common/err.h"
#include "common/log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define IDLE_NS (10 * CLOCK_NS_PER_S) /* a thread with nothing to do looks up */

static struct span name_of(const struct store_request *r)
{
    return span_of(r->character.name, r->character.name_len);
}

/* A trip to the database begins. */
static void trip(const struct store_worker *w)
{
    int64_t ns = w->config.delay_ns;
    struct timespec t = {(time_t)(ns / CLOCK_NS_PER_S), (long)(ns % CLOCK_NS_PER_S)};

    if (ns > 0)
        nanosleep(&t, NULL);
}

static void fail(struct store_worker *w)
{
    struct mono now = clock_mono();
    char why[STORE_WHY_MAX];
    enum store_trouble what = w->config.db->trouble(w->config.db_arg, why);
    bool first = !w->failing;

    store_worker_add(&w->failures[what], 1);
    pthread_mutex_lock(&w->lock);
    w->failing = true;
    memcpy(w->why, why, sizeof(why));
    pthread_mutex_unlock(&w->lock);
    if (first)
        w->failed_at = now;
    if (first || clock_since(now, w->logged_at) >= STORE_LOG_NS) {
        w->logged_at = now;
        log_line(LOG_WARN, "store fails why=\"%s\" waiting=%" PRIu32 " since_s=%" PRId64, why,
                 w->queue.count, (int64_t)(clock_since(now, w->failed_at) / CLOCK_NS_PER_S));
    }
}

static void mend(struct store_worker *w)
{
    if (!w->failing)
        return;
    pthread_mutex_lock(&w->lock);
    w->failing = false;
    pthread_mutex_unlock(&w->lock);
    log_line(LOG_INFO, "store saves again after_s=%" PRId64,
             (int64_t)(clock_since(clock_mono(), w->failed_at) / CLOCK_NS_PER_S));
}

/* Somebody newer has it; what was saved here is void. One line for all of a while, with a name. */
static void note_refused(struct store_worker *w, const struct store_refused *r)
{
    struct mono now = clock_mono();

    store_worker_add(&w->refused, r->count);
    w->refused_unsaid += r->count;
    if (r->count == 0 || (w->refused_said && clock_since(now, w->refused_at) < STORE_LOG_NS))
        return;
    log_line(LOG_WARN,
             "store refused what is older than what it has saves=%" PRIu64 " name=\"%.*s\"",
             w->refused_unsaid, (int)r->name_len, r->name);
    w->refused_said = true;
    w->refused_at = now;
    w->refused_unsaid = 0;
}

/* The first `n` that wait, as one; `refused` are older than what is there. */
static int store_group(struct store_worker *w, uint32_t n, struct store_refused *refused)
{
    const struct store_db_ops *db = w->config.db;
    const struct store_character *c = store_queue_first(&w->queue);
    int err = db->begin(w->config.db_arg);

    for (uint32_t i = 0; err == 0 && i < n; i++) {
        err = db->save(w->config.db_arg, c);
        c = store_queue_after(&w->queue, c);
    }
    if (err == 0)
        err = db->commit(w->config.db_arg, refused);
    if (err != 0) {
        fail(w);
        db->rollback(w->config.db_arg);
    }
    return err;
}

static void set_pending(struct store_worker *w)
{
    atomic_store_explicit(&w->pending, w->queue.count, memory_order_relaxed);
}

static void put_settled(struct store_worker *w, const struct store_settle *what)
{
    int err = store_ring_put(&w->settled, what);

    ASSERT(err == 0); /* no more are asked than it has places */
}

/* Those whose turn has come. */
static void tell_waiters(struct store_worker *w)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < w->waiting; i++) {
        if (w->waiters[i].turn > w->queue.gone)
            w->waiters[kept++] = w->waiters[i];
        else
            put_settled(w, &w->waiters[i].what);
    }
    if (kept < w->waiting)
        loop_bell_ring(w->bell);
    w->waiting = kept;
}

/* One group, if it is due. */
static void save_due(struct store_worker *w)
{
    uint32_t n = w->queue.count < STORE_GROUP ? w->queue.count : STORE_GROUP;
    bool due = n == STORE_GROUP || atomic_load(&w->hurry);
    struct store_refused refused = {0};

    if (n == 0 || (!due && clock_since(w->group_at, clock_mono()) > 0))
        return;
    if (w->failing && clock_since(w->group_at, clock_mono()) > 0)
        return;
    trip(w);
    if (store_group(w, n, &refused) != 0) {
        w->group_at = clock_add(clock_mono(), STORE_AGAIN_NS);
        return;
    }
    mend(w);
    store_queue_drop(&w->queue, n);
    tell_waiters(w);
    set_pending(w);
    w->group_at = clock_add(clock_mono(), STORE_GROUP_NS);
    store_worker_add(&w->stored, n - refused.count);
    note_refused(w, &refused);
    store_worker_add(&w->groups, 1);
    atomic_fetch_add(&w->saves_done, n);
}

static bool take_save(struct store_worker *w, struct store_request *r)
{
    int what;

    r->character.seen_s = (int64_t)time(NULL);
    what = store_queue_put(&w->queue, &r->character);
    if (what < 0)
        return false; /* it stays in the ring, and all behind it */
    if (what > 0) {
        store_worker_add(&w->coalesced, 1);
        atomic_fetch_add(&w->saves_done, 1);
    } else if (w->queue.count == 1 && !w->failing) {
        w->group_at = clock_add(clock_mono(), STORE_GROUP_NS);
    }
    return true;
}

static void load(struct store_worker *w, const struct store_request *r)
{
    struct store_reply a = {.answer = {.ticket = r->ticket, .result = STORE_FOUND}};
    struct span name = name_of(r);
    const struct store_character *waits = store_queue_find(&w->queue, name);
    struct store_character *c = &a.answer.character;
    size_t n = 0;
    int err = w->config.db->load(w->config.db_arg, name, c, w->data, &n);

    if (err == 0 && n > 0) {
        a.data = malloc(n);
        if (a.data) {
            memcpy(a.data, w->data, n);
            a.answer.data = span_of(a.data, n);
        } else {
            err = E_NOMEM;
        }
    }
    if (waits && (err == E_MISSING || (err == 0 && !store_fence_below(&waits->fence, &c->fence)))) {
        *c = *waits;
        err = 0;
    }
    if (err == E_MISSING)
        a.answer.result = STORE_UNKNOWN;
    else if (err != 0)
        a.answer.result = STORE_FAILED;
    if (err == E_IO)
        store_worker_add(&w->load_failures, 1);
    else
        store_worker_add(err == 0 ? &w->found : &w->unknown, 1);
    err = store_ring_put(&w->answers, &a);
    ASSERT(err == 0); /* no more are open than it has places */
}

/* It waits for its turn; true: there is nothing to wait for. */
static bool take_settle(struct store_worker *w, const struct store_request *r)
{
    uint64_t turn = store_queue_turn(&w->queue, name_of(r));

    if (turn == 0) {
        put_settled(w, &r->settle);
        return true;
    }
    ASSERT(w->waiting < STORE_SETTLES);
    w->waiters[w->waiting++] = (struct store_waiter){r->settle, turn};
    return false;
}

/* Take what came, a bounded part of it. False: there is nothing more that can be taken. */
static bool take(struct store_worker *w)
{
    struct store_request r;
    uint32_t n = 0, loads = 0;
    bool told = false;

    while (n < STORE_TURN && store_ring_peek(&w->requests, &r)) {
        if (r.kind == REQUEST_SAVE && !take_save(w, &r))
            break;
        if (r.kind == REQUEST_SETTLE && take_settle(w, &r))
            told = true;
        if (r.kind == REQUEST_LOAD) {
            if (loads++ == 0)
                trip(w);
            load(w, &r);
            told = true;
        }
        store_ring_drop(&w->requests);
        n++;
    }
    set_pending(w);
    if (told)
        loop_bell_ring(w->bell);
    return n > 0;
}

/* Until something comes, or the next group is due. */
static void rest(struct store_worker *w)
{
    bool waiting = w->queue.count > 0;
    struct mono until = waiting ? w->group_at : clock_add(clock_mono(), IDLE_NS);
    struct timespec t = {(time_t)(until.ns / CLOCK_NS_PER_S), (long)(until.ns % CLOCK_NS_PER_S)};
    bool full = w->queue.count == w->queue.cap; /* then what came cannot be taken */

    atomic_store(&w->asleep, waiting ? WAKE_LOADS : WAKE_ANY);
    if ((store_ring_count(&w->requests) == 0 || full) && !atomic_load(&w->stop)) {
        while (sem_clockwait(&w->wake, CLOCK_MONOTONIC, &t) != 0 && errno == EINTR)
            continue;
    }
    atomic_store(&w->asleep, WAKE_AWAKE);
}

void *store_worker_run(void *arg)
{
    struct store_worker *w = arg;

    while (!atomic_load(&w->stop)) {
        bool more = take(w);

        save_due(w);
        if (!more)
            rest(w);
    }
    return NULL;
}
