/* tests/world/test_id_pool.c: the lowest free id first, after its rest. PROTOCOL.md, "Ids".
 * May touch: world/state/id_pool, common.
 */
#include "world/state/id_pool.h"

#include "common/err.h"
#include "common/rng.h"
#include "tests/leak.h"

#include <stdbool.h>

#define REST (60 * CLOCK_NS_PER_S)

static const struct mono START = {5000 * CLOCK_NS_PER_S};

static uint32_t take(struct id_pool *p, struct mono now)
{
    uint32_t id = 0;
    cr_assert_eq(id_pool_take(p, now, &id), 0);
    return id;
}

Test(id_pool, ids_count_up_from_one)
{
    struct id_pool p;
    cr_assert_eq(id_pool_init(&p, 1000, REST), 0);
    for (uint32_t i = 1; i <= 1000; i++)
        cr_assert_eq(take(&p, START), i);
    uint32_t id = 77;
    cr_assert_eq(id_pool_take(&p, START, &id), E_FULL);
    id_pool_fini(&p);
    TEST_NO_LEAKS();
}

Test(id_pool, one_id_is_enough_for_a_pool)
{
    struct id_pool p;
    uint32_t id;
    cr_assert_eq(id_pool_init(&p, 1, REST), 0);
    cr_assert_eq(take(&p, START), 1);
    cr_assert_eq(id_pool_take(&p, START, &id), E_FULL);
    id_pool_return(&p, 1);
    cr_assert_eq(take(&p, START), 1);
    id_pool_fini(&p);
    TEST_NO_LEAKS();
}

Test(id_pool, an_ended_id_rests_for_all_of_its_time)
{
    struct id_pool p;
    cr_assert_eq(id_pool_init(&p, 10, REST), 0);
    cr_assert_eq(take(&p, START), 1);
    cr_assert_eq(take(&p, START), 2);
    id_pool_end(&p, 1, START);
    cr_assert_eq(take(&p, clock_add(START, REST - 1)), 3);
    cr_assert_eq(take(&p, clock_add(START, REST)), 1);
    id_pool_fini(&p);
    TEST_NO_LEAKS();
}

Test(id_pool, an_id_that_nobody_saw_is_free_at_once)
{
    struct id_pool p;
    cr_assert_eq(id_pool_init(&p, 10, REST), 0);
    cr_assert_eq(take(&p, START), 1);
    cr_assert_eq(take(&p, START), 2);
    id_pool_return(&p, 1);
    cr_assert_eq(take(&p, START), 1);
    id_pool_fini(&p);
    TEST_NO_LEAKS();
}

Test(id_pool, the_lowest_of_those_that_rested_comes_first)
{
    struct id_pool p;
    cr_assert_eq(id_pool_init(&p, 300, REST), 0);
    for (uint32_t i = 1; i <= 200; i++)
        (void)take(&p, START);
    id_pool_end(&p, 130, START);
    id_pool_end(&p, 7, clock_add(START, 1));
    id_pool_end(&p, 64, clock_add(START, 1));
    cr_assert_eq(take(&p, clock_add(START, REST)), 130, "7 and 64 rest yet");
    cr_assert_eq(take(&p, clock_add(START, REST + 1)), 7);
    cr_assert_eq(take(&p, clock_add(START, REST + 1)), 64);
    cr_assert_eq(take(&p, clock_add(START, REST + 1)), 201);
    id_pool_fini(&p);
    TEST_NO_LEAKS();
}

Test(id_pool, waking_frees_without_taking)
{
    struct id_pool p;
    cr_assert_eq(id_pool_init(&p, 3, REST), 0);
    for (uint32_t i = 1; i <= 3; i++)
        (void)take(&p, START);
    cr_assert_eq(p.out, 3);
    id_pool_end(&p, 2, START);
    cr_assert_eq(p.out, 2);
    cr_assert_eq(p.rest_count, 1);
    id_pool_wake(&p, clock_add(START, REST - 1));
    cr_assert_eq(p.rest_count, 1);
    id_pool_wake(&p, clock_add(START, REST));
    cr_assert_eq(p.rest_count, 0);
    cr_assert_eq(take(&p, clock_add(START, REST)), 2);
    id_pool_fini(&p);
    TEST_NO_LEAKS();
}

Test(id_pool, without_a_rest_ids_are_free_at_once)
{
    struct id_pool p;
    cr_assert_eq(id_pool_init(&p, 5, 0), 0);
    cr_assert_eq(take(&p, START), 1);
    id_pool_end(&p, 1, START);
    cr_assert_eq(take(&p, START), 1);
    id_pool_fini(&p);
    TEST_NO_LEAKS();
}

/* One list of states and a scan from 1 up is the whole model. */
#define MODEL_IDS 4200 /* more than 64 * 64: three levels of the bitmap */

struct model {
    enum { FREE, OUT, RESTING } state[MODEL_IDS + 1];
    int64_t until[MODEL_IDS + 1];
};

static uint32_t model_take(struct model *m, struct mono now)
{
    for (uint32_t i = 1; i <= MODEL_IDS; i++) {
        if (m->state[i] == RESTING && m->until[i] <= now.ns)
            m->state[i] = FREE;
        if (m->state[i] == FREE) {
            m->state[i] = OUT;
            return i;
        }
    }
    return 0;
}

static void model_step(struct model *m, struct id_pool *p, struct rng *rng, struct mono now)
{
    uint32_t id = 0, any = 1 + (uint32_t)rng_below(rng, MODEL_IDS);
    if (rng_below(rng, 5) < 3) {
        uint32_t want = model_take(m, now);
        cr_assert_eq(id_pool_take(p, now, &id), want ? 0 : E_FULL);
        if (want && id != want)
            cr_assert_eq(id, want);
        return;
    }
    if (m->state[any] != OUT)
        return;
    if (rng_below(rng, 4) == 0) {
        id_pool_return(p, any);
        m->state[any] = FREE;
    } else {
        id_pool_end(p, any, now);
        m->state[any] = RESTING;
        m->until[any] = now.ns + REST;
    }
}

Test(id_pool, it_agrees_with_a_plain_list_over_many_steps)
{
    static struct model m;
    struct id_pool p;
    struct rng rng;
    struct mono now = START;
    rng_init(&rng, 5);
    cr_assert_eq(id_pool_init(&p, MODEL_IDS, REST), 0);
    for (int i = 0; i < 60000; i++) {
        now = clock_add(now, (int64_t)rng_below(&rng, 20 * CLOCK_NS_PER_MS));
        model_step(&m, &p, &rng, now);
    }
    id_pool_fini(&p);
    TEST_NO_LEAKS();
}

Test(id_pool, a_closed_pool_gives_what_it_is_fed_and_nothing_else)
{
    struct id_pool p;
    uint32_t id;
    struct mono now = {0};
    cr_assert_eq(id_pool_init(&p, 300, 60), 0);
    cr_assert_eq(id_pool_close(&p), 0);
    cr_assert_eq(id_pool_take(&p, now, &id), E_FULL);
    id_pool_feed(&p, 200, 2);
    id_pool_feed(&p, 300, 1);
    cr_assert(id_pool_owns(&p, 201));
    cr_assert_not(id_pool_owns(&p, 202));
    cr_assert_not(id_pool_owns(&p, 0));
    cr_assert_not(id_pool_owns(&p, 301));
    for (uint32_t want = 200; want != 0; want = want == 200 ? 201 : want == 201 ? 300 : 0) {
        cr_assert_eq(id_pool_take(&p, now, &id), 0);
        cr_assert_eq(id, want);
    }
    cr_assert_eq(id_pool_take(&p, now, &id), E_FULL);
    id_pool_fini(&p);
    TEST_NO_LEAKS();
}

Test(id_pool, an_id_that_is_abroad_rests_when_it_has_ended_there)
{
    struct id_pool p;
    uint32_t id;
    struct mono now = {0}, later = {61};
    cr_assert_eq(id_pool_init(&p, 8, 60), 0);
    cr_assert_eq(id_pool_close(&p), 0);
    id_pool_feed(&p, 1, 1);
    cr_assert_eq(id_pool_take(&p, now, &id), 0);
    cr_assert_not(id_pool_ended(&p, 1, now), "it lives here");
    id_pool_abroad(&p, 1, true);
    cr_assert_not(id_pool_ended(&p, 2, now), "none of ours");
    cr_assert(id_pool_ended(&p, 1, now));
    cr_assert_not(id_pool_ended(&p, 1, now), "said twice");
    cr_assert_eq(id_pool_take(&p, now, &id), E_FULL);
    cr_assert_eq(id_pool_take(&p, later, &id), 0);
    cr_assert_eq(id, 1);
    id_pool_fini(&p);
    TEST_NO_LEAKS();
}
