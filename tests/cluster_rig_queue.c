/* tests/cluster_rig_queue.c: see the header. */
#include "tests/cluster_rig_queue.h"

#include <stdlib.h>
#include <string.h>

void crig_queue_put(struct crig_queue *q, uint32_t from, uint32_t to, uint64_t due,
                    struct span bytes)
{
    if (q->n == q->cap) {
        q->cap = q->cap ? 2 * q->cap : 64;
        q->list = realloc(q->list, q->cap * sizeof *q->list);
    }
    uint8_t *copy = malloc(bytes.n + 1);
    memcpy(copy, bytes.p, bytes.n);
    q->list[q->n++] = (struct crig_parcel){from, to, due, span_of(copy, bytes.n)};
}

bool crig_queue_take(struct crig_queue *q, uint64_t step, bool fifo, struct crig_parcel *out)
{
    for (uint32_t i = 0; i < q->n; i++) {
        if (q->list[i].due <= step) {
            *out = q->list[i];
            memmove(&q->list[i], &q->list[i + 1], (q->n - i - 1) * sizeof *q->list);
            q->n--;
            return true;
        }
        if (fifo)
            return false;
    }
    return false;
}

void crig_queue_fini(struct crig_queue *q)
{
    for (uint32_t i = 0; i < q->n; i++)
        free((void *)q->list[i].bytes.p);
    free(q->list);
}
