/* tests/common/test_slots.c: generation slots. */
#include "common/slots.h"

#include "common/err.h"
#include "common/rng.h"
#include "tests/leak.h"

#include <criterion/criterion.h>
#include <signal.h>

Test(slots, fresh_slots_come_in_order_and_the_last_freed_comes_first)
{
    struct slots s;
    uint32_t slot[4], gen[4], at, g;
    cr_assert_eq(slots_init(&s, 4), 0);
    for (uint32_t i = 0; i < 3; i++) {
        cr_assert_eq(slots_take(&s, &slot[i], &gen[i]), 0);
        cr_assert_eq(slot[i], i);
        cr_assert_eq(gen[i], 1);
    }
    slots_give(&s, slot[0], gen[0]);
    slots_give(&s, slot[1], gen[1]);
    cr_assert_eq(s.live, 1);
    cr_assert_eq(slots_take(&s, &at, &g), 0);
    cr_assert_eq(at, 1);
    cr_assert_eq(g, 3);
    cr_assert_eq(slots_take(&s, &at, &g), 0);
    cr_assert_eq(at, 0);
    cr_assert_eq(slots_take(&s, &at, &g), 0);
    cr_assert_eq(at, 3);
    slots_fini(&s);
    TEST_NO_LEAKS();
}

Test(slots, full_is_an_answer_and_giving_one_back_makes_room)
{
    struct slots s;
    uint32_t slot, gen, more, g;
    cr_assert_eq(slots_init(&s, 1), 0);
    cr_assert_eq(slots_take(&s, &slot, &gen), 0);
    cr_assert_eq(slots_take(&s, &more, &g), E_FULL);
    slots_give(&s, slot, gen);
    cr_assert_eq(slots_take(&s, &more, &g), 0);
    cr_assert_eq(more, slot);
    slots_fini(&s);
    TEST_NO_LEAKS();
}

Test(slots, a_stale_pair_is_not_alive_and_neither_is_nobody)
{
    struct slots s;
    uint32_t slot, gen, again, g;
    cr_assert_eq(slots_init(&s, 2), 0);
    cr_assert_not(slots_alive(&s, 0, 0));
    cr_assert_eq(slots_take(&s, &slot, &gen), 0);
    cr_assert(slots_alive(&s, slot, gen));
    slots_give(&s, slot, gen);
    cr_assert_not(slots_alive(&s, slot, gen));
    cr_assert_not(slots_alive(&s, slot, gen + 1));
    cr_assert_eq(slots_take(&s, &again, &g), 0);
    cr_assert_eq(again, slot);
    cr_assert_not(slots_alive(&s, slot, gen));
    cr_assert(slots_alive(&s, again, g));
    cr_assert_not(slots_alive(&s, 2, 1));
    cr_assert_not(slots_alive(&s, SLOTS_NONE, 1));
    slots_fini(&s);
    TEST_NO_LEAKS();
}

Test(slots, a_slot_whose_generations_are_spent_is_retired)
{
    struct slots s;
    uint32_t slot, gen;
    cr_assert_eq(slots_init(&s, 2), 0);
    cr_assert_eq(slots_take(&s, &slot, &gen), 0);
    slots_give(&s, slot, gen);
    s.gen[slot] = UINT32_MAX - 1;
    cr_assert_eq(slots_take(&s, &slot, &gen), 0);
    cr_assert_eq(slot, 0);
    cr_assert_eq(gen, UINT32_MAX);
    slots_give(&s, slot, gen);
    cr_assert_not(slots_alive(&s, 0, UINT32_MAX));
    cr_assert_eq(s.live, 0);

    cr_assert_eq(slots_take(&s, &slot, &gen), 0);
    cr_assert_eq(slot, 1, "the spent one is not given again");
    cr_assert_eq(slots_take(&s, &slot, &gen), E_FULL);
    slots_fini(&s);
    TEST_NO_LEAKS();
}

Test(slots, giving_back_twice_is_our_bug, .signal = SIGABRT)
{
    struct slots s;
    uint32_t slot, gen;
    cr_assert_eq(slots_init(&s, 1), 0);
    cr_assert_eq(slots_take(&s, &slot, &gen), 0);
    slots_give(&s, slot, gen);
    slots_give(&s, slot, gen);
}

Test(slots, a_long_seeded_run_agrees_with_a_plain_model)
{
    enum { CAP = 50 };
    struct slots s;
    struct rng r;
    uint32_t held[CAP] = {0}; /* the generation; 0: free */
    uint32_t live = 0;
    rng_init(&r, 1);
    cr_assert_eq(slots_init(&s, CAP), 0);
    for (int i = 0; i < 100000; i++) {
        uint32_t at = (uint32_t)rng_below(&r, CAP), slot, gen;
        if (rng_below(&r, 2) == 0) {
            int err = slots_take(&s, &slot, &gen);
            cr_assert_eq(err, live == CAP ? E_FULL : 0);
            if (err)
                continue;
            cr_assert_eq(held[slot], 0);
            held[slot] = gen;
            live++;
        } else if (held[at]) {
            slots_give(&s, at, held[at]);
            cr_assert_not(slots_alive(&s, at, held[at]));
            held[at] = 0;
            live--;
        }
        cr_assert_eq(s.live, live);
    }
    slots_fini(&s);
    TEST_NO_LEAKS();
}

Test(slots, ending_what_was_never_begun_is_fine)
{
    struct slots s = {0};
    slots_fini(&s);
    slots_fini(&s);
    slots_fini(NULL);
}
