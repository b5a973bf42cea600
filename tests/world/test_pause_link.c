/* tests/world/test_pause_link.c: a gateway's link that does not drain pauses all of its viewers.
 * Beside it each client may be slow by itself: batches wait while either holds.
 * May touch: tests/world_rig, world/command/inbox. Source: PROTOCOL.md, "Sight".
 */
#include "world/command/inbox.h"

#include "common/rng.h"
#include "tests/leak.h"
#include "tests/world_rig.h"

#include <criterion/criterion.h>
#include <stdio.h>

static struct rig *fast_world(void)
{
    struct world_config c = rig_config();
    c.max_speed = 1e6;
    return rig_create(&c);
}

static void link_congestion(struct rig *r, uint32_t link, bool on)
{
    inbox_link_congestion(r->world, r->links[link].ref, on, r->now);
    world_gauges(r->world);
}

/* On this link, logged in, entered and walked to (x, y). */
static uint32_t join_by(struct rig *r, uint32_t link, const char *name, double x, double y)
{
    uint32_t s = rig_open(r, link);

    rig_login(r, s, name);
    rig_enter(r, s);
    rig_place(r, s, x, y);
    return s;
}

static const struct rig_known *known(const struct rig *r, uint32_t s, uint32_t other)
{
    return rig_view_find(&r->sessions[s].view, r->sessions[other].id);
}

Test(pause_link, viewers_of_a_full_link_get_no_batch_and_one_exact_one_when_it_drains)
{
    struct rig *r = fast_world();
    uint32_t slow = rig_link_up(r, "gw-slow");
    uint32_t a = join_by(r, slow, "a", 0, 0), b = join_by(r, slow, "b", 5, 0);
    uint32_t v = rig_join_at(r, "v", 0, 5);
    rig_tick(r, 1);
    rig_drop(r);

    link_congestion(r, slow, true);
    cr_assert_eq(r->world->metrics.viewers_paused, 2);
    for (int i = 1; i <= 5; i++) {
        rig_move(r, b, 5 + i, 0);
        rig_drop(r);
        rig_tick(r, 1);
        cr_assert_eq(r->sessions[a].count, 0, "told while its link is full");
        cr_assert_eq(r->sessions[b].count, 0);
        cr_assert_eq(known(r, v, b)->x, 5 + i, "the other gateway's viewer is told");
    }
    link_congestion(r, slow, false);
    cr_assert_eq(r->world->metrics.viewers_paused, 0);
    rig_tick(r, 1);
    cr_assert_eq(known(r, a, b)->x, 10);
    cr_assert_eq(r->sessions[a].view.batches, 2);
    cr_assert_eq(r->world->metrics.pauses, 2);
    rig_balance(r);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(pause_link, requests_are_answered_all_the_while)
{
    struct rig *r = fast_world();
    uint32_t a = rig_join_at(r, "a", 0, 0);
    link_congestion(r, 0, true);
    rig_tick(r, 1);
    rig_move(r, a, 3, 0);
    rig_leave(r, a);
    rig_enter(r, a);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(pause_link, a_viewer_goes_on_when_neither_holds_any_more)
{
    static const struct {
        bool client_first; /* to become slow */
        bool client_last;  /* to drain */
    } orders[] = {{false, false}, {false, true}, {true, false}, {true, true}};

    for (size_t i = 0; i < ARRAY_LEN(orders); i++) {
        struct rig *r = fast_world();
        uint32_t v = rig_join_at(r, "v", 0, 0), a = rig_join_at(r, "a", 5, 0);
        rig_tick(r, 1);
        if (orders[i].client_first)
            rig_congestion(r, v, true);
        link_congestion(r, 0, true);
        if (!orders[i].client_first)
            rig_congestion(r, v, true);
        cr_assert_eq(r->world->metrics.viewers_paused, 2);
        rig_move(r, a, 6, 0);
        rig_tick(r, 1);

        if (orders[i].client_last)
            link_congestion(r, 0, false);
        else
            rig_congestion(r, v, false);
        rig_drop(r);
        rig_tick(r, 2);
        cr_assert_eq(r->sessions[v].count, 0, "one of the two still holds");
        cr_assert_eq(known(r, v, a)->x, 5);

        if (orders[i].client_last)
            rig_congestion(r, v, false);
        else
            link_congestion(r, 0, false);
        rig_tick(r, 1);
        cr_assert_eq(known(r, v, a)->x, 6);
        world_gauges(r->world);
        cr_assert_eq(r->world->metrics.viewers_paused, 0);
        rig_balance(r);
        rig_destroy(r);
    }
    TEST_NO_LEAKS();
}

Test(pause_link, who_comes_by_a_full_link_waits_too)
{
    struct rig *r = fast_world();
    uint32_t slow = rig_link_up(r, "gw-slow"), v = rig_join_at(r, "v", 0, 5);
    link_congestion(r, slow, true);
    uint32_t a = join_by(r, slow, "a", 0, 0);
    cr_assert(rig_open(r, slow) != a);
    rig_tick(r, 3);
    world_gauges(r->world);
    cr_assert_eq(r->world->metrics.viewers_paused, 2);
    cr_assert_eq(r->sessions[a].view.count, 0);
    cr_assert(rig_knows(r, v, a), "others see it");
    link_congestion(r, slow, false);
    rig_tick(r, 1);
    cr_assert(rig_knows(r, a, v));
    rig_balance(r);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(pause_link, a_link_that_is_lost_while_full_takes_its_pauses_along)
{
    struct rig *r = fast_world();
    uint32_t slow = rig_link_up(r, "gw-slow"), v = rig_join_at(r, "v", 0, 5);
    (void)join_by(r, slow, "a", 0, 0);
    rig_tick(r, 1);
    link_congestion(r, slow, true);
    link_congestion(r, slow, true); /* again: nothing */
    struct link_ref stale = r->links[slow].ref;
    rig_link_down(r, slow);
    inbox_link_congestion(r->world, stale, false, r->now);
    rig_tick(r, 1);
    world_gauges(r->world);
    cr_assert_eq(r->world->metrics.viewers_paused, 0);
    cr_assert_eq(r->sessions[v].view.count, 0);

    uint32_t again = rig_link_up(r, "gw-slow"); /* a new life, in the old one's place */
    uint32_t b = join_by(r, again, "b", 1, 0);
    rig_tick(r, 1);
    cr_assert(rig_knows(r, b, v), "the new link is not full");
    rig_balance(r);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(pause_link, without_room_viewers_go_on_being_told_and_are_counted)
{
    struct world_config c = rig_config();
    c.max_speed = 1e6;
    c.max_pairs = 1024;
    struct rig *r = rig_create(&c);
    uint32_t s[30];
    char name[16];

    for (uint32_t i = 0; i < ARRAY_LEN(s); i++) {
        snprintf(name, sizeof name, "p%u", i);
        s[i] = rig_join_at(r, name, i, 0);
    }
    rig_tick(r, 1);
    link_congestion(r, 0, true);
    uint64_t refused = r->world->metrics.link_pauses_refused;
    cr_assert_gt(refused, 0);
    cr_assert_eq(r->world->metrics.viewers_paused, ARRAY_LEN(s) - refused);
    cr_assert_eq(r->world->metrics.pauses_refused, 0);
    rig_tick(r, 3);
    rig_drop(r);
    rig_move(r, s[0], 0, 1);
    rig_drop(r);
    rig_tick(r, 1);
    uint32_t told = 0;
    for (uint32_t i = 1; i < ARRAY_LEN(s); i++) {
        cr_assert(r->sessions[s[i]].open, "nobody is closed for a link that is slow");
        told += r->sessions[s[i]].count > 0;
    }
    cr_assert_geq(told + 1, refused);
    link_congestion(r, 0, false);
    rig_tick(r, 10);
    for (uint32_t i = 1; i < ARRAY_LEN(s); i++)
        cr_assert_eq(known(r, s[i], s[0])->y, 1);
    rig_balance(r);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

/* --- brute force ----------------------------------------------------------------------------- */

#define PLAYERS 24
#define LINKS   3
#define AREA    50.0
#define RADIUS  30.0

/* A view that is not paused is what the exact places say. */
static void judge(const struct rig *r, const uint32_t *s, const bool *client, const bool *link)
{
    for (uint32_t i = 0; i < PLAYERS; i++) {
        const struct rig_session *v = &r->sessions[s[i]];
        if (client[i] || link[v->link])
            continue;
        for (uint32_t k = 0; k < PLAYERS; k++) {
            const struct rig_session *o = &r->sessions[s[k]];
            double dx = o->x - v->x, dy = o->y - v->y;
            bool near = i != k && dx * dx + dy * dy <= RADIUS * RADIUS;
            cr_assert_eq(rig_knows(r, s[i], s[k]), near, "%u of %u", k, i);
        }
    }
}

Test(pause_link, any_mix_of_slow_links_and_slow_clients_ends_exact)
{
    struct rig *r = fast_world();
    struct rng rng;
    uint32_t s[PLAYERS];
    bool client[PLAYERS] = {false}, link[LINKS] = {false};
    char name[16];

    rng_init(&rng, 7);
    for (uint32_t i = 1; i < LINKS; i++) {
        snprintf(name, sizeof name, "gw-%u", i);
        (void)rig_link_up(r, name);
    }
    for (uint32_t i = 0; i < PLAYERS; i++) {
        snprintf(name, sizeof name, "p%u", i);
        s[i] = join_by(r, i % LINKS, name, i, 0);
    }
    for (uint32_t tick = 0; tick < 2000; tick++) {
        if (rng_below(&rng, 5) == 0) {
            uint32_t l = (uint32_t)rng_below(&rng, LINKS);
            link[l] = !link[l];
            link_congestion(r, l, link[l]);
        }
        for (uint32_t i = 0; i < PLAYERS; i++) {
            if (rng_below(&rng, 20) == 0) {
                client[i] = !client[i];
                rig_congestion(r, s[i], client[i]);
            }
            if (rng_below(&rng, 2) == 0)
                rig_move(r, s[i], AREA * rng_unit(&rng), AREA * rng_unit(&rng));
        }
        rig_drop(r);
        rig_tick(r, 1);
        judge(r, s, client, link);
    }
    rig_balance(r);
    rig_destroy(r);
    TEST_NO_LEAKS();
}
