/* tests/world/test_storage.c: the store that -store names, from the start to the end.
 * May touch: world/edge/storage, tests/world_rig.
 */
#include "world/edge/storage.h"

#include "common/err.h"
#include "common/log.h"
#include "tests/leak.h"
#include "tests/world_rig.h"

#include <criterion/criterion.h>

static void note(void *arg)
{
    ++*(int *)arg;
}

static int open_store(struct loop *loop, const char *store, bool shared, struct storage **out,
                      char *why)
{
    struct storage_config c = {.store = store, .shared = shared, .entities = 64};
    return storage_open(loop, &c, out, why, STORE_WHY_MAX);
}

Test(storage, none_asks_nothing_keeps_nothing_and_is_done_at_once)
{
    struct edge_metrics m = {0};
    struct storage *s;
    struct loop *loop;
    char why[STORE_WHY_MAX];
    int done = 0;

    cr_assert_eq(loop_create(&loop), 0);
    cr_assert_eq(open_store(loop, "none", false, &s, why), 0);
    cr_assert_null(storage_door(s).ops);
    cr_assert_not(storage_trouble(s, why));
    storage_gauges(s, &m);
    storage_finish(s, note, &done);
    cr_assert_eq(done, 1);
    cr_assert_eq(storage_left(s), 0);
    storage_close(s);
    storage_close(NULL);
    loop_destroy(loop);
    TEST_NO_LEAKS();
}

Test(storage, a_store_that_cannot_be_had_leaves_nothing_behind_and_says_why)
{
    struct storage *s;
    struct loop *loop;
    char why[STORE_WHY_MAX] = "";

    cr_assert_eq(loop_create(&loop), 0);
    cr_assert_neq(open_store(loop, "sqlite:/no/such/folder/world.db", false, &s, why), 0);
    cr_assert_null(s);
    cr_assert_neq(why[0], '\0');
    cr_assert_neq(open_store(loop, "sqlite::memory:", false, &s, why), 0);
    cr_assert_null(s);
    cr_assert_eq(open_store(loop, "sqlite:/no/such/folder/world.db", true, &s, why), E_BAD);
    cr_assert_null(s);
    cr_assert(strstr(why, "a file is one world's"), "%s", why);
    loop_destroy(loop);
    TEST_NO_LEAKS();
}

Test(storage, the_check_of_no_store_says_so)
{
    char why[256] = "";
    cr_assert_eq(storage_verify("none", stdout, why, sizeof(why)), E_BAD);
    cr_assert_str_eq(why, "there is nothing to check");
    TEST_NO_LEAKS();
}
