/* tests/sim/sim_fate.c: what happens to worlds, to the store of keys and to the network.
 * Worlds join, drain, crash, are started twice under one id, stop for longer than their lease, are
 * cut off; the store of keys goes away and comes back, at times empty.
 */
#include "tests/sim/sim.h"

static sim_event_fn on_fate;

/* A while that ends before all is mended. */
static int64_t a_while(struct sim *s, int64_t longest)
{
    int64_t ns = sim_between(s, 50 * SIM_MS, longest);

    return s->now + ns < SIM_FAULTS ? ns : SIM_FAULTS - s->now;
}

static void end_cut(struct sim *s, struct sim_event *e)
{
    sim_connect(s, e->world);
}

static void cut(struct sim *s, uint32_t world)
{
    int64_t ns = a_while(s, 2500 * SIM_MS);

    s->worlds[world].cut_until = s->now + ns;
    sim_disconnect(s, world);
    sim_after(s, ns, end_cut, world)->connection = s->worlds[world].connection;
}

static void store_back(struct sim *s, struct sim_event *e)
{
    (void)e;
    s->kv_down = false;
    for (uint32_t i = 0; i < SIM_WORLDS; i++) {
        if (s->worlds[i].up)
            sim_connect(s, i);
    }
}

static void store_away(struct sim *s)
{
    if (s->kv_down)
        return;
    s->kv_down = true;
    for (uint32_t i = 0; i < SIM_WORLDS; i++)
        sim_disconnect(s, i);
    if (sim_chance(s, 0.25)) {
        sim_kv_wipe(&s->kv);
        s->wipes++;
    }
    sim_after(s, a_while(s, 2500 * SIM_MS), store_back, 0);
}

static void start_again(struct sim *s, struct sim_event *e)
{
    if (!s->worlds[e->world].up)
        sim_start(s, e->world, e->world);
}

static void crash(struct sim *s, uint32_t world)
{
    s->crashes++;
    sim_stop(s, world);
    sim_after(s, a_while(s, 3000 * SIM_MS), start_again, world);
}

/* In a free place, and of an id that may be in use. */
static void start_one(struct sim *s)
{
    for (uint32_t i = 0; i < SIM_WORLDS; i++) {
        if (s->worlds[i].up)
            continue;
        sim_start(s, i, sim_chance(s, 0.4) ? (uint32_t)rng_below(&s->rng, SIM_WORLDS) : i);
        return;
    }
}

static void befall(struct sim *s, uint32_t world)
{
    struct sim_world *w = &s->worlds[world];

    switch (rng_below(&s->rng, 10)) {
    case 0:
        crash(s, world);
        break;
    case 1:
    case 2:
    case 3:
        w->paused_until = s->now + a_while(s, 3000 * SIM_MS);
        s->pauses++;
        break;
    case 4:
    case 5:
    case 6:
        cut(s, world);
        break;
    case 7:
        if (!w->draining && sim_chance(s, 0.5))
            w->draining = true;
        break;
    default:
        store_away(s);
        break;
    }
}

/* From here on nothing goes wrong. */
static void mend(struct sim *s, struct sim_event *e)
{
    uint32_t up = 0;

    (void)e;
    s->calm = true;
    for (uint32_t i = 0; i < SIM_WORLDS; i++)
        up += s->worlds[i].up && !s->worlds[i].draining;
    if (up == 0)
        start_one(s);
}

static void on_fate(struct sim *s, struct sim_event *e)
{
    uint32_t world = (uint32_t)rng_below(&s->rng, SIM_WORLDS);

    (void)e;
    if (s->calm)
        return;
    if (s->worlds[world].up)
        befall(s, world);
    else if (sim_chance(s, 0.6))
        start_one(s);
    sim_after(s, sim_between(s, 100 * SIM_MS, 1500 * SIM_MS), on_fate, 0);
}

void sim_fate_begin(struct sim *s)
{
    uint32_t n = 2 + (uint32_t)rng_below(&s->rng, 3);

    for (uint32_t i = 0; i < n; i++)
        sim_start(s, i, i);
    sim_after(s, sim_between(s, 500 * SIM_MS, 3000 * SIM_MS), on_fate, 0);
    sim_after(s, SIM_FAULTS, mend, 0);
}
