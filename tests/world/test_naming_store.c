/* tests/world/test_naming_store.c: what is stored of who goes from world to world of a cluster: no
 * save of who had it before counts, and no name is given up before its last save is stored.
 * May touch: tests/cluster_rig.
 */
#include "tests/cluster_rig.h"
#include "tests/leak.h"
#include "tests/world_rig.h"

#include <criterion/criterion.h>

static struct crig *two(void)
{
    struct world_config c = crig_config();
    c.save_every_ns = CLOCK_NS_PER_S;
    return crig_create_stored(&c, 2, 1, 4);
}

static uint64_t token(const struct crig *r, const char *name)
{
    for (uint32_t i = 0; i < r->names.n; i++)
        if (strcmp(r->names.list[i].name, name) == 0)
            return r->names.list[i].revision;
    return 0;
}

static void end(struct crig *r)
{
    crig_validate(r);
    crig_destroy(r);
    TEST_NO_LEAKS();
}

Test(naming_store, who_leaves_one_world_is_found_at_the_other_where_it_stood)
{
    struct crig *r = two();
    r->store.delay = 8;
    r->names.delay = 4;
    uint32_t a = crig_login(r, 0, "a");
    crig_send_nil(r, a, CMD_ENTER_REQ);
    crig_tick(r, 8);
    crig_put(r, a, -77, 5);
    crig_tick(r, 1);
    crig_send_nil(r, a, CMD_LEAVE_REQ);
    crig_close(r, a);
    uint32_t b = crig_login(r, 1, "a"), slot; /* before the save can be stored */
    crig_send_nil(r, b, CMD_ENTER_REQ);
    crig_tick(r, 30);
    cr_assert_eq(r->clients[b].answered, r->clients[b].sent);
    cr_assert_eq(r->clients[b].errors, 0);
    cr_assert_eq(crig_owner(r, r->clients[b].id, &slot), 0, "where it stood is the other's");
    cr_assert_eq(r->worlds[0].world->entities.x[slot], -77);
    cr_assert_eq(r->worlds[0].world->entities.y[slot], 5);
    end(r);
}

Test(naming_store, every_row_carries_the_token_of_who_has_it_now)
{
    struct crig *r = two();
    r->store.delay = 6;
    uint32_t a = crig_join(r, 0, "a");
    crig_tick(r, 8);
    crig_send_nil(r, a, CMD_ENTER_REQ);
    crig_tick(r, 2);
    crig_put(r, a, -6, 0);
    for (int i = 0; i < 6; i++) {
        crig_walk(r, a, i % 2 == 0 ? 9 : -9, 0);
        crig_tick(r, 60);
        const struct store_character *row = crig_row(r, "a");
        cr_assert_not_null(row);
        cr_assert_eq(row->fence.generation, 1);
        cr_assert_eq(row->fence.epoch, token(r, "a"), "hand-over %d", i);
    }
    cr_assert_gt(r->clients[a].moved, 4);
    end(r);
}

/* Saves of who had it before, that come when another has it, change nothing. */
Test(naming_store, a_late_save_of_who_gave_it_is_refused)
{
    struct crig *r = two();
    uint32_t a = crig_join(r, 0, "a"), slot;
    crig_send_nil(r, a, CMD_ENTER_REQ);
    crig_tick(r, 2);
    crig_put(r, a, -1, 0);
    crig_tick(r, 30);
    struct store_character stale = *crig_row(r, "a");
    stale.x = -55;
    crig_put(r, a, 5, 0);
    crig_tick(r, 30);
    cr_assert_eq(crig_owner(r, r->clients[a].id, &slot), 1);
    uint64_t refused = r->store.refused;
    cr_assert_eq(CRIG_STORE_OPS.save(&r->worlds[0], &stale), 0);
    crig_tick(r, 2);
    cr_assert_eq(r->store.refused, refused + 1);
    cr_assert_eq(crig_row(r, "a")->x, 5);
    end(r);
}

Test(naming_store, who_was_in_a_world_that_died_comes_back_as_it_was_saved)
{
    struct crig *r = two();
    uint32_t a = crig_join(r, 0, "a"), slot;
    crig_send_nil(r, a, CMD_ENTER_REQ);
    crig_tick(r, 2);
    crig_put(r, a, -66, 1);
    crig_tick(r, 25);
    r->worlds[0].dead = true;
    r->names.buried[0] = true;
    crig_zone(r, 0, 1, 99); /* all is the other's now */
    uint32_t b = crig_login(r, 1, "a");
    crig_send_nil(r, b, CMD_ENTER_REQ);
    crig_tick(r, 10);
    cr_assert_eq(r->clients[b].errors, 0);
    cr_assert_eq(crig_owner(r, r->clients[b].id, &slot), 1);
    cr_assert_eq(r->worlds[1].world->entities.x[slot], -66);
    cr_assert_eq(crig_row(r, "a")->fence.epoch, token(r, "a"), "its row is fenced anew");
    end(r);
}

Test(naming_store, a_store_that_is_slow_holds_the_name_and_a_second_login_here_has_it_at_once)
{
    struct crig *r = two();
    uint32_t a = crig_login(r, 0, "a");
    crig_send_nil(r, a, CMD_ENTER_REQ);
    crig_tick(r, 4);
    r->store.delay = 400;
    crig_put(r, a, -33, 0);
    crig_close(r, a);
    crig_tick(r, 4);
    crig_tick(r, 31 * 20); /* its window */
    uint32_t b = crig_login(r, 0, "a");
    crig_send_nil(r, b, CMD_ENTER_REQ);
    crig_deliver(r);
    cr_assert_eq(crig_name_holder(r, "a"), 0);
    r->store.delay = 0;
    crig_tick(r, 110);
    cr_assert_eq(r->clients[b].answered, r->clients[b].sent);
    cr_assert_eq(crig_name_holder(r, "a"), 0);
    cr_assert_eq(r->clients[b].x, -33);
    end(r);
}
