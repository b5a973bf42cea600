/* tests/world/test_border.c: what neighbours see of each other's entities; world/cluster/border.
 * Two worlds side by side, whose border is x = 0. May touch: tests/cluster_rig.
 */
#include "proto/cluster.h"
#include "tests/cluster_rig.h"
#include "tests/leak.h"
#include "tests/world_rig.h"
#include "world/cluster/border.h"
#include "world/command/courier.h"

#include <criterion/criterion.h>

static struct crig *two(void)
{
    struct world_config c = crig_config();
    return crig_create(&c, 2, 1, 4);
}

static const struct rig_known *known(const struct crig *r, uint32_t client, uint32_t other)
{
    return rig_view_find(&r->clients[client].view, r->clients[other].id);
}

static void end(struct crig *r)
{
    crig_validate(r);
    crig_destroy(r);
    TEST_NO_LEAKS();
}

Test(border, who_stands_beyond_a_border_is_seen_one_tick_later)
{
    struct crig *r = two();
    uint32_t a = crig_join_at(r, 0, "a", -5, 0), b = crig_join_at(r, 1, "b", 5, 0);
    crig_tick(r, 1);
    cr_assert_not(crig_knows(r, a, b));
    crig_tick(r, 1);
    cr_assert(crig_knows(r, a, b), "one tick of lateness, and no more");
    cr_assert(crig_knows(r, b, a));
    cr_assert_eq(known(r, a, b)->x, 5);
    cr_assert_eq(known(r, a, b)->kind, 0);
    cr_assert_eq(known(r, a, b)->name_len, 1);
    crig_put(r, b, 9, 7);
    crig_tick(r, 1);
    cr_assert_eq(known(r, a, b)->x, 5);
    crig_tick(r, 1);
    cr_assert_eq(known(r, a, b)->x, 9);
    cr_assert_eq(known(r, a, b)->y, 7);
    crig_put(r, b, 90, 7);
    crig_tick(r, 2);
    cr_assert_not(crig_knows(r, a, b));
    cr_assert_eq(r->worlds[0].world->entities.ghost_count, 0, "out of reach, no ghost of it stays");
    crig_put(r, b, 5, 0);
    crig_tick(r, 2);
    cr_assert(crig_knows(r, a, b), "it is back");
    crig_send_nil(r, b, CMD_LEAVE_REQ);
    crig_tick(r, 2);
    cr_assert_not(crig_knows(r, a, b));
    end(r);
}

Test(border, a_ghost_is_no_player_of_this_world)
{
    struct crig *r = two();
    uint32_t a = crig_join_at(r, 0, "a", -5, 0), b = crig_join_at(r, 1, "b", 5, 0), slot;
    struct world *w = r->worlds[0].world;
    crig_tick(r, 3);
    cr_assert(crig_ghost(r, 0, r->clients[b].id, &slot));
    world_gauges(w);
    cr_assert_eq(w->metrics.entities, 1);
    cr_assert_eq(w->metrics.ghosts, 1);
    cr_assert_eq(w->entities.in_scene[0], 1);
    cr_assert_eq(w->sight.mode[slot], SIGHT_BLIND);
    cr_assert_eq(w->entities.cold[slot].session.gen, 0);
    struct session_ref who;
    cr_assert_not(sessions_by_name(&w->sessions, span_text("b"), &who));
    (void)a;
    end(r);
}

Test(border, what_is_said_near_a_border_is_heard_across)
{
    struct crig *r = two();
    uint32_t a = crig_join_at(r, 0, "a", -5, 0), b = crig_join_at(r, 1, "b", 5, 0);
    uint32_t far = crig_join_at(r, 0, "far", -80, 0);
    crig_tick(r, 3);
    crig_say(r, b, "hello");
    crig_tick(r, 1);
    cr_assert_eq(r->clients[a].view.hears, 1);
    cr_assert_eq(r->clients[b].view.hears, 0, "not by the speaker");
    cr_assert_eq(r->clients[far].view.hears, 0);
    crig_say(r, far, "who is there?");
    crig_tick(r, 2);
    cr_assert_eq(r->clients[b].view.hears, 0);
    end(r);
}

Test(border, after_a_gap_a_whole_brings_what_is_so_and_nobody_flickers)
{
    struct crig *r = two();
    uint32_t a = crig_join_at(r, 0, "a", -5, 0), b = crig_join_at(r, 1, "b", 5, 0);
    uint32_t c = crig_join_at(r, 1, "c", 6, 0), d = crig_join_at(r, 1, "d", 90, 0);
    crig_tick(r, 3);
    r->cut[0] = true;
    crig_put(r, b, 8, 0);
    crig_send_nil(r, c, CMD_LEAVE_REQ);
    crig_put(r, d, 7, 0);
    crig_tick(r, 3);
    cr_assert(crig_knows(r, a, c), "what is there is kept");
    r->cut[0] = false;
    uint64_t removes = r->clients[a].view.removes;
    crig_tick(r, 4);
    cr_assert_eq(known(r, a, b)->x, 8);
    cr_assert_not(crig_knows(r, a, c));
    cr_assert(crig_knows(r, a, d));
    cr_assert_eq(r->clients[a].view.removes, removes + 1, "nobody else was removed and added");
    cr_assert_eq(r->worlds[0].world->metrics.border_gaps, 1);
    cr_assert_geq(r->worlds[1].world->metrics.border_asked, 1);
    end(r);
}

Test(border, frames_that_come_twice_are_taken_once)
{
    struct crig *r = two();
    uint32_t a = crig_join_at(r, 0, "a", -5, 0), b = crig_join_at(r, 1, "b", 5, 0);
    r->weather.twice = 1000;
    crig_tick(r, 3);
    crig_say(r, b, "hello");
    crig_tick(r, 3);
    cr_assert_eq(r->clients[a].view.hears, 1);
    cr_assert_gt(r->worlds[0].world->metrics.border_doubled, 0);
    end(r);
}

Test(border, a_zone_that_says_goodbye_or_has_no_owner_for_long_takes_its_ghosts_along)
{
    struct crig *r = two();
    uint32_t a = crig_join_at(r, 0, "a", -5, 0), b = crig_join_at(r, 1, "b", 5, 0);
    uint8_t bytes[64];
    struct span_writer w = span_writer_of(bytes, sizeof bytes);
    struct cluster_message m = {.kind = CLUSTER_BYE, .zone = 1, .epoch = 2};
    crig_tick(r, 3);
    r->cut[0] = true;
    cluster_write(&w, &m);
    cr_assert_eq(courier_message(r->worlds[0].world, span_written(&w), r->now), 0);
    crig_tick(r, 1);
    cr_assert_not(crig_knows(r, a, b));
    r->cut[0] = false;
    crig_tick(r, 6);
    cr_assert(crig_knows(r, a, b), "it was not its last word after all");
    courier_zone(r->worlds[0].world, 1, span_of(NULL, 0), 3, r->now);
    crig_tick(r, 2 * BORDER_PENDING_TICKS);
    cr_assert(crig_knows(r, a, b), "given up, its owner goes on until somebody has it");
    r->worlds[1].dead = true;
    crig_tick(r, BORDER_PENDING_TICKS - 1);
    cr_assert(crig_knows(r, a, b));
    crig_tick(r, 2);
    cr_assert_not(crig_knows(r, a, b));
    cr_assert_eq(r->worlds[0].world->entities.ghost_count, 0);
    end(r);
}

Test(border, frames_of_an_owner_of_before_are_not_taken)
{
    struct crig *r = two();
    uint32_t a = crig_join_at(r, 0, "a", -5, 0), b = crig_join_at(r, 1, "b", 5, 0);
    crig_tick(r, 3);
    courier_zone(r->worlds[0].world, 1, span_text("world-9"), 7, r->now);
    crig_put(r, b, 9, 0);
    crig_tick(r, 3);
    cr_assert_eq(known(r, a, b)->x, 5, "kept until the new owner speaks");
    cr_assert_gt(r->worlds[0].world->metrics.border_stale, 0);
    end(r);
}

Test(border, a_full_world_sees_fewer_ghosts_and_counts_them)
{
    struct world_config c = crig_config();
    c.max_entities = 4;
    struct crig *r = crig_create(&c, 2, 1, 4);
    uint32_t a = crig_join_at(r, 0, "a", -5, 0);
    crig_join_at(r, 0, "a2", -6, 0);
    crig_join_at(r, 0, "a3", -7, 0);
    crig_join_at(r, 1, "b", 5, 0);
    crig_join_at(r, 1, "b2", 6, 0);
    crig_tick(r, 3);
    cr_assert_eq(r->clients[a].view.count, 3);
    cr_assert_geq(r->worlds[0].world->metrics.ghosts_full, 1);
    crig_close(r, 2);
    r->worlds[0].world->config.resume_window_ns = 0;
    crig_send_nil(r, 1, CMD_LEAVE_REQ);
    crig_tick(r, 25);
    cr_assert_eq(r->worlds[0].world->entities.ghost_count, 2, "there is room again");
    end(r);
}

Test(border, zones_too_narrow_for_what_is_seen_are_refused)
{
    struct world_config c = crig_config();
    struct world *w = NULL;
    char why[256] = "";
    struct cluster_door_ops none = {0};
    struct world_ops ops = {.secret = NULL, .cluster = {&none, NULL, span_text("w"), 12, 1, 0, 4}};
    c.resume_window_ns = 0;
    cr_assert_eq(world_create(&c, &ops, &w, why, sizeof why), E_RANGE);
    cr_assert(strstr(why, "-zones") != NULL, "%s", why);
}

Test(border, whom_a_dead_world_told_of_is_gone_at_once)
{
    struct crig *r = two();
    uint32_t a = crig_join_at(r, 0, "a", -5, 0), b = crig_join_at(r, 1, "b", 5, 0);
    crig_tick(r, 3);
    cr_assert(crig_knows(r, a, b));
    r->worlds[1].dead = true;
    courier_zone_dead(r->worlds[0].world, 1);
    courier_zone(r->worlds[0].world, 1, span_text("world-0"), 7, r->now);
    crig_tick(r, 1);
    cr_assert_not(crig_knows(r, a, b));
    cr_assert_eq(r->worlds[0].world->entities.ghost_count, 0);
    end(r);
}
