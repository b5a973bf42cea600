/* tests/world/test_entity.c: the entity store. May touch: world/state/entity, common. */
#include "world/state/entity.h"

#include "common/err.h"
#include "common/rng.h"
#include "tests/leak.h"

static const struct mono START = {3000 * CLOCK_NS_PER_S};

static struct entity_ref add(struct entities *e, uint32_t id, const char *name)
{
    struct entity_ref ref;
    struct entity_birth b = {.id = id,
                             .name = span_text(name),
                             .session = {id, 1},
                             .x = id,
                             .y = -1.0 * id,
                             .now = START};
    cr_assert_eq(entities_add(e, &b, &ref), 0);
    return ref;
}

Test(entity, a_new_one_rests_faces_zero_and_is_marked)
{
    struct entities e;
    uint32_t slot;
    cr_assert_eq(entities_init(&e, 4), 0);
    struct entity_ref ref = add(&e, 9, "alpha");
    cr_assert_eq(ref.gen & 1, 1, "gen is odd while alive");
    cr_assert(entities_find(&e, ref, &slot));
    cr_assert_eq(slot, ref.slot);
    cr_assert(e.x[slot] == 9 && e.y[slot] == -9 && e.dir[slot] == 0 && e.speed[slot] == 0);
    cr_assert_eq(e.id[slot], 9);
    cr_assert_eq(e.cold[slot].name_len, 5);
    cr_assert_eq(memcmp(e.cold[slot].name, "alpha", 5), 0);
    cr_assert_eq(e.cold[slot].session.slot, 9);
    cr_assert_eq(e.flags[slot], ENTITY_NEW | ENTITY_DIRTY);
    cr_assert_eq(e.dirty_count, 1);
    cr_assert_eq(e.dirty[0], slot);
    cr_assert_float_eq(e.motion[slot].credit, PROTO_CREDIT_START_S, 1e-12);
    struct entity_ref same = entities_ref(&e, slot);
    cr_assert(same.slot == ref.slot && same.gen == ref.gen);
    entities_fini(&e);
    TEST_NO_LEAKS();
}

Test(entity, nobody_is_never_found)
{
    struct entities e;
    uint32_t slot = 77;
    cr_assert_eq(entities_init(&e, 2), 0);
    cr_assert_not(entities_find(&e, (struct entity_ref){0}, &slot));
    (void)add(&e, 1, "a");
    cr_assert_not(entities_find(&e, (struct entity_ref){0}, &slot));
    cr_assert_not(entities_find(&e, (struct entity_ref){UINT32_MAX, 1}, &slot));
    entities_fini(&e);
}

Test(entity, a_stale_ref_is_not_found_though_the_slot_is_used_again)
{
    struct entities e;
    uint32_t slot;
    cr_assert_eq(entities_init(&e, 1), 0);
    struct entity_ref old = add(&e, 1, "a");
    entities_remove(&e, old);
    cr_assert_not(entities_find(&e, old, &slot));
    cr_assert_eq(e.id[old.slot], 0, "no entity: no tick has seen it");
    struct entity_ref new = add(&e, 2, "b");
    cr_assert_eq(new.slot, old.slot);
    cr_assert_not(entities_find(&e, old, &slot));
    cr_assert(entities_find(&e, new, &slot));
    entities_fini(&e);
    TEST_NO_LEAKS();
}

Test(entity, full_is_said_and_changes_nothing)
{
    struct entities e;
    struct entity_ref ref;
    cr_assert_eq(entities_init(&e, 2), 0);
    struct entity_ref a = add(&e, 1, "a");
    (void)add(&e, 2, "b");
    struct entity_birth b = {.id = 3, .name = span_text("c"), .now = START};
    cr_assert_eq(entities_add(&e, &b, &ref), E_FULL);
    cr_assert_eq(e.alive_count, 2);
    cr_assert_eq(e.dirty_count, 2);
    entities_remove(&e, a);
    cr_assert_eq(entities_add(&e, &b, &ref), 0);
    entities_fini(&e);
}

Test(entity, marks_add_up_and_the_list_holds_each_once)
{
    struct entities e;
    cr_assert_eq(entities_init(&e, 8), 0);
    struct entity_ref a = add(&e, 1, "a"), b = add(&e, 2, "b");
    e.dirty_count = 0; /* as after a tick */
    e.flags[a.slot] = e.flags[b.slot] = 0;
    entities_mark(&e, b.slot, 0);
    entities_mark(&e, a.slot, ENTITY_MOVED);
    entities_mark(&e, b.slot, ENTITY_MOVED);
    cr_assert_eq(e.dirty_count, 2);
    cr_assert_eq(e.dirty[0], b.slot, "in the order they became so");
    cr_assert_eq(e.dirty[1], a.slot);
    cr_assert_eq(e.flags[b.slot], ENTITY_DIRTY | ENTITY_MOVED);
    entities_fini(&e);
}

Test(entity, one_that_a_tick_has_seen_keeps_its_slot_until_it_is_buried)
{
    struct entities e;
    uint32_t slot;
    cr_assert_eq(entities_init(&e, 2), 0);
    struct entity_ref a = add(&e, 1, "a"), b = add(&e, 2, "b");
    e.flags[a.slot] = e.flags[b.slot] = 0; /* as after a tick */
    e.dirty_count = 0;
    entities_remove(&e, a);
    cr_assert_not(entities_find(&e, a, &slot));
    cr_assert(e.flags[a.slot] & ENTITY_DYING);
    cr_assert_eq(e.id[a.slot], 1, "its id and place are there to be told of");
    cr_assert_eq(e.alive_count, 1);
    struct entity_ref c = add(&e, 3, "c");
    cr_assert(c.slot != a.slot && c.slot != b.slot);
    entities_remove(&e, b);
    (void)add(&e, 4, "d"); /* the dying do not count as alive */
    cr_assert_eq(e.dying_count, 2);
    entities_bury(&e);
    cr_assert_eq(e.dying_count, 0);
    cr_assert_eq(e.id[a.slot], 0);
    cr_assert_eq(e.alive_count, 2);
    entities_fini(&e);
    TEST_NO_LEAKS();
}

/* Come and go as one likes between two ticks: the dirty list keeps each slot once. */
Test(entity, churn_keeps_the_dense_lists_right)
{
    struct entities e;
    struct entity_ref refs[40];
    bool in[40] = {false};
    struct rng rng;
    rng_init(&rng, 8);
    cr_assert_eq(entities_init(&e, 40), 0);
    uint32_t alive = 0;
    for (uint32_t step = 1; step < 20000; step++) {
        uint32_t at = (uint32_t)rng_below(&rng, 40);
        if (in[at])
            entities_remove(&e, refs[at]);
        else
            refs[at] = add(&e, step, "x");
        in[at] = !in[at];
        alive += in[at] ? 1 : UINT32_MAX;
        cr_assert_eq(e.alive_count, alive);
        cr_assert_leq(e.dirty_count, 80);
        if (step % 50 == 0) {
            bool seen[80] = {false};
            for (uint32_t i = 0; i < e.dirty_count; i++) {
                cr_assert_not(seen[e.dirty[i]]);
                seen[e.dirty[i]] = true;
            }
            for (uint32_t i = 0; i < e.alive_count; i++)
                cr_assert_eq(e.alive_at[e.alive[i]], i);
            for (uint32_t i = 0; i < 40; i++)
                cr_assert(!in[i] || seen[refs[i].slot]);
        }
    }
    entities_fini(&e);
    TEST_NO_LEAKS();
}

Test(entity, one_that_dozes_is_found_by_nobody_and_keeps_its_place)
{
    struct entities e;
    struct entity_ref a, b;
    uint32_t slot;
    cr_assert_eq(entities_init(&e, 2), 0);
    struct entity_birth birth = {.id = 7, .name = span_text("n"), .kind = 1, .x = 3, .y = 4};
    cr_assert_eq(entities_add(&e, &birth, &a), 0);
    entities_doze(&e, a); /* no tick has seen it */
    cr_assert(e.dying_count == 0 && e.alive_count == 0 && e.away_count == 1);
    cr_assert_eq(e.in_scene[0], 1, "it is still one of its scene's");
    cr_assert(!entities_find(&e, a, &slot));
    birth.id = 8;
    cr_assert_eq(entities_add(&e, &birth, &b), 0);
    cr_assert(entities_full(&e), "the one that is away has its place");
    birth.id = 9;
    cr_assert_eq(entities_add(&e, &birth, &b), E_FULL);

    entities_rise(&e, a.slot);
    cr_assert(entities_find(&e, a, &slot) && slot == a.slot);
    cr_assert(e.id[slot] == 7 && e.x[slot] == 3 && e.y[slot] == 4 && e.cold[slot].kind == 1);
    cr_assert_eq(e.flags[slot], ENTITY_NEW | ENTITY_DIRTY);
    e.flags[slot] = 0; /* a tick has */
    entities_doze(&e, a);
    cr_assert_eq(e.dying_count, 1);
    cr_assert_eq(e.flags[slot], ENTITY_DYING | ENTITY_AWAY);
    entities_bury(&e);
    cr_assert_eq(e.id[slot], 7);
    entities_rise(&e, a.slot);
    cr_assert(e.alive_count == 2 && e.in_scene[0] == 2);
    entities_remove(&e, a);
    cr_assert_eq(e.in_scene[0], 1);
    entities_fini(&e);
    TEST_NO_LEAKS();
}
