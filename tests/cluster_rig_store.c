/* tests/cluster_rig_store.c: see the header. On trouble: the test at hand fails. */
#include "tests/cluster_rig_store.h"

#include "tests/cluster_rig.h"
#include "tests/world_rig.h"
#include "world/command/inbox.h"

#include <stdlib.h>

static void put(void *arg, struct crig_store_ask ask)
{
    struct crig_world *from = arg;
    struct crig *r = from->rig;
    struct crig_store *s = &r->store;
    if (s->n_asks == s->cap) {
        s->cap = s->cap ? 2 * s->cap : 64;
        s->asks = realloc(s->asks, s->cap * sizeof *s->asks);
    }
    ask.world = from->number;
    ask.due = r->step + (s->delay ? rng_below(&r->rng, s->delay + 1) : 0);
    for (uint32_t i = 0; i < s->n_asks; i++) /* each world's in its order */
        if (s->asks[i].world == ask.world && s->asks[i].due > ask.due)
            ask.due = s->asks[i].due;
    s->asks[s->n_asks++] = ask;
}

static void set_name(struct store_character *c, struct span name)
{
    c->name_len = (uint8_t)name.n;
    memcpy(c->name, name.p, name.n);
}

static int load(void *arg, struct store_ticket ticket, struct span name)
{
    struct crig_store_ask a = {.op = CRIG_LOAD, .ticket = ticket};
    set_name(&a.c, name);
    put(arg, a);
    return 0;
}

static int save(void *arg, const struct store_character *c)
{
    put(arg, (struct crig_store_ask){.op = CRIG_SAVE, .c = *c});
    return 0;
}

static int settle(void *arg, struct store_settle what, struct span name)
{
    struct crig_store_ask a = {.op = CRIG_SETTLE, .settle = what};
    set_name(&a.c, name);
    put(arg, a);
    return 0;
}

const struct store_ops CRIG_STORE_OPS = {.load = load, .save = save, .settle = settle};

static struct store_character *find(struct crig_store *s, const struct store_character *c)
{
    for (uint32_t i = 0; i < s->n; i++)
        if (span_equal(span_of(s->rows[i].name, s->rows[i].name_len),
                       span_of(c->name, c->name_len)))
            return &s->rows[i];
    return NULL;
}

static void take_save(struct crig_store *s, const struct store_character *c)
{
    struct store_character *row = find(s, c);
    s->saves++;
    if (row && store_fence_below(&c->fence, &row->fence)) {
        s->refused++;
        return;
    }
    if (!row && s->n == CRIG_ROWS_MAX)
        rig_fail("too many rows for the rig");
    if (!row)
        row = &s->rows[s->n++];
    *row = *c;
}

static void land(struct crig *r, const struct crig_store_ask *a)
{
    struct crig_world *w = &r->worlds[a->world];
    const struct store_character *row = find(&r->store, &a->c);
    struct store_answer answer = {.ticket = a->ticket, .result = row ? STORE_FOUND : STORE_UNKNOWN};
    if (a->op == CRIG_SAVE)
        take_save(&r->store, &a->c);
    if (w->dead)
        return;
    if (row)
        answer.character = *row;
    if (a->op == CRIG_LOAD)
        inbox_loaded(w->world, &answer, r->now);
    else if (a->op == CRIG_SETTLE)
        inbox_stored(w->world, &a->settle, r->now);
    outbox_flush(&w->world->outbox);
}

bool crig_store_deliver(struct crig *r)
{
    struct crig_store *s = &r->store;
    bool any = false;
    for (uint32_t i = 0; i < s->n_asks;) {
        struct crig_store_ask a = s->asks[i];
        if (a.due > r->step) {
            i++;
            continue;
        }
        memmove(&s->asks[i], &s->asks[i + 1], (s->n_asks - i - 1) * sizeof a);
        s->n_asks--;
        land(r, &a);
        any = true;
        i = 0;
    }
    return any;
}

const struct store_character *crig_row(const struct crig *r, const char *name)
{
    for (uint32_t i = 0; i < r->store.n; i++)
        if (span_equal(span_of(r->store.rows[i].name, r->store.rows[i].name_len), span_text(name)))
            return &r->store.rows[i];
    return NULL;
}

void crig_store_fini(struct crig *r)
{
    free(r->store.asks);
}
