/* gateway/drains.c: see the header. */
#include "gateway/drains.h"

#include "common/err.h"
#include "gateway/clients.h"

#include <stdlib.h>

int drains_init(struct drains *d, uint32_t slots)
{
    d->n = 0;
    d->list = calloc(slots, sizeof(*d->list));
    d->at = calloc(slots, sizeof(*d->at));
    if (!d->list || !d->at) {
        drains_fini(d);
        return E_NOMEM;
    }
    return 0;
}

void drains_fini(struct drains *d)
{
    free(d->list);
    free(d->at);
    *d = (struct drains){0};
}

/* A window begins. */
static void begin(struct drain_watch *w, size_t queued, uint32_t now_ms)
{
    w->queued = queued;
    w->written = 0;
    w->since_ms = now_ms;
    w->full = w->emptied = false;
}

static void watch(struct clients *all, struct client *c, size_t queued, size_t bytes)
{
    struct drains *d = &all->drains;
    struct drain_watch *w = &d->list[d->n];

    *w = (struct drain_watch){.client = c};
    begin(w, queued, all->awake_ms);
    w->written = bytes;
    d->at[c->slot] = d->n++;
    c->watched = true;
}

void drains_wrote(struct clients *all, struct client *c, size_t queued, size_t bytes)
{
    if (c->watched)
        all->drains.list[all->drains.at[c->slot]].written += bytes;
    else if (queued > 0)
        watch(all, c, queued, bytes);
}

void drains_forget(struct clients *all, struct client *c)
{
    struct drains *d = &all->drains;
    struct drain_watch *w, *last;

    if (!c->watched)
        return;
    w = &d->list[d->at[c->slot]];
    last = &d->list[--d->n];
    d->at[last->client->slot] = d->at[c->slot];
    *w = *last;
    c->watched = false;
}

void drains_afresh(struct clients *all, struct client *c)
{
    if (c->watched)
        all->drains.list[all->drains.at[c->slot]].told = false;
}

void drains_restart(struct clients *all)
{
    struct drains *d = &all->drains;

    for (uint32_t i = 0; i < d->n; i++)
        begin(&d->list[i], all->conn->queued(d->list[i].client->conn), all->awake_ms);
}

static void tell(struct clients *all, struct drain_watch *w, uint64_t bytes_per_s)
{
    w->told = bytes_per_s > 0;
    all->metrics->drains_told++;
    all->world->drained(all->world_arg, w->client, bytes_per_s);
}

static uint64_t rate(const struct drain_watch *w, size_t queued, uint32_t ms)
{
    const uint64_t held = w->queued + w->written, left = held > queued ? held - queued : 0;
    const uint64_t bytes = left * 1000 / ms;

    return bytes > 0 ? bytes : 1; /* 0 would say that all is well */
}

/* False: it is watched no longer. */
static bool look(struct clients *all, struct drain_watch *w)
{
    const size_t queued = all->conn->queued(w->client->conn);
    const uint32_t ms = all->awake_ms - w->since_ms;
    const bool early = !w->told && queued >= DRAINS_FAST && ms >= DRAINS_EARLY_MS;

    if (queued == 0 && !w->told)
        return false;
    w->full |= queued > 0;
    w->emptied |= queued == 0;
    if (ms < DRAINS_WINDOW_MS && !early)
        return true;
    if (!w->full) {
        tell(all, w, 0);
        return false;
    }
    if (!w->emptied)
        tell(all, w, rate(w, queued, ms));
    begin(w, queued, all->awake_ms);
    return true;
}

void drains_step(struct clients *all)
{
    struct drains *d = &all->drains;

    for (uint32_t i = 0; i < d->n;) {
        struct client *c = d->list[i].client;

        if (look(all, &d->list[i]))
            i++;
        else
            drains_forget(all, c); /* the last one stands here now */
    }
}
