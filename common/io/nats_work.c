/* common/io/nats_work.c: what the threads of a bus do: send and subscribe, ask about keys, follow
 * the bucket. All waiting for NATS is here. Changes are heard by name, as any message, and what
 * stands there is read then: a name may be told twice, but what is told is never older than before.
 */
#include "common/io/nats_bus_own.h"

#ifdef AEGIS_PART_LIBNATS

#include "common/log.h"

#include <nats/nats.h>
#include <stdio.h>

#define FLUSH_MS 500 /* at the end, for what was published */
#define IDLE_NS  (100 * CLOCK_NS_PER_MS)
#define ANEW_NS  CLOCK_NS_PER_S /* before another connection, where NATS closed the last one */

#define SUBSCRIBE_TRIES   50
#define SUBSCRIBE_WAIT_MS 10

/* --- the subjects' thread ----------------------------------------------------------------------
 */

static void on_message(natsConnection *nc, natsSubscription *sub, natsMsg *msg, void *arg)
{
    struct nats_bus *b = arg;
    struct span subject = span_text(natsMsg_GetSubject(msg));
    struct nats_bus_message head = {.subject_bytes = (uint32_t)subject.n};
    struct span pieces[] = {span_of(&head, sizeof(head)), subject,
                            span_of(natsMsg_GetData(msg), (size_t)natsMsg_GetDataLength(msg))};
    bool first = false;

    (void)nc;
    (void)sub;
    if (mailbox_put(b->in, RECORD_MESSAGE, pieces, 3, &first) != 0)
        NATS_BUS_COUNT(b, dropped_in, 1);
    else
        NATS_BUS_COUNT(b, received, 1);
    if (first)
        loop_bell_ring(b->bell);
    natsMsg_Destroy(msg);
}

static bool subscribe_to(struct nats_bus *b, natsSubscription **sub, const char *subject,
                         natsMsgHandler fn)
{
    /* Refused in the moments in which a connection is tried; before and after them it is noted. */
    for (uint32_t tries = 0; natsConnection_Subscribe(sub, b->nc, subject, fn, b) != NATS_OK;) {
        if (++tries == SUBSCRIBE_TRIES || mailbox_closed(b->changes) || !b->nc ||
            natsConnection_IsClosed(b->nc))
            return false;
        nats_Sleep(SUBSCRIBE_WAIT_MS);
    }
    pthread_mutex_lock(&b->lock);
    if (natsSubscription_SetOnCompleteCB(*sub, nats_bus_complete, b) == NATS_OK)
        b->calling++;
    pthread_mutex_unlock(&b->lock);
    return true;
}

static struct nats_bus_sub *sub_find(struct nats_bus *b, const char *subject)
{
    for (uint32_t i = 0; i < NATS_BUS_SUBS_MAX; i++) {
        if (strcmp(b->subs[i].subject, subject) == 0)
            return &b->subs[i];
    }
    return NULL;
}

static void subscribe(struct nats_bus *b, struct span subject, bool on)
{
    char text[NATS_BUS_SUBJECT_MAX + 1];
    struct nats_bus_sub *s;

    memcpy(text, subject.p, subject.n);
    text[subject.n] = '\0';
    s = sub_find(b, text);
    if (!on && s) {
        natsSubscription_Destroy(s->sub);
        *s = (struct nats_bus_sub){0};
    }
    if (!on || s)
        return;
    s = sub_find(b, "");
    if (!s) {
        log_line(LOG_WARN, "nats: no room for a subject subject=%s", text);
        NATS_BUS_COUNT(b, dropped_in, 1);
        return;
    }
    memcpy(s->subject, text, sizeof(text));
    if (!subscribe_to(b, &s->sub, text, on_message))
        atomic_store(&b->lacks, true);
}

/* What could not be subscribed to, or was with a connection that is over. */
static void subscribe_again(struct nats_bus *b)
{
    if (!atomic_exchange(&b->lacks, false))
        return;
    for (uint32_t i = 0; i < NATS_BUS_SUBS_MAX; i++) {
        struct nats_bus_sub *s = &b->subs[i];

        if (s->subject[0] != '\0' && !s->sub && !subscribe_to(b, &s->sub, s->subject, on_message)) {
            atomic_store(&b->lacks, true);
            return;
        }
    }
}

static void publish(struct nats_bus *b, struct span record)
{
    char text[NATS_BUS_SUBJECT_MAX + 1];
    struct span subject, bytes;
    struct nats_bus_message head = nats_bus_split(record, &subject, &bytes);

    memcpy(text, subject.p, subject.n);
    text[subject.n] = '\0';
    if (!nats_bus_up(b) || atomic_load(&b->life) != head.life ||
        natsConnection_Publish(b->nc, text, bytes.p, (int)bytes.n) != NATS_OK) {
        NATS_BUS_COUNT(b, dropped_out, 1);
        return;
    }
    NATS_BUS_COUNT(b, published, 1);
    NATS_BUS_COUNT(b, bytes, bytes.n);
}

static void *run_subjects(void *arg)
{
    struct nats_bus *b = arg;
    struct span record;
    uint32_t kind;
    bool last;

    do {
        mailbox_wait(b->out, IDLE_NS);
        last = mailbox_closed(b->out);
        pthread_rwlock_rdlock(&b->use);
        subscribe_again(b);
        while (mailbox_take(b->out, &kind, &record)) {
            if (kind == RECORD_MESSAGE)
                publish(b, record);
            else
                subscribe(b, record, kind == RECORD_SUBSCRIBE);
        }
        pthread_rwlock_unlock(&b->use);
    } while (!last);
    if (nats_bus_up(b))
        natsConnection_FlushTimeout(b->nc, FLUSH_MS);
    return NULL;
}

/* --- the keys' thread --------------------------------------------------------------------------
 */

static bool keys_open(struct nats_bus *b, struct nats_keys *k)
{
    return nats_bus_up(b) && nats_keys_open(k, b->nc, atomic_load(&b->life), &b->keys_config);
}

static enum nats_bus_result do_key(struct nats_keys *k, struct nats_bus_key_head *head,
                                   const char *key, struct span value, struct nats_keys_read *read)
{
    switch ((enum nats_bus_op)head->op) {
    case NATS_BUS_GET:
        return nats_keys_get(k, key, read);
    case NATS_BUS_CREATE:
        return nats_keys_create(k, key, value, &head->revision);
    case NATS_BUS_UPDATE:
        return nats_keys_update(k, key, value, &head->revision);
    case NATS_BUS_DELETE:
        return nats_keys_delete(k, key, &head->revision);
    }
    return NATS_BUS_AWAY;
}

/* A change of our own, which the server does not tell us of. */
static void own_change(struct nats_bus *b, struct span key)
{
    for (uint32_t i = 0; i < b->n_follow; i++) {
        if (nats_keys_match(b->follow[i], key) &&
            mailbox_put(b->changes, RECORD_ENTRY, &key, 1, NULL) != 0)
            atomic_store(&b->missed, true);
    }
}

static void answer_key(struct nats_bus *b, struct nats_keys *k, struct span record)
{
    char key[NATS_BUS_KEY_MAX + 1];
    enum nats_bus_result result = NATS_BUS_AWAY;
    struct nats_keys_read read = {0};
    struct nats_bus_key_head head;
    struct span pieces[3];

    memcpy(&head, record.p, sizeof(head));
    memcpy(key, record.p + sizeof(head), head.key_bytes);
    key[head.key_bytes] = '\0';
    if (keys_open(b, k)) {
        struct span value = span_of(record.p + sizeof(head) + head.key_bytes,
                                    record.n - sizeof(head) - head.key_bytes);

        result = do_key(k, &head, key, value, &read);
    }
    if (head.op == NATS_BUS_GET)
        head.revision = read.revision;
    if (result == NATS_BUS_DONE && read.deleted)
        result = NATS_BUS_MISSING;
    head.result = (uint8_t)result;
    if (result == NATS_BUS_DONE && head.op != NATS_BUS_GET)
        own_change(b, span_of(key, head.key_bytes));
    NATS_BUS_COUNT(b, done, result == NATS_BUS_DONE);
    NATS_BUS_COUNT(b, lost, result == NATS_BUS_LOST);
    NATS_BUS_COUNT(b, missing, result == NATS_BUS_MISSING);
    NATS_BUS_COUNT(b, keys_away, result == NATS_BUS_AWAY);
    pieces[0] = span_of(&head, sizeof(head));
    pieces[1] = span_of(key, head.key_bytes);
    pieces[2] = span_of(read.value, read.n);
    atomic_fetch_sub(&b->questions, 1);
    nats_bus_tell(b, RECORD_KEY, pieces, 3);
}

static void *run_keys(void *arg)
{
    struct nats_bus *b = arg;
    struct nats_keys k = {0};
    struct span record;
    uint32_t kind;

    while (!mailbox_closed(b->keys)) {
        while (!mailbox_closed(b->keys) && mailbox_take(b->keys, &kind, &record)) {
            pthread_rwlock_rdlock(&b->use);
            answer_key(b, &k, record);
            pthread_rwlock_unlock(&b->use);
        }
        mailbox_wait(b->keys, IDLE_NS);
    }
    nats_keys_close(&k);
    return NULL;
}

/* --- the thread that follows the bucket --------------------------------------------------------
 */

/* Something was written to the bucket; what stands there now is read by its name. */
static void on_change(natsConnection *nc, natsSubscription *sub, natsMsg *msg, void *arg)
{
    struct nats_bus *b = arg;
    const char *subject = natsMsg_GetSubject(msg);
    struct span key;

    (void)nc;
    (void)sub;
    key = span_text(subject + b->keys_config.prefix_bytes);
    if (key.n > NATS_BUS_KEY_MAX || mailbox_put(b->changes, RECORD_ENTRY, &key, 1, NULL) != 0)
        atomic_store(&b->missed, true);
    natsMsg_Destroy(msg);
}

/* What stands there now is told. False: it could not be read. */
static bool tell_key(struct nats_bus *b, struct nats_keys *k, const char *key)
{
    struct nats_keys_read read = {0};
    struct nats_bus_key_head head = {.key_bytes = (uint32_t)strlen(key)};
    struct span pieces[3];
    enum nats_bus_result result = nats_keys_get(k, key, &read);

    if (result == NATS_BUS_AWAY)
        return false;
    head.revision = read.revision;
    head.deleted = result == NATS_BUS_MISSING || read.deleted;
    pieces[0] = span_of(&head, sizeof(head));
    pieces[1] = span_of(key, head.key_bytes);
    pieces[2] = span_of(read.value, read.n);
    nats_bus_tell(b, RECORD_ENTRY, pieces, 3);
    return true;
}

struct listing {
    struct nats_bus *bus;
    struct nats_keys *keys;
};

static bool list_key(void *arg, const char *key)
{
    struct listing *l = arg;

    return tell_key(l->bus, l->keys, key);
}

/* All that stands there. What changes meanwhile comes behind it, as it is then. */
static bool tell_all(struct nats_bus *b, struct nats_keys *k)
{
    struct listing l = {b, k};

    atomic_store(&b->missed, false);
    nats_bus_tell(b, RECORD_FOLLOW, NULL, 0);
    for (uint32_t i = 0; i < b->n_follow; i++) {
        if (!nats_keys_list(k, b->follow[i], list_key, &l))
            return false;
    }
    nats_bus_tell(b, RECORD_FOLLOWED, NULL, 0);
    return true;
}

/* Until the connection's life ends, or the bucket's. */
static void follow(struct nats_bus *b, struct nats_keys *k)
{
    char key[NATS_BUS_KEY_MAX + 1];
    uint32_t life = k->life, kind;
    struct span record;
    bool well = tell_all(b, k);

    while (well && nats_bus_up(b) && atomic_load(&b->life) == life && !mailbox_closed(b->changes)) {
        while (well && mailbox_take(b->changes, &kind, &record)) {
            memcpy(key, record.p, record.n);
            key[record.n] = '\0';
            well = tell_key(b, k, key);
        }
        if (well && atomic_load(&b->missed))
            well = tell_all(b, k);
        mailbox_wait(b->changes, IDLE_NS);
    }
}

/* Those that are not yet. */
static bool follow_subscribe(struct nats_bus *b)
{
    char subject[NATS_BUS_SUBJECT_MAX + 1];

    for (uint32_t i = 0; i < b->n_follow; i++) {
        snprintf(subject, sizeof(subject), "%s%s", b->keys_config.prefix, b->follow[i]);
        if (!b->follows[i] && !subscribe_to(b, &b->follows[i], subject, on_change))
            return false;
    }
    return true;
}

/* Why it is over; once, until there is a connection. */
static void tell_closed(struct nats_bus *b)
{
    const char *why = NULL;

    if (b->nc)
        natsConnection_GetLastError(b->nc, &why);
    if (!atomic_exchange(&b->told, true))
        log_line(LOG_WARN, "nats refuses the connection reason=\"%s\"; it is tried again",
                 why && *why ? why : "closed");
}

/* NATS's library gives a connection up for good where the server refuses who asks, as it does
 * while a password is changed: another one takes its place, with all that was subscribed to. */
static void connect_anew(struct nats_bus *b)
{
    mailbox_wait(b->changes, ANEW_NS);
    if (mailbox_closed(b->changes))
        return;
    tell_closed(b);
    pthread_rwlock_wrlock(&b->use);
    for (uint32_t i = 0; i < NATS_BUS_SUBS_MAX; i++) {
        natsSubscription_Destroy(b->subs[i].sub);
        b->subs[i].sub = NULL;
    }
    for (uint32_t i = 0; i < b->n_follow; i++) {
        natsSubscription_Destroy(b->follows[i]);
        b->follows[i] = NULL;
    }
    natsConnection_Destroy(b->nc);
    b->nc = NULL;
    (void)nats_bus_connect(b); /* where it fails, there is none: tried again */
    atomic_store(&b->lacks, true);
    pthread_rwlock_unlock(&b->use);
}

static void *run_follow(void *arg)
{
    struct nats_bus *b = arg;
    struct nats_keys k = {0};

    while (!mailbox_closed(b->changes)) {
        if (!follow_subscribe(b))
            log_often(LOG_WARN, "nats refuses to follow a bucket bucket=%s", b->keys_config.bucket);
        else if (keys_open(b, &k))
            follow(b, &k);
        nats_keys_close(&k); /* looked for again */
        mailbox_wait(b->changes, IDLE_NS);
        if (nats_bus_closed(b))
            connect_anew(b);
    }
    nats_keys_close(&k);
    return NULL;
}

nats_work_fn *const nats_work[NATS_BUS_THREADS] = {run_subjects, run_keys, run_follow};

#endif
