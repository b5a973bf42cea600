/* tests/world/test_handover.c: an entity and its client go from one world to another.
 * Two worlds side by side, whose border is x = 0. May touch: tests/cluster_rig.
 */
#include "proto/cluster.h"
#include "tests/cluster_rig.h"
#include "tests/leak.h"
#include "tests/world_rig.h"
#include "world/cluster/handover.h"
#include "world/command/courier.h"
#include "world/command/teleport.h"

#include <criterion/criterion.h>
#include <math.h>

static struct crig *two(void)
{
    struct world_config c = crig_config();
    return crig_create(&c, 2, 1, 4);
}

static uint32_t owner(const struct crig *r, uint32_t client)
{
    uint32_t slot;
    return crig_owner(r, r->clients[client].id, &slot);
}

static void end(struct crig *r)
{
    crig_validate(r);
    crig_destroy(r);
    TEST_NO_LEAKS();
}

Test(handover, a_walker_crosses_and_nobody_notices)
{
    struct crig *r = two();
    uint32_t a = crig_join_at(r, 0, "a", -10, 0), west = crig_join_at(r, 0, "west", -12, 3);
    uint32_t east = crig_join_at(r, 1, "east", 6, -3), slot;
    crig_tick(r, 3);
    cr_assert(crig_knows(r, west, a) && crig_knows(r, east, a) && crig_knows(r, a, east));
    uint64_t west_removes = r->clients[west].view.removes;
    uint64_t east_removes = r->clients[east].view.removes;
    uint32_t id = r->clients[a].id;
    crig_walk(r, a, 15, 0);
    for (int i = 0; i < 60; i++) {
        crig_tick(r, 1);
        cr_assert(crig_knows(r, west, a), "tick %d", i);
        cr_assert(crig_knows(r, east, a), "tick %d", i);
    }
    cr_assert_eq(crig_owner(r, id, &slot), 1);
    cr_assert_eq(r->worlds[1].world->entities.x[slot], 15, "the walk went on to its goal");
    cr_assert_eq(r->clients[a].world, 1);
    cr_assert_eq(r->clients[a].moved, 1, "it was handed over once");
    cr_assert_eq(r->clients[a].puts, 0, "and not put afresh");
    cr_assert_eq(r->clients[west].view.removes, west_removes);
    cr_assert_eq(r->clients[east].view.removes, east_removes);
    cr_assert_eq(r->clients[a].view.removes, 0, "it forgot nobody");
    cr_assert(crig_knows(r, a, west) && crig_knows(r, a, east));
    cr_assert_eq(r->worlds[0].world->sessions.slots.live, 1, "of the two that were there");
    cr_assert_eq(r->clients[a].answered, r->clients[a].sent);
    end(r);
}

Test(handover, a_client_is_told_of_no_tick_twice_though_its_new_world_is_behind)
{
    struct world_config config = crig_config();
    struct crig *r = crig_create(&config, 2, 1, 4);
    uint32_t a = crig_join_at(r, 0, "anna", -2, 0), slot;
    struct world *behind = r->worlds[1].world;

    r->worlds[0].world->lead += 500; /* the other one left ticks out, or stood still */
    crig_tick(r, 2);
    cr_assert_lt(world_told_tick(behind) + 400, world_told_tick(r->worlds[0].world));
    for (int i = 0; i < 12; i++) {
        crig_move(r, a, r->clients[a].x + 0.6, 0, 0, 1);
        crig_tick(r, 1);
    }
    crig_tick(r, 5); /* the view fails where a tick goes back */
    cr_expect_eq(crig_owner(r, r->clients[a].id, &slot), 1);
    cr_expect_geq(world_told_tick(behind) + 2, world_told_tick(r->worlds[0].world));
    cr_expect_eq(r->clients[a].answered, r->clients[a].sent);
    crig_destroy(r);
    TEST_NO_LEAKS();
}

Test(handover, it_happens_past_the_margin_and_back_only_past_the_other_one)
{
    struct crig *r = two();
    uint32_t a = crig_join_at(r, 0, "a", -2, 0);
    crig_tick(r, 2);
    crig_put(r, a, 3.9, 0);
    crig_tick(r, 10);
    cr_assert_eq(owner(r, a), 0);
    crig_put(r, a, 4.1, 0);
    crig_tick(r, 5);
    cr_assert_eq(owner(r, a), 1);
    crig_put(r, a, -3.9, 0);
    crig_tick(r, 10);
    cr_assert_eq(owner(r, a), 1);
    crig_put(r, a, -4.1, 0);
    crig_tick(r, 5);
    cr_assert_eq(owner(r, a), 0);
    cr_assert_eq(r->clients[a].moved, 2);
    end(r);
}

Test(handover, what_is_asked_meanwhile_is_answered_once_and_in_order)
{
    struct crig *r = two();
    uint32_t a = crig_join_at(r, 0, "a", 2, 0);
    r->weather.link_delay = 6;
    crig_tick(r, 2);
    crig_walk(r, a, 30, 0);
    for (int i = 0; i < 60; i++) {
        crig_say(r, a, "one");
        crig_say(r, a, "two");
        crig_tick(r, 1);
    }
    crig_tick(r, 20);
    cr_assert_eq(owner(r, a), 1);
    cr_assert_eq(r->clients[a].answered, r->clients[a].sent);
    cr_assert_eq(r->clients[a].errors, 0);
    cr_assert_gt(r->worlds[1].world->metrics.late_taken, 0, "some were forwarded");
    end(r);
}

Test(handover, a_jump_far_past_the_border_is_answered_by_the_other_world)
{
    struct world_config c = crig_config();
    c.max_speed = 60;
    struct crig *r = crig_create(&c, 2, 1, 4);
    uint32_t a = crig_join_at(r, 0, "a", -10, 0), slot;
    crig_tick(r, 30);
    crig_move(r, a, 45, 0, 1, 2);
    crig_say(r, a, "here I am");
    crig_deliver(r);
    cr_assert_lt(r->clients[a].answered, r->clients[a].sent, "it waits");
    crig_tick(r, 6);
    cr_assert_eq(r->clients[a].answered, r->clients[a].sent);
    cr_assert_eq(r->clients[a].errors, 0);
    cr_assert_eq(crig_owner(r, r->clients[a].id, &slot), 1);
    cr_assert_eq(r->worlds[1].world->entities.x[slot], 45);
    cr_assert_eq(r->clients[a].x, 45);
    end(r);
}

Test(handover, credit_facing_key_and_what_was_told_travel)
{
    struct crig *r = two();
    uint32_t a = crig_join_at(r, 0, "a", -1, 0), slot;
    uint32_t b = crig_join_at(r, 1, "b", 5, 5);
    struct session_ref who;
    crig_tick(r, 40);
    crig_move(r, a, 5, 0, 1.25, 3);
    crig_deliver(r);
    cr_assert_eq(r->clients[a].errors, 0);
    uint8_t key[SESSION_KEY_BYTES];
    struct world *w = r->worlds[0].world;
    cr_assert(sessions_by_name(&w->sessions, span_text("a"), &who));
    memcpy(key, w->sessions.list[who.slot].key, sizeof key);
    uint64_t adds = r->clients[a].view.adds;
    crig_tick(r, 5);
    w = r->worlds[1].world;
    cr_assert_eq(crig_owner(r, r->clients[a].id, &slot), 1);
    cr_assert_eq(w->entities.dir[slot], 1.25);
    cr_assert_eq(w->entities.speed[slot], 3);
    cr_assert(sessions_by_name(&w->sessions, span_text("a"), &who));
    cr_assert_eq(memcmp(w->sessions.list[who.slot].key, key, sizeof key), 0);
    double credit = motion_credit(&w->entities.motion[slot], &w->motion, r->now);
    cr_assert_float_eq(credit, 0.5 + 5 * 0.05, 1e-6, "%g: not given anew, nor lost", credit);
    cr_assert_eq(r->clients[a].view.adds, adds, "nobody was told to it again");
    cr_assert(crig_knows(r, a, b));
    end(r);
}

Test(handover, one_who_moves_as_fast_as_may_be_is_refused_nothing_at_the_border)
{
    struct crig *r = two();
    uint32_t a = crig_join_at(r, 0, "a", -10, 0);
    r->weather.delay = 8; /* steps, of which four are a tick */
    for (int i = 1; i <= 100; i++) {
        crig_tick(r, 1);
        crig_move(r, a, -10 + i * 12 * 0.05, 0, 0, 12);
    }
    crig_tick(r, 20);
    cr_assert_eq(owner(r, a), 1);
    cr_assert_eq(r->clients[a].answered, r->clients[a].sent);
    cr_assert_eq(r->clients[a].errors, 0);
    end(r);
}

Test(handover, one_who_lost_its_connection_walks_across_and_waits_there)
{
    struct crig *r = two();
    uint32_t a = crig_join_at(r, 0, "a", 0, 0), east = crig_join_at(r, 1, "east", 8, 0);
    crig_tick(r, 2);
    crig_walk(r, a, 20, 0);
    crig_deliver(r);
    crig_close(r, a);
    crig_tick(r, 40);
    cr_assert_eq(owner(r, a), 1);
    cr_assert(crig_knows(r, east, a));
    cr_assert_eq(r->worlds[0].world->sessions.slots.live, 0);
    cr_assert_eq(r->worlds[1].world->sessions.waiting, 1);
    crig_tick(r, 31 * 20);
    cr_assert_not(crig_knows(r, east, a), "its window is over");
    end(r);
}

Test(handover, a_client_that_is_lost_on_the_way_waits_at_the_other_world)
{
    for (uint32_t steps = 0; steps < 6; steps++) {
        struct crig *r = two();
        uint32_t a = crig_join_at(r, 0, "a", 5, 0);
        r->weather.link_delay = steps;
        r->weather.delay = 2;
        crig_tick(r, 1);
        for (uint32_t i = 0; i < steps; i++) {
            r->step++;
            crig_deliver(r);
        }
        crig_close(r, a);
        crig_tick(r, 100);
        cr_assert_eq(owner(r, a), 1, "%u", steps);
        cr_assert_eq(r->worlds[0].world->sessions.slots.live, 0);
        cr_assert_eq(r->worlds[1].world->sessions.waiting, 1);
        crig_tick(r, 31 * 20);
        cr_assert_eq(owner(r, a), CRIG_NONE);
        crig_validate(r);
        crig_destroy(r);
    }
    TEST_NO_LEAKS();
}

Test(handover, a_paused_client_is_exact_when_it_drains_at_the_other_world)
{
    struct crig *r = two();
    uint32_t a = crig_join_at(r, 0, "a", 0, 0), b = crig_join_at(r, 1, "b", 8, 0);
    uint32_t d = crig_join_at(r, 0, "d", -8, 0);
    crig_tick(r, 3);
    cr_assert(crig_knows(r, a, b) && crig_knows(r, a, d));
    crig_congestion(r, a, true);
    crig_deliver(r);
    uint64_t batches = r->clients[a].view.batches;
    crig_put(r, b, 60, 0);
    crig_tick(r, 3);
    crig_put(r, a, 5, 0);
    crig_put(r, d, -9, 1);
    r->weather.link_delay = 0;
    while (r->clients[a].moved == 0)
        crig_tick(r, 1);
    crig_congestion(r, a, true); /* as a gateway says again behind its attach */
    crig_tick(r, 5);
    cr_assert_leq(r->clients[a].view.batches, batches + 1);
    crig_put(r, b, 9, 0);
    crig_tick(r, 3);
    crig_congestion(r, a, false);
    crig_tick(r, 2);
    cr_assert(crig_knows(r, a, b));
    const struct rig_known *k = rig_view_find(&r->clients[a].view, r->clients[d].id);
    cr_assert_not_null(k);
    cr_assert_eq(k->x, -9);
    end(r);
}

Test(handover, entering_in_anothers_zone_is_answered_there)
{
    struct crig *r = two();
    r->worlds[0].world->scenes.list[0].spawn =
        (struct scene_spawn_rule){SCENE_SPAWN_DISC, 50, 0, 1};
    uint32_t a = crig_login(r, 0, "a"), slot;
    crig_deliver(r);
    uint32_t id = r->clients[a].id;
    crig_send_nil(r, a, CMD_ENTER_REQ);
    crig_say(r, a, "hello");
    crig_tick(r, 6);
    cr_assert_eq(r->clients[a].answered, 3);
    cr_assert_eq(r->clients[a].errors, 0);
    cr_assert_eq(r->clients[a].id, id, "the first EnterReq has LoginResp's id");
    cr_assert_eq(crig_owner(r, id, &slot), 1);
    cr_assert_eq(r->worlds[0].world->sessions.slots.live, 0);
    crig_send_nil(r, a, CMD_LEAVE_REQ);
    crig_tick(r, 2);
    cr_assert_eq(r->worlds[0].world->ids.rest_count, 1, "whose id it was lets it rest");
    cr_assert_eq(r->worlds[1].world->ids.rest_count, 0);
    end(r);
}

Test(handover, a_teleport_into_anothers_zone_begins_afresh_there)
{
    struct crig *r = two();
    uint32_t a = crig_join_at(r, 0, "a", -50, 0), b = crig_join_at(r, 1, "b", 55, 0), slot;
    uint32_t seer = crig_join_at(r, 0, "seer", -51, 0);
    crig_tick(r, 2);
    struct world *w = r->worlds[0].world;
    cr_assert(entities_by_id(&w->entities, r->clients[a].id, &slot));
    cr_assert_eq(teleport_entity(w, entities_ref(&w->entities, slot), 0, 60, 0), 0);
    crig_tick(r, 6);
    cr_assert_eq(owner(r, a), 1);
    cr_assert_eq(r->clients[a].puts, 1, "an EnterResp unasked");
    cr_assert(crig_knows(r, a, b) && crig_knows(r, b, a));
    cr_assert_not(crig_knows(r, seer, a));
    cr_assert_not(crig_knows(r, a, seer));
    end(r);
}

Test(handover, with_a_neighbour_away_people_go_on_up_to_the_apron)
{
    struct crig *r = two();
    uint32_t a = crig_join_at(r, 0, "a", 0, 0), slot;
    crig_tick(r, 2);
    r->cut[1] = true;
    crig_walk(r, a, 40, 0);
    crig_tick(r, 100);
    cr_assert_eq(crig_owner(r, r->clients[a].id, &slot), 0);
    double x = r->worlds[0].world->entities.x[slot];
    cr_assert(x > 4 && x <= r->worlds[0].world->cluster->apron, "%g", x);
    crig_tick(r, 30);
    crig_move(r, a, 10, 0, 0, 0);
    crig_tick(r, 80);
    cr_assert_eq(r->clients[a].last_code, PE_UNAVAILABLE);
    cr_assert_eq(r->clients[a].answered, r->clients[a].sent);
    crig_move(r, a, 0, 0, 0, 0);
    crig_tick(r, 2);
    cr_assert_eq(r->clients[a].x, 0, "inside it may do what it likes");
    r->cut[1] = false;
    crig_move(r, a, 5, 0, 0, 0);
    crig_tick(r, 40);
    cr_assert_eq(owner(r, a), 1);
    end(r);
}

Test(handover, a_world_that_dies_before_it_confirmed_gives_back_what_it_never_said_it_had)
{
    struct crig *r = two();
    uint32_t a = crig_join_at(r, 0, "a", 0, 0), slot;
    crig_tick(r, 2);
    crig_put(r, a, 5, 0);
    /* accepted; with the next tick it goes, and nobody answers any more */
    while (r->worlds[0].world->metrics.gifts_given == 0) {
        r->worlds[1].dead = r->worlds[0].world->cluster->handover->gift_slots.live > 0 &&
                            r->worlds[0].world->cluster->handover->gifts[0].state == GIFT_READY;
        crig_tick(r, 1);
    }
    r->worlds[1].dead = true;
    r->cut[1] = true;
    crig_say(r, a, "is anybody there?");
    crig_tick(r, 40);
    cr_assert_eq(crig_owner(r, r->clients[a].id, &slot), CRIG_NONE, "it stands still");
    courier_zone(r->worlds[0].world, 1, span_of(NULL, 0), 9, r->now); /* the lease is over */
    crig_tick(r, 2);
    cr_assert_eq(crig_owner(r, r->clients[a].id, &slot), 0);
    cr_assert_eq(r->clients[a].answered, r->clients[a].sent);
    cr_assert_eq(r->worlds[0].world->cluster->count[slot], 2, "under a count that is its own");
    crig_move(r, a, 0, 0, 0, 0);
    crig_tick(r, 2);
    cr_assert_eq(r->clients[a].x, 0);
    end(r);
}

Test(handover, with_soft_sight_a_client_begins_afresh)
{
    struct world_config c = crig_config();
    c.aoi_tiers = "10:1,30:2";
    struct crig *r = crig_create(&c, 2, 1, 4);
    uint32_t a = crig_join_at(r, 0, "a", -10, 0), west = crig_join_at(r, 0, "west", -12, 3);
    uint32_t east = crig_join_at(r, 1, "east", 6, -3);
    crig_tick(r, 4);
    cr_assert(crig_knows(r, west, a) && crig_knows(r, east, a) && crig_knows(r, a, east));
    uint64_t removes = r->clients[west].view.removes + r->clients[east].view.removes;
    crig_walk(r, a, 15, 0);
    crig_tick(r, 60);
    cr_assert_eq(owner(r, a), 1);
    cr_assert_eq(r->clients[a].puts, 1, "an EnterResp unasked: what it was told lies in no list");
    cr_assert(crig_knows(r, a, west) && crig_knows(r, a, east));
    cr_assert_eq(r->clients[west].view.removes + r->clients[east].view.removes, removes,
                 "others notice nothing");
    end(r);
}

Test(handover, a_way_through_three_worlds_is_one_life)
{
    struct world_config c = crig_config();
    struct crig *r = crig_create(&c, 3, 1, 4);
    uint32_t a = crig_join_at(r, 0, "a", -90, 0), slot;
    uint32_t id = r->clients[a].id;
    crig_tick(r, 2);
    crig_walk(r, a, 100, 0);
    crig_tick(r, 190 * 20 / 12 + 40);
    cr_assert_eq(crig_owner(r, id, &slot), 2);
    cr_assert_eq(r->worlds[2].world->entities.x[slot], 100);
    cr_assert_eq(r->worlds[2].world->cluster->count[slot], 2);
    cr_assert_eq(r->clients[a].moved, 2);
    crig_send_nil(r, a, CMD_LEAVE_REQ);
    crig_send_nil(r, a, CMD_ENTER_REQ);
    crig_tick(r, 2);
    cr_assert_eq(r->clients[a].answered, r->clients[a].sent);
    cr_assert_neq(r->clients[a].id, id, "the old id rests with the world that gave it");
    cr_assert_eq(r->worlds[0].world->ids.rest_count, 1);
    end(r);
}

/* Whatever is said twice, at any time later: nobody is doubled, nobody lost. */
Test(handover, every_message_again_and_again_changes_nothing)
{
    struct crig *r = two();
    uint32_t a = crig_join_at(r, 0, "a", 0, 0), slot;
    r->weather.twice = 1000;
    r->weather.delay = 40;
    r->weather.disorder = true;
    for (int i = 0; i < 12; i++) {
        crig_tick(r, 2);
        crig_walk(r, a, i % 2 == 0 ? 8 : -8, 0);
        for (int t = 0; t < 80; t++) {
            crig_tick(r, 1);
            (void)crig_owner(r, r->clients[a].id, &slot);
        }
    }
    r->weather = (struct crig_weather){0};
    crig_tick(r, 100);
    cr_assert_neq(owner(r, a), CRIG_NONE);
    cr_assert_gt(r->clients[a].moved, 6);
    cr_assert_eq(r->clients[a].answered, r->clients[a].sent);
    cr_assert_eq(r->clients[a].lost, 0);
    end(r);
}

Test(handover, no_more_than_so_many_are_under_way_and_the_others_go_later)
{
    struct handover *h = NULL;
    struct gift *g;
    struct guest *u;
    struct mono now = {0};
    cr_assert_eq(handover_create(0, &h), 0);
    for (uint32_t i = 1; i <= HANDOVER_MAX; i++) {
        cr_assert_eq(handover_gift_new(h, i, 1, now, &g), 0);
        cr_assert_eq(handover_guest_new(h, i, 1, now, &u), 0);
    }
    cr_assert_eq(handover_gift_new(h, 9999, 1, now, &g), E_FULL);
    cr_assert_eq(handover_guest_new(h, 9999, 1, now, &u), E_FULL);
    cr_assert_eq(handover_gift(h, 7)->id, 7);
    handover_gift_drop(h, handover_gift(h, 7));
    cr_assert_null(handover_gift(h, 7));
    cr_assert_eq(handover_gift_new(h, 9999, 1, now, &g), 0);
    cr_assert_eq(handover_gift(h, 9999), g);
    handover_destroy(h);
    TEST_NO_LEAKS();
}

Test(handover, where_worlds_count_apart_no_tick_is_told_twice)
{
    for (uint32_t apart = 0; apart < 6; apart++) {
        struct crig *r = two();
        r->worlds[0].world->tick += 100;
        r->worlds[1].world->tick += 97 + apart;
        uint32_t a = crig_join_at(r, 0, "a", -1, 0), b = crig_join_at(r, 1, "b", 6, 3);
        crig_tick(r, 3);
        for (int i = 0; i < 120; i++) {
            if (i % 30 == 0)
                crig_walk(r, a, i % 60 == 0 ? 8 : -8, 0);
            crig_move(r, b, 6 + 0.3 * (i % 2), 3, 0, 0); /* something to tell in each tick */
            crig_tick(r, 1);
        }
        cr_assert_geq(r->clients[a].moved, 3, "%u", apart);
        cr_assert_eq(r->clients[a].puts, 0);
        crig_validate(r);
        crig_destroy(r);
    }
    TEST_NO_LEAKS();
}
