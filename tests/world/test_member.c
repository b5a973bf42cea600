/* tests/world/test_member.c: worlds of one cluster: who may act for what, as all of it together.
 * May touch: world/cluster.
 */
#include "tests/leak.h"
#include "tests/world/member_rig.h"

static struct member_rig *rig_of(uint32_t worlds)
{
    static const char *const ids[RIG_WORLDS] = {"w0", "w1", "w2", "w3"};
    struct member_rig *r = malloc(sizeof(*r));

    cr_assert(r);
    member_rig_init(r);
    for (uint32_t i = 0; i < worlds; i++)
        member_rig_start(r, i, ids[i], NULL);
    return r;
}

static void end(struct member_rig *r)
{
    member_rig_fini(r);
    free(r);
    TEST_NO_LEAKS();
}

Test(member, a_new_generation_counts_only_when_old_leases_have_ended)
{
    struct member_rig *r = rig_of(1);

    member_rig_run(r, 1050);
    cr_assert_eq(member_rig_zones(r, 0), 0);
    member_rig_run(r, 250);
    cr_assert_eq(member_rig_zones(r, 0), RIG_ZONES);
    end(r);
}

Test(member, zones_are_dealt_out_evenly_in_runs)
{
    struct member_rig *r = rig_of(3);

    member_rig_run(r, 3000);
    cr_assert_eq(member_rig_zones(r, 0), 3);
    cr_assert_eq(member_rig_zones(r, 1), 3);
    cr_assert_eq(member_rig_zones(r, 2), 2);
    for (uint32_t zone = 0; zone < 3; zone++)
        cr_assert(holdings_owns(&r->m[0].holdings, zone));
    end(r);
}

Test(member, zones_move_one_at_a_time_to_a_world_that_joins)
{
    struct member_rig *r = rig_of(1);

    member_rig_run(r, 2000);
    member_rig_start(r, 1, "w1", NULL);
    for (uint32_t i = 0; i < 200; i++) {
        member_rig_run(r, 10);
        cr_assert_geq(member_rig_zones(r, 0) + member_rig_zones(r, 1), RIG_ZONES - 1);
    }
    cr_assert_eq(member_rig_zones(r, 0), 4);
    cr_assert_eq(member_rig_zones(r, 1), 4);
    cr_assert_eq(r->m[0].holdings.moves, 4);
    end(r);
}

Test(member, the_zones_of_a_killed_world_are_claimed_within_its_lease)
{
    struct member_rig *r = rig_of(2);

    member_rig_run(r, 3000);
    cr_assert_eq(member_rig_zones(r, 0), 4);
    member_rig_kill(r, 1);
    member_rig_run(r, 700);
    cr_assert_eq(member_rig_zones(r, 0), 4); /* its lease may still run */
    member_rig_run(r, 600);
    cr_assert_eq(member_rig_zones(r, 0), RIG_ZONES);
    cr_assert_eq(r->m[0].lease.burials, 1);
    end(r);
}

Test(member, a_world_that_slept_past_its_lease_steps_down)
{
    struct member_rig *r = rig_of(2);
    uint32_t term;

    member_rig_run(r, 3000);
    term = r->m[1].term;
    r->still[1] = true;
    member_rig_run(r, 700);
    cr_assert_eq(member_rig_zones(r, 0), 4);
    member_rig_run(r, 600);
    cr_assert(!member_may_act(&r->m[1], r->now));
    cr_assert_eq(member_rig_zones(r, 0), RIG_ZONES);
    r->still[1] = false;
    member_rig_run(r, 20);
    cr_assert_gt(r->m[1].term, term);
    member_rig_run(r, 3000);
    cr_assert_eq(member_rig_zones(r, 0), 4);
    cr_assert_eq(member_rig_zones(r, 1), 4);
    end(r);
}

/* The store was away for all: nobody could bury anybody. */
Test(member, after_an_outage_longer_than_the_lease_all_goes_on_in_the_same_epoch)
{
    struct member_rig *r = rig_of(2);
    uint64_t epoch, zone;
    uint32_t term;

    member_rig_run(r, 3000);
    epoch = r->m[1].lease.epoch;
    zone = holdings_epoch(&r->m[1].holdings, 7);
    term = r->m[1].term;
    r->away[0] = r->away[1] = true;
    member_rig_run(r, 5000);
    cr_assert(!member_may_act(&r->m[0], r->now));
    cr_assert(!member_may_act(&r->m[1], r->now));
    member_rig_follow(r, 0);
    member_rig_run(r, 500);
    member_rig_follow(r, 1);
    member_rig_run(r, 500);
    cr_assert_eq(member_rig_zones(r, 0), 4);
    cr_assert_eq(member_rig_zones(r, 1), 4);
    cr_assert_eq(r->m[1].lease.epoch, epoch);
    cr_assert_eq(r->m[1].term, term);
    cr_assert_eq(holdings_epoch(&r->m[1].holdings, 7), zone);
    end(r);
}

Test(member, a_wiped_store_is_a_new_generation_and_old_leases_run_out_first)
{
    struct member_rig *r = rig_of(2);
    uint64_t before;

    member_rig_run(r, 3000);
    before = r->m[0].generation.number;
    sim_kv_wipe(&r->kv);
    member_rig_follow(r, 0);
    r->away[1] = true; /* it does not know yet, and acts on */
    for (uint32_t i = 0; i < 95; i++) {
        member_rig_run(r, 10);
        cr_assert(r->m[0].tables == before || member_rig_zones(r, 0) == 0 ||
                  member_rig_zones(r, 1) == 0);
    }
    member_rig_follow(r, 1);
    member_rig_run(r, 3000);
    cr_assert_gt(r->m[0].generation.number, before);
    cr_assert_eq(r->m[1].generation.number, r->m[0].generation.number);
    cr_assert_eq(member_rig_zones(r, 0), 4);
    cr_assert_eq(member_rig_zones(r, 1), 4);
    end(r);
}

Test(member, a_second_world_of_one_id_is_refused_and_harms_nothing)
{
    struct member_rig *r = rig_of(2);

    member_rig_run(r, 3000);
    member_rig_start(r, 2, "w1", NULL);
    member_rig_run(r, 3000);
    cr_assert_str_eq(member_refused(&r->m[2]),
                     "another world of the id \"w1\" lives, at 10.0.0.7:19002");
    cr_assert_eq(member_rig_zones(r, 2), 0);
    cr_assert_eq(member_rig_zones(r, 1), 4);
    cr_assert_null(member_refused(&r->m[1]));
    end(r);
}

Test(member, a_world_of_other_terms_is_refused)
{
    struct member_rig *r = rig_of(1);

    member_rig_run(r, 2000);
    member_rig_start(r, 1, "w1", "zones=2x2");
    member_rig_run(r, 2000);
    cr_assert_str_eq(member_refused(&r->m[1]),
                     "the cluster has \"zones=4x2\", and this world \"zones=2x2\"");
    cr_assert_eq(member_rig_zones(r, 0), RIG_ZONES);
    end(r);
}

Test(member, a_world_started_anew_waits_for_the_lease_of_the_one_before)
{
    struct member_rig *r = rig_of(1);

    member_rig_run(r, 2000);
    member_rig_kill(r, 0);
    member_rig_start(r, 0, "w0", NULL);
    member_rig_run(r, 900);
    cr_assert_eq(member_rig_zones(r, 0), 0);
    cr_assert_null(member_refused(&r->m[0]));
    member_rig_run(r, 600);
    cr_assert_eq(member_rig_zones(r, 0), RIG_ZONES);
    end(r);
}

Test(member, a_world_that_drains_gives_its_zones_away_and_quits)
{
    struct member_rig *r = rig_of(2);

    member_rig_run(r, 3000);
    for (uint32_t i = 0; i < 300; i++) {
        lease_tell(&r->m[1].lease, 0, true);
        member_rig_run(r, 10);
        cr_assert_geq(member_rig_zones(r, 0) + member_rig_zones(r, 1), RIG_ZONES - 1);
    }
    cr_assert_eq(member_rig_zones(r, 0), RIG_ZONES);
    lease_quit(&r->m[1].lease);
    member_rig_run(r, 20);
    cr_assert_eq(r->m[1].lease.state, LEASE_QUIT);
    cr_assert(!member_may_act(&r->m[1], r->now));
    /* nobody has to wait for its lease: the next one of that id comes in at once */
    member_rig_kill(r, 1);
    member_rig_start(r, 1, "w1", NULL);
    member_rig_run(r, 50);
    cr_assert(member_may_act(&r->m[1], r->now));
    end(r);
}

Test(member, worlds_get_different_blocks_of_ids_until_there_are_no_more)
{
    struct member_rig *r = rig_of(2);
    uint32_t first = 0, second = 0, third = 0;

    member_rig_run(r, 2000);
    blocks_want(&r->m[0].blocks);
    blocks_want(&r->m[1].blocks);
    member_rig_run(r, 200);
    cr_assert(blocks_next(&r->m[0].blocks, &first));
    cr_assert(blocks_next(&r->m[1].blocks, &second));
    cr_assert(!blocks_next(&r->m[1].blocks, &third));
    cr_assert_eq(first + second, 1 + 1001);
    blocks_want(&r->m[0].blocks);
    member_rig_run(r, 200);
    cr_assert(blocks_next(&r->m[0].blocks, &third));
    cr_assert_eq(third, 2001);
    blocks_want(&r->m[0].blocks);
    member_rig_run(r, 500);
    cr_assert(!blocks_next(&r->m[0].blocks, &third));
    end(r);
}
