/* common/io/nats_bus.c: see the header. */
#include "common/io/nats_bus.h"

#include "common/err.h"

#ifndef AEGIS_PART_LIBNATS

const char *nats_bus_library(void)
{
    return "";
}

int nats_bus_create(struct loop *l, const struct nats_bus_config *c, struct nats_bus **out)
{
    (void)l;
    (void)c;
    (void)out;
    return E_MISSING;
}

/* There is none without the library, so nobody has one to ask. */
void nats_bus_destroy(struct nats_bus *b)
{
    ASSERT(!b);
}

bool nats_bus_up(const struct nats_bus *b)
{
    ASSERT(!b);
    return false;
}

int nats_bus_publish(struct nats_bus *b, struct span subject, const struct span *pieces, uint32_t n)
{
    (void)subject;
    (void)pieces;
    (void)n;
    ASSERT(!b);
    return E_MISSING;
}

int nats_bus_subscribe(struct nats_bus *b, struct span subject)
{
    (void)subject;
    ASSERT(!b);
    return E_MISSING;
}

int nats_bus_unsubscribe(struct nats_bus *b, struct span subject)
{
    return nats_bus_subscribe(b, subject);
}

int nats_bus_key(struct nats_bus *b, enum nats_bus_op op, uint64_t ticket, struct span key,
                 struct span value, uint64_t revision)
{
    (void)op;
    (void)ticket;
    (void)key;
    (void)value;
    (void)revision;
    ASSERT(!b);
    return E_MISSING;
}

void nats_bus_counts(const struct nats_bus *b, struct nats_bus_counts *out)
{
    ASSERT(!b);
    *out = (struct nats_bus_counts){0};
}

#else

#include "common/io/nats_bus_own.h"
#include "common/log.h"

#include <nats/nats.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#define RECONNECT_WAIT_MS   100
#define RECONNECT_JITTER_MS 100
#define PING_MS             2000 /* a server silent for two of these is away */
#define PIECES_MAX          8
#define SERVERS_MAX         32 /* of one URL */
#define END_NS              (2 * CLOCK_NS_PER_S)
#define TURN_MAX            512   /* events in one go: a tick may be due */
#define CHANGES_BYTES       65536 /* keys that changed and wait to be read */
#define KEY_BYTES_MAX       (NATS_BUS_KEY_MAX + NATS_BUS_VALUE_MAX + 64)

const char *nats_bus_library(void)
{
    return nats_GetVersion();
}

void nats_bus_counts(const struct nats_bus *b, struct nats_bus_counts *out)
{
    uint64_t values[sizeof(*out) / sizeof(uint64_t)];

    for (size_t i = 0; i < sizeof(*out) / sizeof(uint64_t); i++)
        values[i] = atomic_load_explicit(&b->counts[i], memory_order_relaxed);
    memcpy(out, values, sizeof(*out));
}

bool nats_bus_up(const struct nats_bus *b)
{
    return atomic_load(&b->up);
}

/* --- to the loop, from any thread --------------------------------------------------------------
 */

void nats_bus_tell(struct nats_bus *b, enum nats_bus_record kind, const struct span *pieces,
                   uint32_t n)
{
    bool first = false;

    if (mailbox_put_wait(b->in, kind, pieces, n, &first) == 0 && first)
        loop_bell_ring(b->bell);
}

static void set_up(struct nats_bus *b, bool up)
{
    uint8_t byte = up;
    struct span piece = span_of(&byte, 1);

    if (up) {
        NATS_BUS_COUNT(b, connects, 1);
        atomic_fetch_add(&b->life, 1);
        atomic_store(&b->told, false);
    }
    atomic_store(&b->up, up);
    nats_bus_tell(b, RECORD_UP, &piece, 1);
}

static void on_connect(natsConnection *nc, void *arg)
{
    (void)nc;
    set_up(arg, true);
}

static void on_disconnect(natsConnection *nc, void *arg)
{
    (void)nc;
    set_up(arg, false);
}

/* nats.c calls from threads of its own, some time after a thing was ended: that is waited for. */
static void on_closed(natsConnection *nc, void *arg)
{
    struct nats_bus *b = arg;

    (void)nc;
    pthread_mutex_lock(&b->lock);
    b->over = true;
    pthread_cond_signal(&b->change);
    pthread_mutex_unlock(&b->lock);
}

void nats_bus_complete(void *arg)
{
    struct nats_bus *b = arg;

    pthread_mutex_lock(&b->lock);
    b->calling--;
    pthread_cond_signal(&b->change);
    pthread_mutex_unlock(&b->lock);
}

/* Faults of a subscription: those that are too slow tell by their gaps. */
static void on_error(natsConnection *nc, natsSubscription *sub, natsStatus err, void *arg)
{
    (void)nc;
    (void)sub;
    (void)err;
    NATS_BUS_COUNT((struct nats_bus *)arg, dropped_in, 1);
}

/* --- in the loop's thread ----------------------------------------------------------------------
 */

int nats_bus_publish(struct nats_bus *b, struct span subject, const struct span *pieces, uint32_t n)
{
    struct nats_bus_message head = {(uint32_t)subject.n, atomic_load(&b->life)};
    struct span all[PIECES_MAX + 2] = {span_of(&head, sizeof(head)), subject};
    int err;

    ASSERT(subject.n > 0);
    ASSERT(subject.n <= NATS_BUS_SUBJECT_MAX);
    ASSERT(n <= PIECES_MAX);
    if (!nats_bus_up(b)) {
        NATS_BUS_COUNT(b, dropped_out, 1);
        return E_CLOSED;
    }
    for (uint32_t i = 0; i < n; i++)
        all[i + 2] = pieces[i];
    err = mailbox_put(b->out, RECORD_MESSAGE, all, n + 2, NULL);
    if (err != 0)
        NATS_BUS_COUNT(b, dropped_out, 1);
    return err;
}

int nats_bus_subscribe(struct nats_bus *b, struct span subject)
{
    ASSERT(subject.n <= NATS_BUS_SUBJECT_MAX);
    return mailbox_put(b->out, RECORD_SUBSCRIBE, &subject, 1, NULL);
}

int nats_bus_unsubscribe(struct nats_bus *b, struct span subject)
{
    ASSERT(subject.n <= NATS_BUS_SUBJECT_MAX);
    return mailbox_put(b->out, RECORD_UNSUBSCRIBE, &subject, 1, NULL);
}

int nats_bus_key(struct nats_bus *b, enum nats_bus_op op, uint64_t ticket, struct span key,
                 struct span value, uint64_t revision)
{
    struct nats_bus_key_head head = {
        .ticket = ticket, .revision = revision, .key_bytes = (uint32_t)key.n, .op = (uint8_t)op};
    struct span pieces[] = {span_of(&head, sizeof(head)), key, value};
    int err;

    ASSERT(key.n > 0);
    ASSERT(key.n <= NATS_BUS_KEY_MAX);
    ASSERT(value.n <= NATS_BUS_VALUE_MAX);
    if (atomic_load(&b->questions) == NATS_BUS_KEYS_MAX)
        return E_FULL;
    err = mailbox_put(b->keys, RECORD_KEY, pieces, 3, NULL);
    if (err == 0)
        atomic_fetch_add(&b->questions, 1);
    return err;
}

static void hear_key(struct nats_bus *b, enum nats_bus_record kind, struct span bytes)
{
    struct nats_bus_key_head head;
    struct span key, value;

    memcpy(&head, bytes.p, sizeof(head));
    key = span_of(bytes.p + sizeof(head), head.key_bytes);
    value = span_of(key.p + key.n, bytes.n - sizeof(head) - key.n);
    if (kind == RECORD_ENTRY) {
        b->user->entry(b->arg, &(struct nats_bus_entry){.key = key,
                                                        .value = value,
                                                        .revision = head.revision,
                                                        .deleted = head.deleted});
    } else {
        b->user->answer(b->arg, &(struct nats_bus_answer){.ticket = head.ticket,
                                                          .op = head.op,
                                                          .result = head.result,
                                                          .key = key,
                                                          .value = value,
                                                          .revision = head.revision});
    }
}

struct nats_bus_message nats_bus_split(struct span record, struct span *subject, struct span *bytes)
{
    struct nats_bus_message head;

    memcpy(&head, record.p, sizeof(head));
    *subject = span_of(record.p + sizeof(head), head.subject_bytes);
    *bytes = span_of(subject->p + subject->n, record.n - sizeof(head) - subject->n);
    return head;
}

static void hear(struct nats_bus *b, uint32_t kind, struct span bytes)
{
    struct span subject, rest;

    switch ((enum nats_bus_record)kind) {
    case RECORD_MESSAGE:
        nats_bus_split(bytes, &subject, &rest);
        b->user->message(b->arg, subject, rest);
        break;
    case RECORD_KEY:
    case RECORD_ENTRY:
        hear_key(b, kind, bytes);
        break;
    case RECORD_FOLLOW:
        b->user->follow(b->arg);
        break;
    case RECORD_FOLLOWED:
        b->user->followed(b->arg);
        break;
    case RECORD_UP:
        b->user->up(b->arg, bytes.p[0]);
        break;
    case RECORD_SUBSCRIBE:
    case RECORD_UNSUBSCRIBE:
        ASSERT(false); /* never come this way */
    }
}

static void on_bell(void *arg)
{
    struct nats_bus *b = arg;
    struct span bytes;
    uint32_t kind;

    for (uint32_t i = 0; mailbox_take(b->in, &kind, &bytes); i++) {
        hear(b, kind, bytes);
        if (i == TURN_MAX) {
            loop_bell_ring(b->bell);
            return;
        }
    }
}

/* --- start and end -----------------------------------------------------------------------------
 */

/* All servers between the commas; nats.c tries them in an order of its own. */
static natsStatus set_servers(natsOptions *o, const char *url)
{
    const char *servers[SERVERS_MAX];
    char *rest = NULL, *text = strdup(url);
    natsStatus err = text ? NATS_OK : NATS_NO_MEMORY;
    int n = 0;

    for (char *one = text ? strtok_r(text, ",", &rest) : NULL; one && err == NATS_OK;
         one = strtok_r(NULL, ",", &rest)) {
        if (n == SERVERS_MAX)
            err = NATS_INVALID_ARG;
        else
            servers[n++] = one;
    }
    if (err == NATS_OK)
        err = natsOptions_SetServers(o, servers, n);
    free(text);
    return err;
}

static natsStatus choose(struct nats_bus *b, const struct nats_bus_config *c)
{
    natsOptions *o = NULL;
    natsStatus err = natsOptions_Create(&o);

    if (err == NATS_OK)
        err = set_servers(o, c->url);
    if (err == NATS_OK)
        err = natsOptions_SetName(o, c->name);
    if (err == NATS_OK)
        err = natsOptions_SetNoEcho(o, true);
    if (err == NATS_OK)
        err = natsOptions_SetPingInterval(o, PING_MS);
    if (err == NATS_OK)
        err = natsOptions_SetMaxReconnect(o, -1);
    if (err == NATS_OK)
        err = natsOptions_SetReconnectWait(o, RECONNECT_WAIT_MS);
    if (err == NATS_OK)
        err = natsOptions_SetReconnectJitter(o, RECONNECT_JITTER_MS, RECONNECT_JITTER_MS);
    if (err == NATS_OK)
        err = natsOptions_SetReconnectBufSize(o, 1); /* 0 would be megabytes */
    if (err == NATS_OK)
        err = natsOptions_SetRetryOnFailedConnect(o, true, on_connect, b);
    if (err == NATS_OK)
        err = natsOptions_SetReconnectedCB(o, on_connect, b);
    if (err == NATS_OK)
        err = natsOptions_SetDisconnectedCB(o, on_disconnect, b);
    if (err == NATS_OK)
        err = natsOptions_SetClosedCB(o, on_closed, b);
    if (err == NATS_OK)
        err = natsOptions_SetErrorHandler(o, on_error, b);
    b->options = o;
    return err;
}

int nats_bus_connect(struct nats_bus *b)
{
    natsStatus err;

    pthread_mutex_lock(&b->lock);
    b->over = false;
    pthread_mutex_unlock(&b->lock);
    err = natsConnection_Connect(&b->nc, b->options);
    if (err == NATS_OK)
        set_up(b, true);
    return err;
}

bool nats_bus_closed(struct nats_bus *b)
{
    bool closed;

    pthread_mutex_lock(&b->lock);
    closed = b->over || !b->nc;
    pthread_mutex_unlock(&b->lock);
    return closed;
}

static int take_memory(struct nats_bus *b, struct loop *l, const struct nats_bus_config *c)
{
    size_t bytes = c->message_bytes + NATS_BUS_SUBS_MAX * (NATS_BUS_SUBJECT_MAX + MAILBOX_HEAD);
    int err = mailbox_create(bytes, &b->out);

    if (err == 0)
        err = mailbox_create((size_t)NATS_BUS_KEYS_MAX * KEY_BYTES_MAX, &b->keys);
    if (err == 0)
        err = mailbox_create(CHANGES_BYTES, &b->changes);
    if (err == 0)
        err = mailbox_create(bytes + KEY_BYTES_MAX, &b->in);
    if (err == 0)
        err = loop_bell_create(l, on_bell, b, &b->bell);
    return err;
}

/* Connect, and begin the threads: nats.c's own and ours. */
static int begin(struct nats_bus *b, const struct nats_bus_config *c)
{
    natsStatus status = choose(b, c);

    if (status == NATS_OK)
        status = nats_bus_connect(b);
    if (status != NATS_OK && status != NATS_NOT_YET_CONNECTED)
        return status == NATS_INVALID_ARG ? E_ADDR : E_IO;
    while (b->n_threads < NATS_BUS_THREADS) {
        if (pthread_create(&b->threads[b->n_threads], NULL, nats_work[b->n_threads], b) != 0)
            return E_IO;
        b->n_threads++;
    }
    return 0;
}

int nats_bus_create(struct loop *l, const struct nats_bus_config *c, struct nats_bus **out)
{
    struct nats_bus *b = calloc(1, sizeof(*b));
    sigset_t all, before;
    int err;

    if (!b)
        return E_NOMEM;
    pthread_mutex_init(&b->lock, NULL);
    pthread_rwlock_init(&b->use, NULL);
    pthread_cond_init(&b->change, NULL);
    b->user = c->user;
    b->arg = c->arg;
    nats_keys_configure(&b->keys_config, c->bucket, c->ttl_ns, c->replicas);
    for (const char *const *f = c->follow; f && *f; f++) {
        ASSERT(b->n_follow < NATS_BUS_FOLLOW_MAX);
        snprintf(b->follow[b->n_follow++], sizeof(b->follow[0]), "%s", *f);
    }
    err = take_memory(b, l, c);
    if (err == 0) {
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are the loop's */
        err = begin(b, c);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
    if (err != 0) {
        nats_bus_destroy(b);
        return err;
    }
    *out = b;
    return 0;
}

/* The connection and all that hangs from it. False: it still calls, so its memory stays. */
static bool disconnect(struct nats_bus *b)
{
    struct mono until = clock_add(clock_mono(), END_NS);
    struct timespec t = {(time_t)(until.ns / CLOCK_NS_PER_S), (long)(until.ns % CLOCK_NS_PER_S)};
    int err = 0;

    for (uint32_t i = 0; i < NATS_BUS_SUBS_MAX; i++)
        natsSubscription_Destroy(b->subs[i].sub);
    for (uint32_t i = 0; i < b->n_follow; i++)
        natsSubscription_Destroy(b->follows[i]);
    natsConnection_Destroy(b->nc);
    natsOptions_Destroy(b->options);
    pthread_mutex_lock(&b->lock);
    while (err == 0 && b->nc && (!b->over || b->calling > 0))
        err = pthread_cond_clockwait(&b->change, &b->lock, CLOCK_MONOTONIC, &t);
    pthread_mutex_unlock(&b->lock);
    return err == 0;
}

void nats_bus_destroy(struct nats_bus *b)
{
    if (!b)
        return;
    if (b->in)
        mailbox_close(b->in);
    if (b->keys)
        mailbox_close(b->keys);
    if (b->changes)
        mailbox_close(b->changes);
    if (b->out)
        mailbox_close(b->out);
    for (uint32_t i = 0; i < b->n_threads; i++)
        pthread_join(b->threads[i], NULL);
    if (!disconnect(b)) {
        log_line(LOG_WARN, "nats does not end its calls: some memory is left");
        return;
    }
    loop_bell_destroy(b->bell);
    mailbox_destroy(b->in);
    mailbox_destroy(b->keys);
    mailbox_destroy(b->changes);
    mailbox_destroy(b->out);
    pthread_cond_destroy(&b->change);
    pthread_mutex_destroy(&b->lock);
    pthread_rwlock_destroy(&b->use);
    free(b);
}

#endif
