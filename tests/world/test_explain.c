/* tests/world/test_explain.c: why somebody sees somebody else, or does not: each reason, and that
 * what is promised for a later tick comes then. Random worlds are in tests/world/oracle_explain.c.
 */
#include "world/interest/explain.h"

#include "tests/leak.h"
#include "tests/world/plain_map.h"
#include "tests/world_rig.h"
#include "world/interest/soft.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static uint32_t slot_of(const struct rig *r, uint32_t s)
{
    const struct entities *e = &r->world->entities;

    for (uint32_t i = 0; i < e->alive_count; i++) {
        if (e->id[e->alive[i]] == r->sessions[s].id)
            return e->alive[i];
    }
    return EXPLAIN_NOBODY;
}

static struct explain why(struct rig *r, uint32_t viewer, uint32_t subject)
{
    struct explain x;

    explain_pair(r->world, slot_of(r, viewer), slot_of(r, subject), &x);
    return x;
}

static void expect(struct rig *r, uint32_t viewer, uint32_t subject, enum explain_why want)
{
    struct explain x = why(r, viewer, subject);
    char text[EXPLAIN_TEXT_MAX];

    explain_text(&x, text);
    cr_expect_eq(x.why, want, "%s instead of %s: %s", explain_word(x.why), explain_word(want),
                 text);
    cr_expect_eq(x.sees, rig_knows(r, viewer, subject), "%s", text);
}

/* It is seen after so many ticks as was said, and not before. */
static void expect_kept_word(struct rig *r, uint32_t viewer, uint32_t subject)
{
    uint32_t due = why(r, viewer, subject).due;

    cr_assert_gt(due, 1);
    rig_tick(r, due - 1);
    cr_expect(!rig_knows(r, viewer, subject), "it came before its time");
    expect(r, viewer, subject, EXPLAIN_NEXT_TICK);
    rig_tick(r, 1);
    cr_expect(rig_knows(r, viewer, subject), "it was to come after %u ticks", due);
    expect(r, viewer, subject, EXPLAIN_IN_RADIUS);
}

static struct world_config fast(void)
{
    struct world_config c = rig_config();

    c.max_speed = 1e6;
    return c;
}

Test(explain, near_and_far_and_what_the_next_tick_tells)
{
    struct world_config c = fast();
    struct rig *r = rig_create(&c);
    uint32_t a = rig_join_at(r, "a", 0, 0), b = rig_join_at(r, "b", 100, 0);

    expect(r, a, b, EXPLAIN_FAR);
    rig_tick(r, 1);
    expect(r, a, b, EXPLAIN_FAR);
    cr_expect_eq(why(r, a, b).distance, 100);
    expect(r, a, a, EXPLAIN_SELF);
    rig_move(r, b, 30, 0);
    expect(r, a, b, EXPLAIN_NEXT_TICK);
    rig_tick(r, 1);
    expect(r, a, b, EXPLAIN_IN_RADIUS);
    rig_move(r, b, 30.01, 0);
    expect(r, a, b, EXPLAIN_LEAVING);
    cr_expect_eq(why(r, a, b).due, 1);
    rig_tick(r, 1);
    expect(r, a, b, EXPLAIN_FAR);
    rig_leave(r, b);
    expect(r, a, b, EXPLAIN_SUBJECT_OUT);
    expect(r, b, a, EXPLAIN_VIEWER_OUT);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(explain, hysteresis_keeps_who_was_known_and_lets_nobody_in)
{
    struct world_config c = fast();

    c.aoi_hysteresis = 5;
    struct rig *r = rig_create(&c);
    uint32_t a = rig_join_at(r, "a", 0, 0), b = rig_join_at(r, "b", 33, 0);
    rig_tick(r, 1);
    expect(r, a, b, EXPLAIN_RIM);
    rig_move(r, b, 29, 0);
    rig_tick(r, 1);
    rig_move(r, b, 33, 0);
    rig_tick(r, 1);
    expect(r, a, b, EXPLAIN_KEPT);
    rig_move(r, b, 36, 0);
    rig_tick(r, 1);
    expect(r, a, b, EXPLAIN_FAR);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(explain, a_ring_is_looked_at_by_turns_and_the_turn_comes_when_it_was_said)
{
    struct world_config c = fast();

    c.aoi_tiers = "10:1,60:9";
    struct rig *r = rig_create(&c);
    uint32_t a = rig_join_at(r, "a", 0, 0), b = rig_join_at(r, "b", 200, 0);
    while (r->world->tick % 9 != (slot_of(r, b) + 4) % 9)
        rig_tick(r, 1);
    rig_move(r, b, 50, 0);
    expect(r, a, b, EXPLAIN_TURN);
    cr_expect_eq(why(r, a, b).due, 5);
    cr_expect_eq(why(r, a, b).tier, 1);
    cr_expect_eq(why(r, a, b).every, 9);
    expect_kept_word(r, a, b);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(explain, a_refresh_comes_when_it_was_said)
{
    struct world_config c = fast();

    c.aoi_refresh = 12;
    struct rig *r = rig_create(&c);
    uint32_t a = rig_join_at(r, "a", 0, 0), b = rig_join_at(r, "b", 200, 0);
    while (r->world->tick == 0 || (r->world->tick + slot_of(r, a)) % 12 != 4)
        rig_tick(r, 1);
    rig_move(r, b, 20, 0);
    expect(r, a, b, EXPLAIN_REFRESH);
    cr_expect_eq(why(r, a, b).due, 8);
    expect_kept_word(r, a, b);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(explain, a_cap_says_how_many_are_nearer)
{
    struct world_config c = fast();

    c.aoi_max = 2;
    struct rig *r = rig_create(&c);
    uint32_t a = rig_join_at(r, "a", 0, 0), b = rig_join_at(r, "b", 5, 0);
    rig_join_at(r, "c", 10, 0);
    uint32_t d = rig_join_at(r, "d", 15, 0);
    rig_tick(r, 2);
    expect(r, a, b, EXPLAIN_IN_RADIUS);
    expect(r, a, d, EXPLAIN_CAP);
    struct explain x = why(r, a, d);
    cr_expect_eq(x.max, 2);
    cr_expect_eq(x.in_sight, 3);
    cr_expect_eq(x.nearer, 2);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(explain, a_record_that_waits_for_bytes_says_how_long)
{
    struct world_config c = fast();
    uint32_t others[60], waiting = 0, longest = 0;
    char name[16];

    c.viewer_bytes = 64;
    struct rig *r = rig_create(&c);
    uint32_t a = rig_join_at(r, "a", 0, 0);
    for (uint32_t i = 0; i < ARRAY_LEN(others); i++) {
        snprintf(name, sizeof(name), "o%u", i);
        others[i] = rig_join_at(r, name, 1, i % 20);
    }
    for (uint32_t t = 0; t < 12; t++) {
        rig_drop(r);
        for (uint32_t i = 0; i < ARRAY_LEN(others); i++)
            rig_move(r, others[i], 1 + t % 2, i % 20);
        rig_tick(r, 1);
    }
    for (uint32_t i = 0; i < ARRAY_LEN(others); i++) {
        struct explain x = why(r, a, others[i]);
        char text[EXPLAIN_TEXT_MAX];

        explain_text(&x, text);
        cr_expect_eq(x.bytes, 64);
        cr_expect_eq(x.waited > 0, strstr(text, "waits for bytes") != NULL, "%s", text);
        waiting += x.waited > 0;
        longest = x.waited > longest ? x.waited : longest;
    }
    cr_expect_gt(waiting, 10);
    cr_expect_eq(longest, r->world->sight.soft->worst_wait);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

static void expect_pauses(struct world_config c)
{
    struct rig *r = rig_create(&c);
    uint32_t a = rig_join_at(r, "a", 0, 0), b = rig_join_at(r, "b", 10, 0);
    uint32_t d = rig_join_at(r, "d", 300, 0);

    rig_tick(r, 2);
    rig_congestion(r, a, true);
    expect(r, a, b, EXPLAIN_HELD);
    rig_move(r, b, 100, 0);
    rig_move(r, d, 10, 0);
    rig_tick(r, 2);
    expect(r, a, b, EXPLAIN_HELD);
    expect(r, a, d, EXPLAIN_PAUSED);
    cr_expect(why(r, a, d).slow_client);
    cr_expect(!why(r, a, d).slow_link);
    rig_congestion(r, a, false);
    expect(r, a, d, EXPLAIN_NEXT_TICK);
    rig_tick(r, 1);
    expect(r, a, d, EXPLAIN_IN_RADIUS);
    expect(r, a, b, EXPLAIN_FAR);
    rig_destroy(r);
}

Test(explain, a_paused_viewer_knows_what_it_knew)
{
    struct world_config c = fast();

    expect_pauses(c);
    c.aoi_hysteresis = 1;
    expect_pauses(c);
    c.aoi_tiers = "30:1,40:2";
    expect_pauses(c);
    TEST_NO_LEAKS();
}

Test(explain, scenes_npcs_and_who_waits_for_its_client)
{
    struct world_config c = fast();
    struct map map = plain_map_open("town", 0, 0, 1, 100, 100);

    c.npcs = 1;
    c.resume_window_ns = 10 * CLOCK_NS_PER_S;
    c.bounds[0] = c.bounds[1] = -40;
    c.bounds[2] = c.bounds[3] = 40;
    struct rig *r = rig_create_maps(&c, &map, 1);
    uint32_t npc = r->world->npcs.list[0].slot;
    uint32_t a = rig_open(r, 0), b = rig_open(r, 0);
    struct explain x;
    rig_login(r, a, "a");
    rig_login(r, b, "b");
    rig_enter_scene(r, a, "town");
    rig_enter(r, b);
    rig_tick(r, 2);
    expect(r, a, b, EXPLAIN_SCENE);
    explain_pair(r->world, slot_of(r, a), npc, &x);
    cr_expect_eq(x.why, EXPLAIN_SCENE);
    explain_pair(r->world, npc, slot_of(r, b), &x);
    cr_expect_eq(x.why, EXPLAIN_NPC);
    rig_leave(r, b);
    rig_teleport(r, a, 0, 0, 0);
    rig_teleport(r, a, 1, 50, 50);
    rig_tick(r, 60);
    explain_pair(r->world, slot_of(r, a), npc, &x);
    cr_expect_eq(x.why, EXPLAIN_ASLEEP, "%s", explain_word(x.why));
    uint32_t slot = slot_of(r, a);
    rig_enter(r, b);
    rig_close(r, a);
    explain_pair(r->world, slot, slot_of(r, b), &x);
    cr_expect_eq(x.why, EXPLAIN_WAITING);
    cr_expect(!x.sees);
    rig_destroy(r);
    map_fini(&map);
    TEST_NO_LEAKS();
}

Test(explain, who_is_another_worlds_is_seen_here_and_told_there)
{
    struct world_config c = fast();
    struct rig *r = rig_create(&c);
    uint32_t a = rig_join_at(r, "a", 0, 0), slot;
    struct entity_birth b = {.id = 500, .name = span_text("ghost"), .x = 10, .now = r->now};
    struct entity_ref ghost;
    struct explain x;

    cr_assert_eq(entities_add(&r->world->entities, &b, &ghost), 0);
    slot = ghost.slot;
    entities_ghost(&r->world->entities, slot, true);
    rig_tick(r, 1);
    explain_pair(r->world, slot_of(r, a), slot, &x);
    cr_expect(x.sees);
    cr_expect_eq(x.why, EXPLAIN_IN_RADIUS);
    explain_pair(r->world, slot, slot_of(r, a), &x);
    cr_expect_eq(x.why, EXPLAIN_ELSEWHERE);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(explain, each_reason_has_a_word_and_a_sentence_of_its_own)
{
    char text[EXPLAIN_WHYS][EXPLAIN_TEXT_MAX];

    for (int i = 0; i < EXPLAIN_WHYS; i++) {
        struct explain x = {
            .sees = i <= EXPLAIN_LEAVING,
            .why = (enum explain_why)i,
            .same_scene = true,
            .distance = 1e9,
            .radius = 16777216,
            .hysteresis = 16777216,
            .tiers = 8,
            .tier = 7,
            .every = 250,
            .due = UINT32_MAX,
            .refresh = UINT32_MAX,
            .max = UINT32_MAX,
            .in_sight = UINT32_MAX,
            .nearer = UINT32_MAX,
            .bytes = UINT64_MAX,
            .waited = i <= EXPLAIN_LEAVING ? UINT32_MAX : 0,
        };

        explain_text(&x, text[i]); /* asserts that it fits */
        for (int j = 0; j < i; j++) {
            cr_expect_str_neq(text[i], text[j]);
            cr_expect_str_neq(explain_word((enum explain_why)i), explain_word((enum explain_why)j));
        }
    }
}
