/* common/io/mailbox.c: see the header. */
#include "common/io/mailbox.h"

#include "common/clock.h"
#include "common/err.h"

#include <pthread.h>
#include <stdlib.h>

struct mailbox {
    size_t cap;
    pthread_mutex_t lock; /* of all up to `closed` */
    pthread_cond_t room, news;
    uint8_t *fill; /* [cap] */
    size_t filled;
    bool closed;
    uint8_t *read; /* [cap] the reader's own, as are the two below */
    size_t at, end;
};

int mailbox_create(size_t bytes, struct mailbox **out)
{
    struct mailbox *m = calloc(1, sizeof(*m));
    pthread_condattr_t attr;

    ASSERT(bytes > MAILBOX_HEAD);
    if (!m)
        return E_NOMEM;
    m->cap = bytes;
    m->fill = malloc(bytes);
    m->read = malloc(bytes);
    if (!m->fill || !m->read) {
        free(m->fill);
        free(m->read);
        free(m);
        return E_NOMEM;
    }
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_mutex_init(&m->lock, NULL);
    pthread_cond_init(&m->room, &attr);
    pthread_cond_init(&m->news, &attr);
    pthread_condattr_destroy(&attr);
    *out = m;
    return 0;
}

void mailbox_destroy(struct mailbox *m)
{
    if (!m)
        return;
    pthread_cond_destroy(&m->room);
    pthread_cond_destroy(&m->news);
    pthread_mutex_destroy(&m->lock);
    free(m->fill);
    free(m->read);
    free(m);
}

static size_t record_bytes(const struct span *pieces, uint32_t n)
{
    size_t bytes = MAILBOX_HEAD;

    for (uint32_t i = 0; i < n; i++)
        bytes += pieces[i].n;
    return bytes;
}

/* There is room; the lock is held. */
static void append(struct mailbox *m, uint32_t kind, const struct span *pieces, uint32_t n,
                   bool *first)
{
    uint32_t head[2] = {kind, (uint32_t)(record_bytes(pieces, n) - MAILBOX_HEAD)};
    struct span_writer w = span_writer_of(m->fill + m->filled, m->cap - m->filled);

    if (first)
        *first = m->filled == 0;
    span_put(&w, head, sizeof(head));
    for (uint32_t i = 0; i < n; i++)
        span_put(&w, pieces[i].p, pieces[i].n);
    ASSERT(!w.full);
    m->filled += w.len;
    pthread_cond_signal(&m->news);
}

int mailbox_put(struct mailbox *m, uint32_t kind, const struct span *pieces, uint32_t n,
                bool *first)
{
    size_t bytes = record_bytes(pieces, n);
    int err = 0;

    pthread_mutex_lock(&m->lock);
    if (bytes > m->cap - m->filled)
        err = E_FULL;
    else
        append(m, kind, pieces, n, first);
    pthread_mutex_unlock(&m->lock);
    return err;
}

int mailbox_put_wait(struct mailbox *m, uint32_t kind, const struct span *pieces, uint32_t n,
                     bool *first)
{
    size_t bytes = record_bytes(pieces, n);
    int err = 0;

    if (bytes > m->cap)
        return E_FULL;
    pthread_mutex_lock(&m->lock);
    while (!m->closed && bytes > m->cap - m->filled)
        pthread_cond_wait(&m->room, &m->lock);
    if (m->closed)
        err = E_CLOSED;
    else
        append(m, kind, pieces, n, first);
    pthread_mutex_unlock(&m->lock);
    return err;
}

void mailbox_close(struct mailbox *m)
{
    pthread_mutex_lock(&m->lock);
    m->closed = true;
    pthread_cond_broadcast(&m->room);
    pthread_cond_broadcast(&m->news);
    pthread_mutex_unlock(&m->lock);
}

bool mailbox_closed(struct mailbox *m)
{
    bool closed;

    pthread_mutex_lock(&m->lock);
    closed = m->closed;
    pthread_mutex_unlock(&m->lock);
    return closed;
}

/* All of `read` was taken: change over. */
static void change(struct mailbox *m)
{
    uint8_t *taken = m->read;

    pthread_mutex_lock(&m->lock);
    m->read = m->fill;
    m->fill = taken;
    m->at = 0;
    m->end = m->filled;
    m->filled = 0;
    pthread_cond_broadcast(&m->room);
    pthread_mutex_unlock(&m->lock);
}

bool mailbox_take(struct mailbox *m, uint32_t *kind, struct span *bytes)
{
    uint32_t head[2];

    if (m->at == m->end)
        change(m);
    if (m->at == m->end)
        return false;
    memcpy(head, m->read + m->at, sizeof(head));
    *kind = head[0];
    *bytes = span_of(m->read + m->at + MAILBOX_HEAD, head[1]);
    m->at += MAILBOX_HEAD + head[1];
    return true;
}

void mailbox_wait(struct mailbox *m, int64_t wait_ns)
{
    struct mono until = clock_add(clock_mono(), wait_ns);
    struct timespec t = {(time_t)(until.ns / CLOCK_NS_PER_S), (long)(until.ns % CLOCK_NS_PER_S)};
    int err = 0;

    if (m->at < m->end)
        return;
    pthread_mutex_lock(&m->lock);
    while (err == 0 && !m->closed && m->filled == 0)
        err = pthread_cond_timedwait(&m->news, &m->lock, &t);
    pthread_mutex_unlock(&m->lock);
}
