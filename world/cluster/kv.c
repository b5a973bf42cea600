/* world/cluster/kv.c: see the header. */
#include "world/cluster/kv.h"

#include "common/err.h"

#include <stdlib.h>

int kv_queue_init(struct kv_queue *q)
{
    *q = (struct kv_queue){.commands = calloc(KV_QUEUE, sizeof(*q->commands))};
    return q->commands ? 0 : E_NOMEM;
}

void kv_queue_fini(struct kv_queue *q)
{
    free(q->commands);
    *q = (struct kv_queue){0};
}

bool kv_queue_next(struct kv_queue *q, struct kv_command *out)
{
    if (q->count == 0)
        return false;
    *out = q->commands[q->head];
    q->head = (q->head + 1) % KV_QUEUE;
    q->count--;
    return true;
}

bool kv_cell_ask(struct kv_cell *c, struct kv_queue *q, enum kv_op op, const struct claim *value,
                 struct mono now)
{
    struct kv_command *k;

    ASSERT(c->turn == 0);
    if (q->count == KV_QUEUE) {
        q->full++;
        return false;
    }
    k = &q->commands[(q->head + q->count++) % KV_QUEUE];
    q->turn = q->turn == UINT32_MAX ? 1 : q->turn + 1;
    *k = (struct kv_command){.op = op, .key = c->key, .turn = q->turn, .asked = now};
    if (op == KV_UPDATE || op == KV_DELETE)
        k->revision = c->revision;
    if (value)
        k->value = *value;
    c->turn = q->turn;
    return true;
}

/* A revision that was seen never comes back; what is older is late news. */
static bool see(struct kv_cell *c, uint64_t revision, const struct claim *value, struct mono now)
{
    bool news = revision > c->revision || (!c->known && revision == c->revision);

    if (!news)
        return false;
    if (revision > c->revision)
        c->seen = now;
    c->revision = revision;
    c->value = *value;
    c->known = true;
    return true;
}

bool kv_cell_answer(struct kv_cell *c, const struct kv_result *r, struct mono now)
{
    static const struct claim none = {.state = CLAIM_NONE};
    const struct kv_command *k = &r->command;

    if (c->turn == 0 || k->turn != c->turn)
        return false;
    c->turn = 0;
    c->again = now;
    if (r->outcome == KV_UNKNOWN)
        c->again = clock_add(now, KV_AGAIN_NS);
    if (r->outcome == KV_DONE) {
        const struct claim *v = k->op == KV_GET      ? &r->value
                                : k->op == KV_DELETE ? &none
                                                     : &k->value;
        see(c, r->revision, v, now);
    }
    if (r->outcome == KV_MISSING) {
        c->value = none;
        c->known = true;
    }
    return true;
}

bool kv_cell_entry(struct kv_cell *c, const struct kv_entry *e, struct mono now)
{
    static const struct claim none = {.state = CLAIM_NONE};

    return see(c, e->revision, e->deleted ? &none : &e->value, now);
}

void kv_cell_follow(struct kv_cell *c, struct mono now)
{
    c->known = false;
    c->seen = now;
}
