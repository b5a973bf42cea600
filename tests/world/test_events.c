/* tests/world/test_events.c: a tick's events, in one order. May touch: world/interest/events. */
#include "world/interest/events.h"

#include "common/rng.h"
#include "tests/leak.h"
#include "world/state/grid.h"

#include <string.h>

static void add(struct events *e, enum event_type type, uint32_t id, uint32_t from, uint32_t to)
{
    struct event ev = {.who = {id, 1}, .id = id, .from = from, .to = to, .tick = 4};
    events_add(e, type, &ev);
}

Test(events, each_list_ascends_by_entity)
{
    struct events e;
    struct rng rng;
    uint32_t ids[500];
    rng_init(&rng, 6);
    cr_assert_eq(events_init(&e, 500), 0);
    for (uint32_t i = 0; i < 500; i++)
        ids[i] = 1 + i * 8000000; /* up to 4·10^9: all 32 bits count */
    for (uint32_t i = 499; i > 0; i--) {
        uint32_t j = (uint32_t)rng_below(&rng, i + 1), id = ids[i];
        ids[i] = ids[j];
        ids[j] = id;
    }
    for (uint32_t i = 0; i < 500; i++) {
        add(&e, EVENT_UPDATE, ids[i], 3, 3);
        add(&e, EVENT_LEAVE, ids[i], 3, GRID_NONE);
        add(&e, EVENT_ENTER, ids[i], GRID_NONE, 3);
    }
    events_sort(&e);
    for (int type = 0; type < EVENT_TYPES; type++) {
        cr_assert_eq(e.n[type], 500);
        for (uint32_t i = 0; i < 500; i++) {
            const struct event *ev = &e.list[type][i];
            cr_assert_eq(ev->id, 1 + i * 8000000);
            cr_assert(ev->who.slot == ev->id && ev->tick == 4, "all of it moved along");
        }
    }
    events_fini(&e);
    TEST_NO_LEAKS();
}

Test(events, sorting_few_and_none_is_fine)
{
    struct events e;
    cr_assert_eq(events_init(&e, 4), 0);
    events_sort(&e);
    add(&e, EVENT_ENTER, 9, GRID_NONE, 1);
    events_sort(&e);
    cr_assert_eq(e.list[EVENT_ENTER][0].id, 9);
    add(&e, EVENT_ENTER, 2, GRID_NONE, 1);
    add(&e, EVENT_ENTER, 5, GRID_NONE, 1);
    add(&e, EVENT_ENTER, 7, GRID_NONE, 1);
    events_sort(&e);
    static const uint32_t want[] = {2, 5, 7, 9};
    for (uint32_t i = 0; i < 4; i++)
        cr_assert_eq(e.list[EVENT_ENTER][i].id, want[i]);
    events_fini(&e);
}

Test(events, clearing_forgets_the_tick_and_keeps_the_counts)
{
    struct events e;
    cr_assert_eq(events_init(&e, 4), 0);
    for (uint32_t tick = 0; tick < 5; tick++) {
        add(&e, EVENT_ENTER, 1, GRID_NONE, 2);
        add(&e, EVENT_UPDATE, 1, 2, 2);
        add(&e, EVENT_UPDATE, 2, 2, 2);
        events_clear(&e);
        cr_assert_eq(e.n[EVENT_ENTER] + e.n[EVENT_UPDATE] + e.n[EVENT_LEAVE], 0);
    }
    cr_assert_eq(e.count[EVENT_ENTER], 5);
    cr_assert_eq(e.count[EVENT_UPDATE], 10);
    cr_assert_eq(e.count[EVENT_LEAVE], 0);
    events_fini(&e);
}
