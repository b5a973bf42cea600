/* gateway/crew.c: threads, and what is said between them.
 * May touch: common, gateway, threads. On trouble: see crew.h.
 */
#include "gateway/crew.h"

#include "common/err.h"
#include "common/io/tls.h"
#include "common/keys.h"
#include "common/log.h"
#include "common/rng.h"
#include "gateway/clients.h"
#include "gateway/roster_nats.h"
#include "gateway/web_files.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CREW_WHY_MAX   480
#define CREW_SUM_STEPS 10                   /* steps between two looks at every client's queue */
#define CREW_HUNG_NS   (5 * CLOCK_NS_PER_S) /* a thread that did not step for so long hangs */

/* What the first thread tells another. */
enum crew_order { CREW_SERVE, CREW_DRAIN, CREW_STOP };

struct crew_trace {
    uint64_t session;
    uint32_t lines; /* 0: nothing is wanted */
    uint32_t seconds;
};

/* One of the gateways. */
struct crew_gate {
    struct crew *crew;
    struct gateway *gateway;
    struct loop *loop;
    struct loop_bell *bell; /* look at `order`; NULL: the first one's */
    pthread_t thread;
    bool running;            /* `thread` is there */
    uint32_t steps;          /* its thread's */
    _Atomic int order;       /* enum crew_order */
    _Atomic bool over;       /* drained */
    pthread_mutex_t lock;    /* of what is below */
    struct crew_trace trace; /* wanted of its thread */
    bool news;               /* `roster` is */
    struct roster roster;
    struct gateway_metrics metrics;
    const char *unready; /* NULL: it is ready */
    struct mono stepped;
};

struct crew {
    struct loop *loop; /* the first one's */
    struct crew_gate *gates;
    uint32_t n;
    struct loop_bell *home; /* one more is over */
    struct clients_total total;
    struct web_files *web;       /* NULL: no -ws-listen */
    struct addresses *addresses; /* NULL: none is watched */
    struct keys keys;            /* all zero: no -link-key */
    struct tls *tls;             /* NULL: no -tls-cert */
    struct roster_nats *cluster; /* NULL: no -cluster */
    uint64_t reloads, reloads_failed;
    struct gateway_metrics sum;
    bool draining;
};

/* --- in a gateway's own thread -----------------------------------------------------------------
 */

/* Copy out what operators may ask for. */
static void crew_publish(struct crew_gate *gate)
{
    const struct gateway_metrics *m = gate->steps++ % CREW_SUM_STEPS == 0
                                          ? gateway_metrics_now(gate->gateway)
                                          : gateway_metrics_soon(gate->gateway);
    const char *unready = gateway_unready(gate->gateway);

    pthread_mutex_lock(&gate->lock);
    gate->metrics = *m;
    gate->unready = unready;
    gate->stepped = loop_now(gate->loop);
    pthread_mutex_unlock(&gate->lock);
}

static void crew_on_step(void *arg)
{
    crew_publish(arg);
}

static void crew_look(void *arg);

static void crew_on_over(void *arg)
{
    struct crew_gate *gate = arg;

    atomic_store(&gate->over, true);
    if (gate->bell)
        loop_bell_ring(gate->crew->home);
    else
        crew_look(gate->crew);
}

/* Do what was asked of this thread. */
static void crew_take_trace(struct crew_gate *gate)
{
    pthread_mutex_lock(&gate->lock);
    const struct crew_trace want = gate->trace;
    gate->trace.lines = 0;
    pthread_mutex_unlock(&gate->lock);
    if (want.lines > 0)
        gateway_trace(gate->gateway, want.session, want.lines, want.seconds);
}

static void crew_take_worlds(struct crew_gate *gate)
{
    struct roster roster;

    pthread_mutex_lock(&gate->lock);
    const bool news = gate->news;
    if (news)
        roster = gate->roster;
    gate->news = false;
    pthread_mutex_unlock(&gate->lock);
    if (news)
        gateway_worlds(gate->gateway, &roster);
}

static void crew_on_bell(void *arg)
{
    struct crew_gate *gate = arg;
    const int order = atomic_load(&gate->order);

    crew_take_trace(gate);
    crew_take_worlds(gate);
    if (order == CREW_STOP)
        loop_stop(gate->loop);
    else if (order == CREW_DRAIN)
        gateway_drain(gate->gateway);
}

static void *crew_thread(void *arg)
{
    struct crew_gate *gate = arg;

    loop_run(gate->loop);
    return NULL;
}

/* --- in the first one's ------------------------------------------------------------------------
 */

static void crew_tell(struct crew_gate *gate, enum crew_order order)
{
    atomic_store(&gate->order, order);
    loop_bell_ring(gate->bell);
}

/* Worlds came, went or moved. */
static void crew_on_worlds(void *arg, const struct roster *r)
{
    struct crew *c = arg;

    for (uint32_t i = 1; i < c->n; i++) {
        struct crew_gate *gate = &c->gates[i];
        pthread_mutex_lock(&gate->lock);
        gate->roster = *r;
        gate->news = true;
        pthread_mutex_unlock(&gate->lock);
        loop_bell_ring(gate->bell);
    }
    gateway_worlds(c->gates[0].gateway, r);
}

/* All over? */
static void crew_look(void *arg)
{
    struct crew *c = arg;

    for (uint32_t i = 0; i < c->n; i++) {
        if (!atomic_load(&c->gates[i].over))
            return;
    }
    loop_stop(c->loop);
}

void crew_drain(struct crew *c)
{
    if (c->draining)
        return;
    c->draining = true;
    log_line(LOG_INFO, "draining clients=%u", atomic_load(&c->total.open));
    for (uint32_t i = 1; i < c->n; i++)
        crew_tell(&c->gates[i], CREW_DRAIN);
    gateway_drain(c->gates[0].gateway);
}

bool crew_draining(const struct crew *c)
{
    return c->draining;
}

const char *crew_addr(const struct crew *c)
{
    return gateway_addr(c->gates[0].gateway);
}

const char *crew_ws_addr(const struct crew *c)
{
    return gateway_ws_addr(c->gates[0].gateway);
}

const char *crew_unready(const struct crew *c)
{
    const char *unready = gateway_unready(c->gates[0].gateway);

    for (uint32_t i = 1; i < c->n && !unready; i++) {
        struct crew_gate *gate = &c->gates[i];
        pthread_mutex_lock(&gate->lock);
        unready = gate->unready;
        pthread_mutex_unlock(&gate->lock);
    }
    return unready;
}

const char *crew_hung(const struct crew *c)
{
    bool hung = false;

    for (uint32_t i = 1; i < c->n; i++) {
        struct crew_gate *gate = &c->gates[i];
        if (!gate->running)
            continue;
        pthread_mutex_lock(&gate->lock);
        hung = hung || clock_since(loop_now(c->loop), gate->stepped) > CREW_HUNG_NS;
        pthread_mutex_unlock(&gate->lock);
    }
    return hung ? "a thread hangs" : NULL;
}

/* The session's number, where this gateway gave it that name. */
static bool crew_gave(const struct crew_gate *gate, const char *name, uint64_t *session)
{
    const char *id = gateway_id(gate->gateway), *slash = strrchr(name, '/');
    const size_t n = strlen(id);

    if (!slash || (size_t)(slash - name) != n || memcmp(name, id, n) != 0 ||
        strspn(slash + 1, "0123456789abcdef") != strlen(slash + 1) || strlen(slash + 1) > 16 ||
        slash[1] == '\0')
        return false;
    *session = strtoull(slash + 1, NULL, 16);
    return true;
}

int crew_trace(struct crew *c, const char *session, uint32_t lines, uint32_t seconds)
{
    for (uint32_t i = 0; i < c->n; i++) {
        struct crew_gate *gate = &c->gates[i];
        struct crew_trace want = {.lines = lines, .seconds = seconds};

        if (!crew_gave(gate, session, &want.session))
            continue;
        pthread_mutex_lock(&gate->lock);
        gate->trace = want;
        pthread_mutex_unlock(&gate->lock);
        if (gate->bell)
            loop_bell_ring(gate->bell);
        else
            crew_take_trace(gate);
        return 0;
    }
    return E_BAD;
}

const struct gateway_metrics *crew_metrics(struct crew *c)
{
    c->sum = *gateway_metrics_now(c->gates[0].gateway);
    for (uint32_t i = 1; i < c->n; i++) {
        struct crew_gate *gate = &c->gates[i];
        if (!gate->running) {
            gateway_metrics_merge(&c->sum, gateway_metrics_now(gate->gateway));
            continue;
        }
        pthread_mutex_lock(&gate->lock);
        gateway_metrics_merge(&c->sum, &gate->metrics);
        pthread_mutex_unlock(&gate->lock);
    }
    const struct addresses_sum addresses = addresses_summed(c->addresses);
    c->sum.addresses = addresses.known;
    c->sum.addresses_forgotten = addresses.forgotten;
    c->sum.tls_reloads = c->reloads;
    c->sum.tls_reloads_failed = c->reloads_failed;
    c->sum.tls_expires_s = c->tls ? (uint64_t)tls_facts_now(c->tls).expires_s : 0;
    if (!c->cluster)
        return &c->sum;
    const struct roster_nats_counts cluster = roster_nats_counted(c->cluster);
    c->sum.worlds_known = cluster.worlds;
    c->sum.worlds_spared = cluster.spared;
    c->sum.cluster_there = cluster.there;
    c->sum.cluster_losses = cluster.losses;
    c->sum.cluster_strange = cluster.strange;
    c->sum.cluster_full = cluster.full;
    return &c->sum;
}

/* --- life --------------------------------------------------------------------------------------
 */

static int crew_add(struct crew *c, const struct gateway_config *config, char *why, size_t why_cap)
{
    struct crew_gate *gate = &c->gates[c->n];
    const bool first = c->n == 0;
    struct gateway_place place = {
        .index = c->n,
        .count = (uint32_t)config->threads,
        .listen = first ? NULL : crew_addr(c),
        .ws_listen = first ? NULL : crew_ws_addr(c),
        .web = c->web,
        .addresses = c->addresses,
        .keys = c->keys.path ? &c->keys : NULL,
        .tls = c->tls,
        .total = &c->total,
        .stepped = first ? NULL : crew_on_step,
        .over = crew_on_over,
        .arg = gate,
    };
    int r = 0;

    gate->crew = c;
    gate->loop = c->loop;
    pthread_mutex_init(&gate->lock, NULL);
    if (!first) {
        gate->loop = NULL;
        r = loop_create(&gate->loop);
        if (r == 0)
            r = loop_bell_create(gate->loop, crew_on_bell, gate, &gate->bell);
    }
    c->n++;
    if (r == 0)
        return gateway_create(gate->loop, config, &place, &gate->gateway, why, why_cap);
    snprintf(why, why_cap, "-threads: %s", err_text(r));
    return r;
}

/* The files that all of them serve. */
static int crew_read_web(struct crew *c, const struct gateway_config *config, char *why,
                         size_t why_cap)
{
    char cause[CREW_WHY_MAX];

    if (config->ws_listen[0] == '\0')
        return 0;
    int r = web_files_create(config->web, &c->web, cause, sizeof(cause));
    if (r != 0) {
        snprintf(why, why_cap, "-web: %s", cause);
        return r;
    }
    if (config->web[0] != '\0' && config->web_maps[0] == '\0')
        return 0; /* all that is served is the folder's */
    r = web_files_add_maps(c->web, config->web_maps, cause, sizeof(cause));
    if (r != 0)
        snprintf(why, why_cap, "-web-maps: %s", cause);
    return r;
}

/* What is presented from now on. */
static void crew_log_tls(struct tls *tls)
{
    const struct tls_facts facts = tls_facts_now(tls);

    log_line(facts.expired ? LOG_WARN : LOG_INFO, "certificate subject=\"%s\" expires_s=%lld%s",
             facts.subject, (long long)facts.expires_s, facts.expired ? " expired=1" : "");
}

static int crew_init_tls(struct crew *c, const struct gateway_config *config, char *why,
                         size_t why_cap)
{
    struct tls_why cause;

    if (config->tls_cert[0] == '\0')
        return 0;
    const int r = tls_server_create(config->tls_cert, config->tls_key, &c->tls, &cause);
    if (r != 0)
        snprintf(why, why_cap, "-%s: %s", cause.key ? "tls-key" : "tls-cert", cause.text);
    else
        crew_log_tls(c->tls);
    return r;
}

int crew_read_tls(struct crew *c, char *why, size_t why_cap)
{
    struct tls_why cause;
    const int r = tls_reload(c->tls, &cause);

    if (r == 0) {
        c->reloads++;
        crew_log_tls(c->tls);
        return 0;
    }
    c->reloads_failed++;
    snprintf(why, why_cap, "%s", cause.text);
    return r;
}

int crew_read_keys(struct crew *c, char *why, size_t why_cap)
{
    return keys_read(&c->keys, why, why_cap);
}

/* What all of them need of files. */
static int crew_read_files(struct crew *c, const struct gateway_config *config, char *why,
                           size_t why_cap)
{
    char cause[CREW_WHY_MAX];
    int r = 0;

    if (config->link_key[0] != '\0') {
        keys_init(&c->keys, config->link_key);
        r = crew_read_keys(c, cause, sizeof(cause));
    }
    if (r != 0) {
        snprintf(why, why_cap, "-link-key: %s", cause);
        return r;
    }
    r = crew_init_tls(c, config, why, why_cap);
    return r != 0 ? r : crew_read_web(c, config, why, why_cap);
}

static int crew_watch(struct crew *c, const struct gateway_config *config, char *why,
                      size_t why_cap)
{
    const struct addresses_limits limits = {
        .most = (uint32_t)config->max_addresses,
        .connections = (uint32_t)config->max_per_address,
        .connects = (uint32_t)config->connect_rate_address,
        .logins = (uint32_t)config->login_rate_address,
    };
    uint64_t seed;

    rng_secret(&seed, sizeof(seed));
    const int r = addresses_create(&limits, seed, &c->addresses);
    if (r != 0)
        snprintf(why, why_cap, "-max-addresses: %s", err_text(r));
    return r;
}

static int crew_join_cluster(struct crew *c, const struct gateway_config *config, char *why,
                             size_t why_cap)
{
    char cause[CREW_WHY_MAX];

    if (config->cluster[0] == '\0')
        return 0;
    const int r = roster_nats_create(c->loop, config->cluster, crew_on_worlds, c, &c->cluster,
                                     cause, sizeof(cause));
    if (r != 0)
        snprintf(why, why_cap, "-cluster: %s", cause);
    return r;
}

int crew_create(struct loop *loop, const struct gateway_config *config, struct crew **out,
                char *why, size_t why_cap)
{
    struct crew *c = calloc(1, sizeof(*c));
    int r = E_NOMEM;

    if (c)
        c->gates = calloc(config->threads, sizeof(*c->gates));
    if (c && c->gates) {
        c->loop = loop;
        r = loop_bell_create(loop, crew_look, c, &c->home);
    }
    if (r != 0)
        snprintf(why, why_cap, "%s", err_text(r));
    else
        r = crew_read_files(c, config, why, why_cap);
    if (r == 0)
        r = crew_watch(c, config, why, why_cap);
    for (uint64_t i = 0; i < config->threads && r == 0; i++)
        r = crew_add(c, config, why, why_cap);
    if (r == 0)
        r = crew_join_cluster(c, config, why, why_cap);
    if (r != 0) {
        crew_destroy(c);
        return r;
    }
    *out = c;
    return 0;
}

int crew_start(struct crew *c)
{
    sigset_t all, before;
    int r = 0;

    /* Signals are the first one's. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (uint32_t i = 1; i < c->n && r == 0; i++) {
        struct crew_gate *gate = &c->gates[i];
        crew_publish(gate);
        r = pthread_create(&gate->thread, NULL, crew_thread, gate) == 0 ? 0 : E_IO;
        gate->running = r == 0;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return r;
}

void crew_stop(struct crew *c)
{
    for (uint32_t i = 1; i < c->n; i++) {
        if (c->gates[i].running)
            crew_tell(&c->gates[i], CREW_STOP);
    }
    for (uint32_t i = 1; i < c->n; i++) {
        if (c->gates[i].running)
            pthread_join(c->gates[i].thread, NULL);
        c->gates[i].running = false;
    }
}

void crew_destroy(struct crew *c)
{
    if (!c)
        return;
    crew_stop(c);
    roster_nats_destroy(c->cluster);
    for (uint32_t i = c->n; i-- > 0;) {
        struct crew_gate *gate = &c->gates[i];
        gateway_destroy(gate->gateway);
        if (i > 0) {
            loop_bell_destroy(gate->bell);
            loop_destroy(gate->loop);
        }
        pthread_mutex_destroy(&gate->lock);
    }
    loop_bell_destroy(c->home);
    web_files_destroy(c->web);
    addresses_destroy(c->addresses);
    keys_fini(&c->keys);
    tls_destroy(c->tls);
    free(c->gates);
    free(c);
}
