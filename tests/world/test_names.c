/* tests/world/test_names.c: a name lives once in the cluster. May touch: world/cluster.
 */
#include "tests/leak.h"
#include "tests/world/member_rig.h"

static struct member_rig *start(void)
{
    struct member_rig *r = malloc(sizeof(*r));

    cr_assert(r);
    member_rig_init(r);
    member_rig_start(r, 0, "w0", NULL);
    member_rig_start(r, 1, "w1", NULL);
    member_rig_run(r, 2500);
    return r;
}

static void end(struct member_rig *r)
{
    member_rig_fini(r);
    free(r);
    TEST_NO_LEAKS();
}

static enum name_state state(const struct member_rig *r, uint32_t world)
{
    return r->m[world].names.names[0].state;
}

static uint64_t token(const struct member_rig *r, uint32_t world)
{
    return r->m[world].names.names[0].cell.revision;
}

static void claim(struct member_rig *r, uint32_t world)
{
    names_claim(&r->m[world].names, 0, span_text("Ada Lovelace \xc3\xa9"));
    member_rig_run(r, 60);
}

Test(names, a_name_is_held_by_the_first_who_claims_it)
{
    struct member_rig *r = start();
    uint32_t at = 77;

    claim(r, 0);
    cr_assert_eq(state(r, 0), NAME_HELD);
    cr_assert(names_next(&r->m[0].names, &at));
    cr_assert_eq(at, 0);
    cr_assert(!names_next(&r->m[0].names, &at));
    claim(r, 1);
    cr_assert_eq(state(r, 1), NAME_ELSEWHERE);
    cr_assert_eq(r->m[1].names.names[0].cell.value.world.p[1], '0');
    end(r);
}

Test(names, a_released_name_may_be_claimed_and_its_token_grows)
{
    struct member_rig *r = start();
    uint64_t before;

    claim(r, 0);
    before = token(r, 0);
    names_release(&r->m[0].names, 0);
    member_rig_run(r, 60);
    cr_assert_eq(state(r, 0), NAME_NONE);
    claim(r, 1);
    cr_assert_eq(state(r, 1), NAME_HELD);
    cr_assert_gt(token(r, 1), before);
    end(r);
}

Test(names, a_dead_worlds_name_is_taken_over_when_its_epoch_is_over)
{
    struct member_rig *r = start();

    claim(r, 0);
    member_rig_kill(r, 0);
    claim(r, 1);
    cr_assert_eq(state(r, 1), NAME_ELSEWHERE);
    member_rig_run(r, 1500);
    claim(r, 1);
    cr_assert_eq(state(r, 1), NAME_HELD);
    end(r);
}

Test(names, in_hand_over_the_name_is_taken_from_the_givers_revision)
{
    struct member_rig *r = start();

    claim(r, 0);
    names_take(&r->m[1].names, 0, span_text("Ada Lovelace \xc3\xa9"), token(r, 0));
    member_rig_run(r, 20);
    cr_assert_eq(state(r, 1), NAME_HELD);
    cr_assert_gt(token(r, 1), token(r, 0));
    /* too late to take it back */
    names_take_back(&r->m[0].names, 0);
    member_rig_run(r, 60);
    cr_assert_eq(state(r, 0), NAME_GONE);
    cr_assert_eq(state(r, 1), NAME_HELD);
    end(r);
}

Test(names, what_was_taken_back_cannot_be_taken_any_more)
{
    struct member_rig *r = start();
    uint64_t offered;

    claim(r, 0);
    offered = token(r, 0);
    names_take_back(&r->m[0].names, 0);
    member_rig_run(r, 20);
    cr_assert_eq(state(r, 0), NAME_HELD);
    cr_assert_gt(token(r, 0), offered);
    names_take(&r->m[1].names, 0, span_text("Ada Lovelace \xc3\xa9"), offered);
    member_rig_run(r, 60);
    cr_assert_eq(state(r, 1), NAME_GONE);
    end(r);
}

/* The store does not answer: the name is neither held nor gone until it does. */
Test(names, without_an_answer_the_key_is_read_and_written_again)
{
    struct member_rig *r = start();
    uint64_t offered;

    claim(r, 0);
    offered = token(r, 0);
    r->away[1] = true;
    names_take(&r->m[1].names, 0, span_text("Ada Lovelace \xc3\xa9"), offered);
    member_rig_run(r, 500);
    cr_assert_eq(state(r, 1), NAME_TAKING);
    r->away[1] = false;
    member_rig_run(r, 120);
    cr_assert_eq(state(r, 1), NAME_HELD);
    end(r);
}

Test(names, when_the_epoch_ends_all_names_are_gone)
{
    struct member_rig *r = start();

    claim(r, 0);
    r->still[0] = true;
    member_rig_run(r, 1500);
    cr_assert_eq(state(r, 0), NAME_HELD); /* as it thinks; it may not act */
    cr_assert(!member_may_act(&r->m[0], r->now));
    r->still[0] = false;
    member_rig_run(r, 20);
    cr_assert_eq(state(r, 0), NAME_GONE);
    end(r);
}

Test(names, a_claim_in_a_store_that_was_wiped_does_not_count)
{
    struct member_rig *r = start();

    claim(r, 0);
    sim_kv_wipe(&r->kv); /* and nobody was told: both leases still run */
    names_claim(&r->m[1].names, 0, span_text("Ada Lovelace \xc3\xa9"));
    for (int i = 0; i < 100; i++) {
        member_rig_run(r, 10);
        cr_assert_neq(state(r, 1), NAME_HELD);
    }
    end(r);
}
