/* tests/world/test_npc_zones.c: NPCs in a cluster: each comes and goes with the zone of its home,
 * and stays in it. May touch: tests/cluster_rig.
 */
#include "tests/cluster_rig.h"
#include "tests/leak.h"
#include "tests/world_rig.h"
#include "world/cluster/border.h"
#include "world/cluster/handover.h"
#include "world/command/courier.h"
#include "world/command/teleport.h"
#include "world/command/walks.h"

#include <criterion/criterion.h>
#include <math.h>

#define NPCS 200

static struct crig *four(void)
{
    struct world_config c = crig_config();
    c.npcs = NPCS;
    c.max_entities = 1024;
    return crig_create(&c, 2, 2, 4);
}

static void end(struct crig *r)
{
    crig_validate(r);
    crig_destroy(r);
    TEST_NO_LEAKS();
}

/* The world in which this one is; CRIG_NONE: none. Two fail the test. */
static uint32_t where(const struct crig *r, uint32_t i)
{
    uint32_t found = CRIG_NONE;
    for (uint32_t k = 0; k < r->n_worlds; k++) {
        const struct world *w = r->worlds[k].world;
        const struct npc *n = &w->npcs.list[i];
        if (n->slot == NPC_NONE)
            continue;
        cr_assert_eq(found, CRIG_NONE, "npc %u is in worlds %u and %u", i, found, k);
        cr_assert(realm_owns(w->cluster, n->zone), "npc %u", i);
        cr_assert_eq(w->cluster->home[n->slot], n->zone);
        cr_assert_leq(realm_out(w->cluster, n->slot, &w->entities), w->cluster->margin);
        found = k;
    }
    return found;
}

static uint32_t all_there(const struct crig *r)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < NPCS; i++)
        n += where(r, i) != CRIG_NONE;
    return n;
}

static uint32_t nearest_awake(const struct crig *r, uint32_t world)
{
    const struct npcs *ns = &r->worlds[world].world->npcs;
    const struct entities *e = &r->worlds[world].world->entities;
    uint32_t best = NPC_NONE;
    for (uint32_t i = 0; i < ns->n_awake; i++) {
        uint32_t slot = ns->list[ns->awake[i]].slot;
        if (best == NPC_NONE || fabs(e->x[slot]) < fabs(e->x[best]))
            best = slot;
    }
    cr_assert_neq(best, NPC_NONE, "somebody is awake");
    return best;
}

Test(npc_zones, each_is_once_in_the_cluster_whatever_its_zone_does)
{
    struct crig *r = four();
    uint32_t a = crig_join_at(r, 0, "a", -20, -20), epoch = 100;
    crig_tick(r, 3);
    cr_assert_eq(all_there(r), NPCS);
    for (uint32_t i = 0; i < 8; i++) {
        uint32_t zone = i % 4, to = (i * 7 + 1) % 4;
        crig_zone(r, zone, CRIG_NONE, 0);
        for (uint32_t k = 0; k < NPCS; k++)
            if (r->worlds[0].world->npcs.list[k].zone == zone)
                cr_assert_eq(where(r, k), CRIG_NONE, "who has it soon may have them at once");
        crig_tick(r, 2);
        (void)all_there(r);
        crig_zone(r, zone, to, ++epoch);
        for (int t = 0; t < 20; t++) {
            crig_tick(r, 1);
            (void)all_there(r);
        }
        cr_assert_eq(all_there(r), NPCS);
        crig_validate(r);
    }
    cr_assert(r->clients[a].open);
    end(r);
}

Test(npc_zones, all_worlds_find_the_same_homes_and_names)
{
    struct crig *r = four();
    for (uint32_t k = 1; k < r->n_worlds; k++)
        for (uint32_t i = 0; i < NPCS; i++) {
            const struct npc *p = &r->worlds[0].world->npcs.list[i];
            const struct npc *q = &r->worlds[k].world->npcs.list[i];
            cr_assert(p->x == q->x && p->y == q->y && p->zone == q->zone);
        }
    end(r);
}

Test(npc_zones, they_wander_for_long_and_never_leave_their_zone)
{
    struct crig *r = four();
    for (uint32_t i = 0; i < 4; i++)
        crig_join_at(r, i, (const char *[]){"a", "b", "c", "d"}[i], i % 2 ? 10 : -10,
                     i / 2 ? 10 : -10);
    double went = 0;
    for (int t = 0; t < 1500; t++) {
        crig_tick(r, 1);
        if (t % 10 == 0)
            (void)all_there(r);
    }
    for (uint32_t k = 0; k < r->n_worlds; k++) {
        const struct world *w = r->worlds[k].world;
        cr_assert_gt(w->npcs.n_awake, 0);
        cr_assert_eq(w->metrics.gifts_asked, 0, "nobody is handed over");
        for (uint32_t i = 0; i < w->npcs.n_awake; i++) {
            const struct npc *n = &w->npcs.list[w->npcs.awake[i]];
            went = fmax(went, hypot(w->entities.x[n->slot] - n->x, w->entities.y[n->slot] - n->y));
        }
    }
    cr_assert_gt(went, 3, "they do walk");
    end(r);
}

Test(npc_zones, a_walk_that_leads_out_is_held_within_the_margin)
{
    struct crig *r = four();
    struct world *w = r->worlds[0].world;
    crig_join_at(r, 0, "a", -10, -30);
    crig_tick(r, 5);
    uint32_t slot = nearest_awake(r, 0);
    cr_assert_eq(walks_go(w, slot, 60, w->entities.y[slot], false, WALKS_NPC, r->now), 0);
    for (int t = 0; t < 200; t++) {
        crig_tick(r, 1);
        cr_assert_leq(realm_out(w->cluster, slot, &w->entities), w->cluster->margin);
        cr_assert_not(entities_is_ghost(&w->entities, slot));
    }
    cr_assert_eq(w->metrics.gifts_asked, 0);
    cr_assert_eq(teleport_entity(w, entities_ref(&w->entities, slot), 0, 60, -30), PE_UNAVAILABLE,
                 "nor can an operator put it there");
    cr_assert_eq(teleport_entity(w, entities_ref(&w->entities, slot), 0, -60, -30), 0);
    end(r);
}

Test(npc_zones, a_patrol_leaves_out_what_lies_beyond_its_zone)
{
    static const struct map_place points[] = {{1, 1}, {9, 1}, {30, 1}, {9, 9}, {1, 9}};
    static const double zone[4] = {0, 0, 10, 10}, far[4] = {-9, -9, -5, -5};
    struct npc_view v = {.x = 1, .y = 1, .bounds = zone, .points = points};
    struct npc n = {.kind = &npc_patrol, .points = points, .n_route = 5, .closed = true};
    char went[16] = "";
    for (int i = 0; i < 16; i++) {
        struct npc_order o = npc_patrol.think(&n, &v);
        if (!o.go)
            continue;
        cr_assert(o.x <= 10);
        v.x = o.x;
        v.y = o.y;
        went[strlen(went)] = (char)('0' + n.next);
    }
    cr_assert_str_eq(went, "13401340", "%s", went);
    v.bounds = far;
    cr_assert_not(npc_patrol.think(&n, &v).go, "all of it does: it stands");
    n = (struct npc){.kind = &npc_patrol, .points = points + 2, .n_route = 1};
    v.bounds = zone;
    cr_assert_not(npc_patrol.think(&n, &v).go);
}

Test(npc_zones, they_come_when_there_are_ids)
{
    struct crig *r = four();
    struct world *w = r->worlds[0].world;
    id_pool_void(&w->ids);
    crig_tick(r, 5);
    cr_assert_eq(w->npcs.n_there, 0);
    id_pool_feed(&w->ids, 1, 20);
    crig_tick(r, 25);
    cr_assert_eq(w->npcs.n_there, 20, "as many as there are");
    id_pool_feed(&w->ids, 21, 2000);
    crig_tick(r, 25);
    cr_assert_eq(all_there(r), NPCS);
    world_gauges(w);
    cr_assert_eq(w->metrics.npcs, w->npcs.n_there);
    cr_assert_eq(w->metrics.entities, w->npcs.n_there);
    end(r);
}

Test(npc_zones, when_a_term_ends_they_are_gone_and_come_again_with_a_zone)
{
    struct crig *r = four();
    struct world *w = r->worlds[1].world;
    uint32_t a = crig_join_at(r, 0, "a", -5, -30);
    crig_tick(r, 5);
    uint32_t seen = r->clients[a].view.count;
    cr_assert_gt(seen, 1);
    crig_names_end(r, 1);
    cr_assert_eq(w->npcs.n_there, 0);
    cr_assert_eq(w->entities.alive_count + w->entities.away_count, 0);
    crig_zone(r, 1, 3, 101);
    crig_tick(r, BORDER_PENDING_TICKS + 3);
    cr_assert_eq(all_there(r), NPCS);
    for (uint32_t i = 0; i < r->clients[a].view.count; i++) {
        uint32_t slot;
        (void)crig_owner(r, r->clients[a].view.known[i].id, &slot);
        cr_assert_neq(crig_owner(r, r->clients[a].view.known[i].id, &slot), CRIG_NONE,
                      "nobody who is not there is seen");
    }
    crig_zone(r, 2, 1, 102);
    crig_tick(r, 5);
    cr_assert_gt(w->npcs.n_there, 0);
    cr_assert_eq(all_there(r), NPCS);
    end(r);
}
