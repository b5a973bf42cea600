/* tests/sim/sim_people.c: characters log in, do things, are saved, handed over and leave.
 * The order is the real one: a name is claimed, then its row loaded, which raises the row's fence;
 * its last save is confirmed before the name is released; in hand-over the name is taken from the
 * revision that the switch carries, and its giver takes it back where it hears nothing. Messages
 * between worlds are lost, doubled and late, and so are saves.
 */
#include "tests/sim/sim.h"

#define SAVE_EVERY (200 * SIM_MS)
#define SAY_EVERY  (100 * SIM_MS)
#define BACK_AFTER (700 * SIM_MS)

static struct span name_of(uint32_t person)
{
    static const char names[SIM_PEOPLE][8] = {"Ada", "Bo", "Cleo", "Dan", "Eve", "Fay"};

    return span_text(names[person]);
}

static void set(struct sim *s, struct sim_person *p, enum sim_mode mode)
{
    p->mode = mode;
    p->since = s->now;
    p->said = p->saved = 0;
}

static uint64_t token_of(const struct sim_world *w, uint32_t person)
{
    return w->m.names.names[person].cell.revision;
}

/* --- the store of characters ------------------------------------------------------------------ */

static bool older(const struct sim_event *e, const struct sim_row *row)
{
    return e->generation < row->generation ||
           (e->generation == row->generation && e->token < row->token);
}

static void on_saved(struct sim *s, struct sim_event *e)
{
    struct sim_world *w = &s->worlds[e->world];
    struct sim_person *p = &w->people[e->person];

    if (!sim_reaches(s, e))
        return;
    if (p->mode == MODE_LEAVING && p->version == e->version && token_of(w, e->person) == e->token &&
        w->m.names.names[e->person].state == NAME_HELD) {
        names_release(&w->m.names, e->person);
        set(s, p, MODE_RELEASING);
    }
}

static void on_save(struct sim *s, struct sim_event *e)
{
    struct sim_row *row = &s->rows[e->person];
    struct sim_event *a;

    if (older(e, row) && s->plant != PLANT_NO_FENCE) {
        s->refused_saves++;
        return;
    }
    if (older(e, row) && e->version != row->version)
        sim_breach(s, "person %u: a save of an old token was taken", e->person);
    if (!older(e, row) && e->version < row->version && e->token == row->token &&
        e->generation == row->generation)
        return; /* two of one holder, the later one first: its queue keeps them in order */
    row->generation = e->generation;
    row->token = e->token;
    row->version = e->version;
    row->acked = e->version;
    if (!s->calm && sim_chance(s, 0.05))
        return;
    a = sim_after(s, sim_between(s, SIM_MS, 20 * SIM_MS), on_saved, e->world);
    a->life = e->life;
    a->person = e->person;
    a->token = e->token;
    a->version = e->version;
}

static void save(struct sim *s, uint32_t world, uint32_t person)
{
    struct sim_world *w = &s->worlds[world];
    struct sim_person *p = &w->people[person];
    int64_t delay = sim_between(s, SIM_MS, 20 * SIM_MS);
    struct sim_event *e;

    if (p->saved && s->now - p->saved < SAVE_EVERY)
        return;
    p->saved = s->now;
    if (!s->calm && sim_chance(s, 0.05))
        delay += sim_between(s, 0, 4000 * SIM_MS);
    e = sim_after(s, delay, on_save, world);
    e->person = person;
    e->generation = w->m.tables;
    e->token = token_of(w, person);
    e->version = p->version;
}

static void live(struct sim *s, uint32_t world, uint32_t person, uint64_t version)
{
    set(s, &s->worlds[world].people[person], MODE_LIVE);
    s->worlds[world].people[person].version = version;
}

static void on_loaded(struct sim *s, struct sim_event *e)
{
    struct sim_world *w = &s->worlds[e->world];
    struct sim_row *row = &s->rows[e->person];

    if (!sim_reaches(s, e))
        return;
    if (w->people[e->person].mode != MODE_LOADING || token_of(w, e->person) != e->token)
        return;
    /* Where another loaded it since, this world has slept, and does not act. */
    if (row->token == e->token && row->generation == e->generation) {
        if (e->version < row->acked)
            sim_breach(s, "person %u lost what was stored", e->person);
        row->truth = e->version;
    }
    live(s, e->world, e->person, e->version);
}

static void on_load(struct sim *s, struct sim_event *e)
{
    struct sim_row *row = &s->rows[e->person];
    struct sim_event *a;

    if (older(e, row))
        return;
    row->generation = e->generation;
    row->token = e->token;
    a = sim_after(s, sim_between(s, SIM_MS, 20 * SIM_MS), on_loaded, e->world);
    a->life = e->life;
    a->person = e->person;
    a->generation = e->generation;
    a->token = e->token;
    a->version = row->version;
}

static void load(struct sim *s, uint32_t world, uint32_t person)
{
    struct sim_world *w = &s->worlds[world];
    struct sim_event *e = sim_after(s, sim_between(s, SIM_MS, 20 * SIM_MS), on_load, world);

    e->person = person;
    e->generation = w->m.tables;
    e->token = token_of(w, person);
    set(s, &w->people[person], MODE_LOADING);
}

/* --- hand-over -------------------------------------------------------------------------------- */

static sim_event_fn on_switch, on_confirm;

/* Once, twice or not at all, now or later. */
static void say(struct sim *s, sim_event_fn *fn, uint32_t from, uint32_t to, uint32_t person,
                uint64_t token, uint64_t version)
{
    int copies = s->calm ? 1 : sim_chance(s, 0.1) ? 0 : sim_chance(s, 0.1) ? 2 : 1;

    for (; copies > 0; copies--) {
        int64_t delay = sim_between(s, SIM_MS / 5, 10 * SIM_MS);
        struct sim_event *e;

        if (!s->calm && sim_chance(s, 0.05))
            delay += sim_between(s, 0, 2000 * SIM_MS);
        e = sim_after(s, delay, fn, to);
        e->other = from;
        e->person = person;
        e->generation = s->worlds[from].m.tables;
        e->token = token;
        e->version = version;
    }
}

static void on_confirm(struct sim *s, struct sim_event *e)
{
    struct sim_world *w = &s->worlds[e->world];

    if (!sim_reaches(s, e))
        return;
    if (w->people[e->person].mode != MODE_OFFERED || w->m.tables != e->generation ||
        token_of(w, e->person) != e->token)
        return;
    names_forget(&w->m.names, e->person);
    set(s, &w->people[e->person], MODE_NONE);
    s->handed++;
}

static void on_switch(struct sim *s, struct sim_event *e)
{
    struct sim_world *w = &s->worlds[e->world];
    struct sim_person *p = &w->people[e->person];

    if (!sim_reaches(s, e) || w->m.tables != e->generation)
        return;
    if (p->mode == MODE_LIVE && p->from == e->token)
        say(s, on_confirm, e->world, e->other, e->person, e->token, 0);
    if (p->mode != MODE_NONE || !member_may_act(&w->m, sim_clock(s, w)) || w->draining)
        return;
    names_take(&w->m.names, e->person, name_of(e->person), e->token);
    set(s, p, MODE_TAKING);
    p->from = e->token;
    p->to = e->other;
    p->version = e->version;
    if (s->plant == PLANT_EARLY_GUEST)
        live(s, e->world, e->person, e->version);
}

static void offer(struct sim *s, uint32_t world, uint32_t person)
{
    struct sim_world *w = &s->worlds[world];
    uint32_t to = (uint32_t)rng_below(&s->rng, SIM_WORLDS);

    if (to == world || !s->worlds[to].up)
        return;
    set(s, &w->people[person], MODE_OFFERED);
    w->people[person].to = to;
}

/* --- a step ----------------------------------------------------------------------------------- */

/* What the machine of names says, since the last step. */
static void hear(struct sim *s, uint32_t world, uint32_t person)
{
    struct sim_world *w = &s->worlds[world];
    struct sim_person *p = &w->people[person];
    enum name_state state = w->m.names.names[person].state;

    if (state == NAME_HELD && p->mode == MODE_ASKING) {
        load(s, world, person);
    } else if (state == NAME_HELD && (p->mode == MODE_TAKING || p->mode == MODE_BACK)) {
        if (p->version != s->rows[person].truth && member_may_act(&w->m, sim_clock(s, w)))
            sim_breach(s, "person %u lost what it did, in hand-over", person);
        if (p->mode == MODE_TAKING)
            say(s, on_confirm, world, p->to, person, p->from, 0);
        else
            s->backs++;
        live(s, world, person, p->version);
    } else if (state == NAME_ELSEWHERE || state == NAME_GONE || state == NAME_NONE) {
        if (s->plant != PLANT_EARLY_GUEST || p->mode != MODE_LIVE)
            set(s, p, MODE_NONE);
    }
}

static void do_something(struct sim *s, uint32_t world, uint32_t person)
{
    struct sim_world *w = &s->worlds[world];
    struct sim_person *p = &w->people[person];
    struct sim_row *row = &s->rows[person];

    if (!member_may_act(&w->m, sim_clock(s, w)))
        return;
    if (p->version != row->truth)
        sim_breach(s, "person %u: world %s goes on from %llu, and it was at %llu", person, w->id,
                   (unsigned long long)p->version, (unsigned long long)row->truth);
    p->version = ++row->truth;
    save(s, world, person);
    if (s->calm && !w->draining)
        return;
    if (sim_chance(s, 0.04))
        offer(s, world, person);
    else if (sim_chance(s, w->draining ? 0.2 : 0.01))
        set(s, p, MODE_LEAVING);
}

static void step(struct sim *s, uint32_t world, uint32_t person)
{
    struct sim_world *w = &s->worlds[world];
    struct sim_person *p = &w->people[person];

    switch (p->mode) {
    case MODE_NONE:
        if (w->draining || !sim_chance(s, 0.05) || !member_may_act(&w->m, sim_clock(s, w)))
            return;
        names_claim(&w->m.names, person, name_of(person));
        set(s, p, MODE_ASKING);
        return;
    case MODE_LOADING:
        if (s->now - p->since > BACK_AFTER)
            load(s, world, person);
        return;
    case MODE_LIVE:
        do_something(s, world, person);
        return;
    case MODE_LEAVING:
        save(s, world, person);
        return;
    case MODE_OFFERED:
        if (s->now - p->since > BACK_AFTER) {
            names_take_back(&w->m.names, person);
            set(s, p, MODE_BACK);
        } else if (s->now - p->said > SAY_EVERY) {
            p->said = s->now;
            say(s, on_switch, world, p->to, person, token_of(w, person), p->version);
        }
        return;
    default:
        return;
    }
}

/* One that drains ends when it has nothing any more. */
static void drain(struct sim *s, struct sim_world *w)
{
    uint32_t here = holdings_owned(&w->m.holdings);

    for (uint32_t i = 0; i < SIM_PEOPLE; i++)
        here += w->people[i].mode != MODE_NONE;
    lease_tell(&w->m.lease, here, w->draining);
    if (w->draining && here == 0 && w->quits_at == 0)
        w->quits_at = s->now + 500 * SIM_MS;
    if (w->draining && here == 0 && w->quits_at < s->now)
        lease_quit(&w->m.lease);
}

void sim_people_lose(struct sim *s, uint32_t world)
{
    struct sim_world *w = &s->worlds[world];

    if (w->term == w->m.term)
        return;
    w->term = w->m.term;
    for (uint32_t i = 0; i < SIM_PEOPLE; i++)
        set(s, &w->people[i], MODE_NONE);
}

void sim_people_step(struct sim *s, uint32_t world)
{
    struct sim_world *w = &s->worlds[world];
    uint32_t person;

    while (names_next(&w->m.names, &person))
        hear(s, world, person);
    for (uint32_t i = 0; i < SIM_PEOPLE; i++)
        step(s, world, i);
    drain(s, w);
}
