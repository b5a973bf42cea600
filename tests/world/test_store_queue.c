/* tests/world/test_store_queue.c: characters that wait to be stored.
 * May touch: world/edge/store_queue, world/edge/store_ring.
 */
#include "world/edge/store_queue.h"

#include "common/err.h"
#include "common/rng.h"
#include "tests/leak.h"
#include "world/edge/store_ring.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static struct store_character named(uint32_t number, double x)
{
    struct store_character c = {.x = x};
    c.name_len = (uint8_t)snprintf(c.name, sizeof(c.name), "n%u", number);
    return c;
}

static double x_of(const struct store_queue *q, uint32_t number)
{
    struct store_character c = named(number, 0);
    const struct store_character *found = store_queue_find(q, span_of(c.name, c.name_len));
    return found ? found->x : -1;
}

static int put(struct store_queue *q, uint32_t number, double x)
{
    struct store_character c = named(number, x);
    return store_queue_put(q, &c);
}

Test(store_queue, a_later_save_takes_the_earlier_ones_place)
{
    struct store_queue q;
    cr_assert_eq(store_queue_init(&q, 8, 1), 0);
    cr_assert_eq(put(&q, 1, 10), 0);
    cr_assert_eq(put(&q, 2, 20), 0);
    cr_assert_eq(put(&q, 1, 11), 1);
    cr_assert_eq(q.count, 2);
    const struct store_character *c = store_queue_first(&q);
    cr_assert_eq(c->x, 11);
    c = store_queue_after(&q, c);
    cr_assert_eq(c->x, 20);
    cr_assert_null(store_queue_after(&q, c));
    store_queue_drop(&q, 1);
    cr_assert_eq(x_of(&q, 1), -1);
    cr_assert_eq(x_of(&q, 2), 20);
    cr_assert_eq(put(&q, 1, 12), 0, "behind the others now");
    cr_assert_eq(store_queue_first(&q)->x, 20);
    store_queue_fini(&q);
    TEST_NO_LEAKS();
}

Test(store_queue, full_takes_only_names_that_wait_already)
{
    struct store_queue q;
    cr_assert_eq(store_queue_init(&q, 2, 1), 0);
    cr_assert_eq(put(&q, 1, 1), 0);
    cr_assert_eq(put(&q, 2, 2), 0);
    cr_assert_eq(put(&q, 3, 3), E_FULL);
    cr_assert_eq(put(&q, 2, 4), 1);
    cr_assert_eq(x_of(&q, 3), -1);
    store_queue_drop(&q, 1);
    cr_assert_eq(put(&q, 3, 3), 0);
    store_queue_fini(&q);
    TEST_NO_LEAKS();
}

Test(store_queue, the_turn_of_a_name_comes_when_what_waited_of_it_is_dropped)
{
    struct store_queue q;
    cr_assert_eq(store_queue_init(&q, 8, 1), 0);
    cr_assert_eq(store_queue_turn(&q, span_text("n1")), 0, "nothing waits");
    cr_assert_eq(put(&q, 1, 10), 0);
    cr_assert_eq(put(&q, 2, 20), 0);
    uint64_t first = store_queue_turn(&q, span_text("n1"));
    uint64_t second = store_queue_turn(&q, span_text("n2"));
    cr_assert_gt(first, q.gone);
    cr_assert_eq(put(&q, 1, 11), 1);
    cr_assert_eq(store_queue_turn(&q, span_text("n1")), first, "in the earlier one's place");
    store_queue_drop(&q, 1);
    cr_assert_leq(first, q.gone);
    cr_assert_gt(second, q.gone);
    cr_assert_eq(store_queue_turn(&q, span_text("n1")), 0);
    cr_assert_eq(put(&q, 1, 12), 0);
    cr_assert_gt(store_queue_turn(&q, span_text("n1")), second, "behind the others now");
    store_queue_drop(&q, 1);
    cr_assert_leq(second, q.gone);
    store_queue_fini(&q);
    TEST_NO_LEAKS();
}

/* Against a plain array: the order of first saves, the value of last ones. */
Test(store_queue, random_use_agrees_with_a_plain_list)
{
    struct store_queue q;
    struct rng rng;
    uint32_t names[32], n = 0;
    double x[32];
    cr_assert_eq(store_queue_init(&q, 32, 1), 0);
    rng_init(&rng, 3);
    for (int step = 0; step < 50000; step++) {
        if (rng_next(&rng) % 4 != 0) {
            uint32_t name = (uint32_t)(rng_next(&rng) % 40), at = 0;
            while (at < n && names[at] != name)
                at++;
            int want = at < n ? 1 : n == 32 ? E_FULL : 0;
            cr_assert_eq(put(&q, name, step), want);
            if (want >= 0) {
                names[at] = name;
                x[at] = step;
                n += want == 0;
            }
        } else if (n > 0) {
            uint32_t gone = 1 + (uint32_t)(rng_next(&rng) % n);
            const struct store_character *c = store_queue_first(&q);
            for (uint32_t i = 0; i < n; i++, c = store_queue_after(&q, c))
                cr_assert_eq(c->x, x[i]);
            store_queue_drop(&q, gone);
            n -= gone;
            memmove(names, names + gone, n * sizeof(names[0]));
            memmove(x, x + gone, n * sizeof(x[0]));
        }
        cr_assert_eq(q.count, n);
    }
    store_queue_fini(&q);
    TEST_NO_LEAKS();
}

/* --- the ring -------------------------------------------------------------------------------- */

Test(store_ring, full_is_full_and_order_is_kept_round_the_end)
{
    struct store_ring r;
    cr_assert_eq(store_ring_init(&r, 3, sizeof(uint32_t)), 0);
    cr_assert_eq(r.cap, 4);
    uint32_t next = 0, want = 0, got;
    for (int round = 0; round < 10; round++) {
        while (store_ring_put(&r, &next) == 0)
            next++;
        cr_assert_eq(store_ring_count(&r), 4);
        for (int i = 0; i < 3; i++) {
            cr_assert(store_ring_peek(&r, &got));
            cr_assert_eq(got, want++);
            store_ring_drop(&r);
        }
    }
    store_ring_fini(&r);
    TEST_NO_LEAKS();
}

#define RECORDS 200000

static void *put_all(void *arg)
{
    struct store_ring *r = arg;
    for (uint64_t i = 0; i < RECORDS;)
        i += store_ring_put(r, (uint64_t[]){i, ~i}) == 0;
    return NULL;
}

Test(store_ring, what_one_thread_puts_another_takes_whole_and_in_order)
{
    struct store_ring r;
    pthread_t thread;
    uint64_t got[2];
    cr_assert_eq(store_ring_init(&r, 64, sizeof(got)), 0);
    cr_assert_eq(pthread_create(&thread, NULL, put_all, &r), 0);
    for (uint64_t i = 0; i < RECORDS;) {
        if (!store_ring_peek(&r, got))
            continue;
        cr_assert_eq(got[0], i);
        cr_assert_eq(got[1], ~i);
        store_ring_drop(&r);
        i++;
    }
    pthread_join(thread, NULL);
    store_ring_fini(&r);
    TEST_NO_LEAKS();
}
