/* tests/world/test_naming.c: a name lives once in a cluster, and its key decides whose who bears it
 * is. Two worlds side by side, whose border is x = 0. May touch: tests/cluster_rig.
 */
#include "tests/cluster_rig.h"
#include "tests/leak.h"
#include "tests/world_rig.h"
#include "world/cluster/handover.h"
#include "world/command/courier.h"

#include <criterion/criterion.h>

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

static const struct world_metrics *counts(const struct crig *r, uint32_t world)
{
    return &r->worlds[world].world->metrics;
}

Test(naming, a_name_lives_once_in_the_cluster)
{
    struct crig *r = two();
    uint32_t a = crig_join(r, 0, "a"), other = crig_login(r, 1, "a");
    crig_tick(r, 2);
    cr_assert_eq(r->clients[other].last_code, PE_NAME_IN_USE);
    cr_assert_eq(r->clients[other].answered, r->clients[other].sent);
    cr_assert_eq(crig_name_holder(r, "a"), 0);
    cr_assert_eq(owner(r, a), 0);
    cr_assert_eq(r->worlds[1].world->cluster->registry->slots.live, 0, "nothing stays behind");
    end(r);
}

Test(naming, it_is_free_again_when_its_session_has_ended)
{
    struct crig *r = two();
    r->names.delay = 3;
    uint32_t a = crig_login(r, 0, "a");
    crig_tick(r, 4);
    cr_assert_eq(crig_name_holder(r, "a"), 0);
    crig_close(r, a);
    crig_tick(r, 4);
    cr_assert_eq(crig_name_holder(r, "a"), CRIG_NONE);
    uint32_t b = crig_login(r, 1, "a");
    crig_tick(r, 4);
    cr_assert_eq(r->clients[b].errors, 0);
    cr_assert_eq(crig_name_holder(r, "a"), 1);
    end(r);
}

Test(naming, a_session_that_ends_while_its_name_is_asked_for_leaves_none)
{
    for (uint32_t steps = 0; steps < 8; steps++) {
        struct crig *r = two();
        r->names.delay = 6;
        uint32_t a = crig_login(r, 0, "a");
        for (uint32_t i = 0; i < steps; i++) {
            r->step++;
            crig_deliver(r);
        }
        crig_close(r, a);
        crig_tick(r, 8);
        cr_assert_eq(crig_name_holder(r, "a"), CRIG_NONE, "%u", steps);
        cr_assert_eq(r->worlds[0].world->cluster->registry->slots.live, 0);
        crig_validate(r);
        crig_destroy(r);
    }
    TEST_NO_LEAKS();
}

Test(naming, who_waits_elsewhere_without_a_connection_ends_for_a_login)
{
    struct crig *r = two();
    uint32_t a = crig_join(r, 0, "a");
    uint32_t id = r->clients[a].id, slot;
    crig_close(r, a);
    crig_tick(r, 2);
    cr_assert_eq(crig_owner(r, id, &slot), 0, "it waits");
    uint32_t b = crig_login(r, 1, "a");
    crig_send_nil(r, b, CMD_ENTER_REQ);
    crig_tick(r, 20);
    cr_assert_eq(crig_owner(r, id, &slot), CRIG_NONE);
    cr_assert_eq(owner(r, b), 1);
    cr_assert_eq(r->clients[b].errors, 0);
    cr_assert_eq(r->clients[b].answered, r->clients[b].sent);
    cr_assert_eq(crig_name_holder(r, "a"), 1);
    cr_assert_eq(counts(r, 0)->waits_afresh, 1);
    end(r);
}

Test(naming, by_its_key_a_session_goes_on_where_it_waits_whatever_world_is_asked)
{
    struct crig *r = two();
    uint32_t a = crig_join_at(r, 0, "a", -30, 0), seer = crig_join_at(r, 0, "seer", -31, 0);
    uint32_t id = r->clients[a].id;
    crig_tick(r, 2);
    uint64_t removes = r->clients[seer].view.removes;
    crig_close(r, a);
    crig_tick(r, 2);
    uint32_t b = crig_login_by(r, 1, "a", r->clients[a].resume);
    crig_tick(r, 8);
    cr_assert_eq(r->clients[b].errors, 0);
    cr_assert(r->clients[b].resumed);
    cr_assert_eq(r->clients[b].id, id);
    cr_assert_eq(r->clients[b].world, 0, "it was sent there");
    cr_assert_eq(r->clients[b].puts, 1, "an EnterResp unasked");
    cr_assert_eq(r->clients[seer].view.removes, removes);
    crig_say(r, b, "here again");
    crig_tick(r, 2);
    cr_assert_eq(r->clients[b].answered, r->clients[b].sent);
    cr_assert(crig_knows(r, b, seer));
    cr_assert_eq(r->worlds[1].world->cluster->registry->slots.live, 0);
    cr_assert_eq(r->worlds[1].world->sessions.slots.live, 0);
    end(r);
}

Test(naming, a_wrong_key_is_refused_and_nothing_is_taken)
{
    struct crig *r = two();
    uint32_t a = crig_join(r, 0, "a");
    uint32_t b = crig_login_by(r, 1, "a", "00000000000000000000000000000000");
    uint32_t d = crig_login_by(r, 1, "nobody", "00000000000000000000000000000000");
    crig_tick(r, 8);
    cr_assert_eq(r->clients[b].last_code, PE_AUTH_FAILED);
    cr_assert_eq(r->clients[d].last_code, PE_AUTH_FAILED);
    cr_assert_eq(crig_name_holder(r, "a"), 0);
    cr_assert_eq(crig_name_holder(r, "nobody"), CRIG_NONE);
    cr_assert_eq(owner(r, a), 0);
    for (int i = 0; i < 2; i++) {
        struct message m = {.cmd = CMD_LOGIN_REQ};
        m.login_req.name = span_text("nobody");
        m.login_req.version = PROTO_VERSION;
        m.login_req.resume = span_text("00000000000000000000000000000000");
        crig_send(r, d, &m);
        crig_tick(r, 8);
    }
    cr_assert_not(r->clients[d].open, "the third closes");
    cr_assert_eq(r->clients[d].closed_code, PE_AUTH_FAILED);
    end(r);
}

Test(naming, what_a_dead_world_held_is_had_when_it_is_buried)
{
    struct crig *r = two();
    uint32_t a = crig_join(r, 0, "a");
    (void)a;
    crig_tick(r, 1);
    r->worlds[0].dead = true;
    uint32_t b = crig_login(r, 1, "a");
    crig_tick(r, 60);
    cr_assert_eq(r->clients[b].answered, 0, "it waits");
    r->names.buried[0] = true;
    crig_tick(r, 8);
    cr_assert_eq(r->clients[b].answered, 1);
    cr_assert_eq(r->clients[b].errors, 0);
    cr_assert_eq(crig_name_holder(r, "a"), 1);
    end(r);
}

Test(naming, a_login_does_not_wait_for_ever)
{
    struct world_config c = crig_config();
    c.login_wait_ns = 2 * CLOCK_NS_PER_S;
    struct crig *r = crig_create(&c, 2, 1, 4);
    crig_join(r, 0, "a");
    crig_tick(r, 1);
    r->worlds[0].dead = true;
    uint32_t b = crig_login(r, 1, "a");
    crig_tick(r, 45);
    cr_assert_eq(r->clients[b].last_code, PE_UNAVAILABLE);
    cr_assert_eq(r->worlds[1].world->cluster->registry->slots.live, 0);
    end(r);
}

Test(naming, the_key_says_that_one_was_taken_whose_confirm_was_lost)
{
    struct crig *r = two();
    uint32_t a = crig_join_at(r, 0, "a", 0, 0), slot;
    crig_tick(r, 2);
    crig_put(r, a, 5, 0);
    while (counts(r, 1)->guests_taken == 0) {
        crig_tick(r, 1);
        r->weather.drop = counts(r, 0)->gifts_given > 0 ? 1000 : 0;
    }
    r->weather.drop = 1000; /* between the worlds; keys go another way */
    crig_say(r, a, "where am I?");
    crig_tick(r, 90);
    cr_assert_eq(counts(r, 0)->gifts_back, 0);
    cr_assert_eq(crig_owner(r, r->clients[a].id, &slot), 1);
    cr_assert_eq(r->clients[a].world, 1, "its client was sent there");
    r->weather.drop = 0;
    crig_tick(r, 80);
    cr_assert_eq(r->clients[a].answered, r->clients[a].sent);
    end(r);
}

Test(naming, one_that_is_taken_back_is_refused_to_who_hears_of_it_later)
{
    struct crig *r = two();
    uint32_t a = crig_join_at(r, 0, "a", 0, 0), slot;
    crig_tick(r, 2);
    crig_put(r, a, 5, 0);
    while (counts(r, 0)->gifts_given == 0) {
        r->weather.delay =
            r->worlds[0].world->cluster->handover->gift_slots.live > 0 &&
                    r->worlds[0].world->cluster->handover->gifts[0].state == GIFT_READY
                ? 700
                : 0;
        crig_tick(r, 1);
    }
    r->weather.delay = 700; /* each switch comes when the giver has given up */
    for (int i = 0; i < 300; i++) {
        crig_tick(r, 1);
        (void)crig_owner(r, r->clients[a].id, &slot);
    }
    r->weather.delay = 0;
    crig_tick(r, 400);
    cr_assert_eq(owner(r, a), 1, "in the end it went");
    cr_assert_eq(crig_name_holder(r, "a"), 1);
    crig_say(r, a, "at last");
    crig_tick(r, 2);
    cr_assert_eq(r->clients[a].answered, r->clients[a].sent);
    end(r);
}

Test(naming, without_keys_nobody_is_handed_over)
{
    struct crig *r = two();
    uint32_t a = crig_join_at(r, 0, "a", 0, 0);
    crig_tick(r, 2);
    courier_keys(r->worlds[0].world, false);
    crig_put(r, a, 5, 0);
    crig_tick(r, 40);
    cr_assert_eq(owner(r, a), 0);
    cr_assert_eq(counts(r, 0)->gifts_asked, 0);
    courier_keys(r->worlds[0].world, true);
    crig_tick(r, 25);
    cr_assert_eq(owner(r, a), 1);
    end(r);
}

/* Slow keys, a bad way between worlds: to and fro, and there is one of each all the time. */
Test(naming, in_bad_weather_nobody_is_doubled_and_nobody_lost)
{
    struct crig *r = two();
    uint32_t who[6];
    for (uint32_t i = 0; i < 6; i++)
        who[i] = crig_join_at(r, i % 2, (char[2]){(char)('a' + i), 0}, i % 2 ? 6 : -6, 4.0 * i);
    r->weather = (struct crig_weather){.delay = 20, .drop = 150, .twice = 300, .disorder = true};
    r->names.delay = 12;
    for (int i = 0; i < 16; i++) {
        for (uint32_t k = 0; k < 6; k++)
            crig_walk(r, who[k], (i + (int)k) % 2 == 0 ? 9 : -9, 4.0 * k);
        for (int t = 0; t < 50; t++) {
            uint32_t slot;
            crig_tick(r, 1);
            for (uint32_t k = 0; k < 6; k++)
                (void)crig_owner(r, r->clients[who[k]].id, &slot);
        }
    }
    r->weather = (struct crig_weather){0};
    crig_tick(r, 200);
    for (uint32_t k = 0; k < 6; k++) {
        const struct crig_client *c = &r->clients[who[k]];
        cr_assert(c->open, "%u", k);
        cr_assert_neq(owner(r, who[k]), CRIG_NONE, "%u", k);
        cr_assert_eq(crig_name_holder(r, c->name), owner(r, who[k]));
        cr_assert_eq(c->answered, c->sent, "%u: %u of %u", k, c->answered, c->sent);
        cr_assert_gt(c->moved, 1);
    }
    end(r);
}

Test(naming, who_is_bound_to_a_world_that_begins_anew_is_bound_to_another)
{
    struct crig *r = two();
    uint32_t a = crig_join(r, 0, "a");
    crig_tick(r, 1);
    r->names.delay = 3;
    crig_names_end(r, 0);
    crig_deliver(r);
    cr_assert_eq(r->clients[a].bound, 1);
    cr_assert_gt(r->names.n_asks, 0);
    crig_names_end(r, 1); /* before its name is had */
    crig_deliver(r);
    cr_assert(r->clients[a].open);
    cr_assert_eq(r->clients[a].bound, 2);
    crig_zone(r, 0, 0, 100);
    crig_zone(r, 1, 1, 101);
    crig_tick(r, 20);
    cr_assert(r->clients[a].open);
    cr_assert(r->clients[a].view.inside);
    cr_assert_eq(crig_name_holder(r, "a"), 0);
    end(r);
}
