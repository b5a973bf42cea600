/* tests/world/test_leave.c: a world that gives all it has to the others, and drops nobody. */
#include "tests/cluster_rig.h"
#include "tests/leak.h"
#include "world/command/leave.h"

#include <criterion/criterion.h>

#define LEAVER 0
#define STAYER 1

/* Ticks pass, in which the first world leaves. */
static void leave(struct crig *r, uint32_t ticks)
{
    struct world *w = r->worlds[LEAVER].world;

    for (uint32_t i = 0; i < ticks; i++) {
        leave_tick(w, r->now);
        outbox_flush(&w->outbox);
        crig_tick(r, 1);
    }
}

Test(leave, who_is_outside_is_bound_elsewhere_and_who_is_inside_goes_with_its_zone)
{
    struct world_config config = crig_config();
    struct crig *r = crig_create(&config, 2, 1, 4);
    struct world *w = r->worlds[LEAVER].world;
    uint32_t inside = crig_join_at(r, LEAVER, "inside", -100, 10), slot;
    uint32_t other = crig_join_at(r, LEAVER, "other", -90, 10);
    uint32_t outside = crig_login(r, LEAVER, "outside");

    cr_assert(!leave_is_over(w));
    leave(r, 20);
    cr_expect_eq(r->clients[outside].world, STAYER);
    cr_expect_eq(r->clients[outside].bound, 1);
    cr_expect_eq(w->metrics.sent_away, 1);
    cr_expect_eq(r->clients[inside].world, LEAVER, "its zone is still here");
    cr_assert(!leave_is_over(w));
    crig_zone(r, 0, STAYER, 2);
    leave(r, 100);
    cr_assert(leave_is_over(w));
    cr_expect_eq(r->clients[inside].world, STAYER);
    cr_expect_eq(r->clients[other].world, STAYER);
    cr_expect_eq(r->clients[inside].bound, 0, "it was handed over");
    cr_expect_eq(crig_owner(r, r->clients[inside].id, &slot), STAYER);
    cr_expect(crig_knows(r, inside, other));
    r->worlds[LEAVER].dead = true; /* nothing is missed */
    crig_move(r, inside, r->clients[inside].x + 1, 10, 0, 1);
    crig_send_nil(r, outside, CMD_ENTER_REQ);
    crig_tick(r, 5);
    cr_expect_eq(r->clients[inside].answered, r->clients[inside].sent);
    cr_expect_eq(r->clients[outside].answered, r->clients[outside].sent);
    cr_expect_eq(r->clients[inside].errors + r->clients[outside].errors, 0);
    crig_destroy(r);
    TEST_NO_LEAKS();
}

Test(leave, who_waits_for_something_goes_when_it_has_come)
{
    struct world_config config = crig_config();
    struct crig *r = crig_create_stored(&config, 2, 1, 4);
    struct world *w = r->worlds[LEAVER].world;
    uint32_t one = crig_login_by(r, LEAVER, "one", NULL);

    leave_tick(w, r->now); /* its request is on the way */
    leave(r, 40);
    cr_expect_eq(r->clients[one].world, STAYER);
    cr_expect_eq(r->clients[one].answered, r->clients[one].sent);
    cr_expect(leave_is_over(w));
    crig_destroy(r);
    TEST_NO_LEAKS();
}
