/* world/interest/drain.c: see the header.
 *
 *   told ─► session.drain, list ─► budget of its viewer
 *                           └─ each second: grows where it is well, until it is not listed
 */
#include "world/interest/drain.h"

#include "world/interest/soft.h"

/* A second's bytes of the flag's budget. */
static uint64_t whole(const struct world *w)
{
    return w->config.viewer_bytes * (uint64_t)CLOCK_NS_PER_S / (uint64_t)w->config.tick_ns;
}

/* The budget of a tick; 0: the flag's. */
static uint32_t budget(const struct world *w, const struct session *s)
{
    uint64_t bytes = s->drain - s->drain / DRAIN_OTHER;

    if (s->drain == 0 || bytes >= whole(w))
        return 0;
    bytes = bytes * (uint64_t)w->config.tick_ns / (uint64_t)CLOCK_NS_PER_S;
    return bytes > 0 ? (uint32_t)bytes : 1;
}

void drain_enter(struct world *w, const struct session *s)
{
    uint32_t viewer;

    if (w->config.viewer_bytes > 0 && entities_find(&w->entities, s->entity, &viewer))
        soft_drain(w, viewer, budget(w, s));
}

/* Take those off the list that ended or are no longer slow. */
static void tidy(struct world *w)
{
    struct world_drains *d = &w->drains;
    uint32_t n = 0;

    for (uint32_t i = 0; i < d->n; i++) {
        struct session *s;

        if (!sessions_find(&w->sessions, d->list[i], &s))
            continue;
        if (s->drain == 0)
            s->drain_listed = false;
        else
            d->list[n++] = d->list[i];
    }
    d->n = n;
}

void drain_told(struct world *w, struct session_ref who, uint64_t bytes_per_s)
{
    struct world_drains *d = &w->drains;
    struct session *s;

    w->metrics.drains_told++;
    if (w->config.viewer_bytes == 0 || !sessions_find(&w->sessions, who, &s))
        return;
    s->drain_well = bytes_per_s == 0;
    if (s->drain_well)
        return; /* what it has grows from here */
    s->drain = bytes_per_s < UINT32_MAX ? (uint32_t)bytes_per_s : UINT32_MAX;
    if (!s->drain_listed) {
        if (d->n == w->sessions.slots.cap)
            tidy(w);
        ASSERT(d->n < w->sessions.slots.cap); /* each that is alive stands there once */
        d->list[d->n++] = who;
        s->drain_listed = true;
    }
    drain_enter(w, s);
}

void drain_grow(struct world *w, struct mono now)
{
    struct world_drains *d = &w->drains;

    (void)now;
    for (uint32_t i = 0; i < d->n; i++) {
        struct session *s;
        uint64_t more;

        if (!sessions_find(&w->sessions, d->list[i], &s) || !s->drain_well)
            continue;
        more = s->drain / DRAIN_GROWTH;
        more = s->drain + (more > DRAIN_AT_LEAST ? more : DRAIN_AT_LEAST);
        s->drain = more - more / DRAIN_OTHER < whole(w) ? (uint32_t)more : 0;
        drain_enter(w, s);
    }
    tidy(w);
    w->metrics.viewers_drained = d->n;
}
