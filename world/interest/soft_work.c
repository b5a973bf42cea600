/* world/interest/soft_work.c: see the header: the memory of it. */
#include "world/interest/soft_work.h"

#include "common/err.h"
#include "world/interest/radix.h"
#include "world/interest/wire.h"

#include <stdlib.h>
#include <string.h>

/* A viewer that moved further than this share of its nearest radius in one tick has jumped: all
 * around it is new, and is looked up at once. */
#define JUMP_SHARE 0.5

#define FEW 64 /* keys that are sorted in place */

int soft_work_create(const struct soft *s, struct soft_work **out)
{
    struct soft_work *k = calloc(1, sizeof(*k));
    const struct soft_rules *r = &s->rules;
    double reach = r->radius[r->n_tiers - 1] + r->hysteresis, jump = r->radius[0] * JUMP_SHARE;
    size_t cap = s->cap;

    if (!k)
        return E_NOMEM;
    k->keep2 = reach * reach;
    k->jump2 = jump * jump;
    for (uint32_t t = 0; t < r->n_tiers; t++)
        k->radius2[t] = r->radius[t] * r->radius[t];
    k->dying = malloc(cap * sizeof(*k->dying));
    k->gone = malloc(2 * cap * sizeof(*k->gone));
    k->added = malloc(2 * cap * sizeof(*k->added));
    k->far = malloc(cap * sizeof(*k->far));
    k->records = malloc(cap * sizeof(*k->records));
    k->places = malloc(cap * sizeof(*k->places));
    k->odd = malloc(cap * sizeof(*k->odd));
    k->shared = malloc(cap * sizeof(*k->shared));
    k->hits = malloc((cap + 1) * sizeof(*k->hits));
    k->mark = calloc(cap, sizeof(*k->mark));
    k->choices = malloc(2 * cap * sizeof(*k->choices));
    k->ranks = malloc(2 * cap * sizeof(*k->ranks));
    if (!k->dying || !k->gone || !k->added || !k->far || !k->records || !k->places || !k->odd ||
        !k->shared || !k->hits || !k->mark || !k->choices || !k->ranks) {
        soft_work_destroy(k);
        return E_NOMEM;
    }
    *out = k;
    return 0;
}

void soft_work_destroy(struct soft_work *k)
{
    if (!k)
        return;
    free(k->dying);
    free(k->gone);
    free(k->added);
    free(k->far);
    free(k->records);
    free(k->places);
    free(k->odd);
    free(k->shared);
    free(k->hits);
    free(k->mark);
    free(k->choices);
    free(k->ranks);
    free(k);
}

void soft_work_sort(struct soft_work *k, uint64_t *keys, uint32_t n)
{
    if (n < FEW) {
        known_sort(keys, n);
    } else {
        const uint64_t *sorted = radix_sort(keys, k->ranks, n);

        if (sorted != keys)
            memcpy(keys, sorted, n * sizeof(*keys));
    }
}

void soft_work_settle(struct world *w, uint32_t slot)
{
    struct soft *s = w->sight.soft;
    struct soft_body *b = &s->bodies[slot];
    struct soft_settled *c = &s->settled[slot];

    if (!wire_settle(w, slot))
        return;
    c->before_that = c->before;
    c->last = b->settled;
    c->last_by = b->settled_by;
    c->before = b->wire;
    b->wire = w->entities.told[slot].wire;
    b->tell = wire_changes(&c->before, &b->wire);
    b->tail = wire_tail(&b->wire, b->tell);
    b->tick = b->settled = w->tick;
    b->settled_by = s->seat_now;
}

void soft_work_note(struct soft *s, uint32_t viewer)
{
    struct soft_viewer *v = &s->viewers[viewer];

    for (uint32_t i = 0; i < v->span && (v->flags & SOFT_LAZY); i++) {
        uint32_t slot = known_slot(s->keys[v->at + i]);
        const struct soft_body *b = &s->bodies[slot];
        bool missed = b->settled == s->tick && v->order < b->settled_by;
        const struct entity_wire *wire = missed ? &s->settled[slot].before : &b->wire;

        if (s->part[v->at + i] != 0)
            continue;
        s->told[v->at + i] = (struct soft_told){
            .qx = wire->qx,
            .qy = wire->qy,
            .since = s->tick, /* its change is of that tick: it is looked at */
            .gen = s->told[v->at + i].gen,
            .dir = wire->dir,
            .speed = wire->speed,
        };
    }
    v->flags &= (uint8_t)~SOFT_LAZY;
}

void soft_work_told(struct world *w, uint32_t viewer, uint32_t place)
{
    struct soft *s = w->sight.soft;
    uint64_t at = s->viewers[viewer].at + place;
    uint32_t slot = known_slot(s->keys[at]);
    const struct entity_wire *wire = &s->bodies[slot].wire;

    s->told[at] = (struct soft_told){
        .qx = wire->qx,
        .qy = wire->qy,
        .since = w->tick,
        .gen = (uint16_t)w->entities.slots.gen[slot],
        .dir = wire->dir,
        .speed = wire->speed,
    };
}
