/* world/command/keep.c: see the header. */
#include "world/command/keep.h"

#include "common/err.h"
#include "world/command/admit.h"
#include "world/command/inbox.h"
#include "world/command/router.h"

#include <math.h>
#include <string.h>

#define TWO_PI 6.28318530717958647692

/* A sweep takes less than -save-every by a tenth, and by so much at least: what is left is for the
 * store's own queue. */
#define SWEEP_MARGIN_PART 10
#define SWEEP_MARGIN_NS   (200 * CLOCK_NS_PER_MS)
/* Late (ticks were left out, or the store was full), a sweep catches up by so many phases a tick.
 */
#define SWEEP_PHASES 8

/* --- from the store --------------------------------------------------------------------------- */

static void flush_left(struct world *w)
{
    const struct store_character *x;

    while ((x = characters_left_first(&w->characters)) &&
           w->store.ops->save(w->store.arg, x) == 0) {
        characters_left_drop(&w->characters);
        w->metrics.saves++;
    }
}

int keep_ask(struct world *w, struct session_ref who, character_fn *then, struct mono now)
{
    struct session *s = &w->sessions.list[who.slot];
    struct character *x = &w->characters.list[who.slot];
    struct store_ticket ticket = {who, x->number + 1};

    ASSERT(s->name_len > 0);
    ASSERT(s->hold == SESSION_FREE);
    characters_begin(&w->characters, who.slot);
    if (!w->store.ops) {
        then(w, who, 0, now);
        return 0;
    }
    flush_left(w); /* one of them may be this one */
    if (w->characters.left_count > 0 ||
        w->store.ops->load(w->store.arg, ticket, span_of(s->name, s->name_len)) != 0) {
        w->metrics.loads_full++;
        return E_FULL;
    }
    x->number++;
    x->then = then;
    s->hold = SESSION_ASKED;
    characters_line_add(&w->characters, &w->characters.asked, who.slot, now);
    w->metrics.loads++;
    return 0;
}

/* The wait is over: what waited goes on, then what the session sent meanwhile. */
static void answered(struct world *w, struct session_ref who, int err, struct mono now)
{
    struct character *x = &w->characters.list[who.slot];
    character_fn *then = x->then;

    characters_line_remove(&w->characters, &w->characters.asked, who.slot);
    x->then = NULL;
    w->sessions.list[who.slot].hold = SESSION_FREE;
    then(w, who, err, now);
    w->reason = NULL;
    router_replay(w, who, now);
}

static bool is_sound(const struct store_character *c)
{
    return isfinite(c->x) && isfinite(c->y) && c->dir >= 0 && c->dir < TWO_PI &&
           c->scene_len <= sizeof(c->scene);
}

void inbox_loaded(struct world *w, const struct store_answer *a, struct mono now)
{
    struct session_ref who = a->ticket.who;
    struct character *x;
    struct session *s;

    w->now = now;
    if (!sessions_find(&w->sessions, who, &s) || s->hold != SESSION_ASKED ||
        w->characters.list[who.slot].number != a->ticket.number) {
        w->metrics.loads_late++;
        return;
    }
    x = &w->characters.list[who.slot];
    x->known = a->result == STORE_FOUND && is_sound(&a->character);
    if (x->known)
        w->characters.last[who.slot] = a->character;
    if (a->result == STORE_FAILED) {
        w->metrics.loads_failed++;
        w->reason = "the store cannot tell of this character";
    }
    answered(w, who, a->result == STORE_FAILED ? PE_UNAVAILABLE : 0, now);
}

void inbox_stored(struct world *w, const struct store_settle *what, struct mono now)
{
    (void)what;
    w->now = now;
    w->metrics.stored_late++;
}

void keep_end(struct world *w, struct session_ref who)
{
    struct session *s = &w->sessions.list[who.slot];

    if (s->hold == SESSION_ASKED)
        characters_line_remove(&w->characters, &w->characters.asked, who.slot);
    else if (s->hold == SESSION_WAITS)
        admit_leave(w, who);
    s->hold = SESSION_FREE;
    w->characters.list[who.slot].then = NULL;
    w->characters.list[who.slot].known = false;
    backlog_clear(&w->backlog, who.slot);
}

const struct store_character *keep_last(const struct world *w, struct session_ref who)
{
    const struct character *x = &w->characters.list[who.slot];

    return x->known ? &w->characters.last[who.slot] : NULL;
}

/* --- to the store ----------------------------------------------------------------------------- */

static struct store_character as_it_stands(const struct world *w, uint32_t slot)
{
    const struct entities *e = &w->entities;
    const struct entity_cold *cold = &e->cold[slot];
    struct span scene = w->scenes.list[e->scene[slot]].name;
    struct store_character c = {
        .name_len = cold->name_len,
        .scene_len = (uint8_t)scene.n,
        .x = e->x[slot],
        .y = e->y[slot],
        .dir = e->dir[slot],
    };

    memcpy(c.name, cold->name, cold->name_len);
    memcpy(c.scene, scene.p, scene.n);
    return c;
}

static bool is_changed(const struct world *w, uint32_t slot)
{
    const struct entities *e = &w->entities;
    const struct character_saved *s = &w->characters.saved[slot];

    return s->id != e->id[slot] || s->scene != e->scene[slot] || s->x != e->x[slot] ||
           s->y != e->y[slot] || s->dir != e->dir[slot];
}

/* A player that stands elsewhere than was saved; one that left was saved then. */
static bool is_due(const struct world *w, uint32_t slot)
{
    const struct entities *e = &w->entities;

    return e->id[slot] != 0 && !(e->flags[slot] & (ENTITY_DYING | ENTITY_GHOST)) &&
           e->cold[slot].kind == 0 && is_changed(w, slot);
}

static void note_saved(struct world *w, uint32_t slot)
{
    const struct entities *e = &w->entities;

    w->characters.saved[slot] =
        (struct character_saved){e->id[slot], e->scene[slot], e->x[slot], e->y[slot], e->dir[slot]};
    w->metrics.saves++;
}

/* Save it, if it is due. False: the store is full. */
static bool save_changed(struct world *w, uint32_t slot)
{
    struct store_character c;

    if (!is_due(w, slot))
        return true;
    c = as_it_stands(w, slot);
    if (w->store.ops->save(w->store.arg, &c) != 0) {
        w->metrics.saves_put_off++;
        return false;
    }
    note_saved(w, slot);
    return true;
}

void keep_entity(struct world *w, uint32_t entity, struct session_ref who)
{
    struct store_character c;
    int err;

    if (!w->store.ops || w->entities.cold[entity].kind != 0)
        return;
    c = as_it_stands(w, entity);
    if (who.gen != 0) {
        w->characters.last[who.slot] = c;
        w->characters.list[who.slot].known = true;
    }
    flush_left(w);
    if (w->characters.left_count == 0 && w->store.ops->save(w->store.arg, &c) == 0) {
        note_saved(w, entity);
        return;
    }
    w->metrics.saves_put_off++;
    err = characters_left_add(&w->characters, &c);
    ASSERT(err == 0); /* keep_room saw to it */
}

void keep_changed(struct world *w, uint32_t entity)
{
    if (w->store.ops && w->characters.left_count == 0)
        (void)save_changed(w, entity);
}

bool keep_room(const struct world *w)
{
    const struct characters *c = &w->characters;

    return w->entities.alive_count + c->left_count < c->left_cap;
}

static uint32_t sweep_ticks(const struct world *w)
{
    int64_t every_ns = w->config.save_every_ns, margin_ns = every_ns / SWEEP_MARGIN_PART;
    int64_t ticks;

    if (margin_ns < SWEEP_MARGIN_NS)
        margin_ns = SWEEP_MARGIN_NS;
    ticks = (every_ns - margin_ns) / w->config.tick_ns;
    return ticks > 1 ? (uint32_t)ticks : 1;
}

/* A phase for each tick's length that has passed, whether there was a tick or not. */
static void sweep(struct world *w, struct mono now)
{
    struct characters *c = &w->characters;
    uint32_t period = sweep_ticks(w), end = w->entities.slots.fresh;
    int64_t whole_ns = (int64_t)period * w->config.tick_ns;

    if (clock_since(now, c->sweep_next) > whole_ns) /* once round is enough */
        c->sweep_next = clock_add(now, -whole_ns);
    for (int i = 0; i < SWEEP_PHASES && clock_since(now, c->sweep_next) >= 0; i++) {
        for (; c->sweep_slot < end; c->sweep_slot += period) {
            if (!save_changed(w, c->sweep_slot))
                return;
        }
        c->sweep_phase = (c->sweep_phase + 1) % period;
        c->sweep_slot = c->sweep_phase;
        c->sweep_next = clock_add(c->sweep_next, w->config.tick_ns);
    }
}

/* Nobody waits for the store longer than for a turn. */
static void give_up(struct world *w, struct mono now)
{
    struct characters *c = &w->characters;

    while (w->config.login_wait_ns != 0 && c->asked.count > 0 &&
           clock_since(now, c->list[c->asked.first].since) > w->config.login_wait_ns) {
        uint32_t slot = c->asked.first;

        w->metrics.loads_failed++;
        w->reason = "the store does not answer";
        answered(w, (struct session_ref){slot, w->sessions.slots.gen[slot]}, PE_UNAVAILABLE, now);
    }
}

void keep_run(struct world *w, struct mono now)
{
    if (!w->store.ops)
        return;
    give_up(w, now);
    flush_left(w);
    if (w->config.save_every_ns != 0 && w->characters.left_count == 0)
        sweep(w, now);
}

bool keep_finish(struct world *w)
{
    struct characters *c = &w->characters;

    if (!w->store.ops)
        return true;
    flush_left(w);
    while (c->left_count == 0 && c->finish_at < w->entities.slots.fresh) {
        if (!save_changed(w, c->finish_at))
            return false;
        c->finish_at++;
    }
    return c->left_count == 0;
}

uint64_t keep_left(const struct world *w)
{
    uint64_t left = w->characters.left_count;

    for (uint32_t i = 0; w->store.ops && i < w->entities.slots.fresh; i++)
        left += is_due(w, i);
    return left;
}
