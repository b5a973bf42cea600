/* tests/world/test_ages.c: how old a change is when it is told, and a tick's books of sight.
 * May touch: tests/world_rig.
 */
#include "tests/leak.h"
#include "tests/world_rig.h"

static struct rig *patient_rig(uint64_t interval)
{
    struct world_config c = rig_config();
    c.max_speed = 1e6;
    c.update_interval = interval;
    return rig_create(&c);
}

Test(ages, a_change_that_did_not_wait_is_told_at_age_0)
{
    struct rig *r = patient_rig(5);
    uint32_t a = rig_join_at(r, "a", 0, 0);

    (void)rig_join_at(r, "b", 5, 0);
    rig_tick(r, 1);
    const struct hist *told = &r->world->ages.told[0];
    cr_assert_eq(told->count, 0, "who is shown afresh is no change");
    rig_move(r, a, 3, 0);
    rig_tick(r, 1);
    cr_assert_eq(told->count, 1);
    cr_assert_eq(told->max, 0);
    rig_tick(r, 3);
    cr_assert_eq(told->count, 1, "at rest nothing is told");
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(ages, a_change_that_waited_is_as_old_as_its_wait)
{
    struct rig *r = patient_rig(5);
    uint32_t a = rig_join_at(r, "a", 0, 0);

    (void)rig_join_at(r, "b", 5, 0);
    rig_tick(r, 1);
    rig_move(r, a, 1.0 / 64, 0); /* below the epsilon */
    rig_tick(r, 5);
    const struct hist *told = &r->world->ages.told[0];
    cr_assert_eq(told->count, 0);
    rig_tick(r, 1);
    cr_assert_eq(told->count, 1);
    cr_assert_eq(told->sum, 5);
    rig_destroy(r);
    TEST_NO_LEAKS();
}

Test(ages, a_tick_has_a_value_in_each_book)
{
    struct rig *r = patient_rig(2);
    struct hist *books = r->world->books;
    uint32_t a = rig_join_at(r, "a", 0, 0);

    (void)rig_join_at(r, "b", 5, 0);
    (void)rig_join_at(r, "c", 9, 0);
    rig_tick(r, 1);
    cr_assert_eq(books[BOOK_ADDS].max, 6);
    cr_assert_eq(books[BOOK_KNOWN].max, 6);
    rig_move(r, a, 500, 0);
    rig_tick(r, 1);
    cr_assert_eq(books[BOOK_REMOVES].max, 4);
    cr_assert_eq(books[BOOK_KNOWN].sum, 6 + 2);
    rig_tick(r, 1);
    for (int i = 0; i < BOOK_COUNT; i++)
        cr_assert_eq(books[i].count, 3);
    cr_assert_eq(books[BOOK_ADDS].sum, 6);
    cr_assert_eq(books[BOOK_REMOVES].sum, 4);
    rig_destroy(r);
    TEST_NO_LEAKS();
}
