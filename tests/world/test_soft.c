/* tests/world/test_soft.c: soft sight by example: tiers, refresh, caps, who is always seen.
 * May touch: tests/world_rig, world/interest/soft.
 */
#include "tests/leak.h"
#include "tests/world_rig.h"
#include "world/interest/soft.h"

#include <math.h>
#include <stdio.h>

#define FAST 1e7 /* units a second: any jump is legal */

static struct world_config config(const char *tiers)
{
    struct world_config c = rig_config();
    c.max_speed = FAST;
    c.aoi_tiers = tiers;
    c.update_interval = 0;
    return c;
}

static uint32_t join(struct rig *r, uint32_t i, double x, double y)
{
    char name[16];
    snprintf(name, sizeof name, "p%u", i);
    return rig_join_at(r, name, x, y);
}

static uint32_t slot_of(const struct rig *r, uint32_t s)
{
    const struct entities *e = &r->world->entities;
    for (uint32_t i = 0; i < e->alive_count; i++)
        if (e->id[e->alive[i]] == r->sessions[s].id)
            return e->alive[i];
    rig_fail("session %u is not inside", s);
}

static const struct rig_known *known(const struct rig *r, uint32_t s, uint32_t other)
{
    return rig_view_find(&r->sessions[s].view, r->sessions[other].id);
}

/* --- tiers ----------------------------------------------------------------------------------- */

Test(soft, the_outermost_radius_is_the_one_that_a_client_is_told)
{
    struct world_config c = config("10:1,50:4,120:20");
    struct rig *r = rig_create(&c);
    uint32_t s = rig_open(r, 0);
    rig_login(r, s, "a");
    uint32_t seq = rig_send_nil(r, s, CMD_ENTER_REQ);
    const struct message *m = rig_answer(r, s, seq);
    cr_assert_eq(m->cmd, CMD_ENTER_RESP);
    cr_assert_eq(m->enter_resp.radius, 120);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(soft, who_enters_is_told_of_all_in_the_outermost_radius_at_the_first_tick)
{
    struct world_config c = config("10:1,50:4,120:20");
    struct rig *r = rig_create(&c);
    for (uint32_t i = 0; i < 30; i++)
        join(r, i, 4.0 * i, 0);
    rig_tick(r, 45);
    uint32_t s = join(r, 30, 0, 1);
    rig_tick(r, 1);
    cr_assert_eq(r->sessions[s].view.count, 30);
    rig_balance(r);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(soft, one_who_walks_far_away_is_told_once_an_interval_and_its_last_place_always)
{
    struct world_config c = config("10:1,120:20");
    struct rig *r = rig_create(&c);
    uint32_t v = join(r, 0, 0, 0), w = join(r, 1, 50, 0);
    rig_tick(r, 41);
    uint64_t before = r->sessions[v].view.moves;
    for (int i = 1; i <= 100; i++) {
        rig_move(r, w, 50 + i * 0.25, 0);
        rig_tick(r, 1);
    }
    uint64_t told = r->sessions[v].view.moves - before;
    cr_assert_geq(told, 4);
    cr_assert_leq(told, 6);
    rig_tick(r, 20);
    cr_assert_eq(known(r, v, w)->x, 75);
    before = r->sessions[v].view.moves;
    rig_tick(r, 60);
    cr_assert_eq(r->sessions[v].view.moves, before, "at rest nothing is told");
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(soft, one_who_comes_near_is_told_at_once)
{
    struct world_config c = config("10:1,120:20");
    struct rig *r = rig_create(&c);
    uint32_t v = join(r, 0, 0, 0), w = join(r, 1, 100, 0);
    rig_tick(r, 41);
    for (int i = 0; i < 25; i++) { /* whichever turn it is */
        rig_move(r, w, 100, i);
        rig_tick(r, 1);
        rig_move(r, w, 5, 0.25 * i);
        rig_tick(r, 1);
        cr_assert_eq(known(r, v, w)->x, 5);
        cr_assert_eq(known(r, v, w)->y, 0.25 * i);
    }
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(soft, who_ended_is_gone_at_the_next_tick_however_far_away)
{
    struct world_config c = config("10:1,120:20");
    struct rig *r = rig_create(&c);
    uint32_t v = join(r, 0, 0, 0);
    for (uint32_t i = 1; i < 30; i++) {
        uint32_t w = join(r, i, 100, i);
        rig_tick(r, 21);
        cr_assert_eq(r->sessions[v].view.count, 1);
        rig_leave(r, w);
        rig_tick(r, 1);
        cr_assert_eq(r->sessions[v].view.count, 0);
    }
    rig_balance(r);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

/* Within the share, and one, of what a tier had in its last interval; all who walk do so slowly, so
 * that the number in a tier changes little. */
Test(soft, no_turn_carries_more_than_its_share_of_a_far_tier_and_one)
{
    struct world_config c = config("10:1,40:4,120:20");
    struct rig *r = rig_create(&c);
    enum { N = 150 };
    uint32_t s[N], most[N][3][32] = {0};
    double x[N], y[N], worst = 0;
    struct rng rng;
    rng_init(&rng, 4);
    for (uint32_t i = 0; i < N; i++) {
        x[i] = rng_unit(&rng) * 150;
        y[i] = rng_unit(&rng) * 150;
        s[i] = join(r, i, x[i], y[i]);
    }
    for (uint32_t tick = 1; tick < 200; tick++) {
        const struct soft *soft = r->world->sight.soft;
        for (uint32_t i = 0; i < N; i++) {
            uint32_t slot = slot_of(r, s[i]);
            for (uint32_t t = 0; t < 3; t++) {
                uint32_t every = soft->rules.every[t], n = 0, all = 0, high = 0;
                for (uint32_t p = 0; p < every; p++)
                    n += soft->load[slot * soft->n_parts + soft->base[t] + p];
                most[i][t][tick % 32] = n;
                for (uint32_t k = 0; k <= every && k < tick; k++)
                    high = most[i][t][(tick - k) % 32] > high ? most[i][t][(tick - k) % 32] : high;
                all =
                    soft->load[slot * soft->n_parts + soft->base[t] + (r->world->tick + 1) % every];
                cr_assert_leq(all, (high + every - 1) / every + 1, "tick %u: %u of %u", tick, all,
                              high);
            }
            x[i] = fmax(0, fmin(150, x[i] + rng_unit(&rng) - 0.5));
            y[i] = fmax(0, fmin(150, y[i] + rng_unit(&rng) - 0.5));
            rig_move(r, s[i], x[i], y[i]);
        }
        for (uint32_t t = 1; t < 3; t++) { /* and of all viewers together */
            uint32_t every = soft->rules.every[t], sum = 0;
            for (uint32_t p = 0; p < every; p++)
                sum += soft->global[soft->base[t] + p];
            for (uint32_t p = 0; p < every && tick > 40; p++) {
                double part = (double)soft->global[soft->base[t] + p] / ((double)sum / every);
                worst = part > worst ? part : worst;
            }
        }
        rig_drop(r);
        rig_tick(r, 1);
    }
    fprintf(stderr, "soft: the fullest tick of a far tier has %.3f of its share of all\n", worst);
    cr_assert_leq(worst, 1.1);
    rig_balance(r);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

/* --- refresh --------------------------------------------------------------------------------- */

Test(soft, between_two_refreshes_those_known_are_told_wherever_they_walk_and_nobody_else_is)
{
    struct world_config c = config("");
    c.aoi_refresh = 100; /* five seconds */
    struct rig *r = rig_create(&c);
    uint32_t v = join(r, 0, 0, 0), w = join(r, 1, 25, 0);
    rig_tick(r, 1);
    cr_assert(known(r, v, w));
    uint32_t refreshed = 0, moves = 0;
    for (int i = 1; i <= 100; i++) {
        rig_move(r, w, 25 + i * 0.5, 0);
        rig_tick(r, 1);
        if (!known(r, v, w)) {
            refreshed++;
            break;
        }
        cr_assert_eq(known(r, v, w)->x, 25 + i * 0.5);
        moves += i * 0.5 > 5;
    }
    cr_assert_eq(refreshed, 1, "it is gone within the refresh");
    cr_assert_gt(moves, 0, "and was told of beyond the radius");
    rig_move(r, w, 10, 0);
    rig_tick(r, 101);
    cr_assert(known(r, v, w));
    rig_destroy(r);
    TEST_NO_LEAKS();
}

/* --- caps ------------------------------------------------------------------------------------ */

Test(soft, a_cap_keeps_the_nearest_and_tells_how_many_more_there_are)
{
    struct world_config c = config("");
    c.aoi_max = 5;
    struct rig *r = rig_create(&c);
    uint32_t v = join(r, 0, 0, 0), s[21];
    for (uint32_t i = 1; i <= 20; i++)
        s[i] = join(r, i, i, 0);
    rig_tick(r, 1);
    const struct rig_view *view = &r->sessions[v].view;
    cr_assert_eq(view->count, 5);
    cr_assert_eq(view->hidden, 15);
    for (uint32_t i = 1; i <= 20; i++)
        cr_assert_eq(known(r, v, s[i]) != NULL, i <= 5);
    cr_assert_gt(r->world->sight.soft->n_capped, 0);
    rig_leave(r, s[20]);
    rig_tick(r, 1);
    cr_assert_eq(view->hidden, 14, "an AoiAdd of nobody may tell it");
    for (uint32_t i = 6; i < 20; i++)
        rig_leave(r, s[i]);
    rig_tick(r, 1);
    cr_assert_eq(view->hidden, 0);
    cr_assert_eq(view->count, 5);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(soft, two_at_nearly_the_same_distance_do_not_take_turns_under_a_cap)
{
    struct world_config c = config("");
    c.aoi_max = 1;
    struct rig *r = rig_create(&c);
    uint32_t v = join(r, 0, 0, 0), a = join(r, 1, 10, 0), b = join(r, 2, 0, 10.5);
    rig_tick(r, 1);
    uint64_t adds = r->sessions[v].view.adds;
    for (int i = 0; i < 50; i++) {
        rig_move(r, a, 10 + 0.6 * (i & 1), 0);
        rig_move(r, b, 0, 10.5 - 0.6 * (i & 1));
        rig_tick(r, 1);
    }
    cr_assert_eq(r->sessions[v].view.adds, adds, "within the margin nobody comes or goes");
    rig_move(r, b, 0, 8);
    rig_tick(r, 1);
    cr_assert(known(r, v, b));
    cr_assert(!known(r, v, a));
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(soft, those_who_are_always_seen_come_before_the_nearest)
{
    struct world_config c = config("");
    c.aoi_max = 3;
    struct rig *r = rig_create(&c);
    uint32_t v = join(r, 0, 0, 0), s[11];
    for (uint32_t i = 1; i <= 10; i++)
        s[i] = join(r, i, 2.0 * i, 0);
    rig_tick(r, 1);
    uint32_t slot = slot_of(r, v);
    cr_assert(!known(r, v, s[10]));
    cr_assert_eq(soft_always_add(r->world, slot, r->sessions[s[10]].id), 0);
    cr_assert_eq(soft_always_add(r->world, slot, r->sessions[s[10]].id), 0, "again is fine");
    rig_tick(r, 1);
    cr_assert(known(r, v, s[10]));
    cr_assert(!known(r, v, s[3]));
    rig_move(r, s[10], 31, 0);
    rig_tick(r, 1);
    cr_assert(!known(r, v, s[10]), "nobody is seen who is out of sight");
    rig_move(r, s[10], 20, 0);
    rig_tick(r, 1);
    cr_assert(known(r, v, s[10]));
    soft_always_remove(r->world, slot, r->sessions[s[10]].id);
    rig_tick(r, 1);
    cr_assert(!known(r, v, s[10]));
    cr_assert(known(r, v, s[3]));
    for (uint32_t i = 0; i < SOFT_ALWAYS_MAX; i++)
        cr_assert_eq(soft_always_add(r->world, slot, 1000 + i), 0);
    cr_assert_eq(soft_always_add(r->world, slot, 2000), E_FULL);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(soft, nobody_is_always_seen_without_a_cap)
{
    struct world_config c = config("");
    struct rig *r = rig_create(&c);
    uint32_t v = join(r, 0, 0, 0);
    cr_assert_eq(soft_always_add(r->world, slot_of(r, v), 7), E_BAD);
    soft_always_remove(r->world, slot_of(r, v), 7);
    soft_drain(r->world, slot_of(r, v), 100);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

/* --- room ------------------------------------------------------------------------------------ */

Test(soft, where_the_pairs_are_full_newcomers_wait_and_nothing_else_breaks)
{
    struct world_config c = config("10:1,120:5");
    c.max_pairs = 1024;
    struct rig *r = rig_create(&c);
    uint32_t s[60];
    for (uint32_t i = 0; i < 60; i++)
        s[i] = join(r, i, i % 9, i % 7);
    rig_tick(r, 10);
    cr_assert_gt(r->world->sight.deferred, 0);
    cr_assert_leq(r->world->sight.pairs, 1024);
    rig_balance(r);
    for (uint32_t i = 20; i < 60; i++)
        rig_leave(r, s[i]);
    rig_tick(r, 10);
    for (uint32_t i = 0; i < 20; i++)
        cr_assert_eq(r->sessions[s[i]].view.count, 19, "%u: %u", i, r->sessions[s[i]].view.count);
    rig_balance(r);
    rig_destroy(r);
    TEST_NO_LEAKS();
}
