/* world/edge/store_worker.c: see the header. */
#include "world/edge/store_worker.h"

#include "common/err.h"
#include "common/log.h"
#include "common/rng.h"
#include "world/edge/store_queue.h"
#include "world/edge/store_ring.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define TURN_MAX 256                     /* requests taken, or answers handed over, in one go */
#define IDLE_NS  (10 * CLOCK_NS_PER_S)   /* a thread with nothing to do looks up */
#define JOIN_NS  (500 * CLOCK_NS_PER_MS) /* for the trip at hand, at the end */

enum request_kind { REQUEST_SAVE, REQUEST_LOAD, REQUEST_SETTLE };

struct request {
    enum request_kind kind;
    union {
        struct store_ticket ticket; /* of a load */
        struct store_settle settle; /* of a settle */
    };
    struct store_character character; /* of a save; else its name alone */
};

struct answer {
    struct store_answer answer;
    uint8_t *data; /* owned; NULL: none */
};

/* A settle whose name is in the queue. */
struct waiter {
    struct store_settle what;
    uint64_t turn; /* as store_queue_turn says */
};

/* What the thread sleeps for. */
enum wake { WAKE_AWAKE, WAKE_LOADS, WAKE_ANY };

struct store_worker {
    struct store_worker_config config;
    struct loop_bell *bell;
    pthread_t thread;
    bool running;
    sem_t wake;

    struct store_ring requests, answers, settled;
    _Atomic int asleep; /* enum wake */
    _Atomic bool stop, hurry;

    /* The loop's. */
    uint32_t open;      /* loads not answered yet */
    uint32_t settling;  /* settles not told yet */
    bool held;          /* answers wait */
    uint64_t saves_put; /* taken from the core */

    /* The thread's own. */
    struct store_queue queue;
    struct waiter *waiters; /* [STORE_SETTLES], of which `waiting` are; in the order of asking */
    uint32_t waiting;
    struct mono group_at; /* the next group is due; where something waits */
    uint8_t data[STORE_DATA_MAX];
    struct mono failed_at, logged_at; /* of the failure that lasts */

    /* The thread's, read by the loop. */
    _Atomic uint64_t saves_done; /* stored, or their place was taken by a later one that is */
    _Atomic uint64_t stored, coalesced, refused, groups, found, unknown, load_failures, full;
    _Atomic uint64_t failures[STORE_TROUBLE_COUNT];
    _Atomic uint32_t pending;
    pthread_mutex_t lock; /* of the two below */
    bool failing;
    char why[STORE_WHY_MAX];
};

static void add(_Atomic uint64_t *counter, uint64_t n)
{
    atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

/* --- in the loop's thread --------------------------------------------------------------------- */

/* Wake the thread if it sleeps for such a thing. */
static void wake(struct store_worker *w, enum wake what)
{
    int asleep = atomic_load(&w->asleep);

    while (asleep >= (int)what) {
        if (atomic_compare_exchange_weak(&w->asleep, &asleep, WAKE_AWAKE)) {
            sem_post(&w->wake);
            return;
        }
    }
}

/* One that waits for its group anyway is left asleep, unless the ring gets full meanwhile. */
static void wake_later(struct store_worker *w)
{
    wake(w, store_ring_count(&w->requests) > STORE_REQUESTS / 2 ? WAKE_LOADS : WAKE_ANY);
}

static void set_name(struct request *r, struct span name)
{
    ASSERT(name.n <= sizeof(r->character.name));
    memcpy(r->character.name, name.p, name.n);
    r->character.name_len = (uint8_t)name.n;
}

static struct span name_of(const struct request *r)
{
    return span_of(r->character.name, r->character.name_len);
}

static int ask_load(void *arg, struct store_ticket ticket, struct span name)
{
    struct store_worker *w = arg;
    struct request r = {.kind = REQUEST_LOAD, .ticket = ticket};

    set_name(&r, name);
    if (w->open == STORE_ANSWERS || store_ring_put(&w->requests, &r) != 0)
        return E_FULL;
    w->open++;
    wake(w, WAKE_LOADS);
    return 0;
}

static int ask_save(void *arg, const struct store_character *c)
{
    struct store_worker *w = arg;
    struct request r = {.kind = REQUEST_SAVE, .character = *c};

    if (store_ring_put(&w->requests, &r) != 0) {
        wake(w, WAKE_LOADS);
        add(&w->full, 1);
        return E_FULL;
    }
    w->saves_put++;
    wake_later(w);
    return 0;
}

static int ask_settle(void *arg, struct store_settle what, struct span name)
{
    struct store_worker *w = arg;
    struct request r = {.kind = REQUEST_SETTLE, .settle = what};

    set_name(&r, name);
    if (w->settling == STORE_SETTLES || store_ring_put(&w->requests, &r) != 0) {
        wake(w, WAKE_LOADS);
        return E_FULL;
    }
    w->settling++;
    wake_later(w);
    return 0;
}

const struct store_ops store_worker_ops = {
    .load = ask_load, .save = ask_save, .settle = ask_settle};

static bool tell_answer(struct store_worker *w)
{
    struct answer a;

    if (!store_ring_peek(&w->answers, &a))
        return false;
    store_ring_drop(&w->answers);
    ASSERT(w->open > 0);
    w->open--;
    w->config.answer(w->config.arg, &a.answer);
    free(a.data);
    return true;
}

static bool tell_stored(struct store_worker *w)
{
    struct store_settle what;

    if (!store_ring_peek(&w->settled, &what))
        return false;
    store_ring_drop(&w->settled);
    ASSERT(w->settling > 0);
    w->settling--;
    w->config.stored(w->config.arg, &what);
    return true;
}

static void on_bell(void *arg)
{
    struct store_worker *w = arg;

    for (uint32_t n = 0; n < TURN_MAX; n++) {
        bool answered = !w->held && tell_answer(w), stored = !w->held && tell_stored(w);

        if (!answered && !stored)
            return;
    }
    loop_bell_ring(w->bell); /* a tick may be due before the rest */
}

void store_worker_hold(struct store_worker *w, bool held)
{
    w->held = held;
    if (!held)
        loop_bell_ring(w->bell);
}

/* --- in its own thread ------------------------------------------------------------------------ */

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

    add(&w->failures[what], 1);
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

/* Somebody newer has it; what was saved here is void. */
static void note_refused(struct store_worker *w, const struct store_refused *r)
{
    add(&w->refused, r->count);
    if (r->count > 0)
        log_often(LOG_WARN,
                  "store refused what is older than what it has saves=%" PRIu32 " name=\"%.*s\"",
                  r->count, (int)r->name_len, r->name);
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
    add(&w->stored, n - refused.count);
    note_refused(w, &refused);
    add(&w->groups, 1);
    atomic_fetch_add(&w->saves_done, n);
}

static bool take_save(struct store_worker *w, struct request *r)
{
    int what;

    r->character.seen_s = (int64_t)time(NULL);
    what = store_queue_put(&w->queue, &r->character);
    if (what < 0)
        return false; /* it stays in the ring, and all behind it */
    if (what > 0) {
        add(&w->coalesced, 1);
        atomic_fetch_add(&w->saves_done, 1);
    } else if (w->queue.count == 1 && !w->failing) {
        w->group_at = clock_add(clock_mono(), STORE_GROUP_NS);
    }
    return true;
}

static void load(struct store_worker *w, const struct request *r)
{
    struct answer a = {.answer = {.ticket = r->ticket, .result = STORE_FOUND}};
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
        add(&w->load_failures, 1);
    else
        add(err == 0 ? &w->found : &w->unknown, 1);
    err = store_ring_put(&w->answers, &a);
    ASSERT(err == 0); /* no more are open than it has places */
}

/* It waits for its turn; true: there is nothing to wait for. */
static bool take_settle(struct store_worker *w, const struct request *r)
{
    uint64_t turn = store_queue_turn(&w->queue, name_of(r));

    if (turn == 0) {
        put_settled(w, &r->settle);
        return true;
    }
    ASSERT(w->waiting < STORE_SETTLES);
    w->waiters[w->waiting++] = (struct waiter){r->settle, turn};
    return false;
}

/* Take what came, a bounded part of it. False: there is nothing more that can be taken. */
static bool take(struct store_worker *w)
{
    struct request r;
    uint32_t n = 0, loads = 0;
    bool told = false;

    while (n < TURN_MAX && store_ring_peek(&w->requests, &r)) {
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

static void *run(void *arg)
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

/* --- the whole -------------------------------------------------------------------------------- */

static int start_thread(struct store_worker *w)
{
    sigset_t all, before;
    int err;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are the loop's */
    err = pthread_create(&w->thread, NULL, run, w);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    w->running = err == 0;
    return err == 0 ? 0 : E_IO;
}

static int take_waiters(struct store_worker *w)
{
    w->waiters = calloc(STORE_SETTLES, sizeof(*w->waiters));
    return w->waiters ? 0 : E_NOMEM;
}

int store_worker_create(struct loop *l, const struct store_worker_config *c,
                        struct store_worker **out)
{
    struct store_worker *w = calloc(1, sizeof(*w));
    uint64_t seed;
    int err;

    *out = NULL;
    if (!w) {
        c->db->close(c->db_arg);
        return E_NOMEM;
    }
    w->config = *c;
    rng_secret(&seed, sizeof(seed));
    sem_init(&w->wake, 0, 0);
    pthread_mutex_init(&w->lock, NULL);
    err = store_ring_init(&w->requests, STORE_REQUESTS, sizeof(struct request));
    if (err == 0)
        err = store_ring_init(&w->answers, STORE_ANSWERS, sizeof(struct answer));
    if (err == 0)
        err = store_ring_init(&w->settled, STORE_SETTLES, sizeof(struct store_settle));
    if (err == 0)
        err = take_waiters(w);
    if (err == 0)
        err = store_queue_init(&w->queue, c->pending_max, seed);
    if (err == 0)
        err = loop_bell_create(l, on_bell, w, &w->bell);
    if (err == 0)
        err = start_thread(w);
    if (err != 0)
        store_worker_destroy(w);
    else
        *out = w;
    return err;
}

/* False: it hangs in its database. */
static bool stop_thread(struct store_worker *w)
{
    struct mono until = clock_add(clock_mono(), JOIN_NS);
    struct timespec t = {(time_t)(until.ns / CLOCK_NS_PER_S), (long)(until.ns % CLOCK_NS_PER_S)};

    atomic_store(&w->stop, true);
    wake(w, WAKE_LOADS);
    return pthread_clockjoin_np(w->thread, NULL, CLOCK_MONOTONIC, &t) == 0;
}

void store_worker_destroy(struct store_worker *w)
{
    struct answer a;

    if (!w)
        return;
    if (w->running && !stop_thread(w)) {
        /* As with a kill: what is committed is safe. */
        log_line(LOG_WARN, "store does not end: ending without it");
        _exit(EXIT_FAILURE);
    }
    w->config.db->close(w->config.db_arg);
    while (w->answers.slots && store_ring_peek(&w->answers, &a)) {
        store_ring_drop(&w->answers);
        free(a.data);
    }
    loop_bell_destroy(w->bell);
    store_queue_fini(&w->queue);
    free(w->waiters);
    store_ring_fini(&w->settled);
    store_ring_fini(&w->answers);
    store_ring_fini(&w->requests);
    pthread_mutex_destroy(&w->lock);
    sem_destroy(&w->wake);
    free(w);
}

void store_worker_hurry(struct store_worker *w)
{
    atomic_store(&w->hurry, true);
    wake(w, WAKE_LOADS);
}

bool store_worker_settled(struct store_worker *w, uint64_t *left)
{
    uint64_t done = atomic_load(&w->saves_done);

    if (left)
        *left = w->saves_put - done;
    return done == w->saves_put && w->settling == 0;
}

bool store_worker_trouble(struct store_worker *w, char why[STORE_WHY_MAX])
{
    bool failing;

    pthread_mutex_lock(&w->lock);
    failing = w->failing;
    memcpy(why, w->why, STORE_WHY_MAX);
    pthread_mutex_unlock(&w->lock);
    return failing;
}

void store_worker_gauges(struct store_worker *w, struct edge_metrics *m)
{
    char why[STORE_WHY_MAX];

    m->store_failing = store_worker_trouble(w, why);
    m->store_ring = store_ring_count(&w->requests);
    m->store_pending = atomic_load(&w->pending);
    m->store_full = atomic_load(&w->full);
    m->store_stored = atomic_load(&w->stored);
    m->store_coalesced = atomic_load(&w->coalesced);
    m->store_refused = atomic_load(&w->refused);
    m->store_groups = atomic_load(&w->groups);
    m->store_found = atomic_load(&w->found);
    m->store_unknown = atomic_load(&w->unknown);
    m->store_load_failed = atomic_load(&w->load_failures);
#define STORE_FAILURE(name, word) m->store_failed_##word = atomic_load(&w->failures[name]);
    STORE_TROUBLES(STORE_FAILURE)
#undef STORE_FAILURE
}
