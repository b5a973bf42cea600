/* world/command/keep.c: see the header. */
#include "world/command/keep.h"

#include "common/err.h"
#include "world/command/admit.h"
#include "world/command/inbox.h"
#include "world/command/naming.h"
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

static int load(struct world *w, struct session_ref who)
{
    const struct session *s = &w->sessions.list[who.slot];
    struct character *x = &w->characters.list[who.slot];
    struct store_ticket ticket = {who, x->number + 1};

    flush_left(w); /* one of them may be this one */
    if (w->characters.left_count > 0 ||
        w->store.ops->load(w->store.arg, ticket, span_of(s->name, s->name_len)) != 0) {
        w->metrics.loads_full++;
        return E_FULL;
    }
    x->number++;
    w->metrics.loads++;
    return 0;
}

static void hold(struct world *w, struct session_ref who, character_fn *then, struct mono now)
{
    w->characters.list[who.slot].then = then;
    w->sessions.list[who.slot].hold = SESSION_ASKED;
    characters_line_add(&w->characters, &w->characters.asked, who.slot, now);
}

int keep_ask(struct world *w, struct session_ref who, enum cluster_want want, character_fn *then,
             struct mono now)
{
    const struct session *s = &w->sessions.list[who.slot];
    int err = 0;

    ASSERT(s->name_len > 0);
    ASSERT(s->hold == SESSION_FREE);
    characters_begin(&w->characters, who.slot);
    if (w->cluster)
        err = naming_claim(w, who, want);
    if (err < 0)
        return err;
    if (err == 0 && !w->store.ops) {
        then(w, who, 0, now);
        return 0;
    }
    if (err == 0 && load(w, who) != 0) {
        if (!w->cluster)
            return E_FULL;
        naming_load_again(w, who); /* its name is not given up for that */
    }
    hold(w, who, then, now);
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

void keep_named(struct world *w, struct session_ref who, struct mono now)
{
    ASSERT(w->sessions.list[who.slot].hold == SESSION_ASKED);
    if (!w->store.ops)
        answered(w, who, 0, now);
    else if (load(w, who) != 0)
        naming_load_again(w, who);
}

void keep_refused(struct world *w, struct session_ref who, int err, const char *reason,
                  struct mono now)
{
    ASSERT(w->sessions.list[who.slot].hold == SESSION_ASKED);
    w->reason = reason;
    answered(w, who, err, now);
    w->reason = NULL;
}

void keep_forget(struct world *w, struct session_ref who)
{
    characters_line_remove(&w->characters, &w->characters.asked, who.slot);
    w->characters.list[who.slot].then = NULL;
    w->sessions.list[who.slot].hold = SESSION_FREE;
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
    if (x->known) {
        w->characters.last[who.slot] = a->character;
        if (w->cluster) { /* from here on no save of who had it before counts */
            struct store_character c = a->character;

            c.fence = naming_session_fence(w, who);
            keep_character(w, &c);
        }
    }
    if (a->result == STORE_FAILED) {
        w->metrics.loads_failed++;
        w->reason = "the store cannot tell of this character";
    }
    answered(w, who, a->result == STORE_FAILED ? PE_UNAVAILABLE : 0, now);
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
        .fence = naming_fence(w, slot),
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

/* Now, or when the store takes it. False: later. */
static bool hand_over(struct world *w, const struct store_character *c)
{
    int err;

    flush_left(w);
    if (w->characters.left_count == 0 && w->store.ops->save(w->store.arg, c) == 0)
        return true;
    w->metrics.saves_put_off++;
    err = characters_left_add(&w->characters, c);
    ASSERT(err == 0); /* keep_room saw to it */
    return false;
}

void keep_character(struct world *w, const struct store_character *c)
{
    if (!w->store.ops)
        return;
    if (!keep_room(w)) /* it stays in the store as it was */
        w->metrics.saves_full++;
    else if (hand_over(w, c))
        w->metrics.saves++;
}

void keep_came(struct world *w, uint32_t entity)
{
    w->characters.saved[entity] = (struct character_saved){0};
    keep_changed(w, entity);
}

void keep_entity(struct world *w, uint32_t entity, struct session_ref who)
{
    struct store_character c;

    if (!w->store.ops || w->entities.cold[entity].kind != 0)
        return;
    c = as_it_stands(w, entity);
    if (who.gen != 0) {
        w->characters.last[who.slot] = c;
        w->characters.list[who.slot].known = true;
    }
    if (hand_over(w, &c))
        note_saved(w, entity);
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

/* Nobody waits for the store, or for a name, longer than for a turn. */
static void give_up(struct world *w, struct mono now)
{
    struct characters *c = &w->characters;

    while (w->config.login_wait_ns != 0 && c->asked.count > 0 &&
           clock_since(now, c->list[c->asked.first].since) > w->config.login_wait_ns) {
        uint32_t slot = c->asked.first;

        w->metrics.loads_failed++;
        w->reason =
            w->cluster ? "nobody tells of this name: try again later" : "the store does not answer";
        answered(w, (struct session_ref){slot, w->sessions.slots.gen[slot]}, PE_UNAVAILABLE, now);
    }
}

void keep_run(struct world *w, struct mono now)
{
    give_up(w, now);
    if (!w->store.ops)
        return;
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
