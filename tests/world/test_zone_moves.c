/* tests/world/test_zone_moves.c: zones that change hands, with all who stand in them.
 * A zone's people stay their world's until its new owner has taken each of them; whoever sees them,
 * from the same world or across a border, notices nothing. May touch: tests/cluster_rig.
 */
#include "tests/cluster_rig.h"
#include "tests/leak.h"
#include "tests/world_rig.h"
#include "world/cluster/border.h"
#include "world/cluster/ghosts.h"
#include "world/cluster/handover.h"
#include "world/command/courier.h"

#include <criterion/criterion.h>
#include <math.h>

#define PEOPLE 6

/* Three worlds in a row, borders at x = -80 and 80, and who is in the middle of them or looks into
 * it: two stand near either border, one in the middle, one walks, from outside one looks in from
 * each side. */
struct row {
    struct crig *r;
    uint32_t west, east, edge[2], middle, walker; /* clients */
    uint32_t epoch;
    uint64_t removes;
};

static uint32_t owner(const struct crig *r, uint32_t client)
{
    uint32_t slot;
    return crig_owner(r, r->clients[client].id, &slot);
}

static uint64_t removes(const struct crig *r)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < r->n_clients; i++)
        n += r->clients[i].view.removes;
    return n;
}

static struct row row_of(double walk_x)
{
    struct world_config c = crig_config();
    struct row w = {.r = crig_create(&c, 3, 1, 4), .epoch = 100};
    w.west = crig_join_at(w.r, 0, "west", -90, 0);
    w.east = crig_join_at(w.r, 2, "east", 90, 0);
    w.edge[0] = crig_join_at(w.r, 1, "edge 0", -70, 1);
    w.edge[1] = crig_join_at(w.r, 1, "edge 1", 70, 1);
    w.middle = crig_join_at(w.r, 1, "middle", 0, 0);
    w.walker = crig_join_at(w.r, 1, "walker", walk_x, 2);
    crig_tick(w.r, 4);
    cr_assert(crig_knows(w.r, w.west, w.edge[0]) && crig_knows(w.r, w.east, w.edge[1]));
    w.removes = removes(w.r);
    return w;
}

static void ask_all(struct row *w, int i)
{
    struct crig *r = w->r;
    crig_say(r, w->middle, "on and on");
    crig_move(r, w->edge[0], -70 + (i % 2) * 0.25, 1, 0, 0);
    crig_move(r, w->edge[1], 70 - (i % 2) * 0.25, 1, 0, 0);
    if (i == 0)
        crig_walk(r, w->walker, r->clients[w->walker].x + 8, 2);
}

/* Some ticks in which all do something, and nobody who knows another loses him. */
static void go(struct row *w, int ticks)
{
    for (int i = 0; i < ticks; i++) {
        ask_all(w, i);
        crig_tick(w->r, 1);
        cr_assert_eq(removes(w->r), w->removes, "tick %d", i);
        for (uint32_t k = 0; k < w->r->n_clients; k++)
            (void)owner(w->r, k); /* never two */
    }
}

/* All of the middle are the world's, asked and answered, and seen where they are. */
static void settled(struct row *w, uint32_t world, uint32_t puts)
{
    struct crig *r = w->r;
    crig_tick(r, 3);
    for (uint32_t k = 0; k < r->n_clients; k++) {
        const struct crig_client *c = &r->clients[k];
        cr_assert(c->open, "%s", c->name);
        cr_assert_eq(c->answered, c->sent, "%s: %u of %u", c->name, c->answered, c->sent);
        cr_assert_eq(c->errors + c->lost, 0, "%s: %u", c->name, c->last_code);
        cr_assert_eq(c->puts, puts);
        if (k != w->west && k != w->east)
            cr_assert_eq(owner(r, k), world, "%s", c->name);
    }
    const struct rig_known *k = rig_view_find(&r->clients[w->west].view, r->clients[w->edge[0]].id);
    cr_assert(k && k->x == r->clients[w->edge[0]].x);
    k = rig_view_find(&r->clients[w->east].view, r->clients[w->edge[1]].id);
    cr_assert(k && k->x == r->clients[w->edge[1]].x);
    for (uint32_t i = 0; i < r->n_worlds; i++) {
        const struct realm *m = r->worlds[i].world->cluster;
        const struct handover *h = m->handover;
        cr_assert_not(realm_owns(m, realm_strays(m, 1)), "no strays are left");
        cr_assert_eq(h->gift_slots.live + h->guest_slots.live, 0);
    }
}

static void end(struct crig *r)
{
    crig_validate(r);
    crig_destroy(r);
    TEST_NO_LEAKS();
}

Test(zone_moves, its_people_go_along_and_nobody_notices)
{
    struct row w = row_of(60);
    go(&w, 3);
    crig_zone(w.r, 1, CRIG_NONE, 0);
    go(&w, 2);
    crig_zone(w.r, 1, 2, ++w.epoch);
    go(&w, 20);
    settled(&w, 2, 0);
    uint32_t slot;
    cr_assert_eq(crig_owner(w.r, w.r->clients[w.walker].id, &slot), 2);
    cr_assert_eq(w.r->worlds[2].world->entities.x[slot], 68, "the walk went on to its goal");
    cr_assert_eq(w.r->worlds[1].world->sessions.slots.live, 0);
    go(&w, BORDER_PENDING_TICKS + 3);
    cr_assert_eq(w.r->worlds[1].world->entities.alive_count, 0, "it has no zone, and sees nobody");
    crig_zone(w.r, 1, 0, ++w.epoch); /* to the other side, at once */
    go(&w, 20);
    settled(&w, 0, 0);
    end(w.r);
}

Test(zone_moves, one_goes_and_comes_back_again_and_again)
{
    struct row w = row_of(-60);
    for (int i = 0; i < 4; i++) {
        crig_zone(w.r, 1, CRIG_NONE, 0);
        go(&w, 1);
        crig_zone(w.r, 1, i % 2 == 0 ? 0 : 1, ++w.epoch);
        go(&w, 12);
        settled(&w, i % 2 == 0 ? 0 : 1, 0);
    }
    end(w.r);
}

Test(zone_moves, whatever_the_weather)
{
    static const struct crig_weather WEATHERS[] = {
        {.delay = 10, .twice = 100, .disorder = true, .link_delay = 2},
        {.delay = 4, .twice = 50, .drop = 50},
        {.drop = 200, .link_delay = 3},
    };
    for (uint32_t i = 0; i < ARRAY_LEN(WEATHERS); i++) {
        struct row w = row_of(60);
        for (uint32_t world = 0; world < 12; world += 2) {
            w.r->weather = WEATHERS[i];
            crig_zone(w.r, 1, CRIG_NONE, 0);
            go(&w, (int)world % 3);
            crig_zone(w.r, 1, world % 3, ++w.epoch);
            go(&w, 25);
            w.r->weather = (struct crig_weather){0};
            go(&w, 25);
            settled(&w, world % 3, 0);
        }
        end(w.r);
    }
}

Test(zone_moves, one_that_is_nobodys_for_long_and_comes_back_is_as_it_was)
{
    struct row w = row_of(60);
    crig_zone(w.r, 1, CRIG_NONE, 0);
    go(&w, 2 * BORDER_PENDING_TICKS);
    cr_assert_eq(owner(w.r, w.middle), 1);
    crig_zone(w.r, 1, 1, ++w.epoch);
    go(&w, 10);
    settled(&w, 1, 0);
    cr_assert_eq(w.r->clients[w.middle].moved, 0);
    end(w.r);
}

Test(zone_moves, who_steps_into_one_that_is_nobodys_waits_for_its_next_owner)
{
    struct row w = row_of(60);
    struct crig *r = w.r;
    crig_zone(r, 1, CRIG_NONE, 0);
    crig_tick(r, 20);
    crig_move(r, w.west, -81, 0, 0, 0);
    crig_tick(r, 20);
    crig_move(r, w.west, -71, 0, 0, 0);
    crig_say(r, w.west, "am I there?");
    crig_tick(r, 20);
    cr_assert_eq(r->clients[w.west].answered, r->clients[w.west].sent - 2, "it waits");
    crig_zone(r, 1, 2, ++w.epoch);
    crig_tick(r, 10);
    cr_assert_eq(r->clients[w.west].answered, r->clients[w.west].sent);
    cr_assert_eq(r->clients[w.west].errors, 0);
    cr_assert_eq(r->clients[w.west].x, -71);
    cr_assert_eq(owner(r, w.west), 2);
    end(r);
}

Test(zone_moves, who_was_asked_for_at_an_owner_of_before_is_asked_for_at_the_next)
{
    struct row w = row_of(60);
    struct crig *r = w.r;
    r->cut[1] = true;
    crig_tick(r, 20);
    crig_move(r, w.west, -81, 0, 0, 0);
    crig_tick(r, 20);
    crig_move(r, w.west, -71, 0, 0, 0);
    crig_tick(r, 4);
    cr_assert_eq(r->clients[w.west].answered, r->clients[w.west].sent - 1, "nobody answers");
    crig_zone(r, 1, 2, ++w.epoch);
    crig_tick(r, BORDER_READY_TICKS + 10); /* it waits for a word of the strays */
    cr_assert_eq(r->clients[w.west].answered, r->clients[w.west].sent);
    cr_assert_eq(r->clients[w.west].errors, 0);
    cr_assert_eq(owner(r, w.west), 2);
    r->cut[1] = false;
    crig_tick(r, 20);
    cr_assert_eq(owner(r, w.middle), 2);
    end(r);
}

Test(zone_moves, a_crowd_larger_than_all_hand_overs_goes_in_turns)
{
    struct row w = row_of(60);
    struct handover *h = w.r->worlds[1].world->cluster->handover;
    struct gift *g;
    for (uint32_t i = 0; i < HANDOVER_MAX - 2; i++) { /* others, who will not go for some time */
        struct mono later = clock_add(w.r->now, 3600 * CLOCK_NS_PER_S);
        cr_assert_eq(handover_gift_new(h, 50000 + i, 1, later, &g), 0);
        g->state = GIFT_REFUSED;
    }
    crig_zone(w.r, 1, 2, ++w.epoch);
    go(&w, 19);
    cr_assert_eq(w.r->worlds[1].world->metrics.gifts_taken, PEOPLE - 2);
    cr_assert_gt(w.r->worlds[1].world->metrics.gifts_full, 0);
    for (uint32_t i = 0; i < HANDOVER_MAX - 2; i++)
        handover_gift_drop(h, handover_gift(h, 50000 + i));
    settled(&w, 2, 0);
    end(w.r);
}

/* --- the end of a term --------------------------------------------------------------------------
 */

Test(zone_moves, when_a_term_ends_all_that_was_held_is_void_and_clients_are_bound_elsewhere)
{
    struct row w = row_of(60);
    struct crig *r = w.r;
    struct world *gone = r->worlds[1].world;
    uint32_t outside = crig_login(r, 1, "outside"), lost = crig_join(r, 1, "lost");
    uint32_t fresh = r->n_clients;
    crig_tick(r, 2);
    crig_close(r, lost);
    crig_tick(r, 2);
    cr_assert_eq(gone->sessions.waiting, 1);
    crig_zone(r, 1, 2, ++w.epoch); /* its lease is over: the zone is another's */
    crig_names_end(r, 1);
    cr_assert_eq(gone->entities.alive_count, 0);
    cr_assert_eq(gone->sessions.slots.live, 0);
    cr_assert_eq(gone->metrics.saves, 0);
    cr_assert_eq(gone->metrics.evicted, PEOPLE - 1);
    crig_validate(r);
    crig_tick(r, 20);
    for (uint32_t k = 0; k < fresh; k++) {
        const struct crig_client *c = &r->clients[k];
        if (k == w.west || k == w.east || k == lost)
            continue;
        cr_assert(c->open, "%s", c->name);
        cr_assert_eq(c->bound, 1);
        cr_assert_eq(c->view.inside, k != outside);
        if (k != outside)
            cr_assert_neq(owner(r, k), 1);
    }
    cr_assert_eq(gone->entities.alive_count, 0);
    /* and it may begin anew */
    crig_zone(r, 0, 1, ++w.epoch);
    crig_tick(r, 20);
    cr_assert_eq(owner(r, w.west), 1);
    cr_assert_eq(r->clients[w.west].errors, 0);
    end(r);
}

Test(zone_moves, in_a_new_generation_ids_are_void_too)
{
    struct crig *r = row_of(60).r;
    struct world *w = r->worlds[1].world;
    uint32_t id;
    courier_term_ended(w, true, r->now);
    cr_assert_neq(id_pool_take(&w->ids, r->now, &id), 0);
    id_pool_feed(&w->ids, 1, 10);
    cr_assert_eq(id_pool_take(&w->ids, r->now, &id), 0);
    cr_assert_eq(id, 1);
    end(r);
}
