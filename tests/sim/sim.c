/* tests/sim/sim.c: see the header. */
#include "tests/sim/sim.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void sim_breach(struct sim *s, const char *fmt, ...)
{
    va_list args;
    int n;

    if (s->breach[0])
        return;
    n = snprintf(s->breach, sizeof(s->breach), "seed %llu at %.3f s: ", (unsigned long long)s->seed,
                 (double)s->now / CLOCK_NS_PER_S);
    va_start(args, fmt);
    vsnprintf(s->breach + n, sizeof(s->breach) - (size_t)n, fmt, args);
    va_end(args);
}

bool sim_chance(struct sim *s, double p)
{
    return rng_unit(&s->rng) < p;
}

int64_t sim_between(struct sim *s, int64_t low, int64_t high)
{
    return low + (int64_t)rng_below(&s->rng, (uint64_t)(high - low));
}

struct mono sim_clock(const struct sim *s, const struct sim_world *w)
{
    return (struct mono){w->offset + (int64_t)((double)s->now * w->rate)};
}

/* --- events ----------------------------------------------------------------------------------- */

static bool sooner(const struct sim_event *a, const struct sim_event *b)
{
    return a->at != b->at ? a->at < b->at : a->seq < b->seq;
}

static void heap_put(struct sim *s, struct sim_event *e)
{
    uint32_t i = s->n_events++;

    if (s->n_events > s->heap_cap) {
        s->heap_cap = s->heap_cap ? 2 * s->heap_cap : 1024;
        s->heap = realloc(s->heap, s->heap_cap * sizeof(*s->heap));
        ASSERT(s->heap);
    }
    for (; i > 0 && sooner(e, s->heap[(i - 1) / 2]); i = (i - 1) / 2)
        s->heap[i] = s->heap[(i - 1) / 2];
    s->heap[i] = e;
}

static struct sim_event *heap_take(struct sim *s)
{
    struct sim_event *first = s->heap[0], *last = s->heap[--s->n_events];
    uint32_t i = 0;

    for (;;) {
        uint32_t kid = 2 * i + 1;

        if (kid >= s->n_events)
            break;
        if (kid + 1 < s->n_events && sooner(s->heap[kid + 1], s->heap[kid]))
            kid++;
        if (!sooner(s->heap[kid], last))
            break;
        s->heap[i] = s->heap[kid];
        i = kid;
    }
    s->heap[i] = last;
    return first;
}

struct sim_event *sim_after(struct sim *s, int64_t delay, sim_event_fn *fn, uint32_t world)
{
    struct sim_event *e = calloc(1, sizeof(*e));

    ASSERT(e);
    e->at = s->now + delay;
    e->seq = s->seq++;
    e->fn = fn;
    e->world = world;
    e->life = s->worlds[world].life;
    e->connection = s->worlds[world].connection;
    heap_put(s, e);
    return e;
}

bool sim_reaches(struct sim *s, struct sim_event *e)
{
    struct sim_world *w = &s->worlds[e->world];
    struct sim_event *again;
    int64_t at;
    uint64_t seq;

    if (!w->up || w->life != e->life)
        return false;
    if (w->paused_until <= s->now)
        return true;
    again = sim_after(s, w->paused_until - s->now, e->fn, e->world);
    at = again->at;
    seq = again->seq;
    *again = *e;
    again->at = at;
    again->seq = seq;
    return false;
}

/* --- the way to the store of keys and back ---------------------------------------------------- */

static void drive(struct sim *s, uint32_t world);

static void on_answer(struct sim *s, struct sim_event *e)
{
    struct sim_world *w = &s->worlds[e->world];
    struct kv_result *r = &e->u.result;

    if (!sim_reaches(s, e))
        return;
    if (s->plant == PLANT_FROM_ANSWER && r->outcome == KV_DONE)
        r->command.asked = sim_clock(s, w);
    if (s->plant == PLANT_LOST_IS_DONE && r->outcome == KV_LOST && r->command.op == KV_UPDATE) {
        r->outcome = KV_DONE;
        r->revision = s->kv.revision;
    }
    member_result(&w->m, r, sim_clock(s, w));
    drive(s, e->world);
}

static void on_entry(struct sim *s, struct sim_event *e)
{
    struct sim_world *w = &s->worlds[e->world];

    if (w->connection != e->connection || !sim_reaches(s, e))
        return;
    member_entry(&w->m, &e->u.entry, sim_clock(s, w));
    drive(s, e->world);
}

static void on_followed(struct sim *s, struct sim_event *e)
{
    struct sim_world *w = &s->worlds[e->world];

    if (w->connection != e->connection || !sim_reaches(s, e))
        return;
    member_followed(&w->m, sim_clock(s, w));
}

/* In the order of the writes: behind whatever is on its way. */
static struct sim_event *tell(struct sim *s, uint32_t world, sim_event_fn *fn)
{
    struct sim_world *w = &s->worlds[world];
    int64_t at = s->now + sim_between(s, SIM_MS / 5, 8 * SIM_MS);

    if (!s->calm && sim_chance(s, 0.005))
        at += sim_between(s, 0, 800 * SIM_MS);
    if (at < w->told_at)
        at = w->told_at;
    w->told_at = at;
    return sim_after(s, at - s->now, fn, world);
}

static void on_land(struct sim *s, struct sim_event *e)
{
    const struct sim_entry *changed;
    const struct kv_command *c = &e->u.command;
    bool blind = s->plant == PLANT_BLIND_RENEW && c->key.room == KV_WORLD && c->op == KV_UPDATE &&
                 c->value.epoch != 0 && c->value.state == CLAIM_HELD;
    struct sim_event *a;
    struct kv_result r;

    if (s->kv_down)
        return;
    r = sim_kv_do(&s->kv, c, blind, &changed);
    for (uint32_t i = 0; changed && i < SIM_WORLDS; i++) {
        if (s->worlds[i].online && c->key.room != KV_NAME && c->key.room != KV_IDS)
            tell(s, i, on_entry)->u.entry = sim_kv_entry(changed);
    }
    if (!s->calm && sim_chance(s, 0.01))
        return; /* the answer is lost */
    if (!s->worlds[e->world].online || s->worlds[e->world].connection != e->connection)
        return;
    a = sim_after(s, sim_between(s, SIM_MS / 5, 5 * SIM_MS), on_answer, e->world);
    a->life = e->life;
    a->u.result = r;
}

static void send(struct sim *s, uint32_t world, const struct kv_command *c)
{
    struct sim_world *w = &s->worlds[world];
    struct sim_event *e;
    int64_t delay = sim_between(s, SIM_MS / 5, 5 * SIM_MS);

    s->claims += c->op != KV_GET;
    e = sim_after(s, w->online ? SIM_WAIT : sim_between(s, SIM_MS, 10 * SIM_MS), on_answer, world);
    e->u.result = (struct kv_result){.command = *c, .outcome = KV_UNKNOWN};
    if (!w->online)
        return;
    if (!s->calm && sim_chance(s, 0.01))
        return; /* it never lands */
    if (!s->calm && sim_chance(s, 0.02))
        delay += sim_between(s, 0, 3000 * SIM_MS);
    e = sim_after(s, delay, on_land, world);
    e->u.command = *c;
}

/* What the machines want done now. */
static void drive(struct sim *s, uint32_t world)
{
    struct sim_world *w = &s->worlds[world];
    uint64_t unix_ms = (uint64_t)(s->now / SIM_MS) + 1700000000000u;
    struct kv_command c;

    sim_people_lose(s, world);
    member_turn(&w->m, unix_ms << 16 | (rng_next(&s->rng) & 0xffff), sim_clock(s, w));
    while (member_next(&w->m, &c))
        send(s, world, &c);
}

void sim_disconnect(struct sim *s, uint32_t world)
{
    struct sim_world *w = &s->worlds[world];

    w->online = false;
    w->connection++;
}

static void on_connect(struct sim *s, struct sim_event *e)
{
    struct sim_world *w = &s->worlds[e->world];

    if (w->connection != e->connection || w->online || s->kv_down || w->cut_until > s->now ||
        !sim_reaches(s, e))
        return;
    w->online = true;
    w->connection++;
    w->told_at = s->now;
    member_follow(&w->m, sim_clock(s, w));
    for (uint32_t i = 0; i < s->kv.n; i++) {
        struct kv_entry entry = sim_kv_entry(&s->kv.entries[i]);

        if (entry.key.room != KV_NAME && entry.key.room != KV_IDS)
            tell(s, e->world, on_entry)->u.entry = entry;
    }
    tell(s, e->world, on_followed);
}

void sim_connect(struct sim *s, uint32_t world)
{
    sim_after(s, sim_between(s, SIM_MS, 60 * SIM_MS), on_connect, world);
}

/* --- worlds ----------------------------------------------------------------------------------- */

static void take_blocks(struct sim *s, struct sim_world *w)
{
    uint32_t first;

    if (sim_chance(s, 0.02))
        blocks_want(&w->m.blocks);
    if (!blocks_next(&w->m.blocks, &first) || s->n_blocks == SIM_BLOCKS)
        return;
    for (uint32_t i = 0; i < s->n_blocks; i++) {
        if (s->blocks[i].generation == w->m.tables && s->blocks[i].first == first)
            sim_breach(s, "two worlds have the ids from %u on", first);
    }
    s->blocks[s->n_blocks].generation = w->m.tables;
    s->blocks[s->n_blocks++].first = first;
}

/* What a tick of its zones leaves. Sometimes it is stopped between the check and the sending. */
static void act(struct sim *s, uint32_t world)
{
    struct sim_world *w = &s->worlds[world];
    bool may = member_may_act(&w->m, sim_clock(s, w)) || s->plant == PLANT_NO_CHECK;
    int64_t delay = 0;

    if (!may && w->m.lease.epoch != 0)
        s->held_still++;
    if (may && !s->calm && sim_chance(s, 0.002)) {
        delay = sim_between(s, 0, 3000 * SIM_MS);
        if (s->now + delay > SIM_FAULTS)
            delay = SIM_FAULTS - s->now;
        w->paused_until = s->now + delay;
        s->pauses++;
    }
    for (uint32_t i = 0; may && i < SIM_ZONES; i++) {
        if (holdings_owns(&w->m.holdings, i))
            sim_frame(s, world, i, delay);
    }
}

static void on_step(struct sim *s, struct sim_event *e)
{
    struct sim_world *w = &s->worlds[e->world];

    if (!sim_reaches(s, e))
        return;
    drive(s, e->world);
    if (member_refused(&w->m)) {
        s->refused_worlds++;
        sim_stop(s, e->world);
        return;
    }
    sim_people_step(s, e->world);
    take_blocks(s, w);
    drive(s, e->world);
    act(s, e->world);
    if (w->m.lease.state == LEASE_QUIT) {
        sim_stop(s, e->world);
        return;
    }
    sim_after(s, sim_between(s, SIM_STEP / 2, 3 * SIM_STEP / 2), on_step, e->world);
}

void sim_start(struct sim *s, uint32_t world, uint32_t id)
{
    struct sim_world *w = &s->worlds[world];
    uint32_t life = w->life, connection = w->connection;
    struct member_config c = {
        .lease = {.nonce = rng_next(&s->rng),
                  .lease_ns = SIM_LEASE,
                  .guard_ns = s->plant == PLANT_NO_WAIT ? -SIM_LEASE / 2 : SIM_GUARD,
                  .renew_ns = SIM_RENEW,
                  .address = span_text("127.0.0.1:19002")},
        .terms = span_text("zones=4x2 radius=30"),
        .zones = SIM_ZONES,
        .settle_ns = SIM_SETTLE,
        .names = SIM_PEOPLE,
        .ids = 1024,
        .blocks = SIM_BLOCKS};
    int err;

    memset(w, 0, sizeof(*w));
    w->id[0] = 'w';
    w->id[1] = (char)('0' + id);
    c.lease.world = span_text(w->id);
    err = member_init(&w->m, &c);
    ASSERT(err == 0);
    if (s->plant == PLANT_OPEN_AT_ONCE)
        w->m.generation.wait_ns = 0;
    w->life = life + 1;
    w->connection = connection + 1;
    w->up = true;
    w->offset = sim_between(s, CLOCK_NS_PER_S, 1000 * CLOCK_NS_PER_S);
    w->rate = 1 + (rng_unit(&s->rng) - 0.5) * 0.04;
    sim_connect(s, world);
    sim_after(s, sim_between(s, 0, SIM_STEP), on_step, world);
}

void sim_stop(struct sim *s, uint32_t world)
{
    struct sim_world *w = &s->worlds[world];

    if (!w->up)
        return;
    s->burials += w->m.lease.burials;
    s->moves += w->m.holdings.moves;
    member_fini(&w->m);
    w->up = w->online = false;
    w->life++;
    w->connection++;
}

static void clean(struct sim *s)
{
    for (uint32_t i = 0; i < SIM_WORLDS; i++)
        sim_stop(s, i);
    for (uint32_t i = 0; i < s->n_events; i++)
        free(s->heap[i]);
    free(s->heap);
    s->heap = NULL;
    s->n_events = s->heap_cap = 0;
}

void sim_run(struct sim *s, uint64_t seed, enum sim_plant plant)
{
    memset(s, 0, sizeof(*s));
    s->seed = seed;
    s->plant = plant;
    rng_init(&s->rng, seed);
    sim_fate_begin(s);
    while (!s->breach[0] && s->n_events > 0 && s->now < SIM_FAULTS + SIM_END) {
        struct sim_event *e = heap_take(s);

        s->now = e->at;
        s->events++;
        e->fn(s, e);
        free(e);
        sim_judge(s);
    }
    sim_judge_end(s);
    clean(s);
}
