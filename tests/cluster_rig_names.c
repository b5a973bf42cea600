/* tests/cluster_rig_names.c: see the header. On trouble: the test at hand fails. */
#include "tests/cluster_rig_names.h"

#include "tests/cluster_rig.h"
#include "tests/world_rig.h"
#include "world/command/courier.h"

#include <stdio.h>
#include <stdlib.h>

static uint64_t some_steps(struct crig *r)
{
    return r->step + (r->names.delay ? rng_below(&r->rng, r->names.delay + 1) : 0);
}

static void put(void *arg, enum crig_name_op op, uint32_t place, struct span name, uint64_t token)
{
    struct crig_world *from = arg;
    struct crig *r = from->rig;
    struct crig_names *s = &r->names;
    if (s->n_asks == s->cap) {
        s->cap = s->cap ? 2 * s->cap : 64;
        s->asks = realloc(s->asks, s->cap * sizeof *s->asks);
    }
    struct crig_name_ask *a = &s->asks[s->n_asks++];
    *a = (struct crig_name_ask){
        .op = op, .world = from->number, .place = place, .token = token, .due = some_steps(r)};
    memcpy(a->name, name.p, name.n);
}

static const char *name_of(struct crig_world *from, uint32_t place)
{
    const struct registry_name *n = &from->world->cluster->registry->list[place];
    static char text[PROTO_NAME_MAX + 1];
    snprintf(text, sizeof text, "%.*s", (int)n->name_len, n->name);
    return text;
}

static void claim(void *arg, uint32_t place, struct span name)
{
    put(arg, CRIG_CLAIM, place, name, 0);
}

static void take(void *arg, uint32_t place, struct span name, uint64_t token)
{
    put(arg, CRIG_TAKE, place, name, token);
}

static void take_back(void *arg, uint32_t place)
{
    struct crig_world *from = arg;
    put(arg, CRIG_TAKE_BACK, place, span_text(name_of(arg, place)),
        from->rig->names.held[from->number][place]);
}

static void release(void *arg, uint32_t place)
{
    struct crig_world *from = arg;
    put(arg, CRIG_RELEASE, place, span_text(name_of(arg, place)),
        from->rig->names.held[from->number][place]);
}

static void forget(void *arg, uint32_t place)
{
    struct crig_world *from = arg;
    from->rig->names.held[from->number][place] = 0;
}

const struct cluster_door_ops CRIG_NAME_OPS = {.name_claim = claim,
                                               .name_take = take,
                                               .name_take_back = take_back,
                                               .name_release = release,
                                               .name_forget = forget};

static struct crig_name *find(struct crig_names *s, const char *name)
{
    for (uint32_t i = 0; i < s->n; i++)
        if (strcmp(s->list[i].name, name) == 0)
            return &s->list[i];
    if (s->n == CRIG_NAMES_MAX)
        return NULL;
    struct crig_name *k = &s->list[s->n++];
    *k = (struct crig_name){.holder = CRIG_NONE};
    snprintf(k->name, sizeof k->name, "%s", name);
    return k;
}

static void have(struct crig_names *s, struct crig_name *k, struct crig_name_ask *a)
{
    k->holder = a->world;
    k->revision = ++s->revision;
    a->token = k->revision;
    a->held = true;
}

static void land(struct crig *r, struct crig_name_ask *a)
{
    struct crig_names *s = &r->names;
    struct crig_name *k = find(s, a->name);
    if (!k)
        rig_fail("too many names for the rig");
    switch (a->op) {
    case CRIG_CLAIM:
        a->elsewhere = k->holder != CRIG_NONE && k->holder != a->world && !s->buried[k->holder];
        a->holder = k->holder;
        if (!a->elsewhere)
            have(s, k, a);
        break;
    case CRIG_TAKE:
    case CRIG_TAKE_BACK:
        a->gone = k->holder == CRIG_NONE || k->revision != a->token;
        if (!a->gone)
            have(s, k, a);
        break;
    case CRIG_RELEASE:
        if (k->holder == a->world && k->revision == a->token)
            k->holder = CRIG_NONE;
        break;
    }
    a->landed = true;
    a->due = some_steps(r);
}

static void answer(struct crig *r, const struct crig_name_ask *a)
{
    struct crig_world *w = &r->worlds[a->world];
    struct courier_name n = {.place = a->place,
                             .word = a->held        ? COURIER_NAME_HELD
                                     : a->elsewhere ? COURIER_NAME_ELSEWHERE
                                     : a->gone      ? COURIER_NAME_GONE
                                                    : COURIER_NAME_FREE,
                             .generation = 1,
                             .token = a->token};
    if (w->dead)
        return;
    if (a->elsewhere)
        n.holder = span_text(r->worlds[a->holder].id);
    if (a->held)
        r->names.held[a->world][a->place] = a->token;
    courier_name(w->world, &n, r->now);
    outbox_flush(&w->world->outbox);
}

bool crig_names_deliver(struct crig *r)
{
    struct crig_names *s = &r->names;
    bool any = false;
    for (uint32_t i = 0; i < s->n_asks;) {
        struct crig_name_ask *a = &s->asks[i], done;
        if (r->cut[a->world] || a->due > r->step) {
            i++;
            continue;
        }
        any = true;
        if (!a->landed) {
            if (r->worlds[a->world].dead)
                a->landed = true;
            else
                land(r, a);
            continue;
        }
        done = *a;
        memmove(a, a + 1, (s->n_asks - i - 1) * sizeof *a);
        s->n_asks--;
        answer(r, &done);
        i = 0; /* it may have asked more */
    }
    return any;
}

void crig_names_end(struct crig *r, uint32_t world)
{
    struct crig_names *s = &r->names;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < s->n; i++) {
        if (s->list[i].holder != world)
            continue;
        s->list[i].holder = CRIG_NONE;
        s->list[i].revision = ++s->revision;
    }
    for (uint32_t i = 0; i < s->n_asks; i++)
        if (s->asks[i].world != world)
            s->asks[kept++] = s->asks[i];
    s->n_asks = kept;
    courier_term_ended(r->worlds[world].world, false, r->now);
    outbox_flush(&r->worlds[world].world->outbox);
}

uint32_t crig_name_holder(const struct crig *r, const char *name)
{
    for (uint32_t i = 0; i < r->names.n; i++)
        if (strcmp(r->names.list[i].name, name) == 0)
            return r->names.list[i].holder;
    return CRIG_NONE;
}

void crig_names_init(struct crig *r)
{
    for (uint32_t i = 0; i < r->n_worlds; i++) {
        const struct registry *g = r->worlds[i].world->cluster->registry;
        r->names.held[i] = calloc(g->slots.cap, sizeof *r->names.held[i]);
    }
}

void crig_names_fini(struct crig *r)
{
    for (uint32_t i = 0; i < r->n_worlds; i++)
        free(r->names.held[i]);
    free(r->names.asks);
}
