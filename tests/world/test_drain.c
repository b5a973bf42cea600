/* tests/world/test_drain.c: viewers whose clients take less than they are told get a smaller
 * budget. May touch: tests/world_rig, world/interest/drain.
 */
#include "tests/leak.h"
#include "tests/world_rig.h"
#include "world/interest/drain.h"

#include <stdio.h>

#define CROWD 60

/* A crowd in sight of each other; the first of them is returned, the others behind it. */
static struct rig *crowd(uint64_t viewer_bytes, uint32_t s[CROWD])
{
    struct world_config c = rig_config();
    struct rig *r;
    char name[16];

    c.max_speed = 1e6;
    c.update_interval = 0;
    c.viewer_bytes = viewer_bytes;
    r = rig_create(&c);
    for (uint32_t i = 0; i < CROWD; i++) {
        snprintf(name, sizeof(name), "p%u", i);
        s[i] = rig_join_at(r, name, i % 10, i / 10);
    }
    rig_tick(r, 3);
    rig_drop(r);
    return r;
}

/* All move, so many ticks; returns the bytes a tick that `s` got. */
static uint64_t bytes_a_tick(struct rig *r, const uint32_t s[CROWD], uint32_t who, uint32_t ticks)
{
    uint64_t before = r->sessions[who].view.move_bytes;

    for (uint32_t t = 0; t < ticks; t++) {
        for (uint32_t i = 0; i < CROWD; i++)
            rig_move(r, s[i], i % 10 + 0.5 * (r->world->tick % 2), i / 10);
        rig_tick(r, 1);
        rig_drop(r);
    }
    return (r->sessions[who].view.move_bytes - before) / ticks;
}

static bool exact(const struct rig *r, const uint32_t s[CROWD], uint32_t who)
{
    for (uint32_t i = 0; i < CROWD; i++) {
        const struct rig_known *k = rig_view_find(&r->sessions[who].view, r->sessions[s[i]].id);

        if (s[i] != who && (!k || k->x != r->sessions[s[i]].x || k->y != r->sessions[s[i]].y))
            return false;
    }
    return true;
}

Test(drain, a_slow_viewer_is_told_as_much_as_its_client_takes_and_the_others_all)
{
    uint32_t s[CROWD];
    struct rig *r = crowd(4000, s);

    cr_assert_gt(bytes_a_tick(r, s, s[0], 20), 250);
    rig_drain(r, s[0], 20 * 160); /* of 20 ticks a second; an eighth is for other things */
    uint64_t slow = bytes_a_tick(r, s, s[0], 100);
    cr_assert_leq(slow, 160);
    cr_assert_geq(slow, 100);
    cr_assert_gt(bytes_a_tick(r, s, s[1], 20), 250, "nobody else is slow");
    rig_tick(r, 100);
    cr_assert(exact(r, s, s[0]), "at rest it is exact all the same");
    cr_assert_eq(r->world->metrics.drains_told, 1);
    cr_assert_eq(r->world->metrics.viewers_drained, 1);
    cr_assert_eq(r->world->metrics.pauses, 0);
    rig_balance(r);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(drain, when_it_is_well_again_the_budget_grows_until_it_is_the_flags)
{
    uint32_t s[CROWD];
    struct rig *r = crowd(4000, s);

    rig_drain(r, s[0], 20 * 160);
    (void)bytes_a_tick(r, s, s[0], 40);
    rig_drain(r, s[0], 0);
    uint64_t first = bytes_a_tick(r, s, s[0], 20);
    cr_assert_leq(first, 200, "not all at once");
    uint64_t later = bytes_a_tick(r, s, s[0], 60);
    cr_assert_gt(later, first);
    (void)bytes_a_tick(r, s, s[0], 400);
    cr_assert_eq(r->world->metrics.viewers_drained, 0);
    cr_assert_gt(bytes_a_tick(r, s, s[0], 20), 250);
    rig_drain(r, s[0], 20 * 160);
    (void)bytes_a_tick(r, s, s[0], 20);
    cr_assert_leq(bytes_a_tick(r, s, s[0], 20), 160, "and it may be slow again");
    rig_balance(r);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(drain, it_belongs_to_the_client_and_outlasts_leaving_the_world)
{
    uint32_t s[CROWD];
    struct rig *r = crowd(4000, s);

    rig_drain(r, s[0], 20 * 160);
    rig_leave(r, s[0]);
    rig_tick(r, 3);
    rig_enter(r, s[0]);
    rig_place(r, s[0], 0, 0);
    rig_tick(r, 2);
    rig_drop(r);
    cr_assert_leq(bytes_a_tick(r, s, s[0], 40), 160);
    rig_close(r, s[1]);
    uint32_t fresh = rig_join_at(r, "fresh", 1, 0);
    rig_tick(r, 2);
    rig_drop(r);
    s[1] = fresh;
    cr_assert_gt(bytes_a_tick(r, s, fresh, 20), 250, "another client in its place is not slow");
    rig_balance(r);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(drain, sessions_that_end_and_come_leave_room_on_the_list)
{
    uint32_t s[CROWD];
    struct rig *r = crowd(4000, s);
    uint32_t cap = r->world->sessions.slots.cap;

    for (uint32_t i = 0; i < cap + 10; i++) {
        uint32_t one = rig_open(r, 0);

        rig_drain(r, one, 1000);
        rig_close(r, one);
    }
    cr_assert_leq(r->world->drains.n, cap);
    rig_tick(r, 40);
    cr_assert_eq(r->world->drains.n, 0);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(drain, without_viewer_bytes_nothing_changes)
{
    uint32_t s[CROWD];
    struct rig *r = crowd(0, s);
    uint64_t all = bytes_a_tick(r, s, s[0], 20);

    rig_drain(r, s[0], 100);
    cr_assert_eq(bytes_a_tick(r, s, s[0], 20), all);
    cr_assert_eq(r->world->metrics.drains_told, 1);
    cr_assert_eq(r->world->drains.n, 0);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(drain, a_report_for_a_session_that_is_not_open_is_counted)
{
    uint32_t s[CROWD];
    struct rig *r = crowd(4000, s);
    uint64_t unknown = r->world->metrics.sessions_unknown;

    rig_close(r, s[0]);
    rig_drain(r, s[0], 100);
    cr_assert_eq(r->world->metrics.sessions_unknown, unknown + 1);
    rig_drain(r, s[1], UINT64_MAX); /* more than the flag: no limit of its own */
    rig_tick(r, 2);
    rig_balance(r);
    rig_destroy(r);
    TEST_NO_LEAKS();
}
