/* world/cluster/registry.c: see the header. */
#include "world/cluster/registry.h"

#include "common/err.h"

#include <stdlib.h>

static bool name_is(void *arg, uint32_t value, struct span key)
{
    const struct registry *r = arg;

    return span_equal(registry_text(&r->list[value]), key);
}

int registry_create(uint32_t cap, uint32_t sessions, uint64_t seed, struct registry **out)
{
    struct registry *r = calloc(1, sizeof(*r));

    if (!r)
        return E_NOMEM;
    *out = r;
    r->list = calloc(cap, sizeof(*r->list));
    r->work = calloc(cap, sizeof(*r->work));
    r->of = calloc(sessions, sizeof(*r->of));
    if (!r->list || !r->work || !r->of || slots_init(&r->slots, cap) != 0 ||
        table_init(&r->by_name, cap, seed, name_is, r) != 0)
        return E_NOMEM;
    for (uint32_t i = 0; i < sessions; i++)
        r->of[i] = REGISTRY_NONE;
    return 0;
}

void registry_destroy(struct registry *r)
{
    if (!r)
        return;
    table_fini(&r->by_name);
    slots_fini(&r->slots);
    free(r->of);
    free(r->work);
    free(r->list);
    free(r);
}

int registry_add(struct registry *r, struct span name, uint32_t *place)
{
    struct registry_name *n;
    uint32_t gen;
    int err = slots_take(&r->slots, place, &gen);

    if (err != 0)
        return err;
    n = &r->list[*place];
    *n = (struct registry_name){.name_len = (uint8_t)name.n, .listed = n->listed};
    memcpy(n->name, name.p, name.n);
    err = table_add(&r->by_name, name, *place);
    ASSERT(err == 0); /* there is an entry for each place */
    return 0;
}

void registry_remove(struct registry *r, uint32_t place)
{
    struct registry_name *n = &r->list[place];
    bool was = table_remove(&r->by_name, registry_text(n));

    ASSERT(was);
    if (n->who.gen != 0 && r->of[n->who.slot] == place)
        r->of[n->who.slot] = REGISTRY_NONE;
    n->state = REGISTRY_FREE;
    n->who = (struct session_ref){0};
    slots_give(&r->slots, place, r->slots.gen[place]);
}

uint32_t registry_find(const struct registry *r, struct span name)
{
    uint32_t place;

    return table_find(&r->by_name, name, &place) ? place : REGISTRY_NONE;
}

void registry_work(struct registry *r, uint32_t place)
{
    if (r->list[place].listed)
        return;
    r->list[place].listed = true;
    r->work[r->n_work++] = place;
}

void registry_clear(struct registry *r)
{
    for (uint32_t i = 0; i < r->slots.fresh; i++) {
        if (r->slots.gen[i] & 1)
            registry_remove(r, i);
    }
}
