/* tests/world/test_finder.c: who waits for a way, and how a tick's budget is spent.
 * May touch: world/state, common.
 */
#include "world/state/finder.h"

#include "common/err.h"
#include "common/rng.h"
#include "tests/leak.h"

#include <criterion/criterion.h>

#define SLOTS 16

struct stage {
    struct finder f;
    struct ground g;
    struct lanes l;
    struct ground_tile to[SLOTS];
    bool gone[SLOTS];
    uint32_t found[SLOTS], n_found; /* slots in order */
    double length[SLOTS];
};

/* A map of one long corridor that winds from (0, 0) to its other end. */
static void stage_init(struct stage *t, uint32_t budget, uint32_t most)
{
    *t = (struct stage){0};
    cr_assert_eq(ground_init(&t->g, 0, 0, 1, 63, 63), 0);
    for (int32_t y = 1; y < 63; y += 2)
        for (int32_t x = 0; x < 63; x++)
            ground_block(&t->g, x, y, x != (y / 2 % 2 ? 0 : 62));
    cr_assert_eq(lanes_init(&t->l, &t->g), 0);
    cr_assert_eq(finder_init(&t->f, SLOTS, 63, 63, budget, most), 0);
}

static void stage_fini(struct stage *t)
{
    finder_fini(&t->f);
    lanes_fini(&t->l);
    ground_fini(&t->g);
    TEST_NO_LEAKS();
}

static struct finder_ends ends(void *arg, uint32_t slot)
{
    struct stage *t = arg;
    return (struct finder_ends){t->gone[slot] ? NULL : &t->l, {0, 0}, t->to[slot]};
}

static void found(void *arg, uint32_t slot, struct path *p)
{
    struct stage *t = arg;
    cr_assert_eq(p->state, PATH_FOUND);
    t->length[slot] = path_length(p);
    t->found[t->n_found++] = slot;
}

static void run(struct stage *t)
{
    finder_run(&t->f, ends, found, t);
}

Test(finder, who_asks_first_is_served_first_and_all_in_one_tick_where_the_budget_does)
{
    struct stage t;
    stage_init(&t, 100000, SLOTS);
    for (uint32_t s = 0; s < 5; s++) {
        t.to[s] = (struct ground_tile){(int32_t)s * 3, 0};
        cr_assert_eq(finder_ask(&t.f, s, 1), 0);
    }
    run(&t);
    cr_assert_eq(t.n_found, 5);
    for (uint32_t s = 0; s < 5; s++) {
        cr_assert_eq(t.found[s], s);
        cr_assert_eq(t.length[s], s * 3.0);
    }
    cr_assert_eq(t.f.n, 0);
    stage_fini(&t);
}

Test(finder, a_long_search_goes_on_in_the_next_tick_and_comes_to_the_same)
{
    struct stage t;
    uint32_t ticks = 0;
    stage_init(&t, 10, SLOTS);
    t.to[0] = (struct ground_tile){62, 62};
    t.to[1] = (struct ground_tile){1, 0};
    cr_assert_eq(finder_ask(&t.f, 0, 1), 0);
    cr_assert_eq(finder_ask(&t.f, 1, 1), 0);
    for (; t.n_found < 2; ticks++) {
        uint64_t before = t.f.nodes;
        run(&t);
        cr_assert_leq(t.f.nodes - before, 10 + 1 + 8 * PATH_DIAGONAL / PATH_LOOKS,
                      "the budget, and what one node may cost");
    }
    cr_assert_gt(ticks, 3);
    cr_assert_eq(t.found[0], 0);
    /* 31 rows of 62, and 31 doors of two steps each, with no corner to cut */
    cr_assert_float_eq(t.length[0], 31 * 62 + 31 * 2, 1e-9);
    stage_fini(&t);
}

Test(finder, a_full_line_refuses_and_a_share_of_it_is_full_before)
{
    struct stage t;
    stage_init(&t, 10, 4);
    cr_assert_eq(finder_ask(&t.f, 0, 0.5), 0);
    cr_assert_eq(finder_ask(&t.f, 1, 0.5), 0);
    cr_assert_eq(finder_ask(&t.f, 2, 0.5), E_FULL);
    cr_assert_eq(finder_ask(&t.f, 2, 1), 0);
    cr_assert_eq(finder_ask(&t.f, 3, 1), 0);
    cr_assert_eq(finder_ask(&t.f, 4, 1), E_FULL);
    cr_assert_eq(finder_ask(&t.f, 3, 1), 0, "it is in line already");
    cr_assert_eq(t.f.n, 4);
    finder_drop(&t.f, 1);
    cr_assert_eq(finder_ask(&t.f, 4, 1), 0);
    stage_fini(&t);
}

Test(finder, asking_again_while_searched_for_goes_to_the_end)
{
    struct stage t;
    stage_init(&t, 5, SLOTS);
    t.to[0] = (struct ground_tile){62, 62};
    t.to[1] = (struct ground_tile){2, 0};
    cr_assert_eq(finder_ask(&t.f, 0, 1), 0);
    cr_assert_eq(finder_ask(&t.f, 1, 1), 0);
    run(&t);
    cr_assert_eq(t.n_found, 0);
    cr_assert_eq(finder_ask(&t.f, 0, 1), 0);
    run(&t);
    cr_assert_eq(t.found[0], 1);
    while (t.n_found < 2)
        run(&t);
    cr_assert_eq(t.found[1], 0);
    stage_fini(&t);
}

Test(finder, whoever_goes_leaves_no_trace)
{
    struct stage t;
    stage_init(&t, 5, SLOTS);
    t.to[0] = (struct ground_tile){62, 62};
    for (uint32_t s = 0; s < 4; s++)
        cr_assert_eq(finder_ask(&t.f, s, 1), 0);
    run(&t);
    finder_drop(&t.f, 0); /* searched for */
    finder_drop(&t.f, 2); /* in the middle */
    finder_drop(&t.f, 2);
    t.gone[3] = true;
    run(&t);
    cr_assert_eq(t.n_found, 1);
    cr_assert_eq(t.found[0], 1);
    cr_assert_eq(t.f.n, 0);
    cr_assert(t.f.current == FINDER_NONE && t.f.n_line == 0);
    stage_fini(&t);
}

/* One who asks for long ways all the time, by as many names as it likes, and one who asks for short
 * ones: it never waits for more than the search at hand. */
Test(finder, who_asks_for_little_never_waits_for_those_who_ask_for_much)
{
    struct stage t;
    stage_init(&t, 10, SLOTS);
    for (uint32_t s = 1; s < SLOTS; s++) {
        t.to[s] = (struct ground_tile){62, 62};
        cr_assert_eq(finder_ask(&t.f, s, 1), 0);
    }
    t.to[0] = (struct ground_tile){2, 0};
    while (t.n_found < 15)
        run(&t);
    for (uint32_t s = 1; s < SLOTS; s++)
        cr_assert_eq(finder_ask(&t.f, s, 1), 0);
    run(&t);
    for (uint32_t round = 0; round < 20; round++) {
        uint32_t others = 0;

        cr_assert_eq(finder_ask(&t.f, 0, 1), 0);
        t.n_found = 0;
        while (t.n_found == 0 || t.found[t.n_found - 1] != 0) {
            run(&t);
            cr_assert_lt(t.n_found, 4u);
        }
        for (uint32_t i = 0; i + 1 < t.n_found; i++) {
            others++;
            cr_assert_eq(finder_ask(&t.f, t.found[i], 1), 0); /* and again */
        }
        cr_assert_leq(others, 1u, "round %u", round);
    }
    stage_fini(&t);
}

Test(finder, those_who_ask_for_as_much_take_turns)
{
    struct stage t;
    uint32_t served[SLOTS] = {0};

    stage_init(&t, 1000, SLOTS);
    for (uint32_t s = 0; s < 5; s++) {
        t.to[s] = (struct ground_tile){62, 62};
        cr_assert_eq(finder_ask(&t.f, s, 1), 0);
    }
    for (uint32_t i = 0; i < 50; i++) {
        t.n_found = 0;
        while (t.n_found == 0)
            run(&t);
        for (uint32_t k = 0; k < t.n_found; k++) {
            served[t.found[k]]++;
            cr_assert_eq(finder_ask(&t.f, t.found[k], 1), 0);
        }
    }
    for (uint32_t s = 1; s < 5; s++)
        cr_assert_leq(served[s] > served[0] ? served[s] - served[0] : served[0] - served[s], 2u);
    stage_fini(&t);
}

/* A search that is begun anew again and again is paid for each time. */
Test(finder, asking_again_and_again_gains_nothing)
{
    struct stage t;
    stage_init(&t, 5, SLOTS);
    t.to[0] = t.to[1] = (struct ground_tile){62, 62};
    cr_assert_eq(finder_ask(&t.f, 0, 1), 0);
    cr_assert_eq(finder_ask(&t.f, 1, 1), 0);
    for (uint32_t tick = 0; t.n_found == 0; tick++) {
        cr_assert_lt(tick, 10000u, "the other one is never found");
        run(&t);
        cr_assert_eq(finder_ask(&t.f, 0, 1), 0);
    }
    cr_assert_eq(t.found[0], 1u);
    stage_fini(&t);
}

/* The line is a heap: whatever comes and goes, the least is in front, and everybody knows its
 * place. */
Test(finder, any_order_of_coming_and_going_leaves_a_line_that_is_right)
{
    struct stage t;
    struct rng rng;

    rng_init(&rng, 3);
    stage_init(&t, 7, SLOTS);
    for (uint32_t i = 0; i < 20000; i++) {
        const uint32_t s = (uint32_t)rng_below(&rng, SLOTS);

        t.to[s] = (struct ground_tile){(int32_t)rng_below(&rng, 63), 0};
        if (rng_below(&rng, 3) != 0)
            (void)!finder_ask(&t.f, s, 1);
        else
            finder_drop(&t.f, s);
        t.n_found = 0;
        if (rng_below(&rng, 4) == 0)
            run(&t);
        cr_assert_eq(t.f.n, t.f.n_line + (t.f.current != FINDER_NONE));
        for (uint32_t k = 0; k < t.f.n_line; k++) {
            const struct finder_wait *w = &t.f.line[k], *up = &t.f.line[k == 0 ? 0 : (k - 1) / 2];
            cr_assert_eq(t.f.at[w->slot], k + 1);
            cr_assert(up->place < w->place || (up->place == w->place && up->order <= w->order));
        }
    }
    stage_fini(&t);
}
