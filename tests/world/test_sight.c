/* tests/world/test_sight.c: sight when there is no room; the rest is the oracle's and the cases'.
 * May touch: tests/world_rig.
 */
#include "world/interest/sight.h"

#include "tests/leak.h"
#include "tests/world_rig.h"

#include <stdio.h>

/* A world whose lists have room for so many pairs. */
static struct rig *narrow_rig(uint64_t max_pairs)
{
    struct world_config c = rig_config();
    c.max_speed = 1e6;
    c.aoi_hysteresis = 1; /* so that what they know is kept in lists */
    c.max_pairs = max_pairs;
    return rig_create(&c);
}

static void join_many(struct rig *r, uint32_t *s, uint32_t n, const char *who)
{
    char name[16];
    for (uint32_t i = 0; i < n; i++) {
        snprintf(name, sizeof name, "%s%u", who, i);
        s[i] = rig_join_at(r, name, i % 7, i / 7);
    }
}

Test(sight, the_books_balance_through_a_life)
{
    struct rig *r = narrow_rig(1 << 16);
    uint32_t a = rig_join_at(r, "a", 0, 0), b = rig_join_at(r, "b", 5, 0);
    uint32_t c = rig_join_at(r, "c", 6, 0);
    const struct sight *s = &r->world->sight;
    rig_tick(r, 1);
    cr_assert(s->added == 6 && s->removed == 0 && s->cleared == 0 && s->pairs == 6);
    rig_move(r, b, 500, 0);
    rig_tick(r, 1);
    cr_assert(s->added == 6 && s->removed == 4 && s->cleared == 0 && s->pairs == 2);
    rig_leave(r, c);
    cr_assert_eq(s->cleared, 1, "what it knew ends with it");
    rig_tick(r, 1);
    cr_assert(s->removed == 5 && s->pairs == 0, "and what others knew of it, at the tick");
    rig_close(r, a);
    rig_balance(r);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(sight, without_room_viewers_wait_and_what_they_are_told_stays_true)
{
    struct rig *r = narrow_rig(1024);
    uint32_t s[40];
    join_many(r, s, ARRAY_LEN(s), "p");
    rig_tick(r, 3); /* the views hold what comes to the contract's order */
    cr_assert_gt(r->world->sight.deferred, 0);
    uint64_t known = 0;
    for (uint32_t i = 0; i < ARRAY_LEN(s); i++) {
        cr_assert_leq(r->sessions[s[i]].view.count, ARRAY_LEN(s) - 1);
        known += r->sessions[s[i]].view.count;
    }
    cr_assert_eq(known, r->world->sight.pairs);
    for (uint32_t i = 0; i < 10; i++)
        rig_leave(r, s[i]);
    rig_tick(r, 1);
    for (uint32_t i = 10; i < ARRAY_LEN(s); i++)
        for (uint32_t j = 0; j < 10; j++)
            cr_assert_not(rig_knows(r, s[i], s[j]), "who left for good is forgotten");
    rig_balance(r);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

/* Forty meet at once, and there is room for some of them; which ten stay is `from`. */
static void forty_meet_and_ten_stay(uint32_t from)
{
    struct rig *r = narrow_rig(1024);
    uint32_t s[40];
    join_many(r, s, ARRAY_LEN(s), "p");
    rig_tick(r, 3);
    for (uint32_t i = 0; i < ARRAY_LEN(s); i++)
        if (i < from || i >= from + 10)
            rig_leave(r, s[i]);
    rig_tick(r, 3);
    for (uint32_t i = from; i < from + 10; i++)
        cr_assert_eq(r->sessions[s[i]].view.count, 9,
                     "client %u knows %u of 9, with %llu pairs known where 1024 have room", i,
                     r->sessions[s[i]].view.count, (unsigned long long)r->world->sight.pairs);
    rig_balance(r);
    rig_destroy(r);
}

Test(sight, once_there_is_room_those_who_had_some_are_exact)
{
    forty_meet_and_ten_stay(0);
    TEST_NO_LEAKS();
}

Test(sight, once_there_is_room_those_who_had_none_are_exact)
{
    forty_meet_and_ten_stay(30);
    forty_meet_and_ten_stay(12);
    TEST_NO_LEAKS();
}

Test(sight, a_viewer_is_exact_however_long_nothing_near_it_moved)
{
    struct rig *r = narrow_rig(1 << 16);
    uint32_t v = rig_join_at(r, "v", 0, 0), a = rig_join_at(r, "a", 300, 0);
    uint32_t b = rig_join_at(r, "b", 3, 3);
    rig_tick(r, 500);
    rig_move(r, a, 30, 0);
    rig_tick(r, 1);
    cr_assert(rig_knows(r, v, a) && rig_knows(r, a, v));
    rig_tick(r, 500);
    rig_leave(r, b);
    rig_tick(r, 1);
    cr_assert_not(rig_knows(r, v, b));
    rig_destroy(r);
}
