/* world/edge/store_worker.c: see the header.
 * Here is what the loop's thread does; the worker's own is store_worker_thread.c.
 */
#include "world/edge/store_worker_own.h"

#include "common/err.h"
#include "common/log.h"
#include "common/rng.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define JOIN_NS (500 * CLOCK_NS_PER_MS) /* for the trip at hand, at the end */

/* --- what the core asks -------------------------------------------------------------------------
 */

/* Wake the thread if it sleeps for such a thing. */
static void wake(struct store_worker *w, enum store_wake what)
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

static void set_name(struct store_request *r, struct span name)
{
    ASSERT(name.n <= sizeof(r->character.name));
    memcpy(r->character.name, name.p, name.n);
    r->character.name_len = (uint8_t)name.n;
}

static int ask_load(void *arg, struct store_ticket ticket, struct span name)
{
    struct store_worker *w = arg;
    struct store_request r = {.kind = REQUEST_LOAD, .ticket = ticket};

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
    struct store_request r = {.kind = REQUEST_SAVE, .character = *c};

    if (store_ring_put(&w->requests, &r) != 0) {
        wake(w, WAKE_LOADS);
        store_worker_add(&w->full, 1);
        return E_FULL;
    }
    w->saves_put++;
    wake_later(w);
    return 0;
}

static int ask_settle(void *arg, struct store_settle what, struct span name)
{
    struct store_worker *w = arg;
    struct store_request r = {.kind = REQUEST_SETTLE, .settle = what};

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
    struct store_reply a;

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

    for (uint32_t n = 0; n < STORE_TURN; n++) {
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

/* --- the whole -------------------------------------------------------------------------------- */

static int start_thread(struct store_worker *w)
{
    sigset_t all, before;
    int err;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are the loop's */
    err = pthread_create(&w->thread, NULL, store_worker_run, w);
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
    err = store_ring_init(&w->requests, STORE_REQUESTS, sizeof(struct store_request));
    if (err == 0)
        err = store_ring_init(&w->answers, STORE_ANSWERS, sizeof(struct store_reply));
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
    struct store_reply a;

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
