/* tests/world/test_fanout.c: batches that are too large for one body, and what is encoded once.
 * Entities without sessions, put straight into the store, make a crowd that only one client sees.
 * May touch: tests/world_rig, world/state/entity, world/interest/fanout.
 */
#include "world/interest/fanout.h"
#include "world/interest/wire.h"

#include "tests/leak.h"
#include "tests/world_rig.h"

#include <stdio.h>

#define CROWD 215000 /* ids that take more than 1 MiB in each of the three kinds */

/* Put `n` entities with ids from `first` up at one place. */
static void add_crowd(struct rig *r, uint32_t first, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        struct entity_ref ref;
        struct entity_birth b = {.id = first + i,
                                 .name = span_text("one-of-many-with-a-name-of-32-by"),
                                 .x = 10,
                                 .y = -10,
                                 .now = r->now};
        if (entities_add(&r->world->entities, &b, &ref) != 0)
            rig_fail("no room for %u", i);
    }
}

static uint32_t bodies(struct rig *r, uint32_t s, uint32_t cmd)
{
    uint32_t n = 0;
    const struct message *m;
    while ((m = rig_take(r, s))) {
        cr_assert_eq(m->cmd, cmd);
        n++;
    }
    rig_drop(r);
    return n;
}

Test(fanout, a_batch_above_one_mebibyte_is_split_in_each_of_its_kinds, .timeout = 120)
{
    struct world_config c = rig_config();
    c.max_entities = CROWD + 8;
    c.max_sessions = 8;
    c.max_pairs = 1u << 19;
    c.max_speed = 1e6;
    struct rig *r = rig_create(&c);
    uint32_t v = rig_join_at(r, "v", 0, 0);
    add_crowd(r, 1000, CROWD);
    rig_drop(r);
    rig_tick(r, 1); /* the view checks sizes, order and ids */
    cr_assert_geq(bodies(r, v, CMD_AOI_ADD), 12);
    cr_assert_eq(r->sessions[v].view.count, CROWD);

    struct entities *e = &r->world->entities;
    for (uint32_t i = 0; i < e->alive_count; i++) {
        uint32_t slot = e->alive[i];
        if (e->id[slot] < 1000)
            continue;
        e->x[slot] += 1;
        e->dir[slot] = 2;
        e->speed[slot] = 500000;
        entities_mark(e, slot, ENTITY_MOVED);
    }
    rig_tick(r, 1);
    cr_assert_eq(bodies(r, v, CMD_AOI_MOVE), 2);
    cr_assert_eq(r->sessions[v].view.moves, CROWD);
    const struct rig_known *k = rig_view_find(&r->sessions[v].view, 1000 + CROWD - 1);
    cr_assert(k->x == 11 && k->wire_dir == 81 && k->wire_speed == 128);

    rig_move(r, v, -900, 0);
    rig_drop(r);
    rig_tick(r, 1);
    cr_assert_eq(bodies(r, v, CMD_AOI_REMOVE), 2);
    cr_assert_eq(r->sessions[v].view.count, 0);
    rig_balance(r);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(fanout, who_has_no_session_is_told_nothing_and_is_seen)
{
    static const uint32_t shares[] = {0, UINT32_MAX}; /* mover by mover, viewer by viewer */
    for (size_t way = 0; way < ARRAY_LEN(shares); way++) {
        struct world_config c = rig_config();
        struct rig *r = rig_create(&c);
        r->world->sight.few_share = shares[way];
        uint32_t v = rig_join_at(r, "v", 0, 0), w = rig_join_at(r, "w", 1, 1);
        add_crowd(r, 1000, 60);
        rig_tick(r, 1);
        cr_assert_eq(r->sessions[v].view.count, 61);
        for (int i = 1; i <= 5; i++) {
            rig_move(r, v, 0, 0.4 * i);
            rig_drop(r);
            uint64_t frames = r->world->outbox.frames;
            rig_tick(r, 1);
            cr_assert_eq(r->world->outbox.frames - frames, 1, "w alone is told");
            cr_assert_eq(r->sessions[w].view.count, 61);
        }
        rig_balance(r);
        rig_destroy(r);
    }
    TEST_NO_LEAKS();
}
