/* tests/world/test_tick_events.c: the events of a tick: what they say, in which order.
 * The world asks its clock between two phases; here that is the moment to look at them.
 * May touch: tests/world_rig, world/interest/events.
 */
#include "world/interest/events.h"

#include "common/rng.h"
#include "tests/leak.h"
#include "tests/world_rig.h"

#include <stdio.h>

#define PEOPLE 60

/* The lists as they were when they were longest. */
struct witness {
    struct event list[EVENT_TYPES][2 * PEOPLE];
    uint32_t n[EVENT_TYPES];
};

static int64_t look(void *arg)
{
    struct rig *r = arg;
    struct witness *k = r->arg;
    const struct events *e = &r->world->events;
    for (int type = 0; type < EVENT_TYPES; type++) {
        if (e->n[type] == 0)
            continue;
        cr_assert_leq(e->n[type], 2 * PEOPLE);
        k->n[type] = e->n[type];
        memcpy(k->list[type], e->list[type], e->n[type] * sizeof(struct event));
    }
    return 0;
}

static struct rig *watched_rig(struct witness *k)
{
    struct world_config c = rig_config();
    c.max_speed = 1e6;
    struct rig *r = rig_create(&c);
    r->arg = k;
    r->world->ops.clock_ns = look;
    return r;
}

static void tick(struct rig *r, struct witness *k)
{
    memset(k, 0, sizeof *k);
    rig_tick(r, 1);
    rig_drop(r);
}

Test(tick_events, they_say_from_where_to_where_and_what_is_so)
{
    static struct witness k;
    struct rig *r = watched_rig(&k);
    const struct grid *g = &r->world->scenes.grid;
    uint32_t a = rig_join(r, "a");
    rig_turn(r, a, 10, 20, 1.5, 3);
    tick(r, &k);
    const struct event *ev = &k.list[EVENT_ENTER][0];
    cr_assert(k.n[EVENT_ENTER] == 1 && k.n[EVENT_LEAVE] == 0 && k.n[EVENT_UPDATE] == 0);
    cr_assert(ev->id == r->sessions[a].id && ev->tick == r->world->tick);
    cr_assert(ev->from == GRID_NONE && ev->to == grid_cell(g, 0, 10, 20));
    cr_assert(ev->who.slot == 0 && ev->tell == 0, "who is new is told by an add");

    rig_move(r, a, 500, -500);
    tick(r, &k);
    cr_assert(k.n[EVENT_ENTER] == 1 && k.n[EVENT_LEAVE] == 1 && k.n[EVENT_UPDATE] == 0);
    for (int type = EVENT_LEAVE; type <= EVENT_ENTER; type++) {
        ev = &k.list[type][0];
        cr_assert(ev->from == grid_cell(g, 0, 10, 20) && ev->to == grid_cell(g, 0, 500, -500));
    }

    rig_turn(r, a, 500, -500, 2.5, 3);
    tick(r, &k);
    ev = &k.list[EVENT_UPDATE][0];
    cr_assert(k.n[EVENT_ENTER] == 0 && k.n[EVENT_LEAVE] == 0 && k.n[EVENT_UPDATE] == 1);
    cr_assert(ev->from == ev->to && ev->to == grid_cell(g, 0, 500, -500));
    cr_assert_eq(ev->tell, EVENT_TELL_PLACE | EVENT_TELL_DIR);

    rig_leave(r, a);
    tick(r, &k);
    ev = &k.list[EVENT_LEAVE][0];
    cr_assert(k.n[EVENT_ENTER] == 0 && k.n[EVENT_LEAVE] == 1 && k.n[EVENT_UPDATE] == 0);
    cr_assert(ev->from == grid_cell(g, 0, 500, -500) && ev->to == GRID_NONE);
    cr_assert_eq(ev->tick, r->world->tick);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(tick_events, each_list_ascends_by_entity_whatever_came_first)
{
    static struct witness k;
    struct rig *r = watched_rig(&k);
    struct rng rng;
    uint32_t s[PEOPLE];
    char name[16];
    uint64_t counted = 0;
    rng_init(&rng, 19);
    for (uint32_t i = 0; i < PEOPLE; i++) {
        snprintf(name, sizeof name, "p%u", i);
        s[i] = rig_join(r, name);
    }
    for (int round = 0; round < 200; round++) {
        for (int i = 0; i < PEOPLE; i++) {
            uint32_t at = (uint32_t)rng_below(&rng, PEOPLE);
            double x = rng_unit(&rng) * 200 - 100, y = rng_unit(&rng) * 200 - 100;
            if (rng_below(&rng, 10) == 0) {
                rig_leave(r, s[at]);
                rig_enter(r, s[at]);
            }
            if (rng_below(&rng, 3) == 0)
                rig_move(r, s[at], x, y);
            else
                rig_turn(r, s[at], r->sessions[s[at]].x, r->sessions[s[at]].y, x * x, y * y);
        }
        tick(r, &k);
        for (int type = 0; type < EVENT_TYPES; type++) {
            for (uint32_t i = 1; i < k.n[type]; i++)
                cr_assert_lt(k.list[type][i - 1].id, k.list[type][i].id);
            counted += k.n[type];
        }
    }
    const struct events *e = &r->world->events;
    cr_assert_eq(counted, e->count[EVENT_LEAVE] + e->count[EVENT_ENTER] + e->count[EVENT_UPDATE]);
    rig_destroy(r);
    TEST_NO_LEAKS();
}
