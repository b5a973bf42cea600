/* tests/world/test_backlog.c: requests that wait. May touch: world/session/backlog. */
#include "world/session/backlog.h"

#include "common/err.h"
#include "common/rng.h"
#include "tests/leak.h"

#include <criterion/criterion.h>
#include <stdlib.h>

#define SESSIONS 16

static void make(struct backlog *b)
{
    cr_assert_eq(backlog_init(b, SESSIONS), 0);
}

/* A body that tells its number and length. */
static struct span body_of(uint8_t *to, uint32_t number, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = (uint8_t)(number + i);
    return span_of(to, n);
}

Test(backlog, bodies_of_all_sizes_come_back_in_order)
{
    static const size_t sizes[] = {1, 3, 117, 118, 119, 120, 121, 240, 1000, 16383};
    static uint8_t one[BACKLOG_BODY_MAX], other[BACKLOG_BODY_MAX];
    struct backlog b;
    make(&b);
    for (size_t i = 0; i + 1 < ARRAY_LEN(sizes); i++) {
        cr_assert_eq(backlog_add(&b, 3, body_of(one, (uint32_t)i, sizes[i])), 0);
        cr_assert_eq(backlog_add(&b, 4, body_of(one, 99, 5)), 0);
    }
    for (size_t i = 0; i + 1 < ARRAY_LEN(sizes); i++) {
        struct span got;
        cr_assert(backlog_peek(&b, 3, &got));
        cr_assert(span_equal(got, body_of(other, (uint32_t)i, sizes[i])), "%zu", sizes[i]);
        backlog_drop(&b, 3);
    }
    cr_assert_not(backlog_peek(&b, 3, &(struct span){0}));
    backlog_clear(&b, 4);
    cr_assert_eq(b.used, 0);
    cr_assert_eq(b.bodies, 0);
    backlog_fini(&b);
    TEST_NO_LEAKS();
}

Test(backlog, a_session_has_a_bound_of_bodies_and_of_bytes)
{
    static uint8_t one[BACKLOG_BODY_MAX + 1];
    struct backlog b;
    make(&b);
    for (uint32_t i = 0; i < BACKLOG_OWN_BODIES; i++)
        cr_assert_eq(backlog_add(&b, 0, span_of(one, 1)), 0);
    cr_assert_eq(backlog_add(&b, 0, span_of(one, 1)), E_FULL);
    cr_assert_eq(backlog_add(&b, 1, span_of(one, BACKLOG_BODY_MAX + 1)), E_FULL);
    cr_assert_eq(backlog_add(&b, 1, span_of(one, BACKLOG_BODY_MAX)), 0, "one may be the largest");
    cr_assert_eq(backlog_add(&b, 1, span_of(one, 1)), E_FULL);
    backlog_fini(&b);
    TEST_NO_LEAKS();
}

Test(backlog, all_together_have_a_bound_and_full_changes_nothing)
{
    static uint8_t one[BACKLOG_BODY_MAX];
    struct backlog b;
    const uint32_t many = 2048;
    cr_assert_eq(backlog_init(&b, many), 0);
    uint32_t in = 0;
    while (in < many && backlog_add(&b, in, span_of(one, sizeof(one))) == 0)
        in++;
    cr_assert_lt(in, many);
    cr_assert_geq(in, 900);
    cr_assert_eq(b.bodies, in);
    uint32_t used = b.used;
    cr_assert_eq(backlog_add(&b, in, span_of(one, sizeof(one))), E_FULL);
    cr_assert_eq(b.used, used);
    backlog_clear(&b, 0);
    cr_assert_eq(backlog_add(&b, in, span_of(one, sizeof(one))), 0);
    backlog_fini(&b);
    TEST_NO_LEAKS();
}

/* Against plain queues. */
Test(backlog, random_use_keeps_every_sessions_order_and_leaks_no_block)
{
    static uint8_t one[BACKLOG_BODY_MAX], other[BACKLOG_BODY_MAX];
    uint32_t added[SESSIONS] = {0}, taken[SESSIONS] = {0};
    static size_t size[SESSIONS][1 << 16];
    struct backlog b;
    struct rng rng;
    make(&b);
    rng_init(&rng, 7);
    for (uint32_t step = 0; step < 20000; step++) {
        uint32_t s = (uint32_t)(rng_next(&rng) % SESSIONS);
        uint32_t what = (uint32_t)(rng_next(&rng) % 16);
        size_t n = 1 + (size_t)(rng_next(&rng) % 300);
        struct span got;
        if (what < 8 && backlog_add(&b, s, body_of(one, added[s] * 31 + s, n)) == 0) {
            size[s][added[s]++] = n;
        } else if (what < 15 && backlog_peek(&b, s, &got)) {
            cr_assert(span_equal(got, body_of(other, taken[s] * 31 + s, size[s][taken[s]])));
            backlog_drop(&b, s);
            taken[s]++;
        } else if (what == 15) {
            backlog_clear(&b, s);
            taken[s] = added[s];
        }
    }
    for (uint32_t s = 0; s < SESSIONS; s++)
        backlog_clear(&b, s);
    cr_assert_eq(b.used, 0);
    cr_assert_eq(b.bodies, 0);
    backlog_fini(&b);
    TEST_NO_LEAKS();
}

Test(backlog, what_is_moved_stands_before_what_waits_there)
{
    struct backlog b;
    struct span body;
    uint8_t large[300];
    memset(large, 7, sizeof large);
    cr_assert_eq(backlog_init(&b, 3), 0);
    backlog_move(&b, 1, 0);
    cr_assert_not(backlog_peek(&b, 1, &body), "nothing was moved");
    cr_assert_eq(backlog_add(&b, 0, span_text("drop")), 0);
    cr_assert_eq(backlog_add(&b, 0, span_text("one")), 0);
    cr_assert_eq(backlog_add(&b, 0, span_of(large, sizeof large)), 0);
    backlog_drop(&b, 0);
    cr_assert_eq(backlog_add(&b, 1, span_text("three")), 0);
    backlog_move(&b, 1, 0);
    cr_assert_not(backlog_peek(&b, 0, &body));
    cr_assert_eq(backlog_add(&b, 1, span_text("four")), 0);
    cr_assert(backlog_peek(&b, 1, &body) && span_equal(body, span_text("one")));
    backlog_drop(&b, 1);
    cr_assert(backlog_peek(&b, 1, &body) && span_equal(body, span_of(large, sizeof large)));
    backlog_drop(&b, 1);
    cr_assert(backlog_peek(&b, 1, &body) && span_equal(body, span_text("three")));
    backlog_drop(&b, 1);
    cr_assert(backlog_peek(&b, 1, &body) && span_equal(body, span_text("four")));
    backlog_move(&b, 2, 1);
    cr_assert(backlog_peek(&b, 2, &body) && span_equal(body, span_text("four")));
    backlog_drop(&b, 2);
    cr_assert_eq(b.bodies, 0);
    cr_assert_eq(b.used, 0);
    backlog_fini(&b);
    TEST_NO_LEAKS();
}

Test(backlog, one_that_is_handed_over_has_more_room_and_an_end_too)
{
    struct backlog b;
    uint32_t n = 0;
    cr_assert_eq(backlog_init(&b, 1), 0);
    while (backlog_add_far(&b, 0, span_text("x")) == 0)
        n++;
    cr_assert_eq(n, BACKLOG_FAR_BODIES);
    cr_assert_eq(backlog_add(&b, 0, span_text("x")), E_FULL);
    backlog_fini(&b);
    TEST_NO_LEAKS();
}
